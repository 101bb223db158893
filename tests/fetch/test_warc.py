"""WARC files of other crawlers, built by hand, read instead of the network."""

import asyncio
import base64
import gzip
import hashlib
import math
import tracemalloc
import zlib
from datetime import UTC, datetime

import pytest
from kit import urlset
from warcs import MAP, fetched, http, record, response, write

import sitemap_reader as sr
from sitemap_reader import UsageError
from sitemap_reader.client import find_target
from sitemap_reader.fetch import OffsetTable

brotli = pytest.importorskip("brotli")

BODY = urlset("https://shop.example/a")
ROBOTS = "https://shop.example/robots.txt"
KINDS = ["site.warc", "site.warc.gz"]


@pytest.fixture(params=KINDS)
def warc(request, tmp_path):
    """`warc(*records)` -> a WarcFetcher over them."""

    def opened(*records):
        return sr.fetch.WarcFetcher(write(tmp_path / request.param, *records))

    return opened


# --- answers ----------------------------------------------------------------------------------------------------


BARE = "https://shop.example/other.xml"
OTHER_KINDS = [
    record("warcinfo", b"software: other/1\r\n", url=""), record("request", b"GET /sitemap.xml HTTP/1.1\r\n\r\n"),
    response(BODY), record("metadata", b"via: https://shop.example/\r\n"),
    record("response", b"20260102 1.2.3.4", url="dns:shop.example"), record("conversion", b"x"),
    record("unheard-of", b"x"),
]
CHUNKED = "Transfer-Encoding: chunked"
BIG = b"x" * 300_000
GONE = record("response", b"HTTP/1.1 410 Gone\r\nX: y\r\n", url=ROBOTS)
NOT_MODIFIED = response(status="304 Not Modified"), response(status="304 x", url=ROBOTS)


def chunked(*chunks: bytes) -> bytes:
    return b"".join(b"%x;ext=1\r\n%b\r\n" % (len(each), each) for each in chunks) + b"0\r\n\r\n"


# The records, the requested URL, the answer.
ANSWERED = {
    "as recorded": ([response(BODY, "Content-Type: text/xml", 'ETag: "1"', "X-A: 1", "X-A: 2")], MAP,
                    (200, {"content-type": "text/xml", "etag": '"1"', "x-a": "1, 2"}, BODY)),
    "unrecorded": ([response(BODY)], BARE, (404, {}, b"")),
    "unrecorded scheme": ([response(BODY)], "http://shop.example/sitemap.xml", (404, {}, b"")),
    **{f"written {url}": ([response(BODY, url=url)], MAP, (200, {}, BODY))
       for url in (f"<{MAP}>", "HTTPS://SHOP.example:443/sitemap.xml", f"{MAP}#top")},
    "the last counts": ([response(b"<urlset>"), response(BODY)], MAP, (200, {}, BODY)),
    "among other records": (OTHER_KINDS, MAP, (200, {}, BODY)),
    "redirect": ([response(BODY), response(b"", "Location: /r", status="301 Moved", url=ROBOTS)], ROBOTS,
                 (301, {"location": "/r"}, b"")),
    "refusal": ([response(status="404 Not Found"), response(BODY, url=ROBOTS)], MAP, (404, {}, b"")),
    "304 behind the document": ([response(BODY), *NOT_MODIFIED], MAP, (200, {}, BODY)),
    "304 alone": ([response(BODY), *NOT_MODIFIED], ROBOTS, (304, {}, b"")),
    "head without a body": ([response(BODY), GONE], ROBOTS, (410, {"x": "y"}, b"")),
    "chunks": ([response(chunked(b"<urlset", b">", BIG), CHUNKED)], MAP, (200, {}, b"<urlset>" + BIG)),
    "stored without its chunks": ([response(BODY, CHUNKED)], MAP, (200, {}, BODY)),
}


