"""The spider: it is compatible with Scrapy's SitemapSpider, and reads the URLs that this one misses."""

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from faultserver import FaultServer, hold, page, raw, reset, status, whole
from kit import feed, gz, index, robots, urlset, xml
from scrapy_runs import HEAD, SECONDS, crawl, scrapy_program
from servers import NginxServer, SiteServer
from shops import shop
from tiers import needs

import sitemap_reader as sr
from sitemap_reader.frontier import WELL_KNOWN

pytestmark = pytest.mark.slow

needs("scrapy")

# The item of a page: the callback that was called, and the record.
PARSE = """
    def parse(self, response):
        record = response.meta.get("sitemap_record")
        yield {"url": response.url, "by": "parse", "sitemap": record and record.sitemap,
               "lastmod": record and str(record.lastmod), "type": type(record).__name__}
"""
PLAIN = f"""
class Tried(SitemapReaderSpider):
    name = "tried"
{PARSE}
"""


@pytest.fixture(scope="module", autouse=True)
def _program() -> Iterator[None]:
    with scrapy_program():
        yield


def urls(items: list[dict[str, Any]]) -> list[str]:
    return sorted(item["url"] for item in items)


# --- a real project ---


def scrapy(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "scrapy", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=SECONDS, check=True)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project as `scrapy startproject` makes it; robots.txt files are obeyed."""
    scrapy(tmp_path, "startproject", "shop")
    return tmp_path / "shop"


QUICK = ("-s", "DOWNLOAD_DELAY=0", "-s", "CONCURRENT_REQUESTS_PER_DOMAIN=8")


@pytest.mark.parametrize("reactor", ["True", "False"])
def test_project_reads_the_shop_like_dump_with_one_request_each(
    nginx: Callable[..., NginxServer], project: Path, tmp_path: Path, reactor: str
) -> None:
    if reactor == "False":
        needs("httpx")  # without Twisted's reactor Scrapy fetches with it
    server, locs = shop(nginx, tmp_path / "www")
    (project / "shop" / "spiders" / "pages.py").write_text(f"""
from sitemap_reader.integrations.scrapy import SitemapReaderSpider


class Pages(SitemapReaderSpider):
    name = "pages"
    sites = ["{server.url}"]

    def parse(self, response):
        record = response.meta["sitemap_record"]
        yield {{"url": record.loc, "sitemap": record.sitemap, "priority": record.priority}}
""")
    scrapy(project, "crawl", "pages", "-O", "pages.jsonl", "-s", f"TWISTED_REACTOR_ENABLED={reactor}", *QUICK)
    got = [json.loads(line) for line in (project / "pages.jsonl").read_text().splitlines()]
    requested = Counter(server.requests())
    assert "/robots.txt" in requested
    assert {path: count for path, count in requested.items() if count > 1} == {}
    with sr.urls(server.url, allow_private=True) as dumped:
        want = [{"url": each.loc, "sitemap": each.sitemap, "priority": each.priority} for each in dumped]
    assert sorted(got, key=json.dumps) == sorted(want, key=json.dumps)
    assert sorted(each["url"] for each in got) == sorted(locs)


def test_sites_and_dates_are_given_on_the_command_line(nginx: Any, project: Path, tmp_path: Path) -> None:
    server, _ = shop(nginx, tmp_path / "www")
    (project / "shop" / "spiders" / "pages.py").write_text(
        HEAD + PLAIN.replace("Tried", "Pages").replace('"tried"', '"pages"')
    )
    given = ("-a", f"sites={server.url}, {server.url}/robots.txt", "-a", "sitemap_since=2026-10-20")
    given += ("-a", "sitemap_trust_lastmod=always")
    scrapy(project, "crawl", "pages", "-O", "pages.jsonl", *given, *QUICK)
    got = [json.loads(line)["url"] for line in (project / "pages.jsonl").read_text().splitlines()]
    with sr.urls(server.url, since="2026-10-20", trust_lastmod="always", allow_private=True) as dumped:
        assert sorted(got) == sorted(each.loc for each in dumped)
        assert dumped.summary.pruned["since"]
    assert got


# --- spiders that were written for SitemapSpider ---


@pytest.fixture
def catalogue(site_server: Callable[..., SiteServer]) -> SiteServer:
    """A clean site that Scrapy's own spider can read: an index, two kinds of pages, dates."""
    server = site_server({})
    base = server.url
    server.pages = {
        "/robots.txt": (200, {}, robots(f"{base}/index.xml", rules="User-agent: *\nDisallow: /private\n")),
        "/index.xml": xml(index((f"{base}/sitemap_shop.xml", "2026-03-01"), f"{base}/sitemap_news.xml")),
        "/sitemap_shop.xml": xml(urlset(*(f"{base}/product/{n}" for n in range(5)), lastmod="2026-02-03")),
        "/sitemap_news.xml": xml(urlset(*(f"{base}/category/{n}" for n in range(3)), lastmod="2019-05-06")),
    }
    paths = ["/about", *(f"/{kind}/{n}" for kind in ("product", "category") for n in range(5))]
    server.pages |= {path: (200, {}, b"<title>page</title>") for path in paths}
    server.pages["/sitemap_more.xml"] = xml(urlset(f"{base}/about"))
    return server


