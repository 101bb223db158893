"""What pages state: robots directives, canonical URLs, and which pages are error pages."""

import sys
import time
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sitemap_reader import UsageError
from sitemap_reader.checks import PageSignals, is_like, names_an_error, read_signals, require_selectolax

HTML = {"content-type": "text/html; charset=utf-8"}


def signals(head: str = "", body: str = "<p>text</p>", **headers: str) -> PageSignals:
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    return read_signals({**HTML, **given}, f"<!doctype html><head>{head}</head><body>{body}</body>".encode())


@pytest.mark.parametrize(("head", "noindex"), [
    ('<meta name="robots" content="noindex, follow">', True),
    ('<META NAME=ROBOTS CONTENT="NOINDEX">', True),
    ('<meta name="robots" content="none">', True),
    ('<meta name="robots" content="nofollow noindex">', True),
    ('<meta name="googlebot" content="noindex">', True),
    ('<meta name="robots" content="index"><meta name="googlebot" content="nofollow,noindex">', True),
    ('<meta name="otherbot" content="noindex">', False),
    ('<meta name="robots" content="index, follow, max-image-preview:none">', False),
    ('<meta name="robots" content="max-image-preview: none">', False),
    ('<meta name="description" content="noindex">', False),
    ('<!-- <meta name="robots" content="noindex"> -->', False),
    ('<script>"<meta name=robots content=noindex>"</script>', False),
    ("", False),
])
def test_robots_metas(head: str, noindex: bool) -> None:
    assert signals(head).noindex is noindex


def test_a_long_robots_meta_is_read_at_once() -> None:
    started = time.process_time()
    assert signals(f'<meta name="robots" content="{"max-" * 60_000}, noindex">').noindex
    assert time.process_time() - started < 5  # some 20 ms; a pattern that reads on from each `max-` takes minutes


@pytest.mark.parametrize(("header", "noindex"), [
    ("noindex", True),
    ("nofollow, NOINDEX", True),
    ("none", True),
    ("googlebot: noindex", True),
    ("googlebot: nofollow, otherbot: noindex", False),
    ("otherbot: noindex, nofollow", False),
    ("otherbot: noindex, googlebot: noindex", True),
    ("max-image-preview: none", False),
    ("unavailable_after: 25 Jun 2030 15:00:00 PST, noindex", True),
    ("index", False),
    ("", False),
])
def test_the_robots_header(header: str, noindex: bool) -> None:
    assert signals(x_robots_tag=header).noindex is noindex
    assert read_signals({"x-robots-tag": header, "content-type": "application/pdf"}, b"").noindex is noindex


@pytest.mark.parametrize(("page", "canonical"), [
    (signals('<link rel="canonical" href="/a">'), "/a"),
    (signals('<link href=" /a " rel="shortlink CANONICAL">'), "/a"),
    (signals('<link rel="canonical" href="">'), None),
    (signals('<link rel="canonical">'), None),
    (signals(body='<link rel="canonical" href="/a">'), None),  # in the body it is ignored
    (signals('<img src=x><link rel="canonical" href="/a">'), None),  # the image has ended the head
    (signals(link='</b>; rel="canonical"'), "/b"),
    (signals('<link rel="canonical" href="/a">', link="</b>; rel=canonical"), "/b"),
    (signals(link='</s.css>; rel=preload; as=style, <https://e.example/c?a=1,2>; rel="canonical"'),
     "https://e.example/c?a=1,2"),
    (signals(link="</b>; rel=next"), None),
])
def test_canonical_urls(page: PageSignals, canonical: str | None) -> None:
    assert page.canonical == canonical


@pytest.mark.parametrize(("text", "is_over"), [
    ("unavailable_after: 25 Jun 2010 15:00:00 PST", True), ("unavailable_after: 25-Aug-2007 15:00:00 EST", True),
    ("unavailable_after: Saturday, 25-Aug-07 15:00:00 EST", True), ("unavailable_after: 2020-09-21", True),
    ("nofollow, unavailable_after: 2020-09-21T10:00:00+01:00, noarchive", True), ("unavailable_after: soon", False),
    ("unavailable_after: Wed, 03 Dec 2014 13:09:53 GMT", True), ("unavailable_after: 2999-01-01", False),
    ("googlebot: unavailable_after: 2010-01-01", True), ("otherbot: unavailable_after: 2010-01-01", False),
    ("x-unavailable_after: 2010-01-01", False), ("unavailable_after: 1 Jan 0000 99:99:99", False),
])
def test_a_page_that_is_no_longer_available_is_noindex(text: str, is_over: bool) -> None:
    assert signals(x_robots_tag=text).noindex is is_over
    if "bot" not in text:
        assert signals(f'<meta name="robots" content="{text}">').noindex is is_over


