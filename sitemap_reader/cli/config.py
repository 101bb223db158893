"""`config`: what a config file sets, with the place of each value, as TOML; --check lists what is wrong with it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import date
from typing import TYPE_CHECKING, Any

import click

from ..checks.config_file import FILE_NAME, config_of
from ..checks.policy import AUDIT, IGNORE, POLICY_TABLES, is_ignore_list
from .command import LEFT_OUT, commands_with_settings
from .exits import Exit
from .messages import Console
from .option_types import Kind, kind_of
from .output import open_outputs
from .settings import keys_of, read_settings

if TYPE_CHECKING:
    from ..checks.config_file import ConfigFile, Keys
    from .settings import Setting, Settings

_WIDTH = 44  # of the column of values


def run(*, command: str | None, config: str | None, check: bool) -> Exit:
    """Writes the settings of all commands, or all options of one; with `check` nothing. Faults are errors."""
    console = Console()
    commands = commands_with_settings(click.get_current_context())
    if command is not None and command not in commands:
        raise click.BadParameter(f"{command!r} has no options in a config file; give {', '.join(commands)}")
    found, left_out = config_of(config)
    for file in left_out:
        console.note(LEFT_OUT.format(file=file))
    if found is None:
        settings, faults = None, list[str]()
        text = f"# no config file: neither {FILE_NAME} nor [tool.sitemap-reader] in pyproject.toml\n"
    else:
        settings = read_settings(found, commands, is_named=config is not None)
        faults = [str(settings.file.error(fault)) for fault in settings.check(commands, with_expired=check)]
        text = f"# {settings.file.name}{': nothing is wrong' if check else ''}\n"
    if not check:
        text += _shown(settings, commands if command is None else {command: commands[command]}, is_all=bool(command))
    if not (check and faults):
        with open_outputs(None) as outputs:
            outputs.records.write(text.encode())
    for fault in faults:
        console.error(fault)
    return Exit.USAGE if faults else Exit.COMPLETE


Rows = list[tuple[str, str]]  # TOML, and where it is from


def _shown(settings: Settings | None, commands: Mapping[str, click.Command], *, is_all: bool) -> str:
    """The settings as they are in the file; with `is_all`, all options of each command in its table."""
    sections: list[tuple[str, Rows]] = []
    if settings is not None and not is_all:
        sections.append(("", [*_stated(settings, settings.common())]))
    for name, command in commands.items():
        if is_all:
            rows = [*_options(name, command, settings)]
        else:
            rows = [*_stated(settings, settings.own(name))] if settings is not None else []
        sections.append((f"[{name}]\n", rows))
        if name == AUDIT and settings is not None:
            sections += _policy(settings.file)
    lines = ((header, "".join(f"{text:{_WIDTH}}  # {source}\n" for text, source in rows)) for header, rows in sections)
    return "\n".join(header + text for header, text in lines if text)


def _stated(settings: Settings, several: Iterable[Setting]) -> Iterator[tuple[str, str]]:
    for each in several:
        yield f"{each.keys[-1]} = {_toml(each.stated)}", settings.file.place(each.keys)


def _options(name: str, command: click.Command, settings: Settings | None) -> Iterator[tuple[str, str]]:
    own = settings.by_command.get(name, {}) if settings is not None else {}
    for key, param in keys_of(command).items():
        setting = own.get(str(param.name))
        if setting is not None and settings is not None:
            yield from _stated(settings, [setting])
        elif kind_of(param) is not Kind.SECRET:
            extra = param.get_help_extra(click.Context(command)) if isinstance(param, click.Option) else {}
            yield f"# {key}: {extra.get('default', 'to be given')}", "default"


def _policy(file: ConfigFile) -> Iterator[tuple[str, Rows]]:
    for name in POLICY_TABLES:
        yield f"[{AUDIT}.{name}]\n", [*_table(file, (AUDIT, name))]
    given = file.value((AUDIT, IGNORE))
    for index in range(len(given) if is_ignore_list(given) else 0):
        yield f"[[{AUDIT}.{IGNORE}]]\n", [*_table(file, (AUDIT, IGNORE, index))]


def _table(file: ConfigFile, keys: Keys) -> Iterator[tuple[str, str]]:
    table = file.value(keys)
    for key, value in (table if isinstance(table, dict) else {}).items():
        yield f"{key} = {_toml(value)}", file.place((*keys, key))


def _toml(value: Any) -> str:
    """A value in one line; JSON has the same texts, numbers and lists."""
    return value.isoformat() if isinstance(value, date) else json.dumps(value, ensure_ascii=False, default=str)
