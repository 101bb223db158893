"""Files, their rotation, and stdout: every change once, whole lines only; and which sink a text names."""

import asyncio
import errno
import gzip
import os
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from change_logs import NOON, ListSink, deliver_to, entry_of, seqs_of
from small_disks import mounted
from tiers import needs

from sitemap_reader import UsageError
from sitemap_reader.state import LogEntry
from sitemap_reader.watching import (
    DeliveryFailed,
    FileSink,
    Rotation,
    Sink,
    StdoutSink,
    lines_behind,
    remove_incomplete_line,
    sink_for,
    sinks,
)

LINE_BYTES = len(entry_of(1).lines)


def write(path: Path, *entries: LogEntry, rotation: Rotation | None = None) -> None:
    """Delivers the entries in a new process, as it were."""
    asyncio.run(deliver_to(FileSink(path, rotation=rotation), *entries))


def files(folder: Path) -> dict[str, list[int]]:
    """File -> the numbers of its changes."""
    opened = {path.name: gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
              for path in sorted(folder.iterdir())}  # fmt: skip
    return {name: seqs_of(lines) for name, lines in opened.items()}


# --- one file ------------------------------------------------------------------------------------------------------


def test_file_is_appended_to_after_a_restart(tmp_path: Path) -> None:
    path = tmp_path / "changes.jsonl"
    write(path, entry_of(1, 2), entry_of(3))
    write(path, entry_of(4))
    assert path.read_bytes() == entry_of(1, 4).lines


def test_lines_are_on_the_disk_before_delivery_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, synced = tmp_path / "changes.jsonl", list[int]()
    fsync = os.fsync

    def noted(descriptor: int) -> None:
        if os.path.samestat(os.fstat(descriptor), path.stat()):
            synced.append(os.fstat(descriptor).st_size)
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", noted)
    write(path, entry_of(1), entry_of(2))
    assert synced == [LINE_BYTES, 2 * LINE_BYTES]


