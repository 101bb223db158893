"""The XML driver: declared prefixes, truncated entries, and limits."""

import pytest
from kit import parse

import sitemap_reader as sr
from sitemap_reader.parser import Namespaces, Vocabulary

PREFIXES = 64  # the limit of declared prefixes of a document
NAMES = 10_000


def entry(number: int, more: bytes = b"", *, date: bool = False) -> bytes:
    """An entry with `inside` before its lastmod."""
    lastmod = b"<lastmod>2026-11-01</lastmod>" if date else b""
    return b"<url><loc>https://example.com/%d</loc>%s%s</url>" % (number, more, lastmod)


def read(*entries: bytes) -> sr.Document:
    return sr.parse(b"<urlset>" + b"".join(entries) + b"</urlset>")


def locs(document: sr.Document) -> list[str]:
    return [url.loc.removeprefix("https://example.com/") for url in document.urls]


def unbound(first: int, count: int) -> bytes:
    """Elements of so many undeclared prefixes."""
    return b"".join(b"<p%d:x/>" % prefix for prefix in range(first, first + count))


@pytest.mark.parametrize("size", [1, 1 << 20])
@pytest.mark.parametrize(("prefixes", "rest_is_read"), [(PREFIXES, True), (PREFIXES + 1, False), (300, False)])
def test_declared_prefixes_of_a_document_are_limited(prefixes: int, rest_is_read: bool, size: int) -> None:
    """Each is one restart, which reads its entry again; and its declaration is read with every restart."""
    body = b"<urlset>" + entry(1) + entry(2, unbound(0, prefixes), date=True) + entry(3) + b"</urlset>"
    found = parse(body, size)
    urls = found.of(sr.UrlRecord)
    assert [url.loc[-1] for url in urls] == ["1", "2", "3"]
    # Fields before the prefix over the limit are returned; the date after it is not.
    assert (urls[1].lastmod is not None) is rest_is_read
    repairs = [problem.message for problem in urls[1].problems if "is not declared" in problem.message]
    assert repairs == [
        f'the prefix "p{number}" is not declared, it was read as urn:unbound:p{number}'
        for number in range(min(prefixes, PREFIXES))
    ]
    lost = [problem for problem in found.of(sr.Problem) if "lost up to the next entry" in problem.message]
    assert [problem.severity for problem in lost] == ([] if rest_is_read else ["error"])


def test_prefixes_are_counted_over_all_entries_and_each_once() -> None:
    entries = [entry(number, unbound(number, 2), date=True) for number in range(PREFIXES + 2)]
    document = read(*entries)
    assert locs(document) == [str(number) for number in range(PREFIXES + 2)]
    # An entry has one new prefix and one of the entry before; the first has two new ones.
    dated = [url.lastmod is not None for url in document.urls]
    assert dated == [True] * (PREFIXES - 1) + [False] * 3
    repairs = [len([each for each in url.problems if "is not declared" in each.message]) for url in document.urls]
    assert repairs == [2] + [1] * (PREFIXES - 2) + [0] * 3


@pytest.mark.parametrize(("prefixes", "codes"), [(PREFIXES, ["S02"] + ["S01"] * PREFIXES), (PREFIXES + 1, ["S01"])])
def test_prefixes_of_the_root_are_counted_too(prefixes: int, codes: list[str]) -> None:
    attributes = b"".join(b' p%d:x=""' % number for number in range(prefixes))
    document = sr.parse(b"<urlset" + attributes + b">" + entry(1) + b"</urlset>")
    assert [problem.code for problem in document.problems] == codes
    assert document.outcome.complete is (prefixes == PREFIXES)
    assert len(document.urls) == (prefixes == PREFIXES)


def test_a_prefix_that_the_root_declares_is_left_to_it() -> None:
    body = b'<urlset xmlns:image="urn:other">' + entry(1, b"<image:other/>") + entry(2, b"<p:x/>") + b"</urlset>"
    document = sr.parse(body)
    assert [(problem.code, "urn:unbound:p" in problem.message) for problem in document.problems[1:]] == [("S01", True)]


