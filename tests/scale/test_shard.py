"""One shard in this process: rows, verdicts, politeness, and failures."""

import errno
import itertools
import re
import shutil
from datetime import UTC, datetime

import attrs
import pytest
from click.testing import CliRunner
from harvests import HASTY, config_of, files, lay_out, locs, one_shard, table, verdicts
from hostfarm import FarmHost, locs_of, run_farm
from pyarrow import parquet as pq
from servers import free_port

import sitemap_reader as sr
from sitemap_reader import to_dict
from sitemap_reader.cli.main import main
from sitemap_reader.frontier import Frontier
from sitemap_reader.model import RAISE_VARIABLE
from sitemap_reader.scale import HarvestCancelled, Shard, ShardWriter, harvest_shard
from sitemap_reader.scale import shard as shard_module

READABLE = ("robots", "index", "wellknown", "text", "feed", "atom")
OTHERS = ("none", "broken", "error", "refused", "hang", "drip")
SHOPS = [f"{name}.shop{number}.test" for number in range(4) for name in "abc"]
NS = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'


@pytest.fixture(scope="module")
def hosts():
    """Hosts by kind, or by name if they are served by the proxy."""
    port = free_port()
    kinds = {kind: FarmHost(f"127.1.0.{n}:{port}", kind, 120, per_child=50) for n, kind in enumerate(READABLE + OTHERS)}
    kinds["huge"] = FarmHost(f"127.1.1.1:{port}", "huge", 60_000, per_child=1_000)
    return kinds | {name: FarmHost(name, "robots", 20, latency_seconds=0.03) for name in SHOPS}


@pytest.fixture(scope="module")
def farm(hosts, tmp_path_factory):
    with run_farm(hosts.values(), tmp_path_factory.mktemp("farm") / "work") as running:
        running.warm()
        yield running


@pytest.fixture
def site(site_server):
    """`site(paths)` -> a host whose sitemap lists these paths."""

    def serve(*paths):
        server = site_server({})
        urls = "".join(f"<url><loc>{server.url}{path}</loc></url>" for path in paths)
        server.pages["/sitemap.xml"] = (200, {}, f"<urlset {NS}>{urls}</urlset>".encode())
        return server

    return serve


@pytest.fixture
def out(tmp_path):
    return tmp_path / "out"


# --- rows ---


@pytest.mark.slow
def test_the_urls_are_those_of_each_host_read_alone(farm, hosts, out):
    chosen = [hosts[kind] for kind in READABLE]
    folder, manifest = one_shard(out, chosen)
    for host in chosen:
        with sr.urls(host.target, allow_private=True) as urls:
            forms = [to_dict(url, site=host.target) for url in urls]
        rows = [row for row in table(folder, "urls") if row["site"] == host.target]
        assert sorted(form["loc"] for form in forms) == locs(folder, host.target) == sorted(locs_of(host))
        by_loc = {row["loc"]: row for row in rows}
        for form in forms:
            row = by_loc[form["loc"]]
            assert row["sitemap"] == form["sitemap"]
            assert row["line"] == form["line"]
            assert row["lastmod_precision"] == form.get("lastmod_precision")
    assert manifest["rows"]["urls"] == manifest["urls"] == 120 * len(chosen)
    assert manifest["verdicts"] == {"complete": len(chosen)}


@pytest.mark.slow
def test_columns_and_rows_are_those_that_dump_writes(farm, hosts, out, tmp_path):
    chosen = [hosts[kind] for kind in (*READABLE, "broken")]
    folder, _ = one_shard(out, chosen)
    dumped = tmp_path / "dump.parquet"
    command = ["dump", *(host.target for host in chosen), "--allow-private", "-q", "-o", str(dumped)]
    assert CliRunner().invoke(main, command).exit_code == 3
    one, other = pq.read_table(folder.table("urls", 0)), pq.read_table(dumped)
    assert one.schema == other.schema
    keys = [(name, "ascending") for name in ("site", "sitemap", "line", "loc")]
    assert one.sort_by(keys).equals(other.sort_by(keys))


