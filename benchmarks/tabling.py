"""Run as a program, in a process of its own: `tabling.py READER FILE` -> JSON of its seconds and rows.

A Parquet file comes in, a pandas.DataFrame is made of it: by pandas alone, or by a Snapshot. Imports are not timed.
"""

from __future__ import annotations

import json
import sys
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

def _pandas(file: str) -> Callable[[], Any]:
    import pandas as pd
    import pyarrow.parquet  # noqa: F401 - pandas loads it on first use

    return lambda: pd.read_parquet(file)


def _snapshot(file: str) -> Callable[[], Any]:
    import pandas as pd  # noqa: F401
    import pyarrow.parquet  # noqa: F401

    import sitemap_reader as sr
    from sitemap_reader.analysis import url_parts as places  # noqa: F401

    return lambda: sr.load(file).to_pandas()


READERS = {"pandas": _pandas, "Snapshot.to_pandas": _snapshot}


def main(reader: str, file: str) -> None:
    read = READERS[reader](file)
    started = time.perf_counter()
    frame = read()
    print(json.dumps({"seconds": time.perf_counter() - started, "urls": len(frame)}))


if __name__ == "__main__":
    main(*sys.argv[1:])
