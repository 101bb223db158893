"""HostQueue: the order of requests to hosts, and the cost of a call."""

from collections import Counter
from collections.abc import Callable

import pytest
from calls import calls_of
from simulated import INDEX, TODAY, RequestsAll

from sitemap_reader import Limits, Outcome, SitemapRef
from sitemap_reader.frontier import (
    ALLOW_ALL,
    Document,
    DocumentRequest,
    Failed,
    Finished,
    Head,
    HostQueues,
    Plan,
    RequestQueue,
    Rules,
    parse_rules,
    parse_target,
)


def request(url: str, not_before: float = 0.0, *, is_robots: bool = False) -> Document:
    document = Document(url, "given", is_robots=is_robots)
    document.ask(not_before=not_before)
    return document


def test_waiting_requests_come_after_ready_ones() -> None:
    queue = RequestQueue()
    for url, not_before in (("late", 9.0), ("a", 0.0), ("soon", 5.0), ("b", 0.0)):
        queue.add(request(url, not_before))
    assert queue.due_at == float("-inf")
    assert [found.url for found in (queue.pop(4.0), queue.pop(4.0)) if found] == ["a", "b"]
    assert (queue.pop(4.0), queue.due_at, len(queue)) == (None, 5.0, 2)
    queue.add(request("c"))
    assert [found.url for found in (queue.pop(5.0), queue.pop(5.0)) if found] == ["c", "soon"]
    assert [late.url for late in queue.drain()] == ["late"]
    assert (len(queue), queue.due_at) == (0, None)


def test_requests_due_at_the_same_time_keep_their_order() -> None:
    queue = RequestQueue()
    for url in "dcba":
        queue.add(request(url, 3.0))
    assert [found.url for _ in "1234" if (found := queue.pop(3.0))] == ["d", "c", "b", "a"]


def served(hosts: HostQueues, visits: int) -> None:
    """Takes every request, one in each call; each ends before the next. The number of calls."""
    for _ in range(visits):
        host, _request = next(hosts.pop_ready(1.0, robots_only=False))
        host.pace.started(1.0)
        host.pace.finished()
    assert next(hosts.pop_ready(1.0, robots_only=False), None) is None
    assert hosts.is_idle


def one_visit_each(count: int) -> HostQueues:
    hosts = HostQueues(4)
    for number in range(count):
        hosts.add(request(f"https://h{number}.example/a.xml"))
        hosts.for_url(f"https://h{number}.example/").rules = ALLOW_ALL
    return hosts


def one_host(count: int) -> HostQueues:
    hosts = HostQueues(4)
    hosts.for_url("https://h.example/").rules = ALLOW_ALL
    for number in range(count):
        hosts.add(request(f"https://h.example/{number}.xml", not_before=number % 2))
    return hosts


@pytest.mark.slow
@pytest.mark.parametrize("make", [one_visit_each, one_host])
def test_work_is_linear_in_the_requests(make: Callable[[int], HostQueues]) -> None:
    def calls(count: int) -> int:
        hosts = make(count)
        return calls_of(lambda: served(hosts, count))

    assert calls(2_000) < 2.5 * calls(1_000)


def leisurely(frontier: RequestsAll, hosts: int, rules: Rules) -> Counter[str]:
    """A crawl of an index with two sitemaps on each of many hosts; a response takes a hundredth of a second."""
    requested: Counter[str] = Counter()
    flying: list[DocumentRequest] = []
    now = 0.0
    while not frontier.done:
        flying += frontier.next_requests(now)
        seconds = frontier.wait(now)
        if flying and (seconds is None or seconds > 0.0):
            now += 0.01
            found = flying.pop(0)
            requested[found.url] += 1
            frontier.receive(found, Head(200, {}), now, TODAY)
            if found.url == INDEX:
                for number in range(2 * hosts):
                    ref = SitemapRef(f"https://h{number % hosts}.example/{number}.xml")
                    frontier.receive(found, ref, now, TODAY)
            is_robots = found.url.endswith("/robots.txt")
            outcome = Outcome(format="robots" if is_robots else "urlset")
            frontier.receive(found, Finished(outcome, rules if is_robots else None), now, TODAY)
        elif not flying:
            assert seconds is not None
            now += seconds
        frontier.take()
    return requested


@pytest.mark.slow
@pytest.mark.parametrize("delay", [5, 60])
def test_crawl_delays_of_many_hosts_cost_linear_work(delay: int) -> None:
    """With five seconds most hosts are due at any time, with sixty most of them wait."""
    rules = parse_rules(f"User-agent: *\nCrawl-delay: {delay}", "bot")

    def calls(hosts: int) -> int:
        frontier = RequestsAll([parse_target(INDEX)], Plan(scope="any", limits=Limits(max_crawl_delay_seconds=60.0)))
        seen: list[Counter[str]] = []
        count = calls_of(lambda: seen.append(leisurely(frontier, hosts, rules)))
        assert len(seen[0]) == seen[0].total() == 2 + 3 * hosts
        return count

    assert calls(1_000) < 2.5 * calls(500)


