"""Checks of the extensions by Google's documentation: hreflang (L codes), news (N), videos (V) and images (I)."""

from __future__ import annotations

import re
import zlib
from array import array
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, KeysView, Mapping, Sequence
from contextlib import closing, contextmanager
from datetime import datetime, timedelta
from functools import lru_cache
from itertools import compress, count
from operator import itemgetter
from typing import TYPE_CHECKING, Any, TypeVar

import attrs
import orjson

from ..frontier.lastmod_trust import is_future
from ..model.problems import count_of, report
from ..model.records import Alternate, News
from ..parser.normalise.dates import format_date, period_end
from ..parser.normalise.urls import host, is_web_url
from ..state.schema import temp_database_errors, temporary_database
from .dates import zone_doubt
from .documents import INCOMPLETE, PerSitemapCheck, WholeSiteCheck
from .findings import Check, location, place_of, url_key, url_keys
from .spellings import with_other_end

if TYPE_CHECKING:
    import sqlite3

    from ..model.problems import PageKind, Problem, Severity
    from ..model.records import Outcome, Precision, SitemapRef, Video
    from ..model.url_batch import UrlBatch
    from .documents import CheckFactories, DuplicateUrls, PageResults
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
    "vn": "vi", "at": "de-AT", "mx": "es-MX", "sp": "es",
}  # fmt: skip
# Language and region -> the region intended. Without the language it is a guess: sp is written for Spain and Serbia.
_INTENDED_REGIONS = {("es", "sp"): "ES", ("ca", "sp"): "ES", ("sr", "sp"): "RS", ("en", "uk"): "GB", ("uk", "uk"): "UA"}
# ISO 639-2: codes of three letters for languages that have one of two, which is the one to use (RFC 5646 2.2.1).
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

# Languages without a code of two letters that Google's pages or sites often name -> the nearest one of two.
_MACROLANGUAGES = {"fil": "tl", "cmn": "zh", "yue": "zh-HK", "arb": "ar", "pes": "fa", "prs": "fa-AF", "ckb": "ku"}

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

# Well-formed codes that are hardly ever meant: code | what it says | what is usually meant. Those of a language that is
# written for its country are in doubt only where a set has none of the codes behind the last bar, or a page of these
# hosts: Belarusian pages have Russian versions, and stand below .by.
_RARELY_MEANT = """
    es-la | Spanish in Laos | es for Latin America, or a code for each country
    es-am | Spanish in Armenia | es for the Americas, or a code for each country
    es-sa | Spanish in Saudi Arabia | es for South America, or a code for each country
    ar-me | Arabic in Montenegro | ar for the Middle East, or a code for each country
    pt-la | Portuguese in Laos | pt-BR
    ae | Avestan | ar-AE | ae-
    be | Belarusian | nl-BE or fr-BE for Belgium | be- ru .by
    br | Breton | pt-BR for Brazil | br- fr .bzh
    ch | Chamorro | de-CH, fr-CH or it-CH for Switzerland | ch- .gu .mp
    co | Corsican | es-CO for Colombia | co- .corsica
    cr | Cree | es-CR for Costa Rica | cr-
    ee | Ewe | et for Estonian | ee- et .gh .tg
    ie | Interlingue | en-IE for Ireland | ie- ia eo
    in | Indonesian, by its old code | id for Indonesian, or en-IN or hi-IN for India
    kr | Kanuri | ko for Korean | kr- ko ha .ng .ne
    sa | Sanskrit | ar-SA for Saudi Arabia | sa- hi
    se | Northern Sami | sv for Swedish | se- sv nb no fi
    sg | Sango | en-SG for Singapore | sg- .cf
    tw | Twi | zh-TW for Taiwan | tw- zh .gh
    za | Zhuang | en-ZA for South Africa | za- zh
    ae-ae | Avestan in the United Arab Emirates | ar-AE
    ar-ar | Arabic in Argentina | ar
    be-be | Belarusian in Belgium | nl-BE or fr-BE
    br-br | Breton in Brazil | pt-BR
    bs-bs | Bosnian in the Bahamas | bs-BA
    ca-ca | Catalan in Canada | ca-ES, or en-CA or fr-CA
    ch-ch | Chamorro in Switzerland | de-CH, fr-CH or it-CH
    co-co | Corsican in Colombia | es-CO
    cr-cr | Cree in Costa Rica | es-CR
    cu-cu | Church Slavonic in Cuba | es-CU
    ee-ee | Ewe in Estonia | et-EE
    et-et | Estonian in Ethiopia | et-EE
    ga-ga | Irish in Gabon | ga-IE
    gl-gl | Galician in Greenland | gl-ES
    ie-ie | Interlingue in Ireland | en-IE
    kr-kr | Kanuri in Korea | ko-KR
    ms-ms | Malay in Montserrat | ms-MY
    my-my | Burmese in Malaysia | ms-MY
    sg-sg | Sango in Singapore | en-SG
    si-si | Sinhala in Slovenia | sl-SI
    sl-sl | Slovenian in Sierra Leone | sl-SI
    sr-sr | Serbian in Suriname | sr-RS
    sv-sv | Swedish in El Salvador | sv-SE, or es-SV
    tw-tw | Twi in Taiwan | zh-TW
    vi-vi | Vietnamese on the US Virgin Islands | vi-VN
    za-za | Zhuang in South Africa | en-ZA
"""
DOUBTS = {
    code.strip(): (says.strip(), meant.strip(), tuple(signs.split()))
    for code, says, meant, signs in ((*line.split("|"), "")[:4] for line in _RARELY_MEANT.strip().split("\n"))
}

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
    r"(?P<more>(?:-(?:[a-z0-9]{5,8}|[0-9][a-z0-9]{3}))*"
    r"(?:-[0-9a-wy-z](?:-[a-z0-9]{2,8})+)*"
    r"(?:-x(?:-[a-z0-9]{1,8})+)?)",
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
        return _language_fault(match) or _region_fault(match) or _unsupported(match)
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


