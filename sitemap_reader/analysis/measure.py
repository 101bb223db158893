"""A measure: a pandas frame that carries its rule, its finding in words, and its chart; and what measures share."""

from __future__ import annotations

from collections import Counter
from functools import partial
from html import escape
from typing import TYPE_CHECKING, Any, ClassVar

import pandas as pd
import pyarrow as pa
from pyarrow import compute

from ..client.summary import count_of
from ..model.errors import UsageError, install_hint, printable, printable_lines
from ..model.problems import percent
from ..parser.normalise.dates import CLOCK_TOLERANCE, DAY, TIMED
from .chart_spec import make_canvas
from .notes import SITE_SEPARATOR

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from .chart_spec import ChartSpec, Theme
    from .charts import Chart
    from .tables import SnapshotTables


class Measure(pd.DataFrame):  # type: ignore[misc]
    """A pandas.DataFrame with texts and a chart.

    `rule` states what was counted and what was left out, `finding` the result in words. `verdict` states how reliable
    the lastmods are, for a measure that depends on them; else it is None.

    What methods of pandas return (`measure[mask]`, query(), head(), sort_values()) is a Measure too, if it has the
    columns that the chart needs, and else a plain DataFrame.
    """

    _metadata: ClassVar[list[str]] = ["rule", "verdict", "_finding", "_spec", "_measured"]
    # Of a frame that pandas made without these.
    rule: str = ""
    verdict: str | None = None
    _finding: str = ""
    _spec: ChartSpec | None = None
    _measured: pd.DataFrame | None = None

    @property
    def _constructor(self) -> Any:
        return partial(_like, self._texts)

    @property
    def _texts(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self._metadata}

    @property
    def finding(self) -> str:
        """The result in words; of a subset of the rows, how many of them it has, as the result is that of all rows."""
        measured = self._measured
        if measured is None:
            return self._finding
        columns = [name for name in measured if name in self.columns]
        rows, all_rows = Counter(_row_hashes(self, columns)), Counter(_row_hashes(measured, columns))
        if rows == all_rows:
            return self._finding
        if rows <= all_rows:
            site = self["site"].iloc[0] if self["site"].nunique() == 1 < measured["site"].nunique() else None
            only = f" ({printable(site)} only)" if site else ""
            return f"{len(self):,} of {count_of(len(measured), 'row')}{only}"
        return f"{count_of(len(self), 'row')}, with other values than those measured"

    def chart(
        self,
        rows: pd.DataFrame | None = None,
        *,
        width: int | None = None,
        height: int | None = None,
        theme: Theme = "light",
        titled: bool = True,
    ) -> Chart:
        """The chart of this measure, titled with its finding; `rows`: other rows to draw, such as a subset.

        `width` and `height` are those of the area of the marks, in pixels, without title and labels; `theme` is "light"
        or "dark". With `titled=False` the finding and the rule are left out. UsageError if a column is missing that the
        chart needs. Needs the extra `analysis`.
        """
        if self._spec is None:
            raise UsageError("this frame has no chart: measures of a Snapshot have one")
        if rows is not None and not isinstance(rows, pd.DataFrame):
            raise UsageError(f"rows is a DataFrame with rows of the measure, and not {type(rows).__name__}")
        shown = self if rows is None else _like(self._texts, rows)
        if missing := missing_columns(shown, self._spec, self._measured):
            raise UsageError(f"the chart needs columns that are missing or of another type: {', '.join(missing)}")
        notes = [self.rule, *([self.verdict] if self.verdict else [])] if titled else []
        title = shown.finding if titled else ""
        canvas = make_canvas(width, height, theme)
        try:
            import altair  # noqa: F401
            import vl_convert  # noqa: F401
        except ImportError as exc:
            raise UsageError(f"charts need Altair and vl-convert: {install_hint('analysis')}") from exc
        from .charts import Chart

        return Chart(shown, self._spec, canvas, title=title, notes=notes)

    def __repr__(self) -> str:
        return printable_lines(super().__repr__())

    def _repr_html_(self) -> str:
        if self._spec is None:
            return printable_lines(super()._repr_html_() or "")
        texts = [f"<strong>{escape(self.finding)}</strong>", escape(self.rule)]
        if self.verdict:
            texts.append(escape(self.verdict))
        table = printable_lines(super()._repr_html_() or "")
        return f"<p>{'<br>'.join(texts)}</p>\n{table}"


