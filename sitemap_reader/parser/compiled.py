"""`scanner` is the compiled scanner (scanner.pyx); None where the package was installed without a C compiler."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..model.columns import ObjectColumns
from ..model.url_batch import UrlBatch

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..model.columns import UrlColumns
    from ..model.records import UrlRecord

try:
    from . import scanner
except ImportError:
    scanner = None  # type: ignore[assignment]

HAS_SCANNER = scanner is not None
new_columns: Any = scanner.NativeColumns if HAS_SCANNER else ObjectColumns

__all__ = ["HAS_SCANNER", "batch_of", "new_columns", "scanner"]


def batch_of(sitemap: str | None, records: Iterable[UrlRecord]) -> UrlBatch:
    store: UrlColumns = new_columns()
    for record in records:
        store.append(record)
    return UrlBatch(sitemap, store)
