"""The spider with a state: real crawls, one after another; what was not handled comes again, also after a kill."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from kit import index, robots, urlset, xml
from scrapy_runs import HEAD, SETTINGS, Crawl, crawl, scrapy_program
from servers import SiteServer
from tiers import needs

pytestmark = pytest.mark.slow

needs("scrapy")

SPIDER = """
class Tried(SitemapReaderSpider):
    name = "tried"
    sitemap_state = "sites.db"

    def parse(self, response):
        change = response.meta["sitemap_change"]
        yield {"url": response.url, "change": change.change, "changed": [*(change.changed or ())],
               "before": str(change.previous_lastmod), "lastmod": str(response.meta["sitemap_record"].lastmod)}

    def sitemap_removed(self, change):
        self.logger.info("removed %s", change.record.loc)
"""


@pytest.fixture(scope="module", autouse=True)
def _program() -> Iterator[None]:
    with scrapy_program():
        yield


@pytest.fixture
def site(site_server: Callable[..., SiteServer]) -> SiteServer:
    """Three sitemaps with three pages each: /0-0 to /2-2."""
    server = site_server({})
    maps = {f"/map-{n}.xml": [(f"{server.url}/{n}-{page}", "2026-01-01") for page in range(3)] for n in range(3)}
    server.pages = {
        "/robots.txt": (200, {}, robots(f"{server.url}/index.xml")),
        "/index.xml": xml(index(*(server.url + path for path in maps))),
        **{path: xml(urlset(*entries)) for path, entries in maps.items()},
        **{f"/{n}-{page}": (200, {}, b"<p>") for n in range(3) for page in range(3)},
    }
    return server


def paths(ran: Crawl) -> list[str]:
    return sorted("/" + item["url"].rpartition("/")[2] for item in ran.items)


ALL = [f"/{n}-{page}" for n in range(3) for page in range(3)]


@pytest.mark.smoke
def test_second_crawl_requests_what_is_new_or_updated(site: SiteServer, tmp_path: Path) -> None:
    first = crawl(tmp_path, SPIDER, sites=site.url)
    assert paths(first) == ALL
    assert {item["change"] for item in first.items} == {"new"}
    assert first.stats["sitemap/new"] == 9
    assert crawl(tmp_path, SPIDER, sites=site.url).items == []
    entries = [(f"{site.url}/1-0", "2026-01-01"), (f"{site.url}/1-1", "2026-02-02"), f"{site.url}/1-9"]
    site.pages |= {"/map-1.xml": xml(urlset(*entries)), "/1-9": (200, {}, b"<p>")}
    third = crawl(tmp_path, SPIDER, sites=site.url)
    assert {item["url"][-3:]: item["change"] for item in third.items} == {"1-1": "updated", "1-9": "new"}
    (updated,) = (item for item in third.items if item["change"] == "updated")
    assert updated["changed"] == ["lastmod"]
    assert (updated["before"][:10], updated["lastmod"][:10]) == ("2026-01-01", "2026-02-02")
    assert f"removed {site.url}/1-2" in third.log
    assert (third.stats["sitemap/updated"], third.stats["sitemap/removed"]) == (1, 1)


def test_an_updated_page_is_requested_again_in_the_same_jobdir(site: SiteServer, tmp_path: Path) -> None:
    job = {"JOBDIR": "job"}
    assert paths(crawl(tmp_path, SPIDER, job, sites=site.url)) == ALL
    site.pages["/map-2.xml"] = xml(urlset(*((f"{site.url}/2-{page}", f"2026-03-0{page + 1}") for page in range(3))))
    ran = crawl(tmp_path, SPIDER, job, sites=site.url)
    assert paths(ran) == ["/2-0", "/2-1", "/2-2"]
    assert {item["change"] for item in ran.items} == {"updated"}


@pytest.mark.parametrize("settings", [{}, {"JOBDIR": "job"}])
def test_crawl_that_was_stopped_leaves_no_page_out(site: SiteServer, tmp_path: Path, settings: dict[str, Any]) -> None:
    stop = {"CLOSESPIDER_ITEMCOUNT": 2, "CONCURRENT_REQUESTS": 1, **settings}
    first = crawl(tmp_path, SPIDER, stop, sites=site.url)
    assert 2 <= len(first.items) < 9
    second = crawl(tmp_path, SPIDER, settings, sites=site.url)
    assert {*paths(first), *paths(second)} == {*ALL}
    assert crawl(tmp_path, SPIDER, settings, sites=site.url).items == []


KILLED = HEAD + SPIDER.replace("        change =", "        print(response.url, flush=True)\n        change =")


@pytest.mark.parametrize("settings", [{}, {"JOBDIR": "job"}])
def test_pages_that_were_not_handled_before_a_kill_come(
    site: SiteServer, tmp_path: Path, settings: dict[str, Any]
) -> None:
    (tmp_path / "tried.py").write_text(KILLED)
    options = [f"-s{name}={value}" for name, value in {**SETTINGS, "CONCURRENT_REQUESTS": 1, **settings}.items()]
    command = [sys.executable, "-m", "scrapy", "runspider", "tried.py", "-a", f"sites={site.url}", *options]
    handled: list[str] = []
    for most in (2, 5, 100):
        lines: list[str] = []
        with subprocess.Popen(
            command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        ) as process:
            for line in process.stdout or ():
                lines.append("/" + line.strip().rpartition("/")[2])
                if len(lines) == most:
                    os.kill(process.pid, signal.SIGKILL)
        handled += lines
    assert process.returncode == 0
    assert {*handled} == {*ALL}
    assert len(handled) < 2 * len(ALL), "sitemaps that were handled whole do not come again"
    assert crawl(tmp_path, SPIDER, settings, sites=site.url).items == []


def test_a_download_that_fails_is_delivered_and_goes_to_sitemap_failed(site: SiteServer, tmp_path: Path) -> None:
    failed = """
    def sitemap_failed(self, failure):
        self.logger.info("failed %s", failure.request.meta["sitemap_change"].record.loc)
