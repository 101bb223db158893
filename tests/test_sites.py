"""The sites of the corpus: records equal the truth, and outcomes name what is missing."""

import json
from collections import Counter, defaultdict
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import attrs
import pytest

import sitemap_reader as sr

SITES = Path(__file__).parent.parent / "corpus" / "sites"
NAMES = ("shop", "broken", "cross-submission", "nesting", "once", "trouble")


@attrs.frozen
class Reading:
    """The result of reading a site."""

    records: list[sr.UrlRecord]
    stream: sr.Stream[sr.UrlRecord]

    @property
    def outcomes(self) -> dict[str, sr.Outcome]:
        """By path; across several hosts by URL without its scheme."""
        return {str(outcome.url).removeprefix("https://"): outcome for outcome in self.stream.outcomes}


@cache
def read(name: str, **options: Any) -> Reading:
    with sr.urls(SITES / name, **options) as stream:
        return Reading(list(stream), stream)


def lines(forms: Iterable[dict[str, Any]]) -> list[str]:
    """JSON lines without problems, which the truth does not contain."""
    return [json.dumps({key: form[key] for key in form if key != "problems"}) for form in forms]


def truth(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (SITES / f"{name}.jsonl").read_bytes().splitlines()]


def by_document(forms: Iterable[dict[str, Any]]) -> dict[str, list[str]]:
    documents: dict[str, list[str]] = defaultdict(list)
    for form in forms:
        documents[form["sitemap"]] += lines([form])
    return documents


def test_every_site_of_the_corpus_is_read_here() -> None:
    assert {path.name for path in SITES.iterdir() if path.is_dir()} == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_the_records_of_a_document_keep_its_order(name: str) -> None:
    assert by_document(map(sr.to_dict, read(name).records)) == by_document(truth(name))


@pytest.mark.parametrize("name", NAMES)
def test_counts_of_outcomes_and_records_agree(name: str) -> None:
    reading = read(name)
    pages = [o for o in reading.stream.outcomes if o.format not in ("robots", "sitemapindex")]
    kept = {str(outcome.url): outcome.kept for outcome in pages if outcome.kept}
    assert kept == Counter(str(record.sitemap) for record in reading.records)
    assert reading.stream.summary.urls == reading.stream.progress.urls == len(reading.records)
    assert reading.stream.progress.documents_done == reading.stream.progress.documents_known


def test_the_shop_is_complete() -> None:
    reading = read("shop")
    assert reading.stream.complete
    reading.stream.raise_for_partial()
    summary = reading.stream.summary
    assert (summary.urls, summary.sitemaps_read, summary.sitemaps) == (640, 10, 10)
    assert (summary.dropped, summary.failed, summary.incomplete, summary.complete) == ({}, 0, 0, True)
    assert str(summary).startswith("640 URLs from 10 sitemaps; ")
    assert summary.partial_line() is None
    assert reading.stream.problems.counts == {}


def test_outcomes_of_the_shop_have_parents() -> None:
    outcomes = read("shop").outcomes
    robots, top, products = (
        f"https://shop.example/{path}" for path in ("robots.txt", "sitemap_index.xml", "sitemaps/products-index.xml")
    )
    table = {url: (outcome.why, outcome.parents, outcome.format, outcome.entries) for url, outcome in outcomes.items()}
    assert table == {
        "shop.example/robots.txt": ("well-known", [], "robots", 2),
        "shop.example/sitemap_index.xml": ("robots", [robots], "sitemapindex", 6),
        "shop.example/sitemaps/products-index.xml": ("robots", [robots], "sitemapindex", 2),
        "shop.example/sitemaps/products-1.xml.gz": ("index", [products], "urlset", 195),
        "shop.example/sitemaps/products-2.xml.gz": ("index", [products], "urlset", 195),
        "shop.example/sitemaps/categories.xml": ("index", [top], "urlset", 50),
        "shop.example/sitemaps/magazine.xml": ("index", [top], "urlset", 60),
        "shop.example/sitemaps/news.xml": ("index", [top], "urlset", 30),
        "shop.example/sitemaps/pages.txt": ("index", [top], "text", 60),
        "shop.example/blog/feed.rss": ("index", [top], "rss", 25),
        "shop.example/journal/feed.atom": ("index", [top], "atom", 25),
    }
    assert all(outcome.status == 200 and outcome.sha256 for outcome in outcomes.values())
    packed = outcomes["shop.example/sitemaps/products-1.xml.gz"]
    assert 0 < packed.bytes_wire < packed.bytes_decoded


