"""Judges one page (C01 to C04, C07 to C12): what a crawl file or a response says of it in, its PageFaults out.

Requests nothing, and does not compare pages with each other.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import attrs

from ..model.problems import report
from ..parser.normalise.urls import host, registrable_domain
from .urls import development_host

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ..model.problems import PageKind, Problem, Severity
    from .crawl_file import CrawledPage
    from .findings import Location

    # The status of another URL, by the same crawl or check; None if it is unknown.
    StatusOf = Callable[[str], int | None]

PAGE_CODES = ("C01", "C02", "C03", "C04", "C07", "C08", "C09", "C10", "C11", "C12")
# Faults that the content of a page shows; status and headers may not.
CONTENT_CODES = ("C03", "C04", "C07", "C10", "C11", "C12")
REFUSALS = frozenset({401, 403})


@attrs.frozen
class PageFault:
    """A fault of a page: `text` goes on behind its URL. `severity` replaces that of the code, `remedy` its fix."""

    code: str
    text: str
    kind: PageKind | None = None
    severity: Severity | None = None
    remedy: str | None = None

    def problem(self, at: Location, source: str = "") -> Problem:
        """The problem at a listing; `source` says where it was seen."""
        severity, kind, remedy = self.severity, self.kind, self.remedy
        message = f"{at['raw']} {self.text}{source}"
        return report(self.code, message, **at, severity=severity, kind=kind, remedy=remedy)


def _unknown(url: str) -> int | None:
    return None


def faults_of(page: CrawledPage, status_of: StatusOf = _unknown) -> tuple[PageFault, ...]:
    """The faults of a page; of one without its content only the reason."""
    if page.reason == "blocked":
        return ()  # it was not requested: nothing is known of it
    for judge in _OF_STATUS:
        fault = judge(page, status_of)
        if fault is not None:
            return (fault,)
    return tuple(fault for judge in _OF_CONTENT if (fault := judge(page, status_of)) is not None)


def is_page_status(status: int | None) -> bool:
    """Whether it is neither a redirect nor an error; 304 means that the page is as the crawler has it."""
    return status is None or status < 300 or status == 304


# --- status ---


def _no_response(page: CrawledPage, status_of: StatusOf) -> PageFault | None:
    if page.error is not None:
        return PageFault("C08", f"does not respond ({page.error})")
    is_silent = page.status is None and page.reason == "no response"
    return PageFault("C08", "does not respond") if is_silent else None


def _error(page: CrawledPage, status_of: StatusOf) -> PageFault | None:
    if page.status is None:
        is_error = page.reason in ("client error", "server error")
        return PageFault("C01", f"answers with a {page.reason}") if is_error else None
    if page.status < 400:
        return None
    return PageFault("C09" if page.status in REFUSALS else "C01", f"answers {page.status}")


def _redirect(page: CrawledPage, status_of: StatusOf) -> PageFault | None:
    is_stated = page.status is None and page.reason == "redirected"
    if is_page_status(page.status) and not is_stated:
        return None
    redirects = "redirects" if page.status is None else f"redirects ({page.status})"
    target, final = page.redirect_url, page.final_url or page.redirect_url
    if target is None:
        return PageFault("C02", redirects)
    if not target or final is None:
        return _as(_REDIRECTS, "C02", f"{redirects} without a usable target", "redirect without a target")
    status = page.final_status if page.final_status is not None else status_of(target)
    return _as(_REDIRECTS, "C02", redirects + _way(target, final, status), _kind_of_redirect(page.url, final, status))


def _way(target: str, final: str, status: int | None) -> str:
    if status is not None and not is_page_status(status):
        if final == target and status >= 400:
            return f" to {target}, which answers {status}"
        if status < 400:
            return f" to {target} and on and on, in a loop or more than ten times"
    if final != target and status is not None:
        return f" to {target} and on to {final}, which answers {status}"
    return f" to {target}"


def _kind_of_redirect(url: str, final: str, status: int | None) -> PageKind:
    if status is not None and not is_page_status(status):
        return "redirect loop" if status < 400 else "redirect to an error"
    if not _is_same_site(url, final):
        return "redirect to another site"
    if url.startswith("https:") and final.startswith("http:"):
        return "redirect to http"
    is_replaced = _START_PAGE.fullmatch(final) and not _START_FILE.fullmatch(url)
    return "redirect to the start page" if is_replaced else "redirect within the site"


_START_PAGE = re.compile(r"https?://[^/?]+/?")
# /index.html and the like lead to the start page as they should.
_START_FILE = re.compile(r"https?://[^/?]+/?(?:(?:index|default|home)(?:\.\w+|/)?)?(?:\?.*)?", re.IGNORECASE)


def _is_same_site(one: str, other: str) -> bool:
    return registrable_domain(host(one)) == registrable_domain(host(other))


# Kind -> severity and remedy; None: those of the code.
_Kinds = dict["PageKind", tuple["Severity | None", "str | None"]]
_REDIRECTS: _Kinds = {
    "redirect within the site": (None, None),
    "redirect to an error": ("error", "remove the URL from the sitemap, or redirect it to a page that exists"),
    "redirect to the start page": (
        None, "remove the URL from the sitemap; if its page is gone, answer 404 or 410: search engines may take a "
        "redirect to the start page for a soft 404",
    ),
    "redirect to http": (None, "redirect to https"),
    "redirect to another site": (
        "error", "remove the URL from the sitemap: its page is on another site, whose sitemap lists it",
    ),
    "redirect loop": ("error", "let the URL answer with its page, or remove it from the sitemap"),
    "redirect without a target": (
        "error", "let the URL answer with its page, or name the page in the Location header",
    ),
}  # fmt: skip


def _as(kinds: _Kinds, code: str, text: str, kind: PageKind) -> PageFault:
    severity, remedy = kinds[kind]
    return PageFault(code, text, kind, severity, remedy)


# --- content ---


def _noindex(page: CrawledPage, status_of: StatusOf) -> PageFault | None:
    stated = f" ({page.directives})" if page.directives else ""
    return PageFault("C03", f"is noindex{stated}") if page.noindex else None


def leads_on(page: CrawledPage) -> bool:
    """Whether a meta refresh acts as a redirect: Google takes one at once for a permanent redirect."""
    return page.refresh is not None and page.refresh.seconds == 0


def _refresh(page: CrawledPage, status_of: StatusOf) -> PageFault | None:
    if page.refresh is None:
        # A crawler that runs scripts states so of a page with status 200, too.
        target = page.redirect_url or "another URL"
        is_stated = page.status is not None and page.reason == "redirected"
        return PageFault("C10", f"leads on to {target}", "meta refresh at once") if is_stated else None
    seconds, target = page.refresh.seconds, page.refresh.target
    if seconds == 0:
        status = status_of(target)
        is_error = status is not None and status >= 400
        severity: Severity | None = "error" if is_error else None
        answers = f", which answers {status}" if is_error else ""
        remedy = "remove the URL from the sitemap, or lead on to a page that exists" if is_error else None
        return PageFault("C10", f"leads on to {target} at once{answers}", "meta refresh at once", severity, remedy)
    text = f"leads on to {target} after {seconds} s"
    return PageFault(
        "C10", text, "meta refresh after a delay", "notice", "remove the meta refresh if the page is to stay"
    )


def _canonical_fault(page: CrawledPage, status_of: StatusOf) -> PageFault | None:
    kind = page.canonical_fault or ("several canonical URLs" if page.canonicals else None)
    if kind not in _CANONICAL_FAULTS:
        return None
    named = f": {', '.join(page.canonicals[:3])}" if page.canonicals else ""
    return PageFault("C11", f"{_CANONICAL_FAULTS[kind]}{named}", kind)  # type: ignore[arg-type]


_CANONICAL_FAULTS: dict[str, str] = {
    "several canonical URLs": "names several canonical URLs",
    "canonical outside of the head": "names its canonical URL outside of the head, where it is ignored",
    "canonical without its scheme": "names a canonical URL without https://, which is read as a path",
    "empty canonical": "has an empty canonical link",
    "unreadable canonical": "has a canonical link that is no URL",
}


def _canonical(page: CrawledPage, status_of: StatusOf) -> PageFault | None:
    if leads_on(page) or page.canonicals or page.canonical_fault:
        return None  # that fault is the reason
    if page.canonical is None:
        is_stated = page.reason == "canonicalised"
        return PageFault("C04", "has another canonical URL", "canonical on the same site") if is_stated else None
    if page.canonical == page.url:
        return None
    status = status_of(page.canonical)
    kind = _kind_of_canonical(page.url, page.canonical, status)
    answers = "" if status is None or status < 300 else f", which answers {status}"
    return _as(_OTHER_CANONICALS, "C04", f"has the canonical {page.canonical}{answers}", kind)


def _kind_of_canonical(url: str, canonical: str, status: int | None) -> PageKind:
    return next(_kinds_of_canonical(url, canonical, status))


def _kinds_of_canonical(url: str, canonical: str, status: int | None) -> Iterator[PageKind]:
    if status is not None and status >= 400:
        yield "canonical with an error"
    if status is not None and not is_page_status(status):
        yield "canonical that redirects"
    name = host(canonical)
    if name != host(url) and development_host(name):
        yield "canonical on a host that is not public"
    if url.startswith("https:") and canonical.startswith("http:"):
        yield "canonical on http"
    yield "canonical on the same site" if _is_same_site(url, canonical) else "canonical on another site"


_CORRECT = "correct the canonical URL of the page"
_OTHER_CANONICALS: _Kinds = {
    "canonical on the same site": (None, None),
    "canonical on another site": (
        None, f"remove the URL from the sitemap if the other site has the original, or {_CORRECT}",
    ),
    "canonical on a host that is not public": (None, f"{_CORRECT}: its host seems not to be that of the public site"),
    "canonical on http": (None, f"{_CORRECT}: write https"),
    "canonical that redirects": (None, f"{_CORRECT}, and list the page to which it redirects"),
    "canonical with an error": (None, f"{_CORRECT}: there is no page at it"),
}  # fmt: skip


def _soft_404(page: CrawledPage, status_of: StatusOf) -> PageFault | None:
    title = f": {page.title}" if page.title else ""
    status = "200" if page.status is None else page.status
    return PageFault("C07", f"answers {status} with an error page{title}") if page.soft_404 else None


def _empty(page: CrawledPage, status_of: StatusOf) -> PageFault | None:
    if not page.empty or leads_on(page):
        return None
    return PageFault("C12", f"answers {page.status} with an empty page")


_OF_STATUS = (_no_response, _error, _redirect)
_OF_CONTENT = (_noindex, _refresh, _canonical_fault, _canonical, _soft_404, _empty)
