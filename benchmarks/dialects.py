"""What the dialects cost: `python -m benchmarks.dialects [--entries N] [--rich N] [--runs N] [--short]`.

Generated sitemaps, feeds and lists in memory. In each turn bare expat, the plain sitemap and the dialect are read one
after the other, and the ratios of the turn are taken, so that a busy machine slows all three. Then the memory that a
video sitemap takes as its chunks come, in a process of its own.
"""

from __future__ import annotations

import argparse
import signal
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING
from xml.parsers import expat

import attrs

import sitemap_reader as sr

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

CHUNK_BYTES = 64 * 1024
MIB = 1024 * 1024
LIMITS = sr.Limits(max_decoded_bytes=4096 * MIB)  # 100,000 entries of video are over 200 MiB
SITEMAP = b'<?xml version="1.0" encoding="UTF-8"?>\n<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"%s>\n'


@attrs.frozen
class Dialect:
    """A document of any length; `%d` and `%02d` in `entry` are the number and a day."""

    name: str
    head: bytes
    entry: bytes
    tail: bytes = b"</urlset>\n"
    is_rich: bool = False

    def pieces(self, entries: int) -> Iterator[bytes]:
        """Yields the document in pieces."""
        yield self.head
        for number in range(entries):
            yield self.entry.replace(b"%02d", b"%02d" % (1 + number % 28)).replace(b"%d", b"%d" % number)
        yield self.tail


def extended(prefix: bytes, namespace: bytes) -> bytes:
    """The head of a sitemap that uses an extension."""
    return SITEMAP % (b' xmlns:%s="%s"' % (prefix, namespace))