def test_the_broken_site_gives_all_that_can_be_read_and_names_the_rest() -> None:
    reading = read("broken")
    assert not reading.stream.complete
    table = {
        url.rpartition("/")[2]: (outcome.complete, outcome.kept, outcome.status, sorted(outcome.problems))
        for url, outcome in reading.outcomes.items()
    }
    assert table == {
        "robots.txt": (True, 1, 200, []),
        "sitemap_index.xml": (True, 7, 200, []),
        "good.xml": (True, 40, 200, []),
        "mended.xml": (True, 30, 200, ["S01"]),
        "offhost.xml": (True, 20, 200, ["U04"]),
        "cut.xml.gz": (False, 56, 200, ["F07", "S01"]),
        "gone.xml": (False, 0, 404, ["F01"]),
        "missing.xml": (False, 0, 404, ["F01"]),
        "login.xml": (False, 0, 200, ["F05"]),
    }


def test_the_summary_of_the_broken_site_counts_what_is_missing() -> None:
    stream = read("broken").stream
    summary = stream.summary
    assert (summary.urls, summary.sitemaps_read, summary.sitemaps) == (146, 5, 8)
    assert (summary.failed, summary.incomplete, summary.dropped) == (3, 1, {"host": 10})
    assert not summary.complete
    assert '; 10 dropped (host 10; scope="any" keeps it); ' in str(summary)
    assert summary.partial_line() == "partial: 3 sitemaps could not be read, 1 sitemap could be read in part only"
    with pytest.raises(sr.PartialRead, match="3 sitemaps could not be read") as caught:
        stream.raise_for_partial()
    assert list(caught.value.outcomes) == stream.outcomes


def test_problems_are_counted_exactly_and_sampled() -> None:
    problems = read("broken").stream.problems
    assert problems.counts["U04"] == 10
    assert [sample.code for sample in problems.samples].count("U04") == 5
    assert ("U04", "https://broken.example/maps/offhost.xml", 5) in problems.unsampled()
    assert len(problems) == problems.counts.total()


def test_a_failed_child_says_where_it_is_listed() -> None:
    messages = [str(problem) for problem in read("broken").stream.problems.samples if problem.code == "F01"]
    assert len(messages) == 2
    assert all("404" in message and "sitemap_index.xml:" in message for message in messages)


def test_any_scope_keeps_what_the_protocol_drops() -> None:
    assert len(read("broken", scope="any").records) == 156
    assert len(read("broken", scope="domain").records) == 150


def test_sitemaps_on_a_third_host_may_list_the_hosts_that_name_them() -> None:
    reading = read("cross-submission")
    host = "sitemaps.hosting.example"
    assert reading.stream.complete
    table = {url: (outcome.why, outcome.kept, outcome.dropped) for url, outcome in reading.outcomes.items()}
    assert table == {
        "www.alpha.example/robots.txt": ("well-known", 1, {}),
        "www.beta.example/robots.txt": ("well-known", 1, {}),
        f"{host}/robots.txt": ("well-known", 0, {}),
        f"{host}/alpha.xml": ("robots", 25, {"host": 3}),
        f"{host}/beta/index.xml": ("robots", 1, {}),
        f"{host}/beta/pages.xml.gz": ("index", 35, {}),
    }
    assert reading.stream.problems.counts == {"U04": 3}
