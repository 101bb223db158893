from .change_log import LogEntry as LogEntry
from .documents import StoredDocument as StoredDocument
from .state import State as State
from .state import StoredRun as StoredRun
from .state import StoredSite as StoredSite
