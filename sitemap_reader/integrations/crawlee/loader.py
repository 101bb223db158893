"""SitemapReaderLoader: a Crawlee request loader that reads the URLs of sites from their sitemaps, in a task."""

from __future__ import annotations

import asyncio
import logging
from base64 import b64decode, b64encode
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import nullcontext, suppress
from datetime import UTC, datetime
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Self, Unpack, cast

from crawlee import Request, service_locator
from crawlee.events import Event
from crawlee.request_loaders import RequestLoader
from crawlee.storages import KeyValueStore
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PlainSerializer, ValidationError
from pydantic.alias_generators import to_camel

from ...client.crawler import make_sync_plan
from ...client.keywords import UrlQuery, checked_keywords
from ...client.options import (
    FilterOptions,
    FullOption,
    ItemOptions,
    OutcomeOption,
    PatternOptions,
    ReaderOptions,
    UpdateOptions,
)
from ...client.streams import AsyncChangeStream, AsyncStream
from ...client.summary import CrawlLog, SummaryBuilder, UrlSet
from ...client.targets import find_target
from ...model.errors import PartialRead, ReadError, UsageError
from ...model.options import positive
from ...model.problems import Problem, Problems
from ...model.records import Change, ChangeCounts, Outcome, SitemapRef, UrlRecord
from ...parser.content.sniff import SITEMAP_FORMATS, Format
from ...reader import SitemapReader
from ...serialize.jsonl import from_json, json_line, to_dict

if TYPE_CHECKING:
    from crawlee import RequestOptions, RequestTransformAction

    from ...model.records import Item
    from ...model.summary import Summary
    from ...state.state import State

    Transform = Callable[[RequestOptions], RequestOptions | RequestTransformAction]

LOGGER = logging.getLogger("sitemap_reader.crawlee")

RECORD = "sitemap_record"  # in user_data
_CHANGE_FIELDS = ("change", "changed", "previous_lastmod", "previous_lastmod_precision")
_DATES = ("since", "until", "undated")
_QUERY_KEYWORDS = (*FilterOptions.__annotations__, *ItemOptions.__annotations__, *OutcomeOption.__annotations__)
# How long a consumer waits for the next change while others are in progress, until these count as delivered.
_DELIVERY_SECONDS = 1.0

_Marks = Annotated[
    UrlSet,
    BeforeValidator(lambda value: UrlSet.from_bytes(b64decode(value)) if isinstance(value, str) else value),
    PlainSerializer(lambda marks: b64encode(marks.to_bytes()).decode(), return_type=str),
]


class LoaderState(BaseModel):
    """What a loader with a key keeps of a crawl with `settings`; with camelCase names, as Crawlee's own loader."""

    model_config = ConfigDict(alias_generator=to_camel, arbitrary_types_allowed=True)

    settings: dict[str, Any] = {}
    request_queue: deque[Request] = deque()
    in_progress: dict[str, Request] = {}  # by unique key
    documents_given: dict[str, str] = {}  # URL -> format of the sitemaps whose URLs were all queued
    given_marks: _Marks = Field(default_factory=UrlSet)  # the URLs that were queued
    reading_completed: bool = False
    total_count: int = 0
    handled_count: int = 0


class LoaderOptions(FilterOptions, ItemOptions, OutcomeOption, FullOption, UpdateOptions, ReaderOptions, total=False):
    """The keywords of SitemapReaderLoader beside its own; `full`, `on` and `accept_removals` need a state."""


