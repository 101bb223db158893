"""Documents that are written together with the truth about them: which faults they have, and on which lines.

A Site collects documents and faults; a Document is written line by line. The faults are those that a test writes, and
their lines those that were written: nothing here reads or audits a document.
"""

from __future__ import annotations

from datetime import datetime, timedelta

import attrs
from faultserver import Script, page

# Codes and severities that may be named differently one day.
NOT_FOUND = "F01"  # 404, 410
DENIED = "F17"  # 403 and other 4xx
SERVER_ERROR = "F18"  # 5xx
HINT = "notice"  # of changefreq and priority
SEVERITIES = {
    **dict.fromkeys([NOT_FOUND, DENIED, SERVER_ERROR, "F02", "F04", "F05", "F07", "F11", "S01", "S04", "S05"], "error"),
    **dict.fromkeys(["S06", "S08", "S09", "S11", "S15", "U01", "U02", "U12", "U14", "U15"], "error"),
    **dict.fromkeys(["D01", "L03", "L06", "N03", "V01", "V02", "V03"], "error"),
    **dict.fromkeys(["F03", "F10", "U06", "U07", "U11", "U13", "U16", "D04", "D07", "H03", "L04", "L11"], "notice"),
    **dict.fromkeys(["H01", "H02"], HINT),
}  # all others are warnings

SITEMAP_NS = "http://www.sitemaps.org/schemas/sitemap/0.9"
IMAGE_NS = "http://www.google.com/schemas/sitemap-image/1.1"
VIDEO_NS = "http://www.google.com/schemas/sitemap-video/1.1"
NEWS_NS = "http://www.google.com/schemas/sitemap-news/0.9"
NEAR_IMAGE_NS = "http://www.sitemaps.org/schemas/sitemap-image/1.1"  # the host of the protocol, not of the extension
XHTML_NS = "http://www.w3.org/1999/xhtml"
EXTENSIONS = {"image": IMAGE_NS, "video": VIDEO_NS, "news": NEWS_NS, "xhtml": XHTML_NS}
DECLARATION = '<?xml version="1.0" encoding="UTF-8"?>'
XML = "application/xml"


@attrs.frozen(order=True)
class Fault:
    """What an audit has to find, and where; `url` is the listed URL at fault, else the document."""

    code: str
    severity: str
    url: str
    sitemap: str
    line: int = 0  # 0: the document as a whole


@attrs.define
class Site:
    """The documents of the site at an origin, and their faults; dates are counted from `now`."""

    origin: str
    now: datetime
    scripts: dict[str, list[Script]] = attrs.field(factory=dict)
    faults: list[Fault] = attrs.field(factory=list)
    urls: int = 0  # listings that an audit keeps
    unread: set[str] = attrs.field(factory=set)  # documents of which nothing can be read
    cut: set[str] = attrs.field(factory=set)  # documents that can be read in part
    _entries: int = 0

    def url(self, path: str) -> str:
        """The URL of a path; other URLs stay as they are."""
        return f"{self.origin}{path}" if path.startswith("/") and not path.startswith("//") else path

    def day(self, days: int) -> str:
        """The date so many days after now."""
        return (self.now + timedelta(days=days)).strftime("%Y-%m-%d")

    def next_day(self) -> str:
        """A date of the last five months, another one for each entry."""
        self._entries += 1
        return self.day(-2 - self._entries * 7 % 150)

    def fault(self, code: str, sitemap: str, *, url: str = "", line: int = 0, severity: str = "") -> None:
        """Records a fault of a document, or of a URL that it lists."""
        place = self.url(sitemap)
        severity = severity or SEVERITIES.get(code, "warning")
        self.faults.append(Fault(code, severity, self.url(url) or place, place, line))

    def unreadable(self, code: str, sitemap: str) -> None:
        """Records a document of which nothing can be read."""
        self.fault(code, sitemap)
        self.unread.add(self.url(sitemap))

    def serve(self, path: str, body: bytes, *headers: str, type: str = XML, has_etag: bool = True) -> None:
        """Answers a path with a body."""
        self.scripts[path] = [page(body, *content_headers(type, has_etag=has_etag), *headers)]

    def urlset(self, path: str, *extensions: str, root: str = "") -> Document:
        """Begins a urlset, with the namespaces of these extensions."""
        document = Document(self, path)
        names = "".join(f' xmlns:{name}="{EXTENSIONS[name]}"' for name in extensions)
        document.add(DECLARATION, root or f'<urlset xmlns="{SITEMAP_NS}"{names}>')
        return document


def content_headers(type: str = XML, *, has_etag: bool = True) -> list[str]:
    """The headers of a document."""
    return [f"Content-Type: {type}", *(['ETag: "1"'] if has_etag else [])]


@attrs.define
class Document:
    """A document that is written line by line."""

    site: Site
    path: str
    lines: list[str] = attrs.field(factory=list)

    def add(self, *lines: str) -> int:
        """Adds lines; returns the number of the last one, from 1."""
        self.lines.extend(lines)
        return len(self.lines)

    def fault(self, codes: str, *, line: int = 0, url: str = "", severity: str = "") -> None:
        """Records faults of the document as a whole, or of a line or a listed URL."""
        for code in codes.split():
            self.site.fault(code, self.path, line=line, url=url, severity=severity)

    def entry(
        self,
        loc: str,
        *fields: str,
        faults: str = "",
        lastmod: str | None = "",
        url: str | None = "",
        kept: bool = True,
    ) -> int:
        """Adds a `<url>` of several lines, and returns the number of its first, at which its faults are.

        `url` is the URL at fault if it is another one than `loc`; None: the entry has none, and is lost.
        """
        date = self.site.next_day() if lastmod == "" else lastmod
        line = self.add("  <url>")
        self.add(f"    <loc>{self.site.url(loc)}</loc>", *(f"    {field}" for field in fields))
        if date is not None:
            self.add(f"    <lastmod>{date}</lastmod>")
        self.add("  </url>")
        self.site.urls += kept and url is not None
        self.fault(faults, line=line, url="" if url is None else url or loc)
        return line

    def end(self, *headers: str, type: str = XML, has_etag: bool = True) -> None:
        """Ends the urlset, and serves it."""
        self.add("</urlset>")
        self.serve(*headers, type=type, has_etag=has_etag)

    def serve(self, *headers: str, type: str = XML, has_etag: bool = True) -> None:
        """Serves the lines as they are."""
        self.site.serve(self.path, self.body, *headers, type=type, has_etag=has_etag)

    def cut(self, codes: str, *, line: int = 0) -> None:
        """Records faults for which the document is read in part only."""
        self.fault(codes, line=line)
        self.site.cut.add(self.site.url(self.path))

    @property
    def body(self) -> bytes:
        """The lines in UTF-8."""
        return "".join(f"{line}\n" for line in self.lines).encode()
