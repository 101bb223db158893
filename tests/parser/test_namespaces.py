"""Namespaces: which are right, which are read with a problem, and what a usual prefix shows."""

import re

import pytest
from extension_entries import CORE, NAMESPACES, listed, records

IMAGE = "<image:image><image:loc>https://example.com/1.jpg</image:loc></image:image>"


NEAR = [
    "https://www.sitemaps.org/schemas/sitemap/0.9", "http://www.sitemaps.org/schemas/sitemap/0.9/",
    "http://www.sitemaps.org/schemas/sitemap", "http://sitemaps.org/schemas/sitemap/0.9",
    "http://www.sitemaps.org/schemas/Sitemap/0.9", "HTTP://WWW.SITEMAPS.ORG/schemas/sitemap/0.9",
    " http://www.sitemaps.org/schemas/sitemap/0.9", "http://www.sitemaps.org/schemas/sitemap/1.0",
    "http://www.google.com/schemas/sitemap/0.84", "https://www.google.com/schemas/sitemap/0.9",
    "http://www.google.com/schemas/sitemap/0.90", "urn:other", "",
]


@pytest.mark.parametrize("scans", [True, False])
@pytest.mark.parametrize("namespace", NEAR)
def test_a_root_of_another_namespace_is_read_and_reported(namespace: str, scans: bool) -> None:
    one = "<url><loc>https://example.com/a</loc><priority>0.5</priority></url>"
    items = listed(one * 3, root=f'xmlns="{namespace}"', scans=scans)
    assert [record["priority"] for record in records(items)] == [0.5] * 3
    assert items[-1]["problems"] == {"S02": 1}


@pytest.mark.parametrize("namespace", [each for each in NEAR if each != "urn:other"])
def test_an_entry_of_another_namespace_than_the_root_is_read_and_reported_once(namespace: str) -> None:
    one = f'<url xmlns="{namespace}"><loc>https://example.com/a</loc></url>'
    items = listed(one * 3, root=f'xmlns="{CORE}"')
    assert [record["loc"] for record in records(items)] == ["https://example.com/a"] * 3
    assert items[-1]["problems"] == {"S02": 1}


@pytest.mark.parametrize("scans", [True, False])
@pytest.mark.parametrize("name", ["url", "sitemap"])
def test_an_entry_of_a_foreign_namespace_is_none_and_reported_once(name: str, scans: bool) -> None:
    own = "<url><loc>https://example.com/a</loc></url>"
    for foreign in (f'<{name} xmlns="http://x.example/"><loc>https://example.com/b</loc></{name}>', f"<x:{name}/>"):
        items = listed(own * 3 + foreign * 2 + own, root=f'xmlns="{CORE}" xmlns:x="http://x.example/"', scans=scans)
        assert len(records(items)) == 4
        assert [(item["code"], item["message"]) for item in items if item.get("type") == "problem"] == [
            ("S10", f'<{name}> is in the namespace "http://x.example/": it is no entry')
        ]
        assert items[-1]["complete"]


def variants(namespace: str) -> list[str]:
    """A namespace as generators write it by mistake."""
    start, _, version = namespace.rpartition("/")
    near = [namespace.replace("http:", "https:"), namespace + "/", namespace.upper(), namespace.replace("www.", "")]
    return (
        near if version == "xhtml" else [*near, start, f"{start}/9.7", namespace.replace("google.com", "sitemaps.org")]
    )


USES = {
    "image": (IMAGE, "images"),
    "video": ("<video:video><video:title>A film</video:title></video:video>", "videos"),
    "news": ("<news:news><news:title>T</news:title></news:news>", "news"),
    "mobile": ("<mobile:mobile/>", "mobile"),
    "xhtml": ('<xhtml:link rel="alternate" hreflang="de" href="https://example.com/de"/>', "alternates"),
}


@pytest.mark.parametrize("scans", [True, False])
@pytest.mark.parametrize("prefix", USES)
def test_a_near_miss_of_a_namespace_is_read_by_any_prefix_and_reported_once(prefix: str, scans: bool) -> None:
    inside, field = USES[prefix]
    inside = inside.replace(f"{prefix}:", "other:")
    for namespace in variants(NAMESPACES[prefix]):
        one = f"<url><loc>https://example.com/a</loc>{inside}</url>"
        items = listed(one * 3, root=f'xmlns="{CORE}" xmlns:other="{namespace}"', scans=scans)
        assert [bool(record.get(field)) for record in records(items)] == [True] * 3, namespace
        assert items[-1]["problems"] == {"S02": 1}, namespace


