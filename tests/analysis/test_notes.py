"""Notes of a Snapshot (card, repr) state what its tables lack, with the numbers of a Summary."""

from __future__ import annotations

from html import escape
from pathlib import Path

import pytest

pytest.importorskip("pandas")
pytest.importorskip("pyarrow")


from kit import Site, robots, urlset
from recorded import SITES

import sitemap_reader as sr


def made(folder: Path, host: str, **sitemaps: list[str] | str) -> Path:
    """A recorded site: name -> the locs of a sitemap, or its body; without one it is missing."""
    named = robots(*(f"https://{host}/{name}.xml" for name in sitemaps))
    read = {name: body if isinstance(body, str) else urlset(*body) for name, body in sitemaps.items() if body}
    bodies = {f"{name}.xml": body for name, body in read.items()}
    return Site({"robots.txt": named, **bodies}, f"https://{host}").write(folder / host)


def locs(host: str, count: int) -> list[str]:
    return [f"https://{host}/{number}" for number in range(count)]


def snapshot(*sites: Path, **options: object) -> sr.Snapshot:
    return sr.snapshot([*sites], show_progress=False, **options)  # type: ignore[arg-type]


def test_urls_that_are_all_out_of_scope_are_named_with_the_keyword_that_keeps_them(tmp_path: Path) -> None:
    site = made(tmp_path, "a.example", all=locs("b.example", 7))
    some = snapshot(site)
    (nothing, dropped) = some.notes
    assert nothing == "no URL in 1 sitemap; problems: U04 7"
    assert dropped == 'out of scope: 7 dropped (host 7; scope="any" keeps it)'
    with sr.urls(site) as urls:
        assert list(urls) == []
    assert dropped.removeprefix("out of scope: ") in str(urls.summary)
    for note in some.notes:
        assert escape(note) in some._repr_html_()
        assert note in repr(some)
    assert snapshot(site, scope="any").notes == ()


def test_urls_that_are_half_out_of_scope_are_counted(tmp_path: Path) -> None:
    site = made(tmp_path, "a.example", half=[*locs("a.example", 5), *locs("b.example", 4), "https://a.example:444/x"])
    some = snapshot(site)
    assert len(some.urls) == 5
    assert some.notes == ('out of scope: 5 dropped (host 4, port 1; scope="any" keeps it)',)


def test_sitemaps_that_were_not_read_or_in_part_are_named_with_the_reason(tmp_path: Path) -> None:
    gone = {f"gone{number}": "" for number in range(5)}
    cut = "<urlset><url><loc>https://a.example/1</loc></url><url><loc>https://a.exa"
    some = snapshot(made(tmp_path, "a.example", fine=locs("a.example", 3), cut=cut, **gone))
    failed, partial = some.notes
    assert failed.startswith("5 sitemaps could not be read: F01 https://a.example/gone0.xml: 404 Not Found")
    assert "gone2.xml" in failed
    assert "gone3.xml" not in failed
    assert failed.endswith("; and 2 more")
    assert partial.startswith("1 sitemap could be read in part only: ")
    assert "https://a.example/cut.xml" in partial
    assert some.complete is False


def test_a_limit_is_named(tmp_path: Path) -> None:
    some = snapshot(made(tmp_path, "a.example", many=locs("a.example", 9)), limits=sr.Limits(max_entries=4))
    (note,) = some.notes
    assert note.startswith("1 sitemap could be read in part only: S16 https://a.example/many.xml")
    assert "raise max_entries" in note


def test_filtered_urls_are_counted_with_the_keywords(tmp_path: Path) -> None:
    site = made(tmp_path, "a.example", one=locs("a.example", 9), two=["https://a.example/two"])
    some = snapshot(site, include="[13]$", no_follow="two")
    assert some.notes == (
        "only some of the URLs: include '[13]$', no_follow 'two'",
        "7 URLs outside the patterns (include, exclude)",
        "1 sitemap left out (no_follow)",
    )
    assert snapshot(site, undated="drop", since="2020").notes[-1] == "10 URLs outside the dates (since, until, undated)"


def test_notes_of_several_sites_name_theirs(tmp_path: Path) -> None:
    whole = made(tmp_path, "a.example", all=locs("a.example", 2))
    half = made(tmp_path, "b.example", half=[*locs("b.example", 2), *locs("a.example", 1)])
    nothing = made(tmp_path, "c.example", gone="")
    some = snapshot(whole, half, nothing)
    failed, dropped = some.notes
    assert failed.startswith(f"no URL could be read from {nothing}: F01 ")
    assert dropped == 'b.example: out of scope: 1 dropped (host 1; scope="any" keeps it)'


def test_numbers_are_those_of_the_summary() -> None:
    with sr.urls(SITES / "broken") as urls:
        list(urls)
    reported = "\n".join(snapshot(SITES / "broken").notes)
    for part in [*urls.summary.missing().split(", "), "10 dropped (host 10"]:
        assert part in reported


def test_notes_are_stored_in_parquet_and_pickles(tmp_path: Path) -> None:
    some = snapshot(made(tmp_path, "a.example", half=[*locs("a.example", 2), *locs("b.example", 1)]))
    some.to_parquet(tmp_path / "stored")
    assert sr.load(tmp_path / "stored").notes == some.notes
