"""Each measure of a large site, in a process of its own: `python -m benchmarks.measures [--urls N] [--only NAME,...]`.

The site is made, with the shapes of a real shop: five languages as folders, hreflang links, images, lastmods of which
some are of a build, slugs of three words of some hundred. Printed are the seconds of CPU of the call, and the peak
memory of the process in MB, with the Snapshots that it takes loaded from Parquet. More than 20 seconds or 4,000 MB for
3,000,000 URLs end the program with 1. `later` is the site a month later.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from .tables import aligned
from .watching import CommandFailed, watched

if TYPE_CHECKING:
    from collections.abc import Iterator

URLS, MOST_SECONDS, MOST_MEGABYTES = 3_000_000, 20, 4_000
_PART, _LONGEST = 100_000, 600
_LANGUAGES = ("en", "de", "fr", "es", "it")
_STEMS = ("wool", "oak", "steel", "linen", "brass", "clay", "glass", "moss", "slate", "amber", "cedar", "coral", "fern")
_THINGS = ("lamp", "chair", "table", "shelf", "frame", "vase", "rug", "knife")
WORDS = [f"{one}{two}" for one in _STEMS for two in _THINGS]

# Name -> the call; `site` is the Snapshot, `earlier` the same a month before.
CALLS = {
    "sections": "site.sections()",
    "languages": "site.languages()",
    "media_coverage": "site.media_coverage()",
    "changefreq_priority": "site.changefreq_priority()",
    "tree": "site.tree()",
    "hreflang": "site.hreflang()",
    "lastmod_trust": "site.lastmod_trust()",
    "cadence": "site.cadence()",
    "calendar": "site.calendar()",
    "weekday_hour": "site.weekday_hour()",
    "freshness": "site.freshness()",
    "new": "site.new('30d')",
    "topics": "site.topics()",
    "slug_ngrams": "site.slug_ngrams(2)",
    "slug_lengths": "site.slug_lengths()",
    "trends": "site.trends('365d')",
    "patterns": "site.patterns()",
    "page_types": "site.page_types()",
    "translations": "site.translations()",
    "filter": "site.filter(include='/en/')",
    "filter by language": "site.filter(language='en').languages()",
    "gaps by path": "site.filter(language='de').gaps(site.filter(language='en'))",
    "gaps by topic": "site.filter(language='de').gaps(site.filter(language='en'), by='topic')",
    "shared": "site.filter(language='de').shared(site.filter(language='en'))",
    "growth": "site.growth(earlier)",
    "churn": "site.churn(earlier)",
    "history": "sr.load([r'EARLIER', r'SITE'], at='name').history",
    "turnover": "sr.load([r'EARLIER', r'SITE'], at='name').turnover()",
    "survival": "sr.load([r'EARLIER', r'SITE'], at='name').survival()",
    "list_urls": "site.churn(earlier).list_urls()",
    "to_pandas": "site.to_pandas()",
    "card": "str(site)",
}


def write_site(path: Path, urls: int, *, later: bool) -> None:
    """The URLs as Parquet, part by part. Later: a twentieth is removed, as many are new, a tenth has another date."""
    schema, writer = None, None
    for start in range(0, urls, _PART):
        numbers = np.arange(start, min(start + _PART, urls))
        if later:
            numbers = np.where(numbers % 20 == 7, numbers + urls, numbers)
        table = pa.table(_columns(numbers, later=later))
        schema = schema or table.schema
        writer = writer or parquet.ParquetWriter(path, schema, compression="zstd")
        writer.write_table(table)
    assert writer is not None  # noqa: S101 - for the type checker
    writer.close()


def _columns(numbers: np.ndarray[Any, Any], *, later: bool) -> dict[str, Any]:
    words = np.array(WORDS)
    random = np.random.default_rng(int(numbers[0]))
    slugs = ["-".join(each) for each in words[random.integers(0, len(words), (len(numbers), 3))]]
    item = numbers // len(_LANGUAGES)
    section = np.array([f"s{n}" for n in range(200)])[item * 7 % 200]
    locs = [
        f"https://shop.example/{_LANGUAGES[number % 5]}/{folder}/{slug}-{one}"
        for number, folder, slug, one in zip(numbers, section, slugs, item, strict=True)
    ]
    days = random.integers(0, 2_000, len(numbers)) + 18_600
    seconds = days * 86_400 + random.integers(0, 86_400, len(numbers))
    seconds = np.where(numbers % 10 == 3, 20_700 * 86_400 + numbers % 400, seconds)  # of a build
    seconds = np.where(later & (numbers % 10 == 5), 20_730 * 86_400, seconds)
    return {
        "loc": locs,
        "lastmod": pa.array(seconds * 1_000_000, pa.timestamp("us", "UTC")),
        "lastmod_precision": pa.repeat("second", len(numbers)),
        "changefreq": ["weekly" if number % 2 else None for number in numbers],
        "priority": [0.5 if number % 3 else 0.8 for number in numbers],
        "sitemap": [f"https://shop.example/sitemap-{number // 50_000}.xml" for number in numbers],
        "images": [_images(number) for number in numbers],
        "alternates": [_alternates(number) for number in numbers],
    }


def _images(number: int) -> list[dict[str, str]] | None:
    return [{"loc": f"https://cdn.example/{number}.jpg", "title": "Photo"}] if number % 5 == 1 else None


def _alternates(number: int) -> list[dict[str, str]] | None:
    if number // 5 % 3:
        return None
    return [
        {"hreflang": code, "href": f"https://shop.example/{code}/x-{number // 5}"} for code in _LANGUAGES[:3]
    ]


_PROGRAM = """
import time
import sitemap_reader as sr
site, earlier = sr.load({site!r}, at="2026-11-01"), sr.load({earlier!r}, at="2026-10-01")
for snapshot in [{snapshots}]:
    len(snapshot.pages)