@pytest.mark.parametrize("scans", [True, False])
@pytest.mark.parametrize("place", ["root", "entry", "element"])
@pytest.mark.parametrize("prefix", USES)
def test_a_usual_prefix_shows_what_is_meant_by_a_wrong_namespace(prefix: str, place: str, scans: bool) -> None:
    inside, field = USES[prefix]
    for namespace in ("http://www.w3.org/1999/xlink", "urn:any", "http://www.google.com/schemas/sitemap-pagemap/1.0"):
        declared = f' xmlns:{prefix}="{namespace}"'
        at = {each: declared if each == place else "" for each in ("root", "entry", "element")}
        written = re.sub(r"(?<=:)\w+", rf"\g<0>{at['element']}", inside, count=1)
        one = f"<url{at['entry']}><loc>https://example.com/a</loc>{written}</url>"
        items = listed(one * 3, root=f'xmlns="{CORE}"{at["root"]}', scans=scans)
        assert [bool(record.get(field)) for record in records(items)] == [True] * 3, namespace
        assert items[-1]["problems"] == {"S02": 1}, namespace


def test_a_usual_prefix_of_another_vocabulary_means_nothing() -> None:
    own = "<image:width>3</image:width><news:x/><xhtml:p/><video:clip/>"
    declared = " ".join(f'xmlns:{prefix}="urn:{prefix}"' for prefix in USES)
    items = listed(f"<url><loc>https://example.com/a</loc>{own}</url>", root=f'xmlns="{CORE}" {declared}')
    assert items[-1]["problems"] == {}


def test_a_wrong_namespace_of_two_usual_prefixes_is_reported() -> None:
    both = 'xmlns:image="urn:any" xmlns:video="urn:any"'
    items = listed(f"<url><loc>https://example.com/a</loc>{IMAGE}</url>", root=f'xmlns="{CORE}" {both}')
    assert [item.get("images") for item in records(items)] == [None]
    assert items[-1]["problems"] == {"S02": 1}


def test_prefixes_that_are_usual_for_another_extension_are_read_by_their_namespace() -> None:
    declared = f'xmlns:image="{NAMESPACES["video"]}" xmlns:video="{NAMESPACES["image"]}"'
    inside = "<video:image><video:loc>https://example.com/1.jpg</video:loc></video:image><image:video/>"
    items = listed(f"<url><loc>https://example.com/a</loc>{inside}</url>", root=f'xmlns="{CORE}" {declared}')
    (record,) = records(items)
    assert ([each["loc"] for each in record["images"]], len(record["videos"])) == (["https://example.com/1.jpg"], 1)
    assert items[-1]["problems"] == {}


BAIDU = "http://www.baidu.com/schemas/sitemap-mobile/1/"


@pytest.mark.parametrize("scans", [True, False])
@pytest.mark.parametrize(("kind", "is_mobile"), [
    ("mobile", True), ("pc,mobile", True), ("htmladapt", True), ("autoadapt", True), ("pc", False),
])
def test_the_devices_of_baidu_are_read(kind: str, is_mobile: bool, scans: bool) -> None:
    one = f'<url><loc>https://example.com/a</loc><mobile:mobile type="{kind}"/></url>'
    root = f'xmlns="{CORE}" xmlns:mobile="{BAIDU}"'
    items = listed(one * 3, root=root, scans=scans)
    assert [record.get("mobile", False) for record in records(items)] == [is_mobile] * 3
    assert items[-1]["problems"] == {}
    first, *_ = records(listed(one * 3, root=root, scans=scans, extras=True))
    assert [(extra["name"], extra["attributes"]) for extra in first["extras"]] == [
        ("mobile", [{"name": "type", "value": kind}])
    ]


@pytest.mark.parametrize("namespace", [
    "http://www.google.com/geo/schemas/sitemap/1.0",
    "http://www.google.com/codesearch/schemas/sitemap/1.0",
    "http://www.google.com/schemas/sitemap-pagemap/1.0",
])
def test_other_documented_extensions_are_no_problem(namespace: str) -> None:
    inside = "<x:geo><x:format>kml</x:format></x:geo>"
    items = listed(f"<url><loc>https://example.com/a</loc>{inside}</url>", root=f'xmlns="{CORE}" xmlns:x="{namespace}"')
    assert items[-1]["problems"] == {}
