from __future__ import annotations

import re
from datetime import UTC, datetime

import pytest

from sitemap_reader.frontier.filters import Patterns, Selection, Window, make_moment, make_patterns
from sitemap_reader.model.errors import UsageError
from sitemap_reader.model.records import UrlRecord

NEW = datetime(2026, 1, 1, tzinfo=UTC)


def selection(include: object = None, exclude: object = None, window: Window | None = None) -> Selection:
    return Selection(window or Window(), make_patterns("include", include), make_patterns("exclude", exclude))


@pytest.mark.parametrize(
    ("include", "exclude", "refused"),
    [
        (None, None, False),
        ("/schuh-größe", None, True),
        ("/shoes/", None, False),
        ("/hats/", None, True),
        ("^/shoes/", None, True),  # the whole URL is searched
        (["/hats/", "/shoes/"], None, False),
        ("/SHOES/", None, True),
        ("(?i)/SHOES/", None, False),
        (re.compile("/SHOES/", re.IGNORECASE), None, False),
        (None, "/shoes/", True),
        (None, "/hats/", False),
        (None, ["/hats/", r"\d$"], True),
        ("/shoes/", r"\d$", True),
        ([], (), False),
        (iter(["/shoes/"]), None, False),
    ],
)
def test_patterns_are_searched_for_in_the_url(include: object, exclude: object, refused: bool) -> None:
    record = UrlRecord("https://a.example/shoes/7")
    assert selection(include, exclude).refuses(record) == ("pattern" if refused else None)


@pytest.mark.parametrize("pattern", ["/café/", "/caf%C3%A9/", "%2f"])
def test_patterns_match_encoded_and_decoded_urls(pattern: str) -> None:
    record = UrlRecord("https://a.example/caf%C3%A9/%2fx")
    assert selection(pattern).refuses(record) is None
    assert selection(None, pattern).refuses(record) == "pattern"


@pytest.mark.parametrize("given", [3, [3], [None]])
def test_value_that_is_no_pattern_is_named(given: object) -> None:
    with pytest.raises(UsageError, match="include must be a regular expression, or several, not"):
        make_patterns("include", given)


def test_a_date_is_refused_before_a_pattern() -> None:
    chosen = selection("/hats/", window=Window(since=NEW))
    assert chosen.refuses(UrlRecord("https://a.example/", datetime(2025, 1, 1, tzinfo=UTC), "day")) == "date"
    assert chosen.refuses(UrlRecord("https://a.example/", NEW, "day")) == "pattern"
    assert chosen.refuses(UrlRecord("https://a.example/hats/", NEW, "day")) is None


@pytest.mark.parametrize("pattern", ["(", "*.html", "[a"])
def test_invalid_regular_expression_is_named(pattern: str) -> None:
    with pytest.raises(UsageError, match=re.escape(f"no_follow: {pattern!r} is no regular expression")):
        make_patterns("no_follow", pattern)


@pytest.mark.parametrize(
    ("pattern", "advice", "matches"),
    [
        ("*.html", r"for the shell's *.html give \.html$", "https://a.example/a.html"),
        ("*/blog/*", "for the shell's */blog/* give /blog/", "https://a.example/blog/1"),
        ("*/a*.xml", r"for the shell's */a*.xml give /a.*\.xml$", "https://a.example/ab.xml"),
    ],
)
def test_pattern_of_a_shell_is_answered_with_a_regular_expression_that_works(
    pattern: str, advice: str, matches: str
) -> None:
    with pytest.raises(UsageError) as raised:
        make_patterns("include", pattern)
    assert str(raised.value).endswith(f"; {advice}")
    found = make_patterns("include", advice.rpartition(" ")[2])
    assert found.find_in(matches)
    assert not found.find_in("https://a.example/other")


@pytest.mark.parametrize("pattern", ["*", "c++/(", "+a", "*?x", "*[ab].html", "*.{a,b}"])
def test_other_errors_in_a_pattern_are_answered_with_the_backslash(pattern: str) -> None:
    with pytest.raises(UsageError, match="put a backslash before"):
        make_patterns("include", pattern)


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026-05-31", datetime(2026, 5, 31, 23, 59, 59, tzinfo=UTC)),
        ("2026-05-31T12:00Z", datetime(2026, 5, 31, 12, 0, 59, tzinfo=UTC)),
        ("2026-05-31T12:00:01Z", datetime(2026, 5, 31, 12, 0, 1, tzinfo=UTC)),
        ("2026-05-31T12:00:01.5Z", datetime(2026, 5, 31, 12, 0, 1, 500_000, tzinfo=UTC)),
        ("0001-01-01T00:00:00.5Z", datetime(1, 1, 1, 0, 0, 0, 500_000, tzinfo=UTC)),
    ],
)
def test_moment_of_a_period_is_its_last_second(text: str, moment: datetime) -> None:
    assert make_moment("as_of", text, NEW) == moment


def test_empty_pattern_list_matches_nothing() -> None:
    assert not Patterns().find_in("https://a.example/")
    assert not make_patterns("follow", None)
