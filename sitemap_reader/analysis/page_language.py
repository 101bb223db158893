"""The language of each page: a Snapshot in; a language and its source for every page out.

Sources, in order of trust: the page's hreflang link to itself, the first or second segment of its path, the first
label of its host, the language of its news entry. A segment or label that looks like a language code may be a word
(/it/, /my/) or a country (/uk/): which codes of a host are languages is decided here, from all pages of the host.
Nothing is guessed from words or from country domains.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import attrs
import pandas as pd

from .measure import is_in
from .tables import PAGE_KEY, once

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .tables import SnapshotTables

X_DEFAULT = "x-default"
HREFLANG, PATH, HOST, NEWS = "hreflang", "path", "host", "news"
SOURCES = (HREFLANG, PATH, HOST, NEWS)

# ISO 639-1 codes of languages that sites offer. Those in _LIKE_WORDS are also English words, or usual names of folders
# and hosts (cs, hr, is, it), so that they need evidence. Missing are codes that are better known as a country, such as
# uk and be, and languages that few sites offer: hreflang links show those.
_OFFERED = "ar bg de el en es et fi fr hu ja ko lt lv nl pl pt ro ru sk sv th tr vi zh"
_LIKE_WORDS = (
    "af az bn bs ca cs cy da eu fa ga gl gu he hi hr hy id is it ka kk km kn lo mk ml mn mr ms mt nb ne nn no "
    "si sl sq sr sw ta te ur uz"
)
_COMMON, _WORDS = frozenset(_OFFERED.split()), frozenset(_LIKE_WORDS.split())
_SCRIPTS = "hans|hant|latn|cyrl|arab"
_CODE = rf"[a-z]{{2,3}}(-({_SCRIPTS}))?(-([a-z]{{2}}|[0-9]{{3}}))?"  # RFC 5646: language, script, region
_TWO_LETTERS = re.compile("[a-z]{2}")


def page_languages(snapshot: SnapshotTables) -> pd.DataFrame:
    """One row per page: `site`, `language` (a tag in lower case) and `source`, one of SOURCES; both null if unknown."""
    pages = language_codes(snapshot)
    columns = {HREFLANG: pages["own"], PATH: pages["segment"], HOST: pages["label"], NEWS: _news_languages(snapshot)}
    language = pd.Series(None, index=pages.index, dtype="str")
    source = pd.Series(None, index=pages.index, dtype="str")
    for name, column in columns.items():
        is_new = language.isna() & column.notna()
        language, source = language.where(~is_new, column), source.mask(is_new, name)
    return pd.DataFrame({"site": pages["site"], "language": language, "source": source})


def language_level(snapshot: SnapshotTables) -> pd.Series[int]:
    """Which segment of each page's path states its language: 1 in /de/shop/, 2 in /docs/de/; 0 if none does."""
    levels: pd.Series[int] = language_codes(snapshot)["level"]
    return levels


def hreflang_links(snapshot: SnapshotTables) -> pd.DataFrame:
    """One row per different link with a language, of all listings: `site loc hreflang href`; hreflang in lower case."""
    import pyarrow as pa
    from pyarrow import compute

    stored = snapshot.urls.stored.select(["site", "loc", "alternates"]).combine_chunks()
    alternates = stored["alternates"]
    rows = compute.list_parent_indices(alternates)
    items: Any = compute.list_flatten(alternates)
    table = pa.table(
        {
            "site": stored["site"].take(rows),
            "loc": stored["loc"].take(rows),
            "hreflang": compute.utf8_lower(compute.struct_field(items, "hreflang")),
            "href": compute.struct_field(items, "href"),
        }
    )
    frame: pd.DataFrame = table.filter(compute.is_valid(table["hreflang"])).to_pandas()
    return frame.drop_duplicates(ignore_index=True)


def own_languages(links: pd.DataFrame, pages: pd.DataFrame) -> pd.Series[str]:
    """For each of `pages` (`site loc`) the language that it states of itself: that of its first link to itself."""
    own = links[(links["loc"] == links["href"]) & (links["hreflang"] != X_DEFAULT)].drop_duplicates(PAGE_KEY)
    found = pages[PAGE_KEY].merge(own[[*PAGE_KEY, "hreflang"]], how="left", on=PAGE_KEY)["hreflang"]
    return found.set_axis(pages.index).astype("str")


# --- codes in paths and hosts ------------------------------------------------------------------------------------


