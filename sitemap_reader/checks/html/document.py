"""A self-contained HTML document: title, style, script and body in; the text of a page that loads nothing out.

Its Content-Security-Policy permits only its own style and script, by their hashes, and on request images in `data:`
URLs.
"""

from __future__ import annotations

from base64 import b64encode
from hashlib import sha256
from importlib.resources import files
from typing import TYPE_CHECKING

from ...model.errors import printable
from .elements import Html, element, shortened, site_text

if TYPE_CHECKING:
    from collections.abc import Sequence

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
        element("title", printable(shortened(title, _TITLE_CHARS))),  # text only: no element may stand in it
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
    """The notes as a list under a heading; None without any."""
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
