"""A generated site on nginx, synced over several runs: real ETags, If-None-Match and If-Modified-Since."""

import gzip
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from generated import Site, make_site
from servers import NginxServer, free_port

import sitemap_reader as sr

LONG_AGO = time.time() - 3600


class Served:
    """A site of gzipped children at a port, and its state."""

    def __init__(self, nginx: Callable[..., NginxServer], folder: Path) -> None:
        port = free_port()
        self.root, self.state = folder / "www", folder / "state.db"
        self.site: Site = make_site(
            self.root, base=f"http://127.0.0.1:{port}", urls=600, per_document=100, layout="www"
        )
        self.age()
        self.server = nginx(self.root, port)
        self.requested = 0

    def age(self) -> None:
        """Makes all files an hour old, as a recent Last-Modified is not used."""
        for file in self.root.rglob("*"):
            os.utime(file, (LONG_AGO, LONG_AGO))

    def run(self, **options: object) -> list[sr.Change]:
        requested = {"state": self.state, "allow_private": True, **options}
        with sr.changes(self.site.seed_url, **requested) as changes:  # type: ignore[arg-type]
            found = [*changes]
        assert changes.complete
        return found

    def answers(self) -> dict[str, int]:
        """Path -> status, of the last run."""
        answers = self.server.answers()
        new, self.requested = answers[self.requested :], len(answers)
        return {answer.path: answer.status for answer in new}

    def child(self) -> Path:
        return next((self.root / "sitemaps").glob("products-1.xml.gz"))


@pytest.fixture
def served(nginx: Callable[..., NginxServer], tmp_path: Path) -> Served:
    return Served(nginx, tmp_path)


def test_unchanged_documents_are_not_sent(served: Served) -> None:
    assert {change.change for change in served.run()} == {"new"}
    first = served.answers()
    assert set(first.values()) == {200}
    assert served.run() == []
    second = served.answers()
    assert second.pop("/robots.txt") == 200
    assert set(second.values()) == {304}
    assert set(second) == set(first) - {"/robots.txt"}


def test_only_the_document_that_changed_is_sent(served: Served) -> None:
    served.run()
    served.answers()
    body = gzip.decompress(served.child().read_bytes())
    end = body.index(b"</url>") + len(b"</url>")
    start = body.index(b"<url>")
    gone = body[body.index(b"<loc>") + 5 : body.index(b"</loc>")].decode()
    served.child().write_bytes(gzip.compress(body[:start] + body[end:]))
    (change,) = served.run()
    assert (change.change, change.record.loc) == ("removed", gone)
    answers = served.answers()
    assert {path for path, status in answers.items() if status == 200} == {"/robots.txt", "/sitemaps/products-1.xml.gz"}


def test_a_last_modified_alone_is_enough(served: Served, nginx: Callable[..., NginxServer]) -> None:
    served.run()
    with sr.state.State(served.state, create=True) as state:
        stored = state.documents()
        assert all(document.etag and document.last_modified for document in stored)
        state.db.execute("UPDATE document SET etag = NULL")
    served.answers()
    assert served.run() == []
    assert {status for path, status in served.answers().items() if path != "/robots.txt"} == {304}


@pytest.mark.slow
def test_a_recorded_run_replays_against_the_same_state(served: Served, tmp_path: Path) -> None:
    """A folder replaces the site that it was recorded from."""
    served.run()
    served.answers()
    assert served.run(record=tmp_path / "recorded") == []
    assert set(served.answers().values()) == {200}  # recorded documents are complete
    found = served.run(state=tmp_path / "anew.db")
    with sr.changes(tmp_path / "recorded", state=tmp_path / "other.db") as changes:
        assert {change.record.loc for change in changes} == {change.record.loc for change in found}
    with sr.state.State(tmp_path / "other.db") as state, sr.state.State(served.state) as original:
        assert [site.name for site in state.sites()] == [site.name for site in original.sites()]
