"""What was typed behind an option -> its value; click.BadParameter says what is wrong with it, and how to write it.

What the reader would refuse anyway is refused here, by the name of the option. Each is a callback of click's.
"""

from __future__ import annotations

import math
import re
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click
from click.shell_completion import CompletionItem

from ..model.errors import UsageError
from ..model.limits import GIB, KIB, MIB, MOST_CRAWL_DELAY_SECONDS

if TYPE_CHECKING:
    from collections.abc import Iterator

# RFC 9110 5.6.2: a field name is a token.
_HEADER = re.compile(r"\s*([!#$%&'*+.^_`|~0-9A-Za-z-]+)\s*:\s*([^\x00-\x08\x0a-\x1f\x7f]*?)\s*")
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_BYTES = re.compile(r"([0-9]{1,18}) *(|[kmg])(?:i?b)?", re.IGNORECASE)
_UNITS = {"": 1, "k": KIB, "m": MIB, "g": GIB}


class Name(click.types.StringParamType):
    """What may be the name of a file or folder: shells complete it. Whether it is there is looked at later."""

    name = "file"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Leaves it to the shell."""
        return [CompletionItem(incomplete, type="file")]


def length(context: click.Context, param: click.Parameter, seconds: float) -> float:
    """A length of time: 0 only where waiting not at all makes sense."""
    if not math.isfinite(seconds) or seconds < 0 or (seconds == 0 and param.name == "timeout"):
        raise click.BadParameter(f"{seconds:g} is no length of time; give a number of seconds", context, param)
    return seconds


def crawl_delay(context: click.Context, param: click.Parameter, seconds: float) -> float:
    """A length of time that may lie between two requests to a host."""
    if length(context, param, seconds) > MOST_CRAWL_DELAY_SECONDS:
        what = f"{seconds:g} is too long; give {MOST_CRAWL_DELAY_SECONDS:g} seconds or less"
        raise click.BadParameter(what, context, param)
    return seconds


def headers(context: click.Context, param: click.Parameter, lines: tuple[str, ...]) -> list[tuple[str, str]]:
    """`Name: value` -> (name, value). A malformed line is not shown: it may be a secret."""
    matches = [_HEADER.fullmatch(line) for line in lines]
    for number, match in enumerate(matches, 1):
        if match is None:
            which = f"header {number} of {len(lines)}" if len(lines) > 1 else "the header"
            raise click.BadParameter(f"{which} has no name and colon; write it as 'Name: value'", context, param)
    return [(match[1], match[2]) for match in matches if match]


def size(context: click.Context, param: click.Parameter, text: str | None) -> int | None:
    """`500M`, `2 GiB` or `1000000`: how many bytes; None where nothing was typed."""
    if text is None:
        return None
    match = _BYTES.fullmatch(text.strip())
    if match is None or not int(match[1]):
        raise click.BadParameter(f"{text!r} is no size; write it as 500M, 2G or a number of bytes", context, param)
    return int(match[1]) * _UNITS[match[2].lower()]


def sendable(context: click.Context, param: click.Parameter, text: str | None) -> str | None:
    """Text that a header can hold."""
    if text is not None and (not text.strip() or _CONTROL.search(text)):
        raise click.BadParameter(f"{text!r} cannot be sent", context, param)
    return text


def login(context: click.Context, param: click.Parameter, text: str | None) -> str | None:
    """`USER:PASSWORD`; malformed text is not shown: it may be a secret."""
    from ..frontier.credentials import make_headers

    with _blamed(context, param):
        make_headers((), text)
    return text


def regular_expressions(
    context: click.Context, param: click.Parameter, patterns: tuple[str, ...]
) -> tuple[str, ...]:
    """Patterns as Python's re has them."""
    from ..frontier.filters import make_patterns

    with _blamed(context, param):
        make_patterns(str(param.name), patterns)
    return patterns


def when(context: click.Context, param: click.Parameter, text: str | None) -> str | None:
    """A date or an age; it stays the text that it is."""
    from ..frontier.window import make_window

    moments = {param.name: text}
    with _blamed(context, param):
        make_window(moments.get("since"), moments.get("until"), "keep", datetime.now(UTC))
    return text


def moment(context: click.Context, param: click.Parameter, text: str | None) -> str | None:
    """One point in time; it stays the text that it is."""
    from ..frontier.window import make_moment

    with _blamed(context, param):
        if text is not None:
            make_moment(str(param.name), text, datetime.now(UTC))
    return text


@contextmanager
def _blamed(context: click.Context, param: click.Parameter) -> Iterator[None]:
    """What the reader would refuse is refused now, by the name of the option."""
    try:
        yield
    except UsageError as exc:
        told = str(exc).removeprefix(str(param.name)).lstrip(": ")
        raise click.BadParameter(told, context, param) from exc
