"""stats, audit and snapshot have one definition of sections and months: they agree on generated sites."""

import random
from collections import Counter
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path

import pytest

import sitemap_reader as sr
from sitemap_reader.serialize import in_batches
from sitemap_reader.statistics import Statistics

NOW = datetime(2026, 11, 1, 12, tzinfo=UTC)
SITES = 50
HOSTS = ("a.example", "www.a.example", "b.example:8080", "de.c.example")
NAMES = ("blog", "shop", "news", "staff", "%D0%BE-%D0%BD%D0%B0%D1%81", "о-нас", "BLOG", "v1.2", "a%2Fb", "tag")
LANGUAGES = ("de", "en", "fr", "en-us", "de_DE", "EN-GB", "zh-Hant-TW", "pt-br", "it", "cs", "id", "no")
NO_LANGUAGES = ("tv", "io", "uk", "us", "ny", "tx", "api", "de-line", "en.html")
LASTMODS = ("", "2026-10-31T23:30:00-01:00", "2026-09", "2025")


def paths(rng: random.Random) -> set[str]:
    """Paths of a site: mostly the same pages in its languages, with home pages, and folders that are none."""
    languages = ["", *rng.sample(LANGUAGES, rng.randint(0, 6)), *rng.sample(NO_LANGUAGES, rng.randint(0, 3))]
    pages = ["/".join(rng.choices(NAMES, k=rng.randint(0, 4))) for _ in range(rng.randint(1, 15))]
    found = set()
    for language in languages:
        for page in rng.sample(pages, rng.randint(1, len(pages))):
            parts = "/".join(part for part in (rng.choice(["", "", "", "docs"]), language, page) if part)
            found.add(rng.choice(["", "", "/"]) + parts + rng.choice(["", "", "/", "//", "?a=/b/c/", "/x//y"]))
    return found


def sitemap(rng: random.Random) -> bytes:
    entries = []
    for path in sorted(paths(rng)):
        loc = f"https://{rng.choice(HOSTS[: rng.randint(1, 4)])}/{path}"
        codes = ["x-default", rng.choice([path.strip("/").partition("/")[0], "de"])] if rng.random() < 0.2 else []
        links = "".join(f'<x:link rel="alternate" hreflang="{code}" href="{loc}"/>' for code in codes)
        entries.append(f"<url><loc>{loc}</loc><lastmod>{rng.choice(LASTMODS)}</lastmod>{links}</url>")
    names = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:x="http://www.w3.org/1999/xhtml"'
    return f"<urlset {names}>{''.join(entries)}</urlset>".encode()


@pytest.fixture(params=range(SITES))
def site(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """The dump of a generated site, which lists each URL once."""
    rng = random.Random(request.param)  # noqa: S311 - to be repeatable is its purpose
    urls = {url.loc: url for url in sr.parse(sitemap(rng), url="https://a.example/sitemap.xml").urls}
    path = tmp_path / "site.jsonl"
    path.write_bytes(b"".join(map(sr.json_line, urls.values())))
    return path


def named(facts: object, group: str) -> dict[str, int]:
    return {fact.name: fact.count for fact in facts if fact.group == group}  # type: ignore[attr-defined]


def top(counts: dict[str, int], number: int) -> dict[str, int]:
    """The most frequent ones, and the rest as `other`."""
    first = dict(sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))[:number])
    rest = sum(counts.values()) - sum(first.values())
    return {**first, **({"other": rest} if rest else {})}


def test_stats_audit_and_snapshot_have_the_same_sections_and_months(site: Path) -> None:
    pytest.importorskip("pandas")
    snapshot, statistics, report = sr.load(site, at=NOW, site="a"), Statistics(NOW), sr.audit(site)
    for item in chain.from_iterable(in_batches(snapshot)):
        statistics.add(item)
    sections = snapshot.sections()
    counts = {name: int(pages) for name, pages in zip(sections["section"], sections["pages"], strict=True)}
    assert named(statistics.facts(), "sections") == top(counts, 10)
    assert named(report.facts, "sections") == top(counts, 15)
    frame = snapshot.pages[["lastmod", "lastmod_precision"]]
    dated = frame[frame["lastmod"].notna() & (frame["lastmod_precision"] != "year")]
    months = Counter(dated["lastmod"].dt.strftime("%Y-%m"))
    assert named(statistics.facts(), "lastmod month") == named(report.facts, "lastmod month") == months
