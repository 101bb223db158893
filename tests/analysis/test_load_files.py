"""load() and snapshot() of sitemap files, folders, patterns and harvests; states by the dates in names."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pandas")
pytest.importorskip("pyarrow")


import kit
import pyarrow.parquet as pq
from kit import feed, files, gz
from recorded import RECORDED, SITES, dump, snapshot
from tiers import needs_scanner

import sitemap_reader as sr
from sitemap_reader.analysis import date_in_name, date_in_path
from sitemap_reader.model import UrlBatch
from sitemap_reader.parser import batch_of
from sitemap_reader.scale import SUMS, HarvestFolder, HarvestPlan, HostRow, ShardWriter


def urlset(*paths: str, host: str = "a.example") -> bytes:
    return kit.urlset(*(path if "://" in path else f"https://{host}/{path}" for path in paths))


def index(*names: str) -> bytes:
    return kit.index(*(name if "://" in name else f"https://a.example/{name}" for name in names))


def locs(records: Iterable[sr.UrlRecord]) -> list[str]:
    return [record.loc.rpartition("/")[2] for record in records]


DOCUMENTS: dict[str, tuple[str, bytes]] = {
    "XML": ("sitemap.xml", urlset("x")),
    "XML without a suffix": ("download", urlset("x")),
    "gzip": ("sitemap.xml.gz", gz(urlset("x"))),
    "gzip without a suffix": ("download.bin", gz(urlset("x"))),
    "UTF-16": ("sitemap.xml", urlset("x").decode().encode("utf-16")),
    "text": ("urls.txt", b"https://a.example/x\n"),
    "text under a comment": ("urls.txt", b"# all\nhttps://a.example/x\n"),
    "RSS": ("feed", feed("https://a.example/x")),
    "Atom": ("feed", feed("https://a.example/x", kind="atom")),
    "lines named as XML": ("dump.xml", b'{"loc":"https://a.example/x"}\n'),
    "packed lines without a suffix": ("dump", gz(b'{"loc":"https://a.example/x"}\n')),
}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_file_is_recognised_by_its_content(name: str, tmp_path: Path) -> None:
    file, body = DOCUMENTS[name]
    path = files(tmp_path, {file: body}) / file
    for loaded in (sr.load(path), sr.load(str(path)), sr.load(tmp_path), sr.snapshot(str(path)), sr.snapshot(path)):
        assert locs(loaded) == ["x"]
        assert loaded.sites == ("a.example",)


def test_path_stands_for_the_url_of_a_file(tmp_path: Path) -> None:
    path = files(tmp_path, {"a.xml": urlset("x", "/relative", "://")}) / "a.xml"
    loaded = sr.load(path)
    assert loaded.urls.to_pandas("sitemap")["sitemap"].unique().tolist() == [str(path)]
    assert loaded.sitemaps.to_pandas("url")["url"].tolist() == [str(path)]
    assert set(loaded.problems.to_pandas("sitemap")["sitemap"]) == {str(path)}
    assert (loaded.read_at, loaded.complete) == (None, True)
    assert sr.load(path, at="2026-01-15").read_on == sr.snapshot(path, at="2026-01-15").read_on == "2026-01-15"


@needs_scanner
def test_many_urls_are_added_as_columns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = files(tmp_path, {"a.xml": urlset(*map(str, range(20_000)))}) / "a.xml"
    made: list[sr.UrlRecord] = []
    usual = UrlBatch.records
    monkeypatch.setattr(UrlBatch, "records", lambda batch: made.extend(usual(batch)) or usual(batch))
    assert len(sr.load(path).urls) == 20_000
    assert len(made) < 2_000  # the ends of batches


# --- damage ---


def test_what_cannot_be_read_is_a_note_while_something_can(tmp_path: Path) -> None:
    read = {"good.xml": urlset("x"), "cut.xml": urlset("y", "z")[:-30]}
    files(tmp_path, {**read, "empty.xml": "", "page.html": "<!doctype html>"})
    loaded = sr.load(tmp_path)
    assert sorted(locs(loaded)) == ["x", "y"]
    assert loaded.complete is False
    left_out, failed, partial = loaded.notes
    assert failed.startswith(f"1 sitemap could not be read: F11 {tmp_path / 'empty.xml'}")
    assert partial.startswith("1 sitemap could be read in part only: ")
    assert left_out == "1 file left out, neither sitemap nor dump: page.html"


def test_file_without_any_url_raises(tmp_path: Path) -> None:
    with pytest.raises(sr.NothingReadable, match=r"no URL could be read from .*page\.xml: F05"):
        sr.load(files(tmp_path, {"page.xml": "<!doctype html><title>x"}) / "page.xml")
    assert len(sr.load(files(tmp_path, {"none.xml": urlset()}) / "none.xml").urls) == 0


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read all files")
def test_unreadable_file_is_a_note(tmp_path: Path) -> None:
    files(tmp_path, {"a.xml": urlset("x"), "b.xml": urlset("y")})
    (tmp_path / "b.xml").chmod(0)
    assert "Permission denied" in sr.load(tmp_path).notes[0]


def test_file_that_vanishes_is_a_note(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(path: Path, *args: Any) -> Any:
        if path.name == "b.xml":
            raise OSError(5, "Input/output error")
        return usual(path, *args)

    usual, folder = Path.open, files(tmp_path, {"a.xml": urlset("x"), "b.xml": urlset("y")})
    monkeypatch.setattr(Path, "open", fails)
    loaded = sr.load(folder)
    assert (locs(loaded), loaded.complete) == (["x"], False)
    assert loaded.notes[0].startswith(f"1 sitemap could not be read: F04 {tmp_path / 'b.xml'}: Input/output error")


def test_damaged_dump_beside_others_is_a_note(tmp_path: Path) -> None:
    files(tmp_path, {"a.jsonl": '{"loc":"https://a.example/x"}\n', "b.jsonl": '{"loc":"https://a.example/y"}\nhello\n'})
    loaded = sr.load(tmp_path / "*.jsonl")
    assert (locs(loaded), loaded.complete) == (["x"], False)
    assert loaded.notes[0].startswith(f"{tmp_path / 'b.jsonl'}:2: no JSON object")


# --- scope ---


@pytest.mark.parametrize(("scope", "site", "kept"), [
    (None, None, ["1", "2", "3", "4"]), ("any", None, ["1", "2", "3", "4"]), ("host", None, ["1", "2"]),
    ("domain", None, ["1", "2", "3"]), ("host", "www.a.example", ["3"]),
])
def test_scope_keeps_the_urls_of_the_site(scope: Any, site: str | None, kept: list[str], tmp_path: Path) -> None:
    files(tmp_path, {"a.xml": urlset("1", "2", "https://www.a.example/3", "https://b.example/4")})
    loaded = sr.load(tmp_path, scope=scope, site=site)
    assert locs(loaded) == kept
    dropped = 4 - len(kept)
    note = (f'out of scope: {dropped} dropped (host {dropped}; scope="any" keeps it)',) if dropped else ()
    assert loaded.notes == note


def test_scope_that_a_file_cannot_have_is_reported(tmp_path: Path) -> None:
    files(tmp_path, {"a.xml": urlset("x")})
    for call in (sr.load, sr.snapshot):
        with pytest.raises(sr.UsageError, match='and a file has none: scope="host" and scope="domain" keep'):
            call(tmp_path, scope="protocol")
    with pytest.raises(sr.UsageError, match=r"scope= is for sitemaps, and .* read already: leave it out"):
        sr.load(SITES / "shop.jsonl", scope="host")
    with pytest.raises(sr.UsageError, match="scope is one of protocol, host"):
        sr.load(tmp_path, scope="site")  # type: ignore[arg-type]


# --- indexes ---


def test_index_in_a_folder_lists_the_other_files(tmp_path: Path) -> None:
    files(tmp_path, {"map.xml": index("de.xml", "maps/en.xml.gz", "fr.xml"), "de.xml": urlset("1")})
    files(tmp_path, {"maps__en.xml": urlset("2")})
    loaded = sr.load(tmp_path)
    assert sorted(locs(loaded)) == ["1", "2"]
    assert loaded.complete is False
    assert loaded.notes == (f"1 sitemap of {tmp_path / 'map.xml'} is not among the files: https://a.example/fr.xml",)
    files(tmp_path, {"fr.xml": urlset("3")})
    assert (sr.load(tmp_path).complete, sr.load(tmp_path).notes) == (True, ())


def test_children_beside_a_single_index_are_read(tmp_path: Path) -> None:
    files(tmp_path, {"map.xml": index("en.xml", "sub.xml"), "en.xml": urlset("1"), "sub.xml": index("fr.xml")})
    files(tmp_path, {"fr.xml": urlset("2"), "other.xml": urlset("3")})
    loaded = sr.load(tmp_path / "map.xml")
    assert (sorted(locs(loaded)), loaded.complete) == (["1", "2"], True)
    parents = loaded.sitemaps.to_pandas(["url", "parents"]).set_index("url")["parents"]
    listed = {"map.xml": [], "en.xml": ["map.xml"], "sub.xml": ["map.xml"], "fr.xml": ["sub.xml"]}
    assert {url: [*names] for url, names in parents.items()} == {
        str(tmp_path / url): [str(tmp_path / name) for name in names] for url, names in listed.items()
    }
    assert loaded.tree()["depth"].tolist() == [0, 1, 1, 2]


MIRROR = {
    "sitemap.xml": index("states/sitemap.xml"),
    "states/sitemap.xml": index("maine/sitemap.xml", "ohio/sitemap.xml.gz", "utah/sitemap.xml", "news.xml"),
    "maine/sitemap.xml": urlset("1"),
    "ohio/sitemap.xml": urlset("2"),
    "iowa/sitemap.xml": urlset("3"),
}


def test_files_of_a_mirror_are_found_by_their_place(tmp_path: Path) -> None:
    files(tmp_path, MIRROR)
    whole, alone = sr.load(tmp_path / "**"), sr.load(tmp_path / "sitemap.xml")
    assert (sorted(locs(whole)), sorted(locs(alone))) == (["1", "2", "3"], ["1", "2"])
    for loaded in (whole, alone):
        states = tmp_path / "states" / "sitemap.xml"
        assert loaded.notes == (
            f"2 sitemaps of {states} are not among the files: https://a.example/utah/sitemap.xml; "
            "https://a.example/news.xml",
        )
        parents = loaded.sitemaps.to_pandas(["url", "parents"]).set_index("url")["parents"]
        assert [*parents[str(tmp_path / "maine" / "sitemap.xml")]] == [str(states)]
        assert [*parents[str(states)]] == [str(tmp_path / "sitemap.xml")]
    assert whole.tree()["depth"].tolist() == [0, 0, 1, 2, 2]


LAYOUTS: dict[str, tuple[str, list[str], list[str], list[str | None]]] = {
    "a mirror of a folder of the site": (
        "m/map.xml",
        ["m/de/1.xml", "m/2.xml", "m/3.xml"],
        ["shop/de/1.xml", "shop/2.xml", "blog/3.xml"],
        ["m/de/1.xml", "m/2.xml", None],
    ),
    "a mirror with the host": (
        "m/a.example/map.xml",
        ["m/a.example/de.xml", "m/b.example/de.xml"],
        ["https://b.example/de.xml", "de.xml"],
        ["m/b.example/de.xml", "m/a.example/de.xml"],
    ),
    "one name, in no place": ("m/map.xml", ["m/x/1.xml", "m/y/1.xml"], ["z/1.xml"], [None]),
    "a file of the same name is beside it": ("m/map.xml", ["m/x/1.xml", "m/1.xml"], ["z/1.xml"], ["m/1.xml"]),
    "a query": ("map.xml", ["1.php?a=1", "2.php"], ["1.php?a=1", "2.php?a=1"], ["1.php?a=1", "2.php"]),
    "no name of a file": ("m/map.xml", ["1.xml"], ["%2e%2e/1.xml", "x%2f1.xml", ""], [None, None, None]),
    "the index itself": ("map.xml", [], ["map.xml", "x/map.xml"], [None, None]),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_child_is_one_file(layout: str, tmp_path: Path) -> None:
    name, children, listed, expected = LAYOUTS[layout]
    files(tmp_path, {name: index(*listed), **{child: urlset(child) for child in children}})
    loaded = sr.load(tmp_path / "**")
    children_of_index = [str(tmp_path / child) for child in expected if child]
    tree = loaded.tree()
    assert sorted(tree.loc[tree["parent"].notna(), "sitemap"]) == sorted(children_of_index)


def test_names_of_many_files_are_counted(tmp_path: Path) -> None:
    names = [tmp_path / f"{name}.xml" for name in "abcde"]
    for file in names:
        file.write_bytes(urlset(file.stem))
    assert sr.load(names).name == f"{names[0]}, {names[1]}, {names[2]}, and 2 more"


def test_many_absent_children_are_counted(tmp_path: Path) -> None:
    files(tmp_path, {"map.xml": index(*(f"{number}.xml" for number in range(5)))})
    (note,) = [note for note in sr.load(tmp_path / "map.xml").notes if "not among" in note]
    assert note.endswith("https://a.example/2.xml; and 2 more")


def test_an_age_is_one_time_for_all_files(tmp_path: Path) -> None:
    files(tmp_path, {"map.xml": index("de.xml"), "de.xml": urlset("1")})
    loaded = sr.load(tmp_path, at="7d")
    assert (locs(loaded), loaded.notes) == (["1"], ())


# --- several sites, folders, patterns ---


def test_each_item_and_each_folder_of_a_pattern_is_a_site(tmp_path: Path) -> None:
    files(tmp_path, {"b/1.xml": urlset("1", host="b.example"), "a/1.xml": urlset("2"), "a/2.xml": urlset("3")})
    for loaded in (sr.load(tmp_path / "*"), sr.load([tmp_path / "a", tmp_path / "b" / "*.xml"])):
        assert loaded.sites == ("a.example", "b.example")
        assert locs(loaded) == ["2", "3", "1"]
    assert sr.load([tmp_path / "b", tmp_path / "a"]).sites == ("b.example", "a.example")
    assert locs(sr.load(tmp_path / "**")) == ["2", "3", "1"]
    assert sr.load(tmp_path / "*", site="mine").sites == ("mine",)


def test_files_of_several_domains_are_several_sites(tmp_path: Path) -> None:
    files(tmp_path, {"1.xml": urlset("1", "2", host="www.a.example"), "2.xml": urlset("3", host="shop.a.example")})
    files(tmp_path, {"3.xml": urlset("4", "https://cdn.c.example/5", host="b.example"), "4.xml": urlset()})
    (tmp_path / "5.jsonl").write_text('{"loc": "https://e.example/6"}\n{"loc": "https://e.example/7"}\n')
    loaded = sr.load(tmp_path)
    assert loaded.notes == (
        f"3 domains in {tmp_path}: each is a site",
        'www.a.example has files of 2 hosts: by="host" counts each',
    )
    assert loaded.sections().groupby("site", sort=False)["pages"].sum().to_dict() == {
        "www.a.example": 3,
        "b.example": 2,
        "e.example": 2,
    }
    assert sr.load(tmp_path / "*.xml").sites == loaded.sites[:2]
    assert loaded.tree().groupby("site").size().to_dict() == {"www.a.example": 3, "b.example": 1}  # 4.xml has no URL
    assert sr.load(tmp_path, site="mine").sites == ("mine",)


def test_files_of_one_index_are_one_site(tmp_path: Path) -> None:
    shops = {f"{name}.xml": urlset("1", host=f"shop.{name}") for name in ("de", "fr")}
    files(tmp_path, {"map.xml": index(*shops), **shops, "other.xml": urlset("2", "3", host="b.example")})
    loaded = sr.load(tmp_path)
    assert loaded.sections().groupby("site", sort=False)["pages"].sum().to_dict() == {"shop.de": 2, "b.example": 2}
    assert sr.load(tmp_path / "map.xml").notes == ()


def test_states_of_one_site_may_change_its_domain(tmp_path: Path) -> None:
    files(tmp_path, {"2026-01-01.xml": urlset("1"), "2026-02-01.xml": urlset("1", "2", host="b.example")})
    loaded = sr.load(tmp_path, at="name")
    assert (loaded.sites, loaded.growth()["pages"].tolist()) == (("b.example",), [1, 2])


@pytest.mark.parametrize("folder", ["maps", "sitemaps-of-107", "sitemaps-of-231"])
def test_scope_is_that_of_each_site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str) -> None:
    """With two URLs of a file on two hosts, the first one counts; the names with numbers are groups of Arrow whose
    hashes collide, so that they come in another order."""
    monkeypatch.chdir(tmp_path)
    maps = {f"{folder}/{name}.xml": urlset("1", "https://cdn.example/2", host=f"{name}.example") for name in "ab"}
    files(tmp_path, maps)
    assert sorted(record.loc for record in sr.load(folder, scope="host")) == [f"https://{n}.example/1" for n in "ab"]


def test_folder_whose_files_lie_deeper_is_noted(tmp_path: Path) -> None:
    files(tmp_path, {"in/a/1.xml": urlset("1"), "in/b/maps/1.xml": urlset("2"), "in/b/readme": b"-"})
    loaded = sr.load(tmp_path / "in" / "*/")
    assert locs(loaded) == ["1"]
    assert loaded.notes == (
        "1 file left out, neither sitemap nor dump: readme",
        f"1 folder left out, as the files lie deeper: load '{tmp_path / 'in' / 'b' / '**'}'",
    )
    assert locs(sr.load(tmp_path / "in" / "b" / "**")) == ["2"]


@pytest.mark.slow
def test_every_kind_can_be_loaded_at_once(tmp_path: Path) -> None:
    snapshot("nesting").to_parquet(tmp_path / "stored")
    files(tmp_path, {"map.xml": urlset("1", host="b.example")})
    loaded = sr.load([SITES / "shop", tmp_path / "stored", tmp_path / "map.xml", dump(tmp_path, "broken")])
    assert loaded.sites == ("shop.example", "nesting.example", "b.example", "broken.example")
    assert len(loaded.urls) == 640 + 3 + 1 + 146
    mixed = sr.snapshot([tmp_path / "map.xml", SITES / "shop"], show_progress=False)
    assert mixed.sites == ("b.example", "shop.example")
    assert mixed.name == f"{tmp_path / 'map.xml'}, shop.example"


@pytest.mark.slow
def test_recorded_site_is_loaded_as_a_snapshot() -> None:
    loaded = sr.load(SITES / "broken")
    usual = snapshot("broken")
    assert loaded.urls.to_arrow().equals(usual.urls.to_arrow())
    assert (loaded.notes, loaded.read_at, loaded.complete) == (usual.notes, RECORDED, False)
    assert len(sr.load(SITES / "broken", scope="any").urls) > len(usual.urls)
    for call in (sr.load, sr.snapshot):
        assert call(SITES / "shop", at="2026-01-01").read_on == "2026-01-01"
        assert call(str(SITES / "shop"), at="name").read_at == usual.read_at


def test_recordings_in_dated_folders_are_states(tmp_path: Path) -> None:
    for day in ("2026-01-01", "2026-02-01"):
        shutil.copytree(SITES / "nesting", tmp_path / day)
    for call in (sr.load, sr.snapshot):
        loaded = call(tmp_path / "*", at="name")
        assert (loaded.name, loaded.sites) == ("nesting.example", ("nesting.example",))
        assert loaded.growth()["pages"].tolist() == [3, 3]


def test_files_of_a_recorded_site_that_a_pattern_matches_are_not_read_twice(tmp_path: Path) -> None:
    shutil.copytree(SITES / "nesting", tmp_path / "sites" / "nesting")
    loaded = sr.load(tmp_path / "**")
    assert (loaded.sites, len(loaded.urls)) == (("nesting.example",), 3)
    assert len(loaded.sitemaps) == len(snapshot("nesting").sitemaps)


def test_folder_named_as_a_host_is_a_host_for_snapshot_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    files(tmp_path, {"a.example/1.xml": urlset("1")})
    assert locs(sr.load("a.example")) == ["1"]
    assert locs(sr.snapshot(Path("a.example"))) == ["1"]
    assert sr.analysis.sources._is_on_disk("a.example") is False  # type: ignore[attr-defined]


@pytest.mark.parametrize(("path", "message"), [
    ("none.xml", "there is no file or folder .*none.xml; give sitemaps"),
    ("*.none", "no file matches .*none; give sitemaps"),
    ("note.md", "note.md is neither a sitemap nor a dump; give sitemaps"),
    ("*.md", "of what .* matches, nothing is a sitemap or a dump; give sitemaps"),
    ("outer", "there is neither a sitemap nor a dump in .*outer; '.*outer/\\*\\*' also takes its folders"),
])
def test_wrong_path_is_reported_with_what_is_accepted(path: str, message: str, tmp_path: Path) -> None:
    files(tmp_path, {"note.md": "# Notes", "outer/inner/a.xml": urlset("1")})
    for call in (sr.load, sr.snapshot):
        with pytest.raises(sr.UsageError, match=message):
            call(tmp_path / path)


def test_keywords_that_select_urls_are_refused_for_files(tmp_path: Path) -> None:
    files(tmp_path, {"a.xml": urlset("x")})
    with pytest.raises(sr.UsageError, match=r"include is for sites, and .* is on the disk: filter\(include="):
        sr.snapshot(tmp_path, include="x")
    with pytest.raises(sr.UsageError, match=r"at= is for files, and a\.example is a site"):
        sr.snapshot("a.example", at="2026-01-01")
    with pytest.raises(sr.UsageError, match=r"https://a\.example/ is a URL, and load"):
        sr.load("https://a.example/")
    with pytest.raises(sr.UsageError, match="a path is a file, a folder or a pattern, not 3"):
        sr.load([3])  # type: ignore[list-item]


# --- harvests ---


# When the host of each shard was read.
READ = [datetime(2026, 1, 15, 11, tzinfo=UTC), datetime(2026, 1, 15, 12, tzinfo=UTC)]


def harvested(folder: Path, **settings: Any) -> Path:
    """A harvest of two shards with one host each, as its folder is written."""
    harvest = HarvestFolder(folder, "run")
    plan = HarvestPlan(2, "0", 2, {"state": False, **settings}, {}, "2026-01-15T10:43:46Z")
    harvest.begin(plan, [["a.example"], ["b.example"]])
    harvest.clean_up(2)
    for shard, site in enumerate(["a.example", "b.example"]):
        writer = ShardWriter(harvest, shard, state_shared_by=None)
        writer.add_urls(batch_of(None, [sr.UrlRecord(f"https://{site}/x")]), site)
        writer.add_item(sr.Outcome(f"https://{site}/sitemap.xml"), site)
        writer.add_host(HostRow(site, site, "complete", None, 1, 1, 0, 10, READ[shard], 1.5))
        writer.publish({"hosts": 1, "verdicts": {}, "given_up": [], **dict.fromkeys(SUMS, 0)})
        writer.close()
    return folder


def test_all_shards_of_a_harvest_are_loaded_at_its_start(tmp_path: Path) -> None:
    loaded = sr.load(harvested(tmp_path / "harvest"))
    assert loaded.sites == ("a.example", "b.example")
    assert loaded.read_at == datetime(2026, 1, 15, 10, 43, 46, tzinfo=UTC)
    assert loaded.notes == ()
    (tmp_path / "harvest" / "manifests" / "part-00001.json").unlink()
    part = sr.load(tmp_path / "harvest")
    assert (part.sites, part.complete) == (("a.example",), False)
    assert part.notes == ("1 shard of 2 not done: a harvest with resume=True reads them",)


def test_each_site_of_a_harvest_has_its_time(tmp_path: Path) -> None:
    loaded = sr.load(harvested(tmp_path / "harvest"))
    assert loaded.read_until == READ[1] + timedelta(seconds=1.5)
    for table in (loaded.urls, loaded.sitemaps):
        assert table["read_at"].tolist() == READ
    loaded.to_parquet(tmp_path / "stored")
    again = sr.load(tmp_path / "stored")
    assert again.sitemaps["read_at"].tolist() == again.urls["read_at"].tolist() == READ
    assert all("read_at" not in line for line in again.dicts())


def test_harvest_of_an_older_version_has_no_times_of_sites(tmp_path: Path) -> None:
    folder = harvested(tmp_path / "harvest")
    for file in (folder / "hosts").iterdir():
        pq.write_table(pq.read_table(file).drop_columns("read_at"), file)
        manifest = folder / "manifests" / f"{file.stem}.json"
        sizes = json.loads(manifest.read_text())
        sizes["bytes"]["hosts"] = file.stat().st_size
        manifest.write_text(json.dumps(sizes))
    loaded = sr.load(folder)
    assert (loaded.sites, loaded.read_until) == (("a.example", "b.example"), loaded.read_at)
    assert "read_at" not in loaded.urls.columns


def test_filters_of_a_harvest_are_stated(tmp_path: Path) -> None:
    settings = {"since": "7d", "until": None, "include": ["/p/"], "exclude": [], "scope": "any"}
    assert sr.load(harvested(tmp_path / "some", **settings)).choice == "since '7d', include '/p/'"
    assert sr.load(harvested(tmp_path / "all")).choice is None


# --- states by name ---


@pytest.mark.parametrize(("name", "date"), [
    ("2026-01-15T104346.xml.gz", "2026-01-15T10:43:46Z"),
    ("2026-01-15T10:43:46Z", "2026-01-15T10:43:46Z"),
    ("2026-01-15T10-43-46", "2026-01-15T10:43:46Z"),
    ("2026-01-15 10:43", "2026-01-15T10:43Z"),
    ("2026-01-15T1043+0200.xml", "2026-01-15T10:43+02:00"),
    ("20260115104346.xml", "2026-01-15T10:43:46Z"),
    ("20260115T104346Z-shop.xml", "2026-01-15T10:43:46Z"),
    ("shop_2026-01-15.xml", "2026-01-15"),
    ("2026_01_15.xml", "2026-01-15"),
    ("20260115.xml", "2026-01-15"),
    ("shop-2026-01.xml", "2026-01"),
    ("2026-01-02.xml", "2026-01-02"),
    ("from-2025-12-to-2026-01-15", "2026-01-15"),
    ("2026.xml", None),
    ("202601.xml", None),
    ("2026-13-01.xml", None),
    ("2026-02-30.xml", None),
    ("12026-01-15", None),
    ("20260115104346777.xml", None),
    ("sitemap-12.xml", None),
])
def test_date_in_a_name(name: str, date: str | None) -> None:
    assert date_in_name(name) == date


def test_date_of_a_folder_is_narrowed_by_a_date_in_it() -> None:
    assert date_in_path(["2026-01", "2026-01-15.xml"]) == "2026-01-15"
    assert date_in_path(["2026-01-15", "posts-2019-03.xml"]) == "2026-01-15"
    assert date_in_path(["shop", "2026-01-15.xml"]) == "2026-01-15"
    assert date_in_path(["shop", "posts.xml"]) is None


def archive(folder: Path) -> Path:
    listed = {"2026-01-01": "12", "2026-03-01": "234", "2026-02-01": "23", "2026-03-01-de": "15"}
    return files(folder, {f"{name}.xml": urlset(*paths) for name, paths in listed.items()})


def first_seen(loaded: sr.Snapshot) -> dict[str, str | None]:
    frame = loaded.pages.to_pandas(["loc", "first_seen"])
    return {
        loc.rpartition("/")[2]: f"{seen:%Y-%m}" if seen == seen else None
        for loc, seen in zip(frame["loc"], frame["first_seen"], strict=True)
    }


def test_files_of_one_date_are_a_state_and_the_newest_has_the_earlier_ones(tmp_path: Path) -> None:
    newest = sr.load(archive(tmp_path) / "*.xml", at="name")
    assert sorted(locs(newest)) == ["1", "2", "3", "4", "5"]
    assert [each.read_on for each in (*newest.earlier, newest)] == ["2026-01-01", "2026-02-01", "2026-03-01"]
    assert newest.earlier[0].earlier == ()
    assert repr(newest) == (
        f"<Snapshot of a.example ({newest.name}): 5 URLs; read 2026-03-01; 2 earlier states since 2026-01-01>"
    )
    assert "read 2026-03-01: complete; 2 earlier states since 2026-01-01<" in newest._repr_html_()
    assert newest.growth()["pages"].tolist() == [2, 2, 5]
    assert newest.growth([])["pages"].tolist() == [5]
    assert newest.churn()[["new", "removed", "unchanged"]].to_numpy().tolist() == [[3, 0, 2]]
    # URLs of the oldest state have no date, even where they were absent in between.
    assert first_seen(newest) == {"1": None, "2": None, "3": "2026-02", "4": "2026-03", "5": "2026-03"}
    assert first_seen(newest.earlier[1]) == {"2": None, "3": "2026-02"}
    assert "first_seen" in newest.urls.columns
    assert str(newest.urls.to_arrow().schema.field("first_seen").type) == "timestamp[us, tz=UTC]"


def test_first_seen_and_earlier_survive_what_is_done_with_a_snapshot(tmp_path: Path) -> None:
    newest = sr.load(archive(tmp_path / "in"), at="name")
    some = newest.filter(include="/[35]$")
    assert first_seen(some) == {"3": "2026-02", "5": "2026-03"}
    assert some.growth()["pages"].tolist() == [0, 1, 2]
    for name in ("stored", "urls.parquet"):
        newest.to_parquet(tmp_path / name)
        again = sr.load(tmp_path / name)
        assert first_seen(again) == first_seen(newest)
        assert again.urls.to_arrow().equals(newest.urls.to_arrow())
    assert all("first_seen" not in line for line in newest.dicts())


def test_single_state_has_no_earlier_one(tmp_path: Path) -> None:
    only = sr.load(archive(tmp_path) / "2026-01-01.xml", at="name")
    assert (only.earlier, only.read_on) == ((), "2026-01-01")
    assert "first_seen" not in only.urls.columns
    with pytest.raises(sr.UsageError, match=r'churn\(\) compares with an earlier Snapshot.*at="name"'):
        only.churn()


def test_name_without_a_date_is_reported(tmp_path: Path) -> None:
    files(tmp_path, {"2026-01-01.xml": urlset("1"), "now.xml": urlset("2")})
    with pytest.raises(sr.UsageError, match=r"now\.xml has no date in its name, .* or 2026-01; or give at="):
        sr.load(tmp_path, at="name")


def test_dated_folders_are_states_of_one_site(tmp_path: Path) -> None:
    files(tmp_path, {"2026-01/a.xml": urlset("1"), "2026-02/a.xml": urlset("2"), "2026-02/b.xml": urlset("1")})
    for pattern in ("*", "*/*.xml", "**"):
        loaded = sr.load(tmp_path / pattern, at="name")
        assert loaded.growth()["pages"].tolist() == [1, 2], pattern
    assert sr.snapshot(tmp_path / "*", at="name").growth()["pages"].tolist() == [1, 2]


def test_stored_time_counts_where_the_name_has_none(tmp_path: Path) -> None:
    for name, day in {"old": "2026-01-01", "new": "2026-02-01"}.items():
        path = files(tmp_path, {f"{name}.xml": urlset("1", name)}) / f"{name}.xml"
        sr.load(path, at=day).to_parquet(tmp_path / name)
    loaded = sr.load([tmp_path / "new", tmp_path / "old"], at="name")
    assert [each.read_on for each in (*loaded.earlier, loaded)] == ["2026-01-01", "2026-02-01"]
    assert first_seen(loaded) == {"1": None, "new": "2026-02"}


def test_newest_state_has_the_newest_of_each_site(tmp_path: Path) -> None:
    files(tmp_path, {"a/2026-01-01.xml": urlset("1"), "a/2026-02-01.xml": urlset("1", "2")})
    files(tmp_path, {"b/2026-03-01.xml": urlset("3", host="b.example")})
    loaded = sr.load([tmp_path / "a", tmp_path / "b"], at="name")
    assert loaded.sites == ("a.example", "b.example")
    assert first_seen(loaded) == {"1": None, "2": "2026-02", "3": None}
    assert [len(each.urls) for each in loaded.earlier] == [1]
    assert repr(loaded).endswith("; 1 earlier state since 2026-01-01>")
    assert loaded.filter(site="a.example").growth()["pages"].tolist() == [1, 2]
    assert loaded.filter(site="b.example").earlier == ()


def test_state_that_cannot_be_read_is_left_out_with_a_note(tmp_path: Path) -> None:
    files(archive(tmp_path), {"2026-02-15.xml": ""})
    loaded = sr.load(tmp_path, at="name")
    assert len(loaded.earlier) == 2
    (note,) = loaded.notes
    assert note.startswith(f"no URL could be read from {tmp_path / '2026-02-15.xml'}: F11")
