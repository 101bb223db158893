"""JSON lines round trips: records are read back as written, and faults of lines are reported."""

import json
from datetime import UTC, datetime, timedelta, timezone
from types import NoneType
from typing import Any, Literal, get_args, get_origin, get_type_hints, is_typeddict

import attrs
import orjson
import pytest
from corpus_cases import CORPUS, record_of_everything
from hypothesis import given, settings
from hypothesis import strategies as st
from tiers import examples

import sitemap_reader as sr
from sitemap_reader import Change
from sitemap_reader.model import NESTED, ChangeFreq, TvShow, report
from sitemap_reader.parser import batch_of
from sitemap_reader.serialize import encode_changes, encode_urls, stamp

# --- every kind of record ---

texts = st.text(max_size=20) | st.just("2024-01-31T08:30:00Z")  # text, whatever it looks like
maybe_texts = st.none() | texts
numbers = st.floats(allow_nan=False, allow_infinity=False)
counts = st.integers(0, 2**53)
moments = st.datetimes(timezones=st.just(UTC))
maybe_moments = st.none() | moments
precisions = st.none() | st.sampled_from(["year", "month", "day", "minute", "second", "subsecond"])
codes = st.sampled_from(sorted(sr.model.CATALOGUE))


def few(each: st.SearchStrategy[Any]) -> st.SearchStrategy[tuple[Any, ...]]:
    return st.lists(each, max_size=3).map(tuple)


OF_TYPES = {str: texts, int: counts, float: numbers, bool: st.booleans(), datetime: moments, NoneType: st.none()}


def values(hint: Any) -> st.SearchStrategy[Any]:
    """Any value of the type of a record's field."""
    if hint in OF_TYPES:
        return OF_TYPES[hint]
    origin, inside = get_origin(hint), get_args(hint)
    if origin is Literal:
        return st.sampled_from(inside)
    if origin is tuple:
        return few(values(inside[0]))
    if inside:
        return st.one_of(map(values, inside))
    make = dict if is_typeddict(hint) else hint
    return st.builds(make, **{name: values(each) for name, each in get_type_hints(hint).items()})


lines = st.none() | st.integers(1, 10**9)
problems = st.builds(
    sr.Problem, codes, st.sampled_from(["error", "warning", "notice"]), texts, maybe_texts, lines, maybe_texts,
    maybe_texts, maybe_texts,
)


@st.composite
def with_problems(draw: st.DrawFn, records: st.SearchStrategy[Any]) -> Any:
    """A record with problems at its own place, with messages of the catalogue."""
    record = draw(records)
    record.problems = tuple(
        report(
            code, sr.model.CATALOGUE[code].title,
            sitemap=record.sitemap, line=record.line, field=field, raw=raw, url=record.loc,
        )
        for code, field, raw in draw(st.lists(st.tuples(codes, maybe_texts, maybe_texts), max_size=3))
    )
    return record


urls = with_problems(st.builds(
    sr.UrlRecord,
    loc=texts,
    lastmod=maybe_moments,
    lastmod_precision=precisions,
    changefreq=st.none() | st.sampled_from(get_args(ChangeFreq)),
    priority=st.none() | st.floats(0, 1),
    **{name: values(get_type_hints(sr.UrlRecord)[name]) for name in NESTED},
    sitemap=maybe_texts,
    line=lines,
))
refs = with_problems(st.builds(sr.SitemapRef, texts, maybe_moments, precisions, maybe_texts, lines))
reasons = st.sampled_from(["robots", "well-known", "index", "given"])
outcomes = st.builds(
    sr.Outcome, url=maybe_texts, final_url=maybe_texts, parents=st.lists(texts, max_size=3), why=reasons,
    format=maybe_texts, status=st.none() | counts, bytes_wire=counts, bytes_decoded=counts, entries=counts,
    kept=counts, dropped=st.dictionaries(texts, counts, max_size=3), complete=st.booleans(), etag=maybe_texts,
    last_modified=maybe_texts, not_modified=st.booleans(), sha256=maybe_texts, seconds=st.none() | numbers,
    problems=st.dictionaries(codes, counts, max_size=3), tries=st.integers(1, 9),
)
candidates = st.builds(sr.Candidate, texts, reasons, st.none() | counts, maybe_texts, maybe_texts)
removed = st.builds(sr.UrlRecord, texts, maybe_moments, precisions, st.none() | st.just("daily"), sitemap=maybe_texts)
changes = st.one_of(
    st.builds(Change, st.just("new"), urls),
    st.builds(Change, st.just("updated"), urls, few(texts), maybe_moments, precisions),
    st.builds(Change, st.just("removed"), removed),
)
tallies = st.dictionaries(texts, counts, max_size=3)
summaries = st.builds(
    sr.Summary, *[counts] * 3, tallies, tallies, counts, counts, tallies, counts, maybe_moments, *[counts] * 4, numbers,
    st.booleans(), st.booleans(),
)
RECORDS = st.one_of(urls, refs, problems, outcomes, candidates, changes, summaries)


