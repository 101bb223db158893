"""Sites, processes and output files for tests of the command line."""

import re
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from kit import Site, objects, run

from sitemap_reader.cli import Exit
from sitemap_reader.serialize import FORMATS
from sitemap_reader.serialize.byte_streams import zstd_module

SITES = Path(__file__).parents[2] / "corpus" / "sites"
SHOP = str(SITES / "shop")
BROKEN = str(SITES / "broken")
PROGRAM = [sys.executable, "-m", "sitemap_reader"]
# Output format of URLs -> the first bytes of a complete dump.
BEGINNINGS = {
    "jsonl": b'{"loc":', "csv": b"loc,lastmod,", "tsv": b"loc\tlastmod\t", "txt": b"https://", "parquet": b"PAR1",
}  # fmt: skip
FORMAT_SUFFIXES = [(suffix, name) for name, format in FORMATS.items() for suffix in format.suffixes]


def process(*arguments: str | Path, **options: object) -> subprocess.CompletedProcess[str]:
    """A command in a process of its own."""
    command = [*PROGRAM, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, **options)  # type: ignore[call-overload, no-any-return]


def locs(text: str | bytes) -> list[str]:
    """Those of the URLs among JSON lines."""
    return [form["loc"] for form in objects(text) if "type" not in form]


def without_seconds(text: str) -> str:
    return re.sub(r"[0-9.]+ s$", "N s", text, flags=re.MULTILINE)


class HeldPages(dict[str, Any]):
    """Pages of a server; those for which `is_held(path)` are returned when `free` is set."""

    def __init__(self, pages: Mapping[str, Any], is_held: Callable[[str], bool]) -> None:
        super().__init__(pages)
        self.free = threading.Event()
        self._is_held = is_held

    def get(self, path: str, default: Any = None) -> Any:
        if self._is_held(path):
            self.free.wait(20)
        return super().get(path, default)


def refusal(*arguments: str | Path, stdin: str | bytes | None = None) -> str:
    """The line on stderr of a command that refuses its arguments, and writes nothing else."""
    result = run(*arguments, stdin=stdin)
    assert (result.exit_code, result.stdout) == (Exit.USAGE, ""), result.output
    (line,) = result.stderr.splitlines()
    return line


OLD = b"yesterday's\n"


def old_file(folder: Path) -> Path:
    """A file that an earlier run has written, alone in its folder."""
    folder.mkdir()
    file = folder / "old"
    file.write_bytes(OLD)
    return file


def alone(file: Path) -> bool:
    """Whether the file is the only one in its folder."""
    return list(file.parent.iterdir()) == [file]


def unfinished(file: Path) -> list[Path]:
    """The temporary file of a run that has not ended."""
    return list(file.parent.glob(f"{file.name}.*.unfinished"))


def zstd() -> Any:
    """A zstd module; without one the test is skipped."""
    try:
        return zstd_module()
    except ImportError:
        pytest.skip("backports.zstd is not installed")


def replay(folder: Path, pages: Mapping[str, str | bytes]) -> Path:
    """A recorded site of the default host."""
    return Site(dict(pages)).write(folder)
