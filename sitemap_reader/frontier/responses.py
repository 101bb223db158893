"""What an answer means: the head of a response in, the next step out; and what a user can do about a failure.

judge() decides by status and headers alone. 404 and 410 mean that nothing is there; any other failure of a robots.txt
or a well-known path leaves open what is there, and is reported with a remedy. Sources: RFC 9110 (statuses, Location,
Retry-After), RFC 9309 2.3.1 (robots.txt).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from http import HTTPStatus
from typing import TYPE_CHECKING, Literal

import attrs

from ..model.limits import advice
from ..parser.content.sniff import Format
from ..parser.normalise.urls import clean_url
from .documents import NO_COOKIES, Cookies, Failed, Received
from .host_queue import MAX_RETRY_AFTER_SECONDS, retry_after, slow_down
from .robots_rules import ALLOW_ALL, Rules, rules_for_status

if TYPE_CHECKING:
    from ..model.limits import Limits
    from ..model.records import Outcome
    from .documents import Document, DocumentRequest, Head
    from .host_queue import WaitReason
    from .plan import Plan

ABSENT = frozenset({404, 410})
# Success, but not the document: 202 is a challenge of a bot wall (AWS WAF) or "not yet"; 203 is a proxy's version, 204
# and 205 have no body, 206 has a part.
NO_DOCUMENT = frozenset(range(202, 207))
REFUSED = frozenset({202, 401, 403, 407, 429, 451})  # it is there, but not for this client, or not now
# RFC 6585 4: 429 is "not now", as a 5xx is, though it is a 4xx.
_CODES = {**dict.fromkeys(ABSENT, "F01"), 202: "F17", 429: "F18"}

_HTML_TYPES = frozenset({"", "text/html", "application/xhtml+xml"})
_HIDING_CODES = frozenset({"F04", "F05", "F14", "F17", "F18"})
PROXY_REMEDY = "check the user and the password of the proxy (--proxy)"
REDIRECTS = frozenset({300, 301, 302, 303, 307, 308})  # 300: RFC 9110 15.4.1, where Location has the preferred choice
# Headers by which bot walls name what they send (AWS WAF, Cloudflare), and their values.
_WALL_HEADERS = ("x-amzn-waf-action", "cf-mitigated")
_WALL_ACTIONS = frozenset({"challenge", "captcha", "block"})
# The root of others has the name of the format.
_FORMATS_OF_BODIES: dict[str, str] = {Format.RSS: "RSS", Format.ATOM: "Atom", Format.TEXT: "a list of URLs"}
BUSY = frozenset({HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE})  # a Retry-After counts


@attrs.frozen
class Follow:
    target: str
    cookies: Cookies = NO_COOKIES


@attrs.frozen
class RulesByStatus:
    """A robots.txt whose body is not read: its rules follow from the status."""

    rules: Rules
    message: str | None = None  # reported, if there is one
    refusal: str | None = None  # the code, if there may be a robots.txt all the same: its Sitemap lines are not known


@attrs.frozen
class Refuse:
    """There is nothing to read."""

    failed: Failed
    pause_seconds: float = 0.0  # of the host, before the next try and requests of other crawls
    pause_reason: WaitReason = "retry-after"
    skip_host: bool = False  # request nothing more of this host


# Read the body: it is the document. Unchanged (304): the document is as it was when an earlier crawl read it.
Step = Literal["read", "unchanged"] | Follow | RulesByStatus | Refuse


def judge(request: DocumentRequest, head: Head, limits: Limits, today: datetime) -> Step:
    """The next step for a request that got this head; `today` is the wall-clock time."""
    if head.status == HTTPStatus.PROXY_AUTHENTICATION_REQUIRED:  # of the host: that of the caller's proxy is raised
        failed = Failed(code_of(head.status), _text(head), transient=False, remedy=PROXY_REMEDY)
        return Refuse(failed, skip_host=True)
    if head.status in REDIRECTS and "location" in head.headers:
        return _redirect(request, head, limits, today)
    if request.document.is_robots:
        rules = ALLOW_ALL if head.status in NO_DOCUMENT else rules_for_status(head.status)
        if rules == "read":
            return "read"
        if rules.why is None:
            if head.status in ABSENT:
                return RulesByStatus(rules)
            return RulesByStatus(rules, _text(head), code_of(head.status))
    elif is_success(head.status) and head.status not in NO_DOCUMENT:
        return "read"
    elif head.status == HTTPStatus.NOT_MODIFIED and head.is_conditional:
        return "unchanged"
    if head.status in BUSY:
        return _busy(request, head, limits, today)
    return Refuse(_failed(head, transient=500 <= head.status <= 599))


def _redirect(request: DocumentRequest, head: Head, limits: Limits, today: datetime) -> Step:
    location = head.headers["location"]
    target = clean_url(location, request.url).url
    field = "max_robots_redirects" if request.document.is_robots else "max_redirects"
    limit: int = getattr(limits, field)
    way = [*request.redirects, request.url]
    if target is None:
        return _dead_end(request, f"redirected to {location[:200]!r}, which is no http or https URL")
    set_cookie = head.headers.get("set-cookie")
    cookies = request.cookies.after(request.url, set_cookie, len(way), today)
    cause = "; the server sets a cookie and redirects to the same URL" if set_cookie and target in way else ""
    if target in way[cookies.changed_at :]:  # with other cookies it may be another answer
        return _dead_end(request, f"redirect loop: {' -> '.join([*way, target])[:500]}{cause}")
    if len(way) > limit:
        return _dead_end(request, f"more than {limit} redirects{cause}", advice(field, "follow more"))
    return Follow(target, cookies)


def _dead_end(request: DocumentRequest, message: str, remedy: str | None = None) -> Step:
    """A redirect without a usable target. RFC 9309 2.3.1.2: such a robots.txt is unavailable, so all is allowed."""
    failed = Failed("F04", message, transient=False, remedy=remedy)
    return RulesByStatus(ALLOW_ALL, failed.text) if request.document.is_robots else Refuse(failed)


def _busy(request: DocumentRequest, head: Head, limits: Limits, today: datetime) -> Refuse:
    """429 or 503: pauses the host for Retry-After up to max_wait_seconds; for a few seconds after a bare 429."""
    message = _text(head)
    seconds = retry_after(head.headers.get("retry-after"), today)
    reason: WaitReason = "retry-after" if seconds is not None else "backoff"
    if seconds is None:
        is_limited = head.status == HTTPStatus.TOO_MANY_REQUESTS
        seconds = min(slow_down(request.tries), limits.max_wait_seconds) if is_limited else 0.0
    if seconds > limits.max_wait_seconds:
        stated = f"{seconds:,.0f} s{' or more' if seconds == MAX_RETRY_AFTER_SECONDS else ''}"
        message += f", Retry-After {stated} is over {limits.max_wait_seconds:,.0f} s"
        remedy = advice("max_wait_seconds", "wait for it")
        failed = Failed(code_of(head.status), message, transient=False, remedy=remedy)
        return Refuse(failed, seconds, reason, skip_host=True)
    return Refuse(_failed(head, transient=True), seconds, reason)


def _failed(head: Head, *, transient: bool) -> Failed:
    remedy = None if head.sitemap_format is None else "search engines read it only with status 200"
    return Failed(code_of(head.status), _text(head), transient=transient, remedy=remedy)


def is_success(status: int | None) -> bool:
    """Whether it is a status from 200 to 299 (RFC 9110 15.3)."""
    return status is not None and 200 <= status <= 299


def is_html(headers: Mapping[str, str]) -> bool:
    """Whether a response is HTML by its Content-Type; one without a type may be. Names of `headers` are lower-case."""
    return headers.get("content-type", "").partition(";")[0].strip().lower() in _HTML_TYPES


def code_of(status: int) -> str:
    """The code of the Problem of a document that was answered with this status, and not with the document.

    >>> [code_of(status) for status in (404, 410, 401, 403, 418, 429, 500, 503, 302, 202, 206)]
    ['F01', 'F01', 'F17', 'F17', 'F17', 'F18', 'F18', 'F18', 'F18', 'F17', 'F18']
    """
    return _CODES.get(status) or ("F17" if 400 <= status <= 499 else "F18")  # F18: the fault of the server


def _text(head: Head) -> str:
    """`404 Not Found`, `202 Accepted (x-amzn-waf-action: challenge)`; behind it, that the body is a sitemap."""
    try:
        text = f"{head.status} {HTTPStatus(head.status).phrase}"
    except ValueError:  # it has no registered phrase
        text = f"{head.status:03}"
    actions = ((name, head.headers.get(name, "").strip().lower()) for name in _WALL_HEADERS)
    text += "".join(f" ({name}: {action})" for name, action in actions if action in _WALL_ACTIONS)
    if head.sitemap_format is None:
        return text
    what = _FORMATS_OF_BODIES.get(head.sitemap_format) or f"<{head.sitemap_format}>"
    return f"{text}, though the body is a sitemap ({what})"


def wall_at(robots: Document | None, probes: Sequence[Document]) -> Literal["robots", "paths"] | None:
    """Where a page may hide what a host has: in place of robots.txt, or at the well-known paths only."""
    # Only for a host on which no sitemap was found, and no request was refused. `probes` are the well-known paths that
    # were requested. A host is believed to have no sitemap if its robots.txt has a line of one, or if it answers 404
    # for some path. Bodies are compared by kind, as walls put a new number into each.
    body = None if robots is None else robots.last_alias.robots_body
    last = [each for probe in probes if (each := probe.last_alias).status is not None]  # the others were not due
    pages = [each for each in last if is_success(each.status)]
    html = [each for each in pages if each.outcome and each.outcome.format == Format.HTML]
    answers_all = bool(pages) and len(pages) == len(last)
    if body == "html":
        is_wall = True
    elif body == "other":  # an empty file at a path is no such page
        is_wall = not last or any(each.outcome and "F11" not in each.outcome.problems for each in pages)
    elif body == "comments":  # these are an answer, unless each path has them
        is_wall = answers_all and len({_hash(each) for each in (robots, *last)}) == 1
    else:
        is_wall = body == "empty" and answers_all
    if is_wall:
        return "robots"
    return "paths" if html and len(html) == len(last) else None


def _hash(document: Document | None) -> str | None:
    outcome = None if document is None else document.last_alias.outcome
    return None if outcome is None else outcome.sha256


_WITH_REMEDY = frozenset({"F01", "F04", "F17", "F18"})  # codes with a general remedy; F13 has none
_LATER = "try again later"
NO_ROBOTS = "--no-robots (obey_robots=False)"
_BY_STATUS = {
    401: '--auth (auth="USER:PASSWORD") signs in',
    429: f"{_LATER}, or {advice('max_wait_seconds', 'wait longer')}",
    451: "try from another network (--proxy)",
}


_REFUSED_LOGIN = "the login of --auth (auth=...), --header (headers=...), --netrc (netrc=True) or the URL is refused"


def allow_listing(plan: Plan) -> str:
    return f"try {_another_agent(plan)}, or have this one allow-listed"


def _another_agent(plan: Plan) -> str:
    return f"another User-Agent{' (-A, user_agent=...)' if plan.sends_user_agent else ''}"


def with_remedy(failed: Failed, received: Received, plan: Plan, *, closes_host: bool = False) -> Failed:
    """The failure with its own remedy, or else one by the status, which is None if there was no answer.

    `closes_host`: of a robots.txt without which nothing is fetched.

    >>> from .plan import Plan
    >>> with_remedy(Failed("F17", "401 Unauthorized"), Received(401), Plan()).text
    '401 Unauthorized; --auth (auth="USER:PASSWORD") signs in'
    >>> misspelt = Failed("F04", "no such host", transient=False, remedy="check the spelling")
    >>> with_remedy(misspelt, Received(), Plan()).text
    'no such host; check the spelling'
    """
    status = received.status
    if failed.remedy is not None or failed.code not in _WITH_REMEDY:
        return failed
    if status is None:
        may_be_transient = failed.transient or plan.is_recording  # no recorded failure is, as a retry would be no use
        remedy = f"{_LATER}, or with {_another_agent(plan)}" if may_be_transient else allow_listing(plan)
        return attrs.evolve(failed, remedy=remedy)
    remedy = _BY_STATUS.get(status, allow_listing(plan) if 200 <= status <= 499 else _LATER)
    if status == HTTPStatus.UNAUTHORIZED and received.sent_login:
        remedy = _REFUSED_LOGIN
    if closes_host:
        message = f"{failed.message}, so nothing on this host is fetched"
        return attrs.evolve(failed, message=message, remedy=f"{remedy}, or go on with {NO_ROBOTS}")
    return attrs.evolve(failed, remedy=remedy)


def hides_sitemap_lines(outcome: Outcome) -> bool:
    """Whether a robots.txt could not be read, or a page is in its place: which sitemaps it names is unknown."""
    return outcome.format == Format.ROBOTS and not _HIDING_CODES.isdisjoint(outcome.problems)


def is_refusal(code: str) -> bool:
    """Whether a failure leaves open what is there: any but 404, 410, and what robots.txt forbids."""
    return code not in ("F01", "F02")


def failure_of_both_schemes(https: Failed, http: Failed, status: int | None) -> Failed:
    """The failure of a bare host over https, then over http; `status` is what http answered, if it did.

    >>> expired = Failed("F04", "TLS certificate has expired", transient=False, remedy="--insecure")
    >>> failure_of_both_schemes(expired, Failed("F04", "connection refused", remedy="check the port"), None).text
    'connection refused; over https: TLS certificate has expired; --insecure'
    """
    if https.text == http.text:
        return http
    if status is not None:
        return attrs.evolve(http, message=f"{https.message}; over http: {http.message}")
    message, is_transient = f"{http.message}; over https: {https.message}", http.transient or https.transient
    return attrs.evolve(https, message=message, transient=is_transient)
