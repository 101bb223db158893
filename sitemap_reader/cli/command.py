"""The click classes of all commands: options under headings, errors in one line, never a traceback; one exit code."""

from __future__ import annotations

import errno
import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NoReturn, TextIO

import click

from ..client.terminal import FILE_COLUMNS, screen_of
from ..model.errors import StateError, UsageError, internal_error
from . import option_types as types
from .exits import Exit
from .option_types import as_option

if TYPE_CHECKING:
    from .messages import Console
    from .settings import Settings


class GroupedOption(click.Option):
    """An option under a heading of the help, which always states its default."""

    def __init__(self, *args: Any, heading: str = "Output", **kwargs: Any) -> None:
        self.heading = heading
        super().__init__(*args, **kwargs)

    def get_help_extra(self, ctx: click.Context) -> Any:
        """The default only, in words if there are some; the permitted range of a number is in its error."""
        words = self.show_default
        return {"default": words if isinstance(words, str) else super().get_help_extra(ctx).get("default", "none")}


class HelpFormatter(click.HelpFormatter):
    """With bold headings, if stdout takes colours."""

    def write_usage(self, prog: str, args: str = "", prefix: str | None = None) -> None:
        super().write_usage(prog, args, f"{_bold('Usage:')} ")

    def write_heading(self, heading: str) -> None:
        self.write(f"{'':>{self.current_indent}}{_bold(f'{heading}:')}\n")


def _bold(text: str) -> str:
    return screen_of(sys.stdout).styled(text, "heading")


class Context(click.Context):
    def make_formatter(self) -> click.HelpFormatter:
        screen = screen_of(sys.stdout)
        self.color = screen.has_color  # else click would decide
        columns = min(screen.columns, self.max_content_width or FILE_COLUMNS) - 2
        return HelpFormatter(width=max(columns, _MIN_HELP_COLUMNS))


_MIN_HELP_COLUMNS = 50
_SETTINGS = "sitemap_reader.settings"  # in the meta of a Context
LEFT_OUT = "note {file} is not used: it is another user's, in a folder of all users; --config {file} uses it"
_NEAREST = "sitemap-reader.toml or [tool.sitemap-reader] of pyproject.toml"


