"""Snapshot.robots_for(): how many pages of each section robots.txt permits to a crawler."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from kit import HOST, dump, files, urlset

import sitemap_reader as sr

RULES = f"""User-agent: *
Disallow: /x

User-agent: GPTBot
Disallow: /blog/b

User-agent: CCBot
Disallow: /
Sitemap: {HOST}/sitemap.xml
"""
PATHS = ["/blog/a", "/blog/b", "/blog/b2", "/shop/1", "/"]


def snapshot(folder: Path, rules: str = RULES, *others: str) -> sr.Snapshot:
    listed = urlset(*(f"{HOST}{path}" for path in PATHS), *others)
    files(folder, {"robots.txt": rules, "sitemap.xml": listed})
    return sr.snapshot(folder, base=f"{HOST}/", scope="any", show_progress=False)


def rows(snapshot: sr.Snapshot, agents: Any, **options: Any) -> list[tuple[Any, ...]]:
    return [*snapshot.robots_for(agents, **options).itertuples(index=False, name=None)]


def test_pages_are_counted_by_crawler_and_section(tmp_path: Path) -> None:
    site = snapshot(tmp_path, RULES, "https://b.example/blog/1")
    frame = site.robots_for("GPTBot,CCBot")
    assert [*frame.columns] == ["site", "agent", "section", "pages", "allowed", "disallowed", "unknown"]
    assert [*frame.drop(columns="site").itertuples(index=False, name=None)] == [
        ("GPTBot", "/blog/", 4, 1, 2, 1), ("GPTBot", "/", 1, 1, 0, 0), ("GPTBot", "/shop/", 1, 1, 0, 0),
        ("CCBot", "/blog/", 4, 0, 3, 1), ("CCBot", "/", 1, 0, 1, 0), ("CCBot", "/shop/", 1, 0, 1, 0),
    ]  # fmt: skip
    assert [row[4:] for row in rows(site, ["*"])] == [(3, 0, 1), (1, 0, 0), (1, 0, 0)]


def test_a_site_without_robots_txt_permits_all(tmp_path: Path) -> None:
    files(tmp_path, {"sitemap.xml": urlset(f"{HOST}/")})
    site = sr.snapshot(tmp_path, base=f"{HOST}/", show_progress=False)
    assert [row[1:] for row in rows(site, "GPTBot")] == [("GPTBot", "/", 1, 1, 0, 0)]


def test_a_subset_and_a_file_keep_robots_txt(tmp_path: Path) -> None:
    site = snapshot(tmp_path / "site")
    assert [row[1:] for row in rows(site.filter(include="/blog/"), "GPTBot")] == [("GPTBot", "/blog/", 3, 1, 2, 0)]
    site.to_parquet(tmp_path / "a.parquet")
    assert rows(sr.load(tmp_path / "a.parquet"), "GPTBot,*") == rows(site, "GPTBot,*")


@pytest.mark.slow
def test_rules_beyond_the_budget_of_work_leave_pages_unknown(tmp_path: Path) -> None:
    rules = "User-agent: *\n" + "".join(f"Disallow: /*{number}*{'y' * 80}z$\n" for number in range(4_000))
    listed = urlset(*(f"{HOST}/{number}/{'y' * 1_500}" for number in range(200)))
    files(tmp_path, {"robots.txt": rules, "sitemap.xml": listed})
    site = sr.snapshot(tmp_path, base=f"{HOST}/", show_progress=False)
    states = site.robots_for("*")[["allowed", "disallowed", "unknown"]].sum()
    assert states["unknown"] > 0
    assert states["disallowed"] == 0
    assert states.sum() == 200


def test_a_dump_is_an_error_that_says_what_to_read(tmp_path: Path) -> None:
    site = sr.load(dump(tmp_path / "a.jsonl", {"loc": f"{HOST}/", "sitemap": f"{HOST}/sitemap.xml"}))
    with pytest.raises(sr.UsageError, match=r"none with .*a\.jsonl; read the site itself, by snapshot"):
        site.robots_for("GPTBot")


@pytest.mark.parametrize("agents", ["", "google bot", [""]])
def test_what_is_no_crawler_is_an_error(agents: Any, tmp_path: Path) -> None:
    with pytest.raises(sr.UsageError, match="names of crawlers"):
        snapshot(tmp_path).robots_for(agents)
