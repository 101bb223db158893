"""SitemapReaderLoader: a Crawlee request loader that reads the URLs of sites from their sitemaps.

In: targets and filters. Out: Crawlee's Requests, each with its record, while the sitemaps are being read. Never fetches
a page.
"""

from __future__ import annotations

import os
import weakref
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, Unpack

from crawlee.request_loaders import RequestLoader

from ...client.keywords import ReaderOptions
from ...client.query import UrlQuery, check_positive
from ...client.reader import SitemapReader, check_sync_plan
from ...client.targets import find_target
from ...model.errors import PartialRead, UsageError
from .read_task import LoaderConfig, ReadTask
from .requests import LOGGER, RequestMaker, RequestQueue

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from crawlee import Request

    from ...client.summary import Problems, Summary
    from ...frontier.filters import Moment, Pattern, Undated
    from ...frontier.revalidation import Trust
    from ...model.errors import ReadError
    from ...model.records import Item, Outcome, SitemapRef, UrlRecord
    from ...serialize.jsonl import On
    from ...state.state import State
    from ...state.sync import SyncPlan
    from .requests import Transform

Target = str | Path
# Options that need a state.
_STATE_OPTIONS = ("full", "on", "accept_removals")


class LoaderOptions(ReaderOptions, total=False):
    """The keywords of SitemapReader, and with a `state` some of those of its changes()."""

    full: bool
    on: On
    accept_removals: bool


class SitemapReaderLoader(RequestLoader):
    """A Crawlee request loader: the URLs of sites as Requests, each once, while their sitemaps are being read.

    `targets` is a host, a URL, a replay folder, or several, read one after the other. Each Request has the URL's JSON
    form in `user_data["sitemap_record"]`; record_of() makes it the UrlRecord again, also behind a queue on disk. The
    filters, and the `options` of SitemapReader in place of a `reader`, are as there; an own reader stays open.

    With a `state`, the file of sync, only what changed since the last crawl comes, and `user_data["sitemap_change"]`
    has `change` (new, updated), `changed` and `previous_lastmod`. Removed URLs are no Requests: `on_removed` gets
    them. It excludes `since`, `until` and `undated`; `full`, `on` and `accept_removals` go with it. `trust_lastmod` is
    as in changes() then, and without a state as in urls().

    `transform_request_function` is as in Crawlee's own loader, and called as a URL is read: RequestOptions in; others,
    "skip" or "unchanged" out. `on_item` is called with every item that is not a URL, `on_outcome` with each document
    as it ends. Reading pauses while `max_buffer_size` Requests wait.

    Crawlee identifies URLs that differ only in case, a trailing slash or utm_ parameters. All but the first of such
    URLs get a unique key here, so that a queue does not drop them; so does an updated URL, as a persistent queue has
    handled it before.

    Reading starts with the first call of a method of Crawlee's, or with `async with`, which also closes the loader;
    otherwise call close(). Faults of a site are in the log (`sitemap_reader.crawlee`), in `problems`, `outcomes` and
    `verdicts`, and do not stop the loader. Any other error (a StateError, an exception of a callback) is raised by
    fetch_next_request, after the Requests that wait.

    With a `persist_state_key` the loader saves its state in Crawlee's key-value store: at Crawlee's persist events, in
    close(), and, with a `state`, before changes count as delivered. A loader with the same key and settings resumes in
    another process, however the first one ended: every URL comes at least once; those handled before the last save do
    not come again, those in progress do. Sitemaps whose URLs were all queued are not fetched again, and count as not
    modified. Crawlee purges its stores at the start by default: set `Configuration(purge_on_start=False)`, or
    CRAWLEE_PURGE_ON_START=0.

    Without a key the next process starts anew. With a `state` a change counts as delivered when its Request was
    handled; in a RequestManagerTandem, when it was added to the queue, so no change is lost while that queue persists.
    Without a tandem, Requests in progress for over a second while others are fetched may be lost if the process is
    killed: give a key.
    """

    def __init__(
        self,
        targets: Target | Iterable[Target],
        *,
        since: Moment | None = None,
        until: Moment | None = None,
        undated: Undated = "keep",
        trust_lastmod: Trust = "auto",
        include: Pattern | Iterable[Pattern] | None = None,
        exclude: Pattern | Iterable[Pattern] | None = None,
        follow: Callable[[SitemapRef], bool] | Pattern | Iterable[Pattern] | None = None,
        no_follow: Pattern | Iterable[Pattern] | None = None,
        state: State | str | Path | None = None,
        max_buffer_size: int = 200,
        persist_state_key: str | None = None,
        transform_request_function: Transform | None = None,
        on_removed: Callable[[UrlRecord], object] | None = None,
        on_item: Callable[[Item], object] | None = None,
        on_outcome: Callable[[Outcome], object] | None = None,
        reader: SitemapReader | None = None,
        **options: Unpack[LoaderOptions],
    ) -> None:
        """Reads nothing yet. UsageError for invalid values."""
        check_positive(max_buffer_size=max_buffer_size)
        if persist_state_key == "":
            raise UsageError("persist_state_key is empty; leave it out, or name one")
        dates = {"since": since, "until": until, "undated": undated}
        patterns = {"include": include, "exclude": exclude, "follow": follow, "no_follow": no_follow}
        filters: dict[str, Any] = {name: _lasting(value) for name, value in {**dates, **patterns}.items()}
        filters["trust_lastmod"] = trust_lastmod
        query = UrlQuery(**filters)
        query.plan_fields(datetime.now(UTC))
        plan, reading = _plan(options, state, trust_lastmod)
        _check_state(state, dates, on_removed)
        if reader is not None and reading:
            raise UsageError(f"{', '.join(reading)}: of a reader of your own; give it to that")
        several = _targets(targets)
        self._names = [find_target(target).name for target in several]
        settings = {
            "targets": self._names,
            **{name: None if value is None else str(value) for name, value in dates.items()},
            **query.settings(),
            "scope": reading.get("scope", "protocol"),
            "state": state is not None,
        }
        config = LoaderConfig(
            targets=several,
            filters=filters,
            reader=reader or SitemapReader(**reading),
            owns_reader=reader is None,
            state=state,
            plan=plan,
            on_removed=on_removed,
            on_item=on_item,
            on_outcome=on_outcome,
        )
        self._queue = RequestQueue(persist_state_key, settings, max_buffer_size, rereads=state is not None)
        self._maker = RequestMaker(transform_request_function, LOGGER)
        self._task = ReadTask(config, self._queue, self._maker)
        # The task has no reference to the loader, so that garbage collection of the loader ends it.
        weakref.finalize(self, self._task.abandon).atexit = False

    # --- the interface of RequestLoader ---

    async def get_total_count(self) -> int:
        """The number of Requests so far, handled or not."""
        await self._task.load()
        return self._queue.value.total_count

    async def get_handled_count(self) -> int:
        """The number of handled Requests."""
        await self._task.load()
        return self._queue.value.handled_count

    async def is_empty(self) -> bool:
        """Whether no Request waits right now; there may be more later."""
        await self._task.start()
        return not self._queue.value.queue and self._task.failure is None

    async def is_finished(self) -> bool:
        """Whether all sitemaps are read and all Requests handled."""
        await self._task.start()
        value, task = self._queue.value, self._task
        return task.is_over and task.failure is None and not value.queue and not value.in_progress

    async def fetch_next_request(self) -> Request | None:
        """Waits for the next Request; None when is_finished().

        Raises the error that ended the reading, after the Requests that were read before.
        """
        while not await self.is_finished():
            request = self._queue.take()
            if request is not None:
                return request
            self._task.raise_failure()
            await self._queue.wait_for_arrival()
        return None

    async def mark_request_as_handled(self, request: Request) -> None:
        """Ends the progress of a Request."""
        await self._task.load()
        self._queue.mark_handled(request)

    # --- lifecycle ---

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.close()

    async def start(self) -> None:
        """Starts to read, once."""
        await self._task.start()

    async def close(self) -> None:
        """Stops reading, closes its resources and persists the queue. May be called twice."""
        await self._task.close()

    # --- results ---

    @property
    def summary(self) -> Summary:
        """The numbers of all targets so far; str() is one line."""
        return self._task.summary

    @property
    def problems(self) -> Problems:
        """The problems of the sitemaps: exact counts, and samples."""
        return self._task.problems

    @property
    def outcomes(self) -> Sequence[Outcome]:
        """One for each document that has ended."""
        return self._task.outcomes

    @property
    def verdicts(self) -> Sequence[ReadError]:
        """A NothingFound or NothingReadable for each target without a URL."""
        return self._task.verdicts

    @property
    def removed(self) -> int:
        """The number of removed URLs."""
        return self._task.removed

    @property
    def refused(self) -> int:
        """The number of URLs that Crawlee rejected; each is in the log."""
        return self._maker.refused

    @property
    def complete(self) -> bool:
        """Whether nothing is missing in what was read so far."""
        return not self.verdicts and all(outcome.complete for outcome in self.outcomes)

    def raise_for_partial(self) -> None:
        """Raises PartialRead, with the outcomes, if anything is missing."""
        missing = [*map(str, self.verdicts), *filter(None, [self.summary.missing()])]
        if missing:
            raise PartialRead(f"{', '.join(self._names)}: {'; '.join(missing)}", self.outcomes)


