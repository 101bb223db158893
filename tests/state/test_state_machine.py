"""A random site that changes, fails and states wrong dates, synced over many runs, some of which are left.

The changes applied in order must give the site, as far as it could be read. The rules that a run can break
are in `Mirror` and `Machine.check`; how documents are compared is not repeated here.
"""

import tempfile
from contextlib import suppress
from datetime import datetime, timedelta
from itertools import islice
from pathlib import Path

import attrs
import hypothesis.strategies as st
from changing_sites import SITE, Document, World, first_seen, loc
from hypothesis import HealthCheck, settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from tiers import examples

import sitemap_reader as sr
from sitemap_reader import Change, UrlRecord

PAGES = tuple("abcdefgh")
MAPS = ("one.xml", "two.xml", "three.xml")
FEED = "feed.xml"
pages = st.sampled_from(PAGES).map(loc)
maps = st.sampled_from(MAPS)
documents = st.sampled_from((*MAPS, FEED))
days = st.sampled_from([None, "2025-12-01", "2025-12-02", "2025-12-02T10:00:00Z", "2025-12-03"])
weights = st.sampled_from([None, "0.5", "1.0"])
hours = st.sampled_from([1, 13, 25])


@attrs.define
class Mirror:
    """The URLs of a consumer that applies each change.

    `is_torn`: the last run was left early. Changes of such a run are `unsure`: the state may not have them, and if the
    site drops the URL before it is reported again, no removal is reported. URLs in `loose` were new in a run that may
    have read a newer listing of them later, which changes only the state.
    """

    has: dict[str, UrlRecord] = attrs.field(factory=dict)
    is_torn: bool = False
    unsure: set[str] = attrs.field(factory=set)
    new: set[str] = attrs.field(factory=set)  # in the present run
    loose: set[str] = attrs.field(factory=set)

    def take(self, change: Change) -> None:
        record, known = change.record, self.has.get(change.record.loc)
        if change.change == "removed":
            assert known is not None or self.is_torn
            self.has.pop(record.loc, None)
            self.loose.discard(record.loc)
            return
        if change.change == "new":
            self.new.add(record.loc)
        else:
            assert record.loc not in self.new
        if not self.is_torn:
            assert (known is None) == (change.change == "new"), change
        is_loose = record.loc in self.loose
        self.loose.discard(record.loc)
        if change.change == "updated" and known is not None and not (self.is_torn or is_loose):
            assert change.previous_lastmod == known.lastmod
            assert change.previous_lastmod_precision == known.lastmod_precision
            assert set(change.changed) == {
                name
                for name in ("lastmod", "lastmod_precision", "priority")
                if getattr(record, name) != getattr(known, name)
            }
        self.has[record.loc] = record


