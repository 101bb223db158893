"""Ancestors of documents: how far cycles are searched, and the cost of the search."""

import pytest
from calls import calls_of

from sitemap_reader.frontier import Document, KnownDocuments

# The number of ancestors that are visited.
NEAREST = 64


def request(number: int, *parents: Document) -> Document:
    url = f"https://shop.example/{number}.xml"
    return Document(url, "index", parents=[parent.original_url for parent in parents])


def register(*visits: Document) -> KnownDocuments:
    known = KnownDocuments()
    for each in visits:
        known.add(each)
    return known


def test_document_is_its_own_ancestor() -> None:
    alone = request(0)
    assert register(alone).is_above(alone, alone)
    assert not register(alone).is_above(request(1), alone)


@pytest.mark.parametrize(("distance", "found"), [(1, True), (2, True), (NEAREST, True), (NEAREST + 1, False)])
def test_ancestor_search_has_a_depth_limit(distance: int, found: bool) -> None:
    chain = [request(0)]
    for number in range(distance):
        chain.append(request(number + 1, chain[-1]))
    assert register(*chain).is_above(chain[0], chain[-1]) is found


@pytest.mark.parametrize(("place", "found"), [(0, True), (NEAREST - 1, True), (NEAREST, False), (999, False)])
def test_ancestor_search_has_a_width_limit(place: int, found: bool) -> None:
    parents = [request(number) for number in range(1_000)]
    child = request(1_000, *parents)
    assert register(*parents, child).is_above(parents[place], child) is found


@pytest.mark.parametrize(("place", "found"), [(0, True), (NEAREST - 2, True), (NEAREST - 1, False)])
def test_parents_of_a_parent_come_after_it(place: int, found: bool) -> None:
    parents = [request(number) for number in range(1_000)]
    middle = request(1_000, *parents)
    child = request(1_001, middle)
    assert register(*parents, middle, child).is_above(parents[place], child) is found


def test_nearer_ancestors_are_visited_first() -> None:
    """One parent is below a long chain, the other below the document that is searched."""
    top = request(0)
    chain = [request(1)]
    for number in range(2, 2 * NEAREST):
        chain.append(request(number, chain[-1]))
    near = request(1_000, top)
    child = request(1_001, near, chain[-1])
    assert register(top, *chain, near, child).is_above(top, child)


def test_cyclic_ancestors_are_visited_once() -> None:
    top = request(0)
    ring = [request(number) for number in range(1, 20)]
    for each in ring:
        each.parents = [other.original_url for other in ring]
    ring[-1].parents.append(top.original_url)
    child = request(100, *ring)
    assert register(top, *ring, child).is_above(top, child)


def test_robots_txt_parents_are_not_ancestors() -> None:
    top = request(0)
    child = request(1, top)
    child.parents.insert(0, "https://shop.example/robots.txt")
    assert register(top, child).is_above(top, child)
    assert not register(top, child).is_above(request(2), child)


def test_ancestor_search_in_a_dense_graph_is_bounded() -> None:
    """Each index lists all: without a bound each search would visit all of them and all their parents."""

    def calls(count: int) -> int:
        thicket = [request(number) for number in range(count)]
        for each in thicket:
            each.parents = [other.original_url for other in thicket]
        known, unrelated = register(*thicket), request(count)
        return calls_of(lambda: known.is_above(unrelated, thicket[-1]))

    assert calls(4 * NEAREST) == calls(2 * NEAREST)
