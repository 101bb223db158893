"""The shop that make_site() writes: its words, its sections, and entries drawn from them with a seed.

Nothing here reads a clock, a file, or a document.
"""

from __future__ import annotations

import random
from datetime import datetime, timedelta
from functools import lru_cache
from itertools import accumulate, pairwise
from random import Random
from typing import TYPE_CHECKING, NamedTuple, TypeVar
from urllib.parse import quote
from xml.etree import ElementTree

import attrs

from .entries import CORE, DATE_FORMS, NAMESPACES, Entry

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence


REFERENCE = datetime(2026, 11, 1)  # the "now" of every site, UTC: a clock would make two runs differ
YEARS_BACK = timedelta(days=3 * 365)
NEWS_BACK = timedelta(days=2)
MAX_NEWS = 1000  # a news sitemap holds two days and no more than 1,000 items
LANGUAGES = ("en", "de", "fr")

ROBOTS = """\
# {host}
User-agent: *
Disallow: /cart
Disallow: /checkout
Disallow: /search

User-agent: greedy-bot
Disallow: /

Sitemap: {base}/sitemap_index.xml
"""

# fmt: off
PRODUCTS = (
    "Shirt", "Rain jacket", "Wool scarf", "Trousers", "Desk lamp", "Side table", "Bookshelf", "Tea pot",
    "Bread knife", "Salt & pepper mill", "Cutting board", "Picnic blanket", "Backpack", "Notebook",
    "Fountain pen", "Wall clock", "Bath towel", "Candle holder", "Café chair", "Käsebrett", "Plant pot",
    "Garden hose", "Hand saw", "Bicycle bell", "Water bottle", "Camping stove", "Bed linen", "Door mat",
)
# fmt: on
MATERIALS = ("Linen", "Cotton", "Oak", "Ash", "Brass", "Steel", "Glass", "Cork", "Felt", "Leather", "Clay")
COLOURS = ("natural", "ocean blue", "moss green", "charcoal", "brick red", "ochre", "off white", "slate grey")
DEPARTMENTS = ("kitchen", "garden", "living", "bedroom", "workshop", "outdoor", "office", "travel")
DOINGS = ("How to care for", "A short history of", "Five ways to repair", "Before you buy", "In praise of")
MAKERS = ("Hansen", "Okafor", "Moreau", "Lindqvist", "Tanaka", "Brandt", "Rossi", "Novák", "O'Neill", "Silva")
TOPICS = ("Delivery", "Returns", "Gift cards", "Warranty", "Sizes", "Payment", "Repairs", "Your account")


def _pick(rng: random.Random, choices: tuple[str, ...]) -> str:
    # random() is the one method whose sequence is promised to stay the same over Python versions.
    return choices[int(rng.random() * len(choices))]


@lru_cache(maxsize=4096)
def _slug(text: str) -> str:
    return quote(text.lower().replace(" & ", " and ").replace("'", "").replace(" ", "-"))


def _product(rng: random.Random, number: int) -> tuple[str, str]:
    title = f"{_pick(rng, MATERIALS)} {_pick(rng, PRODUCTS)} {_pick(rng, COLOURS)}"
    query = "?colour=sand&size=m" if rng.random() < 0.01 else ""
    return f"/products/{_slug(title)}-{number}{query}", title


def _category(rng: random.Random, number: int) -> tuple[str, str]:
    title = f"{_pick(rng, MATERIALS)} {_pick(rng, PRODUCTS)}"
    return f"/c/{_pick(rng, DEPARTMENTS)}/{_slug(title)}-{number}/", title


def _article(rng: random.Random, number: int) -> tuple[str, str]:
    title = f"{_pick(rng, DOINGS)} the {_pick(rng, PRODUCTS).lower()}"
    return f"/magazine/{_pick(rng, DEPARTMENTS)}/{_slug(title)}-{number}", title


def _brand(rng: random.Random, number: int) -> tuple[str, str]:
    title = f"{_pick(rng, MAKERS)} & {_pick(rng, MAKERS)}"
    return f"/brands/{_slug(title)}-{number}/", title


def _help(rng: random.Random, number: int) -> tuple[str, str]:
    title = f"{_pick(rng, TOPICS)}: {_pick(rng, DEPARTMENTS)}"
    return f"/help/{_slug(title.replace(':', ''))}-{number}.html", title