def measure(frame: pd.DataFrame, *, rule: str, finding: str, spec: ChartSpec, verdict: str | None = None) -> Measure:
    """A Measure with the rows of `frame`; control characters in the texts are escaped."""
    rows = frame.reset_index(drop=True)
    texts = {"rule": printable(rule), "_finding": printable(finding), "verdict": verdict and printable(verdict)}
    return _with({**texts, "_spec": spec, "_measured": rows}, rows)


def _with(metadata: dict[str, Any], rows: Any) -> Measure:
    result = Measure(rows)
    for name, value in metadata.items():
        object.__setattr__(result, name, value)
    return result


def _like(metadata: dict[str, Any], rows: Any, *args: Any, **options: Any) -> Any:
    """A plain DataFrame if it could not be drawn."""
    frame = pd.DataFrame(rows, *args, **options)
    spec = metadata["_spec"]
    if spec is None or missing_columns(frame, spec, metadata["_measured"]):
        return frame
    return _with(metadata, frame)


def missing_columns(frame: pd.DataFrame, spec: ChartSpec, measured: pd.DataFrame) -> list[str]:
    """The columns that the chart needs and the frame lacks, or has with values of another kind."""
    return [
        name
        for name in spec.columns
        if [name] != [column for column in frame.columns if column is name or column == name]
        or _kind(frame[name]) != _kind(measured[name])
    ]


def _kind(column: pd.Series[Any]) -> str:
    types = pd.api.types
    if types.is_bool_dtype(column):
        return "bool"
    kinds = {"number": types.is_numeric_dtype, "time": types.is_datetime64_any_dtype}
    return next((kind for kind, is_kind in kinds.items() if is_kind(column)), "other")


def _row_hashes(frame: pd.DataFrame, columns: list[str]) -> list[int]:
    hashes: list[int] = pd.util.hash_pandas_object(pd.DataFrame(frame)[columns], index=False).tolist()
    return hashes


# --- findings in words ---

# Findings of more sites than this are one sentence about all of them.
MAX_SITES = 4
# Words for a share of each site, and how it follows from the rows of a site; None where it is unknown.
Share = tuple[str, "Callable[[pd.DataFrame], float | None]"]


def join_findings(findings: dict[str, str], sites: Sequence[str]) -> str:
    """The findings of all sites in one line: `a.example: x | b.example: y`, or `x` for a Snapshot of one site.

    Of more than MAX_SITES sites those with one finding stand together, and the most frequent findings are shown.

    >>> join_findings({"a.example": "12 pages"}, ["a.example"])
    '12 pages'
    >>> join_findings({"a.example": "12 pages"}, ["a.example", "b.example"])
    'a.example: 12 pages'
    """
    if len(sites) <= 1:
        return next(iter(findings.values()), "")
    if len(sites) <= MAX_SITES:
        return SITE_SEPARATOR.join(f"{site}: {words}" for site, words in findings.items())
    same: dict[str, list[str]] = {}
    for site, words in findings.items():
        same.setdefault(words, []).append(site)
    groups = sorted(same.items(), key=lambda group: -len(group[1]))
    parts = [f"{name_some(names)}: {words}" for words, names in groups[:MAX_SITES]]
    more = sum(len(names) for _, names in groups[MAX_SITES:])
    return SITE_SEPARATOR.join([*parts, *([f"{count_of(more, 'more site')}"] if more else [])])


def finding_per_site(
    frame: pd.DataFrame,
    sites: Sequence[str],
    describe: Callable[[pd.DataFrame], str],
    if_empty: str = "there is no page",
    share: Share | None = None,
) -> str:
    """The findings that `describe` gives for the rows of each site, joined; of many how the `share` is spread."""
    parts = dict([*frame.groupby("site", sort=False)])
    if share is not None and len(sites) > MAX_SITES:
        return spread_over_sites({site: share[1](parts[site]) if site in parts else None for site in sites}, share[0])
    findings = {site: describe(parts[site]) if site in parts else if_empty for site in sites}
    return join_findings(findings, sites) or if_empty


