"""XML of any dialect: UTF-8 chunks in, raw entries and Problems out, in document order.

XmlReader picks the dialect by the root element (DIALECTS). Plain entries take the fast path (fast_path.py); all else
goes to EntryParser, which reads with expat and recovers from damage.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Protocol

from ..content.sniff import ROOTS, Format
from ..dialects import feed, urlset
from ..fast_path import FastPath, is_possible
from .entry_parser import EntryParser
from .errors import Stop, html_page

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from ...model.limits import Limits
    from ...model.problems import Problem
    from ..normalise.entry import RawEntry
    from ..normalise.scope import Scope
    from ..scanner import ScannedEntries
    from .elements import Entry, Vocabulary
    from .errors import Budget


class Reader(Protocol):
    """A format's parser: UTF-8 chunks in, raw entries and problems out. `cut`: the bytes ended early."""

    @property
    def complete(self) -> bool: ...
    @property
    def stopped(self) -> bool: ...
    def feed(self, data: bytes) -> Iterable[RawEntry | ScannedEntries | Problem]: ...
    def close(self, *, cut: bool) -> Iterable[RawEntry | ScannedEntries | Problem]: ...


EntryReader = Callable[["Entry", "Limits"], "list[RawEntry]"]
# Format -> (root namespace -> vocabulary, the EntryReader of a document)
DIALECTS: dict[Format, tuple[Callable[[str], Vocabulary], Callable[[], EntryReader]]] = {
    Format.URLSET: (partial(urlset.vocabulary, implied_entry="url"), urlset.entry_reader),
    Format.INDEX: (partial(urlset.vocabulary, implied_entry="sitemap"), urlset.entry_reader),
    Format.RSS: (feed.rss_vocabulary, lambda: feed.rss_entries),
    Format.ATOM: (feed.atom_vocabulary, lambda: feed.atom_entries),
}


class XmlReader:
    """Reads XML of the dialect that its root element names; the first byte is on `line`.

    `scopes` are those of pages and sitemaps, by which the scanner judges URLs; None: expat reads every entry. `extras`:
    elements without a field are read.
    """

    def __init__(
        self,
        limits: Limits,
        budget: Budget,
        line: int = 1,
        *,
        scopes: Mapping[str, Scope] | None = None,
        extras: bool = False,
    ) -> None:
        self.format: Format | None = None
        self._limits = limits
        self._parser = EntryParser(limits, self._open_root, self._read_entry, budget, line)
        self._path: FastPath | EntryParser = self._parser
        if scopes and is_possible(limits):
            self._path = FastPath(self._parser, limits, scopes, extras=extras)
        self._raw_entries: EntryReader  # set at the root

    @property
    def complete(self) -> bool:
        return self._parser.complete

    @property
    def stopped(self) -> bool:
        return self._parser.stopped

    @property
    def cut(self) -> bool:
        """Whether the bytes ended before the root element did."""
        return self._parser.cut

    def feed(self, data: bytes) -> Iterator[RawEntry | ScannedEntries | Problem]:
        return self._path.feed(data)

    def close(self, *, cut: bool) -> Iterator[RawEntry | ScannedEntries | Problem]:
        return self._path.close()

    def free(self) -> None:
        """Frees what is kept of a document that has ended: the parts refer to each other."""
        self._parser.free()

    def _read_entry(self, entry: Entry) -> list[RawEntry]:
        return self._raw_entries(entry, self._limits)

    def _open_root(self, namespace: str, name: str) -> Vocabulary | None:
        if name.lower() in ("html", "body"):
            self.format = Format.HTML
            raise Stop(html_page())
        self.format = ROOTS.get(name) or urlset.ROOTS.get(name.lower())
        if self.format is None:
            return None
        vocabulary, entry_reader = DIALECTS[self.format]
        self._raw_entries = entry_reader()
        opened = vocabulary(namespace)
        dialect = urlset if self.format in (Format.URLSET, Format.INDEX) else feed
        opened.root_problems = dialect.judge_root(namespace, name)
        return opened
