"""A site on loopback that changes all the time. What it lists in the end is known, to compare replayed changes with."""

from __future__ import annotations

import random
import threading
from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

import orjson
from servers import SiteServer
from watched_sites import NAMESPACE, FastClock

LARGE_URLS = 3_000  # so that a document has several entries in the log


class ChangingSite:
    """An index with sitemaps that a thread changes, from entering until stop(): URLs come, change, go and move.

    `documents` has the lastmod of each URL, None where a sitemap has none; `dates` those that the index states.
    `shared` are the URLs that moved, or that two sitemaps list: a visit that finds one of them new in both, with two
    lastmods, reports the first.
    """

    def __init__(self, clock: FastClock, seed: int, changes_per_second: float = 100) -> None:
        self._clock = clock
        self._chance = random.Random(seed)  # noqa: S311 - the same each time
        self._pause = 1 / changes_per_second
        self._numbers = 0
        self._last = datetime.fromtimestamp(clock.start - 86_400, UTC)
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._change_without_end)
        self.changes: Counter[str] = Counter()
        self.shared: set[str] = set()
        self.server = SiteServer({})
        self.dates: dict[str, datetime | None] = {}
        self.documents: dict[str, dict[str, datetime | None]] = {}
        for name, urls in (("large", LARGE_URLS), ("dated1", 40), ("dated2", 40), ("plain1", 40), ("plain2", 40)):
            self.documents[name] = {self._new_url(): self._date(name) for _ in range(urls)}
            self.dates[name] = self._moment() if name in ("large", "dated1", "plain1") else None
        self.server.pages["/robots.txt"] = self._page(f"Sitemap: {self.server.url}/index.xml\n")
        for name in self.documents:
            self._publish(name)

    def __enter__(self) -> ChangingSite:
        self.server.__enter__()
        self._thread.start()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.stop()
        self.server.__exit__()

    def stop(self) -> None:
        """Ends the changes."""
        self._stopped.set()
        self._thread.join()

    def listed(self) -> dict[str, str | None]:
        """URL -> the newest lastmod with which a sitemap lists it, as text."""
        found: dict[str, str | None] = {}
        for urls in self.documents.values():
            for url, lastmod in urls.items():
                text = lastmod and lastmod.strftime("%Y-%m-%dT%H:%M:%SZ")
                found[url] = max(found.get(url) or "", text or "") or None
        return found

    def assert_replayed(self, lines: Iterable[bytes]) -> None:
        """Whether these changes, by their numbers, lead to what is listed now; each fits to those before it."""
        found = replayed(lines)
        listed = self.listed()
        assert found.keys() == listed.keys()
        assert {url: at for url, at in found.items() if url not in self.shared} == {
            url: at for url, at in listed.items() if url not in self.shared
        }

    # --- in the thread ---

    def _change_without_end(self) -> None:
        kinds = [self._add, self._update, self._remove, self._move, self._list_twice, self._change_many]
        weights = [30, 30, 20, 20, 10, 2]
        while not self._stopped.wait(self._pause):
            (change,) = self._chance.choices(kinds, weights)
            change()
            self.changes[change.__name__] += 1

    def _add(self) -> None:
        name = self._chance.choice([*self.documents])
        self.documents[name] |= {self._new_url(): self._date(name) for _ in range(self._chance.randrange(1, 4))}
        self._publish(name)

    def _update(self) -> None:
        name = self._chance.choice(["dated1", "dated2"])
        for url in self._some(name, 3):
            self.documents[name][url] = self._moment()
        self._publish(name)

    def _remove(self) -> None:
        name = self._chance.choice([*self.documents])
        for url in self._some(name, 3):
            del self.documents[name][url]
        self._publish(name)

    def _move(self) -> None:
        """Moves URLs to the other sitemap of the kind, at once."""
        source, target = self._two()
        for url in self._some(source, 3):
            self.shared.add(url)
            moved = self.documents[source].pop(url)
            self.documents[target].setdefault(url, moved)
        self._publish(source, target)

    def _list_twice(self) -> None:
        """Lists a URL in a second sitemap, too, with the same lastmod; it leaves either of them at another time."""
        source, target = self._two()
        for url in self._some(source, 2):
            self.shared.add(url)
            self.documents[target].setdefault(url, self.documents[source][url])
        self._publish(target)

    def _change_many(self) -> None:
        """Changes most URLs of the large sitemap."""
        urls = self.documents["large"]
        for url in self._some("large", 100):
            del urls[url]
        for url in self._some("large", LARGE_URLS - 500):
            urls[url] = self._moment()
        urls |= {self._new_url(): self._moment() for _ in range(LARGE_URLS - len(urls))}
        self._publish("large")

    def _two(self) -> list[str]:
        kind = self._chance.choice(["dated", "plain"])
        return self._chance.sample([f"{kind}1", f"{kind}2"], 2)

    def _some(self, name: str, most: int) -> Iterable[str]:
        urls = self.documents[name]
        return self._chance.sample([*urls], min(len(urls), self._chance.randint(1, most) if most < 100 else most))

    def _new_url(self) -> str:
        self._numbers += 1
        return f"{self.server.url}/page/{self._numbers}"

    def _date(self, name: str) -> datetime | None:
        return None if name.startswith("plain") else self._moment()

    def _moment(self) -> datetime:
        """Now, but at least a second after the last one: no two changes have the same lastmod."""
        self._last = max(self._clock().replace(microsecond=0), self._last + timedelta(seconds=1))
        return self._last

    def _publish(self, *names: str) -> None:
        """Publishes sitemaps, and then the index, where that states their lastmods."""
        pages = {}
        for name in names:
            entries = "".join(f"<url><loc>{url}</loc>{_tag(at)}</url>" for url, at in self.documents[name].items())
            pages[f"/{name}.xml"] = self._page(f"<urlset {NAMESPACE}>{entries}</urlset>")
            self.dates[name] = self._moment() if self.dates[name] else None
        children = "".join(
            f"<sitemap><loc>{self.server.url}/{name}.xml</loc>{_tag(at)}</sitemap>" for name, at in self.dates.items()
        )
        pages["/index.xml"] = self._page(f"<sitemapindex {NAMESPACE}>{children}</sitemapindex>")
        self.server.pages.update(pages)

    def _page(self, text: str) -> Any:
        kind = "text/plain" if text.startswith("Sitemap") else "application/xml"
        return 200, {"Content-Type": kind}, text.encode()


def _tag(at: datetime | None) -> str:
    return f"<lastmod>{at:%Y-%m-%dT%H:%M:%SZ}</lastmod>" if at else ""


def replayed(lines: Iterable[bytes]) -> dict[str, str | None]:
    """URL -> lastmod after these changes, in order of their numbers; each has to fit to those before it."""
    found: dict[str, str | None] = {}
    for change in sorted(map(orjson.loads, lines), key=lambda change: change["seq"]):
        kind, url = change["change"], change["loc"]
        assert (url in found) == (kind != "new"), change
        if kind == "removed":
            del found[url]
        else:
            found[url] = change.get("lastmod")
    return found
