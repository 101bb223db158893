"""Snapshot: what sites list at a moment, as tables, with filters, exports, measures, and a card for notebooks.

The modules of measures are imported on first use, as most need pandas.
"""

from __future__ import annotations

from functools import cached_property, partial
from html import escape
from importlib.util import find_spec
from itertools import starmap
from pathlib import Path
from textwrap import shorten
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias

import attrs

from ..client.summary import count_of
from ..model.errors import SitemapReaderError, UsageError, install_hint, printable
from ..model.problems import percent
from ..parser.content.sniff import Format
from ..serialize.arrow import require_pyarrow
from .notes import SITE_SEPARATOR, name_first, selection_text
from .tables import (
    DerivedColumns,
    SnapshotTables,
    Table,
    Tables,
    advertools_frame,
    as_reusable,
    has_any,
    keep,
    loaded,
    select_rows,
    write_parquet,
)

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    import pandas as pd

    from ..frontier.plan import Moment, Pattern
    from .measure import Measure

    # Numbers by URL; as a DataFrame of two columns the URL and the number.
    Weights: TypeAlias = Mapping[str, float] | pd.Series[float] | pd.DataFrame


# A letter is short for the word, as in pandas; any case is accepted.
Freq = Literal["day", "week", "month", "quarter", "year", "D", "W", "M", "Q", "Y", "d", "w", "m", "q", "y"]
# What a measure counts separately within a site.
By = Literal["section", "language", "host"]
KeyName = Literal["path", "slug", "topic", "language"]
# How many notes the repr shows, and how many characters of each.
_REPR_NOTES, _REPR_NOTE_CHARS = 3, 80


_PAGE_COLUMNS = ("section", "language")  # besides those of `urls`


