from .diff import Changes as Changes
from .removed_pages import RemovedPages as RemovedPages
from .site_parts import PartChanges as PartChanges
