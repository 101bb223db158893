"""The fast path gives the same entries with extensions as expat and the Normaliser.

TAIL_DOCUMENTS=100000 in the environment sets the number of random documents, instead of some hundred.
"""

from __future__ import annotations

import os
from random import Random
from typing import TYPE_CHECKING

import fast_documents
import plain_documents
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_fast_scanner import HEAD, URL, check_same, read
from tiers import examples

import sitemap_reader as sr
from sitemap_reader.parser import fast_scanner as plain
from sitemap_reader.parser.fast_extensions import ExtensionReader

if TYPE_CHECKING:
    from sitemap_reader.parser.fast_extensions import Extensions

DECLARED = "".join(f' xmlns:{prefix}="{name}"' for prefix, name in fast_documents.NAMESPACES.items())
ROOT = HEAD.replace(b"<urlset", b"<urlset" + DECLARED.encode())
LINK = b'<xhtml:link rel="alternate" hreflang="de" href="https://example.com/de?a=1&amp;b=2"/>'
IMAGE = b"<image:image> <image:loc>https://example.com/a.jpg</image:loc> <image:title>A</image:title> </image:image>"
NEWS = (
    b"<news:news><news:publication><news:name>N</news:name><news:language>de</news:language></news:publication>\n"
    b"<news:title>\xc3\x9cber</news:title><news:publication_date>2026-11-20T10:20:30Z</news:publication_date></news:news>"
)
VIDEO = (
    b"<video:video><video:title>T</video:title><video:duration>60</video:duration><video:tag>a</video:tag>"
    b'<video:tag>b</video:tag><video:price currency="EUR">1.5</video:price></video:video>'
)


def document(tail: bytes, count: int = 400) -> bytes:
    entry = b"<url><loc>https://example.com/shop/%d</loc><lastmod>2026-11-20</lastmod>\n" + tail + b"</url>"
    return ROOT + b"".join(entry % number for number in range(count)) + b"</urlset>"


def check_made_up(seed: int) -> None:
    dice = Random(seed)  # noqa: S311
    usual, plain.WINDOW_BYTES = plain.WINDOW_BYTES, dice.choice((2048, plain.WINDOW_BYTES))
    try:
        made = fast_documents.document(dice)
        check_same(plain_documents.cuts(dice, made), **fast_documents.options(dice))
    finally:
        plain.WINDOW_BYTES = usual


@given(st.integers(0, 2**32))
@settings(max_examples=examples(400, 40))
def test_made_up_documents_give_the_same(seed: int) -> None:
    check_made_up(seed)


@pytest.mark.parametrize("seed", range(int(os.environ.get("TAIL_DOCUMENTS", "0")) // 1000))
def test_a_thousand_more_give_the_same(seed: int) -> None:
    for each in range(1000 * seed, 1000 * (seed + 1)):
        check_made_up(each)


@pytest.fixture
def tails(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """Counts the extensions read from here on, and those of which only elements are read."""
    counted = {"read": 0, "elements": 0}
    usual = ExtensionReader.read

    def noted(self: ExtensionReader, tails: list[str], *, with_bare: bool) -> list[Extensions]:
        found = usual(self, tails, with_bare=with_bare)
        counted["read"] += len(found)
        counted["elements"] += sum(each[-1] is not None for each in found)
        return found

    monkeypatch.setattr(ExtensionReader, "read", noted)
    return counted


def test_a_link_with_an_attribute_twice_is_damage_as_it_is_for_expat() -> None:
    twice = LINK.replace(b"hreflang=", b'hreflang="x" hreflang=', 1)
    assert twice != LINK
    check_same([document(twice)], url=URL)


@pytest.mark.parametrize("tail", [LINK, IMAGE, NEWS, VIDEO, b"<mobile:mobile/>", LINK + IMAGE + VIDEO + NEWS + LINK])
def test_common_extensions_need_no_elements(tail: bytes, tails: dict[str, int]) -> None:
    check_same([document(tail)], url=URL)
    assert tails["read"] >= 380
    assert not tails["elements"]


@pytest.mark.parametrize(
    "tail",
    [
        LINK.replace(b"https://example.com", b""),
        IMAGE.replace(b">A<", b">A&#39;s &quot;B&quot;<"),
        NEWS.replace(b"2026", b"soon, 2026"),
        VIDEO.replace(b">60<", b">60000<"),
        b"<x:y>z</x:y>" + IMAGE,
        IMAGE.replace(b">A<", b">a <b>bold</b> text<"),
    ],
)
def test_elements_are_built_for_uncommon_extensions(tail: bytes, tails: dict[str, int]) -> None:
    body = document(LINK).replace(LINK, tail, 3)
    check_same([body], url=URL, extras=True)
    assert tails["read"] >= 380
    assert 1 <= tails["elements"] <= 3


def test_documents_of_uncommon_extensions_are_read_by_expat(tails: dict[str, int]) -> None:
    check_same([document(IMAGE.replace(b">A<", b">a <b>bold</b> text<"), 4000)], url=URL)
    assert 0 < tails["elements"] < 2000


@pytest.mark.parametrize("port", ["8٠٨٠", "8٠"])
def test_digits_that_are_not_ascii_make_no_port(port: str) -> None:
    """If a pattern matches other digits too, such a URL would count as clean."""
    for tail in (LINK, IMAGE):
        body = document(tail)
        odd = tail.replace(b"https://example.com/", f"https://example.com:{port}/".encode())
        assert odd != tail
        check_same([body.replace(tail, odd).replace(odd, tail, 3)], url=URL)


def test_remembered_element_names_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sitemap_reader.parser.fast_extensions._MAX_NAMES", 2)
    check_same([document(LINK + IMAGE + VIDEO + NEWS)], url=URL)


def test_a_name_is_noted_where_it_stands_first() -> None:
    body = document(IMAGE).replace(b"/300</loc>", b"/300</loc><image:LOC>x</image:LOC>")
    check_same([body], url=URL)
    check_same([body.replace(b"image:title>", b"image:Title>")], url=URL)


@pytest.mark.parametrize("tail", [b"<image:image/></x><x>", b"</x>", b"<image:image></url></image:image>", b"<a:b/>"])
def test_malformed_tails_are_read_by_expat(tail: bytes) -> None:
    check_same([document(tail, 30)], url=URL)


@pytest.mark.parametrize("limits", [{"max_attributes": 2}, {"max_xml_depth": 3}, {"max_entry_elements": 4}])
def test_limits_hold(limits: dict[str, int]) -> None:
    for tail in (LINK, IMAGE, NEWS, VIDEO):
        options = {"url": URL, "limits": sr.Limits(**limits)}
        check_same([document(tail, 30)], **options)
    assert not read([document(VIDEO + LINK + NEWS, 30)], is_plain=True, **options)[-1].complete
