"""The exceptions of the package, and the functions that make text safe to show.

::

    SitemapReaderError
    ├── UsageError           the call cannot be carried out as written; also a ValueError
    │   └── UnknownKeyword   a keyword that the function does not have; also a TypeError, as Python's is
    ├── FetchError           a request failed; raised by Fetchers, never by a stream
    ├── DocumentChanged      a retry returned other bytes; becomes an F04
    ├── FallbackFailed       a feed fallback was not run, was stopped, or failed; becomes an S01
    ├── StateError           a file that is no state, or one that is damaged, too new, in use, or cannot be written
    └── ReadError            at the end of a run, with its outcomes
        ├── NothingFound     there is no sitemap
        ├── NothingReadable  there are sitemaps, but because of errors no URL was read
        └── PartialRead      only from raise_for_partial(): something is missing

Bad data and bad networks are values, not exceptions: see problems.py.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from json import dumps
from typing import TYPE_CHECKING, Self

from .messages import Keyword, Message, spelled
from .messages import printable as printable
from .messages import printable_lines as printable_lines
from .problems import MAX_RAW_CHARACTERS, Problem, report

if TYPE_CHECKING:
    from .records import Outcome


# --- text that is safe to show: without control characters, without passwords --------------------------------------


# `user:password@`, even where the password contains a slash and the URL cannot be parsed. A password may also contain
# what begins another login, so that one pattern would read to the next @ from each of them: the first pattern matches
# what ends with @, or else what has none, and the second is searched in the former.
_UP_TO_AT = re.compile(r"[^\s@]++(?:@(?:[^\s@/]*@)*)?")
_USER = re.compile(r"(?:(?<=//)|(?<=\./)|(?<![^\s'\"]))(?!USER:)[^\s@/'\":]*+:(?!//)")


# actions/runner, ActionCommand.cs: `::name::` begins a line, also behind blanks; `##[name]` is anywhere in it.
# azure-pipelines-agent, Command.cs: `##vso[area.event]` is anywhere in it.
_COMMAND = re.compile(r"^([^\S\n]*)::|##(?=\[|vso)", re.MULTILINE)
_JSON_COMMAND = re.compile(rb"##(?=\[|vso)")


def without_commands(line: str) -> str:
    r"""A printable line in which the runners of GitHub Actions and Azure Pipelines find no command.

    They take commands from stdout and stderr of every step, and a site's text could stop, mask or annotate there.

    >>> print(without_commands("  ::stop-commands::x ##[add-mask]y"))
      \x3a:stop-commands::x \x23#[add-mask]y
    """
    return _COMMAND.sub(lambda found: "\\x23#" if found[0] == "##" else f"{found[1]}\\x3a:", line)


def markup_without_commands(markup: str) -> str:
    """HTML or XML with the same text and attributes, in which these runners find no command.

    >>> markup_without_commands('<p title="##[error]">a</p>')
    '<p title="&#35;#[error]">a</p>'
    """
    return _COMMAND.sub(lambda found: "&#35;#" if found[0] == "##" else f"{found[1]}&#58;:", markup)


def json_without_commands(json: bytes) -> bytes:
    r"""JSON with the same values, in which these runners find no command: it has a `#` within strings only.

    >>> json_without_commands(b'{"raw":"##[error]x"}')
    b'{"raw":"\\u0023#[error]x"}'
    """
    # A search for one byte is memchr(), 100 times as fast as one for two; hardly any line has a `#`.
    return _JSON_COMMAND.sub(rb"\\u0023#", json) if b"#" in json and b"##" in json else json


def json_on_terminal(json: bytes) -> bytes:
    r"""JSON with the same values, in which a terminal finds no control character, also none of C1 or of bidi.

    >>> json_on_terminal('{"title":"\u202eabc"}'.encode())
    b'{"title":"\\u202eabc"}'
    """

    def escaped(found: re.Match[str]) -> str:
        return "".join(char if char.isprintable() else dumps(char)[1:-1] for char in found[0])

    return _UNUSUAL.sub(escaped, json.decode()).encode()


def text_on_terminal(text: bytes) -> bytes:
    """Lines of a table with printable() cells: only tabs and line feeds are left of the control characters."""
    return _UNUSUAL.sub(lambda found: printable(found[0]), text.decode("utf-8", "replace")).encode()


_UNUSUAL = re.compile(r"[^\t\n -~]+")


def masked(text: str) -> str:
    """A message without the logins of URLs in it.

    >>> masked("no folder https://me:secret@example.com/a, nor 'me:secret@intranet'")
    "no folder https://…@example.com/a, nor '…@intranet'"
    """
    return _UP_TO_AT.sub(_masked_login, text) if "@" in text else text


def _masked_login(found: re.Match[str]) -> str:
    user = _USER.search(found.string, *found.span()) if found[0].endswith("@") else None
    return f"{found.string[found.start() : user.start()]}…@" if user else found[0]


class SitemapReaderError(Exception):
    """Base class of all exceptions of this package; its text is one line, with control characters escaped."""

    def __str__(self) -> str:
        return printable(super().__str__())


class UsageError(SitemapReaderError, ValueError):
    """An invalid argument: the text names it and what is valid, and contains no login of a URL.

    `keyword` is the name of the argument, None where there is none or there are several. `value` is what was given, and
    `allowed` what may be; or `message` says what is wrong. `remedy` is what to do.
    """

    def __init__(
        self,
        message: str = "",
        *,
        keyword: str | None = None,
        value: object = None,
        allowed: str = "",
        remedy: str = "",
    ) -> None:
        self.keyword, self.value, self.allowed, self.remedy = keyword, value, allowed, remedy
        self.message = message or f"is {allowed}, not {value!r:.60}"
        super().__init__(self._text(keyword, self.message, remedy))

    @classmethod
    def of(cls, template: str, **data: object) -> Self:
        """With the Message of a template."""
        return cls(Message.of(template, **data))

    def spelled(self, spell: Callable[[Keyword], str], *, is_named: bool = True) -> str:
        """The text with each keyword as `spell` has it; unless `is_named` without the name of the argument."""
        name = spell(Keyword(self.keyword)) if self.keyword and is_named else None
        return printable(self._text(name, spelled(self.message, spell), spelled(self.remedy, spell)))

    def _text(self, name: str | None, message: str, remedy: str) -> str:
        beginning = "" if name is None else f"{name} " if self.allowed else f"{name}: "
        return masked(f"{beginning}{message}{f'; {remedy}' if remedy else ''}")


class UnknownKeyword(UsageError, TypeError):
    """A keyword argument that the function does not have; the message names the right one."""


class FetchError(SitemapReaderError):
    """A request without a response, or with an incomplete one; control characters in `message` are escaped.

    `code` is the code of the Problem that it becomes (F04 for networks, F13 for refused addresses); `transient` is
    whether a retry may help. `remedy`, what the user can do, follows the message; without it, an F04 that leaves
    nothing to read of a host gets a general one, unless it is "". `of_proxy`: a proxy refused it, as it would any other
    request; the crawl sends no more. `is_sent` is False where no request was made: nothing is known of the URL.
    """

    def __init__(
        self,
        message: str,
        *,
        code: str = "F04",
        transient: bool = True,
        remedy: str | None = None,
        of_proxy: bool = False,
        is_sent: bool = True,
    ) -> None:
        # It may hold the text of another library, or of a server.
        self.message = printable(str(message))
        self.remedy = None if remedy is None else printable(remedy)
        super().__init__(f"{self.message}; {self.remedy}" if remedy else self.message)
        self.code = code
        self.transient = transient
        self.of_proxy = of_proxy
        self.is_sent = is_sent


class DocumentChanged(SitemapReaderError):
    """A document that is fetched again after an interruption does not begin with the same bytes."""


class FallbackFailed(SitemapReaderError):
    """feedparser was not run, was stopped, or failed: the message says which and why."""


class StateError(SitemapReaderError):
    """A state file that cannot be used; it is left unchanged. The message names it, and says what to do.

    `is_unwritable`: the file is valid, but cannot be written: disk full, no permission, or in use.
    """

    def __init__(self, message: str, *, is_unwritable: bool = False) -> None:
        super().__init__(message)
        self.is_unwritable = is_unwritable


class ReadError(SitemapReaderError):
    """The end of an incomplete run; `outcomes` are those of its stream: one for each document.

    `reason` is the first problem of those that are incomplete, as a line; it follows the message.
    """

    def __init__(self, message: str, outcomes: Sequence[Outcome] = (), *, reason: str = "") -> None:
        super().__init__(f"{message}: {reason}" if reason else message)
        self.message, self.reason = printable(message), reason
        self.outcomes = tuple(outcomes)


class NothingFound(ReadError):
    """No sitemap was found, and there was no error."""


class NothingReadable(ReadError):
    """No URL was read because of errors."""


class PartialRead(ReadError):
    """Something may be missing: at least one document is incomplete."""


def install_hint(extra: str) -> str:
    """The command that installs an extra.

    >>> install_hint("parquet")
    "pip install 'sitemap-reader[parquet]'"
    """
    return f"pip install 'sitemap-reader[{extra}]'"


# --- internal errors: exceptions for which no rule exists ---


# If it is set, an internal error ends the run where it was raised: the tests set it.
RAISE_VARIABLE = "SITEMAP_READER_RAISE"
# What is none: exceptions with rules of their own, and those of a machine without memory, disk or files.
FORESEEN = (SitemapReaderError, OSError, MemoryError)
_PACKAGE = os.path.dirname(os.path.dirname(__file__))
_COMPILED = "sitemap_reader"  # how the names of the scanner's sources begin in a traceback


def internal_problem(error: Exception) -> Problem:
    """The S17 of a document whose reading has raised an internal error."""
    return report("S17", internal_error(error))


def internal_error(error: BaseException) -> str:
    """An internal error in one line: the exception, the last line of this package that it passed, and what to do."""
    if os.environ.get(RAISE_VARIABLE):
        raise error
    import logging  # late: few runs need it
    from traceback import extract_tb

    logging.getLogger("sitemap_reader").debug("internal error", exc_info=error)
    frames = extract_tb(error.__traceback__)
    own = [frame for frame in frames if frame.filename.startswith((_PACKAGE, _COMPILED))] or frames
    place = f" in {os.path.basename(own[-1].filename)}:{own[-1].lineno}" if own else ""
    text = masked(printable(str(error)))[:MAX_RAW_CHARACTERS]
    what = f"{type(error).__name__}{text and f' ({text})'}{place}"
    return f"internal error {what}; please report it, with what {RAISE_VARIABLE}=1 prints"
