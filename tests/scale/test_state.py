"""Harvests with a state: changes since the last one are reported once, after any interruption."""

import asyncio
import json
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from itertools import chain

import attrs
import pytest
from harvests import (
    HASTY,
    changes_of,
    config_of,
    files,
    lay_out,
    locs,
    next_version,
    one_shard,
    reported,
    table,
    verdicts,
)
from hostfarm import FarmHost, locs_of, make_hosts, run_farm
from inline_cluster import harvest_inline
from kills import Killed
from servers import free_port

import sitemap_reader as sr
from sitemap_reader import Change, to_dict
from sitemap_reader.scale import HarvestFolder, Shard, ShardWriter, harvest_shard
from sitemap_reader.serialize import Batches, fields_of

pytestmark = pytest.mark.slow

KINDS = ("robots", "index", "wellknown", "text", "feed", "atom")
MANY_HOSTS = 20
MANY = {"robots": 4, "index": 4, "text": 1, "feed": 1, "none": 1, "broken": 1, "error": 1}


@pytest.fixture(scope="module")
def everything(tmp_path_factory):
    """A farm, and its hosts: one of each kind, and many."""
    port = free_port()
    each = {kind: FarmHost(f"127.1.0.{n}:{port}", kind, 90, per_child=30) for n, kind in enumerate(KINDS, 200)}
    each["hang"] = FarmHost(f"127.1.0.250:{port}", "hang")
    many = make_hosts(MANY_HOSTS, seed=5, port=port, kinds=MANY, median_urls=20, median_latency=0.003)
    with run_farm([*each.values(), *many], tmp_path_factory.mktemp("farm") / "work") as farm:
        yield farm, each, many


@pytest.fixture
def farm(everything):
    """The farm at its first version."""
    running, each, many = everything
    for host in chain(each.values(), many):
        running.replace(host)
    running.reset()
    return running


@pytest.fixture
def each(everything):
    return everything[1]


@pytest.fixture
def many(everything):
    return everything[2]


@pytest.fixture
def out(tmp_path):
    return tmp_path / "out"


def all_new(hosts):
    return sorted(("new", loc) for host in hosts for loc in locs_of(host))


# --- changes ---


@pytest.mark.smoke
def test_first_harvest_is_all_new_then_only_changes(farm, each, out):
    hosts = [each[kind] for kind in KINDS]
    first = harvest_inline(hosts, out, state=True, shards=3)
    assert reported(out) == all_new(hosts)
    assert (first.has_state, first.complete, first.rows["urls"]) == (True, True, 90 * len(hosts))
    assert str(first).startswith("540 changes; 540 URLs from 6 hosts read; 6 complete; ")
    second = harvest_inline(hosts, out, state=True)
    assert reported(out) == []
    assert (second.complete, second.shards, second.rows["urls"]) == (True, 3, 0)
    assert {*verdicts(out).values()} == {"complete"}
    next_version(farm, hosts)
    third = harvest_inline(hosts, out, state=True)
    assert reported(out) == changes_of(hosts, 2)
    assert third.rows["urls"] == len(reported(out)) == 6 * 3 + 5 + 4
    assert sorted(len(reported(path)) for path in (out / "earlier").iterdir()) == [0, 540]


def test_changes_equal_those_of_sync_for_each_host(farm, each, out, tmp_path):
    hosts = [each[kind] for kind in KINDS]
    expected = []
    for version in (1, 2, 4):
        next_version(farm, hosts, version)
        harvest_inline(hosts, out, state=True, shards=2)
        expected = []
        for host in hosts:
            with sr.changes(host.target, state=tmp_path / "sync.db", allow_private=True) as stream:
                expected += [to_dict(change, site=host.target) for change in stream]
        alone = Batches(fields_of(Change))
        for form in expected:
            alone.add(form)
        alone.end()
        rows = [row for batch in alone.take() for row in batch.to_pylist()]
        assert table(out, "urls") == sorted(rows, key=str)
    assert {form["change"] for form in expected} == {"new", "updated", "removed"}


def test_hosts_that_come_later_are_new_and_those_that_left_are_no_change(farm, each, out):
    first, second, third = (each[kind] for kind in ("robots", "index", "text"))
    harvest_inline([first, second], out, state=True, shards=4)
    harvest_inline([third, second], out, state=True)
    assert reported(out) == all_new([third])
    next_version(farm, [first])
    harvest_inline([first, second, third], out, state=True)
    assert reported(out) == changes_of([first], 2)


