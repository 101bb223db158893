"""What headers and HTML state to search engines; soft 404s; robots directives, also as crawlers' exports write them.

HTML is read by selectolax (Lexbor), which builds the tree that a browser would, also of cut documents: a canonical link
counts in the head only, as search engines ignore it elsewhere.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

import attrs

from ..frontier.responses import is_html
from ..model.errors import UsageError, install_hint
from ..parser.content.charset import declared_charset, decode_body

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from selectolax.lexbor import LexborHTMLParser


_META_CHARSET = re.compile(rb"<meta(?:(?!<meta)[^>])+charset\s*=\s*(?:[\"']\s*)?([\w.:-]+)", re.IGNORECASE)
_LINK = re.compile(r"<([^<>]*)>((?:\s*;\s*[\w*]+\s*(?:=\s*(?:\"[^\"]*\"|[^\s;,\"]*))?)*)")
_REL = re.compile(r";\s*rel\s*=\s*(?:\"([^\"]*)\"|([^\s;,\"]*))", re.IGNORECASE)
_METAS = "meta[name][content]"
_META_CHARSET_BYTES = 1024  # where HTML requires it
_MAX_HEADER = 8192  # characters read of a header, whose lines are joined
_MAX_TEXT = 300  # characters kept of a title and of directives
# Titles are cut into parts at these.
_SEPARATORS = re.compile(r"\s[-–—|·•»«:/]+\s|[|»«]|:\s")
_WORD = re.compile(r"\w+")


@attrs.frozen
class PageSignals:
    """What a page states, as written."""

    title: str | None = None
    heading: str | None = None  # the first h1
    directives: str | None = None  # of robots metas
    header_directives: str | None = None  # of X-Robots-Tag
    noindex: bool = False  # one of them forbids indexing
    canonical: str | None = None  # of the Link header, or else of the head
    base: str | None = None  # of `<base>`, for `canonical`; None for one of the Link header (RFC 8288 3.1)
    has_whole_head: bool = False  # the body of HTML has begun
    words: Counter[str] | None = attrs.field(default=None, repr=False)  # of the visible text; None unless it is HTML


def require_selectolax() -> None:
    try:
        import selectolax.lexbor  # noqa: F401
    except ImportError as exc:
        raise UsageError(f"check_urls needs selectolax: {install_hint('pages')}") from exc


def read_signals(headers: Mapping[str, str], body: bytes) -> PageSignals:
    """The signals of a response; `headers` have lower-case names, `body` may be the beginning of the page."""
    header = headers.get("x-robots-tag", "")[:_MAX_HEADER]
    canonical = next(_link_canonicals(headers.get("link", "")[:_MAX_HEADER]), None)
    noindex = header_forbids_indexing(header)
    if not (body and is_html(headers)):
        return PageSignals(header_directives=header[:_MAX_TEXT] or None, noindex=noindex, canonical=canonical)
    from selectolax.lexbor import LexborHTMLParser  # here: only checks of pages need it

    charset = _META_CHARSET.search(body[:_META_CHARSET_BYTES])
    in_meta = charset and charset[1].decode("latin-1")
    tree = LexborHTMLParser(decode_body(body, declared_charset(headers.get("content-type", "")), in_meta))
    named = [(meta.attributes.get("name") or "", meta.attributes.get("content") or "") for meta in tree.css(_METAS)]
    metas = [content for name, content in named if name.strip().lower() in AGENTS]
    base = tree.css_first("base[href]")  # others do not count
    return PageSignals(
        title=_text(tree, "head title"),
        heading=_text(tree, "h1"),
        directives=", ".join(metas)[:_MAX_TEXT] or None,
        header_directives=header[:_MAX_TEXT] or None,
        noindex=noindex or any(map(forbids_indexing, metas)),
        canonical=canonical or next(_canonicals(tree), None),
        base=base.attributes.get("href") if base and not canonical else None,
        has_whole_head=tree.body is not None and tree.body.first_child is not None,
        words=_words(tree),
    )


def _canonicals(tree: LexborHTMLParser) -> Iterator[str]:
    for link in tree.css("head link[rel][href]"):
        href = (link.attributes.get("href") or "").strip()
        if href and "canonical" in (link.attributes.get("rel") or "").lower().split():
            yield href


def _link_canonicals(header: str) -> Iterator[str]:
    """RFC 8288; RFC 6596 for the relation."""
    for link in _LINK.finditer(header):
        rel = _REL.search(link[2])
        if rel and "canonical" in (rel[1] or rel[2] or "").lower().split():
            yield link[1].strip()


def _text(tree: LexborHTMLParser, selector: str) -> str | None:
    node = tree.css_first(selector)
    return (" ".join(node.text().split())[:_MAX_TEXT] or None) if node else None


def _words(tree: LexborHTMLParser) -> Counter[str]:
    tree.strip_tags(["script", "style", "noscript", "template", "svg"])
    return Counter(_WORD.findall(tree.body.text(separator=" ").lower() if tree.body else ""))


# --- soft 404 ---

# A page that is as the answer for a path that does not exist may have so many words that this has not, as a message
# may repeat the URL. Fewer words than this are a shell that a script fills: what it will show is unknown.
_MOST_OWN_WORDS = 8
_LEAST_SHELL_WORDS = 15


def is_like(page: PageSignals, missing: PageSignals) -> bool:
    """Whether a page is the same as the answer for a path that does not exist: its title, and nearly all its words."""
    if page.words is None or missing.words is None or page.title != missing.title:
        return False
    return page.words.total() >= _LEAST_SHELL_WORDS and (page.words - missing.words).total() <= _MOST_OWN_WORDS


def names_an_error(title: str | None) -> bool:
    """Whether a part of a title or heading is the usual text of an error page.

    >>> names_an_error("Page not found | Lamps"), names_an_error("404"), names_an_error("How to fix a 404")
    (True, True, False)
    """
    parts = _SEPARATORS.split(title or "")
    return any(_ERROR_TITLE.fullmatch(" ".join(part.split()).strip(" .!?¡¿,:;-…")) for part in parts)


# "Page not found", by language, as common systems write it. Other languages: see is_like().
_PHRASES = (
    "(?:sorry[, ]+)?(?:this |the |that )?(?:requested )?(?:page|url|product|item|article|content|document)"
    "(?: you requested| you are looking for)? (?:(?:was |could |can)?not (?:be )?found|(?:does not|doesn.t) exist"
    "|is not available|no longer exists|is no longer available)",
    "not found", "page missing", "file not found", "error 404", "404 error",
    "(?:die )?(?:angeforderte )?(?:seite|datei|artikel|produkt) (?:(?:wurde )?(?:leider )?nicht gefunden"
    "|existiert nicht)", "nicht gefunden", "fehler 404",
    "(?:la )?page (?:non trouvée|introuvable|inexistante)", "erreur 404", "(?:la )?página no (?:encontrada|existe)",
    "página não (?:encontrada|existe)", "páxina non atopada", "pagina non trovata", "errore 404",
    "no s.ha pogut trobar la pàgina", "pagin[aă] (?:inexistentă|nu a fost găsită)", "pagina niet gevonden",
    "bladsy nie gevind nie", "sid(?:en|a) ikke (?:fundet|funnet)", "side(?:n blev)? ikke fundet", "fant ikke siden",
    "sidan (?:kunde inte hittas|hittades inte|finns inte)", "sivua ei löydy", "síða fannst ekki", "lehte ei leitud",
    "lapa nav atrasta", "puslapis nerastas", "nie znaleziono strony", "strona nie została znaleziona",
    "stránka (?:nenalezena|nebyla nalezena|nenájdená|sa nenašla|nebola nájdená)", "strani ni mogoče najti",
    "stranica nije pronađena", "страница није пронађена", "az? (?:keresett )?oldal nem található", "nincs ilyen oldal",
    "страница не (?:найдена|е намерена)", "страницата не е (?:намерена|најдена)", "сторінк[ау] не знайден[ао]",
    "бет табылмады", "sayfa bulunamadı", "səhifə tapılmadı", "η σελίδα δε[ν]? βρέθηκε", "էջը գտնված չէ",
    "გვერდი ვერ მოიძებნა", "ページが(?:見つかりません(?:でした)?|存在しません)",
    "(?:页面没有找到|页面不存在|未找到页面|找不到页面)",
    "(?:找不到[網网]?[頁页]面?|頁面不存在)", "페이지를 찾을 수 없습니다", "không tìm thấy trang(?: nào)?",
    "(?:halaman|laman) tidak (?:ditemukan|dijumpai)", "ไม่พบหน้า(?:นี้|เว็บ)?", "تعذر العثور على الصفحة",
    "الصفحة غير موجودة", "صفحه یافت نشد", "(?:ה?דף|העמוד) לא (?:נמצא|קיים)", "पृष्ठ (?:नहीं मिला|लापता)", "পৃষ্ঠা পাওয়া যায়নি",
)  # fmt: skip
_ERROR_TITLE = re.compile(
    rf"(?:(?:http |error |status )?(?:404|410)(?: error| fehler)?[\s.:,–-]*)?(?:{'|'.join(_PHRASES)})"
    r"(?:[\s,:–-]*\(?(?:error )?404\)?)?|(?:http |error |status )*404(?: error)?",
    re.IGNORECASE,
)


# Rules for these apply to indexing as such.
AGENTS = frozenset({"robots", "googlebot", "bingbot"})
# `max-image-preview:none` is about pictures in results. Without its lookbehind the pattern would read `max-max-…` from
# each `max-`: minutes for a page of 256 KiB.
_LIMITS = re.compile(r"(?<![\w-])max-[\w-]+\s*:\s*[\w-]+")
_NOINDEX = re.compile(r"(?<![\w-])(?:noindex|none)(?![\w-])")
_DIRECTIVE_WITH_VALUE = re.compile(r"(?:max-[\w-]+|unavailable_after)", re.IGNORECASE)
_AGENT = re.compile(r"\s*([\w-]+)\s*:\s*", re.ASCII)
# Between the directives of a header, or its lines; advertools joins values by `@@`.
_DIRECTIVE_SEPARATORS = re.compile(r"[,;\n]|@@")


def forbids_indexing(directives: str) -> bool:
    """Whether directives for robots say noindex; `none` is noindex and nofollow."""
    return bool(directives) and _NOINDEX.search(_LIMITS.sub("", directives.casefold())) is not None


def header_forbids_indexing(header: str) -> bool:
    """Whether X-Robots-Tag forbids indexing to all crawlers, or to the greatest.

    `googlebot: nofollow, otherbot: noindex`: a name counts until the next one, also over the lines of the header, which
    are joined here.
    """
    counts = True
    for part in _DIRECTIVE_SEPARATORS.split(header):
        agent = _AGENT.match(part)
        if agent and not _DIRECTIVE_WITH_VALUE.fullmatch(agent[1]):
            counts = agent[1].lower() in AGENTS
            part = part[agent.end() :]
        if counts and forbids_indexing(part):
            return True
    return False
