"""Control characters, which no XML document may hold, and what stands for each of them while expat reads.

Two code points that Unicode keeps free of text (23.7): the first marks a stand-in, the second says for what. The mark
itself has one too, so that what the document holds of them stays what it is.
"""

from __future__ import annotations

import re

_MARK = "\ufdd0"
_CONTROLS = (*(number for number in range(0x20) if number not in (0x9, 0xA, 0xD)), 0xFFFE, 0xFFFF)
_SECONDS = {number: chr(ord(_MARK) + place) for place, number in enumerate(_CONTROLS, 1)} | {ord(_MARK): "\U0001fffe"}
_NUMBERS = {second: chr(number) for number, second in _SECONDS.items()}
_STAND_INS = {number: _MARK + second for number, second in _SECONDS.items()}
_STAND_IN = re.compile(f"{_MARK}(.)", re.DOTALL)

# XML 1.0 2.2: these may not stand in a document, nor `&#1;`; and the mark, which may.
CONTROL = rb"[\x00-\x08\x0b\x0c\x0e-\x1f] | \xef\xbf[\xbe\xbf] | \xef\xb7\x90"


def needs_stand_in(number: int) -> bool:
    """Whether expat is not shown the character of this number."""
    return number in _SECONDS


def stand_in(text: str) -> bytes:
    """What expat is shown for such characters."""
    return text.translate(_STAND_INS).encode()


def controls_back(text: str) -> str:
    """The characters that stand-ins stand for."""
    return _STAND_IN.sub(lambda match: _NUMBERS.get(match.group(1), match.group()), text) if _MARK in text else text

