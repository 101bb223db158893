"""Checks of single URLs: parameters (U09), files (U13), hosts (U14), values and escapes (U15, U17)."""

from __future__ import annotations

import ipaddress
import re
from collections import Counter, defaultdict
from functools import lru_cache
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from ..model.problems import report
from ..parser.normalise.urls import host, registrable_domain
from .findings import Check, location_of

if TYPE_CHECKING:
    from collections.abc import Container, Sequence

    from ..model.url_batch import UrlBatch
    from .documents import CheckFactories
    from .findings import Description, Findings, Location


_SESSIONS = (
    "jsessionid phpsessid aspsessionid[a-z]* asp.net_sessionid sessionid session_id sid cfid cftoken zenid oscsid"
)
_TRACKING = (
    "utm_[a-z_]+ gclid gclsrc dclid gbraid wbraid fbclid msclkid yclid twclid ttclid igshid igsh mc_cid mc_eid "
    "srsltid gad_source gad_campaignid rdt_cid li_fat_id epik irclickid _kx "
    "_ga _gl _hsenc _hsmi __hssc __hstc hsctatracking mkt_tok vero_id s_kwcid ef_id pk_campaign pk_kwd mtm_[a-z]+ "
    "xtor at_medium at_campaign wt_mc ns_mchannel ns_source ns_campaign"  # as news publishers mark links of their feeds
)
# Of WordPress: a form for an answer, and a draft.
_FORMS = "replytocom preview preview_id preview_nonce"
_NAMES = "|".join(f"{_SESSIONS} {_TRACKING} {_FORMS}".replace(".", r"\.").split())
# jsessionid follows a semicolon in the path; `preview` may be the name of a page's property, and a short `sid` is the
# number of a story.
_PAGE_OWN = r"preview(?!=true(?:[&#;\n]|\Z)|_)|sid(?!=[0-9A-Za-z,-]{16})"
PARAMETER = re.compile(rf"(?:[?&;])(?!{_PAGE_OWN})({_NAMES})(?:=|(?=[&#;?\n])|\Z)", re.IGNORECASE)
# What follows a semicolon in many URLs at once; the names of sessions and tracking.
_BEHIND_SEMICOLON, _NAME = re.compile(r";([^=&#;?\n]+)"), re.compile(_NAMES, re.IGNORECASE)
# The permanent link of WordPress by number, which redirects to the page's own URL where the site has such.
_SHORTLINK = re.compile(r"[a-z]+://[^?#]*/\?((?:p|page_id)=\d+)", re.IGNORECASE)
_MAX_SHORTLINKS = 10_000  # more are no exceptions

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
    """URLs with a parameter for a session, tracking or a draft, and links by number on a site with paths (U09)."""

    codes = ("U09",)

    def __init__(self) -> None:
        self._urls: Counter[str] = Counter()  # by origin
        self._shortlinks: defaultdict[str, list[tuple[Location, str]]] = defaultdict(list)

    def on_urls(self, batch: UrlBatch, findings: Findings) -> None:
        self._urls.update({origin: len(places) for origin, places in batch.origins})
        parameters = {*batch.parameters}
        if not parameters.isdisjoint(("?p=", "?page_id=")):
            self._collect_shortlinks(batch)
        names = {each[1:].partition(";")[0].rstrip("=") for each in parameters}
        if ";" in batch.paths:
            names.update(_BEHIND_SEMICOLON.findall(batch.paths))
        if not any(map(_NAME.fullmatch, names)):
            return
        faults = {index: match[1] for index, match in enumerate(map(PARAMETER.search, batch.locs)) if match}
        findings.report_urls("U09", batch, faults, lambda loc, name: (f"{loc} has the parameter {name}", "loc", loc))

    def _collect_shortlinks(self, batch: UrlBatch) -> None:
        for origin, places in batch.origins:
            here = self._shortlinks[origin]
            matches = ((index, _SHORTLINK.fullmatch(batch.locs[index])) for index in places)
            found = [(location_of(batch, index), match[1]) for index, match in matches if match is not None]
            here += found[: _MAX_SHORTLINKS + 1 - len(here)]

    def on_end(self, findings: Findings) -> None:
        """Reports the links by number of hosts that have at least as many other URLs."""
        for origin, links in sorted(self._shortlinks.items()):
            if len(links) > _MAX_SHORTLINKS or len(links) * 2 > self._urls[origin]:
                continue
            for at, name in sorted(links, key=lambda each: (each[0]["sitemap"] or "", each[0]["line"] or 0)):
                findings.report("U09", f"{at['raw']} is a link by number, {name}; the others of {origin} are not", **at)


# What programs write for a value that they do not have, as a whole part of a path or value of a parameter.
_UNSET = ("undefined", "null", "NaN", "None")
# And the parts of paths as routers write them: `:id`, `{id}`, `[id]`, `[...id]`.
_ROUTE = r":[A-Za-z_]\w*|%7B\w+%7D|(?:%5B){1,2}(?:\.{3})?\w+(?:%5D){1,2}"
# Character -> texts that have it: to look for one character takes a tenth of the time of a text.
_HINTS = {"u": ("undefined", "null"), "N": ("NaN", "None"), ":": ("/:",), "%": ("/%7B", "/%5B")}
_UNSET_PART = re.compile(
    rf"[a-z]+://[^/]+/(?:(?:[^\n]*[/=])?({'|'.join(_UNSET)})|(?:[^\n?]*/)?({_ROUTE}))(?=[/?&#]|\Z)", re.ASCII
)


