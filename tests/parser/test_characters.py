"""CharacterRepair alone: bytes after a fault in, repaired bytes and problems out."""

from __future__ import annotations

import pytest

from sitemap_reader.model.limits import Limits
from sitemap_reader.model.problems import Problem, Severity, report
from sitemap_reader.model.records import Attribute, Extra, UrlRecord
from sitemap_reader.parser.parser import SitemapParser
from sitemap_reader.parser.xml.errors import Budget
from sitemap_reader.parser.xml.recovery.characters import CharacterRepair
from sitemap_reader.parser.xml.recovery.edits import Repair, RepairLog
from sitemap_reader.parser.xml.scan import placeholder as stand_ins
from sitemap_reader.parser.xml.scan import restore_controls

NOTED, SECTION = 10_000, 1_000

AND = "a bare & was read as &amp;"
CONTROL = "a control character was kept"
CONTROLS = "2 control characters were kept"
COMMENT = "a malformed comment was skipped"
UNCLOSED = "a CDATA section is not closed: it ends with its element"


def entity(name: str, read: str) -> str:
    return f"the HTML entity &{name}; was read as {read}"


def number(written: str) -> str:
    return f"{written}, a control character, was kept"


def section(opening: str) -> str:
    return f"{opening} was read as <![CDATA["


def placeholder(code: int) -> bytes:
    """The placeholder of a control character for expat."""
    return stand_ins(chr(code))