@pytest.mark.slow
@pytest.mark.parametrize("cut", range(3 * LINE_BYTES + 1))
def test_killed_at_any_byte_the_repeated_entry_is_completed(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "changes.jsonl"
    path.write_bytes((entry_of(1, 2).lines + entry_of(3, 3).lines)[: 2 * LINE_BYTES + cut])
    write(path, entry_of(3, 3), entry_of(6))
    assert seqs_of(path.read_bytes()) == [1, 2, 3, 4, 5, 6]


def test_repeated_entry_that_is_complete_is_not_written_again(tmp_path: Path) -> None:
    path = tmp_path / "changes.jsonl"
    write(path, entry_of(1, 3))
    write(path, entry_of(1, 3), rotation=Rotation(max_bytes=1))
    assert files(tmp_path) == {"changes.jsonl": [1, 2, 3]}


def test_same_number_of_another_log_is_written(tmp_path: Path) -> None:
    path = tmp_path / "changes.jsonl"
    write(path, entry_of(1, 3))
    write(path, entry_of(1, 3, at=NOON + timedelta(seconds=1)))
    assert seqs_of(path.read_bytes()) == [1, 2, 3, 1, 2, 3]


@pytest.mark.parametrize("size", [0, 1, 65_535, 65_536, 65_537, 200_000])
@pytest.mark.parametrize("before", [b"", b"\n", b"first\n", b"a\n\n"])
def test_incomplete_line_of_any_length_is_removed(tmp_path: Path, size: int, before: bytes) -> None:
    path = tmp_path / "changes.jsonl"
    for last in (b"", b"y" * size + b"\n"):
        path.write_bytes(before + last + b"x" * size)
        with path.open("rb+") as file:
            assert remove_incomplete_line(file) == (last or before[before.rfind(b"\n", 0, -1) + 1 :])
        assert path.read_bytes() == before + last


def test_lines_behind_needs_a_whole_line() -> None:
    assert lines_behind(b"11\n1\n2\n", b"1\n") == b"2\n"
    assert lines_behind(b"11\n2\n", b"1\n") == b"11\n2\n"
    assert lines_behind(b"1\n2\n", b"") == b"1\n2\n"


async def test_renamed_file_is_followed_by_a_new_one(tmp_path: Path) -> None:
    path = tmp_path / "changes.jsonl"
    sink = FileSink(path)
    await sink.deliver(entry_of(1))
    path.rename(tmp_path / "changes.jsonl.1")  # as logrotate does
    await sink.deliver(entry_of(2))
    path.unlink()
    await sink.deliver(entry_of(3))
    await sink.close()
    assert files(tmp_path) == {"changes.jsonl": [3], "changes.jsonl.1": [1]}


async def test_file_of_another_process_is_not_written(tmp_path: Path) -> None:
    path = tmp_path / "changes.jsonl"
    first, second = FileSink(path), FileSink(path)
    await first.deliver(entry_of(1))
    with pytest.raises(DeliveryFailed) as failure:
        await second.deliver(entry_of(2))
    assert str(failure.value) == f"cannot write {path}: another process writes it"
    await first.close()
    await second.deliver(entry_of(2))
    await second.close()
    assert seqs_of(path.read_bytes()) == [1, 2]


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    with mounted(tmp_path / "disk", "32k") as folder:
        yield folder


async def test_full_disk_delays_the_changes_and_loses_none(small_disk: Path) -> None:
    """Also where lines of an entry were written before the disk was full; the file ends with a whole line then."""
    path, filler = small_disk / "changes.jsonl", small_disk / "filler"
    sink = FileSink(path)
    await sink.deliver(entry_of(1))
    filler.write_bytes(b"x" * 16_384)
    for _ in range(3):
        with pytest.raises(DeliveryFailed, match=f"cannot write {path}: No space left on device"):
            await sink.deliver(entry_of(2, 300))
        assert seqs_of(path.read_bytes()) == [*range(1, 1 + path.read_bytes().count(b"\n"))]
    filler.unlink()
    await sink.deliver(entry_of(2, 300))
    await sink.close()
    assert path.read_bytes() == entry_of(1, 301).lines


async def test_writes_that_fail_anywhere_lose_and_repeat_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every write takes a few bytes only, and every third one fails."""
    path, writes, write_bytes = tmp_path / "changes.jsonl", 0, os.write

    def some(descriptor: int, data: bytes) -> int:
        nonlocal writes
        writes += 1
        if writes % 3 == 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return write_bytes(descriptor, data[:90])

    monkeypatch.setattr(sinks.os, "write", some)
    sink = FileSink(path)
    for entry in (entry_of(1, 2), entry_of(3), entry_of(4, 4)):
        while True:
            try:
                await sink.deliver(entry)
                break
            except DeliveryFailed:
                seqs_of(path.read_bytes())
    await sink.close()
    assert path.read_bytes() == entry_of(1, 7).lines


# --- rotation ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("max_bytes", "kept"), [(3 * LINE_BYTES, [1, 2, 3]), (3 * LINE_BYTES - 1, [3])])
def test_file_is_rotated_before_it_exceeds_the_size(tmp_path: Path, max_bytes: int, kept: list[int]) -> None:
    write(tmp_path / "changes.jsonl", entry_of(1, 2), entry_of(3), rotation=Rotation(max_bytes=max_bytes))
    assert files(tmp_path)["changes.jsonl"] == kept
    assert files(tmp_path).get("changes-20261127T120000Z.jsonl", []) == [each for each in (1, 2) if each not in kept]


def test_entry_that_is_larger_than_the_size_is_not_divided(tmp_path: Path) -> None:
    write(tmp_path / "changes.jsonl", entry_of(1, 5), entry_of(6, 2), entry_of(8), rotation=Rotation(max_bytes=1))
    assert files(tmp_path) == {
        "changes-20261127T120000Z.jsonl": [1, 2, 3, 4, 5],
        "changes-20261127T120000Z-2.jsonl": [6, 7],
        "changes.jsonl": [8],
    }


def test_file_is_rotated_at_midnight_utc_also_after_a_restart(tmp_path: Path) -> None:
    path, daily = tmp_path / "changes.jsonl", Rotation(is_daily=True)
    midnight = NOON.replace(hour=0) + timedelta(days=1)
    write(path, entry_of(1, at=NOON), entry_of(2, at=midnight - timedelta(microseconds=1)), rotation=daily)
    write(path, entry_of(3, at=midnight), rotation=daily)
    write(path, entry_of(4, at=midnight + timedelta(hours=23)), rotation=daily)
    assert files(tmp_path) == {"changes-20261127T235959Z.jsonl": [1, 2], "changes.jsonl": [3, 4]}


def test_rotated_file_is_compressed(tmp_path: Path) -> None:
    rotation = Rotation(max_bytes=1, is_compressed=True)
    write(tmp_path / "changes.jsonl", entry_of(1), entry_of(2), entry_of(3), rotation=rotation)
    assert files(tmp_path) == {
        "changes-20261127T120000Z.jsonl.gz": [1],
        "changes-20261127T120000Z-2.jsonl.gz": [2],
        "changes.jsonl": [3],
    }


def test_compression_that_was_killed_is_repeated(tmp_path: Path) -> None:
    """Before the compressed file was whole, and after: then only the other one is deleted. Other files are kept."""
    first, second = tmp_path / "changes-20261127T110000Z.jsonl", tmp_path / "changes-20261127T110000Z-2.jsonl"
    first.write_bytes(entry_of(1).lines)
    first.with_name(f"{first.name}.gz.part").write_bytes(gzip.compress(entry_of(1).lines)[:9])
    second.write_bytes(entry_of(2).lines)
    second.with_name(f"{second.name}.gz").write_bytes(gzip.compress(entry_of(2).lines))
    (tmp_path / "changes-2026.jsonl").write_bytes(entry_of(9).lines)
    write(tmp_path / "changes.jsonl", entry_of(3), rotation=Rotation(is_daily=True, is_compressed=True))
    assert files(tmp_path) == {
        f"{first.name}.gz": [1],
        f"{second.name}.gz": [2],
        "changes-2026.jsonl": [9],
        "changes.jsonl": [3],
    }


def test_full_disk_while_compressing_keeps_the_file(small_disk: Path) -> None:
    path, rotation = small_disk / "changes.jsonl", Rotation(max_bytes=1, is_compressed=True)
    noise = small_disk / "changes-20261127T110000Z.jsonl"
    noise.write_bytes(os.urandom(20_000))
    with pytest.raises(DeliveryFailed, match="No space left on device"):
        write(path, entry_of(1), rotation=rotation)
    assert [each.name for each in small_disk.iterdir()] == [noise.name]


def test_another_file_of_the_user_is_appended_to(tmp_path: Path) -> None:
    """Its last line has no date, so the day is that of the file."""
    path = tmp_path / "changes.jsonl"
    path.write_bytes(b"# changes\n")
    os.utime(path, (NOON.timestamp(),) * 2)
    write(path, entry_of(1), rotation=Rotation(is_daily=True))
    assert path.read_bytes() == b"# changes\n" + entry_of(1).lines
    write(path, entry_of(2, at=NOON + timedelta(days=1)), rotation=Rotation(is_daily=True))
    assert seqs_of(path.read_bytes()) == [2]


# --- stdout --------------------------------------------------------------------------------------------------------


async def test_pipe_with_a_slow_reader_receives_all() -> None:
    entries = [entry_of(1, 2000), entry_of(2001, 1)]
    source, descriptor = os.pipe()
    sink = StdoutSink(descriptor)
    writing = asyncio.ensure_future(sink.deliver(entries[0]))
    received = b""
    while len(received) < len(entries[0].lines):
        received += await asyncio.to_thread(os.read, source, 5000)
    await writing
    await deliver_to(sink, entries[1])
    os.close(descriptor)
    while more := os.read(source, 65_536):
        received += more
    os.close(source)
    assert received == b"".join(entry.lines for entry in entries)


async def test_closed_pipe_is_the_error_that_ends_a_command() -> None:
    source, descriptor = os.pipe()
    os.close(source)
    sink = StdoutSink(descriptor)
    with pytest.raises(BrokenPipeError):
        await sink.deliver(entry_of(1))
    await sink.close()
    os.close(descriptor)


async def test_reader_that_has_stopped_does_not_hold_up_the_end() -> None:
    source, descriptor = os.pipe()
    sink = StdoutSink(descriptor)
    task = asyncio.ensure_future(sink.deliver(entry_of(1, 3000)))
    await asyncio.to_thread(os.read, source, 1)
    task.cancel()
    await sink.close()
    os.close(source)
    os.close(descriptor)


async def test_stdout_that_fails_goes_on_behind_the_last_byte(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "stdout"
    descriptor, write_bytes, writes = os.open(path, os.O_WRONLY | os.O_CREAT), os.write, 0

    def some(number: int, data: bytes) -> int:
        nonlocal writes
        writes += 1
        if writes in (2, 3):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return write_bytes(number, data[:70])

    monkeypatch.setattr(sinks.os, "write", some)
    sink = StdoutSink(descriptor)
    for _ in range(2):
        with pytest.raises(DeliveryFailed, match="cannot write stdout: No space left on device"):
            await sink.deliver(entry_of(1, 2))
    await sink.deliver(entry_of(1, 2))
    await sink.deliver(entry_of(3))
    await sink.close()
    os.close(descriptor)
    assert path.read_bytes() == entry_of(1, 3).lines


# --- names of sinks ------------------------------------------------------------------------------------------------


def test_text_names_a_sink(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert sink_for("-").name == "stdout"
    assert sink_for("changes.jsonl").name == sink_for("./changes.jsonl").name == f"file {tmp_path}/changes.jsonl"
    assert sink_for("https://example.com/hook").name.startswith("webhook https://example.com ")
    assert sink_for("HTTP://example.com:8080/").name.startswith("webhook http://example.com:8080 ")


@pytest.mark.parametrize("scheme", ["redis", "rediss"])
def test_text_names_a_stream_of_redis(scheme: str) -> None:
    needs("redis")
    assert sink_for(f"{scheme}://example.com/3?stream=s").name == "redis example.com:6379/3 s"


@pytest.mark.parametrize(("text", "message"), [
    ("", "an empty name of a sink: give a path, - for stdout"),
    ("kafka://me:secret@example.com/", "changes cannot be delivered to kafka://…@example.com/: give a path, -"),
    ("missing/changes.jsonl", "there is no folder .*/missing: make it first"),
    ("/dev/full", "/dev/full is no file: name a file for the changes, or - for stdout"),
    (".", r"\. is no file"),
    ("changes.jsonl.gz", "changes.jsonl.gz cannot be written with gzip: name it without the suffix"),
    ("https://", "https:// is no URL of a webhook: give one like https://example.com/hook"),
])
def test_impossible_sink_is_an_error_with_advice(
    text: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match=message):
        sink_for(text)


def test_rotation_is_for_files(tmp_path: Path) -> None:
    for text in ("-", "https://example.com/"):
        with pytest.raises(UsageError, match=f"only a file is rotated, not {text}"):
            sink_for(text, rotation=Rotation(is_daily=True))
    with pytest.raises(UsageError, match="cannot be rotated at 0 bytes"):
        Rotation(max_bytes=0)
    with pytest.raises(UsageError, match="only rotated files are compressed: say when, by size or daily"):
        Rotation(is_compressed=True)
    assert Rotation(max_bytes=1).max_bytes == 1


def test_any_class_with_the_three_members_is_a_sink() -> None:
    sink: Sink = ListSink()
    asyncio.run(sink.deliver(entry_of(1)))
