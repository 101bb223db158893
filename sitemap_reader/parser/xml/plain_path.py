"""The way of the bytes of a document between its plain entries (plain.py) and expat, which reads all else (markup.py).

What comes out is always what expat alone would have given.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..fast_scanner import entry_end, is_beginning, plain_blocks

if TYPE_CHECKING:
    from ...model.problems import Problem
    from ..fast_scanner import Block
    from .elements import Entry
    from .markup import Markup

# So many entries at most go by before the plain path is tried once more.
_MOST_BETWEEN = 4096


class PlainPath:
    """feed() and close() as those of the `markup`, which is not shown what is plain.

    It is tried behind every entry, but ever less often where what follows is not plain.
    """

    def __init__(self, markup: Markup) -> None:
        self._markup = markup
        self._between = self._left = 1  # how many entries go by before it is tried, and how many of these are to come
        self._is_clear = False  # nothing stands before what comes next but whole entries
        self._held = b""  # a short beginning of an entry, until the rest of it is there

    def feed(self, data: bytes) -> list[Entry | Block | Problem]:
        """What has become certain."""
        data, self._held = self._held + data, b""
        out: list[Entry | Block | Problem] = []
        at, goes_on = 0, False
        while (end := self._next_try(data, at)) is not None:
            out += self._markup.feed(data[at:end], goes_on=goes_on)
            at, goes_on = self._tried(data, end, out), True
        rest = data[at:]
        self._is_clear = self._is_clear and is_beginning(rest)
        if self._is_clear:
            self._held, self._left = rest, 0
        else:
            out += self._markup.feed(rest, goes_on=goes_on)
        return out

    def close(self) -> list[Entry | Block | Problem]:
        """What is left."""
        held, self._held = self._held, b""
        return [*self._markup.feed(held), *self._markup.close()]

    def _next_try(self, data: bytes, start: int) -> int | None:
        """Where the entry ends, from `start` on, behind which to try; None where all of `data` goes by."""
        end: int | None = start
        while self._left and end is not None:
            end = entry_end(data, end)
            self._left -= end is not None
        return end

    def _tried(self, data: bytes, start: int, out: list[Entry | Block | Problem]) -> int:
        """Gives the plain entries that begin at `start`; where they end."""
        self._is_clear = self._markup.is_behind_entry
        end, was_worth_it = self._pass_over(data, start, out) if self._is_clear else (start, False)
        if was_worth_it:
            self._between = 1
        elif not self._is_clear or entry_end(data, end) is not None:
            self._between = min(2 * self._between, _MOST_BETWEEN)
        self._left = self._between
        return end

    def _pass_over(self, data: bytes, start: int, out: list[Entry | Block | Problem]) -> tuple[int, bool]:
        markup, was_worth_it = self._markup, False
        for block in plain_blocks(data, start, markup.line, markup.most_bare, markup.tails):
            out.append(block)
            end = start + block.size
            markup.pass_over(block, data[start:end])
            start, was_worth_it = end, block.is_worth_it
            if not was_worth_it:
                break
        return start, was_worth_it
