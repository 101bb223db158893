"""Entries with structural damage, between two good ones: which are repaired, and which are dropped."""

import re
from itertools import product
from typing import Any

import pytest
from damaged_entries import PLACES
from kit import parse, without_bytes_taken

import sitemap_reader as sr
from sitemap_reader.parser import ExpatDriver, attributes, is_misspelling, next_token
from sitemap_reader.parser.xml import markup

HOST = "https://example.com/"

# --- how the tables are read ---

# A message, and its short form in the tables.
SHORT = [
    (r'^the prefix "(.*)" is not declared, it was read as (.*)', r"\1: = \2"),
    (r"; more may be lost\Z", "?"),
    (r"^(.*) is missing: it was added before [^?]*", r"+ \1"),
    (r"^(.*) (?:is doubled|holds nothing|is malformed|is no instruction|is not at the start): it was.*", r"- \1"),
    (r"^(.*) (?:ends nothing|is the end of another root element): it was skipped", r"- \1"),
    (r"^(.*) was read as (.*)", r"\1 -> \2"),
    (r"^.*: lost up to the next entry", "lost"),
    (r"^content follows the end of the root element", "more"),
    (r"^the end of the root element was not reached", "cut"),
    (r"^.*, before the root element", "refused"),
    (r"^skipped .* before the root element", "junk"),
]
LOSES = ("?", "lost", "cut", "refused")


def document(place: str, damaged: str) -> bytes:
    before, behind, _ = PLACES[place]
    return (before + damaged + behind).replace("@", HOST).encode()


def read(body: bytes, size: int = 0) -> list[sr.Item]:
    return parse(body, size).items


def fields(record: sr.UrlRecord | sr.SitemapRef) -> str:
    """`2:lastmod,image=a title,de`: the location, and other fields of the record."""
    found = ["lastmod"] if record.lastmod else []
    if isinstance(record, sr.UrlRecord):
        found += ["image" + (f"={image.title}" if image.title else "") for image in record.images]
        found += [alternate.hreflang or "" for alternate in record.alternates]
    return record.loc.removeprefix(HOST) + (":" + ",".join(found) if found else "")


def note(problem: sr.Problem) -> str:
    text = problem.message.replace(HOST, "@")
    for message, short in SHORT:
        text = re.sub(message, short, text, flags=re.DOTALL)
    return text if problem.line == 3 else f"{problem.line} {text}"


def expected(place: str, found: str) -> tuple[str, bool]:
    """The locations of the whole document, and whether its outcome is complete."""
    listed = found.removesuffix("...").strip()
    if place == "title":
        listed = "2:image" + (listed and f"={listed}")
    parts = [listed] if place == "whole document" else ["1", listed, "9"]
    return " ".join(filter(None, parts)), not found.endswith("...")


CASES = [
    pytest.param(place, *row[1:3], list(row[3:]), id=f"{place}-{row[0]}")
    for place, (_, _, rows) in PLACES.items()
    for row in rows
]


@pytest.mark.parametrize(("place", "damaged", "found", "notes"), CASES)
def test_entry_is_repaired_or_dropped_and_reported(place: str, damaged: str, found: str, notes: list[str]) -> None:
    *items, outcome = read(document(place, damaged))
    listed = " ".join(fields(item) for item in items if isinstance(item, sr.UrlRecord | sr.SitemapRef))
    assert (listed, outcome.complete) == expected(place, found)
    problems = [item for item in items if isinstance(item, sr.Problem) and item.code in ("S01", "S08")]
    assert [note(problem) for problem in problems] == notes
    assert [problem.severity == "error" for problem in problems] == [text.endswith(LOSES) for text in notes]


@pytest.mark.smoke("1")
@pytest.mark.slow
@pytest.mark.parametrize("size", [1, 2, 7, 64])
def test_pieces_of_any_size_give_the_same(size: int) -> None:
    """Including the outcome, without the bytes taken if reading stopped early."""
    for place, (_, _, rows) in PLACES.items():
        for row in rows:
            body = document(place, row[1])
            assert without_bytes_taken(read(body, size)) == without_bytes_taken(read(body)), row


@pytest.mark.slow
def test_lines_behind_a_repair_are_those_of_the_document() -> None:
    """Insertions and skipped bytes do not change line numbers."""
    for place, (_, _, rows) in PLACES.items():
        for row in rows:
            body = document(place, row[1])
            for record in (item for item in read(body) if isinstance(item, sr.UrlRecord | sr.SitemapRef)):
                if record.loc == f"{HOST}9":
                    assert record.line == 1 + body[: body.index(record.loc.encode())].count(b"\n"), row


@pytest.mark.slow
def test_every_problem_has_a_line_and_a_short_excerpt() -> None:
    for place, (_, _, rows) in PLACES.items():
        for row in rows:
            for problem in (item for item in read(document(place, row[1])) if isinstance(item, sr.Problem)):
                assert len(problem.message) < 260, row
                assert "\n" not in problem.message, row
                assert problem.line or problem.code in ("S02", "S15"), row