def _unsupported(match: re.Match[str]) -> str | None:
    """What a well-formed tag has beyond the ISO 639-1, ISO 15924 and ISO 3166-1 alpha-2 that Google documents."""
    language, _, extended = match["language"].partition("-")
    region = match["region"] or ""
    if region.isdigit():
        return f"{region} is a UN code of a region, and Google supports countries only"
    if more := extended or match["more"].strip("-"):
        return f"Google supports language, script and country only, and not {more}"
    if len(language) == 3:
        other = _MACROLANGUAGES.get(language.lower())
        return f"Google supports languages of two letters (ISO 639-1) only, and not {language}" + (
            f"; {other} is the nearest" if other else ""
        )
    return None


@lru_cache(1_000)
def hreflang_doubt(code: str, codes: tuple[str, ...], name: str) -> str | None:
    """What a code says that is hardly ever meant, on a page of this host that has these codes; None for others.

    >>> hreflang_doubt("kr", ("en", "kr"), "a.example"), hreflang_doubt("be", ("be", "ru"), "a.example")
    ('it says Kanuri; usually ko for Korean is meant', None)
    """
    says, meant, signs = DOUBTS.get(code.lower(), ("", "", ()))
    others = {each.lower() for each in codes} - {code.lower()}
    # `be-` stands for be-BY and be-Latn, but not for be-BE, which is in doubt itself.
    languages = {f"{each.partition('-')[0]}{'-' * ('-' in each)}" for each in others - DOUBTS.keys()}
    languages |= {each.removesuffix("-") for each in languages if each != f"{code.lower()}-"}
    is_sure = any(name.endswith(sign) if sign.startswith(".") else sign in languages for sign in signs)
    return f"it says {says}; usually {meant} is meant" if says and not is_sure else None


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


_MOST_UNLISTED = 10_000  # alternates that L07 reports, or the rest of a block more
_UNREACHABLE = 1_000_000  # counts as pages that are still missing: the set is never complete


class HreflangAttributes(Check):
    """The alternates of one entry (L01, L02, L04, L05, L11)."""

    codes = ("L01", "L02", "L04", "L05", "L11")

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
    is_clear = len(lower) == len(codes) and is_default_known and DOUBTS.keys().isdisjoint(lower)
    return is_clear and not any(hreflang_fault(code.strip()) for code in lower)


