"""A measure: a pandas frame that carries its rule, its finding in words, and its chart; and what measures share."""

from __future__ import annotations

from collections import Counter
from functools import partial
from html import escape
from itertools import groupby, islice
from typing import TYPE_CHECKING, Any, ClassVar

import attrs
import pandas as pd
import pyarrow as pa
from pyarrow import compute

from ..client.summary import count_of
from ..model.errors import UsageError, install_hint, printable, printable_lines
from ..model.problems import percent
from ..parser.normalise.dates import CLOCK_TOLERANCE, DAY, TIMED
from .chart_spec import make_canvas
from .notes import SITE_SEPARATOR
from .tables import FIRST_SEEN

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
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

    _metadata: ClassVar[list[str]] = ["rule", "verdict", "_finding", "_spec", "_measured", "_urls"]
    # Of a frame that pandas made without these.
    rule: str = ""
    verdict: str | None = None
    _finding: str = ""
    _spec: ChartSpec | None = None
    _measured: pd.DataFrame | None = None
    _urls: Callable[[], pd.DataFrame] | None = None

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

    def list_urls(self) -> pd.DataFrame:
        """The URLs that the rows of this measure count, one in each row; of a subset of the rows those of the subset.

        UsageError for a measure that has no such list: new(), churn() and turnover() have one.
        """
        if self._urls is None:
            raise UsageError("this frame has no list of URLs: new(), churn() and turnover() of a Snapshot have one")
        urls = self._urls()
        keys = [name for name in ("site", *GROUPS, "period") if name in self.columns and name in urls]
        return _with_types(urls.merge(pd.DataFrame(self)[keys].drop_duplicates(), on=keys))

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

        `width` and `height` are those of the area of the marks, in pixels, without title and labels. `theme`: "light",
        "dark", or "page", for SVG in a page whose style sheet has the variables --ink, --quiet, --line, --accent and
        --card. With `titled=False` the finding and the rule are left out. UsageError if a column is missing that the
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

        # Sites that were measured and have no row are empty, unless only some sites are drawn.
        known = {*(shown if self._measured is None else self._measured)["site"]}
        sites = self._spec.sites if known <= {*shown["site"]} else ()
        return Chart(shown, attrs.evolve(self._spec, sites=sites), canvas, title=title, notes=notes)

    def __repr__(self) -> str:
        table = printable_lines(super().__repr__())
        return table if self._spec is None else f"{self.finding}\n{table}"

    def _repr_html_(self) -> str:
        table = printable_lines(super()._repr_html_() or "")
        if self._spec is None:
            return table
        texts = [f"<strong>{escape(self.finding)}</strong>", *map(escape, filter(None, (self.rule, self.verdict)))]
        return f"<p>{'<br>'.join(texts)}</p>\n{table}"


def measure(
    frame: pd.DataFrame,
    *,
    rule: str,
    finding: str,
    spec: ChartSpec,
    verdict: str | None = None,
    urls: Callable[[], pd.DataFrame] | None = None,
) -> Measure:
    """A Measure with the rows of `frame`; control characters in the texts are escaped. `urls` is for list_urls()."""
    rows = _with_types(frame.reset_index(drop=True))
    texts = {"rule": printable(rule), "_finding": printable(finding), "verdict": verdict and printable(verdict)}
    return _with({**texts, "_spec": spec, "_measured": rows, "_urls": urls}, rows)


# The columns of numbers that pandas may have as objects in a frame without rows.
_COUNTS, _SHARES = (
    "urls pages dated dense future at_fetch slugs titles new before",
    "share new_share before_share change",
)
_TYPES = dict.fromkeys(_COUNTS.split(), "int64") | dict.fromkeys([*_SHARES.split(), "weight"], "float64")


def _with_types(frame: pd.DataFrame) -> pd.DataFrame:
    """With texts where pandas has objects, or categories of sites; without rows, with the types that rows have."""
    names = [name for name in frame if name == "site" or frame[name].dtype == object]
    return frame.astype({name: "str" if len(frame) else _TYPES.get(name, "str") for name in names})


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
    counts = Counter(frame.columns)
    return [name for name in spec.columns if counts[name] != 1 or _kind(frame[name]) != _kind(measured[name])]


