"""No command shows or writes credentials, whatever fails: all output and every file is searched."""

import zlib
from base64 import b64encode
from collections.abc import Callable, Iterator
from itertools import cycle, product
from pathlib import Path
from typing import Any

import pytest
from kit import gz, index, robots, run, urlset, xml
from servers import SiteServer
from tiers import is_full, needs

import sitemap_reader as sr

SECRET = "s3cret"  # noqa: S105 - of a test
FORMS = (SECRET.encode(), b64encode(b"me:s3cret").rstrip(b"="))
KINDS = ["header", "bearer", "userinfo", "auth", "netrc"]


def faulty(server: SiteServer) -> None:
    """A site with a fault of each kind."""
    start, other = server.url, server.url.replace("127.0.0.1", "localhost")
    names = ("good", "broken", "cut.gz", "gone", "moved", "loop", "page", "down", "empty", "away")
    children = [f"{start}/{name}.xml" for name in names] + [f"{other}/good.xml", "http://me:pw@127.0.0.1/x.xml"]
    packed = gz(urlset(*(f"{start}/{number}" for number in range(500))))
    server.pages |= {
        "/robots.txt": (200, {}, robots(f"{start}/all.xml", "/all.xml") + b"?"),
        "/all.xml": xml(index(*children)),
        "/good.xml": xml(urlset(f"{start}/a", f"{other}/b", "http://10.0.0.1/c", "http://u:v@x.test/")),
        "/broken.xml": xml(urlset(f"{start}/a?b&c=d").replace(b"</loc>", b"")),
        "/cut.gz.xml": xml(packed[: len(packed) // 2]),
        "/moved.xml": (301, {"Location": f"{other}/good.xml"}, b""),
        "/loop.xml": (302, {"Location": "/loop.xml"}, b""),
        "/page.xml": (200, {"Content-Type": "text/html"}, b"<!DOCTYPE html><html><body>log in</body></html>"),
        "/down.xml": (500, {}, b""),
        "/empty.xml": xml(b""),
        "/away.xml": (302, {"Location": "http://nowhere.invalid/map.xml"}, b""),
    }


@pytest.fixture(scope="module")
def site() -> Iterator[SiteServer]:
    with SiteServer({}) as server:
        faulty(server)
        yield server


@pytest.fixture(scope="module")
def walled() -> Iterator[SiteServer]:
    """Every response is a 401."""
    with SiteServer({}) as server:
        wall = (401, {"WWW-Authenticate": "Basic realm=shop"}, b"")
        server.pages |= {path: wall for path in ("/robots.txt", "/sitemap.xml", "/a.xml")}
        yield server


def given(kind: str, start: str, folder: Path) -> tuple[str, list[str]]:
    """The TARGET, and the options."""
    options = {
        "header": ["-H", f"X-Key: {SECRET}"],
        "bearer": ["-H", f"Authorization: Bearer {SECRET}"],
        "auth": ["--auth", f"me:{SECRET}"],
        "netrc": ["--netrc-file", str(folder.parent / f"{folder.name}.netrc")],
    }
    if kind == "netrc":
        (folder.parent / f"{folder.name}.netrc").write_text(f"machine 127.0.0.1 login me password {SECRET}\n")
    target = start.replace("://", f"://me:{SECRET}@") if kind == "userinfo" else start
    return target, ["--allow-private", "--retries", "0", *options.get(kind, [])]


def searched(folder: Path, *results: Any) -> None:
    """Asserts that no part of the credentials is in the texts."""
    texts = {f"output {number}": result.output.encode() for number, result in enumerate(results)}
    texts |= {f"stderr {number}": result.stderr.encode() for number, result in enumerate(results)}
    for file in folder.rglob("*"):
        texts[str(file)] = str(file.relative_to(folder)).encode() + b"\n"
        if file.is_file():
            body = file.read_bytes()
            texts[str(file)] += body + unpacked(body) + rows_of(file)
    assert not [name for name, text in texts.items() for form in FORMS if form in text]


def unpacked(body: bytes) -> bytes:
    """All members of a gzip file; a truncated one gives its beginning."""
    found = b""
    while body[:2] == b"\x1f\x8b":
        member = zlib.decompressobj(wbits=31)
        found, body = found + member.decompress(body), member.unused_data
    return found


def rows_of(file: Path) -> bytes:
    if file.suffix != ".parquet":
        return b""
    from pyarrow import parquet

    return str(parquet.read_table(file).to_pylist()).encode()


COMMANDS: dict[str, list[list[str]]] = {
    "dump": [
        ["dump", "{}", "-v", "--report", "{folder}/a.jsonl", "--record", "{folder}/recorded", "-o", "{folder}/a.csv"],
        ["dump", "{}", "{}/good.xml", "-v", "--report", "-", "--record", "{folder}/recorded.warc.gz"],
        ["dump", "{folder}/recorded", "-v", "--record", "{folder}/again.warc"],
    ],
    "discover": [["discover", "{}", "{}/good.xml", "-v", "--format", "jsonl"], ["discover", "{}", "-v"]],
    "tree": [["tree", "{}", "{}/good.xml", "-v", "--format", "jsonl"], ["tree", "{}", "--format", "table"]],
    "stats": [["stats", "{}", "-v", "--format", "jsonl"]],
    "sync": [
        ["sync", "{}", "{}/good.xml", "--state", "{folder}/state.db", "-v", "--report", "-"],
        ["sync", "{}", "--state", "{folder}/state.db", "-v", "--format", "tsv"],
        ["sync", "{}", "--state", "{folder}/state.db", "--history"],
    ],
    "audit": [
        ["audit", "{}", "-v", "--format", format, "-o", f"{{folder}}/report.{format}"] for format in ("html", "json")
    ],
}


@pytest.mark.smoke("audit-netrc", "discover-userinfo", "sync-header")
@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("command", COMMANDS)
def test_credentials_are_never_shown_or_written(site: SiteServer, tmp_path: Path, command: str, kind: str) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    target, options = given(kind, site.url, folder)
    site.received.clear()
    results = []
    for words in COMMANDS[command]:
        results.append(run(*(word.format(target, target, folder=folder) for word in words), *options))
        assert results[-1].exit_code in (0, 1, 3), results[-1].output
    assert any(form.decode() in str(each.headers) for each in site.received for form in FORMS)
    searched(folder, *results)


@pytest.mark.parametrize(
    ("command", "kind"), [*(product(COMMANDS, KINDS) if is_full() else zip(COMMANDS, cycle(KINDS), strict=False))]
)
def test_credentials_for_an_unreadable_site_are_not_shown(
    walled: SiteServer, tmp_path: Path, command: str, kind: str
) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    results = []
    for start in (walled.url, f"{walled.url}/a.xml", walled.url.replace("http:", "https:"), "http://nowhere.invalid"):
        target, options = given(kind, start, folder)
        state = ["--state", str(folder / "state.db")] if command == "sync" else ["--record", str(folder / "recorded")]
        results.append(run(command, target, *options, *state, "-v"))
        assert results[-1].exit_code in (1, 4, 5), results[-1].output
    searched(folder, *results)


MISTAKES = [
    ["dump", "https://me:s3cret/x@h.example"],
    ["dump", "me:s3cret@intranet"],
    ["dump", "ftp://me:s3cret@h.example/"],
    ["dump", "https://me:s3cret#@h.example"],
    ["dump", "https:/me:s3cret@h.example"],
    ["parse", "https://me:s3cret@h.example/"],
    ["stats", "h.example", "https://me:s3cret@h.example/a.jsonl"],
    ["diff", "https://me:s3cret@h.example/", "b"],
    ["convert", "https://me:s3cret@h.example/a.jsonl", "-o", "b.parquet"],
    ["audit", "https://me:s3cret@h.example/", "--format", "html", "-o", "x.csv", "--also", "x.csv"],
    ["schema", "https://me:s3cret@h.example/"],
    ["harvest", "https://me:s3cret@h.example/", "-o", "out"],
    ["sync", "https://me:s3cret@h.example/", "--history", "--state", "none.db"],
    ["dump", "h.example", "-H", "Authorization Bearer s3cret"],
    ["dump", "h.example", "-H", "X-Key: s3cret\x01"],
    ["dump", "h.example", "-H", "X: 1", "-H", "s3cret"],
    ["dump", "h.example", "--auth", "s3cret"],
    ["dump", "h.example", "--auth", "me:s3cret\n"],
    ["dump", "h.example", "--auth", "me:s3cret", "-H", "Authorization: Bearer s3cret"],
    ["dump", "h.example", "--proxy", "ftp://me:s3cret@proxy.example"],
    ["dump", "https://me:s3cret@h.example/", "--no-such-option"],
]


@pytest.mark.parametrize("words", MISTAKES, ids=lambda words: f"{words[0]} {words[-1][:30]!r}")
def test_usage_errors_do_not_show_credentials(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = run(*words)
    assert result.exit_code == 2, result.output
    assert "error: " in result.stderr
    searched(tmp_path, result)


def test_reported_urls_have_no_userinfo(tmp_path: Path) -> None:
    url = "https://me:s3cret@h.example/map.xml"
    document = tmp_path / "map.xml"
    document.write_text("<urlset><url><loc>/a</loc></url></urlset>")
    result = run("parse", document, "--url", url, "--report", "-", "-v")
    assert '"sitemap":"https://h.example/map.xml"' in result.stdout
    searched(tmp_path, result)
    assert sr.parse(document.read_bytes(), url=url).outcome.url == "https://h.example/map.xml"


def test_a_list_of_hosts_with_a_login_is_refused_by_its_line(tmp_path: Path) -> None:
    needs("distributed")
    (tmp_path.parent / f"{tmp_path.name}.txt").write_text("me:s3cret@h.example\nhttps://me:s3cret@h.example/\n")
    result = run("harvest", tmp_path.parent / f"{tmp_path.name}.txt", "-o", tmp_path / "out")
    assert result.exit_code == 2
    assert "line 1: h.example: user and password would be written to the folder; use --netrc" in result.stderr
    searched(tmp_path, result)


@pytest.mark.slow
def test_harvest_sends_credentials_and_writes_none(site: SiteServer, tmp_path: Path) -> None:
    needs("distributed")
    folder = tmp_path / "work"
    folder.mkdir()
    _, options = given("netrc", site.url, folder)
    (tmp_path / "hosts.txt").write_text(f"{site.url}\nhttp://127.0.0.2:9\n")
    site.received.clear()
    words = ["-o", folder / "out", "--workers", "1", "--state", "-v", "-H", f"X-Key: {SECRET}"]
    result = run("harvest", tmp_path / "hosts.txt", *words, *options)
    assert result.exit_code == 3, result.output
    requested = [each.headers for each in site.received if each.headers["host"].startswith("127.0.0.1")]
    assert {headers.get("x-key") for headers in requested} == {SECRET}
    assert {headers.get("authorization") for headers in requested} == {"Basic bWU6czNjcmV0"}
    assert all("x-key" not in each.headers for each in site.received if each.headers["host"].startswith("localhost"))
    searched(folder, result)


def test_insecure_is_reported_once(site: SiteServer, tmp_path: Path) -> None:
    (tmp_path / "again").mkdir()
    reported = "warning TLS certificates are not verified (--insecure)\n"
    options = ["--allow-private", "--retries", "0", "--insecure"]
    result = run("tree", f"{site.url}/good.xml", f"{site.url}/empty.xml", *options)
    assert result.stderr.startswith(reported)
    assert result.stderr.count("verified") == 1
    assert "verified" not in run("tree", f"{site.url}/good.xml", *options, "-q").stderr


# --- in Python ---


@pytest.mark.parametrize("kind", KINDS)
def test_no_repr_or_exception_shows_credentials(walled: SiteServer, tmp_path: Path, kind: str) -> None:
    from sitemap_reader.client import find_target
    from sitemap_reader.scale import make_config

    target, _ = given(kind, walled.url, tmp_path)
    keywords: dict[str, Any] = {
        "header": {"headers": {"X-Key": SECRET}},
        "bearer": {"headers": [("Authorization", f"Bearer {SECRET}")]},
        "auth": {"auth": ("me", SECRET)},
        "netrc": {"netrc": tmp_path.parent / f"{tmp_path.name}.netrc"},
        "userinfo": {},
    }[kind]
    keywords |= {"allow_private": True, "limits": sr.Limits(tries=1)}
    shown: list[Any] = [find_target(target), sr.SitemapReader(**keywords)]
    with sr.urls(target, **keywords) as stream:
        inside = stream._run.crawl
        shown += [stream, stream._run, inside, vars(inside), inside.frontier.sites, vars(inside.frontier)]
        with pytest.raises(sr.ReadError) as caught:
            list(stream)
    shown += [caught.value, caught.value.outcomes, stream.summary, stream.problems, stream.outcomes]
    try:
        stream.raise_for_partial()
    except sr.PartialRead as error:
        shown.append(error)
    crawler = shown[1].crawler
    shown += [vars(crawler), vars(crawler._network)]
    chosen = {"state": False, "accept_removals": False, "hosts_at_once": 1, "host_seconds": 1.0, "host_urls": 1}
    shown.append(make_config({**keywords, **chosen}))
    texts = [text for each in shown for text in (repr(each), str(each))]
    assert not [text for text in texts for form in FORMS if form.decode() in text]


@pytest.mark.parametrize("call", [
    lambda: sr.urls(["https://me:s3cret@h.example"]),  # type: ignore[arg-type]
    lambda: sr.audit({"https://me:s3cret@h.example"}),  # type: ignore[arg-type]
    lambda: sr.load("https://me:s3cret@h.example"),
    lambda: sr.parse(b"", url="ftp://me:s3cret@h.example"),
    lambda: sr.SitemapReader(proxy="ftp://me:s3cret@h.example"),
])
def test_errors_in_python_do_not_show_credentials(call: Callable[[], Any]) -> None:
    with pytest.raises(sr.UsageError) as caught:
        call()
    assert SECRET not in f"{caught.value!r} {caught.value}"
