"""Where URLs are and what they have: forms in; hosts, sections, extensions and hreflang codes out."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Any

from ..client.dedupe import Seen
from .facts import Fact, Tops, facts, share

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

MAX_DEPTH = 5
_EXTENSIONS = ("images", "videos", "news", "alternates", "mobile", "extras")
_COUNTED = ("images", "videos", "alternates")
# Host and path; credentials are no part of a host.
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://(?:[^/?#]*@)?([^/?#]*)([^?#]*)")


class Places:
    """take() every form; then each group of facts, given how many forms there were."""

    def __init__(self) -> None:
        self._locs, self._sitemaps, self._names = Seen(), Seen(), Seen()
        self._sitemap = self._host = ""  # the last ones: mostly the next URL has the same
        self._hosts, self._sections, self._codes = Tops(), Tops(), Tops()
        self._depths: Counter[int] = Counter()
        self._having: Counter[str] = Counter()
        self._items: Counter[str] = Counter()

    def take(self, form: Mapping[str, Any]) -> None:
        """Takes in a URL."""
        self._locs.add(form["loc"])
        sitemap = form.get("sitemap")
        if sitemap is not None and sitemap != self._sitemap:
            self._sitemap = sitemap
            self._sitemaps.add(sitemap)
        match = _URL.match(form["loc"])
        if match is not None:
            self._place(*match.groups())
        for name in _EXTENSIONS:
            if form.get(name):
                self._extend(name, form[name])

    def _place(self, host: str, path: str) -> None:
        if host != self._host:
            self._host = host
            self._names.add(host)
        self._hosts.add(host)
        inside = path.strip("/")
        end = inside.find("/")
        self._sections.add(f"/{inside[:end]}/" if end > 0 else "/")
        self._depths[min(inside.count("/") + 1, MAX_DEPTH) if inside else 0] += 1

    def _extend(self, name: str, value: Any) -> None:
        self._having[name] += 1
        if name in _COUNTED:
            self._items[name] += len(value)
        if name == "alternates":
            for code in {alternate["hreflang"] for alternate in value} - {None}:
                self._codes.add(code)

    def counts(self, urls: int) -> Iterator[Fact]:
        """How many there are, and how many have what."""
        repeated = urls - len(self._locs)
        yield Fact("urls", "listed", urls)
        yield Fact("urls", "repeated", repeated, share(repeated, urls))
        yield Fact("urls", "in sitemaps", len(self._sitemaps))
        yield Fact("urls", "on hosts", len(self._names))
        yield from facts("urls with", _nonzero(self._having, _EXTENSIONS), urls)

    def items(self, urls: int) -> Iterator[Fact]:
        """What there may be several of."""
        return facts("items", _nonzero(self._items, _COUNTED))

    def hosts(self, urls: int) -> Iterator[Fact]:
        """The largest hosts."""
        return self._hosts.facts("hosts", 3, urls)

    def sections(self, urls: int) -> Iterator[Fact]:
        """First folders, and depths."""
        yield from self._sections.facts("sections", 10, urls)
        names = {MAX_DEPTH: f"{MAX_DEPTH} and more"}
        depths = [(names.get(depth, str(depth)), count) for depth, count in sorted(self._depths.items())]
        yield from facts("depth", depths, urls)

    def codes(self, urls: int) -> Iterator[Fact]:
        """hreflang; a URL has several of them, so that what is left is no number of URLs."""
        return facts("hreflang", self._codes.top(10), urls)


def _nonzero(counts: Counter[str], names: tuple[str, ...]) -> list[tuple[str, int]]:
    return [(name, counts[name]) for name in names if counts[name]]
