"""Killed `sync` runs: their outputs together have all changes, with few repetitions.

Each run appends to one file, as `>> changes.jsonl` does. SYNC_KILLS=200 kills 200 times instead of 6.
"""

import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from kit import index, robots, urlset
from servers import Page, SiteServer

import sitemap_reader as sr

pytestmark = pytest.mark.slow

KILLS = int(os.environ.get("SYNC_KILLS", "6"))
DOCUMENTS, PER_DOCUMENT = 6, 400
# Documents with this number of URLs are committed together, and after a kill they are reported again, perhaps not by
# the next run, if that is killed before.
COMMIT_URLS = 500
MOST_REPEATED = COMMIT_URLS + PER_DOCUMENT + 200
SMALL_COMMITS = f"import sitemap_reader.state.sync; sitemap_reader.state.sync._COMMIT_URLS = {COMMIT_URLS}\n"
RUN = "from sitemap_reader.__main__ import main; main()"
PROGRAM = [sys.executable, "-c", SMALL_COMMITS + RUN, "sync", "--allow-private", "-q", "--retries", "0"]


class Site:
    """A server with a few documents of some hundred pages that change between runs."""

    def __init__(self, serve: Callable[[Mapping[str, Page]], SiteServer]) -> None:
        self.server = serve({})
        numbers = range(PER_DOCUMENT)
        self.pages = {f"d{name}": {f"{name}-{page}": 0 for page in numbers} for name in range(DOCUMENTS)}
        self.next = 0
        self.publish()

    @property
    def listed(self) -> dict[str, int]:
        """Page -> version."""
        return {page: version for pages in self.pages.values() for page, version in pages.items()}

    def edit(self, chance: random.Random) -> None:
        """Changes every document: new, updated, moved and dropped pages."""
        names = [*self.pages]
        for pages in self.pages.values():
            for page in chance.sample([*pages], 20):
                pages[page] += 1
            for page in chance.sample([*pages], 5):
                del pages[page]
            for page in chance.sample([*pages], 5):
                self.pages[chance.choice(names)][page] = pages.pop(page)
            for _ in range(10):
                self.next += 1
                pages[f"new-{self.next}"] = 0
        self.publish()

    def publish(self) -> None:
        url = self.server.url
        bodies = {f"/{name}.xml": self._urlset(pages) for name, pages in self.pages.items()}
        top = {"/robots.txt": robots(f"{url}/index.xml"), "/index.xml": index(*(url + path for path in bodies))}
        self.server.pages = {path: (200, {}, body) for path, body in {**top, **bodies}.items()}

    def _urlset(self, pages: dict[str, int]) -> bytes:
        entry = "<url><loc>{}/{}</loc><priority>{}</priority></url>"
        return urlset(*(entry.format(self.server.url, page, version % 10 / 10) for page, version in pages.items()))


@pytest.fixture
def site(site_server: Callable[[Mapping[str, Page]], SiteServer]) -> Site:
    return Site(site_server)


def follow(output: Path, had: dict[str, Any]) -> tuple[dict[str, Any], int, int]:
    """The URLs of a consumer that applies each complete line; the number of lines, and of those without effect."""
    in_vain = count = 0
    for line in output.read_bytes().splitlines(keepends=True):
        if not line.endswith(b"\n"):
            continue  # truncated by the kill
        count += 1
        change = json.loads(line)
        page = change["loc"].rpartition("/")[2]
        if change["change"] == "removed":
            in_vain += had.pop(page, None) is None
        else:
            in_vain += had.get(page) == change["priority"]
            had[page] = change["priority"]
    return had, count, in_vain


def start(site: Site, state: Path, output: Path) -> subprocess.Popen[bytes]:
    command = [*PROGRAM, site.server.url, "--state", str(state)]
    with output.open("ab") as stdout:
        return subprocess.Popen(command, stdout=stdout)


def is_whole(state: Path) -> bool:
    if not state.exists():
        return True
    with sr.state.State(state) as opened:
        return bool(opened.db.execute("PRAGMA integrity_check").fetchone() == ("ok",))


