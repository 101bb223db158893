"""The event loop is never blocked for long by any document.

A turn is measured by the CPU time of the loop's thread, which does not depend on other processes.
"""

import asyncio
import gc
import threading
import time
from collections.abc import Iterator

import pytest
from expensive_documents import EXPENSIVE_DOCUMENTS, MAP, SITE, entry, read, read_document, urlset

import sitemap_reader as sr
from sitemap_reader import Item
from sitemap_reader.parser import Normaliser, RawEntry

pytestmark = pytest.mark.slow

LONGEST_TURN_SECONDS = 0.2


@pytest.mark.parametrize("name", EXPENSIVE_DOCUMENTS)
def test_no_document_blocks_the_event_loop(name: str, turns: list[float]) -> None:
    """Neither do its URLs."""
    asyncio.run(read_document(name))
    assert max(turns) < LONGEST_TURN_SECONDS


@pytest.mark.smoke
def test_documents_are_parsed_beside_the_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    parsed_in: set[int] = set()
    clean = Normaliser.clean

    def observed(self: Normaliser, raw: RawEntry) -> Iterator[Item]:
        parsed_in.add(threading.get_ident())
        return clean(self, raw)

    monkeypatch.setattr(Normaliser, "clean", observed)
    body = urlset(*(entry(f"{SITE}/{number}", "<!-- not for the scanner -->") for number in range(5_000)))
    assert asyncio.run(read({MAP: body}, MAP, sr.Limits())) == 5_000
    assert parsed_in
    assert threading.get_ident() not in parsed_in


@pytest.fixture
def turns(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[float]]:
    """The CPU time of each turn on the loop so far, in seconds.

    Imports are done before, and garbage collection of other tests' objects is prevented.
    """
    gc.collect()
    gc.freeze()
    asyncio.run(read({MAP: urlset(entry(SITE))}, MAP, sr.Limits()))
    seen: list[float] = []
    run = asyncio.Handle._run

    def measured(handle: asyncio.Handle) -> None:
        started = time.thread_time()
        run(handle)
        seen.append(time.thread_time() - started)

    monkeypatch.setattr(asyncio.Handle, "_run", measured)
    yield seen
    gc.unfreeze()
