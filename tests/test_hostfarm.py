"""The farm of hosts that tests and benchmarks use: its stated URLs are those that a reader finds."""

from __future__ import annotations

from collections import Counter

import pytest
from hostfarm import SITES, FarmHost, changed_locs, locs_of, run_farm
from servers import free_port

import sitemap_reader as sr

pytestmark = pytest.mark.slow

READABLE = ["robots", "index", "huge", "wellknown", "text", "feed", "atom"]
FAILURES = {
    "none": sr.NothingFound,
    "error": sr.NothingReadable,
    "refused": sr.NothingReadable,
    "hang": sr.NothingReadable,
    "drip": sr.NothingReadable,
}
HASTY = sr.Limits(tries=1, read_seconds=0.2)


@pytest.fixture
def farm_of(tmp_path):
    """`run(hosts)` -> a farm, as a context manager."""
    return lambda hosts: run_farm(hosts, tmp_path / "farm")


def read(target, **options):
    with sr.urls(target, allow_private=True, **options) as urls:
        return {url.loc: url.lastmod for url in urls}


def test_each_kind_of_host_is_read_as_stated(farm_of):
    port = free_port()
    hosts = [FarmHost(f"127.1.0.{n}:{port}", kind, 50, per_child=20) for n, kind in enumerate(READABLE, 1)]
    with farm_of(hosts) as farm:
        for host in hosts:
            with sr.urls(host.target, allow_private=True) as urls:
                assert Counter(url.loc for url in urls) == Counter(locs_of(host)), host
            assert urls.complete
        assert farm.requested()[hosts[0].target] == ["/robots.txt", "/sitemap.xml"]
        assert 1 <= farm.max_in_flight_by_host()[hosts[1].target] <= 4
        farm.reset()
        assert not any(farm.requested().values())
        assert not any(farm.max_in_flight_by_host().values())


def test_hosts_that_fail_do_so_each_in_its_way(farm_of):
    port = free_port()
    hosts = {kind: FarmHost(f"127.1.0.{n}:{port}", kind, 10, 0.01) for n, kind in enumerate(SITES, 1)}
    with farm_of(hosts.values()) as farm:
        for kind, error in FAILURES.items():
            with pytest.raises(error):
                read(hosts[kind].target, limits=HASTY)
        with sr.urls(hosts["broken"].target, allow_private=True) as urls:
            assert [url.loc for url in urls] == locs_of(hosts["broken"])
        assert not urls.complete
        assert farm.max_in_flight_by_host()[hosts["hang"].target] == 1
        assert farm.requested()[hosts["refused"].target] == []


@pytest.mark.parametrize("kind", ["robots", "index", "text", "feed", "atom"])
def test_new_version_changes_the_stated_urls(farm_of, kind, tmp_path):
    host = FarmHost(f"127.1.0.1:{free_port()}", kind, 60, per_child=20)
    changed = changed_locs(host.at(2))
    assert len(changed.new) == 3

    def sync():
        with sr.changes(host.target, state=tmp_path / "state.db", allow_private=True) as changes:
            return {(change.change, change.record.loc) for change in changes}

    with farm_of([host]) as farm:
        assert {loc for _, loc in sync()} == set(locs_of(host))
        assert sync() == set()
        farm.set_version(host.target, 2)
        assert sync() == {
            *(("new", loc) for loc in changed.new),
            *(("updated", loc) for loc in changed.updated),
            *(("removed", loc) for loc in changed.removed),
        }
        assert set(read(host.target)) == set(locs_of(host.at(2)))


def test_names_are_served_by_the_proxy(farm_of):
    names = ["a.shop1.test", "b.shop1.test", "a.shop2.test"]
    hosts = [FarmHost(name, "robots", 10) for name in names]
    with farm_of(hosts) as farm:
        for host in hosts:
            assert list(read(host.target, proxy=farm.proxy)) == locs_of(host)
        assert list(read("a.shop2.test", proxy=farm.proxy)) == locs_of(hosts[2])  # the proxy has no https
        seen = farm.domains()
        assert [target for _, target in seen["shop1.test"].requested] == [hosts[0].target] * 2 + [hosts[1].target] * 2
        assert seen["shop1.test"].max_in_flight == 1
