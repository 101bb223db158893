"""Builds HTML elements: names, text and attributes in, escaped markup out.

Text that a site wrote can neither open a tag nor change the writing direction around it, and invisible characters in it
are shown by their numbers.
"""

from __future__ import annotations

import re
from html import escape
from itertools import groupby
from urllib.parse import urlsplit

from ...model.errors import markup_without_commands, printable

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
    return Html(f"<{start}>{joined(*inside)}</{name}>")


def joined(*inside: str | None) -> Html:
    """The parts in a row; None is left out."""
    return Html("".join(each if isinstance(each, Html) else text(each) for each in inside if each is not None))


def text(value: str) -> Html:
    r"""Escaped text: `<` is `&lt;`, and invisible characters are shown by their numbers.

    >>> text("<\x1b")
    '&lt;<span class="unseen">\\x1b</span>'
    """
    if value.isprintable():
        return Html(_escaped(value))
    runs = ((seen, _escaped(printable("".join(run)))) for seen, run in groupby(value, str.isprintable))
    return Html("".join(run if seen else f'<span class="unseen">{run}</span>' for seen, run in runs))


def shortened(value: str, limit: int = SHOWN_CHARS) -> str:
    """The text, cut in the middle: a URL is known by its beginning, and what is wrong is often at its end.

    >>> shortened("https://e.com/a/b/c", 10)
    'https…/b/c'
    """
    if len(value) <= limit:
        return value
    end = (limit - 1) // 2
    return f"{value[: limit - 1 - end]}…{value[-end:]}"


def site_text(value: str) -> Html:
    """Text that a site wrote, isolated in its direction: Hebrew in it does not move the numbers beside it."""
    return element("bdi", shortened(value))


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
    return joined(*(element("code", run) if number % 2 else _linked(run) for number, run in enumerate(runs) if run))


def _linked(value: str) -> Html:
    runs = _ADDRESS.split(value)
    return joined(*(link(run) if number % 2 else run for number, run in enumerate(runs)))


def _attribute(name: str, value: str | bool | None) -> str:
    if value is None or value is False:
        return ""
    name = name.rstrip("_").replace("_", "-")
    return f" {name}" if value is True else f' {name}="{_escaped(printable(value))}"'


def _escaped(value: str) -> str:
    return markup_without_commands(escape(value))
