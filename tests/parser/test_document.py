"""parse(), iter_parse() and SitemapParser: inputs, early stops, and usage errors."""

import gzip
import io
from pathlib import Path
from typing import Any

import pytest
from kit import index, parse, urlset

import sitemap_reader as sr
from sitemap_reader.model import PROTOCOL_MAX_BYTES, PROTOCOL_MAX_ENTRIES

URL = "https://example.com/sitemap.xml"
A, B = "https://example.com/1", "https://example.com/2"
BODY = urlset(A, B)


# --- inputs and items ---


@pytest.mark.parametrize("body", [BODY, BODY.decode(), bytearray(BODY), io.BytesIO(BODY)], ids=lambda body: type(body))
def test_body_is_bytes_text_or_a_binary_file(body: Any) -> None:
    document = sr.parse(body, url=URL)
    assert document.format == "urlset"
    assert [url.loc for url in document.urls] == [A, B]
    assert (document.children, document.problems, document.outcome.complete) == ([], [], True)


def test_text_is_read_whatever_charset_it_declares() -> None:
    text = '<?xml version="1.0" encoding="Shift_JIS"?>' + urlset("https://example.com/\u8336").decode()
    assert sr.parse(text).urls[0].loc == "https://example.com/%E8%8C%B6"


def test_document_separates_urls_children_and_problems() -> None:
    document = sr.parse(index("https://example.com/a.xml", f"<url><loc>{A}</loc></url>", ns=""), url=URL)
    assert [child.loc for child in document.children] == ["https://example.com/a.xml"]
    assert [url.loc for url in document.urls] == [A]
    assert [str(problem) for problem in document.problems] == [
        f"S02 {URL}: the root has no namespace; the document is read anyway"
    ]
    assert document.children[0].authorities == ("https://example.com/",)


def test_iteration_ends_in_one_outcome() -> None:
    *items, outcome = sr.iter_parse([BODY[:30], BODY[30:]], url=URL)
    assert [type(item) for item in items] == [sr.UrlRecord, sr.UrlRecord]
    assert (outcome.url, outcome.entries, outcome.kept, outcome.bytes_wire) == (URL, 2, 2, len(BODY))


def test_parser_gives_a_record_as_soon_as_its_entry_has_ended() -> None:
    parser = sr.SitemapParser(url=URL)
    comment = b"<!--" + b" " * 1024 + b"-->"  # the charset is looked for in the first 1,024 bytes
    end = BODY.index(b"</url>") + len(b"</url")
    assert parser.feed(b'<?xml version="1.0"?>' + comment + BODY[:end]) == []
    assert parser.format == "urlset"
    assert [item.loc for item in parser.feed(BODY[end : end + 21]) if isinstance(item, sr.UrlRecord)] == [A]
    parser.close()
    assert parser.close() == []
    assert not parser.outcome.complete


def test_relative_locations_go_by_the_url_that_redirects_led_to() -> None:
    (record,) = parse(urlset("a"), url=URL, final_url="https://www.example.com/maps/sitemap.xml").of(sr.UrlRecord)
    assert (record.loc, record.sitemap) == ("https://www.example.com/maps/a", URL)


def test_robots_url_has_its_sitemap_lines_read() -> None:
    document = sr.parse(b"Sitemap: /a.xml\n", url="https://example.com/robots.txt")
    assert [child.loc for child in document.children] == ["https://example.com/a.xml"]
    assert "https://example.com/" in document.children[0].authorities


def test_scope_drops_are_counted_and_noted() -> None:
    body = urlset(A, "https://other.example/")
    document = sr.parse(body, url=URL, scope="protocol")
    assert (len(document.urls), document.outcome.dropped) == (1, {"host": 1})
    assert [problem.code for problem in document.problems] == ["U04"]
    widened = sr.parse(body, url=URL, scope="protocol", authorities=["https://other.example/"])
    assert (len(widened.urls), widened.outcome.dropped) == (2, {})


@pytest.mark.parametrize(("body", "url", "found"), [
    (b"https://example.com/a\nhttps://example.com/ab", "https://example.com/list.txt", ["https://example.com/a"]),
    (b"Sitemap: /a.xml\nSitemap: /b.x", "https://example.com/robots.txt", ["https://example.com/a.xml"]),
    (b"https://example.com/a\nhttps://example.com/b\r", "https://example.com/list.txt",
     ["https://example.com/a", "https://example.com/b"]),
])
def test_last_line_of_bytes_that_broke_off_is_left_out(body: bytes, url: str, found: list[str]) -> None:
    parser = sr.SitemapParser(url=url)
    items = parser.feed(body) + parser.close(cut=True)
    assert [item.loc for item in items if isinstance(item, sr.UrlRecord | sr.SitemapRef)] == found
    assert not parser.outcome.complete


def test_last_line_of_truncated_gzip_is_left_out() -> None:
    packed = gzip.compress(b"https://example.com/a\nhttps://example.com/long", mtime=0)
    document = sr.parse(packed[:-8], url="https://example.com/list.txt")
    assert [url.loc for url in document.urls] == ["https://example.com/a"]
    assert [problem.code for problem in document.problems] == ["F07"]