@pytest.mark.smoke
def test_a_host_that_fails_removes_nothing(farm, each, out):
    hosts = [each["robots"], each["index"]]
    harvest_inline(hosts, out, state=True)
    farm.replace(attrs.evolve(hosts[0], kind="error"))
    farm.replace(attrs.evolve(hosts[1], kind="none"))
    harvest_inline(hosts, out, state=True, limits=HASTY)
    assert reported(out) == []
    assert "complete" not in verdicts(out).values()
    for host in hosts:
        farm.replace(host.at(2))
    harvest_inline(hosts, out, state=True)
    assert reported(out) == changes_of(hosts, 2)


@pytest.mark.smoke
def test_documents_that_have_not_changed_are_not_read_again(farm, each, out):
    harvest_inline([each["index"]], out, state=True)
    next_version(farm, [each["index"]])
    harvest_inline([each["index"]], out, state=True)
    same = {row["url"].rpartition("/")[2] for row in table(out, "sitemaps") if row["not_modified"]}
    assert same == {"1.xml.gz", "2.xml.gz"}


def test_mass_removals_of_a_host_are_withheld_until_accepted(farm, each, out):
    host = attrs.evolve(each["robots"], urls=2_500)
    farm.replace(host)
    harvest_inline([host], out, state=True)
    less = each["robots"].at(2)
    gone = len({*locs_of(host)} - {*locs_of(less)})
    farm.replace(less)
    held = harvest_inline([host], out, state=True)
    assert {change for change, _ in reported(out)} <= {"new", "updated"}
    (row,) = table(out, "hosts")
    assert (row["verdict"], row["why"]) == ("partial", f"{gone:,} removals are held back")
    assert "X01" in {problem["code"] for problem in table(out, "problems")}
    assert not held.complete
    harvest_inline([host], out, state=True, accept_removals=True)
    assert {change for change, _ in reported(out)} == {"removed"}
    assert len(reported(out)) == gone > 1_000


# --- many at once ---


def remembered(path):
    """The rows of a state for sites that listed URLs, without times and salts."""
    with sr.state.State(path) as state:
        documents = state.db.execute(
            "SELECT site.name, url, format, complete, entries, etag, sha256, parents FROM document"
            " JOIN site ON site.id = document.site ORDER BY site.name, url"
        ).fetchall()
        runs = state.db.execute(
            "SELECT site.name, new, updated, removed, complete FROM run JOIN site ON site.id = run.site"
            " WHERE ended IS NOT NULL ORDER BY site.name, run.id"
        ).fetchall()
        children = state.db.execute(
            "SELECT document.url, loc FROM child JOIN document ON document.id = child.document ORDER BY 1, 2"
        ).fetchall()
    known = {site for site, _, _, _, entries, *_ in documents if entries}
    return [each for each in (*documents, *runs) if each[0] in known], children


def test_concurrent_hosts_give_the_same_changes_and_state(farm, many, tmp_path):
    config = {at_once: config_of(state=True, hosts_at_once=at_once) for at_once in (MANY_HOSTS, 1)}
    folders = {at_once: lay_out(tmp_path / str(at_once), many, config[at_once]) for at_once in config}
    for version in (1, 2):
        next_version(farm, many, version)
        farm.reset()
        found = []
        for at_once, folder in folders.items():
            if version > 1:
                folder.archive(folder.plan())
                folder = lay_out(folder.path, many, config[at_once])
            harvest_shard(Shard(folder, 0, config[at_once]))
            found.append((table(folder, "urls"), table(folder, "hosts"), *remembered(folder.state(0))))
        for one, other in zip(*found, strict=True):
            assert one == other
    fine = [host for host in many if host.kind in ("robots", "index", "text", "feed")]
    assert {*changes_of(fine, 2)} <= {*reported(folders[MANY_HOSTS])}


def test_skipped_hosts_do_not_affect_others(farm, each, many, tmp_path):
    fine = [host for host in many if host.kind in ("robots", "index")]
    folder, _ = one_shard(tmp_path / "out", [each["hang"], *fine], state=True, host_seconds=2.0)
    assert reported(folder) == all_new(fine)
    with sr.state.State(folder.state(0)) as state:
        complete = {run.site for run in state.runs() if run.complete}
    assert complete == {f"{host.target}/" for host in fine}