@pytest.mark.parametrize("name", ANSWERED)
def test_a_recorded_response_is_the_answer(warc, name):
    records, url, answer = ANSWERED[name]
    status, headers, body, error = fetched(warc(*records), url)
    headers.pop("transfer-encoding", None)
    assert (status, headers, body, error) == (*answer, None)


def test_a_url_with_the_hash_of_an_indexed_one_is_not_found(warc):
    fetcher = warc(response(BODY))
    fetcher._index.responses.put("https://shop.example/other.xml", fetcher._index.responses.get(MAP))
    assert fetched(fetcher, "https://shop.example/other.xml")[0] == 404


def test_only_web_urls_are_fetched(warc):
    assert fetched(warc(response(BODY)), "ftp://shop.example/sitemap.xml")[3].code == "U02"


def test_several_hosts_are_read_from_one_file(warc):
    hosts = [f"https://{name}.example/sitemap.xml" for name in "abc"]
    fetcher = warc(*(response(urlset(f"{url}?1"), url=url) for url in hosts))
    assert [seed.origins for seed in fetcher.seeds] == [(f"https://{name}.example",) for name in "abc"]
    for url in hosts:
        assert fetched(fetcher, url)[2] == urlset(f"{url}?1")


def test_a_resource_is_an_answer_without_a_head(warc):
    fetcher = warc(record("resource", BODY, Content_Type="text/xml"))
    assert fetched(fetcher) == (200, {"content-type": "text/xml"}, BODY, None)
    assert [seed.origins for seed in fetcher.seeds] == [("https://shop.example",)]


@pytest.mark.parametrize("method", ["POST", "HEAD"])
@pytest.mark.parametrize("comes_first", [True, False])
def test_only_an_answer_to_get_counts(warc, method, comes_first):
    answer = response(b"<html>", WARC_Record_ID="<urn:a>", WARC_Concurrent_To="<urn:r>")
    requested = record("request", f"{method} / HTTP/1.1\r\n\r\n".encode(), WARC_Record_ID="<urn:r>")
    if not comes_first:
        answer = answer.replace(b"WARC-Concurrent-To: <urn:r>\r\n", b"")
        requested = requested.replace(b"WARC-Record-ID", b"WARC-Concurrent-To: <urn:a>\r\nWARC-Record-ID")
    pair = [requested, answer] if comes_first else [answer, requested]
    assert fetched(warc(response(BODY), *pair))[2] == BODY
    assert fetched(warc(response(b"User-agent: *", url=ROBOTS), *pair))[0] == 404


ODD_URLS = ["http://", "http:///x", "http://[::1", "https://a b/", "http://" + "a" * 5_000, "http://é:x/", "", "x"]


@pytest.mark.parametrize("url", ODD_URLS)
def test_invalid_target_uri_is_skipped(warc, url):
    odd = [record(kind, http(b"x"), url=url).replace(b"Target-URI: \r", b"X:\r") for kind in ("response", "revisit")]
    revisit = record("revisit", http(), url=ROBOTS, WARC_Refers_To_Target_URI=url or "-")
    fetcher = warc(response(BODY), *odd, revisit)
    assert fetched(fetcher)[2] == BODY
    assert "not in this file" in str(fetched(fetcher, ROBOTS)[3])


@pytest.mark.parametrize("seeds", ["5", "{}", "null", "[1]", "x", ""])
def test_invalid_seeds_are_skipped(warc, seeds):
    info = record("warcinfo", f"sitemap-reader-seeds: {seeds}\r\n".encode(), url="")
    assert targets(warc(info, response(BODY))) == SITE


def test_invalid_seed_arguments_are_reported(warc):
    info = record("warcinfo", b'sitemap-reader-seeds: ["ftp://x"]\r\n', url="")
    with pytest.raises(UsageError, match=r"site\.warc.*: sitemap-reader-seeds: 'ftp://x' is neither"):
        warc(info, response(BODY))


