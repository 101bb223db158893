"""A TOML file of settings: the search for it, and the line of each of its keys.

It is a `sitemap-reader.toml`, or a `pyproject.toml`, of which only [tool.sitemap-reader] is used. Only the command line
searches: the library reads what it is given.
"""

from __future__ import annotations

import os
import re
import stat
import tomllib
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import attrs

from ..model.errors import UsageError

FILE_NAME = "sitemap-reader.toml"
PYPROJECT = "pyproject.toml"
TOOL = ("tool", "sitemap-reader")
# More than any settings need; a file that someone else wrote is not read without a limit.
MAX_BYTES = 1 << 20
# Settings have 4 levels, with the table of a pyproject.toml 6. tomllib is recursive, and takes 40 GB of memory for a
# key of 100,000 parts.
MAX_NESTING = 20

Keys = tuple[str | int, ...]
_ROOT = 0  # root could read and write everything anyway
# tomllib's errors have the place as a field from Python 3.14 on.
_PLACE = re.compile(r" \(at (?:line (?P<line>\d+), column \d+|end of document)\)$")


@attrs.frozen
class Fault:
    """What is wrong with the setting at `keys`, the path to it: `("audit", "ignore", 0, "url")`."""

    keys: Keys
    text: str


@attrs.frozen
class ConfigFile:
    """The settings of a file; `name` is its path as it is shown."""

    path: Path
    name: str
    settings: Mapping[str, Any]
    _text: str = attrs.field(repr=False)
    _above: Keys = ()

    def value(self, keys: Keys) -> Any:
        value: Any = self.settings
        for key in keys:
            try:
                value = value[key]
            except (KeyError, IndexError, TypeError):
                return None
        return value

    def line(self, keys: Keys) -> int:
        """The line of a setting, or of the nearest table that holds it; 1 for the file itself."""
        full = (*self._above, *keys)
        return next((self._lines[full[:end]] for end in range(len(full), 0, -1) if full[:end] in self._lines), 1)

    @cached_property
    def _lines(self) -> dict[Keys, int]:
        return dict(_lines(self._text))

    def place(self, keys: Keys) -> str:
        """`sitemap-reader.toml:12`."""
        return f"{self.name}:{self.line(keys)}"

    def error(self, fault: Fault) -> UsageError:
        return UsageError(f"{self.place(fault.keys)}: {fault.text}")


def read_config_file(path: str | os.PathLike[str]) -> ConfigFile:
    """Reads a file; UsageError if it cannot be read, is no TOML, or has no settings at all (a pyproject.toml)."""
    try:
        name = str(Path(path).relative_to(Path.cwd()))
    except (ValueError, OSError):  # it is not below the working folder
        name = os.fspath(path)
    try:
        with open(path, "rb") as file:
            content = file.read(MAX_BYTES + 1)
    except OSError as exc:
        raise UsageError(f"cannot read {name}: {exc.strerror or exc}") from exc
    if len(content) > MAX_BYTES:
        raise UsageError(f"{name} has over {MAX_BYTES >> 20} MiB: it is no file of settings")
    try:
        text = content.decode("utf-8-sig")
        if line := _deep_line(text):
            raise UsageError(f"{name}:{line}: nested too deeply: over {MAX_NESTING} lists or tables, or parts of a key")
        document = tomllib.loads(text)
    except UnicodeDecodeError as exc:
        line = content[: exc.start].count(b"\n") + 1
        raise UsageError(f"{name}:{line}: not UTF-8, as TOML has to be") from exc
    except tomllib.TOMLDecodeError as exc:
        where = _PLACE.search(str(exc))
        line = int(where["line"]) if where and where["line"] else text.count("\n") + 1
        raise UsageError(f"{name}:{line}: no TOML: {_PLACE.sub('', str(exc))}") from exc
    if Path(path).name != PYPROJECT:
        return ConfigFile(Path(path), name, document, text)
    settings = _tool_settings(document)
    if settings is None:
        raise UsageError(f"{name} has no table [tool.sitemap-reader]")
    return ConfigFile(Path(path), name, settings, text, TOOL)


def find_config(folder: Path) -> tuple[Path | None, list[Path]]:
    """The nearest config file of a folder, and files that were left out, as other users may have put them there."""
    left_out: list[Path] = []
    for each in _searched(folder):
        for file in (each / FILE_NAME, each / PYPROJECT):
            if not os.path.isfile(file) or not has_settings(file):
                continue
            if not _may_be_foreign(file):
                return Path(os.path.relpath(file)), left_out  # as it is shown, in reports too
            left_out.append(file)
    return None, left_out


