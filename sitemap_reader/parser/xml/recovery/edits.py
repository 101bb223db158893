"""What has to be changed in damaged bytes: offsets and replacements, each with the Problem that says so.

An edit is sure where it undoes one slip of the hand: a warning. Where it is not, more than anybody can know of may be
gone: an error.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from ....model.problems import Problem, Severity, report
from ..controls import controls_back
from .tokenizer import blank, shown

if TYPE_CHECKING:
    from .tokenizer import Token


@attrs.frozen
class Edit:
    """Bytes to put in the place of those from `start` to `stop`, and the mend to report."""

    start: int
    stop: int
    replacement: bytes
    problem: Problem


class Edits:
    """The edits of one piece, in the making; `in_order` is how they are carried out."""

    def __init__(self) -> None:
        self._edits: list[Edit] = []
        self._starts: set[int] = set()

    def __len__(self) -> int:
        return len(self._edits)

    @property
    def in_order(self) -> list[Edit]:
        """In the order of the bytes; more than one may begin at the same."""
        return sorted(self._edits, key=lambda edit: edit.start)

    def has(self, start: int) -> bool:
        """Whether one begins there."""
        return start in self._starts

    def put(self, where: int, written: bytes, place: str, *, sure: bool = True) -> None:
        """Something is missing."""
        self.add(where, where, written, f"{shown(written)} is missing: it was put {place}", sure=sure)

    def read_as(self, token: Token, text: bytes, *, sure: bool = True) -> None:
        """Something is meant for something else."""
        self._replace(token, text, f"{shown(token.written)} was read as {shown(text)}", sure=sure)

    def pass_over(self, token: Token, what: str, *, code: str = "S01", sure: bool = True) -> None:
        """Something means nothing."""
        message = f"{shown(token.written)} {what}: it was passed over"
        self._replace(token, blank(token.written), message, code=code, sure=sure)

    def _replace(self, token: Token, text: bytes, message: str, *, code: str = "S01", sure: bool = True) -> None:
        lines = token.written.count(b"\n") - text.count(b"\n")  # so that the lines behind it keep their numbers
        self.add(token.start, token.end, text + b"\n" * lines, message, token.written, code=code, sure=sure)

    def add(
        self, start: int, stop: int, text: bytes, what: str, raw: bytes = b"", *, code: str = "S01", sure: bool = True
    ) -> None:
        """Anything else, with words of its own."""
        severity: Severity = "warning" if sure else "error"
        message = what if sure else f"{what}; more may be lost"
        self._starts.add(start)
        written = controls_back(raw.decode("utf-8", "ignore")) or None
        self._edits.append(Edit(start, stop, text, report(code, message, severity=severity, raw=written)))