def test_rows_of_documents_equal_those_of_a_single_run(farm, hosts, out):
    chosen = [hosts[kind] for kind in ("index", "broken", "error", "none")]
    folder, manifest = one_shard(out, chosen)
    outcomes, problems = [], []
    for host in chosen:
        stream = sr.urls(host.target, allow_private=True, limits=HASTY)
        with stream:
            try:
                for _ in stream:
                    pass
            except sr.ReadError:
                pass
            outcomes += [(host.target, each.url, each.format, each.kept, each.complete) for each in stream.outcomes]
            problems += [(host.target, each.code, each.sitemap, each.line) for each in stream.problems.samples]
    read = [(row["site"], row["url"], row["format"], row["kept"], row["complete"]) for row in table(folder, "sitemaps")]
    assert sorted(read, key=str) == sorted(outcomes, key=str)
    found = [(row["site"], row["code"], row["sitemap"], row["line"]) for row in table(folder, "problems")]
    assert sorted(found, key=str) == sorted(problems, key=str)
    assert (manifest["rows"]["sitemaps"], manifest["rows"]["problems"]) == (len(outcomes), len(problems))
    assert manifest["problems"] == len(problems)


def test_extensions_and_extras_have_their_columns(site_server, out):
    server = site_server({})
    more = 'xmlns:image="http://www.google.com/schemas/sitemap-image/1.1" xmlns:x="http://x.example/"'
    entry = f"<url><loc>{server.url}/a</loc><image:image><image:loc>{server.url}/i.png</image:loc></image:image>"
    body = f"<urlset {NS} {more}>{entry}<x:price>5</x:price></url></urlset>".encode()
    server.pages["/sitemap.xml"] = (200, {}, body)
    (row,) = table(one_shard(out, [server.url], extras=True)[0], "urls")
    assert [image["loc"] for image in row["images"]] == [f"{server.url}/i.png"]
    assert [extra["text"] for extra in row["extras"]] == ["5"]
    (row,) = table(one_shard(out.with_name("other"), [server.url])[0], "urls")
    assert not row["extras"]


def test_the_host_as_it_was_spelled_is_the_site_of_its_rows(site, out):
    server = site("/a")
    target = f"{server.url.upper().replace('HTTP', 'http')}/sitemap.xml"
    folder, _ = one_shard(out, [target])
    for name in ("urls", "sitemaps", "hosts"):
        assert {row["site"] for row in table(folder, name)} == {target}


# --- verdicts ---


@pytest.mark.slow
def test_each_kind_of_host_has_its_verdict(farm, hosts, out):
    before = datetime.now(UTC)
    folder, manifest = one_shard(out, [hosts[kind] for kind in READABLE + OTHERS], host_seconds=1.5)
    read = verdicts(folder)
    moments = [row["read_at"] for row in pq.read_table(folder.path / "hosts").to_pylist()]
    assert all(before <= moment <= datetime.now(UTC) for moment in moments)
    assert {kind: read[hosts[kind].target] for kind in READABLE + OTHERS} == {
        **dict.fromkeys(READABLE, "complete"),
        "none": "nothing",
        "broken": "partial",
        "error": "unreadable",
        "refused": "blocked",
        "hang": "given_up",
        "drip": "given_up",
    }
    rows = {row["site"]: row for row in table(folder, "hosts")}
    assert rows[hosts["robots"].target]["why"] is None
    assert rows[hosts["robots"].target]["urls"] == 120
    assert rows[hosts["index"].target]["sitemaps"] == 4
    assert rows[hosts["broken"].target]["why"] == "1 sitemap could be read in part only"
    assert rows[hosts["none"].target]["why"].startswith("no sitemap found for")
    assert "500 Internal Server Error" in rows[hosts["error"].target]["why"]
    assert "connection refused" in rows[hosts["refused"].target]["why"]
    assert manifest["hosts"] == len(rows) == 12
    assert manifest["bytes_wire"] == sum(row["bytes_wire"] for row in rows.values())


