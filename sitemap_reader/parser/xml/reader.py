"""XML of any dialect: UTF-8 chunks in, raw entries out; the root element says how they are read.

A dialect is a row of DIALECTS: the names of its documents, and what makes raw entries of its entries.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol
from xml.parsers import expat

from ...model.problems import Problem, report
from ..content.sniff import ROOTS, Format
from ..dialects import feed, urlset
from ..fast_scanner import Block, entry_end, is_beginning, pass_all, plain_blocks
from .entry_builder import Builder
from .errors import TAG, UNCLOSED_SECTION, Fault, Misplaced, Spent, Stop, TooLong, UnendedSection, html_page
from .expat_driver import BareDoctype, Driver
from .recovery.recovery import Recovery
from .recovery.tokenizer import blank_doctype
from .replay_buffer import RepairReport, ReplayBuffer

if TYPE_CHECKING:
    from collections.abc import Callable

    from ...model.limits import Limits
    from ..fast_extensions import ExtensionReader
    from .elements import Entry, Vocabulary
    from .errors import Budget
    from .recovery.characters import CharacterRepair

    OpenRoot = Callable[[str, str], Vocabulary]
    from collections.abc import Callable, Iterable, Iterator

    from ..dialects.text import TextLines
    from ..normalise.entry import RawEntry


# ----------------------------------------------------------------------------------------------------
# XML that may be damaged: UTF-8 chunks in, entries (builder.py) and Problems out, in document order.
#
# At a fault expat (driver.py) restarts behind the last complete entry, with the bytes that recovery.py gives. What
# comes
# out is never a part of a field, and no entity of the document's own is ever resolved.


class Markup:
    """feed() and close() give what has become certain; `complete` is False once an entry may be missing.

    `open_root(namespace, name)` gives the vocabulary of the document, or raises Stop. The first byte is on `line`.
    Where it `is_behind_entry` it may be told to pass_over() what follows.
    """

    def __init__(self, limits: Limits, open_root: OpenRoot, budget: Budget, line: int = 1) -> None:
        self._budget = budget
        self._may_renew = True
        self._pending = ReplayBuffer(line, limits.max_entry_bytes)
        out: list[Entry | Problem] = []
        self._told = RepairReport(limits, budget, self._pending, out)
        self._builder = Builder(limits, open_root, self._pending, out, self._told.of)
        self._driver = Driver(self._pending, self._builder, budget, limits.max_token_bytes)
        self._recovery = Recovery(limits, budget, self._pending, self._told, self._builder, self._driver)

    def feed(self, data: bytes, *, goes_on: bool = False) -> list[Entry | Problem]:
        """`goes_on`: it is a further piece of what the caller got at once."""
        self._may_renew = not goes_on
        return self._take(data, final=False)

    def close(self) -> list[Entry | Problem]:
        return self._take(b"", final=True)

    def _take(self, data: bytes, *, final: bool) -> list[Entry | Problem]:
        try:
            self._read(data, final=final)
        except Stop as stop:
            self._recovery.stop(stop.problem, self._driver.index if stop.index is None else stop.index)
        except Spent:
            self._recovery.stop(self._budget.problem(self.line), self._driver.index)
        return self._builder.taken()

    @property
    def complete(self) -> bool:
        return self._recovery.complete and not (self._builder.lost_location or self._told.is_error)

    @property
    def stopped(self) -> bool:
        return self._recovery.stopped

    @property
    def cut(self) -> bool:
        """Whether the bytes ended before the root element did."""
        return self._recovery.cut

    @property
    def is_behind_entry(self) -> bool:
        """Whether all is read, up to the end of an entry in a `<urlset>`, which has no prefix, nor need its entries."""
        return (
            self._pending.stands_behind_entry
            and (self._builder.behind_entry and self._builder.names == [b"urlset"])
            and not (self._recovery.is_waiting or self.stopped)
            and (not self._mender or self._mender.is_clear)
        )

    @property
    def line(self) -> int:
        """The one that it has reached."""
        return self._builder.line()

    @property
    def tails(self) -> ExtensionReader:
        """What reads the tails of plain entries here."""
        return self._builder.tails

    def most_bare(self) -> int:
        """How many `&` may be passed over that are to be mended."""
        return self._mender.most_bare(self._builder.line()) if self._mender else 0

    def pass_over(self, block: Block, data: bytes) -> None:
        """Expat is not shown `data`, which is the block."""
        self._driver.pass_over(block.size, block.breaks)
        if self._mender:
            block.mends.extend(self._mender.pass_over(data, block.bare))

    @property
    def _mender(self) -> CharacterRepair | None:
        """What the bytes go through from the first fault on."""
        return self._recovery.mender

    def _read(self, data: bytes, *, final: bool) -> None:
        self._go_on(self._mender.feed(data, final=final) if self._mender else data, final=final)
        while self._mender and self._mender.is_behind and not self.stopped:
            self._go_on(self._mender.feed(b"", final=final), final=final)

    def _go_on(self, data: bytes, *, final: bool) -> None:
        """With bytes that are mended, if they have to be."""
        if self.stopped:
            return
        goes_on = True
        if self._recovery.is_waiting:
            self._pending.data += data
            data, goes_on = b"", self._recovery.look_again(final=self._is_last(final))
        if goes_on:
            if self._may_renew:
                self._driver.renew()
            self._parse(data, final=final)
        self._trim()
        if self._is_last(final):
            self._told.release(None)

    def _is_last(self, final: bool) -> bool:
        """Whether nothing comes any more, not from the mender either."""
        return final and not (self._mender and self._mender.is_behind)

    # --- expat ---

    def _parse(self, data: bytes, *, final: bool) -> None:
        """Feeds expat, and after each fault what recovery gives, until nothing is left."""
        goes_on = True
        while goes_on:
            is_last = self._is_last(final)
            try:
                return self._driver.feed(data, final=is_last, is_repaired=self._mender is not None)
            except expat.ExpatError as error:
                goes_on = self._recovery.recover(self._fault_of(error.code), final=is_last)
            except UnendedSection:
                goes_on = self._recovery.recover(self._fault_of(UNCLOSED_SECTION), final=is_last)
            except Misplaced as misplaced:
                fault = self._fault_at(misplaced.index, str(misplaced), misplaced=misplaced)
                goes_on = self._recovery.recover(fault, final=is_last)
            except BareDoctype:
                self._blank_doctype()
            except TooLong:
                self._builder.forget_passed()
                raise self._pending.too_long() from None
            data = b""

    def _blank_doctype(self) -> None:
        self._budget.look(self._pending.data, 0, len(self._pending), TAG)
        blanked = blank_doctype(bytes(self._pending.data))
        if blanked == self._pending.data:
            raise Stop(report("S09", "the DOCTYPE cannot be told from the rest: refused"))
        self._pending.data[:] = blanked
        self._driver.restart()

    def _trim(self) -> None:
        self._builder.forget_passed()
        is_read = not (self._recovery.is_waiting or self.stopped)
        if is_read and self._pending.is_too_long(self._driver.token):
            raise self._pending.too_long()

    def _fault_of(self, code: int) -> Fault:
        # expat finds an unclosed section where the bytes end.
        index = self._builder.section_index if code == UNCLOSED_SECTION else self._driver.error_index
        return self._fault_at(index, expat.ErrorString(code), code)

    def _fault_at(self, index: int, what: str, code: int | None = None, misplaced: Misplaced | None = None) -> Fault:
        """The fault at `index` of expat's count."""
        self._builder.forget_passed()
        position = max(0, self._pending.offset(index))
        return Fault(position, self._pending.line_at(position), what, code, misplaced)