@pytest.mark.slow
@given(RECORDS)
def test_every_record_comes_back_as_it_was(record: Any) -> None:
    line = sr.json_line(record)
    assert line.endswith(b"\n")
    assert b"\n" not in line[:-1]
    assert sr.from_json(line) == record
    assert sr.from_json(line.decode()) == record
    assert sr.from_json(sr.to_dict(record, site="example.com")) == record
    assert sr.json_line(sr.from_json(line)) == line


def test_the_strategies_fill_every_field() -> None:
    """Otherwise a new field that is missing here, or in the JSON object, would pass the test above."""
    not_written = {"samples", "authorities", "lastmod", "lastmod_precision", "skipped"}
    left_out = {sr.SitemapRef: {"authorities"}, sr.Problem: {"remedy", "listed"}, sr.Outcome: not_written}
    record = attrs.evolve(
        record_of_everything(), extras=(sr.Extra("urn:x", "a"),), problems=(report("U08", "fragment dropped"),)
    )
    samples = [record, sr.SitemapRef("a", problems=record.problems), report("U08", "a"), sr.Outcome(tries=2)]
    samples.append(sr.Candidate("a", "given"))
    for each in samples:
        names = {field.name for field in attrs.fields(type(each))} - left_out.get(type(each), set())
        assert set(sr.to_dict(each)) - {"type"} == names
    assert "tries" not in sr.to_dict(sr.Outcome(tries=1)).keys() | sr.to_dict(sr.Outcome(tries=0)).keys()
    change = Change("updated", record)
    names = {field.name for field in attrs.fields(Change)} - {"record"}
    assert set(sr.to_dict(change)) - {"type"} == names | set(sr.to_dict(record))
    for name in NESTED:
        if isinstance(nested := getattr(record, name), tuple):
            assert set(sr.to_dict(record)[name][0]) == {field.name for field in attrs.fields(type(nested[0]))}
    assert set(sr.to_dict(record)["videos"][0]["tvshow"]) == set(TvShow.__annotations__)


# Those of audit/ are findings, not lines of a dump.
EXPECTATIONS = sorted(path for path in CORPUS.glob("*/*.jsonl") if path.parent.name != "audit")


def test_every_line_of_the_corpus_is_written_as_it_was_read() -> None:
    kinds = set()
    for path in EXPECTATIONS:
        for line in path.read_bytes().splitlines(keepends=True):
            record = sr.from_json(line)
            kinds.add(type(record))
            assert sr.json_line(record) == line, path.name
    assert len(EXPECTATIONS) > 100
    assert {sr.UrlRecord, sr.SitemapRef, sr.Problem, sr.Outcome} <= kinds


# --- values that a line lacks ---


def test_a_problem_of_an_earlier_version_is_read_with_its_severity_of_today() -> None:
    line = sr.to_dict(report("F10", "neither", sitemap="https://a.example/"))
    assert line["severity"] == "notice"
    assert sr.from_json({**line, "severity": "info"}) == sr.from_json(line)


def test_problems_of_a_record_come_back_with_the_words_of_the_catalogue() -> None:
    problem = report(
        "D06", 'lastmod "2024-1-2": one-digit month or day', sitemap="https://example.com/s.xml", line=3,
        field="lastmod", raw="2024-1-2", url="https://example.com/", severity="notice",
    )
    record = sr.UrlRecord("https://example.com/", sitemap="https://example.com/s.xml", line=3, problems=(problem,))
    (read,) = sr.from_json(sr.json_line(record)).problems  # type: ignore[union-attr, misc]
    assert read == attrs.evolve(problem, severity="warning", message=sr.model.CATALOGUE["D06"].title)
    # the problem's own line has all fields
    assert sr.from_json(sr.json_line(problem)) == problem