class UnsetValues(Check):
    """URLs with `undefined` or the like, or the `:id` of a route, for a value (U15 as a notice: they may be pages)."""

    codes = ("U15",)

    def on_urls(self, batch: UrlBatch, findings: Findings) -> None:
        paths = batch.paths
        if not any(text in paths for character, texts in _HINTS.items() if character in paths for text in texts):
            return
        for index, match in enumerate(map(_UNSET_PART.match, batch.locs)):
            if match is not None:
                loc = batch.locs[index]
                message = f'"{match[1] or unquote(match[2])}" stands in place of a value: {loc}; it may be a page'
                findings.add(report("U15", message, severity="notice", **location_of(batch, index)))


# The entity of an ampersand, and the same percent-encoded.
_ENTITY = re.compile(r"&amp;|%26amp(?:;|%3B)|%26%23(?:38|038|x26)(?:;|%3B)", re.IGNORECASE)
_ENTITY_IN_FRAGMENT = re.compile(r"&#(?:0*38|x0*26);", re.IGNORECASE)
# An escape of which the percent sign was escaped again: of ASCII those that are common, of UTF-8 the beginning of a
# character and the next byte. Others may be meant, as in `50%25de-descuento`.
_ESCAPE_OF_ESCAPE = re.compile(r"%25(?:2[0CF678]|3[ADF]|[C-F][0-9A-F]%25[89AB][0-9A-F])", re.IGNORECASE)
_URL_IN_QUERY = re.compile(r"(?:://|%3A%2F%2F|%253A%252F%252F)", re.IGNORECASE)


class DoubleEscapes(Check):
    """URLs that were escaped twice (U17)."""

    codes = ("U17",)

    def on_urls(self, batch: UrlBatch, findings: Findings) -> None:
        paths, locs = batch.paths, batch.locs
        faults: dict[int, str] = {}
        if ("%" in paths and ("%25" in paths or "%26" in paths)) or ("&" in paths and "amp;" in paths.lower()):
            faults = {index: fault for index, loc in enumerate(locs) if (fault := _double_escape(loc))}
        for index, problems in batch.problems.items():  # the `#` of the entity began a fragment
            for each in problems:
                if each.code == "U08" and (match := _ENTITY_IN_FRAGMENT.search(each.raw or "")):
                    faults.setdefault(index, match[0])
        findings.report_urls("U17", batch, faults, _describe_double_escape)


def _double_escape(loc: str) -> str | None:
    """What was escaped twice: `&amp;`, or `%2520`. A URL in a parameter is rightly escaped once more."""
    if match := _ENTITY.search(loc):
        return match[0]
    path, _, query = loc.partition("?")
    match = _ESCAPE_OF_ESCAPE.search(path if _URL_IN_QUERY.search(query) else loc)
    return None if match is None else match[0]


def _describe_double_escape(loc: str, escape: str) -> Description:
    return f"{loc} holds {escape}, which was escaped twice", "loc", loc


class NonPageFiles(Check):
    """URLs of images, scripts, archives and other files that are no pages (U13)."""

    codes = ("U13",)

    def on_urls(self, batch: UrlBatch, findings: Findings) -> None:
        if "." not in batch.paths or ASSETS.isdisjoint(map(str.lower, {*_ENDINGS.findall(batch.paths)})):
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
            names = _possible_hosts(_texts(batch.items(extension, field)))
            private = {name for name in names if development_host(name) and name not in self._allowed_hosts}
            if private:
                self._check_media(batch, extension, field, private, findings)

    def _check_media(
        self, batch: UrlBatch, extension: str, field: str, private: Container[str], findings: Findings
    ) -> None:
        for index, (urls,) in batch.lists(extension, field):
            for url in _texts(urls):
                name = host(url)
                if name in private:
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
_MAY_BE_PRIVATE = re.compile(rf"//(?:\d|\[|localhost|{_STAGING.replace(' ', '|')})[^/?#\n]*")
_ORIGIN = re.compile(r"[a-z]+://[^/?#\n]+/")


def _possible_hosts(urls: Sequence[str]) -> set[str]:
    """The hosts of these URLs of which development_host() may be true."""
    text = "\n".join(urls)
    origin = _ORIGIN.match(text)
    if origin and 1 + text.count(f"\n{origin[0]}") == len(urls):  # nearly all media of a sitemap are on one host
        return {host(origin[0])}
    return {host(f"http:{authority}/") for authority in {*_MAY_BE_PRIVATE.findall(text)}}


def _describe_private(loc: str, fault: tuple[str, str, str | None]) -> Description:
    name, field, url = fault
    what = loc if url is None else f"{url} of {loc}"
    return f"{what}: {name} is {development_host(name)}", field, url or loc


@lru_cache(1_000)
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
    """Whether a host is this machine, or an address that is not public."""
    name = name.removesuffix(".")
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        return not ipaddress.ip_address(name.strip("[]")).is_global
    except ValueError:
        return False


CHECKS: CheckFactories = (
    lambda _: SessionParameters(),
    lambda _: NonPageFiles(),
    lambda _: UnsetValues(),
    lambda _: DoubleEscapes(),
    lambda context: PrivateHosts(context.allowed_hosts),
)
