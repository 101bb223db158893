"""Renders a Snapshot as one self-contained HTML page: a table of its sites, then a part for each question."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import attrs
import pandas as pd

from ..frontier.lastmod_trust import judge_history, trust_in_words
from ..model.errors import UsageError
from ..model.problems import percent
from ..pages.rendering import render
from . import measures
from .dates import site_histories
from .notes import SITE_SEPARATOR

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .measure import Measure
    from .tables import SnapshotTables

_NEW_DAYS = 30
_NAMED_SITES = 3
MAX_ROWS = 500
# How the names of columns that hold a share of 0 to 1 end.
_SHARES = ("share", "coverage")
_STATES = {
    True: ("complete", "All sitemaps were read completely."),
    False: ("partial", "Partial: sitemaps could not be read, or only in part; URLs may be missing."),
    None: ("unknown", "Completeness unknown: the source does not state it."),
}


@attrs.frozen
class Question:
    """A part of the page: measures that answer one question."""

    name: str
    title: str
    measures: list[Measure]

    @property
    def link(self) -> tuple[str, str]:
        return self.name, self.title

    @property
    def answers(self) -> list[Answer]:
        return [Answer(made) for made in self.measures]


@attrs.frozen
class Answer:
    """A measure as the template shows it."""

    measure: Measure

    @property
    def lines(self) -> list[str]:
        return self.measure.finding.split(SITE_SEPARATOR)

    @property
    def table(self) -> FrameTable:
        return frame_table(self.measure)

    @property
    def chart(self) -> str:
        """SVG; empty where a chart says no more than the table: of keys that all differ, or where nothing is new."""
        made = self.measure
        is_list = made._spec is None or (made._spec.kind != "counts" and "loc" in made and made["pages"].max() <= 1)
        if not len(made) or is_list or ("new" in made and not made["new"].any()):
            return ""
        return made.chart(theme="page", titled=False).to_svg()


def render_report(snapshot: SnapshotTables, ours: str | None = None) -> str:
    """The page as an HTML document, to be written as UTF-8. `ours`: the site whose gaps are shown, else the first."""
    sites = [*snapshot.sites]
    if ours is not None and ours not in sites:
        raise UsageError(f"there is no site {ours}; there are {', '.join(sites) or 'none'}")
    sections = measures.sections(snapshot, 1, by_language=False)
    overview = sites_frame(snapshot, sections).rename(columns={"sitemaps": "sitemaps_with_URLs"})
    more = len(sites) - _NAMED_SITES
    listing = snapshot.urls.stored["sitemap"].drop_null().unique()
    return render(
        "comparison.html",
        scripts=("script.js",),
        sites=sites,
        heading=", ".join(sites[:_NAMED_SITES]) + (f" and {more:,} more" if more > 0 else "") or snapshot.name,
        read_on=snapshot.read_on,
        state=_STATES[snapshot.complete],
        counts=[
            *([("Sites", len(sites))] if len(sites) > 1 else []),
            ("Pages", len(snapshot.pages)),
            ("Listings", len(snapshot.urls)),
            ("Sitemaps with URLs", len(listing)),
        ],
        notes=snapshot.notes,
        overview={"title": "Sites" if len(sites) > 1 else "The site", "table": frame_table(overview)},
        questions=_questions(snapshot, ours or next(iter(sites), ""), sections),
    )


def _questions(site: SnapshotTables, ours: str, sections: Measure) -> list[Question]:
    rhythm = [measures.calendar(site, "month"), measures.weekday_hour(site), measures.freshness(site)]
    questions = [
        Question("growth", "Growth", [measures.growth(site, site.earlier)] if site.earlier else []),
        Question("sections", "Sections", [sections]),
        Question("rhythm", "Rhythm", rhythm),
        Question("languages", "Languages", [measures.languages(site)]),
        Question("trust", "Trust in lastmods", [measures.lastmod_trust(site)]),
        Question("topics", "Topics", [measures.topics(site, top=50, skip=(), stop_words=True)]),
    ]
    if len(site.sites) > 1:
        gaps = [measures.gaps(site, ours, by) for by in ("topic", "path")]
        title = f"What others have and {ours} has not"
        questions.append(Question("gaps", title, [measures.overlap(site, "path"), *gaps]))
    new = measures.new(site, site.at - timedelta(days=_NEW_DAYS), 1, by_language=False)
    questions.append(Question("new", f"New within {_NEW_DAYS} days", [new]))
    return [question for question in questions if question.measures]


def sites_frame(snapshot: SnapshotTables, sections: Measure) -> pd.DataFrame:
    """`site pages sitemaps sections dated_share newest lastmods`, the last how far to trust them; largest first."""
    frame = measures.growth(snapshot, ()).set_index("site")
    frame["sections"] = sections.groupby("site").size()
    frame["dated_share"] = frame["dated"] / frame["pages"]
    trust = {site: trust_in_words(judge_history(history)) for site, history in site_histories(snapshot).items()}
    frame["lastmods"] = frame.index.map(trust)
    frame = frame[["pages", "sitemaps", "sections", "dated_share", "newest", "lastmods"]].reset_index()
    return frame.sort_values("pages", ascending=False, kind="stable")


# --- tables ---


@attrs.frozen
class FrameTable:
    """Columns, each a name and whether it has numbers; rows of texts, None for null; the number of other rows."""

    columns: list[tuple[str, bool]]
    rows: list[list[str | None]]
    more: int


def frame_table(frame: pd.DataFrame) -> FrameTable:
    """The first rows of each site, at most MAX_ROWS."""
    place = frame.groupby("site", sort=False).cumcount()
    first = frame.iloc[sorted(place.argsort(kind="stable")[:MAX_ROWS])]
    writers = [_writer(str(name), frame[name]) for name in frame]
    names = [str(name).replace("_", " ") for name in frame]
    columns = [(name[:1].upper() + name[1:], is_number) for name, (_, is_number) in zip(names, writers, strict=True)]
    rows = [_row(values, [write for write, _ in writers]) for values in first.itertuples(index=False, name=None)]
    return FrameTable(columns, rows, len(frame) - len(first))


def _writer(name: str, column: pd.Series[Any]) -> tuple[Callable[[Any], str], bool]:
    """What writes the values of a column, and whether they are numbers."""
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
    return lambda value: ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value), False


def _moment(value: pd.Timestamp) -> str:
    return f"{value:%Y-%m-%d}" if value == value.normalize() else f"{value:%Y-%m-%d %H:%M}"


def _row(values: Sequence[Any], writers: Sequence[Callable[[Any], str]]) -> list[str | None]:
    return [
        None if not isinstance(value, list | tuple) and pd.isna(value) else write(value)
        for value, write in zip(values, writers, strict=True)
    ]
