from .diff import Changes as Changes
from .diff import PartChanges as PartChanges
from .removed_pages import RemovedPages as RemovedPages
