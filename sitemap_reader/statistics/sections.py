"""Sections of sites: the first folder of a path below a folder that states a language, as /blog/ is of /de/blog/a.

URLs are counted by host and first folders while they are read, and which folders state a language is decided at the
end, for each host: /de/ is German among /fr/ and /en/, and Delaware among /ny/ and /tx/. `stats`, `audit` and the
measures of a Snapshot take this one rule. The last segment of a path is the page, with or without a slash behind it.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import compress
from operator import eq
from typing import TYPE_CHECKING

import attrs

from .facts import MAX_NAME_CHARS, TopCounts

if TYPE_CHECKING:
    from ..model.url_batch import UrlBatch

# ISO 639-1 codes of languages that sites offer. Those in _LIKE_WORDS are also English words, or usual names of folders
# and hosts (cs, hr, is, it), so that they need evidence. Missing are codes that are better known as a country, such as
# uk and be, and languages that few sites offer: hreflang links show those.
_OFFERED = "ar bg de el en es et fi fr hu ja ko lt lv nl pl pt ro ru sk sv th tr vi zh"
_LIKE_WORDS = (
    "af az bn bs ca cs cy da eu fa ga gl gu he hi hr hy id is it ka kk km kn lo mk ml mn mr ms mt nb ne nn no "
    "si sl sq sr sw ta te ur uz"
)
_COMMON, _WORDS = frozenset(_OFFERED.split()), frozenset(_LIKE_WORDS.split())
_TWO_LETTERS = re.compile("[a-z]{2}")
X_DEFAULT = "x-default"

# RFC 5646: language, script, region; also in upper case and with `_`.
_CODE = "[A-Za-z]{2,3}(?:[-_](?i:hans|hant|latn|cyrl|arab))?(?:[-_](?:[A-Za-z]{2}|[0-9]{3}))?"
_IS_CODE = re.compile(_CODE)
_BEFORE_NAME = r"(?=/*+[^/?#\n])"
# The place of a URL: its host, and `/blog/`; of a folder that may state a language also the next, as `/de/blog/`. A
# home page has `/de`, a page in no folder nothing.
_PLACE = re.compile(
    rf"""^[A-Za-z][A-Za-z0-9+.-]*+://
    ([^/?#\n]*+ (?: /++ (?:
        {_CODE} (?: /{_BEFORE_NAME} (?:[^/?#\n]*+/{_BEFORE_NAME})? | (?=/*+(?:[?#]|$)) )
        | [^/?#\n]++/{_BEFORE_NAME}
    ) | (?!) )?+ )""",
    re.MULTILINE | re.VERBOSE,
)
# A site of several languages has some hundred places; more than these are counted by TopCounts, roughly.
_MAX_PLACES = 100_000


def first_folder(loc: str) -> str:
    """The first folder of a URL's path, that is its section where a language is a folder as any other.

    >>> first_folder("https://example.com/shop/lamps/1?a=/b"), first_folder("https://example.com/about/")
    ('/shop/', '/')
    """
    found = _PLACE.match(loc)
    name, below = _split(found[1] if found else "")[1:]
    return "/" if below is None else f"/{name}/"


def place_of(loc: str) -> str:
    """The host and first folders of a URL, of which names_of() makes its section."""
    found = _PLACE.match(loc)
    return _cut(found[1]) if found else ""


def language_code(name: str) -> str | None:
    """The code that the name of a folder or host may be: `pt-br` of `pt_BR`; None if it is none."""
    return name.lower().replace("_", "-") if _IS_CODE.fullmatch(name) else None


def _split(place: str) -> tuple[str, str, str | None]:
    """Host, first name and the folder below it: None if the name is a page, "" if its pages are in no other folder."""
    host, _, path = place.partition("/")
    name, slash, below = path.lstrip("/").partition("/")
    return host.rpartition("@")[2], name, below.strip("/") if slash else None


# --- which codes are languages ---


@attrs.frozen
class CodeCounts:
    """The pages of a host, a folder, or a domain by code, and which of the codes are languages.

    Codes of languages that sites often offer are accepted, unless the group has more other names of two letters. A code
    that is also a word needs evidence: hreflang links; a fair part of the pages of a group that is mostly in languages;
    or the same folders below it as below a language or without any.

    Codes have to show `min_common` languages, in `min_share` of the pages. `has_folders`: other names of two letters
    are evidence against languages, and folders below the codes are compared.
    """

    min_common: int = 1
    min_share: float = 0.0
    has_folders: bool = True
    pages: Counter[str] = attrs.field(factory=Counter)  # by code, "" for names that are none
    # Code -> folder below it -> pages; of "" the folders themselves.
    folders: dict[str, Counter[str]] = attrs.field(factory=lambda: defaultdict(Counter))
    # Code -> pages with a hreflang link to themselves, by whether it states this language.
    own: dict[str, Counter[bool]] = attrs.field(factory=lambda: defaultdict(Counter))

    def add(self, code: str, folder: str, pages: int = 1) -> None:
        self.pages[code] += pages
        if folder:
            self.folders[code][folder] += pages

    def add_own(self, code: str, language: str, pages: int = 1) -> None:
        self.own[code][_primary(code) == _primary(language)] += pages

    def languages(self) -> set[str]:
        accepted, more = self._accepted(), set[str]()
        others = self._others()
        if not (others and self.has_folders):
            words = {code for code in self.pages if _primary(code) in _WORDS and code not in self.own}
            more = {code for code in words if self._is_in_proportion(code, accepted)}
            more |= {code for code in words - more if any(self._has_folders_of(code, each) for each in ("", *accepted))}
        return accepted | more

    def _accepted(self) -> set[str]:
        """The codes that are languages without a comparison of folders."""
        shown = {code for code, counts in self.own.items() if counts[True] >= counts[False]}
        common = {code for code in self.pages if _primary(code) in _COMMON} - {*self.own}
        pages = sum(self.pages[code] for code in common | shown)
        is_enough = len(common | shown) >= self.min_common and pages >= self.min_share * self.pages.total()
        if self.has_folders:
            # /de/ among /ny/, /tx/ is Delaware, and a single page /pt may be anything.
            is_enough &= len({_primary(code) for code in common | shown}) >= len(self._others())
            is_enough &= len(common) > 1 or pages > 1
        return shown | (common if is_enough else set())

    def _others(self) -> set[str]:
        """Names of two letters that are no language codes: of countries, states, departments."""
        codes = {code for code in self.pages if _TWO_LETTERS.fullmatch(code)}
        return codes - _COMMON - _WORDS - {*self.own}

    def _is_in_proportion(self, code: str, accepted: set[str]) -> bool:
        """Whether most pages are in two languages or more, and those of this code are a tenth of their mean or more."""
        sizes = [self.pages[each] for each in accepted]
        return (
            len(sizes) > 1 and sum(sizes) * 2 >= self.pages.total() and self.pages[code] * 10 * len(sizes) >= sum(sizes)
        )

    def _has_folders_of(self, code: str, other: str) -> bool:
        """Whether both have two folders or more in common, with half of the pages of each: a site has as many in each
        of its languages, while a department has few of the folders of the site."""
        if not self.has_folders:
            return False
        mine, theirs = self.folders[code], self.folders[other]
        common = mine.keys() & theirs.keys()
        return len(common) > 1 and all(
            2 * sum(counts[name] for name in common) >= counts.total() for counts in (mine, theirs)
        )


def _primary(code: str) -> str:
    return code.partition("-")[0]


# --- counting ---


class SectionCounts:
    """Counts URLs by section, in bounded memory: top names of sections() are exact for up to 100,000 places.

    >>> from sitemap_reader import UrlRecord
    >>> from sitemap_reader.parser.fast_path import batch_of
    >>> locs = (f"https://a.example/{path}" for path in ("de/blog/1", "en/blog/1", "tv/1"))
    >>> counts = SectionCounts()
    >>> counts.add(batch_of(None, map(UrlRecord, locs)))
    >>> counts.sections().top(2)
    [('/blog/', 2), ('/tv/', 1)]
    """

    def __init__(self) -> None:
        self._places = TopCounts(_MAX_PLACES)
        self._own = TopCounts(_MAX_PLACES)  # language of a page's hreflang link to itself, a space, place

    def add(self, urls: UrlBatch) -> None:
        for place, count in _places(urls.locs, urls.text).items():
            self._places.add(_cut(place), count)
        for language, locs in _stated_languages(urls).items():
            for place, count in _places(locs, "\n" + "\n".join(locs)).items():
                self._own.add(_cut(f"{language} {place}"), count)

    def sections(self) -> TopCounts:
        """URLs by section; `/` has those in no folder."""
        sections, counts = TopCounts(), self._places.items()
        for section, (_, count) in zip(self.names_of(place for place, _ in counts), counts, strict=True):
            sections.add(section, count)
        sections.total, sections.is_exact = self._places.total, self._places.is_exact
        return sections

    def names_of(self, places: Iterable[str]) -> Iterator[str]:
        """The section of each place, as place_of() gives it, by the languages of all URLs that were counted."""
        languages = self._languages([(*_split(place), count) for place, count in self._places.items()])
        for host, name, below in map(_split, places):
            is_language = language_code(name) in languages.get(host, ())
            folder = below if is_language or below is None else name
            yield f"/{folder}/" if folder else "/"

    def _languages(self, places: Iterable[tuple[str, str, str | None, int]]) -> dict[str, set[str]]:
        hosts: defaultdict[str, CodeCounts] = defaultdict(CodeCounts)
        for host, name, below, count in places:
            code = language_code(name)
            hosts[host].add(code or "", (below or "") if code else name, count)
        for stated, count in self._own.items():
            language, _, place = stated.rpartition(" ")
            host, name, _ = _split(place)
            if code := language_code(name):
                hosts[host].add_own(code, language, count)
        return {host: counts.languages() for host, counts in hosts.items()}


def _stated_languages(urls: UrlBatch) -> dict[str, list[str]]:
    """Language -> the locs with a hreflang link to themselves that states it, and none before it."""
    hrefs, codes = urls.items("alternates", "href"), urls.items("alternates", "hreflang")
    if not hrefs:
        return {}
    owners = urls.owners("alternates")
    are_own = map(eq, hrefs, map(urls.locs.__getitem__, owners))
    languages: dict[int, str] = {}
    for index, code in compress(zip(owners, codes, strict=True), are_own):
        if code and code.lower() != X_DEFAULT:
            languages.setdefault(index, code.lower())
    found: dict[str, list[str]] = {}
    for index, language in languages.items():
        found.setdefault(language, []).append(urls.locs[index])
    return found


def _places(locs: Sequence[str], text: str) -> dict[str, int]:
    """The places of URLs, and how many have each; `text` has each behind a line feed."""
    first = _PLACE.search(text)
    name, below = _split(first[1])[1:] if first else ("", None)
    if first and below is not None and (below or not _IS_CODE.fullmatch(name)):
        # Mostly all are in this folder: if the least and the greatest begin with it. Names begin behind "/" in ASCII.
        folder, least = first[0], min(locs)
        are_inside = least.startswith(folder) and max(locs).startswith(folder)
        if are_inside and least[len(folder) :][:1] > "/" and f"{folder}?" not in text:
            return {first[1]: len(locs)}
    return Counter(_PLACE.findall(text))


def _cut(place: str) -> str:
    """A place of at most MAX_NAME_CHARS, its last name cut; it remains a folder."""
    return place if len(place) <= MAX_NAME_CHARS else f"{place[: MAX_NAME_CHARS - 2]}…/"