@pytest.mark.parametrize(("broken", "damage"), [
    *((record("response", b"x", url=ROBOTS, Content_Length=length), "(its record has no Content-Length)")
      for length in ("-5", "x", "", "9" * 19)),
    (record("response", b"x", url=ROBOTS, Content_Length="9" * 18), "(its record is cut off)"),
    (record("response", X="y" * 1_000_000), "(no head of a record begins there, or it does not end)"),
], ids=["negative length", "no number", "no length", "huge length", "beyond the file", "endless head"])
def test_damage_is_reported(warc, broken, damage):
    assert damage in warc(response(BODY), broken).damage


@pytest.mark.parametrize("head", [b"SSH-2.0\r\n\r\n", b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 50_000], ids=len)
def test_invalid_http_response_is_a_failure(warc, head):
    fetcher = warc(response(BODY), record("response", head, url=ROBOTS))
    assert "holds no HTTP answer" in str(fetched(fetcher, ROBOTS)[3])
    assert fetcher.damage is None


# --- bodies -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cut", [1, 7, 20])
def test_truncated_chunked_body_is_a_failure_after_its_bytes(warc, cut):
    body, error = fetched(warc(response(chunked(b"<urlset>", b"<url>")[: -4 - cut], CHUNKED)))[2:]
    assert b"<urlset><url>".startswith(body)
    assert f"its chunks break off after {len(body)} bytes" in str(error)


def zstd(data: bytes) -> bytes:
    return pytest.importorskip("backports.zstd").compress(data)


def brotli_fast(data: bytes) -> bytes:
    return brotli.compress(data, quality=1)  # type: ignore[no-any-return]


def raw_deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(data) + packer.flush()


LONG = urlset(*(f"https://shop.example/{n}" for n in range(5_000)))
PACKERS = {"gzip": gzip.compress, "br": brotli_fast, "deflate": zlib.compress, "x-deflate": raw_deflate, "zstd": zstd,
           "br, gzip": lambda data: gzip.compress(brotli_fast(data))}


@pytest.mark.parametrize("coding", PACKERS)
def test_encodings_are_left_to_the_decoder(warc, coding):
    packed = PACKERS[coding](LONG)
    fetcher = warc(response(packed, f"Content-Encoding: {coding}"))
    assert fetched(fetcher) == (200, {"content-encoding": coding}, packed, None)


@pytest.mark.parametrize("coding", PACKERS)
def test_documents_of_every_encoding_are_read(tmp_path, coding):
    archive = write(tmp_path / "a.warc", response(PACKERS[coding](LONG), f"Content-Encoding: {coding}"))
    with sr.urls(archive) as urls:
        assert [url.loc for url in urls] == [f"https://shop.example/{n}" for n in range(5_000)]
    assert urls.complete


@pytest.mark.parametrize("coding", PACKERS)
def test_a_packed_body_that_breaks_off_is_not_complete(tmp_path, coding):
    cut = response(PACKERS[coding](LONG)[:-5], f"Content-Encoding: {coding}")
    with sr.urls(write(tmp_path / "a.warc", cut)) as urls:
        assert len([*urls]) > 2_000
    assert not urls.complete
    assert "F07" in urls.problems.counts


def test_a_body_comes_in_pieces(warc):
    fetcher = warc(response(b"x" * 20_000_000))

    async def longest():
        async with fetcher.fetch(MAP, {}) as answer:
            return max([len(chunk) async for chunk in answer.chunks])

    tracemalloc.start()
    assert asyncio.run(longest()) <= 64 * 1024
    assert tracemalloc.get_traced_memory()[1] < 2_000_000
    tracemalloc.stop()


def test_a_truncated_record_is_a_failure_behind_its_bytes(warc):
    body, error = fetched(warc(response(BODY[:-5], WARC_Truncated="length")))[2:]
    assert body == BODY[:-5]
    assert f"ends after {len(body)} bytes (warc-truncated: length)" in str(error)
    assert (error.code, error.transient) == ("F04", False)


# --- revisits -----------------------------------------------------------------------------------------