def test_a_date_has_passed_at_a_given_time() -> None:
    now = datetime(2026, 1, 1, tzinfo=UTC)
    for day, is_over in (("2025-12-31", True), ("2026-01-02", False)):
        header = {"x-robots-tag": f"unavailable_after: {day}"}
        assert read_signals(header, b"", now).noindex is is_over


@pytest.mark.parametrize(("head", "headers", "refresh"), [
    ('<meta http-equiv="refresh" content="0;url=/a">', {}, (0, "/a")),
    ('<META HTTP-EQUIV=Refresh CONTENT="5; URL=\'/a b\'">', {}, (5, "/a b")),
    ('<meta http-equiv="refresh" content="0.5, /a">', {}, (0, "/a")),
    ('<meta http-equiv="refresh" content="3">', {}, None),
    ('<meta http-equiv="refresh" content="url=/a">', {}, None),
    ('<meta name="refresh" content="0;url=/a">', {}, None),
    ("", {"refresh": "0; url=/h"}, (0, "/h")),
    ('<noscript><meta http-equiv="refresh" content="0;url=/a"></noscript>', {}, None),  # of the page without scripts
])
def test_refreshes(head: str, headers: dict[str, str], refresh: tuple[int, str] | None) -> None:
    found = signals(head, **headers).refresh
    assert (found and (found.seconds, found.target)) == refresh


@pytest.mark.parametrize(("body", "has_content"), [
    ("", False), ("<p> </p>", False), ("<!-- text -->", False), ("<style>p{}</style>", False), ("x", True),
    ("<img src=a>", True), ("<script>draw()</script>", True), ("<iframe src=a></iframe>", True),
    ("<form></form>", True), ("<svg></svg>", True),
])
def test_a_page_with_nothing_in_it_is_empty(body: str, has_content: bool) -> None:
    assert signals("<title>Title</title>", body).has_content is has_content


@pytest.mark.parametrize(("head", "days"), [
    ('<meta property="article:modified_time" content="2024-03-01T10:00:00+00:00">', ["2024-03-01"]),
    ('<script type="application/ld+json">{"@graph": [{"dateModified" : "2024-03-02"}, {"dateModified": "2023-01-01"}]}'
     "</script>", ["2023-01-01", "2024-03-02"]),
    ('<script type="application/ld+json">{"dateModified": "soon"}</script>', []),
    ('<script>{"dateModified": "2024-03-01"}</script>', []),
    ('<meta property="article:published_time" content="2024-03-01">', []),
])
def test_dates_of_the_last_change(head: str, days: list[str]) -> None:
    assert [each.date().isoformat() for each in signals(head).modified] == days


@pytest.mark.parametrize(("page", "base"), [
    (signals('<base target="x"><base href="/s/"><base href="/t/"><link rel="canonical" href="a">'), "/s/"),
    (signals('<link rel="canonical" href="a"><base href="/s/">'), "/s/"),
    (signals('<base href="/s/"><link rel="canonical" href="a">', link="<b>; rel=canonical"), None),
    (signals('<base target="x"><link rel="canonical" href="a">'), None),
])
def test_the_base_of_a_canonical_url(page: PageSignals, base: str | None) -> None:
    assert page.base == base


@pytest.mark.parametrize(("content_type", "body"), [
    ("text/html; charset=iso-8859-1", "<title>Käse</title>".encode("latin-1")),
    ("text/html", '<meta charset="windows-1252"><title>Käse</title>'.encode("cp1252")),
    ("text/html", "<title>Käse</title>".encode()),
    ("text/html; charset=nonsense", "<title> Käse\n</title>".encode()),
    ("text/html", '<meta charset="utf-16"><title>Käse</title>'.encode()),
    ("text/html; charset=nonsense", '<meta charset="windows-1252"><title>Käse</title>'.encode("cp1252")),
    ("text/html; charset=gb2312", "<title>Käse</title>".encode("gb18030")),
    ("text/html", "<title>Käse</title>".encode("utf-8-sig")),
])
def test_titles_are_decoded(content_type: str, body: bytes) -> None:
    assert read_signals({"content-type": content_type}, body).title == "Käse"


