"""Problems, as values: a code, a message, the place and the raw text; and the catalogue of codes.

CATALOGUE has the severity and title of each code. Codes are permanent; docs/problems.md explains each.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Literal

import attrs

from .escapes import printable

if TYPE_CHECKING:
    from collections.abc import Iterable

Severity = Literal["error", "warning", "info"]

# What happened, of codes that cover many cases; reports count problems by it.
Kind = Literal[
    # S01
    "entry lost",
    "entry that may be hidden",
    "document cut off",
    "content after the root element",
    "text without a root element",
    "link of a damaged feed dropped",
    "further repairs, not reported each",
    "raw & read as &amp;",
    "raw < or > read as text",
    "surrogate pair read as its character",
    "HTML entity read as its character",
    "control character kept",
    "undeclared prefix",
    "damaged CDATA section",
    "malformed comment skipped",
    "malformed tag read as the intended one",
    "missing tag added",
    "stray tag skipped",
    "declaration or instruction skipped",
    # F07
    "wrong checksum or size",
]

MAX_RAW_CHARACTERS = 500
# A message may contain a URL of any length; what to do is at its end.
MAX_MESSAGE_CHARACTERS = 2_000
SAMPLES_PER_CODE = 5


@attrs.frozen
class Rule:
    """A code's usual severity, and its title."""

    severity: Severity
    title: str


CATALOGUE: dict[str, Rule] = {
    # Fetch
    "F01": Rule("error", "Sitemap not found (404 or 410)"),
    "F02": Rule("error", "Sitemap disallowed by robots.txt"),
    "F03": Rule("info", "Redirected sitemap URL"),
    "F04": Rule("error", "No usable response: DNS, TLS, timeout, redirect loop, Retry-After"),
    "F05": Rule("error", "HTML page instead of a sitemap"),
    "F06": Rule("warning", "Content-Type does not match the format"),
    "F07": Rule("error", "Corrupt or truncated gzip data"),
    "F08": Rule("warning", "Over 50 MiB uncompressed"),
    "F09": Rule("warning", "No Sitemap line in robots.txt"),
    "F10": Rule("info", "Neither ETag nor Last-Modified header"),
    "F11": Rule("error", "Empty response body"),
    "F12": Rule("warning", "Malformed Sitemap line in robots.txt"),
    "F13": Rule("error", "Private or reserved address refused"),
    "F14": Rule("warning", "robots.txt unavailable, treated as missing"),
    "F15": Rule("error", "Crawl-delay over the limit"),
    "F16": Rule("warning", "Headers or credentials not sent over http"),
    "F17": Rule("error", "Access denied (401, 403, other 4xx, bot wall)"),
    "F18": Rule("error", "Server error (5xx), or too many requests (429)"),
    # Structure
    "S01": Rule("error", "XML not well-formed"),  # a warning where it was repaired without loss
    "S02": Rule("warning", "Wrong or missing namespace"),
    "S03": Rule("warning", "Over 50,000 entries"),
    "S04": Rule("warning", "Sitemap index within an index"),
    "S05": Rule("warning", "Sitemap index cycle"),
    "S06": Rule("warning", "Sitemap without valid URLs"),
    "S07": Rule("warning", "Not UTF-8, or bytes invalid in the charset"),
    "S08": Rule("warning", "Content before the document"),
    "S09": Rule("error", "DTD with an internal subset"),
    "S10": Rule("warning", "Repeated, misplaced or unknown tag"),
    "S11": Rule("error", "Entry without a location"),
    "S12": Rule("warning", "Child sitemap listed twice"),
    "S13": Rule("warning", "Child sitemap above the index's directory"),
    "S14": Rule("error", "Sitemap index nested too deeply"),
    "S15": Rule("error", "Not a sitemap"),
    "S16": Rule("error", "Safety limit reached"),
    "S17": Rule("error", "Internal error of this reader"),
    # URLs
    "U01": Rule("error", "Relative URL"),
    "U02": Rule("error", "URL scheme other than http or https"),
    "U03": Rule("warning", "URL of 2,048 characters or more"),
    "U04": Rule("warning", "Cross-host URL not authorised by robots.txt"),
    "U05": Rule("warning", "URL above the sitemap's directory"),
    "U06": Rule("warning", "URL listed twice in one sitemap"),
    "U07": Rule("info", "URL listed in several sitemaps"),
    "U08": Rule("warning", "URL with a fragment"),
    "U09": Rule("warning", "Session or tracking parameter in the URL"),
    "U10": Rule("warning", "Unescaped characters in the URL"),
    "U11": Rule("info", "Mixed http and https, www or trailing slash"),
    "U12": Rule("error", "URL disallowed by robots.txt"),
    "U13": Rule("info", "URL of a file, not a page"),
    "U14": Rule("error", "Credentials or private address in the URL"),
    "U15": Rule("error", "Invalid URL"),
    # Dates, hints
    "D01": Rule("error", "Unreadable date"),
    "D02": Rule("warning", "Lastmod in the future"),
    "D03": Rule("warning", "Nearly all lastmods identical"),
    "D04": Rule("info", "Lastmods equal the time of the request"),
    "D05": Rule("warning", "Index lastmod older than the sitemap's entries"),
    "D06": Rule("warning", "Date without time zone or not in W3C format"),
    "D07": Rule("info", "Most URLs without lastmod"),
    "D08": Rule("info", "No lastmod within the last year"),
    "H01": Rule("info", "Unknown changefreq"),
    "H02": Rule("info", "Priority outside 0 to 1"),
    "H03": Rule("info", "All priorities equal"),
    # hreflang
    "L01": Rule("warning", "Invalid hreflang code"),
    "L02": Rule("warning", "Missing self-referencing hreflang"),
    "L03": Rule("error", "Missing hreflang return tag"),
    "L04": Rule("info", "Missing x-default"),
    "L05": Rule("warning", "Several URLs for one hreflang code"),
    "L06": Rule("error", "Relative URL in an alternate"),
    # News, video, images
    "N01": Rule("warning", "Over 1,000 news items"),
    "N02": Rule("warning", "News item older than two days"),
    "N03": Rule("error", "News item without publication, language, date or title"),
    "N04": Rule("warning", "Invalid publication language"),
    "V01": Rule("error", "Video without thumbnail, title or description"),
    "V02": Rule("error", "Video without content or player URL"),
    "V03": Rule("error", "Video URL is the page itself"),
    "V04": Rule("warning", "Video description over 2,048 characters"),
    "V05": Rule("warning", "Invalid video value"),
    "I01": Rule("warning", "Over 1,000 images on one page"),
    # Against a crawl
    "C01": Rule("error", "Page returns 4xx or 5xx"),
    "C02": Rule("warning", "Page redirects"),
    "C03": Rule("error", "Page is noindex"),
    "C04": Rule("warning", "Page has another canonical URL"),
    "C05": Rule("warning", "Page not found by the crawl"),
    "C06": Rule("info", "Indexable page in no sitemap"),
    "C07": Rule("warning", "Page is a soft 404"),
    "C08": Rule("error", "Page does not respond"),
    # Changes
    "X01": Rule("warning", "Over half of the URLs removed, or all of a sitemap"),
    "X02": Rule("warning", "Sitemap no longer listed"),
    "X03": Rule("info", "Lastmod changed, content unchanged"),
}


