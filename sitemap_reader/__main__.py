"""Entry point of `sitemap-reader` and `python -m sitemap_reader`: handles signals, then loads the command line.

Signal handlers are set before any other module is loaded.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
from typing import NoReturn

# How long a thread runs before it must release the GIL to others. A parsing thread waits for them after some
# milliseconds anyway; switching every 5 ms, the default, made a dump 8% slower.
_SWITCH_SECONDS = 0.1
# New objects after which the garbage collector looks for cycles: parsers of documents leave some. With
# 100,000 a dump of 200 documents took 13 MB more; with 700, the default, a first sync took 5% longer.
_COLLECTED_OBJECTS = 5_000


def main() -> None:
    """Runs the command line, and exits with its code, or with 130 on SIGINT or SIGTERM."""
    for number in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(number) is not signal.SIG_IGN:  # ignored: a background job of a script
            signal.signal(number, _leave)  # before and after a command sets its own handlers
    sys.setswitchinterval(_SWITCH_SECONDS)
    gc.set_threshold(_COLLECTED_OBJECTS)
    from .cli.main import main as run

    try:
        run()
    finally:
        gc.freeze()  # a last collection at exit would take 50 ms


def _leave(number: int, frame: object) -> NoReturn:
    """Ends the process at once: no output is open before or after a command.

    A KeyboardInterrupt while a module loads could become another exception (RuntimeError, where a class is being
    created) or be lost (in the weak references of the import system).
    """
    os._exit(130)


if __name__ == "__main__":
    main()
