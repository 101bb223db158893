"""Image, video, news, hreflang and mobile: the elements of an entry -> typed values.

TABLE says what each element may hold and how that is read; namespaces.py, whose tags these are. Values that cannot be
read are None, with a Problem; what is not there is not made up; what no field is for is an Extra, where wanted.
Sources: Google's schemas sitemap-image/1.1, sitemap-video/1.1, sitemap-news/0.9; its help pages for xhtml:link.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import attrs

from ...model.records import Alternate, Attribute, Extra, Image, News, TvShow, Video
from ..normalise.dates import parse_date
from ..normalise.urls import clean_url, is_app_link, is_clean
from ..xml.elements import clark, is_core, own_text, stripped, text_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..normalise.dates import Date, Dialect

    Note = Callable[[str, str, str, str], None]  # (code, message, field, raw)
    Kind = Callable[["Reading", str, str], Any]  # (reading, text, field) -> value
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from xml.etree.ElementTree import Element


# ----------------------------------------------------------------------------------------------------
# The text of an extension's tag or attribute -> a typed value, or None with a Problem.
#
# In: text, stripped, and the name of what holds it. Nothing is guessed: what cannot be read is None, its text in the
# Problem.


@attrs.define
class Reading:
    """What the values of one entry are read with: the URL they are relative to, and where faults go.

    `note` is called for each fault. `extras` collects what no field is for; None: not
    wanted. `may_be_relative`: a relative URL is no fault.
    """

    base: str | None
    note: Note
    date_dialect: Dialect = "w3c"
    extras: list[Extra] | None = None
    may_be_relative: bool = False


def text(reading: Reading, text: str, field: str) -> str:
    """As it stands."""
    return text


def names(reading: Reading, text: str, field: str) -> tuple[str, ...]:
    """What stands between commas."""
    return tuple(part.strip() for part in text.split(",") if part.strip())


def url(reading: Reading, text: str, field: str) -> str | None:
    """Cleaned as a `loc` is, with the same codes."""
    return text if is_clean(text) else _url(reading, text, field, "U01")


def href(reading: Reading, text: str, field: str) -> str | None:
    """The same, or a link into an app, as written; a relative one has a code of its own, as the engines forbid it."""
    return text if is_clean(text) or is_app_link(text) else _url(reading, text, field, "L06")


def _url(reading: Reading, text: str, field: str, relative: str) -> str | None:
    loc = clean_url(text, reading.base)
    for code, message in loc.faults(may_be_relative=reading.may_be_relative):
        reading.note(relative if code == "U01" else code, f"{field}: {message}", field, text)
    return loc.url


def date(reading: Reading, text: str, field: str) -> Date | None:
    """The instant and its precision."""
    return read_date(text, field, reading.date_dialect, reading.note)


def read_date(text: str, field: str, dialect: Dialect, note: Note) -> Date | None:
    """The same for who has no Reading: an entry's own lastmod."""
    value = parse_date(text, dialect)
    if value is None:
        note("D01", f'{field} "{text[:80]}" is no date', field, text)
    elif value.repair:
        note("D06", f'{field} "{text[:80]}": {value.repair}', field, text)
    return value


def boolean(reading: Reading, text: str, field: str) -> bool | None:
    """`yes` or `no`, and what else can only mean these."""
    value = _BOOLEANS.get(text.lower())
    if value is None:
        _unreadable(reading, text, field, "is not yes or no")
    return value


_BOOLEANS = {
    **dict.fromkeys(("yes", "y", "true", "t", "1"), True),
    **dict.fromkeys(("no", "n", "false", "f", "0"), False),
}


def whole(most: int = 2**63 - 1) -> Kind:
    """A whole number from 0 to `most`; more than 64 bits have no place in a column."""
    return _number(int, _WHOLE, "a whole number", most)


def decimal(most: int = 10**15) -> Kind:
    """A decimal number from 0 to `most`; a comma or an exponent is none."""
    return _number(float, _DECIMAL, "a number of 0 or more", most)