PLAIN = Dialect(
    "plain",
    SITEMAP % b"",
    b"""  <url>
    <loc>https://example.com/product/%d?a=%d&amp;b=2</loc>
    <lastmod>2026-10-%02d</lastmod>
    <changefreq>daily</changefreq>
    <priority>0.5</priority>
  </url>
""",
)
RSS = Dialect(
    "RSS 2.0",
    b'<?xml version="1.0"?>\n<rss version="2.0"><channel><title>News</title><link>https://example.com/</link>\n',
    b"""  <item>
    <title>Product %d</title>
    <link>https://example.com/product/%d?a=%d&amp;b=2</link>
    <guid isPermaLink="false">product-%d</guid>
    <pubDate>%02d Oct 2026 10:30:00 GMT</pubDate>
  </item>
""",
    b"</channel></rss>\n",
)
ATOM = Dialect(
    "Atom 1.0",
    b'<?xml version="1.0"?>\n<feed xmlns="http://www.w3.org/2005/Atom"><title>News</title>\n',
    b"""  <entry>
    <title>Product %d</title>
    <link rel="alternate" href="https://example.com/product/%d?a=%d&amp;b=2"/>
    <id>urn:product:%d</id>
    <updated>2026-10-%02dT10:30:00Z</updated>
  </entry>
""",
    b"</feed>\n",
)
TEXT = Dialect("text", b"", b"https://example.com/product/%d?a=%d&b=2\n", b"")
VIDEO = Dialect(
    "video, all tags",
    extended(b"video", b"http://www.google.com/schemas/sitemap-video/1.1"),
    b"""  <url>
    <loc>https://example.com/watch/%d</loc>
    <video:video>
      <video:thumbnail_loc>https://example.com/thumbs/%d.jpg</video:thumbnail_loc>
      <video:title>Grilling steaks, part %d</video:title>
      <video:description>Alkis shows how to get perfectly done steaks &amp; more every time</video:description>
      <video:content_loc>https://streams.example.com/%d.mp4</video:content_loc>
      <video:player_loc allow_embed="yes" autoplay="ap=1">https://example.com/player?video=%d</video:player_loc>
      <video:duration>600</video:duration>
      <video:content_segment_loc duration="300">https://streams.example.com/%d/1.mp4</video:content_segment_loc>
      <video:content_segment_loc duration="300">https://streams.example.com/%d/2.mp4</video:content_segment_loc>
      <video:expiration_date>2027-10-%02dT19:20:30+08:00</video:expiration_date>
      <video:publication_date>2026-10-%02dT19:20:30+08:00</video:publication_date>
      <video:rating>4.2</video:rating>
      <video:view_count>12345</video:view_count>
      <video:family_friendly>yes</video:family_friendly>
      <video:tag>steak</video:tag>
      <video:tag>meat</video:tag>
      <video:tag>summer</video:tag>
      <video:category>Grilling</video:category>
      <video:restriction relationship="allow">IE GB US CA</video:restriction>
      <video:platform relationship="allow">web mobile</video:platform>
      <video:gallery_loc title="Cooking videos">https://example.com/cooking</video:gallery_loc>
      <video:price currency="EUR" type="rent" resolution="hd">1.99</video:price>
      <video:price currency="EUR" type="own">6.99</video:price>
      <video:requires_subscription>no</video:requires_subscription>
      <video:uploader info="https://example.com/users/grilly">GrillyMcGrillerson</video:uploader>
      <video:live>no</video:live>
      <video:tvshow>
        <video:show_title>Summer in the garden</video:show_title>
        <video:video_type>full</video:video_type>
        <video:episode_title>Steaks</video:episode_title>
        <video:season_number>2</video:season_number>
        <video:episode_number>7</video:episode_number>
        <video:premier_date>2026-10-%02d</video:premier_date>
      </video:tvshow>
      <video:id type="tms:series">%d</video:id>
    </video:video>
  </url>
""",
    is_rich=True,
)
IMAGE = Dialect(
    "image, 5 of 5 tags",
    extended(b"image", b"http://www.google.com/schemas/sitemap-image/1.1"),
    b"  <url>\n    <loc>https://example.com/gallery/%d</loc>\n    <lastmod>2026-10-%02d</lastmod>\n"
    + b"""    <image:image>
      <image:loc>https://cdn.example.com/%d.jpg</image:loc>
      <image:caption>The harbour from the east</image:caption>
      <image:geo_location>Limerick, Ireland</image:geo_location>
      <image:title>Harbour %d</image:title>
      <image:license>https://example.com/license</image:license>
    </image:image>
"""
    * 5
    + b"  </url>\n",
    is_rich=True,
)
HREFLANG = Dialect(
    "hreflang, 5 alternates",
    extended(b"xhtml", b"http://www.w3.org/1999/xhtml"),
    b"  <url>\n    <loc>https://example.com/en/%d</loc>\n    <lastmod>2026-10-%02d</lastmod>\n"
    + b"".join(
        b'    <xhtml:link rel="alternate" hreflang="%s" href="https://example.com/%s/%%d"/>\n' % (language, language)
        for language in (b"en", b"de", b"fr", b"pt-BR", b"x-default")
    )
    + b"  </url>\n",
    is_rich=True,
)
NEWS = Dialect(
    "news, all tags",
    extended(b"news", b"http://www.google.com/schemas/sitemap-news/0.9"),
    b"""  <url>
    <loc>https://example.com/business/%d.html</loc>
    <news:news>
      <news:publication><news:name>The Example Times</news:name><news:language>en</news:language></news:publication>
      <news:access>Subscription</news:access>
      <news:genres>PressRelease, Blog</news:genres>
      <news:publication_date>2026-10-%02dT10:30:00Z</news:publication_date>
      <news:title>Companies A, B in merger talks</news:title>
      <news:keywords>business, merger, acquisition</news:keywords>
      <news:stock_tickers>NASDAQ:A, NASDAQ:B</news:stock_tickers>
    </news:news>
  </url>
""",
    is_rich=True,
)
DIALECTS = (PLAIN, RSS, ATOM, TEXT, VIDEO, IMAGE, HREFLANG, NEWS)


