"""The same site gives the same report, byte for byte but for times, in whichever order its documents arrive."""

import asyncio
import random
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from itertools import chain
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit import HOST, Site, feed, index, robots, urlset

import sitemap_reader as sr
from sitemap_reader.checks import Occurrence, OccurrenceBuffer, RowSpool
from sitemap_reader.client import SitemapTree
from sitemap_reader.fetch import Response

B, C = "https://b.example", "https://c.example"
NEWS = "http://www.google.com/schemas/sitemap-news/0.9"
XHTML = "http://www.w3.org/1999/xhtml"
AS_OF = "2026-11-30T00:00:00Z"


@attrs.define
class SlowSite(Site):
    """A Site each of whose responses takes another time, by the seed."""

    seed: int = 0

    @asynccontextmanager
    async def fetch(self, url: str, headers: Mapping[str, str]) -> AsyncIterator[Response]:
        await asyncio.sleep(random.Random(f"{self.seed} {url}").random() / 200)  # noqa: S311  the order of a test
        async with Site.fetch(self, url, headers) as response:
            yield response


def page(loc: str, *alternates: tuple[str, str], **fields: str) -> str:
    """An entry with hreflang links."""
    links = "".join(
        f'<x:link xmlns:x="{XHTML}" rel="alternate" hreflang="{code}" href="{href}"/>' for code, href in alternates
    )
    inside = "".join(f"<{name}>{value}</{name}>" for name, value in fields.items())
    return f"<url><loc>{loc}</loc>{inside}{links}</url>"


def redirect(to: str) -> tuple[int, dict[str, str], bytes]:
    return 301, {"Location": to}, b""


def urls(start: str, number: int) -> list[str]:
    return [f"{HOST}/{start}{each}" for each in range(number)]


LANGUAGES = {code: f"{HOST}/{code}/home" for code in ("de", "en", "fr")}
NEWS_ITEM = (
    f'<n:news xmlns:n="{NEWS}"><n:publication><n:name>A</n:name><n:language>en</n:language></n:publication>'
    "<n:publication_date>2026-11-29</n:publication_date><n:title>T</n:title></n:news>"
)