def spread_over_sites(shares: dict[str, float | None], what: str) -> str:
    """The median of a share, and the sites with the least and the greatest; None where it is unknown.

    >>> spread_over_sites({"a": 0.1, "b": 0.5, "c": 1.0, "d": 1.0, "e": None}, "pages that are new")
    'pages that are new: from 10% (a) to 100% (c and d), 75% in the median of 4 sites; no number for e'
    >>> spread_over_sites({"a": 0.5, "b": 0.5}, "pages that are new")
    'pages that are new: 50% for each of 2 sites'
    >>> spread_over_sites({"a": 0.5, "b": None, "c": None, "d": None}, "pages that are new")
    'pages that are new: 50% for a; no number for 3 sites'
    """
    known = pd.Series(shares, dtype=float).dropna()
    if known.empty:
        return f"{what}: no number for any of {count_of(len(shares), 'site')}"
    unknown = [site for site in shares if site not in known.index]
    rest = f"; no number for {_few_or_count(unknown)}" if unknown else ""
    least, most = known.min(), known.max()
    if least == most:
        where = known.index[0] if len(known) == 1 else f"each of {len(known):,} sites"
        return f"{what}: {percent(most)} for {where}{rest}"
    low, high = (f"{percent(end)} ({_few_or_count([*known.index[known == end]])})" for end in (least, most))
    return f"{what}: from {low} to {high}, {percent(known.median())} in the median of {len(known):,} sites{rest}"


def _few_or_count(sites: Sequence[str]) -> str:
    return name_some(sites) if len(sites) <= 2 else f"{len(sites):,} sites"


def part_of(part: int, whole: int, noun: str = "", after: str = "", *, each: str = "") -> str:
    """A share with the numbers behind it.

    >>> part_of(142, 420), part_of(1, 640, "page", "with a time"), part_of(5, 20, each=" each")
    ('34% (142 of 420)', 'under 1% (1 of 640 pages with a time)', '25% each (5 of 20)')
    """
    counted = f"{count_of(whole, noun)} {after}".rstrip() if noun else f"{whole:,}"
    return f"{percent(part / whole if whole else 0.0)}{each} ({part:,} of {counted})"


def leading(counts: pd.Series[Any], write: Callable[[Any], str] = str) -> tuple[str, str]:
    """The labels of the greatest count, as `write` has them, and what follows its number: " each" if several tie.

    >>> leading(pd.Series({"/blog/": 5, "/shop/": 2})), leading(pd.Series({"Mon": 4, "Tue": 4}))
    (('/blog/', ''), ('Mon and Tue', ' each'))
    """
    names = [write(label) for label in counts.index[counts == counts.max()]]
    return name_some(names), " each" if len(names) > 1 else ""


def most_frequent(counts: pd.Series[Any], pages: int, after: str = "", write: Callable[[Any], str] = str) -> str:
    """Which label has the greatest count, or which have, and its share of the pages.

    >>> most_frequent(pd.Series({"/blog/": 5, "/shop/": 2}), 8)
    '/blog/ has 62% (5 of 8 pages)'
    >>> most_frequent(pd.Series({"Mon": 4, "Tue": 4}), 8)
    'Mon and Tue have 50% each (4 of 8 pages)'
    """
    names, each = leading(counts, write)
    return f"{names} {'have' if each else 'has'} {part_of(int(counts.max()), pages, 'page', after, each=each)}"


def name_some(names: Sequence[str]) -> str:
    """The names, or the first three of them.

    >>> name_some(["a", "b"]), name_some(["a", "b", "c", "d", "e"])
    ('a and b', 'a, b, c and 2 more')
    """
    shown = [*names[:_MAX_NAMES], *([f"{len(names) - _MAX_NAMES:,} more"] if len(names) > _MAX_NAMES else [])]
    return " and ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)


