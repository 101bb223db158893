import asyncio
import os
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest
from fakenet import fetch
from hypothesis import assume, given
from hypothesis import strategies as st
from kit import Site

from sitemap_reader import FetchError, UsageError
from sitemap_reader.fetch import FolderRecorder, ReplayFetcher, read_recording, replay_path

URL = "https://shop.example/sitemap.xml"


def record(folder, answers, *, seeds=(), most=None, **options):
    async def run():
        recorder = FolderRecorder(Site(answers), folder, seeds, **options)
        return {url: await fetch(recorder, url, most) for url in answers}

    return asyncio.run(run())


def replay(folder, url=URL):
    return asyncio.run(fetch(ReplayFetcher(folder), url))


def files(folder):
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


# --- paths -----------------------------------------------------------------------------------------

PLACES = [
    ("https://shop.example/sitemap.xml", "https/shop.example/sitemap.xml"),
    ("https://shop.example/", "https/shop.example/%2F"),
    ("https://shop.example", "https/shop.example/%2F"),
    ("https://shop.example/a/b/c.xml.gz", "https/shop.example/a/b/c.xml.gz"),
    ("https://shop.example/a/", "https/shop.example/a/%2F"),
    ("https://shop.example//a", "https/shop.example/%2F/a"),
    ("HTTPS://SHOP.example:443/A", "https/shop.example/A"),
    ("http://shop.example:8080/a", "http/shop.example%3A8080/a"),
    ("http://[::1]:8080/a", "http/[%3A%3A1]%3A8080/a"),
    ("http://me:secret@shop.example/a#top", "http/shop.example/a"),
    ("http://e.com/sitemap.php?page=2", "http/e.com/sitemap.php%3Fpage=2"),
    ("http://e.com/sitemap.php%3Fpage=2", "http/e.com/sitemap.php%253Fpage=2"),
    ("http://e.com/?page=2&lang=de", "http/e.com/%2F%3Fpage=2&lang=de"),
    ("http://e.com/a?x=/b/c", "http/e.com/a%3Fx=%2Fb%2Fc"),
    ("http://e.com/a%20b%C3%A9.xml", "http/e.com/a%20b%C3%A9.xml"),
    ("http://e.com/a b", "http/e.com/a%%20b"),
    ("http://e.com/é", "http/e.com/%%C3%%A9"),
    ("http://e.com/100%", "http/e.com/100%25"),
    ("http://e.com/a%2Fb", "http/e.com/a%252Fb"),
    ("http://e.com/../../etc/passwd", "http/e.com/%2E%2E/%2E%2E/etc/passwd"),
    ("http://e.com/a%2F..%2Fb", "http/e.com/a%252F..%252Fb"),
    ("http://e.com/%2e%2e/b", "http/e.com/%252e%252e/b"),
    ("http://e.com/..", "http/e.com/%2E%2E"),
    ("http://e.com/.?..", "http/e.com/.%3F.."),
    ("http://../x", "http/%2E%2E/x"),
    ("http://e.com/\\..\\x", "http/e.com/%%5C..%%5Cx"),
    ("http://e.com/a.headers", "http/e.com/a%2Eheaders"),
    ("http://e.com/a\0b", "http/e.com/a%%00b"),
]


@pytest.mark.parametrize(("url", "place"), PLACES)
def test_path_of_a_url(url, place):
    assert replay_path(Path("site"), url).as_posix() == f"site/{place}"


@pytest.mark.parametrize("url", ["ftp://e.com/a", "file:///etc/passwd", "/etc/passwd", ""])
def test_only_http_urls_have_a_path(url):
    with pytest.raises(FetchError, match="only http and https") as caught:
        replay_path(Path("site"), url)
    assert caught.value.code == "U02"


LONG_URLS = ["http://e.com/" + "a" * 5_000, "http://e.com/" + "a" * 5_000 + "b", "http://e.com/x?" + "é" * 3_000,
             "http://e.com/" + "a/" * 2_000, "http://e.com/" + "a/" * 2_000 + "b", "http://" + "h" * 400 + ".example/a",
             "http://e.com/" + "a" * 200, "http://e.com/" + "a" * 201]


def test_long_urls_are_recorded_under_a_hash(tmp_path):
    answers = {url: f"{n}" for n, url in enumerate(LONG_URLS)}
    record(tmp_path, answers)
    for number, url in enumerate(LONG_URLS):
        assert replay(tmp_path, url)[2] == f"{number}".encode()
    assert max(len(part) for name in files(tmp_path) for part in name.split("/")) <= 208


PIECES = ["/", "?", "%", "%2F", "%2f", "%3F", "%25", "%2E", "%20", ".", "..", ".headers", "%-", "é", " ", ":", "a"]
rests = st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=2)), max_size=8).map("".join)


