"""How a clean document is broken: functions that take it apart and put it together wrongly.

A Break gives the text of the damaged document, in which half a surrogate pair stands for a raw byte, or None where
this throw of the dice would mislead an honest reader. damage.py has the table that names them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from html.entities import codepoint2name

from .clean import DECLARATION, Clean, Dice, as_bytes, as_text, plainly_listed

Edit = Callable[[str, Dice], str]
Break = Callable[[Clean, Dice], str | None]

MOST_PLACES = 4  # that are damaged in one document

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


def parts(pattern: str, edit: Edit, most: int = MOST_PLACES) -> Break:
    """Damages one to `most` of the parts that match; every `.` in the pattern is any character."""

    def apply(clean: Clean, dice: Dice) -> str:
        parts = list(clean.parts)
        for place in dice.some(_matching(pattern, clean), most):
            parts[place] = edit(parts[place], dice)
        return clean.gap.join(parts)

    return apply


def pairs(pattern: str, replacement: str) -> Break:
    """Damages one to MOST_PLACES pairs of neighbours."""

    def apply(clean: Clean, dice: Dice) -> str:
        text = clean.text
        for match in sorted(dice.some([*re.finditer(pattern, text)], MOST_PLACES), key=lambda m: -m.start()):
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
    """Without a comment behind it: the end of that one would be its own."""
    at = dice.pick(_matching(f"{START}|{LAST}", clean))
    rest = [part for part in clean.parts[at:] if not part.startswith("<!--")]
    comment = dice.pick(("<!-- products", "<!-- page 2 of 7 --", "<!-- cached ->", "<!--"))
    return clean.gap.join([*clean.parts[:at], comment, *rest])


def unended_cdata(clean: Clean, dice: Dice) -> str:
    """Without a section behind it: the end of that one would be its own."""
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
    return parts(END, behind(f"{clean.gap}{clean.parts[-1]}"), most=2)(clean, dice)


def bare_doctype(clean: Clean, dice: Dice) -> str | None:
    """With the subset named, a parser may drop undefined entities in silence (XML 1.0 4.1, WFC Entity Declared)."""
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
    # Where both edges make one tag, it seems to be a slip of the pen: nobody could see how much is lost.
    return None if left is None or re.match(b"<[^<>]*>", as_bytes(left)[tag.start() :]) else left


def _without(body: bytes, start: int, stop: int) -> str | None:
    """The bytes around a gap; None where nobody could see that there is one."""
    left = body[:start] + body[stop:]
    # Where a comment has lost an end, what is commented out looks as if it were listed.
    torn = any(body.rfind(b"<!--", 0, at + 3) > body.rfind(b"-->", 0, at) for at in (start, stop))
    return None if torn or plainly_listed(left) is not None else as_text(left)
