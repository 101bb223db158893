"""A report as HTML: a Report in, one page out that needs nothing else, or a short form of it for a notebook.

The page may load nothing and run nothing but its own style and script, whose hashes its policy names.
"""

from __future__ import annotations

from base64 import b64encode
from hashlib import sha256
from importlib.resources import files
from typing import TYPE_CHECKING

from ...client.summary import count_of
from ...model.errors import printable
from ...serialize.jsonl import stamp
from ...version import __version__
from ..findings import SEVERITIES
from ..rule_docs import explain
from .cards import WORDS, amount, findings_part, mark, mending, nothing, overview, place, sentence, sitemaps, words
from .elements import Html, element, joined, link, prose, said, shortened
from .tables import figures_part, sitemaps_part

if TYPE_CHECKING:
    from ..findings import Finding
    from ..report import Report

_COMPLETE = "Complete: no sitemap, and no part of one, is missing."
_UNKNOWN = "Not known whether all was read: the source, such as a dump of URLs alone, does not say."
_STATES = {True: "complete", False: "partial", None: "unknown"}
_TITLE_CHARS = 200
_LONG_CHARS = 40
# A notebook is saved with what it shows.
FRAGMENT_FINDINGS = 50


def page(report: Report) -> str:
    """The whole report as an HTML document, to be written as UTF-8."""
    figures = figures_part(report)
    main = element(
        "main",
        _head(report, _contents(has_figures=figures is not None)),
        _score(report),
        overview(report),
        _notes(report),
        findings_part(report),
        sitemaps_part(report),
        figures,
    )
    foot = element("footer", element("p", f"sitemap-reader {__version__}"))
    return f"<!DOCTYPE html>\n{element('html', _document_head(report), element('body', main, foot), lang='en')}\n"


def fragment(report: Report) -> str:
    """The report in short, for a page of somebody else's: no script, and a style that reaches nothing else."""
    shown = report.findings[:FRAGMENT_FINDINGS]
    more = len(report.findings) - len(shown)
    return element(
        "div",
        element("style", _resource("fragment.css")),
        element("p", element("strong", "Sitemap audit"), " of ", link(report.target), ", as of ", _time(report)),
        element("p", _state(report), class_="state"),
        _score(report),
        _notes(report),
        element("ol", *map(_item, shown)) if shown else nothing(report),
        element("p", f"{count_of(more, 'more finding')}: to_html() has all.") if more else None,
        class_="sitemap-reader-audit",
    )


# --- around ---


def _document_head(report: Report) -> Html:
    style, script = _resource("page.css"), _resource("page.js")
    policy = {
        "default-src": "'none'",
        "style-src": _hash_of(style),
        "script-src": _hash_of(script),
        "base-uri": "'none'",
        "form-action": "'none'",
    }
    title = printable(shortened(f"Sitemap audit: {report.target}", _TITLE_CHARS))
    return element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content="; ".join(map(" ".join, policy.items()))),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("meta", name="referrer", content="no-referrer"),
        element("meta", name="robots", content="noindex"),
        element("title", title),  # where no element can stand
        element("style", style),
        element("script", script, type="module"),
    )


def _resource(name: str) -> Html:
    """A file of ours that goes into the page as it is."""
    return Html(files(__package__).joinpath(name).read_text("utf-8"))


def _hash_of(inline: str) -> str:
    return f"'sha256-{b64encode(sha256(inline.encode()).digest()).decode()}'"


# --- what both have ---


def _head(report: Report, contents: Html) -> Html:
    return element(
        "header",
        element("div", element("p", "Sitemap audit", class_="eyebrow"), contents, class_="bar"),
        element("h1", link(report.target), class_="long" if len(report.target) > _LONG_CHARS else "short"),
        element("p", "As of ", _time(report), class_="when"),
        element("p", _state(report, "#sitemaps"), class_=f"state {_STATES[report.complete]}"),
        class_="top",
    )


def _state(report: Report, tree: str | None = None) -> Html:
    """Whether all was read; `tree` is where what is missing can be seen."""
    if report.complete is None:
        return joined(_UNKNOWN)
    if report.complete:
        return joined(_COMPLETE)
    seen = element("a", report.missing, href=tree) if report.missing and tree else report.partial
    return joined("Partial: ", seen, "; so findings may be missing too.")


def _time(report: Report) -> Html:
    moment = stamp(report.at) or ""
    return element("time", f"{moment[:10]} {moment[11:16]} UTC", datetime=moment)


def _score(report: Report) -> Html:
    """The counts that matter, in one row."""
    problems = [
        (mark(severity, WORDS[severity][report.count(severity) != 1]), report.count(severity), severity)
        for severity in SEVERITIES
    ]
    known = report.complete is not None or report.sitemaps
    rest = [
        ("URLs listed", report.urls),
        ("Unique URLs", report.pages),
        ("Sitemaps", sitemaps(report) if known else None),
    ]
    return element(
        "dl",
        *(_count(name, count, f"of-{severity}" if count else None) for name, count, severity in problems),
        *(_count(name, count) for name, count in rest),
        class_="score",
    )


def _count(name: str, count: int | None, css_class: str | None = None) -> Html:
    """A number and its name; None is not known."""
    return element("div", element("dt", name), element("dd", "–" if count is None else f"{count:,}"), class_=css_class)


def _notes(report: Report) -> Html | None:
    if not report.notes:
        return None
    heading = element("h2", "Notes")
    notes = element("ul", *(element("li", said(note)) for note in report.notes))
    return element("section", heading, notes, class_="notes")


def _contents(*, has_figures: bool) -> Html:
    names = ["findings", "sitemaps"] + ["figures"] * has_figures
    links = [element("a", name.capitalize(), href=f"#{name}") for name in names]
    return element("nav", *links, aria_label="Parts of this page")


def _item(finding: Finding) -> Html:
    """A finding with one of its places, and how to fix it."""
    sample = next(iter(finding.samples), None)
    where = None if sample is None else element("p", place(sample), ": ", words(sample), class_="sample")
    title = element("strong", sentence(finding.title))
    return element(
        "li",
        element("p", mark(finding.severity), " ", element("code", finding.code), " ", title),
        element("p", joined(amount(finding), ". Expected: "), prose(explain(finding.code).rule), class_="rule"),
        where,
        mending(finding),
    )