OLD = "https://shop.example/old.xml"
SAME = {"WARC_Payload_Digest": "sha1:" + "A" * 32, "WARC_Profile": "http://x/identical-payload-digest"}


def original(url=OLD, body=BODY, digest="A", **headers):
    return response(body, "X: old", url=url, WARC_Payload_Digest="sha1:" + digest * 32, **headers)


# Their digests are made up: only gzip, which has checksums, is read without a check.
@pytest.fixture
def gz(tmp_path):
    return lambda *records: sr.fetch.WarcFetcher(write(tmp_path / "site.warc.gz", *records))


@pytest.mark.parametrize("url", [OLD, MAP])
@pytest.mark.parametrize("refers", [{}, {"WARC_Refers_To_Target_URI": OLD}, {"WARC_Refers_To_Target_URI": f"<{OLD}>"}])
def test_revisit_has_the_body_of_the_original(gz, url, refers):
    revisit = record("revisit", http(b"", "X: new", status="203 Fine"), url=url, WARC_Truncated="length", **refers)
    revisit = revisit.replace(b"WARC-Type", b"WARC-Payload-Digest: sha1:" + b"A" * 32 + b"\r\nWARC-Type")
    assert fetched(gz(original(), revisit), url) == (203, {"x": "new"}, BODY, None)


def test_revisit_without_an_http_head_has_that_of_the_original(gz):
    fetcher = gz(original(), record("revisit", url=OLD, **SAME), record("revisit", url=OLD, **SAME))
    assert fetched(fetcher, OLD) == (200, {"x": "old"}, BODY, None)


def test_a_revisit_of_an_earlier_version_finds_it(gz):
    fetcher = gz(original(), original(body=b"<urlset>", digest="B"), record("revisit", url=OLD, **SAME))
    assert fetched(fetcher, OLD)[2] == BODY


@pytest.mark.parametrize("headers", [SAME, {"WARC_Refers_To_Target_URI": OLD}])
def test_revisit_without_an_original_is_a_failure(gz, headers):
    fetcher = gz(original(digest="B"), record("revisit", http(), **headers))
    assert "is the same as one that is not in this file" in str(fetched(fetcher)[3])


def test_not_modified_revisit_keeps_the_document(gz):
    profile = "http://netpreserve.org/warc/1.1/revisit/server-not-modified"
    revisit = record("revisit", http(status="304 Not Modified"), url=OLD, WARC_Profile=profile)
    assert fetched(gz(original(), revisit), OLD)[:3] == (200, {"x": "old"}, BODY)
    assert fetched(gz(response(BODY), revisit), OLD)[0] == 304


@pytest.mark.parametrize("body", [BODY, BODY.replace(b"/a<", b"/b<")])
def test_revisit_is_checked_by_the_digest_of_the_original(tmp_path, body):
    digest = f"sha1:{base64.b32encode(hashlib.sha1(BODY, usedforsecurity=False).digest()).decode()}"
    old = response(body, url=OLD, WARC_Payload_Digest=digest)
    revisit = record("revisit", WARC_Refers_To_Target_URI=OLD, WARC_Payload_Digest=digest)
    _, _, given, error = fetched(sr.fetch.WarcFetcher(write(tmp_path / "site.warc", old, revisit)))
    assert (given, error is None) in [(BODY, True), (b"", False)]
    assert (error is None) == (body == BODY)


# --- seeds ---------------------------------------------------------------------------------------------


def targets(fetcher):
    return [(seed.target, seed.document) for seed in fetcher.seeds]