# ----------------------------------------------------------------------------------------------------
# The way of the bytes of a document between its plain entries (plain.py) and expat, which reads all else (markup.py).
#
# What comes out is always what expat alone would have given.


# So many entries at most go by before the plain path is tried once more.
_MOST_BETWEEN = 4096


class FastPath:
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


class Reader(Protocol):
    """A format's parser: UTF-8 chunks in, raw entries and problems out. `cut`: the bytes end where they should not."""

    @property
    def complete(self) -> bool: ...
    @property
    def stopped(self) -> bool: ...
    def feed(self, data: bytes) -> Iterable[RawEntry | Block | TextLines | Problem]: ...
    def close(self, *, cut: bool) -> Iterable[RawEntry | Block | TextLines | Problem]: ...


# Format -> (names of the document for a root namespace, entry -> raw entries)
DIALECTS: dict[Format, tuple[Callable[[str], Vocabulary], Callable[[Entry, Limits], list[RawEntry]]]] = {
    Format.URLSET: (urlset.urlset_vocabulary, urlset.raw_entries),
    Format.INDEX: (urlset.index_vocabulary, urlset.raw_entries),
    Format.RSS: (feed.rss_vocabulary, feed.rss_entries),
    Format.ATOM: (feed.atom_vocabulary, feed.atom_entries),
}


class MarkupReader:
    """XML of any dialect: its root element says which. The first byte is on `line` of the document."""

    def __init__(self, limits: Limits, budget: Budget, line: int = 1, *, plain: bool = True) -> None:
        self.format: Format | None = None
        self._limits = limits
        self._markup = Markup(limits, self._open_root, budget, line)
        self._path = FastPath(self._markup) if plain and pass_all(limits) else self._markup
        self._opening: list[Problem] = []
        self._raw_entries: Callable[[Entry, Limits], list[RawEntry]] = urlset.raw_entries

    @property
    def complete(self) -> bool:
        return self._markup.complete

    @property
    def stopped(self) -> bool:
        return self._markup.stopped

    @property
    def cut(self) -> bool:
        """True where the bytes ended before the root element did."""
        return self._markup.cut

    def feed(self, data: bytes) -> Iterator[RawEntry | Block | Problem]:
        return self._given(self._path.feed(data))

    def close(self, *, cut: bool) -> Iterator[RawEntry | Block | Problem]:
        return self._given(self._path.close())

    def _given(self, items: Iterable[Entry | Block | Problem]) -> Iterator[RawEntry | Block | Problem]:
        yield from self._opening
        self._opening = []
        for item in items:
            if isinstance(item, Problem | Block):
                yield item
            else:
                yield from self._raw_entries(item, self._limits)

    def _open_root(self, namespace: str, name: str) -> Vocabulary:
        if name.lower() == "html":
            self.format = Format.HTML
            raise Stop(html_page())
        self.format = ROOTS.get(name) or urlset.ROOTS.get(name.lower())
        if self.format is None:
            raise Stop(report("S15", f"the root element is <{name[:80]}>: not a sitemap"))
        if self.format in (Format.URLSET, Format.INDEX):
            self._opening = urlset.judge_root(namespace, name)
        vocabulary, self._raw_entries = DIALECTS[self.format]
        names = vocabulary(namespace)
        for tag in ("url", "loc", "lastmod", "changefreq", "priority"):  # expat may not be shown them
            names[f"{namespace}}}{tag}" if namespace else tag]
        return names