@once
def language_codes(snapshot: SnapshotTables) -> pd.DataFrame:
    """One row per page: `site`; the languages `own` (hreflang), `segment` (of the path) and `label` (of the host).

    Each is null if there is none. `level` says which segment of the path it is, 0 for none.
    """
    pages = _with_segments(_with_own(snapshot), snapshot)
    labels = pd.Series({host: _label(host, domain) for host, domain in _hosts(pages)}, dtype="str")
    labelled = pages.assign(code=_looked_up(pages["host"], labels), group=pages["domain"])
    return pages[["site", "own", "segment", "level"]].assign(label=_accepted(labelled, _HOSTS))


def _with_own(snapshot: SnapshotTables) -> pd.DataFrame:
    pages: pd.DataFrame = snapshot.pages.to_pandas([*PAGE_KEY, "host", "domain", "path"])
    own = own_languages(hreflang_links(snapshot), pages)
    return pages.drop(columns="loc").assign(row=pages.index, own=own)


def _with_segments(pages: pd.DataFrame, snapshot: SnapshotTables) -> pd.DataFrame:
    """With `segment`, the language that the first or else the second segment of the path states, and `level`, which."""
    first = _accepted(pages.assign(code=_segments(snapshot, 1), group=pages["host"]), _FIRST)
    second = pd.Series(None, index=pages.index, dtype="str")
    if "dir_2" in snapshot.pages.columns or (snapshot.pages.to_pandas(["depth"])["depth"] > 1).any():
        folder = snapshot.pages.to_pandas(["dir_1"])["dir_1"].astype("str")
        below = pages.assign(
            code=_segments(snapshot, 2).where(first.isna()),
            group=pages["host"] + "/" + folder,
            path=pages["path"].str.replace(r"^/[^/]*", "", n=1, regex=True),
        )
        second = _accepted(below, _SECOND)
    level = first.notna().astype("int64") + 2 * second.notna()
    return pages.assign(segment=first.where(first.notna(), second), level=level)


def _hosts(pages: pd.DataFrame) -> Iterable[tuple[str, str]]:
    known = pages[["host", "domain"]].dropna().drop_duplicates("host")
    return zip(known["host"], known["domain"], strict=True)


def _label(host: str, domain: str) -> str | None:
    """The first label before the registrable domain, in lower case; without `www.`."""
    name = re.sub(r":[0-9]*$", "", host).removesuffix(domain).removeprefix("www.").rstrip(".")
    return name.partition(".")[0].lower() or None


def _looked_up(keys: pd.Series[str], values: pd.Series[str]) -> pd.Series[str]:
    """The value for each key, with one look-up per distinct key."""
    codes, names = pd.factorize(keys)
    found = values.reindex(names).astype("str").reset_index(drop=True)
    return found.reindex(pd.Series(codes).replace(-1, len(found))).set_axis(keys.index)


def _segments(snapshot: SnapshotTables, level: int) -> pd.Series[str]:
    """A segment of each path, in lower case and with hyphens; null if there is none, or it has an extension."""
    folder = f"dir_{level}"
    has_folder = folder in snapshot.pages.columns
    parts = snapshot.pages.to_pandas([*([folder] if has_folder else []), "slug", "depth", "extension"])
    last = parts["slug"].astype("str").where((parts["depth"] == level) & parts["extension"].isna())
    names = parts[folder].astype("str").fillna(last) if has_folder else last
    return names.where(names.str.len() <= len("zh-hant-419")).str.lower().str.replace("_", "-")


@attrs.frozen
class _Place:
    """A place of codes, and what a code has to show there: `min_common` languages, in `min_share` of the pages.

    `has_folders`: other names of two letters are evidence against languages, and paths below the codes can be compared.
    """

    min_common: int
    min_share: float
    has_folders: bool


# /docs/de/ and /docs/fr/ are languages if they are most of /docs/: elsewhere /tag/de/ is a tag.
_FIRST, _SECOND, _HOSTS = _Place(1, 0.0, True), _Place(2, 0.5, True), _Place(1, 0.0, False)