INDEX = "https://maps.example/index.xml"
NS = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'


@attrs.define
class TwoShops:
    """Two hosts whose robots.txt name the same index, which is sent in two halves to both at the same time."""

    at_once: int
    children: int = 40
    _both: asyncio.Barrier | None = None

    @asynccontextmanager
    async def fetch(self, url, headers):
        status, body = self._answer(url)
        yield sr.fetch.Response(status, {}, self._halves(body) if url == INDEX else _whole(body), url)

    def _answer(self, url):
        host, _, path = url.removeprefix("https://").partition("/")
        if path == "robots.txt":
            return 200, f"Sitemap: {INDEX}\n".encode() if "shop" in host else b""
        if url == INDEX:
            children = "".join(f"<sitemap><loc>https://maps.example/{n}.xml</loc></sitemap>" for n in self._numbers())
            return 200, f"<sitemapindex {NS}>{children}</sitemapindex>".encode()
        if host != "maps.example":
            return 404, b""
        number = path.partition(".")[0]
        urls = "".join(f"<url><loc>https://{shop}.example/{number}</loc></url>" for shop in ("shop1", "shop2"))
        return 200, f"<urlset {NS}>{urls}</urlset>".encode()

    def _numbers(self):
        return range(self.children)

    async def _halves(self, body):
        half = len(body) // 2
        yield body[:half]
        self._both = self._both or asyncio.Barrier(self.at_once)
        await self._both.wait()
        await asyncio.sleep(0.1)  # both halves are in the state by then
        yield body[half:]


async def _whole(body):
    yield body


@pytest.mark.parametrize("at_once", [1, 2])
def test_two_hosts_that_name_the_same_index_are_separate(tmp_path, at_once):
    shops = ["https://shop1.example", "https://shop2.example"]
    config = config_of(state=True, hosts_at_once=at_once, scope="host")
    folder = lay_out(tmp_path / "out", shops, config)
    playing = attrs.evolve(config, reader_options={**config.reader_options, "fetcher": TwoShops(at_once)})
    manifest = harvest_shard(Shard(folder, 0, playing))
    for shop in shops:
        assert locs(folder, shop) == sorted(f"{shop}/{number}" for number in range(40))
    with sr.state.State(folder.state(0)) as state:
        counts = state.db.execute("SELECT count(*) FROM child GROUP BY document ORDER BY document").fetchall()
        histories = state.db.execute("SELECT history FROM document WHERE format = 'sitemapindex'").fetchall()
    assert counts == [(40,), (40,)]
    assert [json.loads(history)["entries"] for (history,) in histories] == [40, 40]
    assert manifest["hosts"] == 2


# --- skipped hosts and killed attempts ---


def test_attempt_that_dies_changes_nothing_and_the_next_reports_all(farm, many, tmp_path, monkeypatch):
    fine = [host for host in many if host.kind in ("robots", "index")]
    config = config_of(state=True, hosts_at_once=4)
    folder = lay_out(tmp_path / "out", fine, config)
    harvest_shard(Shard(folder, 0, config))
    next_version(farm, fine)
    folder.archive(folder.plan())
    folder = lay_out(folder.path, fine, config)
    before = remembered(folder.state_before(0))
    right, seen = ShardWriter.add_host, []

    def dying(self, row):
        seen.append(row)
        if len(seen) > len(fine) // 2:
            raise Killed
        right(self, row)

    with monkeypatch.context() as patch:
        patch.setattr(ShardWriter, "add_host", dying)
        with pytest.raises((Killed, BaseExceptionGroup)):
            harvest_shard(Shard(folder, 0, config))
    assert folder.manifest(0) is None
    assert not folder.state(0).exists()
    assert remembered(folder.state_before(0)) == before
    harvest_shard(Shard(folder, 0, config))
    assert reported(folder) == changes_of(fine, 2)


def test_repeated_shard_reports_the_same_changes(farm, each, out):
    """Its manifest or a table is lost: its changes are not taken as known."""
    hosts = [each["robots"], each["index"]]
    harvest_inline(hosts, out, state=True, shards=1)
    next_version(farm, hosts)
    harvest_inline(hosts, out, state=True)
    before = reported(out)
    for lost in (HarvestFolder(out).manifest_path(0), HarvestFolder(out).table("urls", 0), HarvestFolder(out).state(0)):
        lost.unlink()
        harvest_inline(hosts, out, state=True, resume=True)
        assert reported(out) == before == changes_of(hosts, 2)
    harvest_inline(hosts, out, state=True)
    assert reported(out) == []


