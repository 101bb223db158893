"""Checks of single URLs: session parameters (U09), files (U13), private hosts (U14), robots.txt (U12).

For U12 Protego is slow where a robots.txt has many rules: the check has a time budget, and samples the rest.
"""

from __future__ import annotations

import ipaddress
import re
from bisect import bisect_left, bisect_right
from time import perf_counter
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import attrs

from ..parser.normalise.urls import host, registrable_domain
from .findings import Check, location_of

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Sequence

    from ..frontier.robots_rules import Rules
    from ..model.url_batch import UrlBatch
    from .documents import CheckFactories
    from .findings import Description, Findings, Location


_SESSIONS = (
    "jsessionid phpsessid aspsessionid[a-z]* asp.net_sessionid sessionid session_id sid cfid cftoken zenid oscsid"
)
_TRACKING = (
    "utm_[a-z_]+ gclid gclsrc dclid gbraid wbraid fbclid msclkid yclid twclid ttclid igshid igsh mc_cid mc_eid "
    "_ga _gl _hsenc _hsmi __hssc __hstc hsctatracking mkt_tok vero_id s_kwcid ef_id pk_campaign pk_kwd mtm_[a-z]+"
)
_NAMES = "|".join(f"{_SESSIONS} {_TRACKING}".replace(".", r"\.").split())
# jsessionid follows a semicolon in the path.
_PARAMETER = re.compile(rf"(?:[?&;])({_NAMES})(?:=|(?=[&#;?\n])|\Z)", re.IGNORECASE)
# The names in many URLs at once, and those of sessions and tracking.
_ANY_NAME, _NAME = re.compile(r"[?&;]([^=&#;?\n]+)"), re.compile(_NAMES, re.IGNORECASE)

_ASSETS = (
    "avif bmp gif ico jpeg jpg png svg tif tiff webp "
    "3gp avi flac m4a m4v mkv mov mp3 mp4 mpeg mpg ogg ogv wav webm wmv "
    "7z bz2 gz jar rar tar tgz zip css js mjs map json rss atom xml xsl eot otf ttf woff woff2 "
    "apk deb dmg exe iso msi rpm wasm"
)
ASSETS = frozenset(_ASSETS.split())
# The extensions of many URLs at once.
_ENDINGS = re.compile(r"\.([A-Za-z0-9]{2,5})(?:[?#\n]|\Z)")
_ASSET = re.compile(rf"[a-z]+://[^/]*/[^?#]*\.({'|'.join(sorted(ASSETS))})(?=[?#]|\Z)", re.IGNORECASE)


class SessionParameters(Check):
    """URLs with a session or tracking parameter (U09)."""

    codes = ("U09",)

    def on_urls(self, batch: UrlBatch, findings: Findings) -> None:
        names = _ANY_NAME.findall(batch.text) if "?" in batch.text or ";" in batch.text else ()
        if not any(map(_NAME.fullmatch, {*names})):
            return
        faults = {index: match[1] for index, match in enumerate(map(_PARAMETER.search, batch.locs)) if match}
        findings.report_urls("U09", batch, faults, lambda loc, name: (f"{loc} has the parameter {name}", "loc", loc))


class NonPageFiles(Check):
    """URLs of images, scripts, archives and other files that are no pages (U13)."""

    codes = ("U13",)

    def on_urls(self, batch: UrlBatch, findings: Findings) -> None:
        if ASSETS.isdisjoint(map(str.lower, {*_ENDINGS.findall(batch.text)})):
            return
        faults = {index: match[1] for index, match in enumerate(map(_ASSET.match, batch.locs)) if match}
        findings.report_urls("U13", batch, faults, lambda loc, name: (f"{loc} ends in .{name}: not a page", "loc", loc))


class PrivateHosts(Check):
    """URLs, also of images, videos and alternates, on localhost or a private address (U14), but for `allowed_hosts`."""

    codes = ("U14",)

    def __init__(self, allowed_hosts: Container[str] = ()) -> None:
        self._allowed_hosts = allowed_hosts

    def on_urls(self, batch: UrlBatch, findings: Findings) -> None:
        for origin, places in batch.origins:
            name = host(f"{origin}/")
            if _is_private(name) and name not in self._allowed_hosts:
                faults = dict.fromkeys(places, (name, "loc", None))
                findings.report_urls("U14", batch, faults, _describe_private)
        for extension, field in _MEDIA_URLS:
            urls = batch.items(extension, field)
            if urls and _MAY_BE_PRIVATE.search("\n".join(_texts(urls))):
                self._check_media(batch, extension, field, findings)

    def _check_media(self, batch: UrlBatch, extension: str, field: str, findings: Findings) -> None:
        for index, (urls,) in batch.lists(extension, field):
            for url in _texts(urls):
                name = host(url)
                if development_host(name) and name not in self._allowed_hosts:
                    fault = (name, f"{extension} {field}", url)
                    findings.report_urls("U14", batch, {index: fault}, _describe_private)


