"""Problems are values: what is wrong, where, and the raw text. CATALOGUE gives each code its severity and title.

Codes are permanent. docs/problems.md explains each.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Literal

import attrs

if TYPE_CHECKING:
    from collections.abc import Iterable

Severity = Literal["error", "warning", "info"]

MAX_RAW_CHARACTERS = 500
# Of a message, which may name a URL of any length. What to do about it stands at its end.
MAX_MESSAGE_CHARACTERS = 2_000
SAMPLES_PER_CODE = 5


@attrs.frozen
class Rule:
    """A code's usual severity, and what it means in a few words."""

    severity: Severity
    title: str


CATALOGUE: dict[str, Rule] = {
    # Fetch
    "F01": Rule("error", "the answer is not 2xx"),
    "F02": Rule("error", "forbidden by robots.txt"),
    "F03": Rule("info", "redirected"),
    "F04": Rule("error", "no answer: DNS, TLS, connection, timeout, redirect loop, or given up"),
    "F05": Rule("error", "an HTML page where a sitemap should be"),
    "F06": Rule("warning", "wrong Content-Type"),
    "F07": Rule("error", "corrupt or truncated gzip"),
    "F08": Rule("warning", "over 50 MiB decoded"),
    "F09": Rule("warning", "robots.txt names no sitemap"),
    "F10": Rule("info", "neither ETag nor Last-Modified"),
    "F11": Rule("error", "empty body"),
    "F12": Rule("warning", "malformed, keyless or relative Sitemap line"),
    "F13": Rule("error", "refused address"),
    "F14": Rule("warning", "robots.txt unavailable, taken for missing"),
    "F15": Rule("error", "Crawl-delay over the limit"),
    "F16": Rule("warning", "headers or credentials not sent over http"),
    # Structure
    "S01": Rule("error", "not well-formed XML"),  # a warning where it was mended without loss
    "S02": Rule("warning", "wrong or missing namespace"),
    "S03": Rule("warning", "over 50,000 entries"),
    "S04": Rule("warning", "index within an index"),
    "S05": Rule("warning", "index cycle"),
    "S06": Rule("warning", "no valid URL"),
    "S07": Rule("warning", "not UTF-8, or bytes that are invalid in the charset"),
    "S08": Rule("warning", "bytes before the XML declaration"),
    "S09": Rule("error", "DTD with an internal subset"),
    "S10": Rule("warning", "repeated or unknown tag"),
    "S11": Rule("error", "entry without a location"),
    "S12": Rule("warning", "child listed twice"),
    "S13": Rule("warning", "child above the index's directory"),
    "S14": Rule("error", "index nested too deeply"),
    "S15": Rule("error", "not a sitemap"),
    "S16": Rule("error", "a safety limit was reached"),
    # URLs
    "U01": Rule("error", "not an absolute URL"),
    "U02": Rule("error", "not http or https"),
    "U03": Rule("warning", "2,048 characters or more"),
    "U04": Rule("warning", "cross-host URL not authorised by robots.txt"),
    "U05": Rule("warning", "above the sitemap's directory"),
    "U06": Rule("warning", "listed twice in a sitemap"),
    "U07": Rule("info", "listed in several sitemaps"),
    "U08": Rule("warning", "fragment dropped"),
    "U09": Rule("warning", "session or tracking parameter"),
    "U10": Rule("warning", "characters that had to be escaped"),
    "U11": Rule("info", "http and https, www or slash variants mixed"),
    "U12": Rule("error", "disallowed by robots.txt"),
    "U13": Rule("info", "not a page"),
    "U14": Rule("error", "credentials in the URL, or a private address"),
    "U15": Rule("error", "unusable URL"),
    # Dates, hints
    "D01": Rule("error", "unreadable date"),
    "D02": Rule("warning", "lastmod in the future"),
    "D03": Rule("warning", "nearly all lastmods are the same"),
    "D04": Rule("info", "lastmods are the time of the request"),
    "D05": Rule("warning", "a sitemap is newer than its index says"),
    "D06": Rule("warning", "date without zone or not in W3C form"),
    "D07": Rule("info", "under half of the URLs have a lastmod"),
    "D08": Rule("info", "nothing newer than a year"),
    "H01": Rule("warning", "unknown changefreq"),
    "H02": Rule("warning", "priority outside 0 to 1"),
    "H03": Rule("info", "all priorities are equal"),
    # hreflang
    "L01": Rule("warning", "invalid language code"),
    "L02": Rule("warning", "missing self-referencing hreflang"),
    "L03": Rule("error", "missing hreflang return tag"),
    "L04": Rule("info", "no x-default"),
    "L05": Rule("warning", "several URLs for one language code"),
    "L06": Rule("error", "relative href"),
    # News, video, images
    "N01": Rule("warning", "over 1,000 news items"),
    "N02": Rule("warning", "news older than two days"),
    "N03": Rule("error", "news without publication, language, date or title"),
    "N04": Rule("warning", "bad language code of a publication"),
    "V01": Rule("error", "video without thumbnail, title or description"),
    "V02": Rule("error", "video without content or player"),
    "V03": Rule("error", "video that is its own page"),
    "V04": Rule("warning", "video description over 2,048 characters"),
    "V05": Rule("warning", "unreadable or out-of-range value"),
    "I01": Rule("warning", "over 1,000 images of one page"),
    # Against a crawl
    "C01": Rule("error", "the page answers 4xx or 5xx"),
    "C02": Rule("warning", "the page redirects"),
    "C03": Rule("error", "the page is noindex"),
    "C04": Rule("warning", "the page names another as canonical"),
    "C05": Rule("warning", "the crawl never came to it"),
    "C06": Rule("info", "indexable page in no sitemap"),
    # Changes
    "X01": Rule("warning", "over half of the URLs would be removed"),
    "X02": Rule("warning", "a sitemap vanished"),
    "X03": Rule("info", "lastmod changed, the page did not"),
}


