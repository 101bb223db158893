"""compare(): the same differences as by two dicts, for any kind of dump, in constant memory."""

import gc
import io
import subprocess
import sys
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import attrs
import orjson
import pytest
from corpus_cases import CORPUS
from hypothesis import given
from hypothesis import strategies as st
from kit import NS, Site, robots

import sitemap_reader as sr
from sitemap_reader import Change, ChangeCounts, diff, load
from sitemap_reader.compare.diff import COMPARED, STATED
from sitemap_reader.serialize import keys_of, line_type

SHOP = CORPUS / "sites" / "shop.jsonl"
DAY = datetime(2024, 5, 1, tzinfo=UTC)
unix = pytest.mark.skipif(sys.platform == "win32", reason="there is no module resource")


def url(loc: str, **fields: Any) -> sr.UrlRecord:
    return sr.UrlRecord(f"https://example.com/{loc}", **fields)


def reported(old: Any, new: Any, on: str = "any") -> list[str]:
    """`new a`, `updated b: lastmod`, `removed c`."""
    found = []
    with diff(old, new, on=on) as changes:
        for change in changes:
            fields = f": {' '.join(change.changed)}" if change.changed else ""
            found.append(f"{change.change} {change.record.loc.rpartition('/')[2]}{fields}")
        assert len(changes) == len(found)
    return found


# --- tables ---


def test_changes_are_a_table() -> None:
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    old = [url("a", lastmod=DAY, lastmod_precision="day"), url("b", priority=0.5, sitemap="s"), url("c")]
    new = [url("a", lastmod=DAY, lastmod_precision="day"), url("b", priority=0.75, changefreq="daily"), url("d")]
    with diff(old, new) as changes:
        frame = changes.to_pandas().astype(object)
        assert pd.DataFrame.from_arrow(changes).astype(object).equals(frame)
        assert load(changes).pages["loc"].tolist() == [url(name).loc for name in "bdc"]
        assert len(diff(new, new).to_pandas()) == 0
        with pytest.raises(sr.UsageError, match=r"use to_pandas\(\)"):
            pd.DataFrame(changes)
    rows = frame.where(frame.notna(), None).to_dict("records")
    assert [{name: value for name, value in row.items() if value is not None} for row in rows] == [
        {
            "change": "updated",
            "loc": url("b").loc,
            "changed": "changefreq, priority",
            "changefreq": "daily",
            "priority": 0.75,
            "priority_before": 0.5,
            "sitemap_before": "s",
        },
        {"change": "new", "loc": url("d").loc},
        {"change": "removed", "loc": url("c").loc},
    ]
    assert [name for name in frame if frame[name].map(type).isin([list, dict, tuple]).any()] == []


def test_a_table_of_changes_has_the_sites_and_times() -> None:
    pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    lines = [{**sr.to_dict(url("a", lastmod=DAY, lastmod_precision="day")), "site": site} for site in "xy"]
    frame = diff(lines, lines[:1]).to_pandas()
    assert frame[["change", "site", "lastmod_before"]].to_numpy().tolist() == [["removed", "y", DAY]]
    assert str(frame["lastmod_before"].dtype) == "datetime64[us, UTC]"
    assert frame["lastmod"].isna().all()


# --- compared with dicts ---


def with_fitting_precision(record: sr.UrlRecord) -> sr.UrlRecord:
    """A fraction of a second is stated as one."""
    has_fraction = record.lastmod is not None and record.lastmod.microsecond
    return attrs.evolve(record, lastmod_precision="subsecond") if has_fraction else record


LISTINGS = st.builds(
    sr.UrlRecord,
    loc=st.sampled_from(["https://example.com/a", "https://example.com/b", "https://example.com/c"]),
    lastmod=st.none()
    | st.sampled_from([DAY, DAY.replace(microsecond=250_000), DAY.replace(microsecond=300_000), DAY.replace(day=2)]),
    lastmod_precision=st.sampled_from(["day", "second"]),
    changefreq=st.none() | st.just("daily"),
    priority=st.none() | st.sampled_from([0.0, 0.5, 1.0]),
    images=st.sampled_from([(), (sr.Image("i"),), (sr.Image("i", "t"),), (sr.Image("i"), sr.Image("j"))]),
    videos=st.sampled_from([(), (sr.Video(),), (sr.Video(live=False),), (sr.Video(rating=1.0),)]),
    news=st.none() | st.sampled_from([sr.News(), sr.News(title="t")]),
    mobile=st.booleans(),
    sitemap=st.sampled_from(["s", "t"]),
    line=st.none() | st.integers(1, 9),
).map(with_fitting_precision)
FORMS = st.builds(
    lambda record, site: sr.to_dict(record, site=site), LISTINGS, st.sampled_from(["example.com", "example.org"])
)
SIDES = st.lists(FORMS, max_size=8)