def _texts(urls: list[Any]) -> list[str]:
    """The URLs of a field: texts, texts with attributes, lists of them, or nothing."""
    if {*map(type, urls)} == {str}:
        return urls
    each = [one for many in urls for one in (many if isinstance(many, list) else [many])]
    return [one["value"] if isinstance(one, dict) else one for one in each if one]


_MEDIA_URLS = (
    ("images", "loc"),
    ("videos", "thumbnail_loc"),
    ("videos", "content_loc"),
    ("videos", "player_loc"),
    ("alternates", "href"),
)
# Words of the names of hosts on which a site is tried before it is published.
_STAGING = "staging stage stg dev develop development test testing preview preprod uat qa"
_STAGING_WORDS = frozenset(_STAGING.split())
_LOCAL_SUFFIXES = (".local", ".lan", ".internal")
# How hosts of developers begin, in many URLs at once; development_host() decides.
_MAY_BE_PRIVATE = re.compile(rf"//(?:\d|\[|localhost|{_STAGING.replace(' ', '|')})")


def _describe_private(loc: str, fault: tuple[str, str, str | None]) -> Description:
    name, field, url = fault
    what = loc if url is None else f"{url} of {loc}"
    return f"{what}: {name} is {development_host(name)}", field, url or loc


def development_host(name: str) -> str | None:
    """What a host is that only its developers reach, or by its name may be; None for others.

    >>> development_host("localhost"), development_host("staging.example.com"), development_host("example.com")
    ('a private address', 'a staging host by its name', None)
    """
    if _is_private(name):
        return "a private address"
    subdomain = name.removesuffix(registrable_domain(name))
    words = {word.rstrip("0123456789") for label in subdomain.split(".") for word in label.split("-")}
    is_staging = name.endswith(_LOCAL_SUFFIXES) or not words.isdisjoint(_STAGING_WORDS)
    return "a staging host by its name" if is_staging else None


def _is_private(name: str) -> bool:
    name = name.removesuffix(".")
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        return not ipaddress.ip_address(name.strip("[]")).is_global
    except ValueError:
        return False


# --- robots.txt ---

BUDGET_SECONDS = 2.0  # while URLs are received, and again for each of the two samples at the end
# URLs without time or rules are sampled: this many, or up to twice as many, are checked at the end.
_SAMPLE_URLS = 2_000
# Up to this many prefixes are searched for in a whole batch at once.
_MAX_SEARCHED = 20


class _HostRules:
    """The rules of a host, and the literal prefixes of what they may disallow, as a fast filter."""

    def __init__(self, rules: Rules, origin: str) -> None:
        self.rules = rules
        self._suspects: list[str] = []
        for suspect in sorted(rules.suspects(origin)):
            if not self._suspects or not suspect.startswith(self._suspects[-1]):
                self._suspects.append(suspect)

    def suspects(self, batch: UrlBatch, places: Sequence[int]) -> list[int]:
        """Those of these indexes whose URL may be disallowed: for most batches none."""
        locs = batch.locs
        if len(self._suspects) <= _MAX_SEARCHED and not any(f"\n{suspect}" in batch.text for suspect in self._suspects):
            is_escaped = "%" in batch.text and self._suspects
            places = [index for index in places if "%" in locs[index]] if is_escaped else ()
        return [index for index in places if self.may_disallow(locs[index])]

    def may_disallow(self, loc: str) -> bool:
        """Whether it begins like a disallowed path; percent-escapes are decoded, as Protego does."""
        if self._has_suspect_prefix(loc):
            return True
        head, escape, _ = loc.partition("%")
        if not escape:
            return False
        index = bisect_left(self._suspects, head)
        begins_one = index < len(self._suspects) and self._suspects[index].startswith(head)
        if not ("/." in loc or "%2" in loc or begins_one):
            return False
        plain = unquote(loc)
        return self._has_suspect_prefix(plain) or "/." in plain  # escaped dots may lead to another path

    def _has_suspect_prefix(self, loc: str) -> bool:
        # No prefix begins with another one, so only the last prefix that sorts before the URL can match.
        index = bisect_right(self._suspects, loc)
        return index > 0 and loc.startswith(self._suspects[index - 1])


