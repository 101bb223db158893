"""The limits of a token and of an entry: each is exact, and named in its problem."""

from __future__ import annotations

import pytest
from kit import parse

import sitemap_reader as sr

ROOT = b'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">'
END = b"</urlset>"
LOC = b"<loc>https://example.com/%d</loc>"
URL = b"<url>" + LOC % 1 + b"</url>\n"


def read(data: bytes, size: int = 0, **limits: int) -> sr.Outcome:
    return parse(data, size, limits=sr.Limits(**limits)).outcome()


@pytest.mark.parametrize("size", [1, 7, 100, 1 << 16])
@pytest.mark.parametrize("over", [0, 1])
def test_limit_of_a_token_holds_exactly_however_it_is_cut(size: int, over: int) -> None:
    data = ROOT + URL + b"<!--" + b"x" * (1000 - 7 + over) + b"-->" + URL + END
    outcome = read(data, size, max_token_bytes=1000)
    assert (outcome.entries, outcome.problems) == ((1, {"S16": 1}) if over else (2, {}))


@pytest.mark.parametrize("over", [0, 1])
def test_elements_of_an_entry_are_limited(over: int) -> None:
    data = ROOT + URL + b"<url><loc>https://example.com/a</loc>" + b"<x/>" * (8 + over) + b"</url>" + URL + END
    outcome = read(data, max_entry_elements=9)
    assert (outcome.entries, outcome.complete) == ((1, False) if over else (3, True))
    assert ["raise max_entry_elements" in sample.message for sample in outcome.samples[-1:]] == [bool(over)]


@pytest.mark.parametrize("over", [0, 1, 7])
def test_problems_of_an_entry_are_limited_but_all_are_counted(over: int) -> None:
    data = ROOT + b"<url><loc>https://example.com/a</loc>" + b"<x/>" * (3 + over) + b"</url>" + URL + END
    found = sr.parse(data, limits=sr.Limits(max_entry_problems=3))
    assert len(found.urls) == 2
    assert found.outcome.complete
    assert found.outcome.problems == {"S10": 3 + over} | ({"S16": 1} if over else {})
    reported = [problem.message for problem in found.urls[0].problems]
    assert reported[:3] == ["<x> is unknown"] * 3
    assert reported[3:] == [f"{over} more problems of this entry; raise max_entry_problems to see each"] * bool(over)


REPAIRS = [("max_entry_repairs", 2, 1), ("max_repairs", 3, 2), ("max_prefixes", 1, 1)]


@pytest.mark.parametrize(("field", "limit", "found"), REPAIRS)
def test_limit_of_repairs_names_its_field(field: str, limit: int, found: int) -> None:
    ends = (b"</b>", b"</b></c>", b"</b></c></d>")
    plain = b"".join(b"<url>" + LOC % number + end + b"</url>" for number, end in enumerate(ends))
    prefixed = b"<url>" + LOC % 1 + b"<p:a/></url><url><q:loc>https://example.com/2</q:loc><q:a/></url>"
    data = ROOT + (prefixed if field == "max_prefixes" else plain) + END
    whole = sr.parse(data)
    assert "raise" not in str(whole.problems)
    capped = sr.parse(data, limits=sr.Limits(**{field: limit}))
    assert any(f"raise {field}" in problem.message for problem in capped.problems)
