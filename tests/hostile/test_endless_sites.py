"""Cyclic and endless indexes: a crawl ends, with an exact number of requests."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import TYPE_CHECKING

import attrs
import pytest
from pages import Pages

import sitemap_reader as sr

if TYPE_CHECKING:
    from collections.abc import Callable

    from pages import Answer

SITE = "https://shop.example"
START = f"{SITE}/index.xml"
NAMESPACE = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
PAGES = f"<urlset {NAMESPACE}><url><loc>{SITE}/page</loc></url></urlset>"


def index(*children: str) -> str:
    listed = "".join(f"<sitemap><loc>{child}</loc></sitemap>" for child in children)
    return f"<sitemapindex {NAMESPACE}>{listed}</sitemapindex>"


class EndlessSite(Pages):
    """A Fetcher whose documents are generated on request; without robots.txt."""

    def __init__(self, body: Callable[[str], str], redirect: Callable[[str], str | None] = lambda url: None) -> None:
        def answer(url: str) -> Answer | None:
            if url.endswith("/robots.txt"):
                return None
            if target := redirect(url):
                return 302, {"location": target}, ()
            return 200, {}, (body(url).encode(),)

        super().__init__(answer)

    @property
    def documents(self) -> int:
        return sum(count for url, count in self.requested.items() if not url.endswith("/robots.txt"))


@attrs.define
class CrawlResult:
    """The result of a crawl."""

    urls: int = 0
    complete: bool = True
    codes: Counter[str] = attrs.field(factory=Counter)
    messages: list[str] = attrs.field(factory=list)

    def receive(self, item: object) -> None:
        if isinstance(item, sr.Problem):
            self.codes[item.code] += 1
            self.messages.append(item.message)


def walk(site: EndlessSite, **limits: int) -> CrawlResult:
    """Crawls the site from its START."""
    reported = CrawlResult()

    async def main() -> None:
        reader = sr.SitemapReader(fetcher=site, limits=sr.Limits(**limits))  # type: ignore[arg-type]
        async with reader, reader.urls(START, on_item=reported.receive) as urls:
            try:
                async for _ in urls:
                    reported.urls += 1
            except sr.ReadError:
                assert reported.urls == 0
            reported.complete = urls.complete

    asyncio.run(asyncio.wait_for(main(), 60))
    return reported


def number(url: str) -> int:
    """The last number of a URL; 0 for the START."""
    return int(url.rpartition("/")[2].removesuffix(".xml").replace("index", "0"))


def test_index_that_lists_itself_is_requested_once() -> None:
    site = EndlessSite(lambda url: index(START, START, f"{SITE}/1.xml") if url == START else PAGES)
    reported = walk(site)
    assert (site.documents, reported.urls, reported.complete, reported.codes["S05"]) == (2, 1, True, 2)


@pytest.mark.parametrize("ring", [2, 3, 5])
def test_cycle_of_indexes_is_read_once(ring: int) -> None:
    site = EndlessSite(
        lambda url: index(START if number(url) == ring - 1 else f"{SITE}/{number(url) + 1}.xml", f"{SITE}/{ring}.xml")
        if number(url) < ring
        else PAGES
    )
    reported = walk(site)
    assert (site.documents, reported.urls, reported.complete, reported.codes["S05"]) == (ring + 1, 1, True, 1)
    assert set(site.requested.values()) == {1}


def test_indexes_that_list_each_other_are_requested_once() -> None:
    members = [START, *(f"{SITE}/{each}.xml" for each in range(1, 30))]
    site = EndlessSite(lambda url: index(*members))
    reported = walk(site)
    assert (site.documents, reported.urls, reported.complete) == (30, 0, True)


@pytest.mark.parametrize("depth", [0, 1, 5, 9])
def test_endless_chain_is_followed_to_the_depth_limit(depth: int) -> None:
    site = EndlessSite(lambda url: index(f"{SITE}/{number(url) + 1}.xml"))
    reported = walk(site, max_index_depth=depth)
    assert (site.documents, reported.complete, reported.codes["S14"]) == (depth + 1, False, 1)
    assert any("raise max_index_depth (--max-depth)" in message for message in reported.messages)


@pytest.mark.parametrize("documents", [1, 7, 50])
def test_endless_tree_is_read_to_the_document_limit(documents: int) -> None:
    site = EndlessSite(lambda url: index(*(f"{SITE}/{number(url) * 10 + each}.xml" for each in range(1, 10))))
    reported = walk(site, max_documents=documents)
    assert (site.documents, reported.complete) == (documents, False)
    assert any("raise max_documents" in message for message in reported.messages)


def test_the_same_index_under_ever_new_names_ends_by_its_depth() -> None:
    """As with a session ID in each URL."""
    site = EndlessSite(lambda url: index(f"{SITE}/index.xml?session={site.documents}", f"{SITE}/1.xml"))
    reported = walk(site)
    assert site.requested[f"{SITE}/1.xml"] == 1
    assert (site.documents, reported.complete) == (1 + 2 * sr.Limits().max_index_depth, False)


@pytest.mark.parametrize("hops", [0, 3, 10])
def test_endless_redirects_are_followed_to_the_limit(hops: int) -> None:
    site = EndlessSite(lambda url: PAGES, redirect=lambda url: f"{SITE}/{number(url) + 1}.xml")
    reported = walk(site, max_redirects=hops)
    assert (site.documents, reported.urls, reported.complete) == (hops + 1, 0, False)
    assert any("raise max_redirects" in message for message in reported.messages)


def test_children_that_all_redirect_to_their_index_read_it_once() -> None:
    site = EndlessSite(
        lambda url: index(*(f"{SITE}/{each}.xml" for each in range(1, 21))),
        redirect=lambda url: None if url == START else START,
    )
    reported = walk(site)
    assert (site.requested[START], site.documents, reported.urls) == (1, 21, 0)


def test_children_on_new_hosts_are_not_requested_and_verification_is_limited() -> None:
    children = [f"https://host{each}.example/1.xml" for each in range(200)]
    site = EndlessSite(lambda url: index(*children))
    reported = walk(site, max_proof_hosts=20)
    assert site.documents == 1
    assert sum(site.requested.values()) == 1 + 1 + 20
    assert reported.codes["U04"] == 200


def test_child_url_of_a_megabyte_is_shortened_in_messages() -> None:
    """The full URL would fill the log; the advice is at the end of the message."""
    long = f"{SITE}/{'a' * 900_000}.xml"
    site = EndlessSite(lambda url: index(f"{SITE}/1.xml", long, long) if url == START else PAGES)
    reported = walk(site, max_documents=2)
    assert reported.codes["S16"] == reported.codes["S12"] == 1
    assert max(map(len, reported.messages)) <= 2_000
    (capped,) = [message for message in reported.messages if "max_documents" in message]
    assert capped.startswith(f"{SITE}/aaa")
    assert capped.endswith("there are more than 2 documents; raise max_documents to go on")


def test_remembered_children_are_limited_and_none_is_read_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each would take 200 bytes until the end of the crawl, and a site of 10 GiB can list a hundred million."""
    monkeypatch.setattr("sitemap_reader.frontier.links._MAX_RECORDED", 5)
    listed = [f"{SITE}/{each}.xml" for each in range(1, 30)]
    site = EndlessSite(lambda url: index(*listed, *listed) if url in (START, listed[0]) else PAGES)
    reported = walk(site)
    assert (site.documents, reported.urls, reported.complete) == (30, 28, True)
    assert set(site.requested.values()) == {1}
    assert reported.codes["S12"] == 5  # five of START, not all 29
