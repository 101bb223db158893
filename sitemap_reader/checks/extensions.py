"""Checks of the extensions by Google's documentation: hreflang (L codes), news (N), videos (V) and images (I)."""

from __future__ import annotations

import re
from array import array
from collections import Counter
from contextlib import closing, contextmanager
from datetime import timedelta
from functools import lru_cache
from itertools import compress, count
from typing import TYPE_CHECKING, Any, TypeVar

import orjson

from ..model.columns import EPOCH
from ..model.problems import count_of
from ..model.records import Alternate, News
from ..parser.normalise.dates import format_date, period_end
from ..parser.normalise.urls import is_web_url
from ..state.schema import temp_database_errors, temporary_database
from .documents import INCOMPLETE, PerSitemapCheck, WholeSiteCheck
from .findings import Check, place_of, url_key, url_keys

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Iterator, KeysView
    from datetime import datetime

    from ..model.problems import Problem
    from ..model.records import Outcome, Video
    from ..model.url_batch import UrlBatch
    from .documents import CheckFactories, DuplicateUrls
    from .findings import Description, Findings


# --- hreflang ---

DEFAULT = "x-default"

# ISO 639-1 and ISO 3166-1, as registered for BCP 47.
_LANGUAGES = """
    aa ab ae af ak am an ar as av ay az ba be bg bh bi bm bn bo br bs ca ce ch co cr cs cu cv cy da de dv dz ee el
    en eo es et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht hu hy hz ia id ie ig ii ik in io is it
    iu iw ja ji jv jw ka kg ki kj kk kl km kn ko kr ks ku kv kw ky la lb lg li ln lo lt lu lv mg mh mi mk ml mn mo
    mr ms mt my na nb nd ne ng nl nn no nr nv ny oc oj om or os pa pi pl ps pt qu rm rn ro ru rw sa sc sd se sg sh
    si sk sl sm sn so sq sr ss st su sv sw ta te tg th ti tk tl tn to tr ts tt tw ty ug uk ur uz ve vi vo wa wo xh
    yi yo za zh zu
"""
LANGUAGES = frozenset(_LANGUAGES.split())
_REGIONS = """
    ad ae af ag ai al am ao aq ar as at au aw ax az ba bb bd be bf bg bh bi bj bl bm bn bo bq br bs bt bv bw by bz
    ca cc cd cf cg ch ci ck cl cm cn co cr cu cv cw cx cy cz de dj dk dm do dz ec ee eg eh er es et fi fj fk fm fo
    fr ga gb gd ge gf gg gh gi gl gm gn gp gq gr gs gt gu gw gy hk hm hn hr ht hu id ie il im in io iq ir is it je
    jm jo jp ke kg kh ki km kn kp kr kw ky kz la lb lc li lk lr ls lt lu lv ly ma mc md me mf mg mh mk ml mm mn mo
    mp mq mr ms mt mu mv mw mx my mz na nc ne nf ng ni nl no np nr nu nz om pa pe pf pg ph pk pl pm pn pr ps pt pw
    py qa re ro rs ru rw sa sb sc sd se sg sh si sj sk sl sm sn so sr ss st sv sx sy sz tc td tf tg th tj tk tl tm
    tn to tr tt tv tw tz ua ug um us uy uz va vc ve vg vi vn vu wf ws xk ye yt za zm zw
"""
REGIONS = frozenset(_REGIONS.split())
# Countries that are written for their language -> the code intended, where there is but one.
_INTENDED_LANGUAGES = {
    "cn": "zh", "cz": "cs", "dk": "da", "gb": "en-GB", "gr": "el", "jp": "ja", "kr": "ko", "ua": "uk", "us": "en-US",
    "vn": "vi", "at": "de-AT", "mx": "es-MX",
}  # fmt: skip
# Language and region -> the region intended. Without the language it is a guess: sp is written for Spain and Serbia.
_INTENDED_REGIONS = {("es", "sp"): "ES", ("ca", "sp"): "ES", ("sr", "sp"): "RS", ("en", "uk"): "GB", ("uk", "uk"): "UA"}
# ISO 639-2: codes of three letters for languages that have one of two, which is the one to use (RFC 5646 2.2.1). Others
# of three letters are valid: fil, haw.
_LONG_LANGUAGES = """
    aar:aa abk:ab afr:af aka:ak alb:sq amh:am ara:ar arg:an arm:hy asm:as ava:av ave:ae aym:ay aze:az bak:ba bam:bm
    baq:eu bel:be ben:bn bih:bh bis:bi bod:bo bos:bs bre:br bul:bg bur:my cat:ca ces:cs cha:ch che:ce chi:zh chu:cu
    chv:cv cor:kw cos:co cre:cr cym:cy cze:cs dan:da deu:de div:dv dut:nl dzo:dz ell:el eng:en epo:eo est:et eus:eu
    ewe:ee fao:fo fas:fa fij:fj fin:fi fra:fr fre:fr fry:fy ful:ff geo:ka ger:de gla:gd gle:ga glg:gl glv:gv gre:el
    grn:gn guj:gu hat:ht hau:ha heb:he her:hz hin:hi hmo:ho hrv:hr hun:hu hye:hy ibo:ig ice:is ido:io iii:ii iku:iu
    ile:ie ina:ia ind:id ipk:ik isl:is ita:it jav:jv jpn:ja kal:kl kan:kn kas:ks kat:ka kau:kr kaz:kk khm:km kik:ki
    kin:rw kir:ky kom:kv kon:kg kor:ko kua:kj kur:ku lao:lo lat:la lav:lv lim:li lin:ln lit:lt ltz:lb lub:lu lug:lg
    mac:mk mah:mh mal:ml mao:mi mar:mr may:ms mkd:mk mlg:mg mlt:mt mon:mn mri:mi msa:ms mya:my nau:na nav:nv nbl:nr
    nde:nd ndo:ng nep:ne nld:nl nno:nn nob:nb nor:no nya:ny oci:oc oji:oj ori:or orm:om oss:os pan:pa per:fa pli:pi
    pol:pl por:pt pus:ps que:qu roh:rm ron:ro rum:ro run:rn rus:ru sag:sg san:sa sin:si slk:sk slo:sk slv:sl sme:se
    smo:sm sna:sn snd:sd som:so sot:st spa:es sqi:sq srd:sc srp:sr ssw:ss sun:su swa:sw swe:sv tah:ty tam:ta tat:tt
    tel:te tgk:tg tgl:tl tha:th tib:bo tir:ti ton:to tsn:tn tso:ts tuk:tk tur:tr twi:tw uig:ug ukr:uk urd:ur uzb:uz
    ven:ve vie:vi vol:vo wel:cy wln:wa wol:wo xho:xh yid:yi yor:yo zha:za zho:zh zul:zu
"""
_SHORT_LANGUAGES = dict(pair.split(":") for pair in _LONG_LANGUAGES.split())