# What could depend on the order of documents.
PAGES: dict[str, Any] = {
    "/robots.txt": robots(
        *(f"{HOST}/{name}" for name in ("all.xml", "en.xml", "fr.xml", "moved-1.xml", "a-cycle.xml", "moved-2.xml")),
        *(f"{HOST}/{name}" for name in ("more.xml", "news.xml", "feed.xml", "deep/1.xml", "back.xml", "forth.xml")),
        f"{B}/pages.xml",
        rules="User-agent: *\nDisallow: /private/\nDisallow: /*?x\n",
    ),
    f"{B}/robots.txt": robots(f"{B}/pages.xml"),
    f"{C}/robots.txt": robots(),
    # Nested indexes, some of which robots.txt names.
    "/all.xml": index(*(f"{HOST}/{name}.xml" for name in ("en", "fr", "de", "gone", "low/it", "moved-3"))),
    "/en.xml": index(*(f"{HOST}/{name}.xml" for name in ("en-1", "en-2", "shared", "gone", "en-1"))),
    "/fr.xml": index(*(f"{HOST}/{name}.xml" for name in ("fr-1", "shared", "gone", "all"))),
    "/de.xml": index(*(f"{HOST}/{name}.xml" for name in ("de-1", "shared", "broken", "en"))),
    "/low/it.xml": index(f"{HOST}/low/it-1.xml", f"{HOST}/shared.xml", f"{HOST}/de-1.xml"),
    "/more.xml": index(f"{HOST}/shared.xml", f"{HOST}/low/it-1.xml", f"{C}/pages.xml", f"{HOST}/html.xml"),
    # Cycles.
    "/a-cycle.xml": index(f"{HOST}/b-cycle.xml", f"{HOST}/c-cycle.xml"),
    "/b-cycle.xml": index(f"{HOST}/c-cycle.xml", f"{HOST}/a-cycle.xml"),
    "/c-cycle.xml": index(f"{HOST}/a-cycle.xml", f"{HOST}/b-cycle.xml", f"{HOST}/c-cycle.xml"),
    # Deeper than the limit, but also reached from nearer.
    **{f"/deep/{depth}.xml": index(f"{HOST}/deep/{depth + 1}.xml") for depth in range(1, 9)},
    "/deep/9.xml": urlset(f"{HOST}/deep/page"),
    # Redirects: three to one document, and a loop.
    "/moved-1.xml": redirect(f"{HOST}/target.xml"),
    "/moved-2.xml": redirect(f"{HOST}/target.xml"),
    "/moved-3.xml": redirect(f"{HOST}/target.xml"),
    "/target.xml": urlset(*urls("target/", 3), f"{HOST}/target/0", f"{HOST}/Target/1"),
    "/back.xml": redirect(f"{HOST}/forth.xml"),
    "/forth.xml": redirect(f"{HOST}/back.xml"),
    # URLs in several sitemaps, in one twice, with other spellings elsewhere.
    "/en-1.xml": urlset(
        *(page(f"{HOST}/en/{name}", lastmod="2027-01-01") for name in range(9)), f"{HOST}/en/1", f"{HOST}/both",
        f"{HOST}/slash", f"{HOST}/Case", page(LANGUAGES["en"], *LANGUAGES.items()), f"{HOST}/order?b=2&amp;a=1",
        "http://a.example/en/plain", "https://www.a.example/en/www",
    ),
    "/en-2.xml": urlset(
        *urls("en/", 4), f"{HOST}/both", f"{HOST}/both", f"{HOST}/slash/", f"{HOST}/case", f"{HOST}/private/1",
        f"{HOST}/a?utm_source=x", f"{C}/elsewhere", f"{HOST}/caf%C3%A9",
    ),
    "/fr-1.xml": urlset(
        *(page(f"{HOST}/fr/{name}", lastmod="soon") for name in range(7)), f"{HOST}/both", f"{HOST}/CASE",
        page(LANGUAGES["fr"], ("fr", LANGUAGES["fr"]), ("de", LANGUAGES["de"])), f"{HOST}/caf%c3%a9",
        "http://a.example/fr/plain", f"{HOST}/order?a=1&amp;b=2",
    ),
    "/de-1.xml": urlset(
        *urls("private/", 7), f"{HOST}/both", *urls("de/", 3), f"{HOST}/en/2", "https://www.a.example/de/www",
        page(LANGUAGES["de"], ("de", LANGUAGES["de"]), ("en", LANGUAGES["en"])), f"{HOST}/index.html", f"{HOST}/",
    ),
    "/shared.xml": urlset(*urls("shared/", 4), f"{HOST}/both", f"{C}/lost", f"{B}/lost"),
    "/low/it-1.xml": urlset(*urls("low/", 3), *urls("above/", 3), f"{HOST}/slash"),
    "/broken.xml": b"<urlset><url><loc>https://a.example/cut</loc></url><url><loc>https://a.exam",
    "/html.xml": (200, {"Content-Type": "text/html"}, b"<html><title>Shop</title></html>"),
    "/news.xml": urlset(*(f"<url><loc>{HOST}/{name}</loc>{NEWS_ITEM}</url>" for name in ("both", "en/3"))),
    "/feed.xml": feed(f"{HOST}/both", f"{HOST}/fr/3"),
    f"{B}/pages.xml": urlset(f"{B}/1", f"{B}/2", f"{HOST}/both", f"{B}/1", f"{HOST}/slash/"),
    f"{C}/pages.xml": urlset(f"{C}/1"),
}  # fmt: skip
SECONDS = re.compile(r'"seconds": [0-9.e-]+|[0-9.]+ (?:m?s|seconds)\b')


