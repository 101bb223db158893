"""Damaged sitemaps with known truth: a kind of damage and a seed in; bytes, and the URLs that they listed, out.

DAMAGES maps each kind to a description and a function. Bytes that are still well-formed XML list exactly the true URLs;
all others may lose URLs, but never lead a correct reader to a wrong one. Equal arguments give equal bytes.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from html.entities import codepoint2name
from random import Random
from typing import NamedTuple, TypeVar
from urllib.parse import quote
from xml.etree import ElementTree

from sitemap_reader import UsageError

from .entries import CORE, DECLARATION, NAMESPACES
from .site import COLOURS, DEPARTMENTS, MATERIALS, PRODUCTS

# --- clean documents, before the damage ---

# They vary as real sitemaps do: queries, letters beyond ASCII, CDATA, images, hreflang, prefixes, comments, one line or
# many.
T = TypeVar("T")

HOST = "https://shop.example"
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
ROOT_ATTRIBUTES = f"{CORE} {NAMESPACES['image'].strip()} {NAMESPACES['hreflang'].strip()}"


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
    root = ROOT_ATTRIBUTES.replace("xmlns=", "xmlns:sm=") if prefix else ROOT_ATTRIBUTES
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
        root = ElementTree.fromstring(body)  # noqa: S314 our own documents
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


# --- breaks ---

# A Break returns the text of the damaged document, with a lone surrogate for each raw byte (surrogateescape); None
# where this draw could mislead a correct reader.
Edit = Callable[[str, Dice], str]
Break = Callable[[Clean, Dice], str | None]

MAX_PLACES = 4  # that are damaged in one document

# --- where: which parts of a document are damaged ---

DECLARED = r"^<\?xml"
ROOT = r"^<(?:sm:)?urlset"
LAST = r"^</(?:sm:)?urlset"
START = r"^<(?:sm:)?url>"
END = r"^</(?:sm:)?url>"
FIELD = r"^<[\w:]+>.+</"
LATIN = r"^<(?:sm:)?loc>(?!.*CDATA).*[à-ÿ]"
PLAIN_LOC = r"^<(?:sm:)?loc>(?!.*CDATA)"
TITLE = r"^<image:(?:title|caption)>"
TEXT = r"^<(?:image:title|image:caption|(?:sm:)?lastmod|(?:sm:)?changefreq)>"
LINK = r"^<xhtml:link"
CLOSING = r"</([\w:]+>)\Z"


def _matching(pattern: str, clean: Clean) -> list[int]:
    return [n for n, part in enumerate(clean.parts) if re.search(pattern, part, re.DOTALL)]


def parts(pattern: str, edit: Edit, max_places: int = MAX_PLACES) -> Break:
    """Damages one to `max_places` of the parts that match; every `.` in the pattern is any character."""

    def apply(clean: Clean, dice: Dice) -> str:
        parts = list(clean.parts)
        for place in dice.some(_matching(pattern, clean), max_places):
            parts[place] = edit(parts[place], dice)
        return clean.gap.join(parts)

    return apply


def pairs(pattern: str, replacement: str) -> Break:
    """Damages one to MAX_PLACES matches of a pattern over neighbouring parts."""

    def apply(clean: Clean, dice: Dice) -> str:
        text = clean.text
        for match in sorted(dice.some([*re.finditer(pattern, text)], MAX_PLACES), key=lambda m: -m.start()):
            text = text[: match.start()] + match.expand(replacement) + text[match.end() :]
        return text

    return apply


# --- what: edits of one part ---


def put(pattern: str, *choices: str) -> Edit:
    """One of the choices (templates of a match) in place of what the pattern finds first."""
    return lambda part, dice: re.sub(
        pattern, lambda match: match.expand(dice.pick(choices)), part, count=1, flags=re.DOTALL
    )


def before(*choices: str) -> Edit:
    return lambda part, dice: dice.pick(choices) + part


def behind(*choices: str) -> Edit:
    return lambda part, dice: part + dice.pick(choices)


def either(*edits: Edit) -> Edit:
    return lambda part, dice: dice.pick(edits)(part, dice)


def in_turn(*edits: Edit) -> Edit:
    def edit(part: str, dice: Dice) -> str:
        for each in edits:
            part = each(part, dice)
        return part

    return edit


def into_text(*choices: str) -> Edit:
    """Somewhere into an element's text, but not into a reference."""

    def edit(part: str, dice: Dice) -> str:
        start, end = part.index(">") + 1, part.rindex("</")
        places = [at for at in range(start, end + 1) if not re.search(r"&\w*\Z", part[:at])]
        at = dice.pick(places)
        return part[:at] + dice.pick(choices) + part[at:]

    return edit


