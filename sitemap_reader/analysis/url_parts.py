"""Parts of URLs as columns, computed with Arrow on all cores; and the key of a page, which joins tables."""

from __future__ import annotations

import os
import re
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, overload
from unicodedata import normalize
from urllib.parse import unquote, urljoin

import pyarrow as pa
from pyarrow import compute

from ..parser.normalise.urls import registrable_domain

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import pandas as pd

# The most columns `dir_1` … `dir_n`; `depth` counts all segments of a path.
MAX_DIRS = 9
_DIR = "dir_"
URL_PARTS = ("page_key", "host", "domain", "path", "depth", "dir_1", "slug", "extension", "query_keys")
INDEX_NAMES = ("index", "default")  # of the file that a server sends for a folder: /blog/index.html is /blog/
_BATCH_ROWS = 1 << 16
_URL = r"^[^:/?#]+://(?:[^/?#]*@)?(?P<host>[^/?#]*)(?P<path>[^?#]*)(?:\?(?P<query>[^#]*))?"
_PORT = re.compile(r":[0-9]*$")
# Of a key. A page keeps its key where a site moves from http to https, and to or from www.
_WWW, _DEFAULT_PORT = r"^www\.([^.]+\..+)$", ":(?:80|443)?$"
# `7z` and `mp4` are extensions; the 2 of `v1.2` is not.
_NAME = r"^(?P<slug>.+)\.(?P<extension>[0-9]?[A-Za-z][A-Za-z0-9]{0,4})$"


