"""Which sitemap lists which. Each document is in the tree once, under the document that listed it first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import attrs

from ..model.problems import first_error
from ..model.records import Outcome, SitemapRef
from ..serialize.jsonl import stamp

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from ..model.records import Item, Precision


@attrs.define
class Node:
    """A document: its entry in the index (`ref`), its outcome, and the newest lastmod that it lists."""

    url: str
    ref: SitemapRef | None = None
    outcome: Outcome | None = None
    newest: datetime | None = None
    newest_precision: str | None = None
    children: list[Node] = attrs.field(factory=list)


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

    def add(self, item: Item) -> None:
        """Adds a reference or an outcome; other items are ignored."""
        if isinstance(item, SitemapRef):
            parent = None if item.sitemap is None else self._node(item.sitemap)
            node = self._node(item.loc)
            if parent is not None and node is not parent and not node.ref:
                node.ref = item
                parent.children.append(node)
        elif isinstance(item, Outcome) and item.url is not None:
            self._node(item.url).outcome = item

    def note(self, sitemap: str | None, lastmod: datetime | None, precision: Precision | None) -> None:
        if lastmod is None or sitemap is None:
            return
        node = self._node(sitemap)
        if node.newest is None or lastmod > node.newest:
            node.newest, node.newest_precision = lastmod, precision

    def listing(self, url: str) -> SitemapRef | None:
        """Where a document was listed first."""
        node = self._nodes.get(url)
        return None if node is None else node.ref

    def rows(self) -> Iterator[TreeRow]:
        """The rows, each root before its children. A document that no other lists is a root.

        Roots are sorted by host, its robots.txt first; hosts without entries come last. A robots.txt that was only read
        for its rules, and of whose sitemaps none was read, is left out.
        """
        roots = [node for node in self._nodes.values() if node.ref is None]
        seen = _read_for_rules(roots)
        hosts = {_host(root) for root in roots if root.children or (root.outcome and root.outcome.entries)}
        roots.sort(key=lambda root: (_host(root) not in hosts, _host(root), not _is_robots(root), root.url))
        for root in [*roots, *self._nodes.values()]:  # a cycle has no root: the first of its documents is taken
            yield from _rows_below(root, seen)

    def _node(self, url: str) -> Node:
        return self._nodes.setdefault(url, Node(url))


def _read_for_rules(roots: list[Node]) -> set[str]:
    """URLs of each robots.txt that was read whole, and of whose sitemaps none was read, and of those sitemaps."""
    whole = [node for node in roots if _is_robots(node) and node.outcome and node.outcome.complete]
    beside = [node for node in whole if not any(child.outcome for child in node.children)]
    if len(beside) == len(roots):
        return set()
    return {node.url for robots in beside for node in (robots, *robots.children)}


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


def _rows_below(root: Node, seen: set[str]) -> Iterator[TreeRow]:
    # An explicit stack, as depth is unbounded. Entries: node, depth, the branch of its own line, that of its children.
    stack = [(root, 0, "", "")]
    while stack:
        node, depth, branch, below = stack.pop()
        if node.url in seen:
            continue
        seen.add(node.url)
        yield _row(node, depth, branch)
        last = len(node.children) - 1
        for number, child in reversed(list(enumerate(node.children))):
            own, under = ("└── ", "    ") if number == last else ("├── ", "│   ")
            stack.append((child, depth + 1, below + own, below + under))


def _row(node: Node, depth: int, branch: str) -> TreeRow:
    outcome = node.outcome
    reason = first_error(outcome.samples) if outcome and not outcome.complete else None
    names = ("format", "entries", "kept", "bytes_decoded", "seconds", "status")
    of_outcome: dict[str, Any] = {name: getattr(outcome, name, None) for name in names}
    return TreeRow(
        depth=depth,
        branch=branch,
        url=node.url,
        lastmod=stamp(node.ref.lastmod) if node.ref else None,
        lastmod_precision=node.ref.lastmod_precision if node.ref else None,
        newest=stamp(node.newest),
        newest_precision=node.newest_precision,
        complete="unread" if outcome is None else "yes" if outcome.complete else "no",
        problems=sum(outcome.problems.values()) if outcome else None,
        problem=f"{reason.code} {reason.message}" if reason else None,
        **of_outcome,
    )