def winners(forms: list[dict[str, Any]]) -> dict[tuple[str, str], dict[str, Any]]:
    """The listing of each URL that counts."""
    best: dict[tuple[str, str], tuple[int, Any]] = {}
    for place, form in enumerate(forms):
        key, moment = (form["site"], form["loc"]), record_of(form).lastmod
        before = best.get(key)
        oldest = before and record_of(forms[before[0]]).lastmod
        if before is None or (moment is not None and (oldest is None or moment > oldest)):
            best[key] = (place, form)
    return {key: form for key, (_, form) in sorted(best.items(), key=lambda item: item[1][0])}


def record_of(form: dict[str, Any]) -> sr.UrlRecord:
    record = sr.from_json(form)
    assert isinstance(record, sr.UrlRecord)
    return record


def naive(old: list[dict[str, Any]], new: list[dict[str, Any]], on: str) -> Iterator[tuple[str, Change]]:
    """Site and change, in the documented order, computed with dicts."""
    before, after = winners(old), winners(new)
    for key, form in after.items():
        now = record_of(form)
        if key not in before:
            yield key[0], Change("new", now)
            continue
        was = record_of(before[key])
        changed = tuple(name for name in COMPARED[on] if getattr(was, name) != getattr(now, name))
        if changed:
            yield key[0], Change("updated", now, changed, was.lastmod, was.lastmod_precision)
    for key, form in before.items():
        if key not in after:
            was = record_of(form)
            kept = {name: getattr(was, name) for name in ("loc", *COMPARED["any"][:4], "sitemap")}
            yield key[0], Change("removed", sr.UrlRecord(**kept))


@pytest.mark.slow
@given(SIDES, SIDES, st.sampled_from(["any", "lastmod"]))
def test_changes_are_those_that_dicts_would_find(old: list[Any], new: list[Any], on: str) -> None:
    expected = list(naive(old, new, on))
    with diff(old, new, on=on) as changes:
        assert list(changes) == [change for _, change in expected]
        assert list(changes.dicts()) == [sr.to_dict(change, site=site) for site, change in expected]
        kinds = [change.change for _, change in expected]
        both = len(winners(old).keys() & winners(new).keys())
        numbers = ChangeCounts(
            kinds.count("new"), kinds.count("updated"), kinds.count("removed"), unchanged=both - kinds.count("updated")
        )
        assert changes.counts == numbers
        assert len(changes) == len(kinds)


@pytest.mark.slow
@given(SIDES, st.randoms())
def test_how_the_json_is_written_makes_no_difference(forms: list[dict[str, Any]], random: Any) -> None:
    """Other tools sort keys, leave out what is null, or write 1.0 as 1."""

    def rewritten(value: Any) -> Any:
        if isinstance(value, list):
            return [rewritten(each) for each in value]
        if isinstance(value, dict):
            items = [(key, rewritten(each)) for key, each in value.items() if each is not None or random.random() < 0.5]
            random.shuffle(items)
            return dict(items)
        return int(value) if isinstance(value, float) and value.is_integer() else value

    others = [{**rewritten(form), "lastmod_precision": form["lastmod_precision"]} for form in forms]
    assert reported(forms, others) == reported(others, forms) == []


def test_every_field_but_places_and_problems_is_stated() -> None:
    fields = [field.name for field in attrs.fields(sr.UrlRecord)]
    assert set(fields) - set(STATED) == {"loc", "sitemap", "line", "problems"}
    keys = [*keys_of(line_type(sr.UrlRecord))]
    assert list(STATED) == [key for key in keys if key in STATED]  # the documented order


# --- the rules, one by one ---

