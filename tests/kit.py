"""What tests are made of: documents, sites, readings, dumps and runs of the command line.

`urlset()`, `index()`, `feed()` and `robots()` write documents. A Site has pages; it is a Fetcher, a folder to replay
(`site.write()`) or a server on loopback (`serve(site)`). `read()` gives all that a reader makes of a site or document.
"""

import gzip
import json
import time
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Iterator, Mapping
from contextlib import aclosing, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urljoin

import attrs
from click.testing import CliRunner, Result
from servers import SiteServer

import sitemap_reader as sr
from sitemap_reader.fetch import Response
from sitemap_reader.parser import Decoder

NS = "http://www.sitemaps.org/schemas/sitemap/0.9"
HOST = "https://a.example"
CHUNK = 1_000  # bytes in each piece of a response
NOT_FOUND: tuple[int, dict[str, str], bytes] = (404, {}, b"")
T = TypeVar("T")
NOTHING = (sr.NothingFound, sr.NothingReadable)

# A loc, (loc, lastmod), or text that begins with < and is the whole entry.
Entry = str | tuple[str, str]


def urlset(*entries: Entry, ns: str = NS, **fields: object) -> bytes:
    """A urlset; each entry also has the given fields, as `lastmod="2026-01-01"`. Nothing is escaped."""
    return _document("urlset", "url", entries, ns, fields)


def index(*entries: Entry, ns: str = NS, **fields: object) -> bytes:
    """A sitemapindex of the same form."""
    return _document("sitemapindex", "sitemap", entries, ns, fields)


def _document(root: str, tag: str, entries: tuple[Entry, ...], ns: str, fields: Mapping[str, object]) -> bytes:
    written = "".join(f"{_entry(tag, each, fields)}\n" for each in entries)
    xmlns = f' xmlns="{ns}"' if ns else ""
    return f"<{root}{xmlns}>\n{written}</{root}>\n".encode()


def _entry(tag: str, entry: Entry, fields: Mapping[str, object]) -> str:
    if isinstance(entry, str) and entry.startswith("<"):
        return entry
    loc, dates = (entry, {}) if isinstance(entry, str) else (entry[0], {"lastmod": entry[1]})
    inside = {"loc": loc, **fields, **dates}
    return f"<{tag}>{''.join(f'<{name}>{value}</{name}>' for name, value in inside.items())}</{tag}>"


def feed(*links: str, kind: str = "rss") -> bytes:
    """An RSS or Atom feed of links; what begins with < is a whole item."""
    if kind == "atom":
        items = "".join(each if each.startswith("<") else f'<entry><link href="{each}"/></entry>\n' for each in links)
        return f'<feed xmlns="http://www.w3.org/2005/Atom">\n{items}</feed>\n'.encode()
    items = "".join(each if each.startswith("<") else f"<item><link>{each}</link></item>\n" for each in links)
    return f'<rss version="2.0"><channel>\n{items}</channel></rss>\n'.encode()


def robots(*sitemaps: str, rules: str = "User-agent: *\nAllow: /\n") -> bytes:
    return (rules + "".join(f"Sitemap: {each}\n" for each in sitemaps)).encode()


def xml(body: bytes) -> tuple[int, dict[str, str], bytes]:
    """A response with the Content-Type of XML."""
    return 200, {"Content-Type": "application/xml"}, body


