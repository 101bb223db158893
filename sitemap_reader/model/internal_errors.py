"""Internal errors: exceptions for which no rule exists, as a Problem of the document that led to one, or as a line.

Each is logged with its traceback at DEBUG. If the environment has SITEMAP_READER_RAISE, it is raised again instead.
"""

from __future__ import annotations

import os

from .errors import SitemapReaderError, masked, printable
from .problems import MAX_RAW_CHARACTERS, Problem, report

# If it is set, an internal error ends the run where it was raised: the tests set it.
RAISE_VARIABLE = "SITEMAP_READER_RAISE"
# What is none: exceptions with rules of their own, and those of a machine without memory, disk or files.
FORESEEN = (SitemapReaderError, OSError, MemoryError)
_PACKAGE = os.path.dirname(os.path.dirname(__file__))
_COMPILED = "sitemap_reader"  # how the names of the scanner's sources begin in a traceback


def internal_problem(error: Exception) -> Problem:
    """The S17 of a document whose reading has raised an internal error."""
    return report("S17", internal_error(error))


def internal_error(error: BaseException) -> str:
    """An internal error in one line: the exception, the last line of this package that it passed, and what to do."""
    if os.environ.get(RAISE_VARIABLE):
        raise error
    import logging  # late: few runs need it
    from traceback import extract_tb

    logging.getLogger("sitemap_reader").debug("internal error", exc_info=error)
    frames = extract_tb(error.__traceback__)
    own = [frame for frame in frames if frame.filename.startswith((_PACKAGE, _COMPILED))] or frames
    place = f" in {os.path.basename(own[-1].filename)}:{own[-1].lineno}" if own else ""
    text = masked(printable(str(error)))[:MAX_RAW_CHARACTERS]
    what = f"{type(error).__name__}{text and f' ({text})'}{place}"
    return f"internal error {what}; please report it, with what {RAISE_VARIABLE}=1 prints"
