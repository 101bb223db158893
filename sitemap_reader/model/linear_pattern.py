"""Regular expressions of a config file that was only found: a search takes linear time, or is refused.

A literal text is a pattern of re, any other one of RE2, a library for patterns that are not trusted. Both find the
same.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any

import attrs

from .errors import UsageError, install_hint


class LimitedPattern(str):
    """A regular expression that someone else wrote: make_patterns() takes it only if its search is linear."""

    __slots__ = ()


@attrs.frozen
class LinearPattern:
    """A regular expression that RE2 searches for: in linear time, and without holding up other threads."""

    pattern: str
    _regex: Any = attrs.field(eq=False, repr=False)

    def search(self, text: str) -> bool:
        """Whether it is found in a text; UsageError if that takes over _MOST_SECONDS."""
        encoded = text.encode("utf-8", "replace")
        if len(encoded) <= _SHORT_BYTES:
            return self._regex.search(encoded) is not None
        # A search cannot be stopped: the end of the program must not wait for it.
        answer: SimpleQueue[bool] = SimpleQueue()
        Thread(target=lambda: answer.put(self._regex.search(encoded) is not None), daemon=True).start()
        try:
            return answer.get(timeout=_MOST_SECONDS)
        except Empty:
            shown = f"{self.pattern!r} takes over {_MOST_SECONDS} s for a URL of {len(text):,} characters"
            raise UsageError(shown, remedy=LIFTED) from None


# RE2 takes up to 40 µs a byte for a pattern of 1,000 states, about as many as this memory holds.
_MOST_MEMORY = 1 << 18
_SHORT_BYTES, _MOST_SECONDS = 20_000, 1
MOST_LIMITED = 500  # patterns of an option
_MOST_LENGTH = 1_000  # of a limited pattern; re compiles longer ones for seconds
# A literal text, perhaps at the start or the end: re searches for it in linear time, too.
_LITERAL = re.compile(r"\^?(?:[^\\.^$*+?{}\[\]()|]|\\[^a-zA-Z0-9])*\$?")


def linear(
    name: str, pattern: LimitedPattern, compile: Callable[[str, str], re.Pattern[str]]
) -> re.Pattern[str] | LinearPattern:
    """A pattern whose search is linear; UsageError for what re, or RE2, does not take."""
    shown = f"{pattern[:_MOST_LENGTH]!r}"
    if len(pattern) > _MOST_LENGTH:
        raise UsageError(f"{shown}… has over {_MOST_LENGTH:,} characters", keyword=name, remedy=LIFTED)
    compiled = compile(name, str(pattern))
    if _LITERAL.fullmatch(pattern):
        return compiled
    try:
        import re2  # here: few runs need it
    except ImportError as exc:
        raise UsageError(
            f"{shown} is more than a literal text, and needs RE2: {install_hint('re2')}", keyword=name, remedy=LIFTED
        ) from exc
    options = re2.Options()
    options.max_mem, options.log_errors = _MOST_MEMORY, False
    try:
        return LinearPattern(str(pattern), re2.compile(_re2_syntax(pattern), options))
    except (re2.error, ValueError) as exc:
        (reason,) = exc.args
        reason = reason.decode(errors="replace") if isinstance(reason, bytes) else reason
        message = f"{shown} may take more than linear time: RE2 has {reason}"
        raise UsageError(message, keyword=name, remedy=LIFTED) from exc


LIFTED = "a file that was only found has this limit, one that is named has not"
# Tokens of a regular expression outside of a set such as [a-z], and in one.
_TOKEN, _TOKEN_IN_SET = re.compile(r"\\.|\[\^?\]?|\{,(?=\d*\})|.", re.DOTALL), re.compile(r"\\.|.", re.DOTALL)
# What means something else in RE2, where \d, \s and \w are ASCII -> what means the same; None: nothing does.
_SPACE, _WORD = r"\s\x0b\x1c-\x1f\x{85}\p{Z}", r"_\p{L}\p{N}"
_IN_RE2 = {
    r"\d": r"\p{Nd}", r"\D": r"\P{Nd}", r"\s": f"[{_SPACE}]", r"\S": f"[^{_SPACE}]", r"\w": f"[{_WORD}]",
    r"\W": f"[^{_WORD}]", r"\Z": r"\z", "$": r"(?:$|\n\z)", "{,": "{0,", r"\b": None, r"\B": None,
}  # fmt: skip
_IN_RE2_SET = {r"\d": r"\p{Nd}", r"\D": r"\P{Nd}", r"\s": _SPACE, r"\w": _WORD, "[": r"\[", r"\S": None, r"\W": None}


def _re2_syntax(pattern: str) -> str:
    """A valid pattern of re as RE2 writes it; ValueError for what it cannot say."""
    parts: list[str] = []
    position, in_set = 0, False
    while position < len(pattern):
        token = (_TOKEN_IN_SET if in_set else _TOKEN).match(pattern, position)[0]  # type: ignore[index]
        part = (_IN_RE2_SET if in_set else _IN_RE2).get(token, token)
        if part is None:
            raise ValueError(f"no {token}{' in [ ]' if in_set else ''} for all of Unicode")
        parts.append(part)
        in_set = part != "]" if in_set else token.startswith("[")
        position += len(token)
    return "".join(parts)
