"""Random sites read in random order: the result equals the rules applied to the whole site.

The rules are applied here to all documents at once until nothing changes; the crawl must find the same incrementally.
"""

import random
from collections import Counter

import attrs
import pytest
from simulated import Pages, index, names, urlset, walk

from sitemap_reader import Limits
from sitemap_reader.parser import Scope, ScopeMode, directory, host_prefixes, origin

HOSTS = ("https://a.example", "http://a.example", "https://b.example", "https://c.example")
SITE = HOSTS[0]
SITEMAPS = ("/s.xml", "/m/s.xml", "/m/n/s.xml")
INDEXES = ("/index.xml", "/m/index.xml", "/x/index.xml")
LOCS = [host + path for host in HOSTS for path in ("/1", "/m/1", "/m/n/1", "/x/1")]
ROUNDS = 25


@attrs.frozen
class World:
    """A random site: which documents are named and listed where. Every sitemap lists LOCS."""

    scope: ScopeMode
    robots: dict[str, list[str]]
    indexes: dict[str, list[str]]
    sitemaps: list[str]

    @property
    def pages(self) -> Pages:
        pages: Pages = {f"{host}/robots.txt": names(*named) for host, named in self.robots.items()}
        pages |= {url: index(*children) for url, children in self.indexes.items()}
        return pages | dict.fromkeys(self.sitemaps, urlset(*LOCS))


def some_world(chance: random.Random) -> World:
    everything = [host + path for host in HOSTS for path in (*SITEMAPS, *INDEXES)]
    chosen = chance.sample(everything, chance.randint(3, 9))
    robots = {host: chance.sample(chosen, chance.randint(0, 2)) for host in HOSTS if chance.random() < 0.7}
    robots[SITE] = robots.get(SITE) or chosen[:1]
    indexes = {
        url: chance.sample(chosen, chance.randint(1, len(chosen))) for url in chosen if url.endswith("index.xml")
    }
    return World(
        chance.choice(["protocol", "protocol", "protocol", "host"]), robots, indexes,
        [url for url in chosen if url not in indexes],
    )


def holdings(world: World) -> dict[str, set[str]]:
    """The final scope of each document that may be read."""
    held: dict[str, set[str]] = {url: set() for url in world.robots[SITE]}
    requested, size = {SITE}, -1
    while size != (size := len(requested) + len(held) + sum(map(len, held.values()))):
        named: dict[str, set[str]] = {}
        for host in requested:
            for url in world.robots.get(host, ()):
                named.setdefault(url, set()).update(host_prefixes(f"{host}/"))
        for url in [*held]:
            requested.add(origin(url))
            held[url] |= {directory(url)} | named.get(url, set())
            for child in world.indexes.get(url, ()):
                if child in named or Scope(world.scope, tuple(held[url])).reason(child) in (None, "path"):
                    held.setdefault(child, set()).update(held[url])
                else:
                    requested.add(origin(child))
    return held


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
def test_crawl_result_equals_the_rules_applied_to_the_whole_site(seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311 - the same worlds each time
    regained = 0
    for _ in range(ROUNDS):
        world = some_world(chance)
        scopes = {url: Scope(world.scope, tuple(held)) for url, held in holdings(world).items()}
        judged = [(url, loc, scopes[url].reason(loc)) for url in world.sitemaps if url in scopes for loc in LOCS]
        one_by_one = {"per_host": 1, "concurrency": 1} if chance.random() < 0.5 else {}
        seen = walk(SITE, world.pages, scope=world.scope, limits=Limits(max_index_depth=99), **one_by_one)
        given = Counter((record.sitemap, record.loc) for record in seen.records)
        assert given == Counter((url, loc) for url, loc, reason in judged if reason is None)
        dropped = sum((Counter(seen.outcomes[url].dropped) for url in world.sitemaps if url in scopes), Counter())
        assert dropped == Counter(reason for _, _, reason in judged if reason)
        assert all(each.kept + sum(each.dropped.values()) == each.entries for each in seen.outcomes.values())
        assert max(Counter(seen.documents).values()) == 1
        regained += seen.regained
    assert regained
