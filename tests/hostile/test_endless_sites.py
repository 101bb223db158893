"""Cyclic and endless indexes: a crawl ends, with an exact number of requests."""

from collections import Counter
from collections.abc import Callable

import pytest
from kit import Reading, Site, index, read, urlset

import sitemap_reader as sr

SITE = "https://shop.example"
START = f"{SITE}/index.xml"
PAGES = urlset(f"{SITE}/page")


def endless(body: Callable[[str], bytes], redirect: Callable[[str], str | None] = lambda url: None) -> Site:
    """A site whose documents are made on request; without robots.txt."""

    def answer(url: str) -> object:
        if url.endswith("/robots.txt"):
            return 404, {}, b""
        target = redirect(url)
        return (302, {"location": target}, b"") if target else body(url)

    return Site(answer)


def walk(site: Site, **limits: int) -> Reading:
    """Crawls the site from its START."""
    reading = read(site, START, limits=sr.Limits(**limits))
    assert not reading.error or not reading.locs
    return reading


def seen(site: Site, reading: Reading) -> tuple[int, int, bool]:
    """The number of requested documents and of URLs, and whether all is complete."""
    return len(site.documents), len(reading.locs), reading.stream.complete


def number(url: str) -> int:
    """The last number of a URL; 0 for the START."""
    return int(url.rpartition("/")[2].removesuffix(".xml").replace("index", "0"))


def test_indexes_that_list_each_other_are_requested_once() -> None:
    members = [START, *(f"{SITE}/{each}.xml" for each in range(1, 30))]
    site = endless(lambda url: index(*members))
    reported = walk(site)
    assert seen(site, reported) == (30, 0, True)


@pytest.mark.parametrize("depth", [0, 1, 5, 9])
def test_endless_chain_is_followed_to_the_depth_limit(depth: int) -> None:
    site = endless(lambda url: index(f"{SITE}/{number(url) + 1}.xml"))
    reported = walk(site, max_index_depth=depth)
    assert (seen(site, reported), reported.codes.count("S14")) == ((depth + 1, 0, False), 1)
    assert "raise max_index_depth (--max-depth)" in reported.messages("S14")[0]


def test_the_same_index_under_ever_new_names_ends_by_its_depth() -> None:
    """As with a session ID in each URL."""
    site = endless(lambda url: index(f"{SITE}/index.xml?session={len(site.documents)}", f"{SITE}/1.xml"))
    reported = walk(site)
    assert site.requests.count(f"{SITE}/1.xml") == 1
    assert seen(site, reported) == (1 + 2 * sr.Limits().max_index_depth, 0, False)


@pytest.mark.parametrize("hops", [0, 3, 10])
def test_endless_redirects_are_followed_to_the_limit(hops: int) -> None:
    site = endless(lambda url: PAGES, redirect=lambda url: f"{SITE}/{number(url) + 1}.xml")
    reported = walk(site, max_redirects=hops)
    assert seen(site, reported) == (hops + 1, 0, False)
    assert any("raise max_redirects" in message for message in reported.messages())


def test_child_url_of_a_megabyte_is_shortened_in_messages() -> None:
    """The full URL would fill the log; the advice is at the end of the message."""
    long = f"{SITE}/{'a' * 900_000}.xml"
    site = endless(lambda url: index(f"{SITE}/1.xml", long, long) if url == START else PAGES)
    reported = walk(site, max_documents=2)
    assert [reported.codes.count(code) for code in ("S16", "S12")] == [1, 1]
    assert max(map(len, reported.messages())) <= 2_000
    (capped,) = [message for message in reported.messages() if "max_documents" in message]
    assert capped.startswith(f"{SITE}/aaa")
    assert capped.endswith("there are more than 2 documents; raise max_documents to go on")


def test_remembered_children_are_limited_and_none_is_read_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each would take 200 bytes until the end of the crawl, and a site of 10 GiB can list a hundred million."""
    monkeypatch.setattr("sitemap_reader.frontier.links._MAX_RECORDED", 5)
    listed = [f"{SITE}/{each}.xml" for each in range(1, 30)]
    site = endless(lambda url: index(*listed, *listed) if url in (START, listed[0]) else PAGES)
    reported = walk(site)
    assert seen(site, reported) == (30, 28, True)
    assert set(Counter(site.requests).values()) == {1}
    assert reported.codes.count("S12") == 5  # five of START, not all 29