# Bytes, repaired bytes (None: the same), messages.
ROWS: list[tuple[bytes, bytes | None, list[str]]] = [
    # a bare &
    (b"a&b", b"a&amp;b", [AND]),
    (b"a & b && c", b"a &amp; b &amp;&amp; c", [AND] * 3),
    (b"?a=1&copy=2", b"?a=1&amp;copy=2", [AND]),
    (b"?a=1&region=2", b"?a=1&amp;region=2", [AND]),
    (b"&region;", b"&amp;region;", [AND]),
    (b"&lt5", b"&amp;lt5", [AND]),
    (b"&amp", b"&amp;amp", [AND]),
    (b"x&", b"x&amp;", [AND]),
    (b"x&;", b"x&amp;;", [AND]),
    (b"x&#", b"x&amp;#", [AND]),
    (b"x&#;", b"x&amp;#;", [AND]),
    (b"x&#x;", b"x&amp;#x;", [AND]),
    (b"x&#xZZ;", b"x&amp;#xZZ;", [AND]),
    (b"&a-b;", b"&amp;a-b;", [AND]),
    (b"&1;", b"&amp;1;", [AND]),
    (b"&" + b"a" * 32 + b";", b"&amp;" + b"a" * 32 + b";", [AND]),
    (b"&" + b"a" * 33 + b";", b"&amp;" + b"a" * 33 + b";", [AND]),
    (b'<a href="?a&b">', b'<a href="?a&amp;b">', [AND]),
    # valid references, and numbers that cannot be repaired
    (b"&amp;&lt;&gt;&quot;&apos;&#65;&#x41;", None, []),
    (b"&#39 x", None, []),
    (b"&#39", None, []),
    (b"&#x27", None, []),
    (b"&#xD800;&#xFFFFFF;&#999999999999;", None, []),
    # HTML's entities
    (b"&copy;", b"&#169;", [entity("copy", "&#169;")]),
    (b"&nbsp;&Eacute;", b"&#160;&#201;", [entity("nbsp", "&#160;"), entity("Eacute", "&#201;")]),
    (b"&AMP;", b"&#38;", [entity("AMP", "&#38;")]),
    (b"&LT;", b"&#60;", [entity("LT", "&#60;")]),
    (b"&frac12;", b"&#189;", [entity("frac12", "&#189;")]),
    (b"&NotEqualTilde;", b"&#8770;&#824;", [entity("NotEqualTilde", "&#8770;&#824;")]),
    (
        b"&CounterClockwiseContourIntegral;",
        b"&#8755;",
        [entity("CounterClockwiseContourIntegral", "&#8755;")],
    ),
    # characters that XML does not allow
    (b"\x00", placeholder(0), [CONTROL]),
    (b"a\x08b\x1fc", b"a" + placeholder(8) + b"b" + placeholder(0x1F) + b"c", [CONTROL] * 2),
    (b"\t\n\r \x7f\xc2\x85", None, []),
    (b"\xef\xbf\xbe\xef\xbf\xbf", placeholder(0xFFFE) + placeholder(0xFFFF), [CONTROLS]),
    (b"\xef\xbf\xbd\xef\xbe\xbe", None, []),
    (b"&#1;", placeholder(1), [number("&#1;")]),
    (b"&#x1F;", placeholder(0x1F), [number("&#x1F;")]),
    (b"&#0;", placeholder(0), [number("&#0;")]),
    (b"&#xFFFE;", placeholder(0xFFFE), [number("&#xFFFE;")]),
    (b"&#65535;", placeholder(0xFFFF), [number("&#65535;")]),
    (b"&#000000001;", placeholder(1), [number("&#000000001;")]),
    (b"&#0000000001;", None, []),  # more digits than any character has
    (b"&#9;&#xD;&#10;&#32;", None, []),
    # comments
    (b"<!-- a -->", None, []),
    (b"<!---->", None, []),
    (b"<!--- a -->", None, []),
    (b"<!-- a - b -->", None, []),
    (b"<!-- a -- b -->", b"<!--        -->", [COMMENT]),
    (b"<!-- a --->", b"<!--    -->", [COMMENT]),
    (b"<!-- a\n--\r\nb -->", b"<!--  \n   \n  -->", [COMMENT]),
    (b"<!-- \x01 -->", b"<!--   -->", [COMMENT]),
    (b"<!-- & &nbsp; &#1; <![CDATA[ <? -->&", b"<!-- & &nbsp; &#1; <![CDATA[ <? -->&amp;", [AND]),
    (b"<!-- a --& b", None, []),
    (b"<!- a ->", None, []),
    # CDATA sections
    (b"<![CDATA[a & b &nbsp; <!-- -- --> &#1;]]>", None, []),
    (b"<![CDATA[\x01]]>", b"<![CDATA[" + placeholder(1) + b"]]>", [CONTROL]),
    (b"<loc><![CDATA[a]]></loc>", None, []),
    (b"<loc><![CDATA[a&b</loc>&", b"<loc><![CDATA[a&b]]></loc>&amp;", [UNCLOSED, AND]),
    (b"<s:loc><![CDATA[a</s:loc>", b"<s:loc><![CDATA[a]]></s:loc>", [UNCLOSED]),
    (b"<loc>\n <![CDATA[a</loc>", b"<loc>\n <![CDATA[a]]></loc>", [UNCLOSED]),
    (b'<t a="b"><![CDATA[a</t>', b'<t a="b"><![CDATA[a]]></t>', [UNCLOSED]),
    (b"<t><![CDATA[a]]</t>", b"<t><![CDATA[a]]></t>", [UNCLOSED]),
    (b"<t><![CDATA[a]</t>", b"<t><![CDATA[a]]></t>", [UNCLOSED]),
    (b"<t><![CDATA[a]]]</t>", b"<t><![CDATA[a]]]></t>", [UNCLOSED]),
    (b"<t><![CDATA[[a]</t>", b"<t><![CDATA[[a]]]></t>", [UNCLOSED]),
    (b"<t><![CDATA[[a]]</t>", b"<t><![CDATA[[a]]]></t>", [UNCLOSED]),
    (b"<t><![CDATA[[a]]]</t>", b"<t><![CDATA[[a]]]></t>", [UNCLOSED]),
    (b"<t><![CDATA[\x01</t>", b"<t><![CDATA[" + placeholder(1) + b"]]></t>", [UNCLOSED]),
    (b"<t><![CDATA[a</t><t><![CDATA[b]]></t>", None, []),  # a CDATA section may quote all of these
    (b"<t><![CDATA[a</t>]]></t>", None, []),
    (b"<t><![CDATA[a</t>]]> b <![CDATA[</u>]]><!-- </u> --></t>", None, []),
    (b"<t><![CDATA[a</t>]]><b/></t>", None, []),
    (b"<t><![CDATA[a</t>]]>", None, []),
    (b"<t><![CDATA[a</t><u><![CDATA[b]]></u>", b"<t><![CDATA[a]]></t><u><![CDATA[b]]></u>", [UNCLOSED]),
    (b"<t><![CDATA[a</t>" + b"x" * 1_000 + b"]]></t>", b"<t><![CDATA[a]]></t>" + b"x" * 1_000 + b"]]></t>", [UNCLOSED]),
    (b"<t><![CDATA[a]]></t><t><![CDATA[b</t>", b"<t><![CDATA[a]]></t><t><![CDATA[b]]></t>", [UNCLOSED]),
    (b"<t><![CDATA[a</u>]]></t>", None, []),
    (b"x<![CDATA[a</t>", None, []),
    (b"<![CDATA[a & b", None, []),
    (b"<t><!CDATA[a&b]]></t>", b"<t><![CDATA[a&b]]></t>", [section("<!CDATA[")]),
    (b"<t><![cdata[a]]></t>", b"<t><![CDATA[a]]></t>", [section("<![cdata[")]),
    (b"<t><! [CDATA[a]]></t>", b"<t><![CDATA[a]]></t>", [section("<! [CDATA[")]),
    (b"<t><[CDATA[a]]></t>", b"<t><![CDATA[a]]></t>", [section("<[CDATA[")]),
    (b"<t><CDATA[a]]></t>", b"<t><![CDATA[a]]></t>", [section("<CDATA[")]),
    (b"<t><![CDATA [a]]></t>", b"<t><![CDATA[a]]></t>", [section("<![CDATA [")]),
    (b"<t><!CDATA[a</t>", b"<t><![CDATA[a]]></t>", [UNCLOSED]),
    (b"<t>[CDATA[a&b]]></t>", b"<t>[CDATA[a&amp;b]]></t>", [AND]),
    # processing instructions
    (b"<?x & &nbsp; <!-- ?>&", b"<?x & &nbsp; <!-- ?>&amp;", [AND]),
    (b"<?x \x01?>", b"<?x " + placeholder(1) + b"?>", [CONTROL]),
    (b"<?x & ", None, []),
    # nothing of markup or text is dropped
    (b"<a b=c></d> < 5 ]]> </", None, []),
]