def _story(rng: random.Random, number: int) -> tuple[str, str]:
    title = f"{_pick(rng, MAKERS)} opens a {_pick(rng, DEPARTMENTS)} store"
    return f"/news/{_slug(title)}-{number}", title


@attrs.frozen
class Section:
    """A part of the shop: its share of the URLs, how its pages are named, and what their entries state."""

    name: str
    share: int
    page: Callable[[random.Random, int], tuple[str, str]]  # -> path, title
    forms: tuple[str, ...]  # of "mixed" dates; "none" among them is an entry without one
    changefreqs: tuple[str, ...] = ()
    priorities: tuple[str, ...] = ()
    extensions: tuple[str, ...] = ()
    back: timedelta = YEARS_BACK


NEWS = Section("news", 2, _story, ("second",), extensions=("news",), back=NEWS_BACK)
SECTIONS = (
    Section(
        "products",
        60,
        _product,
        ("second", "second", "offset", "subsecond"),
        ("daily", "weekly"),
        ("0.6", "0.8", "0.9"),
        ("image", "hreflang"),
    ),
    Section("magazine", 22, _article, ("offset", "minute", "day"), extensions=("image", "video")),
    Section("brands", 7, _brand, ("day", "month", "none"), ("monthly",), ("0.3", "0.5")),
    Section("categories", 6, _category, ("day",), ("daily", "weekly"), ("0.7", "1.0")),
    Section("help", 5, _help, ("none", "year", "month"), ("yearly", "monthly")),
)


