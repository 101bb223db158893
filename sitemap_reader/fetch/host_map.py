"""Sends the requests for a site to another host, such as its staging server: MappedFetcher wraps a Fetcher.

Each URL of production is requested at the origin that the HostMap has for its own, and the Response has the URL of
production. A redirect to a staging origin becomes one to production. URLs in a body stay as they are: a sitemap that
lists the staging host is a finding; but a document that is named so is read in the name of production.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Self

import attrs

from ..frontier.plan import SCHEME
from ..model.errors import FetchError, UsageError
from ..model.messages import Message
from ..parser.normalise.urls import clean_url, is_robots_txt, origin
from .client import Response
from .replay import AsyncChunks

if TYPE_CHECKING:
    from ..frontier.plan import Seed
    from .client import Fetcher

_EXAMPLE = "https://www.example.com=https://staging.example.com"
_OTHER_SCHEME = {"http": "https", "https": "http"}


@attrs.frozen
class HostMap:
    """Origins of production -> the origins where their requests go."""

    origins: Mapping[str, str]

    @classmethod
    def of(cls, given: Mapping[str, str] | Iterable[tuple[str, str]] | None) -> Self | None:
        """The map of these pairs of URLs; None for none. UsageError for what is no map of hosts."""
        if not given:
            return None
        pairs = [*given.items()] if isinstance(given, Mapping) else [*given]
        origins: dict[str, str] = {}
        for pair in pairs:
            production, staging = map(_origin, pair)
            if production == staging:
                raise UsageError(
                    f"{production} is mapped to itself", keyword="host_map", remedy="give the host that has the copy"
                )
            if production in origins:
                raise UsageError(f"{production} is mapped twice", keyword="host_map", remedy="give it once")
            origins[production] = staging
        if both := next((each for each in origins if each in origins.values()), None):
            raise UsageError(
                f"{both} is on both sides", keyword="host_map", remedy="map each host to the one that answers for it"
            )
        return cls(origins)

    def real_url(self, url: str) -> str:
        """The URL that is requested for one of production; any other is returned unchanged."""
        return _moved(url, self.origins.get(origin(url)))

    def credentials_url(self, url: str) -> str | None:
        """The URL that is requested; None if that is on none of the hosts that the caller's credentials are for."""
        real = self.real_url(url)
        return real if self.is_staging(real) else None

    def is_staging(self, url: str) -> bool:
        return origin(url) in self.origins.values()

    def production_url(self, url: str, requested: str) -> str:
        """The URL of production for one of a staging host, that of `requested` if two have it; others unchanged."""
        names = [name for name, staging in self.origins.items() if staging == origin(url)]
        wanted = origin(requested)
        return _moved(url, wanted if wanted in names else next(iter(names), None))

    def lacks_scheme(self, url: str) -> str | None:
        """The mapped origin that differs from that of the URL in its scheme alone, where this one is not mapped."""
        scheme, _, place = origin(url).partition("://")
        other = f"{_OTHER_SCHEME.get(scheme)}://{place}"
        return other if other in self.origins and origin(url) not in self.origins else None

    def seeds(self, seeds: Sequence[Seed]) -> tuple[Seed, ...]:
        """The seeds with their mapped origins alone: no other is tried. UsageError for a seed that has none."""
        found = []
        for seed in seeds:
            mapped = tuple(each for each in seed.origins if each in self.origins)
            if not mapped:
                names = ", ".join(self.origins)
                raise UsageError.of(
                    "{host_map=} has {names}, and not the host of the target: map {first}",
                    names=names,
                    first=seed.origins[0],
                )
            found.append(attrs.evolve(seed, origins=mapped))
        return tuple(found)

    def real_seeds(self, seeds: Sequence[Seed]) -> tuple[Seed, ...]:
        """The seeds as requested: those to which the caller's credentials belong."""
        return tuple(
            attrs.evolve(seed, origins=tuple(self.origins.get(each, each) for each in seed.origins)) for seed in seeds
        )


def _origin(text: object) -> str:
    """The origin that one side of a map names; UsageError, without any login in it, for what is none."""
    hint = f"give two hosts with their schemes, as in {_EXAMPLE}"
    if not isinstance(text, str) or not SCHEME.match(text.strip()):
        raise UsageError(f"a host without a scheme; {hint}", keyword="host_map")
    url = clean_url(text).url
    if url is None:
        raise UsageError(f"one of its hosts is no http or https URL; {hint}", keyword="host_map")
    site = origin(url)
    if "@" in url[: url.index("/", 8)]:
        raise UsageError(f"{site} has a login", keyword="host_map", remedy=Message.of("use {auth=} or {netrc=}"))
    if url != f"{site}/" or "#" in text:
        raise UsageError(f"{site} has a path; hosts are mapped as a whole: {hint}", keyword="host_map")
    return site


def _moved(url: str, site: str | None) -> str:
    return url if site is None else site + url[url.index("/", 8) :]


class MappedFetcher:
    """A Fetcher that requests what the HostMap states, in place of what it is called with."""

    def __init__(self, fetcher: Fetcher, host_map: HostMap) -> None:
        self._fetcher = fetcher
        self._map = host_map

    @asynccontextmanager
    async def fetch(self, url: str, headers: Mapping[str, str]) -> AsyncIterator[Response]:
        """Opens the response of the staging host.

        A URL of that host itself redirects to production, without a request. One that differs from a mapped host in its
        scheme alone is a FetchError: production must not be read in place of staging. Neither has a robots.txt, which
        would verify listings.
        """
        is_staging, mapped = self._map.is_staging(url), self._map.lacks_scheme(url)
        if (is_staging or mapped) and is_robots_txt(url):
            yield Response(404, {}, AsyncChunks(), url)
        elif is_staging:
            yield Response(301, {"location": self._map.production_url(url, url)}, AsyncChunks(), url)
        elif mapped:
            raise FetchError(
                f"not requested: {mapped} is mapped, and {origin(url)} is not",
                transient=False,
                remedy="correct the URL, or map both (--map, host_map=)",
                is_sent=False,
            )
        else:
            real = self._map.real_url(url)
            async with self._fetcher.fetch(real, headers) as response:
                yield attrs.evolve(response, headers=self._named(response.headers, url, real), url=url)

    def _named(self, headers: Mapping[str, str], url: str, real: str) -> Mapping[str, str]:
        """The headers with a Location that has the name of production."""
        if "location" not in headers:
            return headers
        target = clean_url(headers["location"], real).url
        if target is None or not self._map.is_staging(target):
            return headers
        return {**headers, "location": self._map.production_url(target, url)}