# --- time, measured by the number of restarts and of tokens ---

MANY = 500
EDITS = 1_000  # in one entry
# The damage of one entry.
KINDS = [
    "<url><loc>@{0}</lok></url>",
    "<url><loc><loc>@{0}</url></url>",
    "<url><loc>@{0}<lastmod>2026-11-01</url>",
    "<url><loc>@{0}<b>x</loc></url>",
    "<loc>@{0}</loc></url>",
    "<loc>@{0}</loc>",
    "<url><loc>@{0}</loc>",
    "<url><loc>@{0}</loc></url></url></b></foo>",
    "<url id=7><loc>@{0}</loc><x a=1 a=2>&#xD800; < 5 ]]></url>",
    "<url><loc>@{0}</loc><p:q/></url>",
    "<url><loc>@{0}</loc><p{0}:q/></url>",
    "<url><loc>@{0}</loc><x>&nbsp;a & b<!-- a -- b --><![CDATA[c</x></url>",
    '<?xml version="1.0"?><url><loc>@{0}</loc></url>',
    "</urlset><urlset><url><loc>@{0}</loc></url>",
    "<url></loc></url>",
    "< 5 <br> </p>",
]


TOKENS = ["<a b='c>d'/><e:f>", "<a b='c>d' e<f>", "<a b=c/ d><e>", "< loc >x", "< 5 <b>", "</ a ><b>", "<\\/a>",
          "</a <b>", "<!-- a --><b>", "<!- a -><b>", "<![CDATA[a]]><b>", "<?a b?><c>", '<?xml a="b"?><c>',
          "<!DOCTYPE a [<b>]>", "<xml a=b><c>", "]]>a", "<//>a", "<!>a<b>", "<%=a%><b>", "<![endif]>a",
          "< \u00e9t\u00e9 ", "</ /a"]
PIECES = ["<", ">", "!", "-", "[", "/", "?", "a", " ", '"', "=", "\\", "%", "1", "\u00e9"]


@pytest.mark.parametrize("text", TOKENS)
def test_token_is_given_only_when_no_further_byte_makes_it_another(text: str) -> None:
    data = text.encode()
    whole = next_token(data + b" <z>\n", 0)
    assert whole is not None
    given = [next_token(data[:end], 0) for end in range(len(data))]
    assert [token for token in given if token is not None] == [whole] * sum(token is not None for token in given)


