"""Targets -> seeds, and the discovery of a site's sitemaps."""

from __future__ import annotations

import pytest

from sitemap_reader import Outcome, UsageError
from sitemap_reader.frontier import WELL_KNOWN, Seed, SiteDiscovery, parse_target

E = "https://example.com"


@pytest.mark.parametrize(("target", "origins"), [
    ("example.com", (E, "http://example.com")),
    ("  EXAMPLE.com\n", (E, "http://example.com")),
    ("example.com/", (E, "http://example.com")),
    ("example.com:8080", ("https://example.com:8080", "http://example.com:8080")),
    ("https://example.com", (E,)),
    ("https://example.com/", (E,)),
    ("HTTP://example.com:80", ("http://example.com",)),
    ("https://example.com/#top", (E,)),
    ("bücher.example", ("https://xn--bcher-kva.example", "http://xn--bcher-kva.example")),
])
def test_a_host_or_an_empty_path_is_a_site(target: str, origins: tuple[str, ...]) -> None:
    assert parse_target(target) == Seed(target, origins)


@pytest.mark.parametrize(("target", "document"), [
    ("https://example.com/sitemap.xml", f"{E}/sitemap.xml"),
    ("example.com/sitemap.xml", f"{E}/sitemap.xml"),
    ("https://example.com/?feed=sitemap", f"{E}/?feed=sitemap"),
    ("https://example.com/a/robots.txt", f"{E}/a/robots.txt"),
])
def test_any_other_url_is_a_document(target: str, document: str) -> None:
    assert parse_target(target) == Seed(target, (E,), document=document)


def test_robots_txt_target_gives_its_sitemap_lines() -> None:
    assert parse_target("https://example.com/robots.txt") == Seed(
        "https://example.com/robots.txt", (E,), robots_only=True
    )


@pytest.mark.parametrize(
    "target", ["", "   ", "ftp://example.com/", "file:///etc/passwd", "https://", "http://[", "a b", "999.1.1.1"]
)
def test_invalid_targets_are_refused(target: str) -> None:
    with pytest.raises(UsageError):
        parse_target(target)


def test_the_well_known_paths_and_their_order() -> None:
    assert WELL_KNOWN == (
        "/sitemap.xml", "/sitemap_index.xml", "/sitemap-index.xml", "/wp-sitemap.xml", "/sitemap.xml.gz",
        "/sitemap.gz", "/sitemap_index.xml.gz", "/sitemap.txt", "/sitemaps.xml", "/sitemap/index.xml",
        "/sitemap/sitemap.xml", "/news-sitemap.xml", "/sitemap-news.xml", "/sitemap.php",
    )


def test_probing_waits_for_pending_documents_and_ends_with_the_last_path() -> None:
    site = SiteDiscovery(parse_target(E), "auto")
    site.pending = 1
    assert site.next_probe() is None
    site.candidate_ended(Outcome(url=f"{E}/a.xml", why="robots", complete=False))
    assert [site.next_probe() for _ in range(len(WELL_KNOWN) + 1)] == [*(E + path for path in WELL_KNOWN), None]


@pytest.mark.parametrize(("why", "format_", "probe", "guesses"), [
    ("robots", "urlset", "auto", False),
    ("robots", "urlset", "always", True),
    ("robots", "html", "auto", True),
    ("well-known", "rss", "always", False),
    ("well-known", None, "auto", True),
    ("robots", None, "never", False),
])
def test_whether_another_path_is_probed(why: str, format_: str | None, probe: str, guesses: bool) -> None:
    site = SiteDiscovery(parse_target(E), probe)  # type: ignore[arg-type]
    site.pending = 1
    site.candidate_ended(Outcome(url=f"{E}/a.xml", why=why, format=format_))  # type: ignore[arg-type]
    assert (site.next_probe() is not None) is guesses
