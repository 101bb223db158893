"""Waiting for one of several events, and the end of tasks."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Awaitable, Iterable


async def first_of(*events: Awaitable[Any], seconds: float | None = None) -> bool:
    """Waits until one of these is done, for so many seconds at most, and cancels the others; whether the first is."""
    tasks = [asyncio.ensure_future(each) for each in events]
    try:
        await asyncio.wait(tasks, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        return tasks[0].done()
    finally:
        await end(tasks)


async def end(tasks: Iterable[asyncio.Future[Any]]) -> None:
    """Cancels tasks, and waits for their end; what they raise is theirs."""
    tasks = [*tasks]
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