def _number(make: Callable[[str], float], form: re.Pattern[str], what: str, most: int) -> Kind:
    def read(reading: Reading, text: str, field: str) -> float | None:
        if not form.fullmatch(text):
            _unreadable(reading, text, field, f"is not {what}")
        elif (value := make(text)) > most:
            _unreadable(reading, text, field, f"is more than {most:,}")
        else:
            return value
        return None

    return read


# As the schemas' integers and decimals may be written, at a length that somebody might write.
_WHOLE = re.compile(r"\+?[0-9]{1,40}")
_DECIMAL = re.compile(r"\+?(?:[0-9]{1,40}(?:\.[0-9]{0,40})?|\.[0-9]{1,40})")


def _unreadable(reading: Reading, text: str, field: str, why: str) -> None:
    reading.note("V05", f'{field} "{text[:80]}" {why}', field, text)


@attrs.frozen
class Tag:
    """How one tag is read, into the field of its name: by the kind of its text.

    `attributes` make the value an object, {"value": ..., attribute: ...}; `many` collects every occurrence in a list.
    """

    kind: Kind = text
    attributes: Mapping[str, Kind] = attrs.field(factory=dict)
    many: bool = False


# What holds others -> the tags in it. A date gives two fields: itself and its precision.
TABLE: dict[str, dict[str, Tag]] = {
    "image:image": {
        "image:loc": Tag(url),
        "image:title": Tag(),
        "image:caption": Tag(),
        "image:geo_location": Tag(),
        "image:license": Tag(url),
    },
    "video:video": {
        "video:thumbnail_loc": Tag(url),
        "video:title": Tag(),
        "video:description": Tag(),
        "video:content_loc": Tag(url),
        "video:player_loc": Tag(url, {"allow_embed": boolean, "autoplay": text}),
        "video:duration": Tag(whole(28_800)),
        "video:content_segment_loc": Tag(url, {"duration": whole(28_800)}, many=True),
        "video:expiration_date": Tag(date),
        "video:publication_date": Tag(date),
        "video:rating": Tag(decimal(5)),
        "video:view_count": Tag(whole()),
        "video:family_friendly": Tag(boolean),
        "video:tag": Tag(many=True),
        "video:category": Tag(),
        "video:restriction": Tag(text, {"relationship": text}),
        "video:platform": Tag(text, {"relationship": text}),
        "video:gallery_loc": Tag(url, {"title": text}),
        "video:price": Tag(decimal(), {"currency": text, "type": text, "resolution": text}, many=True),
        "video:requires_subscription": Tag(boolean),
        "video:uploader": Tag(text, {"info": url}),
        "video:live": Tag(boolean),
        "video:id": Tag(text, {"type": text}, many=True),
    },
    "video:tvshow": {
        "video:show_title": Tag(),
        "video:video_type": Tag(),
        "video:episode_title": Tag(),
        "video:season_number": Tag(whole()),
        "video:episode_number": Tag(whole()),
        "video:premier_date": Tag(date),
    },
    "news:news": {
        "news:name": Tag(),
        "news:language": Tag(),
        "news:title": Tag(),
        "news:publication_date": Tag(date),
        "news:keywords": Tag(names),
        "news:genres": Tag(names),
        "news:stock_tickers": Tag(names),
        "news:access": Tag(),
        "news:geo_targeting": Tag(),
        "news:amp": Tag(),
    },
}
FIELDS = {tag: tag.partition(":")[2] for table in TABLE.values() for tag in table}
# The fields that are lists while they grow.
MANY = {name: [FIELDS[tag] for tag, how in table.items() if how.many] for name, table in TABLE.items()}
_BLANK_SHOW = dict.fromkeys(TvShow.__annotations__)
PUBLICATION = {"name", "language"}
# Every tag that means nothing directly in an entry, and every tag.
PARTS = frozenset({"video:tvshow", "news:publication", *FIELDS})
TAGS = PARTS | {"image:image", "video:video", "news:news", "xhtml:link", "mobile:mobile"}
_FIELD_TAGS = TAGS | {"loc", "lastmod", "changefreq", "priority"}
# The markup of HTML that is written into titles and descriptions without escapes.
# fmt: off
_PROSE = frozenset({
    "a", "abbr", "b", "br", "em", "font", "i", "li", "ol", "p", "q", "s", "small", "span", "strong", "sub", "sup",
    "u", "ul",
})
# fmt: on
# Their schemas are closed: a tag of these prefixes that TABLE lacks is a mistake.
_CLOSED = ("image:", "video:", "news:", "mobile:")