@pytest.mark.slow
def test_host_over_host_seconds_is_skipped_and_others_are_read(farm, hosts, out):
    folder, manifest = one_shard(out, [hosts["hang"], hosts["robots"]], host_seconds=0.5)
    why = "after 0.5 s of waiting: reading stops here; raise host_seconds (--host-seconds) to go on"
    assert manifest["given_up"] == [{"site": hosts["hang"].target, "verdict": "given_up", "why": why}]
    (problem,) = table(folder, "problems")
    assert (problem["code"], problem["severity"], problem["message"]) == ("S16", "error", why)
    assert locs(folder) == sorted(locs_of(hosts["robots"]))


@pytest.mark.slow
def test_host_seconds_counts_the_total_waiting_time(farm, hosts, out):
    """No single response takes as long."""
    slow = attrs.evolve(hosts["index"], latency_seconds=0.1, urls=120, per_child=10)
    farm.replace(slow)
    folder, _ = one_shard(out, [slow], host_seconds=0.3)
    farm.replace(hosts["index"])
    (row,) = table(folder, "hosts")
    assert row["verdict"] == "given_up"
    assert row["why"].startswith("after 0.3 s of waiting")


def test_urls_of_a_skipped_host_are_kept(farm, hosts, out):
    folder, manifest = one_shard(out, [hosts["huge"]], host_urls=2_500)
    (row,) = table(folder, "hosts")
    assert row["verdict"] == "given_up"
    assert 2_500 <= row["urls"] == manifest["urls"] == manifest["rows"]["urls"] < 60_000
    assert row["why"].startswith(f"after {row['urls']:,} URLs: reading stops here; raise")
    assert {*locs(folder)} <= {*locs_of(hosts["huge"])}


@pytest.mark.parametrize(("most", "verdict"), [(119, "given_up"), (120, "complete")])
def test_host_urls_limits_the_urls_of_a_host(farm, hosts, out, most, verdict):
    folder, manifest = one_shard(out, [hosts["robots"]], host_urls=most)
    assert [*verdicts(folder).values()] == [verdict]
    assert manifest["urls"] == 120


def test_host_with_an_internal_error_is_named_and_others_are_read(farm, hosts, out, monkeypatch):
    monkeypatch.delenv(RAISE_VARIABLE)
    next_requests = Frontier.next_requests

    def failing(self, now):
        if self.sites[0].origin == hosts["index"].target:
            raise ZeroDivisionError("by us")
        return next_requests(self, now)

    monkeypatch.setattr(Frontier, "next_requests", failing)
    folder, manifest = one_shard(out, [hosts["index"], hosts["robots"]])
    (given_up,) = manifest["given_up"]
    assert (given_up["site"], given_up["verdict"]) == (hosts["index"].target, "failed")
    assert given_up["why"].startswith("internal error ZeroDivisionError (by us)")
    assert verdicts(folder) == {hosts["index"].target: "failed", hosts["robots"].target: "complete"}
    assert locs(folder) == sorted(locs_of(hosts["robots"]))


def test_a_sitemap_without_a_url_is_nothing(site, out):
    folder, _ = one_shard(out, [site().url])
    (row,) = table(folder, "hosts")
    assert (row["verdict"], row["why"]) == ("nothing", "its sitemaps list no URL")


def test_host_with_all_urls_filtered_is_complete(site, out):
    folder, _ = one_shard(out, [site("/a").url], include="/b")
    (row,) = table(folder, "hosts")
    assert (row["verdict"], row["why"], row["urls"]) == ("complete", None, 0)


# --- options ---


@pytest.mark.parametrize("options", [
    {"since": "2023-03-01"},
    {"since": "2023-03-01", "trust_lastmod": "never"},
    {"until": "2023-02-01"},
    {"include": re.compile(r"[0-4]\.html$")},
    {"exclude": ["0\\.html$", re.compile(r"[5-8]\.html$")]},
    {"no_follow": "/sitemaps/0.xml.gz"},
    {"follow": ["/sitemaps/1.xml.gz", "index"]},
], ids=str)
def test_filters_give_the_same_as_for_a_single_host(farm, hosts, out, options):
    host = hosts["index"]
    folder, _ = one_shard(out, [host], **options)
    with sr.urls(host.target, allow_private=True, **options) as urls:
        alone = sorted(url.loc for url in urls)
    assert 0 < len(alone) < 120
    assert locs(folder) == alone