def _lasting(value: Any) -> Any:
    """A tuple of an iterator, which the first target would exhaust."""
    return tuple(value) if hasattr(value, "__next__") else value


def _targets(targets: Target | Iterable[Target]) -> tuple[Target, ...]:
    several = (targets,) if isinstance(targets, str | Path) else tuple(targets)
    if not several:
        raise UsageError("there is no target: name a host, a URL or a folder")
    return several


def _plan(options: LoaderOptions, state: object, trust_lastmod: Trust) -> tuple[SyncPlan | None, ReaderOptions]:
    """Splits the options into the plan of a sync and the options of the reader."""
    given: dict[str, Any] = {**options}
    planned = {name: given.pop(name) for name in _STATE_OPTIONS if name in given}
    if state is None:
        if planned:
            raise UsageError(f"{', '.join(planned)}: only with a state")
        return None, given  # type: ignore[return-value]
    from ...state.sync import SyncPlan  # here: reading alone needs no database

    plan = SyncPlan(trust_lastmod, **planned)
    check_sync_plan(plan)
    return plan, given  # type: ignore[return-value]


def _check_state(state: object, dates: dict[str, Any], on_removed: object) -> None:
    if state is None:
        if on_removed is not None:
            raise UsageError("on_removed needs a state: give one, or leave it out")
        return
    from ...state.state import State

    if not isinstance(state, str | os.PathLike | State) or state == "":
        raise UsageError(f"state is the name of a file, or a State, not {state!r}")
    named = [name for name, value in dates.items() if value not in (None, "keep")]
    if named:
        raise UsageError(f"{', '.join(named)} cannot be combined with a state, which determines what changed")