def bare_ampersands(part: str, dice: Dice) -> str:
    if dice.chance(0.5):
        return part.replace("&amp;", "&")
    return part.replace("&amp;", "&", 1 + dice.below(part.count("&amp;")))


def as_entities(part: str, dice: Dice) -> str:
    return re.sub(r"[à-ÿß]", lambda match: f"&{codepoint2name[ord(match[0])]};", part)


def as_latin_1(part: str, dice: Dice) -> str:
    return re.sub(r"[à-ÿß]", lambda match: chr(0xDC00 + ord(match[0])), part)


def misspelled(part: str, dice: Dice) -> str:
    """The last tag's name, with letters swapped, lost, doubled, replaced, or in another case."""
    head, name = part[:-1].rsplit("</", 1)
    prefix, colon, local = name.rpartition(":")
    at = dice.below(len(local) - 1)
    swapped = local[:at] + local[at + 1] + local[at] + local[at + 2 :]
    wrong = [local.title(), local.upper(), local + local[-1], local[:-1], local[1:], local[:-1] + "k"]
    return f"{head}</{prefix}{colon}{dice.pick([*wrong, swapped, swapped])}>"


def start_misspelled(part: str, dice: Dice) -> str:
    start, rest = part.split(">", 1)
    name = start[1:]
    local = name.rpartition(":")[2]
    wrong = [name.title(), name.upper(), name[:-1], name + name[-1]]
    return f"<{dice.pick([*wrong, local] if ':' in name else wrong)}>{rest}"


def open_cdata(part: str, dice: Dice) -> str:
    start, rest = part.split(">", 1)
    text, end = rest.rsplit("</", 1)
    return f"{start}><![CDATA[{text.replace('&amp;', '&')}{dice.pick(('', '', '', ']]', ']'))}</{end}"


def broken_cdata(part: str, dice: Dice) -> str:
    start, rest = part.split(">", 1)
    text, end = rest.rsplit("</", 1)
    opening = dice.pick(("<!CDATA[", "<![cdata[", "<! [CDATA[", "[CDATA[", "<[CDATA["))
    return f"{start}>{opening}{text.replace('&amp;', '&')}]]></{end}"


# --- breaks of the whole document ---


def nothing(clean: Clean, dice: Dice) -> str:
    return clean.text


def open_comment(clean: Clean, dice: Dice) -> str:
    """Removes the comments after it, whose `-->` would end it."""
    at = dice.pick(_matching(f"{START}|{LAST}", clean))
    rest = [part for part in clean.parts[at:] if not part.startswith("<!--")]
    comment = dice.pick(("<!-- products", "<!-- page 2 of 7 --", "<!-- cached ->", "<!--"))
    return clean.gap.join([*clean.parts[:at], comment, *rest])


def unended_cdata(clean: Clean, dice: Dice) -> str:
    """Replaces the sections after it, whose `]]>` would end it."""
    broken = list(clean.parts)
    places = dice.some(_matching(f"{PLAIN_LOC}|{TITLE}", clean), 2)
    for at in places:
        broken[at] = open_cdata(broken[at], dice)
    first = min(places)
    ended = re.compile(r"<!\[CDATA\[(.*?)\]\]>")
    broken[first:] = [ended.sub(lambda match: match[1].replace("&", "&amp;"), part) for part in broken[first:]]
    return clean.gap.join(broken)