def test_changes_of_a_skipped_host_are_not_repeated(farm, each, out):
    host = attrs.evolve(each["index"], urls=600, per_child=30)
    farm.replace(host)
    one = harvest_inline([host], out, state=True, host_urls=300)
    assert one.verdicts == {"given_up": 1}
    first = reported(out)
    assert 0 < len(first) < 600
    two = harvest_inline([host], out, state=True)
    assert two.verdicts == {"complete": 1}
    assert sorted([*first, *reported(out)]) == all_new([host])


def test_unfinished_shards_are_done_before_the_next_harvest(farm, each, out):
    hosts = [each["robots"], each["index"]]
    harvest_inline(hosts, out, state=True, shards=8)
    done = next(shard for shard in range(8) if HarvestFolder(out).targets(shard))
    HarvestFolder(out).manifest_path(done).unlink()
    with pytest.raises(sr.UsageError, match=r"not done, 1 of 8 shards left: resume=True goes on"):
        harvest_inline(hosts, out, state=True)


def test_ages_count_from_the_first_start_after_a_resume(out, site_server):
    now = datetime.now(UTC)
    server = site_server({})
    urls = "".join(
        f"<url><loc>{server.url}/{days}</loc><lastmod>{(now - timedelta(days=days)):%Y-%m-%d}</lastmod></url>"
        for days in (2, 9, 30)
    )
    server.pages["/sitemap.xml"] = (200, {}, f"<urlset {NS}>{urls}</urlset>".encode())
    harvest_inline([server.url], out, since="7d")
    assert locs(out) == [f"{server.url}/2"]
    plan = json.loads((out / "harvest.json").read_text())
    plan["dates"]["since"] = f"{(now - timedelta(days=12)):%Y-%m-%dT%H:%M:%SZ}"  # the harvest began five days ago
    (out / "harvest.json").write_text(json.dumps(plan))
    HarvestFolder(out).manifest_path(0).unlink()
    harvest_inline([server.url], out, since="7d", resume=True)
    assert locs(out) == [f"{server.url}/2", f"{server.url}/9"]


# --- options that exclude each other ---


@pytest.mark.parametrize(("before", "now", "words"), [
    ({"state": True}, {"state": True, "include": "/a"}, "what .* remembers was read with include none before"),
    ({"state": True}, {"state": True, "scope": "any"}, "scope any now; keep the settings, or name another folder"),
    ({"state": True}, {"state": True, "extras": True}, "extras off"),
    ({"state": True, "shards": 2}, {"state": True, "shards": 3}, "shards 2 before"),
    ({"state": True}, {}, "holds a harvest that is done; name another folder"),
    ({}, {"state": True}, "holds a harvest that is done; name another folder"),
    ({}, {}, "holds a harvest that is done; name another folder"),
    ({}, {"resume": True, "include": "/a"}, "was read with include none before, but with include /a now"),
    ({}, {"resume": True, "since": "7d"}, "since none"),
    ({}, {"resume": True, "shards": 7}, "shards 1 before"),
    ({}, {"resume": True, "state": True}, "state off"),
    ({}, {"resume": True, "obey_robots": False}, "obey_robots on"),
    ({}, {"resume": True, "limits": HASTY}, "limits none"),
])
def test_another_harvest_in_the_folder_is_refused_and_leaves_it_as_it_is(farm, each, out, before, now, words):
    harvest_inline([each["robots"]], out, **before)
    left = {name: (out / name).read_bytes() for name in files(out)}
    with pytest.raises(sr.UsageError, match=words):
        harvest_inline([each["robots"]], out, **now)
    assert {name: (out / name).read_bytes() for name in files(out)} == left


@pytest.mark.parametrize("option", ["since", "until"])
def test_dates_and_a_state_exclude_each_other(out, option):
    with pytest.raises(sr.UsageError, match="since and until choose by date, and a state by what has changed"):
        harvest_inline(["a.example"], out, state=True, **{option: "2026-01-01"})
    assert not out.exists()