@pytest.mark.parametrize("size", [1, 7, 1 << 20])
def test_truncated_entry_is_returned_with_its_complete_fields(size: int) -> None:
    """A truncated field is dropped, and without a complete location the entry is dropped."""
    begun = b"<urlset>" + entry(1) + b"<url>"
    fields = b"<loc>https://example.com/2</loc><lastmod>2026-11-01</lastmod><priority>0.5</priority>"
    for end in range(len(fields) + 1):
        body = begun + fields[:end]
        found = parse(body, size)
        assert not found.outcome().complete
        urls = found.of(sr.UrlRecord)
        # A truncated end tag ends the field.
        assert [url.loc[-1] for url in urls] == ["1", "2"][: 1 + (end >= fields.index(b"</loc>") + 2)], end
        for cut in urls[1:]:
            assert (cut.lastmod is not None) is (end >= fields.index(b"</lastmod>") + 2), end
            assert cut.priority in (None, 0.5)
            assert [problem.severity for problem in cut.problems] == ["error"]


@pytest.mark.parametrize(("begun", "message"), [
    (b"<!-- old: ", "a comment never ends: what is behind its beginning is lost"),
    (b"<?php old: ", "a processing instruction never ends: what is behind its beginning is lost"),
    (b"", "the end of the root element was not reached"),
])
def test_endless_construct_is_named(begun: bytes, message: str) -> None:
    ends = b"" if not begun else b"</urlset>"
    document = sr.parse(b"<urlset>" + entry(1) + begun + entry(2) + ends)
    assert [(problem.code, problem.message) for problem in document.problems[1:]] == [("S01", message)]
    assert locs(document) == (["1"] if begun else ["1", "2"])
    assert not document.outcome.complete


def vocabulary() -> Vocabulary:
    known = Namespaces({"urn:image": "image"}, {})
    return Vocabulary(known, "urn:root", frozenset({"url"}), "loc", tags=frozenset({"url", "loc"}))


def test_names_in_capitals_are_read_and_reported_once() -> None:
    names = vocabulary()
    received: list[tuple[str, str, str | None]] = []
    names.note = lambda name, code, message, field, kind: received.append((message, field, kind))
    assert [names[name] for name in ("URL", "urn:root}Loc", "URL", "urn:image}LOC", "urn:foreign}URL", "TITLE")] == [
        *("url", "loc", "url", "image:LOC", "urn:foreign}URL", "TITLE")
    ]
    kind = "root, entry or location not in small letters"
    assert received == [
        ("<URL> was read as <url>: names are in small letters", "URL", kind),
        ("<Loc> was read as <loc>: names are in small letters", "Loc", kind),
    ]


def test_no_more_names_are_remembered_than_a_real_document_has() -> None:
    names = vocabulary()
    assert names["urn:root}loc"] == "loc"
    for number in range(2 * NAMES):
        name = f"urn:foreign}}n{number}"
        assert names[name] == name
    assert len(names) == NAMES


@pytest.mark.parametrize(("name", "tag"), [
    ("url", "url"), ("urn:root}url", "url"), ("urn:image}loc", "image:loc"), ("urn:foreign}url", "urn:foreign}url"),
    ("urn:root}known", "known"),
])
def test_a_name_means_the_same_when_no_more_are_remembered(name: str, tag: str) -> None:
    names = vocabulary()
    assert names["urn:root}known"] == "known"
    for number in range(NAMES):
        assert names[f"x{number}"] == f"x{number}"
    assert (names[name], names[name]) == (tag, tag)
    assert len(names) == NAMES


def test_entries_behind_very_many_names_are_read_right() -> None:
    foreign = b"".join(b'<x%d xmlns="urn:x"/>' % number for number in range(NAMES + 10))
    document = read(entry(1), foreign, b'<url xmlns="urn:y"><loc>https://example.com/2</loc></url>', entry(3))
    assert locs(document) == ["1", "3"]


def test_doctype_is_found_behind_comments_that_mention_one() -> None:
    """Only the DOCTYPE itself is blanked, in one step: a restart for each comment would take hours."""
    comments = "<!-- <!DOCTYPE a> -->\n" * 40_000
    feed = f'{comments}<!DOCTYPE rss PUBLIC "-//x" "http://dtd.example/rss.dtd">\n<rss><channel><item>'
    feed += "<link>https://example.com/1</link></item></channel></rss>"
    document = sr.parse(feed, url="https://example.com/feed.xml")
    assert [(url.loc, url.line) for url in document.urls] == [("https://example.com/1", 40_002)]


# --- text outside of fields ------------------------------------------------------------------------------------------

