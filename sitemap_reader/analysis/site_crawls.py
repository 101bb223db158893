"""Reads sites for snapshot(): Targets and keywords in; a Part of each site out, in the order given.

Sites are read at once. Interrupted, each Part has what was read by then. A site that cannot be read is a note.
"""

from __future__ import annotations

from contextlib import closing
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import attrs

from ..client.parallel import SitesReader
from .notes import filter_text, omissions
from .states import Part
from .tables import SnapshotMetadata, TableBuilder, site_label

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..client.streams import CrawlRun
    from ..client.summary import Progress
    from ..client.targets import Target
    from ..model.errors import ReadError
    from ..model.records import Item

STOPPED = "stopped before the end: only what was read until then is here"


@attrs.define
class _Site:
    """What is read of one site; `metadata` is None until its end, or that of the whole where that was stopped."""

    name: str
    target: Target
    choice: str | None
    builder: TableBuilder = attrs.field(factory=TableBuilder)
    metadata: SnapshotMetadata | None = None
    notes: list[str] = attrs.field(factory=list)
    failure: ReadError | None = None

    def end(self, run: CrawlRun) -> None:
        """Takes what the run states at its end, or where it was stopped; the run is not kept."""
        builder, recorded = run.summary_builder, self.target.recorded
        began, ended = recorded or run.began, recorded or datetime.now(UTC)
        self.metadata = SnapshotMetadata(began, ended, complete=run.complete, choice=self.choice)
        self.notes = [*omissions(run.summary(), builder.outcomes, builder.problems)]


@attrs.frozen
class CrawledSites:
    """The Parts of the sites that were read, and whether the reading was stopped; `failures` say why others were not.

    `notes` are those of the whole: with the name of the site in front if there are several.
    """

    names: Sequence[str]
    parts: Sequence[Part]
    notes: Sequence[str]
    failures: Sequence[ReadError]
    is_stopped: bool


def read_sites(
    targets: Sequence[Target],
    *,
    on_progress: Callable[[Progress], None] | None,
    show_progress: bool,
    options: dict[str, Any],
) -> CrawledSites:
    """Reads the sites at once; the `group` of each Part is the place of its target."""
    from ..state.state import site_name

    choice = filter_text(options)
    sites = [_Site(site_label(site_name(target.seeds)), target, choice) for target in targets]

    def on_item(number: int, item: Item) -> None:
        sites[number].builder.add_item(item, sites[number].name)

    reader = SitesReader(
        targets,
        [site.name for site in sites],
        on_item=on_item,
        on_progress=on_progress,
        show_progress=show_progress,
        **options,
    )
    is_stopped = False
    try:
        with closing(reader.batches()) as batches:
            for number, run, urls in batches:
                site = sites[number]
                if urls is not None:
                    site.builder.add_urls(urls, site.name)
                else:
                    site.end(run)
                    site.notes += [STOPPED] * run.is_stopped
                    site.failure = run.verdict()
    except KeyboardInterrupt:
        is_stopped = True
    for number, run in reader.runs.items():
        sites[number].end(run)
    return _crawled(sites, is_stopped=is_stopped)


def _crawled(sites: Sequence[_Site], *, is_stopped: bool) -> CrawledSites:
    failures = [site.failure for site in sites if site.failure]
    notes = [STOPPED] * is_stopped + [*map(str, failures)]
    parts = []
    for number, site in enumerate(sites):
        if site.metadata is not None and not site.failure:
            parts.append(Part(site.builder.tables(), site.metadata, number))
            notes += [f"{site.name}: {note}" if len(sites) > 1 else note for note in site.notes]
    names = [site.name for site in sites if site.metadata is not None]
    return CrawledSites(names, parts, notes, failures, is_stopped)
