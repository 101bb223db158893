"""Modules that are imported for their doctests are left out where they cannot be imported."""

from importlib.util import find_spec

collect_ignore = [] if find_spec("crawlee") else ["crawlees.py", "crawlee_program.py"]