def test_feed_that_was_cut_off_is_not_given_to_the_fallback() -> None:
    def fallback(body: bytes, url: str | None) -> Any:
        raise AssertionError(body)

    body = b"<rss version='2.0'><channel><item><title>One</title><link>https://example.com/on</"
    cut_inside = sr.parse(body[:-2], url=URL, feed_fallback=fallback)
    assert (cut_inside.urls, cut_inside.outcome.complete) == ([], False)
    cut_behind = sr.parse(body + b"link>", url=URL, feed_fallback=fallback)
    assert ([url.loc for url in cut_behind.urls], cut_behind.outcome.complete) == (["https://example.com/on"], False)


# --- protocol limits are reported ---


@pytest.mark.parametrize(("count", "codes"), [(PROTOCOL_MAX_ENTRIES, []), (PROTOCOL_MAX_ENTRIES + 1, ["S03"])])
def test_more_entries_than_the_protocol_allows_are_read_and_reported(count: int, codes: list[str]) -> None:
    document = sr.parse(urlset(*[A] * count))
    assert (len(document.urls), document.outcome.complete) == (count, True)
    assert [problem.code for problem in document.problems] == codes


@pytest.mark.slow
@pytest.mark.parametrize(("size", "codes"), [(PROTOCOL_MAX_BYTES, []), (PROTOCOL_MAX_BYTES + 1, ["F08"])])
def test_more_bytes_than_the_protocol_allows_are_read_and_reported(size: int, codes: list[str]) -> None:
    filler = f"<url><loc>{A}</loc><!--{'x' * 1_000_000}--></url>"
    body = urlset(*[filler] * (size // len(filler) - 1))
    document = sr.parse(body + b" " * (size - len(body)))
    assert (document.outcome.bytes_decoded, document.outcome.complete) == (size, True)
    assert [problem.code for problem in document.problems] == codes


@pytest.mark.parametrize("over", [0, 1, 7])
def test_problems_of_an_entry_are_limited_but_all_are_counted(over: int) -> None:
    data = urlset(f"<url><loc>{A}</loc>{'<x/>' * (3 + over)}</url>", B)
    found = sr.parse(data, limits=sr.Limits(max_entry_problems=3))
    assert (len(found.urls), found.outcome.complete) == (2, True)
    assert found.outcome.problems == {"S10": 3 + over} | ({"S16": 1} if over else {})
    reported = [problem.message for problem in found.urls[0].problems]
    assert reported[:3] == ["<x> is unknown"] * 3
    assert reported[3:] == [f"{over} more problems of this entry; raise max_entry_problems to see each"] * bool(over)


# --- usage ---


@pytest.mark.parametrize(("options", "names"), [
    ({"url": "sitemap.xml"}, "sitemap.xml"),
    ({"url": "ftp://example.com/sitemap.xml"}, "ftp"),
    ({"scope": "strict"}, "protocol, host, domain, any"),
])
def test_bad_options_are_usage_errors_that_name_them(options: dict[str, Any], names: str) -> None:
    with pytest.raises(sr.UsageError, match=names):
        sr.parse(BODY, **options)
    with pytest.raises(ValueError, match=names):
        sr.SitemapParser(**options)


def test_body_of_another_type_is_a_usage_error() -> None:
    with pytest.raises(sr.UsageError, match="not int"):
        sr.parse(7)  # type: ignore[arg-type]


def test_file_in_text_mode_is_a_usage_error(tmp_path: Path) -> None:
    path = tmp_path / "sitemap.xml"
    path.write_bytes(BODY)
    with path.open(encoding="utf-8") as file, pytest.raises(sr.UsageError, match="binary mode"):
        sr.parse(file)  # type: ignore[arg-type]
    with path.open("rb") as file:
        assert len(sr.parse(file).urls) == 2


def test_path_given_as_body_is_never_opened(tmp_path: Path) -> None:
    path = tmp_path / "sitemap.xml"
    path.write_bytes(BODY)
    with pytest.raises(sr.UsageError, match="takes the document, not its name"):
        sr.parse(str(path))
    document = sr.parse(str(path.rename(tmp_path / "sitemap")))
    assert (document.urls, [problem.code for problem in document.problems]) == ([], ["S15"])


def test_a_file_is_parsed_in_pieces_as_a_whole() -> None:
    class Reads:
        """An object with read() alone, such as the body of a response of S3."""

        def __init__(self) -> None:
            self.read = io.BytesIO(urlset(*(f"https://example.com/{number}" for number in range(3_000)))).read

    url = "https://example.com/s.xml"
    found = [item for item in sr.iter_parse(Reads(), url=url) if isinstance(item, sr.UrlRecord)]  # type: ignore[arg-type]
    assert found == sr.parse(Reads(), url=url).urls  # type: ignore[arg-type]
    assert len(found) == 3_000
    with pytest.raises(sr.UsageError, match="binary mode"):
        list(sr.iter_parse(io.StringIO("<urlset/>")))  # type: ignore[arg-type]


@pytest.mark.parametrize("lines", ["https://example.com/1", "https://example.com/1\nhttps://example.com/2\n"])
def test_a_byte_order_mark_that_was_encoded_twice_is_skipped_before_a_list_of_urls(lines: str) -> None:
    body = ("\xef\xbb\xbf" + lines).encode()
    for size in (0, 1):
        found = parse(body, size, url="https://example.com/list.txt")
        assert found.locs == lines.split()
        assert [(problem.code, problem.line) for problem in found.of(sr.Problem)] == [("S08", 1)]
        assert found.outcome().complete