@pytest.mark.parametrize(("scope", "count"), [("protocol", 1), ("any", 2)])
def test_the_scope_is_obeyed(site_server, out, scope, count):
    server = site_server({})
    urls = f"<url><loc>{server.url}/a</loc></url><url><loc>https://other.example/a</loc></url>"
    server.pages["/sitemap.xml"] = (200, {}, f"<urlset {NS}>{urls}</urlset>".encode())
    folder, _ = one_shard(out, [server.url], scope=scope)
    assert len(locs(folder)) == count


def test_keywords_of_the_reader_reach_the_network(site, out):
    server = site("/a")
    one_shard(out, [server.url], user_agent="sixteen-spoons/1", headers={"X-Spoons": "16"}, probe="never")
    assert server.requests() == ["/robots.txt"]
    assert server.received[0].headers["user-agent"] == "sixteen-spoons/1"
    assert server.received[0].headers["x-spoons"] == "16"


# --- politeness ---


def spans(farm, names):
    """The times of the first and the last request to each host."""
    requested = [each for domain in farm.domains().values() for each in domain.requested]
    times = {name: [at for at, target in requested if target == f"http://{name}"] for name in names}
    assert all(times.values())
    return {name: (min(own), max(own)) for name, own in times.items()}


@pytest.mark.slow
def test_hosts_of_a_domain_are_read_one_after_the_other_and_domains_at_once(farm, hosts, out):
    farm.reset()
    folder, _ = one_shard(out, [hosts[name] for name in SHOPS], proxy=farm.proxy)
    assert {*verdicts(folder).values()} == {"complete"}
    for number in range(4):
        own = sorted(spans(farm, [name for name in SHOPS if f"shop{number}." in name]).values())
        assert all(before[1] <= after[0] for before, after in itertools.pairwise(own))
        assert farm.domains()[f"shop{number}.test"].max_in_flight == 1
    assert farm.max_in_flight() > 1


@pytest.mark.slow
@pytest.mark.parametrize("most", [1, 2, 3])
def test_hosts_at_once_is_a_limit(farm, hosts, out, most):
    farm.reset()
    one_shard(out, [hosts[name] for name in SHOPS if name.startswith("a")], proxy=farm.proxy, hosts_at_once=most)
    assert farm.max_in_flight() == most  # these hosts have one request at a time each


def test_each_document_is_requested_once(farm, hosts, out):
    farm.reset()
    one_shard(out, [hosts["index"]])
    requested = farm.requested()[hosts["index"].target]
    assert sorted(requested) == sorted({*requested})
    assert len(requested) == 5


# --- failures ---


def test_finished_shard_is_not_repeated(farm, hosts, out):
    folder, manifest = one_shard(out, [hosts["robots"]])
    farm.reset()
    assert harvest_shard(Shard(folder, 0, config_of())) == manifest
    assert not any(farm.requested().values())
    assert "manifests/part-00000.json" in files(folder)


def test_a_shard_without_hosts_is_done_at_once(out):
    folder = lay_out(out, ["a.example"], config_of(), shards=2)
    empty = next(shard for shard in range(2) if not folder.targets(shard))
    manifest = harvest_shard(Shard(folder, empty, config_of()))
    assert (manifest["hosts"], manifest["verdicts"]) == (0, {})
    assert table(folder, "hosts") == []


