"""A site's sitemaps against an earlier state of them: URLs and sitemaps that are listed no more.

In: a dump, or a state that `sync` keeps, which is read once more where URLs are missing. Out: X01 and X02.
Keeps some 100 bytes of a URL, never its text.
"""

from __future__ import annotations

import os
from collections import Counter, deque
from contextlib import closing, nullcontext
from datetime import UTC, datetime
from functools import lru_cache
from itertools import repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol, Self, get_args
from urllib.parse import urlsplit

import attrs

from ..client.summary import count_of
from ..compare.diff import is_state
from ..frontier.responses import hides_sitemap_lines
from ..frontier.seeds import parse_target
from ..model.errors import UsageError
from ..model.records import Precision
from ..parser.content.sniff import FEEDS, SITEMAP_FORMATS
from ..parser.normalise.urls import clean_url, is_clean
from ..serialize.dumps import Dump, DumpFile
from .findings import Check

if TYPE_CHECKING:
    from collections.abc import Generator

    from ..model.records import Outcome, SitemapRef
    from ..serialize.dumps import Form
    from ..state.state import State
    from .findings import Findings, Listed

    Source = str | os.PathLike[str] | Dump | State

# So many URLs, and over half: fewer come and go.
FEW_URLS = 20


class Place(NamedTuple):
    """A URL as a baseline lists it, on this line of the baseline, if it has lines."""

    loc: str
    sitemap: str | None
    line: int | None
    lastmod: datetime | None
    precision: Precision | None


class Baseline(Protocol):
    """An earlier state. Once listings() has come to its end, the two sets are known."""

    name: str
    # Documents that were read; those with URLs may be left out.
    sitemaps: set[str]
    # Feeds and news: they hold what is recent, and what leaves them may be where it was.
    fleeting: set[str]

    def listings(self) -> Generator[Place, None, None]:
        """Every URL, each time from the beginning."""


def open_baseline(
    source: Source, site: str | None = None, *, seeds: str | None = None, is_kept: bool = False
) -> Baseline:
    """A dump, or a state, which it must be if it `is_kept`; each by its file, or as what load() or State() gives.

    Of several sites the one that the target `site` is; a state calls it by its `seeds`. UsageError for what is neither.
    """
    if isinstance(source, Dump) and not is_kept:
        return DumpBaseline(source.name, source, None if source.is_of_one_site else site)
    if isinstance(source, str | os.PathLike):
        name = os.fspath(source)
        if is_kept or is_state(name):
            return StateBaseline(name, name, seeds or site)
        return DumpBaseline(name, DumpFile(Path(name)), site)
    if not isinstance(source, Dump) and _is_open_state(source):
        return StateBaseline(source.name, source, seeds or site)
    if is_kept:
        raise UsageError(f"state is the name of a file or a State, not {source!r:.60}; an earlier dump is a baseline")
    raise UsageError(f"baseline is an earlier dump or a state: a file, a Snapshot or a State, not {source!r:.60}")


def _is_open_state(source: object) -> bool:
    from ..state.state import State

    return isinstance(source, State)