@attrs.frozen
class _Group:
    """A host, or the hosts of a domain: the pages of each code, and the evidence that codes are languages."""

    pages: dict[str, int]  # code -> number of pages
    total: int
    agreeing: dict[
        str, float
    ]  # code -> share of its pages with a hreflang link to themselves that states this language
    place: _Place

    def accepted(self) -> set[str]:
        """The codes that are languages without a comparison of paths."""
        shown = {code for code, share in self.agreeing.items() if share >= 0.5}
        denied = {*self.agreeing} - shown
        common = {code for code in self.pages if _primary(code) in _COMMON} - denied
        pages = sum(self.pages[code] for code in common | shown)
        is_enough = len(common | shown) >= self.place.min_common and pages >= self.place.min_share * self.total
        if self.place.has_folders:
            # /de/ among /ny/, /tx/ is Delaware, and a single page /pt may be anything.
            is_enough &= len({_primary(code) for code in common | shown}) >= len(self.others)
            is_enough &= len(common) > 1 or pages > 1
        return shown | (common if is_enough else set())

    @property
    def others(self) -> set[str]:
        """First segments of two letters that are no language codes: of countries, states, departments."""
        codes = {code for code in self.pages if _TWO_LETTERS.fullmatch(code)}
        return codes - _COMMON - _WORDS - {*self.agreeing}

    def candidates(self) -> set[str]:
        """The codes that may be words or languages."""
        has_others = self.others and self.place.has_folders
        return set() if has_others else {code for code in self.pages if _primary(code) in _WORDS} - {*self.agreeing}

    def is_in_proportion(self, code: str, accepted: set[str]) -> bool:
        """Whether most pages are in two languages or more, and those of this code are a tenth of their mean or more."""
        sizes = [self.pages[each] for each in accepted]
        return len(sizes) > 1 and sum(sizes) >= self.total / 2 and self.pages[code] >= sum(sizes) / len(sizes) / 10


def _primary(code: str) -> str:
    return code.partition("-")[0]


def _accepted(pages: pd.DataFrame, place: _Place) -> pd.Series[str]:
    """The code of each page where it is a language of its group, else null.

    `pages` has `row group code own path`, the path below the place before the code. Codes of languages that sites often
    offer are accepted, unless the group has more other names of two letters. A code that is also a word needs evidence:
    hreflang links; a fair part of the pages of a group that is mostly in languages; or that half of its paths, and two
    at least, exist below a language or without any, but not below the other folders.
    """
    is_code = pages["code"].str.fullmatch(_CODE, na=False).astype(bool)
    coded = pages[is_code & pages["group"].notna()]
    totals = pages[pages["group"].isin(coded["group"].unique())].groupby("group", sort=False)
    sizes = totals.size()
    found: list[tuple[str, str]] = []
    for name, part in coded.groupby("group", sort=False):
        group = _Group(part["code"].value_counts().to_dict(), int(sizes[name]), _agreement(part), place)
        accepted, words = group.accepted(), group.candidates()
        more = {code for code in words if group.is_in_proportion(code, accepted)}
        if place.has_folders and words - more:
            more |= _parallel(totals.get_group(name), words - more, accepted)
        found += [(name, code) for code in accepted | more]
    accepted_rows = coded.merge(pd.DataFrame(found, columns=["group", "code"]), on=["group", "code"])
    return pd.Series(accepted_rows["code"].array, index=accepted_rows["row"].array, dtype="str").reindex(pages.index)


def _agreement(part: pd.DataFrame) -> dict[str, float]:
    """Code -> the share of its pages with a language of their own that is this one."""
    own = part[part["own"].notna()]
    region = "-.*"
    same = own["own"].str.replace(region, "", regex=True) == own["code"].str.replace(region, "", regex=True)
    shares: dict[str, float] = same.groupby(own["code"]).mean().to_dict()
    return shares


def _parallel(pages: pd.DataFrame, words: set[str], accepted: set[str]) -> set[str]:
    """The codes below which the host has the same paths as below its languages, or as without a language."""
    paths = pages["path"].fillna("").str.strip("/")
    rests = paths.str.replace(r"^[^/]*/?", "", n=1, regex=True)
    is_word, is_language = pages["code"].isin(words), pages["code"].isin(accepted)
    languages = pd.concat([rests[is_language], paths[~is_word & ~is_language]]).unique()
    folders = rests[~is_word & ~is_language].unique()
    found = set()
    for code in words:
        below = rests[(pages["code"] == code) & (rests != "")].drop_duplicates()
        shared = int(is_in(below, languages).sum())
        if shared >= 2 and shared >= len(below) / 2 > is_in(below, folders).sum():
            found.add(code)
    return found


def _news_languages(snapshot: SnapshotTables) -> pd.Series[str]:
    from pyarrow import compute

    news = snapshot.pages.stored["news"]
    languages = compute.utf8_lower(compute.struct_field(news, "language"))
    result: pd.Series[str] = languages.to_pandas().astype("str")
    return result
