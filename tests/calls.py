"""How much work something is, told by what it calls: a number that no busy machine changes."""

from __future__ import annotations

import gc
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


def calls_of(function: Callable[[], object]) -> int:
    """How many functions are called by it, ours and Python's own."""
    seen = 0

    def received(frame: Any, event: str, argument: Any) -> None:
        nonlocal seen
        seen += event in ("call", "c_call")

    gc.disable()  # what it clears away is no call of ours
    before = sys.getprofile()
    sys.setprofile(received)
    try:
        function()
    finally:
        sys.setprofile(before)
        gc.enable()
    return seen
