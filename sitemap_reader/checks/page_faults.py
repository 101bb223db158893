"""Judges one page (C01 to C04, C07 to C12): what a crawl file or a response says of it in, its PageFaults out.

Requests nothing, and does not compare pages with each other.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Literal

import attrs

from ..model.problems import report
from ..parser.normalise.urls import host, registrable_domain
from .urls import development_host

if TYPE_CHECKING:
    from ..model.problems import PageKind, Problem, Severity
    from .crawl_file import CrawledPage
    from .findings import Location

    LookUp = Callable[[str], "KnownPage"]

PAGE_CODES = ("C01", "C02", "C03", "C04", "C07", "C08", "C09", "C10", "C11", "C12")
# Faults that the content of a page shows; status and headers may not.
CONTENT_CODES = ("C03", "C04", "C07", "C10", "C11", "C12")
REFUSALS = frozenset({401, 403})
NO_CONTENT = frozenset({204, 205})  # RFC 9110 15.3.5: there is no body
BUSY = 429  # "not now": it says nothing of the page
_MAX_HOPS = 10  # as many as Google follows


@attrs.frozen
class KnownPage:
    """What the same crawl or check, and robots.txt, say of another URL; nothing by default."""

    status: int | None = None
    noindex: bool = False
    target: str | None = None  # of its redirect
    rules: str = ""  # those of robots.txt that disallow it to search engines
    is_copy: bool = False  # it has another canonical URL

    @property
    def is_error(self) -> bool:
        return self.status is not None and not 200 <= self.status < 400

    @property
    def is_redirect(self) -> bool:
        return not (self.is_error or is_page_status(self.status))

    @property
    def fault(self) -> Literal["error", "redirect", "disallowed", "noindex", "copy"] | None:
        """Why it cannot be indexed, or another page in its place."""
        if self.is_error or self.is_redirect:
            return "error" if self.is_error else "redirect"
        if self.rules or self.noindex:
            return "disallowed" if self.rules else "noindex"
        return "copy" if self.is_copy else None

    @property
    def text(self) -> str:
        """`, which answers 404`; empty without a fault."""
        texts = {
            "error": f"answers {self.status}",
            "redirect": f"answers {self.status}",
            "disallowed": f"is disallowed by {self.rules}",
            "noindex": "is noindex",
            "copy": "has another canonical URL itself",
        }
        return f", which {texts[self.fault]}" if self.fault else ""


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


def _unknown(url: str) -> KnownPage:
    return KnownPage()


def faults_of(page: CrawledPage, look_up: LookUp = _unknown) -> tuple[PageFault, ...]:
    """The faults of a page; of one without its content only the reason."""
    if page.reason == "blocked" or page.status == BUSY:
        return ()  # it was not seen: nothing is known of it
    for judge in _OF_STATUS:
        fault = judge(page, look_up)
        if fault is not None:
            return (fault,)
    return tuple(fault for judge in _OF_CONTENT if (fault := judge(page, look_up)) is not None)


def is_page_status(status: int | None) -> bool:
    """Whether it is neither a redirect nor an error; 304 means that the page is as the crawler has it."""
    return status is None or 200 <= status < 300 or status == 304


# --- status ---


def _no_response(page: CrawledPage, look_up: LookUp) -> PageFault | None:
    if page.error is not None:
        return PageFault("C08", f"does not respond ({page.error})")
    if page.status is not None and page.status < 200:
        return PageFault("C08", f"does not respond: {page.status} is no final response")
    is_silent = page.status is None and page.reason == "no response"
    return PageFault("C08", "does not respond") if is_silent else None


def _error(page: CrawledPage, look_up: LookUp) -> PageFault | None:
    if page.status is None:
        is_error = page.reason in ("client error", "server error")
        return PageFault("C01", f"answers with a {page.reason}") if is_error else None
    if page.status < 400:
        return None
    return PageFault("C09" if page.status in REFUSALS else "C01", f"answers {page.status}")


def _redirect(page: CrawledPage, look_up: LookUp) -> PageFault | None:
    is_stated = page.status is None and page.reason == "redirected"
    if is_page_status(page.status) and not is_stated:
        return None
    redirects = "redirects" if page.status is None else f"redirects ({page.status})"
    if page.redirect_url is None:
        return PageFault("C02", redirects)
    if not page.redirect_url:
        return _as(_REDIRECTS, "C02", f"{redirects} without a usable target", "redirect without a target")
    url, end = _end(page, page.redirect_url, look_up)
    text = redirects + _way(page.redirect_url, url, end)
    return _as(_REDIRECTS, "C02", text, _kind_of_redirect(page.url, url, end))


def _end(page: CrawledPage, target: str, look_up: LookUp) -> tuple[str, KnownPage]:
    """The URL to which a redirect leads in the end, and what is known of it: a redirect if that is a loop."""
    if page.final_url is not None:
        end, status = look_up(page.final_url), page.final_status
        return page.final_url, end if status in (None, BUSY) else attrs.evolve(end, status=status)
    way, end = [page.url, target], look_up(target)
    while end.is_redirect and end.target and end.target not in way and len(way) <= _MAX_HOPS:
        way.append(end.target)
        end = look_up(end.target)
    # Where the target of the last one is not known, it may lead to a page.
    return way[-1], end if end.target or not end.is_redirect else KnownPage()


def _way(target: str, final: str, end: KnownPage) -> str:
    if end.is_redirect:
        return f" to {target} and on and on, in a loop or more than ten times"
    if final == target:
        return f" to {target}{end.text}"
    status = "" if end.status is None else f", which answers {end.status}"
    return f" to {target} and on to {final}{end.text or status}"


def _kind_of_redirect(url: str, final: str, end: KnownPage) -> PageKind:
    return next(_kinds_of_redirect(url, final, end))


def _kinds_of_redirect(url: str, final: str, end: KnownPage) -> Iterator[PageKind]:
    if end.is_redirect:
        yield "redirect loop"
    if end.is_error:
        yield "redirect to an error"
    if _is_of_developers(final, url):
        yield "redirect to a host that is not public"
    if not _is_same_site(url, final):
        yield "redirect to another site"
    if end.fault == "disallowed":
        yield "redirect to a disallowed page"
    if end.fault == "noindex":
        yield "redirect to a noindex page"
    if url.startswith("https:") and final.startswith("http:"):
        yield "redirect to http"
    is_replaced = _START_PAGE.fullmatch(final) and not _START_FILE.fullmatch(url)
    yield "redirect to the start page" if is_replaced else "redirect within the site"


_START_PAGE = re.compile(r"https?://[^/?]+/?")
# /index.html and the like lead to the start page as they should.
_START_FILE = re.compile(r"https?://[^/?]+/?(?:(?:index|default|home)(?:\.\w+|/)?)?(?:\?.*)?", re.IGNORECASE)


def _is_of_developers(other: str, url: str) -> bool:
    name = host(other)
    return name != host(url) and development_host(name) is not None


def _is_same_site(one: str, other: str) -> bool:
    return registrable_domain(host(one)) == registrable_domain(host(other))


# Kind -> severity and remedy; None: those of the code.
_Kinds = dict["PageKind", tuple["Severity | None", "str | None"]]
_REDIRECTS: _Kinds = {
    "redirect within the site": (None, None),
    "redirect to an error": ("error", "remove the URL from the sitemap, or redirect it to a page that exists"),
    "redirect to a noindex page": ("error", "remove the URL from the sitemap, or let its target be indexed"),
    "redirect to a disallowed page": ("error", "remove the URL from the sitemap, or allow its target in robots.txt"),
    "redirect to the start page": (
        None, "remove the URL from the sitemap; if its page is gone, answer 404 or 410: search engines may take a "
        "redirect to the start page for a soft 404",
    ),
    "redirect to http": (None, "redirect to https"),
    "redirect to another site": (
        "error", "remove the URL from the sitemap: its page is on another site, whose sitemap may list it",
    ),
    "redirect to a host that is not public": (
        "error", "correct the redirect: its host seems not to be that of the public site",
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


def _noindex(page: CrawledPage, look_up: LookUp) -> PageFault | None:
    stated = f" ({page.directives})" if page.directives else ""
    return PageFault("C03", f"is noindex{stated}") if page.noindex else None


def leads_on(page: CrawledPage) -> bool:
    """Whether a meta refresh acts as a redirect: Google takes one at once for a permanent redirect."""
    return page.refresh is not None and page.refresh.seconds == 0


def _refresh(page: CrawledPage, look_up: LookUp) -> PageFault | None:
    if page.refresh is None:
        # A crawler that runs scripts states so of a page with status 200, too.
        target = page.redirect_url or "another URL"
        is_stated = page.status is not None and page.reason == "redirected"
        return PageFault("C10", f"leads on to {target}", "meta refresh at once") if is_stated else None
    seconds, target = page.refresh.seconds, page.refresh.target
    if seconds == 0:
        end = look_up(target)
        severity: Severity | None = "error" if end.fault in ("error", "disallowed", "noindex") else None
        remedy = "remove the URL from the sitemap, or lead on to a page that can be indexed" if severity else None
        return PageFault("C10", f"leads on to {target} at once{end.text}", "meta refresh at once", severity, remedy)
    text = f"leads on to {target} after {seconds} s"
    return PageFault(
        "C10", text, "meta refresh after a delay", "notice", "remove the meta refresh if the page is to stay"
    )


def _canonical_fault(page: CrawledPage, look_up: LookUp) -> PageFault | None:
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


def _canonical(page: CrawledPage, look_up: LookUp) -> PageFault | None:
    if leads_on(page) or page.canonicals or page.canonical_fault:
        return None  # that fault is the reason
    if page.canonical is None:
        is_stated = page.reason == "canonicalised"
        return PageFault("C04", "has another canonical URL", "canonical on the same site") if is_stated else None
    if page.canonical == page.url:
        return None
    other = look_up(page.canonical)
    kind = next(_kinds_of_canonical(page.url, page.canonical, other))
    return _as(_OTHER_CANONICALS, "C04", f"has the canonical {page.canonical}{other.text}", kind)


_UNINDEXABLE_CANONICALS: dict[str | None, PageKind] = {
    "error": "canonical with an error",
    "redirect": "canonical that redirects",
    "disallowed": "canonical that is disallowed",
    "noindex": "canonical that is noindex",
    "copy": "canonical of a page with another canonical",
}


def _kinds_of_canonical(url: str, canonical: str, other: KnownPage) -> Iterator[PageKind]:
    if other.fault in _UNINDEXABLE_CANONICALS:
        yield _UNINDEXABLE_CANONICALS[other.fault]
    if _is_of_developers(canonical, url):
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
    "canonical with an error": (None, f"{_CORRECT}, or restore the page at it"),
    "canonical that is noindex": (None, f"{_CORRECT}, or let the page at it be indexed"),
    "canonical that is disallowed": (None, f"{_CORRECT}, or allow the page at it in robots.txt"),
    "canonical of a page with another canonical": (None, f"{_CORRECT}, or that of the page at it"),
}  # fmt: skip


def _soft_404(page: CrawledPage, look_up: LookUp) -> PageFault | None:
    title = f": {page.title}" if page.title else ""
    status = "200" if page.status is None else page.status
    return PageFault("C07", f"answers {status} with an error page{title}") if page.soft_404 else None


def _empty(page: CrawledPage, look_up: LookUp) -> PageFault | None:
    if page.status in NO_CONTENT:
        return PageFault("C12", f"answers {page.status}, which says that it has no content")
    if not page.empty or leads_on(page):
        return None
    return PageFault("C12", f"answers {page.status} with an empty page")


_OF_STATUS = (_no_response, _error, _redirect)
_OF_CONTENT = (_noindex, _refresh, _canonical_fault, _canonical, _soft_404, _empty)