# ISO 3166-1: codes of three letters, which no language tag has, and what is written for the scripts of Chinese.
_LONG_REGIONS = """
    are:ae arg:ar aus:au aut:at bel:be bgr:bg bhr:bh bra:br can:ca che:ch chl:cl chn:cn col:co cze:cz deu:de dnk:dk
    dza:dz egy:eg esp:es est:ee fin:fi fra:fr gbr:gb grc:gr hkg:hk hrv:hr hun:hu idn:id ind:in irl:ie irq:iq isr:il
    ita:it jor:jo jpn:jp kor:kr kwt:kw lbn:lb ltu:lt lux:lu lva:lv mar:ma mex:mx mys:my nld:nl nor:no nzl:nz
    omn:om pak:pk per:pe phl:ph pol:pl prt:pt qat:qa rou:ro rus:ru sau:sa sgp:sg srb:rs svk:sk svn:si swe:se tha:th
    tun:tn tur:tr twn:tw ukr:ua usa:us vnm:vn zaf:za
"""
SHORT_REGIONS = {long: short.upper() for long, short in (pair.split(":") for pair in _LONG_REGIONS.split())}
_SCRIPTS_OF_CHINESE = {"chs": "Hans", "cht": "Hant"}
_LONG_REGION = re.compile(r"(?P<language>[a-z]{2,3})[-_](?P<region>[a-z]{3})", re.IGNORECASE)
_DEFAULTS = frozenset({"x_default", "xdefault", "x default"})