@attrs.frozen
class Problem:
    """One fault in one place; `raw` is the text at fault, cut at 500 characters. A message has 2,000 at most.

    `url` is the listed URL, of a page or a sitemap, whose entry has the fault; None where the document has it, and
    where the entry has no usable URL. `kind` says more than the code where that covers many cases. `remedy` is the end
    of the message that says what the user can do; JSON lines have it in the message only.

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
    url: str | None = None
    kind: str | None = None  # a Kind; later versions may have others
    remedy: str | None = attrs.field(default=None, eq=False)

    def __str__(self) -> str:
        return printable(f"{self.code} {self.place}: {self.message}")

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
    url: str | None = None,
    severity: Severity | None = None,
    kind: Kind | None = None,
    remedy: str | None = None,
) -> Problem:
    """A Problem with the severity that the catalogue gives its code, unless another is given.

    The message ends with the remedy.
    """
    if remedy:
        message = f"{message}; {remedy}"
    if raw is not None:
        raw = raw[:MAX_RAW_CHARACTERS]
    if len(message) > MAX_MESSAGE_CHARACTERS:
        half = MAX_MESSAGE_CHARACTERS // 2
        message = f"{message[: half - 1]}…{message[-half:]}"
    severity = severity or CATALOGUE[code].severity
    return Problem(code, severity, message, sitemap, line, field, raw, url, kind, remedy)


def first_error(problems: Iterable[Problem]) -> Problem | None:
    """The first error among them, else the first of them; None of none."""
    return min(problems, key=lambda problem: problem.severity != "error", default=None)


def placed(problem: Problem, *, sitemap: str | None = None, line: int | None = None, url: str | None = None) -> Problem:
    """The problem with this document, line and URL; None keeps its own. Ten times as fast as attrs.evolve()."""
    each = problem
    sitemap, line, url = sitemap or each.sitemap, line or each.line, url or each.url
    return Problem(
        each.code, each.severity, each.message, sitemap, line, each.field, each.raw, url, each.kind, each.remedy
    )


def counted(number: int, what: str) -> str:
    """A number and what it counts, a plural that other words may follow.

    >>> counted(1, "entries of one index"), counted(2_000, "bytes")
    ('1 entry of one index', '2,000 bytes')
    """
    if number == 1:
        noun, space, rest = what.partition(" ")
        what = (f"{noun[:-3]}y" if noun.endswith("ies") else noun.removesuffix("s")) + space + rest
    return f"{number:,} {what}"


def percent(share: float) -> str:
    """A share as whole percent; never 0% for more than nothing, never 100% for less than all.

    >>> percent(0.124), percent(0.0004), percent(0.9999)
    ('12%', 'under 1%', '99%')
    """
    if 0 < share < 0.01:
        return "under 1%"
    return f"{99 if 0.99 < share < 1 else round(share * 100)}%"


class Problems:
    """Exact counts by code, and the first five problems of each code in each document as samples."""

    __slots__ = ("_counts", "samples")

    def __init__(self) -> None:
        self._counts: dict[tuple[str, str | None], int] = {}  # by code and document
        self.samples: list[Problem] = []

    def add(self, problem: Problem) -> bool:
        """Counts the problem; True if it is one of the samples."""
        key = problem.code, problem.sitemap
        count = self._counts[key] = self._counts.get(key, 0) + 1
        if count <= SAMPLES_PER_CODE:
            self.samples.append(problem)
        return count <= SAMPLES_PER_CODE

    @property
    def counts(self) -> Counter[str]:
        """Code -> number of problems."""
        counts: Counter[str] = Counter()
        for (code, _), count in self._counts.items():
            counts[code] += count
        return counts

    def unsampled(self) -> list[tuple[str, str | None, int]]:
        """(code, document, number of problems beyond the samples) where there are more than samples."""
        over = ((*key, count - SAMPLES_PER_CODE) for key, count in self._counts.items())
        return [each for each in over if each[2] > 0]

    def __len__(self) -> int:
        return sum(self._counts.values())