@given(st.binary(max_size=300), st.text(max_size=60), st.text(max_size=60))
def test_no_bytes_raise(body: bytes, link: str, robots: str) -> None:
    read_signals({"content-type": "text/html", "link": link, "x-robots-tag": robots}, body)


def test_a_cut_page_has_what_came_before() -> None:
    page = b"<title>A</title><meta name=robots content=noindex><link rel=canonical href=/a><p>some"
    for end in range(len(page)):
        assert read_signals(HTML, page[:end]).noindex is (end >= page.index(b"<link") or end >= page.index(b"x>") + 2)


@pytest.mark.parametrize(("page", "has_whole_head"), [
    ("<head><title>A</title><style>.a{", False), ("<head><script>'<body><p>", False), ("<title>A", False),
    ("<head><!-- </head><body><p>", False), ("<title>A</title><p>", True), ("<head></head><body><script>", True),
])
def test_the_head_has_ended_where_the_body_has_begun(page: str, has_whole_head: bool) -> None:
    assert read_signals(HTML, page.encode()).has_whole_head is has_whole_head


ERRORS = [
    "404", "404 Not Found", "Error 404", "Page not found", "Page Not Found | Lamps", "Lamps – Page not found",
    "404 - Page not found", "404: Page Not Found", "Oops! | Not found (404)", "Sorry, this page does not exist.",
    "Product not found", "The page you are looking for could not be found", "Seite nicht gefunden", "Fehler 404",
    "Page introuvable - Boutique", "Página no encontrada", "Pagina non trovata", "Страница не найдена",
    "ページが見つかりません", "找不到页面", "Sayfa bulunamadı",
    "Oops! Page not found", "Sorry, we can’t find that page",
    "La page demandée est introuvable", "Die angeforderte Seite konnte nicht gefunden werden", "410 Gone",
    "Lo sentimos, página no encontrada", "Ha ocurrido un error 404", "La pagina non esiste", "Página inexistente",
    "Artikel nicht mehr verfügbar", "Object not found!", "Whoops, that page is gone.", "찾을 수 없는 페이지",
    "お探しのページは見つかりませんでした", "Strona nie istnieje | Sklep", "Désolé, cette page n’existe plus",
    "Ошибка 404",
]  # fmt: skip
PAGES = [
    "", "Lamps", "How to fix a 404", "HTTP 404 errors explained", "What does Page not found mean", "Peugeot 404",
    "Room 404", "Lost and found", "Flat 404, Main Street", "Not found in nature", "1404", "Error handling",
    "Gone", "410", "Sorry", "Oops! I did it again", "Page disponible", "We cannot find peace", "Gone | Films",
]  # fmt: skip


@pytest.mark.parametrize("title", ERRORS)
def test_titles_of_error_pages(title: str) -> None:
    assert names_an_error(title)


@pytest.mark.parametrize("title", PAGES)
def test_titles_of_other_pages(title: str) -> None:
    assert not names_an_error(title)


MENU = " ".join(f"item{number}" for number in range(40))


@pytest.mark.parametrize(("title", "body", "alike"), [
    ("Shop", f"{MENU} nothing here", True),
    ("Shop", f"{MENU} one two three four five six seven eight", True),
    ("Shop", f"{MENU} one two three four five six seven eight nine", False),
    ("Lamp", f"{MENU} nothing here", False),
    ("Shop", " ".join(MENU.split()[:15]), True),
    ("Shop", " ".join(MENU.split()[:14]), False),  # what a script will show is unknown
])
def test_a_page_is_like_the_answer_for_a_missing_one(title: str, body: str, alike: bool) -> None:
    missing = signals("<title>Shop</title>", f"<p>{MENU} nothing here</p><script>secret()</script>")
    assert is_like(signals(f"<title>{title}</title>", f"<p>{body}</p>"), missing) is alike


def test_what_is_no_html_is_like_nothing() -> None:
    page = read_signals({"content-type": "application/json"}, b"{}")
    assert page.words is None
    assert not is_like(page, page)


def test_without_selectolax_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "selectolax.lexbor", None)
    with pytest.raises(UsageError, match=r"check_urls needs selectolax: pip install 'sitemap-reader\[pages\]'"):
        require_selectolax()


def test_long_headers_are_read_in_linear_time() -> None:
    """A pattern that starts anew at each `<` would take minutes."""
    for header in ("<" * 700_000, "<a" * 350_000, "<a>; " * 140_000):
        assert read_signals({"link": header, "x-robots-tag": "noindex, " * 80_000}, b"").noindex