class Snapshot(SnapshotTables):
    """What one site or several list at a moment. `urls`, `pages`, `sitemaps` and `problems` are Tables.

    Iterating yields the UrlRecords, each time from the beginning; items() also outcomes and problems, dicts() the dicts
    of their JSON lines. A Snapshot of a file streams these from the file, and loads tables on first use.

    Each measure is a pandas.DataFrame with a `rule`, which states what is counted, a `finding`, and chart(). It counts
    pages: a URL that a site lists several times counts once, by its listing with the newest lastmod. Every measure has
    a column `site`, and is computed per site.

    `earlier` are the Snapshots of the states before this one, oldest first, where load() was given several. Then `urls`
    has a column `first_seen`: the time of the first state that lists the loc; null for those that the oldest one lists.
    """

    earlier: tuple[Snapshot, ...]
    _table_names: ClassVar[tuple[str, ...]] = (*SnapshotTables._table_names, "history")

    def filter(
        self,
        *,
        site: str | Iterable[str] | None = None,
        include: Pattern | Iterable[Pattern] | None = None,
        exclude: Pattern | Iterable[Pattern] | None = None,
        section: str | Iterable[str] | None = None,
        language: str | Iterable[str] | None = None,
    ) -> Snapshot:
        """A Snapshot of a subset: of some sites, or of the URLs that match `include` and do not match `exclude`.

        The patterns are regular expressions, searched anywhere in the URL. `section` is a folder such as "/blog/", as
        in sections(), `language` a tag such as "pt", as in languages(), which also stands for "pt-br". What is known
        of a page by the others stays known: its language, and how far the lastmods of its sitemap can be trusted. The
        sitemaps and problems of a site are kept even if none of its URLs is.

        UsageError for a site, section or language that no page has.
        """
        include, exclude = as_reusable(include), as_reusable(exclude)
        sites, sections, languages = map(_as_list, (site, section, language))
        selected = {"site": sites, "section": sections, "language": languages, "include": include, "exclude": exclude}
        for name, values, column in (("section", sections, "section"), ("language", languages, "language")):
            known = {*self.pages.to_arrow(column)[column].unique().to_pylist()} if values else set()
            known |= {language.partition("-")[0] for language in known if language and name == "language"}
            if missing := [value for value in values or () if value not in known]:
                names = name_first(sorted(filter(None, known)), ", ")
                raise UsageError(f"there is no {name} {missing[0]}; there are {names or 'none'}")
        return self._filter(selected)

    def _filter(self, selected: dict[str, Any]) -> Snapshot:
        sites, sections, languages, include, exclude = selected.values()
        rows = None
        if sections is not None or languages is not None:
            require_pandas()
            from .languages import base_languages

            frame = self.pages.to_pandas(["section", "language"])
            is_kept = frame["section"].isin(sections) if sections is not None else frame["section"].notna()
            if languages is not None:
                is_kept &= frame["language"].isin(languages) | base_languages(frame["language"]).isin(languages)
            rows = self.rows_of_pages(is_kept.to_numpy())
        subset = select_rows(self._with_sites, sites, include, exclude, rows)
        choices = [self.choice, selection_text(selected)]
        choice = "; ".join(text for text in choices if text) or None
        name = name_first(sites, ", ") if sites else self.name
        earlier = tuple(
            each._filter({**selected, "site": sites and [site for site in sites if site in each.sites]})
            for each in self.earlier
            if sites is None or not {*sites}.isdisjoint(each.sites)
        )
        metadata = attrs.evolve(self._metadata, choice=choice)
        of = tuple(each for each in self.sites if sites is None or each in sites)
        return Snapshot(name, partial(loaded, subset), metadata, earlier=earlier, whole=self.whole or self, sites=of)

    def to_pandas(self, style: Literal["advertools"] | None = None) -> pd.DataFrame:
        """The URLs as a pandas.DataFrame; `style="advertools"`: with the columns of that library's sitemap_to_df().

        As in advertools, a page with several images or videos then has only the last of them; `urls` has them all.
        """
        if style is None:
            return self.urls.to_pandas()
        if style != "advertools":
            raise UsageError(keyword="style", value=style, allowed='"advertools" or None')
        return advertools_frame(self)

    def to_parquet(self, path: str | os.PathLike[str]) -> None:
        """Writes Parquet (zstd) that load() reads: the URLs to a file `….parquet`, or all tables to a folder."""
        write_parquet(self._with_sites, attrs.evolve(self._metadata, complete=self.complete), Path(path))

    def report(self, path: str | os.PathLike[str], *, ours: str | None = None) -> None:
        """Writes one self-contained HTML page that compares the sites, or describes the only one.

        It has size, growth, sections, rhythm, languages, trust in lastmods, topics, what the other sites have and
        `ours` (by default the first site) has not, and what is new: each with its rule, a chart and a table. The page
        loads nothing. OSError if it cannot be written. Needs the extra `analysis`.
        """
        require_pandas()
        file = Path(path)
        if file.suffix.lower() not in (".html", ".htm"):
            raise UsageError(f"{file}: a report is HTML: name a file that ends in .html")
        from .report import render_report

        file.write_text(render_report(self, ours), encoding="utf-8")

    @property
    def _with_sites(self) -> Tables:
        return Tables(self.urls.stored, self.sitemaps.stored, self.problems.stored)

    def __repr__(self) -> str:
        more = len(self.notes) - _REPR_NOTES
        notes = [shorten(note, _REPR_NOTE_CHARS, placeholder="…") for note in self.notes[:_REPR_NOTES]]
        notes += [f"{more:,} more notes"] if more > 0 else []
        read = [f"read {self.read_on}"] if self.read_on else []
        return printable(f"<Snapshot of {'; '.join([self._content, *read, *_earlier_states(self), *notes])}>")

    @property
    def _content(self) -> str:
        """`a.example (archive/*.xml): 640 URLs`; of a file that would have to be read to know, its name alone."""
        if not (getattr(self._load, "func", None) is loaded or "_tables" in vars(self)):
            return f"{self.name}: not loaded yet"
        sites = name_first(self.sites, ", ") or self.name
        return f"{sites}{f' ({self.name})' if sites != self.name else ''}: {count_of(len(self.urls), 'URL')}"

    def __str__(self) -> str:
        try:
            return _text_card(self, self.verdict)
        except SitemapReaderError:  # without pandas, or of a damaged file
            return repr(self)

    def _repr_pretty_(self, printer: Any, is_cycle: bool) -> None:
        printer.text(repr(self) if is_cycle else str(self))

    def _repr_html_(self) -> str | None:
        return _html_card(self, self.verdict) if find_spec("pandas") and find_spec("pyarrow") else None

    @cached_property
    def pages(self) -> Table:
        """One row per page, with the columns of `urls`: of several listings, the first with the newest lastmod.

        `alternates`, `images`, `videos` and `news` are those of the first listing that has any, as many sites have
        sitemaps of their own for them. Two columns are added: `section`, as in sections(), and `language`, as in
        languages(), null if it is unknown. They are computed on first use, and need pandas.
        """
        pages = super().pages
        return Table("pages", pages.stored, *pages._derived, DerivedColumns(self._page_columns, _PAGE_COLUMNS))

    @cached_property
    def history(self) -> Table:
        """One row per page that any state listed: `site page_key loc section language first_seen last_seen removed_at`.

        The states are this one and `earlier`. `last_seen` is when the last state that lists the page was read,
        `removed_at` the next one, which does not; null for a page that is listed. `first_seen` is as in `urls`.
        """
        require_pandas()
        from .archive import history_table

        return Table("history", history_table(self))

    def _page_columns(self, names: Sequence[str]) -> dict[str, Any]:
        from .languages import page_languages
        from .sections import section_of
        from .url_parts import texts_of

        makers = {"section": lambda: section_of(self, 1), "language": lambda: page_languages(self)["language"]}
        return {name: texts_of(makers[name]()) for name in names}

    # --- measures ---

    @cached_property
    def verdict(self) -> str:
        """How far the lastmods of each site can be trusted: `lastmods are doubtful (0.60): 40% within 3 min on …`."""
        require_pandas()
        from .dates import site_histories, verdict

        return printable(verdict(site_histories(self)))

    def _measure(self, name: str, *args: Any, **options: Any) -> Measure:
        """The measure, which is kept for the next call with the same arguments."""
        require_pandas()
        from . import measures

        compute: Callable[[], Measure] = partial(getattr(measures, name), self, *args, **options)
        key = (name, *((type(value), value) for value in (*args, *options.items())))
        try:
            hash(key)
        except TypeError:  # a list among the arguments
            return compute()
        copy: Measure = keep(self, key, compute).copy()
        return copy

    def cadence(self, freq: Freq = "month", *, tz: str = "UTC", by: By | None = None) -> Measure:
        """Pages by the period of their lastmod: `site period pages`, one row per period from the first to the last.

        `freq` is "day", "week" (from Monday), "month", "quarter" or "year", or the first letter of it. With
        `by` "section", "language" or "host" each of these is counted for itself, and has a column after `site`.
        `period` is its start in the time zone `tz`, such as "Europe/Oslo".
        """
        return self._measure("cadence", freq, tz=tz, by=by)

    def weekday_hour(self, *, tz: str = "UTC") -> Measure:
        """Pages by weekday and hour of their lastmod: `site weekday hour pages`. `tz` is a zone such as "Europe/Oslo".

        A lastmod without a time has a weekday, and no hour.
        """
        return self._measure("weekday_hour", tz=tz)

    def freshness(self, *, by: By | None = None) -> Measure:
        """Pages by the age of their lastmod: `site age pages share`, from "0-7 days" to "older", then "undated".

        "untrusted" are those with a lastmod that does not count, as it cannot be trusted. `by` is that of cadence().
        Of an archive only the pages that are listed now count.
        """
        return self._measure("freshness", by)

    def lastmod_trust(self) -> Measure:
        """How reliable each sitemap's lastmods are, with a `score` from 0 to 1.

        Columns: `site sitemap urls dated coverage dense batch future at_fetch score trust reasons`. The score is empty
        if no URL has a lastmod; `coverage` is the share of URLs that have one, `trust` the score in words.
        """
        return self._measure("lastmod_trust")

    def calendar(self, freq: Freq = "month", *, tz: str = "UTC", by: By | None = None) -> Measure:
        """Pages by the period of their publication: `site period source pages`, a row per period from first to last.

        `source` is "news" (publication date), "url" (a date in the URL), "first seen" (in an archive or a state) or
        "lastmod", which counts only as far as it can be trusted. `freq`, `tz` and `by` are those of cadence().
        """
        return self._measure("calendar", freq, tz=tz, by=by)

    def new(self, since: Moment, depth: int = 1, *, by_language: bool = False) -> Measure:
        """Pages that are new since a date, by section: `site section new pages unknown source`.

        `since` is a date, a datetime, an age such as "7d" before the time of reading, or a timedelta. `unknown` are
        pages of which nothing states when they appeared; `source` is "first seen", "news" or both. Sections are those
        of sections().
        """
        return self._measure("new", since, depth, by_language=by_language)

    def tree(self) -> Measure:
        """Sitemaps and their nesting: `site sitemap parent depth format urls newest complete entries`.

        Each is below the first one that lists it. `urls` are the listings of the Snapshot that are from it, `newest` is
        their newest lastmod.
        """
        return self._measure("tree")

    def sections(self, depth: int = 1, *, by_language: bool = False) -> Measure:
        """Pages by their first folders, `depth` of them: `site section pages share dated newest`.

        A folder that states a language does not count: /de/shop/ and /en/shop/ are one section, /shop/. With
        `by_language` it is a folder as any other.
        """
        return self._measure("sections", depth, by_language=by_language)

    def robots_for(self, agents: str | Iterable[str], depth: int = 1) -> pd.DataFrame:
        """What robots.txt permits: `site agent section pages allowed disallowed unknown`, counts of pages.

        `agents` are names of crawlers in robots.txt ("GPTBot", "googlebot,bingbot"), whole User-Agent headers, or "*"
        for those that it does not name; each has the groups that name it, else those of `*` (RFC 9309). `unknown` are
        pages of hosts whose robots.txt was not read. Sections are those of sections().

        UsageError without robots.txt: dumps have none; snapshot() reads it, and to_parquet() keeps it.
        """
        require_pandas()
        from .robots import robots_for

        return robots_for(self, self._metadata.robots, agents, depth)

    def media_coverage(self, depth: int = 1, *, by_language: bool = False) -> Measure:
        """Pages with images, videos, news and alternates: `site section pages`, then a count and a share of each.

        `images_listed` and `videos_listed` are the numbers of images and videos. Sections are those of sections().
        """
        return self._measure("media_coverage", depth, by_language=by_language)

    def changefreq_priority(self) -> Measure:
        """Pages by the values of changefreq and priority: `site field value pages share median_age_days`."""
        return self._measure("changefreq_priority")

    def languages(self) -> Measure:
        """Pages by language, from hreflang, path, host or news: `site language base pages share source`.

        The language is a tag in lower case, such as "en-gb", or "unknown"; `base` is "en" of it.
        """
        return self._measure("languages")

    def page_types(self) -> Measure:
        """Pages by type, from the names that platforms use in paths: `site type pages share example`.

        Types are product, category, tag, author, article, event, video, help, job, home, pagination, search, feed,
        file, archive, overview, "about and legal", and other, which no name of a folder or page states.
        """
        return self._measure("page_types")

    def patterns(self, *, top: int = 30) -> Measure:
        """Pages by the pattern of their URL, such as /blog/{year}/{slug}: `site pattern pages share example`.

        The `top` patterns of each site; `other` are all pages of the others.
        """
        return self._measure("patterns", top)

    def slug_lengths(self) -> Measure:
        """Pages by the number of words in their slug: `site words pages share characters`, the last in the median."""
        return self._measure("slug_lengths")

    def translations(self, languages: Iterable[str] | None = None) -> Measure:
        """Pages that lack a language of their site: `site key languages missing loc`.

        `key` is the path without the language, `languages` those that the page is in, `missing` those that it lacks.
        Compared are `languages`, tags as in languages(), or those that have a tenth of the pages of the largest one.
        """
        return self._measure("translations", languages)

    def slug_ngrams(
        self,
        n: int = 1,
        *,
        top: int = 20,
        skip: Iterable[str] = (),
        stop_words: bool = True,
        weights: Weights | None = None,
    ) -> Measure:
        """Frequent words of slugs, `n` in a row: `site words pages share`, the `top` of each site without `skip`.

        Stop words of the language of each page are left out, unless `stop_words` is False. `weights` are numbers by the
        URL of a page, such as clicks: a mapping, a Series, or a DataFrame of two columns. Then words are ordered by the
        sum of these, a column `weight`, and `share` is that of the sum of all pages.
        """
        return self._measure("slug_ngrams", n, top=top, skip=skip, stop_words=stop_words, weights=weights)

    def topics(
        self,
        *,
        top: int = 50,
        skip: Iterable[str] = (),
        stop_words: bool = True,
        weights: Weights | None = None,
        by: By | None = None,
    ) -> Measure:
        """Frequent words of slugs and titles: `site topic pages share slugs titles cluster`.

        Titles are those of news, videos and images, and keywords of news. `slugs` and `titles` are the pages that have
        the word there; `cluster` is the most frequent of the words with which it mostly occurs. `top`, `skip`,
        `stop_words` and `weights` are as in slug_ngrams(), `by` as in cadence().
        """
        options = {"top": top, "skip": skip, "stop_words": stop_words, "weights": weights, "by": by}
        return self._measure("topics", **options)

    def trends(self, since: Moment, *, top: int = 20, skip: Iterable[str] = (), stop_words: bool = True) -> Measure:
        """Words that are more frequent, or less, in new pages: `site topic new before new_share before_share change`.

        New are the pages that appeared since a date, as in calendar(); `since` is as in new(). `new` and `before` are
        the pages with the word, the shares those of all such pages, and `change` is the first less the second. Only
        words whose shares differ more than by chance are there, the `top` clearest of each site.
        `skip` and `stop_words` are as in slug_ngrams().
        """
        return self._measure("trends", since, top=top, skip=skip, stop_words=stop_words)

    def hreflang(self) -> Measure:
        """hreflang links from language to language: `site language alternate links returned`."""
        return self._measure("hreflang")

    def overlap(self, by: Literal["path", "slug"] = "path") -> Measure:
        """Paths that sites share: `site other paths shared usual share`, one row per ordered pair of sites.

        `usual` of the shared ones have a name that most sites have, such as /about. With by="slug" the last names of
        the paths are compared, and the third column is `slugs`. Equal are paths that gaps() takes as equal.
        """
        return self._measure("overlap", by)

    def gaps(self, ours: str | Iterable[str] | Snapshot, by: KeyName = "path") -> Measure:
        """What the other sites have, and `ours` has not: `site key pages share loc`.

        `ours` is a site of this Snapshot, several, or another Snapshot. With `by` "path" or "slug" a row is a page,
        `key` its path or slug, decoded and without a language, `pages` how many pages of the site have that key, and
        `share` the share of these; then comes its `section`. With "topic" a row is a word that the site has in slugs or
        titles and no page of `ours` has, with "language" a language, without its region; `loc` is the first page with
        it.
        """
        return self._measure("gaps", ours, by)

    def shared(self, ours: str | Iterable[str] | Snapshot, by: KeyName = "path") -> Measure:
        """What the other sites and `ours` have: `site key pages share loc ours`, the last the first page of ours.

        The rows are those of gaps() for the keys that ours has too.
        """
        return self._measure("gaps", ours, by, is_shared=True)

    def turnover(self, freq: Freq = "month", *, tz: str = "UTC", by: By | None = None) -> Measure:
        """Pages that came and went, by the period of the reading that found it: `site period new returned removed`.

        `new` are listed for the first time, `returned` again after a removal. Needs `earlier`, as an archive has.
        list_urls() has a row for each of these. `tz` and `by` are as in cadence().
        """
        return self._measure("turnover", freq, tz=tz, by=by)

    def survival(self) -> Measure:
        """How long pages stay listed: `site days pages removed share`, of the pages that appeared in an archive.

        `share` is still listed after so many days; `pages` are those of which it is known, `removed` of these.
        """
        return self._measure("survival")

    def growth(self, others: Snapshot | Iterable[Snapshot] | None = None, *, by: By | None = None) -> Measure:
        """Page counts of this Snapshot and of `others`: `site at pages new removed dated newest sitemaps complete`.

        `new` and `removed` are since the one before. Without `others`, of this one and of `earlier`. `by` is as in
        cadence().
        """
        return self._measure("growth", self.earlier if others is None else others, by)

    def churn(self, other: Snapshot | None = None, depth: int = 1) -> Measure:
        """Changes since an earlier Snapshot: `site section new updated redated removed unchanged`.

        Without `other`, since the last one of `earlier`. A page is `redated` if only its lastmod differs, and those of
        its sitemap cannot be trusted. list_urls() has a row for each page that is not unchanged.
        """
        return self._measure("churn", other, depth)


