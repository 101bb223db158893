"""Targets -> seeds, and the discovery of a site's sitemaps."""

from typing import Any

import pytest

from sitemap_reader import Outcome, UsageError
from sitemap_reader.frontier import WELL_KNOWN, Seed, SiteDiscovery, parse_target

E = "https://example.com"


@pytest.mark.parametrize(("target", "seed"), [
    # a host or an empty path is a site
    ("example.com", {"origins": (E, "http://example.com")}),
    ("  EXAMPLE.com\n", {"origins": (E, "http://example.com")}),
    ("example.com/", {"origins": (E, "http://example.com")}),
    ("example.com:8080", {"origins": ("https://example.com:8080", "http://example.com:8080")}),
    ("https://example.com", {}),
    ("https://example.com/", {}),
    ("HTTP://example.com:80", {"origins": ("http://example.com",)}),
    ("https://example.com/#top", {}),
    ("bücher.example", {"origins": ("https://xn--bcher-kva.example", "http://xn--bcher-kva.example")}),
    # any other URL is a document
    ("https://example.com/sitemap.xml", {"document": f"{E}/sitemap.xml"}),
    ("example.com/sitemap.xml", {"document": f"{E}/sitemap.xml"}),
    ("https://example.com/?feed=sitemap", {"document": f"{E}/?feed=sitemap"}),
    ("https://example.com/a/robots.txt", {"document": f"{E}/a/robots.txt"}),
    ("https://example.com/robots.txt", {"robots_only": True}),
])
def test_a_target_is_a_site_or_a_document(target: str, seed: dict[str, Any]) -> None:
    assert parse_target(target) == Seed(target, **{"origins": (E,), **seed})


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
