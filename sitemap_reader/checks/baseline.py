"""Compares the sitemaps with an earlier dump or a state of `sync`: URLs and sitemaps that vanished (X01, X02).

Reads the baseline before the sitemaps, and once more if URLs are missing. Keeps some 100 bytes for each URL.
"""

from __future__ import annotations

import os
from collections import Counter, deque
from collections.abc import Collection, Generator, Iterator, Mapping, Sequence
from contextlib import closing, nullcontext
from fractions import Fraction
from itertools import islice, repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import attrs

from ..compare.diff import PartChanges, SiteParts, is_state, with_stamp
from ..compare.url_files import UrlFile
from ..frontier.responses import hides_sitemap_lines
from ..model.errors import UsageError
from ..model.problems import count_of
from ..model.records import PROBED, Outcome, UrlRecord
from ..parser.content.sniff import SITEMAP_FORMATS, Format
from ..parser.normalise.urls import clean_url, is_clean
from ..serialize.dumps import Dump, record_at
from ..state.diff_rules import FEW_URLS, is_mass_removal
from ..state.documents import expires
from ..state.state import State, name_of_target
from .documents import INCOMPLETE, WholeSiteCheck
from .findings import netloc, url_key, url_keys
from .policy import Threshold

if TYPE_CHECKING:
    from ..model.problems import Severity
    from ..model.records import SitemapRef
    from ..model.url_batch import UrlBatch
    from .findings import Findings

    Source = str | os.PathLike[str] | Dump | State

# Feeds and news do not count. What else leaves a site between two readings is mostly a few percent of it: a tenth is
# rarely meant.
MAX_REMOVED = Threshold(percent=Fraction(10))
_BATCH_URLS = 1_000


@attrs.define
class Baseline:
    """An earlier dump or state. The sets of documents are complete once listings() is exhausted."""

    is_of_target: ClassVar[bool] = False  # whether it has the URLs of the same target, and no others

    name: str
    site: str | None
    # Those that were read -> the URLs that listed them; those of listings() may be left out.
    sitemaps: dict[str, Collection[str]] = attrs.field(factory=dict, init=False)
    roots: set[str] = attrs.field(factory=set, init=False)  # those of them that no index lists; empty if unknown
    feeds: set[str] = attrs.field(factory=set, init=False)  # and news sitemaps: URLs leave them all the time

    def listings(self) -> Generator[UrlRecord, None, None]:
        """All URLs, each with its line in the dump; None in a state. Each call starts from the beginning."""
        raise NotImplementedError

    def _add_document(
        self, url: str | None, format: str | None, parents: Collection[str], *, is_gone: bool = False
    ) -> None:
        if url is not None and format in SITEMAP_FORMATS and not is_gone:
            self.sitemaps[url] = parents
        if url is not None and expires(format):
            self.feeds.add(url)


def open_baseline(
    source: Source, site: str | None = None, *, seeds: str | None = None, must_be_state: bool = False
) -> Baseline:
    """The baseline in a file, or in the result of load() or State(); UsageError for anything else.

    `site` selects a site of a dump of several by its target; a state names it by its `seeds`.
    """
    if isinstance(source, Dump) and not must_be_state:
        return DumpBaseline(source.name, None if source.is_of_one_site else site, source)
    if isinstance(source, str | os.PathLike):
        name = os.fspath(source)
        if must_be_state or is_state(name):
            return StateBaseline(name, seeds or site, name)
        return DumpBaseline(name, site, UrlFile(Path(name)))
    if isinstance(source, State):
        return StateBaseline(source.name, seeds or site, source)
    if must_be_state:
        allowed, remedy = "the name of a file or a State", "an earlier dump is a baseline"
        raise UsageError(keyword="state", value=source, allowed=allowed, remedy=remedy)
    allowed = "an earlier dump or a state: a file, a Snapshot or a State"
    raise UsageError(keyword="baseline", value=source, allowed=allowed)