@attrs.define
class Site:
    """Pages by path or URL, and a Fetcher of them; `requests` has the requested URLs, `headers` what each sent.

    A page is a body, a status, (status, headers, body), or an error to raise; a list of pages is sent in turn, the last
    one from then on; a function gets the headers of the request (names in lower case) and returns a page. `pages` may
    also be a function that returns the page of a URL. A body may be chunks, with errors to raise and functions to await
    among them; `taken` has the number of bytes read of each URL.
    """

    pages: Any = attrs.field(factory=dict)
    origin: str = HOST
    requests: list[str] = attrs.field(factory=list)
    headers: list[dict[str, str]] = attrs.field(factory=list)
    taken: Counter[str] = attrs.field(factory=Counter)

    @asynccontextmanager
    async def fetch(self, url: str, headers: Mapping[str, str]) -> AsyncIterator[Response]:
        self.requests.append(url)
        self.headers.append({name.lower(): value for name, value in headers.items()})
        status, fields, body = self.answer(url, self.headers[-1])
        async with aclosing(self._chunks(url, body)) as chunks:
            yield Response(status, fields, chunks, url)

    @property
    def documents(self) -> list[str]:
        """The requested URLs without those of robots.txt."""
        return [url for url in self.requests if not url.endswith("/robots.txt")]

    async def _chunks(self, url: str, body: Any) -> AsyncGenerator[bytes, None]:
        for chunk in pieces(body, CHUNK) if isinstance(body, bytes) else body:
            if isinstance(chunk, BaseException):
                raise chunk
            if callable(chunk):
                await chunk()
                continue
            self.taken[url] += len(chunk)
            yield chunk

    def answer(self, url: str, headers: Mapping[str, str]) -> tuple[int, Mapping[str, str], Any]:
        """The status, headers and body of a URL's next response."""
        if callable(self.pages):
            page = self.pages(url)
        else:
            page = self.pages.get(url.removeprefix(self.origin) or "/", self.pages.get(url, NOT_FOUND))
        if isinstance(page, list):
            page = page.pop(0) if len(page) > 1 else page[0]
        if callable(page):
            page = page(headers)
        if isinstance(page, BaseException):
            raise page
        if isinstance(page, int):
            page = page, {}, b""
        status, fields, body = page if isinstance(page, tuple) else (200, {}, page)
        return status, fields, body.encode() if isinstance(body, str) else body

    def urls(self) -> dict[str, Any]:
        """The pages by URL."""
        return {urljoin(self.origin, path): page for path, page in self.pages.items()}

    def write(self, folder: Path) -> Path:
        """Writes bodies as a folder that `dump`, `audit` and the others replay, and returns it."""
        bodies = {url.replace("://", "/", 1): body for url, body in self.urls().items()}
        return files(folder, {"site.toml": f'seeds = ["{self.origin}/"]\n', **bodies})


def files(folder: Path, bodies: Mapping[str, str | bytes]) -> Path:
    """Writes each body as the file of its name, and returns the folder."""
    for name, body in bodies.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(body.encode() if isinstance(body, str) else body)
    return folder


@contextmanager
def serve(site: Site) -> Iterator[SiteServer]:
    """Serves a site on loopback; its origin becomes the server's in all bodies and header values."""
    with SiteServer({}) as server:
        here = site.origin.encode(), server.url.encode()
        for path, page in site.pages.items():
            status, fields, body = page if isinstance(page, tuple) else (200, {}, page)
            moved = {name: value.replace(site.origin, server.url) for name, value in fields.items()}
            data = body.encode() if isinstance(body, str) else body
            server.pages[path] = status, moved, data.replace(*here)
        yield server


@attrs.frozen
class Items:
    """Records, problems and outcomes in the order in which they came."""

    items: list[sr.Item]

    def of(self, kind: type[T]) -> list[T]:
        return [item for item in self.items if isinstance(item, kind)]

    @property
    def locs(self) -> list[str]:
        return [url.loc for url in self.of(sr.UrlRecord)]

    @property
    def codes(self) -> list[str]:
        return [problem.code for problem in self.of(sr.Problem)]

    def messages(self, code: str = "") -> list[str]:
        return [problem.message for problem in self.of(sr.Problem) if code in ("", problem.code)]

    def outcome(self, url: str | None = None) -> sr.Outcome:
        """The only outcome, or that of a URL."""
        (found,) = [each for each in self.of(sr.Outcome) if url in (None, each.url)]
        return found


@attrs.frozen
class Reading(Items):
    """All that a reader gave, in order; `stream` has the summary, `error` what ended it."""

    stream: sr.Stream[sr.UrlRecord]
    error: sr.SitemapReaderError | None


def read(site: Site | str, target: str = "", **options: Any) -> Reading:
    """Reads a Site without a network, or a URL of a server here; one try a request unless limits say otherwise."""
    items: list[sr.Item] = []
    error = None
    way: dict[str, Any] = {"fetcher": site} if isinstance(site, Site) else {"allow_private": True}
    given = {**way, "on_item": items.append, "limits": sr.Limits(tries=1), **options}
    with sr.urls(target or (site.origin if isinstance(site, Site) else site), **given) as stream:
        try:
            for url in stream:
                items.append(url)  # not extend(): on_item adds to the list meanwhile
        except NOTHING as exc:
            error = exc
    return Reading(items, stream, error)


