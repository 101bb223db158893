"""The TARGET arguments: which there are, and one after the other to their ends.

In: what was typed, `-` for a list on stdin. Out: targets; the Exit of each.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from ..client.targets import listed
from ..model.errors import NothingFound, NothingReadable, UsageError
from ..serialize.dumps import STDIN
from .exits import Exit

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..client.summary import Summary
    from .messages import Console


def read_targets(typed: Sequence[str]) -> list[str]:
    """The targets; the lines of stdin in place of `-`, without blank ones and # comments."""
    targets: list[str] = []
    for target in typed:
        targets += [each for _, each in listed(bytes_on_stdin())] if target == STDIN else [target]
    if not targets:
        raise UsageError("there is no target on stdin; give one a line, such as example.com")
    return targets


def bytes_on_stdin() -> bytes:
    """All of it."""
    if sys.stdin is None:
        raise UsageError("stdin is closed: no targets can be read from it")
    return sys.stdin.buffer.read()


def utf8(target: str) -> str:
    """As typed, but for bytes that are no UTF-8, which JSON cannot hold."""
    return target.encode("utf-8", "replace").decode()


def each_target(targets: Sequence[str], console: Console, read: Callable[[str], Exit]) -> list[Exit]:
    """What became of each; what stops one does not stop the next. An interrupt ends the list."""
    codes: list[Exit] = []
    for target in targets:
        try:
            codes.append(read(target))
        except UsageError as exc:
            console.error(str(exc))
            codes.append(Exit.USAGE)
        except NothingFound as exc:
            console.nothing_read(exc)
            codes.append(Exit.NOTHING)
        except NothingReadable as exc:
            console.nothing_read(exc)
            codes.append(Exit.UNREADABLE)
        except KeyboardInterrupt:
            return [*codes, Exit.INTERRUPTED]
        finally:
            console.rest()
    return codes


def judge(target: str, summary: Summary, console: Console) -> Exit:
    """What a target that was read without an exception comes to."""
    if not summary.complete:
        return Exit.PARTIAL
    if summary.urls or summary.dropped or summary.unwanted or summary.pruned or summary.repeated:
        return Exit.COMPLETE
    console.error(f"{target} lists no URL: its sitemaps are empty; -v shows each of them")
    return Exit.NOTHING
