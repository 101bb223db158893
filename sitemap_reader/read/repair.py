"""What to mend in XML that is not well-formed, and how to say so.

Mender: UTF-8 bytes behind a fault in; out come the same bytes with bare `&`, HTML entities and control characters
mended. cure(): the edits that take away one fault of structure. Each mend has its Problem. Nothing that is text of
an element is ever dropped: what cannot be mended stays, and the driver goes on at the next entry.
"""

from __future__ import annotations

import re
from bisect import insort
from collections import deque
from html.entities import html5
from operator import attrgetter
from typing import TYPE_CHECKING
from xml.parsers import expat

import attrs

from ..problems import Problem, report

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

# XML 1.0 4.6: the five that need no declaration.
_PREDEFINED = frozenset({b"amp", b"lt", b"gt", b"quot", b"apos"})

_FAULT = rb"""
      (?P<aside> <!--.*?--> | <!\[CDATA\[.*?\]\]> | <\?.*?\?> )   # nothing in here is a reference
    | (?P<open>  <!-- | <!\[CDATA\[ | <\? )                       # one that has not ended yet
    | & (?: (?P<number> \#[0-9]{1,8} | \#x[0-9a-fA-F]{1,6} ) ;
          | (?P<name> [A-Za-z][A-Za-z0-9]{0,31} ) ;
          )?                                                      # neither: a bare ampersand
    """
# XML 1.0 2.2: no document may hold these, not even as `&#1;`. They are rare, and looking for them takes time.
_CONTROLS = rb"[\x00-\x08\x0b\x0c\x0e-\x1f]"
_CONTROL = re.compile(_CONTROLS)
_REFERENCE = re.compile(_FAULT, re.VERBOSE | re.DOTALL)
_REFERENCE_OR_CONTROL = re.compile(_FAULT + rb"| (?P<control> " + _CONTROLS + rb" )", re.VERBOSE | re.DOTALL)
# What stands for control characters while expat reads: 32 code points that Unicode keeps free of text (23.7).
_STAND_IN = 0xFDD0
CONTROLS_BACK = {_STAND_IN + number: number for number in range(0x20)}
# What a chunk may end in without it being clear yet what it is.
_UNCLEAR_END = re.compile(rb"(?:&[#A-Za-z0-9]{0,33}|<!?[-\[A-Z]{0,8})\Z")
_SNIPPET_BYTES = 80


@attrs.frozen
class Mend:
    """One mended place: where it ends in the mended bytes, and what to report."""

    end: int
    problem: Problem


class Mender:
    """Filters a stream that begins on `line`: feed() gives the mended bytes, taken() what was mended."""

    def __init__(self, line: int) -> None:
        self._mends: deque[Mend] = deque()
        self._offset = 0
        self._line = line
        self._held = b""
        self._passed = b""  # the last of what needed no mending

    @property
    def held_bytes(self) -> int:
        """How much waits for the end of a comment or a CDATA section."""
        return len(self._held)

    def add(self, end: int, problem: Problem) -> None:
        """Joins a cure to the mends, whose offsets are those of the bytes without cures."""
        insort(self._mends, Mend(end, problem), key=attrgetter("end"))

    def taken(self, until: int | None) -> list[Problem]:
        """Takes out what was mended up to the offset `until` of the mended bytes; None: all."""
        taken = []
        while self._mends and (until is None or self._mends[0].end <= until):
            taken.append(self._mends.popleft().problem)
        return taken

    def feed(self, data: bytes, *, final: bool = False) -> bytes:
        data = self._held + data
        end = len(data) if final else self._clear_end(data)
        self._held = data[end:]
        return b"".join(self._mended(data[:end], final=final))

    @staticmethod
    def _clear_end(data: bytes) -> int:
        unclear = _UNCLEAR_END.search(data, max(0, len(data) - 40))
        return unclear.start() if unclear else len(data)

    def _mended(self, data: bytes, *, final: bool) -> Iterable[bytes]:
        done = 0
        fault = _REFERENCE_OR_CONTROL if _CONTROL.search(data) else _REFERENCE
        for match in fault.finditer(data):
            if match.group("open"):
                if final:
                    break
                # The rest waits until the comment, CDATA section or instruction has ended.
                self._held = data[match.start() :] + self._held
                data = data[: match.start()]
                break
            replacement = _replacement(match)
            if replacement is None:
                continue
            yield self._pass(data[done : match.start()])
            yield self._mend(data, match, replacement)
            done = match.end()
        yield self._pass(data[done:])

    def _pass(self, data: bytes) -> bytes:
        self._offset += len(data)
        self._line += data.count(b"\n")
        self._passed = (self._passed + data[-_SNIPPET_BYTES:])[-_SNIPPET_BYTES:]
        return data

    def _mend(self, data: bytes, match: re.Match[bytes], replacement: bytes) -> bytes:
        self._offset += len(replacement)
        written = match.group()
        # Up to the fault only: what is behind it may not have come yet.
        raw = (self._passed + written).rpartition(b"\n")[2] or written
        message = _mend_message(match, replacement)
        problem = report("S01", message, severity="warning", line=self._line, raw=raw.decode("utf-8", "ignore").strip())
        self._passed = written[-_SNIPPET_BYTES:]
        self._line += written.count(b"\n")
        self._mends.append(Mend(self._offset, problem))
        return replacement


