"""The tolerant parser alone: of well-formed documents it gives what expat gives, however they are cut."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from random import Random
from types import ModuleType
from typing import Any
from xml.etree import ElementTree

import extension_documents
import feed_documents
import plain_documents
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kit import parse
from tiers import examples

import sitemap_reader as sr
from sitemap_reader.parser import EntryParser, ExpatDriver, XmlFault, next_token
from sitemap_reader.parser.xml import markup

CORPUS = Path(__file__).parents[2] / "corpus"
URL = "https://example.com/shop/sitemap.xml"
CORE = "http://www.sitemaps.org/schemas/sitemap/0.9"


@contextmanager
def never_expat(*, but_for_entries: bool = False) -> Iterator[None]:
    """Has the tolerant parser read all up to the end of the root element, or all but whole entries."""
    parse = EntryParser._parse

    def parse_tolerantly(parser: EntryParser, *, final: bool) -> bool:
        if parser.builder.is_over or not (parser._buffer.data or final):
            return parse(parser, final=final)
        return parser._recover(XmlFault(-1, "refused by the test", None), final=final)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(EntryParser, "_parse", parse_tolerantly)
        if not but_for_entries:
            patched.setattr(ExpatDriver, "read_entry", lambda driver, start, stop: False)
        yield


def is_well_formed(body: bytes) -> bool:
    try:
        ElementTree.fromstring(body)  # noqa: S314  our own documents
    except (ElementTree.ParseError, ValueError, LookupError):
        return False
    return b"<!DOCTYPE" not in body  # those are expat's: what they declare is refused


def read(body: bytes, size: int = 0) -> list[Any]:
    found = parse(body, size, url=URL, extras=True, scans=False)
    *items, outcome = found.items
    return [*items, outcome.complete, outcome.problems, outcome.entries]


@cache
def documents() -> list[Path]:
    found = [path for path in sorted(CORPUS.glob("*/*")) if path.suffix in (".xml", ".rss", ".atom")]
    return [path for path in found if path.stat().st_size < 100_000 and is_well_formed(path.read_bytes())]


@cache
def expected() -> dict[Path, list[Any]]:
    return {path: read(path.read_bytes()) for path in documents()}


@pytest.mark.slow
def test_there_are_well_formed_documents() -> None:
    assert len(documents()) > 200


@pytest.mark.slow
@pytest.mark.parametrize(("size", "but_for_entries"), [(0, False), (0, True), (1, False), (50, False), (50, True)])
def test_well_formed_document_is_read_as_by_expat(size: int, but_for_entries: bool) -> None:
    by_expat = expected()
    with never_expat(but_for_entries=but_for_entries):
        for path, items in by_expat.items():
            assert read(path.read_bytes(), size) == items, path


@pytest.mark.parametrize("made_up", [plain_documents, extension_documents, feed_documents])
@given(seed=st.integers(0, 2**32))
@settings(max_examples=examples(200, 40), deadline=None)
def test_made_up_document_is_read_as_by_expat(made_up: ModuleType, seed: int) -> None:
    body = made_up.document(Random(seed))  # noqa: S311
    if is_well_formed(body):
        expected = read(body)
        for but_for_entries in (False, True):
            with never_expat(but_for_entries=but_for_entries):
                assert read(body) == expected


@pytest.mark.parametrize("size", [0, 1])
def test_namespaces_of_an_entry_and_of_its_fields_are_their_own(size: int) -> None:
    """Names of the entries before are not remembered for it."""
    entries = (
        "<url><loc>https://example.com/1</loc></url>",
        '<url xmlns="urn:other"><loc>https://example.com/2</loc></url>',
        f'<s:url xmlns:s="{CORE}" xmlns="urn:x"><loc>no</loc><s:loc>https://example.com/3</s:loc></s:url>',
        '<url><loc xmlns="urn:x">no</loc><loc>https://example.com/4</loc><a xmlns="urn:x"><b/></a><b/></url>',
        "<url><loc>https://example.com/5</loc></url>",
    )
    body = f'<urlset xmlns="{CORE}">{"".join(entries)}</urlset>'.encode()
    expected = read(body)
    assert [item.loc[-1] for item in expected if isinstance(item, sr.UrlRecord)] == ["1", "3", "4", "5"]
    with never_expat():
        assert read(body, size) == expected


NESTED = "<url><loc>https://example.com/{0}</loc>" + 20 * "<a>" + 20 * "</a>" + "</url>"
WITH_END = "<url><!-- </url> --><loc>https://example.com/{0}</loc><a><![CDATA[</url>]]></a></url>"


@pytest.mark.parametrize(("entry", "most"), [(NESTED, 2), (WITH_END, 12)])
def test_undamaged_entry_behind_a_fault_is_read_by_expat(
    entry: str, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By rules, so many small tags would take more steps of work than their bytes allow (S16)."""
    looked = []

    def counted(data: bytearray, start: int, **how: Any) -> object:
        looked.append(start)
        return next_token(data, start, **how)

    monkeypatch.setattr(markup, "next_token", counted)
    undamaged = "".join(map(entry.format, range(3_000)))
    body = f"<urlset><url><loc>https://example.com/x</lok></url>{undamaged}</urlset>"
    document = parse(body.encode(), scans=False)
    assert len(document.locs) == 3_001
    assert document.outcome().complete
    assert len(looked) < 3_000 * most