def _as_list(values: str | Iterable[str] | None) -> list[str] | None:
    return None if values is None else [values] if isinstance(values, str) else [*values]


def require_pandas() -> None:
    try:
        import pandas  # noqa: F401
    except ImportError as exc:
        raise UsageError(f"measures need pandas: {install_hint('analysis')}") from exc
    require_pyarrow("a Snapshot's tables need", "analysis")


# --- the card: HTML for a notebook, or text ---

_MAX_SITES = 6


def _html_card(snapshot: SnapshotTables, verdict: str) -> str:
    first, *others = ([*map(_escape, row)] for row in _card_rows(snapshot))
    head = "".join(f"<th>{site}</th>" for site in first)
    rows = [f"<tr><th>{name}</th>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>" for name, *cells in others]
    verdicts = "<br>".join(map(_escape, verdict.split(SITE_SEPARATOR)))
    return (
        f"<div><p><strong>{verdicts}</strong></p>\n"
        f"<table><thead><tr>{head}</tr></thead>\n<tbody>{''.join(rows)}</tbody></table>\n"
        f"<p>{'<br>'.join(map(_escape, _card_notes(snapshot)))}</p></div>"
    )


def _escape(text: str) -> str:
    return escape(printable(text))


def _text_card(snapshot: SnapshotTables, verdict: str) -> str:
    rows = [[*map(printable, row)] for row in _card_rows(snapshot)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(starmap(str.ljust, zip(row, widths, strict=True))).rstrip() for row in rows]
    above, below = ([*map(printable, texts)] for texts in (verdict.split(SITE_SEPARATOR), _card_notes(snapshot)))
    return "\n".join([*above, "", *lines, "", *below])