def canonical(rest):
    """The requested URL: without a fragment, and with `/` for an empty path."""
    path, mark, query = rest.partition("#")[0].partition("?")
    return f"/{path.removeprefix('/')}{mark}{query}"


@given(rests, rests)
def test_different_urls_have_different_paths_within_the_folder(one, other):
    one, other = canonical(one), canonical(other)
    assume(one != other)
    paths = [replay_path(Path("/site"), f"http://e.com{rest}") for rest in (one, other)]
    assert paths[0] != paths[1]
    for path in paths:
        assert path.parts[:4] == ("/", "site", "http", "e.com")
        assert not {"..", "."} & set(path.parts)
        assert "\0" not in str(path)
        assert not path.name.endswith(".headers")


# --- round trips ---------------------------------------------------------------------------------------------

HEADERS = {"content-type": "text/xml; charset=utf-8", "content-encoding": "gzip", "location": "/b:c",
           "etag": 'W/"1: 2"', "last-modified": "Wed, 03 Jun 2014 10:30:00 GMT", "retry-after": "120"}

ANSWERS = [  # pages of a kit.Site
    b"<urlset/>",
    (200, {}, [b"\x00\xff\r\n" * 50_000, b"\x1f\x8b"]),
    (200, HEADERS, b"abc"),
    200,
    (200, {"etag": '"1"'}, b""),
    (404, {"content-type": "text/html"}, b"gone"),
    404,
    0,
    (999, {}, b"x"),
    (302, {"location": "https://shop.example/b"}, b""),
    (200, {}, [b"ab", b"cd", FetchError("e.com: connection broke off after 4 bytes")]),
    (200, {}, [FetchError("broke off at once")]),
    FetchError("127.0.0.1 is a loopback address", code="F13"),
    FetchError("e.com: no such host:\nreally"),
    FetchError("e.com: no such host", remedy="check the spelling"),
    FetchError("e.com: no HTTP: a; b"),
    FetchError("e.com: a; b", code="F13", remedy=""),
]


@pytest.mark.parametrize("answer", ANSWERS)
def test_replay_gives_what_was_recorded(tmp_path, answer):
    status, headers, body, error = record(tmp_path, {URL: answer})[URL]
    again = replay(tmp_path)
    assert again[:3] == (status, headers, body)
    assert (again[3] is None) == (error is None)
    if error:
        assert str(again[3]) == str(error).replace("\n", " ")
        assert (again[3].code, again[3].transient, again[3].remedy) == (error.code, False, error.remedy)
    assert not list(tmp_path.glob(".part-*"))


@pytest.mark.parametrize("after", [ANSWERS[0], ANSWERS[3], ANSWERS[6], ANSWERS[12]])
def test_later_response_overwrites(tmp_path, after):
    for number, before in enumerate(ANSWERS):
        folder = tmp_path / str(number)
        record(folder, {URL: before})
        expected = record(folder, {URL: after})[URL]
        assert replay(folder)[:3] == expected[:3], before


def test_plain_answer_is_one_file(tmp_path):
    record(tmp_path, {URL: ANSWERS[0]})
    assert files(tmp_path) == ["https/shop.example/sitemap.xml", "site.toml"]


def test_headers_file_is_readable(tmp_path):
    record(tmp_path, {URL: (404, {"etag": '"1"', "set-cookie": "id=1", "date": "x"}, b"gone")})
    text = (tmp_path / "https/shop.example/sitemap.xml.headers").read_text()
    assert text == 'status: 404\netag: "1"\n'


def test_reading_that_stops_early_is_marked(tmp_path):
    record(tmp_path, {URL: (200, {}, [b"abc", b"def"])}, most=1)
    status, _, body, error = replay(tmp_path)
    assert (status, body) == (200, b"abc")
    assert "no more was read after 3 bytes" in str(error)


def test_a_body_that_ends_with_the_error_of_a_library_is_marked_with_it(tmp_path):
    """As fetch() may convert it only when it leaves."""
    broken = 404, {}, [b"abc", KeyError("reset")]
    with pytest.raises(KeyError):
        record(tmp_path, {URL: broken})
    status, _, body, error = replay(tmp_path)
    assert (status, body, str(error)) == (404, b"abc", "KeyError: 'reset'")


def test_answer_that_is_also_a_folder_is_recorded(tmp_path):
    urls = ["http://e.com/a", "http://e.com/a/b.xml", "http://e.com/a/b.xml/c"]
    for order in (urls, urls[::-1], urls[1:] + urls[:1]):
        answers = {url: f"{url} {order}" for url in order}
        record(tmp_path, answers)
        for url in urls:
            assert replay(tmp_path, url)[2] == f"{url} {order}".encode()


