"""The jobs: a Setting comes in; tables of series, and the bars for them, go out.

JOBS has them by name. Peers that cannot run have their reason in place of figures; where one of ours or a limit
fails, the table says so in `failures`.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import attrs

from . import commands, repair
from .bars import (
    AUDIT,
    AUDIT_TWO_WORKERS,
    CHANGED,
    CLEAN,
    CONVERT,
    EXPAT,
    FIRST,
    IDEAL,
    ONE_WORKER,
    OURS,
    PANDAS,
    SNAPSHOT,
    TWO_WORKERS,
    UNCHANGED,
    UNPACK,
    Row,
    audit_row,
    memory_rows,
    rows,
    state_row,
)
from .data import DOCUMENTS, Data, Served
from .following import Followed
from .peers import Missing
from .rounds import Contender, Measure, Series, in_turn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

IN_FLIGHT = 4
MEMORY_ROUNDS = 3
PEER_ROUNDS = 3
SLOW_ROUNDS = 2  # for contenders that take several times as long as the rest
SLOW = {"ultimate-sitemap-parser", "advertools", "sitemapper", "feedparser", "Scrapy, items"}
WORKERS = {ONE_WORKER: 1, TWO_WORKERS: 2}


@attrs.frozen
class Setting:
    """What to measure, the number of rounds, whether to run peers, and a callback for progress."""

    data: Data
    rounds: int
    peers: bool
    on_progress: Callable[[str], None]


@attrs.frozen
class Table:
    """The series of one comparison; `ours` is the name that the ratios are taken to."""

    title: str
    about: str
    ours: str
    series: dict[str, Series]
    bars: list[Row]
    failures: list[str]


def _table(setting: Setting, title: str, about: str, ours: str, contenders: list[Contender]) -> Table:
    setting.on_progress(title)
    series = in_turn(contenders, setting.rounds, setting.on_progress)
    return Table(title, about, ours, series, rows(title, series), _failures(title, contenders, series))


def _failures(title: str, contenders: list[Contender], series: dict[str, Series]) -> list[str]:
    failed = [each.name for each in contenders if each.ours and series[each.name].failure]
    return [f"{title}: {name}: {series[name].failure}" for name in failed]


def _rounds_of(setting: Setting, peer: str) -> int:
    """Fewer than of ours and of the limits: those are quick, and their ratios the closest to their bars."""
    return min(SLOW_ROUNDS if peer in SLOW else PEER_ROUNDS, setting.rounds)


# --- parse ---


def parse(setting: Setting) -> Iterator[Table]:
    """Bytes in memory -> the records of the reader."""
    for kind in DOCUMENTS:
        document = setting.data.document(kind)
        limit = commands.LIMIT_OF.get(kind, EXPAT)
        megabytes = document.file.stat().st_size / 1e6
        contenders = [
            Contender(limit, partial(commands.parse, limit, document), ours=True),
            Contender(OURS, partial(commands.parse, OURS, document), expected=document.entries, ours=True),
        ]
        for peer in commands.PARSERS[kind] if setting.peers else ():
            run = partial(commands.parse, peer, document)
            contenders.append(Contender(peer, run, _rounds_of(setting, peer), document.entries))
        about = f"{document.entries:,} entries, {megabytes:.1f} MB, in memory; seconds are those inside of the process"
        yield _table(setting, f"parse: {kind}", about, OURS, contenders)


# --- dump ---


def dump(setting: Setting) -> Iterator[Table]:
    """A site on loopback -> a JSONL file, from the start of the program to its end."""
    data = setting.data
    with data.single() as served:
        yield _dumped(setting, "dump: 1 x 50,000", served, in_flight=IN_FLIGHT)
    with data.site(data.sizes.urls) as served:
        yield _dumped(setting, "dump: 20 x 50,000", served, in_flight=IN_FLIGHT)


def _dumped(setting: Setting, title: str, served: Served, in_flight: int) -> Table:
    children = "1 gzipped child" if len(served.children) == 1 else f"{len(served.children)} gzipped children"
    about = f"{served.urls:,} URLs in {children}, over loopback to a JSONL file, wall time"
    limit = Contender(UNPACK, partial(commands.unpack, served), ours=True)
    return _table(setting, title, about, ONE_WORKER, [limit, *_dumpers(setting, served, in_flight)])


def _dumpers(setting: Setting, served: Served, in_flight: int) -> list[Contender]:
    out = setting.data.folder / "out.jsonl"
    contenders = [
        Contender(name, partial(_dump_ours, served, out, workers), expected=served.urls, ours=workers == 1)
        for name, workers in WORKERS.items()
    ]
    for peer in commands.DUMPERS if setting.peers else ():
        run = partial(commands.dump_peer, peer, served, out, in_flight)
        contenders.append(Contender(peer, run, _rounds_of(setting, peer), served.urls))
    return contenders


def _dump_ours(served: Served, out: Path, workers: int) -> Measure:
    if workers > 1 and not commands.has_workers():
        raise Missing("dump has no -j")
    return commands.dump_ours(served, out, workers)


def late(setting: Setting) -> Iterator[Table]:
    """Many small children of a slow server: the time is waiting."""
    sizes = setting.data.sizes
    # robots.txt and the index come one after the other, then as many children at a time as are in flight.
    ideal = sizes.late_seconds * (2 + -(-sizes.late_children // IN_FLIGHT))
    with setting.data.late_site() as served:
        contenders = [
            Contender(IDEAL, lambda: Measure(ideal), ours=True),
            *_dumpers(setting, served, IN_FLIGHT),
        ]
        about = (
            f"{len(served.children)} children, every answer after {sizes.late_seconds * 1000:.0f} ms, "
            f"{IN_FLIGHT} in flight; the ideal is the waiting alone"
        )
        yield _table(setting, "200 children behind 100 ms", about, ONE_WORKER, contenders)


# --- sync ---


def followed(setting: Setting) -> Iterator[Table]:
    """The site of the dump, read again and again against a state."""
    data, title = setting.data, "sync: 20 x 50,000"
    with data.site(data.sizes.urls) as served:
        site = Followed.of(served, data.folder / "followed")
        out = data.folder / "out.jsonl"
        contenders = [
            Contender(ONE_WORKER, partial(_dump_ours, served, out, 1), expected=served.urls, ours=True),
            Contender(FIRST, partial(site.first, 1), expected=served.urls, ours=True),
            Contender(UNCHANGED, site.unchanged, ours=True),
            Contender(CHANGED, site.changed, expected=site.changed_urls, ours=True),
            Contender(f"{FIRST}, -j 2", partial(site.first, 2), expected=served.urls, ours=True),
        ]
        about = f"{served.urls:,} URLs in {len(served.children)} gzipped children, over loopback, wall time, -j 1"
        table = _table(setting, title, about, ONE_WORKER, contenders)
    yield attrs.evolve(table, bars=[*table.bars, state_row(title, site.bytes_a_url)])


# --- audit ---


def audited(setting: Setting) -> Iterator[Table]:
    """The site of the dump, with every rule of the audit."""
    data, title = setting.data, "audit: 20 x 50,000"
    out = data.folder / "out.jsonl"
    with data.site(data.sizes.urls) as served:
        contenders = [
            Contender(name, partial(_dump_ours, served, out, workers), None, served.urls, ours=True)
            for name, workers in WORKERS.items()
        ]
        contenders += [
            Contender(name, partial(commands.audit_ours, served, out, workers), None, served.urls, ours=True)
            for name, workers in {AUDIT: 1, AUDIT_TWO_WORKERS: 2}.items()
        ]
        about = f"{served.urls:,} URLs in {len(served.children)} gzipped children, over loopback, wall time"
        table = _table(setting, title, about, ONE_WORKER, contenders)
    row = audit_row(title, table.series[ONE_WORKER], table.series[AUDIT])
    yield attrs.evolve(table, bars=[*table.bars, row])


# --- tables ---


def tabled(setting: Setting) -> Iterator[Table]:
    """The dump of a site to Parquet, beside the dump itself; and that to pandas."""
    data, title = setting.data, "Parquet: 20 x 50,000"
    lines, parquet, out = (data.folder / name for name in ("urls.jsonl", "urls.parquet", "out.jsonl"))
    with data.site(data.sizes.urls) as served:
        commands.dump_ours(served, lines, 1, keep=True)
        commands.convert_ours(lines, parquet, served.urls)
        contenders = [
            Contender(name, partial(_dump_ours, served, out, workers), None, served.urls, ours=True)
            for name, workers in WORKERS.items()
        ]
        convert = partial(commands.convert_ours, lines, parquet, served.urls)
        contenders.append(Contender(CONVERT, convert, None, served.urls, ours=True))
        about = f"{served.urls:,} URLs: their dump over loopback, and that file to Parquet; wall time"
        yield _table(setting, title, about, ONE_WORKER, contenders)
    contenders = [
        Contender(name, partial(commands.table, name, parquet), None, served.urls, ours=True)
        for name in (PANDAS, SNAPSHOT)
    ]
    about = f"{served.urls:,} URLs to a data frame; a Snapshot's has ten columns more, of what URLs tell"
    yield _table(setting, "Parquet to pandas", about, PANDAS, contenders)


# --- memory ---


def memory(setting: Setting) -> Iterator[Table]:
    """The peak memory of our dump at growing sizes."""
    title, out = "memory of dump", setting.data.folder / "out.jsonl"
    setting.on_progress(title)
    failures: list[str] = []
    found: dict[tuple[int, str], Series] = {}
    names = [f"{urls:,} URLs" for urls in setting.data.sizes.memory_urls]
    for urls, size in zip(setting.data.sizes.memory_urls, names, strict=True):
        with setting.data.site(urls) as served:
            contenders = [
                Contender(f"{name}, {size}", partial(_dump_ours, served, out, workers), None, urls, workers == 1)
                for name, workers in WORKERS.items()
            ]
            rounds = 1 if urls > setting.data.sizes.urls else min(MEMORY_ROUNDS, setting.rounds)
            series = in_turn(contenders, rounds, setting.on_progress)
        failures += _failures(title, contenders, series)
        found |= {(WORKERS[each.name.partition(", ")[0]], size): series[each.name] for each in contenders}
    small, large, *_ = names
    named = {f"{name}, {size}": found[workers, size] for name, workers in WORKERS.items() for size in names}
    about = "peaks while the sites are dumped, of the command itself and of the largest process that it starts"
    bars = memory_rows(title, small, large, found)
    yield Table(title, about, f"{ONE_WORKER}, {small}", named, bars, failures)


# --- start-up, repair ---


def start_up(setting: Setting) -> Iterator[Table]:
    """What it takes until something can be done."""
    contenders = [
        Contender("python -c pass", lambda: commands.start("pass"), ours=True),
        Contender("import click", lambda: commands.start("import click"), ours=True),
        Contender("import sitemap_reader", lambda: commands.start("import sitemap_reader"), ours=True),
        Contender("sitemap-reader --help", commands.start_help, ours=True),
    ]
    for peer, code in commands.IMPORTS.items() if setting.peers else ():
        contenders.append(Contender(peer, partial(commands.start, code, peer)))
    about = "wall time of a Python process that does nothing else; of the peers the import of what a user needs"
    yield _table(setting, "start-up", about, "import sitemap_reader", contenders)


def repaired(setting: Setting) -> Iterator[Table]:
    """A damaged document compared with the same without a fault."""
    entries, fault = setting.data.sizes.entries, repair.FAULTS[0]
    bodies = {CLEAN: repair.document(entries), "damaged": repair.document(entries, fault)}
    repair.seconds(repair.document(1, fault))  # imports at the first reading do not count

    def read(body: bytes) -> Measure:
        seconds, document = repair.seconds(body)
        return Measure(seconds, len(document.urls))

    contenders = [Contender(name, partial(read, body), None, entries, True) for name, body in bodies.items()]
    about = f"{entries:,} entries; `python -m benchmarks.repair` has more kinds of damage"
    yield _table(setting, "repair: a raw & in every tenth entry", about, CLEAN, contenders)


JOBS: dict[str, Callable[[Setting], Iterator[Table]]] = {
    "parse": parse,
    "dump": dump,
    "late": late,
    "sync": followed,
    "audit": audited,
    "tables": tabled,
    "memory": memory,
    "start-up": start_up,
    "repair": repaired,
}
