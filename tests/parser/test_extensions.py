"""Extensions: every kind of value, every rule of an element, and random entries compared completely."""

import re
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import attrs
import pytest
from corpus_cases import EVERYTHING
from extension_entries import (
    CORE,
    FIELDS_OF_AN_ENTRY,
    HTTPS,
    NAMESPACES,
    ROOT,
    SPECIMENS,
    URL,
    Node,
    Prefixes,
    elements,
    foreign,
    holders_in,
    listed,
    prefixes_of_a_document,
    records,
    truth,
    written,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from tiers import examples

import sitemap_reader as sr
from sitemap_reader.model import EXTENSIONS, EXTRAS_STATE_CODE, NESTED
from sitemap_reader.parser import TAG_RULES, Date, EntryContext
from sitemap_reader.parser.dialects import extensions as values

DAY_ZERO = Date(datetime(1970, 1, 1, tzinfo=UTC), "day")
Fault = tuple[str, str, str | None]  # code, field, raw


def entry(inside: str, *, root: str = ROOT, extras: bool = False) -> tuple[dict[str, Any], list[Fault]]:
    """The record of one <url> with this content after its <loc>, and all problems of the document."""
    items = listed(f"<url><loc>https://example.com/a</loc>{inside}</url>", root=root, extras=extras)
    (record,) = records(items)
    faults = [(item["code"], item["field"], item["raw"]) for item in items if item.get("type") == "problem"]
    assert items[-1]["complete"]
    return record, faults


def without_nulls(value: Any) -> Any:
    """The value without nulls and empty lists."""
    if isinstance(value, dict):
        return {key: without_nulls(each) for key, each in value.items() if each is not None and each != []}
    return [without_nulls(each) for each in value] if isinstance(value, list) else value


def fields(record: dict[str, Any]) -> dict[str, Any]:
    """The extension fields without nulls and empty lists."""
    return {key: without_nulls(record[key]) for key in NESTED if key in record}


# --- the kinds of values ---------------------------------------------------------------------------------------------

KINDS = [
    # kind, text, value, codes
    (values.text, "a  b", "a  b", []),
    (values.text, "0", "0", []),
    (values.comma_separated, "a", ("a",), []),
    (values.comma_separated, "a, b c ,d", ("a", "b c", "d"), []),
    (values.comma_separated, ", a,,b , ", ("a", "b"), []),
    (values.comma_separated, ",", (), []),
    (values.comma_separated, "a;b", ("a;b",), []),
    # URLs, as a loc: tests/parser/test_urls.py
    (values.url, HTTPS, HTTPS, []),
    (values.url, "/b", HTTPS, ["U01"]),
    (values.url, "https://example.com/b#c", HTTPS, ["U08"]),
    (values.url, "javascript:void(0)", None, ["U02"]),
    (values.url, "https://", None, ["U15"]),
    (values.href, HTTPS, HTTPS, []),
    (values.href, "/b", HTTPS, ["L06"]),
    (values.href, "/b c#d", "https://example.com/b%20c", ["L06", "U08", "U10"]),
    (values.href, "mailto:a@example.com", None, ["U02"]),
    # booleans
    *((values.boolean, text, True, []) for text in ("yes", "YES", "Yes", "y", "true", "TRUE", "t", "1")),
    *((values.boolean, text, False, []) for text in ("no", "NO", "n", "false", "False", "f", "0")),
    *((values.boolean, text, None, ["V05"]) for text in ("on", "off", "2", "-1", "yes!", "ja", "none", "null")),
    # whole numbers, with and without an end
    (values.Number(int, 2**63 - 1), "0", 0, []),
    (values.Number(int, 2**63 - 1), "007", 7, []),
    (values.Number(int, 2**63 - 1), "999999999999999999", 999_999_999_999_999_999, []),
    (values.Number(int, 28_800), "28800", 28_800, []),
    (values.Number(int, 28_800), "0", 0, []),
    (values.Number(int, 28_800), "28801", None, ["V05"]),
    *(
        (values.Number(int, 2**63 - 1), text, None, ["V05"])
        for text in ("-1", "1.0", "1.5", "1e3", "1,000", "1 000", "1_000", "0x10", "10:00", "PT5M", "five", "\u0663")
    ),
    (values.Number(int, 2**63 - 1), "9" * 5000, None, ["V05"]),
    # decimals
    (values.Number(float, 10**15), "0", 0.0, []),
    (values.Number(float, 10**15), "1.99", 1.99, []),
    (values.Number(float, 10**15), ".5", 0.5, []),
    (values.Number(float, 10**15), "100000", 100_000.0, []),
    (values.Number(float, 5), "5", 5.0, []),
    (values.Number(float, 5), "5.000", 5.0, []),
    (values.Number(float, 5), "5.1", None, ["V05"]),
    (values.Number(float, 5), "0.0", 0.0, []),
    (values.Number(float, 5), "3.6666666666666665", 11 / 3, []),
    (values.Number(float, 5), "4.", 4.0, []),
    (values.Number(float, 5), "+4.5", 4.5, []),
    (values.Number(int, 28_800), "+600", 600, []),
    *(
        (values.Number(float, 10**15), text, None, ["V05"])
        for text in ("-1", "-0.1", "4,5", "1e3", "1_0", "nan", "inf", "Infinity", "4/5", "$1", "free", ".", "\u0664")
    ),
    (values.Number(float, 10**15), "9" * 5000, None, ["V05"]),
    # dates
    (values.date, "2026", Date(datetime(2026, 1, 1, tzinfo=UTC), "year"), []),
    (values.date, "2026-11-20", Date(datetime(2026, 11, 20, tzinfo=UTC), "day"), []),
    (values.date, "2026-11-20 06:30",
     Date(datetime(2026, 11, 20, 6, 30, tzinfo=UTC), "minute", "space instead of T; no zone, read as UTC"), ["D06"]),
    (values.date, "soon", None, ["D01"]),
]


def shown(value: object) -> str | None:
    if isinstance(value, str):
        return (value or "empty")[:30]
    return getattr(value, "__qualname__", None)


@pytest.mark.parametrize(("kind", "text", "value", "codes"), KINDS, ids=shown)
def test_kind_gives_a_typed_value_or_none_with_a_problem(
    kind: Callable[..., object], text: str, value: object, codes: list[str]
) -> None:
    notes: list[tuple[str, str, str, str]] = []
    found = kind(EntryContext(URL, lambda *note: notes.append(note)), text, "video:tag")
    assert (found, type(found)) == (value, type(value))
    assert [(code, field, raw) for code, _, field, raw in notes] == [(code, "video:tag", text) for code in codes]
    assert all(message.startswith("video:tag") for _, message, _, _ in notes)


@pytest.mark.parametrize("text", ["0001-01-01", "1970-01-01T00:00:00Z"])
@pytest.mark.parametrize("tag", ["news:publication_date", "video:publication_date", "video:expiration_date"])
def test_the_zero_of_a_clock_is_no_date(tag: str, text: str) -> None:
    holder = f"{tag.partition(':')[0]}:{tag.partition(':')[0]}"
    record, faults = entry(f"<{holder}><{tag}>{text}</{tag}></{holder}>")
    assert text[:10] not in str(fields(record))
    assert faults == [("D01", tag, text)]


def test_a_show_may_be_older_than_the_web() -> None:
    notes: list[object] = []
    context = EntryContext(URL, lambda *note: notes.append(note))
    assert (values.date(context, "1970-01-01", "video:premier_date"), notes) == (DAY_ZERO, [])


def test_the_dialect_of_feeds_takes_their_dates_without_a_note() -> None:
    def note(code: str, message: str, field: str, raw: str) -> None:
        pytest.fail(message)

    found = values.date(EntryContext(URL, note, date_dialect="rss"), "Fri, 20 Nov 2026 06:30:00 GMT", "x")
    assert found.precision == "second"


@pytest.mark.parametrize("kind", [values.url, values.href])
def test_relative_url_without_a_base_is_none(kind: Callable[..., object]) -> None:
    notes: list[str] = []
    assert kind(EntryContext(None, lambda code, *rest: notes.append(code)), "/b", "x") is None
    assert notes == ["L06" if kind is values.href else "U01"]


# --- the document with every extension --------------------------------------------------------------------------


def test_extensions_are_the_fields_between_priority_and_extras() -> None:
    names = [field.name for field in attrs.fields(sr.UrlRecord)]
    assert [*EXTENSIONS] == names[names.index("priority") + 1 : names.index("extras")]


def test_each_extension_has_a_digit_of_its_own_in_states() -> None:
    codes = [extension.state_code for extension in EXTENSIONS.values()]
    assert len({*codes, EXTRAS_STATE_CODE}) == len(codes) + 1
    assert EXTENSIONS["news"].state_code == min(codes)
    assert max(codes) <= 9


def written_tags(tag: str) -> list[str]:
    return re.findall(rf"<{tag}\b[^>]*>", EVERYTHING.read_text("utf-8"))


def test_the_document_of_everything_holds_every_row_of_the_table() -> None:
    rows = [(tag, row) for holder in TAG_RULES.values() for tag, row in holder.items()]
    assert len(rows) == sum(map(len, SPECIMENS.values()))
    for tag, row in rows:
        written = written_tags(tag)
        assert written, tag
        assert len(written) > 1 or not row.is_list, f"{tag} may be repeated"
        for name in row.attributes:
            assert any(f' {name}="' in start for start in written), (tag, name)
    for tag in (*TAG_RULES, "news:publication", *(extension.tag for extension in EXTENSIONS.values())):
        assert written_tags(tag), tag
    for name in ("rel", "hreflang", "href", "media"):
        assert any(f' {name}="' in start for start in written_tags("xhtml:link")), name


def test_the_document_of_everything_leaves_no_field_of_a_record_without_a_value() -> None:
    (record,) = sr.parse(EVERYTHING.read_bytes(), url=URL).urls
    assert record.videos[0].tvshow
    for name in EXTENSIONS:
        value = getattr(record, name)
        assert value, name
        same = value if isinstance(value, tuple) else (value,)
        for field in attrs.fields(type(same[0])) if attrs.has(type(same[0])) else ():
            assert any(getattr(one, field.name) not in (None, (), False) for one in same), field.name
    assert None not in record.videos[0].tvshow.values()
    assert record.problems == ()


# --- random entries ---------------------------------------------------------------------------------------


def test_every_row_of_the_table_has_a_specimen() -> None:
    assert {holder: set(tags) for holder, tags in SPECIMENS.items()} == {
        holder: set(tags) for holder, tags in TAG_RULES.items()
    }
    for holder, tags in SPECIMENS.items():
        for tag, specimen in tags.items():
            row = TAG_RULES[holder][tag]
            assert (set(row.attributes), row.is_list) == (set(specimen.attributes), specimen.many), tag


@pytest.mark.slow
@settings(max_examples=examples(250, 25))
@given(elements(), prefixes_of_a_document(), st.data())
def test_an_entry_made_up_of_the_schemas_comes_out_as_it_was_made(
    found: list[tuple[str, Node, Any]], naming: tuple[Prefixes, str], data: st.DataObject
) -> None:
    prefixes, root = naming
    parts = [written(node, prefixes) for _, node, _ in found]
    for field in FIELDS_OF_AN_ENTRY:
        parts.insert(data.draw(st.integers(0, len(parts))), field)
    *items, outcome = listed(f"<url>{''.join(parts)}</url>", root=root)
    assert items == [truth(found)]
    assert (outcome["complete"], outcome["problems"]) == (True, {})


@pytest.mark.slow
@settings(max_examples=examples(150, 20))
@given(elements(), prefixes_of_a_document(), st.data())
def test_foreign_elements_anywhere_change_nothing_else_in_the_record(
    found: list[tuple[str, Node, Any]], naming: tuple[Prefixes, str], data: st.DataObject
) -> None:
    prefixes, root = naming
    places: list[list[Node]] = [holder.children for _, node, _ in found for holder in holders_in(node)]
    entry: list[Node | str] = [*FIELDS_OF_AN_ENTRY, *(node for _, node, _ in found)]
    everywhere: list[list[Any]] = [entry, *places]
    for stranger in data.draw(st.lists(foreign(), min_size=1, max_size=4)):
        place = data.draw(st.sampled_from(everywhere))
        place.insert(data.draw(st.integers(0, len(place))), stranger)
    inside = "".join(each if isinstance(each, str) else written(each, prefixes) for each in entry)
    for extras in (False, True):
        *items, outcome = listed(f"<url>{inside}</url>", root=root, extras=extras)
        (record,) = items
        strangers = record.pop("extras", [])
        assert bool(strangers) is extras
        assert {each["namespace"] for each in strangers} <= {
            "urn:example:f", "urn:example:g",
            *("", CORE),  # the protocol's own, inside of them
            *NAMESPACES.values(),
        }
        assert record == truth(found)
        assert outcome["problems"] == {}


CORPUS = sorted(EVERYTHING.parent.glob("*.xml"))


@pytest.mark.parametrize("document", CORPUS, ids=lambda path: path.stem)
def test_extras_change_nothing_but_the_extras(document: Path) -> None:
    plain, more = (
        [sr.to_dict(item) for item in sr.iter_parse([document.read_bytes()], url=URL, extras=extras)]
        for extras in (False, True)
    )
    assert [{key: value for key, value in item.items() if key != "extras"} for item in more] == plain
    assert all("extras" not in item for item in plain)


# --- rules of single elements ----------------------------------------------------------------------------------------

IMAGE = "<image:image><image:loc>https://example.com/1.jpg</image:loc></image:image>"
AN_IMAGE = {"images": [{"loc": "https://example.com/1.jpg"}]}


def link(attributes: str) -> str:
    return f"<xhtml:link {attributes}/>"


RULES = {
    # present but empty
    "a video that holds nothing is a video": ("<video:video/>", {"videos": [{}]}, []),
    "a news element that holds nothing is news": ("<news:news/>", {"news": {}}, []),
    "a show that holds nothing is a show": (
        "<video:video><video:tvshow/></video:video>", {"videos": [{"tvshow": {}}]}, []),
    "an image that holds nothing has no location": ("<image:image/>", {}, [("S11", "image:loc", "")]),
    "an image whose location is unusable is none, and that is reported once": (
        "<image:image><image:loc>data:x</image:loc></image:image>", {}, [("U02", "image:loc", "data:x")]),
    "blank tags and attributes say nothing": (
        '<video:video><video:duration/><video:title> </video:title><video:tag/><video:price/>'
        '<video:player_loc allow_embed="" autoplay=" ">https://example.com/p</video:player_loc></video:video>',
        {"videos": [{"player_loc": {"value": "https://example.com/p"}}]},
        [],
    ),
    # objects
    "a tag with attributes is an object, also without any": (
        "<video:video><video:uploader>Alma</video:uploader></video:video>",
        {"videos": [{"uploader": {"value": "Alma"}}]}, []),
    "an attribute alone is kept": ('<video:video><video:price currency="EUR"/></video:video>',
                                   {"videos": [{"price": [{"currency": "EUR"}]}]}, []),
    "an unreadable value leaves its attributes": (
        '<video:video><video:price currency="EUR">free</video:price></video:video>',
        {"videos": [{"price": [{"currency": "EUR"}]}]}, [("V05", "video:price", "free")]),
    "an unreadable attribute leaves the value": (
        '<video:video><video:content_segment_loc duration="x">https://example.com/s</video:content_segment_loc>'
        "</video:video>",
        {"videos": [{"content_segment_loc": [{"value": "https://example.com/s"}]}]},
        [("V05", "video:content_segment_loc duration", "x")],
    ),
    # repeated
    "of a tag that may stand once, the first counts": (
        "<video:video><video:duration>60</video:duration><video:duration>61</video:duration></video:video>",
        {"videos": [{"duration": 60}]}, [("S10", "video:duration", "61")]),
    "of two shows, the first counts whole": (
        "<video:video><video:tvshow><video:show_title>A</video:show_title></video:tvshow>"
        "<video:tvshow><video:season_number>2</video:season_number></video:tvshow></video:video>",
        {"videos": [{"tvshow": {"show_title": "A"}}]},
        [("S10", "video:tvshow", "2")],
    ),
    "of two news elements, the first counts whole": (
        "<news:news><news:title>A</news:title></news:news><news:news><news:access>B</news:access></news:news>",
        {"news": {"title": "A"}}, [("S10", "news:news", "B")]),
    "mobile twice is mobile": ("<mobile:mobile/><mobile:mobile/>", {"mobile": True}, [("S10", "mobile:mobile", "")]),
    # in the wrong place
    "an unknown tag of a known schema": (
        "<image:image><image:loc>https://example.com/1.jpg</image:loc><image:width>9</image:width></image:image>",
        AN_IMAGE, [("S10", "image:width", "9")]),
    "the protocol's own tags mean nothing in an extension": (
        "<image:image><image:loc>https://example.com/1.jpg</image:loc><title>T</title></image:image>", AN_IMAGE,
        [("S10", "title", "T")]),
    "an image without its own location does not take the protocol's": (
        "<image:image><loc>https://example.com/1.jpg</loc></image:image>", {},
        [("S10", "loc", "https://example.com/1.jpg"), ("S11", "image:loc", "https://example.com/1.jpg")]),
    "an entry inside an extension is none": (
        "<video:video><url><loc>https://example.com/b</loc></url></video:video>", {"videos": [{}]},
        [("S10", "url", "https://example.com/b")]),
    "a tag of another extension": (f"<video:video>{IMAGE}</video:video>", {"videos": [{}]},
                                   [("S10", "image:image", "https://example.com/1.jpg")]),
    "a tag by itself": ("<video:title>T</video:title>", {}, [("S10", "video:title", "T")]),
    "a publication by itself": ("<news:publication/>", {}, [("S10", "news:publication", "")]),
    # news
    "name and language are read without their publication": (
        "<news:news><news:name>N</news:name><news:language>en</news:language></news:news>",
        {"news": {"name": "N", "language": "en"}}, []),
    "a list of nothing is empty": ("<news:news><news:keywords> , ,</news:keywords></news:news>", {"news": {}}, []),
    # links
    "rel in capitals": (link(f'rel="ALTERNATE" href="{HTTPS}"'), {"alternates": [{"href": HTTPS}]}, []),
    "rel with several values": (link(f'rel="a Alternate" href="{HTTPS}"'), {"alternates": [{"href": HTTPS}]}, []),
    "no rel, but hreflang": (link(f'hreflang="de" href="{HTTPS}"'), {"alternates": [{"hreflang": "de", "href": HTTPS}]},
                             [("S10", "xhtml:link", "de")]),
    "neither rel nor hreflang": (link(f'href="{HTTPS}"'), {}, [("S10", "xhtml:link", HTTPS)]),
    "nothing at all": (link(""), {}, [("S10", "xhtml:link", "")]),
    "rel of another kind, and no href": (link('rel="canonical"'), {}, [("S10", "xhtml:link", "")]),
    "a page in an app": (
        link('rel="alternate" href="android-app://com.example/https/example.com/a?b=1&amp;c=2"')
        + link('rel="alternate" href=" iOS-app://123/example/a "'),
        {
            "alternates": [
                {"href": "android-app://com.example/https/example.com/a?b=1&c=2"}, {"href": "iOS-app://123/example/a"},
            ]
        },
        [],
    ),
    "what only begins like one": (
        link('rel="alternate" href="android-app://"') + link('rel="alternate" href="ios-app:/a"')
        + link('rel="alternate" href="android-app://a b"') + link('rel="alternate" href="my-android-app://a"'),
        {},
        [
            ("U02", "xhtml:link href", "android-app://"), ("U02", "xhtml:link href", "ios-app:/a"),
            ("U02", "xhtml:link href", "android-app://a b"), ("U02", "xhtml:link href", "my-android-app://a"),
        ],
    ),
    "an image is no page in an app": ("<image:image><image:loc>android-app://com.example/a</image:loc></image:image>",
                                      {}, [("U02", "image:loc", "android-app://com.example/a")]),
    "rel of another kind": (link(f'rel="canonical" hreflang="de" href="{HTTPS}"'), {}, [("S10", "xhtml:link", HTTPS)]),
    "amphtml is no alternate": (link(f'rel="amphtml" href="{HTTPS}"'), {}, []),
    "no href": (link('rel="alternate" hreflang="de"'), {}, [("S11", "xhtml:link", "de")]),
    "an href in capitals": (link('rel="alternate" hreflang="de" HREF="https://example.com/de"'),
                            {"alternates": [{"hreflang": "de", "href": "https://example.com/de"}]},
                            [("S10", "xhtml:link href", "https://example.com/de")]),
    "an href in capitals beside one that is blank": (
        link('rel="alternate" hreflang="de" href="" Href="https://example.com/de"'),
        {"alternates": [{"hreflang": "de", "href": "https://example.com/de"}]},
        [("S10", "xhtml:link href", "https://example.com/de")]),
    "an href of another namespace": (link('rel="alternate" hreflang="de" f:href="https://example.com/de"'), {},
                                     [("S11", "xhtml:link", "de")]),
    "an unusable href": (link('rel="alternate" href="data:x"'), {}, [("U02", "xhtml:link href", "data:x")]),
    "a relative href": (link('rel="alternate" href="/b"'), {"alternates": [{"href": HTTPS}]},
                        [("L06", "xhtml:link href", "/b")]),
    "hreflang as written": (link(f'rel="alternate" hreflang="EN_uk" href="{HTTPS}"'),
                            {"alternates": [{"hreflang": "EN_uk", "href": HTTPS}]}, []),
    "another tag of XHTML": ('<xhtml:meta name="a"/>', {}, []),
    # others
    "PageMap": (f'<PageMap xmlns="{NAMESPACES["image"].replace("image/1.1", "pagemap/1.0")}"><x/></PageMap>', {}, []),
    "an unknown namespace": ("<f:image><f:loc>https://example.com/1.jpg</f:loc></f:image>", {}, []),
    # empty, and then with a value
    "an empty location before another": (
        "<image:image><image:loc/><image:loc>https://example.com/1.jpg</image:loc></image:image>", AN_IMAGE, []),
    "an empty list before another": (
        "<news:news><news:keywords/><news:keywords>a</news:keywords></news:news>", {"news": {"keywords": ["a"]}}, []),
    "an empty show before and behind another": (
        "<video:video><video:tvshow/><video:tvshow><video:show_title>A</video:show_title></video:tvshow><video:tvshow/>"
        "</video:video>", {"videos": [{"tvshow": {"show_title": "A"}}]}, [("S10", "video:tvshow", "")]),
    "of two publications, the first counts whole": (
        "<news:news><news:publication><news:name>A</news:name></news:publication><news:publication><news:name>B"
        "</news:name><news:language>de</news:language></news:publication></news:news>", {"news": {"name": "A"}},
        [("S10", "news:publication", "Bde")]),
    "a foreign attribute": ('<video:video><video:price f:vat="20"/></video:video>', {"videos": [{}]}, []),
    # tags inside of values
    "a rating in a duration": (
        "<video:video><video:duration>60<video:rating>4</video:rating></video:duration></video:video>",
        {"videos": [{"duration": 60}]}, [("S10", "video:rating", "604")]),
    "a title in a location": (
        "<image:image><image:loc>https://example.com/i.jpg<image:title>T</image:title></image:loc></image:image>",
        {"images": [{"loc": "https://example.com/i.jpg"}]}, [("S10", "image:title", "https://example.com/i.jpgT")]),
    # capitals
    "an Image": ("<image:Image><image:Loc>https://example.com/1.jpg</image:Loc></image:Image>", AN_IMAGE,
                 [("S10", "image:Image", None), ("S10", "image:Loc", None)]),
    "a VIDEO": ("<video:VIDEO><video:title>T</video:title></video:VIDEO>", {"videos": [{"title": "T"}]},
                [("S10", "video:VIDEO", None)]),
    "News": ("<news:News/>", {"news": {}}, [("S10", "news:News", None)]),
    "Mobile": ("<mobile:Mobile/>", {"mobile": True}, [("S10", "mobile:Mobile", None)]),
    "a Link": (f'<xhtml:Link rel="alternate" href="{HTTPS}"/>', {"alternates": [{"href": HTTPS}]},
               [("S10", "xhtml:Link", None)]),
}


@pytest.mark.parametrize(("inside", "expected", "faults"), RULES.values(), ids=RULES)
def test_an_element_is_read_by_its_rule(inside: str, expected: dict[str, Any], faults: list[Fault]) -> None:
    record, found = entry(inside)
    assert (fields(record), found) == (expected, faults)


def extra(name: str, text: str = "", *, namespace: str = "urn:example:f", **attributes: str) -> dict[str, Any]:
    """The JSON object of an extra; `_` in the name of an attribute stands for the namespace of the extra."""
    stated = [{"name": key.replace("_", f"{{{namespace}}}"), "value": value} for key, value in attributes.items()]
    return {"namespace": namespace, "name": name, **({"text": text} if text else {}),
            **({"attributes": stated} if stated else {})}


LANG = {"{http://www.w3.org/XML/1998/namespace}lang": "de"}
XHTML, VIDEOS = NAMESPACES["xhtml"], NAMESPACES["video"]


@pytest.mark.parametrize(("inside", "extras"), [
    ("<f:x/>", [extra("x")]),
    ('<f:x a="1" f:b="2" xml:lang="de"> t </f:x>', [extra("x", "t", a="1", _b="2", **LANG)]),
    ("<f:x>a<f:y>b</f:y> <f:z/></f:x>", [extra("x", "a"), extra("y", "b"), extra("z")]),
    ("<f:x>a<f:y>b<f:z>c</f:z>d</f:y>e</f:x>", [extra("x", "abcde"), extra("y"), extra("z", "c")]),
    ("<video:video><f:x/></video:video>", [extra("x")]),
    ("<video:video><video:tvshow><f:x/></video:tvshow></video:video>", [extra("x")]),
    ("<news:news><news:publication><f:x/></news:publication></news:news>", [extra("x")]),
    ("<image:image><f:x/></image:image>", [extra("x")]),
    ("<video:video><video:title>A <f:x>t</f:x></video:title></video:video>", [extra("x", "t")]),
    ('<xhtml:link rel="amphtml" href="https://example.com/amp"/>',
     [extra("link", namespace=XHTML, rel="amphtml", href="https://example.com/amp")]),
    ("<video:video><video:studio>S</video:studio></video:video>", [extra("studio", "S", namespace=VIDEOS)]),
    ('<PageMap xmlns="http://www.google.com/schemas/sitemap-pagemap/1.0"><x/></PageMap>', None),
    (IMAGE, None),
    (link('rel="alternate" hreflang="de"'), None),
])
def test_elements_without_a_field_are_extras_on_request(inside: str, extras: list[dict[str, Any]] | None) -> None:
    assert fields(entry(inside, extras=True)[0]).get("extras") == extras
    assert "extras" not in entry(inside)[0]


def test_extras_of_one_entry_are_not_those_of_the_next() -> None:
    first, second, third = records(listed(
        "<url><loc>https://example.com/1</loc><f:x/></url><url><loc>https://example.com/2</loc></url>"
        "<url><loc>https://example.com/3</loc><f:y/></url>",
        extras=True,
    ))
    assert [each["name"] for each in first["extras"]] == ["x"]
    assert "extras" not in second
    assert [each["name"] for each in third["extras"]] == ["y"]


MEANINGLESS = {
    "changefreq": "<changefreq>daily</changefreq>",
    "priority": "<priority>0.5</priority>",
    "image:image": IMAGE,
    "image:loc": "<image:loc>https://example.com/1.jpg</image:loc>",
    "mobile:mobile": "<mobile:mobile/>",
    "xhtml:link": link('rel="alternate" hreflang="de" href="https://example.com/de"'),
}


@pytest.mark.parametrize("tag", MEANINGLESS)
def test_what_has_no_meaning_for_a_sitemap_is_reported_once(tag: str) -> None:
    items = listed(f"<sitemap><loc>https://example.com/b.xml</loc>{MEANINGLESS[tag]}<f:x/></sitemap>" * 3, extras=True)
    assert [item.get("type") for item in items] == ["problem", "sitemap", "sitemap", "sitemap", "outcome"]
    assert (items[0]["code"], items[0]["field"]) == ("S10", tag)
    assert items[0]["message"] == f"<{tag}> has no meaning in <sitemap>"


def test_a_relative_image_of_a_document_without_a_url_is_none() -> None:
    image = "<image:image><image:loc>/1.jpg</image:loc></image:image>"
    document = f"<urlset {ROOT}><url><loc>https://example.com/a</loc>{image}</url></urlset>"
    (record,) = sr.parse(document.encode()).urls
    assert record.images == ()
    assert [(each.code, each.raw) for each in record.problems] == [("U01", "/1.jpg")]


# --- damage ----------------------------------------------------------------------------------------------------------

VIDEO = "<video:video><video:title>A film</video:title><video:duration>1200</video:duration></video:video>"


def test_a_video_that_was_cut_is_not_read_in_part() -> None:
    for cut in range(len(VIDEO) + 1):
        document = f"<urlset {ROOT}><url><loc>https://example.com/a</loc>{IMAGE}{VIDEO[:cut]}".encode()
        result = sr.parse(document, url=URL)
        (record,) = result.urls
        assert [image.loc for image in record.images] == ["https://example.com/1.jpg"]
        if record.videos:
            assert cut >= len(VIDEO) - len("</video:video>")
            assert (record.videos[0].title, record.videos[0].duration) == ("A film", 1200)
        assert (result.outcome.complete, result.outcome.problems) == (False, {"S01": 1}), cut


DAMAGE = {
    "raw ampersand": ("<video:video><video:title>Salt & Pepper</video:title></video:video>",
                      {"videos": [{"title": "Salt & Pepper"}]}),
    "entity of HTML": ("<video:video><video:title>a &eacute;</video:title></video:video>",
                       {"videos": [{"title": "a \u00e9"}]}),
    "duration not closed": ("<video:video><video:duration>60<video:rating>4</video:rating></video:video>",
                            {"videos": [{"duration": 60, "rating": 4.0}]}),
    "location not closed": (
        "<image:image><image:loc>https://example.com/1.jpg<image:title>T</image:title></image:image>",
        {"images": [{"loc": "https://example.com/1.jpg", "title": "T"}]},
    ),
    "caption not closed": (
        "<image:image><image:loc>https://example.com/1.jpg</image:loc><image:caption>C</image:image>",
        {"images": [{"loc": "https://example.com/1.jpg", "caption": "C"}]},
    ),
    "image not closed": (f"{IMAGE.removesuffix('</image:image>')}{IMAGE}", {"images": AN_IMAGE["images"] * 2}),
    "raw ampersand in href": (link('rel="alternate" hreflang="de" href="https://example.com/?a=1&copy=2"'),
                              {"alternates": [{"hreflang": "de", "href": "https://example.com/?a=1&copy=2"}]}),
    "no quotes": (
        "<video:video><video:player_loc allow_embed=no>https://example.com/p</video:player_loc></video:video>",
        {"videos": [{"player_loc": {"value": "https://example.com/p", "allow_embed": False}}]},
    ),
    "control character in a number": ("<video:video><video:duration>6\x010</video:duration></video:video>",
                                      {"videos": [{}]}),
}


@pytest.mark.parametrize(("inside", "expected"), DAMAGE.values(), ids=DAMAGE)
def test_damage_inside_an_extension_is_repaired_and_reported(inside: str, expected: dict[str, Any]) -> None:
    record, faults = entry(inside)
    assert fields(record) == expected
    assert "S01" in {code for code, _, _ in faults}


@pytest.mark.parametrize("prefix", NAMESPACES)
def test_undeclared_usual_prefix_has_its_usual_namespace(prefix: str) -> None:
    document = EVERYTHING.read_text("utf-8")
    bare = document.replace(f'xmlns:{prefix}="{NAMESPACES[prefix]}"', "")
    assert bare != document
    found, (expected,) = sr.parse(bare, url=URL), sr.parse(document, url=URL).urls
    assert [attrs.evolve(record, problems=()) for record in found.urls] == [expected]
    assert found.outcome.problems == {"S01": 1}


def test_nine_thousand_images_of_an_entry_all_come_out() -> None:
    urls = [f"https://example.com/{number}.jpg" for number in range(9_000)]
    record, faults = entry("".join(f"<image:image><image:loc>{url}</image:loc></image:image>" for url in urls))
    assert [image["loc"] for image in record["images"]] == urls
    assert faults == []


def test_ten_thousand_foreign_namespaces_do_no_harm() -> None:
    many = "".join(f'<x xmlns="urn:example:{n}"/>' for n in range(10_100))
    record, faults = entry(many + IMAGE, extras=True)
    assert [each["namespace"] for each in record["extras"]] == [f"urn:example:{n}" for n in range(10_100)]
    assert (len(record["images"]), faults) == (1, [])


# --- tags in places where they do not belong ------------------------------------------------------------------------


def test_an_extension_inside_of_loc_is_no_part_of_it() -> None:
    items = listed(f"<url><loc>https://example.com/a{IMAGE}</loc></url>")
    assert [record["loc"] for record in records(items)] == ["https://example.com/a"]
    assert items[-1]["problems"] == {"S10": 1}


@pytest.mark.parametrize(("inside", "value", "raws"), [
    ("deny<platform>mobile</platform>", "deny", ["denymobile"]),
    ("deny<f:platform>mobile</f:platform>", "deny", ["denymobile"]),
    ("deny<video:kind>mobile</video:kind>", "deny", ["mobile"]),
    ("deny<video:title>mobile</video:title> more", None, ["denymobile more"]),
    ("deny<platform/><kind/>", "deny", ["deny", "deny"]),
    ("<platform>mobile</platform>", None, ["mobile"]),
    ("A <b>bold</b> <a><i>claim</i></a>", "A bold claim", []),
    ("deny<f:platform/>", "deny", []),
])
def test_an_element_inside_of_a_value_is_no_part_of_it(inside: str, value: str | None, raws: list[str]) -> None:
    record, faults = entry(f"<video:video><video:category>{inside}</video:category></video:video>")
    assert record["videos"][0]["category"] == value
    assert [(code, raw) for code, _, raw in faults] == [("S10", raw) for raw in raws]


@pytest.mark.parametrize("holder", [f'xhtml:link rel="alternate" hreflang="de" href="{HTTPS}"', "mobile:mobile"])
def test_child_of_an_empty_element_counts_as_its_sibling(holder: str) -> None:
    record, faults = entry(f"<{holder}><lastmod>2026-11-20</lastmod><f:x/></{holder.split()[0]}>", extras=True)
    assert (record["lastmod_precision"], [each["name"] for each in record["extras"]]) == ("day", ["x"])
    assert {code for code, _, _ in faults} == {"S01"}


@pytest.mark.parametrize("holder", [f'xhtml:link rel="alternate" hreflang="de" href="{HTTPS}"', "mobile:mobile"])
def test_a_foreign_element_in_one_that_holds_nothing_comes_out(holder: str) -> None:
    record, faults = entry(f"<{holder}><f:x/></{holder.split()[0]}>", extras=True)
    assert ([each["name"] for each in record["extras"]], faults) == (["x"], [])


def test_links_that_are_not_closed_are_all_read() -> None:
    links = [f'<xhtml:link rel="alternate" hreflang="{code}" href="{HTTPS}">' for code in ("de", "fr")]
    record, _ = entry("".join(links))
    assert [each["hreflang"] for each in record["alternates"]] == ["de", "fr"]


def test_many_links_that_are_not_closed_do_not_stop_the_document() -> None:
    links = "".join(f'<xhtml:link rel="alternate" hreflang="l{n}" href="https://example.com/{n}">' for n in range(70))
    items = listed(f"<url><loc>https://example.com/a</loc>{links}</url><url><loc>https://example.com/b</loc></url>")
    assert [record["loc"] for record in records(items)] == ["https://example.com/a", "https://example.com/b"]


@pytest.mark.parametrize("stray", [IMAGE, VIDEO, link(f'rel="alternate" href="{HTTPS}"')])
def test_an_extension_outside_of_entries_is_noted(stray: str) -> None:
    items = listed(f"<url><loc>https://example.com/a</loc></url>{stray}")
    assert items[-1]["problems"] == {"S10": 1}


def test_a_core_tag_is_no_extra() -> None:
    record, faults = entry("<video:video><title>T</title></video:video>", extras=True)
    assert ("extras" in record, faults) == (False, [("S10", "title", "T")])


def test_text_that_an_element_repeats_is_not_taken_for_its_own() -> None:
    record, _ = entry("<f:n><f:b>c</f:b>abc</f:n>", extras=True)
    assert [(each["name"], each["text"]) for each in record["extras"]] == [("n", "cabc"), ("b", "c")]
    items = listed("<sitemap>https://example.com/a-<priority>1</priority>1</sitemap>")
    assert items[-1]["problems"] == {"S10": 1, "S11": 1}


@pytest.mark.parametrize("name", ["f:backlink", "f:loc"])
def test_markup_in_a_section_of_a_foreign_element_does_no_harm(name: str) -> None:
    record, faults = entry(f'<{name}><![CDATA[<a href="x">y</a>]]></{name}>{IMAGE}', extras=True)
    assert (fields(record)["images"], faults) == (AN_IMAGE["images"], [])


def test_a_url_whose_quotes_broke_is_not_guessed() -> None:
    link_at_fault = '<xhtml:link rel="alternate" hreflang="de" href="h"ttps://example.com/x"/>'
    items = listed(f"<url><loc>https://example.com/a</loc>{link_at_fault}</url>")
    assert [record.get("alternates") for record in records(items)] == [None]
    assert items[-1]["problems"]["S01"]