def test_body_written_by_hand_is_enough(tmp_path):
    (tmp_path / "https/shop.example").mkdir(parents=True)
    body = tmp_path / "https/shop.example/sitemap.xml"
    body.write_bytes(b"x" * 200_000)
    assert replay(tmp_path) == (200, {}, b"x" * 200_000, None)


HEADS = [
    ("status: 404\r\nContent-Type : text/html\r\n", 404, {"content-type": "text/html"}),
    ("status:503\nretry-after:5", 503, {"retry-after": "5"}),
    ("\nlocation: http://e.com/a\n\n", 200, {"location": "http://e.com/a"}),
    ("", 200, {}),
]


@pytest.mark.parametrize(("text", "status", "headers"), HEADS)
def test_headers_alone_are_an_answer_without_body(tmp_path, text, status, headers):
    (tmp_path / "https/shop.example").mkdir(parents=True)
    (tmp_path / "https/shop.example/sitemap.xml.headers").write_bytes(text.encode())
    assert replay(tmp_path) == (status, headers, b"", None)


@pytest.mark.parametrize("text", ["nonsense", ": x", "status: two", "status: 2000"])
def test_invalid_headers_file_is_named(tmp_path, text):
    (tmp_path / "https/shop.example").mkdir(parents=True)
    (tmp_path / "https/shop.example/sitemap.xml.headers").write_text(text)
    error = replay(tmp_path)[3]
    assert "sitemap.xml.headers:1: " in str(error)
    assert (error.transient, error.remedy) == (False, "")


@pytest.mark.parametrize("name", ["sitemap.xml", "sitemap.xml.headers"])
def test_a_file_that_cannot_be_read_is_a_failure_of_its_document(tmp_path, monkeypatch, name):
    file = tmp_path / "https/shop.example" / name
    file.parent.mkdir(parents=True)
    file.touch()

    def refuse(self, *_):
        raise PermissionError(13, "Permission denied", str(self))

    monkeypatch.setattr(Path, "open", refuse)
    error = replay(tmp_path)[3]
    assert str(error) == f"cannot read {file}: Permission denied"
    assert (error.transient, error.remedy) == (False, "")


def test_missing_file_is_404(tmp_path):
    (tmp_path / "https/shop.example/sitemap.xml").mkdir(parents=True)
    assert replay(tmp_path)[:3] == (404, {}, b"")
    assert replay(tmp_path, "https://other.example/")[0] == 404


def test_hostile_urls_stay_inside(tmp_path):
    folder, outside = tmp_path / "in" / "replay", tmp_path / "secret"
    outside.write_text("secret")
    urls = [f"http://e.com/{'../' * n}secret" for n in range(6)]
    urls += [f"http://e.com/{'%2e%2e/' * 4}secret", f"http://e.com/{'..%2F' * 4}secret", "http://../../../secret"]
    record(folder, {url: b"x" for url in urls})
    assert outside.read_text() == "secret"
    assert {path for path in tmp_path.rglob("*") if path.is_file() and folder not in path.parents} == {outside}
    for url in urls:
        assert replay(folder, url)[2] == b"x"


@pytest.fixture
def linked(tmp_path):
    """A recording in `rec` with links; a file and a folder outside of it."""
    folder = tmp_path / "rec"
    (tmp_path / "outside/deep").mkdir(parents=True)
    for name in ("secret.txt", "sitemap.xml", "sitemap.xml.headers", "deep/sitemap.xml"):
        (tmp_path / "outside" / name).write_text("status: 200\nx-secret: https://e.com/hunter2\n")
    record(folder, {URL: b"inside", "https://e.com/a/b.xml": b"b"})
    return folder


URL_OF_LINK = "https://e.com/link.xml"
# Path in the recording -> what it links to.
OUTWARD = {
    "https/e.com/link.xml": "../../../outside/secret.txt",
    "https/e.com/link.xml.headers": "../../../outside/sitemap.xml.headers",
    "https/e.com": "../../outside",
    "https": "../outside",
}


@pytest.mark.skipif(sys.platform == "win32", reason="symbolic links need rights there")
@pytest.mark.parametrize("absolute", [False, True])
@pytest.mark.parametrize("place", OUTWARD)
def test_links_out_of_the_recording_are_not_followed(linked, place, absolute):
    url = {"https/e.com": "https://e.com/sitemap.xml", "https": "https://deep/sitemap.xml"}.get(place, URL_OF_LINK)
    link = linked / place
    if link.is_dir():
        link.rename(linked / "moved")
    link.symlink_to((link.parent / OUTWARD[place]).resolve() if absolute else OUTWARD[place])
    status, headers, body, error = replay(linked, url)
    assert (headers, body) == ({}, b"")
    assert "is a symbolic link, or below one, that leads out of" in str(error), status
    with pytest.raises(OSError, match="a symbolic link leads out of"):
        record(linked, {url: b"new"})
    with pytest.raises(OSError, match="a symbolic link leads out of"):
        record(linked, {url: 200})
    assert {file.read_text()[:11] for file in linked.parent.rglob("outside/**/*") if file.is_file()} == {"status: 200"}