RULES: dict[str, tuple[list[sr.UrlRecord], list[sr.UrlRecord], list[str]]] = {
    "new in NEW's order, removed in OLD's and last": (
        [url("z"), url("b"), url("a")],
        [url("y"), url("b", priority=0.1), url("x")],
        ["new y", "updated b: priority", "new x", "removed z", "removed a"],
    ),
    "moved to another sitemap": (
        [url("a", sitemap="s", line=3, problems=(sr.Problem("D01", "warning", "no date"),))],
        [url("a", sitemap="t", line=4)],
        [],
    ),
    "a date that is gone": ([url("a", lastmod=DAY, lastmod_precision="day")], [url("a")],
                            ["updated a: lastmod lastmod_precision"]),
    "a priority of 0 is one": ([url("a", priority=0.0)], [url("a")], ["updated a: priority"]),
    "images in another order": (
        [url("a", images=(sr.Image("i"), sr.Image("j")))],
        [url("a", images=(sr.Image("j"), sr.Image("i")))],
        ["updated a: images"],
    ),
    "fields are named in the order of the record": (
        [url("a", mobile=True, changefreq="daily")],
        [url("a", news=sr.News(), priority=0.1, alternates=(sr.Alternate("de", "a"),))],
        ["updated a: changefreq priority news alternates mobile"],
    ),
    "of two listings the newer counts": (
        [url("a", lastmod=DAY, priority=0.1), url("a", priority=0.3), url("a", lastmod=DAY.replace(day=2))],
        [url("a", lastmod=DAY.replace(day=2)), url("a", lastmod=DAY, priority=0.2)],
        [],
    ),
    "a slash is another URL": ([url("a")], [url("a/")], ["new ", "removed a"]),
}  # fmt: skip


@pytest.mark.parametrize("name", RULES)
def test_rules(name: str) -> None:
    old, new, expected = RULES[name]
    assert reported(old, new) == expected


def test_on_lastmod_sees_dates_alone() -> None:
    old = [url("a", lastmod=DAY, lastmod_precision="day"), url("b", priority=0.1), url("c"), url("d")]
    new = [url("a", lastmod=DAY, lastmod_precision="second", priority=0.1), url("b", mobile=True), url("c"), url("e")]
    assert reported(old, new, "lastmod") == ["updated a: lastmod_precision", "new e", "removed d"]


def test_updated_url_has_its_previous_values() -> None:
    old = url("a", lastmod=DAY, lastmod_precision="day", priority=0.1, sitemap="s", line=3)
    new = url("a", priority=0.2, sitemap="t", line=4, images=(sr.Image("i"),))
    (change,) = diff([old], [new])
    assert change == Change("updated", new, ("lastmod", "lastmod_precision", "priority", "images"), DAY, "day")
    (form,) = diff([old], [new]).dicts()
    assert form == sr.to_dict(change)
    assert list(form) == list(sr.to_dict(change))


# --- sites ---


def listed(site: str | None, *locs: str) -> list[dict[str, Any]]:
    return [sr.to_dict(url(loc), site=site) for loc in locs]


def test_each_site_has_its_own_urls_where_both_name_them() -> None:
    old = listed("one.example", "a", "b") + listed("two.example", "b")
    new = listed("one.example", "a") + listed("two.example", "a", "b")
    with diff(old, new) as changes:
        assert [(form["change"], form["loc"][-1], form["site"]) for form in changes.dicts()] == [
            ("new", "a", "two.example"),
            ("removed", "b", "one.example"),
        ]
        assert changes.names_sites


def test_each_site_has_its_own_urls_where_the_other_side_is_empty() -> None:
    named = listed("one.example", "b") + listed("two.example", "b")
    assert reported([], named) == ["new b", "new b"]
    assert reported(named, []) == ["removed b", "removed b"]


def test_sites_that_one_alone_names_do_not_count() -> None:
    named, bare = listed("one.example", "a", "b") + listed("two.example", "b"), listed(None, "a", "c")
    assert reported(bare, named) == ["new b", "removed c"]
    with diff(named, bare) as changes:
        assert [(form["change"], form["loc"][-1], form.get("site")) for form in changes.dicts()] == [
            ("new", "c", None),
            ("removed", "b", "one.example"),
        ]


# --- dumps of some fields ---


def only(records: list[sr.UrlRecord], *names: str) -> list[dict[str, Any]]:
    forms = [sr.to_dict(record) for record in records]
    return [{name: form[name] for name in ("loc", *names) if name in form} for form in forms]


