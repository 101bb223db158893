"""Programs of our own, each in a Python process of its own: the name of a room in, a command to start it out."""

from __future__ import annotations

import sys
from pathlib import Path

# -I keeps PYTHON* variables and the current folder out; what the parent can import, the child can. An interrupt of a
# terminal goes to parent and child: what becomes of it is the parent's to say.
_PROGRAM = (
    "import signal, sys; signal.signal(signal.SIGINT, signal.SIG_IGN); "
    "sys.path[:] = {paths!r}; from {package}.{room} import main; sys.exit(main())"
)


def command_of(room: str) -> list[str]:
    """What runs main() of a room of crawl/; OSError where nobody knows which Python this is."""
    if not sys.executable:  # Python within another program
        raise OSError("sys.executable does not say where Python is")
    package, _, _ = __name__.rpartition(".")
    paths = [*(path for path in sys.path if path), str(Path(__file__).resolve().parents[2])]
    return [sys.executable, "-I", "-c", _PROGRAM.format(paths=paths, package=package, room=room)]
