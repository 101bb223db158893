"""The format of a document by its first bytes, independent of the rest and of the chunks."""

import subprocess
import sys

import pytest
from kit import parse

import sitemap_reader as sr
from sitemap_reader.parser import MAX_JUNK_BYTES, WINDOW_BYTES, SniffResult, sniff

JUNK = b"junk without an end "
BLANKS = b" "
LINES = b"not a url\n"

# The content of the window, its format, and a tail of another format. The window ends right before the tail.
TAILS = [
    (BLANKS, SniffResult("xml"), b"https://example.com/"),
    (BLANKS, SniffResult("xml"), b"<!doctype html>"),
    (BLANKS, SniffResult("xml"), b'<?xml version="1.0"?>'),
    (BLANKS, SniffResult("xml"), b""),
    (b"<!-- ", SniffResult("xml"), b"--><!doctype html>"),
    (b"<br>", SniffResult("xml"), b"<urlset>"),
    (b"https://example.com/ ", SniffResult("text"), b"<urlset>"),
]


@pytest.mark.parametrize("final", [False, True])
@pytest.mark.parametrize(("filler", "verdict", "tail"), TAILS)
def test_bytes_after_the_window_do_not_count(
    filler: bytes, verdict: SniffResult, tail: bytes, final: bool
) -> None:
    window = (filler * WINDOW_BYTES)[:WINDOW_BYTES]
    assert sniff(window, final=False) == verdict
    assert sniff(window + tail + b" " * 100, final=final) == verdict


@pytest.mark.parametrize("final", [False, True])
@pytest.mark.parametrize("tail", [b"<urlset>", b'<?xml version="1.0"?><urlset>', b"\nhttps://example.com/"])
@pytest.mark.parametrize("filler", [JUNK, LINES, b"\0"], ids=["text", "lines", "nul"])
def test_of_junk_more_bytes_count(filler: bytes, tail: bytes, final: bool) -> None:
    window = (filler * MAX_JUNK_BYTES)[:MAX_JUNK_BYTES]
    assert sniff(window[:-1], final=False) is None
    assert sniff(window, final=False) == SniffResult("unknown")
    assert sniff(window + tail + b" " * 100, final=final) == SniffResult("unknown")


@pytest.mark.parametrize(("tail", "kind"),
                         [(b"<urlset>", "xml"), (b'<?xml version="1.0"?>', "xml"), (b"\nhttps://example.com/", "text")])
def test_bytes_at_the_end_of_the_window_count(tail: bytes, kind: str) -> None:
    filler = (JUNK * WINDOW_BYTES)[: WINDOW_BYTES - len(tail)]
    for document in (filler + tail, filler + tail + b"<!-- more -->", JUNK * 1_000 + tail):
        verdict = sniff(document, final=True)
        assert verdict.kind == kind


@pytest.mark.parametrize(("data", "kind"), [
    (b"", "empty"), (b" \r\n", "empty"), (BLANKS * WINDOW_BYTES, "empty"), (BLANKS * (WINDOW_BYTES + 1), "xml"),
], ids=["nothing", "blanks", "a window of blanks", "a blank more"])
def test_emptiness_is_judged_within_the_window(data: bytes, kind: str) -> None:
    verdict = sniff(data, final=True)
    assert verdict.kind == kind


HOSTILE = ["<!-- -->", "<!---->\n", "<!-- ", "<!--", "<!doctype ", "<b ", "\n", "\nhttps:/", "a:"]


def test_hostile_windows_are_classified_at_once() -> None:
    """In a process that can be killed: a backtracking pattern would take very long."""
    ask = "from sitemap_reader.parser.content.sniff import sniff\n"
    ask += f"for unit in {HOSTILE!r}: print(sniff(unit.encode() * 4096, final=True).kind, flush=True)"
    child = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, timeout=60, check=True)
    kinds = child.stdout.split()
    assert len(kinds) == len(HOSTILE)
    assert {*kinds} <= {"xml", "unknown", "text", "empty"}


@pytest.mark.parametrize("junk", [100, WINDOW_BYTES - 100, WINDOW_BYTES, MAX_JUNK_BYTES - 8, MAX_JUNK_BYTES - 7])
def test_a_sitemap_behind_much_junk_is_judged_the_same_in_any_chunks(junk: int) -> None:
    body = (JUNK * junk)[:junk] + b"<urlset><url><loc>https://example.com/1</loc></url></urlset>"
    whole, cut = parse(body), parse(body, 1 if junk < 2 * WINDOW_BYTES else 7)
    assert whole.items[:-1] == cut.items[:-1]
    is_within = junk + len("<urlset>") <= MAX_JUNK_BYTES
    assert whole.outcome().complete is is_within
    assert whole.locs == ["https://example.com/1"] * is_within


@pytest.mark.parametrize("text", [
    "example.com/sitemap.xml was not found on this server.\nTry later.\n", "// (c)\nexample.com/foo\nvar a=1;\n",
    "Not Found\nexample.com/sitemap.xml\n", "example.com/x\n<html><body>no</body></html>\n",
])
def test_a_message_that_names_its_host_is_no_list_of_urls(text: str) -> None:
    document = sr.parse(text, url="https://example.com/sitemap.xml")
    assert (document.urls, document.outcome.complete) == ([], False)