def _kind(column: pd.Series[Any]) -> str:
    """The letter of numpy, with one for all numbers."""
    return "f" if column.dtype.kind in "iu" else str(column.dtype.kind)


def _row_hashes(frame: pd.DataFrame, columns: list[str]) -> list[int]:
    hashes: list[int] = pd.util.hash_pandas_object(pd.DataFrame(frame)[columns], index=False).tolist()
    return hashes


# --- what a measure counts separately ---

GROUPS = ("section", "language", "host")
_BETWEEN, UNKNOWN = "\x1f", "unknown"  # the former hardly stands in the second part of a label
# So many groups of a site have a sentence.
_LARGEST_GROUPS = 3


@attrs.frozen
class Groups:
    """What a measure counts separately: the sites, or `by` section, language or host the groups of each site.

    A measure takes `labels`, one for each page, as its column `site`, and calls divide() at the end, which puts the
    site and the value of the group in its place. `sizes` has the pages of each label: by site, of each the largest
    group first.
    """

    sites: tuple[str, ...]
    by: str | None
    labels: pd.Series[str]
    sizes: dict[str, int]

    @property
    def pages(self) -> str:
        """The subject of a rule: `Pages`, or `Pages of each section`."""
        return f"Pages of each {self.by}" if self.by else "Pages"

    @property
    def panels(self) -> dict[str, Any]:
        """The keywords of a ChartSpec that has a panel for each."""
        return {"group": self.by} if self.by else {"sites": self.sites}

    def name(self, label: str) -> str:
        """The group in words, with its site if there are several."""
        return " ".join(dict.fromkeys(self._parts(label)[len(self.sites) == 1 and self.by is not None :]))

    def site(self, label: str) -> str:
        return self._parts(label)[0]

    def _parts(self, label: str) -> list[str]:
        return [label] if self.by is None else label.rsplit(_BETWEEN, 1)

    def sort(self, frame: pd.DataFrame) -> pd.DataFrame:
        """The rows in the order of their labels; stable within one."""
        return _in_order(frame, self.sizes)

    def divide(self, frame: pd.DataFrame) -> pd.DataFrame:
        if self.by is None:
            return frame
        labels = [*map(self._parts, frame["site"])]
        sites, values = (pd.Series([label[part] for label in labels], frame.index, "str") for part in (0, 1))
        divided = frame.assign(site=sites)
        divided.insert(1, self.by, values)
        return divided

    def find_in_words(
        self,
        frame: pd.DataFrame,
        describe: Callable[[pd.DataFrame], str],
        describe_many: Callable[[pd.DataFrame], str],
        if_empty: str | Callable[[str], str] = "there is no page",
    ) -> str:
        """As find_in_words() of sites; of groups a sentence for the three largest of each site, or of many sites."""
        if self.by is None:
            return find_in_words(frame, self.sites, describe, describe_many, if_empty)
        parts = dict([*frame.groupby("site", sort=False)])
        groups = [label for label in self.sizes if label in parts]
        if len(self.sites) > MAX_SITES:
            largest = sorted(groups, key=self.sizes.__getitem__, reverse=True)[:_LARGEST_GROUPS]
        else:
            of_sites = groupby(groups, self.site)
            largest = [label for _, labels in of_sites for label in islice(labels, _LARGEST_GROUPS)]
        found = [f"{self.name(label)}: {describe(parts[label])}" for label in largest]
        more = len(groups) - len(largest)
        empty = {label: _words_of(label, if_empty) for label in self.sizes if label not in parts}
        found += [f"{count_of(more, f'more {self.by}')} in the table"] if more else []
        for words in dict.fromkeys(empty.values()):
            names = [self.name(label) for label in empty if empty[label] == words]
            found.append(f"{name_some(names) if len(names) <= 2 else count_of(len(names), self.by)}: {words}")
        return SITE_SEPARATOR.join(found) or capital(_words_of("", if_empty))


