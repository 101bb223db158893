"""plan_harvest() and harvest_shard(): shards as values for any engine, safe to be read twice and by two workers."""

import asyncio
import pickle
import threading
from pathlib import Path

import pytest
from harvests import HASTY, files, reported, table, verdicts
from inline_cluster import harvest_inline
from kit import urlset

import sitemap_reader as sr
from sitemap_reader.model import report
from sitemap_reader.scale import HarvestCancelled, HarvestFolder, Shard, ShardWriter, harvest_shard, plan_harvest
from sitemap_reader.scale import shard as shard_module


@pytest.fixture
def site(site_server):
    """A server whose sitemap lists one URL of each of the addresses that it is requested by."""
    server = site_server({})
    server.pages["/sitemap.xml"] = (200, {}, urlset(f"{server.url}/a", f"{server.url}/b"))
    return server


@pytest.fixture
def plan(tmp_path):
    def plan(hosts, **options):
        return plan_harvest(hosts, tmp_path / "out", allow_private=True, limits=HASTY, **options)

    return plan


def test_shards_are_values_that_any_worker_reads(site, plan, tmp_path):
    other = site.url.replace("127.0.0.1", "localhost")
    shards = plan([site.url, other], shards=2, headers={"X-Key": "secret"})
    assert sorted(host for shard in shards for host in shard.hosts) == sorted([site.url, other])
    assert [shard.number for shard in shards] == [0, 1]
    assert "secret" not in repr(shards)
    manifests = [harvest_shard(pickle.loads(pickle.dumps(shard))) for shard in shards]  # noqa: S301 - our own
    assert {request.headers.get("x-key") for request in site.received} == {"secret"}
    found = sr.scale.load_harvest(tmp_path / "out")
    assert (found.shards_done, found.hosts_done) == (2, 2)
    assert found.urls == sum(manifest["urls"] for manifest in manifests)
    assert (found.urls, found.verdicts) == (2, {"complete": 2})  # of the other name none is in scope


def test_the_folder_is_that_of_a_harvest(site, plan, tmp_path):
    for shard in plan([site.url]):
        harvest_shard(shard)
    harvest_inline([site.url], tmp_path / "other", limits=HASTY)
    for name in ("urls", "sitemaps", "problems", "hosts"):
        assert table(tmp_path / "out", name) == table(tmp_path / "other", name)
    assert {*files(tmp_path / "other")} - {*files(tmp_path / "out")} == {"summary.html"}


def test_a_shard_that_is_done_is_neither_planned_nor_read_again(site, plan):
    (shard,) = plan([site.url])
    manifest = harvest_shard(shard)
    site.received.clear()
    assert harvest_shard(shard) == manifest
    assert plan([site.url], resume=True) == []
    assert not site.received


def test_a_resumed_plan_has_the_shards_that_are_left_and_ends_earlier_workers(site, plan, tmp_path):
    hosts = [site.url, site.url.replace("127.0.0.1", "localhost")]
    first = plan(hosts, shards=2)
    harvest_shard(first[0])
    (left,) = plan(hosts, resume=True)
    assert (left.number, left.hosts) == (first[1].number, first[1].hosts)
    with pytest.raises(HarvestCancelled, match="another harvest has taken"):
        harvest_shard(first[1])
    harvest_shard(left)
    assert sr.scale.load_harvest(tmp_path / "out").shards_done == 2


def test_with_a_state_the_next_plan_finds_changes(site, plan, tmp_path):
    for number in (1, 2):
        for shard in plan([site.url], state=True):
            harvest_shard(shard)
        if number == 1:
            site.pages["/sitemap.xml"] = (200, {}, urlset(f"{site.url}/a", f"{site.url}/c"))
    assert reported(tmp_path / "out") == [("new", f"{site.url}/c"), ("removed", f"{site.url}/b")]


# --- two workers ---


def test_a_later_worker_takes_the_shard_of_an_earlier_one(site, plan, tmp_path, monkeypatch):
    """The first one hangs, as where its network is lost."""
    monkeypatch.setattr(shard_module, "PROGRESS_SECONDS", 0.02)
    (shard,) = plan([site.url])
    has_begun, goes_on, answer, ended = threading.Event(), threading.Event(), site.page, []

    def hang(request):
        has_begun.set()
        goes_on.wait(10)
        return answer(request)

    site.page = hang

    def read():
        try:
            harvest_shard(shard)
        except HarvestCancelled as error:
            ended.append(error)

    first = threading.Thread(target=read)
    first.start()
    has_begun.wait(10)
    site.page = answer
    manifest = harvest_shard(shard)
    goes_on.set()
    first.join(10)
    assert len(ended) == 1
    assert shard.folder.manifest(0) == manifest
    assert verdicts(tmp_path / "out") == {site.url: "complete"}


@pytest.fixture
def attempts(plan, monkeypatch):
    """Two attempts at a shard that began at the same moment, each with a row of its own; their shard."""
    (shard,) = plan(["a.example"])
    with monkeypatch.context() as patch:
        patch.setattr(Path, "glob", lambda self, pattern: iter(()))
        writers = [ShardWriter(shard.folder, 0, state_shared_by=None) for _ in range(2)]
    yield shard, *writers
    for writer in writers:
        writer.close()


TOTALS = {"hosts": 0, "verdicts": {}, "urls": 0, "sitemaps": 0, "problems": 0, "bytes_wire": 0, "given_up": []}


def test_of_attempts_at_the_same_moment_the_first_one_that_ends_counts(attempts):
    shard, one, other = attempts
    other.add_item(report("F01", "gone"), "a.example")
    manifest = one.publish(TOTALS)
    one.close()
    assert other.publish(TOTALS) == manifest == shard.folder.manifest(0)
    assert table(shard.folder, "problems") == []


def test_an_attempt_does_not_publish_while_another_does(attempts):
    shard, one, other = attempts
    publishing = shard.folder.attempts / "part-00000.publishing"
    publishing.mkdir()
    (publishing / "manifest.json").touch()  # the last file that the other one renames
    with pytest.raises(HarvestCancelled):
        one.publish(TOTALS)
    assert shard.folder.manifest(0) is None
    (publishing / "manifest.json").unlink()
    other.publish(TOTALS)
    assert shard.folder.manifest(0) is not None


# --- where it is called ---


def test_a_shard_is_read_where_an_event_loop_runs(site, plan):
    """As in a notebook."""
    (shard,) = plan([site.url])

    async def main():
        return harvest_shard(shard)

    assert asyncio.run(main())["urls"] == 2


def test_a_worker_that_does_not_see_the_folder_says_so(tmp_path, plan):
    (shard,) = plan(["a.example"])
    elsewhere = Shard(HarvestFolder(tmp_path / "elsewhere"), 0, shard.config)
    with pytest.raises(sr.UsageError, match=r"sees no folder .*elsewhere: all workers must see it"):
        harvest_shard(elsewhere)


@pytest.mark.parametrize("call", [
    lambda: sr.scale.plan_harvest(["a.example"], None), lambda: sr.scale.load_harvest(None), lambda: harvest_shard(0)
])
def test_what_is_no_folder_or_shard_is_a_usage_error(call):
    with pytest.raises(sr.UsageError, match=r"^(output|folder) is the name of a folder|^shard is a shard of plan_harv"):
        call()


def test_a_plan_that_would_overwrite_another_is_refused(plan):
    plan(["a.example"])
    with pytest.raises(sr.UsageError, match="holds a harvest that is not done"):
        plan(["b.example"])
    with pytest.raises(sr.UsageError, match="has another list of hosts"):
        plan(["b.example"], resume=True)
