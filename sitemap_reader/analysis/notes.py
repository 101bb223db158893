"""Notes of a Snapshot: sentences on what is missing, from the Summary, outcomes, problems and filters of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..client.options import PatternOptions
from ..client.summary import count_of, first_reason, sitemaps_of
from ..model.messages import Message
from ..model.summary import UNWANTED, dropped_text
from ..parser.content.sniff import Format

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from ..model.problems import Problems
    from ..model.records import Outcome
    from ..model.summary import Summary

# How many documents, and problem codes, a note names.
MAX_NAMED = 3
# Between the findings of several sites in one line; a chart begins a new line there.
SITE_SEPARATOR = " | "
# Reason of UNWANTED -> the keywords that filter for it.
_KEYWORDS = {"date": "since, until, undated", "pattern": "include, exclude"}


def omissions(summary: Summary, outcomes: Iterable[Outcome], problems: Problems) -> Iterator[str]:
    """A note for each reason why a URL may be missing; the counts are those of the Summary."""
    outcomes = [*outcomes]
    if summary.sitemaps and not summary.urls and not summary.stopped:
        codes = ", ".join(f"{code} {count:,}" for code, count in problems.counts.most_common(MAX_NAMED))
        yield f"no URL in {count_of(summary.sitemaps, 'sitemap')}" + (f"; problems: {codes}" if codes else "")
    if summary.dropped:
        yield Message("out of scope: ", dropped_text(summary.dropped))
    for reason, words in UNWANTED.items():
        if reason in summary.unwanted:
            yield f"{count_of(summary.unwanted[reason], 'URL')} {words} ({_KEYWORDS[reason]})"
    for reason, count in sorted(summary.pruned.items()):
        yield f"{count_of(count, 'sitemap')} left out ({reason.replace('-', '_')})"
    broken = [outcome for outcome in sitemaps_of(outcomes) if not outcome.complete]
    failed = [outcome for outcome in broken if not outcome.entries]
    partial = [outcome for outcome in broken if outcome.entries]
    robots = [outcome for outcome in outcomes if outcome.format == Format.ROBOTS and not outcome.complete]
    yield from _named_documents(failed, summary.failed, "sitemap", "could not be read")
    yield from _named_documents(partial, summary.incomplete, "sitemap", "could be read in part only")
    yield from _named_documents(robots, summary.robots_failed, "robots.txt file", "could not be read")


def _named_documents(broken: list[Outcome], count: int, noun: str, what: str) -> Iterator[str]:
    """`2 sitemaps could not be read: F01 https://…: 404 Not Found; …`; the first of them are known."""
    if broken:
        reasons = [first_reason([outcome]) or str(outcome.url) for outcome in broken[:MAX_NAMED]]
        yield f"{count_of(count, noun)} {what}: {name_first(reasons, count=count)}"


def name_first(names: Sequence[str], separator: str = "; ", *, count: int | None = None) -> str:
    """The first three names, and how many more there are, of `count` names.

    >>> name_first("abc", ", "), name_first("abcde", ", ")
    ('a, b, c', 'a, b, c, and 2 more')
    """
    count = len(names) if count is None else count
    more = [f"and {count - MAX_NAMED:,} more"] if count > MAX_NAMED else []
    return separator.join([*names[:MAX_NAMED], *more])


# --- filters -----------------------------------------------------------------------------------------------------

# Keywords that filter URLs, in the order in which a Snapshot names them.
FILTERS = ("since", "until", *PatternOptions.__annotations__)
# How many values of a keyword selection_text() names.
_MAX_VALUES = 5


def selection_text(keywords: dict[str, Any]) -> str:
    """The keywords that select URLs, as text: `include '/blog/'`; empty if all are None.

    >>> selection_text({"site": ["a.example", "b.example"], "include": "/x/", "exclude": None})
    "site 'a.example' or 'b.example', include '/x/'"
    """
    return ", ".join(f"{name} {_in_words(value)}" for name, value in keywords.items() if value is not None)


def filter_text(keywords: Mapping[str, Any]) -> str | None:
    """The filters among keywords of snapshot() as text; None without any."""
    given = {name: keywords.get(name) for name in FILTERS}
    return selection_text({name: value for name, value in given.items() if value != []}) or None


def _in_words(value: Any) -> str:
    if isinstance(value, list | tuple):
        more = [f"{len(value) - _MAX_VALUES:,} more"] if len(value) > _MAX_VALUES else []
        return " or ".join([*map(_in_words, value[:_MAX_VALUES]), *more]) or "none"
    text = getattr(value, "pattern", value)  # of a regular expression
    return f"'{text}'" if isinstance(text, str) else "a function" if callable(text) else str(text)
