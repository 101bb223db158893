"""The data of a Snapshot: the tables of one or several sites, with the facts about how they were read.

In: a function that loads three pyarrow.Tables, and their SnapshotMetadata. Out: Tables with the columns `site` and, for
URLs, the parts of the URL. Loads on first use. Measures and renderers take this class; Snapshot adds them as methods.
"""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ..serialize.arrow import require_pyarrow
from ..serialize.dumps import Dump, DumpFile
from .tables import Table, Tables, json_objects
from .url_parts import url_part_columns

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ..serialize.dumps import Form
    from .parquet_io import SnapshotMetadata


# How many of the first URLs name the site of a file that names none.
_HOST_SAMPLE_ROWS = 10_000
# What identifies a page; `urls` may list it several times.
PAGE_KEY = ["site", "loc"]


class SnapshotTables(Dump):
    """What one site or several list at a moment. `urls`, `pages`, `sitemaps` and `problems` are Tables."""

    def __init__(
        self,
        name: str,
        load: Callable[[], Tables],
        metadata: SnapshotMetadata,
        *,
        file: DumpFile | None = None,
        site: str | None = None,
    ) -> None:
        """Created by snapshot() and load()."""
        self._name = name
        self._load = load
        self._metadata = metadata
        self._file = file
        self._site = site

    # --- metadata ---

    @property
    def name(self) -> str:
        """The targets, or the path of the file."""
        return self._name

    @cached_property
    def at(self) -> datetime:
        """The reference time for ages: when the sites were read if that is known, else when this was loaded."""
        return self._metadata.at or datetime.now(UTC)

    @property
    def read_at(self) -> datetime | None:
        """When reading began; None if unknown, as for a file of JSON lines."""
        return self._metadata.at

    @property
    def read_until(self) -> datetime | None:
        """When reading ended; None if unknown, or if only the day is known."""
        return None if self._metadata.is_day else self._metadata.until or self._metadata.at

    @property
    def read_on(self) -> str | None:
        """The day of reading as text, with the minute if it is known; None if unknown."""
        at = self._metadata.at
        date_format = "%Y-%m-%d" if self._metadata.is_day else "%Y-%m-%d %H:%M UTC"
        return None if at is None else at.strftime(date_format)

    @property
    def choice(self) -> str | None:
        """The filters that selected the URLs, as text; None if there were none."""
        return self._metadata.choice

    @property
    def notes(self) -> tuple[str, ...]:
        """What the tables lack, as sentences: URLs out of scope or filtered, sitemaps not read or read in part."""
        chosen = (f"only some of the URLs: {self.choice}",) if self.choice else ()
        return (*chosen, *self._metadata.notes)

    @cached_property
    def complete(self) -> bool | None:
        """Whether everything was read; None if unknown, as for a dump that was written without its report."""
        if self._metadata.complete is not None:
            return self._metadata.complete
        states = self._tables.sitemaps["complete"]
        return all(states.to_pylist()) if len(states) else None

    @cached_property
    def sites(self) -> tuple[str, ...]:
        """The values of the column `site`, in order of first appearance."""
        return tuple(self.urls.stored["site"].unique().to_pylist())

    # --- JSON lines ---

    @property
    def is_of_one_site(self) -> bool:
        """Whether all lines belong to one site; False for a file, which would have to be read to know."""
        return self._file is None and len(self.sites) == 1

    def numbered(self) -> Iterator[tuple[int, Form]]:
        """(line number, JSON object) pairs."""
        if self._file is not None:
            yield from self._file.numbered()
        else:
            yield from enumerate(json_objects(self._tables), 1)

    # --- tables ---

    @cached_property
    def _tables(self) -> Tables:
        require_pyarrow("a Snapshot's tables need", "analysis")
        return self._load()

    @property
    def is_named(self) -> bool:
        """Whether the site was named by the caller or in the file, rather than after its most frequent host."""
        return self._site is not None or not self._tables.urls["site"].null_count

    @cached_property
    def _default_site(self) -> str | None:
        """The name for rows without a site: the most frequent host among the first URLs."""
        urls = self._tables.urls
        if self._site is not None or not len(urls) or not urls["site"].null_count:
            return self._site
        hosts = url_part_columns(urls["loc"].slice(0, _HOST_SAMPLE_ROWS))["host"].to_pylist()
        return Counter(hosts).most_common(1)[0][0] or self.name

    @cached_property
    def urls(self) -> Table:
        """One row per listing: the fields of UrlRecord, `site`, and the parts of the URL.

        The parts come last and are computed on first use: `host domain path depth dir_1 … dir_n slug extension
        query_keys`. The last segment of the path is the page, and gives the `slug`; those before it are folders.
        """
        return Table(_with_site(self._tables.urls, self._default_site), _url_parts)

    @cached_property
    def pages(self) -> Table:
        """One row per page, with the columns of `urls`: of several listings, the first with the newest lastmod."""
        rows = _page_rows(self.urls.stored)
        return self.urls if rows is None else self.urls.take(rows)

    @cached_property
    def sitemaps(self) -> Table:
        """One row per fetched document: the fields of Outcome."""
        return Table(_with_site(self._tables.sitemaps, self._default_site))

    @cached_property
    def problems(self) -> Table:
        """One row per problem: the fields of Problem."""
        return Table(_with_site(self._tables.problems, self._default_site))


def _url_parts(table: Any) -> dict[str, Any]:
    return url_part_columns(table["loc"])


def _page_rows(urls: Any) -> Any:
    """The row numbers of a pyarrow.Table of URLs to keep, one per page; None for all."""
    import pyarrow as pa

    listings = urls.select([*PAGE_KEY, "lastmod"]).to_pandas()
    if not listings.duplicated(PAGE_KEY).any():
        return None
    newest_first = listings.sort_values("lastmod", ascending=False, kind="stable", na_position="last")
    return pa.array(newest_first.drop_duplicates(PAGE_KEY).index.sort_values())


def _with_site(table: Any, site: str | None) -> Any:
    """The table with nulls in its column `site` replaced by this name."""
    import pyarrow as pa
    from pyarrow import compute

    number = table.schema.get_field_index("site")
    filled = compute.fill_null(table["site"], pa.scalar(site, pa.string())) if site is not None else table["site"]
    return table.set_column(number, table.schema.field("site"), filled)