_MAX_NAMES = 3


# --- the pages of a Snapshot ---


def page_frame(snapshot: SnapshotTables, *columns: str) -> pd.DataFrame:
    return snapshot.pages.to_pandas(["site", *columns])


def dated_pages(snapshot: SnapshotTables) -> pd.DataFrame:
    """For news without a lastmod (`is_news`) `lastmod` and `lastmod_precision` are of the publication date."""
    pages = page_frame(snapshot, "lastmod", "lastmod_precision")
    date, precision = news_dates(snapshot)
    is_news = pages["lastmod"].isna() & date.notna()
    return pages.assign(
        lastmod=pages["lastmod"].where(~is_news, date),
        lastmod_precision=pages["lastmod_precision"].where(~is_news, precision),
        is_news=is_news,
    )


def news_dates(snapshot: SnapshotTables) -> tuple[pd.Series[Any], pd.Series[str]]:
    news = snapshot.pages.stored["news"]
    names = ("publication_date", "publication_date_precision")
    date, precision = (compute.struct_field(news, name).to_pandas() for name in names)
    return date, precision


def news_rule(pages: pd.DataFrame) -> str:
    count = int(pages["is_news"].sum())
    return f" For {count_of(count, 'news page')} without a lastmod the publication date counts." if count else ""


def without(pages: pd.DataFrame, left_out: dict[str, Any]) -> tuple[pd.DataFrame, str]:
    """The pages in none of these classes, and the sentence, if any, that says how many are in which.

    `left_out` maps the words of a class, such as "without a lastmod", to whether each page is in it.
    """
    counts = {words: int(where.sum()) for words, where in left_out.items()}
    parts = [f"{count_of(count, 'page')} {words}" for words, count in counts.items() if count]
    sentence = f" Not counted: {', '.join(parts)}." if parts else ""
    return pages[~pd.concat(left_out, axis=1).any(axis=1)], sentence


NEWEST_RULE = "The newest lastmod is the latest one that states a day and is not in the future."


def pages_with_newest(snapshot: SnapshotTables) -> pd.DataFrame:
    """Pages with `lastmod`, and `newest`: the lastmod if NEWEST_RULE allows it, else null."""
    pages = page_frame(snapshot, "lastmod", "lastmod_precision")
    return pages.assign(newest=pages["lastmod"].where(is_newest(pages, snapshot.at)))


def is_newest(dated: pd.DataFrame, at: datetime) -> pd.Series[bool]:
    return ~dated["lastmod_precision"].isin(["year", "month"]) & (dated["lastmod"] <= at + DAY)


def is_future(dated: pd.DataFrame, moment: datetime) -> pd.Series[bool]:
    """Whether the lastmod of each row is later than `moment`, with the tolerance for its precision."""
    has_time = dated["lastmod_precision"].isin(TIMED)
    return dated["lastmod"] > has_time.map({True: moment + CLOCK_TOLERANCE, False: moment + DAY})


def is_in(column: pd.Series[str], values: Any) -> pd.Series[bool]:
    """Whether each text is among the values; `isin()` of pandas takes a Python object for each of them."""
    found = compute.is_in(pa.array(column, pa.string()), pa.array(values, pa.string()))
    return pd.Series(found.to_numpy(zero_copy_only=False), index=column.index)


def share_of_site(frame: pd.DataFrame) -> pd.Series[float]:
    return frame["pages"] / frame.groupby("site")["pages"].transform("sum")


def days_between(lastmods: pd.Series[Any], moment: datetime) -> pd.Series[float]:
    """Days from each lastmod to `moment`. Floats: pandas durations overflow for the years 1 and 9999."""
    since = lastmods.astype("int64").where(lastmods.notna()) / 86_400_000_000
    return moment.timestamp() / 86_400 - since


def in_site_order(frame: pd.DataFrame, snapshot: SnapshotTables) -> pd.DataFrame:
    """Stable within a site."""
    rank = {site: number for number, site in enumerate(snapshot.sites)}
    return frame.sort_values("site", key=lambda sites: sites.map(rank), kind="stable").reset_index(drop=True)
