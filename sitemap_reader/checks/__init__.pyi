from .findings import Finding as Finding
from .occurrences import Occurrence as Occurrence
from .policy import Policy as Policy
from .policy import read_policy as read_policy
from .report import Report as Report
from .rule_docs import Explanation as Explanation
