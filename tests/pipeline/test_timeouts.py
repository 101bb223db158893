"""The timeout of a chunk: the rest of document_seconds, or the time that the minimum rate allows; the smaller one."""

import asyncio
import time
from collections.abc import AsyncIterator

import attrs
import pytest

from sitemap_reader import FetchError, Limits
from sitemap_reader.pipeline import DocumentTimeouts

SOON, NEVER = 0.02, 60.0
MOST_SECONDS = 10.0


async def silent_after(*chunks: bytes) -> AsyncIterator[bytes]:
    """A network that sends these chunks, and then keeps the connection open."""
    for chunk in chunks:
        yield chunk
    await asyncio.Event().wait()


def left_with(limits: Limits, *chunks: bytes, spent: float = 0.0) -> FetchError:
    """The error for a silent network; the request may have used some of its time before."""

    async def read() -> None:
        async with asyncio.timeout(MOST_SECONDS):
            timeouts = DocumentTimeouts(spent, limits, time.monotonic, lambda _: None)
            async for _ in timeouts.chunks(silent_after(*chunks)):
                pass

    with pytest.raises(FetchError) as caught:
        asyncio.run(read())
    return caught.value


@pytest.mark.parametrize("chunks", [[], [b"x" * 1000]], ids=["at once", "after a chunk"])
def test_silence_ends_by_rate_before_document_seconds(chunks: list[bytes]) -> None:
    soon = Limits(read_seconds=SOON, min_rate_after_seconds=SOON, min_bytes_per_second=100_000)
    error = left_with(attrs.evolve(soon, document_seconds=NEVER), *chunks)
    assert "min_bytes_per_second" in str(error)
    assert error.transient


@pytest.mark.parametrize(("read", "rate_after"), [(NEVER, SOON), (SOON, NEVER), (NEVER, NEVER)])
@pytest.mark.parametrize("spent", [0.0, 30.0])
def test_silence_ends_by_document_seconds_before_rate(read: float, rate_after: float, spent: float) -> None:
    limits = Limits(read_seconds=read, min_rate_after_seconds=rate_after, document_seconds=spent + SOON)
    error = left_with(limits, spent=spent)
    assert f"not done after {spent + SOON:g} s" in str(error)
    assert not error.transient, "another try would need as long"


def test_read_seconds_applies_to_a_chunk_at_any_rate() -> None:
    """The minimum rate is unreachable: a silent server ends by read_seconds."""

    async def late() -> AsyncIterator[bytes]:
        await asyncio.sleep(SOON)
        yield b"x" * 1_000_000

    async def read() -> list[int]:
        limits = Limits(read_seconds=NEVER, min_rate_after_seconds=0.0, min_bytes_per_second=1_000)
        timeouts = DocumentTimeouts(0.0, limits, time.monotonic, lambda _: None)
        return [len(chunk) async for chunk in timeouts.chunks(late())]

    assert asyncio.run(read()) == [1_000_000]