@pytest.mark.skipif(sys.platform == "win32", reason="symbolic links need rights there")
def test_links_within_the_recording_are_followed(linked):
    (linked / "https/e.com/link.xml").symlink_to("a/b.xml")
    (linked / "https/e.com/c").symlink_to("a")
    (linked.parent / "current").symlink_to(linked)
    for folder in (linked, linked.parent / "current"):
        assert replay(folder, URL_OF_LINK)[2] == b"b"
        assert replay(folder, "https://e.com/c/b.xml")[2] == b"b"


@pytest.mark.skipif(sys.platform == "win32", reason="symbolic links need rights there")
def test_seeds_behind_a_link_out_of_the_folder_are_not_read(linked):
    seeds = linked / "site.toml"
    seeds.rename(linked.parent / "outside/site.toml")
    seeds.symlink_to("../outside/site.toml")
    with pytest.raises(UsageError, match=r"no site\.toml"):
        read_recording(linked)
    with pytest.raises(OSError, match="a symbolic link leads out of"):
        record(linked, {URL: 200})


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes")
def test_pipes_and_devices_are_not_read(linked):
    os.mkfifo(linked / "https/e.com/link.xml")
    os.mkfifo(linked / "https/e.com/link.xml.headers")
    assert replay(linked, URL_OF_LINK)[:3] == (404, {}, b"")
    (linked / "https/e.com/zero.xml").symlink_to("/dev/zero")
    assert replay(linked, "https://e.com/zero.xml")[:3] == (404, {}, b"")
    (linked / "site.toml").unlink()
    os.mkfifo(linked / "site.toml")
    with pytest.raises(UsageError, match=r"no site\.toml"):
        read_recording(linked)


def test_other_schemes_are_refused_and_not_recorded(tmp_path):
    answers = {"ftp://e.com/a": 200}
    assert record(tmp_path, answers)["ftp://e.com/a"][3].code == "U02"
    assert replay(tmp_path, "ftp://e.com/a")[3].code == "U02"
    assert files(tmp_path) == []


def test_folder_that_cannot_be_written_is_an_os_error(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="file"):
        record(tmp_path / "file", {URL: ANSWERS[0]})


# --- seeds ------------------------------------------------------------------------------------------------------


def test_seeds_round_trip(tmp_path):
    seeds = ["https://shop.example/", 'https://e.com/"é\\\U0001f600']
    record(tmp_path / "new" / "folder", {URL: ANSWERS[0]}, seeds=seeds)
    assert read_recording(tmp_path / "new" / "folder")[0] == tuple(seeds)


def test_seed_is_the_first_site_where_none_is_given(tmp_path):
    record(tmp_path, {URL: ANSWERS[0], "https://other.example/a": ANSWERS[0]})
    assert read_recording(tmp_path)[0] == ("https://shop.example/",)


BAD_SEEDS = [(None, r"was not written with record= \(no site\.toml\)"), ("seeds = [", "cannot be read"),
             ("\udcff", "cannot be read"), ("", "no seeds"), ("seeds = []", "no seeds"),
             ('seeds = "https://e.com/"', "no seeds"), ("seeds = [1]", "no seeds")]


@pytest.mark.parametrize(("text", "message"), BAD_SEEDS)
def test_folder_without_seeds_is_no_replay(tmp_path, text, message):
    if text is not None:
        (tmp_path / "site.toml").write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(UsageError, match=message):
        read_recording(tmp_path)


def test_recording_has_its_time(tmp_path):
    moment = datetime(2026, 10, 31, 12, 0, 5, 250_000, tzinfo=UTC)
    record(tmp_path, {URL: ANSWERS[0]}, clock=lambda: moment)
    assert read_recording(tmp_path) == (("https://shop.example/",), moment.replace(microsecond=0))


@pytest.mark.parametrize("recorded", ["2026-10-31T12:00:00", "2026-10-31", '"yesterday"', "1"])
def test_a_time_without_a_zone_is_none(tmp_path, recorded):
    (tmp_path / "site.toml").write_text(f'seeds = ["https://e.com/"]\nrecorded = {recorded}\n')
    with pytest.raises(UsageError, match="recorded is no time with a zone; write recorded = 2026-10-31T12:00:00Z"):
        read_recording(tmp_path)


def test_missing_folder_is_named(tmp_path):
    with pytest.raises(UsageError, match="nowhere: no such folder"):
        read_recording(tmp_path / "nowhere")