def test_samples_and_authorities_are_not_written() -> None:
    outcome = sr.Outcome(problems={"D01": 1}, samples=(report("D01", "no date"),))
    assert sr.from_json(sr.json_line(outcome)) == attrs.evolve(outcome, samples=())
    ref = sr.SitemapRef("https://example.com/a.xml", authorities=("https://example.com/",))
    assert sr.from_json(sr.json_line(ref)) == attrs.evolve(ref, authorities=())


def test_removed_url_has_six_keys() -> None:
    whole = sr.UrlRecord("a", datetime(2024, 1, 31, tzinfo=UTC), "day", "daily", 0.5, mobile=True, sitemap="s", line=3)
    change = Change("removed", whole)
    assert sr.json_line(change, site="example.com").decode() == (
        '{"type":"change","change":"removed","loc":"a","lastmod":"2024-01-31T00:00:00Z","lastmod_precision":"day",'
        '"changefreq":"daily","priority":0.5,"sitemap":"s","site":"example.com"}\n'
    )
    assert sr.from_json(sr.json_line(change)) == Change("removed", attrs.evolve(whole, mobile=False, line=None))


def test_change_key_is_first_and_previous_key_is_last() -> None:
    change = Change("updated", sr.UrlRecord("a", priority=0.5), ("lastmod",), datetime(2024, 1, 31, tzinfo=UTC), "day")
    assert list(sr.to_dict(change, site="example.com")) == [
        "type", "change", "loc", "lastmod", "lastmod_precision", "changefreq", "priority", "sitemap", "line",
        "changed", "previous_lastmod", "previous_lastmod_precision", "site",
    ]
    assert list(sr.to_dict(attrs.evolve(change, change="new"))) == [
        "type", "change", "loc", "lastmod", "lastmod_precision", "changefreq", "priority", "sitemap", "line",
    ]


# --- lines of other tools ---


def test_unknown_keys_are_ignored_and_kept_in_the_dict() -> None:
    form = orjson.loads(sr.json_line(sr.UrlRecord("https://example.com/"), site="example.com"))
    assert sr.from_json({**form, "later": [1]}) == sr.UrlRecord("https://example.com/")
    assert form["site"] == "example.com"


def test_absent_and_null_keys_are_equal() -> None:
    """Column-based tools write null for a missing list."""
    bare = sr.UrlRecord("https://example.com/")
    keys = [field.name for field in attrs.fields(sr.UrlRecord)]
    assert sr.from_json({"loc": bare.loc}) == sr.from_json({**dict.fromkeys(keys), "loc": bare.loc}) == bare


def test_a_whole_number_is_a_number() -> None:
    record = sr.from_json('{"loc":"a","priority":1}')
    assert sr.json_line(record) == sr.json_line(sr.UrlRecord("a", priority=1.0))


