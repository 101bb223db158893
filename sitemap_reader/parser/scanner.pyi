from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

from ..model.problems import Problem
from ..model.records import SitemapRef, UrlRecord
from .normalise.entry import RawEntry

TAGS: Final[dict[str, frozenset[str]]]
MAX_BYTES_OF_ENTRY: Final[int]
PLAIN_ENTRIES: Final[int]
RICH_ENTRIES: Final[int]
REPAIRED_ENTRY: Final[int]
ODD_ENTRY: Final[int]

Columns = tuple[list[str], list[int | None], list[int | None], list[int | None], list[float | None], list[int]]

def datetimes_of(lastmods: Sequence[int | None], precisions: Sequence[int | None]) -> list[datetime | None]: ...
def json_lines_of(columns: tuple[Sequence[Any], ...], sitemap: bytes, end: bytes, head: bytes = b"") -> bytes: ...
def sorted_rows(keys: Sequence[int], columns: Sequence[Sequence[Any]]) -> list[Any]: ...

class Scanner:
    def __init__(
        self,
        dialect: str = "sitemap",
        names: dict[bytes, str] | None = None,
        declared: Sequence[bytes] = (),
        prefixes: Sequence[str] | None = None,
        *,
        max_depth: int = 0,
        max_elements: int = 0,
        max_attributes: int = 0,
    ) -> None: ...
    def scan(self, data: bytes, start: int, line: int, max_bare_ampersands: int = 0) -> ScannedEntries: ...
    def scan_lines(self, data: bytes, line: int, max_bytes: int) -> ScannedEntries: ...

class ScannedEntries:
    data: Final[bytes]
    start: Final[int]
    size: Final[int]
    breaks: Final[int]
    is_cut: Final[bool]
    end_tag_size: Final[int]
    repairs: list[Problem]
    template: RawEntry
    def __len__(self) -> int: ...
    def line(self, at: int, /) -> int: ...
    def parts(self, limit: int) -> list[tuple[int, int, int]]: ...
    @property
    def bare_ampersands(self) -> list[int]: ...
    def ampersands_of(self, at: int) -> int: ...
    def texts(self, at: int) -> tuple[str, str, str, str]: ...
    def extensions(self, at: int) -> tuple[Any, ...]: ...
    def records(self, start: int, stop: int, sitemap: str | None) -> list[UrlRecord]: ...
    def references(
        self, start: int, stop: int, sitemap: str | None, authorities: tuple[str, ...]
    ) -> list[SitemapRef]: ...
    def columns(self, start: int, stop: int) -> Columns: ...
    def json_lines(self, start: int, stop: int, sitemap: bytes, end: bytes) -> tuple[bytes, int]: ...
