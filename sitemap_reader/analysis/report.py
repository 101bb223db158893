"""Renders a Snapshot as one self-contained HTML page: a table of its sites, then a part for each question about them.

Charts are pictures in the page, in two versions: light and dark.
"""

from __future__ import annotations

from base64 import b64encode
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import attrs
import pandas as pd

from ..checks.html.elements import (
    Html,
    element,
    html_document,
    is_address,
    labelled_count,
    link,
    notes_section,
    prose,
    resource,
    scrolling_table,
    site_text,
)
from ..client.summary import count_of
from ..frontier.lastmod_trust import judge_history, trust_in_words
from ..model.errors import UsageError
from ..model.problems import percent
from ..version import __version__
from . import measures
from .dates import site_histories
from .notes import SITE_SEPARATOR

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from .chart_spec import Theme
    from .measure import Measure
    from .tables import SnapshotTables

_CHART_WIDTH = 860  # pixels of the area of the marks
_NEW_DAYS = 30
_NAMED_SITES = 3
_SITES = ("The site", "Sites")  # of one, of several
MAX_ROWS = 500
# Fewer rows are read faster than searched.
_SEARCHED_ROWS = 10
_NONE = "–"
# How the names of columns that hold a share of 0 to 1 end.
_SHARES = ("share", "coverage")


@attrs.frozen
class Part:
    name: str
    title: str
    measures: list[Measure]


def render_report(snapshot: SnapshotTables, ours: str | None = None) -> str:
    """The page as an HTML document, to be written as UTF-8. `ours`: the site whose gaps are shown, else the first."""
    if ours is not None and ours not in snapshot.sites:
        raise UsageError(f"there is no site {ours}; there are {', '.join(snapshot.sites) or 'none'}")
    sections = measures.sections(snapshot, 1, by_language=False)
    first = next(iter(snapshot.sites), "")
    parts = _parts(snapshot, ours or first, sections)
    main = element(
        "main",
        _head(snapshot, parts),
        _score(snapshot),
        notes_section(snapshot.notes),
        _sites(snapshot, sections),
        *map(_section, parts),
    )
    foot = element("footer", element("p", f"sitemap-reader {__version__}"))
    style = Html(resource("sitemap_reader.checks.html", "page.css") + resource(__package__, "report.css"))
    script = resource(__package__, "report.js")
    title = f"Sitemaps of {', '.join(snapshot.sites)}"
    return html_document(title, main, foot, style=style, script=script, has_images=True)


def _parts(site: SnapshotTables, ours: str, sections: Measure) -> list[Part]:
    parts = [
        Part("growth", "Growth", [measures.growth(site, site.earlier)] if site.earlier else []),
        Part("sections", "Sections", [sections]),
        Part(
            "rhythm",
            "Rhythm",
            [measures.calendar(site, "month"), measures.weekday_hour(site, "UTC"), measures.freshness(site)],
        ),
        Part("languages", "Languages", [measures.languages(site)]),
        Part("trust", "Trust in lastmods", [measures.lastmod_trust(site)]),
        Part("topics", "Topics", [measures.topics(site, top=50, skip=(), stop_words=True)]),
    ]
    if len(site.sites) > 1:
        gaps = [measures.gaps(site, ours, by) for by in ("topic", "path")]
        parts.append(Part("gaps", f"What others have and {ours} has not", [measures.overlap(site, "path"), *gaps]))
    new = measures.new(site, site.at - timedelta(days=_NEW_DAYS), 1, by_language=False)
    parts.append(Part("new", f"New within {_NEW_DAYS} days", [new]))
    return [part for part in parts if part.measures]


# --- head ---


def _head(snapshot: SnapshotTables, parts: list[Part]) -> Html:
    is_of_several = len(snapshot.sites) > 1
    links = [element("a", part.title, href=f"#{part.name}") for part in parts]
    nav = element("nav", element("a", _SITES[is_of_several], href="#sites"), *links, aria_label="Parts of this page")
    return element(
        "header",
        element("div", element("p", f"Sitemaps{' compared' * is_of_several}", class_="eyebrow"), class_="bar"),
        element("h1", _names(snapshot), class_="long" if is_of_several else "short"),
        element("p", f"Read {snapshot.read_on}" if snapshot.read_on else "Time of reading unknown", class_="when"),
        _state(snapshot),
        nav,
        class_="top",
    )


def _names(snapshot: SnapshotTables) -> str:
    shown = ", ".join(snapshot.sites[:_NAMED_SITES])
    more = len(snapshot.sites) - _NAMED_SITES
    return f"{shown} and {more:,} more" if more > 0 else shown or snapshot.name


_STATES = {
    True: ("complete", "All sitemaps were read completely."),
    False: ("partial", "Partial: sitemaps could not be read, or only in part; URLs may be missing."),
    None: ("unknown", "Completeness unknown: the source does not state it."),
}


def _state(snapshot: SnapshotTables) -> Html:
    css_class, words = _STATES[snapshot.complete]
    return element("p", words, class_=f"state {css_class}")


def _score(snapshot: SnapshotTables) -> Html:
    sitemaps = snapshot.urls.stored["sitemap"].drop_null().unique()
    counts = [("Sites", len(snapshot.sites))] if len(snapshot.sites) > 1 else []
    counts += [("Pages", len(snapshot.pages)), ("Listings", len(snapshot.urls)), ("Sitemaps with URLs", len(sitemaps))]
    return element("dl", *(labelled_count(*pair) for pair in counts), class_="score")


