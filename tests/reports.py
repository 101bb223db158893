"""Reports for rendering tests: a small site, a site that is large in every respect, an empty one, and hostile text."""

from datetime import UTC, datetime, timedelta

import attrs

from sitemap_reader import Problem, Report
from sitemap_reader.checks import SEVERITIES, Finding
from sitemap_reader.client import TreeRow
from sitemap_reader.model import CATALOGUE, report
from sitemap_reader.statistics import Fact

AT = datetime(2026, 11, 22, 18, 41, tzinfo=UTC)
SHOP = "https://shop.example"

EMPTY = Report(target=f"{SHOP}/", at=AT, urls=0, pages=0, complete=True, findings=(), sitemaps=(), facts=(), notes=())


def row(url: str, depth: int = 1, **reported: object) -> TreeRow:
    """The row of a sitemap that was read; keywords replace fields."""
    read: dict[str, object] = {
        "depth": depth, "branch": "", "url": url, "format": "urlset", "entries": 1_200, "kept": 1_198,
        "lastmod": "2026-11-20T00:00:00Z", "lastmod_precision": "day", "newest": "2026-11-21T09:30:00Z",
        "newest_precision": "minute", "complete": "yes", "bytes_decoded": 184_320, "seconds": 0.34, "problems": 0,
    }
    return TreeRow(**{**read, **reported})  # type: ignore[arg-type]


def unread(url: str, depth: int = 1) -> TreeRow:
    """The row of a sitemap that an index lists and that was not requested."""
    nothing = ("format", "entries", "kept", "newest", "newest_precision", "bytes_decoded", "seconds", "problems")
    return row(url, depth, complete="unread", **dict.fromkeys(nothing))


def finding(code: str, samples: tuple[Problem, ...], count: int = 0, documents: int = 0) -> Finding:
    """A finding of its catalogue's severity."""
    places = {sample.sitemap for sample in samples}
    return Finding(code, CATALOGUE[code].severity, count or len(samples), documents or len(places), samples)


def small() -> Report:
    """A shop with a few things wrong."""
    index, products, news = f"{SHOP}/sitemap_index.xml", f"{SHOP}/sitemaps/products-1.xml.gz", f"{SHOP}/news.xml"
    dates = [
        report("D01", f'lastmod "{text}" is no date', sitemap=products, line=line, field="lastmod", raw=text)
        for text, line in (("11/09/2025", 31), ("2014-02-31", 310), ("gestern", 4_412))
    ]
    gone = f"{SHOP}/old.xml"
    returns = f'"de" names {SHOP}/de/schuhe, which does not link back'
    tracked = f"{SHOP}/offer?utm_source=mail"
    newer = "the newest lastmod inside is 2026-11-21, the index says 2026-11-20"
    others = [
        (report("L03", returns, sitemap=products, line=77, field="hreflang", raw="de"), 48, 1),
        (report("F01", "404 Not Found (listed in /sitemap_index.xml:12)", sitemap=gone), 1, 1),
        (report("U09", "the URL has a tracking parameter", sitemap=news, line=9, field="loc", raw=tracked), 210, 1),
        (report("D05", newer, sitemap=index, line=8, field="lastmod", raw="2026-11-20"), 1, 1),
        (report("F10", "neither ETag nor Last-Modified", sitemap=news), 4, 4),
    ]
    findings = (
        finding("D01", tuple(dates), count=1_284, documents=3),
        *(finding(sample.code, (sample,), count, documents) for sample, count, documents in others),
    )
    nothing = dict.fromkeys(("newest", "newest_precision"))
    robots: dict[str, object] = {"format": "robots", "lastmod": None, "lastmod_precision": None, **nothing}
    rows = (
        row(f"{SHOP}/robots.txt", 0, entries=1, kept=1, bytes_decoded=812, seconds=0.08, **robots),
        row(index, 1, format="sitemapindex", entries=4, kept=4, bytes_decoded=911, seconds=0.11, problems=1),
        row(products, 2, entries=48_210, kept=48_102, bytes_decoded=9_400_000, seconds=2.41, problems=1_494),
        row(news, 2, format="rss", entries=40, kept=40, bytes_decoded=30_100, seconds=0.29, problems=211),
        row(gone, 2, complete="no", format=None, entries=0, kept=0, bytes_decoded=0, problems=1, **nothing),
        unread(f"{SHOP}/private/map.xml", 2),
    )
    return Report(
        target="shop.example",
        at=AT,
        urls=48_142,
        pages=47_903,
        dropped=108,
        complete=False,
        findings=findings,
        sitemaps=rows,
        facts=(
            *_months(30),
            Fact("lastmod none", "none", 1_204),
            *(Fact("sections", name, count) for name, count in (("/p/", 39_100), ("/blog/", 6_204), ("/", 2_838))),
            *(Fact("formats", name, count) for name, count in (("urlset", 1), ("rss", 1), ("sitemapindex", 1))),
        ),
        notes=("robots.txt was matched for 30,000 of 47,903 pages: time was up.",),
    )


