"""What runs in a worker process: requests about documents in, over stdin; what their sieves make of them out.

A message is its length and its pickle: both ends are ours, and what a stranger wrote is only ever bytes or text in one.
Each request has one reply, in the same order; documents take turns by request.
"""

from __future__ import annotations

import gc
import pickle
import signal
import struct
import sys
import traceback
from contextlib import suppress
from typing import TYPE_CHECKING, Any, BinaryIO, TypeAlias

import attrs

from ..model.errors import SitemapReaderError
from .document_parser import DocumentParser, Piece, State, some

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from .document_parser import Answer, Task

HEADER = struct.Struct(">I")
_PIPE_BYTES = 1024 * 1024


@attrs.frozen
class Reply:
    """Some items, how far the document is behind them, and whether the request has no more."""

    piece: Piece
    state: State
    is_done: bool = True


# What comes back: the reply, what was raised, or None where there is nothing to say.
Message: TypeAlias = Reply | Exception | None


def packed(message: object) -> bytes:
    """A message as it is sent."""
    body = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
    return HEADER.pack(len(body)) + body


def unpacked(body: bytes) -> Any:
    """A message without its length."""
    return pickle.loads(body)  # noqa: S301 - from a process of our own


class ParseServer:
    """The documents that one worker has open, by their numbers."""

    def __init__(self) -> None:
        self._sieves: dict[int, DocumentParser] = {}
        self._pieces: dict[int, Iterator[Piece]] = {}

    def answer(self, request: tuple[str, int, Any]) -> Message:
        """Does what is asked; of its failures whoever asked hears."""
        verb, number, told = request
        try:
            return _VERBS[verb](self, number, told)
        except Exception as error:
            return _portable(error)

    def _open(self, number: int, task: Task) -> Reply:
        self._sieves[number] = DocumentParser(task)
        return self._reply(number, [])

    def _feed(self, number: int, chunk: bytes) -> Reply:
        self._pieces[number] = self._sieves[number].pieces(chunk)
        return self._more(number, None)

    def _more(self, number: int, nothing: None) -> Reply:
        """What a chunk gives, some at a time."""
        piece, is_done = some(self._pieces[number])
        return self._reply(number, piece, is_done=is_done)

    def _end(self, number: int, cut: bool) -> Reply:
        return self._reply(number, self._sieves[number].end(cut=cut))

    def _finish(self, number: int, answer: Answer) -> Reply:
        return self._reply(number, self._sieves[number].finish(answer))

    def _close(self, number: int, nothing: None) -> None:
        self._pieces.pop(number, None)
        self._sieves.pop(number).release()

    def _reply(self, number: int, piece: Piece, *, is_done: bool = True) -> Reply:
        return Reply(piece, self._sieves[number].state, is_done)


_VERBS: dict[str, Callable[[ParseServer, int, Any], Message]] = {
    "open": ParseServer._open,
    "feed": ParseServer._feed,
    "more": ParseServer._more,
    "end": ParseServer._end,
    "finish": ParseServer._finish,
    "close": ParseServer._close,
}


def main() -> int:
    """Works until its stdin ends: with whoever started it, however that came to its end."""
    gc.freeze()  # what was imported stays
    for pipe in (sys.stdin, sys.stdout):
        _widen(pipe.fileno())
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # to all of a group: what becomes of it is the parent's to say
    desk, requests, replies = ParseServer(), sys.stdin.buffer, sys.stdout.buffer
    sys.stdout = sys.stderr  # whatever is printed is no reply
    _send(replies, None)  # ready
    while header := requests.read(HEADER.size):
        body = requests.read(*HEADER.unpack(header))
        _send(replies, desk.answer(unpacked(body)))
    return 0


def _widen(pipe: int) -> None:
    """Lets it hold some messages, where that can be had: else both ends wait for each other every 64 KiB."""
    if sys.platform == "linux":
        import fcntl

        with suppress(OSError):  # what all of one user's pipes hold has a limit
            fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)


def _send(replies: BinaryIO, message: Message) -> None:
    replies.write(packed(message))
    replies.flush()


def _portable(error: Exception) -> Exception:
    """What can be raised at the other end: the same, which says where it comes from if it is a bug, else its words."""
    if not isinstance(error, SitemapReaderError):
        error.add_note("".join(traceback.format_exception(error)))
    try:
        unpacked(packed(error)[HEADER.size :])
    except Exception:  # it cannot be packed, or not unpacked
        return RuntimeError("".join(traceback.format_exception(error)))
    return error