def test_what_may_be_hidden_before_an_entry_is_reported_though_expat_stops_in_that() -> None:
    """Where `</entry>` is missing, the second link was found at the tag of the next entry, which is read twice."""
    body = b"""<feed xmlns="http://www.w3.org/2005/Atom">
<entry><link href="https://example.com/1"/><link href="https://example.com/2"/>
<entry><link href="https://example.com/3"/><a b=1>x</a></entry>
</feed>"""
    kinds = [problem.kind for problem in sr.parse(body).problems]
    assert kinds == ["missing tag added", "malformed tag read as the intended one", "entry that may be hidden"]


FAULT = "<url><loc>https://example.com/x</loc><a b=1/></url>"
# A reader of namespaces by rules differs from expat in blanks, and in characters that are not printable.
NAMESPACES = {
    "of an entry": f'<url xmlns="{CORE}\u200b"><loc>@1</loc></url>',
    "of an entry with a fault": f'<url xmlns="{CORE}\u200b"><p:q/><loc>@1</loc></url>',
    "with a line break": "<url><loc>@1</loc><n:news xmlns:n='http://www.google.com/\nschemas/sitemap-news/0.9'/></url>",
    "with a blank": "<url><loc>@1</loc><sitemap xmlns='d\u00a0e'/></url>",
}


@pytest.mark.parametrize("entry", NAMESPACES.values(), ids=NAMESPACES)
def test_who_reads_an_entry_does_not_depend_on_how_the_bytes_are_cut(entry: str) -> None:
    entries = FAULT + entry + "<url><loc>@2</loc><b/></url><url><loc>@3</loc><c/></url>"
    body = f"<urlset xmlns='{CORE}'>{' ' * 9_000}{entries}</urlset>"
    document = body.replace("@", "https://example.com/").encode()
    whole, pieces = (parse(document, size, scans=False) for size in (0, 1))
    assert [loc[-1] for loc in whole.locs] == ["x", "1", "2", "3"]
    assert pieces.items == whole.items


@pytest.mark.parametrize("size", [0, 400])
def test_undamaged_entries_are_given_to_expat_though_each_second_one_is_damaged(size: int) -> None:
    """With an even interval it would always be a damaged one."""
    body = "<urlset>" + "".join(FAULT + NESTED.format(number) for number in range(1_000)) + "</urlset>"
    assert len(parse(body.encode(), size, scans=False).locs) == 2_000


@pytest.mark.slow
def test_document_that_is_cut_is_read_as_by_expat() -> None:
    """With the fields that have ended, and the Problem that it is cut."""
    dice = Random(1)  # noqa: S311
    for path in documents():
        body = path.read_bytes()
        cut = body[: dice.randrange(len(body) // 3, len(body))]
        expected = read(cut)
        with never_expat():
            assert read(cut) == expected, (path, len(cut))
