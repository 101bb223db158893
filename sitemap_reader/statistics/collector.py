"""Statistics: counts the JSON objects of a dump in one pass; facts() returns the numbers of the site.

In: the dict of each JSON line, and the time of the report. Out: Facts, group by group. Memory is bounded, except for
8 bytes of each distinct loc.
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
from .facts import Fact, LastmodStatistics, TopCounts, facts, share

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from datetime import datetime


# --- URLs ---

MAX_DEPTH = 5
# Extensions of which a URL may have several.
_COUNTED = tuple(name for name, blank in zip(EXTENSIONS, NO_EXTENSIONS, strict=True) if blank == ())
# Host and path; credentials are no part of a host.
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://(?:[^/?#]*@)?([^/?#]*)([^?#]*)")


class UrlStatistics:
    """Counts of URLs by host, section, depth, extension and hreflang; each group of facts takes the number of URLs."""

    def __init__(self) -> None:
        self._locs, self._sitemaps, self._names = UrlSet(), UrlSet(), UrlSet()
        self._sitemap = self._host = ""  # of the last URL: the next one mostly has the same
        self._hosts, self._sections, self._codes = TopCounts(), TopCounts(), TopCounts()
        self._depths: Counter[int] = Counter()
        self._having: Counter[str] = Counter()
        self._items: Counter[str] = Counter()

    def add(self, json_object: Mapping[str, Any]) -> None:
        """Counts a URL."""
        self._locs.add(json_object["loc"])
        sitemap = json_object.get("sitemap")
        if sitemap is not None and sitemap != self._sitemap:
            self._sitemap = sitemap
            self._sitemaps.add(sitemap)
        match = _URL.match(json_object["loc"])
        if match is not None:
            self._count_location(*match.groups())
        for name in NESTED:
            if json_object.get(name):
                self._count_extension(name, json_object[name])

    def _count_location(self, host: str, path: str) -> None:
        if host != self._host:
            self._host = host
            self._names.add(host)
        self._hosts.add(host)
        inside = path.strip("/")
        end = inside.find("/")
        self._sections.add(f"/{inside[:end]}/" if end > 0 else "/")
        self._depths[min(inside.count("/") + 1, MAX_DEPTH) if inside else 0] += 1

    def _count_extension(self, name: str, value: Any) -> None:
        self._having[name] += 1
        if name in _COUNTED:
            self._items[name] += len(value)
        if name == "alternates":
            for code in {alternate["hreflang"] for alternate in value} - {None}:
                self._codes.add(code)

    def counts(self, urls: int) -> Iterator[Fact]:
        """Numbers of listings, repetitions, sitemaps and hosts, and of URLs with extensions."""
        repeated = urls - len(self._locs)
        yield Fact("urls", "listed", urls)
        yield Fact("urls", "repeated", repeated, share(repeated, urls))
        yield Fact("urls", "in sitemaps", len(self._sitemaps))
        yield Fact("urls", "on hosts", len(self._names))
        yield from facts("urls with", _nonzero(self._having, NESTED), urls)

    def items(self, urls: int) -> Iterator[Fact]:
        """Numbers of images, videos and alternates."""
        return facts("items", _nonzero(self._items, _COUNTED))

    def hosts(self, urls: int) -> Iterator[Fact]:
        """The largest hosts."""
        return self._hosts.facts("hosts", 3, urls)

    def sections(self, urls: int) -> Iterator[Fact]:
        """URLs by first folder and by depth of the path."""
        yield from self._sections.facts("sections", 10, urls)
        names = {MAX_DEPTH: f"{MAX_DEPTH} and more"}
        depths = [(names.get(depth, str(depth)), count) for depth, count in sorted(self._depths.items())]
        yield from facts("depth", depths, urls)

    def codes(self, urls: int) -> Iterator[Fact]:
        """URLs by hreflang; without `other`, as a URL has several."""
        return facts("hreflang", self._codes.top(10), urls)


def _nonzero(counts: Counter[str], names: tuple[str, ...]) -> list[tuple[str, int]]:
    return [(name, counts[name]) for name in names if counts[name]]


# --- sitemaps and problems ---

_STATES = ("complete", "partial", "failed")


@attrs.frozen
class _Document:
    format: str
    state: str
    bytes_decoded: int
    dropped: Mapping[str, int]
    is_alias: bool


class RunStatistics:
    """Counts of documents, by final URL, so that redirects to one document count once; and of problems."""

    def __init__(self) -> None:
        self._documents: dict[str, _Document] = {}
        self._robots_failed = 0
        self._has_run = False
        self._reported, self._on_urls = TopCounts(), TopCounts()

    def __bool__(self) -> bool:
        return self._has_run

    def add_outcome(self, json_object: Mapping[str, Any]) -> None:
        """Counts a document; memory grows with their number, which a run limits."""
        self._has_run = True
        if json_object["format"] == Format.ROBOTS:
            self._robots_failed += not json_object["complete"]
            return
        url = json_object["url"]
        key = json_object["final_url"] or url or f"{len(self._documents)}"
        state = "complete" if json_object["complete"] else "partial" if json_object["entries"] else "failed"
        known = self._documents.get(key)
        if known is None or known.is_alias:
            self._documents[key] = _Document(
                json_object["format"] or "unknown",
                state,
                json_object["bytes_decoded"],
                json_object["dropped"],
                key != url,
            )

    def add_problem(self, json_object: Mapping[str, Any]) -> None:
        """Counts a problem with a line of its own."""
        self._has_run = True
        self._reported.add(json_object["code"])

    def add_url_problems(self, json_object: Mapping[str, Any]) -> None:
        """Counts the problems of a URL."""
        for problem in json_object["problems"]:
            self._on_urls.add(problem["code"])

    def dropped(self, urls: int) -> Iterator[Fact]:
        """Dropped URLs by reason."""
        dropped = TopCounts()
        for document in self._documents.values():
            for reason, count in document.dropped.items():
                dropped.add(reason, count)
        return dropped.facts("urls dropped", 5)

    def documents(self, urls: int) -> Iterator[Fact]:
        """Sitemaps by result and format, and their bytes by format."""
        states, formats, sizes = TopCounts(), TopCounts(), TopCounts()
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
        """Problems by code; the lines of a run include those of its URLs."""
        return (self._reported if self else self._on_urls).facts("problems", 10)


# --- changefreq and priority ---


class HintStatistics:
    """Distributions of changefreq and priority."""

    def __init__(self) -> None:
        self._changefreqs, self._priorities = TopCounts(), TopCounts()

    def add(self, json_object: Mapping[str, Any]) -> None:
        """Counts a URL."""
        changefreq, priority = json_object.get("changefreq"), json_object.get("priority")
        if changefreq is not None:
            self._changefreqs.add(changefreq)
        if priority is not None:
            self._priorities.add(format(priority, "g"))

    def facts(self, urls: int) -> Iterator[Fact]:
        """changefreq by count, priority by value."""
        yield from self._changefreqs.facts("changefreq", 7, urls, missing="none")
        yield from self._priorities.facts("priority", 5, urls, order=lambda pair: -float(pair[0]), missing="none")


class Statistics:
    """Counts the lines of a dump with add(); facts() are their numbers. Ages are relative to `now`, which is aware.

    `clock` returns the present time, for the lines of a site that is being read; else the time of reading is unknown.
    """

    def __init__(self, now: datetime, clock: Callable[[], datetime] | None = None) -> None:
        self.urls = 0
        self._url_statistics = UrlStatistics()
        self._lastmods = LastmodStatistics(now, clock)
        self._hints = HintStatistics()
        self._runs = RunStatistics()
        self._handlers: dict[object, Callable[[Mapping[str, Any]], None]] = {
            None: self._add_url,
            "outcome": self._add_outcome,
            "problem": self._runs.add_problem,
        }

    def add(self, json_object: Mapping[str, Any]) -> None:
        """Counts the JSON object of a URL, an outcome or a problem; other types are ignored.

        UsageError for one that does not have the fields of its type.
        """
        handler = self._handlers.get(json_object.get("type"))
        if handler is None:
            return
        try:
            handler(json_object)
        except (TypeError, ValueError, KeyError, AttributeError) as exc:
            from_json(json_object)  # raises UsageError, which names the fault
            raise UsageError(f"no line of a dump: {exc}") from exc

    def facts(self) -> list[Fact]:
        """The facts so far, group by group; empty groups are omitted."""
        urls, runs = self._url_statistics, self._runs
        if not self.urls:
            groups: tuple[Callable[[int], Iterator[Fact]], ...] = (runs.dropped, runs.documents, runs.problems)
        else:
            groups = (
                urls.counts,
                runs.dropped,
                urls.items,
                urls.hosts,
                runs.documents,
                self._lastmods.facts,
                self._hints.facts,
                urls.sections,
                urls.codes,
                runs.problems,
            )
        return [fact for group in groups for fact in group(self.urls)]

    def _add_outcome(self, json_object: Mapping[str, Any]) -> None:
        self._runs.add_outcome(json_object)
        self._lastmods.end_sitemap(json_object)

    def _add_url(self, json_object: Mapping[str, Any]) -> None:
        self.urls += 1
        self._url_statistics.add(json_object)
        self._lastmods.add(json_object)
        self._hints.add(json_object)
        if "problems" in json_object:
            self._runs.add_url_problems(json_object)
