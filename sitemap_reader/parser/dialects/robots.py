"""The Sitemap lines of a robots.txt: decoded text in; URLs with line numbers, and Problems, out.

Sitemap lines are independent of groups (RFC 9309 2.2.4), wherever they are written. Rules are read elsewhere:
frontier/robots_rules.py.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

import attrs

from ...model.limits import over_limit
from ...model.problems import Problem, report
from ..normalise.entry import RawEntry
from ..normalise.urls import has_public_suffix, host, host_without_scheme, listed_url, registrable_domain, with_scheme

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...model.limits import Limits

# RFC 9309 2.2: lines end in CR, LF or both; not in U+2028 and other Unicode separators.
_LINE_END = re.compile(r"\r\n|\n|\r")
# A comment follows white space: otherwise a fragment of a URL would be one.
_COMMENT = re.compile(r"(?:^|\s)#.*", re.DOTALL)
_KEY = re.compile(
    r"""
    (site[-_ ]?maps?(?:[-_ ]?(?:index|url))?)  # spellings in use
    (?: (\s*[:=\uff1a]+) \s*                   # the separator, including U+FF1A
      | \s+ (?=["'<]?(?:https?://|/)) )        # or none before a URL or a path
    (.*)
    """,
    re.VERBOSE | re.IGNORECASE | re.DOTALL,
)
_ABSOLUTE = re.compile(r"https?://[^\s/?#]+(/[^\s?#]*)", re.IGNORECASE)
_SITEMAP_ENDINGS = (".xml", ".txt", ".gz", ".rss", ".atom", ".php", ".aspx", ".ashx", "sitemap", "sitemap/")
_WRAPPERS = {'"': '"', "'": "'", "<": ">", "\u201c": "\u201d", "\u2018": "\u2019", "`": "`"}
_PADDING = "\0\ufeff" + "".join(filter(str.isspace, map(chr, range(0x3001))))
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
    """

    loc: str
    raw: str
    line: int
    fault: str | None = None


def sitemap_lines(text: str) -> list[SitemapLine]:
    """All Sitemap lines in order; none if the text is HTML.

    >>> sitemap_lines("User-agent: *\\nSitemap: https://example.com/sitemap.xml")
    [SitemapLine(loc='https://example.com/sitemap.xml', raw='https://example.com/sitemap.xml', line=2, fault=None)]
    """
    text = _without_nuls(text)
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


def _without_nuls(text: str) -> str:
    # UTF-16 without a BOM, decoded as bytes: every other character is NUL. A single NUL is kept.
    return text.replace("\0", "") if text.count("\0") * 3 > len(text) else text


def _read(line: str, number: int) -> Iterator[SitemapLine]:
    line = _COMMENT.sub("", line).strip(_PADDING)
    key = _KEY.match(line)
    fault = _key_fault(key[1], key[2]) if key else "a URL without a Sitemap key"
    raw = key[3].strip(_PADDING) if key else line
    if key and not _unwrap(raw.partition("#")[0] if raw.startswith("#") else raw):
        yield SitemapLine("", raw, number, "it names nothing")
        return
    if not (key or _names_sitemap(_unwrap(raw))):
        return
    values = _values(raw)
    for value in values:
        loc = _unwrap(value)
        if not loc:
            continue
        wrapped = "quotes or brackets around the URL" if loc != value else None
        several = "several URLs in one Sitemap line" if len(values) > 1 else None
        yield SitemapLine(loc, value, number, fault or wrapped or several)


def _key_fault(key: str, separator: str | None) -> str | None:
    if separator is None:
        return f'no colon behind "{key}"'
    if key.lower() != "sitemap" or separator.strip() != ":":
        return f'"{key}{separator.strip()}" in place of "Sitemap:"'
    return None


def _values(raw: str) -> list[str]:
    """The URLs of the line: one, unless all words are absolute URLs."""
    words = raw.replace(", ", " ").split()
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
        entries: list[RawEntry | Problem] = [self._entry(found) for found in sitemap_lines(self.text)]
        self.body = "rules" if entries else robots_body(self.text)
        if self._reports_page and self.body == "html":
            message = "an HTML page where a robots.txt should be"
            entries.append(report("F05", message, severity="warning"))
        if not self.complete:
            entries.append(over_limit("max_robots_bytes", self._limit, "bytes of robots.txt"))
        return entries

    def _entry(self, found: SitemapLine) -> RawEntry | Problem:
        """The entry of a line, or its problem; a URL without a scheme is completed, with an F12."""
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
