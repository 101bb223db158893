"""Builds HTML: elements with escaped text and attributes; and a self-contained document, which loads nothing.

Text that a site wrote can neither open a tag nor change the writing direction around it, and invisible characters in it
are shown by their numbers. The Content-Security-Policy of a document permits only its own style and script, by their
hashes, and on request images in `data:` URLs.
"""

from __future__ import annotations

import re
from base64 import b64encode
from hashlib import sha256
from html import escape
from importlib.resources import files
from itertools import groupby
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from ...model.errors import markup_without_commands, printable

if TYPE_CHECKING:
    from collections.abc import Sequence


SHOWN_CHARS = 500
# Longer URLs are not sure to work in every browser.
MAX_LINK_CHARS = 2_048
_VOID = frozenset({"meta", "link", "input", "img", "source"})
_ADDRESS = re.compile(r"(https?://[^\s<>\"`]*[^\s<>\"`.,;:)])")


class Html(str):
    """Markup, which is not escaped again. Only this module makes it from text."""

    __slots__ = ()


def element(name: str, /, *inside: str | None, **attributes: str | bool | None) -> Html:
    """An element; `class_` is class, `aria_label` is aria-label, and None or False leaves an attribute out.

    >>> element("p", "a < b", element("b", "!"), class_="x", hidden=True)
    '<p class="x" hidden>a &lt; b<b>!</b></p>'
    """
    start = name + "".join(_attribute(each, value) for each, value in attributes.items())
    if name in _VOID:
        return Html(f"<{start}>")
    return Html(f"<{start}>{join(*inside)}</{name}>")


def join(*inside: str | None) -> Html:
    return Html("".join(each if isinstance(each, Html) else text(each) for each in inside if each is not None))


def text(value: str) -> Html:
    r"""Escaped text: `<` is `&lt;`, and invisible characters are shown by their numbers.

    >>> text("<\x1b")
    '&lt;<span class="unseen">\\x1b</span>'
    """
    if value.isprintable():
        return Html(_escape(value))
    runs = ((seen, _escape(printable("".join(run)))) for seen, run in groupby(value, str.isprintable))
    return Html("".join(run if seen else f'<span class="unseen">{run}</span>' for seen, run in runs))


def shorten(value: str, limit: int = SHOWN_CHARS) -> str:
    """The text, cut in the middle: a URL is known by its beginning, and what is wrong is often at its end.

    >>> shorten("https://e.com/a/b/c", 10)
    'https…/b/c'
    """
    if len(value) <= limit:
        return value
    end = (limit - 1) // 2
    return f"{value[: limit - 1 - end]}…{value[-end:]}"


def site_text(value: str) -> Html:
    """Text that a site wrote, isolated in its direction: Hebrew in it does not move the numbers beside it."""
    return element("bdi", shorten(value))


def link(url: str, shown: str | None = None) -> Html:
    """A link to a web address without credentials; other URLs as text. `shown` replaces the text."""
    label = site_text(url if shown is None else shown)
    if not is_address(url):
        return label
    return element("a", label, href=url, rel="noopener noreferrer nofollow")


def is_address(url: str) -> bool:
    """Whether it is safe to link to.

    >>> is_address("https://e.com/"), is_address("javascript:alert(1)"), is_address("https://me:pass@e.com/")
    (True, False, False)
    """
    if len(url) > MAX_LINK_CHARS or not url.isprintable() or " " in url or "\\" in url:
        return False
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.netloc) and "@" not in parts.netloc


def prose(value: str) -> Html:
    """A sentence of this package: `code` between backticks, addresses as links; an unpaired backtick stays.

    >>> prose("`<loc>` is needed")
    '<code>&lt;loc&gt;</code> is needed'
    """
    runs = value.split("`")
    if len(runs) % 2 == 0:
        runs[-2:] = ["`".join(runs[-2:])]
    return join(
        *(element("code", run) if number % 2 else _link_addresses(run) for number, run in enumerate(runs) if run)
    )


def _link_addresses(value: str) -> Html:
    runs = _ADDRESS.split(value)
    return join(*(link(run) if number % 2 else run for number, run in enumerate(runs)))


def _attribute(name: str, value: str | bool | None) -> str:
    if value is None or value is False:
        return ""
    name = name.rstrip("_").replace("_", "-")
    return f" {name}" if value is True else f' {name}="{_escape(printable(value))}"'


def _escape(value: str) -> str:
    return markup_without_commands(escape(value))


_TITLE_CHARS = 200


def html_document(title: str, *body: Html | None, style: Html, script: Html, has_images: bool = False) -> str:
    """The whole document, to be written as UTF-8; the title is cut in the middle. `has_images`: in `data:` URLs."""
    policy = {
        "default-src": "'none'",
        "style-src": _hash_of(style),
        "script-src": _hash_of(script),
        **({"img-src": "data:"} if has_images else {}),
        "base-uri": "'none'",
        "form-action": "'none'",
    }
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content="; ".join(map(" ".join, policy.items()))),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("meta", name="referrer", content="no-referrer"),
        element("meta", name="robots", content="noindex"),
        element("title", printable(shorten(title, _TITLE_CHARS))),  # text only: no element may stand in it
        element("style", style),
        element("script", script, type="module"),
    )
    return f"<!DOCTYPE html>\n{element('html', head, element('body', *body), lang='en')}\n"


def resource(package: str, name: str) -> Html:
    """A style sheet or script of a package, which goes into the page unescaped."""
    return Html(files(package).joinpath(name).read_text("utf-8"))


def _hash_of(inline: str) -> str:
    return f"'sha256-{b64encode(sha256(inline.encode()).digest()).decode()}'"


# --- parts of pages ---


def labelled_count(name: str, count: int | None, css_class: str | None = None) -> Html:
    """A number with its name; None is shown as a dash."""
    return element("div", element("dt", name), element("dd", "–" if count is None else f"{count:,}"), class_=css_class)


def notes_section(notes: Sequence[str]) -> Html | None:
    if not notes:
        return None
    items = element("ul", *(element("li", site_text(note)) for note in notes))
    return element("section", element("h2", "Notes"), items, class_="notes")


def scrolling_table(title: str, columns: Sequence[tuple[str, bool]], rows: Sequence[Sequence[Html]]) -> Html:
    """A table in a box that scrolls sideways where the table is wider, also by keyboard."""
    head = [element("th", name, scope="col", class_="number" if right else None) for name, right in columns]
    table = element(
        "table",
        element("caption", title, class_="aside"),
        element("thead", element("tr", *head)),
        element("tbody", *(element("tr", *row) for row in rows)),
    )
    return element("div", table, class_="scroll", tabindex="0", role="region", aria_label=title)
