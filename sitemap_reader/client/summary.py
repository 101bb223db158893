"""Progress of a run, the SummaryBuilder that keeps it and makes the Summary, and CrawlLog, which logs both.

UrlSet states whether a URL was seen before, in at most 16 bytes per URL.
"""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from hashlib import blake2b
from typing import TYPE_CHECKING, Self

import attrs

from ..model.errors import NothingFound, NothingReadable, ReadError, printable
from ..model.problems import CATALOGUE, Problem, first_error
from ..model.problems import Problems as Problems  # a public name of client/
from ..model.problems import count_of as count_of  # for modules that report a Summary, too
from ..model.records import PROBED, Outcome, SitemapRef
from ..model.summary import UNWANTED, Summary
from ..model.url_batch import UrlBatch
from ..parser.content.sniff import SITEMAP_FORMATS, Format

if TYPE_CHECKING:
    import logging

    from ..frontier.host_queue import Wait
    from ..frontier.robots_policy import CrawlDelay
    from ..model.problems import Severity
    from ..model.records import Item
    from ..model.url_batch import BatchItem


_HASH_BYTES = 10
_KEY_BYTES = 16
_MEAN_BUCKET = 32  # hashes per bucket, at which one is split


class UrlSet:
    """A set of URLs that only grows, at most 16 bytes per URL from 10,000 on (a set of str takes some 180).

    It keeps 80 bits of the BLAKE2b hash of each URL. Among 10 million different URLs, the odds of one collision are 1
    in 24 billion (n² / 2 pairs in 2⁸⁰); the hash has a random key per set, so that a site cannot choose URLs that
    collide.

    >>> seen = UrlSet()
    >>> seen.add("https://example.com/"), seen.add("https://example.com/a"), seen.add("https://example.com/")
    (True, True, False)
    >>> len(seen)
    2
    """

    # Linear hashing (Litwin 1980): buckets are split one at a time, in turn, so that no single add() rehashes all. A
    # bucket is one bytes object of concatenated hashes: an object for each would take five times as much.

    def __init__(self) -> None:
        self._begin(secrets.token_bytes(_KEY_BYTES))

    def _begin(self, key: bytes) -> None:
        self._key = key
        self._hash = blake2b(digest_size=_HASH_BYTES, key=key)
        self._buckets = [b""]
        self._mask = 0  # 2^k - 1, the smallest that covers all buckets
        self._count = 0

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """The set that to_bytes() wrote; ValueError for a wrong length."""
        if len(data) < _KEY_BYTES or (len(data) - _KEY_BYTES) % _HASH_BYTES:
            raise ValueError(f"{len(data)} bytes are no UrlSet")
        seen = cls()
        seen._begin(data[:_KEY_BYTES])
        for start in range(_KEY_BYTES, len(data), _HASH_BYTES):
            seen._add(data[start : start + _HASH_BYTES])
        return seen

    def to_bytes(self) -> bytes:
        """The set in 10 bytes per URL; holds the key of the hash, so it must be kept secret from sites."""
        return b"".join([self._key, *self._buckets])

    def __reduce__(self) -> tuple[Callable[[bytes], UrlSet], tuple[bytes]]:
        """For copy and pickle: the hash object supports neither."""
        return type(self).from_bytes, (self.to_bytes(),)

    def __len__(self) -> int:
        return self._count

    def __contains__(self, loc: str) -> bool:
        url_hash = self._url_hash(loc)
        return _holds(self._buckets[self._bucket_number(url_hash)], url_hash)

    def add(self, loc: str) -> bool:
        """Adds the URL; True if it was not in the set."""
        return self._add(self._url_hash(loc))

    def _url_hash(self, loc: str) -> bytes:
        hashed = self._hash.copy()  # a copy has already processed the key
        hashed.update(loc.encode("utf-8", "surrogatepass"))
        return hashed.digest()

    def _bucket_number(self, url_hash: bytes) -> int:
        number = int.from_bytes(url_hash[:4], "little") & self._mask
        # A bucket that does not exist yet is still part of the one that will be split.
        return number if number < len(self._buckets) else number & self._mask >> 1

    def _add(self, url_hash: bytes) -> bool:
        buckets = self._buckets
        number = self._bucket_number(url_hash)
        bucket = buckets[number]
        if _holds(bucket, url_hash):
            return False
        buckets[number] = bucket + url_hash
        self._count += 1
        if self._count > len(buckets) * _MEAN_BUCKET:
            self._split()
        return True

    def _split(self) -> None:
        """Adds a bucket, and moves the hashes that belong there out of the next bucket in turn."""
        fresh = len(self._buckets)
        if fresh > self._mask:
            self._mask = self._mask * 2 + 1
        source = fresh & (self._mask >> 1)
        # The highest bit of the mask decides between the two.
        byte, bit = divmod(self._mask.bit_length() - 1, 8)
        bucket = self._buckets[source]
        stay: list[bytes] = []
        leave: list[bytes] = []
        for start in range(0, len(bucket), _HASH_BYTES):
            (leave if bucket[start + byte] >> bit & 1 else stay).append(bucket[start : start + _HASH_BYTES])
        self._buckets[source] = b"".join(stay)
        self._buckets.append(b"".join(leave))