LOC = '"loc": "https://example.com/"'
MISSING = "Object missing required field"
WRONG = [
    # no object
    *((line, "no JSON: ") for line in ("", b"\xff", '{"loc": "a"', '{"loc": NaN}', "[" * 5000)),
    ("null", "a line is a JSON object, not None"),
    ('"https://example.com/"', "a line is a JSON object, not 'https://example.com/'"),
    # no kind of line
    ('{"type": "node"}',
     "type: 'node' is none of sitemap, candidate, problem, outcome, change, summary; URL records have none"),
    ('{"type": ["sitemap"]}', "type: ['sitemap'] is none of sitemap"),
    # something is missing
    ("{}", f"URL record: {MISSING} `loc`"),
    ('{"loc": null}', "URL record: Expected `str`, got `null` - at `$.loc`"),
    ('{"type": "sitemap"}', f'line of type "sitemap": {MISSING} `loc`'),
    ('{"type": "problem", "code": "D01"}', f'line of type "problem": {MISSING} `severity`'),
    ('{"type": "change", "loc": "a"}', f'line of type "change": {MISSING} `change`'),
    ('{"type": "change", "change": "new"}', f'line of type "change": {MISSING} `loc`'),
    (f'{{{LOC}, "images": [{{}}]}}', f"URL record: {MISSING} `loc` - at `$.images[0]`"),
    (f'{{{LOC}, "problems": [{{"field": "loc"}}]}}', f"URL record: {MISSING} `code` - at `$.problems[0]`"),
    # something is of another type
    (f'{{{LOC}, "line": true}}', "URL record: Expected `int | null`, got `bool` - at `$.line`"),
    (f'{{{LOC}, "line": {2**63}}}', "URL record: Expected `int` <= 9223372036854775807 - at `$.line`"),
    (f'{{{LOC}, "priority": "0.5"}}', "URL record: Expected `float | null`, got `str` - at `$.priority`"),
    (f'{{{LOC}, "mobile": "yes"}}', "URL record: Expected `bool | null`, got `str` - at `$.mobile`"),
    (f'{{{LOC}, "images": ["a.jpg"]}}', "URL record: Expected `object`, got `str` - at `$.images[0]`"),
    (f'{{{LOC}, "news": []}}', "URL record: Expected `object | null`, got `array` - at `$.news`"),
    (f'{{{LOC}, "news": {{"keywords": ["a", 1]}}}}',
     "URL record: Expected `str`, got `int` - at `$.news.keywords[1]`"),
    (f'{{{LOC}, "videos": [{{}}, {{"price": [{{"value": []}}]}}]}}',
     "URL record: Expected `float | null`, got `array` - at `$.videos[1].price[0].value`"),
    (f'{{{LOC}, "extras": [{{"namespace": "", "name": "", "text": "", "attributes": [{{"name": "a", "value": 1}}]}}]}}',
     "URL record: Expected `str`, got `int` - at `$.extras[0].attributes[0].value`"),
    ('{"type": "outcome", "dropped": {"host": "1"}}',
     'line of type "outcome": Expected `int`, got `str` - at `$.dropped[...]`'),
    ('{"type": "change", "change": "new", "loc": "a", "news": {"title": 1}}',
     'line of type "change": Expected `str | null`, got `int` - at `$.news.title`'),
    # dates are those of RFC 3339, with a zone
    *(
        (f'{{{LOC}, "lastmod": {value}}}', f"URL record: {fault} - at `$.lastmod`")
        for value, fault in [
            ('"2024-01-31"', "Invalid RFC3339 encoded datetime"),
            ('"2024-02-31T08:30:00Z"', "Invalid RFC3339 encoded datetime"),
            ('"2024-01-31T25:30:00Z"', "Invalid RFC3339 encoded datetime"),
            ('"2024-01-31T08:30:00"', "Expected `datetime` with a timezone component"),
            ("1706689800", "Expected `datetime | null`, got `int`"),
        ]
    ),
    (f'{{{LOC}, "lastmod": "0001-01-01T00:00:00+01:00"}}', "URL record: date value out of range"),
    (f'{{{LOC}, "videos": [{{"tvshow": {{"premier_date": "2024"}}}}]}}',
     "URL record: Invalid RFC3339 encoded datetime - at `$.videos[0].tvshow.premier_date`"),
    # enumerated words
    ('{"type": "change", "loc": "a", "change": "moved"}', "line of type \"change\": Invalid enum value 'moved'"),
    (f'{{{LOC}, "lastmod_precision": "hour"}}', "URL record: Invalid enum value 'hour' - at `$.lastmod_precision`"),
    (f'{{{LOC}, "problems": [{{"code": "D01"}}, {{"code": "Z99"}}]}}', "problems: 'Z99' is no problem code"),
]


@pytest.mark.parametrize(("line", "finding"), WRONG)
def test_a_bad_line_is_a_usage_error_that_says_what_is_wrong(line: bytes | str, finding: str) -> None:
    with pytest.raises(sr.UsageError) as failure:
        sr.from_json(line)
    assert str(failure.value).startswith(finding)


@pytest.mark.parametrize("text", [
    "2024-01-31T08:30:00+00:00", "2024-01-31 08:30:00Z", "2024-01-31T10:30:00+02:00", "2024-01-31T08:30:00.0000000Z",
])
def test_dates_of_other_tools_are_read_in_utc(text: str) -> None:
    moment = datetime(2024, 1, 31, 8, 30, tzinfo=UTC)
    read: Any = sr.from_json({"loc": "a", "lastmod": text, "news": {"publication_date": text}})
    assert (read.lastmod, read.news.publication_date) == (moment, moment)
    assert read.lastmod.tzinfo is read.news.publication_date.tzinfo is UTC


@pytest.mark.slow
@given(st.recursive(st.none() | st.booleans() | st.integers() | numbers | texts, lambda each: st.lists(each) | (
    st.dictionaries(st.sampled_from(["type", "loc", "lastmod", "problems", "images", "code", "sitemap"]) | texts, each)
)))
def test_any_json_is_a_record_or_a_usage_error(value: Any) -> None:
    for form in (value, {"loc": "a", "videos": [value], "news": value, "problems": value}):
        try:
            record = sr.from_json(json.dumps(form))
        except sr.UsageError:
            continue
        assert sr.from_json(sr.json_line(record)) == record


