"""Removed URLs are requested after a comparison: whether they redirect, where, and whether that page is listed."""

from pathlib import Path
from typing import Any

import pytest
from kit import Site, dump, objects, robots, run, urlset

import sitemap_reader as sr
from sitemap_reader.cli import Exit
from sitemap_reader.compare import RemovedPages
from sitemap_reader.model import RemovedPage

pytestmark = pytest.mark.usefixtures("short_backoffs")

OLD, NEW = "https://old.example", "https://new.example"


def moved(url: str, status: int = 301) -> tuple[int, dict[str, str], bytes]:
    return status, {"Location": url}, b""


HTML = (200, {"Content-Type": "text/html"}, b"<title>Page</title>")
PAGES: dict[str, Any] = {
    f"{OLD}/robots.txt": robots(rules="User-agent: *\nDisallow: /private/\n"),
    f"{OLD}/same": moved("/kept"),
    f"{OLD}/kept": HTML,
    f"{OLD}/listed": moved(f"{NEW}/listed", 308),
    f"{OLD}/two-steps": moved("/step"),
    f"{OLD}/step": moved(f"{NEW}/listed"),
    f"{OLD}/unlisted": moved(f"{NEW}/unlisted", 302),
    f"{OLD}/home": moved(f"{NEW}/"),
    f"{OLD}/broken": moved(f"{NEW}/nowhere"),
    f"{OLD}/loop": moved("/loop"),
    f"{OLD}/refused": moved(f"{NEW}/private/a"),
    f"{OLD}/still": HTML,
    f"{OLD}/gone": 410,
    f"{NEW}/robots.txt": robots(rules="User-agent: *\nDisallow: /private/\n"),
    f"{NEW}/": HTML,
    f"{NEW}/listed": HTML,
    f"{NEW}/unlisted": HTML,
}
FATES = {
    "same": ("listed", 301, 200, True),
    "listed": ("listed", 308, 200, True),
    "two-steps": ("listed", 301, 200, True),
    "unlisted": ("elsewhere", 302, 200, False),
    "home": ("start page", 301, 200, True),
    "broken": ("broken", 301, 404, False),
    "loop": ("broken", 301, 301, False),
    "refused": ("unknown", 301, None, False),
    "still": ("found", 200, None, False),
    "gone": ("error", 410, None, False),
    "missing": ("error", 404, None, False),
    "private/a": ("unknown", None, None, False),
}
LISTED = [f"{OLD}/kept", f"{NEW}/listed", f"{NEW}/"]


@pytest.fixture
def site() -> Site:
    return Site(PAGES)


def checked(site: Site, names: list[str], size: int | None = None, **options: Any) -> RemovedPages:
    before = [sr.UrlRecord(f"{OLD}/{name}") for name in (*names, "kept")]
    with sr.diff(before, [sr.UrlRecord(each) for each in LISTED]) as changes:
        return changes.check_removed(size, fetcher=site, **options)


def test_each_removed_url_has_its_answer(site: Site) -> None:
    found = checked(site, [*FATES])
    assert {
        url.removeprefix(f"{OLD}/"): (each.result, each.status, each.final_status, each.final_listed)
        for url, each in found.pages.items()
    } == FATES
    assert found.pages[f"{OLD}/two-steps"] == RemovedPage(
        "listed", 301, f"{OLD}/step", f"{NEW}/listed", 200, final_listed=True
    )
    assert found.pages[f"{OLD}/private/a"].failure == f"forbidden by {OLD}/robots.txt"
    assert found.summary == (
        "12 removed: 3 redirect to a listed page, 1 redirects to the start page, 1 redirects elsewhere, "
        "2 redirect to an error, 1 still answers, 1 answers 404, 1 answers 410, 2 are not known"
    )


def test_each_target_is_requested_once_and_what_is_disallowed_never(site: Site) -> None:
    checked(site, [*FATES])
    assert site.requests.count(f"{NEW}/listed") == 1
    assert not [url for url in site.requests if "/private/" in url]
    assert f"{OLD}/kept" in site.requests
    assert site.requests.count(f"{OLD}/robots.txt") == 1


