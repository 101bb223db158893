"""Estimates of `check_urls` beside the truth: `python -m benchmarks.url_checks [--fetched N]`.

A loopback server lists 10,000 URLs in eight sitemaps and has planted faults: rare ones, common ones, and one kind in a
single sitemap. For the first N seeds (default 5) audits fetch a sample of 500: each result is compared with the truth,
and the requests are counted. As a result depends on the URL alone, the estimates of all 100 seeds are then computed
from the truth. A fault whose interval misses the truth for more than 5 seeds, a path that is requested twice or against
robots.txt, and a higher rate of requests than the Crawl-delay permits end the program with 1.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import threading
import time
from collections import Counter
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import sitemap_reader as sr
from sitemap_reader import explain
from sitemap_reader.checks import PAGE_CODES, StratumCounts, UrlSample, estimate

if TYPE_CHECKING:
    from collections.abc import Iterator

SITEMAPS, URLS, SAMPLE, SEEDS = 8, 10_000, 500, 100
MOST_MISSED = 5
DELAY_SECONDS = 0.02
RATE_SAMPLE = 100
SECTIONS = ("shop", "blog", "help", "private")
Answer = tuple[int, str, str]  # status, more headers, body
_OK = "<title>Page {0}</title><link rel=canonical href='{0}'><p>Words of the page {0}</p>"


def _page(head: str, status: int = 200, headers: str = "") -> Answer:
    return status, headers, f"{head}<p>Words of the page</p>"


# Code -> whether the URL with this sitemap and number has the fault, and what it answers.
PLANTED = {
    "C01": (lambda sitemap, n: n % 83 == 5, _page("<title>Gone</title>", 404)),  # 1.2%
    "C02": (lambda sitemap, n: n % 10 == 1, (301, "Location: /shop/0-0\r\n", "")),  # 10%
    "C03": (lambda sitemap, n: sitemap == 3 and n % 5 == 2, _page("<meta name=robots content=noindex>")),  # one sitemap
    "C04": (lambda sitemap, n: n % 625 == 8, _page("<link rel=canonical href='/other'>")),  # 0.2%
    "C07": (lambda sitemap, n: n % 50 == 4, _page("<title>Page not found</title>")),  # 2%
}


def listed() -> dict[str, list[str]]:
    """The sitemaps with their paths."""
    each = URLS // SITEMAPS
    return {f"/map{s}.xml": [f"/{_section(n)}/{s}-{n}" for n in range(each)] for s in range(SITEMAPS)}


def _section(number: int) -> str:
    return SECTIONS[3] if number % 40 == 0 and number else SECTIONS[number * 7 % 3]


def truth(path: str) -> str | None:
    """The code of a path's fault; None if it has none, or may not be requested."""
    section, _, name = path[1:].partition("/")
    sitemap, _, number = name.partition("-")
    if section == "private":
        return None
    return next((code for code, (has, _) in PLANTED.items() if has(int(sitemap), int(number))), None)


class Server:
    """A loopback server of the site, in a thread; `requested` has the paths."""

    def __init__(self, delay_seconds: float = 0.0) -> None:
        self.requested: list[str] = []
        self.at: list[float] = []
        self.url = ""
        self._delay = delay_seconds
        self._maps = listed()

    @contextmanager
    def running(self) -> Iterator[Server]:
        loop, ready = asyncio.new_event_loop(), threading.Event()

        async def start() -> None:
            server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
            self.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
            ready.set()

        def run() -> None:
            loop.run_until_complete(start())
            loop.run_forever()

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        ready.wait()
        yield self
        loop.call_soon_threadsafe(loop.stop)
        thread.join()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.IncompleteReadError, ConnectionError):  # the client has closed the connection
            while head := await reader.readuntil(b"\r\n\r\n"):
                path = head.split(b" ", 2)[1].decode()
                self.requested.append(path)
                self.at.append(time.monotonic())
                status, headers, text = self._answer(path)
                body = text.encode()
                kind = "text/html" if "<p>" in text else "text/plain"
                lines = f"Content-Type: {kind}\r\n{headers}Content-Length: {len(body)}\r\n"
                writer.write(f"HTTP/1.1 {status} X\r\n{lines}\r\n".encode() + body)
                await writer.drain()
        writer.close()

    def _answer(self, path: str) -> Answer:
        if path == "/robots.txt":
            delay = f"Crawl-delay: {self._delay}\n" if self._delay else ""
            maps = "".join(f"Sitemap: {self.url}{path}\n" for path in self._maps)
            return 200, "", f"User-agent: *\nDisallow: /private/\n{delay}{maps}"
        if path in self._maps:
            return 200, "", "\n".join(f"{self.url}{each}" for each in self._maps[path])
        if path.count("/") != 2:
            return 404, "", ""
        code = truth(path)
        return _page(_OK.format(path)) if code is None else PLANTED[code][1]