WAS = [url("a", lastmod=DAY, priority=0.1, images=(sr.Image("i"),)), url("b", priority=0.1), url("c", mobile=True)]
NOW = [url("a", lastmod=DAY, priority=0.2), url("b", lastmod=DAY, priority=0.1), url("c"), url("d")]


@pytest.mark.parametrize(("names", "expected", "note"), [
    ((), ["new d"], "old has no lastmod, lastmod_precision, changefreq, priority: compared is loc"),
    (
        ("lastmod", "lastmod_precision"),
        ["updated b: lastmod", "new d"],
        "old has no changefreq, priority: compared is loc, lastmod, lastmod_precision",
    ),
    (
        ("priority", "images"),
        ["updated a: priority images", "new d"],
        "old has no lastmod, lastmod_precision, changefreq: compared is loc, priority, images",
    ),
])
def test_fields_missing_on_one_side_are_not_compared(names: tuple[str, ...], expected: list[str], note: str) -> None:
    old = only(WAS, *names)
    assert reported(old, NOW) == expected
    assert diff(old, NOW).notes == (note,)
    assert diff(NOW, old).notes == (note.replace("old", "new"),)


def test_a_key_that_some_lines_lack_is_compared() -> None:
    """Tools that leave nulls out."""
    old = [{key: value for key, value in form.items() if value is not None} for form in map(sr.to_dict, WAS)]
    old[0] |= {"lastmod_precision": None, "changefreq": None}
    assert reported(old, NOW) == ["updated a: priority images", "updated b: lastmod", "updated c: mobile", "new d"]
    assert diff(old, NOW).notes == ()


def test_dates_cannot_be_compared_where_there_are_none() -> None:
    with pytest.raises(sr.UsageError, match=r"^old has no lastmod at all, so nothing can be compared by it$"):
        diff(only(WAS, "priority"), NOW, on="lastmod")
    assert reported(only(WAS, "lastmod"), NOW, "lastmod") == ["updated b: lastmod", "new d"]


# --- inputs ---


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Path, Path]:
    """The shop, and the shop a day later."""
    old, new = tmp_path / "old.jsonl", tmp_path / "new.jsonl"
    forms = [orjson.loads(line) for line in SHOP.read_bytes().splitlines()]
    old.write_bytes(SHOP.read_bytes())
    forms[3]["lastmod"] = "2030-01-01T00:00:00Z"
    later = [*forms[:10], *forms[11:], {**forms[0], "loc": "https://shop.example/new"}]
    new.write_bytes(b"".join(orjson.dumps(form) + b"\n" for form in later))
    return old, new


@pytest.mark.slow
def test_paths_dumps_streams_and_records_are_compared_alike(pair: tuple[Path, Path]) -> None:
    old, new = pair
    expected = reported(old, new)
    assert [each.partition(" ")[0] for each in expected] == ["updated", "new", "removed"]
    assert reported(str(old), str(new)) == expected
    assert reported(load(old), load(new)) == expected
    assert reported(list(load(old)), iter(load(new))) == expected
    assert reported(load(old).dicts(), load(new).items()) == expected
    with old.open("rb") as stream:
        assert reported(stream, io.BytesIO(new.read_bytes())) == expected
    assert reported(old, old) == reported(load(old), old) == []


def test_a_dump_is_compared_with_the_site_itself(pair: tuple[Path, Path]) -> None:
    old, _ = pair
    with sr.urls(CORPUS / "sites" / "shop") as urls:
        changes = diff(old, urls)
    assert changes.counts == ChangeCounts(unchanged=640)


@pytest.mark.slow
def test_packed_dumps_and_parquet_are_compared(pair: tuple[Path, Path], tmp_path: Path) -> None:
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    reader = pytest.importorskip("pyarrow.json")
    old, new = pair
    options = reader.ParseOptions(explicit_schema=eval(sr.schema("arrow"), {"pa": pa}))  # noqa: S307
    pq.write_table(reader.read_json(old, parse_options=options), tmp_path / "old.parquet")
    assert reported(tmp_path / "old.parquet", new) == reported(old, new)
    assert reported(tmp_path / "old.parquet", old) == []


def test_other_lines_are_skipped() -> None:
    others = [sr.SitemapRef("https://example.com/a.xml"), sr.Outcome(), sr.Problem("D01", "warning", "no date")]
    assert reported([*others, url("a")], [url("a"), *others, url("b")]) == ["new b"]


