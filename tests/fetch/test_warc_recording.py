"""Recorded WARC files replay what was fetched, and other WARC readers accept them."""

import asyncio
import gzip
import os
import re
import signal
import subprocess
import sys
import threading
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest
from fakenet import fetch
from kit import Site, urlset
from test_replay import ANSWERS as REPLAYED
from warcs import MAP, fetched, record, response, write

import sitemap_reader as sr
from sitemap_reader import FetchError, UsageError
from sitemap_reader.fetch import WarcRecorder, warc

warcio = pytest.importorskip("warcio.cli").main
ArchiveIterator = pytest.importorskip("warcio.archiveiterator").ArchiveIterator

ROBOTS = "https://shop.example/robots.txt"
KINDS = ["site.warc", "site.warc.gz", "SITE.WARC.GZ"]
NOW = datetime(2026, 10, 31, 12, 0, 5, 250_000, tzinfo=UTC)


def recorded(path, answers, *, seeds=(), most=None, clock=lambda: NOW):
    async def run():
        recorder = WarcRecorder(Site(answers), path, seeds, clock=clock)
        return {url: await fetch(recorder, url, most) for url in answers}

    return asyncio.run(run())


def records(path):
    """(type, URL, HTTP headers, body) of each, as warcio reads them."""
    with path.open("rb") as file:
        return [
            (each.rec_type, each.rec_headers["WARC-Target-URI"], each.http_headers, each.raw_stream.read())
            for each in ArchiveIterator(file)
        ]


def assert_is_valid(path, capsys):
    with pytest.raises(SystemExit) as ended:
        warcio(["check", str(path)])
    output = capsys.readouterr()
    assert (ended.value.code, output.out, output.err) == (0, "", "")


ANSWERS = [
    *REPLAYED,
    (200, {"etag": '"1"', "transfer-encoding": "chunked"}, [b"5\r\nab", b"cde"]),
    (200, {"content-length": "7", "transfer-encoding": "gzip", "set-cookie": "é=ü, b=\U0001f600"}, b"abc"),
    (200, {}, [b"\x00\xff\r\n" * 500_000, b"\x1f\x8b"]),
    (304, {"content-length": "5000"}, b""),
    FetchError("F13 e.com: no such host:\nreally"),
    FetchError("e.com: no HTTP: a; b", remedy=""),
    FetchError("e.com: a; b", remedy="c; d"),
    (200, {"bad\r\nname": "x", "split": "a\r\n\r\nHTTP/1.1 200 OK", "half": "\udcff"}, b"x"),
]
EMPTY, PLAIN, GONE, BROKEN, REFUSED = (REPLAYED[number] for number in (0, 3, 5, 10, 12))


def comparable(answer):
    status, headers, body, error = answer
    kept = {
        name: re.sub(r"[\r\n]+", " ", value).encode("utf-8", "replace").decode()
        for name, value in headers.items()
        if name not in ("content-length", "transfer-encoding", "bad\r\nname")
    }
    output = error and (error.code, error.message, error.remedy)
    return status, kept, body, output


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("answer", ANSWERS)
def test_replay_gives_what_was_recorded(tmp_path, capsys, kind, answer):
    path = tmp_path / "new" / kind
    expected = recorded(path, {MAP: answer})[MAP]
    again = fetched(sr.fetch.WarcFetcher(path))
    assert comparable(again) == comparable(expected)
    assert again[3] is None or not again[3].transient
    if again[0] not in (None, 304):
        assert again[1]["content-length"] == str(len(again[2]))
    assert_is_valid(path, capsys)
    assert [each.name for each in path.parent.iterdir()] == [kind]


@pytest.mark.parametrize("after", [EMPTY, PLAIN, BROKEN, REFUSED])
def test_the_last_answer_counts(tmp_path, after):
    for number, before in enumerate(ANSWERS):
        path = tmp_path / f"{number}.warc"
        recorded(path, {MAP: before})
        expected = recorded(path, {MAP: after})[MAP]
        assert comparable(fetched(sr.fetch.WarcFetcher(path))) == comparable(expected), before


def test_nothing_of_the_request_is_written(tmp_path):
    async def run():
        recorder = WarcRecorder(Site({"https://me:secret@shop.example/a": EMPTY}), tmp_path / "a.warc")
        async with recorder.fetch("https://me:secret@shop.example/a", {"Authorization": "secret"}):
            pass

    asyncio.run(run())
    assert b"secret" not in (tmp_path / "a.warc").read_bytes()
    assert {kind for kind, *_ in records(tmp_path / "a.warc")} == {"warcinfo", "response", "metadata"}


