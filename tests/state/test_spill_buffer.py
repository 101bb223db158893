"""SpillBuffer: columns are read back unchanged, from memory and from disk."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sitemap_reader as sr
from sitemap_reader.model import Columns, UrlBatch
from sitemap_reader.state import RowColumns, SpillBuffer, bytes_in_memory, columns_of

if TYPE_CHECKING:
    from pathlib import Path


def piece(*texts: str) -> RowColumns:
    """The columns of URLs of these paths."""
    records = [sr.UrlRecord(f"https://a.example/{text}", priority=0.5, mobile=len(text) % 2 == 1) for text in texts]
    return columns_of(UrlBatch("https://a.example/map.xml", records=records))


@given(st.lists(st.tuples(st.lists(st.text(max_size=5), min_size=1, max_size=4), st.booleans())), st.integers(0, 2000))
def test_stored_pieces_come_back_until_dropped(given: list[tuple[list[str], bool]], memory_bytes: int) -> None:
    spill = SpillBuffer(memory_bytes)
    put = []
    for texts, drops_one in given:
        put.append((piece(*texts), spill.put(piece(*texts))))
        if drops_one:
            spill.drop(put.pop(0)[1])
        assert [spill.get(each) for _, each in put] == [columns for columns, _ in put]
    in_memory = [columns for columns, each in put if each.piece is not None]
    assert sum(map(bytes_in_memory, in_memory)) <= memory_bytes
    spill.close()
    spill.close()


def test_freed_memory_is_used_again_and_the_file_shrinks() -> None:
    one = piece("x")
    spill = SpillBuffer(bytes_in_memory(one))
    first, second = spill.put(one), spill.put(one)
    assert (first.piece is None, second.piece is None) == (False, True)
    spill.drop(first)
    assert spill.put(one).piece is not None
    spill.drop(second)
    assert spill._file is not None
    assert spill._file.seek(0, 2) == 0
    spill.close()


def test_memory_is_estimated() -> None:
    """Without the values that all URLs share; lastmods and numbers of lines are objects of their own."""
    stated = Columns(
        [f"https://a.example/{number}" for number in range(1000)], [*range(1000, 2000)], [2] * 1000, [None] * 1000,
        [0.5] * 1000, [*range(2000, 3000)],
    )
    columns = columns_of(UrlBatch("https://a.example/map.xml", columns=stated))
    own = sum(sys.getsizeof(column) for column in columns[:6])
    own += sum(map(sys.getsizeof, [*columns.locs, *columns.lastmods, *columns.lines]))
    assert 0.9 < bytes_in_memory(columns) / own < 1.2  # the sizes of objects differ between versions of Python


def test_a_missing_temporary_folder_raises(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "none"))
    with pytest.raises(
        sr.StateError, match=r"cannot write a temporary file: No such file .*; free some space"
    ) as caught:
        SpillBuffer(0).put(piece("x"))
    assert caught.value.is_unwritable
