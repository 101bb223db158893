"""Crawl-delay at the command line: its duration is reported, and one over the limit is an error with advice."""

from typing import Any

import pytest
from kit import index, robots, run, urlset, xml
from servers import SiteServer


@pytest.fixture
def site(site_server: Any) -> SiteServer:
    """An index of three sitemaps; the tests write robots.txt."""
    server: SiteServer = site_server({})
    server.pages["/index.xml"] = xml(index(*(f"{server.url}/{number}.xml" for number in range(3))))
    server.pages |= {f"/{number}.xml": xml(urlset(f"{server.url}/{number}")) for number in range(3)}
    return server


def delayed(server: SiteServer, delay: str, *named: str) -> None:
    rules = f"User-agent: *\nCrawl-delay: {delay}\n"
    server.pages["/robots.txt"] = (200, {}, robots(*(server.url + path for path in named), rules=rules))


@pytest.mark.slow
def test_crawl_delay_is_reported_with_its_duration(site: SiteServer) -> None:
    delayed(site, "0.1", "/index.xml")
    result = run("dump", site.url, "--allow-private")
    assert (result.exit_code, result.stdout.count("\n")) == (0, 3)
    notes = [line for line in result.stderr.splitlines() if "Crawl-delay" in line]
    assert 1 <= len(notes) <= 2
    assert notes[0].startswith(f"note {site.url}: Crawl-delay 0.1 s, ")
    assert "to read: at least 0:01; --max-crawl-delay SECONDS skips hosts that ask for more" in notes[0]
    assert "Crawl-delay" not in run("dump", site.url, "--allow-private", "-q").stderr
    assert "Crawl-delay" not in run("dump", site.url, "--allow-private", "--no-robots").stderr


@pytest.mark.parametrize("named", [("/index.xml",), ()])
@pytest.mark.parametrize("command", ["dump", "discover", "tree", "audit"])
def test_too_long_a_crawl_delay_is_an_error_that_names_the_option(
    site: SiteServer, command: str, named: tuple[str, ...]
) -> None:
    delayed(site, "31", *named)
    result = run(command, site.url, "--allow-private")
    assert result.exit_code == 5
    reported = (
        f"error F15 {site.url}/robots.txt: Crawl-delay of 31 s is over 30 s: nothing on this host is fetched; "
        "raise max_crawl_delay_seconds (--max-crawl-delay) to wait for it"
    )
    if command != "audit":
        assert reported in result.stderr.splitlines()
        assert result.stderr.count("error F15 ") == 1
    assert site.requests() == ["/robots.txt"]
    assert run(command, site.url, "--allow-private", "--no-robots").exit_code in ((0, 1) if named else (4,))


def test_too_long_a_crawl_delay_is_an_error_where_nothing_is_named_or_probed(site: SiteServer) -> None:
    delayed(site, "31")
    result = run("dump", site.url, "--allow-private", "--probe", "never")
    assert result.exit_code == 5


def test_max_crawl_delay_of_the_caller(site: SiteServer) -> None:
    delayed(site, "0.3", "/index.xml")
    result = run("dump", site.url, "--allow-private", "--max-crawl-delay", "0.2")
    assert result.exit_code == 5
    assert "Crawl-delay of 0.3 s is over 0.2 s" in result.stderr