began = time.process_time()
{call}
print(time.process_time() - began)
"""


def results(folder: Path, names: list[str]) -> Iterator[tuple[str, float, float]]:
    files = {"site": folder / "2026-11-01.parquet", "earlier": folder / "2026-10-01.parquet"}
    for name in names:
        call = CALLS[name].replace("EARLIER", str(files["earlier"])).replace("SITE", str(files["site"]))
        snapshots = ", ".join(key for key in files if re.search(rf"\b{key}\b", call))
        program = _PROGRAM.format(call=call, snapshots=snapshots, **{key: str(path) for key, path in files.items()})
        try:
            found = watched([sys.executable, "-c", program], most_seconds=_LONGEST, environment={})
        except CommandFailed as exc:
            print(f"{name}: {exc}", file=sys.stderr)
            yield name, float("inf"), float("inf")
            continue
        yield name, float(found.printed), found.megabytes or 0.0


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.measures", description=__doc__)
    parser.add_argument("--urls", type=int, default=URLS, help=f"default: {URLS:,}")
    parser.add_argument("--only", metavar="NAME,...", help=f"of {', '.join(CALLS)} (default: all)")
    parser.add_argument("--folder", type=Path, help="where the site is kept for the next time (default: nowhere)")
    chosen = parser.parse_args()
    names = chosen.only.split(",") if chosen.only else [*CALLS]
    with tempfile.TemporaryDirectory() as temporary:
        folder = chosen.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        for name, later in (("2026-10-01.parquet", False), ("2026-11-01.parquet", True)):
            if not (folder / name).exists():
                write_site(folder / name, chosen.urls, later=later)
        rows, is_good = [["measure", "seconds of CPU", "peak MB"]], True
        for name, seconds, megabytes in results(folder, names):
            print(f"{name}: {seconds:.1f} s, {megabytes:,.0f} MB", file=sys.stderr)
            rows.append([name, f"{seconds:.1f}", f"{megabytes:,.0f}"])
            is_good &= seconds <= MOST_SECONDS and megabytes <= MOST_MEGABYTES
    print(aligned(rows), end="")
    return 0 if is_good else 1


if __name__ == "__main__":
    began = time.monotonic()
    status = main()
    print(f"{'ok' if status == 0 else 'a measure takes more'}: {time.monotonic() - began:.0f} s")
    sys.exit(status)