# The extended languages of those whose regions are often written with three letters, too.
_EXTENDED_LANGUAGES = {
    "ar": "aao abh abv acm acq acw acx acy adf aeb aec afb ajp apc apd arb arq ars ary arz auz avl ayh ayl ayn ayp bbz "
    "pga shu ssh",
    "zh": "cdo cjy cmn cnp cpx csp czh czo gan hak hsn lzh mnp nan wuu yue",
}
_EXTENDED = "|".join(f"{each}-(?:{names.replace(' ', '|')})" for each, names in _EXTENDED_LANGUAGES.items())
# RFC 5646 2.1: language, extended language, script, region, variants, extensions and private use. Of languages of four
# letters and more none is registered, and extended ones only behind these.
_TAG = re.compile(
    rf"(?P<language>{_EXTENDED}|(?:kok|lv|ms|sgn|sw|uz)-[a-z]{{3}}|[a-z]{{2,3}})"
    r"(?:-(?P<script>[a-z]{4}))?"
    r"(?:-(?P<region>[a-z]{2}|[0-9]{3}))?"
    r"(?:-(?:[a-z0-9]{5,8}|[0-9][a-z0-9]{3}))*"
    r"(?:-[0-9a-wy-z](?:-[a-z0-9]{2,8})+)*"
    r"(?:-x(?:-[a-z0-9]{1,8})+)?",
    re.IGNORECASE,
)


@lru_cache(1_000)  # a hostile site may have any number of codes
def hreflang_fault(code: str) -> str | None:
    """The fault of a code as text; None for a valid one.

    >>> hreflang_fault("en_us"), hreflang_fault("en-UK"), hreflang_fault("zh-Hant-TW"), hreflang_fault("x-default")
    ('it is written with a hyphen, en-us', 'uk is no region; GB is meant', None, None)
    """
    if code.lower() == DEFAULT:
        return None
    if code.lower() in _DEFAULTS:
        return f"it is written {DEFAULT}"
    match = _TAG.fullmatch(code)
    if match is not None:
        return _language_fault(match) or _region_fault(match)
    hyphened = code.replace("_", "-")
    if _TAG.fullmatch(hyphened):
        return f"it is written with a hyphen, {hyphened}"
    if long := _LONG_REGION.fullmatch(code):
        region = long["region"].lower()
        scripts = _SCRIPTS_OF_CHINESE if long["language"].lower() == "zh" else {}
        return f"{region} is no region" + _hint(scripts.get(region) or SHORT_REGIONS.get(region))
    return "no language code"


def _language_fault(match: re.Match[str]) -> str | None:
    language = match["language"].partition("-")[0].lower()
    if language in _SHORT_LANGUAGES:
        return f"{language} is written with two letters, {_SHORT_LANGUAGES[language]}"
    if len(language) != 2 or language in LANGUAGES:
        return None
    return f"{language} is no language" + _hint(_INTENDED_LANGUAGES.get(language))


def _region_fault(match: re.Match[str]) -> str | None:
    region = (match["region"] or "").lower()
    if not region or region.isdigit() or region in REGIONS:
        return None
    return f"{region} is no region" + _hint(_INTENDED_REGIONS.get((match["language"].lower(), region)))


def _hint(other: str | None) -> str:
    return f"; {other} is meant" if other else ""


# Codes of a missing tag.
_MISSING_TAG = frozenset({"L02", "L04", "V01", "V02"})
_Fault = TypeVar("_Fault", bound=tuple[Any, ...])


def _certain(faults: Iterable[_Fault], batch: UrlBatch, index: int) -> Iterable[_Fault]:
    """The faults of a URL, each with its code first; without those of a missing tag if the document ends inside it."""
    if not _is_cut(batch.problems.get(index, ())):
        return faults
    return (fault for fault in faults if fault[0] not in _MISSING_TAG)


def _is_cut(problems: Iterable[Problem]) -> bool:
    return any(each.kind == "document cut off" for each in problems)


