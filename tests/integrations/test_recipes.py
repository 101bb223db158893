"""Recipes of docs/recipes-python.md where their printed output does not show all that they promise."""

import asyncio
import sqlite3
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from docs_runs import meant
from kit import NS, index, urlset
from servers import SiteServer
from tiers import needs

import sitemap_reader as sr

PAGE = "docs/recipes-python.md"


def names_of(text: str, **names: Any) -> dict[str, Any]:
    exec(text, names)  # noqa: S102 - our own
    return names


# --- FastAPI ---


class Endless:
    """A site whose sitemap begins, and then sends nothing more until the client leaves."""

    def __init__(self) -> None:
        self.client_left = asyncio.Event()

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            while await reader.readexactly(1) == b"G":  # else it is TLS
                request = await reader.readuntil(b"\r\n\r\n")
                if not request.startswith(b"ET /sitemap.xml"):
                    writer.write(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
                    continue
                host = request.partition(b"Host: ")[2].split()[0].decode()
                entries = "".join(f"<url><loc>http://{host}/{number}</loc></url>" for number in range(3000))
                body = f'<urlset xmlns="{NS}">{entries}'.encode()
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 99999999\r\n\r\n" + body)
                await reader.read()
                self.client_left.set()
                break
        writer.close()


def scope_of(path: str) -> dict[str, Any]:
    """What a server of ASGI passes for a GET; it reports by receive() that the client has left."""
    asgi = {"version": "3.0", "spec_version": "2.3"}
    return {"type": "http", "asgi": asgi, "method": "GET", "path": path, "query_string": b"", "headers": []}


def test_a_client_that_leaves_ends_the_requests_for_it() -> None:
    needs("fastapi")
    service = meant((PAGE, "FastAPI(")).text.partition("async def main")[0]
    names = names_of(service.replace("concurrency=32", "allow_private=True, limits=sr.Limits(tries=1)"))

    async def main() -> None:
        endless, has_begun = Endless(), asyncio.Event()
        server = await asyncio.start_server(endless.answer, "127.0.0.1", 0)
        host = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"

        async def receive() -> dict[str, str]:
            await has_begun.wait()
            return {"type": "http.disconnect"}

        async def send(message: dict[str, Any]) -> None:
            if message.get("body"):
                assert message["body"].startswith(b'{"loc":"http://127.0.0.1')
                has_begun.set()

        async with asyncio.timeout(20), server, names["lifespan"](names["app"]):
            await names["app"](scope_of(f"/sites/{host}/urls"), receive, send)
            await endless.client_left.wait()

    asyncio.run(main())


# --- changes ---


@pytest.fixture
def site() -> Any:
    """1,500 URLs in three sitemaps."""
    with SiteServer({}) as server:
        names = [f"{server.url}/{name}.xml" for name in "abc"]
        server.pages["/sitemap.xml"] = (200, {}, index(*names))
        for name in "abc":
            locs = (f"{server.url}/{name}/{number}" for number in range(500))
            server.pages[f"/{name}.xml"] = (200, {}, urlset(*locs))
        yield server


@pytest.mark.parametrize("attempt", [1, 2, 3])
def test_a_database_that_is_away_once_has_all_changes_in_the_end(
    site: SiteServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, attempt: int
) -> None:
    monkeypatch.chdir(tmp_path)
    calls = 0

    def commit() -> None:
        nonlocal calls
        calls += 1
        if calls == attempt:
            raise sqlite3.OperationalError("the database is away")

    program = meant((PAGE, "BEGIN IMMEDIATE")).text.replace('"example.com"', f'"{site.url}", allow_private=True')
    program = program.replace('database.execute("COMMIT")', 'commit() or database.execute("COMMIT")')
    names: dict[str, Any] = {"commit": commit}
    with pytest.raises(sqlite3.OperationalError):
        exec(program, names)  # noqa: S102 - our own
    names["database"].close()
    with sqlite3.connect("pages.db") as database:
        assert database.execute("SELECT count(*) FROM page").fetchone() == ((attempt - 1) * 500,)
    database.close()
    names_of(program, commit=commit)
    with sqlite3.connect("pages.db") as database:
        assert database.execute("SELECT count(*) FROM page").fetchone() == (1500,)
    database.close()
    with sr.changes(site.url, state="sites.db", allow_private=True) as changes:
        assert [*changes] == []


@pytest.mark.parametrize("attempt", [1, 2, 3])
def test_a_producer_that_fails_once_gets_all_changes_in_the_end(
    site: SiteServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, attempt: int
) -> None:
    monkeypatch.chdir(tmp_path)
    calls, topic = 0, []

    def commit(producer: Any) -> None:
        nonlocal calls
        calls += 1
        if calls == attempt:
            raise OSError("no broker")
        topic.extend(producer.open)
        producer.committed += producer.open

    program = meant((PAGE, "begin_transaction")).text.replace('"example.com"', f'"{site.url}", allow_private=True')
    program = program.replace("        self.committed += self.open", "        commit(self)")
    with pytest.raises(OSError, match="no broker"):
        names_of(program, commit=commit)
    assert len(topic) == (attempt - 1) * 500
    names_of(program, commit=commit)
    assert len(topic) == len({key for key, _ in topic}) == 1500


@pytest.mark.parametrize("attempt", [1, 70, 150])
def test_a_queue_that_fails_once_gets_all_changes_in_the_end(
    site: SiteServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, attempt: int
) -> None:
    monkeypatch.chdir(tmp_path)
    calls, received = 0, set()

    def send(messages: list[bytes]) -> None:
        nonlocal calls
        calls += 1
        if calls == attempt:
            raise OSError("no broker")
        received.update(messages)

    program = meant((PAGE, "self.messages += messages")).text.replace("self.messages += messages", "send(messages)")
    program = program.replace("SitemapReader()", "SitemapReader(allow_private=True)").replace("example.com", site.url)
    with pytest.raises(ExceptionGroup):
        names_of(program, send=send)
    assert len(received) < 1500
    names_of(program, send=send)
    assert len(received) == 1500