def test_each_record_is_a_member_of_its_own(tmp_path):
    recorded(tmp_path / "a.warc.gz", {MAP: EMPTY, ROBOTS: GONE})
    parts = (tmp_path / "a.warc.gz").read_bytes().split(b"\x1f\x8b\x08")[1:]
    assert [gzip.decompress(b"\x1f\x8b\x08" + part)[:8] for part in parts] == [b"WARC/1.1"] * 3


def test_partly_read_body_is_marked(tmp_path):
    recorded(tmp_path / "a.warc", {MAP: (200, {}, [b"abc", b"def"])}, most=1)
    text = (tmp_path / "a.warc").read_text()
    assert "WARC-Truncated: unspecified" in text
    status, _, body, error = fetched(sr.fetch.WarcFetcher(tmp_path / "a.warc"))
    assert (status, body) == (200, b"abc")
    assert str(error) == "the recording ends here: no more was read after 3 bytes"


def test_broken_transfer_is_marked_as_truncated(tmp_path):
    recorded(tmp_path / "a.warc", {MAP: BROKEN})
    assert "WARC-Truncated: disconnect" in (tmp_path / "a.warc").read_text()


def test_recording_is_continued(tmp_path, capsys):
    for kind in KINDS[:2]:
        path = tmp_path / kind
        recorded(path, {MAP: EMPTY}, seeds=["https://shop.example/"])
        recorded(path, {ROBOTS: GONE}, seeds=["b.example", "https://shop.example/"])
        fetcher = sr.fetch.WarcFetcher(path)
        assert [seed.target for seed in fetcher.seeds] == ["https://shop.example/", "b.example"]
        assert (fetched(fetcher)[2], fetched(fetcher, ROBOTS)[0]) == (b"<urlset/>", 404)
        assert_is_valid(path, capsys)


def test_file_of_another_program_keeps_its_seeds(tmp_path):
    path = write(tmp_path / "a.warc.gz", response(urlset()))
    recorded(path, {"https://b.example/robots.txt": PLAIN}, seeds=["https://b.example/"])
    assert [seed.target for seed in sr.fetch.WarcFetcher(path).seeds] == ["https://b.example/", "https://shop.example/"]


def test_seeds_are_the_first_site_where_none_are_given(tmp_path):
    recorded(tmp_path / "a.warc", {MAP: EMPTY, "https://b.example/": EMPTY}, seeds=[])
    assert [seed.target for seed in sr.fetch.WarcFetcher(tmp_path / "a.warc").seeds] == ["https://shop.example/"]


def test_recording_has_its_time(tmp_path):
    recorded(tmp_path / "a.warc", {MAP: REFUSED})
    assert sr.fetch.WarcFetcher(tmp_path / "a.warc").recorded == NOW.replace(microsecond=0)


def test_other_schemes_are_refused_and_not_recorded(tmp_path):
    assert recorded(tmp_path / "a.warc", {"ftp://e.com/a": 200})["ftp://e.com/a"][3].code == "U02"
    assert not (tmp_path / "a.warc").exists()


# --- files that cannot be continued ----------------------------------------------------------------------------------

WHOLE = record("warcinfo", b"software: x\r\n", url="") + response(urlset(), url=ROBOTS)
ENDS = [
    ("a.warc", WHOLE, None),
    ("a.warc", b"", None),
    ("a.warc", response(b"x" * 3_000_000), None),
    ("a.warc", WHOLE[:-10], f"ends in half a record.*truncate -s {WHOLE.rindex(b'WARC/1.1')} "),
    ("a.warc", WHOLE + b"x", "ends in half a record"),
    ("a.warc", b"x" * 100, "is no WARC"),
    ("a.warc", gzip.compress(WHOLE), "is gzipped: name another file"),
    ("a.warc.gz", WHOLE, "is not gzipped: name another file"),
    ("a.warc.gz", gzip.compress(response(os.urandom(3_000_000))), None),
    ("a.warc.gz", gzip.compress(response(os.urandom(3_000_000)))[:-5], "ends in half a record.*truncate -s 0 "),
    ("a.warc.gz", gzip.compress(WHOLE), "ends in half a record"),
]


@pytest.mark.parametrize(("name", "data", "message"), ENDS)
def test_only_undamaged_files_are_continued(tmp_path, name, data, message):
    path = tmp_path / name
    path.write_bytes(data)
    if message is None:
        WarcRecorder(Site({}), path)
        return
    with pytest.raises(UsageError, match=message):
        WarcRecorder(Site({}), path)
    assert path.read_bytes() == data