def second_document(clean: Clean, dice: Dice) -> str | None:
    """The same URLs, but the document ends between two entries and begins once more."""
    root, last = clean.parts[1], clean.parts[-1]
    opening = dice.pick((f"{DECLARATION}{clean.gap}{root}", root, f"\ufeff{DECLARATION}{root}"))
    return parts(END, behind(f"{clean.gap}{last}{clean.gap}{opening}"), 2)(clean, dice)


def early_root_end(clean: Clean, dice: Dice) -> str | None:
    return parts(END, behind(f"{clean.gap}{clean.parts[-1]}"), max_places=2)(clean, dice)


def bare_doctype(clean: Clean, dice: Dice) -> str | None:
    """With an external subset, a parser may silently drop undefined entities (XML 1.0 4.1, WFC Entity Declared)."""
    doctype = dice.pick(('SYSTEM "sitemap.dtd"', 'PUBLIC "-//Example//DTD sitemap//EN" "https://example.com/s.dtd"'))
    rest = list(clean.parts[1:])
    if dice.chance(0.7):
        rest = [as_entities(part, dice) if re.search(LATIN, part, re.DOTALL) else part for part in rest]
    return clean.gap.join([clean.parts[0], f"<!DOCTYPE urlset {doctype}>", *rest])


def unbound_prefix(clean: Clean, dice: Dice) -> str:
    used = re.findall(r' xmlns:(\w+)="[^"]*"', clean.parts[1])
    lost = dice.some([prefix for prefix in used if f"<{prefix}:" in clean.text], 3)
    root = re.sub(rf' xmlns:(?:{"|".join(lost)})="[^"]*"', "", clean.parts[1])
    return clean.gap.join([clean.parts[0], root, *clean.parts[2:]])


def cut(clean: Clean, dice: Dice) -> str | None:
    body = as_bytes(clean.text)
    within = dice.pick((rb"<(?:sm:)?loc>[^<]+", rb"<[^<>]+>", rb"</(?:sm:)?url>\s*", rb".+"))
    match = dice.pick([*re.finditer(within, body, re.DOTALL)])
    return _without(body, match.start() + 1 + dice.below(len(match[0])), len(body))


def hole(clean: Clean, dice: Dice) -> str | None:
    body = as_bytes(clean.text)
    tag = dice.pick([*re.finditer(rb"<[a-z/][^<>]*>", body)])
    start = tag.start() + 1 + dice.below(len(tag[0]) - 1)
    size = int(2 ** (11 * dice.random()))
    left = _without(body, start, min(len(body), start + size))
    # Where both edges form one tag, it looks like a typing slip, and the loss cannot be seen.
    return None if left is None or re.match(b"<[^<>]*>", as_bytes(left)[tag.start() :]) else left


def _without(body: bytes, start: int, stop: int) -> str | None:
    """The bytes around a gap; None where the gap cannot be detected."""
    left = body[:start] + body[stop:]
    # Without one end of a comment, the URLs in it look listed.
    torn = any(body.rfind(b"<!--", 0, at + 3) > body.rfind(b"-->", 0, at) for at in (start, stop))
    return None if torn or plainly_listed(left) is not None else as_text(left)


class Damaged(NamedTuple):
    """A document, and the clean URLs that it listed before it was damaged, in order."""

    kind: str
    body: bytes
    truth: tuple[str, ...]


class Damage(NamedTuple):
    """A kind of damage: its description, and the function that applies it."""

    what: str
    apply: Break


