"""URL records as Crawlee's Requests, and back.

In: what a site says of a URL, and what became of it. Out: a Request that carries that in its `user_data`; and of any
Request the record that it carries. Fetches nothing.
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
from ...serialize.jsonl import from_json, json_form, json_line

if TYPE_CHECKING:
    from collections.abc import Callable

    from crawlee import RequestOptions, RequestTransformAction

    from ...model.records import Change

    Transform = Callable[[RequestOptions], RequestOptions | RequestTransformAction]
    from crawlee.events import EventPersistStateData


# The keys of user_data.
RECORD = "sitemap_record"
CHANGE = "sitemap_change"

_OF_CHANGE = ("change", "changed", "previous_lastmod", "previous_lastmod_precision")
# Before a unique key, among marks that are URLs for the rest.
_KEY = "key "


def record_of(request: Request) -> UrlRecord | None:
    """What the site says of the request's URL; None for a request that comes from no sitemap.

    UsageError where `user_data["sitemap_record"]` is not what the loader put there.
    """
    form = request.user_data.get(RECORD)
    if form is None:
        return None
    try:
        record = from_json(cast("dict[str, Any]", form))
    except UsageError as exc:
        raise UsageError(f"{request.url}: user_data[{RECORD!r}]: {exc}") from exc
    if not isinstance(record, UrlRecord):
        raise UsageError(f"{request.url}: user_data[{RECORD!r}] is a {type(record).__name__}, and no URL record")
    return record


class RequestMaker:
    """make() of each record: a Request, or None where the caller skips it, or Crawlee takes no such URL."""

    def __init__(self, transform: Transform | None, logger: logging.Logger) -> None:
        self.refused = 0
        self._transform = transform
        self._logger = logger

    def make(self, record: UrlRecord, given: UrlSet, change: Change | None = None) -> Request | None:
        """`given` are the URLs that were given before, and learns of unique keys. What the transform raises passes."""
        options = _options(record, change)
        answer = self._transform(options) if self._transform is not None else "unchanged"
        if answer == "skip":
            return None
        options = answer if isinstance(answer, dict) else options
        try:
            request = Request.from_url(**options)
        except ValueError as error:  # pydantic's too
            if self._transform is not None and _is_taken(record):
                raise
            self.refused += 1
            why = " ".join(str(error).split())  # pydantic tells it on several lines
            self._logger.warning("%s is left out, as Crawlee takes no such URL: %s", record.loc, why)
            return None
        if _is_free(request, given):
            return request
        options["unique_key"] = f"{request.url}|as listed"
        return Request.from_url(**options)


def _is_taken(record: UrlRecord) -> bool:
    """Whether Crawlee takes the URL as it is: then it is what the caller made of it that is wrong."""
    try:
        Request.from_url(record.loc)
    except ValueError:
        return False
    return True


def _options(record: UrlRecord, change: Change | None) -> RequestOptions:
    user_data: dict[str, Any] = {RECORD: json_form(record)}
    options: RequestOptions = {"url": record.loc, "user_data": user_data}
    if change is not None:
        form = json_form(change)
        user_data[CHANGE] = {name: form[name] for name in _OF_CHANGE if name in form}
        if change.change == "updated":  # a queue that outlives a crawl has handled this URL before
            options["unique_key"] = f"{record.loc}|{blake2b(json_line(change), digest_size=10).hexdigest()}"
    return options


def _is_free(request: Request, given: UrlSet) -> bool:
    """Whether no other URL has its unique key: Crawlee's knows no case, no last slash and no utm_source.

    A queue would take two such URLs for one, and drop the second.
    """
    key = request.unique_key
    if key == request.url:
        return _KEY + key not in given
    return key not in given and given.add(_KEY + key)


# ----------------------------------------------------------------------------------------------------
# Where a loader stands: the requests that wait and those in progress, and what of a site has been given.
#
# Requests in, in their order out; kept under a key in Crawlee's key-value store, where there is a key, and found there
# by the next process. Reads no sitemap.


LOGGER = logging.getLogger("sitemap_reader.crawlee")

# How long a change may be in progress, where nothing is kept, before it counts as delivered.
_PATIENCE_SECONDS = 1.0


def _marks(value: object) -> object:
    return UrlSet.from_bytes(b64decode(value)) if isinstance(value, str) else value


_Marks = Annotated[
    UrlSet,
    BeforeValidator(_marks),
    PlainSerializer(lambda seen: b64encode(seen.to_bytes()).decode(), return_type=str),
]


class LoaderState(BaseModel):
    """What is kept of a loader.

    `asked` is what it was made for. `documents` (URL -> format) are those whose URLs are all in the queue, or have
    been. `marks` are the URLs that were given. With a state file, `undelivered` are instead, by the document that has
    them, the changes that were given and that the file does not call delivered yet.
    """

    model_config = ConfigDict(validate_by_name=True, validate_by_alias=True, arbitrary_types_allowed=True)

    asked: dict[str, Any] = {}
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
        """Nothing is left to read, to give or to handle."""
        return self.completed and not self.queue and not self.in_progress


class _Kept(RecoverableState[LoaderState]):
    """One writing after the other: an older one never replaces a newer."""

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


class Standing:
    """load() it first. put() and take() requests, and tell of the handled(); whoever waits hears of each change.

    `looks_again`: what was read to its end is to be read anew.
    """

    def __init__(self, key: str | None, asked: dict[str, Any], max_buffer_size: int, *, looks_again: bool) -> None:
        self.is_kept = key is not None
        self._key = key
        self._asked = asked
        self._max_buffer_size = max_buffer_size
        self._looks_again = looks_again
        self._kept = _Kept(key)
        self._loading = asyncio.Lock()
        self._is_loaded = False
        self._is_dirty = False
        self._arrival = asyncio.Event()
        self._departure = asyncio.Event()

    @property
    def value(self) -> LoaderState:
        """What is kept, as it stands."""
        return self._kept.current_value

    async def load(self) -> None:
        """Goes on from what was kept. UsageError where that is of something else."""
        async with self._loading:
            if not self._is_loaded:
                await self._load()
                self._is_loaded = True

    async def _load(self) -> None:
        try:
            value = await self._kept.initialize()
        except ValidationError as exc:
            raise UsageError(f"{self._key!r} in the key-value store is not what a SitemapReaderLoader keeps") from exc
        if value.is_done and (self._looks_again or value.asked != self._asked):
            for name, fresh in LoaderState():
                setattr(value, name, fresh)
        if value.asked and value.asked != self._asked:
            raise UsageError(_told_of_asked(self._key, value.asked, self._asked))
        value.asked = self._asked
        value.completed = value.completed and not self._looks_again
        value.queue.extendleft(reversed(value.in_progress.values()))
        value.in_progress.clear()

    # --- requests ---

    def put(self, request: Request) -> None:
        """One more that waits."""
        self.value.queue.append(request)
        self.value.total_count += 1
        self._is_dirty = True
        self._arrival.set()

    def take(self) -> Request | None:
        """The one that has waited longest; it is in progress from now on."""
        value = self.value
        if not value.queue:
            return None
        request = value.queue.popleft()
        value.in_progress[_name(request)] = request
        self._departure.set()
        return request

    def handled(self, request: Request) -> None:
        """It is not in progress any more; nothing happens if it was not."""
        if self.value.in_progress.pop(_name(request), None) is not None:
            self.value.handled_count += 1
            self.wake()

    def wake(self) -> None:
        """Whoever waits looks again."""
        self._departure.set()
        self._arrival.set()

    async def arrival(self) -> None:
        """Waits until something has happened."""
        self._arrival.clear()
        await self._arrival.wait()

    async def room(self) -> None:
        """Waits until one more may be put."""
        while len(self.value.queue) >= self._max_buffer_size:
            await self._left()

    async def secure(self) -> None:
        """What was put so far is out of danger: kept; or, where nothing is kept, handled as far as can be known.

        Where somebody wants more before he has handled what he has, there is no waiting for that.
        """
        if self._is_dirty and self.is_kept:
            await self.persist()
        elif self._is_dirty:
            while self.value.queue:
                await self._left()
            try:
                async with asyncio.timeout(_PATIENCE_SECONDS):
                    while self.value.in_progress:
                        await self._left()
            except TimeoutError:
                LOGGER.debug("%s requests are in progress still", len(self.value.in_progress))
            self._is_dirty = False

    async def _left(self) -> None:
        self._departure.clear()
        await self._departure.wait()

    # --- the store ---

    async def persist(self) -> None:
        """Keeps it as it stands, if there is a key."""
        if self.is_kept:
            self._is_dirty = False  # what is put from here on makes it so again
            await self._kept.persist_state()

    async def close(self) -> None:
        """Keeps it as it stands, for the last time."""
        if self._kept.is_initialized:
            await self._kept.teardown()


def _name(request: Request) -> str:
    """Two URLs may have one unique key."""
    return f"{request.unique_key} {request.url}"


def _told_of_asked(key: str | None, before: dict[str, Any], now: dict[str, Any]) -> str:
    differ = [name for name in {**before, **now} if before.get(name) != now.get(name)]
    was = ", ".join(f"{name} {before.get(name)}" for name in differ)
    told = ", ".join(f"{name} {now.get(name)}" for name in differ)
    return (
        f"under {key!r} a loader is kept that is not through, with {was}, and this one has {told}: "
        "take another persist_state_key, or let that one come to its end"
    )