def read_extensions(elements: Iterable[Element], reading: Reading) -> dict[str, Any]:
    """The elements of one entry that are not the protocol's own -> fields of its UrlRecord."""
    fields: dict[str, Any] = {}
    for element in elements:
        reader = _READERS.get(element.tag)
        if reader is None:
            _left_over(element, reading)
            continue
        field, many, read = reader
        if field in fields and not many:
            _repeated(element, reading)
            continue
        value = read(element, reading)
        if value is None:
            continue
        if many:
            fields.setdefault(field, []).append(value)
        else:
            fields[field] = value
    if reading.extras:
        fields["extras"] = reading.extras
    return settled(fields, _LISTS)


# --- one element ---


def _image(element: Element, reading: Reading) -> Image | None:
    fields = _fields(element, reading)
    if "loc" not in fields:
        reading.note("S11", "an image without a location", "image:loc", stripped(element))
    return Image(**fields) if fields.get("loc") else None


def _video(element: Element, reading: Reading) -> Video:
    return Video(**_fields(element, reading))


def _news(element: Element, reading: Reading) -> News:
    return News(**_fields(element, reading))


def alternate(element: Element, reading: Reading) -> Alternate | None:
    for child in element:
        _left_over(child, reading, element)
    language = element.get("hreflang") or None
    if element.get("rel") != "alternate" and not _is_alternate(element, language, reading):
        _left_over(element, reading)
        return None
    target = (element.get("href") or "").strip()
    if not target:
        reading.note("S11", "an alternate without href", "xhtml:link", language or "")
        return None
    found = href(reading, target, "xhtml:link href")
    return None if found is None else Alternate(language, found, element.get("media") or None)


def _is_alternate(element: Element, language: str | None, reading: Reading) -> bool:
    relations = (element.get("rel") or "").lower().split()
    if "alternate" in relations:
        return True
    target = element.get("href") or ""
    if not relations and language:
        reading.note("S10", "an xhtml:link without rel: its hreflang makes it an alternate", "xhtml:link", language)
        return True
    if not (relations and target.strip()):
        missing = "href" if relations else "rel"
        reading.note("S10", f"an xhtml:link without {missing}: no alternate", "xhtml:link", target)
        return False
    if not language:
        return False
    what = f'rel="{" ".join(relations)[:80]}" with hreflang: no alternate'
    reading.note("S10", what, "xhtml:link", target)
    return False


def _mobile(element: Element, reading: Reading) -> bool:
    for child in element:
        _left_over(child, reading, element)
    return True


# Tag directly in an entry -> (field of the record, whether it takes several, reader).
_READERS: dict[str, tuple[str, bool, Callable[[Element, Reading], Any]]] = {
    "image:image": ("images", True, _image),
    "video:video": ("videos", True, _video),
    "news:news": ("news", False, _news),
    "xhtml:link": ("alternates", True, alternate),
    "mobile:mobile": ("mobile", False, _mobile),
}
_LISTS = ["extras", *(field for field, many, _ in _READERS.values() if many)]


# --- its fields ---


def _fields(element: Element, reading: Reading) -> dict[str, Any]:
    """What the tags in an element say, by field."""
    fields: dict[str, Any] = {}
    _fill(fields, TABLE[element.tag], element, reading)
    return settled(fields, MANY[element.tag])


def settled(fields: dict[str, Any], lists: list[str]) -> dict[str, Any]:
    """Lists, which grew in time that is linear, as the tuples of records."""
    for name in lists:
        if name in fields:
            fields[name] = tuple(fields[name])
    return fields


def _fill(fields: dict[str, Any], table: dict[str, Tag], element: Element, reading: Reading) -> None:
    """Adds what the children say. Of a tag that may stand once, the first that says something counts."""
    for child in element:
        name = child.tag
        tag = table.get(name)
        if tag is None:
            _fill_otherwise(fields, table, child, element, reading)
            continue
        written = _written(child, tag, reading) if len(child) else (child.text or "").strip()
        if not written and not any(map(child.get, tag.attributes)):
            continue
        if FIELDS[name] in fields and not tag.many:
            _repeated(child, reading)
        else:
            put(fields, tag, name, written, child.get, reading)


