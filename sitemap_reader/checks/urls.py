"""Checks of single URLs: parameters (U09), files (U13), hosts (U14), values and escapes (U15, U17)."""

from __future__ import annotations

import ipaddress
import re
from collections import Counter, defaultdict
from collections.abc import Container
from functools import lru_cache
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import attrs

from ..model.problems import report
from ..parser.normalise.urls import host, registrable_domain
from .findings import Check, location_of, place_of

if TYPE_CHECKING:
    from ..model.url_batch import UrlBatch
    from .documents import CheckFactories
    from .findings import Description, Findings, Location


_SESSIONS = (
    "jsessionid phpsessid aspsessionid[a-z]* asp.net_sessionid sessionid session_id sid cfid cftoken zenid oscsid"
)
CAMPAIGN = (
    "utm_[a-z_]+ gclid gclsrc dclid gbraid wbraid fbclid msclkid yclid twclid ttclid igshid igsh mc_cid mc_eid srsltid "
    "_ga _gl _hsenc _hsmi mkt_tok s_kwcid ef_id pk_campaign pk_kwd mtm_[a-z]+"
)
_TRACKING = (
    f"{CAMPAIGN} gad_source gad_campaignid rdt_cid li_fat_id epik irclickid _kx __hssc __hstc hsctatracking vero_id "
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
    """URLs, also of images, videos and alternates, on hosts that only developers reach (U14), but for `allowed_hosts`.

    A page on a staging or preview host is out of scope, unless its robots.txt names the sitemap: then it is meant.
    """

    codes = ("U14",)

    def __init__(self, allowed_hosts: Container[str] = ()) -> None:
        self._allowed_hosts = allowed_hosts

    def on_urls(self, batch: UrlBatch, findings: Findings) -> None:
        for start, places in batch.origins:
            found = self._judge(start, batch.sitemap)
            if found is not None and found.what not in _MEANT_IN_SCOPE:
                faults = dict.fromkeys(places, found)
                findings.report_urls("U14", batch, faults, lambda loc, found: (f"{loc}: {found}", "loc", loc))
        for extension, key, field in _MEDIA_URLS:
            starts = _origins(_texts(batch.items(extension, key)))
            judged = {start: self._judge(start, batch.sitemap, is_page=False) for start in starts}
            if any(judged.values()):
                for index, (here,) in batch.lists(extension, key):
                    for url in _texts(here):
                        if (match := _ORIGIN.match(url)) and (found := judged[match[0]]):
                            message = f"{url} of {batch.locs[index]}: {found}"
                            findings.report("U14", message, **place_of(batch, index), field=field, raw=url)

    def _judge(self, origin: str, sitemap: str | None, *, is_page: bool = True) -> DevelopmentHost | None:
        found = find_development_host(origin, sitemap, is_page=is_page)
        return None if found is None or host(f"{origin}/") in self._allowed_hosts else found


def _texts(urls: list[Any]) -> list[str]:
    """The URLs of a field: texts, texts with attributes, lists of them, or nothing."""
    if {*map(type, urls)} == {str}:
        return urls
    each = [one for many in urls for one in (many if isinstance(many, list) else [many])]
    return [one["value"] if isinstance(one, dict) else one for one in each if one]


_MEDIA_URLS = (
    ("images", "loc", "image:loc"),
    ("videos", "thumbnail_loc", "video:thumbnail_loc"),
    ("videos", "content_loc", "video:content_loc"),
    ("videos", "player_loc", "video:player_loc"),
    ("alternates", "href", "xhtml:link href"),
)
_ORIGIN = re.compile(r"^https?://[^/?#\s]+", re.MULTILINE)
_HOST_AND_PORT = re.compile(r"(\[[^]]*]|[^]:[]*)(?::(\d+))?")


@attrs.frozen
class DevelopmentHost:
    """A host, or host and port, that only developers reach, and what it is."""

    name: str
    what: str

    def __str__(self) -> str:
        return f"{self.name} is {self.what}"


def find_development_host(url: str, sitemap: str | None, *, is_page: bool = True) -> DevelopmentHost | None:
    """What the host of a URL in this sitemap is, or its port; None for others.

    >>> print(find_development_host("https://ex-git-main.vercel.app/a", "https://ex.com/sitemap.xml"))
    ex-git-main.vercel.app is a platform's host, as previews have
    >>> print(find_development_host("http://ex.com:3000/a", "https://ex.com/sitemap.xml"))
    ex.com:3000 is a development server by its port
    """
    name, port = _host_and_port(url)
    own, own_port = _host_and_port(sitemap or "")
    if what := development_host(name, own, is_page=is_page):
        return DevelopmentHost(name, what)
    is_own = name.removeprefix("www.") == own.removeprefix("www.")
    if is_own and port != own_port and port in _DEVELOPMENT_PORTS:
        return DevelopmentHost(f"{name}:{port}", "a development server by its port")
    return None


def _host_and_port(url: str) -> tuple[str, str | None]:
    """Both of a URL with a host; neither of the name of a file."""
    authority = url.partition("://")[2].partition("/")[0].rpartition("@")[2]
    match = _HOST_AND_PORT.fullmatch(authority)
    return ("", None) if match is None else (match[1].lower().removesuffix("."), match[2])


_STAGING = "a staging host by its name"
_NETWORK = "a name of a private network"
_EXAMPLE = "a name for tests and examples"
_TUNNEL = "a tunnel to the machine of a developer"
_PREVIEW = "a platform's host, as previews have"
_MEANT_IN_SCOPE = (_STAGING, _NETWORK, _PREVIEW)
# Words of the names of hosts on which a site is tried before it is published.
_STAGING_WORDS = {*"staging stage stg dev develop development test testing preview preprod uat qa".split()}  # noqa: SIM905
# Those of Hugo, Jekyll, Angular, Astro, Vite, webpack and others. A proxy passes requests to some of them.
_PORTS = "1234 1313 3000 3001 3333 4000 4173 4200 4321 5000 5173 5174 8000 8080 8081 8888 9000"
_DEVELOPMENT_PORTS = frozenset(_PORTS.split())
_SUFFIXES = {
    _NETWORK: "local lan internal intranet home.arpa",  # RFC 6762, RFC 8375; ICANN for .internal
    _EXAMPLE: "test invalid example example.com example.net example.org",  # RFC 2606
    _TUNNEL: "ngrok.io ngrok.app ngrok.dev ngrok-free.app ngrok-free.dev trycloudflare.com loca.lt lhr.life serveo.net "
    "devtunnels.ms github.dev githubpreview.dev gitpod.io gitpod.dev cloudworkstations.dev csb.app webcontainer.io",
    _PREVIEW: "vercel.app now.sh netlify.app pages.dev workers.dev herokuapp.com azurewebsites.net azurestaticapps.net "
    "amplifyapp.com web.app firebaseapp.com onrender.com fly.dev up.railway.app surge.sh deno.dev replit.dev "
    "wpengine.com wpenginepowered.com wpcomstaging.com kinsta.cloud pantheonsite.io flywheelsites.com webflow.io",
}
_SINGLE_LABEL = re.compile(r"[a-z0-9-]+")  # as `web`, the name of a container
_BY_SUFFIX = {what: tuple(f".{each}" for each in suffixes.split()) for what, suffixes in _SUFFIXES.items()}


def _origins(urls: list[str]) -> set[str]:
    """The origins of these URLs, in one pass over their text."""
    text = "\n".join(urls)
    first = _ORIGIN.match(text)
    if first and 1 + text.count(f"\n{first[0]}/") == len(urls):  # nearly all media of a sitemap are on one host
        return {first[0]}
    return {*_ORIGIN.findall(text)}


@lru_cache(1_000)
def development_host(name: str, own: str = "", *, is_page: bool = True) -> str | None:
    """What a host is that only its developers reach, or by its name may be; None for others.

    `own` is the host of the audited site, which may be any but a private address. Images (`is_page=False`)
    may be on any platform, and on hosts of others with such a name.

    >>> development_host("localhost"), development_host("staging.ex.com"), development_host("ex.com")
    ('a private address', 'a staging host by its name', None)
    >>> development_host("ex.netlify.app", "ex.com"), development_host("ex.netlify.app", "ex.netlify.app")
    ("a platform's host, as previews have", None)
    """
    if _is_private(name):
        return "a private address"
    domain, is_elsewhere = registrable_domain(name), own not in ("", name)
    words = {word.rstrip("0123456789") for label in name.removesuffix(domain).split(".") for word in label.split("-")}
    is_of_site = is_page or own == "" or domain == registrable_domain(own)
    is_test = is_elsewhere and development_host(own) is not None
    holds = {
        _NETWORK: name != own,
        _EXAMPLE: is_elsewhere and not is_test and not f".{own}".endswith(_BY_SUFFIX[_EXAMPLE]),
        _TUNNEL: is_elsewhere,
        _PREVIEW: is_elsewhere and is_page,
        _STAGING: name != own and is_of_site and not words.isdisjoint(_STAGING_WORDS),
    }
    by_suffix = [what for what, suffixes in _BY_SUFFIX.items() if f".{name}".endswith(suffixes)]
    by_form = [_NETWORK] if _SINGLE_LABEL.fullmatch(name) else []
    return next((what for what in (*by_suffix, *by_form, _STAGING) if holds[what]), None)


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
