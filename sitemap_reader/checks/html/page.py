"""Renders the result of an audit as a self-contained HTML page, or as a short fragment for a notebook."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...client.summary import count_of
from ...serialize.jsonl import stamp
from ...version import __version__
from ..findings import SEVERITIES
from ..rule_docs import explain
from . import cards
from .document import html_document, labelled_count, notes_section, resource
from .elements import Html, element, joined, link, prose
from .tables import figures_part, sitemaps_part

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..findings import AuditResult, Finding
    from ..occurrences import Occurrence

_COMPLETE = "All sitemaps were read completely."
_UNKNOWN = "Completeness unknown: the source, such as a dump of URLs alone, does not state it."
_STATES = {True: "complete", False: "partial", None: "unknown"}
_LONG_CHARS = 40
# A notebook is saved with its output, which should stay small.
FRAGMENT_FINDINGS = 50


def render_page(result: AuditResult, occurrences: Sequence[Occurrence] = (), file: str | None = None) -> str:
    """The whole report as an HTML document, to be written as UTF-8, with the data of these occurrences.

    `file` is the name of the file that has those beyond them.
    """
    figures = figures_part(result)
    main = element(
        "main",
        _head(result, _contents(has_figures=figures is not None)),
        _score(result),
        cards.overview(result),
        _url_checks(result),
        notes_section(result.notes),
        cards.findings_part(result, len(occurrences), file),
        sitemaps_part(result),
        figures,
    )
    foot = element("footer", element("p", f"sitemap-reader {__version__}"))
    style, script = resource(__package__, "page.css"), resource(__package__, "page.js")
    data = cards.occurrence_data(result, occurrences) if occurrences else None
    return html_document(f"Sitemap audit: {result.name}", main, foot, data, style=style, script=script)


def render_fragment(result: AuditResult) -> str:
    """A short report to embed in another page: no script, and styles for its own elements only."""
    title = element("p", element("strong", "Sitemap audit"), " of ", link(result.name), ", as of ", _time(result))
    return _fragment(
        result, title, element("style", resource(__package__, "fragment.css")), more_in="to_html() has all"
    )


def render_several(results: Sequence[AuditResult], headline: str) -> str:
    """Short reports one after the other behind a list of their targets, as an HTML document."""
    rows = [
        element("li", element("a", result.name, href=f"#target-{number}"), f": {result.headline}")
        for number, result in enumerate(results, 1)
    ]
    head = element(
        "header", element("h1", "Sitemap audit"), element("p", headline), element("nav", element("ul", *rows))
    )
    parts = []
    for number, result in enumerate(results, 1):
        title = element("p", "As of ", _time(result))
        part = _fragment(result, title, more_in="the report of this target alone has all")
        heading = element("h2", link(result.name))
        parts.append(element("section", heading, part, id=f"target-{number}"))
    foot = element("footer", element("p", f"sitemap-reader {__version__}"))
    style = Html(resource(__package__, "fragment.css") + _SEVERAL_CSS)
    return html_document("Sitemap audit", element("main", head, *parts), foot, style=style, script=Html(""))


_SEVERAL_CSS = "body { font-family: system-ui, sans-serif; margin: 2rem auto; max-width: 56rem; padding: 0 1rem; }"


def _fragment(result: AuditResult, *head: Html, more_in: str) -> Html:
    shown = result.findings[:FRAGMENT_FINDINGS]
    more = len(result.findings) - len(shown)
    return element(
        "div",
        *head,
        element("p", _state(result), class_="state"),
        _score(result),
        notes_section(result.notes),
        element("ol", *map(_item, shown)) if shown else cards.nothing(result),
        element("p", f"{count_of(more, 'more finding')}: {more_in}.") if more else None,
        class_="sitemap-reader-audit",
    )


# --- summary and notes ---


def _head(result: AuditResult, contents: Html) -> Html:
    return element(
        "header",
        element("div", element("p", "Sitemap audit", class_="eyebrow"), contents, class_="bar"),
        element("h1", link(result.name), class_="long" if len(result.name) > _LONG_CHARS else "short"),
        element("p", "As of ", _time(result), class_="when"),
        element("p", _state(result, "#sitemaps"), class_=f"state {_STATES[result.complete]}"),
        class_="top",
    )


def _state(result: AuditResult, tree: str | None = None) -> Html:
    """Whether all was read; the number of unread documents links to `tree`."""
    if result.complete is None:
        return joined(_UNKNOWN)
    if result.complete:
        return joined(_COMPLETE)
    unread = element("a", result.missing, href=tree) if result.missing and tree else result.partial
    return joined("Partial: ", unread, "; findings may be missing.")


def _url_checks(result: AuditResult) -> Html | None:
    if result.url_checks is None:
        return None
    lines = element("ul", *(element("li", line) for line in result.url_checks.lines()))
    heading = element("h2", "Checked URLs")
    return element("section", heading, element("p", result.url_checks.headline), lines, class_="notes")


def _time(result: AuditResult) -> Html:
    moment = stamp(result.at) or ""
    return element("time", f"{moment[:10]} {moment[11:16]} UTC", datetime=moment)


def _score(result: AuditResult) -> Html:
    """Problems by severity, and the numbers of URLs and sitemaps, in one row."""
    problems = [
        (cards.mark(severity, cards.WORDS[severity][result.count(severity) != 1]), result.count(severity), severity)
        for severity in SEVERITIES
    ]
    known = result.complete is not None or result.sitemaps
    unique = f", {result.pages:,} unique" if result.pages != result.urls else ""
    rest = [
        ("URLs listed", None if result.dropped is None else result.urls + result.dropped),
        ("Dropped", result.dropped),
        (f"Kept{unique}", result.urls),
        ("Sitemaps", cards.sitemaps(result) if known else None),
    ]
    return element(
        "dl",
        *(labelled_count(name, count, f"of-{severity}" if count else None) for name, count, severity in problems),
        *(labelled_count(name, count) for name, count in rest),
        class_="score",
    )


def _contents(*, has_figures: bool) -> Html:
    names = ["findings", "sitemaps"] + ["figures"] * has_figures
    links = [element("a", name.capitalize(), href=f"#{name}") for name in names]
    return element("nav", *links, aria_label="Parts of this page")


def _item(finding: Finding) -> Html:
    """A finding with one sample, and how to fix it."""
    sample = next(iter(finding.samples), None)
    where = None if sample is None else element("p", cards.place(sample), ": ", cards.words(sample), class_="sample")
    title = element("strong", cards.sentence(finding.title))
    return element(
        "li",
        element("p", cards.mark(finding.severity), " ", element("code", finding.code), " ", title),
        element("p", joined(finding.occurrences, ". Expected: "), prose(explain(finding.code).rule), class_="rule"),
        where,
        cards.how_to_fix(finding),
    )