def _replacement(match: re.Match[bytes]) -> bytes | None:
    """What stands in for the match; None leaves it as it is."""
    if aside := match.group("aside"):
        return _mended_aside(aside)
    if number := match.group("number"):
        code = int(number[2:], 16) if number[1:2] == b"x" else int(number[1:])
        return _stand_in(code) if code < 0x20 and _CONTROL.match(bytes((code,))) else None
    if "control" in match.re.groupindex and (control := match.group("control")):
        return _stand_in(control[0])
    name = match.group("name")
    if name is None:
        return b"&amp;"
    if name in _PREDEFINED:
        return None
    characters = html5.get(name.decode() + ";")
    if characters is None:
        # `&region;` is no entity of HTML either: the & is a bare one, and the rest text.
        return b"&amp;" + match.group()[1:]
    return "".join(f"&#{ord(character)};" for character in characters).encode()


def _mended_aside(aside: bytes) -> bytes | None:
    """XML 1.0 2.5: no `--` inside a comment, whose text is of no interest. In CDATA control characters matter."""
    if aside.startswith(b"<!--"):
        inner = aside[4:-3]
        faulty = b"--" in inner or inner.endswith(b"-") or _CONTROL.search(inner)
        return b"<!--" + re.sub(rb"[^\n]", b" ", inner) + b"-->" if faulty else None
    mended = _CONTROL.sub(lambda match: _stand_in(match.group()[0]), aside)
    return None if mended == aside else mended


def _stand_in(control: int) -> bytes:
    return chr(_STAND_IN + control).encode()


def _mend_message(match: re.Match[bytes], replacement: bytes) -> str:
    if not match.group().startswith(b"&"):
        comment = match.group().startswith(b"<!--")
        return "a malformed comment was passed over" if comment else "a control character was read as it stands"
    if replacement.startswith(b"&amp;"):
        return "a bare & was read as &amp;"
    written = match.group().decode()
    if match.group("number"):
        return f"{written}, a control character, was read as it stands"
    return f"the HTML entity {written} was read as {replacement.decode()}"


# --- cures of structure ---


@attrs.frozen
class Edit:
    """Bytes to put in the place of those from `start` to `stop`, and the mend to report."""

    start: int
    stop: int
    replacement: bytes
    problem: Problem


def cure(code: int, data: bytes | bytearray, position: int, prefixes: Mapping[str, str]) -> list[Edit]:
    """What takes away expat's error `code` at `position` of `data`, which begins outside of entries.

    Nothing where there is no safe way. `prefixes` gives the namespaces that unbound prefixes usually mean.
    """
    found = _CURES.get(code)
    return list(found(data, position, prefixes)) if found else []


def close_entry(data: bytes | bytearray, position: int) -> list[Edit]:
    """An entry begins at `position` right inside another, which therefore ends here."""
    name = _NAME.match(data, position)
    end = b"</" + (name.group(1) if name else b"") + b">"
    return [_edit(position, position, end, f"the entry is not closed: {end.decode()} was put before the next one")]


def _bind_prefix(data: bytes | bytearray, position: int, prefixes: Mapping[str, str]) -> Iterable[Edit]:
    """Declares the first prefix of the tag at fault that its entry's tag does not; at the root, its own."""
    entry, _ = next_entry(data, 0)
    place = position if entry is None or entry > position else entry
    into = _NAME.match(data, place)
    declared = data[place : tag_end(data, place)] + data[position : tag_end(data, position)]
    for used in _PREFIX.finditer(data, position, tag_end(data, position)):
        prefix = used.group(1)
        if into and prefix not in (b"xml", b"xmlns") and b"xmlns:" + prefix not in declared:
            namespace = prefixes.get(prefix.decode()) or f"urn:unbound:{prefix.decode()}"
            declaration = f' xmlns:{prefix.decode()}="{namespace}"'
            what = f'the prefix "{prefix.decode()}" is not declared, it was read as {namespace}'
            yield _edit(into.end(), into.end(), declaration.encode(), what)
            return