@attrs.define
class DumpBaseline(Baseline):
    """A dump: URLs as often as they are listed; documents only if it has outcomes."""

    dump: Dump

    def listings(self) -> Generator[UrlRecord, None, None]:
        """URLs in the order of the dump. UsageError for an invalid line, and if no line is of the site."""
        others: dict[str, None] = {}
        has_site = False
        for number, json_object in self.dump.numbered():
            site = json_object.get("site")
            if not self._is_of_site(site):
                others[str(site)] = None
                continue
            has_site = True
            kind = json_object.get("type")
            if kind == "change":
                raise UsageError(f"{self.name}:{number}: that is a list of changes, not a dump: give a dump")
            record = record_at(self.name, number, with_stamp(json_object)) if kind in (None, "outcome") else None
            if isinstance(record, Outcome):
                self._add_document(record.url, record.format, record.parents)
                self.roots |= _root(record)
            elif isinstance(record, UrlRecord):
                loc = record.loc if is_clean(record.loc) else clean_url(record.loc).url
                if record.news and record.sitemap:
                    self.feeds.add(record.sitemap)
                if loc is not None:  # another tool wrote an invalid URL
                    record.loc, record.line = loc, number
                    yield record
        if others and not has_site:
            raise UsageError(f"{self.site} is not in {self.name}, which has {', '.join(others)}")

    def _is_of_site(self, site: object) -> bool:
        """Whether a line is of the site; a dump of one site does not name it."""
        if site is None or self.site is None or site == self.site:
            return True
        name = name_of_target(site) if isinstance(site, str) else None
        return name is not None and name == name_of_target(self.site)


@attrs.define
class StateBaseline(Baseline):
    """A site of a state: each URL once, in no order. A state does not record news."""

    is_of_target = True

    state: str | State  # a file is open until listings() is exhausted

    def listings(self) -> Generator[UrlRecord, None, None]:
        with State(self.state) if isinstance(self.state, str) else nullcontext(self.state) as state:
            for document in state.documents(self.site):
                is_gone = document.gone_since is not None
                self._add_document(document.url, document.format, document.parents, is_gone=is_gone)
            yield from state.entries(self.site)


