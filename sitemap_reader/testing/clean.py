"""A seeded clean `<urlset>`, in parts, and the URLs that it lists: what damage.py then breaks.

The variety is that of real sitemaps: queries, letters beyond ASCII, CDATA, images, hreflang, prefixes, comments,
one line or many. Nothing is read from outside.
"""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, NamedTuple, TypeVar
from urllib.parse import quote
from xml.etree import ElementTree

from .entries import CORE, NAMESPACES
from .shop import COLOURS, DEPARTMENTS, MATERIALS, PRODUCTS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

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

    def some(self, choices: Sequence[T], most: int) -> list[T]:
        """One to `most` of them, each at most once."""
        shuffled = sorted(choices, key=lambda _: self.random())
        return shuffled[: 1 + self.below(min(most, len(choices)))]

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
    """What as_bytes() makes the same bytes of."""
    return body.decode("utf-8", "surrogateescape")


def plainly_listed(body: bytes) -> tuple[str, ...] | None:
    """The URLs of a well-formed document, by a reader that is not ours; None for any other."""
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
