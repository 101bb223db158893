"""The jobs: a Setting comes in; Tables of series go out, under the names that the rows of rows.py have.

JOBS has the jobs by name. Peers that cannot run have their reason in place of figures; where one of ours or a limit
fails, the table says so in `failures`.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import attrs

from . import commands
from .data import DOCUMENTS, FAULTS, Data
from .following import Followed
from .rounds import Contender, Measure, Series, in_turn
from .rows import (
    AUDIT,
    BATCHES,
    CHANGED,
    DUMP,
    EXPAT,
    EXPAT_ONLY,
    FIRST,
    IDEAL,
    LATE,
    ONE_THREAD,
    ROWS,
    SPLIT,
    TWO_THREADS,
    UNCHANGED,
    UNPACK,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from .data import Document, Served

IN_FLIGHT = 4
PEERS = ("ultimate-sitemap-parser", "Crawlee", "Scrapy", "Crawlee for Node")
PEER_ROUNDS = 3  # they take long, and are far from ours


@attrs.frozen
class Setting:
    """What to measure, the number of rounds, whether to run peers, and a callback for progress."""

    data: Data
    rounds: int
    peers: bool
    on_progress: Callable[[str], None]


@attrs.frozen
class Table:
    """The series of one comparison; `base` is the name that ratios are taken to."""

    title: str
    about: str
    base: str
    series: dict[str, Series]
    failures: list[str]


def _table(setting: Setting, title: str, about: str, base: str, contenders: list[Contender]) -> Table:
    setting.on_progress(title)
    series = in_turn(contenders, setting.rounds, setting.on_progress)
    failed = [each.name for each in contenders if each.ours and series[each.name].failure]
    return Table(title, about, base, series, [f"{title}: {name}: {series[name].failure}" for name in failed])


def _both(name: str, run: Callable[..., Measure], expected: int | None = None) -> list[Contender]:
    """The contender with the compiled scanner, and with expat only."""
    return [
        Contender(f"{name}{EXPAT_ONLY if expat_only else ''}", partial(run, expat_only=expat_only), expected)
        for expat_only in (False, True)
    ]


def parse(setting: Setting) -> Iterator[Table]:
    """Documents in memory."""
    for kind, make in DOCUMENTS.items():
        document = make(setting.data)
        yield _parsed(setting, f"parse: {kind}", document, document, SPLIT if kind == "text" else EXPAT)


def repair(setting: Setting) -> Iterator[Table]:
    """Damaged documents, beside bare expat over the document without a fault."""
    for fault in FAULTS:
        yield _parsed(setting, f"repair: {fault}", setting.data.damaged(fault), setting.data.plain(), EXPAT)


def _parsed(setting: Setting, title: str, document: Document, limited: Document, limit: str) -> Table:
    seconds = str(setting.data.sizes.parse_seconds)
    contenders = [Contender(limit, partial(commands.timed, "parsing", limit, seconds, limited.url, limited.file))]
    names = dict.fromkeys(row.upper for row in ROWS if row.table == title)
    for name in names or (BATCHES,):
        run = partial(commands.timed, "parsing", name, seconds, document.url, document.file)
        contenders += _both(name, run, document.entries)
    megabytes = document.file.stat().st_size / 1e6
    about = f"{document.entries:,} entries, {megabytes:.1f} MB, in memory; seconds are those inside of the process"
    if not names:  # only shown
        setting = attrs.evolve(setting, rounds=1)
    return _table(setting, title, about, limit, contenders)


def dump(setting: Setting) -> Iterator[Table]:
    """A site on loopback -> a JSONL file, from the start of the program to its end."""
    out = setting.data.folder / "out.jsonl"
    served = setting.data.site()
    contenders = [_unpack(served), *_both(DUMP, partial(commands.dump, served, out), served.urls)]
    for peer in PEERS if setting.peers else ():
        run = partial(commands.dump_peer, peer, served, out, IN_FLIGHT)
        contenders.append(Contender(peer, run, served.urls, PEER_ROUNDS, ours=False))
    yield _table(setting, "dump", _about(served), UNPACK, contenders)


def late(setting: Setting) -> Iterator[Table]:
    """Many small children of a slow server: the time is waiting."""
    sizes = setting.data.sizes
    # robots.txt and the index come one after the other, then as many children at a time as are in flight.
    ideal = sizes.late_seconds * (2 + -(-sizes.late_children // IN_FLIGHT))
    out = setting.data.folder / "out.jsonl"
    served = setting.data.late_site()
    run = partial(commands.dump, served, out)
    contenders = [Contender(IDEAL, lambda: Measure(ideal)), *_both(DUMP, run, served.urls)]
    milliseconds = f"{sizes.late_seconds * 1000:.0f} ms"
    about = f"{len(served.children)} children, every answer after {milliseconds}, {IN_FLIGHT} in flight"
    yield _table(setting, LATE, f"{about}; the ideal is the waiting alone", IDEAL, contenders)


def sync(setting: Setting) -> Iterator[Table]:
    """The site of the dump, read again and again against a state."""
    served = setting.data.site()
    site = Followed.of(served, setting.data.folder / "followed")
    contenders = [_unpack(served)]
    for first, unchanged, changed in zip(
        _both(FIRST, site.first, served.urls),
        _both(UNCHANGED, site.unchanged),
        _both(CHANGED, site.changed, site.changed_urls),
        strict=True,
    ):
        contenders += [first, unchanged, changed]
    yield _table(setting, "sync", _about(served), UNPACK, contenders)


def audit(setting: Setting) -> Iterator[Table]:
    """The site of the dump, with every rule of the audit."""
    out = setting.data.folder / "out.json"
    served = setting.data.site()
    contenders = [_unpack(served), *_both(AUDIT, partial(commands.audit, served, out), served.urls)]
    yield _table(setting, "audit", _about(served), UNPACK, contenders)


def threads(setting: Setting) -> Iterator[Table]:
    """The children of that site, in memory, in threads beside an event loop."""
    served = setting.data.site()
    contenders: list[Contender] = []
    for number, name in enumerate((ONE_THREAD, TWO_THREADS), 1):
        run = partial(commands.timed, "threads", str(number), served.sitemap, *served.children)
        contenders += _both(name, run, served.urls)
    about = f"{served.urls:,} URLs in {len(served.children)} gzipped children, in memory, {BATCHES}"
    yield _table(setting, "threads", about, ONE_THREAD, contenders)


def _unpack(served: Served) -> Contender:
    return Contender(UNPACK, partial(commands.timed, "parsing", UNPACK, "0", served.sitemap, *served.children))


def _about(served: Served) -> str:
    return f"{served.urls:,} URLs in {len(served.children)} gzipped children, over loopback; whole processes"


JOBS: dict[str, Callable[[Setting], Iterator[Table]]] = {
    each.__name__: each for each in (parse, repair, dump, late, sync, audit, threads)
}
