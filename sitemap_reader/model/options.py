"""Options: the meaning, default and check of each keyword of a public function, declared once.

A function's keywords are a TypedDict, for type checkers; each is `Annotated[type, Option(...)]`, for help(), defaults
and the options of the command line. A type that would have to be imported is a text.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from functools import cache
from types import NoneType
from typing import Any, Literal, TypeVar, cast, get_args, get_origin

import attrs

from .errors import UsageError

# Choices that lower layers know too.
AutoMode = Literal["auto", "always", "never"]
ScopeMode = Literal["protocol", "host", "domain", "any"]
Undated = Literal["keep", "drop"]
On = Literal["any", "lastmod"]
Ack = Literal["next", "manual"]

T = TypeVar("T", bound=Mapping[str, object])
Check = Callable[[str, Any], None]  # the keyword and its value; UsageError for a value that is not allowed

_KEYWORD = re.compile(r"`(\w+)`")


@attrs.frozen
class Option:
    """What a keyword means."""

    help: str  # the names of other keywords stand in backticks
    default: Any = None
    in_python: str = ""  # follows the help where values are not texts: what else may be given
    default_as: str = ""  # the default as Python text, if that is not its repr()
    flags: str = ""  # the names of the option of the command line, if that is not --keyword
    check: Check = lambda name, value: None
    is_called: bool = False  # a value may be a function, which is never awaited

    def text(self, spell: Callable[[str], str]) -> str:
        """The help with each keyword as `spell` has it.

        >>> Option("With `since`: keep or drop.").text("--{}".format)
        'With --since: keep or drop.'
        """
        return _KEYWORD.sub(lambda found: spell(found[1]), self.help)


@attrs.frozen(eq=False)
class Declared:
    """A keyword of a TypedDict: its type, and its Option."""

    type: Any
    option: Option
    is_required: bool

    @property
    def type_text(self) -> str:
        if isinstance(self.type, type):
            return self.type.__name__
        return getattr(self.type, "__forward_arg__", "") or str(self.type).replace("typing.", "")

    @property
    def choices(self) -> tuple[str, ...]:
        return get_args(self.type) if get_origin(self.type) is Literal else ()

    @property
    def default_text(self) -> str:
        return self.option.default_as or repr(self.option.default)

    def check(self, name: str, value: object) -> None:
        if self.choices:
            check_choice(name, value, self.choices)
        self.option.check(name, value)


@cache
def options_of(kind: Any) -> Mapping[str, Declared]:
    """Keyword -> what is declared of it."""
    required = kind.__required_keys__
    declared = {name: get_args(annotated)[:2] for name, annotated in kind.__annotations__.items()}
    return {name: Declared(type, option, name in required) for name, (type, option) in declared.items()}


def part_of(kind: type[T], given: Mapping[str, object]) -> T:
    """Of these keywords those of a TypedDict."""
    return cast("T", {name: given[name] for name in options_of(kind) if name in given})


def with_defaults(kind: type[T], given: Mapping[str, object]) -> T:
    """All keywords of a TypedDict: those given, which are checked, and the defaults of the others; UsageError."""
    declared = options_of(kind)
    for name, value in given.items():
        declared[name].check(name, value)
    return cast("T", {name: given.get(name, each.option.default) for name, each in declared.items()})


def check_choice(name: str, value: object, allowed: tuple[object, ...]) -> None:
    if value not in allowed:
        raise UsageError(keyword=name, value=value, allowed=f"one of {', '.join(map(str, allowed))}")


def one_of_types(words: str, *types: type) -> Check:
    """The check of a value of these types, in words."""

    def check(name: str, value: object) -> None:
        if not isinstance(value, types):
            raise UsageError(keyword=name, value=value, allowed=words)

    return check


def positive(name: str, value: object) -> None:
    """UsageError for what is no whole number of at least 1, but for None."""
    if value is not None and (not isinstance(value, int) or value < 1):
        raise UsageError(keyword=name, value=value, allowed="a whole number, 1 or more")


def seconds_up_to(most: float) -> Check:
    """The check of a number of seconds."""

    def check(name: str, value: object) -> None:
        if not isinstance(value, int | float) or not 0 <= value <= most:
            raise UsageError(keyword=name, value=value, allowed=f"a number of seconds from 0 to {most:g}")

    return check


FUNCTION = one_of_types("a function", cast("type", Callable), NoneType)
TEXT = one_of_types("text", str)
FILE_NAME = one_of_types("the name of a file", str, os.PathLike)
FOLDER_NAME = one_of_types("the name of a folder", str, os.PathLike)


def callback(help: str, **others: Any) -> Option:
    return Option(help, check=FUNCTION, is_called=True, **others)