def dump(file: Path, *lines: Any, **sites: Iterable[Any]) -> Path:
    """Writes records, or objects as they are, as JSON lines; those given by keyword belong to the site of that name."""
    named = ({**_form(each), "site": site} for site, some in sites.items() for each in some)
    file.write_text("".join(f"{json.dumps(form)}\n" for form in (*map(_form, lines), *named)), "utf-8")
    return file


def _form(line: Any) -> dict[str, Any]:
    return line if isinstance(line, dict) else sr.to_dict(line)


def gz(body: bytes) -> bytes:
    return gzip.compress(body, mtime=0)


def run(*arguments: str | Path, stdin: str | bytes | None = None) -> Result:
    """Exit code, stdout and stderr of a command in this process; an unexpected exception is raised."""
    from sitemap_reader.cli.main import main

    result = CliRunner().invoke(main, [str(argument) for argument in arguments], input=stdin)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def objects(text: str | bytes) -> list[dict[str, Any]]:
    """The objects of JSON lines, such as the stdout of a command."""
    return [json.loads(line) for line in text.splitlines()]


def dumped(source: str | Path, file: Path, *options: str) -> Path:
    """The dump of a site as a file, with its problems and outcomes."""
    file.write_bytes(run("dump", source, "--report", "-", *options).stdout_bytes)
    return file


def pieces(body: bytes, size: int = 0) -> list[bytes]:
    """The body in pieces of so many bytes; 0: in one."""
    return [body[at : at + size] for at in range(0, len(body), size)] if size else [body]


@attrs.frozen
class Parsing(Items):
    """The items of one document, and its outcome as the last one; `parser` has ended."""

    parser: sr.SitemapParser


def parse(body: bytes | str | list[bytes], size: int = 0, *, scans: bool = True, **options: Any) -> Parsing:
    """Parses a document in these pieces, or in some of `size`; `scans=False`: by expat alone, which gives the same."""
    parser = sr.SitemapParser(**options, _scans=scans)
    items: list[sr.Item] = []
    data = body.encode() if isinstance(body, str) else body
    for piece in data if isinstance(data, list) else pieces(data, size):
        items += parser.feed(piece)
        if parser.stopped:
            break
    items += parser.close()
    return Parsing([*items, parser.outcome], parser)


# Codes about the bytes taken, not about what was read.
OF_BYTES = frozenset({"S07", "F07", "F08"})


def without_bytes_taken(items: list[sr.Item]) -> list[sr.Item]:
    """The items of a document without what depends on its pieces where reading stopped early."""
    *found, outcome = items
    assert isinstance(outcome, sr.Outcome)
    if outcome.complete:  # with junk behind it, which is not read to its end
        return [*found, attrs.evolve(outcome, bytes_wire=0)] if "F07" in outcome.problems else items
    reported = {code: count for code, count in outcome.problems.items() if code not in OF_BYTES}
    samples = tuple(problem for problem in outcome.samples if problem.code not in OF_BYTES)
    outcome = attrs.evolve(outcome, bytes_wire=0, bytes_decoded=0, sha256=None, problems=reported, samples=samples)
    return [*(item for item in found if not (isinstance(item, sr.Problem) and item.code in OF_BYTES)), outcome]


def decode(
    body: bytes, charset: str | None = None, *, size: int = 0, limits: sr.Limits | None = None, **options: Any
) -> tuple[bytes, Decoder]:
    """The decoded bytes of a body that comes in pieces of `size`, and its Decoder."""
    decoder = Decoder(limits or sr.Limits(), charset, **options)
    out = [chunk for piece in pieces(body, size) for chunk in decoder.feed(piece)] + [*decoder.close()]
    assert max(map(len, out), default=0) <= max(4 * 65_536, size or len(body)), "64 KiB before they became UTF-8"
    return b"".join(out), decoder


def until(condition: Callable[[], object], seconds: float = 10.0) -> bool:
    """Waits until the condition holds, at most so many seconds; whether it does."""
    deadline = time.monotonic() + seconds
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.01)
    return bool(condition())