def _holds(bucket: bytes, url_hash: bytes) -> bool:
    """Whether the bucket holds this hash, at a multiple of its length."""
    found = bucket.find(url_hash)
    while found > 0 and found % _HASH_BYTES:
        found = bucket.find(url_hash, found + 1)
    return found >= 0


# Codes of documents that the host refuses, in contrast to damaged or too large ones.
_BLOCKED = frozenset({"F01", "F04", "F05", "F13", "F17", "F18"})
# What is kept of a run whose items go to a callback: the first outcomes, as many more that explain why something is
# missing, and samples of each code.
_MOST_KEPT = 1_000


@attrs.define
class Progress:
    """The numbers of a run so far. Documents are sitemaps; the number of known ones may still grow.

    `delay` is the host whose Crawl-delay takes longest: its `host`, `delay_seconds`, the `documents` that wait there
    and the `seconds_left` that these take at least. None without such a host. `waits` are what the next requests wait
    for at this moment, and `retries` the requests so far that repeated one that failed.
    """

    documents_done: int = 0
    documents_known: int = 0
    urls: int = 0
    bytes_wire: int = 0
    delay: CrawlDelay | None = None
    retries: int = 0
    waits: tuple[Wait, ...] = ()


def held_back_text(removals: int) -> str:
    """`1 removal is held back`, `1,000 removals are held back`."""
    return f"{count_of(removals, 'removal')} {'is' if removals == 1 else 'are'} held back"