@pytest.mark.parametrize("kind", KINDS[:2])
def test_a_full_disk_leaves_the_file_as_it_was(tmp_path, monkeypatch, kind):
    path = tmp_path / kind
    recorded(path, {MAP: EMPTY})
    before = path.read_bytes()
    real = os.write
    written = []

    def full(number, data):
        if written:
            raise OSError(28, "No space left on device")
        written.append(real(number, data[: len(data) // 2]))
        return written[0]

    monkeypatch.setattr(warc.os, "write", full)
    with pytest.raises(OSError, match=rf"No space left on device: '.*{kind}'"):
        recorded(path, {MAP: b"x" * 500_000})
    assert written
    assert path.read_bytes() == before


def test_concurrent_streams_do_not_mix(tmp_path, capsys):
    path = tmp_path / "a.warc.gz"
    answers = [
        {f"https://s{n}.example/{m}": b"%d-%d " % (n, m) * 27_000 for m in range(8)}
        for n in range(6)
    ]

    async def one(each):
        recorder = WarcRecorder(Site(each), path, ["https://a.example/"])
        await asyncio.gather(*(fetch(recorder, url) for url in each))

    async def run():
        await asyncio.gather(*map(one, answers))

    asyncio.run(run())
    assert_is_valid(path, capsys)
    fetcher = sr.fetch.WarcFetcher(path)
    for each in answers:
        for url, answer in each.items():
            assert fetched(fetcher, url)[2] == answer


def test_threads_that_append_do_not_mix(tmp_path, capsys, monkeypatch):
    path = tmp_path / "a.warc.gz"
    real = os.write

    def in_bits(number, data):
        time.sleep(0.0005)
        return real(number, data[:5_000])

    monkeypatch.setattr(warc.os, "write", in_bits)
    bodies = [os.urandom(100_000) for _ in range(4)]
    urls = [f"https://s{n}.example/" for n in range(4)]
    threads = [
        threading.Thread(target=recorded, args=(path, {url: body}))
        for url, body in zip(urls, bodies, strict=True)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert_is_valid(path, capsys)
    assert [fetched(sr.fetch.WarcFetcher(path), url)[2] for url in urls] == bodies


KILLED = """
import asyncio, os, sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from fakenet import fetch
from kit import Site
from sitemap_reader.fetch.warc import WarcRecorder
async def run():
    body = os.urandom(300_000)
    recorder = WarcRecorder(Site({"https://e.com/": body}), Path(sys.argv[1]))
    print("begun", flush=True)
    while True:
        await fetch(recorder, "https://e.com/")
asyncio.run(run())
"""


@pytest.mark.slow
def test_a_kill_leaves_at_most_the_last_record_cut_and_no_other_file(tmp_path):
    """The system may end a write in the middle."""
    path = tmp_path / "a.warc.gz"
    command = [sys.executable, "-c", KILLED, str(path), str(Path(__file__).parents[1])]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        while not path.exists() or path.stat().st_size < 2_000_000:
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
    damage = sr.fetch.WarcFetcher(path).damage
    if damage is not None:
        (cut_at,) = re.findall(r"damaged at byte ([\d,]+) \(its gzip member is cut off\)", damage)
        assert path.stat().st_size - 310_000 < int(cut_at.replace(",", "")) < path.stat().st_size
    assert [*tmp_path.iterdir()] == [path]


def test_additional_header_does_not_change_the_body(tmp_path):
    answer = 200, {"content-encoding": "br"}, b"<urlset/>"
    recorded(tmp_path / "a.warc", {MAP: answer})  # compressed although not accepted: stays compressed
    _, headers, body, _ = fetched(sr.fetch.WarcFetcher(tmp_path / "a.warc"))
    assert (headers["content-encoding"], body) == ("br", b"<urlset/>")


def test_without_warcio_it_says_what_to_install_before_anything_is_fetched(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "warcio", None)
    path = tmp_path / "site.warc.gz"
    with pytest.raises(UsageError, match=r"to record to a WARC needs warcio: pip install 'sitemap-reader\[warc\]'"):
        sr.urls("corpus/sites/shop", record=path)
    assert not path.exists()
    path.write_bytes(WHOLE)
    with pytest.raises(UsageError, match=r"to read a WARC needs warcio: pip install 'sitemap-reader\[warc\]'"):
        sr.urls(path)