SITE = [("https://shop.example/", None)]
OTHER = "https://shop.example/deep/list"
STARTS = {
    "robots.txt": ([response(b"sitemap: /x", url=ROBOTS), response(BODY, url=OTHER)], SITE),
    "robots.txt behind a document": ([response(BODY, url=OTHER), response(b"sitemap: /x", url=ROBOTS)], SITE),
    "robots.txt elsewhere": ([response(b"", "Location: /r", url=ROBOTS, status="302 x"), response(BODY, url=OTHER)],
                             SITE),
    "a well-known path": ([response(BODY), response(BODY, url=OTHER)], SITE),
    "a well-known path with a port": ([response(BODY, url="http://shop.example:81/sitemap.xml")],
                                      [("http://shop.example:81/", None)]),
    "https before http": ([response(BODY, url="http://shop.example/sitemap.xml"), response(BODY)], SITE),
    "http where only that leads on": ([response(BODY, url="http://shop.example/sitemap.xml"), response(status="404 x")],
                                      [("http://shop.example/", None)]),
    "a document where robots.txt is not found": (
        [response(BODY, url=OTHER), response(status="404 x", url=ROBOTS)], [(OTHER, OTHER)]),
    "a document where robots.txt names none": (
        [response(b"User-agent: *", url=ROBOTS), response(BODY, url=OTHER)], [(OTHER, OTHER)]),
    "a long robots.txt": ([response(b"Disallow: /\n" * 900 + b"sitemap: /x", url=ROBOTS), response(BODY, url=OTHER)],
                          SITE),
    "a document where every path is a page": (
        [response(b"<!doctype html><p>", url=MAP), response(BODY, url=OTHER)], [(OTHER, OTHER)]),
    "an index": ([response(b'<?xml version="1.0"?><!-- x -->\n<sitemapindex>', url=OTHER)], [(OTHER, OTHER)]),
    "a packed document": ([response(gzip.compress(LONG), url=OTHER)], [(OTHER, OTHER)]),
    "a packed answer": ([response(chunked(brotli_fast(LONG)), CHUNKED, "Content-Encoding: br", url=OTHER)],
                        [(OTHER, OTHER)]),
    "a bare packed document": ([record("resource", gzip.compress(LONG), url=OTHER)], [(OTHER, OTHER)]),
    "robots.txt alone": ([response(status="404 x", url=ROBOTS)], SITE),
    "no page": ([response(BODY), response(b"<html><urlset >", url="https://b.example/")], SITE),
    "no failure": ([response(BODY), response(BODY, url="https://b.example/x", status="500 x")], SITE),
}


@pytest.mark.parametrize("start", STARTS)
def test_a_walk_starts_at(warc, start):
    records, expected = STARTS[start]
    assert targets(warc(*records)) == expected


def test_many_comments_before_a_root_take_no_time(warc):
    assert targets(warc(response(BODY), response(b"<?x?><!-- -->" * 1_000 + b"<html>", url=OTHER))) == SITE


def test_time_of_a_warc_is_that_of_the_last_response(warc):
    dates = ["2026-03-04T05:06:07.999Z", "2026-01-02T03:04:05Z", "nonsense", ""]
    fetcher = warc(*(response(BODY, url=f"{MAP}?{n}", WARC_Date=date) for n, date in enumerate(dates[:2])))
    assert fetcher.recorded == datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)
    assert warc(response(BODY, WARC_Date="")).recorded is None


# --- invalid files -----------------------------------------------------------------------------------------------

