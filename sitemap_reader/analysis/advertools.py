"""URLs as advertools has them: a Snapshot in, a frame with the columns of its sitemap_to_df() out.

That library puts each tag into a column by its name, with that of the tag around it before; of several images or
videos of a page the last one is there. Values are ours: lastmod is always a date in UTC, and never spoils the column.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd

if TYPE_CHECKING:
    from .snapshot import Snapshot

_PLAIN = ("loc", "lastmod", "changefreq", "priority")
# Of a list, its last item: column -> prefix of the columns of what is in it.
_LAST = {"images": "image_", "videos": "video_"}
_NEWS = {
    "name": "publication_name",
    "language": "publication_language",
    "title": "news_title",
    "publication_date": "news_publication_date",
    "keywords": "news_keywords",
    "genres": "news_genres",
    "stock_tickers": "news_stock_tickers",
    "access": "news_access",
    "geo_targeting": "news_geo_locations",
}
_OF_SITEMAPS = ("etag", "sitemap_last_modified", "sitemap_size_mb")


def advertools_frame(snapshot: Snapshot) -> pd.DataFrame:
    """The columns that have a value, and those that are always there."""
    stored = snapshot.urls.stored
    frame = stored.select([*_PLAIN]).to_pandas()
    for name, prefix in _LAST.items():
        for inside, column in _last_items(stored[name]).items():
            frame[f"{prefix}{inside}"] = column
    for inside, column in _inside(stored["news"]).items():
        if inside in _NEWS:
            frame[_NEWS[inside]] = column
    frame = frame.loc[:, [name for name in frame if name in _PLAIN or frame[name].notna().any()]]
    frame["sitemap"] = stored["sitemap"].to_pandas()
    frame = frame.merge(_documents(snapshot), how="left", on="sitemap")
    frame["download_date"] = pd.Timestamp(snapshot.at)
    return frame


def _last_items(column: Any) -> dict[str, Any]:
    import pyarrow as pa
    from pyarrow import compute

    lists = column.combine_chunks()
    lengths = compute.fill_null(compute.list_value_length(lists), 0)
    last = compute.if_else(compute.greater(lengths, 0), compute.subtract(lists.offsets[1:], 1), None)
    return _inside(pa.chunked_array([lists.values.take(last)]))


def _inside(column: Any) -> dict[str, Any]:
    """Field -> column, in words where there are several: `a, b`."""
    from pyarrow import compute, types

    columns = {}
    for field in column.type:
        values = compute.struct_field(column, field.name)
        if types.is_list(field.type) and types.is_string(field.type.value_type):
            values = compute.binary_join(values, ", ")
            values = compute.if_else(compute.equal(values, ""), None, values)
        if types.is_struct(field.type):
            values = compute.struct_field(values, "value") if field.type.get_field_index("value") >= 0 else None
        if values is not None and not types.is_list(values.type):
            columns[field.name] = values.to_pandas()
    return columns


def _documents(snapshot: Snapshot) -> pd.DataFrame:
    """What is known of the sitemaps, by their URL."""
    known = snapshot.sitemaps.to_pandas(["url", "etag", "last_modified", "bytes_decoded"]).drop_duplicates("url")
    known["sitemap_last_modified"] = pd.to_datetime(known.pop("last_modified"), utc=True, errors="coerce")
    known["sitemap_size_mb"] = known.pop("bytes_decoded") / 1024 / 1024
    return known.rename(columns={"url": "sitemap"})[["sitemap", *_OF_SITEMAPS]]