class Machine(RuleBasedStateMachine):
    """The site, the state file and the consumer."""

    @initialize(etags=st.booleans())
    def begin(self, etags: bool) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.state = Path(self.folder.name) / "state.db"
        self.world = World({name: Document() for name in MAPS}, listed=[*MAPS, FEED], has_etags=etags)
        self.world.documents[FEED] = Document(is_feed=True)
        self.mirror = Mirror()
        self.read: dict[str, dict[str, tuple[str | None, str | None]]] = {}  # as last read completely
        self.was_in_feed: set[str] = set()
        self.version = 0
        self.seen: dict[str, datetime | None] = {}  # first, of the pages that the state knows

    def teardown(self) -> None:
        if hasattr(self, "folder"):
            self.folder.cleanup()

    # --- changes of the site ---

    @rule(name=maps, page=pages, day=days, weight=weights)
    def publish_or_edit(self, name: str, page: str, day: str | None, weight: str | None) -> None:
        self.world.documents[name].entries[page] = (day, weight)

    @rule(page=pages)
    def publish_in_feed(self, page: str) -> None:
        self.world.documents[FEED].entries[page] = (None, None)

    @rule(name=documents, page=pages)
    def drop(self, name: str, page: str) -> None:
        self.world.documents[name].entries.pop(page, None)

    @rule(old=maps, new=maps, page=pages)
    def move(self, old: str, new: str, page: str) -> None:
        stated = self.world.documents[old].entries.pop(page, None)
        if stated is not None:
            self.world.documents[new].entries[page] = stated

    @rule(name=maps)
    def state_a_newer_date_in_the_index(self, name: str) -> None:
        """The date may be true or not."""
        self.version += 1
        self.world.documents[name].lastmod = f"2025-11-{self.version % 28 + 1:02}"

    @rule(name=documents, status=st.sampled_from([200, 404, 500]))
    def answer(self, name: str, status: int) -> None:
        self.world.documents[name].status = status

    @rule(name=maps, is_cut=st.booleans())
    def cut(self, name: str, is_cut: bool) -> None:
        self.world.documents[name].is_cut = is_cut

    @rule(names=st.sets(documents, min_size=1))
    def list_others(self, names: set[str]) -> None:
        self.world.listed = [name for name in (*MAPS, FEED) if name in names]

    @rule()
    def recover(self) -> None:
        self.world.listed = [*MAPS, FEED]
        for document in self.world.documents.values():
            document.status, document.is_cut = 200, False

    # --- runs ---

    @rule(hours=hours, accepts=st.booleans())
    def run(self, hours: int, accepts: bool) -> None:
        self.world.later(timedelta(hours=hours))
        self.mirror.new = set()
        appeared = self.time_of_new_pages()
        with self.world.changes(self.state, accept_removals=accepts) as stream:
            changes: list[Change] = []
            with suppress(sr.ReadError):  # nothing could be read or reported
                for change in stream:
                    self.mirror.take(change)
                    changes.append(change)
        self.check(stream, changes)
        for page, at in first_seen(self.state).items() if self.state.exists() else ():
            assert at == (appeared if loc(page) in self.mirror.new else self.seen[page]), page
            self.seen[page] = at

    @rule(taken=st.integers(0, 5))
    def leave(self, taken: int) -> None:
        """As when the consumer is killed: it has the changes that it took, and they may be reported again."""
        self.world.later(timedelta(hours=1))
        self.mirror.new = set()
        appeared = self.time_of_new_pages()
        with self.world.changes(self.state) as stream, suppress(sr.ReadError):
            for change in islice(stream, taken):
                self.mirror.unsure.add(change.record.loc)
                self.mirror.take(change)
        self.mirror.loose |= self.mirror.new
        self.mirror.is_torn = True
        self.was_in_feed |= set(self.world.documents[FEED].entries)
        for page, at in first_seen(self.state).items() if self.state.exists() else ():
            assert at in (appeared, self.seen.get(page, appeared)), page
            self.seen[page] = at

    def time_of_new_pages(self) -> datetime | None:
        """The start of the run, if the site was read completely before; otherwise when they appeared is unknown."""
        if not self.state.exists():
            return None
        with sr.state.State(self.state) as state:
            was_read = any(run.complete or run.held_back for run in state.runs())
            return self.world.now if was_read else None

    def check(self, stream: sr.Stream[sr.Change], changes: list[Change]) -> None:
        for outcome in stream.outcomes:
            name = str(outcome.url).removeprefix(f"{SITE}/")
            was_requested = outcome.status is not None
            if name in self.world.documents and outcome.complete and was_requested:
                self.read[name] = dict(self.world.documents[name].entries)
                if name == FEED:
                    self.was_in_feed |= set(self.read[name])
        self.mirror.loose |= {page for page in self.mirror.new if sum(page in each for each in self.read.values()) > 1}
        if stream.counts.held_back:  # these pages stay in the mirror until a later run
            self.mirror.loose |= self.mirror.new
            return
        if not stream.complete:
            self.mirror.loose |= self.mirror.new
            if not self._only_gone(stream):
                assert not [change for change in changes if change.change == "removed"]
            return
        self.mirror.is_torn = False
        unsure, self.mirror.unsure = self.mirror.unsure, set()
        self.read = {name: self.read[name] for name in self.world.listed}
        listed = {page: [each[page] for each in self.read.values() if page in each] for page in map(loc, PAGES)}
        with sr.state.State(self.state) as state:
            expired = state.db.execute("SELECT loc FROM unlisted").fetchall()
            known = {*map(loc, first_seen(state)), *(page for (page,) in expired)}
        for page, listings in listed.items():
            if listings:
                assert page in self.mirror.has
            elif page in unsure - known:  # left before the state had it
                self.mirror.has.pop(page, None)
            if page in self.was_in_feed:
                continue  # expired URLs may stay, and changes of their dates are not reported
            assert (page in self.mirror.has) == bool(listings), page
            if listings and page not in self.mirror.loose:
                found = self.mirror.has[page]
                newest = max(_instant(day) for day, _ in listings)
                assert str(found.lastmod or "")[:10] == newest[:10]
                if len(listings) == 1:
                    assert found.priority == (float(listings[0][1]) if listings[0][1] else None)

    def _only_gone(self, stream: sr.Stream[sr.Change]) -> bool:
        """Whether only 404s failed: after a day those count as gone."""
        return all(outcome.complete or outcome.status == 404 for outcome in stream.outcomes)

    @precondition(lambda self: hasattr(self, "state") and self.state.exists())
    @invariant()
    def the_state_is_whole(self) -> None:
        with sr.state.State(self.state) as state:
            assert state.db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
            counted = state.db.execute("SELECT count(*) FROM entry GROUP BY document ORDER BY document").fetchall()
            stored = "SELECT entries FROM document WHERE entries ORDER BY id"
            assert counted == state.db.execute(stored).fetchall()


def _instant(day: str | None) -> str:
    return day or ""


TestMachine = Machine.TestCase
TestMachine.settings = settings(
    max_examples=examples(16), stateful_step_count=25, deadline=None, suppress_health_check=list(HealthCheck)
)
