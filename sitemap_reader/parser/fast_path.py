"""The fast path: the compiled scanner for the plain entries of a document, and its blocks as URLs in columns.

xml/reader.py decides when it is tried. Where the package was installed without a compiler there is no scanner, and no
fast path.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, lru_cache
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

import attrs

from ..model.columns import ObjectColumns
from ..model.problems import Problem, report
from ..model.records import UrlRecord
from ..model.url_batch import OutOfScope, UrlBatch
from .dialects.extensions import missing_values
from .normalise.entry import RawEntry

if TYPE_CHECKING:
    from ..model.columns import UrlColumns
    from ..model.limits import Limits
    from ..model.records import Item
    from ..model.url_batch import ParserItem
    from .normalise.entry import EntryKind, Normaliser, Relative
    from .normalise.scope import Scope
    from .scanner import ScannedEntries, Scanner, ShownRepair
    from .xml.entry_builder import EntryBuilder


try:
    from . import scanner as scanner
except ImportError:
    scanner = None  # type: ignore[assignment]

HAS_SCANNER = scanner is not None
new_columns: Any = scanner.NativeColumns if HAS_SCANNER else ObjectColumns


def batch_of(sitemap: str | None, records: Iterable[UrlRecord]) -> UrlBatch:
    store: UrlColumns = new_columns()
    for record in records:
        store.append(record)
    return UrlBatch(sitemap, store)


def is_possible(limits: Limits) -> bool:
    """Whether there is a scanner, and no entry that it reads comes near the limits of bytes."""
    if scanner is None:
        return False
    return min(limits.max_entry_bytes, limits.max_token_bytes) >= 2 * scanner.MAX_BYTES_OF_ENTRY


# Entry -> its dialect.
_DIALECTS = {"url": "sitemap", "sitemap": "sitemap", "item": "rss", "entry": "atom"}
# Of an index all else is a Problem.
_INDEX_TAGS = frozenset({"sitemap", "loc", "lastmod"})
# Elements without content, whose attributes are extras.
_FLAGS = frozenset({"mobile:mobile"})
# A Scanner for longer tags around entries, which may declare any number of prefixes, is not kept.
_MAX_CACHED_BYTES = 4096


class DocumentScanner:
    """The Scanner for the entries of a document at a place, as long as is_for() is True of the start tags around it."""

    def __init__(self, builder: EntryBuilder, limits: Limits, scopes: Mapping[str, Scope], *, extras: bool) -> None:
        self._head = builder.head
        self._vocabulary = vocabulary = builder.vocabulary
        entry = vocabulary.implied_entry or next(iter(vocabulary.entries))
        is_feed = vocabulary.implied_entry is None
        namespaces = builder.namespaces
        # expat has to read the first element of these, and report the Problem.
        self._unreported = [each for each in namespaces.values() if vocabulary.would_note(each)]
        self._scanner: Scanner | None = None
        if is_feed and (extras or vocabulary.prefix_of(namespaces[""]) != ""):
            return
        kind: EntryKind = "sitemap" if entry == "sitemap" else "url"
        self._template = RawEntry(kind, None)
        if is_feed:
            relative: Relative = "allowed" if entry == "entry" or builder.bases else "reported"
            self._template = RawEntry("url", None, bases=builder.bases, relative=relative, date_dialect="rss")
        known = [item for item in namespaces.items() if item[1] not in self._unreported]
        make = _scanner if len(self._head) <= _MAX_CACHED_BYTES else _scanner.__wrapped__
        self._scanner = make(
            entry,
            tuple((prefix, vocabulary.prefix_of(namespace)) for prefix, namespace in known),
            _prefixes(scopes[kind]),
            extras,
            limits.max_xml_depth - len(builder.names),
            limits.max_entry_elements,
            limits.max_attributes,
            limits.max_entry_repairs,
        )

    def is_for(self, head: bytes) -> bool:
        """Whether it is the one for entries behind these start tags now."""
        return self._head == head and all(map(self._vocabulary.would_note, self._unreported))

    def scan(self, data: bytes, start: int, line: int, max_repairs: int) -> ScannedEntries | None:
        if self._scanner is None:
            return None
        block = self._scanner.scan(data, start, line, max_repairs)
        block.template = self._template
        return block


def line_scanner(scopes: Mapping[str, Scope] | None) -> Scanner | None:
    """The Scanner for lines of text sitemaps, if there is one."""
    if scanner is None:
        return None
    return scanner.Scanner(prefixes=_prefixes(scopes["url"])) if scopes else None


def _prefixes(scope: Scope) -> tuple[str, ...] | None:
    return None if scope.mode == "any" else scope.prefixes[: scanner.MAX_PREFIXES_OF_SCOPE]


@lru_cache(maxsize=32)
def _scanner(
    entry: str,
    namespaces: tuple[tuple[str, str | None], ...],
    scope: tuple[str, ...] | None,
    extras: bool,
    max_depth: int,
    max_elements: int,
    max_attributes: int,
    max_missing_tags: int,
) -> Scanner:
    """The Scanner of a kind of entry; `namespaces` are the prefixes of a document and those of their tags."""
    dialect = _DIALECTS[entry]
    tags = scanner.codes_of(dialect).keys() - (_DIALECTS.keys() - {entry}) - (_FLAGS if extras else set())
    if entry == "sitemap":
        tags &= _INDEX_TAGS
    names: dict[bytes, str] = {}  # as the document writes them -> their tags
    for prefix, own in namespaces:
        for tag in tags:
            tag_prefix, _, local = tag.rpartition(":")
            if tag_prefix == own:
                names[(f"{prefix}:{local}" if prefix else local).encode()] = tag
    return scanner.Scanner(
        dialect,
        names,
        # The media of an item are not read by the scanner.
        [prefix.encode() for prefix, own in namespaces if prefix and own != "media"],
        scope,
        max_depth=max_depth,
        max_elements=max_elements,
        max_attributes=max_attributes,
        max_missing_tags=max_missing_tags,
    )


# --- from blocks to items ------------------------------------------------------------------------------------------


@cache
def _missing_values(tag: str) -> tuple[tuple[str, str], ...]:
    return tuple(missing_values(tag))


class BlockNormaliser:
    """Turns blocks into items: valid entries as UrlBatches or SitemapRefs, others through the Normaliser.

    `clean` passes a RawEntry to the Normaliser and counts its Problems; `count_problem` counts a Problem.
    """

    def __init__(
        self,
        normaliser: Normaliser,
        clean: Callable[[RawEntry], list[Item | OutOfScope]],
        count_problem: Callable[[Problem], None],
    ) -> None:
        self._normaliser = normaliser
        self._clean = clean
        self._count_problem = count_problem

    def items(self, block: ScannedEntries, max_entries: int, store: Any) -> Iterator[ParserItem]:
        """Yields the items of at most `max_entries` entries in document order, each after its Problems.

        Their URLs are added to the store.
        """
        normaliser, sitemap, is_index = self._normaliser, self._normaliser.sitemap, block.template.kind == "sitemap"
        odd, repaired = scanner.ODD_ENTRY, scanner.REPAIRED_ENTRY
        repairs = iter(block.shown_repairs)
        for start, stop, state in block.parts(max_entries):
            index = len(store)
            if state == odd or (is_index and state == repaired):
                problems = [self._problem(each) for each in islice(repairs, block.repairs_of(start))]
                for item in self._cleaned(block, start, problems):
                    if isinstance(item, UrlRecord):
                        store.append_entry(item, block, start)
                    elif isinstance(item, OutOfScope):
                        yield self._with_extensions(item, block, start)
                    else:
                        yield item
            else:
                normaliser.entries += stop - start
                normaliser.kept += stop - start
                normaliser.note_empty_lastmods(*block.empty_lastmods(start, stop))
                if is_index:
                    yield from block.references(start, stop, sitemap, normaliser.child_prefixes)
                    continue
                store.extend_entries(block, start, stop)
                if state == repaired:
                    (loc,) = store.values("loc", index, index + 1)
                    problems = [self._problem(each, loc) for each in islice(repairs, block.repairs_of(start))]
                    if lacking := block.lacking(start):
                        problems += self._lacking(lacking, block.line(start), loc)
                    store.problems[index] = tuple(problems)
                    for problem in problems:
                        self._count_problem(problem)
                        yield problem
            if len(store) > index:
                yield UrlBatch(sitemap, store, index)

    def _with_extensions(self, found: OutOfScope, block: ScannedEntries, at: int) -> OutOfScope:
        store = new_columns()
        store.append_entry(found.record, block, at)
        (record,) = store.records(0, 1, self._normaliser.sitemap)
        return attrs.evolve(found, record=record)

    def _cleaned(self, block: ScannedEntries, at: int, problems: list[Problem]) -> list[Item | OutOfScope]:
        """The items of an entry that has problems, or may have some, without its extensions."""
        loc, lastmod, changefreq, priority = block.texts(at)
        return self._clean(
            attrs.evolve(
                block.template,
                loc=loc,
                line=block.line(at),
                lastmod=lastmod,
                changefreq=changefreq,
                priority=priority,
                extensions=[],
                problems=problems,
            )
        )

    def _lacking(self, tags: list[str], line: int, url: str) -> Iterator[Problem]:
        """The Problems of the records of an entry that were left out."""
        sitemap = self._normaliser.sitemap
        for message, field in chain.from_iterable(map(_missing_values, tags)):
            yield report("S11", message, sitemap=sitemap, line=line, field=field, raw="", url=url)

    def _problem(self, repair: ShownRepair, url: str | None = None) -> Problem:
        line, message, kind, raw = repair
        return Problem("S01", "warning", message, self._normaliser.sitemap, line, None, raw, url, kind)