def repair(data: bytes, size: int, line: int = 1) -> tuple[bytes, list[Problem]]:
    character_repair = CharacterRepair(line, RepairLog(NOTED, 1_000), SECTION, Budget(Limits()))
    pieces = [character_repair.feed(data[at : at + size]) for at in range(0, len(data), size)]
    while character_repair.has_more:
        pieces.append(character_repair.feed(b""))
    return b"".join([*pieces, character_repair.feed(b"", final=True)]), character_repair.log.take(None)


@pytest.mark.parametrize(("data", "repaired", "messages"), ROWS)
def test_forbidden_characters_are_repaired_and_nothing_else(
    data: bytes, repaired: bytes | None, messages: list[str]
) -> None:
    """Once, with the same number of lines, and the same in any chunks."""
    found, problems = repair(data, len(data))
    assert (found, [problem.message for problem in problems]) == (data if repaired is None else repaired, messages)
    assert {(problem.code, problem.severity) for problem in problems} <= {("S01", "warning")}
    assert found.count(b"\n") == data.count(b"\n")
    for size in (1, 2, 3, 7):
        assert repair(data, size) == (found, problems), size
    if placeholder(0)[:3] not in found:  # the marker of placeholders has a placeholder itself
        assert repair(found, len(found)) == (found, [])


@pytest.mark.parametrize("size", [1, 1 << 20])
def test_problems_name_the_line_and_show_its_text_before_the_fault(size: int) -> None:
    data = b"<url>\n <loc>a?b=1&c&nbsp;</loc>\n<!-- a\n -- -->\n<t><![CDATA[\n\nx</t> \x01\n&" + b"x" * 300 + b"&"
    _, problems = repair(data, size, line=41)
    assert [(problem.line, problem.raw) for problem in problems] == [
        (42, "<loc>a?b=1&"),
        (42, "&c&nbsp;"),
        (43, "-- -->"),
        (45, "x"),
        (47, "x</t> \x01"),
        (48, "&"),
        (48, "x" * 80 + "&"),
    ]


@pytest.mark.parametrize("size", [1, 1 << 20])
def test_repairs_are_taken_up_to_an_offset_of_the_repaired_bytes(size: int) -> None:
    data = b"a&b&nbsp;c<!-- -- -->&#1;"
    repaired, _ = repair(data, size)
    character_repair = CharacterRepair(1, RepairLog(NOTED, 1_000), SECTION, Budget(Limits()))
    for at in range(0, len(data), size):
        character_repair.feed(data[at : at + size])
    character_repair.feed(b"", final=True)
    ends = [repaired.index(end) + len(end) for end in (b"&amp;", b"&#160;", b"-->", placeholder(1))]
    for end, message in zip(ends, (AND, entity("nbsp", "&#160;"), COMMENT, number("&#1;")), strict=True):
        assert character_repair.log.take(end - 1) == []
        assert [problem.message for problem in character_repair.log.take(end)] == [message]
    assert character_repair.log.take(None) == []


def test_other_problems_join_in_the_order_of_their_places() -> None:
    character_repair = CharacterRepair(1, RepairLog(NOTED, 1_000), SECTION, Budget(Limits()))
    assert character_repair.feed(b"a&b&c ") == b"a&amp;b&amp;c "
    others = [(7, "between them"), (6, "at the first one's end"), (99, "behind both")]
    character_repair.log.merge([Repair(end, report("S01", message)) for end, message in others])
    first, rest = character_repair.log.take(7), character_repair.log.take(None)
    assert [problem.message for problem in first] == [AND, "at the first one's end", "between them"]
    assert [problem.message for problem in rest] == [AND, "behind both"]