def test_killed_at_any_moment_every_change_is_reported(site: Site, tmp_path: Path) -> None:
    """At most the lines of the documents of one commit are repeated for each kill, and the file is valid after each."""
    chance = random.Random(20260801)  # noqa: S311 - the same each time
    state, output, has = tmp_path / "state.db", tmp_path / "changes.jsonl", {}
    kills = repeated = reported = 0
    while kills < KILLS:
        died = False
        with start(site, state, output) as process:
            try:
                process.wait(chance.uniform(0.05, 1.2))
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGKILL)
                died = True
        assert is_whole(state)
        lines = output.read_bytes()
        if not lines.endswith(b"\n"):
            output.write_bytes(lines[: lines.rfind(b"\n") + 1])  # as every reader of the file must
        has, count, in_vain = follow(output, has)
        output.unlink()
        reported += count
        repeated += in_vain
        assert repeated <= kills * MOST_REPEATED
        kills += died
        if not died:
            assert process.returncode == 0
            assert has == {page: version % 10 / 10 for page, version in site.listed.items()}
            site.edit(chance)
    print(f"{kills} kills, {reported} lines, {repeated} of them again")


# Forks for each line of stdin, "PLACE NUMBER WHEN OUTPUT". The fork runs the command and appends to OUTPUT; it counts
# the writes, or the COMMITs, and kills itself before or after the one with that number. Prints the status of each fork.
KILLER = """
import os, signal, sys
import sitemap_reader.cli.sync
from sitemap_reader.serialize import byte_streams as blocks
from sitemap_reader.__main__ import main
from sitemap_reader.fetch import client as fetch
from sitemap_reader.state.sync import StateSync
seen = 0
def struck(what, is_here):
    global seen
    if what == place and is_here == when:
        seen += 1
        if seen == int(number):
            os.kill(os.getpid(), signal.SIGKILL)
def around(what, function):
    def call(*arguments, **more):
        struck(what, "before")
        result = function(*arguments, **more)
        struck(what, "behind")
        return result
    return call
blocks.Blocks.write_lines = around("write", blocks.Blocks.write_lines)
StateSync._commit = around("commit", StateSync._commit)
sys.argv[0] = "sitemap-reader"
for line in sys.stdin:
    place, number, when, output = line.rstrip().split(" ", 3)
    if child := os.fork():
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
    else:
        os.dup2(os.open(output, os.O_WRONLY | os.O_APPEND | os.O_CREAT), 1)
        sys.exit(main())
"""


@pytest.fixture
def run_killed(site: Site, tmp_path: Path) -> Iterator[Callable[[str, int, str, Path], int]]:
    """`run(place, number, when, output)` -> the status of a `sync` that is killed there."""
    arguments = ["sync", "--allow-private", "-q", site.server.url, "--state", str(tmp_path / "state.db")]
    command = [sys.executable, "-c", SMALL_COMMITS + KILLER, *arguments]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1) as killer:
        assert killer.stdin is not None
        assert killer.stdout is not None
        stdin, stdout = killer.stdin, killer.stdout

        def run(place: str, number: int, when: str, output: Path) -> int:
            stdin.write(f"{place} {number} {when} {output}\n")
            return int(stdout.readline())

        yield run
        stdin.close()


@pytest.mark.smoke("write-behind")
@pytest.mark.parametrize("when", ["before", "behind"])
@pytest.mark.parametrize("place", ["write", "commit"])
def test_killed_at_each_write_and_each_commit(
    site: Site, tmp_path: Path, run_killed: Callable[[str, int, str, Path], int], place: str, when: str
) -> None:
    """Before and after each of them, in the first run and in one with changes of every kind."""
    chance = random.Random(7)  # noqa: S311 - the same each time
    state, output, has = tmp_path / "state.db", tmp_path / "changes.jsonl", {}
    kills = repeated = 0
    for number in range(1, 40):
        code = run_killed(place, number, when, output)
        assert is_whole(state)
        has, _, in_vain = follow(output, has)
        output.unlink()
        repeated += in_vain
        assert repeated <= kills * MOST_REPEATED
        kills += code != 0
        if code == 0:
            assert has == {page: version % 10 / 10 for page, version in site.listed.items()}
            if site.next:
                break
            site.edit(chance)
        else:
            assert code == -signal.SIGKILL
    assert site.next, "it was never done"
    assert number > 2