"""
    site.pages |= {"/1-1": (503, {}, b""), "/2-2": (404, {}, b"")}
    settings = {"RETRY_TIMES": 1, "JOBDIR": "job", "HTTPERROR_ALLOW_ALL": False}
    ran = crawl(tmp_path, SPIDER + failed, settings, sites=site.url)
    assert [each for each in ALL if each not in paths(ran)] == ["/1-1", "/2-2"]
    assert all(f"failed {site.url}{path}" in ran.log for path in ("/1-1", "/2-2"))
    assert "/1-0" not in [path for path in ALL if f"failed {site.url}{path}" in ran.log]
    assert crawl(tmp_path, SPIDER + failed, settings, sites=site.url).items == []


def test_filter_gets_the_changes_and_selects_sitemaps(site: SiteServer, tmp_path: Path) -> None:
    spider = SPIDER + """
    def sitemap_filter(self, entries):
        for entry in entries:
            if "map-1" not in entry["loc"] and not entry["loc"].endswith("-1"):
                assert entry["loc"] == entry["sitemap_record"].loc
                assert ("sitemap_change" in entry) == ("map" not in entry["loc"])
                yield entry
"""
    assert paths(crawl(tmp_path, spider, sites=site.url)) == ["/0-0", "/0-2", "/2-0", "/2-2"]
    site.pages["/map-2.xml"] = xml(urlset(*((f"{site.url}/2-{page}", "2026-03-01") for page in range(3))))
    assert paths(crawl(tmp_path, spider, sites=site.url)) == ["/2-0", "/2-2"]
    assert "/map-1.xml" not in site.requests()


def test_other_domains_are_left_out_as_without_a_state(site: SiteServer, tmp_path: Path) -> None:
    other = site.url.replace("127.0.0.1", "localhost")
    entries = (f"{site.url}/0-0", f"{other}/0-1")
    site.pages["/one.xml"] = xml(urlset(*entries))
    spider = SPIDER + '    allowed_domains = ["127.0.0.1"]\n'
    ran = crawl(tmp_path, spider, sitemap_urls=f"{site.url}/one.xml", sitemap_scope="any")
    assert paths(ran) == ["/0-0"]


def test_follow_of_another_crawl_is_an_error(site: SiteServer, tmp_path: Path) -> None:
    crawl(tmp_path, SPIDER, sites=site.url)
    ran = crawl(tmp_path, SPIDER + '    sitemap_follow = ["map-0"]\n', sites=site.url)
    assert ran.items == []
    assert ran.stats["finish_reason"] == "sitemap_usage"
    assert "follow" in ran.log


@pytest.mark.parametrize(("arguments", "reported"), [
    ({"sitemap_since": "7d"}, "sitemap_since cannot be combined with sitemap_state"),
    ({"sitemap_state": "tried.py"}, "tried.py"),
])  # fmt: skip
def test_state_that_cannot_be_used_is_one_line(tmp_path: Path, arguments: dict[str, str], reported: str) -> None:
    ran = crawl(tmp_path, SPIDER, sites="example.com", **arguments)
    (line,) = (line for line in ran.log.splitlines() if " ERROR: " in line)
    assert reported in line
    assert ran.stats["finish_reason"] == "sitemap_usage"


def test_record_of_a_change_survives_a_queue_on_disk(site: SiteServer, tmp_path: Path) -> None:
    ran = crawl(tmp_path, SPIDER, {"JOBDIR": "job"}, sites=site.url)
    assert ran.stats["scheduler/enqueued/disk"] == 9
    assert json.dumps(ran.items).count("2026-01-01") == 9
