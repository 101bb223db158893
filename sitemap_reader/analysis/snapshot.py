"""Snapshot: what sites list at a moment, as tables, and what can be asked of them. reading.py makes them."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from functools import cached_property, partial
from importlib import import_module
from pathlib import Path
from textwrap import shorten
from typing import TYPE_CHECKING, Any, Literal

import attrs

from ..model.errors import UsageError, install_hint
from ..serialize.arrow import require_pyarrow
from ..serialize.dumps import Dump, DumpFile
from .parquet_io import SnapshotMetadata, write
from .tables import Table, Tables, forms_of
from .url_parts import url_part_columns

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Iterator

    from ..frontier.filters import Pattern
    from ..serialize.dumps import Form
    from .measure import Measure


_FIRST = 10_000
# How many notes the repr shows, and how many characters of each.
_NOTES, _NOTE_CHARS = 3, 80


class Snapshot(Dump):
    """What one site or several list at a moment. `urls`, `pages`, `sitemaps` and `problems` are Tables.

    Iterating gives the UrlRecords, each time from the beginning; items() also outcomes and problems, forms() the dicts
    of their JSON lines. A Snapshot of a file reads it for these line by line, and into tables when one is asked for.

    Each measure is a pandas.DataFrame with a `rule`, which says what is counted, a `finding`, and chart(). It counts
    pages: a URL that a site lists several times counts once, by its listing with the newest lastmod. All of them have
    a column `site`, and take each site by itself.
    """

    def __init__(
        self,
        name: str,
        load: Callable[[], Tables],
        circumstances: SnapshotMetadata,
        *,
        file: DumpFile | None = None,
        site: str | None = None,
    ) -> None:
        """snapshot() and load() make them."""
        self._name = name
        self._load = load
        self._circumstances = circumstances
        self._file = file
        self._site = site

    # --- what it is ---

    @property
    def name(self) -> str:
        """The targets, or the file."""
        return self._name

    @cached_property
    def at(self) -> datetime:
        """The moment by which ages go: that of the reading, where it is known, else that at which this was loaded."""
        return self._circumstances.at or datetime.now(UTC)

    @property
    def read_at(self) -> datetime | None:
        """When the reading began; None where nobody knows, as of a file of JSON lines."""
        return self._circumstances.at

    @property
    def read_until(self) -> datetime | None:
        """When it ended; None where nobody knows, or the day alone is known."""
        return None if self._circumstances.is_day else self._circumstances.until or self._circumstances.at

    @property
    def read_on(self) -> str | None:
        """The day, and the minute where it is known; None where nobody knows."""
        at = self._circumstances.at
        form = "%Y-%m-%d" if self._circumstances.is_day else "%Y-%m-%d %H:%M UTC"
        return None if at is None else at.strftime(form)

    @property
    def choice(self) -> str | None:
        """Which URLs alone were taken; None where all were."""
        return self._circumstances.choice

    @property
    def notes(self) -> tuple[str, ...]:
        """What the tables lack, as sentences: URLs out of scope or filtered, sitemaps that were not or partly read."""
        chosen = (f"only some of the URLs: {self.choice}",) if self.choice else ()
        return (*chosen, *self._circumstances.notes)

    @cached_property
    def complete(self) -> bool | None:
        """Whether all was read; None where nobody knows, as of a dump that was written without its report."""
        if self._circumstances.complete is not None:
            return self._circumstances.complete
        states = self._gathered.sitemaps["complete"]
        return all(states.to_pylist()) if len(states) else None

    @cached_property
    def sites(self) -> tuple[str, ...]:
        """The names in the column `site`, in the order in which they come."""
        return tuple(self.urls.stored["site"].unique().to_pylist())

    # --- its lines ---

    @property
    def is_of_one_site(self) -> bool:
        """Whether its lines are those of one site; False for a file, where that is not known before it is read."""
        return self._file is None and len(self.sites) == 1

    def numbered(self) -> Iterator[tuple[int, Form]]:
        """Its lines, as dicts, with their numbers."""
        if self._file is not None:
            yield from self._file.numbered()
        else:
            yield from enumerate(forms_of(self._gathered), 1)

    # --- its tables ---

    @cached_property
    def _gathered(self) -> Tables:
        require_pyarrow("a Snapshot's tables need", "analysis")
        return self._load()

    @property
    def is_named(self) -> bool:
        """Whether its site has a name that somebody gave it, and does not go by its most frequent host."""
        return self._site is not None or not self._gathered.urls["site"].null_count

    @cached_property
    def _default_site(self) -> str | None:
        """What sites are called that have no name there: by the host on which most of the first URLs are."""
        urls = self._gathered.urls
        if self._site is not None or not len(urls) or not urls["site"].null_count:
            return self._site
        hosts = url_part_columns(urls["loc"].slice(0, _FIRST))["host"].to_pylist()
        return Counter(hosts).most_common(1)[0][0] or self.name

    @cached_property
    def urls(self) -> Table:
        """A row a listing: the fields of UrlRecord, `site`, and what the URL itself tells.

        These come last, and are computed when they are first asked for: `host domain path depth dir_1 … dir_n slug
        extension query_keys`. The last name of a path is the page, and gives the `slug`; those before it are folders.
        """
        return Table(_with_site(self._gathered.urls, self._default_site), _places)

    @cached_property
    def pages(self) -> Table:
        """A row a page, with the columns of `urls`: of several listings, the one with the newest lastmod."""
        from .pages import page_rows

        places = page_rows(self.urls.stored)
        return self.urls if places is None else self.urls.take(places)

    @cached_property
    def sitemaps(self) -> Table:
        """A row a document that was fetched: the fields of Outcome."""
        return Table(_with_site(self._gathered.sitemaps, self._default_site))

    @cached_property
    def problems(self) -> Table:
        """A row a problem: the fields of Problem."""
        return Table(_with_site(self._gathered.problems, self._default_site))

    def only(
        self,
        *,
        site: str | Iterable[str] | None = None,
        include: Pattern | Iterable[Pattern] | None = None,
        exclude: Pattern | Iterable[Pattern] | None = None,
    ) -> Snapshot:
        """A Snapshot of some: of one site or several, or of the URLs in which a regular expression is found, or none.

        The sitemaps and problems of a site stay, whatever of its URLs does.
        """
        from .tables import choice_of, chosen, repeatable

        include, exclude = repeatable(include), repeatable(exclude)
        sites = None if site is None else [site] if isinstance(site, str) else [*site]
        tables = Tables(self.urls.stored, self.sitemaps.stored, self.problems.stored)
        some = chosen(tables, sites, include, exclude)
        told = [self.choice, choice_of({"site": sites, "include": include, "exclude": exclude})]
        choice = "; ".join(filter(None, told)) or None
        name = ", ".join(sites) if sites else self.name
        return Snapshot(name, partial(same, some), attrs.evolve(self._circumstances, choice=choice))

    def to_pandas(self, style: Literal["advertools"] | None = None) -> Any:
        """The URLs as a pandas.DataFrame; `style="advertools"`: with the columns of that library's sitemap_to_df().

        There a page with several images or videos has the last of them, as it has there; `urls` has them all.
        """
        if style is None:
            return self.urls.to_pandas()
        if style != "advertools":
            raise UsageError(f'style is "advertools" or None, and not {style!r}')
        from .advertools import advertools_frame

        return advertools_frame(self)

    def to_parquet(self, path: str | os.PathLike[str]) -> None:
        """Writes Parquet (zstd) that load() reads: the URLs to a file `….parquet`, or all tables to a folder."""
        tables = Tables(self.urls.stored, self.sitemaps.stored, self.problems.stored)
        write(tables, attrs.evolve(self._circumstances, complete=self.complete), Path(path))

    def __repr__(self) -> str:
        more = len(self.notes) - _NOTES
        notes = [shorten(note, _NOTE_CHARS, placeholder="…") for note in self.notes[:_NOTES]]
        notes += [f"{more:,} more notes"] if more > 0 else []
        return f"<Snapshot of {'; '.join([self.name, *notes])}>"

    def _repr_html_(self) -> str:
        from .card import card

        return card(self)

    # --- measures ---

    @cached_property
    def verdict(self) -> str:
        """What the lastmods of each site are worth: `lastmods are doubtful (0.60): 40% have the same lastmod; …`."""
        require_pandas()
        from .dates import verdict

        return verdict(self)

    def _measure(self, room: str, name: str, *asked: Any, **more: Any) -> Measure:
        require_pandas()
        measure: Measure = getattr(import_module(f".{room}", __package__), name)(self, *asked, **more)
        return measure

    def cadence(self, freq: str = "month") -> Measure:
        """Pages by the period of their lastmod: `site period pages`, a row a period from the first to the last.

        `freq` is "day", "week" (from Monday), "month", "quarter" or "year".
        """
        return self._measure("dates", "cadence", freq)

    def weekday_hour(self, tz: str = "UTC") -> Measure:
        """When pages change: `site weekday hour pages`. `tz` is a zone such as "Europe/Oslo".

        A lastmod that states no time has a weekday, and no hour.
        """
        return self._measure("dates", "weekday_hour", tz)

    def freshness(self) -> Measure:
        """How old lastmods are: `site age pages share`, the ages from "7 days" to "older", then "undated"."""
        return self._measure("dates", "freshness")

    def lastmod_trust(self) -> Measure:
        """What a sitemap's lastmods are worth: `site sitemap urls dated identical future at_fetch score reasons`."""
        return self._measure("dates", "lastmod_trust")

    def sections(self, depth: int = 1) -> Measure:
        """Pages by their first folders, `depth` of them: `site section pages share dated newest`."""
        return self._measure("sections", "sections", depth)

    def media_coverage(self, depth: int = 1) -> Measure:
        """What pages have: `site section pages`, then for images, videos, news, alternates how many and their share."""
        return self._measure("sections", "media_coverage", depth)

    def hints(self) -> Measure:
        """changefreq and priority: `site hint value pages share median_age_days`."""
        return self._measure("sections", "hints")

    def slug_ngrams(self, n: int = 1, *, top: int = 20, skip: Iterable[str] = ()) -> Measure:
        """Words of slugs, `n` in a row: `site words pages share`, the `top` of each site without those to `skip`."""
        return self._measure("languages", "slug_ngrams", n, top=top, skip=skip)

    def hreflang_matrix(self) -> Measure:
        """Which languages name which: `site language alternate links returned`."""
        return self._measure("languages", "hreflang_matrix")

    def overlap(self, by: Literal["path", "slug"] = "path") -> Measure:
        """What sites have in common: `site other pages shared share`, a row for each two."""
        return self._measure("comparing", "overlap", by)

    def growth(self, others: Snapshot | Iterable[Snapshot] = ()) -> Measure:
        """How many pages there are in this and in `others`: `site at pages dated newest sitemaps complete`."""
        return self._measure("comparing", "growth", others)

    def churn(self, other: Snapshot, depth: int = 1) -> Measure:
        """What became of the pages of an earlier one: `site section new updated removed unchanged`."""
        return self._measure("comparing", "churn", other, depth)


def require_pandas() -> None:
    """UsageError, with what to install, where pandas is missing."""
    try:
        import pandas  # noqa: F401
    except ImportError as exc:
        raise UsageError(f"measures need pandas: {install_hint('analysis')}") from exc


def same(gathered: Tables) -> Tables:
    """A function that can be pickled, where no file is to be read."""
    return gathered


def _places(table: Any) -> dict[str, Any]:
    return url_part_columns(table["loc"])


def _with_site(table: Any, site: str | None) -> Any:
    """With a site in each row: the one that is named there, or else this one."""
    import pyarrow as pa
    from pyarrow import compute

    number = table.schema.get_field_index("site")
    filled = compute.fill_null(table["site"], pa.scalar(site, pa.string())) if site is not None else table["site"]
    return table.set_column(number, table.schema.field("site"), filled)
