"""URL records as Crawlee's Requests, and back.

In: what a site says of a URL, and what became of it. Out: a Request that carries that in its `user_data`; and of any
Request the record that it carries. Fetches nothing.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING, Any, cast

from crawlee import Request

from ...model.errors import UsageError
from ...model.records import UrlRecord
from ...serialize.jsonl import json_form, json_line
from ...serialize.restore import from_json

if TYPE_CHECKING:
    import logging
    from collections.abc import Callable

    from crawlee import RequestOptions, RequestTransformAction

    from ...client.dedupe import Seen
    from ...model.records import Change

    Transform = Callable[[RequestOptions], RequestOptions | RequestTransformAction]

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

    def make(self, record: UrlRecord, given: Seen, change: Change | None = None) -> Request | None:
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


def _is_free(request: Request, given: Seen) -> bool:
    """Whether no other URL has its unique key: Crawlee's knows no case, no last slash and no utm_source.

    A queue would take two such URLs for one, and drop the second.
    """
    key = request.unique_key
    if key == request.url:
        return _KEY + key not in given
    return key not in given and given.add(_KEY + key)


