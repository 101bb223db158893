"""What a URL's own text tells: a column of locs in; host, domain, path, folders, slug, extension, query keys out.

Computed by Arrow, many at a time, on all cores. Never fetches, and never changes a loc.
"""

from __future__ import annotations

import os
import re
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from ..parser.normalise.urls import registrable_domain

# Folders have a column each: `depth` tells how many names a path has beyond that.
MAX_DIRS = 9
_AT_ONCE_ROWS = 1 << 16
_URL = r"^[^:/?#]+://(?:[^/?#]*@)?(?P<host>[^/?#]*)(?P<path>[^?#]*)(?:\?(?P<query>[^#]*))?"
_PORT = re.compile(r":[0-9]*$")
# `7z` and `mp4` are extensions, and the 2 of `v1.2` is none.
_NAME = r"^(?P<slug>.+)\.(?P<extension>[0-9]?[A-Za-z][A-Za-z0-9]{0,4})$"


def url_part_columns(locs: Any) -> dict[str, Any]:
    """Name -> column, for a pyarrow.ChunkedArray of URLs.

    `host`, with its port if one is stated; `domain`, the part of it that can be registered; `path`; `depth`, the number
    of names in it; `dir_1` to `dir_n`, the folders: all names but the last, which is the page's, whether or not a slash
    stands behind it; `slug`, that last name without the `extension`, which is in lower case; `query_keys`, those of the
    query, in its order.
    Null where there is none. Nothing is decoded.
    """
    import pyarrow as pa

    parts = [chunk.slice(at, _AT_ONCE_ROWS) for chunk in locs.chunks for at in range(0, len(chunk), _AT_ONCE_ROWS)]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        batches = [*pool.map(_of_some, parts)] or [_of_some(pa.array([], pa.string()))]
    table = pa.Table.from_batches(batches)
    columns = {name: table[name] for name in ("host", "domain", "path", "depth")}
    columns |= _folders(table["names"], table["depth"])
    return columns | {name: table[name] for name in ("slug", "extension", "query_keys")}


def _of_some(locs: Any) -> Any:
    """The columns of some, and `names`, what stands between the slashes."""
    import pyarrow as pa
    from pyarrow import compute

    host, path, query = map(_stated, _split(locs) or _searched(locs))
    inside = compute.ascii_trim(compute.fill_null(path, ""), "/")
    names = compute.split_pattern(inside, "/")
    is_root = compute.equal(inside, "")
    depth = compute.if_else(is_root, 0, compute.list_value_length(names))
    slug, extension = _page_name(names, is_root)
    columns = {
        "host": host,
        "domain": _domains(host),
        "path": path,
        "depth": depth.cast(pa.int64()),
        "slug": slug,
        "extension": extension,
        "query_keys": _keys(query),
        "names": names,
    }
    return pa.record_batch(columns)


def _split(locs: Any) -> tuple[Any, Any, Any] | None:
    """Host, path and query of URLs as they are cleaned, at their slashes; None where one is not so written."""
    import pyarrow as pa
    from pyarrow import compute

    parts = compute.split_pattern(locs, "/", max_splits=3)
    if locs.null_count or not _all(compute.equal(compute.list_value_length(parts), 4)):
        return None
    scheme, nothing, host, rest = (compute.list_element(parts, place) for place in range(4))
    is_odd = compute.match_substring_regex(host, "[?#@]")
    if not _all(compute.ends_with(scheme, ":")) or not _all(compute.equal(nothing, "")) or _any(is_odd):
        return None
    if _any(compute.match_substring(rest, "#")):
        return None
    if not _any(compute.match_substring(rest, "?")):
        return host, compute.binary_join_element_wise("/", rest, ""), pa.nulls(len(rest), pa.string())
    asked = compute.split_pattern(rest, "?", max_splits=1)
    has_query = compute.equal(compute.list_value_length(asked), 2)
    last = asked.values.take(compute.subtract(asked.offsets[1:], 1))
    path = compute.binary_join_element_wise("/", compute.list_element(asked, 0), "")
    return host, path, compute.if_else(has_query, last, "")


def _searched(locs: Any) -> tuple[Any, Any, Any]:
    """The same of anything, in ten times the time."""
    from pyarrow import compute

    found = compute.extract_regex(locs, _URL)
    host, path, query = (compute.struct_field(found, name) for name in ("host", "path", "query"))
    return host, path, query


def _all(column: Any) -> bool:
    from pyarrow import compute

    return bool(compute.all(column, min_count=0).as_py())


def _any(column: Any) -> bool:
    from pyarrow import compute

    return bool(compute.any(column, min_count=0).as_py())


def _stated(column: Any) -> Any:
    """Null for nothing."""
    from pyarrow import compute

    return compute.if_else(compute.equal(column, ""), None, column)


def _domains(hosts: Any) -> Any:
    """There are few hosts, and many URLs on each."""
    import pyarrow as pa

    coded = hosts.dictionary_encode()
    domains = [host and registrable_domain(_PORT.sub("", host)) for host in coded.dictionary.to_pylist()]
    return pa.array(domains, pa.string()).take(coded.indices)


def _page_name(names: Any, is_root: Any) -> tuple[Any, Any]:
    """The last of the names, without extension, and that."""
    import pyarrow as pa
    from pyarrow import compute

    last = names.values.take(compute.subtract(names.offsets[1:], 1))
    name = compute.if_else(is_root, None, last)
    none = pa.nulls(len(name), pa.string())
    may_have = compute.match_substring(last, ".")
    if not _any(may_have):
        return name, none
    some = name.filter(may_have)
    found = compute.extract_regex(some, _NAME)
    slug = compute.coalesce(compute.struct_field(found, "slug"), some)
    extension = compute.ascii_lower(compute.struct_field(found, "extension"))
    return compute.replace_with_mask(name, may_have, slug), compute.replace_with_mask(none, may_have, extension)


def _keys(queries: Any) -> Any:
    """What stands before the `=` of each part."""
    import pyarrow as pa
    from pyarrow import compute

    if queries.null_count == len(queries):
        return pa.nulls(len(queries), pa.list_(pa.string()))
    parts = compute.split_pattern(queries, "&")
    keys = compute.list_element(compute.split_pattern(parts.values, "=", max_splits=1), 0)
    lists = pa.ListArray.from_arrays(parts.offsets, keys)
    return compute.if_else(compute.is_null(queries), pa.scalar(None, lists.type), lists)


def _folders(names: Any, depth: Any) -> dict[str, Any]:
    """A column for each level; there is always the first."""
    from pyarrow import compute

    deepest = (compute.max(depth).as_py() or 0) - 1
    columns = {}
    for level in range(min(max(deepest, 1), MAX_DIRS)):
        is_folder = compute.greater(depth, level + 1)
        padded = compute.list_slice(names, level, level + 1, return_fixed_size_list=True)
        columns[f"dir_{level + 1}"] = compute.if_else(is_folder, compute.list_element(padded, 0), None)
    return columns
