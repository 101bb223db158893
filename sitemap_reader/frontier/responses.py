"""The head of an answer -> what to do with it, by status and headers alone.

Sources: RFC 9110 (statuses, Location, Retry-After), RFC 9309 2.3.1 (robots.txt).
"""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING

import attrs

from ..model.limits import advice
from ..parser.normalise.urls import clean_url
from .blocked import ABSENT
from .host_queue import retry_after, slow_down
from .robots_rules import ALLOW_ALL, Rules, rules_for_status

if TYPE_CHECKING:
    from datetime import datetime

    from ..model.limits import Limits
    from .document_request import DocumentRequest, Head

_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_BUSY = frozenset({HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE})


@attrs.frozen
class Read:
    """The body is what was asked for."""


@attrs.frozen
class Follow:
    """Ask at `target` instead."""

    target: str


@attrs.frozen
class Settle:
    """A robots.txt whose head alone says what holds; `message` where that is worth a word.

    `refused`: there may be one all the same, so that what it names is not known.
    """

    rules: Rules
    message: str | None = None
    refused: bool = False


@attrs.frozen
class Refuse:
    """Nothing to read. `transient`: another try may help, after `hold_seconds`; `give_up`: ask this host no more."""

    code: str
    message: str
    transient: bool = False
    hold_seconds: float = 0.0
    give_up: bool = False


@attrs.frozen
class Unchanged:
    """The document is as it was when it was read before."""


Step = Read | Follow | Settle | Refuse | Unchanged


def judge(request: DocumentRequest, head: Head, limits: Limits, today: datetime) -> Step:
    """The next step of a visit that got this head."""
    if head.status in _REDIRECTS and "location" in head.headers:
        return _redirect(request, head.headers["location"], limits)
    if request.is_robots:
        rules = rules_for_status(head.status)
        if rules == "read":
            return Read()
        if rules.why is None:
            return Settle(rules) if head.status in ABSENT else Settle(rules, _text(head.status), refused=True)
    elif 200 <= head.status <= 299 and head.status != HTTPStatus.PARTIAL_CONTENT:
        return Read()
    elif head.status == HTTPStatus.NOT_MODIFIED and request.headers:  # else nobody asked for that
        return Unchanged()
    if head.status in _BUSY:
        return _busy(request, head, limits, today)
    return Refuse("F01", _text(head.status), transient=500 <= head.status <= 599)


def _redirect(request: DocumentRequest, location: str, limits: Limits) -> Step:
    target = clean_url(location, request.url).url
    field = "max_robots_redirects" if request.is_robots else "max_redirects"
    limit: int = getattr(limits, field)
    way = [*request.redirects, request.url]
    if target is None:
        return _astray(request, f"redirected to {location[:200]!r}, which is no http or https URL")
    if target in way:
        return _astray(request, f"redirect loop: {' -> '.join([*way, target])[:500]}")
    if len(way) > limit:
        return _astray(request, f"more than {limit} redirects; {advice(field, 'follow more')}")
    return Follow(target)


def _astray(request: DocumentRequest, message: str) -> Step:
    """A redirect that leads nowhere. RFC 9309 2.3.1.2: such a robots.txt is unavailable, so all is allowed."""
    if request.is_robots:
        return Settle(ALLOW_ALL, message)
    return Refuse("F04", message)


def _busy(request: DocumentRequest, head: Head, limits: Limits, today: datetime) -> Refuse:
    """429 or 503: Retry-After is a minimum, up to the user's patience. A 429 without one is given a few seconds."""
    message = _text(head.status)
    asked = retry_after(head.headers.get("retry-after"), today)
    if asked is None:
        is_limited = head.status == HTTPStatus.TOO_MANY_REQUESTS
        asked = min(slow_down(request.tries), limits.max_wait_seconds) if is_limited else 0.0
    if asked > limits.max_wait_seconds:
        message += f", Retry-After {asked:,.0f} s is over {limits.max_wait_seconds:,.0f} s"
        return Refuse("F04", f"{message}; {advice('max_wait_seconds', 'wait for it')}", give_up=True)
    return Refuse("F01", message, transient=True, hold_seconds=asked)


def _text(status: int) -> str:
    """`404 Not Found`; a number that nobody has defined stands alone."""
    try:
        return f"{status} {HTTPStatus(status).phrase}"
    except ValueError:
        return f"{status:03}"
