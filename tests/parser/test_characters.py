"""CharacterReader and RepairLog alone: text that XML does not allow in, what it stands for and Problems out."""

import pytest

from sitemap_reader import Extra, Limits, Problem, SitemapParser, UrlRecord
from sitemap_reader.model import Attribute
from sitemap_reader.parser import Budget, CharacterReader, NoCharacter, RepairLog, ReplayBuffer, Stop, special_in

AND = "a bare & was read as &amp;"
CONTROL = "a control character was kept"


def entity(name: str, read: str) -> str:
    return f"the HTML entity &{name}; was read as {read}"


def number(written: str) -> str:
    return f"{written}, a control character, was kept"


# Bytes, the text that they stand for (None: the same), messages.
ROWS: list[tuple[bytes, str | None, list[str]]] = [
    # a bare &
    *((data, None, [AND])
      for data in (b"a&b", b"?a=1&copy=2", b"?a=1&region=2", b"&region;", b"&lt5", b"&amp", b"x&", b"x&;", b"x&#",
                   b"x&#;", b"x&#x;", b"x&#xZZ;", b"&a-b;", b"&1;", b"&" + b"a" * 33 + b";")),
    (b"a & b && c", None, [AND] * 3),
    # references
    (b"&amp;&lt;&gt;&quot;&apos;&#65;&#x41;", "&<>\"'AA", []),
    (b"&#9;&#xD;&#10;&#32;", "\t\r\n ", []),
    (b"&#38;amp;", "&amp;", []),
    (b"&#x10FFFF;&#xFFFD;&#xE000;&#xD7FF;", "\U0010ffff\ufffd\ue000\ud7ff", []),
    # HTML's entities
    (b"&copy;", "©", [entity("copy", "&#169;")]),
    (b"&nbsp;&Eacute;", "\xa0É", [entity("nbsp", "&#160;"), entity("Eacute", "&#201;")]),
    (b"&AMP;&LT;", "&<", [entity("AMP", "&#38;"), entity("LT", "&#60;")]),
    (b"&frac12;", "½", [entity("frac12", "&#189;")]),
    (b"&NotEqualTilde;", "\u2242\u0338", [entity("NotEqualTilde", "&#8770;&#824;")]),
    (b"&CounterClockwiseContourIntegral;", "∳", [entity("CounterClockwiseContourIntegral", "&#8755;")]),
    # characters that XML does not allow
    (b"\x00", None, [CONTROL]),
    (b"a\x08b\x1fc", None, [CONTROL] * 2),
    (b"\t\n \x7f\xc2\x85\xef\xbf\xbd\xef\xbe\xbe\xef\xb7\x90", None, []),
    (b"\xef\xbf\xbe\xef\xbf\xbf", None, ["2 control characters were kept"]),
    (b"&#1;", "\x01", [number("&#1;")]),
    (b"&#x1F;&#0;", "\x1f\0", [number("&#x1F;"), number("&#0;")]),
    (b"&#xFFFE;&#65535;", "\ufffe\uffff", [number("&#xFFFE;"), number("&#65535;")]),
    (b"&#000000001;", "\x01", [number("&#000000001;")]),
    # line ends, XML 1.0 2.11
    (b"a\r\nb\rc\n", "a\nb\nc\n", []),
]
# References to no character, and those without an end.
NONE = ["&#39 x", "&#39", "&#x27", "&#xD800;", "&#xDFFF;", "&#xFFFFFF;", "&#x110000;", "&#999999999999;"]


def reader(data: bytes, line: int = 1, **limits: int) -> tuple[CharacterReader, RepairLog]:
    stated = Limits(**limits)
    buffer, repairs = ReplayBuffer(line, stated), RepairLog(stated)
    buffer.data += data
    return CharacterReader(buffer, repairs, Budget(stated)), repairs


def read(data: bytes, line: int = 1, **limits: int) -> tuple[str, tuple[Problem, ...]]:
    characters, repairs = reader(data, line, **limits)
    return characters.text(data, 0, is_exact=False), repairs.take()


@pytest.mark.parametrize(("data", "text", "messages"), ROWS)
def test_forbidden_characters_are_read_as_what_they_stand_for(
    data: bytes, text: str | None, messages: list[str]
) -> None:
    found, problems = read(data)
    assert (found, [problem.message for problem in problems]) == (data.decode() if text is None else text, messages)
    assert {(problem.code, problem.severity) for problem in problems} <= {("S01", "warning")}
    assert special_in(data) or not messages