@attrs.define
class _DeferredUrls:
    """URLs left for the end: their number, and every nth of them with its origin."""

    urls: int = 0
    sample: list[tuple[str, Location]] = attrs.field(factory=list)
    _step: int = 1

    def add(self, origin: str, batch: UrlBatch, places: Sequence[int]) -> None:
        """Halves the sample when it becomes too large."""
        first = -self.urls % self._step
        self.urls += len(places)
        self.sample += [(origin, location_of(batch, index)) for index in places[first :: self._step]]
        while len(self.sample) >= 2 * _SAMPLE_URLS:
            self.sample = self.sample[::2]
            self._step *= 2


class DisallowedUrls(Check):
    """URLs that robots.txt disallows (U12). `rules_of` returns the rules of a URL's host, None while unknown."""

    codes = ("U12",)

    def __init__(
        self,
        rules_of: Callable[[str], Rules | None],
        *,
        budget_seconds: float = BUDGET_SECONDS,
        clock: Callable[[], float] = perf_counter,
    ) -> None:
        self.notes: list[str] = []
        self._rules_of = rules_of
        self._budget_seconds = budget_seconds
        self._seconds_left = budget_seconds
        self._clock = clock
        self._hosts: dict[str, _HostRules] = {}
        self._urls = 0
        self._out_of_time, self._unknown = _DeferredUrls(), _DeferredUrls()

    def on_urls(self, batch: UrlBatch, findings: Findings) -> None:
        for origin, places in batch.origins:
            self._urls += len(places)
            host = self._host(origin)
            if host is None:
                self._unknown.add(origin, batch, places)
                continue
            started = self._clock()
            suspects = host.suspects(batch, places)
            for number, index in enumerate(suspects):
                if self._clock() - started > self._seconds_left:
                    self._out_of_time.add(origin, batch, suspects[number:])
                    break
                _check(host, location_of(batch, index), findings)
            self._seconds_left -= self._clock() - started

    def _host(self, origin: str) -> _HostRules | None:
        if origin not in self._hosts:
            rules = self._rules_of(f"{origin}/")
            if rules is None:
                return None
            self._hosts[origin] = _HostRules(rules, origin)
        return self._hosts[origin]

    def on_end(self, findings: Findings) -> None:
        """Checks the samples; a note states how many URLs were not checked."""
        unknown = self._check_sample(self._unknown, findings)
        checked_late = self._check_sample(self._out_of_time, findings)
        unchecked = self._unknown.urls - unknown + self._out_of_time.urls - checked_late
        if unchecked:
            has_hosts = all(self._host(origin) for origin, _ in self._unknown.sample)
            reasons = ["robots.txt of other hosts was not fetched"] * (not has_hosts)
            reasons += ["there was no time for more"] * (
                self._out_of_time.urls > checked_late or (has_hosts and bool(unchecked))
            )
            checked = f"{self._urls - unchecked:,} of {self._urls:,} URLs"
            self.notes.append(f"U12 checked {checked}; {', and '.join(reasons)}")

    def _check_sample(self, deferred: _DeferredUrls, findings: Findings) -> int:
        """Checks a sample; returns the number of URLs checked."""
        ends, tried = self._clock() + self._budget_seconds, 0
        for origin, at in deferred.sample:
            host = self._host(origin)
            if host is None:
                continue
            if self._clock() > ends:
                break
            tried += 1
            if host.may_disallow(at["raw"]):
                _check(host, at, findings)
        return tried


def _check(host: _HostRules, at: Location, findings: Findings) -> None:
    if host.rules.refusal(at["raw"]) == "":  # a text where matching would take too long
        findings.report("U12", f"robots.txt forbids {at['raw']}", **at)


CHECKS: CheckFactories = (
    lambda _: SessionParameters(),
    lambda _: NonPageFiles(),
    lambda context: PrivateHosts(context.allowed_hosts),
    lambda context: None if context.rules_of is None else DisallowedUrls(context.rules_of),
)
