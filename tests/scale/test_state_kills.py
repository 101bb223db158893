"""Harvests with a state that are killed at many moments: changes are reported once."""

from contextlib import suppress

import pytest
from harvests import changes_of, next_version, reported
from hostfarm import FarmHost, run_farm
from inline_cluster import harvest_inline
from kills import killed_at
from servers import free_port

import sitemap_reader as sr

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def hosts():
    port = free_port()
    return [FarmHost(f"127.1.0.{number}:{port}", kind, 90) for number, kind in enumerate(("robots", "text"), 200)]


@pytest.fixture(scope="module")
def _farm(hosts, tmp_path_factory):
    with run_farm(hosts, tmp_path_factory.mktemp("farm") / "work") as farm:
        yield farm


@pytest.fixture
def farm(_farm, hosts):
    """As it was at first."""
    for host in hosts:
        _farm.replace(host)
    return _farm


@pytest.mark.smoke("39")
@pytest.mark.parametrize("moment", range(3, 79, 4))
def test_killed_anywhere_no_change_is_lost_or_repeated(farm, hosts, tmp_path, moment):
    """Killed while it archives the last harvest, reads, or publishes; then the same command, or with --resume."""
    out = tmp_path / "out"
    harvest_inline(hosts, out, state=True, shards=2)
    next_version(farm, hosts)
    with killed_at(moment) as wanted:
        harvest_inline(hosts, out, state=True)
    assert len(wanted) <= 78, "there are more moments than are tried"
    ends(hosts, out)
    assert reported(out) == changes_of(hosts, 2)
    next_version(farm, hosts, 3)
    harvest_inline(hosts, out, state=True)
    assert reported(out) == changes_of(hosts, 3)
    assert sorted(len(reported(path)) for path in (out / "earlier").iterdir()) == [len(changes_of(hosts, 2)), 180]


def ends(hosts, out):
    """Runs the next harvest, or resumes the last one."""
    with suppress(sr.UsageError):
        return harvest_inline(hosts, out, state=True, resume=True)
    return harvest_inline(hosts, out, state=True)
