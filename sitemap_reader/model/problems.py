"""Problems, as values: a code, a message, the place and the raw text; and how they are counted.

CATALOGUE has the severity and title of each code, from codes.toml, the table of all that is known of codes.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

import attrs

from .messages import printable

Severity = Literal["error", "warning", "notice"]

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
    "compressed twice",
    "not compressed",
    # S02
    "namespace of the document",
    # S07
    "bytes invalid in the charset",
    # S10
    "root, entry or location not in small letters",
    # U06, U07
    "with another lastmod",
    # U16
    "added parameter",
    "index file",
    "double slash",
    "upper and lower case",
    "order of parameters",
    "trailing slash",
    "repeated folder",
]

# The same of pages, as crawls and checks of URLs find them.
PageKind = Literal[
    # C02
    "redirect within the site",
    "redirect to an error",
    "redirect to a noindex page",
    "redirect to a disallowed page",
    "redirect to another site",
    "redirect to a host that is not public",
    "redirect to the start page",
    "redirect to http",
    "redirect loop",
    "redirect without a target",
    # C04
    "canonical on the same site",
    "canonical on another site",
    "canonical on a host that is not public",
    "canonical on http",
    "canonical that redirects",
    "canonical with an error",
    "canonical that is noindex",
    "canonical that is disallowed",
    "canonical of a page with another canonical",
    # C10
    "meta refresh at once",
    "meta refresh after a delay",
    # C11
    "several canonical URLs",
    "canonical outside of the head",
    "canonical without its scheme",
    "empty canonical",
    "unreadable canonical",
    # C14
    "image with an error",
    "image that is none",
    "image that does not respond",
    # C15
    "lastmod after the last change",
    "lastmod before the last change",
    # L12
    "another URL for a code",
    "codes on one side only",
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


CODES = Path(__file__).with_name("codes.toml")
# What a Problem needs of each row: to parse the whole table takes 30 ms, this 0.5 ms.
_HEAD = re.compile(r'\n\[([A-Z]\d\d)\]\nseverity = "(\w+)"\ntitle = "(.+)"')
CATALOGUE: dict[str, Rule] = {code: Rule(*head) for code, *head in _HEAD.findall(CODES.read_text("utf-8"))}


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
    kind: str | None = None  # a Kind or PageKind; later versions may have others
    remedy: str | None = attrs.field(default=None, eq=False)
    listed: str | None = attrs.field(default=None, eq=False)  # where the document is listed, as the message says

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
    kind: Kind | PageKind | str | None = None,
    remedy: str | None = None,
    listed: str | None = None,
) -> Problem:
    """A Problem; `severity` is by default that of the catalogue. The message ends with `listed` and the remedy."""
    if listed:
        message += _listed_in(listed)
    if remedy:
        message = f"{message}; {remedy}"
    if raw is not None:
        raw = raw[:MAX_RAW_CHARACTERS]
    if len(message) > MAX_MESSAGE_CHARACTERS:
        half = MAX_MESSAGE_CHARACTERS // 2
        message = f"{message[: half - 1]}…{message[-half:]}"
    severity = severity or CATALOGUE[code].severity
    return Problem(code, severity, message, sitemap, line, field, raw, url, kind, remedy, listed)


def _listed_in(place: str) -> str:
    return f" (listed in {place})"


def relisted(problem: Problem, place: str) -> Problem:
    """The problem, if its message says where the document is listed, with this place instead."""
    if problem.listed in (None, place):
        return problem
    message = problem.message.replace(_listed_in(problem.listed or ""), _listed_in(place))
    return attrs.evolve(problem, message=message, listed=place)


def report_as(problem: Problem, code: str, message: str, kind: str | None = None) -> Problem:
    """The same place as another problem, with its usual severity."""
    return attrs.evolve(problem, code=code, severity=CATALOGUE[code].severity, message=message, kind=kind, remedy=None)


def first_error(problems: Iterable[Problem]) -> Problem | None:
    """The first error among them, else the first of them; None of none."""
    return min(problems, key=lambda problem: problem.severity != "error", default=None)


def placed(problem: Problem, *, sitemap: str | None = None, line: int | None = None, url: str | None = None) -> Problem:
    """The problem with this document, line and URL; None keeps its own. Ten times as fast as attrs.evolve()."""
    each = problem
    sitemap, line, url = sitemap or each.sitemap, line or each.line, url or each.url
    return Problem(
        each.code,
        each.severity,
        each.message,
        sitemap,
        line,
        each.field,
        each.raw,
        url,
        each.kind,
        each.remedy,
        each.listed,
    )


def count_of(number: int, noun: str) -> str:
    """A number and what it counts.

    >>> count_of(1, "entry"), count_of(2_000, "entry"), count_of(3, "day")
    ('1 entry', '2,000 entries', '3 days')
    """
    if number != 1:
        noun = f"{noun[:-1]}ies" if noun.endswith("ry") else f"{noun}s"
    return f"{number:,} {noun}"


def percent(share: float) -> str:
    """A share as whole percent; never 0% for more than nothing, never 100% for less than all.

    >>> percent(0.124), percent(0.0004), percent(0.9999)
    ('12%', 'under 1%', '99%')
    """
    if 0 < share < 0.01:
        return "under 1%"
    return f"{99 if 0.99 < share < 1 else round(share * 100)}%"


class Problems:
    """Exact counts by code, and the first five problems of each code in each document as samples.

    With `most_samples`, no more of a code than these.
    """

    __slots__ = ("_counts", "_left", "most_samples", "samples")

    def __init__(self, most_samples: int | None = None) -> None:
        self._counts: dict[tuple[str, str | None], int] = {}  # by code and document
        self.most_samples = most_samples
        self._left: dict[str, int] = {}  # samples that may follow, by code
        self.samples: list[Problem] = []

    def add(self, problem: Problem) -> bool:
        """Counts the problem; True if it is one of the samples."""
        key = problem.code, problem.sitemap
        count = self._counts[key] = self._counts.get(key, 0) + 1
        is_sample = count <= SAMPLES_PER_CODE
        if is_sample and self.most_samples is not None:
            left = self._left[problem.code] = self._left.get(problem.code, self.most_samples) - 1
            is_sample = left >= 0
        if is_sample:
            self.samples.append(problem)
        return is_sample

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

    def __repr__(self) -> str:
        codes = ", ".join(f"{code} {count:,}" for code, count in sorted(self.counts.items()))
        return f"<Problems: {codes or 'none'}>"