def shares(urls: int, extensions: Collection[str]) -> Iterator[tuple[Section, int]]:
    """How many URLs each section has: they add up to `urls`. News is there only as the extension."""
    news = min(MAX_NEWS, urls * NEWS.share // 100) if "news" in extensions else 0
    rest = urls - news
    marks = [-(-rest * share // 100) for share in accumulate(section.share for section in SECTIONS)]
    counts = [high - low for low, high in pairwise([0, *marks])]
    return ((each, count) for each, count in zip((*SECTIONS, NEWS), (*counts, news), strict=True) if count)


def draw(
    section: Section, count: int, *, seed: int, base: str, extensions: Collection[str], dates: str
) -> Iterator[Entry]:
    """`count` entries. With hreflang a page comes in up to three languages, one entry each, and each of them
    names all of them: so every link has its return link.
    """
    rng = random.Random(f"{seed}/{section.name}")  # noqa: S311 - to be repeatable is its purpose
    forms = section.forms if dates == "mixed" else (dates,)
    decorations = [add for name, add in DECORATIONS.items() if name in extensions]
    seconds = section.back.total_seconds()
    left = count
    while left:
        number = count - left + 1
        path, title = section.page(rng, number)
        alternates = _translations(base, path, left) if "hreflang" in extensions else {}
        locs = list(alternates.values())[:-1] if alternates else [f"{base}{path}"]
        for loc in locs:
            # Squared: much of a site is young, and the rest has a long tail.
            moment = REFERENCE - timedelta(seconds=1 + int(rng.random() ** 2 * (seconds - 1)))
            form = _pick(rng, forms)
            entry = Entry(loc, alternates=alternates)
            entry.lastmod = None if form == "none" else DATE_FORMS[form](moment)
            entry.changefreq = _pick(rng, section.changefreqs) if section.changefreqs else None
            entry.priority = _pick(rng, section.priorities) if section.priorities else None
            for add in decorations:
                add(entry, rng, title, moment)
            yield entry
        left -= len(locs)


def _translations(base: str, path: str, limit: int) -> dict[str, str]:
    """hreflang -> href, x-default last."""
    pages = {language: f"{base}/{language}{path}" for language in LANGUAGES[:limit]}
    return {**pages, "x-default": pages[LANGUAGES[0]]}


# --- extensions: what they add to an entry ----------------------------------------------------------------


def _images(entry: Entry, rng: random.Random, title: str, moment: datetime) -> None:
    page = entry.loc.partition("?")[0]
    for number in range(int(rng.random() * 4)):
        image = {"loc": f"{page}/photo-{number + 1}.jpg"}
        if rng.random() < 0.5:
            image["title"] = f"{title}, view {number + 1}"
        entry.images.append(image)


def _video(entry: Entry, rng: random.Random, title: str, moment: datetime) -> None:
    if rng.random() < 0.75:
        return
    video = {
        "thumbnail_loc": f"{entry.loc}/still.jpg",
        "title": title,
        "description": f"{title}: a visit to the {_pick(rng, DEPARTMENTS)} workshop.",
        "content_loc": f"{entry.loc}/film.mp4",
        "duration": 30 + int(rng.random() * 900),
        "rating": float(_pick(rng, ("3.5", "4.2", "4.8"))),
        "view_count": int(rng.random() * 20_000),
        "publication_date": DATE_FORMS["second"](moment).stamp,
        "family_friendly": True,
        "tag": [_pick(rng, DEPARTMENTS), "repair"],
        "live": False,
    }
    entry.videos.append(video)


def _news(entry: Entry, rng: random.Random, title: str, moment: datetime) -> None:
    entry.news = {
        "name": "The Shop Gazette",
        "language": "en",
        "title": title,
        "publication_date": DATE_FORMS["second"](moment).stamp,
        "keywords": [_pick(rng, DEPARTMENTS), "retail"],
    }


DECORATIONS: dict[str, Callable[[Entry, random.Random, str, datetime], None]] = {
    "image": _images,
    "video": _video,
    "news": _news,
}


# --- small clean documents, which damage.py then damages ---

# They vary as real sitemaps do: queries, letters beyond ASCII, CDATA, images, hreflang, prefixes, comments, one line or
# many.
T = TypeVar("T")

HOST = "https://shop.example"
DECLARATION = '<?xml version="1.0" encoding="UTF-8"?>'
# RFC 3986 2: what stands for itself in our paths and queries; the rest is percent-encoded as UTF-8.
AS_WRITTEN = "/:?&=%-_.~+"
# The last seven begin with a name that HTML knows without a semicolon too: `&region` must not become `®ion`.
PARAMETERS = (
    *("id", "page", "sort", "colour", "size", "lang", "ref", "q", "filter", "from", "view", "brand", "utm_source"),
    *("region", "copy", "section", "currency", "order", "lt", "amp"),
)
WORDS = ("käse", "crème", "señor", "façade", "øre", "straße", "åre", "chair", "shelf", "mug", "hook", "tray")
FAR_WORDS = ("чайник", "茶碗", "λάδι", "椅子")
GAPS = ("\n", "\n", "\n\t", "\n  ", "\r\n", "")
ROOT = f"{CORE} {NAMESPACES['image'].strip()} {NAMESPACES['hreflang'].strip()}"


class Dice(Random):
    """Choices drawn from random() alone: the one method whose sequence Python promises to keep."""

    def below(self, end: int) -> int:
        return int(self.random() * end)

    def pick(self, choices: Sequence[T]) -> T:
        return choices[self.below(len(choices))]

    def some(self, choices: Sequence[T], limit: int) -> list[T]:
        """One to `limit` of the choices, each at most once."""
        shuffled = sorted(choices, key=lambda _: self.random())
        return shuffled[: 1 + self.below(min(limit, len(choices)))]

    def chance(self, share: float) -> bool:
        return self.random() < share


class Clean(NamedTuple):
    """A document in parts (a tag, a whole element without children, a comment), with `gap` between them.

    `truth` are its URLs as a reader should give them, in order.
    """

    parts: tuple[str, ...]
    gap: str
    truth: tuple[str, ...]

    @property
    def text(self) -> str:
        return self.gap.join(self.parts)


def draw_clean(dice: Dice, entries: int) -> Clean:
    """A document of so many entries, one of which has everything: each kind of damage finds a place."""
    prefix = "sm:" if dice.chance(0.1) else ""
    root = ROOT.replace("xmlns=", "xmlns:sm=") if prefix else ROOT
    parts = [DECLARATION, f"<{prefix}urlset {root}>"]
    truth = []
    richest = dice.below(entries)
    for number in range(entries):
        loc = _loc(dice, number, rich=number == richest)
        truth.append(canonical(loc))
        parts += _comment(dice)
        parts += _entry(dice, prefix, loc, rich=number == richest)
    return Clean((*parts, f"</{prefix}urlset>"), dice.pick(GAPS), tuple(truth))


def canonical(loc: str) -> str:
    """The URL as a reader gives it: what is not ASCII is percent-encoded."""
    return quote(loc, safe=AS_WRITTEN)


def as_bytes(text: str) -> bytes:
    """UTF-8; half a surrogate pair is the raw byte that it stands for."""
    return text.encode("utf-8", "surrogateescape")


def as_text(body: bytes) -> str:
    """The text that as_bytes() turns into these bytes."""
    return body.decode("utf-8", "surrogateescape")


def plainly_listed(body: bytes) -> tuple[str, ...] | None:
    """The URLs of a well-formed document, by ElementTree; None where it is not well-formed."""
    try:
        root = ElementTree.fromstring(body)  # noqa: S314 - we have just written it
    except (ElementTree.ParseError, ValueError, LookupError):  # the last two: encodings that expat does not know
        return None
    core = root.tag.partition("}")[0] + "}"
    return tuple(canonical((loc.text or "").strip()) for loc in root.iterfind(f"{core}url/{core}loc"))


def _loc(dice: Dice, number: int, *, rich: bool) -> str:
    words = [dice.pick(MATERIALS).lower(), dice.pick(WORDS)]
    if rich:
        words.append("café")
    elif dice.chance(0.15):
        words.append(dice.pick(FAR_WORDS))
    elif dice.chance(0.1):
        words.append("caf%C3%A9%20noir")
    # The number is in the middle, so that no URL is the beginning of another one.
    path = f"/{dice.pick(DEPARTMENTS)}/{number:03}{dice.below(10_000):04}-{'-'.join(words)}"
    path += dice.pick(("", "", "/", ".html"))
    if not rich and dice.chance(0.5):
        return HOST + path
    names = dice.some(PARAMETERS, 4)
    if rich and len(names) == 1:
        names = ["id", *names]
    return f"{HOST}{path}?" + "&".join(f"{name}={dice.below(90)}" for name in names)


def _comment(dice: Dice) -> list[str]:
    if dice.chance(0.9):
        return []
    retired = f"<url><loc>{HOST}/retired/{dice.below(10_000)}</loc></url>"
    return [dice.pick(("<!-- products -->", "<!-- page 2 of 7, 25 ms -->", f"<!-- {retired} -->"))]


def _entry(dice: Dice, prefix: str, loc: str, *, rich: bool) -> Iterator[str]:
    fields = [_loc_element(dice, prefix, loc, plain=rich)]
    values = (
        ("lastmod", dice.pick(("2026-10-03", "2026-11-01T08:30:00+01:00", "2026-10-28T17:05:09Z"))),
        ("changefreq", dice.pick(("daily", "weekly", "monthly"))),
        ("priority", dice.pick(("0.5", "0.8", "1.0"))),
    )
    fields += [f"<{prefix}{name}>{text}</{prefix}{name}>" for name, text in values if rich or dice.chance(0.6)]
    if dice.chance(0.1):
        fields.append(fields.pop(0))
    yield f"<{prefix}url>"
    yield from fields
    if rich or dice.chance(0.25):
        yield from _image(dice)
    for language in ("de", "fr") if rich or dice.chance(0.2) else ():
        href = canonical(loc).replace(HOST, f"{HOST}/{language}").replace("&", "&amp;")
        yield f'<xhtml:link rel="alternate" hreflang="{language}" href="{href}"/>'
    yield f"</{prefix}url>"


def _loc_element(dice: Dice, prefix: str, loc: str, *, plain: bool) -> str:
    cdata = not plain and dice.chance(0.1)
    text = f"<![CDATA[{loc}]]>" if cdata else loc.replace("&", "&amp;")
    space = dice.pick(("\n      ", " ")) if dice.chance(0.1) else ""
    return f"<{prefix}loc>{space}{text}{space}</{prefix}loc>"


def _image(dice: Dice) -> Iterator[str]:
    title = f"{dice.pick(MATERIALS)} {dice.pick(PRODUCTS)}".replace("&", "&amp;")
    yield "<image:image>"
    yield f"<image:loc>https://cdn.example/photos/{dice.below(10_000)}.jpg</image:loc>"
    yield f"<image:title>{title}</image:title>"
    yield f"<image:caption>{title}, {dice.pick(COLOURS)}</image:caption>"
    yield "</image:image>"
