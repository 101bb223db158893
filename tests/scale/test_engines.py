"""The programs of docs/scale.md for engines other than Dask: the same rows as Dask's, and as one process's."""

import os
import subprocess
import sys

import pytest
from docs_runs import blocks
from harvests import tables
from hostfarm import make_hosts, run_farm
from servers import free_port

import sitemap_reader as sr

pytestmark = pytest.mark.slow

HOSTS = 200
# The folder of each program -> what it needs, beyond the package.
ENGINES = {"by-ray": "ray", "by-spark": "pyspark", "by-processes": None}
DASK = """
import sitemap_reader as sr

if __name__ == "__main__":
    print(sr.scale.harvest("hosts.txt", "by-dask", shards=4, host_seconds=600, workers=2).urls)
"""


@pytest.fixture(scope="module")
def hosts():
    return make_hosts(HOSTS, seed=3, port=free_port(), median_urls=60)


@pytest.fixture(scope="module", autouse=True)
def _farm(hosts, tmp_path_factory):
    with run_farm(hosts, tmp_path_factory.mktemp("farm") / "work") as running:
        running.warm()
        yield running


@pytest.fixture
def run(hosts, tmp_path):
    """Runs a program in a folder with `hosts.txt`, and returns what it printed."""
    (tmp_path / "hosts.txt").write_text("".join(f"{host.target}\n" for host in hosts))

    def run_program(text):
        program = tmp_path / "program.py"
        program.write_text(text.replace("host_seconds=600", "allow_private=True, limits=sr.Limits(tries=1)"))
        environment = {**os.environ, "RAY_ENABLE_UV_RUN_RUNTIME_ENV": "0", "PYSPARK_PYTHON": sys.executable}
        command = [sys.executable, str(program)]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run_program


@pytest.fixture(scope="module")
def right(hosts, tmp_path_factory):
    """The tables of shards that this process has read."""
    out = tmp_path_factory.mktemp("right") / "out"
    targets = [host.target for host in hosts]
    shards = sr.scale.plan_harvest(targets, out, shards=4, allow_private=True, limits=sr.Limits(tries=1))
    for shard in shards:
        sr.scale.harvest_shard(shard)
    return tables(out)


@pytest.mark.parametrize("folder", ENGINES)
def test_an_engine_writes_the_rows_that_one_process_writes(run, right, tmp_path, folder):
    if ENGINES[folder]:
        pytest.importorskip(ENGINES[folder], reason="the engine is not installed, and not of test-full")
    (program,) = (each.text for each in blocks("docs/scale.md") if f'"{folder}"' in each.text)
    printed = run(program)
    assert tables(tmp_path / folder) == right
    assert str(len(right["urls"])) in printed
    found = sr.scale.load_harvest(tmp_path / folder)
    assert (found.shards_done, found.urls) == (found.shards, len(right["urls"]))


def test_dask_writes_the_rows_that_one_process_writes(run, right, tmp_path):
    pytest.importorskip("distributed")
    assert run(DASK).split() == [str(len(right["urls"]))]
    assert tables(tmp_path / "by-dask") == right
