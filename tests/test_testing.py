"""make_site() and the corpus sites, each compared with a simple independent reader."""

import gzip
import json
import subprocess
import sys
import tomllib
import zlib
from collections.abc import Iterator
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from xml.etree.ElementTree import Element

import pytest
from defusedxml import ElementTree
from generated import Extension, Site, make_site

ROOT = Path(__file__).parent.parent
SITES = ROOT / "corpus" / "sites"
EVERYTHING: tuple[Extension, ...] = ("image", "video", "news", "hreflang")
CORE = "{http://www.sitemaps.org/schemas/sitemap/0.9}"
IMAGE = "{http://www.google.com/schemas/sitemap-image/1.1}"
VIDEO = "{http://www.google.com/schemas/sitemap-video/1.1}"
NEWS = "{http://www.google.com/schemas/sitemap-news/0.9}"
ATOM = "{http://www.w3.org/2005/Atom}"
XHTML = "{http://www.w3.org/1999/xhtml}"


# --- the other reader -------------------------------------------------------------------------------------


def unpacked(path: Path) -> bytes:
    body = path.read_bytes()
    return gzip.decompress(body) if body.startswith(b"\x1f\x8b") else body


def listed(folder: Path, index: str) -> Iterator[tuple[str, bytes]]:
    """(URL, body) of all children of an index in a replay folder, recursively."""
    for loc in ElementTree.fromstring(unpacked(file_of(folder, index))).iter(f"{CORE}loc"):
        url = str(loc.text)
        body = unpacked(file_of(folder, url))
        if b"<sitemapindex" in body:
            yield from listed(folder, url)
        else:
            yield url, body


def file_of(folder: Path, url: str) -> Path:
    parts = urlsplit(url)
    return folder / parts.scheme / parts.netloc / parts.path.lstrip("/")


@cache
def records(truth: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in truth.read_bytes().splitlines()]


def in_document(all_records: list[dict[str, Any]], sitemap: str) -> list[dict[str, Any]]:
    return [record for record in all_records if record["sitemap"] == sitemap]


def text(element: Element, name: str) -> str | None:
    found = element.find(name)
    return None if found is None else found.text


def instant(written: str | None) -> str | None:
    """A W3C date as a stamp; fromisoformat of 3.11 needs the day."""
    if written is None:
        return None
    whole = datetime.fromisoformat(written + "-01-01"[: (10 - len(written)) * (len(written) < 10)])
    moment = whole.astimezone(UTC) if whole.tzinfo else whole.replace(tzinfo=UTC)
    stamp = moment.replace(tzinfo=None).isoformat()
    return (stamp.rstrip("0") if moment.microsecond else stamp) + "Z"


def stated(url: Element) -> dict[str, Any]:
    """The fields of a `<url>`, as in the truth."""
    priority = text(url, f"{CORE}priority")
    return {
        "loc": text(url, f"{CORE}loc"),
        "lastmod": instant(text(url, f"{CORE}lastmod")),
        "changefreq": text(url, f"{CORE}changefreq"),
        "priority": priority and float(priority),
        "images": [(text(i, f"{IMAGE}loc"), text(i, f"{IMAGE}title")) for i in url.findall(f"{IMAGE}image")],
        "videos": [
            (
                text(v, f"{VIDEO}title"),
                text(v, f"{VIDEO}duration"),
                [t.text for t in v.findall(f"{VIDEO}tag")],
            )
            for v in url.findall(f"{VIDEO}video")
        ],
        "news": [(text(n, f"{NEWS}title"), text(n, f"{NEWS}keywords")) for n in url.findall(f"{NEWS}news")],
        "alternates": [(link.get("hreflang"), link.get("href")) for link in url.findall(f"{XHTML}link")],
    }


def promised(record: dict[str, Any]) -> dict[str, Any]:
    """The same fields of a truth record."""
    news = record.get("news")
    return {
        **{key: record[key] for key in ("loc", "lastmod", "changefreq", "priority")},
        "images": [(image["loc"], image["title"]) for image in record.get("images", [])],
        "videos": [(v["title"], str(v["duration"]), v["tag"]) for v in record.get("videos", [])],
        "news": [(news["title"], ", ".join(news["keywords"]))] if news else [],
        "alternates": [(a["hreflang"], a["href"]) for a in record.get("alternates", [])],
    }


def assert_urlset_agrees(body: bytes, truth: list[dict[str, Any]]) -> None:
    root = ElementTree.fromstring(body)
    assert [stated(url) for url in root.iter(f"{CORE}url")] == [promised(record) for record in truth]
    assert_lines_agree(body, truth, b"<url>")


