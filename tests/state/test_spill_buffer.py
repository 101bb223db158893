"""SpillBuffer: stores of URLs are read back unchanged, from memory and from disk; a document in batches of them."""

import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sitemap_reader as sr
from sitemap_reader.model import ObjectColumns, UrlBatch, UrlColumns
from sitemap_reader.parser import scanner
from sitemap_reader.pipeline import SpillBuffer
from sitemap_reader.state import DocumentBuffer

MAP = "https://a.example/map.xml"
STORES = [ObjectColumns] if scanner is None else [ObjectColumns, scanner.NativeColumns]
each_store = pytest.mark.parametrize("new_store", STORES)


def filled(store: UrlColumns, *texts: str) -> UrlColumns:
    """The store with URLs of these paths, of which some have an image, and a Problem."""
    for number, text in enumerate(texts):
        record = sr.UrlRecord(f"https://a.example/{text}", priority=0.5, mobile=len(text) % 2 == 1, line=number)
        if text:
            record.images = (sr.Image(text, title=text),)
            record.problems = (sr.Problem("S01", "error", "broken", MAP, number, "loc", text),)
        store.append(record)
    return store


def records_of(store: UrlColumns) -> list[sr.UrlRecord]:
    return store.records(0, len(store), MAP)


paths = st.lists(st.text(max_size=5), min_size=1, max_size=4)


@each_store
@given(st.lists(st.tuples(paths, st.booleans())), st.integers(0, 20_000))
def test_stores_come_back_until_dropped(
    new_store: Callable[[], UrlColumns], given: list[tuple[list[str], bool]], memory_bytes: int
) -> None:
    spill = SpillBuffer(memory_bytes)
    put = []
    for texts, drops_one in given:
        store = filled(new_store(), *texts)
        put.append((records_of(store), spill.put(store)))
        if drops_one:
            spill.drop(put.pop(0)[1])
        assert [records_of(spill.get(each)) for _, each in put] == [found for found, _ in put]
    assert sum(sys.getsizeof(each.store) for _, each in put if each.store is not None) <= memory_bytes
    spill.close()
    spill.close()


@each_store
def test_freed_memory_is_used_again_and_the_file_shrinks(new_store: Callable[[], UrlColumns]) -> None:
    one = filled(new_store(), "x")
    spill = SpillBuffer(SpillBuffer(10**9).put(one).bytes)
    first, second = spill.put(one), spill.put(one)
    assert (first.store is None, second.store is None) == (False, True)
    spill.drop(first)
    assert spill.put(one).store is not None
    spill.drop(second)
    assert spill._file is None
    spill.close()


@each_store
@pytest.mark.parametrize("memory_bytes", [0, 10**9])
def test_a_document_is_read_back_in_batches(
    monkeypatch: pytest.MonkeyPatch, new_store: Callable[[], UrlColumns], memory_bytes: int
) -> None:
    monkeypatch.setattr("sitemap_reader.state.urls.MAX_BATCH_URLS", 3)
    store = filled(new_store(), *"abcdefg")
    whole = UrlBatch(MAP, store)
    spill = SpillBuffer(memory_bytes)
    buffer = DocumentBuffer(spill)
    for start, stop in ((0, 1), (1, 3), (3, 7), (0, 1)):
        buffer.add(whole.part(start, stop), 0)
    for _ in range(2):
        batches = [*buffer.batches(MAP)]
        assert [len(batch) for batch in batches] == [3, 4, 1]
        assert [record for batch in batches for record in batch.records()] == [*whole.records(), whole.record(0)]
    assert buffer.lastmods.entries == 8
    assert buffer.cut_locs == {*whole.locs}
    buffer.release()
    assert [*buffer.batches(MAP)] == []
    spill.close()


def test_a_store_of_objects_takes_about_the_memory_that_it_states() -> None:
    texts = [f"{number:020}" for number in range(2_000)]
    tracemalloc.start()
    store = filled(ObjectColumns(), *texts)
    size, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert 0.5 < sys.getsizeof(store) / size < 2


def test_a_missing_temporary_folder_raises(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "none"))
    with pytest.raises(
        sr.StateError, match=r"cannot write a temporary file: No such file .*; free some space"
    ) as caught:
        SpillBuffer(0).put(filled(ObjectColumns(), "x"))
    assert caught.value.is_unwritable