_UNREACHABLE = 1_000_000  # counts as pages that are still missing: the set is never complete


class HreflangAttributes(Check):
    """The alternates of one entry (L01, L02, L04, L05)."""

    codes = ("L01", "L02", "L04", "L05")

    def on_urls(self, batch: UrlBatch, findings: Findings) -> None:
        are_pages = _are_web_urls(batch.items("alternates", "href"))
        for index, (hrefs, codes, media) in batch.lists("alternates", "href", "hreflang", "media"):
            loc = batch.locs[index]
            if are_pages and loc in hrefs and _are_faultless(tuple(codes)):
                continue
            faults = _faults(loc, [*map(Alternate, codes, hrefs, media)])
            for code, message, field, raw in _certain(faults, batch, index):
                findings.report(code, message, **place_of(batch, index), field=field, raw=raw)


@lru_cache(100)
def _are_faultless(codes: tuple[str | None, ...]) -> bool:
    """Whether nothing is wrong with the alternates of a page that have these codes, if it is one of them."""
    lower = {code.lower() for code in codes if code}
    is_default_known = DEFAULT in lower or len(codes) == 1
    return len(lower) == len(codes) and is_default_known and not any(hreflang_fault(code.strip()) for code in lower)


def _faults(loc: str, stated: list[Alternate]) -> Iterator[tuple[str, str, str, str | None]]:
    """Code, message, field and raw text of each problem of a page with these alternates."""
    alternates = [each for each in stated if is_translation(each.hreflang, each.href)]
    for each in stated:
        if not (each.hreflang or each.media) and is_web_url(each.href):
            yield "L01", f"the alternate {each.href} of {loc} has no hreflang", "xhtml:link hreflang", each.href
    if not alternates:
        return
    codes = {each.hreflang for each in alternates if each.hreflang}
    for code in sorted(codes):
        if fault := hreflang_fault(code.strip()):
            yield "L01", f'hreflang "{code}" of {loc}: {fault}', "xhtml:link hreflang", code
    if url_key(loc) not in {url_key(each.href) for each in alternates}:
        yield "L02", f"{loc} is not among its own alternates", "xhtml:link href", None
    if len(alternates) > 1 and not any(code.lower() == DEFAULT for code in codes):
        message = f"{loc} has {len(alternates):,} alternates, and none is the x-default"
        yield "L04", message, "xhtml:link hreflang", None
    for code, hrefs in _ambiguous(alternates):
        message = f"{loc} has {len(hrefs):,} pages for {code}: {', '.join(sorted(hrefs)[:3])}"
        yield "L05", message, "xhtml:link href", code


def is_translation(hreflang: str | None, href: str) -> bool:
    """Whether an alternate is neither a link into an app nor, with only `media`, for another device."""
    return bool(hreflang) and is_web_url(href)


def _are_web_urls(urls: list[str]) -> bool:
    """Whether all begin with one of the schemes of the web; if not, is_web_url() of each may still be true."""
    ends = min(urls, default=""), max(urls, default="")
    return any(all(url.startswith(scheme) for url in ends) for scheme in ("https://", "http://"))


def _ambiguous(alternates: list[Alternate]) -> list[tuple[str, set[str]]]:
    """Codes, in lower case, with several URLs for the same media."""
    hrefs: dict[tuple[str, str | None], dict[int, str]] = {}
    for each in alternates:
        hrefs.setdefault(((each.hreflang or "").lower(), each.media), {})[url_key(each.href)] = each.href
    return [(code, {*pages.values()}) for (code, _), pages in hrefs.items() if len(pages) > 1]


# A block has the entries of a batch: arrays of the keys of their sets and pages, of where the links of each end, and of
# the keys of all links; the number of links of pages to themselves; and as JSON the loc and line of each entry, and
# code and URL of each link.
_SCHEMA = """
CREATE TABLE block (sitemap TEXT, sets BLOB, pages BLOB, ends BLOB, links BLOB, own INTEGER, texts BLOB);
CREATE TABLE link (
  page INTEGER, other INTEGER, block INTEGER, entry INTEGER, place INTEGER, is_judged INTEGER, UNIQUE (page, other)
);
"""
_MISSING_RETURN = """
SELECT other, block, entry, place FROM link
WHERE is_judged AND NOT EXISTS (SELECT 1 FROM link AS back WHERE back.page = link.other AND back.other = link.page)
ORDER BY link.rowid
"""