def config_of(path: str | None) -> tuple[Path | None, list[Path]]:
    return find_config(Path(os.curdir)) if path is None else (Path(path), [])


def _searched(folder: Path) -> list[Path]:
    """The folder, and those above it up to the root of its repository: what lies above belongs to something else."""
    try:
        folder = folder.absolute()
    except OSError:  # the working folder was removed
        return []
    folders = [folder, *folder.parents]
    root = next((index for index, each in enumerate(folders) if os.path.lexists(each / ".git")), 0)
    return folders[: root + 1]


def _may_be_foreign(file: Path) -> bool:
    """Whether another user owns the file, in a folder in which every user may create files, such as /tmp."""
    if not hasattr(os, "getuid"):
        return False
    is_open = file.parent.stat().st_mode & stat.S_IWOTH
    return bool(is_open) and file.lstat().st_uid not in (os.getuid(), _ROOT)


def has_settings(path: Path) -> bool:
    """Whether a file is for this program: a pyproject.toml only if it names it in a table of tools, or is damaged."""
    if path.name != PYPROJECT:
        return True
    try:
        with path.open("rb") as file:
            text = file.read(MAX_BYTES).decode("utf-8", "replace")
    except OSError:
        return False
    try:
        return TOOL[1] in text and _tool_settings(tomllib.loads(text)) is not None
    except (tomllib.TOMLDecodeError, RecursionError):
        return f"{TOOL[0]}.{TOOL[1]}" in text


def _tool_settings(document: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The table [tool.sitemap-reader] of a pyproject.toml; None without it."""
    tools = document.get(TOOL[0])
    settings = tools.get(TOOL[1]) if isinstance(tools, dict) else None
    return settings if isinstance(settings, dict) else None


# Texts, comments, brackets, what keys are made of, and ends of lines. A text without an end goes on to that of the line
# or file, so that each byte is read once.
_TOKEN = re.compile(
    r"""
    "{3}(?:[^\\]|\\.)*?(?:"{3,5}|\Z)
    | '{3}.*?(?:'{3,5}|\Z)
    | "(?:[^"\\\n]|\\.)*"?
    | '[^'\n]*'?
    | \#[^\n]*
    | [][{}=,.\n]
    """,
    re.DOTALL | re.VERBOSE,
)
_DEPTHS = {"[": 1, "{": 1, "]": -1, "}": -1}


def _deep_line(text: str) -> int:
    """The first line with more than MAX_NESTING brackets in each other, or parts of a key; 0 without one."""
    depth = parts = 0
    for token in _TOKEN.finditer(text):
        depth += _DEPTHS.get(token[0], 0)
        parts = parts + 1 if token[0] == "." else parts if len(token[0]) > 1 else 0
        if max(depth, parts) > MAX_NESTING:
            return text.count("\n", 0, token.start()) + 1
    return 0


# tomllib states no places. A statement is a table's header, or a key with its value, which may be of several lines.


def _lines(text: str) -> Iterator[tuple[Keys, int]]:
    """The path and the first line of each table and key of a valid document."""
    table: Keys = ()
    sizes: dict[Keys, int] = {}  # of arrays of tables
    for number, statement, parsed in _statements(text):
        if not parsed:
            continue
        if not statement.startswith("["):
            yield from ((keys, number) for keys in _paths(parsed, table))
            continue
        *_, names = _paths(parsed, ())  # the innermost table of the header
        names, is_array = (names[:-1], True) if isinstance(names[-1], int) else (names, False)
        table = ()
        for index, name in enumerate(names):
            table = (*table, name)
            if is_array and index == len(names) - 1:
                sizes[table] = sizes.get(table, 0) + 1
            if table in sizes:
                table = (*table, sizes[table] - 1)
        yield table, number


def _statements(text: str) -> Iterator[tuple[int, str, dict[str, Any]]]:
    """First line, text and value of each statement; a comment or blank line gives an empty value."""
    depth, start, number = 0, 0, 1
    text = text.replace("\r\n", "\n") + "\n"
    for token in _TOKEN.finditer(text):
        depth += _DEPTHS.get(token[0], 0)
        if token[0] == "\n" and depth == 0:
            statement = text[start : token.start()].strip()
            yield number, statement, {} if statement.startswith("#") else tomllib.loads(statement)
            start, number = token.end(), number + statement.count("\n") + 1


def _paths(value: Any, above: Keys) -> Iterator[Keys]:
    """The path of each table and key, outer ones first."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in pairs:
        yield (*above, key)
        yield from _paths(each, (*above, key))
