"""Random sites whose indexes state lastmods as real generators do: accurate, frozen, constant, random.

The dates in the sitemaps are the truth; those in the indexes may differ.
"""

import random
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import attrs
from kit import index, urlset
from simulated import Pages

TODAY = datetime(2026, 3, 1, 12, tzinfo=UTC)
SITE = "https://shop.example"
INDEX = f"{SITE}/index.xml"
DAYS = 365


@attrs.define
class Sitemap:
    """A sitemap and the ages of its URLs in days, None for one without a date."""

    url: str
    ages: list[float | None]

    @property
    def age(self) -> float:
        return min((age for age in self.ages if age is not None), default=DAYS)

    @property
    def body(self) -> bytes:
        stem = self.url.removesuffix(".xml")
        return urlset(*(dated(f"{stem}/{number}", age) for number, age in enumerate(self.ages)))


def dated(url: str, age: float | None, digits: int = 19) -> str | tuple[str, str]:
    """An entry with the lastmod of this age."""
    if age is None:
        return url
    text = (TODAY - timedelta(days=age)).isoformat()[:digits]
    return url, f"{text}{'Z' if digits == 19 else ''}"


def index_of(children: list[tuple[str, float | None]], digits: int) -> bytes:
    return index(*(dated(url, age, digits) for url, age in children))


# --- kinds of generators: the true ages of children in, the stated ages out ---


def accurate(chance: random.Random, ages: list[float]) -> list[float]:
    return ages


def touched(chance: random.Random, ages: list[float]) -> list[float]:
    """The time at which the file was written: after its newest entry."""
    return [age * chance.random() for age in ages]


def frozen(chance: random.Random, ages: list[float]) -> list[float]:
    """Accurate on the day when the index was written, some time ago."""
    written = chance.uniform(60, 200)
    return [max(age, written + age * 0.1) for age in ages]


def frozen_at_once(chance: random.Random, ages: list[float]) -> list[float]:
    """Frozen, and all children have the time of the generator's run."""
    return [chance.uniform(60, 300)] * len(ages)


def rebuilt(chance: random.Random, ages: list[float]) -> list[float]:
    """All children have the time of today's build."""
    return [0.2] * len(ages)


def at_random(chance: random.Random, ages: list[float]) -> list[float]:
    return [chance.uniform(0, DAYS) for _ in ages]


def created(chance: random.Random, ages: list[float]) -> list[float]:
    """The time at which the sitemap was created; later changes do not count."""
    return [max(age, DAYS * (1 - place / len(ages))) for place, age in enumerate(ages)]


def partly_stale(chance: random.Random, ages: list[float]) -> list[float]:
    """Accurate, except for one in five that is never updated."""
    return [max(age, chance.uniform(60, DAYS)) if chance.random() < 0.2 else age for age in ages]


ACCURATE = (accurate, touched, rebuilt)
STALE = (frozen, frozen_at_once, created)


@attrs.define
class World:
    sitemaps: list[Sitemap]
    indexes: dict[str, bytes]

    @property
    def pages(self) -> Pages:
        return {**self.indexes, **{sitemap.url: sitemap.body for sitemap in self.sitemaps}}


def some_world(
    chance: random.Random, says: Callable[[random.Random, list[float]], list[float]], *, undated: bool = False
) -> World:
    """A random site of 4 to 40 sitemaps; a few change now and then, most do not."""
    sitemaps = [_some_sitemap(chance, f"{SITE}/{number}.xml", undated) for number in range(chance.randint(4, 40))]
    digits = chance.choice([10, 19])
    if chance.random() < 0.5:
        return World(sitemaps, {INDEX: _stated(chance, says, sitemaps, digits)})
    parts = [sitemaps[start::3] for start in range(3)]
    nested = {f"{SITE}/index-{number}.xml": part for number, part in enumerate(parts)}
    indexes = {url: _stated(chance, says, part, digits) for url, part in nested.items()}
    ages = [min(sitemap.age for sitemap in part) for part in parts]
    top = [*zip(nested, says(chance, ages), strict=True)]
    return World(sitemaps, {INDEX: index_of(top, digits), **indexes})


def _some_sitemap(chance: random.Random, url: str, undated: bool) -> Sitemap:
    newest = chance.uniform(0, 30) if chance.random() < 0.3 else chance.uniform(30, DAYS)
    ages: list[float | None] = [newest, *(chance.uniform(newest, DAYS) for _ in range(chance.randint(0, 4)))]
    if undated:
        ages.append(None)
    chance.shuffle(ages)
    return Sitemap(url, ages)


def _stated(
    chance: random.Random, says: Callable[[random.Random, list[float]], list[float]], sitemaps: list[Sitemap],
    digits: int,
) -> bytes:
    ages = says(chance, [sitemap.age for sitemap in sitemaps])
    return index_of([*zip([sitemap.url for sitemap in sitemaps], ages, strict=True)], digits)
