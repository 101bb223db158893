"""Converts URL records to Crawlee's Requests and back, and queues them for a loader.

In: records and changes. Out: Requests that have them in `user_data`. RequestQueue keeps the Requests that wait or are
in progress, and which URLs were queued, in Crawlee's key-value store. Fetches nothing.
"""

from __future__ import annotations

import asyncio
import logging
from base64 import b64decode, b64encode
from collections import deque
from hashlib import blake2b
from typing import TYPE_CHECKING, Annotated, Any, cast

from crawlee import Request
from crawlee._utils.recoverable_state import RecoverableState
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PlainSerializer, ValidationError

from ...client.dedupe import UrlSet
from ...model.errors import UsageError
from ...model.records import UrlRecord
from ...serialize.jsonl import from_json, json_line, to_dict

if TYPE_CHECKING:
    from collections.abc import Callable

    from crawlee import RequestOptions, RequestTransformAction

    from ...model.records import Change

    Transform = Callable[[RequestOptions], RequestOptions | RequestTransformAction]
    from crawlee.events import EventPersistStateData


# The keys of user_data.
RECORD = "sitemap_record"
CHANGE = "sitemap_change"

_CHANGE_FIELDS = ("change", "changed", "previous_lastmod", "previous_lastmod_precision")
# Prefix of unique keys in a set that otherwise holds URLs.
_KEY = "key "


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


class RequestMaker:
    """Makes Requests of records; None where the transform skips a record or Crawlee rejects its URL."""

    def __init__(self, transform: Transform | None, logger: logging.Logger) -> None:
        self.refused = 0
        self._transform = transform
        self._logger = logger

    def make(self, record: UrlRecord, queued: UrlSet, change: Change | None = None) -> Request | None:
        """The Request of a record; adds its unique key to `queued`. Exceptions of the transform pass through."""
        options = _options(record, change)
        transformed = self._transform(options) if self._transform is not None else "unchanged"
        if transformed == "skip":
            return None
        options = transformed if isinstance(transformed, dict) else options
        try:
            request = Request.from_url(**options)
        except ValueError as error:  # pydantic's too
            if self._transform is not None and _is_accepted(record):
                raise
            self.refused += 1
            why = " ".join(str(error).split())  # pydantic's text has several lines
            self._logger.warning("%s is left out, as Crawlee takes no such URL: %s", record.loc, why)
            return None
        if _is_unique(request, queued):
            return request
        options["unique_key"] = f"{request.url}|as listed"
        return Request.from_url(**options)


def _is_accepted(record: UrlRecord) -> bool:
    """Whether Crawlee accepts the URL itself: then the options of the transform are wrong."""
    try:
        Request.from_url(record.loc)
    except ValueError:
        return False
    return True


def _options(record: UrlRecord, change: Change | None) -> RequestOptions:
    user_data: dict[str, Any] = {RECORD: to_dict(record)}
    options: RequestOptions = {"url": record.loc, "user_data": user_data}
    if change is not None:
        json_object = to_dict(change)
        user_data[CHANGE] = {name: json_object[name] for name in _CHANGE_FIELDS if name in json_object}
        if change.change == "updated":  # a queue that outlives a crawl has handled this URL before
            options["unique_key"] = f"{record.loc}|{blake2b(json_line(change), digest_size=10).hexdigest()}"
    return options


def _is_unique(request: Request, queued: UrlSet) -> bool:
    """Whether no other URL has the unique key: Crawlee's ignores case, a trailing slash and utm_ parameters.

    A queue would drop the second of two URLs with one key.
    """
    key = request.unique_key
    if key == request.url:
        return _KEY + key not in queued
    return key not in queued and queued.add(_KEY + key)


# --- the queue of a loader, and its persistence ---

LOGGER = logging.getLogger("sitemap_reader.crawlee")

# Without persistence, a change that is in progress for this long counts as delivered.
_DELIVERY_TIMEOUT_SECONDS = 1.0


def _marks(value: object) -> object:
    return UrlSet.from_bytes(b64decode(value)) if isinstance(value, str) else value


_Marks = Annotated[
    UrlSet,
    BeforeValidator(_marks),
    PlainSerializer(lambda seen: b64encode(seen.to_bytes()).decode(), return_type=str),
]


class LoaderState(BaseModel):
    """The persistent state of a loader.

    `settings` are those of the crawl. `documents` (URL -> format) are those whose URLs were all queued; `marks` are the
    URLs that were queued. With a state file, `undelivered` has instead, by document, the changes that were queued and
    not committed there yet.
    """

    model_config = ConfigDict(validate_by_name=True, validate_by_alias=True, arbitrary_types_allowed=True)

    settings: dict[str, Any] = {}
    queue: Annotated[deque[Request], Field(alias="requestQueue")] = deque()
    in_progress: Annotated[dict[str, Request], Field(alias="inProgress")] = {}
    documents: Annotated[dict[str, str], Field(alias="documentsGiven")] = {}
    marks: _Marks = Field(alias="givenMarks", default_factory=UrlSet)
    undelivered: Annotated[dict[str, _Marks], Field(alias="undeliveredMarks")] = {}
    completed: Annotated[bool, Field(alias="readingCompleted")] = False
    total_count: Annotated[int, Field(alias="totalCount")] = 0
    handled_count: Annotated[int, Field(alias="handledCount")] = 0

    @property
    def is_done(self) -> bool:
        """Whether nothing is left to read, to queue or to handle."""
        return self.completed and not self.queue and not self.in_progress


