"""Reads sitemap files of a disk: paths of one state of a site in; a Part out: URLs, outcomes, problems, notes.

A file has no URL: its path stands in its place, relative URLs in it cannot be resolved, and the children of an index
are the files that are there under their names. Nothing is fetched. A file that cannot be read is a note.
"""

from __future__ import annotations

import re
from itertools import chain
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

import attrs

from ..client.summary import SummaryBuilder, count_of
from ..model.errors import UsageError
from ..model.limits import CHUNK_BYTES, Limits
from ..model.problems import report
from ..model.records import Outcome, SitemapRef
from ..parser.normalise.scope import SCOPE_MODES
from ..parser.parser import SitemapParser
from ..pipeline.feedparser_process import feedparser_fallback
from .notes import MAX_NAMED, named, omissions
from .states import Part
from .tables import SnapshotMetadata, TableBuilder, main_host

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from ..model.problems import Problem
    from ..model.url_batch import BatchItem
    from ..parser.normalise.scope import ScopeMode

_UNREADABLE = "F04"
# What may stand between other words and the name of a child.
_JOINT = re.compile(r"[^A-Za-z0-9]")


@attrs.frozen
class FileOptions:
    """How sitemap files are read; `scope` None is "any", `site` the host of the scope, or else the most frequent one.

    `with_children`: also the files that an index lists, where they lie beside it.
    """

    scope: ScopeMode | None = None
    site: str | None = None
    with_children: bool = False
    extras: bool = False
    limits: Limits = Limits()  # noqa: RUF009 - frozen

    def __attrs_post_init__(self) -> None:
        if self.scope is not None and self.scope not in SCOPE_MODES:
            raise UsageError(keyword="scope", value=self.scope, allowed=f"one of {', '.join(SCOPE_MODES)}")


def read_sitemaps(paths: Sequence[Path], options: FileOptions) -> Part:
    """The sitemaps, in the order given. NothingReadable or NothingFound where there is no sitemap."""
    if options.scope in (None, "any"):
        return _Reading(options, ()).read(paths)
    site = options.site or main_host(_Reading(options, ()).read(paths).tables.urls)
    return _Reading(options, (f"http://{site}/", f"https://{site}/") if site else ()).read(paths)


class _Reading:
    """One pass over the files of a state."""

    def __init__(self, options: FileOptions, prefixes: tuple[str, ...]) -> None:
        self._options = options
        self._prefixes = prefixes
        self._builder = TableBuilder()
        self._summary_builder = SummaryBuilder(on_item=self._add_item)
        self._refs: list[SitemapRef] = []
        self._outcomes: dict[str, Outcome] = {}  # by file

    def read(self, paths: Sequence[Path]) -> Part:
        waiting, files = [*paths], dict.fromkeys(paths)
        for path in waiting:  # grows where an index has children
            known = len(self._refs)
            self._read_file(path)
            refs = self._refs[known:]
            if refs and self._options.with_children:
                beside = FileNames(file for file in sorted(path.parent.iterdir()) if file.is_file())
                more = dict.fromkeys(file for ref in refs for file in beside.find(ref) if file not in files)
                files |= more
                waiting += more
        if verdict := self._summary_builder.verdict(", ".join(map(str, paths[:MAX_NAMED]))):
            raise verdict
        names = FileNames(files)
        children = [names.find(ref) for ref in self._refs]
        absent = [ref for ref, found in zip(self._refs, children, strict=True) if not found]
        self._add_outcomes(children)
        builder = self._summary_builder
        notes = [*omissions(builder.summary(), builder.outcomes, builder.problems), *_absence(absent)]
        metadata = SnapshotMetadata(complete=builder.complete and not absent, notes=tuple(notes))
        return Part(self._builder.tables(), metadata)

    def _read_file(self, path: Path) -> None:
        parser = SitemapParser(
            name=str(path),
            scope=(self._options.scope or "any") if self._prefixes else "any",
            child_scope="any",
            authorities=self._prefixes,
            limits=self._options.limits,
            extras=self._options.extras,
            feed_fallback=feedparser_fallback,
        )
        failed: Problem | None = None
        try:
            for items in _batches(path, parser):
                self._add(items)
        except OSError as exc:
            message = f"{exc.strerror or exc}; give a file that you may read"
            failed = report(_UNREADABLE, message, sitemap=str(path))
            self._add([*chain.from_iterable(parser.closing(cut=True)), failed])
        outcome = attrs.evolve(parser.outcome, final_url=str(path))
        if failed:
            problems, samples = {**outcome.problems, failed.code: 1}, (failed, *outcome.samples)
            outcome = attrs.evolve(outcome, complete=False, problems=problems, samples=samples)
        self._add([outcome])

    def _add_outcomes(self, children: Sequence[Sequence[Path]]) -> None:
        """Adds the outcomes, with the indexes that list the files; `children` are the files of each reference."""
        for ref, files in zip(self._refs, children, strict=True):
            for file in files:
                parents = self._outcomes[str(file)].parents
                parents += [ref.sitemap] if ref.sitemap and ref.sitemap not in parents else []
        for outcome in self._outcomes.values():
            self._builder.add_item(outcome)

    def _add(self, items: Iterable[BatchItem]) -> None:
        for urls in self._summary_builder.record(items):
            self._builder.add_urls(self._summary_builder.count_batch(urls))

    def _add_item(self, item: object) -> None:
        if isinstance(item, SitemapRef):
            self._refs.append(item)
        elif isinstance(item, Outcome):
            self._outcomes[str(item.final_url)] = item
        else:
            self._builder.add_item(item)  # type: ignore[arg-type] # any other item