class HreflangReturnTags(WholeSiteCheck):
    """Pages that do not link back to a page that names them as an alternate (L03).

    Usually all pages of a set state the same set: then counting them is enough. Entries are kept in a temporary
    database, where the links of incomplete sets are compared at the end. A sitemap that was not read completely may
    state the alternates of a page that another lists without any: then only pages count that have theirs in one that
    was.
    """

    codes = ("L03",)

    def __init__(self, listings: DuplicateUrls) -> None:
        super().__init__()
        self._listings = listings
        self._whole: set[str | None] = set()  # sitemaps that were read completely
        # Key of a set -> pages that have not stated it yet; complete sets are removed.
        self._missing: dict[int, int] = {}
        self._db: sqlite3.Connection | None = None
        self._is_skipped = False

    def on_urls(self, batch: UrlBatch, findings: Findings) -> None:
        """Stores the links of the URLs. A set with a page that is listed twice cannot be counted."""
        codes, hrefs = batch.items("alternates", "hreflang"), batch.items("alternates", "href")
        if not hrefs or self._is_skipped:
            return
        if all(codes) and _are_web_urls(hrefs):
            numbers = dict(enumerate(batch.counts("alternates")))
        else:
            are_translations = [*map(is_translation, codes, hrefs)]
            numbers = Counter(compress(batch.owners("alternates"), are_translations))
            codes, hrefs = ([*compress(each, are_translations)] for each in (codes, hrefs))
        keys, page_keys, entries = url_keys(hrefs), url_keys(batch.locs), list[tuple[str, int | None]]()
        sets, pages, ends, stop, own = array("q"), array("q"), array("I"), 0, 0
        for index, number in numbers.items():
            if not number:
                continue
            start, stop = stop, stop + number
            page, links = page_keys[index], keys[start:stop]
            members = frozenset((page, *links))
            missing = self._missing.pop(hash(members), len(members)) - 1
            if page in self._listings.repeated:
                missing = _UNREACHABLE
            if missing:
                self._missing[hash(members)] = missing
            sets.append(hash(members))
            pages.append(page)
            ends.append(stop)
            own += links.count(page)
            entries.append((batch.locs[index], batch.lines[index]))
        if not entries:
            return
        arrays = map(bytes, (sets, pages, ends, array("q", keys)))
        row = (batch.sitemap, *arrays, own, orjson.dumps([entries, codes, hrefs]))
        with self._skipping_on_full_disk(), temp_database_errors():
            self._db = self._db or temporary_database(_SCHEMA)
            self._db.execute("INSERT INTO block VALUES (?, ?, ?, ?, ?, ?, ?)", row)

    def on_outcome(self, outcome: Outcome, findings: Findings) -> None:
        super().on_outcome(outcome, findings)
        if outcome.complete:
            self._whole.add(outcome.url)

    def on_end(self, findings: Findings) -> None:
        """Compares the links; pages that no sitemap lists are left out, as their alternates are unknown."""
        if self._db is not None:
            with closing(self._db), self._skipping_on_full_disk(), temp_database_errors():
                self._compare(self._db, findings)
            self._db = None

    @contextmanager
    def _skipping_on_full_disk(self) -> Iterator[None]:
        """A full disk skips this rule only; a note states it."""
        try:
            yield
        except OSError as exc:
            self._is_skipped = True
            self.notes.append(f"L03 was not checked: {exc.strerror or exc}")

    def _compare(self, db: sqlite3.Connection, findings: Findings) -> None:
        incomplete, self._missing = self._missing.keys(), {}
        if not incomplete:
            return
        listed, unlinked = self._listings.first.keys(), set[int]()
        # Pages of complete sets link back within their set; incomplete sets and a second listing may name them, too.
        named = {
            key for _, _, pages, _, links in _entries(db, listed, unlinked) if pages in incomplete for key in links
        }
        rows = (
            (page, key, block, entry, place, pages in incomplete)
            for block, entry, pages, page, links in _entries(db, listed, unlinked)
            if pages in incomplete or page in named
            for key, place in links.items()
        )
        db.executemany("INSERT OR IGNORE INTO link VALUES (?, ?, ?, ?, ?, ?)", rows)
        blocks = () if self.has_all_sitemaps else db.execute("SELECT sitemap, pages FROM block")
        stated = {page for sitemap, pages in blocks if sitemap in self._whole for page in array("q", pages)}
        unknown = last_block = 0
        for page, block, entry, place in db.execute(_MISSING_RETURN):
            if not self.has_all_sitemaps and page not in stated:
                unknown += 1
                continue
            if block != last_block:
                last_block = block
                sitemap, texts = db.execute("SELECT sitemap, texts FROM block WHERE rowid = ?", (block,)).fetchone()
                entries, codes, hrefs = orjson.loads(texts)
            (loc, line), code, href = entries[entry], codes[place], hrefs[place]
            message = f"{loc} names {href} for {code}, which does not link back"
            findings.report("L03", message, sitemap=sitemap, line=line, field="xhtml:link href", raw=href, url=loc)
        if unknown:
            links = f"{count_of(unknown, 'link')} to pages whose alternates may be in the others"
            self.leave_out(self.codes, f"{INCOMPLETE}: L03 not checked for {links}")


