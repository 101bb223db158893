"""Random entries with extensions: elements to be written, and the expected JSON object.

The values of each tag are defined here, not taken from the code under test.
"""

from __future__ import annotations

from typing import Any
from xml.sax.saxutils import escape, quoteattr

import attrs
from hypothesis import strategies as st
from kit import parse

import sitemap_reader as sr

CORE = "http://www.sitemaps.org/schemas/sitemap/0.9"
NAMESPACES = {
    "image": "http://www.google.com/schemas/sitemap-image/1.1",
    "video": "http://www.google.com/schemas/sitemap-video/1.1",
    "news": "http://www.google.com/schemas/sitemap-news/0.9",
    "mobile": "http://www.google.com/schemas/sitemap-mobile/1.0",
    "xhtml": "http://www.w3.org/1999/xhtml",
}
URL = "https://example.com/maps/sitemap.xml"  # of the document
HTTPS = "https://example.com/b"
DECLARED = " ".join(f'xmlns:{prefix}="{namespace}"' for prefix, namespace in NAMESPACES.items())
ROOT = f'xmlns="{CORE}" {DECLARED} xmlns:f="urn:example:f"'


def listed(inside: str, *, root: str = ROOT, **options: Any) -> list[dict[str, Any]]:
    """The JSON objects of all items of a <urlset> with this content."""
    return [sr.to_dict(item) for item in parse(f"<urlset {root}>{inside}</urlset>", url=URL, **options).items]


