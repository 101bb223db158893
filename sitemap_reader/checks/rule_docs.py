"""Explanations: the rows of model/codes.toml, the table of problem codes; they print as text for a terminal."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from functools import cache, lru_cache
from textwrap import fill, indent
from typing import Any

import attrs

from ..model.errors import UsageError
from ..model.problems import CATALOGUE, CODES, Severity

# Name of a family of codes -> its letter.
FAMILIES = {
    "fetch": "F", "structure": "S", "urls": "U", "dates": "D", "lastmod": "D", "hints": "H", "hreflang": "L",
    "languages": "L", "news": "N", "videos": "V", "images": "I", "pages": "C", "crawl": "C", "changes": "X",
}  # fmt: skip
# The heading of Explanation.tool.
TOOL = "With this tool"
_WIDTH = 80
_PREFIX_END = re.compile(r"[: ]")


@attrs.frozen
class Example:
    """A part of a file with the problem, and the line that is reported."""

    snippet: str
    file: str  # a path in the repository
    line: str
    language: str = ""
    note: str = ""  # on the file, such as the name of the test in it that gives the line


def _tuple_of_list(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


@attrs.frozen
class Explanation:
    """The explanation of a code: the rule in one sentence, why it matters, how to fix it, and the source of the rule.

    `why` begins with the consequence for the site; `tool` states what this library does, if it is not empty. Texts have
    Markdown's backticks around code; `str()` is plain text. The fields behind `examples` are columns for the audit and
    the command line; the head of model/codes.toml describes them.
    """

    code: str
    severity: Severity
    title: str
    reporters: tuple[str, ...] = attrs.field(converter=tuple)
    rule: str
    why: str
    fix: str
    source: str
    tool: str = ""
    examples: tuple[Example, ...] = ()
    impact: str = "signal"
    impacts: Mapping[str, str] = attrs.field(factory=dict, hash=False)
    refused: bool | tuple[str, ...] = attrs.field(default=False, converter=_tuple_of_list)
    needs: tuple[str, ...] = attrs.field(default=(), converter=tuple)
    compares: str = ""
    found_in: str = "sitemap"
    moving_value: bool = False
    hint: str = ""
    faulty_url: str = ""
    faulty_urls: str = ""
    short_title: str = ""

    def refuses(self, kind: str | None) -> bool:
        """Whether search engines refuse a whole sitemap because of such a problem."""
        return self.refused if isinstance(self.refused, bool) else kind in self.refused

    def impact_of(self, field: str | None) -> str:
        """What a problem of this field costs: a tag, such as `image:loc` or `xhtml:link href`."""
        return self.impacts.get(_PREFIX_END.split(field or "", 1)[0], self.impact)

    def __str__(self) -> str:
        return "\n\n".join(self._paragraphs())

    def _paragraphs(self) -> Iterator[str]:
        yield f"{self.severity} {self.code}: {self.title}"
        yield _wrapped(f"Expected: {self.rule}")
        yield _wrapped(f"Why it matters: {self.why}")
        for example in self.examples[:1]:
            if example.snippet:
                yield indent(example.snippet, "    ")
            yield _wrapped(example.line, margin="    ")
        yield _wrapped(f"How to fix: {self.fix}")
        if self.tool:
            yield _wrapped(f"{TOOL}: {self.tool}")
        yield _wrapped(f"Source: {self.source}")


def explain(code: str) -> Explanation:
    """The explanation of a code, in upper or lower case; UsageError for an unknown code.

    >>> print(explain("h01"))
    notice H01: Unknown changefreq
    <BLANKLINE>
    Expected: changefreq is one of seven words.
    <BLANKLINE>
    Why it matters: Search engines ignore other words. Google and Bing ignore
    changefreq anyway, so this is a notice.
    <BLANKLINE>
        <changefreq>sometimes</changefreq>
    <BLANKLINE>
        H01 https://example.com/changefreq.xml:19: changefreq "sometimes" is none of
        the seven
    <BLANKLINE>
    How to fix: Write always, hourly, daily, weekly, monthly, yearly or never, or
    omit it.
    <BLANKLINE>
    With this tool: The record has no changefreq.
    <BLANKLINE>
    Source: https://www.sitemaps.org/protocol.html#changefreqdef
    """
    name = str(code).strip().upper()
    if name not in CATALOGUE:
        raise UsageError(f'"{code}" is not a code; {_instead(name)}')
    return _explanations()[name]


def code_of(name: str) -> str:
    """A code, or the beginning of one, in upper case; of a family also its name, in the singular or the plural.

    >>> code_of("d03"), code_of("hreflang"), code_of("Image"), code_of("other")
    ('D03', 'L', 'I', 'OTHER')
    """
    key = name.strip().casefold()
    return FAMILIES.get(key) or FAMILIES.get(f"{key}s") or name.strip().upper()


def explain_all(wanted: str) -> list[Explanation]:
    """The explanations of codes, families of codes, or `all`, separated by commas or blanks; sorted, each once.

    UsageError for anything else.

    >>> [each.code for each in explain_all("h, U04 u04")]
    ['H01', 'H02', 'H03', 'U04']
    """
    names = [*map(code_of, wanted.replace(",", " ").split())]
    for name in names or [""]:
        if name != "ALL" and not (name and any(code.startswith(name) for code in CATALOGUE)):
            raise UsageError(f'"{name}" is not a code; {_instead(name)}')
    meant = sorted(code for code in CATALOGUE if "ALL" in names or code.startswith(tuple(names)))
    return [_explanations()[code] for code in meant]


def _instead(name: str) -> str:
    """`did you mean U06?`, and the first and last code of each family."""
    families: dict[str, list[str]] = {}
    for code in sorted(CATALOGUE):
        families.setdefault(code[0], []).append(code)
    padded = name[:1] + name[1:].zfill(2)  # F6 means F06
    close = [padded] if padded in CATALOGUE else get_close_matches(name, families.get(name[:1], ()), n=1)
    close = close or get_close_matches(name.casefold(), FAMILIES, n=1)
    ranges = ", ".join(" to ".join(dict.fromkeys((codes[0], codes[-1]))) for codes in families.values())
    return f"{f'did you mean {close[0]}? ' if close else ''}there are {ranges}"


@lru_cache(1_000)
def impact_of(code: str, severity: Severity, field: str | None = None) -> str:
    """A key of IMPACTS. A warning, as of robots.txt, keeps no sitemap from being read."""
    if severity == "notice":
        return "notice"
    impact = explain(code).impact_of(field)
    return "signal" if impact == "unread" and severity == "warning" else impact


@cache
def needing(what: str) -> tuple[str, ...]:
    """The codes whose check needs it, in the order of the table."""
    return tuple(code for code, row in _explanations().items() if what in row.needs)


@cache
def comparing(what: str) -> tuple[str, ...]:
    """The codes whose check compares `URLs`, or `shares` of values, in the order of the table."""
    return tuple(code for code, row in _explanations().items() if what == row.compares)


@cache
def _explanations() -> dict[str, Explanation]:
    found = {}
    for code, row in tomllib.loads(CODES.read_text("utf-8")).items():
        examples = tuple(Example(**{**each, "snippet": each["snippet"].strip("\n")}) for each in row.pop("examples"))
        # The line breaks of the file are not those of the output.
        texts = {name: " ".join(each.split()) for name, each in row.items() if isinstance(each, str)}
        found[code] = Explanation(code, **{**row, **texts}, examples=examples)
    return found


def plain(text: str) -> str:
    """A text of the table without the backticks of Markdown."""
    return text.replace("`", "")


def _wrapped(text: str, *, margin: str = "") -> str:
    """A paragraph without backticks; URLs and options stay whole, however long."""
    return fill(
        plain(text),
        _WIDTH,
        initial_indent=margin,
        subsequent_indent=margin,
        break_long_words=False,
        break_on_hyphens=False,
    )
