"""The main program of feedparser's process: the bytes of a feed on stdin, its links as JSON on stdout.

feedparser decides which texts are links and dates; each is then looked up in the document itself, which is split at its
tags. Texts that feedparser altered, joined or cut are returned as `dropped`. Never opens a file or a URL.
"""

from __future__ import annotations

import io
import json
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable
from contextlib import suppress
from html.entities import html5
from typing import Any

import attrs

from ..model.limits import MIB
from ..parser.normalise.urls import is_web_url
from ..parser.xml.elements import ALTERNATE
from .feedparser_process import FallbackResult

_MAX_ANSWER_CHARACTERS = 64 * MIB  # feedparser puts a long xml:base before many short links


def main() -> int:
    """Reads a line of JSON, [seconds, bytes of memory], then a feed from stdin; writes JSON to stdout."""
    seconds, memory_bytes = json.loads(sys.stdin.buffer.readline())
    _limit_resources(seconds, memory_bytes)
    result = json.dumps(attrs.asdict(read_links(sys.stdin.buffer.read())))
    if len(result) > _MAX_ANSWER_CHARACTERS:
        sys.exit("its answer is too long")
    sys.stdout.write(result)
    return 0


def _limit_resources(seconds: float, memory_bytes: int) -> None:
    if sys.platform == "win32":  # the parent's timeout remains
        return
    import resource

    # A limit of CPU time holds even if the parent has ended.
    caps = ((resource.RLIMIT_AS, memory_bytes), (resource.RLIMIT_CPU, int(seconds) + 2))
    for kind, cap in caps:
        with suppress(OSError, ValueError):  # unknown to the system, or lower already
            resource.setrlimit(kind, (cap, cap))


def read_links(body: bytes) -> FallbackResult:
    """Returns the links of a feed, as far as they are in the document as feedparser has them."""
    import feedparser

    parsed = feedparser.parse(
        io.BytesIO(_CHARACTER_REFERENCE.sub(_valid_reference, body)),  # bytes would be tried as a file's name, or a URL
        # Without a type it takes UTF-8 for ISO-8859-1, and repairs that in texts, not in attributes.
        response_headers={"content-type": "application/xml; charset=utf-8"},
        sanitize_html=False,
        resolve_relative_uris=False,  # in texts: it joins a link with an xml:base, though not with the feed's URL
    )
    text = body.decode(parsed.get("encoding") or "utf-8", "replace")
    document = _LinkFinder(_element_texts(text), str(parsed.get("version") or ""))
    for entry in parsed["entries"]:
        document.add(entry)
    return FallbackResult(tuple(document.links), tuple(document.dropped), document.without_link)


@attrs.define
class _LinkFinder:
    """Takes feedparser's entries with add(); `links`, `dropped` and `without_link` as in FallbackResult."""

    texts: dict[str, Counter[str]]
    version: str
    links: list[tuple[str, str | None]] = attrs.field(factory=list)
    dropped: list[str] = attrs.field(factory=list)
    without_link: int = 0

    def add(self, entry: dict[str, Any]) -> None:
        alternate = _alternate(entry)
        link = alternate or self._permalink(entry)
        if not link:
            self.without_link += 1
            return
        # In a document that is damaged anyway, < > " and spaces are remains of markup rather than characters of a URL.
        if not _MARKUP_REMAINS.search(link) and self._claim(link, _LINK_ELEMENTS if alternate else ("guid",)):
            self.links.append((link, self._date(entry)))
        else:
            self.dropped.append(link)

    def _permalink(self, entry: dict[str, Any]) -> str | None:
        """Returns a guid that may be a link. An Atom id is none."""
        guid = str(dict.get(entry, "id") or "")
        # A text like post-17 is an identifier, even if it is declared a permalink.
        is_link = dict.get(entry, "link") == guid and is_web_url(guid) and guid not in self.texts["id"]
        return guid if is_link else None

    def _claim(self, text: str, names: Iterable[str]) -> bool:
        """Whether an element has this text; each element is used for one entry only."""
        name = next((name for name in names if self.texts[name][text]), None)
        if name is not None:
            self.texts[name][text] -= 1
        return name is not None

    def _date(self, entry: dict[str, Any]) -> str | None:
        """Returns the date as written; one that is not in the document is added to `dropped`."""
        names = _DATES_OF_RSS if self.version.startswith("rss") else _DATES_OF_ATOM
        # dict.get: FeedParserDict.get() returns another date for a missing one.
        date = next((text for name in names if (text := dict.get(entry, name))), None)
        if date is None or self._claim(date, _DATE_ELEMENTS):
            return date
        self.dropped.append(date)
        return None


# What feedparser calls a date: pubDate and issued are published, dc:date and modified are updated.
_DATES_OF_RSS = ("published", "updated", "created")
_DATES_OF_ATOM = ("updated", "published", "created")