ARC = b"filedesc://x.arc 0.0.0.0 20260101000000 text/plain 10\n1 0 x\nURL IP\n\n"
NO_HEAD = "is no WARC that can be read .no head of a record begins there.*; if it is an ARC.* `warcio .* converts it"
NO_WARCS = [
    (b"", NO_HEAD),
    (b"<urlset/>", NO_HEAD),
    (b"\x1f\x8bnot gzip", "is no WARC that can be read .its gzip member is broken "),
    (gzip.compress(b"<urlset/>", mtime=0), NO_HEAD),
    (ARC, NO_HEAD),
    (gzip.compress(ARC, mtime=0), NO_HEAD),
    (response(BODY)[:80], "is no WARC that can be read .its record has no Content-Length"),
    (gzip.compress(response(BODY) * 2, mtime=0), "its gzip member holds more than the record.*`warcio .* converts it"),
    (response(BODY, url="https://shop.example/x").replace(b"urlset", b"nothin"), "nothing to start from"),
    (record("warcinfo", b"software: x\r\n", url=""), "nothing to start from"),
]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("data", "message"), NO_WARCS)
def test_a_file_that_is_no_warc_is_reported_in_one_line(tmp_path, kind, data, message):
    path = tmp_path / kind
    path.write_bytes(data)
    with pytest.raises(UsageError, match=message) as caught:
        find_target(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_missing_or_unreadable_file_is_reported(tmp_path, monkeypatch):
    with pytest.raises(UsageError, match=r"there is no file .*site\.warc\.gz"):
        find_target(str(tmp_path / "site.warc.gz"))
    path = write(tmp_path / "site.warc", response(BODY))

    def refuse(self, *_):
        raise PermissionError(13, "Permission denied", str(self))

    fetcher = sr.fetch.WarcFetcher(path)
    monkeypatch.setattr("pathlib.Path.open", refuse)
    with pytest.raises(UsageError, match=r"site\.warc cannot be read: Permission denied"):
        find_target(path)
    error = fetched(fetcher)[3]
    assert (str(error), error.remedy) == (f"cannot read {path}: Permission denied", "")


def test_arc_file_is_refused_by_its_name(tmp_path):
    (tmp_path / "old.arc.gz").write_bytes(gzip.compress(ARC))
    with pytest.raises(UsageError, match="is an ARC; `warcio recompress"):
        find_target(tmp_path / "old.arc.gz")


def test_warc_suffix_in_any_case_and_folder_named_like_one(tmp_path):
    assert find_target(write(tmp_path / "A.WARC", response(BODY))).replay is not None
    (tmp_path / "b.warc").mkdir()
    with pytest.raises(UsageError, match=r"b\.warc was not written with record="):
        find_target(tmp_path / "b.warc")


# --- memory -----------------------------------------------------------------------------------------------------


ANSWERS = 20_000


@pytest.mark.slow
def test_response_takes_at_most_32_bytes_of_memory():
    tracemalloc.start()
    table = OffsetTable()
    for number in range(ANSWERS):
        table.put(f"https://shop.example/{number}", number)
    in_sqlite = [table._table.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "page_size")]
    assert tracemalloc.get_traced_memory()[0] + math.prod(in_sqlite) < ANSWERS * 32
    tracemalloc.stop()
    assert all(table.get(f"https://shop.example/{number}") == number for number in range(ANSWERS))
    assert table.get("https://shop.example/x") is None


@pytest.mark.slow
def test_memory_is_flat_over_a_large_file(tmp_path):
    pages = b"".join(response(b"<html>" * 50, url=f"https://shop.example/{n}") for n in range(ANSWERS // 2))
    path = write(tmp_path / "site.warc", response(BODY), pages)
    tracemalloc.start()
    fetcher = sr.fetch.WarcFetcher(path)
    assert tracemalloc.get_traced_memory()[1] < 1_200_000
    tracemalloc.stop()
    assert fetched(fetcher, f"https://shop.example/{ANSWERS // 2 - 1}")[2] == b"<html>" * 50


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("head", [b"X: " + b"y" * 20_000_000, b"x: y\n" * 4_000_000], ids=["a line", "many lines"])
def test_a_head_without_end_takes_little_memory(tmp_path, kind, head):
    endless = record("x").replace(b"WARC-Type", head + b"\r\nWARC-Type")
    path = write(tmp_path / kind, response(BODY), endless)
    tracemalloc.start()
    assert "does not end" in sr.fetch.WarcFetcher(path).damage
    assert tracemalloc.get_traced_memory()[1] < 12_000_000
    tracemalloc.stop()


def test_only_the_start_of_a_bomb_is_decompressed(warc):
    bomb = response(brotli_fast(b" " * 20_000_000), "Content-Encoding: br", url="https://b.example/x")
    tracemalloc.start()
    warc(response(BODY), bomb)
    assert tracemalloc.get_traced_memory()[1] < 2_000_000
    tracemalloc.stop()
