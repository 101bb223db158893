"""What headers and HTML state to search engines; soft 404s; robots directives, also as crawlers' exports write them.

HTML is read by selectolax (Lexbor), which builds the tree that a browser would, also of cut documents: a canonical link
counts in the head only, as search engines ignore it elsewhere.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import attrs

from ..frontier.documents import http_date
from ..frontier.responses import is_html
from ..model.errors import UsageError, install_hint
from ..parser.content.charset import declared_charset, decode_body
from ..parser.normalise.dates import parse_date

if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser


_META_CHARSET = re.compile(rb"<meta(?:(?!<meta)[^>])+charset\s*=\s*(?:[\"']\s*)?([\w.:-]+)", re.IGNORECASE)
_LINK = re.compile(r"<([^<>]*)>((?:\s*;\s*[\w*]+\s*(?:=\s*(?:\"[^\"]*\"|[^\s;,\"]*))?)*)")
_REL = re.compile(r";\s*rel\s*=\s*(?:\"([^\"]*)\"|([^\s;,\"]*))", re.IGNORECASE)
_HREFLANG = re.compile(r";\s*hreflang\s*=\s*(?:\"([^\"]*)\"|([^\s;,\"]*))", re.IGNORECASE)
_METAS = "meta[name][content]"
_MODIFIED_METAS = 'meta[property="article:modified_time" i][content], meta[property="og:updated_time" i][content]'
_LINKED_DATA = 'script[type="application/ld+json" i]'
_DATE_MODIFIED = re.compile(r'"dateModified"\s*:\s*"([^"\\]{4,40})"')
# What a page without words may show, or have a script draw.
_CONTENT = (
    "script, img, picture, svg, canvas, video, audio, iframe, frameset, object, embed, form, input, link[rel~=import]"
)
_REFRESH = re.compile(r"\s*(\d+)(?:\.\d*)?\s*[;,]?\s*(?:url\s*=\s*)?([\"']?)(.*)", re.IGNORECASE | re.DOTALL)
_META_CHARSET_BYTES = 1024  # where HTML requires it
_MAX_HEADER = 8192  # characters read of a header, whose lines are joined
_MAX_TEXT = 300  # characters kept of a title and of directives
# Titles are cut into parts at these.
_SEPARATORS = re.compile(r"\s[-–—|·•»«:/]+\s|[|»«]|:\s")
_WORD = re.compile(r"\w+")


@attrs.frozen
class Refresh:
    """To which URL a page leads on by itself, as written, and after how many seconds."""

    seconds: int
    target: str


@attrs.frozen
class PageSignals:
    """What a page states, as written."""

    title: str | None = None
    heading: str | None = None  # the first h1
    directives: str | None = None  # of robots metas
    header_directives: str | None = None  # of X-Robots-Tag
    noindex: bool = False  # one of them forbids indexing
    head_base: str | None = None  # of `<base>`, for all other URLs
    has_whole_head: bool = False  # the body of HTML has begun
    words: Counter[str] | None = attrs.field(default=None, repr=False)  # of the visible text; None unless it is HTML
    header_canonicals: tuple[str, ...] = ()
    head_canonicals: tuple[str, ...] = ()  # of the HTML; "" for one that is empty
    body_canonicals: tuple[str, ...] = ()  # search engines ignore these
    refresh: Refresh | None = None
    has_content: bool = True  # False: HTML without any word, image, frame or script
    # hreflang codes and URLs; None if the header is too long to be read whole.
    header_alternates: tuple[tuple[str, str], ...] | None = ()
    head_alternates: tuple[tuple[str, str], ...] = ()
    modified: tuple[datetime, ...] = ()  # when the page says that it was changed, the earliest first

    @property
    def canonical(self) -> str | None:
        """Of the Link header, or else of the head."""
        return next(filter(None, (*self.header_canonicals[:1], *self.head_canonicals)), None)

    @property
    def base(self) -> str | None:
        """Of `<base>`, for `canonical`; None for one of the Link header (RFC 8288 3.1)."""
        return None if any(self.header_canonicals[:1]) else self.head_base


def require_selectolax() -> None:
    try:
        import selectolax.lexbor  # noqa: F401
    except ImportError as exc:
        raise UsageError(f"check_urls needs selectolax: {install_hint('pages')}") from exc


def read_signals(headers: Mapping[str, str], body: bytes, now: datetime | None = None) -> PageSignals:
    """The signals of a response; `headers` have lower-case names, `body` may be the beginning of the page.

    At `now`, by default the time of the call, an `unavailable_after` has passed or not.
    """
    now = now or datetime.now(UTC)
    header = headers.get("x-robots-tag", "")[:_MAX_HEADER]
    links = headers.get("link", "")
    of_header = PageSignals(
        header_directives=header[:_MAX_TEXT] or None,
        noindex=header_forbids_indexing(header, now),
        header_canonicals=tuple(url for url, _ in _links(links[:_MAX_HEADER], "canonical")),  # RFC 6596
        refresh=read_refresh(headers.get("refresh", "")[:_MAX_HEADER]),
        header_alternates=None if len(links) > _MAX_HEADER else tuple(_link_alternates(links)),
    )
    if not (body and is_html(headers)):
        return of_header
    from selectolax.lexbor import LexborHTMLParser  # here: only checks of pages need it

    charset = _META_CHARSET.search(body[:_META_CHARSET_BYTES])
    in_meta = charset and charset[1].decode("latin-1")
    tree = LexborHTMLParser(decode_body(body, declared_charset(headers.get("content-type", "")), in_meta))
    named = [(meta.attributes.get("name") or "", meta.attributes.get("content") or "") for meta in tree.css(_METAS)]
    metas = [(name.strip().lower(), content) for name, content in named if name.strip().lower() in AGENTS]
    directives = ", ".join(content if name == "robots" else f"{name}: {content}" for name, content in metas)
    in_head = tuple(_canonicals(tree, "head link[rel]"))
    head_alternates = tuple(_alternates(tree))
    base = tree.css_first("base[href]")  # others do not count
    head_base = base.attributes.get("href") if base else None
    title, heading, modified = _text(tree, "head title"), _text(tree, "h1"), _modified(tree)
    has_whole_head = tree.body is not None and tree.body.first_child is not None
    has_elements = tree.css_first(_CONTENT) is not None
    words = _words(tree)  # last: it removes elements
    return attrs.evolve(
        of_header,
        title=title,
        heading=heading,
        directives=directives[:_MAX_TEXT] or None,
        noindex=of_header.noindex or any(forbids_indexing(content, now) for _, content in metas),
        head_base=head_base,
        has_whole_head=has_whole_head,
        words=words,
        head_canonicals=in_head,
        body_canonicals=tuple(_canonicals(tree, "body link[rel]")),
        refresh=of_header.refresh or next(filter(None, map(read_refresh, _refreshes(tree))), None),
        head_alternates=head_alternates,
        has_content=has_elements or bool(words),
        modified=modified,
    )


def _canonicals(tree: LexborHTMLParser, selector: str) -> Iterator[str]:
    for link in tree.css(selector):
        if "canonical" in (link.attributes.get("rel") or "").lower().split():
            yield (link.attributes.get("href") or "").strip()


def _alternates(tree: LexborHTMLParser) -> Iterator[tuple[str, str]]:
    for link in tree.css("head link[rel][hreflang][href]"):
        if "alternate" in (link.attributes.get("rel") or "").lower().split():
            yield (link.attributes.get("hreflang") or "").strip(), (link.attributes.get("href") or "").strip()


def _refreshes(tree: LexborHTMLParser) -> Iterator[str]:
    for meta in tree.css("meta[http-equiv][content]"):
        if (meta.attributes.get("http-equiv") or "").strip().lower() == "refresh":
            yield (meta.attributes.get("content") or "")[:_MAX_HEADER]


def read_refresh(content: str) -> Refresh | None:
    """What a meta refresh, or a Refresh header, states; None if it names no URL, or none at all.

    >>> read_refresh("0; url='/new'")
    Refresh(seconds=0, target='/new')
    >>> read_refresh("300")
    """
    match = _REFRESH.match(content)
    if match is None:
        return None
    target = match[3].partition(match[2])[0] if match[2] else match[3]
    return Refresh(int(match[1][:6]), target.strip()) if target.strip() else None


def _modified(tree: LexborHTMLParser) -> tuple[datetime, ...]:
    texts = [meta.attributes.get("content") or "" for meta in tree.css(_MODIFIED_METAS)]
    for script in tree.css(_LINKED_DATA):
        texts += _DATE_MODIFIED.findall(script.text())
    dates = (parse_date(each.strip()) for each in texts)
    return tuple(sorted(each.moment for each in dates if each is not None))


def _link_alternates(header: str) -> Iterator[tuple[str, str]]:
    for url, parameters in _links(header, "alternate"):
        yield from (((code[1] or code[2] or "").strip(), url) for code in _HREFLANG.finditer(parameters))


def _links(header: str, relation: str) -> Iterator[tuple[str, str]]:
    """The URLs of a Link header with this relation, and their parameters (RFC 8288)."""
    for link in _LINK.finditer(header):
        rel = _REL.search(link[2])
        if rel and relation in (rel[1] or rel[2] or "").lower().split():
            yield link[1].strip(), link[2]


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
LEAST_SHELL_WORDS = 15


def is_like(page: PageSignals, missing: PageSignals) -> bool:
    """Whether a page is the same as the answer for a path that does not exist: its title, and nearly all its words."""
    if page.words is None or missing.words is None or page.title != missing.title:
        return False
    return page.words.total() >= LEAST_SHELL_WORDS and (page.words - missing.words).total() <= _MOST_OWN_WORDS


def is_same_shell(page: PageSignals, missing: PageSignals) -> bool:
    """Whether a page has the title and the few words of the answer for a path that does not exist: it may be either."""
    if page.words is None or page.title != missing.title or page.words.total() >= LEAST_SHELL_WORDS:
        return False
    return page.has_content and page.words == missing.words


def names_an_error(title: str | None) -> bool:
    """Whether a part of a title or heading is the usual text of an error page.

    >>> names_an_error("Page not found | Lamps"), names_an_error("404"), names_an_error("How to fix a 404")
    (True, True, False)
    """
    parts = _SEPARATORS.split(title or "")
    return any(_ERROR_TITLE.fullmatch(" ".join(part.split()).strip(" .!?¡¿,:;-…")) for part in parts)


# "Page not found", by language, as common systems write it. Other languages: see is_like().
_PHRASES = (
    "(?:this |the |that )?(?:requested )?(?:page|url|product|item|article|content|document|object)"
    "(?: you requested| you are looking for)? (?:(?:was |could |can)?not (?:be )?found|(?:does not|doesn.t) exist"
    "|is not available|no longer exists|is no longer available|is gone)",
    "we (?:can.t|cannot|can not|couldn.t|could not) find (?:the|this|that|your) page"
    "(?: (?:you requested|you are looking for|you.re looking for|you were looking for))?",
    "fout 404", "błąd 404", "ошибка 404", "помилка 404", "hata 404",
    "not found", "page missing", "file not found", "error 404", "404 error",
    "(?:die |diese |der |das )?(?:angeforderte |gesuchte |gewünschte )?(?:seite|datei|artikel|produkt) "
    "(?:(?:wurde |konnte )?(?:leider )?nicht gefunden(?: werden)?|existiert (?:leider )?nicht(?: mehr)?"
    "|(?:ist )?(?:leider )?nicht (?:mehr )?(?:verfügbar|vorhanden))", "nicht gefunden", "fehler 404",
    "(?:la |cette )?page (?:demandée |recherchée |que vous (?:re)?cherchez )?(?:(?:est )?(?:non trouvée|introuvable"
    "|inexistante)|n.a pas été trouvée|n.existe (?:pas|plus)|n.est (?:pas|plus) disponible)", "erreur 404",
    "(?:la )?página (?:solicitada |que buscas )?(?:no (?:encontrada|existe|disponible|se encuentra|se ha encontrado"
    "|ha sido encontrada)|inexistente)", "(?:ha ocurrido un )?error 404", "erro 404",
    "(?:a )?página (?:não (?:encontrada|existe|foi encontrada)|inexistente)", "páxina non atopada",
    "(?:la )?pagina (?:richiesta )?(?:non (?:trovata|esiste|disponibile|è stata trovata)|inesistente)", "errore 404",
    "no s.ha pogut trobar la pàgina", "pagin[aă] (?:inexistentă|nu a fost găsită)",
    "pagina (?:is )?niet (?:gevonden|beschikbaar)",
    "bladsy nie gevind nie", "sid(?:en|a) ikke (?:fundet|funnet)", "side(?:n blev)? ikke fundet", "fant ikke siden",
    "sidan (?:kunde inte hittas|hittades inte|finns inte)", "sivua ei löydy", "síða fannst ekki", "lehte ei leitud",
    "lapa nav atrasta", "puslapis nerastas", "nie znaleziono (?:takiej )?strony", "strony nie znaleziono",
    "strona nie (?:została znaleziona|istnieje)",
    "stránka (?:nenalezena|nebyla nalezena|nenájdená|sa nenašla|nebola nájdená)", "strani ni mogoče najti",
    "stranica nije pronađena", "страница није пронађена", "az? (?:keresett )?oldal nem található", "nincs ilyen oldal",
    "(?:запрашиваемая )?страница не (?:найдена|существует|е намерена)",
    "страницата не е (?:намерена|најдена)", "сторінк[ау] не знайден[ао]",
    "бет табылмады", "sayfa bulunamadı", "səhifə tapılmadı", "η σελίδα δε[ν]? βρέθηκε", "էջը գտնված չէ",
    "გვერდი ვერ მოიძებნა", "(?:お探しの)?ページ[がは](?:見つかりません(?:でした)?|存在しません)",
    "(?:(?:您访问的)?页面(?:没有找到|不存在|未找到)|未找到页面|找不到页面)",
    "(?:找不到[網网]?[頁页]面?|頁面不存在)", "페이지를 찾을 수 없(?:습니다|어요|음)", "찾을 수 없는 페이지",
    "không tìm thấy trang(?: nào)?",
    "(?:halaman|laman) tidak (?:ditemukan|dijumpai)", "ไม่พบหน้า(?:นี้|เว็บ)?", "تعذر العثور على الصفحة",
    "الصفحة غير موجودة", "صفحه یافت نشد", "(?:ה?דף|העמוד) לא (?:נמצא|קיים)", "पृष्ठ (?:नहीं मिला|लापता)", "পৃষ্ঠা পাওয়া যায়নি",
)  # fmt: skip
_REGRET = (
    "(?:oops|ooops|whoops|uh.?oh|oh no|sorry|hoppla|ups|leider|désolée?|oups|lo sentimos|lo siento|spiacenti|ops"
    "|desculpe|извините|przepraszamy|helaas|抱歉|很抱歉|对不起|申し訳ありません|죄송합니다)[\\s,.:!¡…，。-]+(?:but )?"
)
_ERROR_TITLE = re.compile(
    rf"(?:(?:http |error |status )?(?:404|410)(?: error| fehler)?[\s.:,–-]*)?(?:{_REGRET})?(?:{'|'.join(_PHRASES)})"
    r"(?:[\s,:–-]*\(?(?:error )?404\)?)?|(?:http |error |status )*(?:404(?: error)?|410(?:[\s:,–-]+gone| error))",
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
_UNAVAILABLE = re.compile(
    r"(?<![\w-])(?:([\w-]{1,40})\s*:\s*)?unavailable_after\s*:\s*([^;|@\n]{4,60})", re.IGNORECASE | re.ASCII
)
_DATE_ENDS = re.compile(r",\s*[a-z]", re.IGNORECASE)
# Between the directives of a header, or its lines; advertools joins values by `@@`.
_DIRECTIVE_SEPARATORS = re.compile(r"[,;\n]|@@")


def forbids_indexing(directives: str, now: datetime | None = None) -> bool:
    """Whether directives for robots say noindex; `none` is noindex and nofollow. So does a past `unavailable_after`."""
    if not directives:
        return False
    is_noindex = _NOINDEX.search(_LIMITS.sub("", directives.casefold())) is not None
    return is_noindex or has_expired(directives, now)


def has_expired(directives: str, now: datetime | None = None) -> bool:
    """Whether `unavailable_after` is over, for all crawlers or one of the greatest; False for what is no date."""
    for match in _UNAVAILABLE.finditer(directives):
        is_counted = match[1] is None or match[1].lower() in AGENTS
        moment = _moment(match[2]) if is_counted else None
        if moment is not None and moment < (now or datetime.now(UTC)):
            return True
    return False


def _moment(text: str) -> datetime | None:
    """A date in one of the usual forms (RFC 822, RFC 850, ISO 8601); what follows it is cut off."""
    text = " ".join(text.split())
    for end in [len(text), *(match.start() for match in reversed([*_DATE_ENDS.finditer(text)]))]:
        date = parse_date(text[:end].strip(), "rss")
        if date is not None:
            return date.moment
    return http_date(text)


def header_forbids_indexing(header: str, now: datetime | None = None) -> bool:
    """Whether X-Robots-Tag forbids indexing to all crawlers, or to the greatest.

    `googlebot: nofollow, otherbot: noindex`: a name counts until the next one, also over the lines of the header, which
    are joined here.
    """
    if has_expired(header, now):
        return True
    counts = True
    for part in _DIRECTIVE_SEPARATORS.split(header):
        agent = _AGENT.match(part)
        if agent and not _DIRECTIVE_WITH_VALUE.fullmatch(agent[1]):
            counts = agent[1].lower() in AGENTS
            part = part[agent.end() :]
        if counts and _NOINDEX.search(_LIMITS.sub("", part.casefold())):
            return True
    return False