def test_a_sample_is_the_same_in_each_run(site: Site) -> None:
    first, again = (checked(site, [*FATES], 4) for _ in range(2))
    assert first.pages == again.pages
    assert len(first.pages) == 4
    assert first.summary.startswith("12 removed, of which 4 URLs checked: ")
    assert len(checked(site, ["gone"], 4).pages) == 1


def test_without_removed_urls_nothing_is_requested(site: Site) -> None:
    assert checked(site, []).summary == "0 removed"
    assert site.requests == []


def test_a_host_that_does_not_answer_is_not_known(site: Site) -> None:
    site.pages = lambda url: sr.FetchError("no such host")
    found = checked(site, ["a"], limits=sr.Limits(tries=1))
    assert found.summary == "1 removed: 1 is not known"


@pytest.mark.parametrize("size", [0, -1, "all", 1.5, True])
def test_another_size_is_refused(site: Site, size: Any) -> None:
    with pytest.raises(sr.UsageError, match=r"^size is a number of URLs, 1 or more, or None for all, not "):
        checked(site, ["a"], size)


# --- the command ---


@pytest.fixture
def server(site_server: Any) -> Any:
    server = site_server({})
    server.pages = {"/a": (301, {"Location": f"{server.url}/new"}, b""), "/new": HTML, "/b": (404, {}, b"")}
    return server


@pytest.fixture
def sides(server: Any, tmp_path: Path) -> tuple[Path, Path]:
    for name, paths in (("old.xml", "ab"), ("new.xml", ["new"])):
        (tmp_path / name).write_bytes(urlset(*(f"{server.url}/{path}" for path in paths)))
    return tmp_path / "old.xml", tmp_path / "new.xml"


def test_rows_of_removed_urls_have_the_answer(server: Any, sides: tuple[Path, Path], tmp_path: Path) -> None:
    options = ("--check-removed", "all", "--allow-private")
    result = run("diff", *sides, *options, "--format", "jsonl")
    assert result.exit_code == Exit.COMPLETE, result.output
    lines = objects(result.stdout)
    assert [line.get("page", {}).get("result") for line in lines] == [None, "listed", "error"]
    assert lines[1]["page"] == {
        "result": "listed", "status": 301, "redirect_url": f"{server.url}/new", "final_url": f"{server.url}/new",
        "final_status": 200, "final_listed": True, "failure": None,
    }  # fmt: skip
    assert "\n2 removed: 1 redirects to a listed page, 1 answers 404\n" in f"\n{result.stderr}"
    result = run("diff", *sides, *options, "-o", tmp_path / "removed.csv")
    header, _, a, b = (tmp_path / "removed.csv").read_text().splitlines()
    assert header.endswith("changed,result,status,redirect_url,final_url,final_status,final_listed")
    assert a.endswith(f",listed,301,{server.url}/new,{server.url}/new,200,yes")
    assert b.endswith(",error,404,,,,no")
    table = run("diff", *sides, *options, "--format", "table").stdout
    assert f"- {server.url}/a  301 to {server.url}/new, which answers 200\n- {server.url}/b  404\n" in table


def test_a_sample_leaves_the_other_rows_as_they_are(sides: tuple[Path, Path]) -> None:
    result = run("diff", *sides, "--check-removed", "1", "--allow-private", "--format", "jsonl")
    assert sum("page" in line for line in objects(result.stdout)) == 1
    assert "2 removed, of which 1 URL checked: " in result.stderr


def test_private_addresses_are_not_requested_unless_permitted(server: Any, sides: tuple[Path, Path]) -> None:
    result = run("diff", *sides, "--check-removed", "all", "--format", "table")
    assert "not known: " in result.stdout
    assert server.requests() == []


def test_the_line_of_a_checked_url_is_of_the_schema(tmp_path: Path) -> None:
    assert '"RemovedPage"' in sr.schema("json")
    assert "'page': 'STRUCT(\"result\" VARCHAR" in sr.schema("duckdb", "changes")
    line = {"type": "change", "change": "removed", "loc": f"{OLD}/a", "page": {"result": "error"}}
    assert sr.from_json(line) == sr.Change("removed", sr.UrlRecord(f"{OLD}/a"))
    with pytest.raises(sr.UsageError, match="list of changes"):
        sr.diff(dump(tmp_path / "a.jsonl", line), [])
