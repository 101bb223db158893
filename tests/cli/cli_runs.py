"""Runs commands for tests: in this process, or as a separate process."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from sitemap_reader.cli.main import main
from sitemap_reader.serialize.byte_streams import zstd_module
from sitemap_reader.serialize.writers import FORMATS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from click.testing import Result

SITES = Path(__file__).parents[2] / "corpus" / "sites"
SHOP = str(SITES / "shop")
BROKEN = str(SITES / "broken")
NS = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
PROGRAM = [sys.executable, "-m", "sitemap_reader"]
# Output format of URLs -> the first bytes of a complete dump.
BEGINNINGS = {
    "jsonl": b'{"loc":', "csv": b"loc,lastmod,", "tsv": b"loc\tlastmod\t", "txt": b"https://", "parquet": b"PAR1",
}  # fmt: skip
FORMAT_SUFFIXES = [(suffix, name) for name, format in FORMATS.items() for suffix in format.suffixes]


def run(*arguments: str | Path, stdin: str | bytes | None = None) -> Result:
    """Exit code, stdout and stderr of one command; an unexpected exception is raised."""
    result = CliRunner().invoke(main, [str(argument) for argument in arguments], input=stdin)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def process(*arguments: str | Path, **options: object) -> subprocess.CompletedProcess[str]:
    """The same in a separate process."""
    command = [*PROGRAM, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, **options)  # type: ignore[call-overload, no-any-return]


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


def urlset(*locs: str, lastmod: Mapping[str, str] | None = None) -> str:
    """A urlset of these locs."""
    dates = lastmod or {}
    entries = (
        f"<url><loc>{loc}</loc>" + (f"<lastmod>{dates[loc]}</lastmod>" if loc in dates else "") + "</url>\n"
        for loc in locs
    )
    return f"<urlset {NS}>\n{''.join(entries)}</urlset>\n"


def index(*locs: str) -> str:
    """A sitemapindex of these locs."""
    return f"<sitemapindex {NS}>{''.join(f'<sitemap><loc>{loc}</loc></sitemap>' for loc in locs)}</sitemapindex>"


def replay(folder: Path, pages: Mapping[str, str], host: str = "a.example") -> Path:
    """A replay folder of one host; paths without their slash."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "site.toml").write_text(f'seeds = ["https://{host}/"]\n')
    for path, body in pages.items():
        file = folder / "https" / host / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(body)
    return folder
