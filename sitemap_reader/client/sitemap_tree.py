"""Which sitemap lists which. Each document is in the tree once, below the one that lists it nearest to a root."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import attrs

from ..frontier.documents import listing_place
from ..model.problems import first_error, relisted
from ..model.records import Outcome, SitemapRef
from ..parser.content.sniff import Format
from ..serialize.jsonl import stamp

if TYPE_CHECKING:
    from ..model.problems import Problem
    from ..model.records import Item, Precision


# Listings of sitemaps that are listed already. Indexes may all list each other.
_MAX_REPEATED = 1_000_000


@attrs.define(eq=False)
class Node:
    """A document: what it lists, its outcome, and the newest lastmod that it lists."""

    url: str
    outcome: Outcome | None = None
    newest: datetime | None = None
    newest_precision: str | None = None
    children: list[SitemapRef] = attrs.field(factory=list)
    is_listed: bool = False

    @property
    def is_index(self) -> bool:
        """Whether it is an index; of a document without an outcome, whether it lists sitemaps."""
        if self.outcome and self.outcome.format:
            return self.outcome.format == Format.INDEX
        return bool(self.children) and not _is_robots(self)


@attrs.frozen
class TreeRow:
    """A row of the tree; `branch` is the lines to its left, as `tree` draws them. Counts are None if unread.

    `bytes_decoded` is the size unpacked, `seconds` the time to fetch and read; `problems` counts those of the document
    and of its entries. `status` is that of the last response, `problem` the reason why it is not complete.
    """

    depth: int
    branch: str
    url: str
    format: str | None
    entries: int | None
    kept: int | None
    lastmod: str | None
    lastmod_precision: str | None
    newest: str | None
    newest_precision: str | None
    complete: str
    bytes_decoded: int | None
    seconds: float | None
    problems: int | None
    status: int | None = None
    problem: str | None = None


class SitemapTree:
    """Builds the tree: add() each item, note() each lastmod of an entry, then rows()."""

    def __init__(self) -> None:
        self._nodes: dict[str, Node] = {}
        self._repeated = 0
        self._arranged: tuple[list[Node], dict[str, SitemapRef | None]] | None = None  # until the next add()

    def add(self, item: Item) -> None:
        """Adds a reference or an outcome; other items are ignored."""
        self._arranged = None
        if isinstance(item, SitemapRef):
            parent = None if item.sitemap is None else self._node(item.sitemap)
            node = self._node(item.loc)
            if parent is None:
                return
            is_repeated = node.is_listed or node is parent
            self._repeated += is_repeated
            if not is_repeated or self._repeated <= _MAX_REPEATED:
                parent.children.append(item)
            node.is_listed = node.is_listed or node is not parent
        elif isinstance(item, Outcome) and item.url is not None:
            self._node(item.url).outcome = item

    def note(self, sitemap: str | None, lastmod: datetime | None, precision: Precision | None) -> None:
        if lastmod is None or sitemap is None:
            return
        node = self._node(sitemap)
        if node.newest is None or lastmod > node.newest:
            node.newest, node.newest_precision = lastmod, precision

    def listing(self, url: str) -> SitemapRef | None:
        """The listing of a document by which it is in the tree; None for a root."""
        return self._arrange()[1].get(url)

    def rows(self) -> Iterator[TreeRow]:
        """The rows, each root before its children. A document that no other lists is a root.

        Roots are sorted by host, its robots.txt first; hosts without entries come last. A robots.txt that was only read
        for its rules, and of whose sitemaps none was read, is left out. A document that several list is below the one
        that is nearest to a root, of equally near ones below the first. None of this depends on the order of documents.
        """
        roots, listings = self._arrange()
        hidden = self._read_for_rules(roots)
        hosts = {_host(root) for root in roots if root.children or (root.outcome and root.outcome.entries)}
        for root in sorted(
            roots, key=lambda root: (_host(root) not in hosts, _host(root), not _is_robots(root), root.url)
        ):
            yield from self._rows_below(root, listings, hidden)

    def relisted(self, problem: Problem) -> Problem:
        """The problem of a document; if its message says where that is listed, it is the listing of the tree."""
        place = listing_place(self.listing(problem.sitemap or "")) if problem.listed else None
        return relisted(problem, place) if place else problem

    def _arrange(self) -> tuple[list[Node], dict[str, SitemapRef | None]]:
        """The roots, and the listing of each document by which it is in the tree; None for a root.

        Roots are the documents that no other lists, by URL; and of a cycle that none of them leads to, the first.
        """
        if self._arranged is None:
            nodes = sorted(self._nodes.values(), key=lambda node: (node.is_listed, not _is_robots(node), node.url))
            roots: list[Node] = []
            listings: dict[str, SitemapRef | None] = {}
            for node in nodes:
                if node.url not in listings:
                    roots.append(node)
                    self._list_from(node, listings)
            self._arranged = roots, listings
        return self._arranged

    def _list_from(self, root: Node, listings: dict[str, SitemapRef | None]) -> None:
        level = [root]
        listings.setdefault(root.url, None)
        while level:
            refs = [ref for node in level for ref in node.children]
            level = []
            for ref in refs:
                if ref.loc not in listings:
                    listings[ref.loc] = ref
                    level.append(self._nodes[ref.loc])

    def inner_indexes(self) -> Iterator[tuple[SitemapRef, bool]]:
        """Each listing of an index in an index, and whether it closes a cycle: that index leads back to this one.

        Of the listings of a cycle it is the last one, from the roots on in the order of the documents.
        """
        done: set[str] = set()
        for root in self._arrange()[0]:
            path = {root.url: None}
            stack = [(root, iter(root.children))]
            while stack:
                node, refs = stack[-1]
                ref = next(refs, None)
                if ref is None:
                    stack.pop()
                    path.popitem()
                    done.add(node.url)
                    continue
                child = self._nodes[ref.loc]
                is_cycle = child.url in path
                if is_cycle or (node.is_index and child.is_index):
                    yield ref, is_cycle
                if not is_cycle and child.url not in done:
                    path[child.url] = None
                    stack.append((child, iter(child.children)))

    def _node(self, url: str) -> Node:
        return self._nodes.setdefault(url, Node(url))

    def _read_for_rules(self, roots: list[Node]) -> set[str]:
        """URLs of each robots.txt that was read whole, and of whose sitemaps none was read, and of those sitemaps."""
        whole = [node for node in roots if _is_robots(node) and node.outcome and node.outcome.complete]
        beside = [node for node in whole if not any(self._nodes[ref.loc].outcome for ref in node.children)]
        if len(beside) == len(roots):
            return set()
        return {url for robots in beside for url in (robots.url, *(ref.loc for ref in robots.children))}

    def _rows_below(self, root: Node, listings: dict[str, SitemapRef | None], hidden: set[str]) -> Iterator[TreeRow]:
        # An explicit stack, as depth is unbounded. Entries: node, depth, the branch of its own line, of its children.
        stack = [(root, 0, "", "")]
        while stack:
            node, depth, branch, below = stack.pop()
            if node.url in hidden:
                continue
            yield self._row(node, listings[node.url], depth, branch)
            children = [self._nodes[ref.loc] for ref in node.children if listings[ref.loc] is ref]
            last = len(children) - 1
            for number, child in reversed(list(enumerate(children))):
                own, under = ("└── ", "    ") if number == last else ("├── ", "│   ")
                stack.append((child, depth + 1, below + own, below + under))

    def _row(self, node: Node, ref: SitemapRef | None, depth: int, branch: str) -> TreeRow:
        outcome = node.outcome
        reason = first_error(outcome.samples) if outcome and not outcome.complete else None
        reason = reason and self.relisted(reason)
        names = ("format", "entries", "kept", "bytes_decoded", "seconds", "status")
        of_outcome: dict[str, Any] = {name: getattr(outcome, name, None) for name in names}
        return TreeRow(
            depth=depth,
            branch=branch,
            url=node.url,
            lastmod=stamp(ref.lastmod) if ref else None,
            lastmod_precision=ref.lastmod_precision if ref else None,
            newest=stamp(node.newest),
            newest_precision=node.newest_precision,
            complete="unread" if outcome is None else "yes" if outcome.complete else "no",
            problems=sum(outcome.problems.values()) if outcome else None,
            problem=f"{reason.code} {reason.message}" if reason else None,
            **of_outcome,
        )


def _host(node: Node) -> str:
    return _parts(node)[0]


def _is_robots(node: Node) -> bool:
    return _parts(node)[1] == "/robots.txt"


def _parts(node: Node) -> tuple[str, str]:
    """Host and path; both empty for an invalid URL, which a dump may hold."""
    try:
        parts = urlsplit(node.url)
    except ValueError:
        return "", ""
    return parts.netloc, parts.path