@attrs.define
class DumpBaseline:
    """A dump: its URLs as often as they are listed. Without lines of outcomes no more is known of documents."""

    name: str
    dump: Dump
    site: str | None = None
    sitemaps: set[str] = attrs.field(factory=set)
    fleeting: set[str] = attrs.field(factory=set)

    def listings(self) -> Generator[Place, None, None]:
        """In its order. UsageError where a line is none, or where no line is of the site."""
        others: dict[str, None] = {}
        is_ours = False
        for number, form in self.dump.numbered():
            kind = form.get("type")
            site = form.get("site")
            if not self._is_ours(site):
                others[str(site)] = None
                continue
            is_ours = True
            if kind is None:
                loc = form["loc"] if is_clean(form["loc"]) else clean_url(form["loc"]).url
                if loc is not None:  # else other tools wrote what is no URL
                    yield self._place(loc, form, number)
            elif kind == "outcome":
                self._hear(form)
            elif kind == "change":
                raise UsageError(f"{self.name}:{number}: that is a list of changes, and no dump: give a dump")
        if others and not is_ours:
            raise UsageError(f"{self.site} is not in {self.name}, which has {', '.join(others)}")

    def _is_ours(self, site: object) -> bool:
        """Whether a line is of the site; those of one site alone do not name it."""
        if site is None or self.site is None or site == self.site:
            return True
        return isinstance(site, str) and _start(site) is not None and _start(site) == _start(self.site)

    def _place(self, loc: str, form: Form, number: int) -> Place:
        sitemap = form.get("sitemap")
        if sitemap is not None and not isinstance(sitemap, str):
            raise UsageError(f"{self.name}:{number}: sitemap {sitemap!r:.60} is no text")
        if form.get("news") and sitemap:
            self.fleeting.add(sitemap)
        text = form.get("lastmod")
        try:
            lastmod = None if text is None else _in_utc(datetime.fromisoformat(text))
        except (TypeError, ValueError, OverflowError):
            raise UsageError(f"{self.name}:{number}: lastmod {text!r:.60} is no date as a dump has it") from None
        precision = form.get("lastmod_precision")
        if precision not in (None, *get_args(Precision)):
            raise UsageError(f"{self.name}:{number}: lastmod_precision {precision!r:.60} is none")
        return Place(loc, sitemap, number, lastmod, precision)

    def _hear(self, outcome: Form) -> None:
        url, kind = outcome.get("url"), outcome.get("format")
        if isinstance(url, str) and isinstance(kind, str) and kind in SITEMAP_FORMATS:
            self.sitemaps.add(url)
            if kind in FEEDS:
                self.fleeting.add(url)


@lru_cache(maxsize=16)  # a dump names its few sites in every line
def _start(target: str) -> tuple[object, ...] | None:
    """Where a target leads, however it is spelled; None for what is none."""
    try:
        seed = parse_target(target)
    except UsageError:
        return None
    return seed.origins[:1], seed.document, seed.robots_only  # the others stand in for the first


@attrs.define
class StateBaseline:
    """A site of a state: its URLs once each, in no order, without lines. It says nothing of news.

    `state` is its file, which is open up to the end of listings(), or a State that stays open.
    """

    name: str
    state: str | State
    site: str | None = None
    sitemaps: set[str] = attrs.field(factory=set)
    fleeting: set[str] = attrs.field(factory=set)

    def listings(self) -> Generator[Place, None, None]:
        """StateError, or UsageError for the site."""
        from ..state.state import State

        with State(self.state) if isinstance(self.state, str) else nullcontext(self.state) as state:
            for document in state.documents(self.site):
                if document.format in SITEMAP_FORMATS and document.gone_since is None:
                    self.sitemaps.add(document.url)
                if document.format in FEEDS:
                    self.fleeting.add(document.url)
            for record in state.entries(self.site):
                yield Place(record.loc, record.sitemap, None, record.lastmod, record.lastmod_precision)