@pytest.mark.parametrize("written", NONE)
def test_reference_to_no_character_is_text_unless_the_text_has_to_be_exact(written: str) -> None:
    text, (problem,) = read(written.encode())
    assert text == written
    assert problem.message.startswith(f"{written.split()[0]} was read as &amp;{written.split()[0][1:]}")
    characters, _ = reader(written.encode())
    with pytest.raises(NoCharacter):
        characters.text(written.encode(), 0, is_exact=True)


@pytest.mark.parametrize(("written", "text"),
                         [(b"a\tb\r\nc\nd\re", "a b c d e"), (b"a&#10;b&amp;", "a\nb&"), (b"?a=1&b", "?a=1&b")])
def test_white_space_of_attributes_is_blanks(written: bytes, text: str) -> None:
    """XML 1.0 3.3.3: but for references to it."""
    characters, _ = reader(written)
    assert characters.attribute(written, 0, is_exact=True) == text


def test_problems_name_the_line_and_show_it_from_the_tag_before_on() -> None:
    data = b"\n<loc>a?b=1&c&nbsp;\n&\n\r\nx \x01\r&" + b"x" * 300 + b"&"
    _, problems = read(data, line=41)
    assert [(problem.line, problem.raw) for problem in problems] == [
        (42, "<loc>a?b=1&"), (42, "<loc>a?b=1&c&nbsp;"), (43, "&"), (45, "x \x01"), (46, "x \x01\r&"),
        (46, "x" * 80 + "&"),
    ]


# --- the log ---


def add(log: RepairLog, count: int, error: int = 0) -> None:
    for place in range(1, count + 1):
        log.add("S01", "repaired", place, severity="error" if place == error else "warning", kind="stray tag skipped")


@pytest.mark.parametrize(("count", "error", "severity", "messages"), [
    (3, 0, "warning", ["repaired"] * 3),
    (4, 0, "warning", ["repaired"] * 2 + ["2 more places were repaired; raise max_entry_problems to see each"]),
    (9, 3, "error", ["repaired"] * 2 + ["7 more places were repaired; raise max_entry_problems to see each"]),
    (9, 9, "error", ["repaired"] * 2 + ["7 more places were repaired; raise max_entry_problems to see each"]),
])
def test_repairs_above_the_limit_of_an_entry_are_counted(
    count: int, error: int, severity: str, messages: list[str]
) -> None:
    log = RepairLog(Limits(max_entry_problems=3))
    add(log, count, error)
    assert log.is_full
    problems = log.take()
    assert [problem.message for problem in problems] == messages
    assert (problems[-1].line, problems[-1].severity, log.is_error) == (3, severity, severity == "error")
    assert log.take() == ()


@pytest.mark.parametrize(("kept", "lines"), [(4, [2, 3]), (5, [2, 3, 4]), (7, [2, 3, 4]), (2, [])])
def test_repairs_in_bytes_that_are_lost_are_forgotten(kept: int, lines: list[int]) -> None:
    log = RepairLog(Limits(max_entry_problems=3))
    log.count_reported(1)
    log.add("S01", "taken", 1, kind="stray tag skipped")
    log.take()
    for line in range(2, 8):
        log.add("S01", "lost", line, severity="error" if line > kept else "warning", kind="stray tag skipped")
    log.cut(kept)
    assert log.made == kept
    assert [problem.line for problem in log.take()] == lines
    assert log.is_error == (kept < 7)  # an entry that a forgotten one may have cost is missing all the same
    assert log.remaining == 3


def test_repairs_of_a_document_are_limited() -> None:
    log = RepairLog(Limits(max_repairs=2))
    log.count_reported(1)
    assert log.remaining == 1
    log.add("S01", "repaired", 3, kind="stray tag skipped")
    with pytest.raises(Stop, match="more than 2 repairs"):
        log.add("S01", "repaired", 7, kind="stray tag skipped")


MARKS = ["\x00\x1f\ufffe\uffff", "\ufdd0", "\ufdd0\ufdd1", "\ufdd1\ufdd0\x00", "\U0001fffe\ufdd0a"]


@pytest.mark.parametrize("text", MARKS)
def test_control_characters_are_kept_in_any_chunks(text: str) -> None:
    extra = f'<x:y xmlns:x="u" z="a{text}b">a{text}b</x:y>'
    body = f"<urlset>&<url><loc>https://example.com/</loc>{extra}</url></urlset>".encode()
    parser = SitemapParser(extras=True)
    items = [item for place in range(len(body)) for item in parser.feed(body[place : place + 1])] + parser.close()
    (record,) = (item for item in items if isinstance(item, UrlRecord))
    assert record.extras == (Extra("u", "y", f"a{text}b", (Attribute("z", f"a{text}b"),)),)