def by(callback: str) -> str:
    return f"""
    def {callback}(self, response):
        \"\"\"@url http://example.invalid/
        @returns items 1 1
        @scrapes url by
        \"\"\"
        yield {{"url": response.url, "by": "{callback}"}}
"""


EXAMPLES = {
    "one callback for all": f"""
class Tried(SitemapSpider):
    name = "tried"
    sitemap_urls = ["BASE/index.xml"]
{by("parse")}
""",
    "rules": f"""
class Tried(SitemapSpider):
    name = "tried"
    sitemap_urls = ["BASE/index.xml"]
    sitemap_rules = [("/product/", "parse_product"), ("/category/[02]", "parse_category")]
{by("parse_product")}{by("parse_category")}
""",
    "robots.txt, and only some of its sitemaps": f"""
class Tried(SitemapSpider):
    name = "tried"
    sitemap_urls = ["BASE/robots.txt"]
    sitemap_follow = ["/sitemap_shop"]
{by("parse")}
""",
    "other pages beside": f"""
class Tried(SitemapSpider):
    name = "tried"
    sitemap_urls = ["BASE/robots.txt"]
    other_urls = ["BASE/about"]

    async def start(self):
        async for each in super().start():
            yield each
        for url in self.other_urls:
            yield Request(url, self.parse_other)
{by("parse")}{by("parse_other")}
""",
    "a filter by date": f"""
import datetime

class Tried(SitemapSpider):
    name = "tried"
    allowed_domains = ["127.0.0.1"]
    sitemap_urls = ["BASE/sitemap_shop.xml", "BASE/sitemap_news.xml"]

    def sitemap_filter(self, entries):
        for entry in entries:
            if datetime.datetime.strptime(entry["lastmod"], "%Y-%m-%d").year >= 2020:
                yield entry
{by("parse")}
""",
    "a filter that changes what it is given": f"""
class Tried(SitemapSpider):
    name = "tried"
    sitemap_urls = ["BASE/index.xml"]

    def sitemap_filter(self, entries):
        for entry in entries:
            entry["loc"] = entry["loc"].replace("category", "product").replace("sitemap_shop", "sitemap_more")
            yield entry
{by("parse")}
""",
    "a filter that looks at all of a document": f"""
class Tried(SitemapSpider):
    name = "tried"
    sitemap_urls = ["BASE/index.xml"]

    def sitemap_filter(self, entries):
        return sorted(entries, key=lambda entry: entry["loc"])[1:3]
{by("parse")}
""",
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_spider_with_only_its_base_class_changed_gives_the_same(
    catalogue: SiteServer, tmp_path: Path, name: str
) -> None:
    theirs = EXAMPLES[name].replace("BASE", catalogue.url)
    ours = theirs.replace("(SitemapSpider)", "(SitemapReaderSpider)")
    want, got = crawl(tmp_path, theirs), crawl(tmp_path, ours)
    assert want.items
    assert sorted(got.items, key=json.dumps) == sorted(want.items, key=json.dumps)


def test_the_contracts_of_its_callbacks_still_hold(catalogue: SiteServer, project: Path) -> None:
    spider = EXAMPLES["rules"].replace("BASE", catalogue.url).replace("(SitemapSpider)", "(SitemapReaderSpider)")
    spider = spider.replace("http://example.invalid/", f"{catalogue.url}/product/1")
    (project / "shop" / "spiders" / "tried.py").write_text(HEAD + spider)
    reported = scrapy(project, "check", *QUICK).stderr
    assert "Ran 4 contracts" in reported
    assert "OK" in reported


def test_urls_missed_by_sitemapspider_are_read(site_server: Callable[..., SiteServer], tmp_path: Path) -> None:
    server = site_server({})
    base = server.url
    html = {"Content-Type": "text/html"}
    octets = {"Content-Type": "application/octet-stream"}
    server.pages = {
        "/list.txt": (200, {"Content-Type": "text/plain"}, f"{base}/text\n".encode()),
        "/feed": (200, {"Content-Type": "application/rss+xml"}, feed(f"{base}/feed")),
        "/blog/feed": (200, {"Content-Type": "application/atom+xml"}, feed(f"{base}/atom", kind="atom")),
        "/amp.xml": xml(urlset(f"{base}/search?a=1&b=2")),
        "/sitemap.php": (200, {"Content-Type": "text/plain"}, urlset(f"{base}/plain")),
        "/sitemap": (200, html, urlset(f"{base}/html")),
        "/utf16.xml": xml(urlset(f"{base}/utf16").decode().encode("utf-16")),
        "/cut.xml.gz": (200, octets, gz(urlset(f"{base}/cut") + b" " * 9)[:-6]),
        "/prefix.xml": xml(urlset(f"{base}/prefix").replace(b"<", b"<s:").replace(b"<s:/", b"</s:")
                        .replace(b"xmlns=", b"xmlns:s=")),
    }  # fmt: skip
    spider = f"""
class Tried(SitemapSpider):
    name = "tried"
    sitemap_urls = {[base + path for path in server.pages]!r}
{by("parse")}
"""
    theirs = crawl(tmp_path, spider)
    ours = crawl(tmp_path, spider.replace("(SitemapSpider)", "(SitemapReaderSpider)"))
    want = {"text", "feed", "atom", "search?a=1&b=2", "plain", "html", "utf16", "cut", "prefix"}
    assert {each["url"].removeprefix(f"{base}/") for each in ours.items} == want
    missed = want - {each["url"].removeprefix(f"{base}/") for each in theirs.items}
    assert {"text", "feed", "atom", "search?a=1&b=2", "plain", "html"} <= missed


# --- requests ---


@pytest.mark.smoke
def test_a_callback_has_the_record_also_from_a_queue_on_disk(catalogue: SiteServer, tmp_path: Path) -> None:
    ran = crawl(tmp_path, PLAIN, {"JOBDIR": "job"}, sites=catalogue.url)
    assert ran.stats["scheduler/enqueued/disk"] == 8
    (first,) = (each for each in ran.items if each["url"].endswith("/product/0"))
    assert first["type"] == "UrlRecord"
    assert first["sitemap"] == f"{catalogue.url}/sitemap_shop.xml"
    assert first["lastmod"] == "2026-02-03 00:00:00+00:00"


def test_stopped_job_is_resumed(catalogue: SiteServer, tmp_path: Path) -> None:
    first = crawl(tmp_path, PLAIN, {"JOBDIR": "job", "CLOSESPIDER_ITEMCOUNT": 3, "CONCURRENT_REQUESTS": 1},
                  sites=catalogue.url)  # fmt: skip
    second = crawl(tmp_path, PLAIN, {"JOBDIR": "job"}, sites=catalogue.url)
    assert 3 <= len(first.items) < 8
    assert urls(first.items + second.items) == sorted(
        [f"{catalogue.url}/product/{n}" for n in range(5)] + [f"{catalogue.url}/category/{n}" for n in range(3)]
    )


def test_alternate_links_are_requested_with_sitemap_alternate_links(site_server: Any, tmp_path: Path) -> None:
    server = site_server({})
    body = f"""<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:x="http://www.w3.org/1999/xhtml">
        <url><loc>{server.url}/en</loc><x:link rel="alternate" hreflang="de" href="{server.url}/de"/>
        <x:link rel="alternate" href="android-app://com.example/en"/></url></urlset>"""
    server.pages = {"/s.xml": xml(body.encode())}
    spider = PLAIN + '    sitemap_urls = ["BASE/s.xml"]\n'.replace("BASE", server.url)
    assert urls(crawl(tmp_path, spider).items) == [f"{server.url}/en"]
    both = crawl(tmp_path, spider + "    sitemap_alternate_links = True\n")
    assert urls(both.items) == [f"{server.url}/de", f"{server.url}/en"]
    assert "android-app" not in both.log
    assert {each["type"] for each in both.items} == {"UrlRecord"}


def test_error_in_a_filter_loses_its_sitemap_only(catalogue: SiteServer, tmp_path: Path) -> None:
    spider = PLAIN + """
    def sitemap_filter(self, entries):
        for entry in entries:
            if "category" in entry["loc"]:
                raise ValueError("not this one")
            yield entry
"""
    ran = crawl(tmp_path, spider, sites=catalogue.url)
    assert urls(ran.items) == [f"{catalogue.url}/product/{n}" for n in range(5)]
    assert ran.stats["sitemap/filter_errors"] == 1
    assert "ValueError: not this one" in ran.log


def test_filter_may_return_an_invalid_url(catalogue: SiteServer, tmp_path: Path) -> None:
    spider = PLAIN + """
    def sitemap_filter(self, entries):
        for entry in entries:
            yield {"loc": "/relative"} if "category" in entry["loc"] else {"loc": entry["loc"]}
"""
    ran = crawl(tmp_path, spider, sitemap_urls=[f"{catalogue.url}/sitemap_{name}.xml" for name in ("news", "shop")])
    assert urls(ran.items) == [f"{catalogue.url}/product/{n}" for n in range(5)]
    assert {each["type"] for each in ran.items} == {"NoneType"}
    assert "Missing scheme in request url: /relative" in ran.log


def test_scope_setting_is_obeyed(site_server: Callable[..., SiteServer], tmp_path: Path) -> None:
    server = site_server({})
    other = server.url.replace("127.0.0.1", "localhost")
    server.pages = {"/s.xml": xml(urlset(f"{server.url}/own", f"{other}/foreign"))}
    protocol = crawl(tmp_path, PLAIN, sitemap_urls=f"{server.url}/s.xml")
    assert urls(protocol.items) == [f"{server.url}/own"]
    assert protocol.stats["sitemap/dropped/host"] == 1
    any_scope = crawl(tmp_path, PLAIN, sitemap_urls=f"{server.url}/s.xml", sitemap_scope="any")
    assert len(any_scope.items) == 2


def test_urls_without_a_rule_are_counted(catalogue: SiteServer, tmp_path: Path) -> None:
    spider = PLAIN + '    sitemap_rules = [("/product/[01]$", "parse")]\n'
    ran = crawl(tmp_path, spider, sites=catalogue.url)
    assert len(ran.items) == 2
    assert (ran.stats["sitemap/no_rule"], ran.stats["sitemap/urls"]) == (6, 8)


def test_requests_wait_so_that_the_scheduler_queue_stays_small(site_server: Any, tmp_path: Path) -> None:
    server = site_server({})
    server.pages = {"/s.xml": xml(urlset(*(f"{server.url}/{n}" for n in range(5_000))))}
    settings = {"CLOSESPIDER_PAGECOUNT": 40}
    ran = crawl(tmp_path, PLAIN, settings, sitemap_urls=f"{server.url}/s.xml")
    assert ran.stats["scheduler/enqueued"] < 200
    assert ran.stats["sitemap/urls"] < 200
    assert "closed before all of its sitemaps were read" in ran.log
    assert "never awaited" not in ran.log
    assert "pending" not in ran.log


def test_a_filter_sees_a_sitemap_that_moved_and_one_that_two_list(site_server: Any, tmp_path: Path) -> None:
    server = site_server({})
    base = server.url
    server.pages = {
        "/robots.txt": (200, {}, b"Sitemap: /i.xml\nSitemap: /j.xml"),
        "/i.xml": xml(index(f"{base}/old.xml", f"{base}/b.xml")),
        "/j.xml": xml(index(f"{base}/b.xml", f"{base}/c.xml")),
        "/old.xml": (301, {"Location": "/a.xml"}, b""),
        **{f"/{name}.xml": xml(urlset(f"{base}/{name}1", f"{base}/{name}2")) for name in "abc"},
    }
    spider = PLAIN + """
    def sitemap_filter(self, entries):
        return [entry for entry in list(entries)[:1] if "/c" not in entry["loc"]]
"""
    ran = crawl(tmp_path, spider, sites=base)
    assert urls(ran.items) == [f"{base}/a1", f"{base}/b1"]
    assert ran.stats["sitemap/pruned/filter"] == 2  # the second child of each index


# --- Scrapy's settings ---


@pytest.fixture
def faulty() -> Any:
    with FaultServer() as server:
        yield server


def test_robots_txt_is_obeyed_as_the_settings_say(catalogue: SiteServer, tmp_path: Path) -> None:
    catalogue.pages["/private/s.xml"] = xml(urlset(f"{catalogue.url}/secret"))
    target = f"{catalogue.url}/private/s.xml"
    obeyed = crawl(tmp_path, PLAIN, {"ROBOTSTXT_OBEY": True}, sitemap_urls=target)
    assert obeyed.items == []
    assert obeyed.stats["sitemap/problems/F02"] == 1
    assert "/private/s.xml" not in catalogue.requests()
    free = crawl(tmp_path, PLAIN, {"ROBOTSTXT_OBEY": False}, sitemap_urls=target)
    assert urls(free.items) == [f"{catalogue.url}/secret"]


def test_a_site_that_refuses_is_one_error(catalogue: SiteServer, tmp_path: Path) -> None:
    refused = dict.fromkeys(["/robots.txt", *WELL_KNOWN], (403, {}, b"no"))
    catalogue.pages = {**refused}
    ran = crawl(tmp_path, PLAIN, {"RETRY_ENABLED": False}, sites=catalogue.url)
    assert ran.items == []
    assert ran.stats["sitemap/problems/F17"] == 1
    assert "no URL could be read from" in ran.log
    assert "no sitemap found" not in ran.log


def test_robots_txt_is_requested_once_for_crawl_and_scrapy(catalogue: SiteServer, tmp_path: Path) -> None:
    spider = PLAIN + f"""
    async def start(self):
        yield Request("{catalogue.url}/about")
        async for each in super().start():
            yield each
"""
    crawl(tmp_path, spider, {"ROBOTSTXT_OBEY": True, "DOWNLOAD_DELAY": 0.1}, sites=catalogue.url)
    assert catalogue.requests().count("/robots.txt") == 1


def test_a_robots_txt_that_moved_is_followed_by_both(catalogue: SiteServer, tmp_path: Path) -> None:
    status_, headers, body = catalogue.pages["/robots.txt"]
    catalogue.pages["/robots.txt"] = (301, {"Location": "/r/robots.txt"}, b"")
    catalogue.pages["/r/robots.txt"] = (status_, headers, body + b"Disallow: /product/3\n")
    ran = crawl(tmp_path, PLAIN, {"ROBOTSTXT_OBEY": True}, sites=catalogue.url)
    assert len(ran.items) == 7
    assert f"{catalogue.url}/product/3" not in urls(ran.items)
    requested = catalogue.requests()
    assert (requested.count("/robots.txt"), requested.count("/r/robots.txt")) == (1, 1)


def test_a_cache_answers_for_sitemaps_too(catalogue: SiteServer, tmp_path: Path) -> None:
    settings = {"HTTPCACHE_ENABLED": True, "HTTPCACHE_DIR": str(tmp_path / "cache")}
    first = crawl(tmp_path, PLAIN, settings, sites=catalogue.url)
    requested = len(catalogue.received)
    second = crawl(tmp_path, PLAIN, settings, sites=catalogue.url)
    assert urls(second.items) == urls(first.items)
    assert len(catalogue.received) == requested


def test_sitemaps_go_through_the_proxy_of_the_environment(
    catalogue: SiteServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop = "http://shop.invalid"
    here = {path: (code, headers, body.replace(catalogue.url.encode(), shop.encode()))
            for path, (code, headers, body) in catalogue.pages.items()}  # fmt: skip
    catalogue.pages = {f"{shop}{path}": answer for path, answer in here.items()}
    monkeypatch.setenv("http_proxy", catalogue.url)
    assert len(crawl(tmp_path, PLAIN, sites=shop).items) == 8


def test_user_agent_is_that_of_scrapy(catalogue: SiteServer, tmp_path: Path) -> None:
    crawl(tmp_path, PLAIN, {"USER_AGENT": "pages-bot/2"}, sites=catalogue.url)
    assert {each.headers["user-agent"] for each in catalogue.received} == {"pages-bot/2"}


def test_robots_rules_are_those_of_the_configured_user_agent(catalogue: SiteServer, tmp_path: Path) -> None:
    code, headers, body = catalogue.pages["/robots.txt"]
    catalogue.pages["/robots.txt"] = (code, headers, body + b"User-agent: pages-bot\nDisallow: /sitemap_news\n")
    settings = {"ROBOTSTXT_OBEY": True, "ROBOTSTXT_USER_AGENT": "pages-bot", "USER_AGENT": "Mozilla/5.0"}
    ran = crawl(tmp_path, PLAIN, settings, sites=catalogue.url)
    assert urls(ran.items) == [f"{catalogue.url}/product/{n}" for n in range(5)]
    assert {each.headers["user-agent"] for each in catalogue.received} == {"Mozilla/5.0"}


def test_middlewares_of_the_project_are_kept(catalogue: SiteServer, tmp_path: Path) -> None:
    spider = """
class Own:
    def process_request(self, request):
        request.headers["X-Own"] = "yes"
""" + PLAIN + '    custom_settings = {"DOWNLOADER_MIDDLEWARES": {"tried.Own": 543}}\n'
    crawl(tmp_path, spider, {"ROBOTSTXT_OBEY": True}, sites=catalogue.url)
    assert all(each.headers.get("x-own") == "yes" for each in catalogue.received)
    assert catalogue.requests().count("/robots.txt") == 1


def test_response_time_is_limited_by_scrapy(faulty: FaultServer, tmp_path: Path) -> None:
    response = whole(urlset(f"{faulty.url}/a"), "Connection: close")
    faulty.play("/robots.txt", status(404))
    faulty.play("/s.xml", raw(response[:-60], then=lambda wire: wire.drip(response[-60:], 0.02)))
    faulty.play("/a", page(b"<p>"))
    spider = PLAIN + """
    from sitemap_reader import Limits
    sitemap_limits = Limits(connect_seconds=0.1, read_seconds=0.1, min_rate_after_seconds=0.1, document_seconds=0.3)
"""
    ran = crawl(tmp_path, spider, sitemap_urls=f"{faulty.url}/s.xml")
    assert urls(ran.items) == [f"{faulty.url}/a"]
    assert len(faulty.requests("/s.xml")) == 1
    few = spider.replace("Limits(", "Limits(max_entries=1, ")
    faulty.play("/s.xml", page(urlset(f"{faulty.url}/a", f"{faulty.url}/b")))
    assert crawl(tmp_path, few, sitemap_urls=f"{faulty.url}/s.xml").stats["sitemap/problems/S16"] == 1


def test_spider_closed_early_does_not_report_an_empty_site(faulty: FaultServer, tmp_path: Path) -> None:
    faulty.play("/robots.txt", hold)
    settings = {"CLOSESPIDER_TIMEOUT": 1, "DOWNLOAD_TIMEOUT": 2, "RETRY_ENABLED": False}
    ran = crawl(tmp_path, PLAIN, settings, sites=faulty.url)
    assert "closed before all of its sitemaps were read" in ran.log
    assert "no URL could be read" not in ran.log
    assert "no sitemap found" not in ran.log


def test_domains_that_are_not_allowed_get_no_request(catalogue: SiteServer, tmp_path: Path) -> None:
    ran = crawl(tmp_path, PLAIN + '    allowed_domains = ["example.com"]\n', sites=catalogue.url)
    assert catalogue.received == []
    assert ran.items == []
    assert "Scrapy does not fetch it: Filtered offsite request" in ran.log
    assert "; check allowed_domains and the downloader middlewares\n" in ran.log
    assert "User-Agent" not in ran.log


# --- a bad network ---


def test_a_sitemap_is_tried_again_as_often_as_the_settings_say(faulty: FaultServer, tmp_path: Path) -> None:
    body = urlset(f"{faulty.url}/a")
    faulty.play("/robots.txt", status(404))
    faulty.play("/s.xml", status(503, "Retry-After: 1"), status(503), page(body))
    faulty.play("/a", page(b"<p>"))
    ran = crawl(tmp_path, PLAIN, {"RETRY_TIMES": 2}, sitemap_urls=f"{faulty.url}/s.xml")
    assert urls(ran.items) == [f"{faulty.url}/a"]
    assert len(faulty.requests("/s.xml")) == 3
    faulty.play("/s.xml", status(503))
    assert crawl(tmp_path, PLAIN, {"RETRY_TIMES": 1}, sitemap_urls=f"{faulty.url}/s.xml").items == []
    assert len(faulty.requests("/s.xml")) == 3 + 2
    ran = crawl(tmp_path, PLAIN, {"RETRY_ENABLED": False}, sitemap_urls=f"{faulty.url}/s.xml")
    assert len(faulty.requests("/s.xml")) == 3 + 2 + 1
    assert ran.stats["sitemap/sitemaps_incomplete"] == 1


def test_a_connection_that_is_lost_is_tried_again_as_far_as_the_settings_say(
    faulty: FaultServer, tmp_path: Path
) -> None:
    faulty.play("/robots.txt", status(404, "Connection: close"))  # on a reused connection Twisted retries itself
    faulty.play("/a", page(b"<p>"))
    for exceptions, requests in (None, 2), ([], 1):
        faulty.play("/s.xml", reset, page(urlset(f"{faulty.url}/a")))
        before = len(faulty.requests("/s.xml"))
        settings = {} if exceptions is None else {"RETRY_EXCEPTIONS": exceptions}
        ran = crawl(tmp_path, PLAIN, settings, sitemap_urls=f"{faulty.url}/s.xml")
        assert len(faulty.requests("/s.xml")) - before == requests
        assert len(ran.items) == requests - 1


def test_robots_txt_that_failed_at_first_is_requested_by_crawl_and_scrapy(faulty: FaultServer, tmp_path: Path) -> None:
    rules = b"User-agent: *\nDisallow: /b\nSitemap: /s.xml\n"
    faulty.play("/robots.txt", status(503), page(rules))
    faulty.play("/s.xml", page(urlset(f"{faulty.url}/a", f"{faulty.url}/b")))
    faulty.play("/a", page(b"<p>"))
    faulty.play("/b", page(b"<p>"))
    ran = crawl(tmp_path, PLAIN, {"ROBOTSTXT_OBEY": True}, sites=faulty.url)
    assert urls(ran.items) == [f"{faulty.url}/a"]
    assert len(faulty.requests("/robots.txt")) == 3  # the failure, the crawl's retry, and Scrapy's own request


def test_data_before_a_broken_transfer_counts_and_is_partial(faulty: FaultServer, tmp_path: Path) -> None:
    body = urlset(f"{faulty.url}/a", f"{faulty.url}/b")
    cut = whole(body)[: -len(body) // 2 + 20]
    faulty.play("/robots.txt", status(404))
    faulty.play("/s.xml", raw(cut))
    faulty.play("/a", page(b"<p>"))
    ran = crawl(tmp_path, PLAIN, {"RETRY_TIMES": 0}, sitemap_urls=f"{faulty.url}/s.xml")
    assert urls(ran.items) == [f"{faulty.url}/a"]
    assert ran.stats["sitemap/sitemaps_incomplete"] == 1
    assert "broke off after" in ran.log
    assert "partial: 1 sitemap could be read in part only" in ran.log


def test_truncated_gzip_response_is_not_complete(faulty: FaultServer, tmp_path: Path) -> None:
    text = "".join(f"{faulty.url}/{n}\n" for n in range(3))
    packed = gz(text.encode())[:-9]
    faulty.play("/robots.txt", status(404))
    faulty.play("/list.txt", page(packed, "Content-Encoding: gzip", "Content-Type: text/plain"))
    ran = crawl(tmp_path, PLAIN, sitemap_urls=f"{faulty.url}/list.txt")
    assert ran.stats["sitemap/problems/F07"] == 1
    assert ran.stats["sitemap/sitemaps_incomplete"] == 1


def test_redirect_target_decides_the_scope(site_server: Callable[..., SiteServer], tmp_path: Path) -> None:
    server = site_server({})
    server.pages = {
        "/robots.txt": (200, {}, b"Sitemap: /old.xml"),
        "/old.xml": (302, {"Location": "/new/s.xml"}, b""),
        "/new/s.xml": xml(urlset(f"{server.url}/a")),
    }
    ran = crawl(tmp_path, PLAIN, sites=server.url)
    assert [each["sitemap"] for each in ran.items] == [f"{server.url}/old.xml"]
    assert ran.stats["sitemap/problems/F03"] == 1


# --- messages ---


@pytest.mark.parametrize(("arguments", "reported"), [
    ({}, "there is nothing to read: give the spider sitemap_urls, or sites"),
    ({"sites": "example.com", "sitemap_since": "soon"}, "since: 'soon' is neither a date"),
    ({"sites": "example.com", "sitemap_scope": "all"}, "scope is one of"),
    ({"sites": "ftp://example.com"}, "'ftp://example.com' is neither a host nor"),
    ({"sites": 7}, "sites must be URLs, or hosts, not 7"),
])
def test_invalid_setting_is_one_line_and_ends_the_spider(tmp_path: Path, arguments: Any, reported: str) -> None:
    ran = crawl(tmp_path, PLAIN, **arguments)
    (line,) = (line for line in ran.log.splitlines() if " ERROR: " in line)
    assert reported in line
    assert ran.stats["finish_reason"] == "sitemap_usage"


def test_reactor_without_asyncio_is_reported(tmp_path: Path) -> None:
    reactor = {"TWISTED_REACTOR": "twisted.internet.selectreactor.SelectReactor"}
    ran = crawl(tmp_path, PLAIN, reactor, sites="example.com")
    assert "TWISTED_REACTOR is none of asyncio's" in ran.log
    assert ran.stats["finish_reason"] == "sitemap_usage"


def test_site_without_a_sitemap_is_reported_and_others_are_read(catalogue: SiteServer, tmp_path: Path) -> None:
    empty = catalogue.url.replace("127.0.0.1", "localhost")
    both = crawl(tmp_path, PLAIN, sites=[empty, catalogue.url])
    assert len([each for each in both.items if "127.0.0.1" in each["url"]]) == 8
    catalogue.pages = {}
    none = crawl(tmp_path, PLAIN, sites=catalogue.url)
    assert f"no sitemap found for {catalogue.url}" in none.log
    assert none.stats["finish_reason"] == "finished"


def test_problems_are_logged_five_of_a_kind_and_all_counted(site_server: Any, tmp_path: Path) -> None:
    server = site_server({})
    body = urlset(*(f"{server.url}/{n}" for n in range(9)), lastmod="Mon")
    server.pages = {"/s.xml": xml(body)}
    ran = crawl(tmp_path, PLAIN, sitemap_urls=f"{server.url}/s.xml")
    assert ran.stats["sitemap/problems/D01"] == 9
    assert ran.log.count("lastmod 'Mon'") + ran.log.count('lastmod "Mon"') == 5
    assert "D01 " + server.url + "/s.xml: 4 more" in ran.log
    assert "9 URLs from 1 sitemap" in ran.log


# --- logins ---


def test_userinfo_of_a_site_goes_to_that_site_alone_and_is_never_kept(tmp_path: Path, site_server: Any) -> None:
    site, other = site_server({}), site_server({})
    other.pages |= {"/map.xml": xml(urlset(f"{other.url}/page")), "/page": (200, {}, b"")}
    site.pages |= {
        "/robots.txt": (200, {}, robots(f"{other.url}/map.xml", "/moved.xml", "/all.xml")),
        "/moved.xml": (302, {"Location": f"{other.url}/map.xml?moved"}, b""),
        "/all.xml": xml(index(f"{other.url}/map.xml?child")),
    }
    login = site.url.replace("://", "://me:s3cret@")
    settings = {"LOG_LEVEL": "DEBUG", "ROBOTSTXT_OBEY": True}
    settings |= {"HTTPCACHE_ENABLED": True, "HTTPCACHE_DIR": str(tmp_path / "cache")}
    ran = crawl(tmp_path, PLAIN, settings, sites=login, sitemap_scope="any")
    requested = [(each.path, each.headers.get("authorization")) for each in site.received]
    assert {path for path, _ in requested} >= {"/robots.txt", "/moved.xml", "/all.xml"}
    assert {header for path, header in requested if path != "/robots.txt"} == {"Basic bWU6czNjcmV0"}
    assert ("/robots.txt", "Basic bWU6czNjcmV0") in requested  # another request may be Scrapy's own
    assert {"/robots.txt", "/map.xml", "/map.xml?moved", "/map.xml?child"} <= {*other.requests()}
    assert not any("authorization" in each.headers for each in other.received)
    kept = [file.read_bytes() for file in (tmp_path / "cache").rglob("*") if file.is_file()]
    assert kept
    assert not [text for text in (ran.log.encode(), *kept) if b"s3cret" in text or b"bWU6czNjcmV0" in text]