def _card_rows(snapshot: SnapshotTables) -> list[list[str]]:
    """The names of the sites, then a row for each fact."""
    columns = {site: dict(_facts(snapshot, site)) for site in snapshot.sites[:_MAX_SITES]}
    names = dict.fromkeys(name for facts in columns.values() for name in facts)
    return [["", *columns], *([name, *(facts[name] for facts in columns.values())] for name in names)]


def _card_notes(snapshot: SnapshotTables) -> list[str]:
    more = len(snapshot.sites) - _MAX_SITES
    read = f"read {snapshot.read_on}" if snapshot.read_on else "time of reading unknown"
    first = "; ".join([f"{snapshot.name}, {read}: {_COMPLETENESS[snapshot.complete]}", *_earlier_states(snapshot)])
    return [first, *snapshot.notes, *([f"{count_of(more, 'site')} more"] if more > 0 else [])]


def _earlier_states(snapshot: SnapshotTables) -> Iterator[str]:
    """`43 earlier states since 2026-01-15`; nothing without any."""
    if snapshot.earlier:
        first = snapshot.earlier[0].read_at
        since = f" since {first:%Y-%m-%d}" if first else ""
        yield f"{count_of(len(snapshot.earlier), 'earlier state')}{since}"


_COMPLETENESS = {True: "complete", False: "partial", None: "completeness unknown"}