# --- the sites beside each other ---


def _sites(snapshot: SnapshotTables, sections: Measure) -> Html:
    frame = sites_frame(snapshot, sections)
    title = _SITES[len(frame) > 1]
    table = frame_table(frame.rename(columns={"sitemaps": "sitemaps_with_URLs"}), title)
    return element("section", element("h2", title), table, id="sites", class_="part")


def sites_frame(snapshot: SnapshotTables, sections: Measure) -> pd.DataFrame:
    """`site pages sitemaps sections dated_share newest lastmods`, the last how far to trust them; largest first."""
    frame = measures.growth(snapshot, ()).set_index("site")
    frame["sections"] = sections.groupby("site").size()
    frame["dated_share"] = frame["dated"] / frame["pages"]
    trust = {site: trust_in_words(judge_history(history)) for site, history in site_histories(snapshot).items()}
    frame["lastmods"] = frame.index.map(trust)
    frame = frame[["pages", "sitemaps", "sections", "dated_share", "newest", "lastmods"]].reset_index()
    return frame.sort_values("pages", ascending=False, kind="stable")


# --- parts ---


def _section(part: Part) -> Html:
    inside = [element("article", *_measured(made, part.title)) for made in part.measures]
    return element("section", element("h2", part.title), *inside, id=part.name, class_="part")


def _measured(made: Measure, title: str) -> Iterator[Html | None]:
    for line in made.finding.split(SITE_SEPARATOR):
        yield element("p", site_text(line), class_="finding-text")
    if _is_drawn(made):
        yield _picture(made)
    yield element("p", prose(made.rule), class_="rule")
    if len(made):
        yield element("details", element("summary", count_of(len(made), "row")), frame_table(made, title))


def _is_drawn(made: Measure) -> bool:
    """Whether a chart says more than the table: not of URLs that all differ, nor where nothing is new."""
    is_list = made._spec is None or ("loc" in made and made["pages"].max() <= 1)
    return len(made) > 0 and not is_list and ("new" not in made or bool(made["new"].any()))


def _picture(made: Measure) -> Html:
    """The chart, light and dark, in a box that scrolls where it is wider than the window."""
    dark = element("source", srcset=_data_url(made, "dark"), media="(prefers-color-scheme: dark)")
    light = element("img", src=_data_url(made, "light"), alt=made.finding)
    name = f"Chart: {made.finding}"
    return element("div", element("picture", dark, light), class_="drawn", tabindex="0", role="region", aria_label=name)


def _data_url(made: Measure, theme: Theme) -> str:
    svg = made.chart(width=_CHART_WIDTH, theme=theme, titled=False).to_svg()
    return f"data:image/svg+xml;base64,{b64encode(svg.encode()).decode()}"


# --- tables ---


def frame_table(frame: pd.DataFrame, title: str) -> Html:
    """The first rows of each site as a table in a box that scrolls, with a search field if there are many."""
    place = frame.groupby("site", sort=False).cumcount()
    shown = frame.iloc[sorted(place.argsort(kind="stable")[:MAX_ROWS])]
    renderers = [_renderer(str(name), frame[name]) for name in frame]
    columns = [(str(name).replace("_", " "), is_number) for name, (_, is_number) in zip(frame, renderers, strict=True)]
    rows = [_row(values, renderers) for values in shown.itertuples(index=False, name=None)]
    more = len(frame) - len(shown)
    left_out = element("p", f"{more:,} more rows are not shown.", class_="more") if more else None
    table = scrolling_table(title, columns, rows)
    return element("div", _search(title, len(shown)), table, left_out, class_="searchable")


def _search(title: str, rows: int) -> Html | None:
    if rows < _SEARCHED_ROWS:
        return None
    field = element("input", type="search", aria_label=f"Search in {title}", autocomplete="off")
    status = element("span", f"{rows:,} rows", role="status", class_="shown")
    return element("p", element("label", element("span", "Search"), field), status, class_="filters", hidden=True)


def _renderer(name: str, column: pd.Series[Any]) -> tuple[Callable[[Any], Html | str], bool]:
    kind = pd.api.types
    if name.endswith(_SHARES):
        return percent, True
    if kind.is_bool_dtype(column):
        return lambda value: "yes" if value else "no", False
    if kind.is_integer_dtype(column):
        return "{:,}".format, True
    if kind.is_float_dtype(column):
        return "{:,.4g}".format, True
    if kind.is_datetime64_any_dtype(column):
        return _moment, False
    return _text, False


def _moment(value: pd.Timestamp) -> str:
    return f"{value:%Y-%m-%d}" if value == value.normalize() else f"{value:%Y-%m-%d %H:%M}"


def _text(value: Any) -> Html:
    written = ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
    return link(written) if is_address(written) else site_text(written)


def _row(values: Sequence[Any], renderers: Sequence[tuple[Callable[[Any], Html | str], bool]]) -> list[Html]:
    cells = []
    for number, (value, (render, is_number)) in enumerate(zip(values, renderers, strict=True)):
        is_missing = not isinstance(value, list | tuple) and pd.isna(value)
        inside = _NONE if is_missing else render(value)
        name, scope = ("td", None) if number else ("th", "row")
        cells.append(element(name, inside, scope=scope, class_="number" if is_number else None))
    return cells
