"""URLs, each by itself: locs in, those that no sitemap should list out (U09, U13, U14)."""

from __future__ import annotations

import ipaddress
import re
from typing import TYPE_CHECKING

from ..parser.normalise.urls import host
from .check import Check

if TYPE_CHECKING:
    from collections.abc import Container

    from .check import Listed
    from .findings import Findings

_SESSIONS = (
    "jsessionid phpsessid aspsessionid[a-z]* asp.net_sessionid sessionid session_id sid cfid cftoken zenid oscsid"
)
_TRACKING = (
    "utm_[a-z_]+ gclid gclsrc dclid gbraid wbraid fbclid msclkid yclid twclid ttclid igshid igsh mc_cid mc_eid "
    "_ga _gl _hsenc _hsmi __hssc __hstc hsctatracking mkt_tok vero_id s_kwcid ef_id pk_campaign pk_kwd mtm_[a-z]+"
)
_NAMES = "|".join(f"{_SESSIONS} {_TRACKING}".replace(".", r"\.").split())
# Java's stands behind a semicolon in the path.
_PARAMETER = re.compile(rf"(?:[?&;])({_NAMES})(?:=|(?=[&#;?\n])|\Z)", re.IGNORECASE)

_ASSETS = (
    "avif bmp gif ico jpeg jpg png svg tif tiff webp "
    "3gp avi flac m4a m4v mkv mov mp3 mp4 mpeg mpg ogg ogv wav webm wmv "
    "7z bz2 gz jar rar tar tgz zip css js mjs map json rss atom xml xsl eot otf ttf woff woff2 "
    "apk deb dmg exe iso msi rpm wasm"
)
ASSETS = frozenset(_ASSETS.split())
# What URLs end in, whatever that is: looked for in many at once.
_ENDINGS = re.compile(r"\.([A-Za-z0-9]{2,5})(?:[?#\n]|\Z)")
_ASSET = re.compile(rf"[a-z]+://[^/]*/[^?#]*\.({'|'.join(sorted(ASSETS))})(?=[?#]|\Z)", re.IGNORECASE)


class Parameters(Check):
    """Parameters that tell visitors apart, not pages (U09)."""

    codes = ("U09",)

    def urls(self, listed: Listed, found: Findings) -> None:
        """Those in which one is found."""
        if ("?" not in listed.text and ";" not in listed.text) or not _PARAMETER.search(listed.text):
            return
        for place, match in enumerate(map(_PARAMETER.search, listed.locs)):
            if match is None:
                continue
            told = f"{listed.locs[place]} has the parameter {match[1]}"
            found.note("U09", told, **listed.at(place))


class Assets(Check):
    """What is no page (U13)."""

    codes = ("U13",)

    def urls(self, listed: Listed, found: Findings) -> None:
        """Those whose path ends in the extension of something else."""
        if ASSETS.isdisjoint(map(str.lower, {*_ENDINGS.findall(listed.text)})):
            return
        for place, match in enumerate(map(_ASSET.match, listed.locs)):
            if match is None:
                continue
            told = f"{listed.locs[place]} ends in .{match[1]}: no page"
            found.note("U13", told, **listed.at(place))


class Hosts(Check):
    """Hosts that cannot be reached from outside (U14), but for those that the caller has `permitted`."""

    codes = ("U14",)

    def __init__(self, permitted: Container[str] = ()) -> None:
        self._permitted = permitted

    def urls(self, listed: Listed, found: Findings) -> None:
        """One look at each origin."""
        for origin, places in listed.origins:
            name = host(f"{origin}/")
            for place in places if _is_private(name) and name not in self._permitted else ():
                found.note("U14", f"{listed.locs[place]}: {name} is a private address", **listed.at(place))


def _is_private(name: str) -> bool:
    name = name.removesuffix(".")
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        return not ipaddress.ip_address(name.strip("[]")).is_global
    except ValueError:
        return False
