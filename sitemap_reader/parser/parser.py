"""The way through: bytes -> decode -> sniff -> parse -> normalise -> records, as a stream.

In: the bytes of one document, cut anyhow. Out: UrlRecords, SitemapRefs and Problems in document order, then one
Outcome. What comes out does not depend on how the bytes are cut. Never opens or fetches anything.
"""

from __future__ import annotations

import codecs
import re
from typing import IO, TYPE_CHECKING
from urllib.parse import urlsplit

import attrs

from ..model.errors import UsageError
from ..model.limits import PROTOCOL_MAX_ENTRIES, Limits, checked_limits, over_limit
from ..model.problems import Problem, Tally, counted, placed, report
from ..model.records import Outcome, SitemapRef, UrlRecord
from .content.decoder import Decoder, ReadPrefix
from .content.sniff import CONTENT_TYPES, Format, SniffResult, sniff
from .dialects.feed_fallback import FallbackBuffer
from .dialects.robots import RobotsReader
from .dialects.text import TextLines, TextReader, text_entry
from .fast_scanner import EntryBlock, FastNormaliser, records_of
from .normalise.entry import Normaliser, RawEntry
from .normalise.scope import SCOPE_MODES, Scope, ScopeMode, clean_prefix, host_prefixes
from .normalise.urls import clean_url, directory, without_credentials
from .xml.errors import ENTRY_STEPS, PROBLEM_STEPS, Budget, html_page

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from ..model.records import Item
    from .dialects.feed_fallback import FeedFallback
    from .fast_scanner import Make
    from .xml.reader import Reader, XmlReader


# What the first bytes rule out -> the problem to report.
_REFUSALS: dict[str, Callable[[], Problem]] = {
    "html": html_page,
    "empty": lambda: report("F11", "the body is empty"),
    "unknown": lambda: report("S15", "neither XML nor a list of URLs: not a sitemap"),
}
# Those of which there is nothing to say where a document cannot be read.
_READ_ENCODINGS = frozenset({"", "identity", "gzip", "x-gzip", "deflate"})