def groups_of(snapshot: SnapshotTables, by: str | None) -> Groups:
    """UsageError if `by` is none of GROUPS, or None for the sites themselves."""
    if by is not None and by not in [*GROUPS]:  # a list: the value may be unhashable
        raise UsageError(keyword="by", value=by, allowed=f"one of {', '.join(GROUPS)} or None")
    pages = page_frame(snapshot, *([by] if by else []))
    labels = pages["site"] + _BETWEEN + pages[by].fillna(UNKNOWN) if by else pages["site"]
    sizes = ({} if by else dict.fromkeys(snapshot.sites, 0)) | labels.value_counts().to_dict()
    rank = {site: number for number, site in enumerate(snapshot.sites)}
    order = sorted(sizes, key=lambda label: (rank[label.rsplit(_BETWEEN, bool(by))[0]], -sizes[label], label))
    return Groups(snapshot.sites, by, labels, {label: sizes[label] for label in order})


# --- findings in words ---

# Findings of more sites than this are one sentence about all of them.
MAX_SITES = 3


def find_in_words(
    frame: pd.DataFrame,
    sites: Sequence[str],
    describe: Callable[[pd.DataFrame], str],
    describe_many: Callable[[pd.DataFrame], str],
    if_empty: str | Callable[[str], str] = "there is no page",
) -> str:
    """A sentence for each site: `a.example: x | b.example: y`, and `X` of one; of many one about all rows.

    These sentences begin with a word in lower case. `if_empty` is that of a site without rows, or makes it of its name.
    """
    parts = dict([*frame.groupby("site", sort=False)])
    empty = pd.Series({site: _words_of(site, if_empty) for site in sites if site not in parts}, dtype=object)
    if not parts and empty.nunique() <= 1:
        words = empty.iloc[0] if len(empty) else _words_of("", if_empty)
    elif len(sites) > MAX_SITES:
        words = "; ".join([*([describe_many(frame)] if parts else []), *sites_by_label(empty)])
    else:
        found = {site: describe(parts[site]) if site in parts else empty[site] for site in sites}
        if len(sites) > 1:
            return SITE_SEPARATOR.join(f"{site}: {words}" for site, words in found.items())
        words = found[sites[0]]
    return capital(words)


def _words_of(name: str, words: str | Callable[[str], str]) -> str:
    return words if isinstance(words, str) else words(name)


def capital(words: str) -> str:
    return words[:1].upper() + words[1:]


def rank_sites(
    what: str,
    number: Callable[[pd.DataFrame], Any],
    frame: pd.DataFrame,
    *,
    write: Callable[[Any], str] = "{:,}".format,
) -> str:
    """The greatest two numbers of sites and the smallest one, and the sites that have them; None is unknown.

    >>> rows = pd.DataFrame({"site": [*"abcd"], "pages": [26, 4624, 845, 26]})
    >>> rank_sites("pages:", lambda part: part["pages"].sum(), rows)
    'pages: 4,624 at b, then 845 at c; least: 26 at a and d'
    """
    numbers = pd.Series({site: number(part) for site, part in frame.groupby("site", sort=False)}, dtype=object)
    ranked = sites_by_label(numbers.dropna().sort_values(ascending=False, kind="stable").map(write))
    parts = [", then ".join(ranked[:1] + ranked[1:-1][:1]), *(f"least: {each}" for each in ranked[1:][-1:])]
    parts += sites_by_label(numbers[numbers.isna()].map(lambda _: "unknown"))
    return f"{what} {'; '.join(filter(None, parts))}"


def count_sites(what: str, label: Callable[[pd.DataFrame], str], frame: pd.DataFrame) -> str:
    """The four most frequent labels of sites, and the sites that have them.

    >>> rows = pd.DataFrame({"site": [*"abcd"], "section": ["/x/", "/p/", "/p/", "/p/"]})
    >>> count_sites("largest section:", lambda part: part["section"].iloc[0], rows)
    'largest section: /p/ at 3 sites; /x/ at a'
    """
    labels = pd.Series({site: label(part) for site, part in frame.groupby("site", sort=False)})
    ranked = labels.sort_values(key=lambda column: -column.map(column.value_counts()), kind="stable")
    first = ranked[ranked.isin(ranked.unique()[:4])]
    others = [*ranked.index[len(first) :]]
    return f"{what} {'; '.join([*sites_by_label(first), *([f'another at {name_few(others)}'] if others else [])])}"


