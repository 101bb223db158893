"""Parts of URLs as columns, computed with Arrow on all cores."""

from __future__ import annotations

import os
import re
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pyarrow as pa
from pyarrow import compute

from ..parser.normalise.urls import registrable_domain

# The most columns `dir_1` … `dir_n`; `depth` counts all segments of a path.
MAX_DIRS = 9
_BATCH_ROWS = 1 << 16
_URL = r"^[^:/?#]+://(?:[^/?#]*@)?(?P<host>[^/?#]*)(?P<path>[^?#]*)(?:\?(?P<query>[^#]*))?"
_PORT = re.compile(r":[0-9]*$")
# `7z` and `mp4` are extensions; the 2 of `v1.2` is not.
_NAME = r"^(?P<slug>.+)\.(?P<extension>[0-9]?[A-Za-z][A-Za-z0-9]{0,4})$"


def url_part_columns(locs: Any) -> dict[str, Any]:
    """Name -> column, for a pyarrow.ChunkedArray of URLs.

    `host`: with the port if one is stated. `domain`: the registrable domain. `path`. `depth`: the number of segments of
    the path. `dir_1` to `dir_n`: the folders, that is all segments but the last, which is the page with or without a
    trailing slash. `slug`: the last segment without its extension. `extension`: in lower case. `query_keys`: a list, in
    the order of the query. A missing part is null. Nothing is percent-decoded.
    """
    parts = [chunk.slice(at, _BATCH_ROWS) for chunk in locs.chunks for at in range(0, len(chunk), _BATCH_ROWS)]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        batches = [*pool.map(_batch_parts, parts)] or [_batch_parts(pa.array([], pa.string()))]
    table = pa.Table.from_batches(batches)
    columns = {name: table[name] for name in ("host", "domain", "path", "depth")}
    columns |= _folders(table["names"], table["depth"])
    return columns | {name: table[name] for name in ("slug", "extension", "query_keys")}


def _batch_parts(locs: Any) -> Any:
    """A RecordBatch of the columns for one batch of locs, and `names`, the segments of the path."""
    parts = _split_parts(locs) or _extract_parts(locs)
    host, path, query = (compute.if_else(compute.equal(part, ""), None, part) for part in parts)
    trimmed = compute.ascii_trim(compute.fill_null(path, ""), "/")
    names = compute.split_pattern(trimmed, "/")
    is_root = compute.equal(trimmed, "")
    depth = compute.if_else(is_root, 0, compute.list_value_length(names))
    slug, extension = _page_name(names, is_root)
    columns = {
        "host": host,
        "domain": _domains(host),
        "path": path,
        "depth": depth.cast(pa.int64()),
        "slug": slug,
        "extension": extension,
        "query_keys": _query_keys(query),
        "names": names,
    }
    return pa.record_batch(columns)


def _split_parts(locs: Any) -> tuple[Any, Any, Any] | None:
    """Host, path and query by splitting at slashes; None unless all URLs are in the form of clean_url()."""
    parts = compute.split_pattern(locs, "/", max_splits=3)
    if locs.null_count or not _all(compute.equal(compute.list_value_length(parts), 4)):
        return None
    scheme, empty, host, rest = (compute.list_element(parts, number) for number in range(4))
    is_odd = compute.match_substring_regex(host, "[?#@]")
    if not _all(compute.ends_with(scheme, ":")) or not _all(compute.equal(empty, "")) or _any(is_odd):
        return None
    if _any(compute.match_substring(rest, "#")):
        return None
    if not _any(compute.match_substring(rest, "?")):
        return host, compute.binary_join_element_wise("/", rest, ""), pa.nulls(len(rest), pa.string())
    path_query = compute.split_pattern(rest, "?", max_splits=1)
    has_query = compute.equal(compute.list_value_length(path_query), 2)
    last = path_query.values.take(compute.subtract(path_query.offsets[1:], 1))
    path = compute.binary_join_element_wise("/", compute.list_element(path_query, 0), "")
    return host, path, compute.if_else(has_query, last, "")


def _extract_parts(locs: Any) -> tuple[Any, Any, Any]:
    """Host, path and query of any text by a regular expression, which takes ten times as long."""
    found = compute.extract_regex(locs, _URL)
    host, path, query = (compute.struct_field(found, name) for name in ("host", "path", "query"))
    return host, path, query


def _all(column: Any) -> bool:
    return bool(compute.all(column, min_count=0).as_py())


def _any(column: Any) -> bool:
    return bool(compute.any(column, min_count=0).as_py())


def _domains(hosts: Any) -> Any:
    coded = hosts.dictionary_encode()
    domains = [host and registrable_domain(_PORT.sub("", host)) for host in coded.dictionary.to_pylist()]
    return pa.array(domains, pa.string()).take(coded.indices)


def _page_name(names: Any, is_root: Any) -> tuple[Any, Any]:
    last = names.values.take(compute.subtract(names.offsets[1:], 1))
    name = compute.if_else(is_root, None, last)
    none = pa.nulls(len(name), pa.string())
    has_dot = compute.match_substring(last, ".")
    if not _any(has_dot):
        return name, none
    dotted = name.filter(has_dot)
    found = compute.extract_regex(dotted, _NAME)
    slug = compute.coalesce(compute.struct_field(found, "slug"), dotted)
    extension = compute.ascii_lower(compute.struct_field(found, "extension"))
    return compute.replace_with_mask(name, has_dot, slug), compute.replace_with_mask(none, has_dot, extension)


def _query_keys(queries: Any) -> Any:
    if queries.null_count == len(queries):
        return pa.nulls(len(queries), pa.list_(pa.string()))
    parts = compute.split_pattern(queries, "&")
    keys = compute.list_element(compute.split_pattern(parts.values, "=", max_splits=1), 0)
    lists = pa.ListArray.from_arrays(parts.offsets, keys)
    return compute.if_else(compute.is_null(queries), pa.scalar(None, lists.type), lists)


def _folders(names: Any, depth: Any) -> dict[str, Any]:
    """At least `dir_1`."""
    deepest = (compute.max(depth).as_py() or 0) - 1
    columns = {}
    for level in range(min(max(deepest, 1), MAX_DIRS)):
        is_folder = compute.greater(depth, level + 1)
        padded = compute.list_slice(names, level, level + 1, return_fixed_size_list=True)
        columns[f"dir_{level + 1}"] = compute.if_else(is_folder, compute.list_element(padded, 0), None)
    return columns