@pytest.mark.parametrize("has_state", [False, True])
@pytest.mark.parametrize("method", ["add_urls", "add_host", "add_item", "publish"])
def test_full_disk_ends_the_shard_and_leaves_no_files(farm, hosts, out, monkeypatch, method, has_state):
    """Also with hosts that would never end."""
    right = getattr(ShardWriter, method)

    def full(self, *args):
        right(self, *args)
        raise OSError(errno.ENOSPC, "No space left on device", "urls/part-00000.parquet")

    if method == "publish":

        def full(self, reported):
            raise OSError(errno.ENOSPC, "No space left on device", "urls/part-00000.parquet")

    monkeypatch.setattr(ShardWriter, method, full)
    config = config_of(state=has_state)
    chosen = [hosts["robots"]] if method == "publish" else [hosts["hang"], hosts["robots"]]
    folder = lay_out(out, chosen, config)
    before = files(folder)
    with pytest.raises(OSError, match="No space left"):
        harvest_shard(Shard(folder, 0, config))
    assert files(folder) == before
    assert not any(folder.unfinished.iterdir())


def test_damaged_state_ends_the_shard_and_is_unchanged(farm, hosts, out):
    config = config_of(state=True)
    folder = lay_out(out, [hosts["robots"]], config)
    folder.state_before(0).write_bytes(b"SQLite format 3\0, or so")
    before = files(folder)
    with pytest.raises((sr.StateError, sr.UsageError)):
        harvest_shard(Shard(folder, 0, config))
    assert files(folder) == before
    assert not any(folder.unfinished.iterdir())


@pytest.mark.parametrize("has_state", [False, True])
def test_attempt_whose_folder_is_removed_ends(farm, hosts, out, monkeypatch, has_state):
    """One host hangs, so the shard would take long."""
    monkeypatch.setattr(shard_module, "PROGRESS_SECONDS", 0.02)
    config = config_of(state=has_state)
    folder = lay_out(out, [hosts["robots"], hosts["hang"]], config)
    reported = []

    def take_away(tally):
        if tally.hosts == 1:
            reported.append(tally)
            shutil.rmtree(folder.unfinished, ignore_errors=True)
            assert len(reported) < 10, "the missing folder is not noticed"

    with pytest.raises(HarvestCancelled, match=f"another harvest has taken {out} over"):
        harvest_shard(Shard(folder, 0, config), take_away)
    assert [name.partition("/")[0] for name in files(folder)] == ["harvest.json", "plan"]


@pytest.mark.slow
@pytest.mark.parametrize("has_state", [False, True])
def test_writing_attempt_whose_folder_is_removed_ends(farm, hosts, out, has_state):
    """It notices at a write, before its regular check."""
    config = config_of(state=has_state)
    folder = lay_out(out, [hosts["huge"]], config)

    def take_away(tally):
        shutil.rmtree(folder.unfinished, ignore_errors=True)

    with pytest.raises(HarvestCancelled, match=f"another harvest has taken {out} over"):
        harvest_shard(Shard(folder, 0, config), take_away)
    assert [name.partition("/")[0] for name in files(folder)] == ["harvest.json", "plan"]


def test_progress_of_a_shard_grows_to_its_totals(farm, hosts, out, monkeypatch):
    monkeypatch.setattr(shard_module, "PROGRESS_SECONDS", 0.02)
    reported = []
    chosen = [hosts[kind] for kind in ("index", "broken", "error")] + [hosts[name] for name in SHOPS[:3]]
    _, manifest = one_shard(out, chosen, reported.append, proxy=farm.proxy)
    assert (reported[0].hosts, reported[0].urls) == (0, 0)
    counts = [(tally.hosts, tally.urls, tally.bytes_wire, tally.not_whole) for tally in reported]
    for earlier, later in itertools.pairwise(counts):
        assert all(before <= after for before, after in zip(earlier, later, strict=True)), (earlier, later)
    assert counts[-1] == (6, manifest["urls"], manifest["bytes_wire"], 2)
    assert len({*counts}) > 2


@pytest.mark.slow
def test_progress_includes_hosts_in_progress(farm, hosts, out, monkeypatch):
    monkeypatch.setattr(shard_module, "PROGRESS_SECONDS", 0.02)
    reported = []
    one_shard(out, [hosts["huge"]], reported.append)
    assert any(tally.hosts == 0 and tally.urls > 0 and tally.bytes_wire > 0 for tally in reported)