def most_widespread(
    what: str, column: str, frame: pd.DataFrame, *, sites: int, number: str = "share", of: str = "pages", count: int = 1
) -> str:
    """The values of a column that most of the sites have, and where there is most of each: a share `of` something.

    >>> rows = pd.DataFrame({"site": [*"abb"], "language": ["en", "en", "de"], "share": [0.86, 0.1, 0.2]})
    >>> most_widespread("languages:", "language", rows, sites=4)
    'languages: "en" at 2 of 4 sites, up to 86% of the pages at a'
    """
    by = frame.groupby(column)[number].agg(["size", "sum"]).sort_values(["size", "sum"], ascending=False)
    found = []
    for value in by.index[:count]:
        numbers = frame[frame[column] == value].set_index("site")[number].sort_values(ascending=False, kind="stable")
        words = numbers.map(lambda each: f"{percent(each)} of the" if number == "share" else f"{each:,}") + f" {of}"
        up_to = "up to " if words.nunique() > 1 else ""
        found.append(f"{quote(value)} at {len(words):,} of {sites:,} sites, {up_to}{sites_by_label(words)[0]}")
    return f"{what} {'; '.join(found) or 'none at any site'}"


def sites_by_label(labels: pd.Series[str]) -> list[str]:
    """`/p/ at a and b` for each label, in their order; the index has the sites."""
    return [f"{label} at {name_few([*labels.index[labels == label]])}" for label in labels.unique()]


def part_of(part: int, whole: int, noun: str = "", *, each: str = "") -> str:
    """A share with the numbers behind it.

    >>> part_of(142, 420), part_of(1, 640, "page"), part_of(5, 20, each=" each")
    ('34% (142 of 420)', 'under 1% (1 of 640 pages)', '25% each (5 of 20)')
    """
    counted = count_of(whole, noun) if noun else f"{whole:,}"
    return f"{percent(part / whole if whole else 0.0)}{each} ({part:,} of {counted})"


def leading(counts: pd.Series[Any], write: Callable[[Any], str] = str) -> tuple[str, str]:
    """The labels of the greatest count, as `write` has them, and what follows its number: " each" if several tie.

    >>> leading(pd.Series({"/blog/": 5, "/shop/": 2})), leading(pd.Series({"Mon": 4, "Tue": 4}))
    (('/blog/', ''), ('Mon and Tue', ' each'))
    """
    names = [write(label) for label in counts.index[counts == counts.max()]]
    return name_some(names), " each" if len(names) > 1 else ""


def most_frequent(counts: pd.Series[Any], whole: int, noun: str = "page", write: Callable[[Any], str] = str) -> str:
    """Which label has the greatest count, or which have, and its share of the pages.

    >>> most_frequent(pd.Series({"/blog/": 5, "/shop/": 2}), 8)
    '/blog/ with 62% (5 of 8 pages)'
    >>> most_frequent(pd.Series({"Mon": 4, "Tue": 4}), 8)
    'Mon and Tue with 50% each (4 of 8 pages)'
    """
    names, each = leading(counts, write)
    return f"{names} with {part_of(int(counts.max()), whole, noun, each=each)}"


def parts_in_words(noun: str, part: pd.DataFrame, rest: str, write: Callable[[str], str] = str) -> str:
    """The first three values of one site with their share of its pages, and that of the row `rest`, the unknown one.

    >>> rows = pd.DataFrame({"site": "a", "page type": ["tag", "other"], "pages": [3, 1]})
    >>> parts_in_words("page type", rows, "other")
    'page types: tag 75% (3 of 4 pages); unknown for 25% (1 of 4 pages)'
    """
    total, counts = int(part["pages"].sum()), part.set_index(part.columns[1])["pages"]
    names = [f"{write(name)} {part_of(pages, total, 'page')}" for name, pages in counts.items() if name != rest]
    if not names:
        return f"no {noun} is known of {count_of(total, 'page')}"
    others = f"; unknown for {part_of(int(counts[rest]), total, 'page')}" if rest in counts.index else ""
    return f"{noun}s: {name_some(names)}{others}"


def name_few(sites: Sequence[str]) -> str:
    return name_some(sites) if len(sites) <= 2 else f"{len(sites):,} sites"


def name_some(names: Sequence[str]) -> str:
    """The names, or the first three of them.

    >>> name_some(["a", "b"]), name_some(["a", "b", "c", "d", "e"])
    ('a and b', 'a, b, c and 2 more')
    """
    shown = [*names[:_MAX_NAMES], *([f"{len(names) - _MAX_NAMES:,} more"] if len(names) > _MAX_NAMES else [])]
    return " and ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)


