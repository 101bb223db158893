"""XML of any dialect: UTF-8 chunks in, raw entries out; the root element says how they are read.

A dialect is a row of DIALECTS: the names of its documents, and what makes raw entries of its entries.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from ...model.problems import Problem, report
from ..content.sniff import ROOTS, Format
from ..dialects import feed, urlset
from ..fast_scanner import Block, pass_all
from .errors import Stop, html_page
from .markup import Markup
from .plain_path import PlainPath

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from ...model.limits import Limits
    from ..dialects.text import Listing
    from ..normalise.entry import RawEntry
    from .budget import Budget
    from .elements import Entry, Vocabulary


class Reader(Protocol):
    """A format's parser: UTF-8 chunks in, raw entries and problems out. `cut`: the bytes end where they should not."""

    @property
    def complete(self) -> bool: ...
    @property
    def stopped(self) -> bool: ...
    def feed(self, data: bytes) -> Iterable[RawEntry | Block | Listing | Problem]: ...
    def close(self, *, cut: bool) -> Iterable[RawEntry | Block | Listing | Problem]: ...


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
        self._path = PlainPath(self._markup) if plain and pass_all(limits) else self._markup
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