# --- which hosts are checked -----------------------------------------------------------------------------------------


def taken(hosts: HostQueues, now: float, *, robots_only: bool = False) -> list[str]:
    """Takes the requests that may start now; each is in flight from then on."""
    started = []
    for host, found in hosts.pop_ready(now, robots_only=robots_only):
        host.pace.started(now)
        started.append(found.url)
    return started


def test_host_that_waited_longest_is_served_first() -> None:
    hosts = HostQueues(1)
    for host in "ab":
        hosts.for_url(f"https://{host}.example/").rules = ALLOW_ALL
        for number in range(3):
            hosts.add(request(f"https://{host}.example/{number}"))
    assert taken(hosts, 0.0) == ["https://a.example/0", "https://b.example/0"]
    for number in "12":
        for host in "ba":
            hosts.for_url(f"https://{host}.example/").pace.finished()
            hosts.wake(hosts.for_url(f"https://{host}.example/"))
        assert taken(hosts, 0.0) == [f"https://a.example/{number}", f"https://b.example/{number}"]
    assert hosts.is_idle
    assert hosts.wait(0.0, robots_only=False) is None


def test_waiting_host_does_not_block_others_and_keeps_its_position() -> None:
    hosts = HostQueues(4)
    for host in "ab":
        hosts.for_url(f"https://{host}.example/").rules = ALLOW_ALL
        hosts.add(request(f"https://{host}.example/0"))
    hosts.for_url("https://a.example/").pace.pause(10.0)
    assert taken(hosts, 0.0) == ["https://b.example/0"]
    assert hosts.wait(2.0, robots_only=False) == 8.0
    hosts.add(request("https://b.example/1", not_before=4.0))
    assert hosts.wait(2.0, robots_only=False) == 2.0
    assert taken(hosts, 10.0) == ["https://a.example/0", "https://b.example/1"]


def test_outdated_due_time_is_ignored() -> None:
    hosts = HostQueues(4)
    host = hosts.for_url("https://a.example/")
    host.rules = ALLOW_ALL
    hosts.add(request("https://a.example/late", not_before=9.0))
    assert hosts.wait(0.0, robots_only=False) == 9.0
    hosts.add(request("https://a.example/soon", not_before=5.0))
    assert hosts.wait(0.0, robots_only=False) == 5.0
    host.pace.pause(7.0)
    assert taken(hosts, 5.0) == []
    assert hosts.wait(5.0, robots_only=False) == 2.0
    host.pace.pause(7.5)
    hosts.wake(host)
    assert hosts.wait(5.0, robots_only=False) == 2.5
    assert taken(hosts, 7.0) == []
    assert taken(hosts, 7.5) == ["https://a.example/soon"]
    assert hosts.wait(7.5, robots_only=False) == 1.5
    hosts.skip(host, Failed("F04", "Retry-After is over the limit"))
    assert not hosts.is_idle
    assert [each.url for each, _ in hosts.pop_skipped(robots_only=False)] == ["https://a.example/late"]
    assert hosts.is_idle
    assert hosts.wait(7.5, robots_only=False) is None
    assert taken(hosts, 99.0) == []


def test_repeated_checks_add_one_timer_per_host() -> None:
    def calls(looks: int) -> int:
        hosts = HostQueues(4)
        host = hosts.for_url("https://a.example/")
        host.rules = ALLOW_ALL
        host.pace.pause(9.0)
        for number in range(looks):
            hosts.add(request(f"https://a.example/{number}"))
            assert hosts.wait(0.0, robots_only=False) == 9.0
        return calls_of(lambda: next(hosts.pop_ready(9.0, robots_only=False)))

    assert calls(100) == calls(10)


def test_next_time_is_one_at_which_a_request_may_start() -> None:
    hosts = HostQueues(4)
    hosts.for_url("https://a.example/").rules = ALLOW_ALL
    hosts.add(request("https://a.example/1", not_before=3.0))
    assert [hosts.wait(0.0, robots_only=only) for only in (False, True, False)] == [3.0, None, 3.0]


def test_documents_wait_for_their_rules_and_while_only_robots_txt_counts() -> None:
    hosts = HostQueues(4)
    document, robots = request("https://a.example/s.xml"), request("https://a.example/robots.txt", is_robots=True)
    hosts.add(document)
    hosts.add(robots)
    assert taken(hosts, 0.0) == [robots.url]
    assert hosts.wait(0.0, robots_only=False) is None
    hosts.for_url(document.url).rules = ALLOW_ALL
    hosts.wake(hosts.for_url(document.url))
    assert taken(hosts, 0.0, robots_only=True) == []
    assert hosts.wait(0.0, robots_only=True) is None
    assert taken(hosts, 0.0) == [document.url]
