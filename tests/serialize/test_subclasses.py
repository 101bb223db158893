"""The lines of changes of a watch, and of objects of subclasses of the records."""

from datetime import UTC, datetime
from typing import Any

import attrs
import pytest

import sitemap_reader as sr

# As docs/watch.md prints it.
LINE = (
    b'{"seq":7,"at":"2026-11-27T08:45:44.97Z","type":"change","change":"new","loc":"https://example.com/a",'
    b'"lastmod":null,"lastmod_precision":null,"changefreq":null,"priority":null,'
    b'"sitemap":"https://example.com/sitemap.xml","line":12,"site":"example.com"}\n'
)


def test_a_change_of_a_watch_is_read_with_its_number_time_and_site() -> None:
    change = sr.from_json(LINE)
    assert isinstance(change, sr.WatchedChange)
    at = datetime(2026, 11, 27, 8, 45, 44, 970_000, tzinfo=UTC)
    assert (change.seq, change.at, change.site, change.change) == (7, at, "example.com", "new")
    assert sr.json_line(change) == LINE
    assert sr.from_json(sr.to_dict(change)) == change


@pytest.mark.parametrize("change", [
    sr.WatchedChange("removed", sr.UrlRecord("https://a.example/", sitemap="https://a.example/s.xml"), seq=1),
    sr.WatchedChange(
        "updated", sr.UrlRecord("https://a.example/", priority=0.5), ("priority",), seq=2, site="a.example"
    ),
    sr.WatchedChange("new", sr.UrlRecord("https://a.example/"), seq=3, site="a.example", first_reading=True),
])
def test_every_kind_of_change_is_read_back(change: sr.WatchedChange) -> None:
    assert sr.from_json(sr.json_line(change)) == change


def test_a_change_without_a_number_is_a_change() -> None:
    for stated in ({"site": "example.com"}, {"seq": None}, {"at": "2026-11-27T08:45:44Z"}):
        line = {**sr.to_dict(sr.Change("new", sr.UrlRecord("https://a.example/"))), **stated}
        assert type(sr.from_json(line)) is sr.Change


@pytest.mark.parametrize(("stated", "message"), [
    ({"seq": "7"}, r"Expected `int \| null`, got `str` - at `\$.seq`"),
    ({"at": "today"}, r"Invalid RFC3339 encoded datetime - at `\$.at`"),
    ({"first_reading": "yes"}, r"Expected `bool \| null`, got `str` - at `\$.first_reading`"),
    ({"site": 3}, r"Expected `str \| null`, got `int` - at `\$.site`"),
])
def test_a_value_of_a_wrong_type_is_named(stated: dict[str, Any], message: str) -> None:
    with pytest.raises(sr.UsageError, match=f'line of type "change": {message}'):
        sr.from_json({**sr.to_dict(sr.from_json(LINE)), **stated})


RECORDS = [
    sr.UrlRecord("https://a.example/"),
    sr.SitemapRef("https://a.example/s.xml"),
    sr.Problem("S01", "error", "damaged"),
    sr.Outcome("https://a.example/s.xml"),
    sr.Candidate("https://a.example/s.xml", "robots"),
    sr.Change("new", sr.UrlRecord("https://a.example/")),
    sr.from_json(LINE),
]


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: type(record).__name__)
def test_an_object_of_a_subclass_has_the_line_of_its_record(record: Any) -> None:
    kind: Any = type(record)

    class Mine(kind):  # type: ignore[misc]
        pass

    @attrs.define
    class More(kind):  # type: ignore[misc]
        own: int = 3

    for each in (Mine, More):
        values = {field.name: getattr(record, field.name) for field in attrs.fields(kind)}
        assert sr.json_line(each(**values)) == sr.json_line(record)


def test_an_object_of_another_class_has_none() -> None:
    with pytest.raises(sr.UsageError, match="a int has no JSON line"):
        sr.json_line(3)
