"""SitemapParser: bytes -> decode -> sniff -> read the dialect -> normalise -> records.

In: the bytes of one document, cut anywhere. Out: UrlRecords, SitemapRefs and Problems in document order, then one
Outcome; they do not depend on how the bytes were cut. Never opens or fetches anything.
parse() and iter_parse(): one document, as a whole or as its bytes arrive.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import IO, TYPE_CHECKING, cast
from urllib.parse import urlsplit

import attrs

from ..model.errors import FORESEEN, UsageError, install_hint, internal_problem
from ..model.limits import PROTOCOL_MAX_ENTRIES, Limits, checked_limits, over_limit
from ..model.problems import Problem, Problems, count_of, placed, report
from ..model.records import Outcome, SitemapRef, UrlRecord
from ..model.url_batch import BatchItem, OutOfScope, ParserItem, UrlBatch, items_of
from .content.charset import declared_charset
from .content.codings import EXTRA, INVALID_BYTES, needs_extra
from .content.decoder import Decoder, ReadPrefix
from .content.sniff import CONTENT_TYPES, SITEMAP_FORMATS, Format, SniffResult, sniff
from .dialects.feed_fallback import FallbackBuffer
from .dialects.robots import RobotsBody, RobotsReader
from .dialects.start_page import StartPageReader
from .dialects.text import TextReader, lists_own_host
from .fast_path import BlockNormaliser, new_columns
from .normalise.entry import Normaliser, RawEntry
from .normalise.scope import SCOPE_MODES, Scope, ScopeMode, clean_prefix, host_prefixes
from .normalise.urls import clean_url, directory, without_credentials
from .xml.repairs import ENTRY_STEPS, PROBLEM_STEPS, Budget, html_page

if TYPE_CHECKING:
    from ..model.columns import UrlColumns
    from ..model.records import Item
    from .dialects.feed_fallback import FeedFallback
    from .scanner import ScannedEntries
    from .xml.reader import Reader, XmlReader


# About how much a piece takes in memory: to pass one to another thread costs some 100 us.
_PIECE_BYTES = 384 * 1024
_ITEM_BYTES = 256
# Of 64 KiB of decoded bytes: where little comes out of them, other documents have their turn after so many.
_PIECE_STEPS = 64
# Kind of a document that is not a sitemap -> the problem to report.
_REFUSALS: dict[str, Callable[[], Problem]] = {
    "html": html_page,
    "empty": lambda: report("F11", "the body is empty"),
    "unknown": lambda: report("S15", "neither XML nor a list of URLs: not a sitemap"),
}


class SitemapParser:
    """Parses one document as a stream: call feed() with its bytes, then close(), then read `outcome`.

    `url` is the requested URL, `final_url` that after redirects, the base of relative URLs and of the directory rule.
    `content_type` and `content_encoding` are HTTP headers; gzip is detected by its bytes, deflate, br and zstd only by
    the header, the last two with the packages of the extra `warc`.
    `name` stands for `url` in records and problems of a document that has no URL, such as a local file.
    `scope` (protocol, host, domain, any) drops URLs out of scope; `authorities` are URL prefixes in scope besides the
    directory of the document. `child_scope` is that for the sitemaps in an index, if different: with "any" the caller
    checks them. In a `url` with the path /robots.txt, the Sitemap lines are read, wherever they point; of a
    `start_page`, that of a site, the sitemaps to which it links. `extras`: elements without a field are in
    UrlRecord.extras. `prefix` is that of a parser that read the same document before:
    DocumentChanged is raised if the bytes differ from it. `has_read` is False while pieces of the last bytes follow.

    >>> parser = SitemapParser(url="https://example.com/list.txt")
    >>> [item.loc for item in parser.feed(b"https://example.com/a" + chr(10).encode()) + parser.close()]
    ['https://example.com/a']
    >>> parser.outcome.format, parser.outcome.complete
    ('text', True)
    """

    def __init__(
        self,
        *,
        url: str | None = None,
        name: str | None = None,
        final_url: str | None = None,
        content_type: str | None = None,
        content_encoding: str | None = None,
        scope: ScopeMode = "any",
        authorities: Sequence[str] = (),
        child_scope: ScopeMode | None = None,
        limits: Limits = Limits(),  # noqa: B008 - frozen
        extras: bool = False,
        feed_fallback: FeedFallback | None = None,
        prefix: ReadPrefix | None = None,
        start_page: bool = False,
        _scans: bool = True,  # False: expat reads every entry, which gives the same
        _is_due: Callable[[], bool] = lambda: False,  # whether a piece ends here, although it is not full
        _keeps_out_of_scope: bool = False,  # URLs that are dropped as out of scope come as OutOfScope from batches()
        _reports_robots_page: bool = True,  # False: the caller decides what an HTML page in place of robots.txt means
    ) -> None:
        child_scope = child_scope or scope
        for keyword, mode in (("scope", scope), ("child_scope", child_scope)):
            if mode not in SCOPE_MODES:
                raise UsageError(keyword=keyword, value=mode, allowed=f"one of {', '.join(SCOPE_MODES)}")
        if scope != "any" and not (url or authorities):
            raise UsageError(f"scope {scope} judges by where the document is from: give its url, or authorities")
        authorities = tuple(clean_prefix(prefix) for prefix in authorities)
        self._url = name if url is None else url
        self._base = _clean_base(final_url or url)
        self._media_type, charset = _content_type(content_type)
        self._limits = checked_limits(limits)
        self._fallback = FallbackBuffer(feed_fallback, limits, self._base) if feed_fallback else None
        self._budget = Budget(limits)
        self._content_encoding = (content_encoding or "").lower()
        self._decoder = Decoder(limits, charset, prefix, content_encoding=self._content_encoding)
        self._head: bytes | None = b""  # for sniff(), which takes 64 KiB at most; None after the format is known
        self._reader: Reader | None = None
        self._markup: XmlReader | None = None  # the same reader, if the document is XML
        self._format: Format | None = None
        self._deferred_problem: Problem | None = None
        self._is_aborted = False
        self._has_failed = False  # with an internal error
        self._out: list[ParserItem] = []  # read, and not yet returned
        self._urls: UrlColumns = new_columns()  # those of the UrlBatches in it
        self._problems = Problems()
        self._scans, self._is_due = _scans, _is_due
        self._extras = extras
        self._complete = True
        self._closed = False
        self.has_read = True
        self._robots: RobotsReader | None = None
        if url and self._base and urlsplit(url).path == "/robots.txt":
            self._robots = self._reader = RobotsReader(limits, self._base, reports_page=_reports_robots_page)
            self._head, self._format = None, Format.ROBOTS
            authorities, child_scope = authorities or host_prefixes(self._base), "any"
        elif start_page and self._base:
            self._reader, self._fallback, child_scope = StartPageReader(self._base), None, "any"
            self._head, self._format = None, Format.HTML
        own = (directory(self._base),) if self._base else ()
        self._normaliser = Normaliser(
            sitemap=self._url,
            base=self._base,
            scope=Scope(scope, (*authorities, *own)),
            child_scope=Scope(child_scope, (*authorities, *own)),
            max_problems=limits.max_entry_problems,
            extras=extras,
            keeps_out_of_scope=_keeps_out_of_scope,
        )
        self._blocks = BlockNormaliser(self._normaliser, self._cleaned, self._count)

    def feed(self, data: bytes) -> list[Item]:
        """The items that `data` completes; a small document may give all of them in close().

        Compressed data may give very many at once: see pieces().
        """
        return [item for piece in self.pieces(data) for item in piece]

    def pieces(self, data: bytes) -> Iterator[list[Item]]:
        """feed() in pieces of some 1,000 items; iterate to the end, or until `stopped`."""
        return ([*items_of(batch)] for batch in self.batches(data))

    def batches(self, data: bytes) -> Iterator[list[BatchItem]]:
        """pieces() with UrlBatches in place of records: one for the URLs between two other items."""
        if not isinstance(data, bytes | bytearray | memoryview):
            kind = type(data).__name__
            raise UsageError(f"a document is fed as bytes, not {kind}: give text.encode(), or all of it to parse(text)")
        if self._closed:
            raise UsageError("this parser is closed: feed() comes before close(), and each document has its own")
        return self._guarded(self._feed(data))

    def _feed(self, data: bytes) -> Iterator[None]:
        self.has_read = False
        steps = 0
        for chunk in self._decoder.feed(data):
            self._read(chunk)
            if self._ignores_rest:
                self._decoder.abandon()
                break
            steps += 1
            if steps == _PIECE_STEPS or self._is_full or self._is_due():
                yield
                steps = 0
        self.has_read = True
        yield

    @property
    def _is_full(self) -> bool:
        """Whether what was read is enough for a piece."""
        urls = max(_ITEM_BYTES * len(self._urls), self._urls.__sizeof__())
        return urls + _ITEM_BYTES * len(self._out) >= _PIECE_BYTES

    def _guarded(self, steps: Iterable[None]) -> Iterator[list[BatchItem]]:
        """Yields what each step has read. An internal error ends the document with a Problem.

        What was read before it is kept, and other documents are read: no bytes of one site may end the run of another.
        """
        if self._has_failed:
            return
        try:
            for _ in steps:
                yield self._taken()
        except FORESEEN:
            raise
        except Exception as error:
            self._has_failed = self._is_aborted = self.has_read = True
            self._complete = False
            self._out.append(self._reported(internal_problem(error)))
            yield self._taken()

    def _taken(self) -> list[BatchItem]:
        taken, self._out = self._out, []
        if len(self._urls):
            self._urls = new_columns()
        return cast("list[BatchItem]", taken)  # and OutOfScope, for a caller who keeps these

    def close(self, *, cut: bool = False) -> list[Item]:
        """The remaining items and the problems that only the end reveals; calls the feed fallback if there is no entry.

        `cut`: the document is truncated, so that an incomplete last line is left out, and entries may be missing.
        """
        return [item for batch in self.closing(cut=cut) for item in items_of(batch)]

    def closing(self, *, cut: bool = False) -> Iterator[list[BatchItem]]:
        """close() as two batches; only the second may take long, and only if `awaits_fallback` is then True."""
        self._complete = self._complete and not cut
        if self._closed:
            return
        self._closed = True
        yield from self._guarded(self._close())

    def _close(self) -> Iterator[None]:
        self._end()
        yield
        self._add_closing_items()
        yield

    @property
    def stopped(self) -> bool:
        """Whether further input is ignored: a limit was reached, or this is not a sitemap."""
        return self._decoder.stopped or self._ignores_rest

    @property
    def awaits_fallback(self) -> bool:
        """Whether, after all bytes, this looks like a feed without entries, so that the feed fallback is called."""
        if self._fallback is None or self._normaliser.entries:
            return False
        damaged = self.format in (Format.RSS, Format.ATOM) and not self._complete
        cut = self._markup is not None and self._markup.cut
        return bool(self._deferred_problem or damaged) and not cut and self._fallback.is_whole

    @property
    def fallback_question(self) -> tuple[bytes, str | None] | None:
        """(body, URL) for the feed fallback, if the second step of closing() calls it."""
        fallback = self._fallback if self.awaits_fallback else None
        return fallback.arguments if fallback and not fallback.is_full else None

    @property
    def prefix(self) -> ReadPrefix:
        """The bytes read so far, for a parser that starts over."""
        return self._decoder.prefix

    @property
    def is_shorter(self) -> bool:
        """Whether fewer bytes were read than the expected prefix has."""
        return self._decoder.is_shorter

    @property
    def format(self) -> Format | None:
        """The format of the document; None until it is known."""
        if self._format is None and self._markup is not None:
            self._format = self._markup.format
        return self._format

    @property
    def robots_text(self) -> str:
        """The text of a robots.txt, for callers that also read its rules; empty for other documents."""
        return self._robots.text if self._robots else ""

    @property
    def robots_body(self) -> RobotsBody | None:
        """What the body of a robots.txt is; None for other documents."""
        return self._robots.body if self._robots else None

    @property
    def unread_encoding(self) -> str | None:
        """A sentence on what of the Content-Encoding could not be undone, and what would do it; None if all was."""
        unread = self._decoder.unread_encoding
        if unread is None:
            return None
        remedy = f" without a package: {install_hint(EXTRA)}" if needs_extra(unread) else ""
        return f"Content-Encoding {unread[:80]} is not read{remedy}"

    @property
    def dropped_origins(self) -> tuple[str, ...]:
        """The first origins whose pages were dropped as on a host out of scope."""
        return tuple(self._normaliser.dropped_origins)

    @property
    def outcome(self) -> Outcome:
        """The Outcome of the document so far."""
        normaliser, document_format = self._normaliser, self.format
        problems = self._problems.counts
        problems.update(normaliser.unreported)
        return Outcome(
            url=self._url,
            final_url=self._base,
            format=document_format and document_format.value,
            bytes_wire=self._decoder.bytes_wire,
            bytes_decoded=self._decoder.bytes_decoded,
            entries=normaliser.entries,
            kept=normaliser.kept,
            dropped=dict(normaliser.dropped),
            complete=self._complete,
            sha256=self._decoder.sha256,
            problems=dict(problems),
            tries=0,
            samples=tuple(self._problems.samples),
        )

    # --- processing ---

    @property
    def _ignores_rest(self) -> bool:
        """Whether bytes decoded from here on are ignored."""
        if self._deferred_problem and self._fallback and not self._is_aborted:
            return self._fallback.is_full  # the document may be a feed that only the fallback can read
        return self._is_aborted or (self._reader is not None and self._reader.stopped)

    def _read(self, chunk: bytes) -> None:
        """Reads a chunk of decoded bytes, which go to sniff(), then to the reader for the format."""
        if self._normaliser.entries:
            self._fallback = None  # no longer needed
        elif self._fallback:
            self._fallback.add(chunk)
        self._budget.receive(len(chunk))
        if self._head is not None:
            self._head += chunk
            sniffed = sniff(self._head, final=False)
            if sniffed is not None:
                self._open(sniffed)
        elif self._reader and not self._ignores_rest:
            self._add(self._reader.feed(chunk))

    def _open(self, sniffed: SniffResult) -> None:
        whole, self._head = self._head or b"", None
        skipped, head = whole[: sniffed.skip_bytes], whole[sniffed.skip_bytes :]
        if skipped:
            verb = "stands" if len(skipped) == 1 else "stand"
            message = f"{count_of(len(skipped), 'byte')} {verb} before the document"
            raw = skipped.decode("utf-8", "replace").strip() or None
            self._out.append(self._reported(report("S08", message, line=1, raw=raw)))
        kind = sniffed.kind
        if kind == "unknown" and self._base and lists_own_host(head, self._base):
            kind = "text"
        if kind in _REFUSALS:
            self._format = Format.HTML if kind == "html" else None
            # A truncated or undecodable document is not empty: another problem reports it.
            is_reported = kind != "empty" or (self._complete and self._decoder.complete)
            self._is_aborted, self._complete = True, False
            if is_reported:
                self._out.append(self._reported(self._refusal(kind)))
            return
        reader: Reader
        scopes = self._normaliser.scopes if self._scans else None
        if kind == "text":
            lines = len(skipped.splitlines())
            self._format, reader = Format.TEXT, TextReader(self._limits, scopes=scopes, skipped_lines=lines)
        else:
            from .xml.reader import XmlReader  # lazy: a run of unchanged documents reads no XML

            line = 1 + skipped.count(b"\n")
            self._markup = reader = XmlReader(self._limits, self._budget, line, scopes=scopes, extras=self._extras)
        self._reader = reader
        self._add(reader.feed(head))

    def _refusal(self, kind: str) -> Problem:
        problem, unread = _REFUSALS[kind](), self.unread_encoding
        if problem.code != "S15" or unread is None:
            return problem
        return attrs.evolve(problem, message=f"{problem.message}; {unread}")

    def _add(self, raws: Iterable[RawEntry | ScannedEntries | Problem]) -> None:
        """Adds the items of what a reader has found, up to a limit."""
        limit = self._limits.max_entries
        for raw in raws:
            left, count = limit - self._normaliser.entries, 0
            if isinstance(raw, Problem):
                self._add_problem(raw)
            elif isinstance(raw, RawEntry):
                count = 1
                self._add_items(self._normalised(raw) if left else ())
            else:
                count = len(raw)
                self._add_items(self._blocks.items(raw, left, self._urls))
            problem = over_limit("max_entries", limit, "entry", _line(raw, left)) if count > left else None
            if problem is None and self._budget.is_exceeded():
                problem = self._budget.problem(_line(raw, count - 1))
            if problem:
                self._is_aborted, self._complete = True, False
                self._out.append(self._reported(problem))
                break

    def _add_problem(self, problem: Problem) -> None:
        if problem.code == "S15" and self._fallback:
            self._deferred_problem = problem
        else:
            self._out.append(self._reported(problem))

    def _add_items(self, items: Iterable[ParserItem]) -> None:
        """Adds items one by one: those before an internal error are kept."""
        for item in items:
            last = self._out[-1] if self._out else None
            if isinstance(item, UrlBatch) and isinstance(last, UrlBatch):
                last.stop = item.stop
            else:
                self._out.append(item)

    def _normalised(self, raw: RawEntry) -> Iterator[ParserItem]:
        for item in self._cleaned(raw):
            if isinstance(item, UrlRecord):
                self._urls.append(item)
                yield UrlBatch(self._url, self._urls, len(self._urls) - 1)
            else:
                yield item

    def _cleaned(self, raw: RawEntry) -> list[Item | OutOfScope]:
        self._budget.count(ENTRY_STEPS)
        items: list[Item | OutOfScope] = [*self._normaliser.clean(raw)]
        for item in items:
            problem = item.problem if isinstance(item, OutOfScope) else item
            if isinstance(problem, Problem):
                self._problems.add(problem)
        return items

    def _reported(self, problem: Problem) -> Problem:
        problem = placed(problem, sitemap=self._url)
        self._count(problem)
        return problem

    def _count(self, problem: Problem) -> None:
        self._budget.count(PROBLEM_STEPS)
        self._problems.add(problem)

    # --- the end ---

    def _end(self) -> None:
        for chunk in self._decoder.close():
            self._read(chunk)
        if self._head is not None:
            self._open(sniff(self._head, final=True) or SniffResult("unknown"))
        self._complete = self._complete and self._decoder.complete
        if self._reader:
            if not self._is_aborted:
                before = len(self._out)
                self._add(self._reader.close(cut=not self._complete))
                if any(map(_ends_document, self._out[before:])):
                    self._decoder.abandon()
            self._complete = self._complete and self._reader.complete

    def _add_closing_items(self) -> None:
        self._add_fallback_items()
        for fault in self._decoder.faults:
            # XML 1.0 4.3.3: there they are a fatal error. A list of URLs has no such rule.
            is_fatal = fault.kind != INVALID_BYTES or self._format != Format.TEXT
            kind = fault.kind if is_fatal else None
            problem = report(fault.code, fault.message, raw=fault.raw, severity=fault.severity, kind=kind)
            self._out.append(self._reported(problem))
        self._out += map(self._reported, self._closing_problems())

    def _add_fallback_items(self) -> None:
        """Adds the items of the feed fallback, and the deferred problem."""
        fallback = self._fallback if self.awaits_fallback else None
        deferred, self._deferred_problem = self._deferred_problem, None
        if fallback:
            self._add(fallback.entries())
        if deferred and self._normaliser.entries:
            self._format = Format.RSS
            message = f"{deferred.message}, but feedparser found entries; there may be more"
            deferred = attrs.evolve(deferred, message=message, severity="warning")
        if deferred:
            self._out.append(self._reported(deferred))

    def _closing_problems(self) -> Iterator[Problem]:
        entries = self._normaliser.entries
        if entries > PROTOCOL_MAX_ENTRIES:
            yield report("S03", f"{entries:,} entries; the protocol allows {PROTOCOL_MAX_ENTRIES:,}")
        if empty := self._normaliser.empty_lastmods:
            line, message = self._normaliser.empty_lastmod_line, f"empty <lastmod>: {count_of(empty, 'entry')}"
            yield report("D01", message, line=line, field="lastmod", raw="", severity="notice")
        yield from self._compression_problems()
        allowed = CONTENT_TYPES.get(self.format) if self.format else None
        if allowed and self._media_type and self._media_type not in allowed:
            message = f"the Content-Type is {self._media_type}, the document is {self.format}"
            yield report("F06", message, raw=self._media_type)

    def _compression_problems(self) -> Iterator[Problem]:
        """F07 for gzip within gzip, and for a name that promises gzip where there is none.

        One layer is the file's, and one the transfer's where the server names it.
        """
        if self.format not in SITEMAP_FORMATS:
            return
        layers = self._decoder.gzip_layers
        if layers > 1 + self._content_encoding.count("gzip"):
            yield report("F07", f"the file was compressed {layers} times", kind="compressed twice")
        elif not (layers or self._content_encoding) and _GZIP_NAME.match(self._base or ""):
            what = "the name ends in .gz, and the file is not compressed"
            yield report("F07", what, severity="warning", kind="not compressed")


_GZIP_NAME = re.compile(r"[^?#]*\.gz(?:[?#]|\Z)", re.IGNORECASE)

# A limit, an HTML page and a refused DTD: found where they are, however few bytes follow.
_ENDS = frozenset({"S16", "F05", "S09"})


def _ends_document(item: ParserItem) -> bool:
    """Whether it is a Problem at which reading stops, so that nothing behind it counts."""
    return isinstance(item, Problem) and item.code in _ENDS and item.severity == "error"


def _line(raw: RawEntry | ScannedEntries | Problem, at: int) -> int | None:
    """The line of what was read; of a block that of the entry `at` an index."""
    return raw.line if isinstance(raw, RawEntry | Problem) else raw.line(at)


def _content_type(header: str | None) -> tuple[str | None, str | None]:
    """(media type in lower case, charset) of a Content-Type header."""
    if not header:
        return None, None
    return header.partition(";")[0].strip().lower() or None, declared_charset(header)


def _clean_base(url: str | None) -> str | None:
    if url is None:
        return None
    if not isinstance(url, str):
        raise UsageError(keyword="url", value=url, allowed="an absolute http or https URL")
    loc = clean_url(url)
    if loc.url is None:
        raise UsageError(f"url {url!r} is no absolute http or https URL: {loc.notes[-1][1]}")
    return loc.url


# Text that is not a sitemap of one line, but the name of a file.
_FILE_NAME = re.compile(r"(?!\w+://)[^\n\r<>]{1,1000}\.(?:xml|gz|txt|rss|atom)", re.IGNORECASE)
_FILE_BYTES = 64 * 1024  # bytes per read of a file


def iter_parse(
    chunks: Iterable[bytes] | IO[bytes],
    *,
    url: str | None = None,
    content_type: str | None = None,
    scope: ScopeMode = "any",
    authorities: Sequence[str] = (),
    limits: Limits = Limits(),  # noqa: B008 - frozen
    extras: bool = False,
    feed_fallback: FeedFallback | None = None,
) -> Iterator[Item]:
    """Yields the document's UrlRecords, SitemapRefs and Problems as its bytes arrive, then one Outcome.

    Memory does not grow with the size of the document. `chunks` are pieces of the body, cut anywhere, or a binary file;
    the options are those of SitemapParser; credentials in `url` are removed.
    """
    if isinstance(chunks, bytes | bytearray | memoryview | str):
        raise UsageError("chunks must be an iterable of bytes; parse() takes a whole body")
    parser = SitemapParser(
        url=without_credentials(url) if isinstance(url, str) else url,
        content_type=content_type,
        scope=scope,
        authorities=authorities,
        limits=limits,
        extras=extras,
        feed_fallback=feed_fallback,
    )
    for chunk in _chunks(chunks) if hasattr(chunks, "read") else chunks:  # type: ignore[arg-type] # it is no Iterable then
        for piece in parser.pieces(chunk):
            yield from piece
        if parser.stopped:
            break
    yield from parser.close()
    yield parser.outcome


@attrs.frozen
class Document:
    """A parsed document: `urls` and `children` in document order, every problem, and the outcome."""

    format: str | None
    urls: list[UrlRecord]
    children: list[SitemapRef]
    problems: list[Problem]
    outcome: Outcome


def parse(
    body: bytes | str | IO[bytes],
    *,
    url: str | None = None,
    content_type: str | None = None,
    scope: ScopeMode = "any",
    authorities: Sequence[str] = (),
    limits: Limits = Limits(),  # noqa: B008 - frozen
    extras: bool = False,
    feed_fallback: FeedFallback | None = None,
) -> Document:
    """Parses one document into lists. `body` is bytes, text or a binary file, never a path.

    Bad data never raises: see `problems` and `outcome.complete`. The options are those of SitemapParser.

    >>> doc = parse("<urlset><url><loc>https://example.com/?a=1&amp;region=us</loc></url></urlset>")
    >>> doc.urls[0].loc, doc.format, [problem.code for problem in doc.problems]
    ('https://example.com/?a=1&region=us', 'urlset', ['S02'])
    """
    found: dict[type, list[Item]] = {UrlRecord: [], SitemapRef: [], Problem: [], Outcome: []}
    for item in iter_parse(
        _chunks(body),
        url=url,
        content_type=content_type,
        scope=scope,
        authorities=authorities,
        limits=limits,
        extras=extras,
        feed_fallback=feed_fallback,
    ):
        found[type(item)].append(item)
    outcome: Outcome = found[Outcome][0]  # type: ignore[assignment]
    return Document(outcome.format, found[UrlRecord], found[SitemapRef], found[Problem], outcome)  # type: ignore[arg-type]


def _chunks(body: bytes | str | IO[bytes]) -> Iterator[bytes]:
    name = body if isinstance(body, str) and _FILE_NAME.fullmatch(body) else None
    if name is not None or hasattr(body, "__fspath__"):
        what = "parse() takes the document, not its name"
        raise UsageError(f'{what}: give open({str(body)!r}, "rb"); a URL is for sr.urls()')
    if isinstance(body, str):
        # The BOM has priority over the encoding in the text's own declaration.
        body = codecs.BOM_UTF8 + body.encode("utf-8", "replace")
    if isinstance(body, bytes | bytearray | memoryview):
        yield bytes(body)
        return
    if not hasattr(body, "read"):
        raise UsageError(f"body is the document, as bytes, str or a binary file, not {type(body).__name__}")
    while chunk := body.read(_FILE_BYTES):
        if not isinstance(chunk, bytes):
            raise UsageError("the file must be opened in binary mode")
        yield chunk