def damaged(kind: str, seed: int, entries: int = 20) -> Damaged:
    """A urlset of so many entries (1 or more), damaged in one or several places; equal arguments, equal bytes.

    `kind` is a key of DAMAGES. Raises UsageError for others, and for less than one entry.

    >>> document = damaged("bare-doctype", seed=7, entries=3)
    >>> b"<!DOCTYPE" in document.body, len(document.truth)
    (True, 3)
    """
    if kind not in DAMAGES:
        raise UsageError(f"kind must be one of {', '.join(DAMAGES)}, not {kind!r}")
    if entries < 1:
        raise UsageError(f"entries must be 1 or more, not {entries}")
    dice = Dice(f"{kind} {seed} {entries}")
    while True:
        clean = draw_clean(dice, entries)
        text = DAMAGES[kind].apply(clean, dice)
        if text is None or (text == clean.text and kind != "nothing"):
            continue
        body = as_bytes(text)
        if plainly_listed(body) in (None, clean.truth):
            return Damaged(kind, body, clean.truth)


# --- the kinds ---

# What programs leave in their output.
NOTICE = "Notice: Undefined variable: url in /srv/www/sitemap.php on line 31"
NOTICE_AS_HTML = "<br />\n<b>Notice</b>:  Undefined index: url in <b>/srv/www/sitemap.php</b> on line <b>31</b><br />\n"
NOTICE_AS_OLD_HTML = NOTICE_AS_HTML.replace("<br />", "<br>")
RETIRED = f"<url><loc>{HOST}/retired/a--b</loc></url>"
NAMES = f"{START}|{END}|{FIELD}"