def audit(server: Server, seed: int, size: int = SAMPLE) -> sr.Report:
    """An audit that fetches a sample."""
    return sr.audit(server.url, allow_private=True, check_urls=size, seed=seed, select="C", samples=size)


def fetched(seeds: int) -> bool:
    """Runs audits; whether all results are true, no path was requested twice, and robots.txt was obeyed."""
    is_ok = True
    with Server().running() as server:
        for seed in range(seeds):
            server.requested.clear()
            started = time.monotonic()
            report = audit(server, seed)
            seconds, requests = time.monotonic() - started, Counter(server.requested)
            wrong = sum(
                truth(problem.raw.removeprefix(server.url)) != finding.code
                for finding in report.findings
                for problem in finding.samples
            )
            missed = sum(truth(path) is not None for path in requests if path.count("/") == 2) - sum(
                finding.count for finding in report.findings
            )
            twice = sum(count > 1 for count in requests.values())
            private = sum(path.startswith("/private/") for path in requests)
            estimated = {each.code: (each.share, each.low, each.high) for each in report.url_checks.estimates}
            is_ok = is_ok and not (wrong or missed or twice or private) and estimated == computed(seed, server.url)
            print(
                f"seed {seed}: {requests.total()} requests in {seconds:.1f} s; {report.url_checks.checked} checked, "
                f"{report.url_checks.disallowed} disallowed; {wrong} wrong, {missed} missed, {twice} paths requested "
                f"twice, {private} against robots.txt",
                flush=True,
            )
    return is_ok


def kept_rate() -> bool:
    """Whether requests are as far apart as the Crawl-delay states."""
    with Server(DELAY_SECONDS).running() as server:
        audit(server, 0, RATE_SAMPLE)
    pages = [at for at, path in zip(server.at, server.requested, strict=True) if path.count("/") == 2]
    rate = (len(pages) - 1) / (pages[-1] - pages[0])
    print(f"Crawl-delay {DELAY_SECONDS:g} s: {rate:.1f} requests a second, {1 / DELAY_SECONDS:.0f} at most", flush=True)
    return rate <= 1 / DELAY_SECONDS


def computed(seed: int, start: str) -> dict[str, tuple[float, float, float]]:
    """Code -> share and interval, from a sample and the truth."""
    sample = UrlSample(SAMPLE, seed)
    for sitemap, paths in listed().items():
        locs = [f"{start}{path}" for path in paths]
        sample.add(f"{start}{sitemap}", locs, [*map(hash, locs)], range(1, len(locs) + 1))
    strata = sample.draw()
    shares = {}
    for code in PAGE_CODES:
        counts = []
        for each in strata:
            faulty = sum(truth(url.loc.removeprefix(start)) == code for url in each.urls)
            counts.append(StratumCounts(each.size, len(each.urls), faulty))
        if (share := estimate(counts)) is not None:
            shares[code] = (share.share, share.low, share.high)
    return shares


def held() -> bool:
    """Whether each interval contains the truth for enough seeds."""
    true = Counter(truth(path) for paths in listed().values() for path in paths)
    results = [computed(seed, "https://site.example") for seed in range(SEEDS)]
    is_ok = True
    for code in PAGE_CODES:
        text, share = explain(code).faulty_urls, true[code] / URLS
        holds = sum(low <= share <= high for _, low, high in (each[code] for each in results))
        width = sum(high - low for _, low, high in (each[code] for each in results)) / SEEDS
        mean = sum(each[code][0] for each in results) / SEEDS
        is_ok = is_ok and SEEDS - holds <= MOST_MISSED
        print(
            f"{code} {text:28} truth {share:7.2%}  mean estimate {mean:7.2%}  interval {width:6.2%} wide, holds for "
            f"{holds} of {SEEDS} seeds",
            flush=True,
        )
    return is_ok


def main() -> int:
    options = argparse.ArgumentParser(prog="python -m benchmarks.url_checks", description=__doc__)
    options.add_argument("--fetched", type=int, default=5, metavar="N", help="seeds for which the sample is fetched")
    given = options.parse_args()
    results = [fetched(given.fetched), kept_rate(), held()]
    return int(not all(results))


if __name__ == "__main__":
    sys.exit(main())
