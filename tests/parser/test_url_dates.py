"""A URL -> the date that its path states, or None."""

import re
from datetime import UTC, datetime

import pytest

from sitemap_reader.parser.normalise.dates import URL_DATE, date_in_url, days_in_urls

DAY, MONTH = (datetime(2020, 12, 8, tzinfo=UTC), "day"), (datetime(2020, 12, 1, tzinfo=UTC), "month")
CASES = [
    ("/2020-12-08-title", DAY),
    ("/2020-12-08", DAY),
    ("/blog/2020-12-08.html?page=2", DAY),
    ("/event/title/2020-12-08/", DAY),
    ("/title-2020-12-08.html", DAY),
    ("/2020_12_08_title", DAY),
    ("/20201208-title", DAY),
    ("/2020/20201208_title", DAY),
    ("/2020/12/08/title", DAY),
    ("/2020/12/08", DAY),
    ("/2020/12/08-title", DAY),
    ("/2020/12/2020-12-08-title", DAY),  # of two the finer one
    ("/2020/12/title", MONTH),
    ("/2020/12", MONTH),
    ("/2020/12/?page=2", MONTH),
    ("/2020/12/8-title", MONTH),
    ("/", None),
    ("/2020/", None),
    ("/2048/title", None),
    ("/2020/12-reasons", None),
    ("/2020/13/title", None),
    ("/2020-12-title", None),  # a season or a year's number
    ("/2020-13-08-title", None),
    ("/2021-02-29-title", None),
    ("/2020-12-081", None),
    ("/2020-12-08T", None),
    ("/12020-12-08", None),
    ("/1994-12-08-title", None),
    ("/2100-12-08-title", None),
    ("/20201208", None),  # as often an id
    ("/20201208/title", None),
    ("/title-20201208-title", None),
    ("/20201208120000/title", None),
    ("/1920x1080/2020x1208", None),
    ("/v2020.12/title", None),
    ("/v2020/12/title", None),
    ("/?date=2020-12-08", None),
    ("/#/2020-12-08", None),
]  # fmt: skip


@pytest.mark.parametrize(("path", "date"), CASES)
def test_date_that_a_path_states(path: str, date: object) -> None:
    assert date_in_url(f"https://a.example{path}") == date


def test_days_in_many_urls_are_those_of_each() -> None:
    days = [(index, date[0]) for index, (_, date) in enumerate(CASES) if date and date[1] == "day"]
    assert [*days_in_urls("".join(f"\nhttps://a.example{path}" for path, _ in CASES))] == days


def test_arrow_finds_the_same_dates() -> None:
    """With RE2, in which a group without a match is empty."""
    compute = pytest.importorskip("pyarrow.compute")
    locs = [f"https://a.example{path}" for path, _ in CASES]
    found = [each and each["day"] + each["month"] for each in compute.extract_regex(locs, URL_DATE).to_pylist()]
    assert found == [match and (match["day"] or match["month"]) for match in map(re.compile(URL_DATE).search, locs)]
    assert sum(map(bool, found)) == 17