DAMAGES: dict[str, Damage] = {
    "nothing": Damage("the clean document, for comparison", nothing),
    # references
    "bare-ampersand": Damage("`&amp;` as `&`, also `&copy=` and `&lt=`", parts("&amp;", bare_ampersands)),
    "bare-ampersand-in-title": Damage("` & ` in a title", parts(TITLE, into_text(" & ", "&", "&;", " &c", "&#"))),
    "html-entity-in-loc": Damage("`&eacute;` in a loc", parts(LATIN, as_entities)),
    "html-entity-in-title": Damage(
        "`&nbsp;` or an unknown entity in a title",
        parts(TITLE, into_text("&nbsp;", "&rsquo;", "&ndash;", "&hellip;", "&Eacute;", "&unknown;")),
    ),
    "bad-character-reference": Damage(
        "`&#0;`, half a surrogate pair and similar in a title",
        parts(TITLE, into_text("&#0;", "&#31;", "&#xFFFFFF;", "&#xZZ;", "&#55357;&#56832;", "&#65535;", "&#x;")),
    ),
    "bare-doctype": Damage("a DOCTYPE with an external subset, some with HTML entities in a loc", bare_doctype),
    # characters
    "control-character": Damage(
        "characters that XML does not allow, in a title or date",
        parts(TEXT, into_text(*map(chr, (0, 1, 7, 8, 11, 12, 14, 27, 31, 0xFFFE, 0xFFFF)))),
    ),
    "invalid-utf8": Damage("latin-1 bytes in a loc", parts(LATIN, as_latin_1, max_places=100)),
    "cut-character": Damage(
        "half a UTF-8 sequence, or a surrogate pair as UTF-8, in a title",
        parts(TITLE, into_text("\udcc3", "\udce2\udc80", "\udced\udca0\udcbd\udced\udcb8\udc80", "\udcff", "\udc92")),
    ),
    "encoding-label": Damage(
        "an encoding that does not exist, or is not that of the bytes",
        parts(DECLARED, put("UTF-8", "utf8", "UFT-8", "utf8mb4", "unicode", "UTF-16", "", "UTF-8;", "none")),
    ),
    # tags
    "unclosed-field": Damage("an end tag such as `</lastmod>` or `</loc>` lost", parts(FIELD, put(r"</[\w:]+>\Z", ""))),
    "misspelled-end-tag": Damage("`</lok>`, `</Loc>`, `</lastmd>`, `</ulr>`", parts(f"{FIELD}|{END}", misspelled)),
    "misspelled-start-tag": Damage("`<Loc>...</loc>`, `<loc>...</image:loc>`", parts(FIELD, start_misspelled)),
    "stray-end-tag": Damage(
        "`</b>`, `</url>` and others where nothing is open",
        parts(NAMES, behind("</b>", "</url>", "</lastmod>", "</loc>", "</p>", "</image:image>", "</image:title>")),
    ),
    "swapped-end-tags": Damage("`</url></loc>`", pairs(r"(</[\w:]+>)(\s*)(</[\w:]+>)", r"\3\2\1")),
    "slash-dropped": Damage("`<loc>` for `</loc>`", parts(f"{FIELD}|{END}", put(r"</([\w:]+>)\Z", r"<\1"))),
    "slash-behind-name": Damage(
        "`<loc />` for `</loc>`", parts(f"{FIELD}|{END}", put(r"</([\w:]+)>\Z", r"<\1 />", r"<\1/>"))
    ),
    "backslash": Damage(r"`<\/loc>`, `<\loc>`", parts(f"{FIELD}|{END}", put(r"</([\w:]+>)\Z", r"<\\/\1", r"<\\\1"))),
    "doubled-start-tag": Damage("`<loc><loc>`", parts(f"{FIELD}|{START}", put(r"^<[\w:]+>", r"\g<0>\g<0>"))),
    "closed-too-early": Damage("`<lastmod/>2026-11-01</lastmod>`", parts(FIELD, put(r"^(<[\w:]+)>", r"\1/>"))),
    "space-in-tag": Damage(
        "`< loc>`, `</ loc>`, `< /loc>`",
        parts(NAMES, either(put("^<", "< "), put(CLOSING, r"</ \1", r"< /\1"))),
    ),
    "doubled-bracket": Damage(
        "`<<loc>`, `<</loc>`, `</loc>>`",
        parts(NAMES, either(put("^<", "<<"), put(CLOSING, r"<</\1", r"</\1>"))),
    ),
    "missing-greater-than": Damage(
        "`</lastmod<changefreq>`, `<lastmod2026-11-01`",
        parts(f"{NAMES}|{LINK}|{ROOT}", either(put(r"^(<[^<>]*)>", r"\1"), put(r">\Z", ""))),
    ),
    "missing-less-than": Damage(
        "`loc>...</loc>`, `<loc>.../loc>`",
        parts(NAMES, either(put("^<", ""), put(CLOSING, r"/\1"))),
    ),
    # attributes
    "unquoted-attribute": Damage(
        "`hreflang=de`, `<url id=7>`",
        parts(f"{LINK}|{ROOT}|{START}", in_turn(put('="([^"]*)"', r"=\1"), put(r"url>\Z", "url id=7>"))),
    ),
    "duplicate-attribute": Damage(
        "an attribute or a namespace twice",
        parts(
            f"{LINK}|{ROOT}|{START}",
            in_turn(put(' ([a-z:]+="[^"]*")', r" \1 \1"), put(r"url>\Z", 'url id="7" id="8">')),
        ),
    ),
    "attribute-without-space": Damage('`rel="alternate"hreflang="de"`', parts(f"{LINK}|{ROOT}", put('" ', '"'))),
    "unclosed-quote": Damage("an attribute's closing quote lost", parts(f"{LINK}|{ROOT}", put('"(?=[ />])', ""))),
    "stray-quote": Damage('`<loc">`', parts(f"{FIELD}|{START}", put(r"^(<[\w:]+)>", r'\1">', r"\1'>"))),
    "unbound-prefix": Damage("a prefix is used, its declaration is lost", unbound_prefix),
    # entries
    "missing-entry-end": Damage("`</url>` lost", parts(END, put(".+", ""))),
    "missing-entry-start": Damage("`<url>` lost", parts(START, put(".+", ""))),
    # comments, CDATA, text that looks like markup
    "malformed-comment": Damage(
        "`--` inside a comment, or `<!- ... ->`",
        parts(
            f"{START}|{END}",
            behind("<!-- a -- b -->", "<!-- cached --->", "<!--- new --->", "<!- new ->", f"<!-- {RETIRED} -->"),
        ),
    ),
    "unclosed-comment": Damage("`-->` lost", open_comment),
    "unclosed-cdata": Damage("`]]>` lost, in a loc or a title", unended_cdata),
    "broken-cdata-start": Damage("`<!CDATA[`, `[CDATA[`", parts(f"{PLAIN_LOC}|{TITLE}", broken_cdata)),
    "cdata-end-in-title": Damage("`]]>` in a title", parts(TITLE, into_text("]]>"))),
    "stray-less-than": Damage(
        "`5 < 6`, `<3` in a title", parts(TITLE, into_text(" < ", "<3", " <- ", "<", "<<", " 5<6 ", "<b", "<="))
    ),
    "html-in-title": Damage("`<br>`, `</b>` in a title", parts(TITLE, into_text("<br>", "<b>", "</b>", "<p>", "</p>"))),
    "html-between-entries": Damage(
        "a notice of PHP, or an unclosed `<br>`, between or inside entries",
        parts(NAMES, behind(NOTICE_AS_HTML, NOTICE_AS_OLD_HTML, "<br>", "<p>", "<hr>", f"<p>{NOTICE}", f"<b>{NOTICE}")),
    ),
    "template-leftover": Damage(
        "`<?= $url ?>`, `<% end %>`",
        parts(NAMES, behind("<?= $url ?>", "<? endforeach; ?>", "<% end %>", "<%= url %>", "<#list>")),
    ),
    # beginning and end
    "junk-before-declaration": Damage(
        "blank lines, a notice of PHP or a second BOM before the declaration",
        parts(DECLARED, before("\n", "\n\n  ", "\ufeff\ufeff", f"{NOTICE}\n", NOTICE_AS_HTML, "<!-- cached -->\n")),
    ),
    "broken-declaration": Damage(
        "`<?xml ...>`, `<xml ...?>`, curly or no quotes, another order",
        parts(
            DECLARED,
            put(
                ".+",
                '<?xml version="1.0" encoding="UTF-8">',
                '<xml version="1.0" encoding="UTF-8"?>',
                '<? xml version="1.0" encoding="UTF-8"?>',
                '<?xml version="1.0" encoding="UTF-8"? >',
                '<?XML version="1.0" encoding="UTF-8"?>',
                "<?xml version=“1.0” encoding=“UTF-8”?>",
                "<?xml version=1.0 encoding=UTF-8?>",
                '<?xml encoding="UTF-8" version="1.0"?>',
                '<?xml version="1.0"encoding="UTF-8"?>',
                '<?xml encoding="UTF-8"?>',
            ),
        ),
    ),
    "declaration-twice": Damage(
        "a second XML declaration, also between entries",
        parts(f"{DECLARED}|{ROOT}|{END}", behind(DECLARATION, f"\n{DECLARATION}\n"), max_places=2),
    ),
    "second-document": Damage("the document ends between two entries and begins anew", second_document),
    "early-root-end": Damage("`</urlset>` between two entries", early_root_end),
    "wrong-root-end": Damage(
        "the root's end tag lost, or another one",
        parts(LAST, put(".+", "", "</urlst>", "</sitemapindex>", "</url>", "<urlset>")),
    ),
    "junk-behind-the-end": Damage(
        "a notice, a script, NULs behind the root",
        parts(LAST, behind(NOTICE, NOTICE_AS_OLD_HTML, "<script>a(1 && 2)</script>", "\0\0", "</body></html>", "<")),
    ),
    # bytes lost
    "cut": Damage("cut anywhere", cut),
    "hole": Damage("bytes lost from inside a tag to anywhere", hole),
}