def records(items: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [item for item in items if "type" not in item]


WORDS = st.sampled_from(
    ["", " ", "a", "Salt & pepper", "1 < 2 > 0", "]]>", "\"'", "&amp;", "\u9801", "\U0001f375", "\xa0b\u2009", "a,b"]
)
TEXTS = WORDS.map(lambda text: (text, text.strip() or None))
URLS = st.sampled_from([
    (HTTPS, HTTPS),
    (" https://example.com/c?a=1&b=2 ", "https://example.com/c?a=1&b=2"),
    ("HTTP://Example.com:80", "http://example.com/"),
    ("https://b\u00fccher.example/\u9801", "https://xn--bcher-kva.example/%E9%A0%81"),
    ("", None),
])
BOOLEANS = st.sampled_from([("yes", True), ("no", False), (" TRUE ", True), ("0", False), (" ", None)])
SECONDS = (st.just(28_800) | st.integers(0, 28_800)).map(lambda number: (str(number), number))
COUNTS = st.integers(0, 10**18 - 1).map(lambda number: (f" {number}\n", number))
RATINGS = (st.just(500) | st.integers(0, 500)).map(lambda number: (f"{number / 100:.2f}", number / 100))
PRICES = st.integers(0, 10**7).map(lambda number: (f"{number / 100:.2f}", number / 100))
PARTS = st.lists(WORDS.map(lambda text: text.replace(",", "").strip()), max_size=3)
LISTS = PARTS.map(lambda parts: (" ,".join(parts), [part for part in parts if part]))
DATES = st.sampled_from([
    ("2026", ("2026-01-01T00:00:00Z", "year")),
    ("2026-11", ("2026-11-01T00:00:00Z", "month")),
    ("\n2026-11-20 ", ("2026-11-20T00:00:00Z", "day")),
    ("2026-11-20T06:30+01:00", ("2026-11-20T05:30:00Z", "minute")),
    ("2026-11-20T06:30:15Z", ("2026-11-20T06:30:15Z", "second")),
    ("2026-11-20T06:30:15.250-02:00", ("2026-11-20T08:30:15.25Z", "subsecond")),
    ("", (None, None)),
])

Values = st.SearchStrategy[tuple[str, Any]]


@attrs.frozen
class Specimen:
    """Possible values of a tag: (text, value) pairs; the same for its attributes; `many`: the field is a list."""

    texts: Values = TEXTS
    attributes: dict[str, Values] = attrs.field(factory=dict)
    many: bool = False

    @property
    def blank(self) -> Any:
        return [] if self.many or self.texts is LISTS else None


SPECIMENS: dict[str, dict[str, Specimen]] = {
    "image:image": {"image:loc": Specimen(URLS.filter(lambda pair: bool(pair[1]))), "image:title": Specimen(),
                    "image:caption": Specimen(), "image:geo_location": Specimen(), "image:license": Specimen(URLS)},
    "video:video": {
        "video:thumbnail_loc": Specimen(URLS), "video:title": Specimen(), "video:description": Specimen(),
        "video:content_loc": Specimen(URLS),
        "video:player_loc": Specimen(URLS, {"allow_embed": BOOLEANS, "autoplay": TEXTS}),
        "video:duration": Specimen(SECONDS),
        "video:content_segment_loc": Specimen(URLS, {"duration": SECONDS}, many=True),
        "video:expiration_date": Specimen(DATES), "video:publication_date": Specimen(DATES),
        "video:rating": Specimen(RATINGS), "video:view_count": Specimen(COUNTS),
        "video:family_friendly": Specimen(BOOLEANS), "video:tag": Specimen(many=True), "video:category": Specimen(),
        "video:restriction": Specimen(TEXTS, {"relationship": TEXTS}),
        "video:platform": Specimen(TEXTS, {"relationship": TEXTS}),
        "video:gallery_loc": Specimen(URLS, {"title": TEXTS}),
        "video:price": Specimen(PRICES, {"currency": TEXTS, "type": TEXTS, "resolution": TEXTS}, many=True),
        "video:requires_subscription": Specimen(BOOLEANS), "video:uploader": Specimen(TEXTS, {"info": URLS}),
        "video:live": Specimen(BOOLEANS), "video:id": Specimen(TEXTS, {"type": TEXTS}, many=True),
    },
    "video:tvshow": {"video:show_title": Specimen(), "video:video_type": Specimen(), "video:episode_title": Specimen(),
                     "video:season_number": Specimen(COUNTS), "video:episode_number": Specimen(COUNTS),
                     "video:premier_date": Specimen(DATES)},
    "news:news": {"news:name": Specimen(), "news:language": Specimen(), "news:title": Specimen(),
                  "news:publication_date": Specimen(DATES), "news:keywords": Specimen(LISTS),
                  "news:genres": Specimen(LISTS), "news:stock_tickers": Specimen(LISTS), "news:access": Specimen(),
                  "news:geo_targeting": Specimen(),
                  "news:amp": Specimen(URLS.filter(lambda pair: pair[0] in (HTTPS, "")))},
}


@attrs.define
class Node:
    """An element to be written; `namespace` wins over the usual one of the tag's prefix."""

    tag: str
    text: str = ""
    attributes: dict[str, str] = attrs.field(factory=dict)
    children: list[Node] = attrs.field(factory=list)
    namespace: str | None = None
    section: bool = False  # its text as CDATA


Prefixes = dict[str, str | None]  # usual prefix -> prefix in the document; None: a declaration at each element


def written(node: Node, prefixes: Prefixes) -> str:
    usual, _, local = node.tag.rpartition(":")
    own = prefixes.get(usual)
    namespace = node.namespace or NAMESPACES.get(usual, CORE)
    declared = own is not None and node.namespace is None
    name = f"{own}:{local}" if declared else local
    start = "".join(f" {key}={quoteattr(value)}" for key, value in node.attributes.items())
    if not declared:
        start = f" xmlns={quoteattr(namespace)}" + start
    text = f"<![CDATA[{node.text}]]>" if node.section and "]]>" not in node.text else escape(node.text)
    inside = text + "".join(written(child, prefixes) for child in node.children)
    return f"<{name}{start}>{inside}</{name}>" if inside else f"<{name}{start}/>"


# By tag of the schema: the values of its text and attributes. A date is two fields.
Field = tuple[str, Any]


@st.composite
def leaves(draw: st.DrawFn, tag: str, specimen: Specimen) -> tuple[Node, list[Field]]:
    """A tag that holds text, and its fields; an element of a list is under its tag."""
    text, value = draw(specimen.texts)
    node = Node(tag, text, section=draw(st.booleans()) and specimen.texts is TEXTS and "<" not in text)
    field = tag.partition(":")[2]
    if specimen.texts is DATES:
        return node, [(field, value[0]), (f"{field}_precision", value[1])]
    if not specimen.attributes:
        return node, [(field, value)]
    given = {name: draw(pairs) for name, pairs in specimen.attributes.items() if draw(st.booleans())}
    stated = {name: pair for name, pair in given.items() if pair[1] is not None}
    node.attributes = {name: pair[0] for name, pair in stated.items()}
    if value is None and not stated:
        return node, [(field, None)]
    return node, [(field, {"value": value, **{name: stated.get(name, ("", None))[1] for name in specimen.attributes}})]


@st.composite
def holders(draw: st.DrawFn, tag: str, first: tuple[str, ...] = ()) -> tuple[Node, dict[str, Any]]:
    """An element of the schemas with some of its children, in any order, and its JSON object."""
    tags = SPECIMENS[tag]
    chosen = [*first, *draw(st.lists(st.sampled_from([each for each in tags if each not in first]), unique=True))]
    parts = [draw(leaves(each, tags[each])) for each in chosen for _ in range(draw(repeats(tags[each])))]
    node, form = Node(tag), {}
    for each, specimen in tags.items():
        field = each.partition(":")[2]
        form[field] = [] if specimen.many else specimen.blank
        if specimen.texts is DATES:
            form[f"{field}_precision"] = None
    for child, found in draw(st.permutations(parts)):
        node.children.append(child)
        for field, value in found:
            if tags.get(child.tag, Specimen()).many:
                form[field] += [] if value is None else [value]
            else:
                form[field] = value
    return node, form


def repeats(specimen: Specimen) -> st.SearchStrategy[int]:
    return st.integers(1, 3) if specimen.many else st.just(1)


@st.composite
def images(draw: st.DrawFn) -> tuple[str, Node, Any]:
    return ("images", *draw(holders("image:image", ("image:loc",))))


@st.composite
def videos(draw: st.DrawFn) -> tuple[str, Node, Any]:
    node, form = draw(holders("video:video"))
    form["tvshow"] = None
    if draw(st.booleans()):
        show, form["tvshow"] = draw(holders("video:tvshow"))
        node.children.insert(draw(st.integers(0, len(node.children))), show)
    return "videos", node, form


@st.composite
def news(draw: st.DrawFn) -> tuple[str, Node, Any]:
    node, form = draw(holders("news:news"))
    if draw(st.booleans()):
        own = [child for child in node.children if child.tag in ("news:name", "news:language")]
        node.children = [child for child in node.children if child not in own]
        node.children.insert(draw(st.integers(0, len(node.children))), Node("news:publication", children=own))
    return "news", node, form


@st.composite
def alternates(draw: st.DrawFn) -> tuple[str, Node, Any]:
    href, url = draw(URLS.filter(lambda pair: bool(pair[1])))
    form = {"hreflang": None, "href": url, "media": None}
    attributes = {"rel": draw(st.sampled_from(["alternate", "Alternate", "nofollow ALTERNATE"])), "href": href}
    if draw(st.booleans()):
        form["hreflang"] = attributes["hreflang"] = draw(st.sampled_from(["de", "pt-BR", "en_us", "x-default"]))
    if draw(st.booleans()):
        form["media"] = attributes["media"] = "only screen and (max-width: 640px)"
    order = draw(st.permutations(list(attributes)))
    return "alternates", Node("xhtml:link", attributes={name: attributes[name] for name in order}), form


ANY_PREFIX = st.sampled_from([*NAMESPACES, "a", "b", "c", "d", "e"])


@st.composite
def prefixes_of_a_document(draw: st.DrawFn) -> tuple[Prefixes, str]:
    """A prefix for each namespace, perhaps the usual one of another, or none; and the root's attributes."""
    chosen = draw(st.lists(ANY_PREFIX, min_size=len(NAMESPACES), max_size=len(NAMESPACES), unique=True))
    prefixes: Prefixes = {
        usual: prefix if draw(st.integers(0, 3)) else None for usual, prefix in zip(NAMESPACES, chosen, strict=True)
    }
    root = f'xmlns="{CORE}"'
    for usual, own in prefixes.items():
        root += f' xmlns:{own}="{NAMESPACES[usual]}"' if own else ""
    return {**prefixes, "": ""}, root


@st.composite
def elements(draw: st.DrawFn) -> list[tuple[str, Node, Any]]:
    """Extensions of an entry in any order: (field, element, its JSON object)."""
    found = draw(st.lists(st.one_of(images(), videos(), alternates()), max_size=5))
    found += [draw(news())] if draw(st.booleans()) else []
    found += [("mobile", Node("mobile:mobile"), True)] if draw(st.booleans()) else []
    return draw(st.permutations(found))


def truth(found: list[tuple[str, Node, Any]]) -> dict[str, Any]:
    """The expected JSON object of the entry's record."""
    form: dict[str, Any] = {
        "loc": "https://example.com/a", "lastmod": "2026-11-20T00:00:00Z", "lastmod_precision": "day",
        "changefreq": "daily", "priority": 0.5, "sitemap": URL, "line": 1,
    }
    for field, _, value in found:
        if field in ("news", "mobile"):
            form[field] = value
        else:
            form.setdefault(field, []).append(value)
    return form


FIELDS_OF_AN_ENTRY = ["<loc>https://example.com/a</loc>", "<lastmod>2026-11-20</lastmod>",
                      "<changefreq>daily</changefreq>", "<priority>0.5</priority>"]


# Foreign elements, some with names of the protocol, some that contain elements of the protocol.
FOREIGN_NAMES = ["loc", "url", "lastmod", "image", "title", "duration", "link", "x"]


@st.composite
def foreign(draw: st.DrawFn, depth: int = 0) -> Node:
    name = draw(st.sampled_from(FOREIGN_NAMES))
    attributes = draw(st.dictionaries(st.sampled_from(["loc", "href", "rel", "hreflang", "a"]), WORDS, max_size=2))
    node = Node(name, draw(WORDS), attributes, namespace=draw(st.sampled_from(["urn:example:f", "urn:example:g"])))
    if depth < 3:
        inside = st.one_of(
            foreign(depth + 1),
            st.sampled_from([
                Node("loc", "https://example.com/never", namespace=CORE),
                Node("lastmod", "2001-01-01", namespace=CORE),
                Node("image:image", children=[Node("image:loc", "https://example.com/never.jpg")]),
                Node("video:title", "never"),
            ]),
        )
        node.children = draw(st.lists(inside, max_size=2))
    return node


def holders_in(node: Node) -> list[Node]:
    """The elements that hold others, at any depth."""
    holding = node.tag in (*SPECIMENS, "news:publication")
    return [node] * holding + [each for child in node.children for each in holders_in(child)]
