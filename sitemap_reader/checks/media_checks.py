"""Checks whether images and thumbnails of videos that sitemaps list can be loaded (C14): a bounded sample of them.

Takes UrlBatches, gives the URLs to request, and judges their responses. Sends no request.
"""

from __future__ import annotations

from collections import Counter
from http import HTTPStatus
from operator import attrgetter
from typing import TYPE_CHECKING

import attrs

from ..model.problems import count_of, report
from ..parser.normalise.urls import is_web_url
from .page_faults import REFUSALS
from .url_sample import rank_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..model.problems import PageKind, Problem
    from ..model.url_batch import UrlBatch
    from ..pipeline.page_fetcher import PageResponse
    from .findings import Findings

MOST_MEDIA = 100
# Nested column, its key, the tag, and what it is.
_MEDIA = (("images", "loc", "image:loc", "image"), ("videos", "thumbnail_loc", "video:thumbnail_loc", "thumbnail"))
# A server that does not know the type of a file sends these.
_UNTYPED = frozenset({"", "application/octet-stream", "binary/octet-stream"})
_rank = attrgetter("rank")


@attrs.frozen
class _ListedImage:
    """The URL of an image, and its first listing, in the order of sitemaps and lines."""

    rank: float
    url: str
    field: str
    noun: str
    page: str
    sitemap: str | None
    line: int | None

    @property
    def order(self) -> tuple[str, int, str]:
        return self.sitemap or "", self.line or 0, self.page


class ImageSample:
    """The images whose hashes are lowest, whatever the order in which sitemaps arrive; `limit` of them at most."""

    def __init__(self, limit: int, seed: int) -> None:
        self.listed = 0
        self.folder: str | None = None  # where they are read from, in place of the network
        self._limit = limit
        self._key = str(seed).encode()[:64]
        self._highest = 1.0
        self._kept: dict[str, _ListedImage] = {}
        self._problems: list[tuple[_ListedImage, Problem]] = []
        self._checked: set[str] = set()
        self._unknown: Counter[str] = Counter()

    def add(self, batch: UrlBatch) -> None:
        for column, key, tag, noun in _MEDIA:
            urls = batch.items(column, key)
            if not urls:
                continue
            self.listed += len(urls)
            for url, index in zip(urls, batch.owners(column), strict=True):
                if url is None or (rank := rank_of(url, self._key)) > self._highest or not is_web_url(url):
                    continue
                found = _ListedImage(rank, url, tag, noun, batch.locs[index], batch.sitemap, batch.lines[index])
                known = self._kept.setdefault(url, found)
                if found.order < known.order:
                    self._kept[url] = found
            if len(self._kept) > 2 * self._limit:
                self._cut()

    def _cut(self) -> None:
        kept = sorted(self._kept.values(), key=_rank)[: self._limit]
        self._kept = {each.url: each for each in kept}
        if len(kept) == self._limit:
            self._highest = kept[-1].rank  # another listing of it may come

    def draw(self) -> list[str]:
        """The URLs to request."""
        self._cut()
        return [*self._kept]

    def judge(self, response: PageResponse) -> None:
        """Takes a response for one of them; ignores others."""
        image = self._kept.get(response.url)
        if image is None:
            return
        unknown = _unknown(response)
        if unknown is not None:
            self._unknown[unknown] += 1
            return
        self._checked.add(response.url)
        fault = _fault(response, self.folder)
        if fault is not None:
            kind, text = fault
            message = f"{image.page}: the {image.noun} {image.url} {text}"
            place = {"sitemap": image.sitemap, "line": image.line, "url": image.page}
            self._problems.append(
                (image, report("C14", message, **place, field=image.field, raw=image.url, kind=kind))  # type: ignore[arg-type]
            )

    def report(self, findings: Findings) -> bool:
        """Reports the faults; whether any image was checked."""
        for _, problem in sorted(self._problems, key=lambda each: (each[0].order, each[0].url)):
            findings.add(problem)
        return bool(self._checked)

    def notes(self) -> Iterator[str]:
        if self._checked and len(self._checked) < self.listed:
            yield f"C14: {len(self._checked):,} of {self.listed:,} listed images and thumbnails checked"
        for reason, number in sorted(self._unknown.items()):
            yield f"C14: {count_of(number, 'image')} not checked: {reason}"


def _unknown(response: PageResponse) -> str | None:
    """Why nothing is known of an image."""
    failure = response.failure
    if failure is not None and not (failure.code == "F04" and failure.is_sent):
        return failure.message
    if response.status in REFUSALS:
        return f"the server answers {response.status}, and may refuse this client alone"
    return None


def _fault(response: PageResponse, folder: str | None) -> tuple[PageKind, str] | None:
    if response.failure is not None:
        return "image that does not respond", f"does not respond ({response.failure.message})"
    status = response.final_status if response.target else response.status
    if status is not None and status >= 300 and status != 304:
        if folder is not None and status == HTTPStatus.NOT_FOUND:
            return "image with an error", f"is not in {folder}"
        return "image with an error", "redirects without an end" if status < 400 else f"answers {status}"
    kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    if response.target or kind in _UNTYPED or kind.startswith("image/"):
        return None
    return "image that is none", f"is {kind}"