def _entries(
    db: sqlite3.Connection, listed: KeysView[int], unlinked: set[int]
) -> Iterator[tuple[int, int, int, int, dict[int, int]]]:
    """The entries with links to other listed pages: block, place in it, keys of set and page, key -> place of links."""
    for block, sets, pages, ends, links, own in db.execute("SELECT rowid, sets, pages, ends, links, own FROM block"):
        if block in unlinked:
            continue
        keys, stop = array("q", links), 0
        are_listed = bytes(map(listed.__contains__, keys))
        if sum(are_listed) == own:
            unlinked.add(block)  # of the next calls
            continue
        entries = zip(array("q", sets), array("q", pages), array("I", ends), strict=True)
        for entry, (pages_key, page, end) in enumerate(entries):
            start, stop = stop, end
            some = compress(range(start, stop), are_listed[start:stop])
            if places := {keys[at]: at for at in some if keys[at] != page}:
                yield block, entry, pages_key, page, places


# --- news, videos, images ---

MAX_NEWS = 1_000
MAX_IMAGES = 1_000
MAX_NEWS_AGE = timedelta(hours=48)
MAX_DESCRIPTION_CHARACTERS = 2_048

_REQUIRED_OF_NEWS = {
    "name": "publication name",
    "language": "publication language",
    "publication_date": "publication_date",
    "title": "title",
}
# As in News.
_KEYS_OF_NEWS = ("name", "language", "title", "publication_date", "publication_date_precision")
_REQUIRED_OF_VIDEOS = ("thumbnail_loc", "title", "description")
# Google's documentation asks for ISO 639 codes, of two or three letters, and for these two.
_CHINESE = frozenset({"zh-cn", "zh-tw"})


class NewsCount(PerSitemapCheck[int]):
    """Sitemaps with over 1,000 news items (N01)."""

    codes = ("N01",)
    new_stats = int

    def on_urls(self, batch: UrlBatch, findings: Findings) -> None:
        self.stats[batch.sitemap or ""] += sum(batch.counts("news"))

    def check_sitemap(self, sitemap: str, stats: int, outcome: Outcome | None, findings: Findings) -> None:
        if stats > MAX_NEWS:
            findings.report("N01", f"{stats:,} news items; Google reads {MAX_NEWS:,}", sitemap=sitemap)


