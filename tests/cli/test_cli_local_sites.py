"""--base and --map: a site that is not deployed, from its folder, from stdin, or from its staging host."""

import json
from base64 import b64encode
from collections.abc import Callable
from pathlib import Path

import pytest
from certificates import EXPIRED, tls_contexts
from cli_runs import locs, refusal
from kit import files, index, robots, run, urlset, xml
from servers import SiteServer

from sitemap_reader.cli import Exit

WWW = "https://www.example.com"
A = "https://a.example"


@pytest.fixture
def public(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    blog = urlset(f"{WWW}/blog/", f"{WWW}/blog/a", "http://localhost:8080/blog/b")
    maps = {"sitemap.xml": index(f"{WWW}/blog/sitemap.xml"), "blog/sitemap.xml": blog}
    return files(tmp_path / "public", {"robots.txt": robots(f"{WWW}/sitemap.xml"), **maps})


@pytest.mark.parametrize(("command", "first"), [
    (("dump", "--fields", "loc"), f'{{"loc":"{WWW}/blog/"}}'),
    (("discover",), "url\twhy"),
    (("tree",), "depth\turl"),
    (("stats",), "group\tname"),
    (("audit", "--fail-on", "never"), "www.example.com: 1 error, 0 warnings"),
    (("sync", "--state", "state.db", "--format", "csv"), "change,"),
])
def test_commands_read_a_folder_as_its_site(public: Path, command: tuple[str, ...], first: str) -> None:
    result = run(*command, "public/", "--base", WWW)
    assert result.exit_code == Exit.COMPLETE, result.stderr
    assert result.stdout.startswith(first)


def test_url_outside_the_site_is_reported_at_its_line(public: Path) -> None:
    result = run("audit", "public", "--base", WWW, "--format", "json")
    report = json.loads(result.stdout)
    (finding,) = [each for each in report["findings"] if each["code"] == "U14"]
    sample = finding["samples"][0]
    assert (sample["sitemap"], sample["raw"]) == (f"{WWW}/blog/sitemap.xml", "http://localhost:8080/blog/b")


@pytest.mark.parametrize("command", ["dump", "tree", "stats", "audit", "discover"])
def test_document_on_stdin_is_read_at_its_base(command: str) -> None:
    body = urlset(f"{WWW}/maps/a", f"{WWW}/maps/b")
    result = run(command, "-", "--base", f"{WWW}/maps/all.xml", stdin=body)
    assert result.exit_code == Exit.COMPLETE, result.stderr
    assert "2 URLs" in result.stderr or command == "discover"
    assert run(command, "-", "--base", WWW, stdin=b"").exit_code not in (Exit.COMPLETE, Exit.USAGE)


def test_no_more_of_stdin_is_read_than_the_limit_allows() -> None:
    body = urlset(*(f"{WWW}/{number}" for number in range(2_000)))
    result = run("dump", "-", "--base", WWW, "--max-wire-bytes", "50k", stdin=body)
    assert result.exit_code == Exit.PARTIAL
    assert "S16" in result.stderr
    assert run("dump", "-", "--base", WWW, "--max-wire-bytes", str(len(body)), stdin=body).exit_code == Exit.COMPLETE


def test_folder_without_a_base_is_an_error_that_names_the_option(public: Path) -> None:
    hint = f"add --base {WWW}/ to read it as the site that public/robots.txt names; sr.load reads the files in it"
    assert refusal("audit", "public/") == f"error: public/ was not written with --record (no site.toml); {hint}"
    for command in ("audit", "stats"):
        result = run(command, "public/sitemap.xml")
        assert "public/sitemap.xml is a file: `sitemap-reader parse public/sitemap.xml`" in result.stderr
        assert f"; add --base {WWW}/ to read it" in result.stderr


@pytest.mark.parametrize(("arguments", "message"), [
    (("dump", "example.com", "--base", WWW), "there is no file or folder example.com; --base is for a folder"),
    (("audit", "public", "--base", "www.example.com"), "Invalid value for '--base': www.example.com has no scheme"),
    (("audit", "public", "--base", "https://u:s3cret@a.example"), "Invalid value for '--base': it has a login"),
    (("audit", "public", "--base", WWW, "--map", f"{WWW}={A}"), "--map is for requests, and public is"),
    (("dump", "a.example", "--map", WWW), "Invalid value for '--map': there is no = between two hosts"),
    (("dump", "a.example", "--map", f"{WWW}=a.example"), "Invalid value for '--map': a host without a scheme"),
    (("dump", "a.example", "--map", f"{WWW}={A}/x"), f"Invalid value for '--map': {A} has a path"),
    (("dump", "a.example", "--map", f"{WWW}={WWW}"), f"Invalid value for '--map': {WWW} is mapped to itself"),
    (("dump", "a.example", "--map", f"{WWW}=https://u:s3cret@a.example"), f"{A} has a login; use --auth"),
    (("dump", "a.example", "--map", f"{WWW}={A}"), f"--map has {WWW}, and not the host of"),
])
def test_mistakes_are_usage_errors_that_name_the_option(public: Path, arguments: tuple[str, ...], message: str) -> None:
    line = refusal(*arguments)
    assert message in line
    assert not any(word in line for word in ("s3cret", "host_map"))


def test_harvest_has_no_map() -> None:
    assert "No such option" in run("harvest", "-", "-o", "x", "--map", "a=b", stdin="").stderr


# --- staging ---


def staging(server: SiteServer, rules: str = "") -> None:
    """A copy of www.example.com that redirects with its own name, and lists one URL with it."""
    server.pages |= {
        "/robots.txt": (200, {}, robots(f"{WWW}/sitemap.xml", rules=f"User-agent: *\n{rules}\n")),
        "/sitemap.xml": (301, {"Location": f"{server.url}/index.xml"}, b""),
        "/index.xml": xml(index(f"{WWW}/a.xml")),
        "/a.xml": xml(urlset(f"{WWW}/a", f"{server.url}/b")),
    }


def test_staging_is_read_in_the_names_of_production(site_server: Callable[..., SiteServer], tmp_path: Path) -> None:
    server = site_server({})
    staging(server)
    mapped = ("--map", f"{WWW}={server.url}", "--allow-private")
    copy = tmp_path / "copy"
    result = run("dump", "www.example.com", *mapped, "--auth", "me:s3cret", "--record", copy, "-v")
    assert locs(result.stdout) == [f"{WWW}/a"]
    assert f"F03 {WWW}/sitemap.xml: redirected to {WWW}/index.xml" in result.stderr
    assert f"U04 {WWW}/a.xml" in result.stderr
    assert f"{server.url}/b is on a host outside" in result.stderr
    assert result.exit_code == Exit.COMPLETE
    login = f"Basic {b64encode(b'me:s3cret').decode()}"
    assert [(each.path, each.headers.get("authorization")) for each in server.received] == [
        (path, login) for path in ("/robots.txt", "/sitemap.xml", "/index.xml", "/a.xml")
    ]
    replayed = run("dump", copy)
    assert replayed.stdout == result.stdout
    report = json.loads(run("audit", "www.example.com", *mapped, "--format", "json").stdout)
    assert report["target"] == "www.example.com"
    names = ("robots.txt", "sitemap.xml", "a.xml")
    assert {row["url"] for row in report["sitemaps"]} == {f"{WWW}/{name}" for name in names}


def test_private_staging_address_needs_its_option(site_server: Callable[..., SiteServer]) -> None:
    server = site_server({})
    result = run("dump", "www.example.com", "--map", f"{WWW}={server.url}")
    assert "F13" in result.stderr
    assert "--allow-private" in result.stderr
    assert server.received == []


def test_staging_that_forbids_all_says_what_to_do(site_server: Callable[..., SiteServer]) -> None:
    server = site_server({})
    staging(server, "Disallow: /")
    mapped = ("www.example.com", "--map", f"{WWW}={server.url}", "--allow-private")
    assert "--no-robots reads it anyway" in run("dump", *mapped).stderr
    audit = run("audit", *mapped)
    assert "of the robots.txt of the staging host, which forbids" in " ".join(audit.stdout.split())
    assert "notice   F20" in audit.stdout
    assert run("dump", *mapped, "--no-robots").stdout.count("\n") == 1
    server.pages["/robots.txt"] = (200, {}, b"User-agent: *\nDisallow: /\n")
    assert "forbids /sitemap.xml; --no-robots" in run("dump", *mapped).stderr


def test_certificate_is_verified_for_the_staging_host(tmp_path: Path) -> None:
    with SiteServer({}, tls_contexts(EXPIRED, tmp_path)[0]) as server:
        staging(server)
        mapped = ("dump", WWW, "--map", f"{WWW}={server.url}", "--allow-private", "--auth", "me:s3cret")
        assert "TLS certificate of 127.0.0.1" in run(*mapped).stderr
        assert "has expired" in run(*mapped, "--cacert", tmp_path / "certificate.pem").stderr
        assert server.received == []
        result = run(*mapped, "--insecure")
        assert result.stdout.count("\n") == 1
        assert all("authorization" in each.headers for each in server.received)
