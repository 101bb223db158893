"""Archives: a page is followed through the states of a site, also where it moves; what came, went and returned."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from random import Random

import kit
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sitemap_reader as sr

START = "https://old.example/"


def load(folder: Path, states: dict[str, list[str]], name: str = "archive") -> sr.Snapshot:
    """An archive of urlsets; the name of each states its day, its URLs are paths or whole ones."""
    bodies = {
        f"{day}.xml": kit.urlset(*(path if "://" in path else START + path for path in paths))
        for day, paths in states.items()
    }
    (folder / name).mkdir(parents=True, exist_ok=True)
    return sr.load(kit.files(folder / name, bodies), at="name")


def numbered(count: int, start: str = START) -> list[str]:
    return [f"{start}post/{number}" for number in range(count)]


def counts(measure: pd.DataFrame) -> list[tuple[str, int, int, int]]:
    return [(f"{row.period:%Y-%m}", row.new, row.returned, row.removed) for row in measure.itertuples()]


def test_pages_that_came_went_and_returned_are_counted_by_period(tmp_path: Path) -> None:
    states = {"2026-01-31": "ab", "2026-02-10": "abcd", "2026-02-20": "bcd", "2026-04-05": "abe"}
    site = load(tmp_path, {day: [*paths] for day, paths in states.items()})
    made = site.turnover()
    assert counts(made) == [("2026-02", 2, 0, 1), ("2026-03", 0, 0, 0), ("2026-04", 1, 1, 2)]
    assert made.finding == (
        "3 pages new, 1 page returned, 3 pages removed; most new in 2026-02 (2) and removed in 2026-04 (2)"
    )
    assert made["new"].sum() + made["returned"].sum() - made["removed"].sum() == 3 - 2
    assert site.turnover("y")["removed"].tolist() == [3]
    assert site.turnover("day").finding.endswith("; most new on 2026-02-10 (2) and removed on 2026-04-05 (2)")
    week = "; most new in the week from 2026-02-09 (2) and removed in the week from 2026-03-30 (2)"
    assert site.turnover("week").finding.endswith(week)
    assert ": 3 new, 2 removed" in site.growth().finding
    assert site.growth()[["new", "removed"]].sum().tolist() == [4, 3]
    assert "the finding counts a page once" in site.growth().rule
    events = made[made["period"] == "2026-04-01"].list_urls()
    assert [(row.change, row.loc[-1]) for row in events.sort_values("loc").itertuples()] == [
        ("returned", "a"),
        ("removed", "c"),
        ("removed", "d"),
        ("new", "e"),
    ]


def test_history_has_each_page_that_any_state_listed(tmp_path: Path) -> None:
    site = load(tmp_path, {"2026-01-01": ["x/a", "x/b"], "2026-02-01": ["x/b", "y/c"], "2026-03-01": ["x/b"]})
    found = site.history.to_pandas().set_index("page_key")
    assert list(found.columns) == ["site", "loc", "section", "language", "first_seen", "last_seen", "removed_at"]
    days = found[["first_seen", "last_seen", "removed_at"]].apply(lambda column: column.dt.strftime("%m"))
    assert {key.rpartition("/")[2]: [*row] for key, row in days.fillna("").iterrows()} == {
        "a": ["", "01", "02"],
        "b": ["", "03", ""],
        "c": ["02", "02", "03"],
    }
    assert site.sql("SELECT count(*) AS pages FROM history WHERE removed_at IS NULL")["pages"].item() == 1
    assert len(sr.load(tmp_path / "archive" / "2026-01-01.xml").history) == 2


@pytest.mark.parametrize(
    "new", ["https://www.new.example/", "http://old.example/", "https://www.old.example/", "https://new.example/"]
)
def test_a_site_that_moves_keeps_its_pages(new: str, tmp_path: Path) -> None:
    moved = [f"{loc}/" for loc in numbered(9, new)]  # with a slash, too
    site = load(tmp_path, {"2026-01-01": numbered(6), "2026-02-01": numbered(7), "2026-03-01": moved})
    assert site.new("2026-02-15").finding == "2 of 9 pages new since 2026-02-15, all in /post/"
    assert site.churn().finding == "2 new pages; of 7 earlier pages 0 updated, 0 removed"
    assert counts(site.turnover()) == [("2026-02", 1, 0, 0), ("2026-03", 2, 0, 0)]
    assert site.growth().finding.startswith("From 6 to 9 pages (+3, +50%) in 59 days: 3 new, 0 removed")
    assert len(site.history) == 9
    assert len(site.notes) == 1
    assert "old.example" in site.notes[0]
    assert "pages with the same path are the same" in site.notes[0]


def test_a_move_is_found_in_files_that_name_the_site_after_its_host(tmp_path: Path) -> None:
    for day, start in (("2026-01-01", START), ("2026-02-01", "https://new.example/")):
        (tmp_path / "archive").mkdir(exist_ok=True)
        (tmp_path / "one").write_bytes(kit.urlset(*numbered(5 + day.endswith("02-01"), start)))
        sr.load(tmp_path / "one", at=day).to_parquet(tmp_path / "archive" / f"{day}.parquet")
    site = sr.load(tmp_path / "archive", at="name")
    assert site.sites == ("new.example",)
    assert [state.sites for state in site.earlier] == [("new.example",)]
    assert site.churn().finding == "1 new page; of 5 earlier pages 0 updated, 0 removed"


def test_hosts_that_stay_or_share_few_paths_did_not_move(tmp_path: Path) -> None:
    other = numbered(9, "https://other.example/")
    for states in (
        {"2026-01-01": numbered(6), "2026-02-01": [*numbered(6), *other]},  # a second host
        {"2026-01-01": [*numbered(6), *other], "2026-02-01": other},  # a mirror is switched off
        {"2026-01-01": numbered(6), "2026-02-01": [*other[:2], *(f"https://other.example/{n}" for n in range(9))]},
        {"2026-01-01": [START], "2026-02-01": ["https://other.example/"]},  # every host has a start page
    ):
        site = load(tmp_path, states, name=states["2026-01-01"][-1][8:13] + str(len(states["2026-02-01"])))
        assert not any("moved" in note for note in site.notes)
        assert len(site.history) == len({*states["2026-01-01"], *states["2026-02-01"]})


def test_a_site_that_moves_back_has_one_name_for_its_pages(tmp_path: Path) -> None:
    new = numbered(5, "https://new.example/")
    site = load(tmp_path, {"2026-01-01": numbered(5), "2026-02-01": new, "2026-03-01": numbered(5)})
    assert {*site.history["page_key"]} == {f"old.example/post/{number}" for number in range(5)}
    assert site.turnover().finding == "No page came or went"


def test_a_page_that_an_incomplete_state_lacks_is_not_removed(tmp_path: Path) -> None:
    states = {"2026-01-01": "abc", "2026-02-01": "a", "2026-03-01": "ab"}
    for day, paths in states.items():
        outcome = sr.Outcome("https://old.example/s.xml", complete=day != "2026-02-01")
        (tmp_path / f"{day}.jsonl").write_bytes(
            b"".join(sr.json_line(item) for item in [*(sr.UrlRecord(START + path) for path in paths), outcome])
        )
    site = sr.load(tmp_path, at="name")
    assert counts(site.turnover()) == [("2026-03", 0, 0, 1)]
    assert "is not removed" in site.growth().rule
    first, partly = site.earlier
    made = partly.churn(first)
    assert made[["removed", "unchanged"]].to_numpy().tolist() == [[0, 1]]
    assert made.finding == "0 new pages; of 3 earlier pages 0 updated, 0 removed, 2 not read again"
    assert f"Not counted as removed: 2 pages missing from {partly.name}, which was not read completely." in made.rule
    assert made.list_urls().empty
    made = site.churn()
    assert made.finding == "1 new page, or not read before; of 1 earlier page 0 updated, 0 removed"
    assert "was not read completely: it may have had pages that count as new" in made.rule
    assert "completely" not in site.churn(first).rule


def test_a_site_that_was_not_read_again_is_not_removed() -> None:
    earlier = sr.load(pd.DataFrame({"url": [f"{START}a", "https://b.example/b"], "site": ["a", "b"]}), at="2026-01-01")
    later = sr.load(pd.DataFrame({"url": [f"{START}a"], "site": ["a"]}), at="2026-02-01")
    made = later.churn(earlier)
    assert made.finding.endswith("b: 0 new pages; of 1 earlier page 0 updated, 0 removed, 1 not read again")
    assert "1 page missing from DataFrame, which lacks their site" in made.rule


def test_the_numbers_of_growth_add_up() -> None:
    """Also of pages that are listed in several spellings: in twenty states, of random ones of six pages."""
    spellings = ["https://old.example/{}/{}", "http://www.old.example/{}/{}/", "https://old.example/{}/{}#top"]
    listed = [spelling.format(number % 2, number) for number in range(6) for spelling in spellings]
    chance = Random(1)  # noqa: S311 - no secret
    read = [sr.load(chance.choices(listed, k=chance.randint(1, 9)), at=f"2026-01-{n:02}") for n in range(1, 21)]
    for by in (None, "section"):
        made = read[-1].growth(read[:-1], by=by)
        steps = made.groupby(by or "site")["pages"].diff() - made["new"] + made["removed"]
        assert steps.dropna().unique().tolist() == [0]
        assert made["pages"].max() <= 6
    assert read[0].growth()["pages"].tolist() == [len(read[0].pages)]


def test_survival_follows_pages_as_long_as_they_were_watched(tmp_path: Path) -> None:
    """Of four pages that appear in January two leave after 31 days; one of February is watched for 28 days."""
    states = {
        "2026-01-01": ["first"],
        "2026-01-02": ["first", *"abcd"],
        "2026-02-02": ["first", *"ab"],
        "2026-02-03": ["first", *"abe"],
        "2026-03-03": ["first", *"abe"],
    }
    made = load(tmp_path, states).survival()
    assert list(made.itertuples(index=False, name=None)) == [
        ("old.example", 7, 5, 0, 1.0),
        ("old.example", 30, 4, 0, 1.0),
    ]
    week = {"2026-01-01": ["first"], "2026-01-08": ["first", "a"], "2026-01-15": ["first", "a"]}
    assert load(tmp_path, week, name="week").survival()["pages"].tolist() == [1]
    states["2026-05-02"] = ["first", "a"]
    made = load(tmp_path, states, name="longer").survival()
    assert [*made["days"]] == [7, 30, 90]
    assert made["share"].tolist() == pytest.approx([1, 1, 3 / 5 * 2 / 3])
    assert made["pages"].tolist() == [5, 5, 5]
    assert made["removed"].tolist() == [0, 0, 3]
    assert made.finding == "Still listed of the pages that appeared: 100% after 30 days, 40% after 90 days"


def test_part_of_an_archive_knows_since_when_its_site_was_read(tmp_path: Path) -> None:
    """The blog began in February: its pages are new then, though no earlier state lists one of the blog."""
    site = load(tmp_path, {"2026-01-01": ["shop/1"], "2026-02-01": ["shop/1", "blog/1", "blog/2"]})
    for blog in (site.filter(include="/blog/"), site.filter(section="/blog/")):
        assert counts(blog.turnover()) == [("2026-02", 2, 0, 0)]
        assert blog.new("2026-01-15")["new"].tolist() == [2]
        assert blog.history["first_seen"].notna().all()


def test_a_part_of_an_archive_has_no_moves_of_its_own(tmp_path: Path) -> None:
    """The blog goes from one host to another, which both stay: its pages are others, in the whole and in the part."""
    shops = [*numbered(6), *numbered(6, "https://b.example/")]
    blog = [f"{START}blog/{n}" for n in range(3)], [f"https://b.example/blog/{n}" for n in range(3)]
    site = load(tmp_path, {"2026-01-01": [*shops, *blog[0]], "2026-02-01": [*shops, *blog[1]]})
    part = site.filter(include="/blog/")
    for each in (site, part):
        assert each.churn()[["new", "removed"]].sum().tolist() == [3, 3]
        assert counts(each.turnover()) == [("2026-02", 3, 0, 3)]
        assert each.history["removed_at"].notna().sum() == 3


def test_a_part_of_which_nothing_is_left_says_what_was_removed(tmp_path: Path) -> None:
    states = {"2026-01-01": ["shop/1", "blog/1", "blog/2"], "2026-02-01": ["shop/1"]}
    blog = load(tmp_path, states).filter(include="/blog/")
    assert blog.sites == ("old.example",)
    assert blog.churn().finding == "0 new pages; of 2 earlier pages 0 updated, 2 removed"
    assert blog.growth().finding.startswith("From 2 to 0 pages (-2, -100%) in 31 days: 0 new, 2 removed")
    assert counts(blog.turnover()) == [("2026-02", 0, 0, 2)]
    assert blog.sections().finding == "There is no page"


def test_many_hosts_that_move_at_once(tmp_path: Path) -> None:
    old, new = ([f"https://{n}.{name}.example/{n}/{page}" for n in range(60) for page in "abc"] for name in ("x", "y"))
    site = load(tmp_path, {"2026-01-01": old, "2026-02-01": [*new, "https://y.example/"]})
    assert len(site.notes) == 60
    assert counts(site.turnover()) == [("2026-02", 1, 0, 0)]


def test_growth_of_snapshots_without_a_time_goes_from_the_others_to_this_one(tmp_path: Path) -> None:
    one, two = (sr.load(kit.dump(tmp_path / f"{n}.jsonl", *({"loc": each} for each in numbered(n)))) for n in (3, 6))
    assert two.growth(one).finding.startswith("From 3 to 6 pages (+3, +100%)")


def test_growth_of_a_site_that_got_another_name(tmp_path: Path) -> None:
    for name, day in (("one.example", "2026-01-01"), ("two.example", "2026-02-01")):
        (tmp_path / name).write_bytes(kit.urlset(*numbered(4, f"https://{name}/")))
        sr.load(tmp_path / name, at=day, site=name).to_parquet(tmp_path / f"{name}.parquet")
    one, two = (sr.load(tmp_path / f"{name}.example.parquet") for name in ("one", "two"))
    for made in (two.growth(one), one.growth(two)):
        assert made["pages"].tolist() == [4, 4]
        assert made.finding == "4 pages at the beginning and at the end of 31 days: the same ones"


def test_list_urls_has_pages_of_unknown_language(tmp_path: Path) -> None:
    site = load(tmp_path, {"2026-01-01": ["x/a"], "2026-02-01": ["x/a", "x/b"]})
    made = site.turnover(by="language")
    assert [*made["language"]] == ["unknown"]
    assert [*made.list_urls()["page_key"]] == ["old.example/x/b"]


def test_measures_over_time_need_several_states(tmp_path: Path) -> None:
    site = load(tmp_path, {"2026-01-01": ["a"]})
    for measure in (site.turnover, site.survival):
        with pytest.raises(sr.UsageError, match="needs several states of the site: keep an archive"):
            measure()


def test_what_is_new_after_the_last_reading_is_unknown(tmp_path: Path) -> None:
    site = load(tmp_path, {"2025-12-01": ["a"], "2026-01-11": ["a", "b"]})
    unknown = "since 2026-07-01 00:00 UTC is unknown: the last reading was on 2026-01-11"
    with pytest.raises(sr.UsageError, match=unknown):
        site.new("2026-07-01")
    assert site.new("2026-01-11")["new"].tolist() == [1]


def test_list_urls_has_what_the_rows_of_a_measure_count(tmp_path: Path) -> None:
    site = load(tmp_path, {"2026-01-01": ["x/a", "x/b"], "2026-02-01": ["x/b", "x/c", "y/d"]})
    new = site.new("2026-01-15")
    assert [*new.list_urls()["page_key"]] == ["old.example/x/c", "old.example/y/d"]
    assert [*new[new["section"] == "/y/"].list_urls()["page_key"]] == ["old.example/y/d"]
    changed = site.churn().list_urls()
    assert [(row.section, row.change, row.loc[-1]) for row in changed.itertuples()] == [
        ("/x/", "new", "c"),
        ("/x/", "removed", "a"),
        ("/y/", "new", "d"),
    ]
    with pytest.raises(sr.UsageError, match=r"new\(\), churn\(\) and turnover\(\) of a Snapshot have one"):
        site.sections().list_urls()


def test_a_lastmod_that_a_build_rewrites_is_no_update(tmp_path: Path) -> None:
    def state(day: str, *more: sr.UrlRecord) -> sr.Snapshot:
        moment = datetime.fromisoformat(day).replace(tzinfo=UTC)
        records = [sr.UrlRecord(f"{START}{n}", moment, "day", sitemap="s.xml") for n in range(30)]
        return sr.load(kit.dump(tmp_path / f"{day}.jsonl", *records, *more), at=day)

    earlier, later = state("2026-07-24"), state("2026-07-25", sr.UrlRecord(f"{START}x", priority=0.5))
    made = later.churn(earlier)
    assert made[["new", "updated", "redated", "removed", "unchanged"]].to_numpy().tolist() == [[1, 0, 30, 0, 0]]
    assert made.finding == (
        "1 new page; of 30 earlier pages 0 updated, 0 removed, 30 with only another lastmod, which cannot be trusted"
    )
    assert {*made.list_urls()["change"]} == {"new", "redated"}


# --- the key of a page ---


@pytest.mark.parametrize(
    ("url", "key"),
    [
        ("https://a.example", "a.example/"),
        ("HTTP://WWW.A.example:80/b/#c", "a.example/b"),
        ("https://a.example:8443/b?x=1&y", "a.example:8443/b?x=1&y"),
        ("https://user:secret@a.example/b?", "a.example/b"),
        ("https://a.example/caf%C3%A9/%7Ex", "a.example/café/~x"),
        ("https://a.example/cafe\u0301", "a.example/café"),
        ("https://a.example/%FF", "a.example/\ufffd"),
        ("https://www.example/", "www.example/"),
        ("no URL", "no URL"),
    ],
)
def test_page_key_is_that_of_the_column(url: str, key: str, tmp_path: Path) -> None:
    assert sr.page_key(url) == key
    assert sr.page_key(pd.Series([url, None], index=[7, 8])).fillna("").to_dict() == {7: key, 8: ""}
    assert sr.load(kit.dump(tmp_path / "urls.jsonl", {"loc": url})).urls["page_key"].tolist() == [key]


def test_page_key_of_a_path_needs_the_site() -> None:
    assert sr.page_key("/b/?x=1", "https://www.a.example") == "a.example/b?x=1"
    assert sr.page_key(pd.Series(["/b", "https://c.example/"]), "https://a.example").tolist() == [
        "a.example/b",
        "c.example/",
    ]


@given(st.text("aé%/?#.w:", max_size=12), st.sampled_from(["", "www."]), st.sampled_from(["http", "https"]))
def test_page_key_does_not_depend_on_scheme_www_and_slash(path: str, www: str, scheme: str) -> None:
    path = path.partition("#")[0]
    key = sr.page_key(f"https://a.example/{path}")
    assert sr.page_key(f"{scheme}://{www}a.example/{path}#top") == key
    if "?" not in path:
        assert sr.page_key(f"{scheme}://{www}a.example/{path}/") == key


# --- by section, language or host ---


def test_growth_and_turnover_of_sections(tmp_path: Path) -> None:
    """A section that begins later had no page before, and one that ends has none afterwards."""
    states = {"2026-01-01": ["x/1", "x/2", "y/1"], "2026-02-01": ["x/1", "z/1", "z/2"], "2026-03-01": ["x/1", "z/2"]}
    site = load(tmp_path, states)
    made = site.growth(by="section")
    assert [*made.columns[:3]] == ["site", "section", "at"]
    assert {name: [*part["pages"]] for name, part in made.groupby("section")} == {
        "/x/": [2, 1, 1],
        "/y/": [1, 0, 0],
        "/z/": [0, 2, 1],
    }
    assert made.groupby("section")["new"].sum().to_dict() == {"/x/": 0, "/y/": 0, "/z/": 2}
    assert "/y/: from 1 to 0 pages (-1, -100%) in 59 days: 0 new, 1 removed" in made.finding
    by_section = site.turnover(by="section").groupby("section")[["new", "removed"]].sum()
    assert by_section.to_dict("index") == {
        "/x/": {"new": 0, "removed": 1},
        "/y/": {"new": 0, "removed": 1},
        "/z/": {"new": 2, "removed": 1},
    }
    assert len(site.turnover(by="section").query("section == '/z/'").list_urls()) == 3


# --- charts ---


def values(made: sr.Measure) -> list[dict[str, object]]:
    described = made.chart().altair.to_dict()
    return [row for row in described["data"]["values"] if "site" in row]


def test_removed_pages_are_drawn_below_the_axis(tmp_path: Path) -> None:
    site = load(tmp_path, {"2026-01-31": ["a", "b"], "2026-02-10": ["b", "c", "d"], "2026-03-05": ["a", "b"]})
    bars = [(str(row["period"])[:7], row["change"], row["pages"]) for row in values(site.turnover())]
    assert sorted(bars) == [
        ("2026-02", "new", 2),
        ("2026-02", "removed", -1),
        ("2026-03", "removed", -2),
        ("2026-03", "returned", 1),
    ]
    assert [row["_text"] for row in values(site.turnover()) if row["_text"]] == ["2", "1", "1", "2"]
    assert "<svg" in site.turnover().chart().to_svg()


def test_survival_is_drawn_as_shares(tmp_path: Path) -> None:
    states = {"2026-01-01": ["a"], "2026-01-02": ["a", "b", "c"], "2026-02-20": ["a", "b"], "2026-03-01": ["a", "b"]}
    bars = [(row["days"], row["share"]) for row in values(load(tmp_path, states).survival())]
    assert bars == [(7, 1.0), (30, 1.0)]
