"""Who waits for which host, in which order, and what it costs to ask."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import pytest

from sitemap_reader.walk.hosts import Hosts, Line
from sitemap_reader.walk.robots import ALLOW_ALL
from sitemap_reader.walk.visit import Visit

if TYPE_CHECKING:
    from collections.abc import Callable


def visit(url: str, not_before: float = 0.0) -> Visit:
    return Visit(url, url, "given", not_before=not_before)


def test_visits_that_have_to_wait_come_behind_those_that_need_not() -> None:
    line = Line()
    for url, not_before in (("late", 9.0), ("a", 0.0), ("soon", 5.0), ("b", 0.0)):
        line.add(visit(url, not_before))
    assert line.due == float("-inf")
    assert [found.url for found in (line.next(4.0), line.next(4.0)) if found] == ["a", "b"]
    assert (line.next(4.0), line.due, len(line)) == (None, 5.0, 2)
    line.add(visit("c"))
    assert [found.url for found in (line.next(5.0), line.next(5.0)) if found] == ["c", "soon"]
    assert [late.url for late in line.drain()] == ["late"]
    assert (len(line), line.due) == (0, None)


def test_visits_that_are_due_at_one_time_keep_their_order() -> None:
    line = Line()
    for url in "dcba":
        line.add(visit(url, 3.0))
    assert [found.url for _ in "1234" if (found := line.next(3.0))] == ["d", "c", "b", "a"]


def served(hosts: Hosts, visits: int) -> None:
    """Every visit is taken, one in each call, and ends before the next."""
    for _ in range(visits):
        host, _visit = next(hosts.startable(1.0, robots_only=False))
        host.pace.started(1.0)
        host.pace.finished()
    assert next(hosts.startable(1.0, robots_only=False), None) is None
    assert hosts.is_idle


def one_visit_each(count: int) -> Hosts:
    hosts = Hosts(4)
    for number in range(count):
        hosts.add(visit(f"https://h{number}.example/a.xml"))
        hosts.of(f"https://h{number}.example/").rules = ALLOW_ALL
    return hosts


def one_host(count: int) -> Hosts:
    hosts = Hosts(4)
    hosts.of("https://h.example/").rules = ALLOW_ALL
    for number in range(count):
        hosts.add(visit(f"https://h.example/{number}.xml", not_before=number % 2))
    return hosts


@pytest.mark.parametrize("make", [one_visit_each, one_host])
def test_the_work_grows_with_the_visits_and_no_faster(make: Callable[[int], Hosts]) -> None:
    def calls(count: int) -> int:
        hosts, seen = make(count), 0

        def heard(frame: Any, event: str, argument: Any) -> None:
            nonlocal seen
            seen += event in ("call", "c_call")

        sys.setprofile(heard)
        try:
            served(hosts, count)
        finally:
            sys.setprofile(None)
        return seen

    assert calls(2_000) < 2.5 * calls(1_000)
