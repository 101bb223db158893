"""Export for advertools: a Snapshot in, a frame with the columns of advertools' sitemap_to_df() out.

advertools names each column after the tag, prefixed with its parent's, and keeps only the last of several images or
videos of a page. The values are not advertools': lastmod is always a UTC datetime column.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd

if TYPE_CHECKING:
    from .tables import SnapshotTables

_ALWAYS = ("loc", "lastmod", "changefreq", "priority")
# Columns of lists, of which the last item is kept -> prefix for its fields.
_LISTS = {"images": "image_", "videos": "video_"}
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
_SITEMAP_COLUMNS = ("etag", "sitemap_last_modified", "sitemap_size_mb")


def advertools_frame(snapshot: SnapshotTables) -> pd.DataFrame:
    """One row per listing: the columns with at least one value, besides those that are always present."""
    stored = snapshot.urls.stored
    frame = stored.select([*_ALWAYS]).to_pandas()
    for name, prefix in _LISTS.items():
        for field, column in _last_items(stored[name]).items():
            frame[f"{prefix}{field}"] = column
    for field, column in _fields(stored["news"]).items():
        if field in _NEWS:
            frame[_NEWS[field]] = column
    frame = frame.loc[:, [name for name in frame if name in _ALWAYS or frame[name].notna().any()]]
    frame["sitemap"] = stored["sitemap"].to_pandas()
    frame = frame.merge(_sitemap_columns(snapshot), how="left", on="sitemap")
    frame["download_date"] = pd.Timestamp(snapshot.at)
    return frame


def _last_items(column: Any) -> dict[str, Any]:
    """Field -> pandas column for the last item of each list."""
    import pyarrow as pa
    from pyarrow import compute

    lists = column.combine_chunks()
    lengths = compute.fill_null(compute.list_value_length(lists), 0)
    last = compute.if_else(compute.greater(lengths, 0), compute.subtract(lists.offsets[1:], 1), None)
    return _fields(pa.chunked_array([lists.values.take(last)]))


def _fields(column: Any) -> dict[str, Any]:
    """Field -> pandas column for a column of structs; lists of strings are joined with ", "."""
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


def _sitemap_columns(snapshot: SnapshotTables) -> pd.DataFrame:
    """The columns about the sitemap a URL is listed in, one row per sitemap."""
    sitemaps = snapshot.sitemaps.to_pandas(["url", "etag", "last_modified", "bytes_decoded"]).drop_duplicates("url")
    sitemaps["sitemap_last_modified"] = pd.to_datetime(sitemaps.pop("last_modified"), utc=True, errors="coerce")
    sitemaps["sitemap_size_mb"] = sitemaps.pop("bytes_decoded") / 1024 / 1024
    return sitemaps.rename(columns={"url": "sitemap"})[["sitemap", *_SITEMAP_COLUMNS]]
