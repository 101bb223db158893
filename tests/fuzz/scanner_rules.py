"""Rules for the compiled scanner: expat gives the same, wherever the bytes end, and all forms of a block agree."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import attrs
from broken import cuttings, dice, hold
from document_rules import OPTIONS, URL, check_same, padded, read, read_by_expat

import sitemap_reader as sr
from sitemap_reader.model import NESTED, UrlBatch
from sitemap_reader.parser import FastPath, TextReader, batch_of, clean_url, new_columns, scanner
from sitemap_reader.serialize import encode_urls

sys.path.append(str(Path(__file__).parent.parent / "parser"))
from collections.abc import Callable, Iterator, Sequence

import extension_documents
import feed_documents
import plain_documents

if TYPE_CHECKING:
    from sitemap_reader.parser.scanner import ScannedEntries

DOCUMENTS = (plain_documents, extension_documents, feed_documents)
MAX_DOCUMENT_BYTES = 6_000
# Those that the other targets have, and more limits.
ALL_OPTIONS: tuple[dict[str, Any], ...] = (
    *({"url": URL, **options} for options in OPTIONS.values()),
    *(extension_documents.options(Random(number)) for number in range(24)),  # noqa: S311
)


def made_up(count: int) -> Iterator[bytes]:
    """Some documents of the generators that are short enough."""
    for number in range(count):
        for documents in DOCUMENTS:
            body = documents.document(Random(number))  # noqa: S311
            if len(body) <= MAX_DOCUMENT_BYTES:
                yield body


def pieces_of_documents() -> tuple[bytes, ...]:
    """The values, tags and damage of which the generators make documents."""
    plain, extended, feeds = DOCUMENTS
    texts = [
        *plain.LOCS, *plain.ODD_GAPS, *plain.EXTRAS, *plain.STARTS, *plain.ENDS, *plain.DAMAGE, *extended.URLS,
        *extended.TEXTS, *extended.ATTRIBUTES, *extended.LINKS, *extended.OTHERS, extended.SHOW, extended.PUBLICATION,
        feeds.NAMES, *feeds.URLS, *feeds.DATES, *feeds.OTHERS, *feeds.GUIDS, *feeds.RELS, *feeds.LINES,
    ]
    for values in plain.FIELDS.values():
        texts += values
    texts += (f"<{prefix}:{name}>" for prefix, names in extended.TAGS.items() for name in (*names, prefix))
    unique = dict.fromkeys(text.replace("%d", "7").replace("%%", "%") for text in texts if text)
    return tuple(text.encode("utf-8", "surrogateescape") for text in unique)


@attrs.frozen
class Attempt:
    """What the scanner was given."""

    data: bytes
    start: int
    scan: Callable[[bytes], ScannedEntries | None]
    has_lines: bool = False

    def block(self, end: int | None = None) -> ScannedEntries:
        """What it finds in the bytes, or in those before `end`."""
        block = self.scan(self.data[:end])
        assert block is not None
        return block


@contextmanager
def attempts() -> Iterator[list[Attempt]]:
    """What the scanner is given from here on."""
    found: list[Attempt] = []
    block, feed = FastPath._block, TextReader.feed

    def noted_block(self: FastPath, data: bytes, start: int) -> ScannedEntries | None:
        given = block(self, data, start)
        if given is not None and self._scanner is not None:
            scan, line, repairs = self._scanner.scan, self._parser.line, self._parser.max_repairs
            found.append(Attempt(data, start, lambda data: scan(data, start, line, repairs)))
        return given

    def noted_feed(self: TextReader, data: bytes) -> list[Any]:
        if self._scanner is not None:
            scan, line, limit = self._scanner.scan_lines, self._line + 1, self._limit
            found.append(Attempt(self._buffer + data, 0, lambda data: scan(data, line, limit), has_lines=True))
        return feed(self, data)

    FastPath._block, TextReader.feed = noted_block, noted_feed  # type: ignore[method-assign]
    try:
        yield found
    finally:
        FastPath._block, TextReader.feed = block, feed  # type: ignore[method-assign]


def check_scanner(body: bytes, *, thorough: bool = False) -> None:
    """All the rules, with some options or all of them."""
    rng = dice(body)
    for options in ALL_OPTIONS if thorough else (rng.choice(ALL_OPTIONS),):
        for each in (body, padded(body)) if thorough else (rng.choice((body, padded(body))),):
            _check_read(each, options, rng, thorough=thorough)


def _check_read(body: bytes, options: dict[str, Any], rng: Random, *, thorough: bool) -> None:
    with attempts() as found:
        for pieces in ([body], *cuttings(body, thorough=thorough)):
            expected = read_by_expat(pieces, **options)
            check_same(body, expected, read(pieces, **options), "with and without the scanner")
    if thorough:
        for attempt in found:
            check_attempt(attempt, range(attempt.start, len(attempt.data) + 1))
        return
    for attempt in rng.sample(found, min(3, len(found))):
        ends = range(attempt.start, len(attempt.data) + 1)
        check_attempt(attempt, sorted({*rng.choices(ends, k=16), *ends[-4:]}))


# --- single blocks --------------------------------------------------------------------------------------------------


def check_attempt(attempt: Attempt, ends: Sequence[int]) -> None:
    """The block of all bytes, and those of the bytes before each of the ends, which increase."""
    whole = attempt.block()
    check_forms(whole)
    size = 0
    for end in ends:
        block = attempt.block(end)
        count = len(block)
        hold(block.size >= size, "more bytes give no fewer entries", attempt, end)
        size = block.size
        hold(count <= len(whole), "fewer bytes give no other entries", attempt, end)
        hold(block.is_cut or block.size == whole.size, "bytes that end in an entry are cut", attempt, end)
        if end >= attempt.start + whole.size:
            # A line that ends in `\r` may go on with `\n`.
            is_read = block.size == whole.size or attempt.has_lines
            hold(is_read, "an entry is read without the bytes behind it", attempt, end)
        if count:
            hold(_values(block, count - 1) == _values(whole, count - 1), "the last entry is the same", attempt, end)


def _values(block: ScannedEntries, at: int) -> tuple[Any, ...]:
    (state,) = (state for start, stop, state in block.parts(len(block)) if start <= at < stop)
    store = new_columns()
    store.append_entry(sr.UrlRecord(URL), block, at)
    return block.texts(at), block.line(at), store.records(0, 1, URL), block.repairs_of(at), state


def stored(block: ScannedEntries, start: int, stop: int) -> UrlBatch:
    store = new_columns()
    store.extend_entries(block, start, stop)
    return UrlBatch(URL, store)


def check_forms(block: ScannedEntries) -> None:
    """Records, columns, lines and texts of a block agree."""
    stop = 0
    for start, stop, state in block.parts(len(block)):
        hold(start < stop, "a part has entries", start, stop)
        if state == scanner.ODD_ENTRY:  # for the Normaliser
            _values(block, start)
            continue
        batch = stored(block, start, stop)
        records = batch.records()
        block.references(start, stop, URL, ())
        for at, record in enumerate(records, start):
            hold(record.loc == clean_url(block.texts(at)[0]).url, "a record has the loc of its entry", record)
            hold(record.line == block.line(at), "a record has the line of its entry", record)
        again = batch_of(URL, records)
        hold(again.records() == records, "records come back from a store", records)
        for name in ("locs", "lastmods", "precisions", "changefreqs", "priorities", "lines", "datetimes"):
            hold(getattr(batch, name) == getattr(again, name), "columns are equal to records", name, records)
        for name in NESTED:
            hold(batch.counts(name) == again.counts(name), "nested columns are equal to records", name, records)
        half = batch.only([index % 2 == 0 for index in range(len(batch))])
        hold(half.records() == records[::2], "a part has its records", records)
        for is_new in (False, True):
            items = [sr.Change("new", record) if is_new else record for record in records]
            expected = b"".join(sr.json_line(item, site="example.com") for item in items)
            for each in (batch, again):
                lines = encode_urls(each, site="example.com", is_new=is_new)
                hold(lines == expected, "lines are equal to records", lines, expected)
    hold(stop == len(block), "parts have all entries", stop, len(block))