def _faults(loc: str, stated: list[Alternate]) -> Iterator[tuple[str, str, str, str | None]]:
    """Code, message, field and raw text of each problem of a page with these alternates."""
    alternates = [each for each in stated if is_translation(each.hreflang, each.href)]
    for each in stated:
        if not (each.hreflang or each.media) and is_web_url(each.href):
            yield "L01", f"the alternate {each.href} of {loc} has no hreflang", "xhtml:link hreflang", each.href
    if not alternates:
        return
    codes = {each.hreflang for each in alternates if each.hreflang}
    ordered = tuple(sorted(codes))
    for code in ordered:
        if fault := hreflang_fault(code.strip()):
            yield "L01", f'hreflang "{code}" of {loc}: {fault}', "xhtml:link hreflang", code
        elif code.strip().lower() in DOUBTS and (doubt := hreflang_doubt(code.strip(), ordered, host(loc))):
            yield "L11", f'hreflang "{code}" of {loc}: {doubt}', "xhtml:link hreflang", code
    # Also those without a code, which is L01.
    hrefs = {
        url_key(each.href): each.href for each in stated if is_web_url(each.href) and (each.hreflang or not each.media)
    }
    if url_key(loc) not in hrefs:
        other = next((hrefs[key] for key in map(url_key, variants(loc)) if key in hrefs), None)
        hint = f", but {other} is" if other else ""
        yield "L02", f"{loc} is not among its own alternates{hint}", "xhtml:link href", other
    if len(alternates) > 1 and not any(code.lower() == DEFAULT for code in codes):
        message = f"{loc} has {len(alternates):,} alternates, and none is the x-default"
        yield "L04", message, "xhtml:link hreflang", None
    for code, pages in _ambiguous(alternates):
        message = f"{loc} has {len(pages):,} pages for {code}: {', '.join(sorted(pages)[:3])}"
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
# Documents arrive in any order; the batches of one keep theirs.
_ORDER = "SELECT rowid FROM block ORDER BY sitemap, rowid"
_BLOCK = "SELECT sets, pages, ends, links, own FROM block WHERE rowid = ?"
_TEXTS = "SELECT sitemap, texts FROM block WHERE rowid = ?"
_MISSING_RETURN = """
SELECT page, other, block, entry, place FROM link
WHERE is_judged AND NOT EXISTS (SELECT 1 FROM link AS back WHERE back.page = link.other AND back.other = link.page)
ORDER BY link.rowid
"""
UNINDEXABLE_ALTERNATE, CONTRADICTORY_PAGE = OF_PAGES = ("L09", "L12")
# What the pages of these codes do.
_UNINDEXABLE = {
    "C01": "answers 4xx or 5xx",
    "C02": "redirects",
    "C03": "is noindex",
    "C04": "has another canonical",
    "C07": "is a soft 404",
    "C08": "does not respond",
}


@attrs.frozen
class _Links:
    """The alternates of one entry, which are translations: keys, codes and URLs."""

    sitemap: str | None
    line: int | None
    loc: str
    page: int
    keys: Sequence[int]
    codes: Sequence[str]
    hrefs: Sequence[str]

    def report(self, code: str, message: str, raw: str, findings: Findings) -> None:
        at: Any = {"sitemap": self.sitemap, "line": self.line, "url": self.loc}
        findings.report(code, message, **at, field="xhtml:link href", raw=raw)

    def codes_of(self, page: int) -> set[str]:
        """The codes of an alternate, in lower case."""
        return {code.strip().lower() for key, code in zip(self.keys, self.codes, strict=True) if key == page}

    def by_key(self) -> dict[int, set[str]]:
        """The key of each alternate -> its codes, in lower case."""
        found: dict[int, set[str]] = {}
        for key, code in zip(self.keys, self.codes, strict=True):
            found.setdefault(key, set()).add(code.strip().lower())
        return found

    def by_code(self) -> dict[str, dict[int, str]]:
        """Each code, in lower case -> its pages: key -> URL."""
        found: dict[str, dict[int, str]] = {}
        for key, code, href in zip(self.keys, self.codes, self.hrefs, strict=True):
            found.setdefault(code.strip().lower(), {})[key] = href
        return found