def _alternate(entry: dict[str, Any]) -> str | None:
    """Returns the first link with rel=alternate; feedparser itself takes the last."""
    links = dict.get(entry, "links")
    for link in links if isinstance(links, list) else ():
        if (dict.get(link, "rel") or "alternate").strip() in ALTERNATE and dict.get(link, "href"):
            return str(dict.get(link, "href")).strip()
    return None


# The semicolon may be missing: feedparser reads it all the same.
_CHARACTER_REFERENCE = re.compile(rb"&#(?:([0-9]+)|[xX]([0-9a-fA-F]+));?")


def _valid_reference(match: re.Match[bytes]) -> bytes:
    """The reference, or U+FFFD where there is no such character: feedparser would fail on the whole feed."""
    # A link with one in it then differs from the document, and is dropped.
    digits = (match[1] or match[2]).lstrip(b"0")
    code = int(digits or b"0", 10 if match[1] else 16) if len(digits) <= 7 else sys.maxunicode + 1
    is_character = code <= sys.maxunicode and not 0xD800 <= code <= 0xDFFF
    return match[0] if is_character else b"&#xFFFD;"


_LINK_ELEMENTS = ("link", "item", "entry")  # the last two: CDF has the link in an attribute
_LINK_ATTRIBUTES = frozenset({"href", "url", "uri", "lastmod"})
_DATE_ELEMENTS = (
    *("pubdate", "date", "published", "issued", "updated", "modified", "created", "lastbuilddate"),
    *("item", "entry"),
)

_MARKUP_REMAINS = re.compile(r'[<>"\s]')
_START_TAG = re.compile(r"""([A-Za-z_][\w.:-]*)((?:\s[^>"']*(?:(?:"[^"]*"|'[^']*')[^>"']*)*)?/?)>""")
_END_TAG = re.compile(r"/([A-Za-z_][\w.:-]*)\s*>")
# A value ends where its quote does, if the attribute does too: not in href='it's'. Without quotes it may end anywhere.
_ATTRIBUTE = re.compile(r"""\s([\w.:-]+)\s*=\s*("[^"]*"|'[^']*')(?=[\s/]|$)""")
_REFERENCE = re.compile(r"&(?:#(\d{1,7})|#[xX]([0-9a-fA-F]{1,6})|(\w{2,32}));")


def _element_texts(document: str) -> dict[str, Counter[str]]:
    """Maps element names (lower case, no prefix) to their complete texts and link attributes, with counts."""
    # The document is split at `<`, not searched: linear for any markup. A text with tags in it is not complete, nor is
    # one at the end of the document, or with an unescaped &. CDATA sections, comments and processing instructions are
    # read as in XML.
    texts: dict[str, Counter[str]] = defaultdict(Counter)
    name, parts = "", list[str]()  # of the element that is open and has had no tag in it yet
    for piece in document.split("<")[1:]:
        if piece[0:1] in ("!", "?"):
            part = _inner_text(piece)
            if part is None:
                name = ""
            else:
                parts.append(part)
        elif end := _END_TAG.match(piece):
            if end[1].lower() == name:
                texts[_local(name)]["".join(parts).strip()] += 1
            name = ""
        elif start := _START_TAG.match(piece):
            element, text = start[1].lower(), _unescaped(piece[start.end() :])
            name, parts = ("", []) if text is None else (element, [text])
            if "=" in start[2] and _local(element) in _LINK_ELEMENTS:
                texts[_local(element)].update(_link_attributes(start[2]))
        else:
            name = ""
    return texts


def _inner_text(piece: str) -> str | None:
    """Returns the text in and behind a CDATA section, a comment or an instruction; None if its end is ambiguous."""
    for opening, closing in (("![CDATA[", "]]>"), ("!--", "-->"), ("?", "?>")):
        if piece.startswith(opening):
            inside, end, after = piece.removeprefix(opening).partition(closing)
            text = inside if opening == "![CDATA[" else ""
            is_clear = bool(end) and (text == inside or ">" not in inside)  # feedparser ends it at any >
            rest = _unescaped(after)
            return text + rest if is_clear and rest is not None else None
    return None


def _link_attributes(attributes: str) -> Iterable[str]:
    for name, quoted in _ATTRIBUTE.findall(attributes):
        value = _unescaped(quoted[1:-1])
        if name.lower() in _LINK_ATTRIBUTES and value is not None:
            yield value.strip()


def _local(name: str) -> str:
    return name.rpartition(":")[2]


def _unescaped(text: str) -> str | None:
    """Replaces references by characters. None where an & begins none: it is ambiguous."""
    if "&" not in text:
        return text
    names = [name for _, _, name in _REFERENCE.findall(text)]
    if len(names) < text.count("&") or any(name and f"{name};" not in html5 for name in names):
        return None
    return _REFERENCE.sub(_character, text)


def _character(match: re.Match[str]) -> str:
    decimal, hexadecimal, name = match.groups()
    if name:
        return html5[f"{name};"]
    code = int(decimal) if decimal else int(hexadecimal, 16)
    return chr(code) if code <= sys.maxunicode else match[0]