def test_missing_new_dump_is_reported_before_old_is_read(tmp_path: Path) -> None:
    (tmp_path / "old.jsonl").write_bytes(b"<urlset/>")
    with pytest.raises(sr.UsageError, match=r"^there is no file .*new\.jsonl; "):
        diff(tmp_path / "old.jsonl", tmp_path / "new.jsonl")


@pytest.mark.parametrize(("arguments", "told_so"), [
    (([], 5), "new is a int; give a path, a Snapshot, a binary stream, or UrlRecords"),
    ((None, []), "old is a NoneType; give a path, a Snapshot, a binary stream, or UrlRecords"),
    ((["https://example.com/"], []), "a str has no JSON line; records, problems, outcomes and summaries have"),
    (([{"loc": "a", "priority": {1}}], []), "old:1: URL record: Expected `float | null`, got `set` - at `$.priority`"),
])
def test_incomparable_inputs_are_usage_errors(arguments: Any, told_so: str) -> None:
    with pytest.raises(sr.UsageError) as failure:
        diff(*arguments)
    assert str(failure.value) == told_so


@pytest.mark.parametrize("source", [
    lambda: io.BytesIO(b""), lambda: iter([]), lambda: sr.urls(CORPUS / "sites" / "shop"),
], ids=["a binary stream", "an iterator", "a stream of URLs"])
def test_a_stream_is_not_compared_with_itself(source: Any) -> None:
    stream = source()
    with pytest.raises(sr.UsageError, match=r"^old and new are the same stream, which can be read only once: give two"):
        diff(stream, stream)


@pytest.mark.slow
def test_what_can_be_read_twice_is_compared_with_itself(pair: tuple[Path, Path]) -> None:
    for source in (load(pair[0]), [*load(pair[0])], str(pair[0])):
        assert diff(source, source).counts == ChangeCounts(unchanged=640)


def test_unknown_on_is_reported() -> None:
    with pytest.raises(sr.UsageError, match=r"^on is one of any, lastmod, not 'priority'$"):
        diff([], [], on="priority")  # type: ignore[arg-type]


def test_dates_of_other_tools_are_read() -> None:
    """Without a zone as UTC, without precision as whole seconds or fractions of them."""
    dates = ["2024-05-01", "2024-05-01T00:00:00", "2024-05-01 02:00:00+02:00", "2024-05-01T00:00:00Z"]
    assert reported([{"loc": "a", "lastmod": dates[0]}], [{"loc": "a", "lastmod": each} for each in dates]) == []
    (change,) = diff([{"loc": "a", "lastmod": dates[0]}], [{"loc": "a", "lastmod": "2024-05-01T00:00:00.5"}])
    assert (change.changed, change.previous_lastmod) == (("lastmod",), DAY)
    assert change.record.lastmod == DAY.replace(microsecond=500_000)


def test_lines_of_changes_have_every_key() -> None:
    """As those of changes(), also where a dump has some keys only, and without keys of other tools."""
    (change,) = diff([], [{"loc": "a", "rank": 1}]).dicts()
    assert change == sr.to_dict(Change("new", sr.UrlRecord("a")))


# --- notes ---


def test_an_empty_side_is_noted(tmp_path: Path) -> None:
    empty = tmp_path / "empty.jsonl"
    empty.touch()
    assert diff(empty, [url("a")]).notes == (f"{empty} is empty: every URL of the other counts as new",)
    assert diff([url("a")], empty).notes == (f"{empty} is empty: every URL of the other counts as removed",)
    assert diff([], []).counts == ChangeCounts(unchanged=0)


def test_documents_that_were_not_read_or_in_part_are_noted_apart() -> None:
    part, none = sr.Outcome(complete=False, entries=3), sr.Outcome(complete=False)
    both = [url("a"), part, none, none, sr.Outcome()]
    reported = "2 documents could not be read, 1 document could be read in part only; what is missing counts as"
    assert diff([url("a")], both).notes == (f"new: {reported} removed",)
    assert diff(both, [url("a")]).notes == (f"old: {reported} new",)
    for outcome, what in ((part, "could be read in part only"), (none, "could not be read")):
        reported = f"old: 1 document {what}; what is missing counts as new"
        assert diff([url("a"), outcome], [url("a")]).notes == (reported,)
    assert diff([url("a"), sr.Outcome()], [url("a")]).notes == ()


# --- the object ---


