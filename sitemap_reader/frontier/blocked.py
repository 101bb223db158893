"""A host that refuses: which answers mean that nothing is there, and what helps against the others.

In: the status of an answer, and the message of a failure. Out: the message with what to do behind it. 404 and 410 are
absent; any other failure of a robots.txt or a well-known path leaves open what is there, and is reported.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ..model.limits import advice
from ..model.problems import report
from ..parser.content.sniff import Format

if TYPE_CHECKING:
    from ..model.records import Outcome
    from .deferred import DeferredDocuments
    from .document_request import DocumentRequest, Site
    from .events import Events
    from .host_queue import Host

ABSENT = frozenset({404, 410})
REFUSED = frozenset({401, 403, 407, 429, 451})  # it is there, but not for this client, or not now

# A message that ends with what to do says nothing more of it.
OWN_REMEDY = re.compile(r".*; ((?:check |raise |try |--).*)", re.DOTALL)

_OTHER_AGENT = "try another User-Agent (-A, user_agent=...), or have this one allow-listed"
_LATER = "try again later"
_WITHOUT = "--no-robots (obey_robots=False)"
_BY_STATUS = {
    401: '--auth (auth="USER:PASSWORD") signs in',
    407: "check the user and the password of the proxy (--proxy)",
    429: f"{_LATER}, or {advice('max_wait_seconds', 'wait longer')}",
    451: "try from another network (--proxy)",
}


def with_remedy(message: str, status: int | None, *, closes_host: bool = False) -> str:
    """The message of a failure, and what helps. `closes_host`: a robots.txt for want of which nothing is fetched.

    >>> with_remedy("401 Unauthorized", 401)
    '401 Unauthorized; --auth (auth="USER:PASSWORD") signs in'
    >>> with_remedy("shop.example: no such host; check the spelling", None, closes_host=True)
    'shop.example: no such host; check the spelling'
    """
    if OWN_REMEDY.fullmatch(message):
        return message
    if status is None:  # no answer at all: another try, or another client
        return f"{message}; {_LATER}, or with another User-Agent (-A, user_agent=...)"
    remedy = _BY_STATUS.get(status, _OTHER_AGENT if 300 <= status <= 499 else _LATER)
    if closes_host:
        return f"{message}, so nothing on this host is fetched; {remedy}, or go on with {_WITHOUT}"
    return f"{message}; {remedy}"


def hides_names(outcome: Outcome) -> bool:
    """Whether it is an HTML page in place of a robots.txt: which sitemaps the site names is not known."""
    return outcome.format == Format.ROBOTS and "F05" in outcome.problems


def is_refusal(request: DocumentRequest, code: str) -> bool:
    """Whether this failure leaves open what is there: anything but a 404, a 410, and what robots.txt forbids."""
    return code != "F02" and not (code == "F01" and request.status in ABSENT)


def of_both_schemes(https: str, http: str, status: int | None) -> str:
    """The failure of a bare host's second scheme with that of the first; `status` is what http answered, if it did.

    >>> of_both_schemes("TLS certificate has expired; --insecure", "connection refused; check the port", None)
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


def take_page(robots: Outcome) -> bool:
    """Takes the F05 out of what the parser says of a robots.txt: how grave it is, the end of discovery decides."""
    if robots.problems.pop("F05", None) is None:
        return False
    robots.samples = tuple(sample for sample in robots.samples if sample.code != "F05")
    return True


class BlockPages:
    """HTML pages with status 200 in place of a robots.txt or of sitemaps: end() of each site's discovery judges them.

    Where a sitemap was found, a page in place of robots.txt is a warning, and one at a well-known path nothing. Where
    none was found, one in place of robots.txt, or at every well-known path, is an error: it may hide what is there.
    """

    def __init__(self, events: Events, held: DeferredDocuments) -> None:
        self._events = events
        self._held = held

    def end(self, site: Site, host: Host) -> None:
        """Nothing is left to look for on the site's account; `host` is its own."""
        site.is_over = True
        robots = host.robots_request
        if robots is not None and robots.is_page:
            if all(each.is_over for each in robots.sites):
                found = any(each.has_sitemap or each.candidates for each in robots.sites)
                self.report_page(robots, is_wall=not (found or host.blocked))
        elif site.has_only_pages and not host.blocked:
            page = site.pages[0]
            assert page.outcome is not None  # noqa: S101 - for the type checker: it has ended
            problem = report("F05", _wall("where a sitemap should be, at every well-known path"), sitemap=page.asked)
            page.outcome.samples = (problem, *(each for each in page.outcome.samples if each.code != "F05"))
            self._events.report_guess(page)
            site.list_candidate(page.outcome)

    def report_page(self, robots: DocumentRequest | None, *, is_wall: bool = False) -> None:
        """Reports a page in place of a robots.txt, if it is one, and ends that document."""
        if robots is None or not robots.is_page:
            return
        robots.is_page = False
        place = "where a robots.txt should be"
        if is_wall:
            self._events.note(robots, "F05", _wall(f"{place}, and no sitemap at a well-known path"))
        else:
            self._events.note(robots, "F05", f"an HTML page {place}", severity="warning")
        if robots.outcome is not None:
            robots.outcome.complete = robots.outcome.complete and not is_wall
            self._held.end(robots, robots.outcome)
            for site in robots.sites if is_wall else ():
                site.list_candidate(robots.outcome)


def _wall(place: str) -> str:
    return f"an HTML page {place}: a bot wall, or what this host sends for missing files; {_OTHER_AGENT}"