class SitemapReaderLoader(RequestLoader):
    """A Crawlee request loader: the URLs of sites as Requests, each once, while their sitemaps are being read.

    `targets` is a host, a URL, a replay folder, or several, read one after the other. `options` are the keywords of
    SitemapReader and of its urls(); an own `reader` stays open. `transform_request_function` is as in Crawlee's own
    loader, and called as a URL is read. Reading pauses while `max_buffer_size` Requests wait.

    With a `state`, the file of sync, only what changed since the last crawl comes: `full`, `on`, `accept_removals` and
    `trust_lastmod` are as in changes(), and `on_removed` gets the removed URLs; `counts` has their numbers.
    docs/integrations.md says what comes again after a kill, with a state or with a `persist_state_key`.

    Reading starts with the first call of a method, or with `async with`, which also closes the loader; otherwise call
    close(). Faults of a site do not stop it: they are in the log (`sitemap_reader.crawlee`), `problems`, `outcomes` and
    `verdicts`, a NothingFound or NothingReadable for each target without a URL. Any other error (a StateError, an
    exception of a callback) is raised by fetch_next_request, after the Requests that wait. `removed` counts the removed
    URLs, `refused` those that Crawlee rejects.
    """

    @checked_keywords(LoaderOptions)
    def __init__(
        self,
        targets: str | Path | Iterable[str | Path],
        *,
        state: State | str | Path | None = None,
        max_buffer_size: int = 200,
        persist_state_key: str | None = None,
        transform_request_function: Transform | None = None,
        on_removed: Callable[[UrlRecord], object] | None = None,
        reader: SitemapReader | None = None,
        **keywords: Unpack[LoaderOptions],
    ) -> None:
        """Reads nothing yet. UsageError for invalid values."""
        options: dict[str, Any] = {**keywords}
        positive("max_buffer_size", max_buffer_size)
        if persist_state_key == "":
            raise UsageError("persist_state_key is empty", remedy="leave it out, or name one")
        wanted: dict[str, Any] = {name: options.pop(name) for name in _QUERY_KEYWORDS if name in options}
        # An iterator would be exhausted by the first target.
        wanted = {name: tuple(each) if hasattr(each, "__next__") else each for name, each in wanted.items()}
        self._query = UrlQuery(**wanted)
        self._query.plan_fields(datetime.now(UTC))  # checks them
        if state is None and on_removed is not None:
            raise UsageError("only with a state", keyword="on_removed")
        self._sync_options = {} if state is None else _sync_options(state, persist_state_key, wanted, options)
        if reader is not None and options:
            raise UsageError(f"{', '.join(options)}: of a reader of your own", remedy="give it to that")
        self._targets = (targets,) if isinstance(targets, str | Path) else tuple(targets)
        if not self._targets:
            raise UsageError("there is no target: name a host, a URL or a folder")
        self._names = [find_target(target).name for target in self._targets]
        self._reader, self._owns_reader = reader or SitemapReader(**options), reader is None
        self._crawler = self._reader.crawler
        dates = {name: str(self._query.options[name]) for name in _DATES}  # type: ignore[literal-required]
        settings = {"targets": self._names, **dates, **self._crawler.state_settings(self._query)}
        self._value = LoaderState(settings=settings)
        self._state = state
        self._max_buffer_size = max_buffer_size
        self._key = persist_state_key
        self._transform = transform_request_function
        self._on_removed = on_removed or (lambda record: None)
        self.problems = Problems()
        self.outcomes: list[Outcome] = []
        self.verdicts: list[ReadError] = []
        self.removed = self.refused = 0
        # Of the targets that have ended.
        self._summary, self._counts = SummaryBuilder().summary(), ChangeCounts()
        self._stream: AsyncStream[UrlRecord] | AsyncChangeStream | None = None
        self._store: KeyValueStore | None = None
        self._task: asyncio.Task[None] | None = None
        self._failure: Exception | None = None
        self._is_closed = self._is_putting = False  # putting: a URL is marked, and not queued yet, or never
        self._changed = asyncio.Event()  # the queue, or the task has ended
        self._starting, self._fetching, self._saving = asyncio.Lock(), asyncio.Lock(), asyncio.Lock()
        self._indexes: set[str | None] = set()
        self._marked_outcomes = self._delivered = 0

    # --- the interface of RequestLoader ---

    async def get_total_count(self) -> int:
        """The number of Requests so far, handled or not."""
        await self.start()
        return self._value.total_count

    async def get_handled_count(self) -> int:
        """The number of handled Requests."""
        await self.start()
        return self._value.handled_count

    async def is_empty(self) -> bool:
        """Whether no Request waits right now; there may be more later."""
        await self.start()
        return not (self._value.request_queue or self._failure)

    async def is_finished(self) -> bool:
        """Whether all sitemaps are read and all Requests handled."""
        await self.start()
        is_over = self._task is None or self._task.done()
        return is_over and not (self._failure or self._value.request_queue or self._value.in_progress)

    async def fetch_next_request(self) -> Request | None:
        """Waits for the next Request; None when is_finished().

        Raises the error that ended the reading, after the Requests that were read before.
        """
        async with self._fetching:
            while not await self.is_finished():
                if self._value.request_queue:
                    request = self._value.request_queue.popleft()
                    self._value.in_progress[request.unique_key] = request
                    self._changed.set()
                    return request
                if self._failure is not None:
                    raise self._failure
                self._changed.clear()
                await self._changed.wait()
        return None

    async def mark_request_as_handled(self, request: Request) -> None:
        """Ends the progress of a Request; does nothing if it was not in progress."""
        if self._value.in_progress.pop(request.unique_key, None) is not None:
            self._value.handled_count += 1
            self._changed.set()

    # --- lifecycle and results ---

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.close()

    async def start(self) -> None:
        """Starts to read, once. UsageError where the key has the state of other settings."""
        async with self._starting:
            if self._task is None and not self._is_closed:
                if self._key is not None:
                    await self._load(self._key)
                self._task = asyncio.create_task(self._read_all(), name="sitemap-reader")
                self._task.add_done_callback(lambda _: self._changed.set())

    async def close(self) -> None:
        """Stops reading, closes its resources and saves the state. May be called twice."""
        async with self._starting:
            is_first, self._is_closed = not self._is_closed, True
        if self._task is not None and is_first:
            self._task.cancel()
            await asyncio.wait([self._task])
            service_locator.get_event_manager().off(event=Event.PERSIST_STATE, listener=self._save)
            await self._save()

    @property
    def summary(self) -> Summary:
        """The numbers of all targets so far; str() is one line."""
        return self._summary + self._stream.summary if self._stream else self._summary

    @property
    def counts(self) -> ChangeCounts:
        """How many URLs of all targets so far were new, updated and removed; zeros without a state."""
        return self._counts + self._stream.counts if isinstance(self._stream, AsyncChangeStream) else self._counts

    @property
    def complete(self) -> bool:
        """Whether all targets were read to their end, and nothing is missing."""
        return (
            self._value.reading_completed and not self.verdicts and all(outcome.complete for outcome in self.outcomes)
        )

    def raise_for_partial(self) -> None:
        """Raises PartialRead, with the outcomes, if anything is missing, or not all was read."""
        missing = [*map(str, self.verdicts), *filter(None, [self.summary.missing()])]
        if not (missing or self._value.reading_completed):
            missing = ["stopped before its end"]
        if missing:
            raise PartialRead(f"{', '.join(self._names)}: {'; '.join(missing)}", self.outcomes)

    # --- reading ---

    async def _read_all(self) -> None:
        try:
            async with self._reader if self._owns_reader else nullcontext():
                for target in () if self._value.reading_completed else self._targets:
                    await self._read(target)
            self._value.reading_completed = True
            await self._save()
        except Exception as error:
            LOGGER.error("the reading ended before its time", exc_info=error)
            self._failure = error

    async def _read(self, target: str | Path) -> None:
        log, verdict = CrawlLog(LOGGER), None
        self._stream = stream = self._open_stream(target, log)
        try:
            async with stream:
                async for item in stream:
                    self._is_putting = True
                    self._put(item)
                    self._is_putting = False
                    await self._wait_while(lambda: len(self._value.request_queue) >= self._max_buffer_size)
        except ReadError as error:
            verdict = error
            self.verdicts.append(error)
        finally:
            self._summary, self._counts, self._stream = self.summary, self.counts, None
        log.end(stream.summary, verdict)

    def _open_stream(self, target: str | Path, log: CrawlLog) -> AsyncStream[UrlRecord] | AsyncChangeStream:
        callbacks: dict[str, Any] = {"on_item": partial(self._note, log), "on_progress": self._mark_documents}
        if self._state is not None:
            run = self._crawler.change_run(target, {"state": self._state, **self._sync_options, **callbacks})  # type: ignore[typeddict-item]
            run.before_delivery = self._wait_for_delivery
            return AsyncChangeStream(run)
        query = self._query.changed(unique=self._value.given_marks, **callbacks)
        return AsyncStream(self._crawler.crawl_run(target, query, already_read={**self._value.documents_given}))

    def _put(self, item: UrlRecord | Change) -> None:
        """Queues a Request, without an await since the stream marked its URL: a saved state has both."""
        record = item if isinstance(item, UrlRecord) else item.record
        if isinstance(item, Change) and item.change == "removed":
            self._on_removed(record)
            self.removed += 1
            return
        options = _options(item)
        try:
            request = Request.from_url(**options)
        except ValueError as error:  # pydantic's too, whose text has several lines
            self.refused += 1
            LOGGER.warning("%s is left out, as Crawlee takes no such URL: %s", record.loc, " ".join(str(error).split()))
            return
        marks = self._value.given_marks
        marks.add(record.loc)  # a stream of changes does not
        if (finished := _finish(request, options, self._transform, marks)) is not None:
            self._value.request_queue.append(finished)
            self._value.total_count += 1
            self._changed.set()

    def _note(self, log: CrawlLog, item: Item) -> None:
        log.report(item)
        if isinstance(item, Problem):
            self.problems.add(item)
        elif isinstance(item, Outcome):
            self.outcomes.append(item)
        elif isinstance(item, SitemapRef):
            self._indexes.add(item.sitemap)
        if (on_item := self._query.options["on_item"]) is not None:
            on_item(item)

    def _mark_documents(self, _: object) -> None:
        """At the end of a batch, when its URLs are queued: marks the sitemaps that were read whole, but no index."""
        for outcome in self.outcomes[self._marked_outcomes :]:
            lists_urls = outcome.format in SITEMAP_FORMATS and outcome.format != Format.INDEX
            if outcome.complete and lists_urls and outcome.url not in self._indexes:
                self._value.documents_given[outcome.url or ""] = outcome.format or ""
        self._marked_outcomes = len(self.outcomes)

    async def _wait_while(self, condition: Callable[[], object]) -> None:
        while condition():
            self._changed.clear()
            await self._changed.wait()

    async def _wait_for_delivery(self) -> None:
        """Until all changes so far are handled, or a consumer has been waiting for more for a while."""
        await self._wait_while(lambda: self._value.request_queue)
        while self._value.in_progress and self._delivered < self._value.total_count:
            with suppress(TimeoutError):
                async with asyncio.timeout(_DELIVERY_SECONDS):
                    await self._wait_while(lambda: self._value.in_progress)
            if self._fetching.locked():
                break
        self._delivered = self._value.total_count

    async def _save(self, _: object = None) -> None:
        """Writes the state, if there is a key; one after the other, so that an older state never replaces a newer."""
        if self._store is not None and self._key is not None and not self._is_putting:
            async with self._saving:
                value = self._value.model_dump(mode="json", by_alias=True)
                await self._store.set_value(self._key, value, "application/json")

    async def _load(self, key: str) -> None:
        """Continues with the state of the last process, its Requests in progress first."""
        from ...state.sync import settings_difference  # here: reading alone needs no database

        store, settings = await KeyValueStore.open(), self._value.settings
        try:
            value = LoaderState.model_validate(await store.get_value(key) or {})
        except ValidationError as exc:
            raise UsageError(f"{key!r} in the key-value store is not the state of a SitemapReaderLoader") from exc
        value.request_queue.extendleft(reversed(value.in_progress.values()))
        value.in_progress.clear()
        if value.settings == settings:
            self._value = value
        elif value.settings and (value.request_queue or not value.reading_completed):
            unfinished = f"has the state of an unfinished loader, which {settings_difference(value.settings, settings)}"
            raise UsageError(f"{key!r} {unfinished}: take another persist_state_key, or let that one finish")
        self._store = store
        service_locator.get_event_manager().on(event=Event.PERSIST_STATE, listener=self._save)


