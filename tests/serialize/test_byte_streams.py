import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from sitemap_reader.serialize import BLOCK_BYTES, FLUSH_SECONDS, Blocks


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


class Slow(io.BytesIO):
    """A stream that writes three bytes a call, as a pipe may."""

    def write(self, data: bytes) -> int:  # type: ignore[override]
        return super().write(data[:3])


class Broken(io.BytesIO):
    def write(self, data: bytes) -> int:  # type: ignore[override]
        raise BrokenPipeError(32, "Broken pipe")


def test_lines_wait_for_a_block() -> None:
    stream = io.BytesIO()
    blocks = Blocks(stream, clock=Clock())
    line = b"x" * 1023 + b"\n"
    for _ in range(BLOCK_BYTES // 1024 - 1):
        blocks.write(line)
    assert stream.getvalue() == b""
    blocks.write(line)
    assert len(stream.getvalue()) == BLOCK_BYTES


def test_lines_do_not_wait_longer_than_the_time_to_flush() -> None:
    stream, clock = io.BytesIO(), Clock()
    blocks = Blocks(stream, clock=clock)
    blocks.write(b"1\n")
    clock.now = FLUSH_SECONDS - 0.01
    blocks.write(b"2\n")
    assert stream.getvalue() == b""
    clock.now = FLUSH_SECONDS
    blocks.write(b"3\n")
    assert stream.getvalue() == b"1\n2\n3\n"


one_or_many = pytest.mark.parametrize("write", [Blocks.write, Blocks.write_lines])


@one_or_many
def test_a_stream_that_takes_parts_gets_all(write: Callable[[Blocks, bytes], object]) -> None:
    stream = Slow()
    blocks = Blocks(stream)
    write(blocks, b"12345678\n123\n" * 100)
    blocks.flush()
    blocks.flush()
    assert stream.getvalue() == b"12345678\n123\n" * 100


def test_a_failure_names_its_file_and_keeps_its_kind() -> None:
    blocks = Blocks(Broken(), "urls.jsonl")
    blocks.write(b"1\n")
    with pytest.raises(BrokenPipeError) as failure:
        blocks.flush()
    assert failure.value.filename == "urls.jsonl"
    blocks.flush()  # a refused write is not repeated


def test_after_a_write_that_an_interrupt_ended_nothing_more_is_written() -> None:
    class SkippedHost(io.BytesIO):
        def write(self, data: bytes) -> int:  # type: ignore[override]
            if self.tell():
                raise KeyboardInterrupt
            return super().write(data[:3])

    stream, cut = SkippedHost(), []
    blocks = Blocks(stream, take_back=cut.append)
    blocks.write(b"1\n")
    blocks.write(b"2\n")
    with pytest.raises(KeyboardInterrupt):
        blocks.flush()
    blocks.write_lines(b"3\n")
    blocks.write(b"4\n")
    blocks.flush()
    assert (stream.getvalue(), cut, blocks.has_failed) == (b"1\n2", [1], True)


@one_or_many
def test_write_runs_in_the_signal_guard(write: Callable[[Blocks, bytes], object]) -> None:
    stream, seen = io.BytesIO(), []

    @contextmanager
    def hold() -> Iterator[None]:
        seen.append(stream.getvalue())
        yield
        seen.append(stream.getvalue())

    blocks = Blocks(stream, hold=hold)
    write(blocks, b"1\n2\n")
    if write is Blocks.write:
        blocks.flush()
    assert seen == [b"", b"1\n2\n"]


class Full(io.BytesIO):
    """A stream with space for so many bytes."""

    def __init__(self, space: int) -> None:
        super().__init__()
        self.space = space

    def write(self, data: bytes) -> int:  # type: ignore[override]
        taken = super().write(data[: min(self.space, 5)])
        self.space -= taken
        if not taken:
            raise OSError(28, "No space left on device")
        return taken


@pytest.mark.parametrize(("write", "records", "space", "half"), [
    # a line end inside a record does not end it
    *((Blocks.write, [b"one\n", b'"a\nb"\n', b"three\n"], *row)
      for row in ((0, 0), (1, 1), (3, 3), (4, 0), (5, 1), (9, 5), (10, 0), (13, 3))),
    *((Blocks.write_lines, [b"one\ntwo\nthree\nfour\n"], *row)
      for row in ((0, 0), (1, 1), (3, 3), (4, 0), (5, 1), (7, 3), (8, 0), (13, 5), (14, 0))),
])
def test_partly_written_record_is_reported(
    write: Callable[[Blocks, bytes], object], records: list[bytes], space: int, half: int
) -> None:
    reported: list[int] = []
    blocks = Blocks(Full(space), "urls.jsonl", take_back=reported.append)

    def write_all() -> None:
        for record in records:
            write(blocks, record)
            assert not blocks.has_failed
        blocks.flush()

    with pytest.raises(OSError, match="No space") as failure:
        write_all()
    assert (reported, blocks.has_failed, failure.value.filename) == ([half], True, "urls.jsonl")


def test_many_lines_are_written_in_one_call_after_waiting_ones() -> None:
    stream = io.BytesIO()
    blocks = Blocks(stream, clock=Clock())
    blocks.write(b"1\n")
    assert stream.getvalue() == b""
    blocks.write_lines(b"2\n3\n")
    assert stream.getvalue() == b"1\n2\n3\n"
    blocks.write(b"4\n")
    blocks.flush()
    assert stream.getvalue() == b"1\n2\n3\n4\n"