class _PersistentState(RecoverableState[LoaderState]):
    """Serializes writes, so that an older state never replaces a newer one."""

    def __init__(self, key: str | None) -> None:
        super().__init__(
            default_state=LoaderState(),
            persistence_enabled=key is not None,
            persist_state_key=key or "",
            logger=LOGGER,
        )
        self._turn = asyncio.Lock()

    async def persist_state(self, event_data: EventPersistStateData | None = None) -> None:
        async with self._turn:
            await super().persist_state(event_data)


class RequestQueue:
    """The Requests of a loader, first in, first out: load(), then put(), take() and mark_handled().

    `rereads`: sitemaps that were read completely by an earlier process are read again.
    """

    def __init__(self, key: str | None, settings: dict[str, Any], max_buffer_size: int, *, rereads: bool) -> None:
        self.is_persistent = key is not None
        self._key = key
        self._settings = settings
        self._max_buffer_size = max_buffer_size
        self._rereads = rereads
        self._store = _PersistentState(key)
        self._loading = asyncio.Lock()
        self._is_loaded = False
        self._is_dirty = False
        self._arrival = asyncio.Event()
        self._departure = asyncio.Event()

    @property
    def value(self) -> LoaderState:
        """The current state."""
        return self._store.current_value

    async def load(self) -> None:
        """Loads the state of the last process. UsageError where it belongs to other settings."""
        async with self._loading:
            if not self._is_loaded:
                await self._load()
                self._is_loaded = True

    async def _load(self) -> None:
        try:
            value = await self._store.initialize()
        except ValidationError as exc:
            raise UsageError(f"{self._key!r} in the key-value store is not the state of a SitemapReaderLoader") from exc
        if value.is_done and (self._rereads or value.settings != self._settings):
            for name, fresh in LoaderState():
                setattr(value, name, fresh)
        if value.settings and value.settings != self._settings:
            raise UsageError(_settings_message(self._key, value.settings, self._settings))
        value.settings = self._settings
        value.completed = value.completed and not self._rereads
        value.queue.extendleft(reversed(value.in_progress.values()))
        value.in_progress.clear()

    # --- requests ---

    def put(self, request: Request) -> None:
        """Appends a request."""
        self.value.queue.append(request)
        self.value.total_count += 1
        self._is_dirty = True
        self._arrival.set()

    def take(self) -> Request | None:
        """Removes the first request, which is in progress from now on; None if none waits."""
        value = self.value
        if not value.queue:
            return None
        request = value.queue.popleft()
        value.in_progress[_name(request)] = request
        self._departure.set()
        return request

    def mark_handled(self, request: Request) -> None:
        """Ends the progress of a request; does nothing if it was not in progress."""
        if self.value.in_progress.pop(_name(request), None) is not None:
            self.value.handled_count += 1
            self.wake()

    def wake(self) -> None:
        """Wakes all tasks that wait for the queue."""
        self._departure.set()
        self._arrival.set()

    async def wait_for_arrival(self) -> None:
        """Waits for a request, or for wake()."""
        self._arrival.clear()
        await self._arrival.wait()

    async def wait_for_capacity(self) -> None:
        """Waits until fewer than `max_buffer_size` requests wait."""
        while len(self.value.queue) >= self._max_buffer_size:
            await self._wait_for_departure()

    async def secure(self) -> None:
        """Makes the requests so far safe: persists them, or without a key waits until they are handled.

        That wait has a timeout, as the consumer may take further requests before it has handled these.
        """
        if self._is_dirty and self.is_persistent:
            await self.persist()
        elif self._is_dirty:
            while self.value.queue:
                await self._wait_for_departure()
            try:
                async with asyncio.timeout(_DELIVERY_TIMEOUT_SECONDS):
                    while self.value.in_progress:
                        await self._wait_for_departure()
            except TimeoutError:
                LOGGER.debug("%s requests are in progress still", len(self.value.in_progress))
            self._is_dirty = False

    async def _wait_for_departure(self) -> None:
        self._departure.clear()
        await self._departure.wait()

    # --- the store ---

    async def persist(self) -> None:
        """Writes the state, if there is a key."""
        if self.is_persistent:
            self._is_dirty = False  # put() sets it again during the write
            await self._store.persist_state()

    async def close(self) -> None:
        """Writes the state for the last time."""
        if self._store.is_initialized:
            await self._store.teardown()


def _name(request: Request) -> str:
    """An identifier; two URLs may have one unique key."""
    return f"{request.unique_key} {request.url}"


def _settings_message(key: str | None, before: dict[str, Any], now: dict[str, Any]) -> str:
    differ = [name for name in {**before, **now} if before.get(name) != now.get(name)]
    was = ", ".join(f"{name} {before.get(name)}" for name in differ)
    wanted = ", ".join(f"{name} {now.get(name)}" for name in differ)
    return (
        f"{key!r} has the state of an unfinished loader with {was}, and this one has {wanted}: "
        "take another persist_state_key, or let that one finish"
    )