def quote(word: str) -> str:
    return f'"{word}"'


_MAX_NAMES = 3


# --- the pages of a Snapshot ---


def page_frame(snapshot: SnapshotTables, *columns: str) -> pd.DataFrame:
    return snapshot.pages.to_pandas(["site", *columns])


def news_dates(snapshot: SnapshotTables) -> tuple[pd.Series[Any], pd.Series[str]]:
    news = snapshot.pages.stored["news"]
    names = ("publication_date", "publication_date_precision")
    date, precision = (compute.struct_field(news, name).to_pandas() for name in names)
    return date, precision


def first_seen(snapshot: SnapshotTables) -> pd.Series[Any]:
    """When each page was first seen; null for all pages of a Snapshot that does not know."""
    if FIRST_SEEN in snapshot.pages.stored.column_names:
        return snapshot.pages.to_pandas([FIRST_SEEN])[FIRST_SEEN]
    return pd.Series(pd.NaT, index=range(len(snapshot.pages)), dtype="datetime64[us, UTC]")


NEWEST_RULE = "The newest lastmod is the latest one that states a day and is not in the future."


def pages_with_newest(snapshot: SnapshotTables) -> pd.DataFrame:
    """Pages with `lastmod`, and `newest`: the lastmod if NEWEST_RULE allows it, else null."""
    pages = page_frame(snapshot, "lastmod", "lastmod_precision")
    return pages.assign(newest=pages["lastmod"].where(is_newest(pages, snapshot.at)))


def is_newest(dated: pd.DataFrame, at: datetime) -> pd.Series[bool]:
    return ~dated["lastmod_precision"].isin(["year", "month"]) & (dated["lastmod"] <= at + DAY)


def is_future(dates: pd.Series[Any], precisions: pd.Series[str], moment: datetime) -> pd.Series[bool]:
    """Whether each date is later than `moment`, with the tolerance for its precision."""
    return dates > is_in(precisions, [*TIMED]).map({True: moment + CLOCK_TOLERANCE, False: moment + DAY})


def as_texts(column: Any) -> pd.Series[str]:
    """An Arrow column as one of pandas, also where all are null."""
    texts: pd.Series[str] = column.to_pandas().astype("str")
    return texts


def is_in(column: pd.Series[str], values: Any) -> pd.Series[bool]:
    """Whether each text is among the values; `isin()` of pandas takes a Python object for each of them."""
    found = compute.is_in(pa.array(column, pa.string()), pa.array(values, pa.string()))
    return pd.Series(found.to_numpy(zero_copy_only=False), index=column.index)


def distinct_rows(frame: pd.DataFrame) -> tuple[Any, pd.DataFrame]:
    """A number for each row, the same for equal rows, in order of appearance; and the first row of each number."""
    numbers = frame.groupby([*frame], sort=False, dropna=False).ngroup().to_numpy()
    return numbers, frame[~pd.Series(numbers).duplicated().array].reset_index(drop=True)


def share_of_site(frame: pd.DataFrame) -> pd.Series[float]:
    return frame["pages"] / frame.groupby("site")["pages"].transform("sum")


def rest_last(frame: pd.DataFrame, column: str, rest: str) -> pd.DataFrame:
    """The rows with most pages first, and the row `rest` of each site last."""
    frame = frame.sort_values(["pages", column], ascending=[False, True])
    return frame.sort_values(column, key=lambda names: names == rest, kind="stable")


def days_between(lastmods: pd.Series[Any], moment: datetime) -> pd.Series[float]:
    """Days from each lastmod to `moment`. Floats: pandas durations overflow for the years 1 and 9999."""
    since = lastmods.astype("int64").where(lastmods.notna()) / 86_400_000_000
    return moment.timestamp() / 86_400 - since


def in_site_order(frame: pd.DataFrame, snapshot: SnapshotTables) -> pd.DataFrame:
    """Stable within a site."""
    return _in_order(frame, snapshot.sites)


def _in_order(frame: pd.DataFrame, labels: Iterable[str]) -> pd.DataFrame:
    rank = {label: number for number, label in enumerate(labels)}
    return frame.sort_values("site", key=lambda column: column.map(rank), kind="stable", ignore_index=True)