# --- writing ---


@pytest.mark.parametrize("item", [None, "https://example.com/", {"loc": "a"}, sr.Image("a")])
def test_values_that_are_no_records_have_no_line(item: object) -> None:
    with pytest.raises(sr.UsageError, match=f"a {type(item).__name__} has no JSON line"):
        sr.to_dict(item)


@pytest.mark.parametrize(("moment", "text"), [
    (datetime(2024, 1, 31, tzinfo=UTC), "2024-01-31T00:00:00Z"),
    (datetime(2024, 1, 31, 8, 30, 0, 250000, tzinfo=UTC), "2024-01-31T08:30:00.25Z"),
    (datetime(2024, 1, 31, 8, 30, 0, 1, tzinfo=UTC), "2024-01-31T08:30:00.000001Z"),
    (datetime(1, 1, 1, tzinfo=UTC), "0001-01-01T00:00:00Z"),
    (datetime(999, 12, 31, 23, 59, 59, tzinfo=UTC), "0999-12-31T23:59:59Z"),
    (datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC), "9999-12-31T23:59:59.999999Z"),
    (datetime(2024, 1, 31, 8, 30, tzinfo=timezone(timedelta(hours=2))), "2024-01-31T06:30:00Z"),
    (datetime(2024, 1, 31, 8, 30, tzinfo=timezone(timedelta(0), "Z")), "2024-01-31T08:30:00Z"),
    (None, None),
])
def test_a_date_is_always_a_full_stamp_in_utc(moment: datetime | None, text: str | None) -> None:
    assert stamp(moment) == text
    record = sr.UrlRecord("https://example.com/", moment)
    batch = batch_of(None, [record])
    assert encode_urls(batch) == sr.json_line(record)
    assert encode_urls(batch, is_new=True) == sr.json_line(Change("new", record))
    assert orjson.loads(encode_urls(batch))["lastmod"] == text


def test_a_date_without_a_zone_is_refused() -> None:
    naive = sr.UrlRecord("a", datetime(2024, 1, 31, 8, 30))
    for write in (lambda: sr.json_line(naive), lambda: encode_urls(batch_of(None, [sr.UrlRecord("a"), naive]))):
        with pytest.raises(sr.UsageError, match="2024-01-31T08:30:00 has no zone"):
            write()


# --- many lines ---

offsets = st.integers(-23 * 60, 23 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))
zones = st.just(UTC) | st.timezones() | offsets
within_years = st.datetimes(datetime(2, 1, 1), datetime(9998, 12, 31), timezones=zones)
zoned = within_years | within_years.map(lambda moment: moment.replace(microsecond=0))


@pytest.mark.slow
@settings(max_examples=examples(40, 10))
@given(st.lists(st.tuples(urls, st.none() | zoned), max_size=8), st.none() | texts)
def test_lines_are_those_that_each_record_has_by_itself(drawn: list[tuple[Any, Any]], site: str | None) -> None:
    records = [attrs.evolve(record, lastmod=moment or record.lastmod, sitemap=None) for record, moment in drawn]
    batch = batch_of(None, records)
    assert encode_urls(batch, site=site) == b"".join(sr.json_line(record, site=site) for record in records)
    new = [Change("new", record) for record in records]
    expected = b"".join(sr.json_line(change, site=site) for change in new)
    assert encode_urls(batch, site=site, is_new=True) == expected
    assert encode_changes(batch, site=site) == encode_changes(new, site=site) == expected


def test_no_records_are_no_lines() -> None:
    empty = batch_of(None, [])
    assert (len(empty), encode_urls(empty), encode_changes(empty), encode_changes([])) == (0, b"", b"", b"")


@pytest.mark.slow
@settings(max_examples=examples(40, 10))
@given(st.lists(urls, max_size=8), st.sets(st.integers(0, 7)))
def test_lines_of_chosen_urls_are_those_of_their_records(records: list[Any], chosen: set[int]) -> None:
    records = [attrs.evolve(record, sitemap=None) for record in records]
    kept = [record for number, record in enumerate(records) if number in chosen]
    some = batch_of(None, records).only([number in chosen for number in range(len(records))])
    assert encode_urls(some) == b"".join(map(sr.json_line, kept))
    assert some.records() == kept