def test_changes_can_be_read_again_and_side_by_side() -> None:
    changes = diff([url("a"), url("b")], [url("c"), url("d")])
    first = list(changes)
    assert [(one, other) for one, other in zip(changes, changes, strict=True)] == [(each, each) for each in first]
    assert changes.summary == str(changes.counts) == "2 new, 0 updated, 2 removed; 0 unchanged"
    counts = "ChangeCounts(new=2, updated=0, removed=2, held_back=0, unchanged=0)"
    assert repr(changes) == f"Changes(counts={counts}, notes=())"


def test_comparison_without_changes_is_false() -> None:
    assert not diff([url("a")], [url("a")])
    assert diff([url("a")], [])


def test_closed_comparison_raises() -> None:
    with diff([], [url("a")]) as changes:
        pass
    assert changes.counts.new == 1
    with pytest.raises(sr.UsageError, match=r"^the temporary database cannot be read: Cannot operate on a closed "):
        list(changes)


def test_another_thread_may_read_them() -> None:
    changes, found = diff([], [url("a")]), []
    thread = threading.Thread(target=lambda: found.extend(changes))
    thread.start()
    thread.join()
    assert found == [Change("new", url("a"))]


LEFT = """
import sys, warnings
from sitemap_reader.compare.diff import diff
from sitemap_reader.model.records import UrlRecord
def many():
    for number in range(15_000):
        yield UrlRecord(f"https://example.com/{number}" + "x" * 1000)
changes = diff([], many())
for change in changes:
    break
iterator = iter(changes)
next(iterator)
%s
print("done")
"""


@pytest.mark.smoke("pass")
@pytest.mark.slow
@pytest.mark.parametrize("end", ["del changes, iterator", "iterator.close(); changes.close()", "pass", "sys.exit()"])
def test_abandoned_comparison_leaves_no_file(end: str, tmp_path: Path) -> None:
    program = [sys.executable, "-X", "dev", "-W", "error", "-c", LEFT % end]
    environment = {"TMPDIR": str(tmp_path), "SQLITE_TMPDIR": str(tmp_path), "PATH": ""}
    result = subprocess.run(program, capture_output=True, text=True, check=False, timeout=60, env=environment)
    assert (result.returncode, result.stderr) == (0, "")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_temporary_file_is_deleted_with_the_object() -> None:
    fds = Path("/proc/self/fd")
    if not fds.exists():
        pytest.skip("there is no /proc")

    def temporary() -> int:
        gc.collect()
        return sum("etilqs" in str(link.readlink()) for link in fds.iterdir() if link.is_symlink())

    assert temporary() == 0
    changes = diff([], (url(f"{number}{'x' * 1000}") for number in range(15_000)))
    assert temporary() > 0
    del changes
    assert temporary() == 0
    with pytest.raises(sr.UsageError):
        diff((url(f"{number}{'x' * 1000}") if number < 14_000 else "no record" for number in range(15_000)), [])  # type: ignore[misc]
    assert temporary() == 0


@pytest.mark.slow
@unix
def test_temporary_file_that_cannot_grow_is_reported() -> None:
    program = """
import resource, sys
from sitemap_reader.compare.diff import diff
resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
try:
    diff([], ({"loc": f"{number}" + "x" * 1000} for number in range(50_000)))
except OSError as exc:
    print(exc.filename, exc.strerror)
"""
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=60)
    assert result.stdout == "the temporary folder disk I/O error; TMPDIR can name another\n", result.stderr


def test_exception_of_an_input_is_raised_unchanged() -> None:
    class OwnError(Exception):
        pass

    def records() -> Iterator[sr.UrlRecord]:
        yield url("a")
        raise OwnError

    with pytest.raises(OwnError):
        diff(records(), [])
    with pytest.raises(OwnError):
        diff([], records())


