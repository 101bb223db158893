"""Rules for a clean document with inserted damage, and for one with repeated parts.

An input for check_damage: two bytes are the position, the third the number of removed bytes, the rest is inserted.
An input for check_growth: head, repeated unit and tail, separated by NULs.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from time import process_time
from typing import Any

import attrs
from broken import hold

import sitemap_reader as sr
from sitemap_reader.parser import ExpatDriver

_NAMES = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
_ENTRY = """\
<url>
  <loc>https://example.com/{0}?a=1&amp;b={0}</loc>
  <lastmod>2026-11-{1:02}</lastmod>
  <changefreq>daily</changefreq>
  <priority>0.{1}</priority>
</url>
"""
_RICH = """\
<url>
  <loc>https://example.com/{0}</loc>
  <image:image><image:loc>https://example.com/{0}.png</image:loc><image:title>View {0}</image:title></image:image>
  <xhtml:link rel="alternate" hreflang="de" href="https://example.com/de/{0}"/>
</url>
"""
_IMAGES = 'xmlns:image="http://www.google.com/schemas/sitemap-image/1.1" xmlns:xhtml="http://www.w3.org/1999/xhtml"'
_CHILD = "<sitemap><loc>https://example.com/{0}.xml</loc><lastmod>2026-11-{1:02}</lastmod></sitemap>\n"
_ITEM = "<item><title>News {0}</title><link>https://example.com/{0}</link></item>\n"


@attrs.frozen
class Clean:
    """A clean document: its head, entries, and end."""

    opening: bytes
    entries: tuple[bytes, ...]
    ending: bytes

    @property
    def body(self) -> bytes:
        return b"".join((self.opening, *self.entries, self.ending))

    def start(self, number: int) -> int:
        """The offset of an entry; after the last, that of the end."""
        return len(self.opening) + sum(map(len, self.entries[:number]))

    def entry_at(self, place: int) -> int:
        """The number of the entry at an offset: -1 before the first, their count after the last."""
        end = len(self.opening)
        if place < end:
            return -1
        for number, entry in enumerate(self.entries):
            end += len(entry)
            if place < end:
                return number
        return len(self.entries)


def _clean(opening: str, entry: str, ending: str) -> Clean:
    entries = tuple(entry.format(number, number % 9 + 1).encode() for number in range(5))
    return Clean(opening.encode(), entries, ending.encode())


CLEAN = (
    _clean(f"<urlset {_NAMES}>\n", _ENTRY, "</urlset>\n"),
    _clean(f'<?xml version="1.0"?>\n<urlset {_NAMES} {_IMAGES}>\n', _RICH, "</urlset>\n"),
    _clean(f"<sitemapindex {_NAMES}>\n", _CHILD, "</sitemapindex>\n"),
    _clean('<rss version="2.0"><channel><link>https://example.com/</link>\n', _ITEM, "</channel></rss>\n"),
)
# These may contain whole entries and hide them: comments and the like, CDATA, another root or a DTD.
_HIDES = re.compile(rb"<[!?]|<[^<>]*\Z|]]>")
_OTHER_NAMES = re.compile(rb"xmlns|xml:base|<[\w:.-]*(?:urlset|sitemapindex|rss|feed|RDF|html)", re.IGNORECASE)


def damaged(body: bytes) -> tuple[Clean, int, int, bytes] | None:
    """(document, offset, number of removed bytes, inserted bytes)."""
    if len(body) < 3:
        return None
    clean = CLEAN[body[0] % len(CLEAN)]
    place = (body[0] // len(CLEAN) * 256 + body[1]) * len(clean.body) // (64 * 256)
    gone = body[2] if body[2] < 32 else 0
    return clean, place, min(gone, len(clean.body) - place), body[3:300]


def check_damage(body: bytes, *, thorough: bool = False) -> None:
    """Entries before the damage are unchanged; none after it is silently missing or changed."""
    made = damaged(body)
    if made is None:
        return
    clean, place, gone, junk = made
    document = clean.body[:place] + junk + clean.body[place + gone :]
    before = _records(clean.body)
    after = _records(document)
    outcome, found = after[-1], [item for item in after[:-1] if not isinstance(item, sr.Problem)]
    first, last = clean.entry_at(place), clean.entry_at(place + max(0, gone - 1))
    untouched = [_values(item) for item in before[:-1]]
    values = [_values(item) for item in found]
    if first >= 0:
        rule = "entries before the damage are as they were"
        hold(values[:first] == untouched[:first], rule, document, values)
    if _OTHER_NAMES.search(junk) or b"encoding" in junk or not junk.isascii() or b"\x1b" in junk or first < 0:
        return
    rest = untouched[last + 1 :]
    missing = [each for each in rest if each not in values]
    hold(not (missing and outcome.complete) or _HIDES.search(junk), "no entry is lost silently", document, missing)
    known = {each[0] for each in untouched}
    start, stop = clean.start(first), len(document) - len(clean.body) + clean.start(last + 1)
    lines = document[:start].count(b"\n") + 1, document[:stop].count(b"\n") + 1
    for item in found:
        is_near = item.loc in known or lines[0] <= item.line <= lines[1]
        hold(is_near, "no entry but the damaged one gets a new URL", document, item)


def _records(body: bytes) -> list[Any]:
    return list(sr.iter_parse([body], url="https://example.com/sitemap.xml"))


def _values(item: Any) -> tuple[Any, ...]:
    """The values of an entry, without its place and problems."""
    kept = attrs.evolve(item, line=None, problems=())
    return item.loc, repr(kept)


# --- work in proportion ---------------------------------------------------------------------------------------

SMALL, LARGE = 8 * 1024, 64 * 1024
SECONDS_PER_BYTE = 20e-6  # ten times the budget: coverage slows the target
SECONDS = 0.5


def check_growth(body: bytes, *, thorough: bool = False) -> None:
    """Eight times the repeated part takes about eight times the work."""
    opening, _, rest = body[:4096].partition(b"\0")
    unit, _, ending = rest.partition(b"\0")
    if not unit:
        return
    fed: list[int] = []
    for size in (SMALL, LARGE):
        document = opening + unit * (size // len(unit)) + ending
        started = process_time()
        with counted() as again:
            outcome = sr.parse(document, url="https://example.com/sitemap.xml").outcome
        spent = process_time() - started
        fed.append(len(again))
        hold(spent < SECONDS + SECONDS_PER_BYTE * len(document), "time is in proportion", spent, len(document), outcome)
        hold(len(again) <= len(document), "a document is begun again once a byte at most", len(again), len(document))
    hold(fed[1] < 8 * 4 * fed[0] + SMALL, "expat is begun again in proportion", fed)


@contextmanager
def counted() -> Iterator[list[int]]:
    """The number of bytes that remain for expat, at each restart."""
    sizes: list[int] = []
    restart = ExpatDriver.restart

    def counting(self: ExpatDriver) -> None:
        sizes.append(len(self._buffer))
        restart(self)

    ExpatDriver.restart = counting  # type: ignore[method-assign]
    try:
        yield sizes
    finally:
        ExpatDriver.restart = restart  # type: ignore[method-assign]
