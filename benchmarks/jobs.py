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
    DISCARDED,
    DUMP,
    DUMP_OF_A_TENTH,
    EXPAT,
    EXPAT_ONLY,
    FIRST,
    IDEAL,
    LATE,
    MANY,
    ONE_THREAD,
    PEER_BARS,
    PEER_SHAPES,
    ROWS,
    SNAPSHOT,
    SPLIT,
    TWO_THREADS,
    UNCHANGED,
    UNPACK,
)
from .site_shapes import SHAPES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from .data import Document, Served

IN_FLIGHT = 4
# They take long, and are far from the bars.
EXPAT_ONLY_ROUNDS = 3
PEER_ROUNDS = 1


def _first_sync(served: Served, folder: Path, *, expat_only: bool) -> Measure:
    return Followed(served, folder).first(expat_only=expat_only)


# Contender -> what it does with a site, in a folder.
COMMANDS: dict[str, Callable[..., Measure]] = {
    DUMP: commands.dump,
    DISCARDED: commands.discarded_dump,
    FIRST: _first_sync,
    AUDIT: commands.audit,
    SNAPSHOT: commands.snapshot,
}


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


def _both(
    name: str, run: Callable[..., Measure], expected: int | None = None, start: Callable[..., Measure] | None = None
) -> list[Contender]:
    """The contender with the compiled scanner, and with expat only."""
    return [
        Contender(
            f"{name}{EXPAT_ONLY if expat_only else ''}",
            partial(run, expat_only=expat_only),
            expected,
            EXPAT_ONLY_ROUNDS if expat_only else None,
            start=start and partial(start, expat_only=expat_only),
        )
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
    """Sites on loopback -> a JSONL file each, from the start of the program to its end; beside peers."""
    yield _read_site(setting, "dump", setting.data.site())
    for shape in PEER_SHAPES:
        with setting.data.shaped(shape, setting.data.sizes.urls) as served:
            yield _read_site(setting, f"dump: {shape}", served)


def sites(setting: Setting) -> Iterator[Table]:
    """Sites of all shapes, read by each command."""
    for shape in SHAPES:
        with setting.data.shaped(shape, setting.data.sizes.shape_urls) as served:
            yield _read_site(setting, f"site: {shape}", served)


def audit(setting: Setting) -> Iterator[Table]:
    """The shop of the dump, with every rule of the audit."""
    yield _read_site(setting, "audit", setting.data.site())


def _read_site(setting: Setting, title: str, served: Served) -> Table:
    """A site, beside the limit, by what ROWS has for the table."""
    one, folder = setting.data.one_url(), setting.data.folder
    contenders = [_unpack(served)]
    for name in dict.fromkeys(name for row in ROWS if row.table == title for name in (row.lower, row.upper)):
        if name in COMMANDS:
            run = COMMANDS[name]
            expected = None if name == DISCARDED else served.urls
            contenders += _both(name, partial(run, served, folder), expected, partial(run, one, folder))
        elif name in PEER_BARS and setting.peers:
            run, start = (partial(commands.dump_peer, name, site, folder, IN_FLIGHT) for site in (served, one))
            contenders.append(Contender(name, run, served.urls, PEER_ROUNDS, ours=False, start=start))
    return _table(setting, title, _about(served), UNPACK, contenders)


def memory(setting: Setting) -> Iterator[Table]:
    """Whether the memory of a dump grows with the site."""
    data = setting.data
    setting = attrs.evolve(setting, rounds=1)  # a peak differs little from round to round
    for shape in SHAPES:
        urls = data.sizes.memory_urls
        with data.shaped(shape, urls // 10) as small, data.shaped(shape, urls) as large:
            contenders: list[Contender] = []
            for name, served in ((DUMP_OF_A_TENTH, small), (DUMP, large)):
                contenders += _both(name, partial(commands.dump, served, data.folder), served.urls)
            about = f"{_about(large)}; and a site of a tenth of it"
            yield _table(setting, f"memory: {shape}", about, DUMP_OF_A_TENTH, contenders)
    with data.many_sitemaps() as served:
        contenders = _both(DUMP, partial(commands.dump, served, data.folder), served.urls)
        yield _table(setting, MANY, _about(served), DUMP, contenders)


def late(setting: Setting) -> Iterator[Table]:
    """Many small children of a slow server: the time is waiting."""
    sizes = setting.data.sizes
    # robots.txt and the index come one after the other, then as many children at a time as are in flight.
    ideal = sizes.late_seconds * (2 + -(-sizes.late_children // IN_FLIGHT))
    served = setting.data.late_site()
    run = partial(commands.dump, served, setting.data.folder)
    contenders = [Contender(IDEAL, lambda: Measure(ideal)), *_both(DUMP, run, served.urls)]
    milliseconds = f"{sizes.late_seconds * 1000:.0f} ms"
    about = f"{len(served.children)} children, every answer after {milliseconds}, {IN_FLIGHT} in flight"
    yield _table(setting, LATE, f"{about}; the ideal is the waiting alone", IDEAL, contenders)


def sync(setting: Setting) -> Iterator[Table]:
    """The shop of the dump, read again and again against a state."""
    served, one = setting.data.site(), setting.data.one_url()
    site, start = (Followed.of(each, setting.data.folder / f"followed-{each.urls}") for each in (served, one))
    runs = (
        (FIRST, Followed.first, served.urls),
        (UNCHANGED, Followed.unchanged, None),
        (CHANGED, Followed.changed, site.changed_urls),
    )
    contenders = [_unpack(served)]
    for name, run, expected in runs:
        contenders += _both(name, partial(run, site), expected, partial(run, start))
    yield _table(setting, "sync", _about(served), UNPACK, contenders)


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
    each.__name__: each for each in (parse, repair, dump, sites, memory, late, sync, audit, threads)
}