def peak_kilobytes(count: int) -> int:
    program = f"""
import resource
from sitemap_reader.compare.diff import diff
def forms(skip):
    for number in range({count}):
        if number % 50 != skip:
            yield {{"loc": f"https://www.shop.example/category/product-with-a-name-{{number}}", "lastmod": None,
                    "lastmod_precision": None, "changefreq": None, "priority": number % 25 / 50 * (number % 49 == skip),
                    "sitemap": "https://www.shop.example/sitemap.xml", "line": number}}
changes = diff(forms(1), forms(2))
assert sum(1 for _ in changes.dicts()) == len(changes) > {count // 50}
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=300)
    return int(result.stdout) // (1024 if sys.platform == "darwin" else 1)


@pytest.mark.slow
@unix
def test_memory_stays_flat() -> None:
    few, many = peak_kilobytes(100_000), peak_kilobytes(200_000)  # the URLs of one side would be 12 MB more
    assert many - few < 10 * 1024


def test_fields_unknown_to_one_dump_are_noted() -> None:
    images = (sr.Image("https://a.example/1.jpg"),)
    whole = [sr.to_dict(sr.UrlRecord(f"https://a.example/{number}", images=images)) for number in range(3)]
    fields = ("loc", "lastmod", "lastmod_precision", "changefreq", "priority")
    some = [{name: form[name] for name in fields} for form in whole]
    with sr.diff(whole, some) as changes:
        assert not changes
        assert changes.notes == (f"new has no images: compared is {', '.join(fields)}",)


def test_extras_that_were_read_once_only_are_no_change() -> None:
    plain = sr.UrlRecord("https://a.example/1")
    rich = sr.UrlRecord("https://a.example/1", extras=(sr.Extra("urn:x", "y"),))
    with sr.diff([plain], [rich]) as changes:
        assert not changes
    with sr.diff([rich], [rich, sr.UrlRecord("https://a.example/2")]) as changes:
        assert changes.counts.new == 1


@pytest.mark.parametrize("line", [{"a": 1}, {"loc": 5}, {"type": ["x"]}])
def test_dicts_that_are_no_lines_are_named(line: dict[str, Any]) -> None:
    with pytest.raises(sr.UsageError, match=r"^old:1: "):
        sr.diff([line], [])


# --- states ---


def site(entries: str) -> Site:
    """A site of one sitemap, with these entries."""
    head = f'<urlset xmlns="{NS}" xmlns:image="http://www.google.com/schemas/sitemap-image/1.1">'
    origin = "https://example.com"
    return Site({"/robots.txt": robots(f"{origin}/s.xml"), "/s.xml": f"{head}{entries}</urlset>"}, origin)


def entry(name: str, image: str = "") -> str:
    nested = f"<image:image><image:loc>https://example.com/{image}</image:loc></image:image>" if image else ""
    return f"<url><loc>https://example.com/{name}</loc><lastmod>2024-05-01</lastmod>{nested}</url>"


@pytest.fixture
def states(tmp_path: Path) -> tuple[Path, Path]:
    """A site, and the site a day later."""
    paths = tmp_path / "old.db", tmp_path / "new.db"
    entries = [entry("a", "1.jpg") + entry("b", "1.jpg") + entry("c"), entry("a", "1.jpg") + entry("b", "2.jpg")]
    for path, each in zip(paths, entries, strict=True):
        with sr.changes("example.com", state=path, fetcher=site(each)) as stream:
            list(stream)
    return paths


def test_states_are_compared_with_their_nested_values(states: tuple[Path, Path]) -> None:
    old, new = states
    assert reported(old, new) == ["updated b: images", "removed c"]
    assert sorted(reported(new, old)) == ["new c", "updated b: images"]  # a state has no order
    assert reported(old, new, "lastmod") == ["removed c"]
    with sr.state.State(old) as one, sr.state.State(new) as other:
        assert reported(one, other) == ["updated b: images", "removed c"]
        assert not diff(one, one)


def test_a_state_is_compared_with_a_dump(states: tuple[Path, Path]) -> None:
    later = list(sr.urls("example.com", fetcher=site(entry("a", "1.jpg") + entry("b", "2.jpg") + entry("d"))))
    for state in states:
        with diff(state, later) as changes:
            assert changes.notes == ()
    assert reported(states[0], later) == ["updated b: images", "new d", "removed c"]
    assert reported(later, states[1]) == ["removed d"]


def test_a_state_of_several_sites_names_them(states: tuple[Path, Path]) -> None:
    old, new = states
    with sr.changes("https://example.com/s.xml", state=new, fetcher=site(entry("a"))) as stream:
        list(stream)
    with diff(old, new) as changes:
        assert [(form["change"], form["site"]) for form in changes.dicts() if form["change"] == "new"] == []
        assert changes.names_sites
    with diff([], new) as changes:
        assert sorted(form["site"] for form in changes.dicts()) == [
            "https://example.com/", "https://example.com/", "https://example.com/s.xml",
        ]  # fmt: skip