class BaselineCheck(Check):
    """X01 and X02. `notes`, once all is read: sentences on what could not be looked at."""

    codes: ClassVar[tuple[str, ...]] = ("X01", "X02")

    def __init__(self, baseline: Baseline) -> None:
        self.notes: list[str] = []
        self._baseline = baseline
        self._missing: dict[int, int] = {}  # URL -> the number of the document that lists it first
        self._total = 0
        self._counts: Counter[str] = Counter()
        self._now: set[str] = set()
        self._hears_documents = False
        self._is_whole = True
        self._names_are_hidden = False  # robots.txt is an HTML page

    @classmethod
    def read(cls, baseline: Baseline) -> Self:
        """Against this one, which is read; UsageError or StateError where it cannot be."""
        check = cls(baseline)
        check._take()
        return check

    def _take(self) -> None:
        numbers: dict[str | None, int] = {}
        counts: Counter[str | None] = Counter()
        for place in self._baseline.listings():
            number = numbers.setdefault(place.sitemap, len(numbers))
            self._missing.setdefault(hash(place.loc), number)
            counts[place.sitemap] += 1
        self._counts = Counter({sitemap: number for sitemap, number in counts.items() if sitemap is not None})
        fleeting = {numbers[each] for each in self._baseline.fleeting if each in numbers}
        if fleeting:
            self._missing = {key: number for key, number in self._missing.items() if number not in fleeting}
        self._total = len(self._missing)

    def urls(self, listed: Listed, found: Findings) -> None:
        """What is listed is not missing."""
        self._now.add(listed.sitemap)
        deque(map(self._missing.pop, listed.keys, repeat(None)), maxlen=0)

    def ref(self, ref: SitemapRef, found: Findings) -> None:
        """A sitemap that is listed, whether it can be read or not."""
        self._hears_documents = True
        self._now.add(ref.loc)

    def outcome(self, outcome: Outcome, found: Findings) -> None:
        """A document; one that was only guessed is none unless it is a sitemap."""
        self._hears_documents = True
        self._is_whole = self._is_whole and outcome.complete
        self._names_are_hidden = self._names_are_hidden or hides_sitemap_lines(outcome)
        if outcome.url is not None and (outcome.why != "well-known" or outcome.format in SITEMAP_FORMATS):
            self._now.add(outcome.url)

    def end(self, found: Findings) -> None:
        """Nothing where a part of what is listed now is not known."""
        name = self._baseline.name
        if not (self._counts or self._total or self._baseline.sitemaps):
            self.notes.append(f"{name} lists no URL, so X01 and X02 cannot be found")
        elif not self._is_whole:
            self.notes.append(
                f"not all sitemaps could be read whole, so what of {name} is listed no more is not known (X01, X02)"
            )
        elif self._is_of_another_site():
            self.notes.append(f"{name} names none of the hosts of this site's sitemaps: is it of this site?")
        elif self._names_are_hidden and self._vanished():
            why = "robots.txt is an HTML page, so the sitemaps that it names are not known"
            self.notes.append(f"{why}, nor what of {name} is listed no more (X01, X02)")
        else:
            self._tell_sitemaps(found)
            self._tell_urls(found)

    def _is_of_another_site(self) -> bool:
        before, now = ({_host(each) for each in names} - {""} for names in (self._counts, self._now))
        return bool(before and now) and before.isdisjoint(now)

    def _tell_sitemaps(self, found: Findings) -> None:
        if self._counts and not self._hears_documents and self._now.isdisjoint(self._counts):
            self.notes.append(f"no URL says that it is of a sitemap of {self._baseline.name}: X02 cannot be found")
            return
        for sitemap in self._vanished():
            message = f"listed no more; URLs that it had in {self._baseline.name}: {self._counts[sitemap]:,}"
            found.note("X02", message, sitemap=sitemap)

    def _vanished(self) -> list[str]:
        """Sitemaps that are listed no more."""
        # A dump of URLs alone does not say which indexes there are, or which sitemaps are empty.
        known = [*self._counts, *sorted(self._baseline.sitemaps)] if self._hears_documents else [*self._counts]
        return [sitemap for sitemap in dict.fromkeys(known) if sitemap not in self._now]

    def _tell_urls(self, found: Findings) -> None:
        missing = len(self._missing)
        told = f"{missing:,} of {count_of(self._total, 'URL')} of {self._baseline.name} are listed no more"
        if missing < FEW_URLS or missing * 2 <= self._total or not found.wants(("X01",)):
            if missing:
                self.notes.append(f"{told}; `sitemap-reader diff` lists them")
            return
        with closing(self._baseline.listings()) as places:
            first = next((place for place in places if hash(place.loc) in self._missing), None)
        if first is not None:
            place: Any = {"sitemap": self._baseline.name, "line": first.line, "field": "loc", "raw": first.loc}
            found.note("X01", f"{told}, such as {first.loc}", **place, count=missing)


def _in_utc(moment: datetime) -> datetime:
    """Other tools write it without a zone."""
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def _host(url: str) -> str:
    try:
        return urlsplit(url).netloc
    except ValueError:
        return ""