def _batches(path: Path, parser: SitemapParser) -> Iterator[list[BatchItem]]:
    with path.open("rb") as file:
        while not parser.stopped and (chunk := file.read(CHUNK_BYTES)):
            yield from parser.batches(chunk)
    yield from parser.closing()


# --- the children of an index ----------------------------------------------------------------------------------------


class FileNames:
    """Files by their names, to find the children of an index: by the last segment of the URL of each.

    A suffix .gz does not matter. Other words may stand before the name, as those of a folder: `maps__de.xml`.
    """

    def __init__(self, files: Iterable[Path]) -> None:
        self._whole: dict[str, list[Path]] = {}
        self._ends: dict[str, list[Path]] = {}
        for file in files:
            name = _bare(file.name)
            self._whole.setdefault(name, []).append(file)
            for match in _JOINT.finditer(name):
                self._ends.setdefault(name[match.end() :], []).append(file)

    def find(self, ref: SitemapRef) -> list[Path]:
        """The files that may be this child: of the same name, or else of one that ends in it.

        >>> from pathlib import Path
        >>> names = FileNames([Path("de/pages.xml.gz"), Path("maps__pages-2.xml"), Path("pages12.xml")])
        >>> [names.find(SitemapRef(f"https://a.example/{name}.xml")) for name in ("pages", "pages-2", "2", "12")]
        [[PosixPath('de/pages.xml.gz')], [PosixPath('maps__pages-2.xml')], [PosixPath('maps__pages-2.xml')], []]
        """
        parts = urlsplit(ref.loc)
        segment = unquote(parts.path.rpartition("/")[2])
        names = [_bare(f"{segment}?{parts.query}"), _bare(segment)] if parts.query else [_bare(segment)]
        for table in (self._whole, self._ends):
            for name in filter(None, names):
                if found := [file for file in table.get(name, ()) if str(file) != ref.sitemap]:
                    return found
        return []


def _bare(name: str) -> str:
    return name.lower().removesuffix(".gz")


def _absence(refs: Sequence[SitemapRef]) -> Iterator[str]:
    """`2 sitemaps of maps/index.xml are not among the files: https://a.example/1.xml; https://a.example/2.xml`."""
    if refs:
        indexes = [*dict.fromkeys(str(ref.sitemap) for ref in refs)]
        of = indexes[0] if len(indexes) == 1 else f"{len(indexes):,} indexes"
        verb = "is" if len(refs) == 1 else "are"
        locs = named([ref.loc for ref in refs])
        yield f"{count_of(len(refs), 'sitemap')} of {of} {verb} not among the files: {locs}"