@attrs.define(eq=False, repr=False)
class SummaryBuilder:
    """Takes batches; keeps the Outcomes and samples of the problems, never the records.

    With a callback, which gets all of them, `outcomes` has the first 1,000, and 1,000 more that are not complete;
    `problems` has 1,000 samples of each code. With `seen` each URL is yielded once; `limit` is the most URLs to yield.
    """

    _on_outcome: Callable[[Outcome], None] | None = None
    _on_item: Callable[[Item], None] | None = None
    _seen: UrlSet | None = None
    _limit: int | None = None
    problems: Problems = attrs.field(init=False)
    outcomes: list[Outcome] = attrs.field(factory=list)
    progress: Progress = attrs.field(factory=Progress)
    pruned: Counter[str] = attrs.field(factory=Counter)
    checked: int = 0
    since: datetime | None = None
    seconds: float = 0.0
    _repeated: int = 0
    complete: bool = attrs.field(default=True, init=False)  # all documents so far
    blocked: bool = attrs.field(default=False, init=False)
    """Whether a host refused robots.txt or a well-known path, sent a page for all, or could not be connected to."""
    has_read: bool = attrs.field(default=False, init=False)  # at least a part of a sitemap that was requested
    _has_sitemap: bool = attrs.field(default=False, init=False)
    _has_left_out: bool = attrs.field(default=False, init=False)  # URLs out of scope, or whole sitemaps
    _robots_failed: int = attrs.field(default=0, init=False)
    _counts: Counter[str] = attrs.field(factory=Counter, init=False)
    _urls: UrlSet = attrs.field(factory=UrlSet, init=False)  # of the documents
    _redirects: dict[str | None, Counter[str]] = attrs.field(factory=dict, init=False)  # final URL -> what counts of it

    def __attrs_post_init__(self) -> None:
        self.problems = Problems(None if self._keeps_all else _MOST_KEPT)

    @property
    def _keeps_all(self) -> bool:
        return self._on_outcome is None and self._on_item is None

    def record(self, items: Iterable[BatchItem]) -> list[UrlBatch]:
        """The UrlBatches; the other items are recorded first, then passed to the callbacks, which may raise."""
        urls: list[UrlBatch] = []
        others: list[Problem | SitemapRef | Outcome] = []
        for item in items:
            if isinstance(item, UrlBatch):
                urls.append(item)
            else:
                others.append(item)
                if isinstance(item, Problem):
                    self.problems.add(item)
                elif isinstance(item, Outcome):
                    self._add(item)
        for other in others:
            if self._on_outcome and isinstance(other, Outcome):
                self._on_outcome(other)
            if self._on_item:
                self._on_item(other)
        return urls

    def _add(self, outcome: Outcome) -> None:
        is_robots = outcome.format == Format.ROBOTS
        self.complete = self.complete and outcome.complete
        if outcome.why in PROBED and not (outcome.complete or _BLOCKED.isdisjoint(outcome.problems)):
            self.blocked = True
        is_read = bool(outcome.complete or outcome.entries)
        self.has_read = self.has_read or bool(is_read and outcome.status and not is_robots)
        self._has_sitemap = self._has_sitemap or outcome.format in SITEMAP_FORMATS
        self._has_left_out = self._has_left_out or bool(outcome.dropped) or outcome.not_modified
        self._robots_failed += is_robots and not outcome.complete
        counts: Counter[str] = Counter()
        if not is_robots:  # the reasons for which URLs were dropped are among the counts
            numbers = map(int, (True, not is_read, is_read and not outcome.complete, outcome.not_modified))
            counts = Counter({**outcome.dropped, **dict(zip(_COUNTS, numbers, strict=True))})
        self._count(outcome, counts)
        count = len(self.outcomes)
        explains = not outcome.complete or _closes_host(outcome)
        if self._keeps_all or count < _MOST_KEPT or (explains and count < 2 * _MOST_KEPT):
            self.outcomes.append(outcome)

    def _count(self, outcome: Outcome, counts: Counter[str]) -> None:
        """Counts each document once: a redirect to one that is requested itself, or to that of another, is left out."""
        url, final_url = outcome.url or "", outcome.final_url or ""
        self._urls.add(url)
        self._counts.subtract(self._redirects.pop(url, ()))
        if url != final_url:
            if final_url in self._redirects or final_url in self._urls:
                return
            self._redirects[final_url] = counts
        self._counts.update(counts)

    def count_url(self, loc: str) -> bool:
        """Counts a URL before it is yielded; False at the limit, or if it was yielded before and is wanted once."""
        if self.is_full:
            return False
        is_new = self._seen is None or self._seen.add(loc)
        self.progress.urls += is_new
        self._repeated += not is_new
        return is_new

    def count_batch(self, urls: UrlBatch) -> UrlBatch:
        """The URLs to yield, counted: without those that were yielded before, or exceed the limit."""
        if self._seen is not None or (self._limit is not None and self.progress.urls + len(urls) > self._limit):
            return urls.only([self.count_url(loc) for loc in urls.locs])
        self.progress.urls += len(urls)
        return urls

    @property
    def is_full(self) -> bool:
        """Whether `limit` URLs were counted."""
        return self.progress.urls == self._limit

    def summary(self) -> Summary:
        dropped = +self._counts  # without those that a redirect had
        sitemaps, failed, incomplete, not_modified = (dropped.pop(name, 0) for name in _COUNTS)
        unwanted = {reason: dropped.pop(reason) for reason in UNWANTED if reason in dropped}
        return Summary(
            urls=self.progress.urls,
            sitemaps_read=sitemaps - failed,
            sitemaps=sitemaps,
            dropped=dict(dropped),
            unwanted=unwanted,
            repeated=self._repeated,
            not_modified=not_modified,
            pruned=dict(self.pruned),
            checked=self.checked,
            since=self.since,
            problems=len(self.problems),
            failed=failed,
            incomplete=incomplete,
            robots_failed=self._robots_failed,
            seconds=self.seconds,
            limited=self.is_full,
        )

    def verdict(self, target: str) -> ReadError | None:
        """The error to raise at the end; None if a URL was yielded, or left out by a filter."""
        if self.progress.urls or self.pruned or self._repeated or self._has_left_out:
            return None
        failed = [outcome for outcome in self.outcomes if not outcome.complete or _closes_host(outcome)]
        limit = next((sample for sample in self.problems.samples if sample.code == "S16"), None)
        if failed or limit:
            reason = first_reason(failed) or str(limit or "no reason is known")
            return NothingReadable(f"no URL could be read from {target}", self.outcomes, reason=reason)
        if not self._has_sitemap:
            forbids = any(sample.code == "F09" and sample.remedy for sample in self.problems.samples)
            where = "neither robots.txt nor a well-known path gives one"
            if forbids:
                where = "robots.txt names none, and forbids the well-known paths to this reader"
            remedy = "if you know where it is, give its URL"
            return NothingFound(f"no sitemap found for {target}: {where}; {remedy}", self.outcomes)
        return None