def _sync_options(state: object, key: str | None, wanted: dict[str, Any], options: dict[str, Any]) -> dict[str, Any]:
    """Takes the options of a sync out of `options`. UsageError for what cannot be combined with a state."""
    from ...state.state import State  # here: reading alone needs no database

    if not isinstance(state, str | Path | State) or state == "":
        raise UsageError(keyword="state", value=state, allowed="the name of a file, or a State")
    wrong = [name for name in _DATES if wanted.get(name) not in (None, "keep")]
    wrong += ["persist_state_key"] if key is not None else []
    if wrong:
        raise UsageError(f"{', '.join(wrong)} cannot be combined with a state, which has what was delivered before")
    given: dict[str, Any] = {name: options.pop(name) for name in ("full", "on", "accept_removals") if name in options}
    shared = (*PatternOptions.__annotations__, "trust_lastmod", "on_outcome")
    given |= {name: wanted[name] for name in shared if name in wanted}
    make_sync_plan({**given})  # for its checks
    return given


def record_of(request: Request) -> UrlRecord | None:
    """The UrlRecord of a request; None for a request that comes from no sitemap.

    UsageError where `user_data["sitemap_record"]` is not what the loader put there.
    """
    json_object = request.user_data.get(RECORD)
    if json_object is None:
        return None
    try:
        record = from_json(cast("dict[str, Any]", json_object))
    except UsageError as exc:
        raise UsageError(f"{request.url}: user_data[{RECORD!r}]: {exc}") from exc
    if not isinstance(record, UrlRecord):
        raise UsageError(f"{request.url}: user_data[{RECORD!r}] is a {type(record).__name__}, and no URL record")
    return record