MORE = "2 more places were repaired; raise max_entry_problems to see each"


@pytest.mark.parametrize("size", [1, 100, 1 << 16])
@pytest.mark.parametrize(("count", "reported", "more"), [(NOTED, NOTED, []), (NOTED + 1, NOTED - 1, [MORE])])
def test_repairs_of_an_entry_above_the_limit_are_counted(
    count: int, reported: int, more: list[str], size: int
) -> None:
    repaired, problems = repair(b"&\n" * count, size)
    assert repaired == b"&amp;\n" * count
    assert [problem.message for problem in problems] == [AND] * reported + more
    assert [problem.line for problem in problems] == list(range(1, len(problems) + 1))


@pytest.mark.parametrize("error", [0, 11_000])
def test_counted_repairs_are_taken_with_those_next_to_them(error: int) -> None:
    log = RepairLog(3, 1_000)
    for place in range(12_000):
        severity: Severity = "error" if error and place == error else "warning"
        log.add(Repair(place, report("S01", "repaired", line=place + 1, severity=severity)))
    log.condense()
    first, second = log.take(10_999), log.take(None)
    assert [(each.message[:7], each.line, each.severity) for each in (first[-1], second[-1])] == [
        ("10,998 ", 3, "warning"),
        ("1,000 m", 11_001, "error" if error else "warning"),
    ]
    assert log.take(None) == []


@pytest.mark.parametrize("size", [1, 2, 7, 1 << 20])
def test_run_of_control_characters_is_one_repair(size: int) -> None:
    repaired, problems = repair(b"a\n&\x00\x01\xef\xbf\xbe\x02\xef\xb7\x90b\x00&#1;\x00", size)
    run = "\x00\x01\ufffe\x02\ufdd0"
    assert repaired == b"a\n&amp;" + stand_ins(run) + b"b" + placeholder(0) + placeholder(1) + placeholder(0)
    assert [(problem.message, problem.line, problem.raw) for problem in problems] == [
        (AND, 2, "&"),
        ("5 control characters were kept", 2, "&\x00"),
        (CONTROL, 2, run + "b\x00"),
        (number("&#1;"), 2, "\x00&#1;"),
        (CONTROL, 2, "&#1;\x00"),
    ]


@pytest.mark.parametrize("data", [b"<!-- a & ", b"<t><![CDATA[a ", b"<?x a "])
def test_incomplete_construct_waits_for_its_end(data: bytes) -> None:
    character_repair = CharacterRepair(1, RepairLog(NOTED, 1_000), SECTION, Budget(Limits()))
    begun = data[data.index(b"<", 1 if data.startswith(b"<t>") else 0) :]
    assert character_repair.feed(data) == data[: -len(begun)]
    assert character_repair.feed(b"b ") == b""
    assert character_repair.feed(b"", final=True) == begun + b"b "
    assert character_repair.log.take(None) == []


MARKS = ["\x00\x1f\ufffe\uffff", "\ufdd0", "\ufdd0\ufdd1", "\ufdd1\ufdd0\x00", "\U0001fffe\ufdd0a"]


@pytest.mark.parametrize("text", MARKS)
def test_placeholders_are_replaced_by_the_original_characters(text: str) -> None:
    repaired, _ = repair(b"&" + text.encode(), 1)
    shown = repaired.decode()
    assert restore_controls(shown) == "&amp;" + text


@pytest.mark.parametrize("text", MARKS)
def test_placeholders_are_replaced_in_any_chunks(text: str) -> None:
    extra = f'<x:y xmlns:x="u" z="a{text}b">a{text}b</x:y>'
    body = f"<urlset>&<url><loc>https://example.com/</loc>{extra}</url></urlset>".encode()
    parser = SitemapParser(extras=True)
    items = [item for place in range(len(body)) for item in parser.feed(body[place : place + 1])] + parser.close()
    (record,) = (item for item in items if isinstance(item, UrlRecord))
    assert record.extras == (Extra("u", "y", f"a{text}b", (Attribute("z", f"a{text}b"),)),)


def test_every_control_character_has_a_placeholder_for_expat() -> None:
    controls = "".join(map(chr, (*range(9), 11, 12, *range(14, 32), 0xFFFE, 0xFFFF)))
    shown = stand_ins(controls).decode()
    assert not set(shown) & set(controls)
    assert restore_controls(shown) == controls