def url_part_columns(
    locs: Any, names: Sequence[str] | None = None, moves: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """Name -> column of all parts, or of some, for a pyarrow.ChunkedArray of URLs.

    `page_key`: as page_keys() gives it. `host`: with the port if one is stated. `domain`: the registrable domain.
    `path`. `depth`: the number of segments of the path. `dir_1` to `dir_n`: the folders, that is all segments but the
    last, which is the page with or without a trailing slash. `slug`: the last segment without its extension.
    `extension`: in lower case. `query_keys`: a list, in the order of the query. A missing part is null. Only the key is
    percent-decoded.
    """
    if names is None:
        names = url_part_names(url_part_columns(locs, ["depth"])["depth"])
    levels = {name: int(name.removeprefix(_DIR)) for name in names if name.startswith(_DIR)}
    parts = [*dict.fromkeys(["segments" if name in levels else name for name in names] + ["depth"] * bool(levels))]
    table = pa.Table.from_batches(_in_batches(partial(_batch_parts, names=parts, moves=moves or {}), locs))
    folders = {name: _folder(table["segments"], table["depth"], level) for name, level in levels.items()}
    return {name: folders[name] if name in levels else table[name] for name in names}


def url_part_names(depth: Any) -> list[str]:
    """The names of all parts: URL_PARTS and the other folders, by the column `depth` of the URLs."""
    deepest = (compute.max(depth).as_py() or 0) - 1
    folders = [f"{_DIR}{level}" for level in range(2, min(deepest, MAX_DIRS) + 1)]
    at = URL_PARTS.index("dir_1") + 1
    return [*URL_PARTS[:at], *folders, *URL_PARTS[at:]]


def _in_batches(work: Callable[[Any], Any], column: Any) -> list[Any]:
    """The results for parts of a pyarrow.ChunkedArray, on all cores; one for an empty column."""
    parts = [chunk.slice(at, _BATCH_ROWS) for chunk in column.chunks for at in range(0, len(chunk), _BATCH_ROWS)]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return [*pool.map(work, parts)] or [work(pa.array([], column.type))]


@overload
def page_key(urls: str, base: str | None = None) -> str: ...
@overload
def page_key(urls: pd.Series[str], base: str | None = None) -> pd.Series[str]: ...
def page_key(urls: str | pd.Series[str], base: str | None = None) -> str | pd.Series[str]:
    """What identifies a page in tables of different origin, such as exports of Search Console, logs and crawls.

    The host without `www.` and a default port, and the path, percent-decoded in NFC and without a slash at the end,
    with its query: no scheme, no fragment. A text without a host, as in a log, is resolved against `base`. Tables of a
    Snapshot have it as the column `page_key`. `urls` is a URL or a pandas.Series, with its index; null stays null.

    >>> page_key("http://www.shop.example/caf%C3%A9/#menu"), page_key("/café", "https://shop.example")
    ('shop.example/café', 'shop.example/café')
    >>> page_key("https://shop.example?page=2"), page_key("HTTPS://Shop.example:443")
    ('shop.example/?page=2', 'shop.example/')
    """
    if isinstance(urls, str):
        return "".join(_batch_keys(pa.array([urljoin(base, urls) if base else urls]), {}).to_pylist()[0].values())
    texts = urls.map(partial(urljoin, base), na_action="ignore") if base else urls
    keys = page_keys(pa.chunked_array([texts_of(texts)])).to_pandas().astype("str")
    return keys.set_axis(urls.index).rename("page_key")


def page_keys(locs: Any) -> Any:
    """page_key() of each URL of a pyarrow.ChunkedArray; another text is its own key."""
    return compute.binary_join_element_wise(*page_key_parts(locs), "")


def page_key_parts(locs: Any, moves: Mapping[str, str] | None = None) -> tuple[Any, Any]:
    """The host of each key, and the path with the query; of another text than a URL the first part is empty.

    `moves`: hosts of keys, each with the one to which the site moved, which stands in its place.
    """
    table = pa.Table.from_batches(_in_batches(partial(_batch_keys, moves=moves or {}), locs))
    return table["host"], table["path"]


def _batch_keys(locs: Any, moves: Mapping[str, str]) -> Any:
    names = ("host", "path")
    return pa.record_batch(_key_parts(locs, *(_split_parts(locs) or _extract_parts(locs)), moves), names=names)


def _key_parts(locs: Any, host: Any, path: Any, query: Any, moves: Mapping[str, str]) -> list[Any]:
    host = compute.replace_substring_regex(compute.utf8_lower(host), _DEFAULT_PORT, "")
    host = compute.replace_substring_regex(host, _WWW, r"\1")
    for old, new in moves.items():
        host = compute.if_else(compute.equal(host, old), new, host)
    path = compute.utf8_rtrim(decode(path), "/")
    path = compute.if_else(compute.equal(path, ""), "/", path)
    query = compute.fill_null(query, "")
    query = compute.if_else(compute.equal(query, ""), "", compute.binary_join_element_wise("?", query, ""))
    path = compute.binary_join_element_wise(path, query, "")
    return [compute.fill_null(host, ""), compute.coalesce(path, locs)]


def texts_of(column: pd.Series[str]) -> Any:
    """A pyarrow.StringArray of a column of pandas."""
    texts = pa.array(column, pa.string()).cast(pa.string())  # pyarrow 18 keeps large_string
    return texts.combine_chunks() if isinstance(texts, pa.ChunkedArray) else texts


def decode(texts: Any) -> Any:
    """A pyarrow.Array of texts, percent-decoded and in NFC, so that equal names are equal texts; null stays null."""
    is_plain = compute.and_not(compute.string_is_ascii(texts), compute.match_substring(texts, "%"))
    if _all(is_plain):
        return texts
    is_other = compute.fill_null(compute.invert(is_plain), False)
    others = texts.filter(is_other).dictionary_encode()
    names = [normalize("NFC", unquote(name, errors="replace")) for name in others.dictionary.to_pylist()]
    return compute.replace_with_mask(texts, is_other, pa.array(names, pa.string()).take(others.indices))


def hosts_of(locs: Any) -> Any:
    """The column `host` of url_part_columns(), without its port."""
    found = compute.extract_regex(locs, r"^[^:/?#]+://(?:[^/?#@]*@)?(?P<host>[^/?#:]*)")
    return compute.struct_field(found, "host")


def place_columns(locs: Any, home: str) -> tuple[Any, dict[str, Any]]:
    """For each URL of a pyarrow.ChunkedArray the number of its place, and the columns of the places.

    A place is a host with folders: `host domain dir_1 …` as in url_part_columns(), and `home`, the last segment of a
    path of one or two if the regular expression `home` matches it, else null. Many URLs have few places, which alone
    are divided into their parts: that takes a third of the time, and a tenth of the memory, of the columns of all URLs.
    """
    keys = pa.chunked_array(_in_batches(partial(_batch_places, home=f"^(?:{home})$"), locs), pa.string())
    coded = keys.dictionary_encode().combine_chunks()
    parts = compute.split_pattern(coded.dictionary, "\n")
    host, folders, last = (compute.list_element(parts, number) for number in range(3))
    urls = compute.binary_join_element_wise("http://", host, "/", folders, "/page", "")
    columns = url_part_columns(pa.chunked_array([urls]))
    columns["home"] = compute.if_else(compute.equal(last, ""), None, last)
    return coded.indices.to_numpy(), {name: columns[name] for name in columns if _PLACE.fullmatch(name)}


_PLACE = re.compile("host|domain|dir_[0-9]+|home")


def _batch_places(locs: Any, home: str) -> Any:
    """Host, folders and home of each URL, in lines of one text."""
    if _any(compute.match_substring(locs, "\n")):  # in a dump of another program
        locs = compute.replace_substring(locs, "\n", " ")
    host, path, _ = _split_parts(locs) or _extract_parts(locs)
    names = compute.split_pattern(compute.ascii_trim(compute.fill_null(path, ""), "/"), "/", max_splits=1, reverse=True)
    has_folder = compute.equal(compute.list_value_length(names), 2)
    folders = compute.if_else(has_folder, names.values.take(names.offsets[:-1]), "")
    last = names.values.take(compute.subtract(names.offsets[1:], 1))
    is_home = compute.and_not(compute.match_substring_regex(last, home), compute.match_substring(folders, "/"))
    return compute.binary_join_element_wise(
        compute.fill_null(host, ""), folders, compute.if_else(is_home, last, ""), "\n"
    )


def _batch_parts(locs: Any, names: Sequence[str], moves: Mapping[str, str]) -> Any:
    parts = _UrlParts(locs, moves)
    return pa.record_batch({name: getattr(parts, name) for name in names})


class _UrlParts:
    """The columns of url_part_columns() for one batch of locs, and `segments`, those of the path."""

    def __init__(self, locs: Any, moves: Mapping[str, str]) -> None:
        self._locs, self._moves = locs, moves
        self._parts = _split_parts(locs) or _extract_parts(locs)
        self.host, self.path, self._query = (
            compute.if_else(compute.equal(each, ""), None, each) for each in self._parts
        )

    @property
    def page_key(self) -> Any:
        return compute.binary_join_element_wise(*_key_parts(self._locs, *self._parts, self._moves), "")

    @property
    def domain(self) -> Any:
        coded = self.host.dictionary_encode()
        domains = [host and registrable_domain(_PORT.sub("", host)) for host in coded.dictionary.to_pylist()]
        return pa.array(domains, pa.string()).take(coded.indices)

    @cached_property
    def segments(self) -> Any:
        return compute.split_pattern(compute.ascii_trim(compute.fill_null(self.path, ""), "/"), "/")

    @cached_property
    def _last(self) -> Any:
        return self.segments.values.take(compute.subtract(self.segments.offsets[1:], 1))

    @cached_property
    def _is_root(self) -> Any:
        return compute.and_(compute.equal(compute.list_value_length(self.segments), 1), compute.equal(self._last, ""))

    @property
    def depth(self) -> Any:
        return compute.if_else(self._is_root, 0, compute.list_value_length(self.segments)).cast(pa.int64())

    @cached_property
    def _names(self) -> tuple[Any, Any]:
        """The slug and the extension."""
        name, none = compute.if_else(self._is_root, None, self._last), pa.nulls(len(self._last), pa.string())
        has_dot = compute.match_substring(self._last, ".")
        if not _any(has_dot):
            return name, none
        dotted = name.filter(has_dot)
        found = compute.extract_regex(dotted, _NAME)
        slug = compute.coalesce(compute.struct_field(found, "slug"), dotted)
        extension = compute.ascii_lower(compute.struct_field(found, "extension"))
        return compute.replace_with_mask(name, has_dot, slug), compute.replace_with_mask(none, has_dot, extension)

    @property
    def slug(self) -> Any:
        return self._names[0]

    @property
    def extension(self) -> Any:
        return self._names[1]

    @property
    def query_keys(self) -> Any:
        if self._query.null_count == len(self._query):
            return pa.nulls(len(self._query), pa.list_(pa.string()))
        parts = compute.split_pattern(self._query, "&")
        keys = compute.list_element(compute.split_pattern(parts.values, "=", max_splits=1), 0)
        lists = pa.ListArray.from_arrays(parts.offsets, keys)
        return compute.if_else(compute.is_null(self._query), pa.scalar(None, lists.type), lists)


def _folder(segments: Any, depth: Any, level: int) -> Any:
    padded = compute.list_slice(segments, level - 1, level, return_fixed_size_list=True)
    return compute.if_else(compute.greater(depth, level), compute.list_element(padded, 0), None)


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