def _options(item: UrlRecord | Change) -> RequestOptions:
    """What Request.from_url() makes the Request of a record or a change of; the transform gets it, too."""
    record = item if isinstance(item, UrlRecord) else item.record
    user_data: dict[str, Any] = {RECORD: to_dict(record)}
    options: RequestOptions = {"url": record.loc, "user_data": user_data}
    if isinstance(item, Change):
        json_object = to_dict(item)
        user_data["sitemap_change"] = {name: json_object[name] for name in _CHANGE_FIELDS if name in json_object}
        if item.change == "updated":  # a queue that outlives a crawl has handled this URL before
            options["unique_key"] = f"{record.loc}|{blake2b(json_line(item), digest_size=10).hexdigest()}"
    return options


def _finish(request: Request, options: RequestOptions, transform: Transform | None, taken: UrlSet) -> Request | None:
    """The Request of the options, after the transform; None if that says "skip".

    `taken` has the URLs of earlier Requests, and gets the unique keys that differ from these.
    """
    if transform is not None:
        transformed = transform(options)
        if transformed == "skip":
            return None
        options = transformed if isinstance(transformed, dict) else options  # "unchanged", or changed in place
        request = Request.from_url(**options)
    if _is_key_taken(request, taken):
        options["unique_key"] = f"{request.url}|as listed"
        request = Request.from_url(**options)
    return request


def _is_key_taken(request: Request, taken: UrlSet) -> bool:
    """Whether another URL has the same unique key: Crawlee's ignores case, a trailing slash and utm_ parameters.

    A queue would drop the second of two URLs with one key. Keys that are URLs themselves are not added, to save memory.
    """
    key = request.unique_key
    if key == request.url:
        return f"key {key}" in taken
    return key in taken or not taken.add(f"key {key}")
