from __future__ import annotations

import io
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from sitemap_reader.sinks import BLOCK_BYTES, FLUSH_SECONDS, Jsonl

if TYPE_CHECKING:
    from collections.abc import Iterator


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


class Slow(io.BytesIO):
    """Takes three bytes a call, as a pipe may."""

    def write(self, data: bytes) -> int:  # type: ignore[override]
        return super().write(data[:3])


class Broken(io.BytesIO):
    def write(self, data: bytes) -> int:  # type: ignore[override]
        raise BrokenPipeError(32, "Broken pipe")


def test_lines_wait_for_a_block() -> None:
    stream = io.BytesIO()
    sink = Jsonl(stream, clock=Clock())
    line = b"x" * 1023 + b"\n"
    for _ in range(BLOCK_BYTES // 1024 - 1):
        sink.write(line)
    assert stream.getvalue() == b""
    sink.write(line)
    assert len(stream.getvalue()) == BLOCK_BYTES


def test_lines_do_not_wait_longer_than_the_time_to_flush() -> None:
    stream, clock = io.BytesIO(), Clock()
    sink = Jsonl(stream, clock=clock)
    sink.write(b"1\n")
    clock.now = FLUSH_SECONDS - 0.01
    sink.write(b"2\n")
    assert stream.getvalue() == b""
    clock.now = FLUSH_SECONDS
    sink.write(b"3\n")
    assert stream.getvalue() == b"1\n2\n3\n"


def test_a_stream_that_takes_parts_gets_all() -> None:
    stream = Slow()
    sink = Jsonl(stream)
    sink.write(b"12345678\n")
    sink.flush()
    sink.flush()
    assert stream.getvalue() == b"12345678\n"


def test_a_failure_names_its_file_and_keeps_its_kind() -> None:
    sink = Jsonl(Broken(), "urls.jsonl")
    sink.write(b"1\n")
    with pytest.raises(BrokenPipeError) as failure:
        sink.flush()
    assert failure.value.filename == "urls.jsonl"
    sink.flush()  # what was refused is not tried again


def test_a_write_is_held() -> None:
    stream, seen = io.BytesIO(), []

    @contextmanager
    def hold() -> Iterator[None]:
        seen.append(stream.getvalue())
        yield
        seen.append(stream.getvalue())

    sink = Jsonl(stream, hold=hold)
    sink.write(b"1\n")
    sink.flush()
    assert seen == [b"", b"1\n"]