class HreflangReturnTags(WholeSiteCheck):
    """Pages that do not link back to one that names them as an alternate (L03), or do so under another code (L08).

    Also alternates that no sitemap lists (L07) or that cannot be indexed (L09), and pages that are listed twice with
    different alternates (L10), or that name others themselves (L12).

    Usually all pages of a set state the same set: then counting them is enough. Entries are kept in a temporary
    database, where the links of incomplete sets are compared at the end. A sitemap that was not read completely may
    state the alternates of a page that another lists without any: then only pages count that have theirs in one that
    was.
    """

    codes = ("L03", "L07", "L08", "L09", "L10", "L12")

    def __init__(
        self, listings: DuplicateUrls, page_results: Sequence[PageResults] = (), *, covers_site: bool = False
    ) -> None:
        super().__init__()
        self._listings = listings
        self._page_results = page_results
        self._covers_site = covers_site  # else a sitemap may be one of several, unless robots.txt names it
        self._whole: set[str | None] = set()  # sitemaps that were read completely
        self._hosts: set[str] = set()  # with a listed URL
        # Key of a set, with its codes -> pages that have not stated it yet; complete sets are removed.
        self._missing: dict[int, int] = {}
        self._db: sqlite3.Connection | None = None
        self._is_skipped = False

    def on_urls(self, batch: UrlBatch, findings: Findings) -> None:
        """Stores the links of the URLs. A set with a page that is listed twice cannot be counted."""
        self._hosts.update([host(f"{origin}/") for origin, _ in batch.origins])
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
        common = _common_codes(codes, numbers)
        sets, pages, ends, stop, own = array("q"), array("q"), array("I"), 0, 0
        for index, number in numbers.items():
            if not number:
                continue
            start, stop = stop, stop + number
            page, links = page_keys[index], keys[start:stop]
            itself = links.count(page)
            codes_key, in_order = common or _in_order(tuple(codes[start:stop]))
            set_key = hash((codes_key, in_order(links), 0 if itself else page))
            missing = self._missing.pop(set_key, len({page, *links})) - 1
            if page in self._listings.repeated:
                missing = _UNREACHABLE
            if missing:
                self._missing[set_key] = missing
            sets.append(set_key)
            pages.append(page)
            ends.append(stop)
            own += itself
            entries.append((batch.locs[index], batch.lines[index]))
        if not entries:
            return
        arrays = map(bytes, (sets, pages, ends, array("q", keys)))
        row = (batch.sitemap, *arrays, own, orjson.dumps([entries, codes, hrefs]))
        with self._skipping_on_full_disk(), temp_database_errors():
            self._db = self._db or temporary_database(_SCHEMA)
            self._db.execute("INSERT INTO block VALUES (?, ?, ?, ?, ?, ?, ?)", row)

    def on_ref(self, ref: SitemapRef, findings: Findings) -> None:
        super().on_ref(ref, findings)
        self._covers_site = self._covers_site or (ref.sitemap or "").endswith("/robots.txt")

    def on_outcome(self, outcome: Outcome, findings: Findings) -> None:
        super().on_outcome(outcome, findings)
        if outcome.complete:
            self._whole.add(outcome.url)

    def on_end(self, findings: Findings) -> None:
        """Compares the links; pages that no sitemap lists are left out, as their alternates are unknown."""
        self.unchecked["L12"] = _NO_ALTERNATES
        if self._db is not None:
            with closing(self._db), self._skipping_on_full_disk(), temp_database_errors():
                self._compare(self._db, findings)
            self._db = None

    @contextmanager
    def _skipping_on_full_disk(self) -> Iterator[None]:
        """A full disk skips these rules only; a note states it."""
        try:
            yield
        except OSError as exc:
            self._is_skipped = True
            self.leave_out(self.codes, f"{', '.join(self.codes)} were not checked: {exc.strerror or exc}")

    def _compare(self, db: sqlite3.Connection, findings: Findings) -> None:
        if self._page_results and findings.includes(("L09",)):
            self._find_unindexable(db, findings)
        if findings.includes((CONTRADICTORY_PAGE,)):
            self._find_contradictory_pages(db, findings)
        incomplete, self._missing = self._missing.keys(), {}
        if not incomplete:
            return
        misspelt = self._compare_links(db, incomplete, findings)
        self._find_missing_returns(db, incomplete, misspelt, findings)

    def _find_unindexable(self, db: sqlite3.Connection, findings: Findings) -> None:
        """L09, once for each alternate; a note on those that were not checked."""
        results = dict(result for each in self._page_results for result in each.results())
        known = ((key, next(filter(_UNINDEXABLE.__contains__, codes), None)) for key, codes in results.items())
        faulty = {key: code for key, code in known if code is not None}
        links = unchecked = 0
        for block, arrays in _blocks(db):
            keys = arrays[3]
            links += len(keys)
            unchecked += len(keys) - sum(map(results.__contains__, keys))
            if faulty.keys().isdisjoint(keys):
                continue
            for each in _links_of(db, block, arrays, lambda _, __: True):
                for key, code, href in zip(each.keys, each.codes, each.hrefs, strict=True):
                    if key != each.page and (fault := faulty.pop(key, None)):
                        message = f"{each.loc} names {href} for {code}, which {_UNINDEXABLE[fault]} ({fault})"
                        each.report("L09", message, href, findings)
        if unchecked:
            note = f"{unchecked:,} of {links:,} alternates lead to pages that were not checked"
            self.notes.append(f"L09: {note}")
            if unchecked == links:
                self.unchecked = {**self.unchecked, "L09": note}

    def _find_contradictory_pages(self, db: sqlite3.Connection, findings: Findings) -> None:
        """L12, at the first listing of a page."""
        pages = {key: packed for each in self._page_results for key, packed in each.alternates.items()}
        known = len(pages)
        for block, arrays in _blocks(db):
            if not pages.keys().isdisjoint(arrays[1]):
                for each in _links_of(db, block, arrays, lambda _, page: page in pages):
                    if packed := pages.pop(each.page, None):
                        _report_contradictory_page(each, packed, findings)
        if len(pages) < known:
            del self.unchecked["L12"]

    def _compare_links(
        self, db: sqlite3.Connection, incomplete: KeysView[int], findings: Findings
    ) -> dict[tuple[int, int], str]:
        """L07, L08 and L10. Returns what pages name instead of a listed URL: key of the page, of that URL -> URL."""
        listed, repeated = self._listings.listed, self._listings.repeated
        own_codes: dict[int, set[str]] = {}  # of pages that name themselves
        earlier: dict[int, _Links] = {}  # of pages that are listed again
        unlisted: dict[int, str | None] = {}  # key of an alternate -> the listed URL of which it is a variant
        misspelt: dict[tuple[int, int], str] = {}
        unknown = 0
        unlinked: set[int] = set()  # blocks that name no page that is listed, when L07 has reported enough

        def is_wanted(set_key: int, page: int) -> bool:
            return set_key in incomplete or page in repeated

        def takes(block: int, arrays: _Arrays) -> bool:
            _, pages, _, keys, own = arrays
            names_others = sum(map(listed.__contains__, keys)) > own
            if len(unlisted) > _MOST_UNLISTED and not names_others and repeated.isdisjoint(pages):
                unlinked.add(block)
            return block not in unlinked

        for each in _all_links(db, is_wanted, takes):
            if each.page in repeated:
                _report_contradiction(each, earlier.setdefault(each.page, each), findings)
            if each.page in each.keys:
                own_codes.setdefault(each.page, set()).update(each.codes_of(each.page))
            for key, href in zip(each.keys, each.hrefs, strict=True):
                if key in listed:
                    continue
                is_new = key not in unlisted
                if is_new:
                    unlisted[key] = next((other for other in variants(href) if url_key(other) in listed), None)
                other = unlisted[key]
                if other is not None:
                    misspelt[each.page, url_key(other)] = href
                if is_new and (other is not None or host(href) in self._hosts):
                    if self._has_all_listings:
                        hint = f"; {other} is listed" if other else ""
                        message = f"{href} is an alternate of {each.loc}, and no sitemap lists it{hint}"
                        each.report("L07", message, href, findings)
                    else:
                        unknown += 1
        if unknown and findings.includes(("L07",)):
            reasons = {INCOMPLETE: not self.has_all_sitemaps, "a filter left out URLs": self.is_filtered}
            why = next((why for why, holds in reasons.items() if holds), "these may not be all sitemaps of the site")
            self.leave_out(("L07",), f"{why}: L07 not checked for {count_of(unknown, 'alternate')}")
        if unlinked:
            self.notes.append(f"L07 has the first {len(unlisted):,} alternates; those of other pages were not counted")
        if findings.includes(("L08",)):
            for each in _all_links(db, is_wanted, lambda block, _: block not in unlinked):
                _report_other_codes(each, own_codes, findings)
        return misspelt

    @property
    def _has_all_listings(self) -> bool:
        return self.has_whole_site and self._covers_site

    def _find_missing_returns(
        self,
        db: sqlite3.Connection,
        incomplete: KeysView[int],
        misspelt: dict[tuple[int, int], str],
        findings: Findings,
    ) -> None:
        """L03."""
        listed, unlinked = self._listings.listed, set[int]()
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
        for page, other, block, entry, place in db.execute(_MISSING_RETURN):
            if not self.has_all_sitemaps and other not in stated:
                unknown += 1
                continue
            if block != last_block:
                last_block = block
                sitemap, texts = db.execute(_TEXTS, (block,)).fetchone()
                entries, codes, hrefs = orjson.loads(texts)
            (loc, line), code, href = entries[entry], codes[place], hrefs[place]
            instead = misspelt.get((other, page))
            hint = "" if instead is None else f": it names {instead} instead"
            message = f"{loc} names {href} for {code}, which does not link back{hint}"
            findings.report("L03", message, sitemap=sitemap, line=line, field="xhtml:link href", raw=href, url=loc)
        if unknown:
            links = f"{count_of(unknown, 'link')} to pages whose alternates may be in the others"
            self.leave_out(("L03",), f"{INCOMPLETE}: L03 not checked for {links}")


