"""Counts a site in one pass: the JSON objects of its lines in, facts out.

Memory is bounded (see facts.Tops), except for a fingerprint of each URL to find repeated ones. Never rates the site,
and reads no clock: `now` is passed in.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Any

import attrs

from ..client.dedupe import UrlSet
from ..model.errors import UsageError
from ..model.records import EXTENSIONS, NO_EXTENSIONS
from ..parser.content.sniff import Format
from ..serialize.jsonl import NESTED, from_json
from .facts import Dates, Fact, Tops, as_stated, facts, share

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from datetime import datetime


# --- URLs: hosts, sections, extensions and hreflang codes -------------------------------------------------------------


MAX_DEPTH = 5
# Extensions of which a URL may have several.
_COUNTED = tuple(name for name, blank in zip(EXTENSIONS, NO_EXTENSIONS, strict=True) if blank == ())
# Host, without credentials, and path.
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://(?:[^/?#]*@)?([^/?#]*)([^?#]*)")


class Places:
    """take() counts each URL; the other methods return groups of facts, given the number of URLs."""

    def __init__(self) -> None:
        self._locs, self._sitemaps, self._names = UrlSet(), UrlSet(), UrlSet()
        self._sitemap = self._host = ""  # the last ones: in most cases the next URL has the same
        self._hosts, self._sections, self._codes = Tops(), Tops(), Tops()
        self._depths: Counter[int] = Counter()
        self._having: Counter[str] = Counter()
        self._items: Counter[str] = Counter()

    def take(self, form: Mapping[str, Any]) -> None:
        """Counts a URL."""
        self._locs.add(form["loc"])
        sitemap = form.get("sitemap")
        if sitemap is not None and sitemap != self._sitemap:
            self._sitemap = sitemap
            self._sitemaps.add(sitemap)
        match = _URL.match(form["loc"])
        if match is not None:
            self._place(*match.groups())
        for name in NESTED:
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
        """How many URLs there are, and how many have each extension."""
        repeated = urls - len(self._locs)
        yield Fact("urls", "listed", urls)
        yield Fact("urls", "repeated", repeated, share(repeated, urls))
        yield Fact("urls", "in sitemaps", len(self._sitemaps))
        yield Fact("urls", "on hosts", len(self._names))
        yield from facts("urls with", _nonzero(self._having, NESTED), urls)

    def items(self, urls: int) -> Iterator[Fact]:
        """How many images, videos and alternates there are."""
        return facts("items", _nonzero(self._items, _COUNTED))

    def hosts(self, urls: int) -> Iterator[Fact]:
        """The largest hosts."""
        return self._hosts.facts("hosts", 3, urls)

    def sections(self, urls: int) -> Iterator[Fact]:
        """URLs by first folder and by depth."""
        yield from self._sections.facts("sections", 10, urls)
        names = {MAX_DEPTH: f"{MAX_DEPTH} and more"}
        depths = [(names.get(depth, str(depth)), count) for depth, count in sorted(self._depths.items())]
        yield from facts("depth", depths, urls)

    def codes(self, urls: int) -> Iterator[Fact]:
        """URLs by hreflang code; a URL has several, so there is no remainder."""
        return facts("hreflang", self._codes.top(10), urls)


def _nonzero(counts: Counter[str], names: tuple[str, ...]) -> list[tuple[str, int]]:
    return [(name, counts[name]) for name in names if counts[name]]


# --- runs: how sitemaps were read, their formats, problems by code ----------------------------------------------------


_STATES = ("complete", "partial", "failed")


@attrs.frozen
class _Document:
    format: str
    state: str
    bytes_decoded: int
    dropped: Mapping[str, int]
    is_alias: bool


class Runs:
    """Counts documents by their final URL, so that one with several URLs is one, and problems by code."""

    def __init__(self) -> None:
        self._documents: dict[str, _Document] = {}
        self._robots_failed = 0
        self._has_run = False
        self._reported, self._on_urls = Tops(), Tops()

    def __bool__(self) -> bool:
        return self._has_run

    def take_outcome(self, form: Mapping[str, Any]) -> None:
        """Counts a document; their number is limited for each run."""
        self._has_run = True
        if form["format"] == Format.ROBOTS:
            self._robots_failed += not form["complete"]
            return
        url = form["url"]
        place = form["final_url"] or url or f"{len(self._documents)}"
        state = "complete" if form["complete"] else "partial" if form["entries"] else "failed"
        known = self._documents.get(place)
        if known is None or known.is_alias:
            self._documents[place] = _Document(
                form["format"] or "unknown", state, form["bytes_decoded"], form["dropped"], place != url
            )

    def take_problem(self, form: Mapping[str, Any]) -> None:
        """Counts a problem that has its own line."""
        self._has_run = True
        self._reported.add(form["code"])

    def take_url(self, form: Mapping[str, Any]) -> None:
        """Counts the problems of a URL."""
        for problem in form["problems"]:
            self._on_urls.add(problem["code"])

    def dropped(self, urls: int) -> Iterator[Fact]:
        """Dropped URLs by reason."""
        dropped = Tops()
        for document in self._documents.values():
            for reason, count in document.dropped.items():
                dropped.add(reason, count)
        return dropped.facts("urls dropped", 5)

    def documents(self, urls: int) -> Iterator[Fact]:
        """Sitemaps by state and by format, and their size."""
        states, formats, sizes = Tops(), Tops(), Tops()
        for document in self._documents.values():
            states.add(document.state)
            formats.add(document.format)
            if document.bytes_decoded:
                sizes.add(document.format, document.bytes_decoded)
        yield from states.facts("sitemaps", len(_STATES), states.total, order=lambda pair: _STATES.index(pair[0]))
        if self._robots_failed:
            yield Fact("sitemaps", "robots.txt failed", self._robots_failed)
        yield from formats.facts("sitemaps format", 5, formats.total)
        yield from sizes.facts("sitemaps bytes", 5, sizes.total)

    def problems(self, urls: int) -> Iterator[Fact]:
        """Problems by code. The lines of a run include those of its URLs."""
        return (self._reported if self else self._on_urls).facts("problems", 10)


# --- changefreq and priority ------------------------------------------------------------------------------------------


class Hints:
    """take() counts each URL; facts() returns the distributions."""

    def __init__(self) -> None:
        self._changefreqs, self._priorities = Tops(), Tops()

    def take(self, form: Mapping[str, Any]) -> None:
        """Counts a URL."""
        changefreq, priority = form.get("changefreq"), form.get("priority")
        if changefreq is not None:
            self._changefreqs.add(changefreq)
        if priority is not None:
            self._priorities.add(format(priority, "g"))

    def facts(self, urls: int) -> Iterator[Fact]:
        """changefreq by count, priority by value."""
        yield from self._changefreqs.facts("changefreq", 7, urls, missing="none")
        yield from self._priorities.facts("priority", 5, urls, order=lambda pair: -float(pair[0]), missing="none")


__all__ = ["Fact", "Statistics", "as_stated"]


class Statistics:
    """add() counts each line; facts() returns the statistics so far. Ages are relative to `now`, which is aware."""

    def __init__(self, now: datetime) -> None:
        self.urls = 0
        self._places = Places()
        self._dates = Dates(now)
        self._hints = Hints()
        self._runs = Runs()
        self._takers: dict[object, Callable[[Mapping[str, Any]], None]] = {
            None: self._take_url,
            "outcome": self._runs.take_outcome,
            "problem": self._runs.take_problem,
        }

    def add(self, form: Mapping[str, Any]) -> None:
        """Counts a URL, an outcome or a problem; lines of other types are ignored.

        UsageError for a line that is not of its type.
        """
        take = self._takers.get(form.get("type"))
        if take is None:
            return
        try:
            take(form)
        except (TypeError, ValueError, KeyError, AttributeError) as exc:
            from_json(form)  # raises a UsageError with the key at fault
            raise UsageError(f"no line of a dump: {exc}") from exc

    def facts(self) -> list[Fact]:
        """The facts so far, group by group; none without lines."""
        places, runs = self._places, self._runs
        if not self.urls:
            groups: tuple[Callable[[int], Iterator[Fact]], ...] = (runs.dropped, runs.documents, runs.problems)
        else:
            groups = (
                places.counts,
                runs.dropped,
                places.items,
                places.hosts,
                runs.documents,
                self._dates.facts,
                self._hints.facts,
                places.sections,
                places.codes,
                runs.problems,
            )
        return [fact for group in groups for fact in group(self.urls)]

    def _take_url(self, form: Mapping[str, Any]) -> None:
        self.urls += 1
        self._places.take(form)
        self._dates.take(form)
        self._hints.take(form)
        if "problems" in form:
            self._runs.take_url(form)
