"""Renders the templates with Jinja2: every value is escaped, and a page loads nothing but what stands in it.

Text that a site wrote can neither open a tag nor change the writing direction around it, and invisible characters in it
are written by their numbers. The Content-Security-Policy of a page permits its own style and script only, by their
hashes.
"""

from __future__ import annotations

import re
from base64 import b64encode
from datetime import datetime
from functools import cache
from hashlib import sha256
from html import escape
from importlib.resources import files
from itertools import groupby
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from ..model.errors import markup_without_commands, printable
from ..model.problems import count_of, percent
from ..serialize.jsonl import stamp
from ..version import __version__

if TYPE_CHECKING:
    from jinja2 import Environment

MAX_TEXT_CHARS = 500
# Longer URLs are not sure to work in every browser.
MAX_LINK_CHARS = 2_048
_ADDRESS = re.compile(r"(https?://[^\s<>\"`]*[^\s<>\"`.,;:)])")
_STYLE = "style.css"


def render(template: str, *, scripts: tuple[str, ...] = (), connects: bool = False, **values: Any) -> str:
    """A page, or a part of one, to be written as UTF-8; `connects`: its scripts may request URLs of its own origin."""
    style, script = _source(_STYLE), "".join(map(_source, scripts))
    html = _environment().get_template(template)
    return html.render(style=_markup(style), script=_markup(script), policy=policy_of(scripts, connects), **values)


def policy_of(scripts: tuple[str, ...], connects: bool = False) -> str:
    """The Content-Security-Policy of a page with these scripts."""
    script = "".join(map(_source, scripts))
    rules = {
        "default-src": "'none'",
        "style-src": _hash_of(_source(_STYLE)),
        "script-src": _hash_of(script) if script else "'none'",
        **({"connect-src": "'self'", "img-src": "data:"} if connects else {}),
        "base-uri": "'none'",
        "form-action": "'none'",
    }
    return "; ".join(map(" ".join, rules.items()))


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


def shorten(text: str, limit: int = MAX_TEXT_CHARS) -> str:
    """The text, cut in the middle: a URL is known by its beginning, and what is wrong is often at its end.

    >>> shorten("https://e.com/a/b/c", 10)
    'https…/b/c'
    """
    if len(text) <= limit:
        return text
    end = (limit - 1) // 2
    return f"{text[: limit - 1 - end]}…{text[-end:]}"


@cache
def _environment() -> Environment:
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader(__package__),
        autoescape=True,
        finalize=_finalize,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    environment.globals |= {"version": __version__}
    environment.filters |= {
        "count_of": count_of,
        "number": "{:,}".format,
        "moment": _moment,
        "percent": percent,
        "prose": _prose,
        "sentence": lambda text: text[:1].upper() + text[1:],
        "shorten": shorten,
        "stamp": stamp,
        "visible": _visible,
    }
    environment.tests["address"] = is_address
    return environment


@cache
def _source(name: str) -> str:
    return files(__package__).joinpath("templates", name).read_text("utf-8")


def _hash_of(source: str) -> str:
    return f"'sha256-{b64encode(sha256(source.encode()).digest()).decode()}'"


# --- values ---


def _markup(html: str) -> Any:
    from markupsafe import Markup

    return Markup(html)  # noqa: S704 - of our own files, or escaped


def _escape(text: str) -> str:
    return markup_without_commands(escape(printable(text)))


def _finalize(value: Any) -> Any:
    """What stands in a page for any value of a template, in an element or an attribute."""
    if value is None:
        return ""
    return _markup(_escape(value)) if isinstance(value, str) and not hasattr(value, "__html__") else value


def _visible(text: str) -> Any:
    r"""Text in an element, with a mark around invisible characters, which are written by their numbers."""
    if text.isprintable():
        return _markup(_escape(text))
    runs = ((is_visible, _escape("".join(run))) for is_visible, run in groupby(text, str.isprintable))
    return _markup("".join(run if is_visible else f'<span class="unseen">{run}</span>' for is_visible, run in runs))


def _prose(text: str) -> Any:
    """A sentence of this package: `code` between backticks, addresses as links; an unpaired backtick stays."""
    runs = text.split("`")
    if len(runs) % 2 == 0:
        runs[-2:] = ["`".join(runs[-2:])]
    parts = [f"<code>{_escape(run)}</code>" if number % 2 else _linked(run) for number, run in enumerate(runs) if run]
    return _markup("".join(parts))


def _linked(text: str) -> str:
    return "".join(_link(run) if is_address(run) else _escape(run) for run in _ADDRESS.split(text))


def _link(url: str) -> str:
    return f'<a href="{_escape(url)}" rel="noopener noreferrer nofollow"><bdi>{_escape(url)}</bdi></a>'


def _moment(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M} UTC"