@attrs.frozen
class Problem:
    """One fault in one place; `raw` is the text at fault, cut at 500 characters. A message has 2,000 at most.

    >>> print(report("D01", 'lastmod "Mon" is no date', sitemap="https://e.com/blog.xml", line=31))
    D01 https://e.com/blog.xml:31: lastmod "Mon" is no date
    """

    code: str
    severity: Severity
    message: str
    sitemap: str | None = None
    line: int | None = None
    field: str | None = None
    raw: str | None = None

    def __str__(self) -> str:
        return f"{self.code} {self.place}: {self.message}"

    @property
    def place(self) -> str:
        """`document:line`, as far as known."""
        document = self.sitemap or "-"
        return document if self.line is None else f"{document}:{self.line}"


def report(
    code: str,
    message: str,
    *,
    sitemap: str | None = None,
    line: int | None = None,
    field: str | None = None,
    raw: str | None = None,
    severity: Severity | None = None,
) -> Problem:
    """A Problem with the severity that the catalogue gives its code, unless another is given."""
    if raw is not None:
        raw = raw[:MAX_RAW_CHARACTERS]
    if len(message) > MAX_MESSAGE_CHARACTERS:
        half = MAX_MESSAGE_CHARACTERS // 2
        message = f"{message[: half - 1]}…{message[-half:]}"
    return Problem(code, severity or CATALOGUE[code].severity, message, sitemap, line, field, raw)


def first_error(problems: Iterable[Problem]) -> Problem | None:
    """The first error among them, else the first of them; None of none."""
    return min(problems, key=lambda problem: problem.severity != "error", default=None)


def placed(problem: Problem, *, sitemap: str | None = None, line: int | None = None) -> Problem:
    """The same problem in this document, on this line; None keeps what it says. Ten times as fast as attrs.evolve()."""
    each = problem
    return Problem(
        each.code, each.severity, each.message, sitemap or each.sitemap, line or each.line, each.field, each.raw
    )


def counted(number: int, what: str) -> str:
    """A number and what it counts, given as a plural with perhaps more words behind it.

    >>> counted(1, "entries of one index"), counted(2_000, "bytes")
    ('1 entry of one index', '2,000 bytes')
    """
    if number == 1:
        noun, space, rest = what.partition(" ")
        what = (f"{noun[:-3]}y" if noun.endswith("ies") else noun.removesuffix("s")) + space + rest
    return f"{number:,} {what}"


class Tally:
    """Exact counts by code, and the first few problems of each as samples."""

    __slots__ = ("counts", "samples")

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.samples: list[Problem] = []

    def add(self, problem: Problem) -> None:
        self.counts[problem.code] += 1
        if self.counts[problem.code] <= SAMPLES_PER_CODE:
            self.samples.append(problem)
