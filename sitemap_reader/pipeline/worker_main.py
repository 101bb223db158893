"""The main program of a worker process: requests about documents in, over stdin; batches of items out, over stdout.

A message is its length and its pickle: both ends are this package, and content of documents is only bytes or text in
one. Each request has one reply, in the same order; requests of several documents may alternate.
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
from .document_parser import Batch, DocumentParser, ParseProgress, take_batch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from .document_parser import FallbackAnswer, ParseTask

HEADER = struct.Struct(">I")
_PIPE_BYTES = 1024 * 1024


@attrs.frozen
class Reply:
    """A batch, the progress after it, and whether it is the last one of a chunk."""

    batch: Batch
    progress: ParseProgress
    is_done: bool = True


# A reply, the exception that was raised, or None for a request without a result.
Message: TypeAlias = Reply | Exception | None


def encode_message(message: object) -> bytes:
    """Returns a message with its length, as it is sent."""
    body = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
    return HEADER.pack(len(body)) + body


def decode_message(body: bytes) -> Any:
    """Returns the message that was sent as `body`."""
    return pickle.loads(body)  # noqa: S301 - from a process of our own


class ParseServer:
    """Handles requests about the documents that one worker has open, by their numbers."""

    def __init__(self) -> None:
        self._parsers: dict[int, DocumentParser] = {}
        self._batches: dict[int, Iterator[Batch]] = {}

    def handle(self, request: tuple[str, int, Any]) -> Message:
        """Handles one request; returns an exception instead of raising it."""
        verb, number, argument = request
        try:
            return _HANDLERS[verb](self, number, argument)
        except Exception as error:
            return _picklable(error)

    def _open(self, number: int, task: ParseTask) -> Reply:
        self._parsers[number] = DocumentParser(task)
        return self._reply(number, [])

    def _feed(self, number: int, chunk: bytes) -> Reply:
        self._batches[number] = self._parsers[number].parse(chunk)
        return self._more(number, None)

    def _more(self, number: int, _: None) -> Reply:
        """Returns the next batch of a chunk."""
        batch, is_done = take_batch(self._batches[number])
        return self._reply(number, batch, is_done=is_done)

    def _end(self, number: int, cut: bool) -> Reply:
        return self._reply(number, self._parsers[number].end(cut=cut))

    def _finish(self, number: int, handle: FallbackAnswer) -> Reply:
        return self._reply(number, self._parsers[number].finish(handle))

    def _close(self, number: int, _: None) -> None:
        self._batches.pop(number, None)
        self._parsers.pop(number).release()

    def _reply(self, number: int, batch: Batch, *, is_done: bool = True) -> Reply:
        return Reply(batch, self._parsers[number].progress, is_done)


_HANDLERS: dict[str, Callable[[ParseServer, int, Any], Message]] = {
    "open": ParseServer._open,
    "feed": ParseServer._feed,
    "more": ParseServer._more,
    "end": ParseServer._end,
    "finish": ParseServer._finish,
    "close": ParseServer._close,
}


def main() -> int:
    """Handles requests until stdin ends, which it does when the parent process has ended."""
    gc.freeze()  # imported modules are never collected
    for pipe in (sys.stdin, sys.stdout):
        _enlarge_pipe(pipe.fileno())
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # sent to the whole process group: the parent ends its workers
    server, requests, replies = ParseServer(), sys.stdin.buffer, sys.stdout.buffer
    sys.stdout = sys.stderr  # stdout carries replies only
    _send(replies, None)  # ready
    while header := requests.read(HEADER.size):
        body = requests.read(*HEADER.unpack(header))
        _send(replies, server.handle(decode_message(body)))
    return 0


def _enlarge_pipe(pipe: int) -> None:
    """Raises the size of a pipe, so that both ends do not wait for each other every 64 KiB."""
    if sys.platform == "linux":
        import fcntl

        with suppress(OSError):  # the pipes of one user have a limit together
            fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)


def _send(replies: BinaryIO, message: Message) -> None:
    replies.write(encode_message(message))
    replies.flush()


def _picklable(error: Exception) -> Exception:
    """Returns an exception that can be pickled, with its traceback as a note if it is unexpected."""
    if not isinstance(error, SitemapReaderError):
        error.add_note("".join(traceback.format_exception(error)))
    try:
        decode_message(encode_message(error)[HEADER.size :])
    except Exception:  # it cannot be pickled or unpickled
        return RuntimeError("".join(traceback.format_exception(error)))
    return error
