"""DictFetcher: a site in a dict, for unit tests of programs that read one."""

from typing import Any

import pytest
from fakenet import fetch
from kit import urlset

import sitemap_reader as sr
from sitemap_reader.fetch import DictFetcher

HOST = "https://a.example"
MAP = f"{HOST}/map.xml"
BROKEN = sr.FetchError("broke off")


@pytest.mark.parametrize(("page", "status", "headers", "body", "error"), [
    ("text \u00e4", 200, {}, "text \u00e4".encode(), None),
    (b"bytes", 200, {}, b"bytes", None),
    ([b"a", b"b"], 200, {}, b"ab", None),
    ([b"a", BROKEN], 200, {}, b"a", BROKEN),
    ((503, {"Retry-After": "1"}, ""), 503, {"retry-after": "1"}, b"", None),
    ((200, {"ETag": "x"}, [b"a", b"b"]), 200, {"etag": "x"}, b"ab", None),
    (BROKEN, None, {}, b"", BROKEN),
])  # fmt: skip
async def test_each_form_of_a_page(page: Any, status: int, headers: dict[str, str], body: bytes, error: Any) -> None:
    assert await fetch(DictFetcher({MAP: page}), MAP) == (status, headers, body, error)


async def test_other_urls_are_not_found_and_all_are_noted() -> None:
    fetcher = DictFetcher({MAP: "a"})
    assert (await fetch(fetcher, f"{MAP}?x"))[0] == 404
    assert (await fetch(fetcher, MAP))[0] == 200
    assert fetcher.requests == [f"{MAP}?x", MAP]


def test_a_site_is_read_and_changes_with_the_dict() -> None:
    pages: dict[str, Any] = {f"{HOST}/robots.txt": f"Sitemap: {MAP}\n", MAP: urlset(f"{HOST}/1")}
    fetcher = DictFetcher(pages)
    assert [record.loc for record in sr.urls(HOST, fetcher=fetcher)] == [f"{HOST}/1"]
    assert fetcher.requests == [*pages]
    pages[MAP] = KeyError("of the test")
    with pytest.raises(KeyError, match="of the test"):
        list(sr.urls(HOST, fetcher=fetcher))


@pytest.mark.parametrize("pages", [
    {"/robots.txt": ""}, {"example.com": ""}, {MAP: None}, {MAP: 404}, {MAP: (200, "text")}, {MAP: OSError},
    {MAP: (200, {}, None)}, [MAP],
])  # fmt: skip
def test_pages_that_are_none(pages: Any) -> None:
    with pytest.raises(sr.UsageError, match=r"^(pages is a dict|a key of pages is|the page of \S+ is a body)"):
        sr.fetch.DictFetcher(pages)
