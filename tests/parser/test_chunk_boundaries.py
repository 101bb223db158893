"""Minimal documents whose items once depended on the chunks, or were altered."""

import pytest
from kit import parse, without_bytes_taken
from tiers import is_full

import sitemap_reader as sr

# Documents shorter than the charset window are read in one piece.
PAD = b" " * 1_100
A = b"<url><loc>https://example.com/a</loc>"
LIMIT = 1_500


def entry_of(count: int, opening: bytes, ending: bytes = b"") -> bytes:
    """An entry of `size` bytes from its beginning to the beginning of its end tag, and another one."""
    begun = A + b"<x>" + opening
    filled = begun + b"x" * (count - len(begun) - len(ending + b"</x>")) + ending + b"</x>"
    return b"<urlset>" + PAD + b"<url></url>" + filled + b"</url>" + A + b"</url></urlset>"


ROWS = {
    "a location outside of any entry": (b"<urlset>" + PAD + b"<loc>https://example.com/a</loc></url>", {}),
    "a cut inside an end tag, behind a fault": (b"<urlset>" + PAD + b"</url>" + A.removesuffix(b"loc>"), {}),
    "a repair before a stop": (b"<urlset>" + PAD + b"<b a=c><url><p b='c' d='e'>", {"max_attributes": 1}),
    "a stray <": (b"<urlset>" + PAD + A + b"<title>Width < 5 cm</title></url></urlset>", {}),
    "more repairs than reported": (b"<urlset>" + PAD + (A + b"<x>&\n&\n&\n&</x></url>") * 5, {"max_entry_problems": 2}),
    "a quote behind the root element": (b"<urlset>" + PAD + A + b"</url></urlset>'" + A + b"</url></urlset>'<>", {}),
    "a run of control characters": (b"<urlset>" + PAD + (A + b"\0" * 100 + b"</url>") * 5, {}),
    **{
        f"{over:+} bytes, {opening!r}": (entry_of(LIMIT + over, opening, ending), {"max_entry_bytes": LIMIT})
        for over in (range(-7, 8) if is_full() else (-7, -1, 0, 1, 7))
        for opening, ending in ((b"", b""), (b"<!--", b"-->"), (b"&", b""), (b"</b>", b""), (b"&<![CDATA[", b"]]>"))
    },
}


@pytest.mark.slow
@pytest.mark.parametrize("name", ROWS)
def test_same_items_come_out_however_the_bytes_are_cut(name: str) -> None:
    body, fields = ROWS[name]
    limits = sr.Limits(**fields)
    whole = without_bytes_taken(parse(body, limits=limits).items)
    for size in (1, 7, 64, 300, 1_150):
        assert without_bytes_taken(parse(body, size, limits=limits).items) == whole, size


def test_prefix_that_an_ancestor_declares_is_not_declared_again() -> None:
    document = sr.parse(b'<urlset xmlns:a="urn:a"><url><b:c a:d=""/><loc>https://example.com/a</loc></url></urlset>')
    assert [url.loc for url in document.urls] == ["https://example.com/a"]
    assert document.urls[0].problems[0].message.startswith('the prefix "b" is not declared')


def test_declaration_of_a_longer_prefix_does_not_declare_a_shorter_one() -> None:
    body = A + b'<a:c xmlns:abc="urn:b"/><lastmod>2026-01-01</lastmod></url></urlset>'
    (url,) = sr.parse(b'<urlset xmlns:abc="urn:a">' + body).urls
    assert url.lastmod is not None


MEDIA = b'<rss xmlns:media="http://search.yahoo.com/mrss/">'
IMAGE = b'<media:content url="https://example.com/%d" medium="image"><media:title>%s</media:title></media:content>'
ITEM = MEDIA + b"<channel><item><link>https://example.com/a</link>%s</item></channel></rss>"
SITEMAP = b'<urlset xmlns:image="http://www.google.com/schemas/sitemap-image/1.1">' + A + b"%s</url></urlset>"


@pytest.mark.parametrize(("document", "image"), [
    (SITEMAP, b"<image:image><image:loc>https://example.com/%d/%s</image:loc></image:image>"), (ITEM, IMAGE),
])
def test_limit_of_a_text_is_for_each_element_by_itself(document: bytes, image: bytes) -> None:
    images = b"".join(image % (number, b"x" * 1_000) for number in range(1_100))
    (url,) = sr.parse(document % images).urls
    assert len(url.images) == 1_100


@pytest.mark.parametrize("text", ["\ufdd0", "\ufdd1", "\ufdd0\ufdd1", "\x01\ufdd0\ufdef\x02", "&#xFDD0;\ufdd1"])
@pytest.mark.parametrize("size", [1, 7, 1 << 20])
def test_placeholder_characters_in_the_document_are_kept(text: str, size: int) -> None:
    body = f"<urlset>{PAD.decode()}<url><loc>https://example.com/&{text}</loc></url></urlset>".encode()
    (loc,) = parse(body, size).locs
    plain = text.replace("&#xFDD0;", "\ufdd0").encode()
    assert loc == "https://example.com/&" + "".join(f"%{byte:02X}" for byte in plain)


@pytest.mark.parametrize("before", [b"", A + b"<x>&</x></url>"])
@pytest.mark.parametrize("count", [30, 38, 39, 40, 60, 90])
def test_long_cdata_section_is_unchanged(before: bytes, count: int) -> None:
    """Its characters count for the element's limit; its bytes may exceed the limit of other tokens."""
    title = "я" * count + " & &lt; <b> ]] > ]]"
    image = f"<image:image><image:loc>https://example.com/i</image:loc><image:title><![CDATA[{title}]]></image:title>"
    body = (SITEMAP % (image.encode() + b"</image:image>")).replace(A, PAD + before + A, 1)
    for size in (1, 2, 7, 50, len(body)):
        found = parse(body, size, limits=sr.Limits(max_token_bytes=119))
        (url,) = [each for each in found.of(sr.UrlRecord) if each.images]
        assert [image.title for image in url.images] == [title], size