_InOrder = tuple[int, "Callable[[Sequence[int]], Any]"]


@lru_cache(1_000)
def _in_order(codes: tuple[str, ...]) -> _InOrder:
    """A key of the codes, sorted and in lower case, and a function that brings the links into that order."""
    names = [code.strip().lower() for code in codes]
    order = sorted(range(len(names)), key=names.__getitem__)
    return hash(tuple(names[place] for place in order)), itemgetter(*order)


def _common_codes(codes: list[str], numbers: Mapping[int, int]) -> _InOrder | None:
    """_in_order() of the codes of each entry, if all have the same, as in most batches."""
    counts = {*numbers.values()} - {0}
    first = codes[: min(counts)] if counts else []
    is_common = len(counts) == 1 and codes == first * (len(codes) // len(first))
    return _in_order(tuple(first)) if is_common else None


def _first_difference(one: _Links, other: _Links) -> tuple[str, str, str, str] | None:
    """The first code of which two listings have different pages, one of each, and how many more differ."""
    before, here = one.by_code(), other.by_code()
    codes = sorted(code for code in before.keys() & here.keys() if before[code].keys() != here[code].keys())
    if not codes:
        return None
    (then, *_), (now, *_) = (sorted(pages[codes[0]].values()) for pages in (before, here))
    more = f", and {len(codes) - 1:,} more of its codes differ" if len(codes) > 1 else ""
    return codes[0], then, now, more


def _report_contradiction(links: _Links, first: _Links, findings: Findings) -> None:
    """L10, if two listings of a page have different pages for a code."""
    if links is not first and (found := _first_difference(first, links)):
        code, then, now, more = found
        line = f":{first.line}" if first.line is not None else ""
        message = f"{links.loc} has {now} for {code}, and in {first.sitemap}{line} {then}{more}"
        links.report("L10", message, now, findings)


def packed_alternates(alternates: Sequence[tuple[str, str]]) -> bytes:
    """The hreflang codes of a page and their URLs, in few bytes: the URLs are mostly alike."""
    return zlib.compress(orjson.dumps(alternates), 1)


def _report_contradictory_page(links: _Links, packed: bytes, findings: Findings) -> None:
    """L12, if the page has other pages for a code than its sitemap, or other codes, which is a notice."""
    codes, hrefs = zip(*orjson.loads(zlib.decompress(packed)), strict=True)
    itself = attrs.evolve(links, keys=url_keys(hrefs), codes=codes, hrefs=hrefs)
    if found := _first_difference(links, itself):
        code, listed, now, more = found
        text = f"the page has {now} for {code}, and the sitemap {listed}{more}"
    else:
        here, there = links.by_code().keys(), itself.by_code().keys()
        alone = (("the page", sorted(there - here)), ("the sitemap", sorted(here - there)))
        text = "; ".join(
            f"only {where} has {', '.join(codes[:_MOST_CODES])}{' …' * (len(codes) > _MOST_CODES)}"
            for where, codes in alone
            if codes
        )
        if not text:
            return
    kind, severity = _OF_CONTRADICTORY_PAGES[found is not None]
    at = location(links.sitemap, links.line, links.loc)
    findings.add(report(CONTRADICTORY_PAGE, f"{links.loc}: {text}", kind=kind, severity=severity, **at))


_MOST_CODES = 5  # in a message
_NO_ALTERNATES = "no page that was fetched has hreflang, and has it in the sitemap, too"
# Whether the page has another URL for a code -> kind and severity.
_OF_CONTRADICTORY_PAGES: dict[bool, tuple[PageKind, Severity]] = {
    True: ("another URL for a code", "warning"),
    False: ("codes on one side only", "notice"),
}


def _report_other_codes(links: _Links, own_codes: dict[int, set[str]], findings: Findings) -> None:
    """L08, for pages that name themselves under other codes only. For x-default there is L04."""
    for key, named in links.by_key().items():
        codes, own = named - {DEFAULT}, own_codes.get(key, set()) - {DEFAULT}
        if codes and own and codes.isdisjoint(own) and key != links.page:
            href = links.hrefs[links.keys.index(key)]
            message = f"{links.loc} names {href} for {', '.join(sorted(codes))}, and that itself for "
            links.report("L08", message + ", ".join(sorted(own)), href, findings)


def variants(url: str) -> Iterator[str]:
    """The URL with the other scheme, with or without `www.` and a final slash, and all combinations.

    >>> [*variants("http://a.example/x")][:3]
    ['https://a.example/x', 'http://a.example/x/', 'https://a.example/x/']
    """
    scheme, _, rest = url.partition("://")
    other_host = rest.removeprefix("www.") if rest.startswith("www.") else f"www.{rest}"
    for place in (rest, with_other_end(rest), other_host, with_other_end(other_host)):
        for name in (scheme, "http" if scheme == "https" else "https"):
            if (other := f"{name}://{place}") != url:
                yield other


_Arrays = tuple["array[int]", "array[int]", "array[int]", "array[int]", int]


def _blocks(db: sqlite3.Connection, but: Collection[int] = ()) -> Iterator[tuple[int, _Arrays]]:
    """The blocks in the order of the sitemaps' URLs: keys of sets and pages, ends and keys of links, and `own`."""
    for block in [each for (each,) in db.execute(_ORDER) if each not in but]:
        sets, pages, ends, links, own = db.execute(_BLOCK, (block,)).fetchone()
        yield block, (array("q", sets), array("q", pages), array("I", ends), array("q", links), own)


def _all_links(
    db: sqlite3.Connection, is_wanted: Callable[[int, int], bool], takes: Callable[[int, _Arrays], bool]
) -> Iterator[_Links]:
    """The links of the entries of which set and page are wanted, in the blocks that are taken."""
    for block, arrays in _blocks(db):
        if any(map(is_wanted, arrays[0], arrays[1])) and takes(block, arrays):
            yield from _links_of(db, block, arrays, is_wanted)


def _links_of(
    db: sqlite3.Connection, block: int, arrays: _Arrays, is_wanted: Callable[[int, int], bool]
) -> Iterator[_Links]:
    sets, pages, ends, keys, _ = arrays
    sitemap, texts = db.execute(_TEXTS, (block,)).fetchone()
    entries, codes, hrefs = orjson.loads(texts)
    starts = (0, *ends)
    for (loc, line), set_key, page, start, stop in zip(entries, sets, pages, starts, ends, strict=False):
        if is_wanted(set_key, page):
            yield _Links(sitemap, line, loc, page, keys[start:stop], codes[start:stop], hrefs[start:stop])


def _entries(
    db: sqlite3.Connection, listed: set[int], unlinked: set[int]
) -> Iterator[tuple[int, int, int, int, dict[int, int]]]:
    """The entries with links to other listed pages: block, place in it, keys of set and page, key -> place of links."""
    for block, (sets, pages, ends, keys, own) in _blocks(db, unlinked):
        are_listed, stop = bytes(map(listed.__contains__, keys)), 0
        if sum(are_listed) == own:
            unlinked.add(block)  # of the next calls
            continue
        for entry, (pages_key, page, end) in enumerate(zip(sets, pages, ends, strict=True)):
            start, stop = stop, end
            some = compress(range(start, stop), are_listed[start:stop])
            if places := {keys[at]: at for at in some if keys[at] != page}:
                yield block, entry, pages_key, page, places


# --- news, videos, images ---

MAX_NEWS = 1_000
MAX_IMAGES = 1_000
MAX_NEWS_AGE = timedelta(hours=48)
MAX_TAGS = 32
_RELATIONSHIPS = ("allow", "deny")

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
# Codes of ISO 639 in place of which it asks for one of these two.
_EITHER_CHINESE = frozenset({"zh", "zho", "chi"})


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
    """News that are too old, incomplete, of an invalid language or in the future (N02 to N05)."""

    codes = ("N02", "N03", "N04", "N05")

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
        dated = [
            (index, (date, each.publication_date_precision or "second"), self._doubt(batch, index))
            for index, each in news.items()
            if (date := each.publication_date) is not None
        ]
        old = {index: date for index, date, doubt in dated if self._now - doubt - period_end(*date) > MAX_NEWS_AGE}
        findings.report_urls("N02", batch, old, _published("over 48 hours ago"))
        future = {index: date for index, date, doubt in dated if is_future(*date, self._now + doubt)}
        findings.report_urls("N05", batch, future, _published("which is in the future"))
        languages = {index: each.language for index, each in news.items() if each.language}
        strange = {index: each for index, each in languages.items() if not is_publication_language(each)}
        findings.report_urls(
            "N04", batch, strange, lambda loc, code: (f'{loc}: "{code}" is no ISO 639 code', "news:language", code)
        )
        for index, code in languages.items():
            if code.lower() in _EITHER_CHINESE:
                message = f'{batch.locs[index]}: "{code}" is not zh-cn, Simplified Chinese, nor zh-tw, Traditional'
                place = place_of(batch, index)
                findings.report("N04", message, **place, field="news:language", raw=code, usual="notice")

    @staticmethod
    def _doubt(batch: UrlBatch, index: int) -> timedelta:
        return zone_doubt(batch.problems.get(index, ()), "news:publication_date")


def _missing_of_news(news: News, problems: Iterable[Problem]) -> str:
    """What is missing, in words; nothing if the document ends there. An unreadable date is D01 instead."""
    missing = [field for field in _REQUIRED_OF_NEWS if not getattr(news, field)]
    has_day = news.publication_date_precision not in ("year", "month")
    if (has_day and not missing) or _is_cut(problems):
        return ""
    unreadable = {problem.field for problem in problems if problem.code == "D01"}
    words = [_REQUIRED_OF_NEWS[field] for field in missing if f"news:{field}" not in unreadable]
    return ", ".join(words if has_day else [*words, "day in the publication_date"])


def _published(when: str) -> Callable[[str, tuple[datetime, Precision]], Description]:
    def describe(loc: str, date: tuple[datetime, Precision]) -> Description:
        day = format_date(*date)
        return f"{loc}: published {day}, {when}", "news:publication_date", day

    return describe


def is_publication_language(code: str) -> bool:
    """Whether it is zh-cn, zh-tw, a code of ISO 639-1, or any three letters."""
    name = code.lower()
    return name in _CHINESE or name in LANGUAGES or (len(name) == 3 and name.isascii() and name.isalpha())


class Videos(Check):
    """Videos without required fields, with invalid ones (V01 to V05), or that have expired (V06)."""

    codes = ("V01", "V02", "V03", "V04", "V05", "V06")

    def __init__(self, now: datetime) -> None:
        self._now = now

    def on_urls(self, batch: UrlBatch, findings: Findings) -> None:
        for index in compress(count(), batch.counts("videos")):
            record = batch.record(index)
            doubt = zone_doubt(batch.problems.get(index, ()), "video:expiration_date")
            for video in record.videos:
                for code, field, detail in _certain(_video_faults(video, record.loc, self._now - doubt), batch, index):
                    findings.report(code, f"{record.loc}: {detail}", **place_of(batch, index), field=field)


def _video_faults(video: Video, page: str, now: datetime) -> Iterator[tuple[str, str, str]]:
    missing = [name for name in _REQUIRED_OF_VIDEOS if not getattr(video, name)]
    if missing:
        yield "V01", f"video:{missing[0]}", f"a video without {', '.join(missing)}"
    player = video.player_loc["value"] if video.player_loc else None
    if not video.content_loc and not player:
        yield "V02", "video:content_loc", "a video with neither content_loc nor player_loc"
    for name, url in (("content_loc", video.content_loc), ("player_loc", player)):
        if url == page:
            yield "V03", f"video:{name}", f"{name} is the page itself"
    uploader = (video.uploader and video.uploader["value"]) or ""
    long = (("a", "description", video.description or "", 2_048), ("an", "uploader", uploader, 255))
    for article, field, text, most in long:
        if len(text) > most:
            yield "V04", f"video:{field}", f"{article} {field} of {len(text):,} characters; {most:,} are allowed"
    if len(video.tag) > MAX_TAGS:
        yield "V04", "video:tag", f"a video with {len(video.tag):,} tags; {MAX_TAGS} are allowed"
    if video.duration == 0:
        yield "V05", "video:duration", "a duration of 0 seconds; 1 to 28,800 are allowed"
    for field, limits in (("restriction", video.restriction), ("platform", video.platform)):
        if limits and (limits["relationship"] or "").lower() not in _RELATIONSHIPS:
            yield "V05", f"video:{field} relationship", f"a {field} without relationship allow or deny"
    expires, precision = video.expiration_date, video.expiration_date_precision or "second"
    if expires is not None and period_end(expires, precision) <= now:
        yield "V06", "video:expiration_date", f"a video that expired on {format_date(expires, precision)}"


class Images(Check):
    """Pages with over 1,000 images (I01)."""

    codes = ("I01",)

    def on_urls(self, batch: UrlBatch, findings: Findings) -> None:
        counts = batch.counts("images")
        if max(counts) <= MAX_IMAGES:
            return
        faults = {index: number for index, number in enumerate(counts) if number > MAX_IMAGES}
        words = f"images; Google reads {MAX_IMAGES:,}"
        findings.report_urls("I01", batch, faults, lambda loc, each: (f"{loc}: {each:,} {words}", "image:image", None))


CHECKS: CheckFactories = (
    lambda _: HreflangAttributes(),
    lambda context: HreflangReturnTags(context.listings, context.page_results, covers_site=context.covers_site),
    lambda context: NewsItems(context.now),
    lambda _: NewsCount(),
    lambda context: Videos(context.now),
    lambda _: Images(),
)
