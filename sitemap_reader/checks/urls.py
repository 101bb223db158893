"""Checks of single URLs: session parameters (U09), files (U13), private hosts (U14)."""

from __future__ import annotations

import ipaddress
import re
from typing import TYPE_CHECKING, Any

from ..parser.normalise.urls import host, registrable_domain
from .findings import Check

if TYPE_CHECKING:
    from collections.abc import Container

    from ..model.url_batch import UrlBatch
    from .documents import CheckFactories
    from .findings import Description, Findings


_SESSIONS = (
    "jsessionid phpsessid aspsessionid[a-z]* asp.net_sessionid sessionid session_id sid cfid cftoken zenid oscsid"
)
_TRACKING = (
    "utm_[a-z_]+ gclid gclsrc dclid gbraid wbraid fbclid msclkid yclid twclid ttclid igshid igsh mc_cid mc_eid "
    "_ga _gl _hsenc _hsmi __hssc __hstc hsctatracking mkt_tok vero_id s_kwcid ef_id pk_campaign pk_kwd mtm_[a-z]+"
)
_NAMES = "|".join(f"{_SESSIONS} {_TRACKING}".replace(".", r"\.").split())
# jsessionid follows a semicolon in the path.
PARAMETER = re.compile(rf"(?:[?&;])({_NAMES})(?:=|(?=[&#;?\n])|\Z)", re.IGNORECASE)
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
        faults = {index: match[1] for index, match in enumerate(map(PARAMETER.search, batch.locs)) if match}
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
    lambda context: PrivateHosts(context.allowed_hosts),
)
