from .diff import Changes as Changes
from .diff import PartChanges as PartChanges
from .diff import RemovedPages as RemovedPages
