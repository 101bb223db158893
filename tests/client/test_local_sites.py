"""Folders and files read as the site that will have them: shaped as generators write them; base=, likely_base()."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from kit import Site, files, gz, index, urlset

import sitemap_reader as sr
from sitemap_reader import NothingFound, NothingReadable, UsageError
from sitemap_reader.client import Target, document_target, find_target, likely_base

WWW = "https://www.example.com"
PAGES = "https://user.github.io/project"


HUGO = {
    "robots.txt": "User-agent: *",
    "index.html": "", "en/index.html": "", "de/index.html": "", "de/über-uns/index.html": "",
    "sitemap.xml": index(f"{WWW}/en/sitemap.xml", f"{WWW}/de/sitemap.xml"),
    "en/sitemap.xml": urlset(f"{WWW}/en/"),
    "de/sitemap.xml": urlset(f"{WWW}/de/", f"{WWW}/de/%C3%BCber-uns/"),
}  # fmt: skip
NEXT = {
    "robots.txt": f"# *\nUser-agent: *\nAllow: /\n\n# Host\nHost: {WWW}\n\n# Sitemaps\nSitemap: {WWW}/sitemap.xml\n",
    "index.html": "", "about.html": "", "blog/one.html": "",
    "sitemap.xml": index(f"{WWW}/sitemap-0.xml", f"{WWW}/sitemap-1.xml"),
    "sitemap-0.xml": urlset(f"{WWW}/about", WWW),
    "sitemap-1.xml": urlset(f"{WWW}/blog/one"),
}  # fmt: skip
ASTRO = {
    "index.html": "", "about/index.html": "",
    "sitemap-index.xml": index(f"{WWW}/sitemap-0.xml"),
    "sitemap-0.xml": urlset(f"{WWW}/", f"{WWW}/about/"),
}  # fmt: skip
WORDPRESS = {
    "robots.txt": f"User-agent: *\nDisallow: /wp-admin/\n\nSitemap: {WWW}/wp-sitemap.xml\n",
    "index.html": "", "hello-world/index.html": "",
    "wp-sitemap.xml": b'<?xml version="1.0"?><?xml-stylesheet type="text/xsl" href="/wp-sitemap-index.xsl" ?>'
    + index(f"{WWW}/wp-sitemap-posts-post-1.xml"),
    "wp-sitemap-index.xsl": "<xsl:stylesheet/>",
    "wp-sitemap-posts-post-1.xml": urlset(f"{WWW}/hello-world/"),
}  # fmt: skip
MKDOCS = {
    "index.html": "", "404.html": "", "about/index.html": "", "größe/index.html": "",
    "sitemap.xml": urlset(f"{PAGES}/", f"{PAGES}/about/", f"{PAGES}/gr%C3%B6%C3%9Fe/"),
    "sitemap.xml.gz": "never read",
}  # fmt: skip
SPHINX = {
    "index.html": "", "a b.html": "",
    "sitemap.xml": urlset("https://docs.example.com/en/latest/a b.html", "https://docs.example.com/en/latest/index.html"),
}  # fmt: skip
# generator -> files, base, URLs
SITES: dict[str, tuple[Mapping[str, str | bytes], str, int]] = {
    "Hugo": (HUGO, f"{WWW}/", 3),
    "Next": (NEXT, f"{WWW}/", 3),
    "Astro": (ASTRO, f"{WWW}/", 2),
    "WordPress": (WORDPRESS, f"{WWW}/", 1),
    "MkDocs": (MKDOCS, f"{PAGES}/", 3),
    "Sphinx": (SPHINX, "https://docs.example.com/en/latest/", 2),
}


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("a request was made")

    monkeypatch.setattr("sitemap_reader.fetch.client.AiohttpFetcher.fetch", refuse)


@pytest.mark.parametrize("name", SITES)
def test_build_folder_is_read_as_its_site(name: str, tmp_path: Path) -> None:
    bodies, base, urls = SITES[name]
    folder = files(tmp_path / "public", bodies)
    found = likely_base(folder)
    assert found
    assert found[0] == base
    with sr.urls(folder, base=base) as stream:
        records = [*stream]
    assert len(records) == urls
    assert stream.complete
    target = find_target(folder, base.removesuffix("/"))
    assert (target.name, target.local) == (base, str(folder))
    for record in records:
        assert target.file_of(record.loc), record.loc
        assert target.file_of(str(record.sitemap)), record.sitemap
    report = sr.audit(folder, base=base)
    assert (report.target, report.urls, report.complete) == (base, urls, True)
    assert {finding.code for finding in report.findings} <= {"D07", "F09", "U10"}
    unchecked = "F06 (headers), F10 (headers), D04 (the time of the request)"
    unknown = f"U12 checked 0 of {urls} URLs; the robots.txt of the others was not looked at"
    of_host = [] if base.count("/") == 3 else [unknown]
    assert report.notes == (f"read from {folder}; not checked there: {unchecked}", *of_host)
    assert f"read from {base}" not in " ".join(report.to_text().split())


@pytest.mark.parametrize("name", ["Sitemap.txt", "sitemap.html", "sitemap.json", "sitemap.xml", "feed.pdf"])
@pytest.mark.parametrize("body", [f"{WWW}/a\n".encode(), f"<urlset><url><loc>{WWW}/a</loc></url></urlset>".encode()])
def test_headers_are_not_judged_where_nothing_was_served(tmp_path: Path, name: str, body: bytes) -> None:
    (tmp_path / name).write_bytes(body)
    url = f"{WWW}/{name}"
    for target in (document_target(body, url), find_target(tmp_path / name, url)):
        assert {finding.code for finding in sr.audit(target).findings}.isdisjoint({"F06", "F10"})
        with sr.urls(target) as stream:
            assert [record.loc for record in stream] == [f"{WWW}/a"]
        assert "F06" not in stream.problems.counts


def test_headers_of_a_recording_are_judged_where_there_are_some(tmp_path: Path) -> None:
    Site({"/sitemap.xml": f"<urlset><url><loc>{WWW}/a</loc></url></urlset>"}, WWW).write(tmp_path)
    assert sr.audit(tmp_path, select="F10").findings == ()
    files(tmp_path, {"https/www.example.com/sitemap.xml.headers": "content-type: application/xml\n"})
    assert [finding.code for finding in sr.audit(tmp_path, select="F10").findings] == ["F10"]


def test_codes_that_need_a_server_are_not_reported_whatever_is_selected(tmp_path: Path) -> None:
    folder = files(tmp_path, ASTRO)
    assert sr.audit(folder, base=WWW, select="F10").findings == ()
    assert sr.audit(folder, base=WWW, select="D02").notes == (f"read from {folder}",)


def test_robots_txt_of_the_folder_counts_only_at_the_root_of_the_host(tmp_path: Path) -> None:
    folder = files(tmp_path, {**MKDOCS, "robots.txt": "User-agent: *\nDisallow: /"})
    assert len([*sr.urls(folder, base=PAGES)]) == 3
    stream = sr.urls(folder, base="https://user.github.io")
    with pytest.raises(NothingFound):
        list(stream)
    (robots,) = stream.outcomes
    assert "robots.txt names no sitemap, and forbids /sitemap.xml; --no-robots" in robots.samples[0].message
    assert len([*sr.urls(folder, base="https://user.github.io", obey_robots=False)]) == 3
    assert len([*sr.urls(folder, base=PAGES, probe="always")]) == 3


def test_discover_finds_the_sitemaps_below_the_path_of_the_base(tmp_path: Path) -> None:
    (found,) = sr.discover(files(tmp_path, MKDOCS), base=PAGES)
    assert (found.url, found.why, found.status) == (f"{PAGES}/sitemap.xml", "well-known", 200)


def test_child_on_another_host_is_an_error_that_names_the_folder(tmp_path: Path) -> None:
    robots = f"Sitemap: {WWW}/sitemap.xml\nSitemap: https://cdn.example.net/maps.xml\n"
    folder = files(tmp_path, {**ASTRO, "robots.txt": robots, "sitemap.xml": ASTRO["sitemap-0.xml"]})
    stream = sr.urls(folder, base=WWW)
    assert len([*stream]) == 2
    assert not stream.complete
    (problem,) = [sample for outcome in stream.outcomes for sample in outcome.samples if sample.severity == "error"]
    assert (problem.code, problem.sitemap) == ("F04", "https://cdn.example.net/maps.xml")
    assert f"it is not in {folder}, which is read as {WWW}/: no request is made" in problem.message


def test_missing_child_is_not_found_as_on_a_host(tmp_path: Path) -> None:
    folder = files(tmp_path, {"sitemap.xml": index(f"{WWW}/gone.xml")})
    with pytest.raises(NothingReadable, match=r"F01 https://www\.example\.com/gone\.xml: 404 Not Found \(listed in"):
        list(sr.urls(folder, base=WWW))


def test_empty_folder_has_no_sitemap(tmp_path: Path) -> None:
    with pytest.raises(NothingFound):
        list(sr.urls(tmp_path, base=WWW))


@pytest.mark.parametrize(("base", "url"), [
    (WWW, f"{WWW}/map%20one.xml.gz"),
    (f"{WWW}/maps/", f"{WWW}/maps/map%20one.xml.gz"),
    (f"{WWW}/maps", f"{WWW}/maps/map%20one.xml.gz"),
    (f"{WWW}/v1.2", f"{WWW}/v1.2/map%20one.xml.gz"),
    (f"{WWW}/maps/other.xml", f"{WWW}/maps/other.xml"),
])
def test_file_is_one_document(base: str, url: str, tmp_path: Path) -> None:
    file = tmp_path / "map one.xml.gz"
    file.write_bytes(gz(urlset(f"{WWW}/maps/a", f"{WWW}/v1.2/a")))
    records = [*sr.urls(file, base=base, scope="host")]
    assert {record.sitemap for record in records} == {url}
    assert find_target(file, base).file_of(url) is not None
    assert sr.audit(file, base=base, scope="host").urls == 2


def test_index_file_has_its_children_beside_it(tmp_path: Path) -> None:
    folder = files(tmp_path, ASTRO)
    assert len([*sr.urls(folder / "sitemap-index.xml", base=WWW)]) == 2


def test_document_in_memory_is_a_target() -> None:
    target = document_target(urlset(f"{WWW}/a"), f"{WWW}/maps/x.xml")
    assert [record.sitemap for record in sr.urls(target, scope="host")] == [f"{WWW}/maps/x.xml"]
    assert (target.local, target.file_of(f"{WWW}/maps/x.xml")) == ("-", None)
    assert document_target(b"", WWW).seeds[0].document == f"{WWW}/sitemap.xml"


async def test_all_functions_take_a_base(tmp_path: Path) -> None:
    folder = files(tmp_path / "public", NEXT)
    state = tmp_path / "state.db"
    assert len([*sr.changes(folder, state=state, base=WWW)]) == 3
    files(folder, {"sitemap-1.xml": urlset(f"{WWW}/blog/one", f"{WWW}/blog/two")})
    assert [(change.change, change.record.loc) for change in sr.changes(folder, state=state, base=WWW)] == [
        ("new", f"{WWW}/blog/two")
    ]
    async with sr.SitemapReader(base=WWW) as reader:
        assert len([record async for record in reader.urls(folder)]) == 4


def test_snapshot_reads_a_folder_as_its_site(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    site = sr.snapshot(files(tmp_path, HUGO), base=WWW, show_progress=False)
    assert len(site.urls) == 3
    assert [*site.sites] == ["www.example.com"]


def test_recording_of_a_folder_is_replayed_without_it(tmp_path: Path) -> None:
    folder, copy = files(tmp_path / "public", NEXT), tmp_path / "copy"
    assert len([*sr.urls(folder, base=WWW, record=copy)]) == 3
    assert len([*sr.urls(copy)]) == 3
    with pytest.raises(UsageError, match="cannot be recorded to at once"):
        sr.urls(folder, base=WWW, record=tmp_path / "x" / ".." / "public")


@pytest.mark.parametrize(("target", "message"), [
    ("example.com", "there is no file or folder example.com; base= is for a folder"),
    ("nosuch/", "there is no file or folder nosuch/; base= is"),
    (" ", "there is no file or folder"),
    ("https://me:secret@example.com/", "https://example.com/ is a URL; base= is"),
    ("copy", "copy is a recording, which has its own URLs; base= is"),
    ("site.warc", "site.warc is a recording"),
    ("urls.jsonl", "urls.jsonl is a dump"),
])
def test_base_for_anything_else_is_a_usage_error(
    target: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    files(tmp_path, {"copy/site.toml": 'seeds = ["https://a.example/"]', "site.warc": "", "urls.jsonl": ""})
    with pytest.raises(UsageError) as error:
        find_target(target, WWW)
    assert message in str(error.value)
    assert "secret" not in str(error.value)


@pytest.mark.parametrize(("base", "message"), [
    ("", "base: give the URL"), (3, "base: give the URL"), ("www.example.com", "www.example.com has no scheme"),
    ("me:secret@example.com", "example.com has no scheme"),
    ("ftp://example.com/", "no http or https URL"), ("https://", "no http or https URL"),
    ("https://me:secret@example.com/", "a login, a query"), ("https://example.com/?a=secret", "a login, a query"),
    ("https://example.com/#secret", "a login, a query"),
])
def test_base_that_is_no_url_of_a_folder_is_a_usage_error(base: Any, message: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError) as error:
        find_target(tmp_path, base)
    assert message in str(error.value)
    assert "secret" not in str(error.value)


# --- without a base ---


@pytest.mark.parametrize(("bodies", "base"), [
    ({"robots.txt": "Sitemap: /sitemap.xml", "sitemap.xml": urlset(f"{WWW}/a")}, f"{WWW}/"),
    ({"sitemap.txt": f"{WWW}/a\n{WWW}/b\n"}, f"{WWW}/"),
    ({"sitemap.xml": urlset(f"{WWW}/blog/", f"{WWW}/blog/a/"), "a/index.html": "a", "blog/index.html": "b"}, f"{WWW}/"),
    (
        {"sitemap.xml": urlset(f"{WWW}/blog/", f"{WWW}/blog/a/"), **dict.fromkeys(("index.html", "a/index.html"), "a")},
        f"{WWW}/blog/",
    ),
    ({"sitemap.xml": urlset(f"{WWW}/blog/a", f"{WWW}/blog/b/c")}, f"{WWW}/blog/"),
    ({"sitemap.xml": urlset(f"{WWW}/blog/a")}, f"{WWW}/"),
    ({"robots.txt": f"Sitemap: {WWW}/a.xml\nSitemap: https://cdn.example.net/b.xml"}, None),
    ({"sitemap.xml": urlset(f"{WWW}/a", "http://www.example.com/b")}, None),
    ({"sitemap.xml": "<html>"}, None),
    ({"other.xml": urlset(f"{WWW}/a")}, None),
    ({}, None),
])
def test_likely_base_is_the_only_origin_that_the_files_name(
    bodies: Mapping[str, str | bytes], base: str | None, tmp_path: Path
) -> None:
    found = likely_base(files(tmp_path, bodies))
    assert (found and found[0]) == base


def test_folder_without_a_base_is_a_usage_error_that_names_the_likely_one(tmp_path: Path) -> None:
    folder = files(tmp_path / "public", MKDOCS)
    file = folder / "sitemap.xml"
    hint = f'add base="{PAGES}/" to read it as the site that {file} names'
    with pytest.raises(UsageError) as error:
        sr.urls(folder)
    also = "sr.load reads the files in it"
    assert str(error.value) == f"{folder} was not written with record= (no site.toml); {hint}; {also}"
    for read in (sr.urls, sr.audit):
        with pytest.raises(UsageError) as error:
            read(file)
        parse = f"{file} is a file: `sitemap-reader parse {file}` (or sr.parse) reads one document"
        assert str(error.value) == f"{parse}; {hint}"
    with pytest.raises(UsageError, match=r"add base=URL, the URL that it will have, to read it as that site"):
        sr.urls(files(tmp_path / "empty", {"a.html": ""}))


def test_host_map_is_not_for_files(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=rf"host_map= is for requests, and {tmp_path} is read from the disk"):
        sr.urls(tmp_path, base=WWW, host_map={WWW: "https://staging.example.com"})


def test_file_of_another_target_is_none() -> None:
    assert find_target("example.com").file_of("https://example.com/sitemap.xml") is None
    assert isinstance(find_target("example.com"), Target)


@pytest.mark.parametrize("name", ["www.a.example/", " www.a.example/ ", "localhost/", "localhost:8/", "127.0.0.1:80/"])
def test_a_host_with_a_slash_is_a_site(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As its URL is; a folder of that name is read as one."""
    monkeypatch.chdir(tmp_path)
    target = find_target(name)
    assert (target.name, target.seeds) == (name.strip()[:-1], find_target(name.strip()[:-1]).seeds)
    (tmp_path / "www.a.example").mkdir()
    with pytest.raises(sr.UsageError, match="was not written with"):
        find_target("www.a.example/")