def assert_lines_agree(body: bytes, truth: list[dict[str, Any]], tag: bytes) -> None:
    lines = [number for number, line in enumerate(body.split(b"\n"), 1) if line.strip() == tag]
    assert lines == [record["line"] for record in truth]


def files(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def unreturned(all_records: list[dict[str, Any]]) -> list[tuple[str, str]]:
    """hreflang links whose target does not link back, or is not listed."""
    links = {record["loc"]: {each["href"] for each in record.get("alternates", [])} for record in all_records}
    return [(loc, href) for loc, hrefs in links.items() for href in hrefs if loc not in links.get(href, ())]


# --- make_site --------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def rich(tmp_path_factory: pytest.TempPathFactory) -> Site:
    return make_site(tmp_path_factory.mktemp("rich"), urls=2500, per_document=300, extensions=EVERYTHING)


def test_truth_agrees_with_the_documents_in_order_and_line(rich: Site) -> None:
    truth = records(rich.truth)
    documents = list(listed(rich.folder, "https://shop.example/sitemap_index.xml"))
    for url, body in documents:
        assert_urlset_agrees(body, in_document(truth, url))
    assert [url for url, _ in documents] == list(dict.fromkeys(record["sitemap"] for record in truth))
    for key in ("images", "videos", "news", "alternates"):
        assert any(key in record for record in truth), f"nothing was compared: {key}"


def test_every_hreflang_link_has_its_return_link(rich: Site) -> None:
    truth = records(rich.truth)
    assert sum("alternates" in record for record in truth) > 1000
    assert unreturned(truth) == []


def test_site_holds_escapes_and_ampersands_here_and_there(rich: Site) -> None:
    documents = b"".join(body for _, body in listed(rich.folder, "https://shop.example/sitemap_index.xml"))
    locs = [record["loc"] for record in records(rich.truth)]
    assert b"&amp;size=m</loc>" in documents
    assert 0 < sum("&" in loc for loc in locs) < len(locs) / 10
    assert 0 < sum("%C3%" in loc for loc in locs) < len(locs) / 5
    assert all(loc.isascii() for loc in locs)


def test_index_never_claims_an_older_date_than_its_child(rich: Site) -> None:
    truth = records(rich.truth)
    index = ElementTree.fromstring(
        file_of(rich.folder, "https://shop.example/sitemap_index.xml").read_bytes()
    )
    for child in index.iter(f"{CORE}sitemap"):
        dates = [
            r["lastmod"][:-1] for r in in_document(truth, str(text(child, f"{CORE}loc"))) if r["lastmod"]
        ]
        assert str(text(child, f"{CORE}lastmod"))[:-1] == max(dates)


def test_www_layout_is_a_document_root(tmp_path: Path) -> None:
    base = "http://127.0.0.1:8080"
    site = make_site(tmp_path, base=f"{base}/", urls=60, layout="www", gzip=False, truth=False)
    names = {name.rpartition("-")[0] or name for name in files(tmp_path)}
    sections = ("products", "magazine", "brands", "categories", "help")
    assert names == {"robots.txt", "sitemap_index.xml", *(f"sitemaps/{section}" for section in sections)}
    assert site.seed_url == f"{base}/"
    assert f"Sitemap: {base}/sitemap_index.xml\n" in (tmp_path / "robots.txt").read_text()
    assert (tmp_path / "sitemaps" / "help-1.xml").read_bytes().startswith(b"<?xml")


def test_replay_layout_names_scheme_host_and_port(tmp_path: Path) -> None:
    make_site(tmp_path, base="http://shop.example:8080", urls=5)
    assert (tmp_path / "http" / "shop.example%3A8080" / "robots.txt").is_file()
    assert tomllib.loads((tmp_path / "site.toml").read_text()) == {
        "seeds": ["http://shop.example:8080/"],
        "recorded": datetime(2026, 11, 1, tzinfo=UTC),
    }


# --- corpus/sites -----------------------------------------------------------------------------------------


@pytest.mark.skipif("ng" in zlib.ZLIB_RUNTIME_VERSION, reason="zlib-ng packs the same text to other bytes")
def test_script_writes_the_corpus_sites_again_byte_for_byte(tmp_path: Path) -> None:
    subprocess.run([sys.executable, ROOT / "scripts" / "make_corpus_sites", tmp_path], check=True)
    by_hand = ("nesting", "once", "trouble")
    assert files(tmp_path) == {name: body for name, body in files(SITES).items() if not name.startswith(by_hand)}


def rss_items(body: bytes) -> list[tuple[str | None, str | None]]:
    items = ElementTree.fromstring(body).iter("item")
    return [(text(each, "link"), rfc822(str(text(each, "pubDate")))) for each in items]


def rfc822(written: str) -> str:
    return parsedate_to_datetime(written).astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def atom_items(body: bytes) -> list[tuple[str | None, str | None]]:
    items = ElementTree.fromstring(body).iter(f"{ATOM}entry")
    pages = [(each, [e for e in each.iter(f"{ATOM}link") if e.get("rel") == "alternate"]) for each in items]
    return [(link.get("href"), instant(text(each, f"{ATOM}updated"))) for each, (link,) in pages]


FEEDS = {".rss": (b"<item>", rss_items), ".atom": (b"<entry>", atom_items)}


def test_shop_truth_agrees_with_its_documents() -> None:
    truth = records(SITES / "shop.jsonl")
    indexes = ("sitemap_index.xml", "sitemaps/products-index.xml")
    documents = dict(pair for name in indexes for pair in listed(SITES / "shop", f"https://shop.example/{name}"))
    for url, body in documents.items():
        mine = in_document(truth, url)
        suffix = Path(url).suffix
        if suffix == ".txt":
            assert body.decode().splitlines() == [record["loc"] for record in mine]
            assert [record["line"] for record in mine] == list(range(1, len(mine) + 1))
        elif suffix in FEEDS:
            tag, items = FEEDS[suffix]
            assert items(body) == [(record["loc"], record["lastmod"]) for record in mine]
            assert_lines_agree(body, mine, tag)
        else:
            assert_urlset_agrees(body, mine)
    assert len(truth) == 640 == len({record["loc"] for record in truth})
    assert {record["sitemap"] for record in truth} == set(documents)
    assert unreturned(truth) == []


def test_truth_of_broken_site_is_what_can_be_recovered() -> None:
    truth = records(SITES / "broken.jsonl")
    maps = SITES / "broken" / "https" / "broken.example" / "maps"
    by_name = {
        path.name: in_document(truth, f"https://broken.example/maps/{path.name}") for path in maps.iterdir()
    }
    assert {name for name, mine in by_name.items() if mine} == {
        "good.xml", "cut.xml.gz", "mended.xml", "offhost.xml"
    }  # fmt: skip

    assert_urlset_agrees((maps / "good.xml").read_bytes(), by_name["good.xml"])

    packed = (maps / "cut.xml.gz").read_bytes()
    with pytest.raises(EOFError):
        gzip.decompress(packed)
    left = zlib.decompressobj(wbits=31).decompress(packed)
    whole = left[: left.rindex(b"</url>")] + b"</url></urlset>"
    assert whole.count(b"<url>") < left.count(b"<url>")  # the cut falls inside an entry
    assert_urlset_agrees(whole, by_name["cut.xml.gz"])

    body = (maps / "mended.xml").read_bytes()
    assert (
        body.count(b"?x=1&y=2</loc>")
        == sum(r["loc"].endswith("?x=1&y=2") for r in by_name["mended.xml"])
        == 8
    )
    assert_urlset_agrees(body.replace(b"&", b"&amp;"), by_name["mended.xml"])

    urls = ElementTree.fromstring((maps / "offhost.xml").read_bytes()).iter(f"{CORE}url")
    own = [loc for url in urls if (loc := str(text(url, f"{CORE}loc"))).startswith("https://broken.example/")]
    assert own == [record["loc"] for record in by_name["offhost.xml"]]
    assert len(own) == 20


def test_cross_submission_truth_omits_urls_that_beta_did_not_submit() -> None:
    folder = SITES / "cross-submission"
    truth = records(SITES / "cross-submission.jsonl")
    hosting = "https://sitemaps.hosting.example"
    alpha = in_document(truth, f"{hosting}/alpha.xml")
    listing = ElementTree.fromstring(file_of(folder, f"{hosting}/alpha.xml").read_bytes())
    locs = [str(loc.text) for loc in listing.iter(f"{CORE}loc")]
    kept = [record["loc"] for record in alpha]
    assert [loc for loc in locs if loc.startswith("https://www.alpha.example/")] == kept
    assert len(locs) - len(kept) == 3
    ((url, body),) = listed(folder, f"{hosting}/beta/index.xml")
    assert_urlset_agrees(body, in_document(truth, url))
    assert len(truth) == 60
