"""sr.types: the keywords of each function as a TypedDict, for wrappers that pass them on, and the values of some."""

import fcntl
import subprocess
import sys
from importlib.util import find_spec
from inspect import Parameter, signature
from pathlib import Path
from typing import Any

import pytest
from docs_runs import ROOT
from tiers import needs

import sitemap_reader as sr

OPTIONS: list[tuple[Any, Any]] = [
    (sr.urls, sr.types.UrlsOptions),
    (sr.changes, sr.types.ChangesOptions),
    (sr.discover, sr.types.DiscoverOptions),
    (sr.snapshot, sr.types.SnapshotOptions),
    (sr.audit, sr.types.AuditOptions),
    (sr.watch, sr.types.WatchOptions),
    (sr.SitemapReader, sr.types.SessionOptions),
    (sr.SitemapReader.urls, sr.types.QueryOptions),
    (sr.SitemapReader.changes, sr.types.StateSyncOptions),
    (sr.SitemapReader.watch, sr.types.ReaderWatchOptions),
    (sr.SitemapReader.discover, sr.types.ItemOptions),
    (sr.Reader, sr.types.ReaderOptions),
    (sr.Reader.urls, sr.types.StreamUrlsOptions),
    (sr.Reader.changes, sr.types.StreamChangesOptions),
]


@pytest.mark.parametrize(("function", "options"), OPTIONS)
def test_options_are_the_keywords_of_their_function(function: Any, options: Any) -> None:
    given = signature(function).parameters.values()
    assert {each.name for each in given if each.kind is Parameter.KEYWORD_ONLY} == {*options.__annotations__}


@pytest.mark.skipif(find_spec("dask") is None, reason="dask is not installed")
def test_options_of_a_harvest_are_its_keywords() -> None:
    given = signature(sr.scale.harvest).parameters
    assert {*sr.types.HarvestOptions.__annotations__} <= {*given}


WRAPPERS = """
from typing import Any, Unpack

import sitemap_reader as sr


def locs(site: str, **options: Unpack[sr.types.UrlsOptions]) -> list[str]:
    with sr.urls(site, **options) as urls:
        return [record.loc for record in urls]


def count(site: str, **options: Unpack[sr.types.ChangesOptions]) -> int:
    return sum(1 for _ in sr.changes(site, **options))


def report(site: str, **options: Unpack[sr.types.AuditOptions]) -> sr.Report:
    return sr.audit(site, **options)


class Own(sr.SitemapReader):
    def __init__(self, **options: Unpack[sr.types.SessionOptions]) -> None:
        super().__init__(**options)


def configured(config: dict[str, Any]) -> None:
    scope: sr.types.ScopeMode = config["scope"]
    since: sr.types.Moment = config["since"]
    locs("a.example", scope=scope, since=since, proxy=lambda url: None)


count("a.example", state="sites.db")
"""
WRONG = """
count("a.example")  # error: Missing named argument "state" for "count"  [call-arg]
locs("a.example", wanted="x")  # error: Unexpected keyword argument "wanted" for "locs"
locs("a.example", scope="hots")  # error: Argument "scope" to "locs" has incompatible type "Literal['hots']"
"""


@pytest.mark.slow
def test_type_checker_knows_the_keywords_of_a_wrapper(tmp_path: Path) -> None:
    needs("mypy")
    program = tmp_path / "wrappers.py"
    program.write_text(WRAPPERS + WRONG)
    command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", str(program)]
    cache = ROOT / ".mypy_cache"
    cache.mkdir(exist_ok=True)
    with (cache / "lock").open("w") as lock:  # for concurrent test runs
        fcntl.flock(lock, fcntl.LOCK_EX)
        found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False).stdout.splitlines()
    expected = [line.partition("# ")[2] for line in WRONG.splitlines() if line]
    assert len(found) == len(expected), found
    for line, error in zip(found, expected, strict=True):
        assert error in line
