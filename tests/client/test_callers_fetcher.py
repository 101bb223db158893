"""What a fetcher of the caller raises reaches the caller; a FetchError is a failure of its request alone."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from kit import HOST, Site, read, robots, urlset

import sitemap_reader as sr
from sitemap_reader.model import RAISE_VARIABLE
from sitemap_reader.parser import Decoder

MAP = f"{HOST}/s.xml"
BODY = urlset(*(f"{HOST}/{number}" for number in range(3)))


class Bug(Exception):
    """Of the caller's own code."""


class Fetches(Site):
    """A fetcher with a defect at one place of its work on MAP; it converts a KeyError."""

    def __init__(self, place: str, error: Exception) -> None:
        page = {"head": error, "body": (200, {}, (BODY[:100], error))}.get(place, BODY)
        super().__init__({"/robots.txt": robots(MAP), "/s.xml": page})
        self.place, self.error = place, error

    def fetch(self, url: str, headers: Mapping[str, str]) -> Any:
        if (url, self.place) == (MAP, "call"):
            raise self.error
        return self._response(url, headers)

    @asynccontextmanager
    async def _response(self, url: str, headers: Mapping[str, str]) -> AsyncIterator[sr.fetch.Response]:
        try:
            async with super().fetch(url, headers) as response:
                yield response
        except KeyError as exc:
            raise sr.FetchError("converted", transient=False) from exc
        if (url, self.place) == (MAP, "end"):
            raise self.error


@pytest.fixture(autouse=True)
def reported(monkeypatch: pytest.MonkeyPatch) -> None:
    """Internal errors become Problems, as they do for users."""
    monkeypatch.delenv(RAISE_VARIABLE)


async def listed_by_asyncio(fetcher: Fetches) -> object:
    async with sr.SitemapReader(fetcher=fetcher) as reader, reader.urls(HOST) as urls:
        return [url async for url in urls]


READ: dict[str, Callable[[Fetches, Path], object]] = {
    "discover": lambda fetcher, folder: sr.discover(HOST, fetcher=fetcher),
    "urls": lambda fetcher, folder: list(sr.urls(HOST, fetcher=fetcher)),
    "changes": lambda fetcher, folder: list(sr.changes(HOST, state=folder / "state.db", fetcher=fetcher)),
    "asyncio": lambda fetcher, folder: asyncio.run(listed_by_asyncio(fetcher)),
}


@pytest.mark.parametrize("call", READ)
@pytest.mark.parametrize("place", ["call", "head", "body"])
def test_any_exception_but_a_fetch_error_is_raised_to_the_caller(call: str, place: str, tmp_path: Path) -> None:
    error = Bug("mine")
    with pytest.raises(Bug) as raised:
        READ[call](Fetches(place, error), tmp_path)
    assert raised.value is error


@pytest.mark.parametrize("error", [Bug("mine"), OSError("mine"), sr.UsageError("mine")])
def test_an_exception_at_the_end_of_a_response_is_raised_too(error: Exception, tmp_path: Path) -> None:
    with pytest.raises(type(error), match="mine"):
        READ["urls"](Fetches("end", error), tmp_path)


@pytest.mark.parametrize(
    ("place", "error"), [("head", sr.FetchError("no", transient=False)), ("body", KeyError())]
)
def test_a_fetch_error_is_a_problem_also_if_it_was_converted_from_another_error(place: str, error: Exception) -> None:
    assert "F04" in read(Fetches(place, error), MAP).codes


async def _text() -> AsyncIterator[str]:
    yield "<urlset/>"


@pytest.mark.parametrize(("response", "message"), [
    (lambda: None, "gave a NoneType with no status"),
    (lambda: (200, {}, b""), "gave a tuple with no status"),
    (lambda: sr.fetch.Response("200", {}, _text(), MAP), "gave a Response with status of type str"),  # type: ignore[arg-type]
    (lambda: sr.fetch.Response(200, {}, [b""], MAP), "gave a Response with chunks of type list"),  # type: ignore[arg-type]
    (lambda: sr.fetch.Response(200, {}, _text(), MAP), "the chunks of a Response are bytes, not str"),  # type: ignore[arg-type]
])
def test_what_is_no_response_is_a_usage_error(response: Callable[[], Any], message: str) -> None:
    class Wrong(Site):
        @asynccontextmanager
        async def fetch(self, url: str, headers: Mapping[str, str]) -> AsyncIterator[Any]:
            yield response()

    with pytest.raises(sr.UsageError, match=message):
        read(Wrong())


@pytest.mark.parametrize("unused", [{"proxy": "http://p.example:1"}, {"insecure": True}, {"cacert": "own.pem"}])
def test_what_is_for_the_network_is_refused_beside_a_fetcher(unused: dict[str, Any]) -> None:
    """A proxy that is not used would be found out by the site that is read."""
    (name,) = unused
    with pytest.raises(sr.UsageError, match=f"^{name} is for the network, which `fetcher` replaces; set it up there"):
        sr.urls(MAP, fetcher=Site({}), **unused)


def test_an_error_of_this_package_is_none_of_the_fetcher(monkeypatch: pytest.MonkeyPatch) -> None:
    def defect(*_: object, **__: object) -> None:
        raise IndexError

    monkeypatch.setattr(Decoder, "feed", defect)
    reading = read(Fetches("", Bug()), MAP)
    assert isinstance(reading.error, sr.NothingReadable)
    assert "S17" in reading.codes