class SitemapParser:
    """One document as a stream: feed() bytes, close(), then look at `outcome`.

    `url` is what was asked for, `final_url` where redirects led (relative URLs and the directory rule go by it).
    `content_type` and `content_encoding` are the HTTP headers; gzip is known by its bytes, and only deflate by the
    header. `scope` (protocol, host, domain, any) drops what the document may not speak
    for; `authorities` are URL prefixes that it may, besides its own directory. `child_scope` is the one for the
    sitemaps that an index lists, where it is another: "any" leaves them to a caller who knows more proofs. A url
    that ends in /robots.txt has its Sitemap lines read, wherever they lead. `extras`: elements that no field is for
    come out too, in UrlRecord.extras. With a `prefix`, of a parser that read the same document before,
    DocumentChanged is raised where the bytes begin otherwise.

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
        _plain: bool = True,  # False: expat reads every entry, which gives the same
        _make: Make = records_of,  # what comes out for plain entries
    ) -> None:
        child_scope = child_scope or scope
        for name, mode in (("scope", scope), ("child_scope", child_scope)):
            if mode not in SCOPE_MODES:
                raise UsageError(f"{name} must be one of {', '.join(SCOPE_MODES)}, not {mode!r}")
        if scope != "any" and not (url or authorities):
            raise UsageError(f"scope {scope} judges by where the document is from: give its url, or authorities")
        authorities = tuple(clean_prefix(prefix) for prefix in authorities)
        self._url = url
        self._base = _clean_base(final_url or url)
        self._media_type, charset = _content_type(content_type)
        self._limits = checked_limits(limits)
        self._fallback = FallbackBuffer(feed_fallback, limits, self._base) if feed_fallback else None
        self._encoding = (content_encoding or "").strip().lower()
        self._budget = Budget(limits)
        self._decoder = Decoder(limits, charset, prefix, is_deflated=self._encoding == "deflate")
        self._head: bytes | None = b""  # what sniffing has not judged yet
        self._reader: Reader | None = None
        self._markup: XmlReader | None = None  # the same, if it reads XML
        self._format: Format | None = None
        self._problem_held: Problem | None = None
        self._over = False
        self._tally = Tally()
        self._may_be_plain = _plain
        self._complete = True
        self._closed = False
        self._robots: RobotsReader | None = None
        if url and self._base and urlsplit(url).path == "/robots.txt":
            self._robots = self._reader = RobotsReader(limits, self._base)
            self._head, self._format = None, Format.ROBOTS
            authorities, child_scope = authorities or host_prefixes(self._base), "any"
        own = (directory(self._base),) if self._base else ()
        page_scope = Scope(scope, (*authorities, *own))
        self._normaliser = Normaliser(
            sitemap=url,
            base=self._base,
            scope=page_scope,
            child_scope=Scope(child_scope, (*authorities, *own)),
            max_problems=limits.max_entry_problems,
            extras=extras,
        )
        self._plain = FastNormaliser(self._normaliser, page_scope, self._cleaned, self._noted, _make)

    def feed(self, data: bytes) -> list[Item]:
        """The items that `data` completes; those of a small document may all come from close().

        Packed data may give very many at once: see pieces().
        """
        return [item for piece in self.pieces(data) for item in piece]

    def pieces(self, data: bytes) -> Iterator[list[Item]]:
        """feed(), in pieces of at most 64 KiB of decoded bytes; to be iterated to its end, or to `stopped`."""
        if not isinstance(data, bytes | bytearray | memoryview):
            kind = type(data).__name__
            raise UsageError(f"a document is fed as bytes, not {kind}: give text.encode(), or all of it to parse(text)")
        if self._closed:
            raise UsageError("this parser is closed: feed() comes before close(), and each document has its own")
        for chunk in self._decoder.feed(data):
            items = self._read(chunk)
            if self._has_enough:
                self._decoder.abandon()
            yield items
            if self._has_enough:
                return

    def close(self, *, cut: bool = False) -> list[Item]:
        """The rest of the items; says what is missing. Without an entry, asks the feed fallback.

        `cut`: the bytes broke off, so that a last line without an end is left out, and entries may be missing.
        """
        return [item for step in self.closing(cut=cut) for item in step]

    def closing(self, *, cut: bool = False) -> Iterator[list[Item]]:
        """close(), in two steps; only the second may take long, and only where it `awaits_fallback` by then."""
        if self._closed:
            return
        self._closed = True
        self._complete = self._complete and not cut
        yield self._end()
        yield [*self._aftermath()]

    @property
    def stopped(self) -> bool:
        """True where feeding more is of no use: a limit was reached, or this is no sitemap."""
        return self._decoder.stopped or self._has_enough

    @property
    def awaits_fallback(self) -> bool:
        """Whether, all bytes read, this looks like a feed that gave nothing: the feed fallback is asked then."""
        if self._fallback is None or self._normaliser.entries:
            return False
        damaged = self.format in (Format.RSS, Format.ATOM) and not self._complete
        cut = self._markup is not None and self._markup.cut
        return bool(self._problem_held or damaged) and not cut and self._fallback.is_whole

    @property
    def fallback_question(self) -> tuple[bytes, str | None] | None:
        """What the feed fallback will be asked in the second step of closing(), if it will be: body and URL."""
        asked = self._fallback if self.awaits_fallback else None
        return asked.question if asked and not asked.is_full else None

    @property
    def prefix(self) -> ReadPrefix:
        """What has been read so far, for a parser that is to begin anew."""
        return self._decoder.prefix

    @property
    def is_shorter(self) -> bool:
        """Whether less has been read than the prefix that was to be expected."""
        return self._decoder.is_shorter

    @property
    def format(self) -> Format | None:
        """What the document is, as soon as that is known."""
        if self._format is None and self._markup is not None:
            self._format = self._markup.format
        return self._format

    @property
    def robots_text(self) -> str:
        """The text of a robots.txt, for those who want its rules too."""
        return self._robots.text if self._robots else ""

    @property
    def outcome(self) -> Outcome:
        """What became of the document, so far."""
        normaliser = self._normaliser
        return Outcome(
            url=self._url,
            final_url=self._base,
            format=None if self.format is None else self.format.value,
            bytes_wire=self._decoder.bytes_wire,
            bytes_decoded=self._decoder.bytes_decoded,
            entries=normaliser.entries,
            kept=normaliser.kept,
            dropped=dict(normaliser.dropped),
            complete=self._complete,
            sha256=self._decoder.sha256,
            problems=dict(self._tally.counts + normaliser.unreported),
            samples=tuple(self._tally.samples),
        )

    # --- the way ---

    @property
    def _has_enough(self) -> bool:
        """Whether nothing that is decoded from here on would be read."""
        if self._problem_held and self._fallback and not self._over:
            return self._fallback.is_full  # what is no sitemap may be a feed that only the fallback knows
        return self._over or (self._reader is not None and self._reader.stopped)

    def _read(self, chunk: bytes) -> list[Item]:
        """A chunk of decoded bytes: first to the sniffer, then to the reader that it chose."""
        if self._normaliser.entries:
            self._fallback = None  # it is not asked any more
        elif self._fallback:
            self._fallback.keep(chunk)
        self._budget.receive(len(chunk))
        if self._head is not None:
            self._head += chunk
            verdict = sniff(self._head, final=False)
            return [] if verdict is None else self._open(verdict)
        if self._reader and not self._has_enough:
            return self._clean(self._reader.feed(chunk))
        return []

    def _open(self, verdict: SniffResult) -> list[Item]:
        """The reader that the first bytes call for, and what it makes of them."""
        whole, self._head = self._head or b"", None
        skipped, head = whole[: verdict.skip_bytes], whole[verdict.skip_bytes :]
        items: list[Item] = []
        if skipped:
            verb = "stands" if len(skipped) == 1 else "stand"
            message = f"{counted(len(skipped), 'bytes')} {verb} before the document"
            items.append(self._noted(report("S08", message, line=1)))
        if verdict.kind in _REFUSALS:
            self._format = Format.HTML if verdict.kind == "html" else None
            # What broke off, or could not be decoded, is not empty: that fault says what it is.
            is_told = verdict.kind != "empty" or (self._complete and self._decoder.complete)
            self._over, self._complete = True, False
            if is_told:
                items.append(self._noted(self._refusal(verdict.kind)))
            return items
        reader: Reader
        if verdict.kind == "text":
            self._format, reader = Format.TEXT, TextReader(self._limits)
        else:
            from .xml.reader import XmlReader  # here: where nothing has changed, no XML is read

            line = 1 + skipped.count(b"\n")
            self._markup = reader = XmlReader(self._limits, self._budget, line, plain=self._may_be_plain)
        self._reader = reader
        return items + self._clean(reader.feed(head))

    def _refusal(self, kind: str) -> Problem:
        problem = _REFUSALS[kind]()
        if problem.code != "S15" or self._encoding in _READ_ENCODINGS:
            return problem
        return attrs.evolve(problem, message=f"{problem.message}; Content-Encoding {self._encoding[:80]} is not read")

    def _clean(self, raws: Iterable[RawEntry | EntryBlock | TextLines | Problem]) -> list[Item]:
        limit = self._limits.max_entries
        items: list[Item] = []
        for raw in raws:
            room = limit - self._normaliser.entries
            lines: Sequence[int | None]
            if isinstance(raw, Problem):
                items += self._told(raw)
                lines = ()
            elif isinstance(raw, EntryBlock):
                items += self._plain.items(raw, room)
                lines = raw.lines
            elif isinstance(raw, TextLines):
                items += self._listed(raw, room)
                lines = raw.lines
            else:
                items += self._cleaned(raw) if room else ()
                lines = (raw.line,)
            problem = over_limit("max_entries", limit, "entries", lines[room]) if len(lines) > room else None
            if problem is None and self._budget.is_exceeded():
                problem = self._budget.problem(raw.line if isinstance(raw, Problem) else lines[-1] if lines else None)
            if problem:
                self._over, self._complete = True, False
                items.append(self._noted(problem))
                break
        return items

    def _told(self, problem: Problem) -> list[Item]:
        if problem.code == "S15" and self._fallback:
            self._problem_held = problem
            return []
        return [self._noted(problem)]

    def _listed(self, listing: TextLines, room: int) -> list[Item]:
        items: list[Item] = []
        for text, line in zip(listing.texts[:room], listing.lines, strict=False):
            record = self._normaliser.bare_record(text, line)
            items += [record] if record else self._cleaned(text_entry(text, line))
        return items

    def _cleaned(self, raw: RawEntry) -> list[Item]:
        self._budget.count(ENTRY_STEPS)
        items: list[Item] = [*self._normaliser.clean(raw)]
        for item in items:
            if isinstance(item, Problem):
                self._tally.add(item)
        return items

    def _noted(self, problem: Problem) -> Problem:
        self._budget.count(PROBLEM_STEPS)
        problem = placed(problem, sitemap=self._url)
        self._tally.add(problem)
        return problem

    # --- the end ---

    def _end(self) -> list[Item]:
        items: list[Item] = []
        for chunk in self._decoder.close():
            items += self._read(chunk)
        if self._head is not None:
            verdict = sniff(self._head, final=True)
            items += self._open(verdict or SniffResult("unknown"))
        self._complete = self._complete and self._decoder.complete
        if self._reader:
            if not self._over:
                items += self._clean(self._reader.close(cut=not self._complete))
            self._complete = self._complete and self._reader.complete
        return items

    def _aftermath(self) -> Iterator[Item]:
        yield from self._ask_fallback()
        for fault in self._decoder.faults:
            yield self._noted(report(fault.code, fault.message, raw=fault.raw, severity=fault.severity))
        for problem in self._closing_problems():
            yield self._noted(problem)

    def _ask_fallback(self) -> Iterator[Item]:
        """feedparser, or whatever was passed in, for what looks like a feed and gave nothing."""
        asked = self._fallback if self.awaits_fallback else None
        held, self._problem_held = self._problem_held, None
        if asked:
            yield from self._clean(asked.entries())
        if held and self._normaliser.entries:
            self._format = Format.RSS
            message = f"{held.message}, but feedparser found entries; there may be more"
            yield self._noted(attrs.evolve(held, message=message, severity="warning"))
        elif held:
            yield self._noted(held)

    def _closing_problems(self) -> Iterator[Problem]:
        entries = self._normaliser.entries
        if entries > PROTOCOL_MAX_ENTRIES:
            yield report("S03", f"{entries:,} entries; the protocol allows {PROTOCOL_MAX_ENTRIES:,}")
        allowed = CONTENT_TYPES.get(self.format) if self.format else None
        if allowed and self._media_type and self._media_type not in allowed:
            message = f"the Content-Type is {self._media_type}, the document is {self.format}"
            yield report("F06", message, raw=self._media_type)


_CHARSET = re.compile(r"""charset\s*=\s*["']?([^\s"';]+)""", re.IGNORECASE)


def _content_type(header: str | None) -> tuple[str | None, str | None]:
    """(media type in lower case, charset) of a Content-Type header."""
    if not header:
        return None, None
    charset = _CHARSET.search(header)
    return header.partition(";")[0].strip().lower() or None, charset.group(1) if charset else None


def _clean_base(url: str | None) -> str | None:
    if url is None:
        return None
    loc = clean_url(url)
    if loc.url is None:
        raise UsageError(f"url {url!r} is no absolute http or https URL: {loc.notes[-1][1]}")
    return loc.url


# ----------------------------------------------------------------------------------------------------
# A body, in pieces or whole -> its items as a stream, or a Document: iter_parse() and parse().
#
# In: bytes, text or a binary file, never a path. All else is SitemapParser's, whose options these have.


# Text that cannot be a sitemap of one line, but the name of a file.
_NAME = re.compile(r"(?!\w+://)[^\n\r<>]{1,1000}\.(?:xml|gz|txt|rss|atom)", re.IGNORECASE)
_FILE_BYTES = 64 * 1024  # what is read of a file at once


def iter_parse(
    chunks: Iterable[bytes],
    *,
    url: str | None = None,
    content_type: str | None = None,
    scope: ScopeMode = "any",
    authorities: Sequence[str] = (),
    limits: Limits = Limits(),  # noqa: B008 - frozen
    extras: bool = False,
    feed_fallback: FeedFallback | None = None,
) -> Iterator[Item]:
    """The document's UrlRecords, SitemapRefs and Problems as its bytes come in; at the end one Outcome.

    Memory stays flat whatever the document's size. `chunks` are pieces of the body, cut anyhow; the options are
    those of SitemapParser; a login in `url` is left out.
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
    for chunk in chunks:
        for piece in parser.pieces(chunk):
            yield from piece
        if parser.stopped:
            break
    yield from parser.close()
    yield parser.outcome


@attrs.frozen
class Document:
    """A document read whole: `urls` and `children` in document order, every problem, and the outcome."""

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
    """Reads one document into lists. `body` is bytes, text or a binary file, never a path.

    Bad data never raises: see `problems`, and `outcome.complete`. The options are those of SitemapParser.

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
    name = body if isinstance(body, str) and _NAME.fullmatch(body) else None
    if name is not None or hasattr(body, "__fspath__"):
        what = "parse() takes the document, not its name"
        raise UsageError(f'{what}: give open({str(body)!r}, "rb"); a URL is for sr.urls()')
    if isinstance(body, str):
        # The BOM outranks whatever encoding the text's own declaration names.
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