_COUNTS = ("sitemaps", "failed", "incomplete", "not_modified")


def _closes_host(outcome: Outcome) -> bool:
    """Whether it is a robots.txt whose Crawl-delay exceeds the limit."""
    return any(sample.code == "F15" and sample.severity == "error" for sample in outcome.samples)


def sitemaps_of(outcomes: Sequence[Outcome]) -> list[Outcome]:
    """The outcomes that a Summary counts: without robots.txt, and each document once, as in SummaryBuilder._count()."""
    taken = {outcome.url for outcome in outcomes}
    own: list[Outcome] = []
    for outcome in outcomes:
        if outcome.final_url == outcome.url or outcome.final_url not in taken:
            own.append(outcome)
            taken.add(outcome.final_url)
    return [outcome for outcome in own if outcome.format != Format.ROBOTS]


def first_reason(failed: Iterable[Outcome]) -> str | None:
    """The first error of failed documents, otherwise their first problem, as a line; None without any."""
    found = first_error(sample for outcome in failed for sample in outcome.samples)
    return None if found is None else str(found)


# Severity -> the level of logging, in whose numbers 20 is INFO.
_LEVELS: dict[Severity, int] = {"error": 40, "warning": 30, "notice": 20}


class CrawlLog:
    """Logs the problems and the summary of a crawl to the logger of the surrounding crawler, whose levels apply.

    report() each item, then end(): five problems of each code and document are logged, the others counted.
    """

    def __init__(self, logger: logging.Logger | logging.LoggerAdapter[logging.Logger]) -> None:
        self._logger = logger
        self._problems = Problems()

    def report(self, item: Item) -> None:
        if isinstance(item, Problem) and self._problems.add(item):
            self._log(item.severity, str(item))

    def end(self, summary: Summary, verdict: ReadError | None) -> None:
        for code, document, count in self._problems.unsampled():
            self._log(CATALOGUE[code].severity, f"{code} {document}: {count:,} more")
        self._log("notice", str(summary))
        if verdict is not None:
            self._log("error", str(verdict))
        elif partial := summary.partial_line():
            self._log("warning", partial)

    def _log(self, severity: Severity, text: str) -> None:
        # A log may be shown in a terminal.
        self._logger.log(_LEVELS[severity], "%s", printable(text))