def _facts(snapshot: SnapshotTables, site: str) -> Iterator[tuple[str, str]]:
    pages, urls = (_rows_of_site(table, site) for table in (snapshot.pages, snapshot.urls))
    outcomes, problems = (_rows_of_site(table, site) for table in (snapshot.sitemaps, snapshot.problems))
    count = pages.num_rows
    yield "pages", f"{count:,}" + (f" in {urls.num_rows:,} listings" if urls.num_rows != count else "")
    yield "sitemaps", _documents(urls, outcomes, is_whole=snapshot.complete is not False)
    yield "hosts", _top_values(pages["host"])
    yield "newest lastmod", _newest(pages)
    yield "lastmod stated", _share(count - pages["lastmod"].null_count, count)
    yield "sections", _top_values(pages["section"])
    media = (_share(_count_with(pages, name), count) for name in ("images", "videos", "news"))
    yield "images, videos, news", ", ".join(media)
    yield "hreflang", _share(_count_with(pages, "alternates"), count)
    hints = (_share(count - pages[name].null_count, count) for name in ("changefreq", "priority"))
    yield "changefreq, priority", ", ".join(hints)
    yield "problems", _top_values(problems["code"]) if problems.num_rows else "none reported"


def _rows_of_site(table: Any, site: str) -> Any:
    from pyarrow import compute

    rows = table.to_arrow()
    is_here = compute.equal(rows["site"], site)
    return rows if compute.all(is_here).as_py() else rows.filter(is_here)  # usually the only site: no copy


