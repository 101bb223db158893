"""What there is to know of a code: rules.toml in, Explanations out, as values and as text for a terminal.

docs/problems.md is written from the same.
"""

from __future__ import annotations

import tomllib
from difflib import get_close_matches
from functools import cache
from importlib.resources import files
from textwrap import fill, indent
from typing import TYPE_CHECKING, Any

import attrs

from ..model.errors import UsageError
from ..model.problems import CATALOGUE, Severity

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_WIDTH = 80


@attrs.frozen
class Example:
    """A piece of a file that has the problem, and what is said of it. `file` is a path below the repository.

    `note` says more of the file, such as the name of the test in it that gives the line.
    """

    snippet: str
    file: str
    line: str
    language: str = ""
    note: str = ""


@attrs.frozen
class Explanation:
    """A code in full: the rule in one sentence; why it matters and what is done; how to fix it; whose rule it is.

    Texts have Markdown's backticks around code; `str()` is plain, and as wide as a terminal.
    """

    code: str
    severity: Severity
    title: str
    reporters: tuple[str, ...]
    rule: str
    why: str
    fix: str
    source: str
    examples: tuple[Example, ...] = ()

    def __str__(self) -> str:
        return "\n\n".join(self._paragraphs())

    def _paragraphs(self) -> Iterator[str]:
        yield f"{self.severity} {self.code}: {self.title}"
        yield _wrapped(self.rule)
        yield _wrapped(self.why)
        for example in self.examples[:1]:
            if example.snippet:
                yield indent(example.snippet, "    ")
            yield _wrapped(example.line, margin="    ")
        yield _wrapped(f"How to fix: {self.fix}")
        yield _wrapped(f"Source: {self.source}")


def explain(code: str) -> Explanation:
    """The explanation of a code, in any case. UsageError for one that is none.

    >>> print(explain("h01"))
    warning H01: unknown changefreq
    <BLANKLINE>
    changefreq is one of seven words.
    <BLANKLINE>
    This one is none of them, so the record has no changefreq.
    <BLANKLINE>
        <changefreq>sometimes</changefreq>
    <BLANKLINE>
        H01 https://example.com/changefreq.xml:19: changefreq "sometimes" is none of
        the seven
    <BLANKLINE>
    How to fix: Write always, hourly, daily, weekly, monthly, yearly or never, or
    leave it out.
    <BLANKLINE>
    Source: https://www.sitemaps.org/protocol.html#changefreqdef
    """
    name = str(code).strip().upper()
    if name not in CATALOGUE:
        raise UsageError(f'"{code}" is no code; {_instead(name)}')
    return _explanations()[name]


def explain_all(wanted: str) -> list[Explanation]:
    """The explanations of codes, of families (`F`) or other beginnings, or of `all`, with commas or blanks between.

    Sorted, each once. UsageError for what is none of these.

    >>> [each.code for each in explain_all("h, U04 u04")]
    ['H01', 'H02', 'H03', 'U04']
    """
    names = [name.upper() for name in wanted.replace(",", " ").split()]
    for name in names or [""]:
        if name != "ALL" and not (name and any(code.startswith(name) for code in CATALOGUE)):
            raise UsageError(f'"{name}" is no code; {_instead(name)}')
    meant = sorted(code for code in CATALOGUE if "ALL" in names or code.startswith(tuple(names)))
    return [_explanations()[code] for code in meant]


def _instead(name: str) -> str:
    """`did you mean U06?`, and the families with their first and last codes."""
    families: dict[str, list[str]] = {}
    for code in sorted(CATALOGUE):
        families.setdefault(code[0], []).append(code)
    close = get_close_matches(name, families.get(name[:1], ()), n=1)
    ranges = ", ".join(" to ".join(dict.fromkeys((codes[0], codes[-1]))) for codes in families.values())
    return f"{f'did you mean {close[0]}? ' if close else ''}there are {ranges}"


@cache
def _explanations() -> dict[str, Explanation]:
    rules = tomllib.loads(files(__package__).joinpath("rules.toml").read_text("utf-8"))
    return {code: _explanation(code, told) for code, told in rules.items()}


def _explanation(code: str, told: Mapping[str, Any]) -> Explanation:
    rule = CATALOGUE[code]
    # Their lines are broken where the file ends, not where a reader's window does.
    texts = {key: " ".join(told[key].split()) for key in ("rule", "why", "fix", "source")}
    examples = tuple(
        Example(**{**example, "snippet": example["snippet"].strip("\n")}) for example in told.get("examples", ())
    )
    return Explanation(code, rule.severity, rule.title, tuple(told["reporters"]), **texts, examples=examples)


def _wrapped(text: str, *, margin: str = "") -> str:
    """A paragraph without backticks; URLs and options stay whole, however long."""
    plain = text.replace("`", "")
    return fill(
        plain, _WIDTH, initial_indent=margin, subsequent_indent=margin, break_long_words=False, break_on_hyphens=False
    )