def of_urls() -> Report:
    """Of a dump of URLs only: outcomes of sitemaps are unknown, and a code has two severities."""
    repaired = report("S01", "a bare & was read as &amp;", sitemap=f"{SHOP}/a.xml", line=4)
    lost = report("S01", "reading ends here", sitemap=f"{SHOP}/b.xml", line=9)
    findings = (
        Finding("S01", "error", 1, 1, (lost,)),
        Finding("D01", "error", 4, 1, ()),
        Finding("S01", "warning", 8, 1, (attrs.evolve(repaired, severity="warning"),)),
    )
    return attrs.evolve(small(), complete=None, findings=findings, sitemaps=(unread(f"{SHOP}/a.xml", 0),), notes=())


def stamped() -> Report:
    """Full times, and large numbers, in all rows of the tree."""
    date = {f"{name}{of}": text for name in ("lastmod", "newest") for of, text in _STAMP.items()}
    numbers = {"entries": 50_000, "kept": 49_999, "problems": 50_000, "bytes_decoded": 9_900_000, "seconds": 100.25}
    rows = (row(f"{SHOP}/sitemap_index.xml", 0, format="sitemapindex", **date, **numbers),)
    rows += tuple(row(f"{SHOP}/sitemaps/products/{number:04}.xml.gz", **date, **numbers) for number in range(9))
    return attrs.evolve(small(), sitemaps=rows)


_STAMP = {"": "2026-11-21T09:30:15.123456Z", "_precision": "subsecond"}


def large() -> Report:
    """40 findings, 3,000 sitemaps, 120 months, more sections than can be drawn."""
    index = f"{SHOP}/sitemap_index.xml"
    long = f"{SHOP}/" + "a-rather-long-name-of-a-page/" * 12 + "?q=" + "x" * 300
    maps = [f"{SHOP}/sitemaps/{section}/{number:04}.xml" for section in ("p", "blog") for number in range(1_500)]
    message = "what is wrong here is one sentence"
    places = [(url, long if number == 2 else f"{SHOP}/p/{number}") for number, url in enumerate(maps[:5])]
    findings = [
        finding(
            code,
            tuple(report(code, message, sitemap=url, line=3_117, field="loc", raw=raw) for url, raw in places),
            count=7_919 * (place + 1) % 50_000 + 5,
            documents=place * 37 + 5,
        )
        for place, code in enumerate(list(CATALOGUE)[:40])
    ]
    findings.sort(key=lambda each: (SEVERITIES.index(each.severity), -each.count))
    rows = [row(index, 0, format="sitemapindex", entries=3_000, kept=3_000)]
    rows += [
        row(url, seconds=0.03 * (number % 97 + 1) * (1 + number % 7), problems=0 if number % 11 else number)
        for number, url in enumerate(maps)
    ]
    sections = [Fact("sections", f"/{'section-' * (place % 4)}{place}/", 90_000 // (place + 1)) for place in range(30)]
    return attrs.evolve(
        small(),
        target=SHOP + "/" + "a-long-name-of-a-folder/" * 4 + "sitemap_index.xml",
        urls=12_345_678,
        pages=11_905_112,
        findings=tuple(findings),
        sitemaps=tuple(rows),
        facts=(*_months(120), *sections, *(Fact("formats", name, 900) for name in ("urlset", "text", "atom"))),
        notes=small().notes * 3,
    )


def hostile(text: str) -> Report:
    """`text` in every field that can hold text of a site."""
    problem = Problem("D01", "error", text, sitemap=text, line=3, field=text, raw=f"{text}.")
    whole = Problem("D01", "error", f"message {text}", sitemap=f"{SHOP}/{text}", line=None, field=None, raw=text)
    dates = {"lastmod": text, "lastmod_precision": text, "newest": text, "newest_precision": text}
    reported = row(text, 1, format=text, seconds=0.2, **dates)
    return Report(
        target=text,
        at=AT,
        urls=2,
        pages=1,
        complete=False,
        findings=(finding("D01", (problem, whole)), finding("X02", (attrs.evolve(problem, sitemap=None),))),
        sitemaps=(row(f"{SHOP}/{text}", 0), reported, row(f"{SHOP}/{text}/2", 40, complete=text, seconds=0.1)),
        facts=(
            Fact("lastmod month", "2026-11", 3), Fact("lastmod month", text, 1), Fact("sections", text, 5),
            Fact("formats", text, 2),
        ),
        notes=(text,),
    )


def _months(number: int) -> list[Fact]:
    """So many months up to AT, some without URLs."""
    first = AT.replace(day=15) - timedelta(days=30.44 * (number - 1))
    months = [(first + timedelta(days=30.44 * place)).strftime("%Y-%m") for place in range(number)]
    return [
        Fact("lastmod month", month, 40 + 97 * place * place % 4_001)
        for place, month in enumerate(months)
        if place % 9 != 4
    ]