class NewsItems(Check):
    """News that are too old, incomplete, or have an invalid language (N02 to N04)."""

    codes = ("N02", "N03", "N04")

    def __init__(self, now: datetime) -> None:
        self._now = now

    def on_urls(self, batch: UrlBatch, findings: Findings) -> None:
        columns = [batch.items("news", key) for key in _KEYS_OF_NEWS]
        if not columns[0]:
            return
        news = dict(zip(batch.owners("news"), map(News, *columns), strict=True))
        missing = ((index, _missing_of_news(each, batch.problems.get(index, ()))) for index, each in news.items())
        faults = {index: words for index, words in missing if words}
        findings.report_urls("N03", batch, faults, lambda loc, words: (f"{loc}: no {words}", "news:news", None))
        old = {index: each for index, each in news.items() if self._is_old(each)}
        findings.report_urls("N02", batch, old, _describe_old)
        languages = {index: each.language for index, each in news.items() if each.language}
        strange = {index: each for index, each in languages.items() if not is_publication_language(each)}
        findings.report_urls(
            "N04", batch, strange, lambda loc, code: (f'{loc}: "{code}" is no ISO 639 code', "news:language", code)
        )

    def _is_old(self, news: News) -> bool:
        date, precision = news.publication_date, news.publication_date_precision or "second"
        return date is not None and self._now - period_end(date, precision) > MAX_NEWS_AGE


def _missing_of_news(news: News, problems: Iterable[Problem]) -> str:
    """What is missing, in words; nothing if the document ends there. An unreadable date is D01 instead."""
    missing = [field for field in _REQUIRED_OF_NEWS if not getattr(news, field)]
    if not missing or _is_cut(problems):
        return ""
    unreadable = {problem.field for problem in problems if problem.code == "D01"}
    return ", ".join(_REQUIRED_OF_NEWS[field] for field in missing if f"news:{field}" not in unreadable)


def _describe_old(loc: str, news: News) -> Description:
    day = format_date(news.publication_date or EPOCH, news.publication_date_precision or "second")
    return f"{loc}: published {day}, over 48 hours ago", "news:publication_date", day


def is_publication_language(code: str) -> bool:
    """Whether it is zh-cn, zh-tw, a code of ISO 639-1, or any three letters."""
    name = code.lower()
    return name in _CHINESE or name in LANGUAGES or (len(name) == 3 and name.isascii() and name.isalpha())


class Videos(Check):
    """Videos without required fields, or with invalid ones (V01 to V04)."""

    codes = ("V01", "V02", "V03", "V04")

    def on_urls(self, batch: UrlBatch, findings: Findings) -> None:
        for index in compress(count(), batch.counts("videos")):
            record = batch.record(index)
            for video in record.videos:
                for code, field, detail in _certain(_video_faults(video, record.loc), batch, index):
                    findings.report(code, f"{record.loc}: {detail}", **place_of(batch, index), field=field)


def _video_faults(video: Video, page: str) -> Iterator[tuple[str, str, str]]:
    missing = [name for name in _REQUIRED_OF_VIDEOS if not getattr(video, name)]
    if missing:
        yield "V01", f"video:{missing[0]}", f"a video without {', '.join(missing)}"
    player = video.player_loc["value"] if video.player_loc else None
    if not video.content_loc and not player:
        yield "V02", "video:content_loc", "a video with neither content_loc nor player_loc"
    if video.content_loc == page:
        yield "V03", "video:content_loc", "content_loc is the page itself"
    length = len(video.description or "")
    if length > MAX_DESCRIPTION_CHARACTERS:
        yield "V04", "video:description", f"a description of {length:,} characters; 2,048 are allowed"


class Images(Check):
    """Pages with over 1,000 images (I01)."""

    codes = ("I01",)

    def on_urls(self, batch: UrlBatch, findings: Findings) -> None:
        counts = enumerate(batch.counts("images"))
        faults = {index: number for index, number in counts if number > MAX_IMAGES}
        words = f"images; Google reads {MAX_IMAGES:,}"
        findings.report_urls("I01", batch, faults, lambda loc, each: (f"{loc}: {each:,} {words}", "image:image", None))


CHECKS: CheckFactories = (
    lambda _: HreflangAttributes(),
    lambda context: HreflangReturnTags(context.listings),
    lambda context: NewsItems(context.now),
    lambda _: NewsCount(),
    lambda _: Videos(),
    lambda _: Images(),
)
