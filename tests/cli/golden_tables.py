"""Golden files of the replay sites: golden/COMMAND-SITE.{txt,tsv,jsonl}, exactly the stdout.

`scripts/write_table_expectations` writes them.
"""

from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from unittest.mock import patch

import attrs
from cli_runs import SITES
from kit import run

GOLDEN = Path(__file__).parent / "golden"
COMMANDS = ("tree", "discover", "stats")
SUFFIXES = {"table": "txt", "tsv": "tsv", "jsonl": "jsonl"}
NOW = datetime(2026, 10, 27, 12, 0, tzinfo=UTC)
SCREEN = {"COLUMNS": "100"}


@attrs.frozen
class Case:
    """A command on a site, in a format."""

    command: str
    site: str
    format: str

    @property
    def file(self) -> Path:
        return GOLDEN / f"{self.command}-{self.site}.{SUFFIXES[self.format]}"

    def stdout(self) -> bytes:
        """Its stdout, on a wide terminal, on a fixed day."""
        stats = import_module("sitemap_reader.cli.stats")  # as an attribute of its package it is the command
        with patch.object(stats, "_now", lambda: NOW), patch.dict("os.environ", SCREEN):
            result = run(self.command, SITES / self.site, "--format", self.format, "-q")
        assert result.exit_code in (0, 3)
        return result.stdout_bytes


def cases() -> list[Case]:
    """Every command on every site, in every format."""
    sites = sorted(site.name for site in SITES.iterdir() if site.is_dir())
    return [Case(command, site, format) for command in COMMANDS for site in sites for format in SUFFIXES]
