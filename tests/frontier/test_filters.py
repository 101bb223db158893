import pickle
import random
import re
import warnings
from datetime import UTC, datetime

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from sitemap_reader import UrlRecord, UsageError
from sitemap_reader.frontier import Patterns, Selection, Window, make_moment, make_patterns
from sitemap_reader.model import LimitedPattern
from sitemap_reader.parser import batch_of

NEW = datetime(2026, 1, 1, tzinfo=UTC)


def selection(include: object = None, exclude: object = None, window: Window | None = None) -> Selection:
    return Selection(window or Window(), make_patterns("include", include), make_patterns("exclude", exclude))


@pytest.mark.parametrize(("include", "exclude", "refused"), [
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
])
def test_patterns_are_searched_for_in_the_url(include: object, exclude: object, refused: bool) -> None:
    urls = batch_of(None, [UrlRecord("https://a.example/shoes/7")])
    assert selection(include, exclude).reasons(urls) == ["pattern" if refused else None]


@pytest.mark.parametrize("pattern", ["/café/", "/caf%C3%A9/", "%2f"])
def test_patterns_match_encoded_and_decoded_urls(pattern: str) -> None:
    urls = batch_of(None, [UrlRecord("https://a.example/caf%C3%A9/%2fx")])
    assert selection(pattern).reasons(urls) == [None]
    assert selection(None, pattern).reasons(urls) == ["pattern"]


@pytest.mark.parametrize(("given", "message"), [
    *((given, "no_follow is a regular expression, or several, not") for given in (3, [3], [None])),
    *((given, f"no_follow: {given!r} is no regular expression") for given in ("(", "*.html", "[a")),
    *((given, "put a backslash before") for given in ("*", "c++/(", "+a", "*?x", "*[ab].html", "*.{a,b}")),
])
def test_value_that_is_no_pattern_is_named(given: object, message: str) -> None:
    with pytest.raises(UsageError, match=re.escape(message)):
        make_patterns("no_follow", given)


def test_a_date_is_refused_before_a_pattern() -> None:
    chosen = selection("/hats/", window=Window(since=NEW))
    pages = [("", datetime(2025, 1, 1, tzinfo=UTC)), ("", NEW), ("hats/", NEW)]
    urls = batch_of(None, [UrlRecord(f"https://a.example/{path}", day, "day") for path, day in pages])
    assert chosen.reasons(urls) == ["date", "pattern", None]
    assert chosen.only(urls).records() == urls.records()[2:]


@pytest.mark.parametrize(("pattern", "advice", "matches"), [
    ("*.html", r"for the shell's *.html give \.html$", "https://a.example/a.html"),
    ("*/blog/*", "for the shell's */blog/* give /blog/", "https://a.example/blog/1"),
    ("*/a*.xml", r"for the shell's */a*.xml give /a.*\.xml$", "https://a.example/ab.xml"),
])
def test_pattern_of_a_shell_is_answered_with_a_regular_expression_that_works(
    pattern: str, advice: str, matches: str
) -> None:
    with pytest.raises(UsageError) as raised:
        make_patterns("include", pattern)
    assert str(raised.value).endswith(f"; {advice}")
    found = make_patterns("include", advice.rpartition(" ")[2])
    assert found.find_in(matches)
    assert not found.find_in("https://a.example/other")


@pytest.mark.parametrize(("text", "moment"), [
    ("2026-05-31", datetime(2026, 5, 31, 23, 59, 59, tzinfo=UTC)),
    ("2026-05-31T12:00Z", datetime(2026, 5, 31, 12, 0, 59, tzinfo=UTC)),
    ("2026-05-31T12:00:01Z", datetime(2026, 5, 31, 12, 0, 1, tzinfo=UTC)),
    ("2026-05-31T12:00:01.5Z", datetime(2026, 5, 31, 12, 0, 1, 500_000, tzinfo=UTC)),
    ("0001-01-01T00:00:00.5Z", datetime(1, 1, 1, 0, 0, 0, 500_000, tzinfo=UTC)),
])
def test_moment_of_a_period_is_its_last_second(text: str, moment: datetime) -> None:
    assert make_moment("as_of", text, NEW) == moment


def test_empty_pattern_list_matches_nothing() -> None:
    assert not Patterns().find_in("https://a.example/")
    assert not make_patterns("follow", None)


# --- patterns that someone else wrote ---

_ITEMS = [
    "a", "é", ".", "[a-z]", "[^/]", r"\w", r"\d", r"\s", r"\S", r"\W", r"\D", "/", "(?:a|b)", "^", r"[\w-]", r"[\d.]",
    "[[a]", "[]a]", "[^]a]", r"[^\s]", r"\.", "{", r"[a\]]", "(?P<x>a)",
]
_REPEATS = ["", "", "*", "+", "?", "*?", "{2}", "{,2}", "{1,3}", "{2,}", "{,}", "{x}"]
_PARTS = st.lists(st.tuples(st.sampled_from(_ITEMS), st.sampled_from(_REPEATS)).map("".join), min_size=1, max_size=4)


@given(
    st.sampled_from(["", "(?i)", "(?s)", "(?m)"]), _PARTS.map("".join), st.sampled_from(["", "", "$", r"\Z"]),
    st.text("aAbé/1٣²Ⅷ_-.[]{}x, \n\x1c\x85\u0301", max_size=6),
)
def test_a_limited_pattern_means_what_it_means_in_python(flags: str, body: str, end: str, text: str) -> None:
    pattern = flags + body + end
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about [[
            expected = re.compile(pattern)
    except re.error:
        assume(False)
    (limited,) = make_patterns("include", LimitedPattern(pattern)).patterns
    assert bool(limited.search(text)) is bool(expected.search(text))


@pytest.mark.parametrize(("pattern", "is_literal"), [(r"^https://a\.example/$", True), ("/a", True), ("/a?", False)])
def test_a_literal_text_needs_no_re2(pattern: str, is_literal: bool) -> None:
    (limited,) = make_patterns("include", LimitedPattern(pattern)).patterns
    assert isinstance(limited, re.Pattern) is is_literal
    assert limited.pattern == pattern


@pytest.mark.slow
def test_a_search_that_takes_too_long_is_an_error() -> None:
    """Linear, but 40 s for this URL."""
    url = "".join(random.Random(1).choices("ab", k=900_000))  # noqa: S311
    patterns = make_patterns("include", LimitedPattern("[ab]*a[ab]{900}z"))
    with pytest.raises(UsageError, match="takes over 1 s for a URL of 900,000 characters"):
        patterns.find_in(url)


def test_a_limited_pattern_stays_one_in_other_processes() -> None:
    """A harvest sends its filters to workers."""
    copied = pickle.loads(pickle.dumps(LimitedPattern("a+")))  # noqa: S301 -- our own
    assert (type(copied), copied) == (LimitedPattern, "a+")