class BaselineCheck(WholeSiteCheck):
    codes: ClassVar[tuple[str, ...]] = ("X01", "X02")

    def __init__(self, baseline: Baseline, max_removed: Threshold = MAX_REMOVED) -> None:
        super().__init__()
        self._baseline = baseline
        self._max_removed = max_removed
        self._missing: dict[int, int] = {}  # key of a URL -> number of the first listing's part of the site
        self._site_parts = SiteParts()
        self._before: Counter[int] = Counter()  # URLs by part
        self._documents: dict[int, str | None] = {}  # sitemap of each part
        self._counts: Counter[str] = Counter()
        self._listed: set[str] = set()
        self._with_urls: set[str] = set()  # sitemaps that list URLs now
        self._parents: set[str] = set()  # documents that list sitemaps now
        self._formats: dict[str, str] = {}  # of the sitemaps that were read now
        self._has_documents = False
        self._has_index = False
        self._sitemaps_before: set[str | None] = set()
        self._roots: set[str] = set()
        self._is_of_site = False
        self._hides_sitemaps = False

    @classmethod
    def read(cls, baseline: Baseline, max_removed: Threshold = MAX_REMOVED) -> Self:
        """The check for a baseline, which is read; UsageError or StateError as of its listings()."""
        check = cls(baseline, max_removed)
        missing, documents = check._missing, dict[int, str | None]()
        counts: Counter[str | None] = Counter()
        listings = baseline.listings()
        while batch := [*islice(listings, _BATCH_URLS)]:
            for entry, number in zip(batch, check._site_parts.numbers_of(batch), strict=True):
                missing.setdefault(url_key(entry.loc), number)
                counts[entry.sitemap] += 1
                documents.setdefault(number, entry.sitemap)
        check._sitemaps_before = {*counts}
        check._counts = Counter({sitemap: number for sitemap, number in counts.items() if sitemap is not None})
        check._documents = documents
        feeds = {number for number, sitemap in documents.items() if sitemap in baseline.feeds}
        if feeds:
            check._missing = {key: number for key, number in missing.items() if number not in feeds}
        check._before = Counter(check._missing.values())
        return check

    def on_urls(self, batch: UrlBatch, findings: Findings) -> None:
        sitemap = batch.sitemap or ""
        self._listed.add(sitemap)
        if len(batch):
            self._with_urls.add(sitemap)
        deque(map(self._missing.pop, url_keys(batch.locs), repeat(None)), maxlen=0)

    def on_ref(self, ref: SitemapRef, findings: Findings) -> None:
        self._has_documents = True
        self._listed.add(ref.loc)
        self._parents.add(ref.sitemap or "")

    def on_outcome(self, outcome: Outcome, findings: Findings) -> None:
        """Remembers a document; one at a well-known path only if it is a sitemap."""
        super().on_outcome(outcome, findings)
        self._has_documents = True
        self._roots |= _root(outcome)
        self._has_index = self._has_index or outcome.format == Format.INDEX
        self._is_of_site = self._is_of_site or bool(_root(outcome) and outcome.why != "given")
        self._hides_sitemaps = self._hides_sitemaps or hides_sitemap_lines(outcome)
        if outcome.url is not None and outcome.format in SITEMAP_FORMATS:
            self._formats[outcome.url] = outcome.format
        if outcome.url is not None and (outcome.why not in PROBED or outcome.format in SITEMAP_FORMATS):
            self._listed.add(outcome.url)

    def on_end(self, findings: Findings) -> None:
        """X01 and X02, unless a part of what is listed now is unknown."""
        name = self._baseline.name
        before, now = ({netloc(each) for each in names} - {""} for names in (self._counts, self._listed))
        if not (self._counts or self._before or self._baseline.sitemaps):
            reason = f"{name} lists no URL: X01 and X02 not checked"
        elif self.is_filtered or not self.is_complete:
            reason = f"{INCOMPLETE}: X01 and X02 not checked against {name}"
        elif self._has_other_sitemaps():
            reason = f"only given sitemaps were read, and {name} may have others: X01 and X02 not checked"
        elif before and now and before.isdisjoint(now):
            reason = f"{name} names none of the hosts of this site's sitemaps: is it of this site?"
        elif self._hides_sitemaps and self._vanished():
            reason = (
                "robots.txt is an HTML page or treated as missing, so the sitemaps that it names are unknown: "
                f"X01 and X02 not checked against {name}"
            )
        else:
            if self._counts and not self._has_documents and self._listed.isdisjoint(self._counts):
                self.notes.append(f"no URL states a sitemap of {name}: X02 not checked")
            else:
                for sitemap in self._vanished():
                    message = f"no longer listed; URLs that it had in {name}: {self._counts[sitemap]:,}"
                    findings.report("X02", message, sitemap=sitemap)
            self._report_urls(findings)
            return
        self.leave_out(self.codes, reason)

    def _has_other_sitemaps(self) -> bool:
        """Whether the baseline has sitemaps that were not to be read now, as the target is not the whole site.

        A dump of URLs alone does not state what an index listed: then it is taken for one of the same index.
        """
        if self._baseline.is_of_target or self._is_of_site or not self._roots:
            return False
        if self._baseline.roots:
            return not self._baseline.roots <= self._roots
        return not (self._has_index or self._sitemaps_before <= self._roots)

    def _vanished(self) -> list[str]:
        # A dump of URLs alone does not name indexes and empty sitemaps.
        known = [*self._counts, *sorted(self._baseline.sitemaps)] if self._has_documents else [*self._counts]
        return [sitemap for sitemap in dict.fromkeys(known) if sitemap not in self._listed]

    def _report_urls(self, findings: Findings) -> None:
        """X01: an error for a mass removal, a warning beyond the threshold and for whole sections and sitemaps."""
        missing, before = len(self._missing), self._before.total()
        if not missing:
            return
        of_all = f"{missing:,} of {count_of(before, 'URL')} of {self._baseline.name} are no longer listed"
        lost = Counter(self._missing.values())
        sections, sitemaps = (
            each(self._before, lost) for each in (self._site_parts.sections, self._site_parts.sitemaps)
        )
        self.notes.append("; ".join([of_all, *_lost_text("section", sections), *_lost_text("sitemap", sitemaps)]))
        feeds = {url for url, format in self._formats.items() if expires(format)} | self._baseline.feeds
        left = len(self._with_urls - feeds)
        is_few = self._max_removed.count is None and missing <= FEW_URLS
        is_over = not (is_few or self._max_removed.allows(missing, before)) or any(map(_is_lost, sections))
        if is_mass_removal(missing, missing / max(before, 1), left):
            self._report_missing(findings, self._missing, "error", of_all)
        elif is_over:
            self._report_missing(findings, self._missing, "warning", of_all)
        else:
            numbers = self._emptied()
            emptied = {key: number for key, number in self._missing.items() if number in numbers}
            others = {key: number for key, number in self._missing.items() if number not in numbers}
            of_emptied = f"{of_all}, {len(emptied):,} of them as their sitemaps list nothing now"
            self._report_missing(findings, emptied, "warning", of_emptied if others else of_all)
            self._report_missing(findings, others, "notice", of_all)

    def _emptied(self) -> set[int]:
        """The parts whose sitemap lists nothing now, or whose index does."""
        empty = {*self._formats} - self._with_urls - self._parents
        by_index = {url for url, parents in self._baseline.sitemaps.items() if not empty.isdisjoint(parents)}
        documents = empty | (by_index - self._listed)
        return {number for number, sitemap in self._documents.items() if sitemap in documents}

    def _report_missing(self, findings: Findings, missing: Mapping[int, int], severity: Severity, summary: str) -> None:
        if not missing or not findings.includes(("X01",)):
            return
        left = {*missing}
        with closing(self._baseline.listings()) as listings:
            for entry in listings:
                key = url_key(entry.loc)
                if key not in left:
                    continue
                left.remove(key)
                at: Any = {"sitemap": self._baseline.name, "line": entry.line, "field": "loc", "url": entry.loc}
                at |= {"raw": entry.loc, "usual": severity}
                if not findings.needs_each:
                    findings.report("X01", f"{summary}, such as {entry.loc}", **at, count=len(missing))
                    return
                findings.report("X01", f"{entry.loc} is no longer listed; {summary}", **at)


_MOST_NAMED = 3


def _is_lost(section: PartChanges) -> bool:
    """Whether a section has lost over half of its URLs, more than come and go anyway."""
    left = section.before - section.removed
    return is_mass_removal(section.removed, section.removed / section.before, max(left, 1))


def _lost_text(what: str, parts: Sequence[PartChanges]) -> Iterator[str]:
    """`by section: /blog/ 45 of 45, /shop/ 2 of 90`."""
    lost = [each for each in parts if each.removed]
    named = [f"{each.name} {each.removed:,} of {each.before:,}" for each in lost[:_MOST_NAMED]]
    if named:
        more = f" and {len(lost) - _MOST_NAMED:,} more" if len(lost) > _MOST_NAMED else ""
        yield f"by {what}: {', '.join(named)}{more}"


def _root(outcome: Outcome) -> set[str]:
    """The URL of a sitemap that no index lists; empty for other documents."""
    is_root = outcome.why != "index" and outcome.format in SITEMAP_FORMATS
    return {outcome.url} if is_root and outcome.url is not None else set()