def chunks(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Pieces of a document, put together as a network would deliver them."""
    ready = bytearray()
    for piece in pieces:
        ready += piece
        if len(ready) >= CHUNK_BYTES:
            yield bytes(ready)
            ready.clear()
    yield bytes(ready)


def count(pieces: Iterable[bytes]) -> int:
    """How many URL records come out; none is kept. Stops where something is wrong."""
    records = 0
    for item in sr.iter_parse(chunks(pieces), url="https://example.com/sitemap.xml", limits=LIMITS):
        if isinstance(item, sr.UrlRecord):
            records += 1
        elif isinstance(item, sr.Problem) and item.severity == "error":
            raise RuntimeError(str(item))
    return records


def seconds(work: Callable[[], object]) -> float:
    """How long it took."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def spread(ratios: list[float]) -> str:
    """The median, and the lowest and highest in brackets."""
    return f"{statistics.median(ratios):5.2f} ({min(ratios):.2f} to {max(ratios):.2f})"


def measure(dialect: Dialect, entries: int, plain_entries: int, runs: int) -> str:
    """A row of the table."""
    body, plain = (b"".join(each.pieces(number)) for each, number in ((dialect, entries), (PLAIN, plain_entries)))
    if count([body]) != entries:
        raise RuntimeError(f"{dialect.name}: not every entry was read")
    took: list[float] = []
    to_expat: list[float] = []
    by_entry: list[float] = []
    by_byte: list[float] = []
    for _ in range(runs):
        expat_seconds = seconds(lambda: expat.ParserCreate().Parse(body, True)) if dialect is not TEXT else None
        plain_seconds = seconds(lambda: count([plain]))
        own = seconds(lambda: count([body]))
        took.append(own)
        by_entry.append(own / entries / (plain_seconds / plain_entries))
        by_byte.append(own / len(body) / (plain_seconds / len(plain)))
        if expat_seconds:
            to_expat.append(own / expat_seconds)
    own = statistics.median(took)
    return (
        f"{dialect.name:23}{entries:8,}{len(body) / MIB:7.1f}{own / entries * 1e6:9.1f}{len(body) / MIB / own:7.1f}  "
        f"{spread(to_expat) if to_expat else '-':24}{spread(by_entry):24}{spread(by_byte)}"
    )


def growth_kib(entries: int) -> int:
    """By how much the memory of this process grew over reading a video sitemap whose chunks are made as it is read.

    The first thousand entries do not count: they bring in what is imported and built once.
    """
    count(VIDEO.pieces(1_000))
    before = peak_kib()
    if count(VIDEO.pieces(entries)) != entries:
        raise RuntimeError("not every entry was read")
    return peak_kib() - before


def peak_kib() -> int:
    """The most memory that this process ever had."""
    status = Path("/proc/self/status")
    if status.exists():  # Linux: its getrusage() begins with the peak of the process that started this one
        return int(status.read_text().partition("VmHWM:")[2].split()[0])
    import resource  # not on Windows

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // (1024 if sys.platform == "darwin" else 1)


def growth_in_a_child(entries: int) -> int:
    """growth_kib() in a process that has done nothing else."""
    command = [sys.executable, "-m", "benchmarks.dialects", "--growth-of", str(entries)]
    return int(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)  # noqa: S603 - ourselves


def main() -> int:
    options = argparse.ArgumentParser(prog="python -m benchmarks.dialects", description=__doc__)
    options.add_argument("--entries", type=int, default=50_000, help="of plain documents (default: %(default)s)")
    options.add_argument("--rich", type=int, default=10_000, help="of those with extensions (default: %(default)s)")
    options.add_argument("--runs", type=int, default=5, help="turns (default: %(default)s)")
    options.add_argument("--short", action="store_true", help="small documents, to see that it works: some seconds")
    options.add_argument("--growth-of", type=int, metavar="N", help=argparse.SUPPRESS)
    chosen = options.parse_args()
    if chosen.growth_of:
        print(growth_kib(chosen.growth_of))
        return 0
    if chosen.short:
        chosen.entries, chosen.rich, chosen.runs = 2_000, 400, 3
    print(f"{chosen.runs} turns; ratios are the median (lowest to highest); 1.00 is as fast")
    print(
        f"{'dialect':23}{'entries':>8}{'MiB':>7}{'us/entry':>9}{'MiB/s':>7}  "
        f"{'x bare expat':24}{'x plain, by entry':24}x plain, by byte"
    )
    for dialect in DIALECTS:
        print(measure(dialect, chosen.rich if dialect.is_rich else chosen.entries, chosen.entries, chosen.runs))
    for entries in (chosen.rich, 10 * chosen.rich):
        growth = growth_in_a_child(entries)
        print(f"memory over {entries:,} entries of the video sitemap, beyond the first 1,000: +{growth:,} KiB")
    return 0


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # `| head` ends it quietly
    sys.exit(main())
