"""SpillBuffer: bytes are read back unchanged, from memory and from disk."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sitemap_reader as sr
from sitemap_reader.state.document_buffer import SpillBuffer

if TYPE_CHECKING:
    from pathlib import Path


@given(st.lists(st.tuples(st.binary(max_size=40), st.booleans())), st.integers(0, 200))
def test_stored_bytes_come_back_until_dropped(pieces: list[tuple[bytes, bool]], memory_bytes: int) -> None:
    spill = SpillBuffer(memory_bytes)
    put = []
    for data, drops_one in pieces:
        put.append((data, spill.put(data)))
        if drops_one:
            spill.drop(put.pop(0)[1])
        assert [spill.get(each) for _, each in put] == [data for data, _ in put]
    in_memory = [each for _, each in put if isinstance(each, bytes)]
    assert sum(map(len, in_memory)) <= memory_bytes
    spill.close()
    spill.close()


def test_freed_memory_is_used_again_and_the_file_shrinks() -> None:
    spill = SpillBuffer(10)
    first, second = spill.put(b"x" * 10), spill.put(b"y" * 10)
    assert (isinstance(first, bytes), isinstance(second, bytes)) == (True, False)
    spill.drop(first)
    assert isinstance(spill.put(b"z" * 10), bytes)
    spill.drop(second)
    assert spill._file is not None
    assert spill._file.seek(0, 2) == 0
    spill.close()


def test_a_missing_temporary_folder_raises(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "none"))
    with pytest.raises(
        sr.StateError, match=r"cannot write a temporary file: No such file .*; free some space"
    ) as caught:
        SpillBuffer(0).put(b"x")
    assert caught.value.is_unwritable