STRAY = [
    # text between entries, and its excerpt
    ("words", "words"),
    ("\n  and also\n  more\n", "and also\n  more"),
    (" ... ", "..."),
    ("{% endfor %}", "{% endfor %}"),
    ("&amp;", "&"),
    (">", ">"),
    ("\n=> ", "=>"),
    ("<![CDATA[ x ]]>", "x"),
    ("\ufeff \xa0\u200b", None),
    (" \r\n\t", None),
    ("<!-- words -->", None),
]


@pytest.mark.parametrize("size", [1, 1 << 20])
@pytest.mark.parametrize(("text", "raw"), STRAY)
@pytest.mark.parametrize("document", ["<urlset>{0}{1}{0}{1}{0}</urlset>", "<urlset>{1}{1}{0}</urlset>"])
def test_text_between_entries_is_reported_once(document: str, text: str, raw: str | None, size: int) -> None:
    body = document.format(text, entry(1).decode()).encode()
    found = parse(body, size)
    reported = [(problem.code, problem.raw) for problem in found.of(sr.Problem)]
    assert reported == [("S02", ""), *([("S10", raw)] if raw else [])]
    assert len(found.locs) == 2


def test_the_line_of_text_between_entries_is_its_own() -> None:
    (problem,) = read(entry(1), b"\n\nwords\n and\n", entry(2)).problems[1:]
    assert problem.line == 3


def test_text_in_the_channel_of_a_feed_is_reported() -> None:
    item = "<item><link>https://example.com/1</link></item>"
    document = sr.parse(f"<rss><channel><title>t</title>{item}words{item}</channel></rss>")
    assert [(problem.code, problem.raw) for problem in document.problems] == [("S10", "words")]


SKIPPED = "text stands outside of any field: it is skipped"
ENTRIES = {
    "url": ("urlset", "<loc>{}</loc>"),
    "sitemap": ("sitemapindex", "<loc>{}</loc>"),
    "item": ("rss", "<link>{}</link>"),
    "entry": ("feed", '<link href="{}"/>'),
}


def entries_with(name: str, *inner: str) -> bytes:
    """A document of such entries, each with its own location in place of `{}`."""
    root = ENTRIES[name][0]
    found = "\n".join(f"<{name}>{each.format(f'https://example.com/{at}')}</{name}>" for at, each in enumerate(inner))
    return f"<{root}>\n{found}\n</{root}>".encode()


def stray_of(body: bytes) -> list[tuple[int | None, str | None]]:
    """Lines and texts of S10, the same however the document is read."""
    url = "https://example.com/sitemap.xml"
    whole = parse(body, url=url)
    assert whole.items == parse(body, 1, url=url).items == parse(body, scans=False, url=url).items
    assert whole.outcome().complete
    return [(each.line, each.raw) for each in whole.of(sr.Problem) if each.message == SKIPPED]


@pytest.mark.parametrize("name", ENTRIES)
@pytest.mark.parametrize("text", ["PHP Warning: foo in /a.php on line 3", "null", ",", ">"])
def test_text_in_an_entry_outside_of_its_fields_is_reported_once(name: str, text: str) -> None:
    location = ENTRIES[name][1]
    plain = [f"\n  {location}\n"] * 9
    for stray in (f"{text}{location}", f"{location}{text}", f"{location}\n<x>y</x>{text}<x/>"):
        assert len(stray_of(entries_with(name, stray, *plain, stray))) == 1, stray
        ((line, raw),) = stray_of(entries_with(name, *plain, stray, stray))
        assert raw == text
        assert line > 3 * len(plain)


@pytest.mark.parametrize(("name", "inner"), [
    ("url", "\ufeff<loc>{}</loc>\u200b"),
    ("url", "<loc>{}</loc><x>a<y/>b</x>"),
    ("sitemap", "{}"),
    ("sitemap", "{}<lastmod>2026-01-02</lastmod>"),
    ("item", "<link>{}</link><description>a <b>b</b> c</description>"),
    ("entry", "<link>{}</link>"),
    ("entry", '<link href="{}"/><content type="xhtml"><div>a <b>b</b> c</div></content>'),
])
def test_text_that_is_read_or_belongs_to_a_field_is_not_stray(name: str, inner: str) -> None:
    assert stray_of(entries_with(name, *[inner] * 3)) == []


def test_the_line_of_text_in_an_entry_is_its_own() -> None:
    assert stray_of(entries_with("url", "\n<loc>{}</loc>\nfoo\nbar\n")) == [(4, "foo\nbar")]
