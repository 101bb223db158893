"""`python -m sitemap_reader`, and where `sitemap-reader` begins: minds Ctrl-C, then loads the command line.

Next to nothing is loaded before signals are minded.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import NoReturn

# How long a thread that works is left alone while others want to. It parses some milliseconds at a time and then waits
# for them by itself; to be stopped in the midst of that every 5 ms, which is the default, made a dump 8% slower.
_SWITCH_SECONDS = 0.1
# How many more objects there are than before when the collector looks for circles of them. There are hardly any, and to
# look every 700 objects, which is the default, made a first sync 5% slower.
_COLLECTED_OBJECTS = 100_000


def main() -> None:
    """Runs the command line, and exits with its code; 130 where SIGINT or SIGTERM comes first."""
    for number in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(number) is not signal.SIG_IGN:  # as in the background of a script
            signal.signal(number, _leave)  # until a command has handlers of its own, and behind it
    sys.setswitchinterval(_SWITCH_SECONDS)
    gc.set_threshold(_COLLECTED_OBJECTS)
    from .cli.main import main as run

    try:
        run()
    finally:
        gc.freeze()  # what is left goes with the process: to look for circles once more would take 50 ms


def _leave(number: int, frame: object) -> NoReturn:
    """Ends it at once: nothing has been begun, or all outputs are closed again.

    KeyboardInterrupt would not do. Raised while a module loads, it can come out as another exception (RuntimeError,
    where a class is being made) or be lost (in the weak references of the import system).
    """
    os._exit(130)


if __name__ == "__main__":
    main()