def _close_fields(data: bytes | bytearray, position: int, _: Mapping[str, str]) -> Iterable[Edit]:
    """Fields of the entry at fault that have no end tag: each ends at the next tag that can follow it."""
    for match in _UNCLOSED_FIELD.finditer(data, 0, position + _TAG_START_BYTES):
        if match.end() <= position:
            end = b"</" + match.group(1) + b">"
            yield _edit(match.end(), match.end(), end, f"{end.decode()} is missing: it was put before the next tag")


def _blank_declaration(data: bytes | bytearray, position: int, _: Mapping[str, str]) -> Iterable[Edit]:
    match = _SECOND_DECLARATION.match(data, position)
    if match:
        blanks = re.sub(rb"[^\n]", b" ", match.group())
        yield _edit(match.start(), match.end(), blanks, "an XML declaration that is not at the start", "S08")


def _edit(start: int, stop: int, replacement: bytes, message: str, code: str = "S01") -> Edit:
    return Edit(start, stop, replacement, report(code, message, severity="warning"))


_NAME = re.compile(rb"<([\w.:-]+)")
_PREFIX = re.compile(rb"""[<\s]([A-Za-z_][\w.-]*):[\w.-]+(?=[\s/>=])""")
_SECOND_DECLARATION = re.compile(rb"<\?xml\b[^>]*\?>")
# Only what must follow in an entry: `<loc>https://example.com/a<b/>c` is no URL that ends at `a`.
_UNCLOSED_FIELD = re.compile(
    rb"""
    < ( (?:[\w.-]+:)? (?:loc|lastmod|changefreq|priority|title|link|guid|pubDate) ) (?: \s [^<>]* [^<>/] )? >
    [^<]*
    (?= < (?: / (?:[\w.-]+:)? (?:url|sitemap|item|entry)
        | (?:[\w.-]+:)? (?:loc|lastmod|changefreq|priority|title|link|guid|pubDate|description|updated|id) )
        [\s/>] )
    """,
    re.VERBOSE,
)
_CURES = {
    expat.errors.codes[expat.errors.XML_ERROR_UNBOUND_PREFIX]: _bind_prefix,
    expat.errors.codes[expat.errors.XML_ERROR_TAG_MISMATCH]: _close_fields,
    expat.errors.codes[expat.errors.XML_ERROR_MISPLACED_XML_PI]: _blank_declaration,
}

_NEXT_ENTRY = re.compile(
    rb"""
      (?P<aside> <!--.*?--> | <!\[CDATA\[.*?\]\]> )
    | (?P<open>  <!-- | <!\[CDATA\[ )
    | (?P<entry> < (?:[\w.-]+:)? (?:url|sitemap|item|entry) (?=[\s/>]) )
    """,
    re.VERBOSE | re.DOTALL,
)
_DOCTYPE = re.compile(
    rb"""<!--.*?--> | <\?.*?\?> | (?P<doctype> <!DOCTYPE (?: "[^"]*" | '[^']*' | [^>"'\[] )* > )""",
    re.VERBOSE | re.DOTALL,
)
_TAG = re.compile(rb"""<(?:"[^"]*"|'[^']*'|[^>"'])*>""")
# The longest beginning of an entry's tag that may stand at the end of a chunk.
_TAG_START_BYTES = 64


def next_entry(data: bytes | bytearray, start: int) -> tuple[int | None, int]:
    """Where the next entry begins at or behind `start`, comments and CDATA stepped over.

    Without one: None, and from which offset on the bytes are still needed.
    """
    for match in _NEXT_ENTRY.finditer(data, start):
        if match.group("entry"):
            return match.start(), match.start()
        if match.group("open"):
            return None, match.start()
    return None, max(start, len(data) - _TAG_START_BYTES)


def blank_doctype(data: bytes) -> bytes:
    """The same bytes with the DOCTYPE turned into blanks, so that lines and offsets stay.

    With an external subset named, expat drops undefined entities in silence (XML 1.0 4.1, WFC Entity Declared).
    """
    for match in _DOCTYPE.finditer(data):
        if match.group("doctype"):
            return data[: match.start()] + re.sub(rb"[^\r\n]", b" ", match.group()) + data[match.end() :]
    return data


def tag_end(data: bytes | bytearray, start: int) -> int:
    """The offset behind the tag that begins at `start`; a `>` inside quotes does not end it."""
    match = _TAG.match(data, start)
    return match.end() if match else len(data)
