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

    `tag` is the offset of the last tag outside entries, or of the last entry's end tag; `is_tag` is False for the end
    of an empty element (`<a/>`), whose offset is after the tag. Bytes count for max_entry_bytes from there on. The tag
    `is_after_entry` if it ended one, `is_after_root` if it began a root that holds entries only. So many bytes were
    `skipped`, with their lines: they were never in `data`.
    """

    def __init__(self, line: int, limits: Limits) -> None:
        self.data = bytearray()
        self.start = self.tag = self.skipped = self.skipped_lines = 0
        self.line = self._tag_line = line
        self.is_tag = True
        self.is_after_entry = self.is_after_root = False
        self._holds_tag = False  # or what is before it
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

    # --- what is read ---

    def note_tag(self, offset: int) -> None:
        """Notes a tag outside entries, or the end tag of one. Stop above max_entry_bytes."""
        if self.is_too_long(offset):
            raise self.too_long()
        self.tag, self.is_tag, self._holds_tag = offset, True, True
        self.is_after_entry = self.is_after_root = False

    def forget_tag(self) -> None:
        """Keeps what is before the last tag that was noted."""
        self._holds_tag = False

    def drop_read(self, end: int | None = None) -> bool:
        """Removes all up to the end of the last tag that was noted, which is the offset `end`; False without one."""
        if not self._holds_tag:
            return False
        if end is None:
            start = self.tag - self.start
            end = self.start + tag_end(self.data, start) if self.is_tag else self.tag
        self.drop_until(end)
        self._tag_line, self._holds_tag = self.line, False
        return True

    def drop_until(self, offset: int) -> None:
        """Removes the bytes before an offset."""
        self.line = self.line_at(offset)
        del self.data[: offset - self.start]
        self.start = offset

    def begin_entry(self, offset: int) -> None:
        """Removes the bytes before an entry or a root at an offset."""
        self.drop_until(offset)
        self.tag, self._tag_line, self._holds_tag = offset, self.line, False

    def prepend(self, data: bytes) -> None:
        """Puts bytes before the others that the document does not have."""
        self.data[:0] = data
        self.start -= len(data)
        self.tag = self.start

    def skip(self, size: int, breaks: int, end_tag_size: int) -> None:
        """Moves past entries that are not put into the buffer, which is empty; the last one has this end tag."""
        self.start += size
        self.skipped += size
        self.line += breaks
        self.skipped_lines += breaks
        self.tag, self._tag_line = self.start - end_tag_size, self.line
        self.is_after_entry = True

    # --- limits ---

    def is_too_long(self, offset: int) -> bool:
        """Whether an entry that is still open at an offset has more than max_entry_bytes."""
        return offset - self.tag > self._max_entry_bytes

    def too_long(self) -> Stop:
        """The exception for it."""
        self.drop_read()
        limit = self._max_entry_bytes
        return Stop(over_limit("max_entry_bytes", limit, "bytes without the end of an entry", self._tag_line))

    def unended_token(self, offset: int) -> Stop:
        """The exception for a token from an offset on that is longer than max_token_bytes."""
        limit, line = self._max_token_bytes, self.line_at(offset)
        return Stop(over_limit("max_token_bytes", limit, "bytes in one comment, tag or other token", line))