def put(
    fields: dict[str, Any], tag: Tag, name: str, written: str, get: Callable[[str], str | None], reading: Reading
) -> None:
    """Adds what a tag of this name says, by its text and its attributes."""
    field = FIELDS[name]
    if tag.kind is date:
        found = date(reading, written, name)
        fields[field], fields[f"{field}_precision"] = (found.moment, found.precision) if found else (None, None)
        return
    value = _value(tag, name, written, get, reading)
    if tag.many:
        fields.setdefault(field, []).extend([] if value is None else [value])
    else:
        fields[field] = value


def _fill_otherwise(
    fields: dict[str, Any], table: dict[str, Tag], child: Element, element: Element, reading: Reading
) -> None:
    """Two tags hold tags of their own: what is in a publication counts as the news element's, a show is an object."""
    place = (element.tag, child.tag)
    if place not in (("news:news", "news:publication"), ("video:video", "video:tvshow")):
        _left_over(child, reading, element)
    elif child.tag == "video:tvshow" and fields.get("tvshow", _BLANK_SHOW) != _BLANK_SHOW:
        _repeated(child, reading)
    elif child.tag == "video:tvshow":
        fields["tvshow"] = {**_BLANK_SHOW, **_fields(child, reading)}
    elif PUBLICATION & fields.keys():
        _repeated(child, reading)
    else:
        _fill(fields, table, child, reading)


def _written(element: Element, tag: Tag, reading: Reading) -> str:
    """The text of a tag that holds others: its own, and what has the markup of prose where it is prose."""
    strays = [child for child in element if not (tag.kind is text and child.tag in _PROSE)]
    if not strays:
        return stripped(element)
    whole = stripped(element)
    for child in strays:
        is_ours = child.tag in _FIELD_TAGS or is_core(child.tag)
        if is_ours or (text_of(child).strip() and not child.tag.startswith(_CLOSED)):
            name = child.tag.rpartition("}")[2][:80]
            reading.note("S10", f"<{name}> stands inside of <{element.tag}>", name, whole)
        if not is_ours:
            _left_over(child, reading, element)
    return (own_text(element) or "").strip()


def _value(tag: Tag, name: str, written: str, get: Callable[[str], str | None], reading: Reading) -> Any:
    value = tag.kind(reading, written, name) if written else None
    if not tag.attributes:
        return value
    parts = {"value": value}
    for attribute, kind in tag.attributes.items():
        stated = (get(attribute) or "").strip()
        parts[attribute] = kind(reading, stated, f"{name} {attribute}") if stated else None
    return None if all(part is None for part in parts.values()) else parts


# --- what no field is for ---


def _repeated(element: Element, reading: Reading) -> None:
    reading.note("S10", f"<{element.tag}> is repeated: the first counts", element.tag, stripped(element))


def _left_over(element: Element, reading: Reading, inside: Element | None = None) -> None:
    """Foreign, unknown, or in the wrong place."""
    tag = element.tag
    if tag.startswith("pagemap:"):
        return
    if is_core(tag) or tag.startswith(_CLOSED):
        what = "is unknown" if tag not in PARTS else "does not belong" if inside else "stands by itself"
        where = f" in <{inside.tag}>" if inside else ""
        reading.note("S10", f"<{tag[:80]}> {what}{where}", tag[:80], stripped(element))
    if reading.extras is not None and not is_core(tag):
        reading.extras += _extras(element)


def _extras(element: Element, in_mixed: bool = False) -> Iterator[Extra]:
    """The element, then those inside. Text between elements is given once, with the outermost that holds them."""
    namespace, name = clark(element.tag)
    attributes = (Attribute("{" + key if "}" in key else key, value) for key, value in element.items())
    before = own_text(element)
    is_mixed = before is None
    written = text_of(element) if is_mixed and not in_mixed else before or ""
    yield Extra(namespace, name, written.strip() or None, tuple(attributes))
    for child in element:
        yield from _extras(child, in_mixed or is_mixed)
