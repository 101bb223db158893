"""Image, video, news, hreflang and mobile: the elements of an entry -> typed values.

One table says which namespaces exist, one for each record says which tag fills which field, and how it is read.
Values that cannot be read are None, with a Problem; what is not there is not made up.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import attrs

from ..records import Alternate, Image, News, Video
from .dates import parse_date
from .urls import clean_url

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from .tree import Element

_GOOGLE = "www.google.com/schemas/"
_PREFIXES = {
    _GOOGLE + "sitemap-image/1.1": "image",
    _GOOGLE + "sitemap-video/1.1": "video",
    _GOOGLE + "sitemap-news/0.9": "news",
    _GOOGLE + "sitemap-news/0.84": "news",
    _GOOGLE + "sitemap-mobile/1.0": "mobile",
    _GOOGLE + "sitemap-pagemap/1.0": "pagemap",
    "www.w3.org/1999/xhtml": "xhtml",
}
# Namespace -> the prefix of our tags. Both schemes and a closing slash are seen in the wild.
NAMESPACES: dict[str, str] = {
    f"{scheme}://{name}{slash}": prefix
    for name, prefix in _PREFIXES.items()
    for scheme in ("http", "https")
    for slash in ("", "/")
}

@attrs.define
class Reading:
    """What reading values needs: the URL they are relative to, and where faults go.

    `note(code, message, field, raw)` is called for each fault.
    """

    base: str | None
    note: Callable[[str, str, str, str], None]
    date_dialect: Any = "w3c"

    def url(self, text: str, field: str) -> str | None:
        loc = clean_url(text, self.base)
        for code, message in loc.notes:
            self.note(code, f"{field}: {message}", field, text)
        return loc.url

    def text(self, text: str, field: str) -> str | None:
        return text or None

    def date(self, text: str, field: str) -> Any:
        date = parse_date(text, self.date_dialect)
        if date is None:
            self.note("D01", f'{field} "{text[:80]}" is no date', field, text)
            return None
        if date.repair:
            self.note("D06", f'{field} "{text[:80]}": {date.repair}', field, text)
        return date.moment

    def integer(self, text: str, field: str) -> int | None:
        most = _MOST.get(field, 10**18 - 1)
        if re.fullmatch(r"[0-9]{1,18}", text) and (value := int(text)) <= most:
            return value
        self._unreadable(text, field, f"a whole number up to {most:,}" if field in _MOST else "a whole number")
        return None

    def number(self, text: str, field: str) -> float | None:
        most = _MOST.get(field, 10**15)
        if re.fullmatch(r"[0-9]{1,15}(?:\.[0-9]{1,15})?", text) and (value := float(text)) <= most:
            return value
        self._unreadable(text, field, f"a number up to {most}" if field in _MOST else "a number")
        return None

    def boolean(self, text: str, field: str) -> bool | None:
        value = _BOOLEANS.get(text.lower())
        if value is None:
            self._unreadable(text, field, "yes or no")
        return value

    def _unreadable(self, text: str, field: str, wanted: str) -> None:
        self.note("V05", f'{field} "{text[:80]}" is not {wanted}', field, text)


# The schema's ranges; they begin at 0.
_MOST = {"video:duration": 28_800, "video:rating": 5}
_BOOLEANS = {"yes": True, "no": False, "true": True, "false": False, "1": True, "0": False}

# How a tag's text becomes a value.
_url, _text, _date = Reading.url, Reading.text, Reading.date
_integer, _number, _boolean = Reading.integer, Reading.number, Reading.boolean


@attrs.frozen
class Tag:
    """How one tag is read: `attributes` make it an object, `many` collects every occurrence in a list."""

    read: Callable[[Reading, str, str], Any] = _text
    attributes: tuple[str, ...] = ()
    many: bool = False


IMAGE = {
    "image:loc": Tag(_url),
    "image:title": Tag(),
    "image:caption": Tag(),
    "image:geo_location": Tag(),
    "image:license": Tag(_url),
}

VIDEO = {
    "video:thumbnail_loc": Tag(_url),
    "video:title": Tag(),
    "video:description": Tag(),
    "video:content_loc": Tag(_url),
    "video:player_loc": Tag(_url, ("allow_embed", "autoplay")),
    "video:duration": Tag(_integer),
    "video:content_segment_loc": Tag(_url, ("duration",), many=True),
    "video:expiration_date": Tag(_date),
    "video:publication_date": Tag(_date),
    "video:rating": Tag(_number),
    "video:view_count": Tag(_integer),
    "video:family_friendly": Tag(_boolean),
    "video:tag": Tag(many=True),
    "video:category": Tag(),
    "video:restriction": Tag(_text, ("relationship",)),
    "video:platform": Tag(_text, ("relationship",)),
    "video:gallery_loc": Tag(_url, ("title",)),
    "video:price": Tag(_number, ("currency", "type", "resolution"), many=True),
    "video:requires_subscription": Tag(_boolean),
    "video:uploader": Tag(_text, ("info",)),
    "video:live": Tag(_boolean),
}

TVSHOW = {
    "video:show_title": Tag(),
    "video:video_type": Tag(),
    "video:episode_title": Tag(),
    "video:season_number": Tag(_integer),
    "video:episode_number": Tag(_integer),
    "video:premier_date": Tag(_date),
}

NEWS = {
    "news:name": Tag(),
    "news:language": Tag(),
    "news:title": Tag(),
    "news:publication_date": Tag(_date),
    "news:access": Tag(),
    "news:geo_targeting": Tag(),
    "news:amp": Tag(),
}
_NEWS_LISTS = {"news:keywords": "keywords", "news:genres": "genres", "news:stock_tickers": "stock_tickers"}


def _fields(children: Iterable[Element], table: dict[str, Tag], reading: Reading) -> dict[str, Any]:
    """The children that the table knows, as field -> value; of a tag that may stand once, the first."""
    fields: dict[str, Any] = {}
    for child in children:
        tag = table.get(child.tag)
        if tag is None:
            continue
        name = child.tag.partition(":")[2]
        if name in fields and not tag.many:
            reading.note("S10", f"<{child.tag}> is repeated: the first counts", child.tag, child.text)
            continue
        text = child.text.strip()
        value = tag.read(reading, text, child.tag) if text else None
        if tag.attributes:
            value = {"value": value, **{key: child.get(key) for key in tag.attributes}}
        if tag.many:
            value = (*fields.get(name, ()), *(() if value is None else (value,)))
        fields[name] = value
    return fields


def _image(element: Element, reading: Reading) -> Image | None:
    fields = _fields(element.children, IMAGE, reading)
    if not any(child.tag == "image:loc" and child.text.strip() for child in element.children):
        reading.note("S11", "an image without a location", "image:loc", element.text.strip())
    return Image(**fields) if fields.get("loc") else None


def _video(element: Element, reading: Reading) -> Video:
    fields = _fields(element.children, VIDEO, reading)
    for child in element.children:
        if child.tag == "video:tvshow":
            known = _fields(child.children, TVSHOW, reading)
            fields["tvshow"] = {tag.partition(":")[2]: known.get(tag.partition(":")[2]) for tag in TVSHOW}
    return Video(**fields)


def _news(element: Element, reading: Reading) -> News:
    children = list(element.children)
    for child in element.children:
        if child.tag == "news:publication":
            children += child.children
    fields = _fields(children, NEWS, reading)
    for child in children:
        name = _NEWS_LISTS.get(child.tag)
        if name:
            fields[name] = tuple(part.strip() for part in child.text.split(",") if part.strip())
    return News(**fields)


def _alternate(element: Element, reading: Reading) -> Alternate | None:
    href = (element.get("href") or "").strip()
    if "alternate" not in (element.get("rel") or "").lower().split():
        return None
    if not href:
        reading.note("S11", "an alternate without href", "xhtml:link", element.get("hreflang") or "")
        return None
    loc = clean_url(href, reading.base)
    for code, message in loc.notes:
        reading.note("L06" if code == "U01" else code, f"xhtml:link href: {message}", "xhtml:link", href)
    return None if loc.url is None else Alternate(element.get("hreflang"), loc.url, element.get("media"))


def _mobile(element: Element, reading: Reading) -> bool:
    return True


# Tag directly in an entry -> (field of the record, reader). Lists take several, the rest the first.
_READERS: dict[str, tuple[str, Callable[[Element, Reading], Any]]] = {
    "image:image": ("images", _image),
    "video:video": ("videos", _video),
    "news:news": ("news", _news),
    "xhtml:link": ("alternates", _alternate),
    "mobile:mobile": ("mobile", _mobile),
}
_SINGLE = frozenset({"news", "mobile"})
# What belongs inside of these, and means nothing directly in an entry.
PARTS = frozenset({*IMAGE, *VIDEO, *TVSHOW, *NEWS, *_NEWS_LISTS})


def read_extensions(elements: Iterable[Element], reading: Reading) -> dict[str, Any]:
    """The extension elements of one entry -> fields of its UrlRecord; unknown ones are passed over."""
    fields: dict[str, Any] = {}
    for element in elements:
        if element.tag not in _READERS:
            if element.tag in PARTS:
                reading.note("S10", f"<{element.tag}> stands by itself", element.tag, element.text.strip())
            continue
        field, read = _READERS[element.tag]
        value = read(element, reading)
        if value is None:
            continue
        if field not in _SINGLE:
            fields[field] = (*fields.get(field, ()), value)
        else:
            fields.setdefault(field, value)
    return fields
