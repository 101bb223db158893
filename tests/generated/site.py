"""Generated sites for tests, notebooks and benchmarks: a shop with a magazine, its entries drawn with a seed.

In: a size and a seed. Out: a folder with robots.txt, an index, its sitemaps, and the records that a reader should find
in them. No parser takes part and no clock is read: equal arguments give equal bytes, and memory stays flat however
large the site.
"""

import random
from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack
from datetime import datetime, timedelta
from functools import lru_cache
from itertools import accumulate, islice, pairwise
from pathlib import Path
from typing import Literal
from urllib.parse import quote, urlsplit

import attrs

from sitemap_reader import UsageError
from sitemap_reader.model import PROTOCOL_MAX_ENTRIES

from .entries import DATE_FORMS, NAMESPACES, Entry, index_xml, open_document, write_urlset

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


# --- the site on disk ---

Extension = Literal["image", "video", "news", "hreflang"]
Dates = Literal["day", "second", "mixed", "none"]
Layout = Literal["replay", "www"]


@attrs.frozen
class Site:
    """A site on disk.

    `documents` counts the sitemaps that list URLs; robots.txt and the index come on top. `truth` has one JSON
    line for each URL record, in document order, and lies in `folder`; with `truth=False` it is not written.
    """

    folder: Path
    seed_url: str
    urls: int
    documents: int
    truth: Path


def make_site(
    folder: Path,
    *,
    base: str = "https://shop.example",
    urls: int = 1000,
    per_document: int = 500,
    seed: int = 0,
    gzip: bool = True,
    extensions: Collection[Extension] = (),
    dates: Dates = "mixed",
    layout: Layout = "replay",
    truth: bool = True,
) -> Site:
    """Write a shop with a magazine that lists `urls` URLs, at most `per_document` (1 to 50,000) in a sitemap.

    Layout "replay" is a folder that can be read in place of the network, "www" a document root for a web
    server at `base`. Existing files of these names are overwritten. `dates` other than "mixed" hold
    for every entry. Raises UsageError for arguments that cannot be carried out.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     site = make_site(Path(folder), urls=100)
    ...     (site.seed_url, site.documents, len(site.truth.read_text().splitlines()))
    ('https://shop.example/', 5, 100)
    """
    base = _origin(base)
    _check(urls, per_document, extensions, dates, layout)
    scheme, _, host = base.partition("://")
    root = folder / scheme / host.replace(":", "%3A") if layout == "replay" else folder
    (root / "sitemaps").mkdir(parents=True, exist_ok=True)
    site = Site(folder, f"{base}/", urls, 0, folder / "truth.jsonl")
    children: list[tuple[str, str | None]] = []
    with ExitStack() as stack:
        out = stack.enter_context(site.truth.open("wb")) if truth else None
        for section, count in shares(urls, extensions):
            wanted = tuple(name for name in NAMESPACES if name in extensions and name in section.extensions)
            entries = draw(section, count, seed=seed, base=base, extensions=wanted, dates=dates)
            for number in range(1, -(-count // per_document) + 1):
                name = f"sitemaps/{section.name}-{number}.xml{'.gz' * gzip}"
                part = islice(entries, per_document)
                with open_document(root / name) as document:
                    newest = write_urlset(document, out, part, sitemap=f"{base}/{name}", extensions=wanted)
                children.append((f"{base}/{name}", newest))
    (root / "sitemap_index.xml").write_bytes(index_xml(children))
    (root / "robots.txt").write_bytes(ROBOTS.format(host=host, base=base).encode())
    if layout == "replay":
        recorded = f"{REFERENCE.isoformat()}Z"
        (folder / "site.toml").write_bytes(f'seeds = ["{base}/"]\nrecorded = {recorded}\n'.encode())
    return attrs.evolve(site, documents=len(children))


def _origin(base: str) -> str:
    parts = urlsplit(base)
    default = {"http": ":80", "https": ":443"}.get(parts.scheme)
    origin = f"{parts.scheme}://{parts.netloc}"
    if default is None or base not in (origin, f"{origin}/") or not parts.netloc:
        raise UsageError(f"base must be an origin such as https://shop.example, not {base!r}")
    if origin != origin.lower() or origin.endswith(default) or "@" in origin or not origin.isascii():
        raise UsageError(f"base must be written as URLs are compared (lower case, no default port): {base!r}")
    return origin


def _check(urls: int, per_document: int, extensions: Collection[str], dates: str, layout: str) -> None:
    rules = {
        f"urls must be 1 or more, not {urls}": urls >= 1,
        f"per_document must be 1 to 50,000, not {per_document}": 1 <= per_document <= PROTOCOL_MAX_ENTRIES,
        f"extensions are {', '.join(NAMESPACES)}, not {extensions!r}": NAMESPACES.keys() >= set(extensions),
        f"dates are day, second, mixed, none, not {dates!r}": dates in ("day", "second", "mixed", "none"),
        f"layouts are replay, www, not {layout!r}": layout in ("replay", "www"),
    }
    for message, holds in rules.items():
        if not holds:
            raise UsageError(message)
