"""A robots policy of the caller, in place of obey_robots=True or False."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import attrs
import pytest
from kit import HOST, Site, index, read, serve, urlset, xml

import sitemap_reader as sr
from sitemap_reader.frontier import Finished, Frontier, Head, Plan, Rules, parse_rules, parse_target

pytestmark = pytest.mark.usefixtures("short_backoffs")
ALLOWS = "User-agent: *\nAllow: /\n"
FORBIDS = "User-agent: *\nDisallow: /\nCrawl-delay: 7\n"
NAMED = "forbidden by the robots policy"


@attrs.define
class Policy:
    """Does what `decide` says, and keeps a `delay`; `calls` has the arguments of each call."""

    decide: Callable[[str, Rules], Any] = lambda url, rules: rules.allows(url)
    delay: Callable[[str, Rules], Any] = lambda url, rules: None
    calls: list[tuple[str, Rules]] = attrs.field(factory=list)
    delays: list[tuple[str, Rules]] = attrs.field(factory=list)

    def allows(self, url: str, rules: Rules) -> Any:
        self.calls.append((url, rules))
        return self.decide(url, rules)

    def crawl_delay(self, url: str, rules: Rules) -> Any:
        self.delays.append((url, rules))
        return self.delay(url, rules)


def site(text: Any = FORBIDS) -> Site:
    children = {f"/{name}.xml": xml(urlset(f"/{name}")) for name in "ab"}
    page = f"{text}Sitemap: {HOST}/index.xml\n" if isinstance(text, str) else text
    return Site({"/robots.txt": page, "/index.xml": xml(index("/a.xml", "/b.xml")), **children})


def test_a_policy_may_ignore_robots_txt_of_some_hosts() -> None:
    policy = Policy(lambda url, rules: url.startswith(HOST))
    shop = site()
    assert read(shop, obey_robots=policy).locs == [f"{HOST}/a", f"{HOST}/b"]
    assert [url for url, _ in policy.calls] == [f"{HOST}/index.xml", f"{HOST}/a.xml", f"{HOST}/b.xml"]
    assert [(url, rules.delay_seconds, rules.status) for url, rules in policy.delays] == [(f"{HOST}/", 7.0, 200)]
    (_, rules) = policy.calls[0]
    assert (rules.allows(f"{HOST}/a.xml"), rules.text.splitlines()[:2]) == (False, ["User-agent: *", "Disallow: /"])


def test_what_a_policy_refuses_is_f02_and_names_the_policy() -> None:
    shop = site(ALLOWS)
    reading = read(shop, obey_robots=Policy(lambda url, rules: "b.xml" not in url))
    (problem,) = [each for each in reading.of(sr.Problem) if each.code == "F02"]
    assert (problem.sitemap, problem.message, problem.severity) == (
        f"{HOST}/b.xml", f"{NAMED} (listed in /index.xml:3)", "error"
    )
    assert (reading.locs, reading.stream.complete) == ([f"{HOST}/a"], False)
    assert f"{HOST}/b.xml" not in shop.requests


@pytest.mark.parametrize(("page", "why", "status"), [
    (404, None, 404),
    (403, None, 403),
    (503, "robots.txt: 503 Service Unavailable", 503),
    (sr.FetchError("connection reset"), "robots.txt: connection reset", None),
])
def test_a_policy_knows_why_there_are_no_rules(page: Any, why: str | None, status: int | None) -> None:
    policy, shop = Policy(lambda url, rules: True), site(page)
    assert read(shop, f"{HOST}/index.xml", obey_robots=policy).locs == [f"{HOST}/a", f"{HOST}/b"]
    assert {(rules.why, rules.status) for _, rules in policy.calls} == {(why, status)}


def test_a_policy_may_allow_what_an_unreadable_robots_txt_leaves_open() -> None:
    """With True nothing is requested of such a host, and no path is tried."""
    shop = Site({"/robots.txt": 503, "/sitemap.xml": xml(urlset("/a"))})
    policy = Policy(lambda url, rules: rules.why is not None or rules.allows(url))
    assert read(shop).locs == []
    reading = read(shop, obey_robots=policy)
    assert (reading.locs, reading.stream.complete) == ([f"{HOST}/a"], False)
    (problem,) = [each for each in reading.of(sr.Problem) if each.code == "F18"]
    assert "nothing on this host is fetched" not in str(problem)


def test_a_policy_may_refuse_well_known_paths() -> None:
    shop = Site({"/robots.txt": ALLOWS, "/sitemap.xml": xml(urlset("/a"))})
    reading = read(shop, obey_robots=Policy(lambda url, rules: False))
    assert shop.requests == [f"{HOST}/robots.txt"]
    (problem,) = [each for each in reading.of(sr.Problem) if each.code == "F09"]
    assert problem.message == (
        "robots.txt names no sitemap, and the robots policy forbids /sitemap.xml; "
        "--no-robots (obey_robots=False) tries it anyway"
    )
    assert isinstance(reading.error, sr.NothingFound)
    assert "forbids the well-known paths" in str(reading.error)


def test_the_target_of_a_redirect_needs_permission_too() -> None:
    shop = site(ALLOWS)
    shop.pages["/a.xml"] = (301, {"location": "/moved.xml"}, b"")
    shop.pages["/moved.xml"] = xml(urlset("/moved"))
    reading = read(shop, obey_robots=Policy(lambda url, rules: "moved" not in url))
    assert (reading.locs, [f"{HOST}/moved.xml" in shop.requests]) == ([f"{HOST}/b"], [False])


@pytest.mark.parametrize(("delay", "kept"), [(2.5, 2.5), (0, 0.0), (None, 0.0)])
def test_the_crawl_delay_of_a_policy_is_kept(delay: float | None, kept: float) -> None:
    frontier = Frontier([parse_target(HOST)], Plan(obey_robots=Policy(delay=lambda url, rules: delay)))
    (request,) = frontier.next_requests(0.0)
    finish_robots(frontier, request)
    assert frontier.hosts.for_url(f"{HOST}/").pace.delay_seconds == kept


def finish_robots(frontier: Frontier, request: Any) -> None:
    today = datetime(2026, 1, 1, tzinfo=UTC)
    frontier.receive(request, Head(200, {}), 0.0, today)
    frontier.receive(request, Finished(sr.Outcome(format="robots"), parse_rules(FORBIDS, "bot")), 0.0, today)


@pytest.mark.parametrize("seconds", ["2", -1, float("nan"), float("inf")])
def test_a_delay_that_is_no_number_of_seconds_is_a_usage_error(seconds: Any) -> None:
    with pytest.raises(sr.UsageError, match=r"crawl_delay.. of a robots policy returns seconds, or None, not"):
        read(site(), obey_robots=Policy(delay=lambda url, rules: seconds))


@pytest.mark.parametrize("method", ["decide", "delay"])
@pytest.mark.parametrize("error", [KeyError("mine"), sr.FetchError("mine"), KeyboardInterrupt()])
def test_an_exception_of_a_policy_reaches_the_caller(method: str, error: BaseException) -> None:
    def fail(url: str, rules: Rules) -> Any:
        raise error

    with pytest.raises(type(error)) as raised:
        read(site(), obey_robots=Policy(**{method: fail}))
    assert raised.value is error


class Async(Policy):
    async def allows(self, url: str, rules: Rules) -> Any:
        return True


@pytest.mark.parametrize(("given", "words"), [
    (Policy, "obey_robots is True, False, or an object with the methods"),
    (None, "obey_robots is True, False, or an object with the methods"),
    ("no", "obey_robots is True, False, or an object with the methods"),
    (lambda url, rules: True, "obey_robots is True, False, or an object with the methods"),
    (Async(), "obey_robots.allows is called, and not awaited"),
])
def test_what_is_no_policy_is_a_usage_error(given: Any, words: str) -> None:
    with pytest.raises(sr.UsageError, match=words):
        sr.urls(HOST, obey_robots=given)


def test_a_policy_that_returns_something_to_await_is_a_usage_error() -> None:
    async def later() -> bool:
        return True

    with pytest.raises(sr.UsageError, match=r"obey_robots.allows is called, and not awaited"):
        read(site(), obey_robots=Policy(lambda url, rules: later()))


def test_a_policy_that_does_not_return_true_or_false_is_a_usage_error() -> None:
    with pytest.raises(sr.UsageError, match=r"obey_robots.allows\(\) returned None; let it return True or False"):
        read(site(), obey_robots=Policy(lambda url, rules: None))


def test_a_plan_takes_no_other_object() -> None:
    with pytest.raises(sr.UsageError, match="obey_robots is True, False, or an object with the methods"):
        Plan(obey_robots=object())  # type: ignore[arg-type]


def test_a_policy_holds_for_changes(tmp_path: Path) -> None:
    options: dict[str, Any] = {"fetcher": site(), "state": tmp_path / "s.db"}
    policy = Policy(lambda url, rules: "b.xml" not in url)
    with sr.changes(HOST, obey_robots=policy, **options) as changes:
        assert [change.record.loc for change in changes] == [f"{HOST}/a"]


def test_a_policy_holds_for_snapshots() -> None:
    policy = Policy(lambda url, rules: "b.xml" not in url)
    assert sr.snapshot(HOST, fetcher=site(), obey_robots=policy, show_progress=False).urls.to_arrow().num_rows == 1


@pytest.mark.parametrize(("allowed", "requested"), [("/a", 1), ("/nothing", 0)])
def test_a_policy_holds_for_the_pages_of_an_audit(allowed: str, requested: int) -> None:
    shop = site()
    shop.pages |= {"/a": (200, {"content-type": "text/html"}, b"<title>A</title>"), "/b": 200}
    policy = Policy(lambda url, rules: url.endswith((".xml", allowed)))
    sr.audit(HOST, fetcher=shop, obey_robots=policy, check_urls="all")
    assert len([url for url in shop.requests if url in (f"{HOST}/a", f"{HOST}/b")]) == requested


@pytest.mark.parametrize("stage", [".xml", "/a"])
def test_an_exception_of_a_policy_ends_an_audit(stage: str) -> None:
    def decide(url: str, rules: Rules) -> bool:
        if url.endswith(stage):
            raise KeyError("mine")
        return True

    with pytest.raises(KeyError):
        sr.audit(HOST, fetcher=site(), obey_robots=Policy(decide), check_urls="all")


def test_a_policy_holds_for_a_watch_and_its_exception_ends_it(tmp_path: Path) -> None:
    def decide(url: str, rules: Rules) -> bool:
        if "b.xml" in url:
            raise KeyError("mine")
        return True

    shop = site()
    with serve(Site(shop.pages)) as server:
        text = f"{FORBIDS}Sitemap: {server.url}/index.xml\n"
        server.pages["/robots.txt"] = (200, {}, text.encode())
        policy = Policy(decide)
        watch = sr.watch([server.url], state=tmp_path / "w.db", allow_private=True, obey_robots=policy)
        with pytest.raises(KeyError):
            for _ in watch:
                pass
