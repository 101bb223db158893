"""What a crawl does, as DEBUG lines of the logger "sitemap_reader": requests, responses, waits, and what is decided.

A record has its values as attributes, too, with `event`, the name of its kind: for logs that keep fields. Nothing here
decides anything, and nothing is computed unless is_on(). A line has no login of a URL, and no control character.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from ..frontier.documents import Retry, RobotsVerdict, Skip
from ..frontier.robots_rules import AgentRules, product_token
from ..model.errors import masked, printable
from ..parser.normalise.urls import without_userinfo

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..frontier.documents import DocumentRequest
    from ..frontier.frontier import Frontier
    from ..frontier.host_queue import Wait
    from ..model.records import Outcome, SitemapRef
    from .pacing import DocumentTimeouts

LOG = logging.getLogger("sitemap_reader")
LOG.addHandler(logging.NullHandler())  # otherwise Python prints warnings to stderr where logging is not configured
_MOST_CHARACTERS = 500  # of a cause, which may be a message of another library
_URLS = frozenset({"url", "sitemap"})


def is_on() -> bool:
    return LOG.isEnabledFor(logging.DEBUG)


def _log(event: str, template: str, **values: Any) -> None:
    """Logs a line; `template` names its values, of which the record has all."""
    for name, value in values.items():
        if isinstance(value, str):
            values[name] = printable(without_userinfo(value) if name in _URLS else masked(value)[:_MOST_CHARACTERS])
    LOG.debug(template, values, extra={"event": event, **values})


def log_request(request: DocumentRequest, headers: Mapping[str, str]) -> None:
    is_conditional = any(name.lower() in ("if-none-match", "if-modified-since") for name in headers)
    template = "GET %(url)s, try %(tries)d" + (", conditional" if is_conditional else "")
    _log("request", template, method="GET", url=request.url, tries=request.tries, conditional=is_conditional)


def log_response(request: DocumentRequest, status: int | None, timeouts: DocumentTimeouts, cause: str) -> None:
    """Logs the end of a request; `cause` is the error with which it ended, "" without one."""
    template = "no response" if status is None else "%(status)d"
    template += " from %(url)s, %(bytes)d bytes in %(seconds).3f s" + (": %(cause)s" if cause else "")
    values = {"status": status, "url": request.url, "bytes": timeouts.wire_bytes, "seconds": timeouts.seconds}
    _log("response", template, **values, tries=request.tries, cause=cause)


def log_wait(wait: Wait) -> None:
    values = {"host": wait.host, "reason": wait.reason, "seconds": wait.seconds, "status": wait.status}
    _log("wait", "wait of %(text)s", **values, text=str(wait))


def log_skip(url: str, reason: str, cause: str, listed: SitemapRef | None = None, **values: Any) -> None:
    """Logs that a document is not requested; `cause` is more than the `reason` says."""
    template = "skipped %(url)s (%(reason)s)" + (": %(cause)s" if cause else "")
    lastmod = None if listed is None or listed.lastmod is None else listed.lastmod.isoformat()
    if reason == "since":
        template += ": lastmod %(lastmod)s in %(sitemap)s"
    sitemap = None if listed is None else listed.sitemap
    _log("skip", template, url=url, reason=reason, cause=cause, sitemap=sitemap, lastmod=lastmod, **values)


def log_end(outcome: Outcome) -> None:
    """Logs the end of a document."""
    template = "end of %(url)s" + (", %(format)s" if outcome.format else "") + ": kept %(kept)d of %(entries)d"
    if outcome.not_modified:
        template = "end of %(url)s: not modified"
    elif not outcome.complete:
        template += ", not complete" + (": %(cause)s" if outcome.samples else "")
    values: dict[str, Any] = {
        name: getattr(outcome, name)
        for name in ("url", "format", "status", "tries", "entries", "kept", "complete", "not_modified", "problems")
    }
    _log("end", template, **values, cause=str(outcome.samples[0]) if outcome.samples else "")


class VerdictLog:
    """Logs the verdicts of a frontier."""

    def __init__(self, frontier: Frontier) -> None:
        self._frontier = frontier
        self._rules = AgentRules(frontier.policy.rules, (product_token(frontier.plan.user_agent) or "*",))

    def look(self) -> None:
        """Logs what was decided since the last call."""
        for verdict in self._frontier.take_verdicts(are_wanted=is_on()):
            if isinstance(verdict, Skip):
                rule = self._rule(verdict.url) if verdict.reason == "robots" else ""
                cause = f"{verdict.cause}, {rule}" if rule else verdict.cause
                log_skip(verdict.url, verdict.reason, cause, verdict.listed, rule=rule)
            elif isinstance(verdict, Retry):
                template = "retry of %(url)s in %(seconds).1f s, after try %(tries)d: %(cause)s"
                values = {"url": verdict.url, "tries": verdict.tries, "seconds": verdict.seconds}
                _log("retry", template, **values, cause=verdict.cause)
            elif isinstance(verdict, RobotsVerdict):
                self._log_robots(verdict)

    def _rule(self, url: str) -> str:
        """`robots.txt:2 "Disallow: /private/"`, the rule that forbids a URL; "" where a robots.txt was not read."""
        refusals = self._rules.refusals(url)
        return str(refusals[0].rule(url) or "") if refusals else ""

    def _log_robots(self, verdict: RobotsVerdict) -> None:
        what = {"rules": "its rules hold", "allow": "all is allowed", "disallow": "all is forbidden"}[verdict.effect]
        template = f"%(host)s/robots.txt: {what}"
        if verdict.delay_seconds:
            template += ", Crawl-delay %(delay_seconds)g s"
        template += ": %(cause)s" if verdict.cause else ""
        values = {"host": verdict.host, "effect": verdict.effect, "delay_seconds": verdict.delay_seconds}
        _log("robots", template, **values, cause=verdict.cause)
