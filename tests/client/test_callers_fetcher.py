"""What a fetcher of the caller raises reaches the caller; a FetchError is a failure of its request alone."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any

import pytest

import sitemap_reader as sr
from sitemap_reader.model.internal_errors import RAISE_VARIABLE
from sitemap_reader.parser.content.decoder import Decoder

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping
    from pathlib import Path

SITE = "https://a.example"
PAGES = {
    f"{SITE}/robots.txt": f"Sitemap: {SITE}/s.xml\n".encode(),
    f"{SITE}/s.xml": b'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">'
    + b"".join(b"<url><loc>https://a.example/%d</loc></url>" % number for number in range(3))
    + b"</urlset>",
}


class Bug(Exception):
    """Of the caller's own code."""


class Fetches:
    """A fetcher with a defect at one place; `fails` are the URLs at which it fails."""

    def __init__(self, place: str, error: Exception, fails: str = "s.xml") -> None:
        self.place, self.error, self.fails = place, error, fails

    def fetch(self, url: str, headers: Mapping[str, str]) -> Any:
        place = self.place if url.endswith(self.fails) else ""
        if place == "call":
            raise self.error
        return self._response(url, place)

    @asynccontextmanager
    async def _response(self, url: str, place: str) -> AsyncIterator[sr.fetch.Response]:
        if place == "head":
            raise self.error
        try:
            yield sr.fetch.Response(200 if url in PAGES else 404, {}, self._chunks(url, place), url)
        except KeyError as exc:
            raise sr.FetchError("converted", transient=False) from exc
        if place == "end":
            raise self.error

    async def _chunks(self, url: str, place: str) -> AsyncIterator[bytes]:
        body = PAGES.get(url, b"")
        yield body[:100]
        if place == "body":
            raise self.error
        yield body[100:]


@pytest.fixture(autouse=True)
def reported(monkeypatch: pytest.MonkeyPatch) -> None:
    """Internal errors become Problems, as they do for users."""
    monkeypatch.delenv(RAISE_VARIABLE)


def discovered(fetcher: Fetches, folder: Path) -> object:
    return sr.discover(SITE, fetcher=fetcher)


def listed(fetcher: Fetches, folder: Path) -> object:
    return list(sr.urls(SITE, fetcher=fetcher))


def changed(fetcher: Fetches, folder: Path) -> object:
    return list(sr.changes(SITE, state=folder / "state.db", fetcher=fetcher))


def listed_by_asyncio(fetcher: Fetches, folder: Path) -> object:
    async def main() -> object:
        async with sr.SitemapReader(fetcher=fetcher) as reader, reader.urls(SITE) as urls:
            return [url async for url in urls]

    return asyncio.run(main())


@pytest.mark.parametrize("read", [discovered, listed, changed, listed_by_asyncio])
@pytest.mark.parametrize("place", ["call", "head", "body"])
def test_any_exception_but_a_fetch_error_is_raised_to_the_caller(
    read: Callable[[Fetches, Path], object], place: str, tmp_path: Path
) -> None:
    error = Bug("mine")
    with pytest.raises(Bug) as raised:
        read(Fetches(place, error), tmp_path)
    assert raised.value is error


@pytest.mark.parametrize("error", [Bug("mine"), OSError("mine"), sr.UsageError("mine")])
def test_an_exception_at_the_end_of_a_response_is_raised_too(error: Exception, tmp_path: Path) -> None:
    with pytest.raises(type(error), match="mine"):
        listed(Fetches("end", error), tmp_path)


def test_a_fetch_error_is_a_problem_also_if_it_was_converted_from_another_error(tmp_path: Path) -> None:
    for place, error in (("head", sr.FetchError("no", transient=False)), ("body", KeyError())):
        with sr.urls(f"{SITE}/s.xml", fetcher=Fetches(place, error)) as urls, suppress(sr.NothingReadable):
            list(urls)
        assert "F04" in urls.problems.counts


def test_what_is_no_response_is_raised_as_the_callers_error(tmp_path: Path) -> None:
    class Empty:
        @asynccontextmanager
        async def fetch(self, url: str, headers: Mapping[str, str]) -> AsyncIterator[Any]:
            yield None

    with pytest.raises(AttributeError, match="chunks"):
        listed(Empty(), tmp_path)  # type: ignore[arg-type]


def test_an_error_of_this_package_is_none_of_the_fetcher(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def defect(*_: object, **__: object) -> None:
        raise IndexError

    monkeypatch.setattr(Decoder, "feed", defect)
    with sr.urls(f"{SITE}/s.xml", fetcher=Fetches("", Bug())) as urls, pytest.raises(sr.NothingReadable):
        list(urls)
    assert urls.problems.counts["S17"] >= 1
