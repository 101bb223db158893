"""The click types of options and arguments: each has a Kind, what a value does.

The Kind alone decides what a config file that was only found may set.
"""

from __future__ import annotations

from datetime import date
from difflib import get_close_matches
from enum import Enum
from typing import TYPE_CHECKING, Any

import attrs
import click

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from ..model.messages import Keyword

_NOTHING = "nothing"


class Kind(Enum):
    """What a value does; what a file that was only found may set, for the docs; what it may not do, for errors."""

    SETTING = ("number, choice, text", "everything", "")
    PATTERN = ("regular expression", "what takes linear time on any URL", "take more than linear time on a URL")
    TARGET = ("target", "hosts and URLs; paths below its folder", "read what is outside of its folder")
    READ = ("path read", "paths below its folder", "read what is outside of its folder")
    WRITTEN = ("path written", "paths below its folder, and `-`", "write outside of its folder")
    FOLDER = ("folder written", _NOTHING, "name a folder to write, as links in it could lead anywhere")
    ADDRESS = ("address sent to", _NOTHING, "decide where anything is sent")
    LISTEN = ("address listened on", _NOTHING, "start a server")
    TRUST = ("trust", _NOTHING, "decide what is trusted")
    LOGINS = ("use of logins", _NOTHING, "have logins sent")
    SECRET = ("secret", f"{_NOTHING}; no file may", "")

    def __init__(self, title: str, found_may: str, found_may_not: str) -> None:
        self.title = title
        self.found_may = found_may
        self.found_may_not = found_may_not
        self.needs_trust = found_may.startswith(_NOTHING)


@attrs.define(slots=False, eq=False, repr=False)
class Text(click.types.StringParamType):
    kind: Kind
    metavar: str | None = None
    toml: tuple[type, ...] = attrs.field(default=(str,), kw_only=True)  # its types in a config file
    form: str = attrs.field(default="a text", kw_only=True)  # these, in words
    has_url: bool = attrs.field(default=False, kw_only=True)  # perhaps with a login, which does not belong into a file
    instead: str = attrs.field(default="", kw_only=True)  # of a secret in a file, what to give on the command line

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """A text as it is: click's own type would make a plain text of a LimitedPattern."""
        return value if isinstance(value, str) else super().convert(value, param, ctx)


class FileName(Text):
    """The name of a file or folder, which shells complete. It need not exist."""

    name = "file"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem  # here: few commands complete anything

        return [CompletionItem(incomplete, type="file")]


@attrs.define(slots=False, eq=False, repr=False)
class Switch(click.types.BoolParamType):
    kind: Kind


class Choice(click.Choice[str]):
    """One of some words; the error for another names the most similar one."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter as exc:
            similar = get_close_matches(str(value).lower(), self.choices, 1)
            if not similar:
                raise
            self.fail(f"{exc.message.rstrip('.')}; did you mean {similar[0]}?", param, ctx)


class TrustChoice(Choice):
    kind = Kind.TRUST


# What a file that was only found may set freely: a text of these names no file and no address that gets a request.
CODES = Text(Kind.SETTING, "CODES")
AGENTS = Text(Kind.SETTING, "AGENTS")
FIELD_NAMES = Text(Kind.SETTING, "NAMES")
COUNT = Text(Kind.SETTING, "N|all")  # a number, or all
SHARD = Text(Kind.SETTING, "I/N")
ROTATION = Text(Kind.SETTING, "WHEN")
CONTENT_TYPE = Text(Kind.SETTING, "TYPE")
COMMAND = Text(Kind.SETTING)
# It is sent to the same hosts as before, without control characters, and also selects the group of robots.txt.
USER_AGENT = Text(Kind.SETTING, "TEXT")
# URLs that others are compared with.
SITE_URL = Text(Kind.SETTING, "URL", has_url=True)
SIZE = Text(Kind.SETTING, "SIZE", toml=(str, int), form='a size such as "500M", or a number of bytes')
THRESHOLD = Text(Kind.SETTING, "N|N%", toml=(str, int), form='a share such as "5%", or a number')
WHEN = Text(Kind.SETTING, "WHEN", toml=(str, date), form="a date, or an age such as 7d")
SWITCH = Switch(Kind.SETTING)

REGEX = Text(Kind.PATTERN, "REGEX")
TARGET = FileName(Kind.TARGET, has_url=True)
FILE_READ = FileName(Kind.READ)
FILE_WRITTEN = FileName(Kind.WRITTEN)
FOLDER_WRITTEN = FileName(Kind.FOLDER, "DIR")
SINK = Text(Kind.ADDRESS, "SINK")
ADDRESS = Text(Kind.ADDRESS, "ADDRESS", has_url=True)
LISTEN = Text(Kind.LISTEN, "HOST:PORT")
TRUST_SWITCH = Switch(Kind.TRUST)
SERVER_NAME = Text(Kind.TRUST, "NAME")
CERTIFICATES = FileName(Kind.TRUST)
LOGINS_SWITCH = Switch(Kind.LOGINS)
NETRC = FileName(Kind.LOGINS)
LOGIN = Text(Kind.SECRET, "USER:PASSWORD", instead="--auth USER:PASSWORD or --netrc")
HEADER = Text(Kind.SECRET, "'NAME: VALUE'", instead='-H "Authorization: $TOKEN"')

# Types of click whose values can only be a setting.
_SETTINGS = (click.types.IntParamType, click.types.FloatParamType, click.Choice)


_OPTION_NAMES = {"host_map": "map", "headers": "header", "sinks": "to"}


def as_option(keyword: Keyword) -> str:
    """A keyword of the library as the option of the same purpose.

    >>> from sitemap_reader.model.messages import Keyword
    >>> as_option(Keyword("scope", '"any"')), as_option(Keyword("resume", "True")), as_option(Keyword("host_map"))
    ('--scope any', '--resume', '--map')
    """
    name = _OPTION_NAMES.get(keyword.name, keyword.name.replace("_", "-"))
    value = "" if keyword.value == "True" else keyword.value.strip('"')
    return f"--{name} {value}".rstrip()


def kind_of(param: click.Parameter) -> Kind | None:
    """The Kind of an option or argument; None where its type states none, as that of a plain text."""
    kind = getattr(param.type, "kind", None)
    if isinstance(kind, Kind):
        return kind
    return Kind.SETTING if isinstance(param.type, _SETTINGS) else None