def test_incomplete_markup_ends_at_the_end_of_the_document() -> None:
    """Otherwise everything after it is lost."""
    behind = " <z>y</z> \"' --> ]]> ?> -> <z>y</z> <z>"
    texts = ["<" + "".join(pieces) for pieces in product(PIECES, repeat=3)]
    assert [text for text in texts if next_token((text + behind).encode(), 0) is None] == []


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_expat_is_begun_again_only_behind_a_root(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    restarts = []
    restart = ExpatDriver.restart

    def counted(driver: ExpatDriver) -> None:
        restarts.append(driver)
        restart(driver)

    monkeypatch.setattr(ExpatDriver, "restart", counted)
    body = "<urlset>" + "\n".join(kind.format(number) for number in range(MANY)) + "\n</urlset>"
    read(body.replace("@", HOST).encode(), 1 << 14)
    assert len(restarts) <= body.count("</urlset>")


@pytest.mark.parametrize("scans", [True, False])
def test_doubled_end_tag_behind_a_fault_hides_nothing(scans: bool) -> None:
    """Also where the entries around it were scanned."""
    plain, raw = (f"<url><loc>{HOST}{path}</loc></url>" for path in ("a", "b?c&d"))
    lost = "<url><loc>https://example.com/<b></loc></url>"
    reading = parse(f"<urlset>{lost}{plain}</url>{plain}{raw}</url>{plain}</urlset>", scans=scans)
    found = [problem for problem in reading.of(sr.Problem) if "ends nothing" in problem.message]
    assert [problem.severity for problem in found] == ["warning", "warning"]


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_tokens_are_visited_a_few_times_an_entry(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each token of a damaged entry is looked at again to read it, and with some chunks, but not with every entry."""
    looked = []

    def counted(data: bytes | bytearray, start: int, **how: Any) -> object:
        looked.append(start)
        return next_token(data, start, **how)

    monkeypatch.setattr(markup, "next_token", counted)
    body = "<urlset>" + "\n".join(kind.format(number) for number in range(MANY)) + "\n</urlset>"
    read(body.replace("@", HOST).encode(), 1 << 14)
    tags = body.count("<") + body.count("&#") + body.count("]]>")
    assert 0 < len(looked) <= 6 * tags


@pytest.mark.parametrize(("count", "found"), [(EDITS, "1 2 9"), (EDITS + 1, "1 9"), (5 * EDITS, "1 9")])
def test_an_entry_with_too_many_faults_is_lost(count: int, found: str) -> None:
    damaged = "<url>" + "</b>" * count + "<loc>@2</loc></url>"
    reading = parse(document("urlset", damaged))
    assert " ".join(loc.removeprefix(HOST) for loc in reading.locs) == found
    assert reading.outcome().complete is ("2" in found)


# --- the pieces: tokens, attributes, names ---


@pytest.mark.parametrize("opening", [b"<![CDATA[", b"<[CDATA[", b"< [cdata [", b"<!CDATA[", b"<CDATA [", b"< CDATA ["])
def test_opening_of_a_section_is_no_other_token_while_it_is_incomplete(opening: bytes) -> None:
    section = next_token(opening, 0)
    assert (section.kind, section.written) == ("section", opening)
    assert [next_token(opening[:count], 0) for count in range(1, len(opening))] == [None] * (len(opening) - 1)


@pytest.mark.parametrize(("written", "kind", "length"), [
    (b"<loc>x", "start", 5),
    (b"<loc> </loc>", "start", 5),
    (b"<loc <x>y", "start", 5),
    (b'<a b="c>d">x', "start", 11),
    (b'<a b="c>d<e f="g">x', "start", 8),
    (b"<a b='c>d'>x", "start", 11),
    (b"< loc>x", "start", 6),
    (b"< lic>x", "stray", 1),
    (b"< x:loc>x", "start", 8),
    (b"</loc>", "stop", 6),
    (b"</loc<", "stop", 5),
    (b"</loc x>", "stop", 8),
    (b"< / loc >", "stop", 9),
    (b"<\\loc>", "stop", 6),
    (b"</>", "stray", 2),
    (b"<3", "stray", 1),
    (b"<<", "stray", 1),
    (b"<?x ?>", "instruction", 6),
    (b"<?= ?>", "instruction", 6),
    (b'<?xml version="1.0"?>', "declaration", 21),
    (b"<?xml-stylesheet a?>", "instruction", 20),
    (b'<?XML version="1.0"?>', "declaration", 21),
    (b"<!DOCTYPE x>", "declaration", 12),
    (b"<!DOCTYPE x<", "stray", 2),
    (b"<!-- <a> --> <b>", "comment", 12),
    (b"<![CDATA[ <a> ]]>", "section", 9),
    (b"]]>", "stray", 3),
    # the bytes behind are not known yet, or there is no token
    *((written, None, 0) for written in (
        b"<loc", b"<loc>", b"<loc> ", b"<loc> <", b"<loc> </", b"<loc> </loc", b"< ", b"< lo", b"</loc", b"<", b"<?",
        b"<?x ?", b"<!", b"<!-", b"<!-- <a>", b"<![CDATA", b"]]", b"&amp;", b"no markup",
    )),
])
def test_token_is_returned_once_no_further_byte_can_change_it(written: bytes, kind: str | None, length: int) -> None:
    token = next_token(written, 0)
    assert (token and token.kind, len(token.written) if token else 0) == (kind, length)


@pytest.mark.parametrize(("written", "read"), [
    (b' a="1"', b' a="1"'), (b' a="1" b=\'2\'', b' a="1" b=\'2\''), (b" a=1", b' a="1"'),
    (b" a=1 b=2 /", b' a="1" b="2"'), (b" a=1/", b""), (b' b="2" a=1/', b' b="2"'), (b' a="1"/', b' a="1"'),
    (b' a="1"b="2"', b' a="1" b="2"'), (b' a="1" a="2"', b' a="1"'), (b" a", b""), (b" a=", b""),
    (b' a b="2"', b' b="2"'), (b' "', b""), (b' a = "1"', b' a = "1"'), (b" a = 1 b", b' a="1"'),
    (b'\na="x\ny"\tb=2', b' a="x\ny" b="2"'), (b' a="x>y" b=2', b' a="x>y" b="2"'), (b"", b""), (b" ", b" "),
    (b" /", b" "),
])
def test_attributes_are_quoted_each_once(written: bytes, read: bytes) -> None:
    assert attributes(written).written == read


@pytest.mark.parametrize(("name", "meant", "slip"), [
    (b"lok", b"loc", True), (b"Loc", b"loc", True), (b"LOC", b"loc", True), (b"lo", b"loc", True),
    (b"lc", b"loc", True), (b"locc", b"loc", True), (b"x:loc", b"loc", True), (b"loc", b"x:loc", True),
    (b"ulr", b"url", True), (b"lastmd", b"lastmod", True), (b"b", b"loc", False), (b"link", b"lock", False),
    (b"url", b"loc", False), (b"lastmod", b"loc", False), (b"title", b"lastmod", False),
    (b"changefreq", b"priority", False),
])
def test_misspelled_name_is_similar_and_another_name_is_not(name: bytes, meant: bytes, slip: bool) -> None:
    assert is_misspelling(name, meant) is slip
