"""A pseudo-terminal for tests: runs a program on it, and gives its output and its final screen."""

import fcntl
import os
import re
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

MAX_WAIT_SECONDS = 30.0
_PART = re.compile(r"\x1b\[A|\r|\n|[^\x1b\r\n]+")
# Opened by the leader of a session it becomes the controlling terminal, for ^C.
_LAUNCH = "import os, sys; os.close(os.open(os.ttyname(2), os.O_RDWR)); os.execv(sys.argv[1], sys.argv[1:])"


def screen(written: str, columns: int) -> list[str]:
    """The visible lines, without trailing spaces and without empty lines at the end."""
    lines, row, column = [""], 0, 0
    for part in _PART.findall(written):
        if part == "\r":
            column = 0
        elif part == "\n":
            row += 1
            lines += [""] * (row + 1 - len(lines))
        elif part == "\x1b[A":
            row -= 1
        else:
            for char in part:
                if column == columns:  # long lines wrap
                    row, column = row + 1, 0
                    lines += [""] * (row + 1 - len(lines))
                lines[row] = lines[row].ljust(column)[:column] + char + lines[row][column + 1 :]
                column += 1
    reported = [line.rstrip() for line in lines]
    while reported and not reported[-1]:
        reported.pop()
    return reported


class Terminal:
    """`written` is all output so far; `output` the stdout, if that is no terminal."""

    def __init__(self, process: subprocess.Popen[bytes], number: int, columns: int) -> None:
        self.written = ""
        self.output = b""
        self._process = process
        self._number = number
        self._columns = columns

    def wait_for(self, pattern: str) -> re.Match[str]:
        """Waits until the text was written."""
        deadline = time.monotonic() + MAX_WAIT_SECONDS
        while (found := re.search(pattern, self.written)) is None:
            assert time.monotonic() < deadline, self.written
            assert self._take(0.2), self.written
        return found

    def type(self, keys: bytes) -> None:
        os.write(self._number, keys)

    def end(self) -> int:
        """Reads the rest of the output; the exit code."""
        if self._process.stdout is not None:
            self.output = self._process.stdout.read()
        while self._number != -1 and self._take(MAX_WAIT_SECONDS):
            pass
        return self._process.wait(MAX_WAIT_SECONDS)

    def hang_up(self) -> None:
        """Closes the terminal, like its window."""
        os.close(self._number)
        self._number = -1

    def screen(self) -> list[str]:
        return screen(self.written, self._columns)

    def close(self) -> None:
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait(MAX_WAIT_SECONDS)
        if self._process.stdout is not None:
            self._process.stdout.close()
        if self._number != -1:
            os.close(self._number)

    def _take(self, seconds: float) -> bool:
        """Reads some output; whether there may be more."""
        if not select.select([self._number], [], [], seconds)[0]:
            return self._process.poll() is None
        try:
            data = os.read(self._number, 65_536)
        except OSError:  # EIO: no process has it open
            return False
        self.written += data.decode()
        return bool(data)


@contextmanager
def on_terminal(
    command: Sequence[str], *, columns: int = 100, pipes_stdout: bool = False, environment: dict[str, str] | None = None
) -> Iterator[Terminal]:
    """Runs a program on a terminal; it is killed when the block ends."""
    number, other = os.openpty()
    fcntl.ioctl(other, termios.TIOCSWINSZ, struct.pack("HHHH", 24 if columns else 0, columns, 0, 0))
    stdout = subprocess.PIPE if pipes_stdout else other
    launch = [sys.executable, "-IS", "-c", _LAUNCH, *command]
    env = {**os.environ, "TERM": "xterm", "NO_COLOR": "1", **(environment or {})}
    process = subprocess.Popen(launch, stdin=other, stdout=stdout, stderr=other, start_new_session=True, env=env)
    os.close(other)
    terminal = Terminal(process, number, columns)
    try:
        yield terminal
    finally:
        terminal.close()
