"""Where a crawl begins, and its settings: a target such as `example.com` or a URL in, a Seed out; the Plan.

Credentials in a target are in the `login` of its Seed only.

The caller's filters on URLs and sitemaps: by lastmod, and by regular expressions on the URL.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Callable, Iterable
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Any, get_args
from urllib.parse import unquote

import attrs

from ..model.errors import UsageError
from ..model.limits import Limits
from ..model.linear_pattern import LIFTED, MOST_LIMITED, LimitedPattern, LinearPattern, linear
from ..model.options import AutoMode, Check, check_choice, one_of_types, positive
from ..model.options import Undated as Undated
from ..model.summary import UNWANTED
from ..model.url_batch import precision_of
from ..parser.normalise.dates import parse_date, period_end
from ..parser.normalise.urls import clean_url, host, origin, without_credentials, without_userinfo
from .robots_rules import RobotsPolicy, check_policy

if TYPE_CHECKING:
    from ..model.records import Outcome, Precision, SitemapRef
    from ..model.url_batch import UrlBatch
    from ..parser.normalise.scope import ScopeMode


Moment = str | date | datetime | timedelta

_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_AGO = re.compile(r"(\d{1,6})\s*(?:([smhdw])|((?i:second|minute|hour|day|week))(?i:s)?)(?i: ago)?")
# Name of a day -> how many days before today, in UTC.
_DAYS = {"today": 0, "yesterday": 1}


@attrs.frozen
class Window:
    """A range of dates: the period that a lastmod names matches if it overlaps [since, until)."""

    since: datetime | None = None
    until: datetime | None = None
    undated: Undated = "keep"

    def takes(self, lastmod: datetime | None, precision: Precision | None) -> bool:
        if lastmod is None or precision is None:
            return self.undated == "keep"
        if self.until is not None and lastmod >= self.until:
            return False
        return self.since is None or period_end(lastmod, precision) > self.since

    def prunes(self, ref: SitemapRef) -> bool:
        """Whether the child is listed as older than `since`; one changed after `until` may still list older pages."""
        if self.since is None or ref.lastmod is None or ref.lastmod_precision is None:
            return False
        return period_end(ref.lastmod, ref.lastmod_precision) <= self.since


def make_window(since: Moment | None, until: Moment | None, undated: Undated, now: datetime) -> Window:
    """The Window between two moments; `until` as text or date includes the whole period that it names.

    Text is a date as sitemaps write it, an age such as `12h`, `7d`, `2 weeks`, or `today` or `yesterday`.
    """
    check_choice("undated", undated, get_args(Undated))
    start = None if since is None else _period("since", since, now)[0]
    end = None if until is None else _period("until", until, now)[1]
    if start is not None and end is not None and start >= end:
        raise UsageError(f"since ({since}) is later than until ({until}): no date can match")
    return Window(start, end, undated)


def make_moment(name: str, value: Moment, now: datetime) -> datetime:
    """One moment; for a day, or any period that text names, its last second."""
    start, end = _period(name, value, now)
    second = timedelta(seconds=1)
    return end - second if end - start >= second else start


def _period(name: str, value: Moment, now: datetime) -> tuple[datetime, datetime]:
    """[start, end) of the period that the value names; empty for a moment."""
    if isinstance(value, datetime):
        moment = value if value.tzinfo else value.replace(tzinfo=UTC)
        return moment, moment
    if isinstance(value, date):
        day = datetime(value.year, value.month, value.day, tzinfo=UTC)
        return day, period_end(day, "day")
    if isinstance(value, timedelta):
        return _ago(name, value, now)
    if not isinstance(value, str):
        raise UsageError(keyword=name, value=value, allowed="a date, a datetime, a timedelta or text")
    text = value.strip()
    if text.casefold() in _DAYS:
        moment = now - timedelta(days=_DAYS[text.casefold()])
        return _period(name, moment.astimezone(UTC).date(), now)
    ago = _AGO.fullmatch(text)
    if ago:
        unit = _UNITS[(ago[2] or ago[3])[0].lower()]
        return _ago(name, timedelta(**{unit: int(ago[1])}), now)
    stated = parse_date(text)
    if stated is None:
        why = f"{value!r} is neither a date such as 2026-05-31 nor an age such as 7d"
        raise UsageError(why, keyword=name, value=value)
    return stated.moment, period_end(stated.moment, stated.precision)


def _ago(name: str, age: timedelta, now: datetime) -> tuple[datetime, datetime]:
    try:
        moment = now - age
    except OverflowError:
        raise UsageError(f"{age.days:,} days ago is before the year 1", keyword=name) from None
    return moment, moment


Pattern = str | re.Pattern[str]
_PATTERNS = "a regular expression, or several"


def has_filter_drops(outcome: Outcome) -> bool:
    return not UNWANTED.keys().isdisjoint(outcome.dropped)


@attrs.frozen
class Patterns:
    """Regular expressions, searched for anywhere in a URL, as it is and with its escapes decoded: `%C3%A9` is `é`."""

    patterns: tuple[re.Pattern[str] | LinearPattern, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.patterns)

    def find_in(self, url: str) -> bool:
        if not self.patterns:  # most crawls have none, and many URLs an escape
            return False
        return self._find_in(url) or ("%" in url and self._find_in(unquote(url)))

    def _find_in(self, text: str) -> bool:
        return any(pattern.search(text) for pattern in self.patterns)


def make_patterns(name: str, given: Pattern | Iterable[Pattern] | None) -> Patterns:
    """The Patterns of one, several or none; UsageError, with `name`, for an invalid regular expression."""
    if given is None:
        return Patterns()
    several = [given] if isinstance(given, str | re.Pattern) else given
    if not hasattr(several, "__iter__") or isinstance(several, bytes):
        raise UsageError(keyword=name, value=given, allowed=_PATTERNS)
    several = tuple(several)
    if sum(isinstance(each, LimitedPattern) for each in several) > MOST_LIMITED:
        raise UsageError(f"over {MOST_LIMITED} regular expressions", keyword=name, remedy=LIFTED)
    return Patterns(
        tuple(
            linear(name, each, _compiled) if isinstance(each, LimitedPattern) else _compiled(name, each)
            for each in several
        )
    )


def _compiled(name: str, pattern: Pattern) -> re.Pattern[str]:
    try:
        return re.compile(pattern)
    except TypeError as exc:
        raise UsageError(keyword=name, value=pattern, allowed=_PATTERNS) from exc
    except (RecursionError, OverflowError) as exc:
        raise UsageError(f"a part of {str(pattern)[:40]!r} is too deep or too large: {exc}", keyword=name) from exc
    except re.error as exc:
        advice = "put a backslash before . ? + * ( [ that stand for themselves"
        if isinstance(pattern, str) and _SHELL_PATTERN.fullmatch(pattern):
            advice = f"for the shell's {pattern} give {_as_regex(pattern)}"
        why = f"{pattern!r} is no regular expression: {exc}"
        raise UsageError(why, keyword=name, value=pattern, remedy=advice) from exc


# One that begins with *, and has no other character with a meaning in shells.
_SHELL_PATTERN = re.compile(r"\*+[^*?\[\](){}][^?\[\](){}]*")


def _as_regex(shell_pattern: str) -> str:
    """A regular expression for a shell pattern that begins with *.

    >>> _as_regex("*.html"), _as_regex("*/blog/*.pdf*")
    ('\\\\.html$', '/blog/.*\\\\.pdf')
    """
    literals = map(re.escape, shell_pattern.strip("*").split("*"))
    return ".*".join(literals) + ("" if shell_pattern.endswith("*") else "$")


def make_selection(
    now: datetime,
    *,
    since: Moment | None = None,
    until: Moment | None = None,
    undated: Undated = "keep",
    include: Pattern | Iterable[Pattern] | None = None,
    exclude: Pattern | Iterable[Pattern] | None = None,
) -> Selection:
    window = make_window(since, until, undated, now)
    return Selection(window, make_patterns("include", include), make_patterns("exclude", exclude))


@attrs.frozen
class Selection:
    """A record matches by its lastmod, and by its URL: one of `include` if there are any, and none of `exclude`."""

    window: Window = attrs.field(factory=Window)
    include: Patterns = attrs.field(factory=Patterns)
    exclude: Patterns = attrs.field(factory=Patterns)

    def reasons(self, urls: UrlBatch) -> list[str | None]:
        """Why each URL is filtered out; None for one that is not."""
        reasons: list[str | None] = [None] * len(urls)
        if self.include or self.exclude:
            reasons = [None if self.takes(loc) else "pattern" for loc in urls.locs]
        if self.window != Window():
            dates = zip(urls.datetimes, map(precision_of, urls.precisions), strict=True)
            reasons = [
                reason if self.window.takes(*date) else "date" for date, reason in zip(dates, reasons, strict=True)
            ]
        return reasons

    def only(self, urls: UrlBatch) -> UrlBatch:
        return urls.only([reason is None for reason in self.reasons(urls)])

    def takes(self, loc: str) -> bool:
        return not ((self.include and not self.include.find_in(loc)) or self.exclude.find_in(loc))


Probe = AutoMode

# Tried in this order, up to the first that is a sitemap.
WELL_KNOWN = (
    "/sitemap.xml",
    "/sitemap_index.xml",
    "/sitemap-index.xml",
    "/wp-sitemap.xml",
    "/sitemap.xml.gz",
    "/sitemap.gz",
    "/sitemap_index.xml.gz",
    "/sitemap.txt",
    "/sitemaps.xml",
    "/sitemap/index.xml",
    "/sitemap/sitemap.xml",
    "/news-sitemap.xml",
    "/sitemap-news.xml",
    "/sitemap.php",
)


@attrs.frozen
class Seed:
    """Where a crawl starts: a site, whose `origins` are tried in order until one answers, or a single `document`.

    With `robots_only` no well-known path is tried, only the Sitemap lines of robots.txt count. `base_path` is the path
    of a site that has only a part of its host, such as `/project`: well-known paths are tried below it. `login` is the
    Authorization header for `user:password@` in the target; no other field has these credentials.
    """

    target: str
    origins: tuple[str, ...]
    document: str | None = None
    robots_only: bool = False
    base_path: str = ""
    login: str | None = attrs.field(default=None, repr=False)


SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")


def parse_target(target: str) -> Seed:
    """`example.com` is a site (https, then http); a URL with a path is a document; UsageError for the rest."""
    one_of_types("a host such as example.com, or a URL", str)("target", target)
    text = target.strip()
    if not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text):
        raise UsageError(f"{target!a} is no text that a URL could hold: it is not UTF-8")
    if not text:
        raise UsageError("the target is empty: give a host such as example.com, or a URL")
    schemes = ("",) if SCHEME.match(text) else ("https://", "http://")
    given = [_absolute(scheme + text, target) for scheme in schemes]
    name, login = without_credentials(target), login_of(given[0])
    first = without_userinfo(given[0])
    path = first[len(origin(first)) :]
    origins = tuple(origin(url) for url in given)
    if path == "/":
        return Seed(name, origins, login=login)
    if path == "/robots.txt":
        return Seed(name, origins, robots_only=True, login=login)
    # A document is one URL: without a scheme it is taken for https.
    return Seed(name, origins[:1], document=first, login=login)


def _absolute(url: str, target: str) -> str:
    loc = clean_url(url)
    if loc.url is None:
        shown = without_credentials(target)
        raise UsageError(f"{shown!r} is neither a host nor an http or https URL: {loc.notes[-1][1]}")
    name = host(loc.url)
    parts = name.split(".")
    is_numeric = len(parts) >= 4 and all(map(str.isdecimal, parts))
    if is_numeric and (len(parts) > 4 or max(map(int, parts)) > 255):
        raise UsageError(f"{name} is no IP address: it has four numbers from 0 to 255")
    return loc.url


def basic(user: str, password: str) -> str:
    """The value of an Authorization header (RFC 7617).

    >>> basic("Aladdin", "open sesame")
    'Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=='
    """
    return f"Basic {b64encode(f'{user}:{password}'.encode('utf-8', 'surrogateescape')).decode()}"


def login_of(url: str) -> str | None:
    userinfo = url[: url.index("/", 8)].partition("//")[2].rpartition("@")[0]
    user, _, password = userinfo.partition(":")
    return basic(unquote(user), unquote(password)) if userinfo else None


def _checked_by(check: Check) -> Callable[[object, attrs.Attribute[Any], Any], None]:
    """The check of a keyword as a validator of attrs."""
    return lambda plan, field, value: check(field.name, value)


@attrs.frozen
class Plan:
    """What a crawl fetches, and how."""

    scope: ScopeMode = "protocol"
    selection: Selection = attrs.field(factory=Selection)
    trust_lastmod: AutoMode = "auto"  # skip children that an index calls older than the selection: see revalidation.py
    probe: Probe = "auto"
    # Whether robots.txt is obeyed; an object decides for each URL, and how long the delay of a host is.
    obey_robots: bool | RobotsPolicy = attrs.field(default=True, validator=_checked_by(check_policy))
    is_recording: bool = False  # the answers are recorded ones: no delay is kept, so no Crawl-delay is too long
    follow: Callable[[SitemapRef], bool] | None = None  # which sitemaps of an index or a robots.txt to read
    follow_by_name: bool = False  # `follow` is for names: where no Sitemap line has one, all of these are read
    no_follow: Callable[[SitemapRef], bool] | None = None  # which sitemaps never to read, however they are found
    user_agent: str = "sitemap-reader"
    sends_user_agent: bool = True  # False: the caller's fetcher sends one of its own
    concurrency: int = attrs.field(default=16, validator=_checked_by(positive))
    per_host: int = attrs.field(default=4, validator=_checked_by(positive))
    delay_seconds: float = 0.0  # between the starts of two requests to a host; a longer Crawl-delay replaces it
    extras: bool = False  # elements without a field are kept
    sniff_only: bool = False  # a document is read until its format is known, and gives no records
    descend: bool = True  # False: the candidates only, not their children
    former_sitemaps: frozenset[str] = frozenset()  # URLs that an earlier crawl read: their failures are reported
    limits: Limits = attrs.field(factory=Limits)
