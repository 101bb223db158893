"""What an answer means: the head of a response in, the next step out; and what a user can do about a failure.

Decides by status and headers alone. 404 and 410 mean that nothing is there; any other failure of a robots.txt or a
well-known path leaves open what is there, and is reported with a remedy. Sources: RFC 9110 (statuses, Location,
Retry-After), RFC 9309 2.3.1 (robots.txt).
"""

from __future__ import annotations

import re
from http import HTTPStatus
from typing import TYPE_CHECKING

import attrs

from ..model.limits import advice
from ..parser.content.sniff import Format
from ..parser.normalise.urls import clean_url
from .host_queue import retry_after, slow_down
from .robots_rules import ALLOW_ALL, Rules, rules_for_status

if TYPE_CHECKING:
    from datetime import datetime

    from ..model.limits import Limits
    from ..model.records import Outcome
    from .document_request import DocumentRequest, Head

ABSENT = frozenset({404, 410})
REFUSED = frozenset({401, 403, 407, 429, 451})  # it is there, but not for this client, or not now

_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_BUSY = frozenset({HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE})


@attrs.frozen
class Read:
    """Read the body: it is the document."""


@attrs.frozen
class Follow:
    """Request `target` instead."""

    target: str


@attrs.frozen
class Settle:
    """The rules of a robots.txt follow from its head alone; `message` where that is reported.

    `refused`: there may be a robots.txt all the same, so its Sitemap lines are not known.
    """

    rules: Rules
    message: str | None = None
    refused: bool = False


@attrs.frozen
class Refuse:
    """There is nothing to read.

    `transient`: another try may help, after a pause of the host of `pause_seconds`; `skip_host`: request nothing more
    of this host.
    """

    code: str
    message: str
    transient: bool = False
    pause_seconds: float = 0.0
    skip_host: bool = False


@attrs.frozen
class Unchanged:
    """304: the document is as it was when an earlier crawl read it."""


Step = Read | Follow | Settle | Refuse | Unchanged


def judge(request: DocumentRequest, head: Head, limits: Limits, today: datetime) -> Step:
    """The next step for a request that got this head; `today` is the wall-clock time."""
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
    elif head.status == HTTPStatus.NOT_MODIFIED and request.headers:  # else the request was not conditional
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
        return _dead_end(request, f"redirected to {location[:200]!r}, which is no http or https URL")
    if target in way:
        return _dead_end(request, f"redirect loop: {' -> '.join([*way, target])[:500]}")
    if len(way) > limit:
        return _dead_end(request, f"more than {limit} redirects; {advice(field, 'follow more')}")
    return Follow(target)


def _dead_end(request: DocumentRequest, message: str) -> Step:
    """A redirect without a usable target. RFC 9309 2.3.1.2: such a robots.txt is unavailable, so all is allowed."""
    if request.is_robots:
        return Settle(ALLOW_ALL, message)
    return Refuse("F04", message)


def _busy(request: DocumentRequest, head: Head, limits: Limits, today: datetime) -> Refuse:
    """429 or 503: pauses the host for Retry-After up to max_wait_seconds; for a few seconds after a bare 429."""
    message = _text(head.status)
    seconds = retry_after(head.headers.get("retry-after"), today)
    if seconds is None:
        is_limited = head.status == HTTPStatus.TOO_MANY_REQUESTS
        seconds = min(slow_down(request.tries), limits.max_wait_seconds) if is_limited else 0.0
    if seconds > limits.max_wait_seconds:
        message += f", Retry-After {seconds:,.0f} s is over {limits.max_wait_seconds:,.0f} s"
        return Refuse("F04", f"{message}; {advice('max_wait_seconds', 'wait for it')}", skip_host=True)
    return Refuse("F01", message, transient=True, pause_seconds=seconds)


def _text(status: int) -> str:
    """`404 Not Found`; a number without a registered phrase stands alone."""
    try:
        return f"{status} {HTTPStatus(status).phrase}"
    except ValueError:
        return f"{status:03}"


# --- failures: messages and remedies ---

# A message that ends with a remedy gets no other.
OWN_REMEDY = re.compile(r".*; ((?:check |raise |try |--).*)", re.DOTALL)

OTHER_AGENT = "try another User-Agent (-A, user_agent=...), or have this one allow-listed"
_LATER = "try again later"
_WITHOUT = "--no-robots (obey_robots=False)"
_BY_STATUS = {
    401: '--auth (auth="USER:PASSWORD") signs in',
    407: "check the user and the password of the proxy (--proxy)",
    429: f"{_LATER}, or {advice('max_wait_seconds', 'wait longer')}",
    451: "try from another network (--proxy)",
}


def with_remedy(message: str, status: int | None, *, closes_host: bool = False) -> str:
    """The message of a failure with a remedy. `closes_host`: of a robots.txt without which nothing is fetched.

    >>> with_remedy("401 Unauthorized", 401)
    '401 Unauthorized; --auth (auth="USER:PASSWORD") signs in'
    >>> with_remedy("shop.example: no such host; check the spelling", None, closes_host=True)
    'shop.example: no such host; check the spelling'
    """
    if OWN_REMEDY.fullmatch(message):
        return message
    if status is None:  # no answer at all: another try, or another client
        return f"{message}; {_LATER}, or with another User-Agent (-A, user_agent=...)"
    remedy = _BY_STATUS.get(status, OTHER_AGENT if 300 <= status <= 499 else _LATER)
    if closes_host:
        return f"{message}, so nothing on this host is fetched; {remedy}, or go on with {_WITHOUT}"
    return f"{message}; {remedy}"


def hides_sitemap_lines(outcome: Outcome) -> bool:
    """Whether it is an HTML page in place of a robots.txt: which sitemaps the site names is unknown."""
    return outcome.format == Format.ROBOTS and "F05" in outcome.problems


def is_refusal(request: DocumentRequest, code: str) -> bool:
    """Whether a failure leaves open what is there: any but 404, 410, and what robots.txt forbids."""
    return code != "F02" and not (code == "F01" and request.status in ABSENT)


def message_of_both_schemes(https: str, http: str, status: int | None) -> str:
    """The message for a bare host that failed over https, then over http; `status` is what http answered, if it did.

    >>> message_of_both_schemes("TLS certificate has expired; --insecure", "connection refused; check the port", None)
    'connection refused; over https: TLS certificate has expired; --insecure'
    """
    if https == http:
        return http
    if status is not None:
        return f"{_without_remedy(https)}; over http: {http}"
    return f"{_without_remedy(http)}; over https: {https}"


def _without_remedy(message: str) -> str:
    found = OWN_REMEDY.fullmatch(message)
    return message[: found.start(1) - 2] if found else message


def remove_page_problem(robots: Outcome) -> bool:
    """Removes F05 from the outcome of a robots.txt, if it is there: its severity is decided by the end of discovery."""
    if robots.problems.pop("F05", None) is None:
        return False
    robots.samples = tuple(sample for sample in robots.samples if sample.code != "F05")
    return True
