"""The bytes of a document since the last tag outside entries, which another parser may have to read again.

All positions in the document are byte offsets in its UTF-8 text: expat's indices are converted by expat_driver.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...model.limits import over_limit
from .errors import Stop
from .scan import line_breaks, tag_end

if TYPE_CHECKING:
    from ...model.limits import Limits

_ONE_LINE = bytes.maketrans(b"\r\n", b"  ")


class ReplayBuffer:
    """`data` begins at the offset `start` of the document, on `line`.

    Bytes count for max_entry_bytes from `entry_start` on, where the last tag outside entries begins; it ends on
    `entry_line`.
    """

    def __init__(self, line: int, limits: Limits) -> None:
        self.data = bytearray()
        self.start = self.entry_start = 0
        self.line = self.entry_line = line
        self._max_entry_bytes = limits.max_entry_bytes
        self._max_token_bytes = limits.max_token_bytes
        self._reached = (0, line)  # the last offset whose line was counted, and that line

    def __len__(self) -> int:
        return len(self.data)

    @property
    def end(self) -> int:
        """The offset of the end of the buffer."""
        return self.start + len(self.data)

    def relative(self, offset: int) -> int:
        """An offset of the document in `data`."""
        return offset - self.start

    def line_at(self, offset: int) -> int:
        """The line at an offset; as offsets mostly grow, each byte is counted once."""
        reached, line = self._reached
        if reached == offset:
            return line
        if not self.start <= reached <= offset:
            reached, line = self.start, self.line
        line += line_breaks(self.data, reached - self.start, offset - self.start)
        self._reached = (offset, line)
        return line

    def tag_at(self, offset: int) -> bytes:
        """The tag that begins at an offset, as written, on one line."""
        start = offset - self.start
        return bytes(self.data[start : tag_end(self.data, start)]).translate(_ONE_LINE)

    def bytes_before(self, offset: int) -> bytes:
        """The two bytes before an offset."""
        end = offset - self.start
        return bytes(self.data[max(0, end - 2) : end])

    def drop_until(self, offset: int) -> None:
        """Removes the bytes before an offset."""
        self.line = self.line_at(offset)
        del self.data[: offset - self.start]
        self.start = offset

    def drop_tag(self, offset: int, *, is_tag: bool) -> None:
        """Removes all up to the event at an offset outside entries; with its tag, if it is one."""
        end = offset - self.start
        self.begin_entry(offset, self.start + (tag_end(self.data, end) if is_tag else end))

    def begin_entry(self, tag: int, end: int) -> None:
        """Removes all up to the end of a tag outside entries."""
        self.drop_until(end)
        self.entry_start, self.entry_line = tag, self.line

    def prepend(self, data: bytes) -> None:
        """Puts bytes before the others that the document does not have."""
        self.data[:0] = data
        self.start -= len(data)
        self.entry_start = self.start

    def skip(self, size: int, breaks: int, last_tag_bytes: int) -> None:
        """Moves past entries that are not put into the buffer, which is empty."""
        self.start += size
        self.line += breaks
        self.entry_start, self.entry_line = self.start - last_tag_bytes, self.line

    def is_too_long(self, offset: int) -> bool:
        """Whether an entry that is still open at an offset has more than max_entry_bytes."""
        return offset - self.entry_start > self._max_entry_bytes

    def too_long(self) -> Stop:
        """The exception for it."""
        limit = self._max_entry_bytes
        return Stop(over_limit("max_entry_bytes", limit, "bytes without the end of an entry", self.entry_line))

    def unended_token(self, offset: int) -> Stop:
        """The exception for a token from an offset on that is longer than max_token_bytes."""
        limit, line = self._max_token_bytes, self.line_at(offset)
        return Stop(over_limit("max_token_bytes", limit, "bytes in one comment, tag or other token", line))
