"""A generated site on nginx: read completely, with one request for each document."""

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from generated import Extension, make_site
from servers import NginxServer, free_port

import sitemap_reader as sr

EVERYTHING: tuple[Extension, ...] = ("image", "video", "news", "hreflang")


@pytest.mark.slow
@pytest.mark.parametrize("gzip", [True, False])
def test_site_on_nginx_is_read_completely_with_one_request_each(
    nginx: Callable[..., NginxServer], tmp_path: Path, gzip: bool
) -> None:
    port = free_port()
    site = make_site(
        tmp_path,
        base=f"http://127.0.0.1:{port}",
        urls=2000,
        per_document=150,
        gzip=gzip,
        extensions=EVERYTHING,
        layout="www",
    )
    server = nginx(tmp_path, port)
    with sr.urls(site.seed_url, allow_private=True) as urls:
        found = Counter(json.dumps(sr.to_dict(record)) for record in urls)
    assert found == Counter(json.dumps(json.loads(line)) for line in site.truth.read_bytes().splitlines())
    assert urls.complete
    assert urls.summary.sitemaps == site.documents + 1
    assert not urls.problems.counts
    answers = server.answers()
    assert {answer.status for answer in answers} == {200}
    paths = Counter(answer.path for answer in answers)
    assert len(paths) == site.documents + 2
    assert set(paths.values()) == {1}
    assert answers[0].path == "/robots.txt"


def test_without_robots_txt_the_well_known_path_is_read(nginx: Callable[..., NginxServer], tmp_path: Path) -> None:
    port = free_port()
    site = make_site(tmp_path, base=f"http://127.0.0.1:{port}", urls=50, layout="www")
    (tmp_path / "robots.txt").unlink()
    server = nginx(tmp_path, port)
    with sr.urls(site.seed_url, allow_private=True) as urls:
        assert sum(1 for _ in urls) == 50
    assert urls.complete
    assert server.requests()[:4] == ["/robots.txt", "/", "/sitemap.xml", "/sitemap_index.xml"]
