"""The config file of the commands: its options as defaults of click, each checked by the option that it is for."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Mapping
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import click

from ..checks.config_file import ConfigFile, Fault, Keys, read_config_file
from ..checks.policy import AUDIT, IGNORE, POLICY_TABLES, Policy, is_ignore_list, make_policy, unknown_key
from ..model.errors import UsageError, masked
from ..model.linear_pattern import LimitedPattern
from .option_types import Kind, kind_of

if TYPE_CHECKING:
    Commands = Mapping[str, click.Command]

TARGETS = "targets"
# Arguments that `targets` stands for.
_TARGET_PARAMS = ("targets", "target")
_GIVE_TARGETS = "give the TARGET too, or --config"
_FROM_FILE = click.core.ParameterSource.DEFAULT_MAP
_NOT_IN_FILES = ("help", "config", "no-config", "explain")


@attrs.frozen
class Setting:
    """An option of a command in a file: its value there, and the value for click."""

    command: click.Command
    param: click.Parameter
    keys: Keys
    stated: Any
    value: Any

    def fault(self) -> Fault | None:
        try:
            self.param.process_value(click.Context(self.command, info_name=self.command.name), self.value)
        except click.BadParameter as exc:
            return Fault(self.keys, f"{self.keys[-1]}: {exc.message.rstrip('.') or 'it is empty'}")
        return None


@attrs.define
class Settings:
    file: ConfigFile
    is_named: bool  # by --config, not found
    commands: Commands
    policy: Policy = attrs.field(factory=Policy)
    by_command: dict[str, dict[str, Setting]] = attrs.field(factory=dict)  # those of each, by name of their param
    faults: list[Fault] = attrs.field(factory=list)  # without those that options find in their values: check()
    expired: list[Fault] = attrs.field(factory=list)  # ignores of the policy that apply no longer

    def check(self, names: Iterable[str], *, with_expired: bool = False) -> list[Fault]:
        """All that is wrong with the file, and with the values for these commands, each once, by line."""
        values = [setting.fault() for name in names for setting in self.by_command.get(name, {}).values()]
        faults = [*self.faults, *(fault for fault in values if fault), *(self.expired if with_expired else ())]
        return sorted(dict.fromkeys(faults), key=lambda fault: self.file.line(fault.keys))

    def common(self) -> Iterable[Setting]:
        found = {each.keys: each for own in self.by_command.values() for each in own.values() if len(each.keys) == 1}
        return found.values()

    def own(self, name: str) -> list[Setting]:
        return [each for each in self.by_command.get(name, {}).values() if len(each.keys) > 1]

    def _taken(self, ctx: click.Context) -> list[Setting]:
        """The settings that the command line of a run does not replace."""
        settings = self.by_command.get(str(ctx.command.name), {})
        return [each for name, each in settings.items() if ctx.get_parameter_source(name) is _FROM_FILE]

    def used(self, ctx: click.Context) -> str:
        """What a run takes from a file that was found, as a sentence; empty if nothing, or if the file was named."""
        taken = [] if self.is_named else self._taken(ctx)
        return f"options from {self.file.name}: {', '.join(str(each.keys[-1]) for each in taken)}" if taken else ""

    def protect_credentials(self, ctx: click.Context) -> None:
        """Raises UsageError if credentials of the command line would go to targets of a file that was found."""
        has_targets = any(each.param.name in _TARGET_PARAMS for each in self._taken(ctx))
        secrets = [str(param.name) for param in ctx.command.params if kind_of(param) is Kind.SECRET]
        given = [name for name in secrets if ctx.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE]
        if has_targets and given and not self.is_named:
            raise UsageError(
                f"credentials do not go to targets of a file that was only found: {_GIVE_TARGETS} {self.file.name}"
            )

    # Reading: each key is put down for its commands, or as a fault.

    def _read(self) -> None:
        tables = {key: value for key, value in self.file.settings.items() if key in self.commands}
        for key, value in self.file.settings.items():
            if key not in tables:
                self._read_common(key, value)
        for name, table in tables.items():
            if not isinstance(table, dict):
                self._fault((name,), f"{name} is a command: write its options into a table [{name}]")
                continue
            known, of_policy = keys_of(self.commands[name]), (*POLICY_TABLES, IGNORE) if name == AUDIT else ()
            for key, value in table.items():
                if key in of_policy and (key != IGNORE or is_ignore_list(value)):
                    continue
                if key in known:
                    self._add(name, known[key], (name, key), value)
                else:
                    self._fault((name, key), unknown_key(key, [*known, *of_policy], f"[{name}]"))
        self.policy, faults, self.expired = make_policy(self.file, is_trusted=self.is_named)
        self.faults += faults

    def _read_common(self, key: str, value: Any) -> None:
        params = {name: keys[key] for name, command in self.commands.items() if key in (keys := keys_of(command))}
        if not params:
            known = {each for command in self.commands.values() for each in keys_of(command)}
            self._fault((key,), unknown_key(key, sorted({*known, *self.commands}), "the file"))
        elif len({getattr(param, "help", "") for param in params.values()}) > 1:
            table = next(iter(params))
            self._fault((key,), f"{key} differs between commands: write it into their tables, such as [{table}]")
        else:
            for name, param in params.items():
                if key == TARGETS and param.nargs == 1 and isinstance(value, list) and len(value) != 1:
                    continue  # the command takes one: that is given on its command line
                self._add(name, param, (key,), value)

    def _add(self, name: str, param: click.Parameter, keys: Keys, stated: Any) -> None:
        try:
            self._permit(param, stated)
            value = self._typed(param, stated)
        except UsageError as exc:
            if not self.faults or self.faults[-1].keys != keys:  # common options have it once
                self._fault(keys, f"{keys[-1]} {exc}")
            return
        self.by_command.setdefault(name, {})[str(param.name)] = Setting(self.commands[name], param, keys, stated, value)

    def _fault(self, keys: Keys, text: str) -> None:
        self.faults.append(Fault(keys, text))

    def _permit(self, param: click.Parameter, stated: Any) -> None:
        """Raises UsageError for secrets, and for what only a file named by --config may set."""
        kind, texts = kind_of(param), stated if isinstance(stated, list) else [stated]
        if kind is Kind.SECRET:
            instead = getattr(param.type, "instead", "it")
            raise UsageError(
                f"may hold a secret, which does not belong into a file: give {instead} on the command line"
            )
        has_login = any(masked(each) != each for each in texts if isinstance(each, str))
        if has_login and getattr(param.type, "has_url", False):
            raise UsageError("has a password, which does not belong into a file: give --netrc, or --auth")
        if not self.is_named and (kind is None or kind.needs_trust):
            raise self._refused(kind or Kind.TRUST)

    def _refused(self, kind: Kind) -> UsageError:
        return UsageError(
            f"is not taken from a file that was only found, which may not {kind.found_may_not}: give it on the command "
            f"line, or trust the file with --config {self.file.name}"
        )

    def _typed(self, param: click.Parameter, stated: Any) -> Any:
        """The value for click; UsageError if its type is not that of the option."""
        if getattr(param, "is_flag", False):
            if not isinstance(stated, bool):
                raise UsageError(f"is true or false, not {stated!r:.80}")
            return stated
        if param.multiple or param.nargs == -1:
            return [self._one(param, each) for each in (stated if isinstance(stated, list) else [stated])]
        if param.name == "target" and isinstance(stated, list) and len(stated) == 1:
            stated = stated[0]
        return self._one(param, stated)

    def _one(self, param: click.Parameter, stated: Any) -> Any:
        types, form = _TYPES.get(param.type.name) or (
            getattr(param.type, "toml", (str,)),
            getattr(param.type, "form", "a text"),
        )
        if not isinstance(stated, types) or isinstance(stated, bool):
            raise UsageError(f"is {form}, not {stated!r:.80}")
        if isinstance(stated, date):
            return stated.isoformat()
        if isinstance(stated, str) and param.type.name == "file":
            return self._path(kind_of(param), stated)
        if kind_of(param) is Kind.PATTERN and not self.is_named:
            return LimitedPattern(stated)
        return stated

    def _path(self, kind: Kind | None, stated: str) -> str:
        """A path in the file is relative to its folder; targets may also be hosts and URLs."""
        if "\0" in stated:
            raise UsageError("is no name of a file, as it holds a NUL")
        path = os.path.join(self.file.path.parent, stated)
        if not self.is_named and kind and not self._is_permitted(kind, stated, path):
            raise self._refused(kind)
        is_path = stated != "-" and (kind is not Kind.TARGET or os.path.lexists(path))
        return path if is_path else stated

    def _is_permitted(self, kind: Kind, stated: str, path: str) -> bool:
        """Whether a file that was only found may have it read or written: its own files, and stdout."""
        if stated == "-":
            return kind is Kind.WRITTEN
        folder = self.file.path.parent
        if kind is Kind.WRITTEN:  # files beside it are named after it, as those of a state, or report.findings.jsonl
            parent, name = os.path.split(path)
            beside = glob.glob(f"{glob.escape(os.path.join(parent, os.path.splitext(name)[0]))}*")
            return all(_is_inside(each, folder) for each in (path, *beside))
        if not _is_inside(path, folder) or kind is not Kind.TARGET:
            return _is_inside(path, folder)
        # Commands look for a target in the working folder; it may be a pattern of files.
        return all(_is_inside(each, folder) for each in (stated, *glob.iglob(stated, recursive=True)))


def _is_inside(path: str, folder: Path) -> bool:
    """Whether it is in the folder, links resolved, and not in the files of git, some of which are run."""
    inside, top = Path(os.path.realpath(path)), os.path.realpath(folder)
    parts = inside.relative_to(top).parts if inside.is_relative_to(top) else (".git",)
    return ".git" not in map(str.casefold, parts)


# Numbers: name of click's type -> types in TOML, in words.
_TYPES: dict[str, tuple[tuple[type, ...], str]] = {
    "integer": ((int,), "a whole number"),
    "integer range": ((int,), "a whole number"),
    "float": ((int, float), "a number"),
}


def keys_of(command: click.Command) -> dict[str, click.Parameter]:
    """The keys that a table of a command may have: its long options, and its targets."""
    keys: dict[str, click.Parameter] = {}
    for param in command.params:
        if isinstance(param, click.Option) and not param.hidden:
            names = [name.removeprefix("--") for name in param.opts if name.startswith("--")]
            keys |= {name: param for name in names if name not in _NOT_IN_FILES}
        elif param.name in _TARGET_PARAMS:
            keys[TARGETS] = param
    return keys


def read_settings(path: str | Path, commands: Commands, *, is_named: bool) -> Settings:
    """The Settings of a file, with its faults; UsageError if it cannot be read."""
    settings = Settings(read_config_file(path), is_named, commands)
    settings._read()
    return settings
