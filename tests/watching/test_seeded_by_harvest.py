"""A watch that continues with the state of a harvest: what the harvest has read is not new again."""

import asyncio
import json
import shutil
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import attrs
import pytest
from change_logs import all_entries
from hostfarm import FarmHost, run_farm
from servers import free_port

from sitemap_reader import UsageError
from sitemap_reader.client import Crawler
from sitemap_reader.scale import Shard, harvest_shard, read_hosts
from sitemap_reader.watching import make_watcher

sys.path.append(str(Path(__file__).parent.parent / "scale"))


from harvests import HASTY, changes_of, config_of, lay_out, next_version, table
from hostfarm import Farm

from sitemap_reader.watching import SiteVisit

SHARDS = 2
KINDS = ("robots", "index", "wellknown", "text", "feed", "atom")


@pytest.fixture
def hosts() -> list[FarmHost]:
    port = free_port()
    return [FarmHost(f"127.1.1.{number}:{port}", kind, 30, per_child=10) for number, kind in enumerate(KINDS, 1)]


@pytest.fixture
def farm(hosts: list[FarmHost], tmp_path: Path) -> Iterator[Farm]:
    with run_farm(hosts, tmp_path / "farm") as farm:
        yield farm


@pytest.fixture
def state(farm: Farm, hosts: list[FarmHost], tmp_path: Path) -> Path:
    """A copy of the folder `state` of a harvest."""
    config = config_of(state=True)
    folder = lay_out(tmp_path / "harvest", hosts, config, shards=SHARDS)
    for number in range(SHARDS):
        harvest_shard(Shard(folder, number, config))
    assert len(table(folder, "urls")) == 30 * len(hosts)
    return shutil.copytree(tmp_path / "harvest" / "state", tmp_path / "watch")


async def _no_sleep(seconds: float) -> None:
    await asyncio.sleep(0)


async def watched(hosts: list[FarmHost], state: Path, number: int, days: float) -> tuple[list[tuple[str, str]], int]:
    """(change, URL) of all changes that the watch of a shard finds, so many days after the harvest; its sites."""
    listed = read_hosts([host.target for host in hosts])
    watcher = make_watcher(
        listed, state, Crawler(allow_private=True, limits=HASTY),
        budget=1e6, host_budget=1e6, shard=f"{number}/{SHARDS}",
    )
    visited, is_over = set(), asyncio.Event()

    def note(visit: SiteVisit) -> None:
        visited.add(visit.site)
        if len(visited) == len(watcher.watched):
            is_over.set()

    watcher.plan = attrs.evolve(
        watcher.plan, on_visit=note, clock=lambda: datetime.now(UTC) + timedelta(days=days), sleep=_no_sleep
    )
    async with watcher, asyncio.timeout(30):
        assert all(site.documents for site in watcher.watched)  # read from the state of the harvest
        task = asyncio.create_task(watcher.run())
        await is_over.wait()
        watcher.stop()
        await task
        entries = await all_entries(watcher.feed)
        lines = [json.loads(line) for entry in entries for line in entry.lines.splitlines()]
        return [(line["change"], line["loc"]) for line in lines], len(watcher.watched)


@pytest.mark.slow
async def test_urls_of_the_harvest_are_not_new_again_and_later_changes_are_found(
    farm: Farm, hosts: list[FarmHost], state: Path
) -> None:
    found = [await watched(hosts, state, number, days=0) for number in range(1, SHARDS + 1)]
    assert [changes for changes, _ in found] == [[], []]
    assert sum(sites for _, sites in found) == len(hosts)
    assert all(sites for _, sites in found)
    next_version(farm, hosts)
    later = [change for number in range(1, SHARDS + 1) for change in (await watched(hosts, state, number, 7))[0]]
    assert sorted(later) == changes_of(hosts, 2)


@pytest.mark.slow
@pytest.mark.parametrize(("options", "crawling", "message"), [
    ({"shard": "1/1"}, {}, r"has part-00001.sqlite, so its hosts are divided into more parts than 1$"),
    ({"shard": "1/2"}, {"scope": "host"}, "was read with scope protocol before, but with scope host now; give the"),
])
def test_shards_and_settings_must_be_those_of_the_harvest(
    hosts: list[FarmHost], state: Path, options: dict[str, Any], crawling: dict[str, Any], message: str
) -> None:
    listed = read_hosts([host.target for host in hosts])
    with pytest.raises(UsageError, match=message):
        make_watcher(listed, state, Crawler(**crawling), budget=1, host_budget=1, **options)
    make_watcher(listed, state, Crawler(), budget=1, host_budget=1, shard="1/2").close_state()  # the file is not locked