class Command(click.Command):
    """A command whose function returns an Exit; options are under headings, and have defaults from a config file."""

    context_class = Context

    def __init__(self, *args: Any, has_settings: bool = True, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.has_settings = has_settings
        if has_settings:
            self.params += _settings_options()

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        headings: dict[str, list[tuple[str, str]]] = {}
        for param in self.get_params(ctx):
            row = param.get_help_record(ctx)
            if row is not None and isinstance(param, click.Option):
                headings.setdefault(getattr(param, "heading", "Help"), []).append(row)
        for heading, rows in headings.items():
            with formatter.section(heading):
                formatter.write_dl(rows)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The examples, without rewrapping."""
        if self.epilog:
            with formatter.section("Examples"):
                for line in self.epilog.splitlines():
                    formatter.write(f"{'':{formatter.current_indent}}{line}\n")

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Adds this command to usage errors, so that they can point to its help."""
        try:
            rest = super().parse_args(ctx, args)
            if settings := current_settings(ctx):
                settings.protect_credentials(ctx)
            return rest
        except click.UsageError as exc:
            exc.ctx = exc.ctx or ctx
            raise
        except UsageError as exc:
            _console().error(exc.spelled(as_option))
            ctx.exit(Exit.USAGE)

    def invoke(self, ctx: click.Context) -> NoReturn:
        from .same_files import refuse_same_files  # imported late: --help does not need it

        settings = current_settings(ctx)
        if settings and (used := settings.used(ctx)) and not ctx.params.get("quiet"):
            _console().note(f"note {used}; --no-config ignores them")
        try:
            refuse_same_files(ctx)
            code = Exit(super().invoke(ctx) or Exit.COMPLETE)
        except KeyboardInterrupt:
            code = Exit.INTERRUPTED
        except UsageError as exc:
            _console().error(exc.spelled(as_option))
            code = Exit.USAGE
        except StateError as exc:
            _console().error(str(exc))
            code = Exit.UNWRITABLE if exc.is_unwritable else Exit.USAGE
        except OSError as exc:
            code = report_unwritable(exc)
        ctx.exit(code)


class CommandGroup(click.Group):
    """The command group; its usage errors, and those of its commands, are one line."""

    command_class = Command
    context_class = Context

    def list_commands(self, ctx: click.Context) -> list[str]:
        """In the order of their definition: the main job first."""
        return list(self.commands)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        heading, _, codes = (self.epilog or "").rstrip(".").partition(": ")
        with formatter.section(heading):
            formatter.write_dl([(number, text) for number, text in (each.split(" ", 1) for each in codes.split("; "))])

    def main(self, *args: Any, **options: Any) -> Any:
        options = {**options, "prog_name": "sitemap-reader", "standalone_mode": False}
        try:
            code = super().main(*args, **options)
        except click.ClickException as exc:
            _show_usage_error(exc)
            code = Exit.USAGE
        except OSError as exc:  # the help itself cannot be written
            code = report_unwritable(exc)
        except click.Abort:
            code = Exit.INTERRUPTED
        except Exception as exc:
            _console().error(internal_error(exc))
            code = Exit.INTERNAL
        try:
            sys.stderr.flush()
        except OSError:  # Python would exit with 120
            discard_output(sys.stderr)
        except (ValueError, AttributeError):
            pass  # closed, or None
        sys.exit(int(code or 0))


# Eager options are processed before all others, --no-config before --config unless that stands first.


def _settings_options() -> list[click.Parameter]:
    shared: dict[str, Any] = {"heading": "Settings", "is_eager": True, "expose_value": False}
    return [
        GroupedOption(
            ["--no-config"],
            is_flag=True,
            type=types.SWITCH,
            show_default="off",
            callback=_use_none,
            help="Read no config file.",
            **shared,
        ),
        GroupedOption(
            ["--config"],
            metavar="FILE",
            type=types.FILE_READ,
            show_default=_NEAREST,
            callback=_use_settings,
            help="TOML file with options, and with severities and ignores of the audit.",
            **shared,
        ),
    ]


def _use_none(ctx: click.Context, param: click.Parameter, is_given: bool) -> None:
    if is_given:
        ctx.meta[_SETTINGS] = ctx.default_map = None


def _use_settings(ctx: click.Context, param: click.Parameter, path: str | None) -> None:
    """Makes the options of a config file the defaults of the command; help and completion read no file."""
    if ctx.resilient_parsing or _SETTINGS in ctx.meta:
        return
    from ..checks.config_file import config_of  # imported late: --help does not need it

    file, left_out = config_of(path)
    ctx.meta[_SETTINGS] = None
    if file is not None:
        from .settings import read_settings  # imported late: most folders have no config file

        name = str(ctx.command.name)
        settings = read_settings(file, commands_with_settings(ctx), is_named=path is not None)
        if faults := settings.check([name]):
            raise settings.file.error(faults[0])
        ctx.meta[_SETTINGS] = settings
        ctx.default_map = {param: setting.value for param, setting in settings.by_command.get(name, {}).items()}
    for each in left_out:
        _console().note(LEFT_OUT.format(file=each))


def commands_with_settings(ctx: click.Context) -> dict[str, click.Command]:
    group = ctx.parent.command if ctx.parent else None
    commands = group.commands if isinstance(group, click.Group) else {str(ctx.command.name): ctx.command}
    return {name: each for name, each in commands.items() if getattr(each, "has_settings", False)}


def current_settings(ctx: click.Context | None = None) -> Settings | None:
    """The Settings of the running command; None without a config file."""
    settings: Settings | None = (ctx or click.get_current_context()).meta.get(_SETTINGS)
    return settings


def _console() -> Console:
    from .messages import Console  # imported late: --help does not need it

    return Console()


def _show_usage_error(exc: click.ClickException) -> None:
    context = getattr(exc, "ctx", None)
    path = context.command_path if context else "sitemap-reader"
    message = " ".join(exc.format_message().split()).rstrip(".").replace(". (Did", " (did")
    if not message or isinstance(exc, click.exceptions.NoArgsIsHelpError):
        message = "which command?"
    _console().error(f"{message}{' ' if message.endswith('?') else '; '}see {path} --help")


def report_unwritable(exc: OSError) -> Exit:
    if isinstance(exc, BrokenPipeError):  # the reader of the pipe has ended, as `| head` does
        discard_output(sys.stdout)
        return Exit.COMPLETE
    message, hint = f"cannot write {exc.filename or 'the output'}: {exc.strerror or exc}", _HINTS.get(exc.errno or 0)
    _console().error(f"{message}; {hint}" if hint else message)
    discard_output(sys.stdout)
    return Exit.UNWRITABLE


_HINTS = {
    errno.ENOSPC: "free some space, or write elsewhere",
    errno.ENOENT: "make the folder first",
    errno.EISDIR: "name a file in it",
    errno.EEXIST: "name a folder",
    errno.ENOTDIR: "name another folder",
    errno.EACCES: "check who may write there",
    errno.EROFS: "write elsewhere",
}


def discard_output(stream: TextIO | None) -> None:
    """Redirects the stream to /dev/null: Python would try to write its buffer once more at shutdown, and complain."""
    with suppress(OSError, ValueError, AttributeError):  # not a file, or closed already
        sink = os.open(os.devnull, os.O_WRONLY)
        os.dup2(sink, stream.fileno())  # type: ignore[union-attr]
        os.close(sink)
