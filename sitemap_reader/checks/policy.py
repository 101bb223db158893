"""A site's own rules for its audit: [audit.severity], [[audit.ignore]] and [audit.thresholds] of a ConfigFile.

Patterns are only searched for in URLs of codes that an ignore names, so that other problems cost one look-up.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, date, datetime
from difflib import get_close_matches
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import attrs

from ..frontier.plan import Patterns, make_patterns
from ..model.errors import UsageError
from ..model.linear_pattern import LIFTED, MOST_LIMITED, LimitedPattern
from ..model.problems import CATALOGUE, count_of
from .config_file import ConfigFile, Fault, read_config_file
from .rule_docs import FAMILIES, code_of

if TYPE_CHECKING:
    from ..model.problems import Severity

T = TypeVar("T")

AUDIT = "audit"
IGNORE = "ignore"
POLICY_TABLES = ("severity", "thresholds")  # of codes, beside [[audit.ignore]]
# Severity in a file -> Severity; None: the code is off.
SEVERITY_VALUES: dict[str, Severity | None] = {
    "error": "error",
    "warning": "warning",
    "notice": "notice",
    "info": "notice",  # its name in versions before 0.3
    "off": None,
}
_WORDS: dict[Severity | None, str] = {"error": "an error", "warning": "a warning", "notice": "a notice", None: "off"}
_MAX_KEYS = 8  # in an error
_SHARE = re.compile(r"(\d{1,3}(?:\.\d{1,6})?) ?%")


@attrs.frozen(cache_hash=True)
class Ignore:
    """Problems that are not reported: of these codes, or beginnings of codes, where both URLs match."""

    codes: tuple[str, ...]
    reason: str
    urls: Patterns = attrs.field(factory=Patterns)  # of the listed URL, or of the document if it is not of one URL
    sitemaps: Patterns = attrs.field(factory=Patterns)  # of the document
    expires: date | None = None  # the last day on which it applies

    def names(self, code: str) -> bool:
        return not self.codes or code.startswith(self.codes)

    def matches(self, url: str | None, sitemap: str | None) -> bool:
        """Whether a problem of one of the codes is ignored."""
        return _is_found(self.urls, url or sitemap) and _is_found(self.sitemaps, sitemap)

    def __str__(self) -> str:
        codes = ", ".join(self.codes) or "all codes"
        urls = f" in URLs matching {_texts(self.urls)}" if self.urls else ""
        sitemaps = f" in sitemaps matching {_texts(self.sitemaps)}" if self.sitemaps else ""
        return f"{codes}{urls}{sitemaps}: {self.reason}"


def _is_found(patterns: Patterns, url: str | None) -> bool:
    return not patterns or (url is not None and patterns.find_in(url))


def _texts(patterns: Patterns) -> str:
    return " or ".join(each.pattern for each in patterns.patterns)


@attrs.frozen
class Threshold:
    """The most problems of a code that are allowed: a count, or a share of the listed URLs in percent."""

    count: int | None = None
    percent: Fraction = Fraction(0)

    def allows(self, count: int, urls: int) -> bool:
        return count <= self.count if self.count is not None else count * 100 <= self.percent * urls

    def to_json(self) -> int | str:
        """As in a file: 10, or "1%"."""
        return f"{float(self.percent):g}%" if self.count is None else self.count


@attrs.frozen
class Policy:
    """The rules of a file; keys are codes or beginnings of codes, of which the longest one counts.

    A code of severity None is not checked. `expired` are ignores that apply no longer; `file` is where the rules are
    from.
    """

    severities: Mapping[str, Severity | None] = attrs.field(factory=dict)
    ignores: tuple[Ignore, ...] = ()
    thresholds: Mapping[str, Threshold] = attrs.field(factory=dict)
    expired: tuple[Ignore, ...] = ()
    file: str | None = None

    def ignore_of(self, code: str, url: str | None, sitemap: str | None) -> Ignore | None:
        return next((ignore for ignore in self._ignores.get(code, ()) if ignore.matches(url, sitemap)), None)

    @cached_property
    def codes(self) -> frozenset[str]:
        """The codes whose problems it may change or ignore."""
        return frozenset((*self._ignores, *self._severities))

    def severity_of(self, code: str, severity: Severity | None) -> Severity | None:
        """The severity of a code that has this one otherwise; None if it is off."""
        return self._severities.get(code, severity)

    @cached_property
    def off(self) -> frozenset[str]:
        """The codes that are not checked."""
        return frozenset(code for code, severity in self._severities.items() if severity is None)

    @cached_property
    def needs_each(self) -> bool:
        """Whether problems have to be reported one by one, as ignores depend on their URL."""
        return any(ignore.urls for ignore in self.ignores)

    def allows(self, code: str, count: int, urls: int) -> bool:
        """Whether so many problems of a code do not make the audit fail."""
        threshold = self._thresholds.get(code)
        return threshold is not None and threshold.allows(count, urls)

    @cached_property
    def _thresholds(self) -> dict[str, Threshold]:
        return _by_code(self.thresholds)

    @cached_property
    def _severities(self) -> dict[str, Severity | None]:
        return _by_code(self.severities)

    @cached_property
    def _ignores(self) -> dict[str, tuple[Ignore, ...]]:
        found = {code: tuple(each for each in self.ignores if each.names(code)) for code in CATALOGUE}
        return {code: ignores for code, ignores in found.items() if ignores}

    def notes(self, ignored: Mapping[Ignore, int]) -> Iterator[str]:
        """Sentences for a report: the file, what was ignored and why, what expired."""
        rules = [f"{code} is {_WORDS[severity]}" for code, severity in self.severities.items()]
        rules += [f"up to {each.to_json()} of {code} do not fail" for code, each in self.thresholds.items()]
        if self.file is not None or rules:
            yield f"settings of {self.file or 'the policy'}" + (f": {', '.join(rules)}" if rules else "")
        for ignore in self.ignores:
            until = f" (until {ignore.expires})" if ignore.expires else ""
            yield f"ignored {count_of(ignored.get(ignore, 0), 'occurrence')} of {ignore}{until}"
        for ignore in self.expired:
            yield f"no longer ignored, as it expired on {ignore.expires}: {ignore}"

    def to_dict(self, ignored: Mapping[Ignore, int]) -> dict[str, Any]:
        return {
            "file": self.file,
            "severities": {code: severity or "off" for code, severity in self.severities.items()},
            "ignored": [{**_ignore_json(each), "count": ignored.get(each, 0)} for each in self.ignores],
            "expired": [_ignore_json(each) for each in self.expired],
            "thresholds": {code: each.to_json() for code, each in self.thresholds.items()},
        }


def _ignore_json(ignore: Ignore) -> dict[str, Any]:
    return {
        "codes": [*ignore.codes],
        "url": [each.pattern for each in ignore.urls.patterns],
        "sitemap": [each.pattern for each in ignore.sitemaps.patterns],
        "reason": ignore.reason,
        "expires": None if ignore.expires is None else str(ignore.expires),
    }


def _by_code(values: Mapping[str, Any]) -> dict[str, Any]:
    """Each code with the value of its longest beginning."""
    found = {code: max((each for each in values if code.startswith(each)), key=len, default=None) for code in CATALOGUE}
    return {code: values[beginning] for code, beginning in found.items() if beginning is not None}


# --- from a file ---


def read_policy(policy: str | os.PathLike[str] | Policy, *, today: date | None = None) -> Policy:
    """The Policy of a file; a Policy is returned as it is. UsageError, with file and line, for an invalid setting."""
    if isinstance(policy, Policy):
        return policy
    if not isinstance(policy, str | os.PathLike):
        raise UsageError(keyword="policy", value=policy, allowed="a file, such as sitemap-reader.toml, or a Policy")
    file = read_config_file(policy)
    made, faults, _ = make_policy(file, today=today)
    if faults:
        raise file.error(faults[0])
    return made


def make_policy(
    file: ConfigFile, *, today: date | None = None, is_trusted: bool = True
) -> tuple[Policy, list[Fault], list[Fault]]:
    """The Policy of the valid settings of a file, what is wrong with others, and the ignores that have expired.

    `today` is by default that of UTC. The patterns of a file that is not trusted are LimitedPatterns.
    """
    reader = _TableReader(file.settings.get(AUDIT, {}), str if is_trusted else LimitedPattern)
    numbered = dict(reader.ignores())
    day = today or datetime.now(UTC).date()
    expired = {index: each for index, each in numbered.items() if each.expires is not None and each.expires < day}
    policy = Policy(
        reader.by_code("severity", _severity),
        tuple(each for index, each in numbered.items() if index not in expired),
        reader.by_code("thresholds", make_threshold),
        tuple(expired.values()),
        file.name,
    )
    words = "this ignore expired on {}: remove it, or give a later date"
    old = [Fault((AUDIT, IGNORE, index, "expires"), words.format(each.expires)) for index, each in expired.items()]
    return policy, reader.faults, old


def is_ignore_list(value: object) -> bool:
    """Whether `ignore` of [audit] is [[audit.ignore]], and not the codes of the option of that name."""
    return isinstance(value, list) and any(isinstance(each, dict) for each in value)


@attrs.define
class _TableReader:
    tables: Any
    pattern: type[str] = str
    faults: list[Fault] = attrs.field(factory=list)

    @contextmanager
    def _noting(self, *keys: str | int) -> Iterator[None]:
        try:
            yield
        except UsageError as exc:
            self.faults.append(Fault((AUDIT, *keys), str(exc)))

    def by_code(self, name: str, parse: Callable[[Any], T]) -> dict[str, T]:
        """A table of codes, or beginnings of codes, and their values."""
        found: dict[str, T] = {}
        with self._noting(name):
            for code, value in _table(_table(self.tables, AUDIT).get(name, {}), f"{AUDIT}.{name}").items():
                with self._noting(name, code):
                    (known,) = parse_codes([code])
                    found[known] = parse(value)
        return found

    def ignores(self) -> Iterator[tuple[int, Ignore]]:
        """The valid tables [[audit.ignore]], with their indexes."""
        given = self.tables.get(IGNORE) if isinstance(self.tables, dict) else None
        given = given if isinstance(given, list) and is_ignore_list(given) else []
        if self.pattern is LimitedPattern and len(given) > MOST_LIMITED:
            self.faults.append(Fault((AUDIT, IGNORE, MOST_LIMITED), f"over {MOST_LIMITED} ignores; {LIFTED}"))
            given = []
        for index, table in enumerate(given):
            with self._noting(IGNORE, index):
                yield index, self._ignore(index, _table(table, f"[{AUDIT}.{IGNORE}]"))

    def _ignore(self, index: int, table: dict[str, Any]) -> Ignore:
        fields: dict[str, Any] = {}
        for key, value in table.items():
            with self._noting(IGNORE, index, key):
                if key not in _IGNORE_KEYS:
                    raise UsageError(unknown_key(key, _IGNORE_KEYS, "an ignore"))
                name, parse = _IGNORE_KEYS[key]
                fields[name] = parse(value) if parse else self._patterns(key, value)
        if "reason" not in table:
            raise UsageError('it has no reason: say why these problems are ignored, reason = "..."')
        if table.keys().isdisjoint(("code", "url", "sitemap")):
            raise UsageError("it has neither code nor url nor sitemap, and would ignore everything")
        return Ignore(**{"reason": "", "codes": (), **fields})

    def _patterns(self, key: str, value: Any) -> Patterns:
        given = [value] if isinstance(value, str) else value
        if not isinstance(given, list) or not given or not all(each and isinstance(each, str) for each in given):
            raise UsageError(f"{key} is a regular expression, or a list of them")
        return make_patterns(key, map(self.pattern, given))


def _table(value: Any, name: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise UsageError(f"this is a table: [{name}]")
    return value


def _severity(value: Any) -> Severity | None:
    if not isinstance(value, str) or value not in SEVERITY_VALUES:
        raise UsageError(f"{value!r} is no severity", remedy="give error, warning, notice or off")
    return SEVERITY_VALUES[value]


def make_threshold(value: Any) -> Threshold:
    """The Threshold of a number, or of a share such as "1%"; UsageError for anything else."""
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return Threshold(value)
    share = _SHARE.fullmatch(value) if isinstance(value, str) else None
    if share is None:
        raise UsageError(
            f"{value!r} is no threshold", remedy='give a number of problems, or a share of the URLs such as "1%"'
        )
    return Threshold(percent=Fraction(share[1]))


def _codes(value: Any) -> tuple[str, ...]:
    codes = parse_codes(value)
    if not codes:
        raise UsageError("there is no code in it", remedy="leave it out to ignore all codes")
    return codes


def _reason(value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise UsageError("reason is a text: say why these problems are ignored")
    return value.strip()


def _date(value: Any) -> date:
    if isinstance(value, datetime):
        return value.date()
    try:
        return value if isinstance(value, date) else date.fromisoformat(value)
    except (TypeError, ValueError):
        raise UsageError(f"{value!r} is no date", remedy="give the last day, such as 2027-01-31") from None


# Key of [[audit.ignore]] -> field of Ignore, and what reads its value; None for patterns.
_IGNORE_KEYS: dict[str, tuple[str, Callable[[Any], Any] | None]] = {
    "code": ("codes", _codes),
    "url": ("urls", None),
    "sitemap": ("sitemaps", None),
    "reason": ("reason", _reason),
    "expires": ("expires", _date),
}


def unknown_key(key: str, known: Iterable[str], where: str) -> str:
    """The message for a key that is not known there, with the most similar one, or the first ones."""
    known = [*known]
    similar = get_close_matches(key, known, 1)
    others = f"it has {', '.join(known[:_MAX_KEYS])}{' …' if len(known) > _MAX_KEYS else ''}"
    return f"{key!r} is no key of {where}; " + (f"did you mean {similar[0]}?" if similar else others)


def _similar(name: str) -> str:
    similar = get_close_matches(name.casefold(), FAMILIES, 1)
    return f"did you mean {similar[0]}?" if similar else f"there are {', '.join(FAMILIES)}"


def parse_codes(wanted: str | Iterable[str]) -> tuple[str, ...]:
    """Codes, or the letters or names of families, from a list or from text with commas or blanks between them.

    >>> parse_codes("D03, l, dates")
    ('D03', 'L', 'D')
    """
    try:
        names = wanted.replace(",", " ").split() if isinstance(wanted, str) else [*wanted]
        codes = tuple(map(code_of, names))
    except (TypeError, AttributeError):
        raise UsageError(f"codes are text or a list of texts, not {wanted!r}") from None
    for name in codes:
        if not name or not any(code.startswith(name) for code in CATALOGUE):
            raise UsageError(
                f"{name!r} is neither a code nor the beginning of one: U06 is a code, U stands for all URL codes, as "
                f"does urls; {_similar(name)}"
            )
    return codes