def outputs(site: Site, **options: Any) -> dict[str, str]:
    """The report in all formats, and the rows of --findings, without times."""
    rows, kept = RowSpool(), OccurrenceBuffer(1_000)

    def add(found: Occurrence) -> None:
        rows.add(found.to_dict())
        kept.add(found)

    report = sr.audit(HOST, fetcher=site, per_host=4, as_of=AS_OF, on_occurrence=add, **options)
    report = attrs.evolve(report, sitemaps=tuple(attrs.evolve(row, seconds=None) for row in report.sitemaps))
    counted = sr.audit(HOST, fetcher=site, per_host=4, as_of=AS_OF, **options)  # with samples alone
    found = [*kept]
    return {
        "json": report.to_json(),
        "text": str(report),
        "html": report.to_html(found),
        "markdown": report.to_markdown(found),
        "sarif": report.to_sarif(found),
        "junit": report.to_junit(found),
        "github": report.to_github(found),
        "rows": "\n".join(map(str, rows.take((each.code, each.severity) for each in report.findings))),
        "counted": str(counted),
    }


@pytest.mark.parametrize(
    ("samples", "orders"), [(3, 2), *(pytest.param(each, 12, marks=pytest.mark.slow) for each in (0, 3, 30))]
)
def test_the_order_in_which_documents_arrive_has_no_effect(samples: int, orders: int) -> None:
    first, *others = (outputs(SlowSite(PAGES, seed=seed), samples=samples) for seed in range(orders))
    for other in others:
        for name, text in first.items():
            assert other[name].splitlines() == text.splitlines(), name


NAMES = [f"{HOST}/{name}" for name in ("robots.txt", "a.xml", "b.xml", "c.xml", "d.xml")]


@given(st.dictionaries(st.sampled_from(NAMES), st.lists(st.sampled_from(NAMES), min_size=1, max_size=4)), st.data())
def test_the_tree_and_its_cycles_are_the_same_in_any_order(listed: dict[str, list[str]], data: st.DataObject) -> None:
    def seen(order: list[str]) -> list[Any]:
        tree = SitemapTree()
        for name in order:
            for line, loc in enumerate(listed[name]):
                tree.add(sr.SitemapRef(loc, sitemap=name, line=line))
        return [[*tree.rows()], [(ref.sitemap, ref.line, is_cycle) for ref, is_cycle in tree.inner_indexes()]]

    rows, inner = seen([*listed])
    assert sorted(row.url for row in rows) == sorted({*listed, *chain.from_iterable(listed.values())})
    assert seen(data.draw(st.permutations([*listed]))) == [rows, inner]


def test_an_inner_index_is_reported_where_it_is_listed_though_robots_txt_names_it() -> None:
    pages = {
        "/robots.txt": robots(*(f"{HOST}/{name}.xml" for name in ("en", "fr", "all"))),
        "/all.xml": index(f"{HOST}/en.xml", f"{HOST}/fr.xml"),
        **{f"/{name}.xml": index(f"{HOST}/{name}-1.xml") for name in ("en", "fr")},
        **{f"/{name}-1.xml": urlset(f"{HOST}/{name}") for name in ("en", "fr")},
    }
    for seed in range(4):
        (finding,) = sr.audit(HOST, fetcher=SlowSite(pages, seed=seed), select="S04").findings
        assert [(each.place, each.url) for each in finding.samples] == [
            (f"{HOST}/all.xml:2", f"{HOST}/en.xml"),
            (f"{HOST}/all.xml:3", f"{HOST}/fr.xml"),
        ]


def test_the_place_in_a_message_is_that_of_the_tree() -> None:
    pages = {
        "/robots.txt": robots(f"{HOST}/b.xml", f"{HOST}/a.xml"),
        **dict.fromkeys(["/a.xml", "/b.xml"], index(f"{HOST}/1.xml", f"{HOST}/gone.xml")),
        "/1.xml": urlset(f"{HOST}/1"),
    }
    for seed in range(4):
        report = sr.audit(HOST, fetcher=SlowSite(pages, seed=seed), select="F01")
        message = "404 Not Found (listed in /b.xml:3)"
        assert [each.message for finding in report.findings for each in finding.samples] == [message]
        assert [row.problem for row in report.sitemaps if row.url.endswith("gone.xml")] == [f"F01 {message}"]
