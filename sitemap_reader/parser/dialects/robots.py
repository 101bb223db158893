"""The Sitemap lines of a robots.txt: decoded text in; URLs with line numbers, and Problems, out.

Sitemap lines are independent of groups (RFC 9309 2.2.4), wherever they are written. A line with a hole in it is lost:
what stands on both sides may be two lines. Rules are read elsewhere: frontier/robots_rules.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

import attrs

from ...model.limits import over_limit
from ...model.problems import Problem, report
from ..normalise.entry import RawEntry
from ..normalise.urls import (
    INVISIBLE,
    has_public_suffix,
    host,
    host_without_scheme,
    listed_url,
    registrable_domain,
    with_scheme,
)
from ..xml.repairs import LINE_IN_HOLE, has_hole

if TYPE_CHECKING:
    from ...model.limits import Limits

# RFC 9309 2.2: lines end in CR, LF or both; not in U+2028 and other Unicode separators.
_LINE_END = re.compile(r"\r\n|\n|\r")
# A comment follows white space: otherwise a fragment of a URL would be one.
_COMMENT = re.compile(r"(?:^|\s)#.*", re.DOTALL)
_NAME = r"site[-_ ]?maps?(?:[-_ ]?(?:index|url))?"  # spellings in use
_KEY = re.compile(
    rf"""
    ({_NAME})
    (?: (\s*[:=\uff1a]+) \s*                   # the separator, including U+FF1A
      | \s+ (?=["'<]?(?:https?://|/)) )        # or none before a URL or a path
    (.*)
    """,
    re.VERBOSE | re.IGNORECASE | re.DOTALL,
)
_KEY_AGAIN = re.compile(rf"(?:{_NAME}\s*[:\uff1a]+\s*)+", re.IGNORECASE)
_ABSOLUTE = re.compile(r"https?://[^\s/?#]+(/[^\s?#]*)", re.IGNORECASE)
_SITEMAP_ENDINGS = (".xml", ".txt", ".gz", ".rss", ".atom", ".php", ".aspx", ".ashx", "sitemap", "sitemap/")
_WRAPPERS = {'"': '"', "'": "'", "<": ">", "\u201c": "\u201d", "\u2018": "\u2019", "`": "`"}
_OPENING = f"[{''.join(_WRAPPERS)}]?"
_PADDING = "\0\ufeff" + "".join(filter(str.isspace, map(chr, range(0x3001))))
# What may stand before a key without being seen; the first is a byte-order mark that was encoded twice.
_HIDDEN = re.compile(rf"\A(?:\xef\xbb\xbf|[{INVISIBLE}\s\0\ufeff])+")
_ANY_KEY = re.compile(r"[a-z][\w\t -]*[:=\uff1a]", re.IGNORECASE)
_OTHER_KEY = r"(?:user[-_ ]?agent|(?:dis)?allow|crawl[-_ ]?delay|host|clean-param)\s*:"
# A key behind another line, from which the break is missing.
_LOST_BREAK = re.compile(
    rf"""
    (?<=\s) (?: {_NAME} \s*[:=\uff1a]+\s* (?={_OPENING}(?:https?://|/|\Z)) | {_OTHER_KEY} )
  | (?<=[\w*/$?]) {_NAME} \s*:\s+ (?={_OPENING}https?://)  # glued to it
  | (?: (?<=\.(?:xml|txt|rss|php)) | (?<=\.gz) | (?<=\.(?:atom|aspx|ashx)) ) (?: {_NAME}: (?=https?://) | {_OTHER_KEY} )
    """,
    re.VERBOSE | re.IGNORECASE,
)
_SEPARATORS = ",;|"
_NEXT_URL = re.compile(rf"[{_SEPARATORS}](?={_OPENING}https?://)", re.IGNORECASE)
_FEW_NULS = re.compile(r"(?<!\0)\0{1,15}(?!\0)")  # no hole
_NO_END = "it is not certain where the URL ends"
_HTML = re.compile(r"<(?:!doctype\s+html|(?:html|head|body|title|script|meta|div|center|h1)\b)", re.IGNORECASE)
_HEAD_CHARACTERS = 1024
# A line that nothing but a robots.txt has. The name of an agent stands alone: a bot wall may repeat the whole header of
# the request ("User-Agent: bot/1.0 (+https://...)"), or have lines such as "Request ID: 1".
_DIRECTIVE = re.compile(
    r"""
    ^[^\S\n]* (?=[a-z])
    (?: user[-_ ]?agents? (?: [^\S\n]*[:=][^\S\n]* [\w.*-]{1,100} | [^\S\n]+ \* ) [^\S\n]* (?: \# | $ )
      | (?: allow | d[a-z]{1,6}l[a-z]{0,4}w ) [^\S\n]* (?: [:=] | (?<=\s) [/*] )   # also "dissallow", "disalow"
      | site[-_ ]?maps? [^\S\n]* [:=]
      | crawl[-_ ]?delay [^\S\n]* (?: [:=][^\S\n]* )? \d
      | (?: noindex | clean-param | request-rate | visit-time | content-signal | content-usage ) [^\S\n]* :
    )
    """,
    re.VERBOSE | re.IGNORECASE | re.MULTILINE,
)
_NO_COMMENT = re.compile(r"^[^\S\n]*[^\s#]", re.MULTILINE)

RobotsBody = Literal["rules", "comments", "empty", "html", "other"]


@attrs.frozen
class SitemapLine:
    """One value of a Sitemap line: `loc`, empty if the line has none, and `raw`, the text as written.

    `line` counts from 1. `fault` is the message of an F12, None for a valid line; a relative `loc` is not a fault here.
    A line that `is_lost` in a hole may also be another one.
    """

    loc: str
    raw: str
    line: int
    fault: str | None = None
    is_lost: bool = attrs.field(default=False, repr=False)


def sitemap_lines(text: str) -> list[SitemapLine]:
    """All Sitemap lines in order; none if the text is HTML.

    >>> sitemap_lines("User-agent: *\\nSitemap: https://example.com/sitemap.xml")
    [SitemapLine(loc='https://example.com/sitemap.xml', raw='https://example.com/sitemap.xml', line=2, fault=None)]
    """
    # UTF-16 without a BOM, decoded as bytes: every other character is NUL. A single NUL is kept, and so is a hole.
    fewer = _FEW_NULS.sub("", text)
    if (len(text) - len(fewer)) * 3 > len(text) - fewer.count("\0"):
        text = fewer
    if is_html(text):
        return []
    lines = enumerate(_LINE_END.split(text), 1)
    return [found for number, line in lines for found in _read(line, number)]


def is_html(text: str) -> bool:
    """Whether the text is an HTML page instead of a robots.txt."""
    head = text[:_HEAD_CHARACTERS].lstrip(_PADDING)
    # Comments and XML declarations may come first.
    return bool(_HTML.match(head) or (head.startswith(("<!--", "<?xml")) and _HTML.search(head)))


def robots_body(text: str) -> RobotsBody:
    """What the body of a robots.txt is: `rules` if it has a rule or a Sitemap line, `other` if nothing is known of it.

    >>> [robots_body(text) for text in ("User-agent: *", "# none", "", "<html>", "Access denied", '{"error": 403}')]
    ['rules', 'comments', 'empty', 'html', 'other', 'other']
    """
    text = text.replace("\0", "").replace("\ufeff", "").replace("\r", "\n")
    if not text.strip():
        return "empty"
    if is_html(text):
        return "html"
    if not _NO_COMMENT.search(text):
        return "comments"
    return "rules" if _DIRECTIVE.search(text) else "other"


def _read(line: str, number: int) -> Iterator[SitemapLine]:
    if has_hole(line.encode("utf-8", "replace")):
        yield SitemapLine("", line, number, LINE_IN_HOLE, is_lost=True)
        return
    visible = _HIDDEN.sub("", line)
    fault = "stray characters before it" if line.removesuffix(visible).strip(_PADDING) else None
    *joined, last = _parts(_COMMENT.sub("", visible).strip(_PADDING))
    fault = fault or ("a line break is missing" if joined else None)
    for part in joined:
        yield from _read_part(part.strip(_PADDING), number, fault, is_glued=not part[-1].isspace())
    yield from _read_part(last, number, fault, is_glued=False)


def _parts(line: str) -> list[str]:
    """The lines in a line from which breaks are missing; a key that is written twice is in one of them."""
    starts = [match.start() for match in _LOST_BREAK.finditer(line)]
    if not starts or not _ANY_KEY.match(line[: starts[0]]):
        return [line]
    is_twice = _KEY_AGAIN.fullmatch(line, 0, starts[0]) and _KEY_AGAIN.match(line, starts[0])
    return [line[start:stop] for start, stop in pairwise([0, *starts[bool(is_twice) :], len(line)])]


def _read_part(line: str, number: int, fault: str | None, *, is_glued: bool) -> Iterator[SitemapLine]:
    """The values of a line; `is_glued`: where its last one ends, another line begins."""
    key = _KEY.match(line)
    fault = fault or (_key_fault(key[1], key[2]) if key else "a URL without a Sitemap key")
    raw = key[3].strip(_PADDING) if key else line
    if key and (again := _KEY_AGAIN.match(raw)):
        raw, fault = raw[again.end() :], fault or "the key is written twice"
    if key and not _unwrap(raw.partition("#")[0] if raw.startswith("#") else raw):
        yield SitemapLine("", raw, number, "it names nothing")
        return
    if not (key or _names_sitemap(_unwrap(raw))):
        return
    values = _values(raw)
    several = "several URLs in one Sitemap line" if len(values) > 1 else None
    may_be_several = "it may be several URLs" if _NEXT_URL.search(raw) else None
    for value in values:
        loc = _unwrap(value)
        if not loc:
            continue
        is_open = is_glued and value == values[-1] and not loc.partition("?")[0].lower().endswith(_SITEMAP_ENDINGS)
        if is_open or (len(values) > 1 and loc.endswith(":")):
            yield SitemapLine("", value, number, _NO_END)
            continue
        wrapped = "quotes or brackets around the URL" if loc != value else None
        yield SitemapLine(loc, value, number, fault or wrapped or several or may_be_several)


def _key_fault(key: str, separator: str | None) -> str | None:
    if separator is None:
        return f'no colon behind "{key}"'
    if key.lower() != "sitemap" or separator.strip() != ":":
        return f'"{key}{separator.strip()}" in place of "Sitemap:"'
    return None


def _values(raw: str) -> list[str]:
    """The URLs of the line: one, unless all words are absolute URLs. A query may hold others."""
    words: list[str] = []
    for word in raw.split():
        path, mark, query = word.strip(_SEPARATORS).partition("?")
        *first, last = _NEXT_URL.split(path)
        words += filter(None, [*first, last + mark + query])
    several = len(words) > 1 and all(_ABSOLUTE.match(_unwrap(word)) for word in words)
    return words if several else [raw]


def _unwrap(value: str) -> str:
    closing = _WRAPPERS.get(value[:1])
    if closing is None:
        return value
    return value[1:].removesuffix(closing).strip(_PADDING)


def _names_sitemap(line: str) -> bool:
    url = _ABSOLUTE.match(line)
    if url is None or any(map(str.isspace, line)):
        return False
    path = url[1].lower()
    return re.search(r"site[-_]?map", path) is not None and path.endswith(_SITEMAP_ENDINGS)


class RobotsReader:
    """Reads a robots.txt: close() returns an entry for each Sitemap line; `text` is the decoded file, `body` its kind.

    `reports_page`: an HTML page in its place is a problem.
    Nothing is read beyond max_robots_bytes (RFC 9309 2.5); a line that is cut off is ignored.
    """

    def __init__(self, limits: Limits, url: str | None, *, reports_page: bool = True) -> None:
        self.complete = True
        self.body: RobotsBody = "empty"
        self._reports_page = reports_page
        self._cut = False
        self._limit = limits.max_robots_bytes
        self._url = url
        self._body = bytearray()

    @property
    def stopped(self) -> bool:
        """Whether the limit is exceeded."""
        return len(self._body) > self._limit

    @property
    def text(self) -> str:
        text = self._body[: self._limit].decode("utf-8", "replace")
        return text if not self._cut else text[: max(text.rfind("\n"), text.rfind("\r")) + 1]

    def feed(self, data: bytes) -> list[RawEntry | Problem]:
        if len(self._body) <= self._limit:
            self._body += data
        return []

    def close(self, *, cut: bool) -> list[RawEntry | Problem]:
        self.complete = len(self._body) <= self._limit
        self._cut = cut or not self.complete
        over = [] if self.complete else [over_limit("max_robots_bytes", self._limit, "byte of robots.txt")]
        found = sitemap_lines(self.text)
        self.body = robots_body(self.text) if all(each.is_lost for each in found) else "rules"
        if self.body == "other":  # it is no robots.txt
            found = []
        self.complete = self.complete and not any(each.is_lost for each in found)
        entries: list[RawEntry | Problem] = [*map(self._entry, found)]
        if self._reports_page and self.body == "html":
            message = "an HTML page where a robots.txt should be"
            entries.append(report("F05", message, severity="warning"))
        return [*entries, *over]

    def _entry(self, found: SitemapLine) -> RawEntry | Problem:
        """The entry of a line, or its problem; a URL without a scheme is completed, with an F12."""
        if found.is_lost:
            return report("S01", LINE_IN_HOLE, line=found.line, kind="entry lost")
        if not found.loc:
            return _malformed(found, found.fault)
        entry = RawEntry("sitemap", found.loc, found.line)
        fault = found.fault
        if self._url and listed_url(found.loc).url is None:
            lacks_scheme = _begins_with_host(found.loc, self._url)
            text = with_scheme(found.loc, self._url) if lacks_scheme else found.loc
            if resolved := listed_url(text, self._url).url:
                entry.loc, fault = resolved, fault or ("a host without a scheme" if lacks_scheme else "a relative URL")
        if fault:
            entry.problems.append(_malformed(found, fault))
        return entry


def _begins_with_host(text: str, url: str) -> bool:
    """Whether a text begins with a host of the site of `url`, or with any host in front of the path of a sitemap."""
    name = host_without_scheme(text)
    if name is None:
        return False
    is_own = registrable_domain(name) == registrable_domain(host(url))
    path = text.partition("/")[2].partition("?")[0].lower()
    return is_own or (has_public_suffix(name) and path.endswith(_SITEMAP_ENDINGS))


def _malformed(found: SitemapLine, fault: str | None) -> Problem:
    return report("F12", f"malformed Sitemap line: {fault}", line=found.line, field="Sitemap", raw=found.raw)
