"""Text that is shown: messages that name keywords of a call, which Python and a command line spell differently.

printable() is imported from errors.py by all modules but problems.py, which errors.py needs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from string import Formatter

import attrs


@attrs.frozen
class Keyword:
    """A keyword argument in a message, with its value, or capitals for what is to be given: `base=URL`."""

    name: str
    value: str = ""

    def __str__(self) -> str:
        return f"{self.name}={self.value}"


class Message(str):
    """A text in the spelling of Python, which can also be spelled otherwise; what is made of it is a plain str."""

    parts: tuple[str | Keyword, ...]

    def __new__(cls, *parts: str | Keyword) -> Message:
        message = super().__new__(cls, "".join(map(str, parts)))
        message.parts = parts
        return message

    @classmethod
    def of(cls, template: str, **data: object) -> Message:
        """The template with its data; what has a `=` in braces is a keyword.

        >>> message = Message.of('{count} dropped: {scope="any"} keeps them, see {base=}', count=3)
        >>> message, message.spelled(lambda keyword: f"--{keyword.name} {keyword.value}".rstrip())
        ('3 dropped: scope="any" keeps them, see base=', '3 dropped: --scope "any" keeps them, see --base')
        """
        parts: list[str | Keyword] = []
        for text, field, spec, _ in Formatter().parse(template):
            parts.append(text)
            if field is not None:
                name, is_keyword, text = field.partition("=")
                value = Keyword(name, text) if is_keyword else data[name]
                parts.append(value if isinstance(value, Message | Keyword) else format(value, spec or ""))
        return cls(*parts)

    @classmethod
    def joined(cls, separator: str, parts: Iterable[str | Keyword]) -> Message:
        return cls(*[each for part in parts for each in (separator, part)][1:])

    def spelled(self, spell: Callable[[Keyword], str]) -> str:
        return "".join(spell(part) if isinstance(part, Keyword) else spelled(part, spell) for part in self.parts)


def spelled(text: str, spell: Callable[[Keyword], str]) -> str:
    """A text that may be a Message, with each keyword as `spell` has it."""
    return text.spelled(spell) if isinstance(text, Message) else text


def printable(text: str) -> str:
    r"""The text on one line, with control and other unprintable characters as escapes.

    >>> printable("a\x1b[31m\nb")
    'a\\x1b[31m\\nb'
    """
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in text)


def printable_lines(text: str) -> str:
    r"""The same of each line.

    >>> printable_lines("a\x1b\nb")
    'a\\x1b\nb'
    """
    return "\n".join(map(printable, text.split("\n")))
