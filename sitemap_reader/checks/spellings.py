"""Pages that are listed in two spellings, or with a folder that repeats (U16), and the variants of hosts (U11, U18).

What nearly all URLs look like costs no more than a few searches in the text of a batch. A URL in another spelling is
kept, compressed, with the key of its usual spelling; at the end these are compared with the keys of all URLs.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING
from zlib import compress, decompress

from ..model.problems import count_of
from ..parser.normalise.urls import comparable, host, without_userinfo
from .documents import CountedUrls
from .findings import Check, location, location_of, url_key, url_keys
from .urls import CAMPAIGN, PARAMETER, development_host

if TYPE_CHECKING:
    from ..model.problems import Kind
    from ..model.url_batch import UrlBatch
    from .documents import CheckFactories, DuplicateUrls
    from .findings import Findings


# Parameters that choose no page: of campaigns and sessions (of U09 not `cid` and `sid`, which may be the number of a
# page), of appeals for donations, and of the order or the form in which a list is shown.
_VISIT = "spm phpsessid jsessionid ref ref_src cmpid icid trk replytocom"
_SORT = "sort sortby sort_by sort-by sortorder sort_order orderby order_by"
_NAMES = "|".join(f"{CAMPAIGN} {_VISIT} {_SORT}".split())
_ADDED = (
    rf"(?:{_NAMES})=[^&\n]*|ac=[0-9]+|(?:order|dir|direction)=(?:asc|desc)|"
    r"view=(?:grid|list)|[^=&?\n]*="
)
_IS_ADDED = re.compile(rf"(?:{_ADDED})?", re.IGNORECASE)
_VALUED = re.compile(rf"[?&](?:{_NAMES}|ac|order|dir|direction|view|)=?", re.IGNORECASE)
_INDEX = re.compile(r"/(?:index|default)\.(?:[xs]?html?|php[0-9]?|aspx?|jsp|cfm)\Z", re.IGNORECASE)
_SLASHES = re.compile("/{2,}")
# A capital that is no hex digit of an escape.
_CAPITAL = re.compile("(?<!%)(?<!%[0-9A-Fa-f])[A-Z]")
_LETTERS, _DIGIT, _ESCAPE = re.compile("[A-Za-z]+"), re.compile("[0-9]"), re.compile("%[0-9A-Fa-f]{2}")


def _without_index(path: str) -> str:
    return _INDEX.sub("/", path) if path[-1] != "/" else path


def _with_one_slash(path: str) -> str:
    # As /web/2026/https://example.com/ of an archive.
    return _SLASHES.sub("/", path) if "//" in path and "://" not in path else path


def _without_slash(path: str) -> str:
    return path[:-1] if len(path) > 1 and path[-1] == "/" and path[-2] != "/" else path


def _without_added(query: str) -> str:
    return "&".join([each for each in query.split("&") if not _IS_ADDED.fullmatch(each)])


def _sorted(query: str) -> str:
    return "&".join(sorted(query.split("&"))) if "&" in query else query


# The differences between two spellings, each with what removes it from the path or from the query.
_OF_PATHS: dict[Kind, Callable[[str], str]] = {
    "index file": _without_index,
    "double slash": _with_one_slash,
    "upper and lower case": str.lower,
    "trailing slash": _without_slash,
}
_OF_QUERIES: dict[Kind, Callable[[str], str]] = {"added parameter": _without_added, "order of parameters": _sorted}
# The first that two URLs have is the kind of the problem; in a message.
_WORDS: dict[Kind, str] = {
    "added parameter": "an added parameter",
    "index file": "an index file",
    "double slash": "a double slash",
    "upper and lower case": "upper and lower case",
    "order of parameters": "the order of parameters",
    "trailing slash": "the trailing slash",
}


def usual_spelling(loc: str, *, but: Kind | None = None) -> str:
    """The URL as most sites would list it, without a trailing slash; `but` this difference is kept.

    >>> usual_spelling("https://e.com/Shop//Lamps/index.html?b=2&a=1&utm_source=mail")
    'https://e.com/shop/lamps?a=1&b=2'
    """
    head, _, query = loc.partition("?")
    start = head.index("/", 8)
    path = head[start:]
    for kind, usual in _OF_PATHS.items():
        if kind != but:
            path = usual(path)
    if query:
        for kind, usual in _OF_QUERIES.items():
            if kind != but:
                query = usual(query)
    elif but == "added parameter" and head != loc:
        path += "?"
    return f"{head[:start]}{path}?{query}" if query else head[:start] + path


def differences(one: str, other: str) -> list[Kind]:
    """In what two spellings of a page differ; nothing if they may be two pages, as `/d/aB3` and `/d/Ab3` are."""
    one, other = comparable(one), comparable(other)
    found = [kind for kind in _WORDS if usual_spelling(one, but=kind) != usual_spelling(other, but=kind)]
    if "upper and lower case" in found:
        names = (usual_spelling(each, but="upper and lower case").partition("?")[0].split("/") for each in (one, other))
        if not all(name == another or _is_one_name(name, another) for name, another in zip(*names, strict=False)):
            return []
    return found


def _is_marked(loc: str, usual: str) -> bool:
    """Whether all parameters that the one URL has beyond the other are those of visits and campaigns (U09)."""
    added = {*loc.partition("?")[2].split("&")} - {*usual.partition("?")[2].split("&")}
    return bool(added) and all(PARAMETER.match(f"?{each}") for each in added)


def _is_one_name(one: str, other: str) -> bool:
    """Whether names that differ in capitals are one: ids that do so are two, and have small and capital letters."""
    one, other = (_ESCAPE.sub("", each) for each in (one, other))
    if any(each in (each.lower(), each.upper()) for each in (one, other)):
        return True
    words = _LETTERS.findall(one) + _LETTERS.findall(other)
    return not _DIGIT.search(one) and all(each in (each.lower(), each.upper(), each.capitalize()) for each in words)


# Days and letters, as in /11/11/11/ and /a/a/a/, are none.
_REPEATED = re.compile(r"/([^/?\n]{3,}+)/\1/\1/")


class Spellings(Check):
    """Pages that are listed in two spellings, and URLs with a folder three times in a row (U16)."""

    codes = ("U16",)

    def __init__(self, listings: DuplicateUrls) -> None:
        self._listings = listings
        self._keys = array("q")  # of the usual spellings of the URLs that have another one
        self._slashed = array("q")  # of the same with a trailing slash
        self._locs: list[bytes] = []  # those URLs, those of a batch compressed, one a line
        # With and without a trailing slash: one of the two kinds is rarer at first, and each URL of it is looked for.
        self._rarer_has_slash: bool | None = None
        self._others: set[int] = set()  # the keys of the URLs that would be variants of these
        self._pairs: set[tuple[str, str]] = set()
        self._with_slash = self._urls = 0

    def on_urls(self, batch: UrlBatch, findings: Findings) -> None:
        paths, locs = batch.paths, batch.locs
        self._find_slashes(paths, locs)
        low = paths.lower()
        has_capitals = low != paths and ("%" not in paths or _CAPITAL.search(paths) is not None)
        if "//" in paths or ("." in paths and ("/index." in low or "/default." in low)):
            odd: Iterable[str] = locs
        elif "?" in paths:
            odd = locs if has_capitals else _with_odd_query(batch)
        else:
            odd = ()
            if has_capitals:
                lower = zip(locs, batch.text.lower()[1:].split("\n"), strict=True)
                self._keep([(loc, _without_slash(usual)) for loc, usual in lower if loc != usual])
        self._keep([(loc, usual_spelling(loc)) for loc in odd])
        if _REPEATED.search(paths):
            self._report_repeated(batch, findings)

    def _keep(self, odd: list[tuple[str, str]]) -> None:
        """Keeps the URLs that do not have their usual spelling, except for the trailing slash."""
        odd = [(loc, usual) for loc, usual in odd if usual != loc and _with_slash(usual) != loc]
        if not odd:
            return
        usual = [each for _, each in odd]
        self._keys.extend(url_keys(usual))
        self._slashed.extend(url_keys([*map(_with_slash, usual)]))
        self._locs.append(compress("\n".join([loc for loc, _ in odd]).encode("utf-8", "surrogatepass"), 1))

    def _report_repeated(self, batch: UrlBatch, findings: Findings) -> None:
        for index, loc in enumerate(batch.locs):
            found = _REPEATED.search(loc.partition("?")[0], 8)
            if found and not found[1].isdigit():
                message = f"{loc} has the folder {found[1]} three times in a row"
                findings.report("U16", message, **location_of(batch, index), kind="repeated folder")

    def _find_slashes(self, paths: str, locs: Sequence[str]) -> None:
        with_slash = paths.count("/\n") + paths.endswith("/")
        self._urls += len(locs)
        self._with_slash += with_slash
        if self._rarer_has_slash is None:
            self._rarer_has_slash = with_slash * 2 <= len(locs)
        if self._others and not self._others.isdisjoint(keys := url_keys(locs)):
            self._pair(loc for key, loc in zip(keys, locs, strict=True) if key in self._others)
        if with_slash == (0 if self._rarer_has_slash else len(locs)):
            return
        rarer = [loc for loc in locs if (loc[-1] == "/") is self._rarer_has_slash and _may_lose_slash(loc)]
        keys = url_keys([*map(with_other_end, rarer)])
        self._others.update(keys)
        if not self._listings.listed.isdisjoint(keys):
            self._pair(loc for key, loc in zip(keys, rarer, strict=True) if key in self._listings.listed)

    def _pair(self, locs: Iterable[str]) -> None:
        self._pairs.update((min(loc, other), max(loc, other)) for loc in locs for other in [with_other_end(loc)])

    def on_end(self, findings: Findings) -> None:
        """Reports the less usual spelling of each page, where it is listed first."""
        accused: dict[int, tuple[str, str, list[Kind]]] = {}
        has_u09 = findings.includes(["U09"])
        for locs in self._groups():
            usual, *others = sorted(locs, key=self._rank)
            for other in others:
                found = differences(usual, other)
                if found and not (has_u09 and found == ["added parameter"] and _is_marked(other, usual)):
                    accused[url_key(other)] = other, usual, found
        for sitemap, line, key in self._listings.places_of(accused.keys()):
            if key in accused:
                loc, usual, found = accused.pop(key)
                but = " and ".join(_WORDS[kind] for kind in found)
                message = f"{loc} and {usual} are both listed: they are the same but for {but}"
                findings.report("U16", message, **location(sitemap, line, loc), kind=found[0])

    def _groups(self) -> Iterator[set[str]]:
        """The URLs of each page that is listed in several spellings."""
        groups: dict[str, set[str]] = {}
        for pair in self._pairs:
            groups.setdefault(usual_spelling(pair[0]), set()).update(pair)
        listed, seen, several = self._listings.listed, set[int](), set[int]()
        for key, slashed in zip(self._keys, self._slashed, strict=True):
            if key in seen or key in listed or slashed in listed:
                several.add(key)
            seen.add(key)
        if several:
            for key, loc in zip(self._keys, self._kept(), strict=True):
                if key in several:
                    usual = usual_spelling(loc)
                    also = (each for each in (usual, _with_slash(usual)) if url_key(each) in listed)
                    groups.setdefault(usual, set()).update([loc, *(comparable(each) for each in also)])
        return (locs for _, locs in sorted(groups.items()) if len(locs) > 1)

    def _kept(self) -> Iterator[str]:
        for each in self._locs:
            yield from decompress(each).decode("utf-8", "surrogatepass").split("\n")

    def _rank(self, loc: str) -> tuple[int, int, int, int, bool, bool, str]:
        """The most usual spelling first."""
        path, _, query = loc[loc.index("/", 8) :].partition("?")
        return (
            query.count("&") - _without_added(query).count("&") + (query != "" and _without_added(query) == ""),
            _without_index(path) != path,
            path.count("//"),
            len(_CAPITAL.findall(path)),
            _sorted(query) != query,
            (path[-1] == "/") is not (self._with_slash * 2 > self._urls),
            loc,
        )


def _with_odd_query(batch: UrlBatch) -> Iterable[str]:
    """The URLs whose queries may have another spelling than the usual one."""
    paths, locs, parameters = batch.paths, batch.locs, batch.parameters
    if any(map(_VALUED.fullmatch, {*parameters})) or "=\n" in paths or "=&" in paths or paths[-1] in "=?":
        return (loc for loc in locs if "?" in loc)
    # Mostly the names are in their order in all URLs: few pairs of neighbours occur.
    if "&" not in paths or all(one[1:] < next[1:] for one, next in {*pairwise(parameters)} if next[0] == "&"):
        return ()
    queries = ((loc, loc.partition("?")[2].split("&")) for loc in locs if "&" in loc)
    return (loc for loc, parameters in queries if parameters != sorted(parameters))


def _may_lose_slash(loc: str) -> bool:
    """Not a home page, and not what ends in two slashes or in a query."""
    return "?" not in loc and (loc[-1] != "/" or (loc[-2] != "/" and loc.count("/") > 3))


def with_other_end(loc: str) -> str:
    """The URL with a final slash, or without the one that it has."""
    return loc[:-1] if loc.endswith("/") else f"{loc}/"


def _with_slash(usual: str) -> str:
    head, mark, query = usual.partition("?")
    return f"{head if head[-1] == '/' else f'{head}/'}{mark}{query}"


# --- hosts ---

# Beyond these, origins are left out.
_MAX_ORIGINS = 10_000


class UrlVariants(Check):
    """Hosts whose pages are listed under http and https, or with and without www (U11), or all on http (U18)."""

    codes = ("U11", "U18")

    def __init__(self) -> None:
        self._origins: dict[str, CountedUrls] = {}

    def on_urls(self, batch: UrlBatch, findings: Findings) -> None:
        for full, here in batch.origins:
            origin = without_userinfo(f"{full}/")[:-1]
            known = self._origins.get(origin)
            if known is not None:
                known.count += len(here)
                if (batch.sitemap or "") < (known.places[0]["sitemap"] or ""):
                    known.places = [location_of(batch, here[0])]
            elif len(self._origins) < _MAX_ORIGINS:
                self._origins[origin] = CountedUrls([location_of(batch, here[0])], len(here))

    def on_end(self, findings: Findings) -> None:
        """Reports origins that are a variant of one with more URLs, and those on http if no variant is on https."""
        variants: dict[tuple[str, str], list[str]] = {}
        for origin in self._origins:
            variants.setdefault(_host_and_port(origin), []).append(origin)
        for _, origins in sorted(variants.items()):
            if not any(origin.startswith("https:") for origin in origins) and not development_host(
                host(f"{origins[0]}/")
            ):
                self._report_http(origins, findings)
            main, *others = sorted(
                origins, key=lambda origin: (-self._origins[origin].count, origin[:6] != "https:", origin)
            )
            for origin in others:
                here, there = self._origins[origin], self._origins[main]
                kinds = []
                if origin.partition("://")[0] != main.partition("://")[0]:
                    kinds.append("http and https")
                if host(f"{origin}/") != host(f"{main}/"):
                    kinds.append("www and the bare host")
                message = f"{count_of(here.count, 'URL')} on {origin}, {there.count:,} on {main}"
                findings.report("U11", f"{message}: {', '.join(kinds)} are mixed", **here.places[0], count=here.count)

    def _report_http(self, origins: Iterable[str], findings: Findings) -> None:
        for origin in sorted(origins):
            here = self._origins[origin]
            message = f"{count_of(here.count, 'URL')} on {origin}, none on https"
            findings.report("U18", message, **here.places[0], count=here.count)


def _host_and_port(origin: str) -> tuple[str, str]:
    """Host without www., and port: the same for all variants of an origin."""
    _, _, authority = origin.partition("://")
    name = host(f"{origin}/")
    return name.removeprefix("www."), authority[len(name) :]


CHECKS: CheckFactories = (
    lambda context: Spellings(context.listings),
    lambda _: UrlVariants(),
)
