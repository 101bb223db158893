"""The cost of random damage, and its growth: `python -m benchmarks.shapes [--count N] [--seed N] [--short]`.

A shape is a head, a unit or two that are repeated in turn, and a tail, all of random tokens: the protocol's tags, whole
and broken, references, sections, comments, odd characters and bytes. Each is read at 120 and at 480 KB, in processes of
its own, one for each core. CPU time is measured: no shape may take over 4.5 times as long for four times the bytes, nor
over 1 s a MB; what seems to is measured again. One that does not end is killed, and reported.

`python -m benchmarks.shapes --seed 1 --only 17` reads the 17th shape of seed 1 alone; with `--save FILE` the document
of 480 KB goes to a file.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import random
import signal
import sys
import time
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

import attrs

import sitemap_reader as sr

from .tables import aligned

SMALL, LARGE = 120_000, 480_000
MAX_GROWTH, MAX_SECONDS_PER_MB = 4.5, 1.0
FLOOR_SECONDS = 0.2  # below which growth is noise
HANG_SECONDS = 60.0  # without an answer from a process: it is killed
MEASURED_AGAIN = 3
SLOWEST = 10
COUNT, SHORT_COUNT = 20_000, 50

SITEMAPS = "http://www.sitemaps.org/schemas/sitemap/0.9"
GOOGLE = "http://www.google.com/schemas/sitemap"
EXTENSIONS = (
    f'xmlns:image="{GOOGLE}-image/1.1" xmlns:video="{GOOGLE}-video/1.1" xmlns:news="{GOOGLE}-news/0.9" '
    'xmlns:xhtml="http://www.w3.org/1999/xhtml"'
)
ROOTS = {
    "urlset": (f'<urlset xmlns="{SITEMAPS}" {EXTENSIONS}>', "<urlset>", "<urlset ", "<URLSET>", "<urlset a='"),
    "index": (f'<sitemapindex xmlns="{SITEMAPS}">', "<sitemapindex>", "<sitemapindex "),
    "rss": ('<rss version="2.0"><channel>', '<rss xmlns:media="http://search.yahoo.com/mrss/"><channel>', "<rss "),
    "rdf": ('<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/">',),
    "atom": ('<feed xmlns="http://www.w3.org/2005/Atom">', "<feed><entry>", "<feed "),
    "text": ("https://a.example/\n", "http://a.example/b\r\n", "ftp://a.example/\n"),
    "robots": ("User-agent: *\nDisallow: /\n", "Sitemap: https://a.example/s.xml\n", ""),
    "any": ("", '<?xml version="1.0"?>', '<?xml version="1.0" encoding="utf-16"?>', "<!DOCTYPE html>", "\n <", "<?xml"),
}
NAMES = b"""urlset sitemapindex url sitemap loc lastmod changefreq priority rss channel item link guid pubDate title
    description feed entry updated id image:image image:loc image:title video:video video:tag video:thumbnail_loc
    news:news news:publication news:title xhtml:link media:content media:group mobile:mobile x:y a b p html""".split()
FORMS = (b"<%s>", b"<%s>", b"</%s>", b"</%s>", b"<%s/>", b"<%s ", b"</%s")
OTHERS = (
    *rb"""<!-- --> -- --- <!- <!--> <![CDATA[ ]]> ]] <!CDATA[ <![ <!D <? ?> <?x <?php <?xml <!DOCTYPE <!ENTITY & &&
    &amp; &lt; &gt; &nbsp; &eacute; &region; &#38; &#x41; &#65 &# &#0; &#x1; &#xffff; &#xD800; &#99999999999; ; < <<
    > >> /> </ </> <> = == " ' "" =" =' a=b a="b" a='b' xmlns="u" xmlns:x="u" rel="alternate" hreflang="de" href="/a
    <\/loc> </loc/> <lok> </ulr> http:// https:// https://a.example/ http://a.example/b?c=d&e=f
    http://a.example/b?c=d&amp;e=f //a ../ /. /../ # ? % %2 %41 %zz : @ [ ] { } | \ ^ ` ~ 0.5 1 -1
    2026 2026-11-20 2026-11-20T08:30:00Z 24:00 Mon daily always x xx
    Sitemap: sitemap: Sitemap Site-map: Disallow: Crawl-delay: User-agent: Host:""".split(),
    b'<a b="c">', b"<a b='c", b'<a b="c', b"< loc>", b'<!DOCTYPE x [', b'<x:y xmlns:x="u">', b"<br>",
    b'<xhtml:link rel="alternate" hreflang="en" href="http://a.example/b"/>', b'<enclosure url="http://a.example/d"/>',
    b'<media:content url="http://a.example/c.jpg"',
)  # fmt: skip
ODD = (
    " ", "  ", "\t", "\n", "\r", "\r\n", "\n\n", "\0", "\x01", "\x0b", "\x1f", "\x7f", "\x85", "\xa0", "é", "ü",
    "\u2028", "\u3000", "\ufeff", "\ufdd0", "\ufffd", "\ufffe", "\uffff", "日本", "😀", "\u202e",
)  # fmt: skip
TOKENS = [
    *(form % name for name in NAMES for form in FORMS), *OTHERS * 3, *(odd.encode() for odd in ODD * 3),
    b"\xff", b"\xfe\xff", b"\xff\xfe", b"\xc3", b"\xe2\x80", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\x80", b"\0<", b"<\0",
    b"<url><loc>https://a.example/b</loc></url>", b"<sitemap><loc>https://a.example/b.xml</loc></sitemap>",
    b"<item><link>https://a.example/b</link></item>", b'<entry><link href="https://a.example/b"/></entry>',
]  # fmt: skip
CONTENT_TYPES = (
    *(None,) * 4, "text/xml", "text/plain", "text/html", "application/rss+xml", "text/xml; charset=utf-16le"
)  # fmt: skip


@attrs.frozen
class Shape:
    """A document of any size: the head, the units in turn, each with its number if `numbered`, and the tail."""

    kind: str
    head: bytes
    units: tuple[bytes, ...]
    tail: bytes
    numbered: bool
    options: dict[str, Any]

    def document(self, size: int) -> bytes:
        parts, length, number = [self.head], len(self.head), 0
        while length < size:
            unit = self.units[number % len(self.units)]
            parts.append(unit + b"%d" % number if self.numbered else unit)
            length, number = length + len(parts[-1]), number + 1
        return b"".join((*parts, self.tail))

    def __str__(self) -> str:
        shown = [f"{name}={_short(value)}" for name, value in (("head", self.head), ("tail", self.tail))]
        shown.insert(1, "units=" + " + ".join(_short(unit) for unit in self.units))
        return f"{self.kind}: " + " ".join(shown) + (" numbered" if self.numbered else "")


@attrs.frozen
class Cost:
    """The cost of a shape: CPU seconds for SMALL and for LARGE; None if it never ended."""

    number: int
    small: float | None
    large: float | None

    @property
    def growth(self) -> float:
        return float("inf") if self.large is None or self.small is None else self.large / max(self.small, 0.001)

    @property
    def seconds_per_mb(self) -> float:
        return float("inf") if self.large is None else self.large / (LARGE / 1e6)

    @property
    def is_bad(self) -> bool:
        grows = self.growth > MAX_GROWTH and (self.large is None or self.large > FLOOR_SECONDS)
        return grows or self.seconds_per_mb > MAX_SECONDS_PER_MB


def _short(data: bytes) -> str:
    text = repr(data)[1:]
    return text if len(text) <= 60 else f"{text[:40]}...{text[-15:]} ({len(data)} bytes)"


def shape(seed: int, number: int) -> Shape:
    """The shape of this number: it depends on nothing else."""
    chance = random.Random(f"{seed}/{number}")  # noqa: S311  not for secrets
    kind = chance.choice(list(ROOTS))

    def some(most: int) -> bytes:
        tokens = []
        for _ in range(chance.randint(0, most)):
            token = chance.choice(TOKENS)
            tokens.append(token * chance.randint(2, 50) if chance.random() < 0.15 else token)
        return b"".join(tokens)

    units = tuple(some(6) or chance.choice(TOKENS) for _ in range(chance.choice((1, 1, 2))))
    is_robots = kind == "robots"
    options: dict[str, Any] = {
        "url": "https://a.example/robots.txt" if is_robots else "https://a.example/s.xml",
        "content_type": chance.choice(CONTENT_TYPES),
    }
    return Shape(
        kind=kind,
        head=chance.choice(ROOTS[kind]).encode() + some(4),
        units=units,
        tail=some(5),
        numbered=chance.random() < 0.25,
        options=options,
    )


def seconds(document: bytes, options: dict[str, Any]) -> float:
    started = time.process_time()
    sr.parse(document, **options)
    return time.process_time() - started


def measured(seed: int, number: int) -> Cost:
    """The cost of a shape; the least of some, where the first seems to break a bar."""
    each = shape(seed, number)
    documents = [each.document(size) for size in (SMALL, LARGE)]
    found = [seconds(document, each.options) for document in documents]
    for _ in range(MEASURED_AGAIN):
        cost = Cost(number, *found)
        if not cost.is_bad:
            break
        # Noise may have made the smaller one fast or the larger one slow.
        found = [max(found[0], seconds(documents[0], each.options)), min(found[1], seconds(documents[1], each.options))]
    return Cost(number, *found)


class Worker:
    """A process that measures the shapes it is sent, one by one."""

    def __init__(self, seed: int) -> None:
        self.mine, theirs = multiprocessing.Pipe()
        self.process = multiprocessing.Process(target=_work, args=(theirs, seed), daemon=True)
        self.process.start()
        theirs.close()
        self.number: int | None = None
        self.deadline = 0.0

    def send(self, number: int) -> None:
        self.number, self.deadline = number, time.monotonic() + HANG_SECONDS
        self.mine.send(number)

    def end(self) -> None:
        self.process.kill()
        self.process.join()
        self.mine.close()


def _work(pipe: Connection, seed: int) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    seconds(shape(seed, 0).document(1_000), {})  # what is imported late is no part of any shape
    while True:
        try:
            pipe.send(measured(seed, pipe.recv()))
        except (EOFError, BrokenPipeError):
            return


def measured_all(seed: int, numbers: list[int], processes: int) -> list[Cost]:
    """The costs of all, in no order. A process that does not answer, or dies, is replaced."""
    left, costs = numbers[::-1], []
    workers = [Worker(seed) for _ in range(min(processes, len(numbers)))]
    try:
        while True:
            for worker in workers:
                if worker.number is None and left:
                    worker.send(left.pop())
            busy = [worker for worker in workers if worker.number is not None]
            if not busy:
                return costs
            wait([worker.mine for worker in busy], timeout=1.0)
            for worker in busy:
                number = worker.number or 0
                try:
                    if worker.mine.poll():
                        costs.append(worker.mine.recv())
                        worker.number = None
                        continue
                    is_lost = time.monotonic() > worker.deadline
                except (EOFError, OSError):
                    is_lost = True
                if is_lost:
                    costs.append(Cost(number, None, None))
                    worker.end()
                    workers[workers.index(worker)] = Worker(seed)
    finally:
        for worker in workers:
            worker.end()


HEADINGS = ["", "shape", "120 KB", "480 KB", "growth", "a MB", ""]


def row(seed: int, cost: Cost) -> list[str]:
    figures = ["never ends", "", "", ""]
    if cost.small is not None and cost.large is not None:
        figures = [f"{cost.small:.2f} s", f"{cost.large:.2f} s", f"x{cost.growth:.1f}", f"{cost.seconds_per_mb:.2f} s"]
    return ["over" if cost.is_bad else "", f"{seed}/{cost.number}", *figures, str(shape(seed, cost.number))]


def main() -> int:
    options = argparse.ArgumentParser(prog="python -m benchmarks.shapes", description=__doc__)
    options.add_argument("--count", type=int, help=f"how many shapes (default: {COUNT:,})")
    options.add_argument("--first", type=int, default=0, help="the number of the first (default: %(default)s)")
    options.add_argument("--seed", type=int, default=1, help="of the random tokens (default: %(default)s)")
    options.add_argument("--only", type=int, metavar="NUMBER", help="this shape alone")
    options.add_argument("--save", type=Path, metavar="FILE", help="with --only: write the document there")
    options.add_argument("--processes", type=int, default=os.cpu_count() or 1, help="(default: %(default)s)")
    options.add_argument("--short", action="store_true", help=f"{SHORT_COUNT} shapes")
    chosen = options.parse_args()
    if chosen.save and chosen.only is None:
        options.error("--save needs --only NUMBER")
    if chosen.save:
        each = shape(chosen.seed, chosen.only)
        chosen.save.write_bytes(each.document(LARGE))
        print(f"{each}\n{each.options}")
        return 0
    count = chosen.count or (SHORT_COUNT if chosen.short else COUNT)
    numbers = [chosen.only] if chosen.only is not None else list(range(chosen.first, chosen.first + count))
    costs = measured_all(chosen.seed, numbers, chosen.processes)
    costs.sort(key=lambda cost: (cost.is_bad, cost.seconds_per_mb), reverse=True)
    bad = sum(cost.is_bad for cost in costs)
    shown = costs[: max(SLOWEST, bad)]
    print(aligned([HEADINGS, *(row(chosen.seed, cost) for cost in shown)]), end="")
    print(f"again, one alone: python -m benchmarks.shapes --seed {chosen.seed} --only NUMBER")
    bars = f"over x{MAX_GROWTH} for four times the bytes, or over {MAX_SECONDS_PER_MB:g} s a MB"
    if bad:
        print(f"over: {bad} of {len(costs):,} shapes, {bars}")
        return 1
    print(f"ok {len(costs):,} shapes, none {bars}")
    return 0


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # `| head` ends it quietly
    sys.exit(main())