def _documents(urls: Any, outcomes: Any, *, is_whole: bool) -> str:
    """`10, of which 8 have URLs; all complete`; robots.txt is no sitemap."""
    with_urls = len(urls["sitemap"].unique())
    if not outcomes.num_rows:
        return f"{with_urls:,} with URLs"
    sitemaps = [row for row in outcomes.select(["format", "complete"]).to_pylist() if row["format"] != Format.ROBOTS]
    incomplete = [row["complete"] for row in sitemaps].count(False)
    state = f"{incomplete:,} incomplete" if incomplete else "all complete" if is_whole else "others are missing"
    return f"{len(sitemaps):,}, of which {with_urls:,} have URLs; {state}"


def _top_values(column: Any) -> str:
    """The number of distinct values, then the most frequent ones: `3: a.example (90), b.example (8), …`."""
    counts = sorted(column.drop_null().value_counts().to_pylist(), key=lambda value: -value["counts"])
    if not counts:
        return "none"
    top = ", ".join(f"{value['values']} ({value['counts']:,})" for value in counts[:3])
    return f"{len(counts):,}: {top}" + (", …" if len(counts) > 3 else "")


def _newest(pages: Any) -> str:
    from pyarrow import compute

    from ..parser.normalise.dates import format_date

    newest = compute.max(pages["lastmod"]).as_py()
    if newest is None:
        return "none"
    row = compute.index(pages["lastmod"], newest).as_py()
    return format_date(newest, pages["lastmod_precision"][row].as_py())


def _count_with(pages: Any, name: str) -> int:
    from pyarrow import compute

    return int(compute.sum(has_any(pages[name])).as_py() or 0)


def _share(part: int, whole: int) -> str:
    return percent(part / whole) if whole else "-"
