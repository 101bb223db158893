"""Codes of languages, scripts and regions: text in, what is wrong with it out.

Two-letter languages are those of ISO 639-1, regions those of ISO 3166-1, as they stand in the registry of BCP 47.
"""

from __future__ import annotations

import re

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
# Country for language, and the like -> what is meant.
_MEANT = {
    "cn": "zh", "cz": "cs", "dk": "da", "gb": "en-GB", "gr": "el", "jp": "ja", "kr": "ko", "se": "sv", "si": "sl",
    "ua": "uk", "us": "en-US", "vn": "vi", "at": "de-AT", "mx": "es-MX", "be": "", "br": "pt-BR",
}  # fmt: skip
_REGIONS_MEANT = {"uk": "GB", "eu": "", "en": "", "sp": "ES", "jap": "JP"}

# RFC 5646 2.1: language, extended language, script, region, variants, extensions and private use. Of languages of four
# letters and more none is registered, and of extended ones only some behind these.
_TAG = re.compile(
    r"(?P<language>(?:ar|kok|lv|ms|sgn|sw|uz|zh)-[a-z]{3}|[a-z]{2,3})"
    r"(?:-(?P<script>[a-z]{4}))?"
    r"(?:-(?P<region>[a-z]{2}|[0-9]{3}))?"
    r"(?:-(?:[a-z0-9]{5,8}|[0-9][a-z0-9]{3}))*"
    r"(?:-[0-9a-wy-z](?:-[a-z0-9]{2,8})+)*"
    r"(?:-x(?:-[a-z0-9]{1,8})+)?",
    re.IGNORECASE,
)


def hreflang_fault(code: str) -> str | None:
    """What is wrong with a code; None if nothing is.

    >>> hreflang_fault("en_us"), hreflang_fault("en-UK"), hreflang_fault("zh-Hant-TW"), hreflang_fault("x-default")
    ('it is written with a hyphen, en-us', 'uk is no region; GB is meant', None, None)
    """
    if code.lower() == "x-default":
        return None
    match = _TAG.fullmatch(code)
    if match is not None:
        return _language_fault(match) or _region_fault(match)
    hyphened = code.replace("_", "-")
    return f"it is written with a hyphen, {hyphened}" if _TAG.fullmatch(hyphened) else "no language code"


def _language_fault(match: re.Match[str]) -> str | None:
    language = match["language"].partition("-")[0].lower()
    if len(language) != 2 or language in LANGUAGES:
        return None
    return f"{language} is no language" + _meant(_MEANT.get(language))


def _region_fault(match: re.Match[str]) -> str | None:
    region = (match["region"] or "").lower()
    if not region or region.isdigit() or region in REGIONS:
        return None
    return f"{region} is no region" + _meant(_REGIONS_MEANT.get(region))


def _meant(other: str | None) -> str:
    return f"; {other} is meant" if other else ""
