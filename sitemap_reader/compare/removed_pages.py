"""Requests removed URLs: whether each redirects now, and where; the check after a migration.

Pages are requested politely, by the PageFetcher. It follows redirects within a site; a target on another site is
requested in a second round, under the robots.txt of that site.
"""

from __future__ import annotations

import heapq
from collections import Counter
from contextlib import closing
from hashlib import blake2b
from http import HTTPStatus
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import attrs

from ..client.summary import count_of
from ..client.targets import find_target
from ..frontier.responses import is_success
from ..model.errors import UsageError
from ..model.records import RemovedPage
from ..parser.normalise.urls import clean_url, origin

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from ..model.records import Change
    from ..pipeline.page_fetcher import PageResponse

# RemovedPage.result -> words of the summary, in its order. Errors are counted by status.
_RESULTS = {
    "listed": ("redirects to a listed page", "redirect to a listed page"),
    "start page": ("redirects to the start page", "redirect to the start page"),
    "elsewhere": ("redirects elsewhere", "redirect elsewhere"),
    "broken": ("redirects to an error", "redirect to an error"),
    "found": ("still answers", "still answer"),
    "error": ("answers {}", "answer {}"),
    "unknown": ("is not known", "are not known"),
}


@attrs.frozen
class RemovedPages:
    """The answers for removed URLs, by URL: of all `removed` ones, or of a sample."""

    removed: int
    pages: Mapping[str, RemovedPage]

    @property
    def summary(self) -> str:
        """`230 removed: 180 redirect to a listed page, 20 redirect elsewhere, 30 answer 404`."""
        counts = Counter((each.result, each.status if each.result == "error" else None) for each in self.pages.values())
        order = [*_RESULTS]
        parts = [
            f"{count:,} {_RESULTS[result][count != 1].format(status)}"
            for (result, status), count in sorted(
                counts.items(), key=lambda each: (order.index(each[0][0]), -each[1], each[0][1] or 0)
            )
        ]
        sample = "" if len(self.pages) == self.removed else f", of which {count_of(len(self.pages), 'URL')} checked"
        return f"{self.removed:,} removed{sample}" + (f": {', '.join(parts)}" if parts else "")


def check_pages(
    changes: Iterable[Change],
    is_listed: Callable[[str], bool],
    size: int | None = None,
    *,
    on_wait: Callable[[], None] = lambda: None,
    on_checked: Callable[[int, int], None] = lambda done, total: None,
    **options: Any,
) -> RemovedPages:
    """Requests `size` of the removed URLs, or all; `options` are those of SitemapReader.

    A sample is drawn by a hash of each URL: the same removals give the same sample.
    """
    if size is not None and (type(size) is not int or size < 1):
        raise UsageError(keyword="size", value=size, allowed="a number of URLs, 1 or more, or None for all")
    removed = 0

    def locs() -> Iterator[str]:
        nonlocal removed
        for change in changes:
            if change.change == "removed":
                removed += 1
                yield change.record.loc

    drawn = list(locs()) if size is None else heapq.nsmallest(size, locs(), key=_rank)
    urls = [url for url in dict.fromkeys(drawn) if clean_url(url).url == url]
    first: dict[str, PageResponse] = {}
    for response in _responses(urls, on_wait, options):
        first[response.url] = attrs.evolve(response, headers={}, body=b"")
        on_checked(len(first), len(urls))
    ends = dict.fromkeys(each.final_url for each in first.values() if each.target and each.final_status is None)
    second = {each.url: each for each in _responses([end for end in ends if end], on_wait, options)}
    pages = {url: _page(first[url], second, is_listed) for url in urls if url in first}
    return RemovedPages(removed, pages)


def _rank(url: str) -> bytes:
    return blake2b(url.encode("utf-8", "surrogatepass"), digest_size=8).digest()


def _responses(urls: Sequence[str], on_wait: Callable[[], None], options: Mapping[str, Any]) -> Iterator[PageResponse]:
    from ..client.reader import page_responses  # a comparison needs no network library

    if not urls:
        return
    target = find_target(f"{origin(urls[0])}/")
    with closing(page_responses(target, urls, lambda url: None, on_wait=on_wait, **options)) as responses:
        yield from responses


def _page(response: PageResponse, ends: Mapping[str, PageResponse], is_listed: Callable[[str], bool]) -> RemovedPage:
    failure = response.failure
    if response.status is None or response.target is None:
        reason = failure.message if failure is not None else None
        return RemovedPage(_result(response.status), response.status, failure=reason)
    end = ends.get(response.final_url or "") if response.final_status is None else response
    url, status = (response.final_url, None) if end is None else (end.final_url, end.final_status)
    reason = end.failure.message if end is not None and end.failure is not None else None
    listed = url is not None and is_listed(clean_url(url).url or url)
    result = "broken"
    if status is not None and is_success(status):
        is_start = url is not None and urlsplit(url).path in ("", "/") and urlsplit(response.url).path not in ("", "/")
        result = "start page" if is_start else "listed" if listed else "elsewhere"
    elif status is None and reason is not None:
        result = "unknown"
    return RemovedPage(result, response.status, response.target, url, status, listed, reason)


def _result(status: int | None) -> str:
    if status is None:
        return "unknown"
    if HTTPStatus.MULTIPLE_CHOICES <= status < HTTPStatus.BAD_REQUEST:  # to itself, or nowhere
        return "broken"
    return "found" if is_success(status) else "error"
