"""JSON lines -> the records that they were written from: what jsonl.py writes in, equal records out.

Checks types and cleans nothing: what a line says has been through read/normalise.py before. Never opens a file.
"""

from __future__ import annotations

import re
from datetime import datetime
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin, get_type_hints, is_typeddict

import attrs
import orjson

from ..model.errors import UsageError
from ..model.problems import CATALOGUE, Problem
from ..model.records import SitemapRef, UrlRecord
from .jsonl import TYPES, Line, ShortProblem, line_hints

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    Reader = Callable[[Any], Any]


def from_json(line: bytes | str | Mapping[str, Any]) -> Line:
    """The record that was written by json_line() or json_form(); UsageError says what is wrong with the line.

    It equals the record that was written, except for what the JSON form leaves out. The problems of a record have
    their code, field and raw text, the severity and title that the catalogue gives the code, and the record's
    `sitemap` and `line`. An Outcome has no `samples` (they are lines of their own), a SitemapRef no `authorities`,
    and of a removed URL there is what Change says.

    A key that is absent counts as null. Keys that belong to no record, as `site`, are passed over: who wants them
    parses the line first, and hands the dict on.

    >>> from_json(b'{"loc": "https://example.com/a", "priority": 0.8, "site": "example.com"}').priority
    0.8
    >>> from_json('{"loc": "https://example.com/a", "priority": "high"}')
    Traceback (most recent call last):
    sitemap_reader.model.errors.UsageError: URL record, priority: "high" is not a number
    """
    form: Any = _parsed(line) if isinstance(line, bytes | str) else line
    if not isinstance(form, dict):
        raise UsageError(f"a line is a JSON object, not {_shown(form)}")
    kind = form.get("type")
    if kind is not None and (not isinstance(kind, str) or kind not in TYPES):
        raise UsageError(f"type: {_shown(kind)} is none of {', '.join(TYPES)}; URL records have none")
    try:
        record: Line = _read_attrs(UrlRecord if kind is None else TYPES[kind], _nested(form))
    except _Wrong as wrong:
        where = "URL record" if kind is None else f'line of type "{kind}"'
        path = wrong.path.lstrip(".").removeprefix("record.")  # the line of a change is flat
        raise UsageError(f"{where}, {path}: {wrong.finding}") from None
    return record


class _Wrong(Exception):
    """A value that is not of its type; `path` grows on the way up: `.videos[0].duration`."""

    def __init__(self, finding: str, path: str = "") -> None:
        super().__init__(finding)
        self.finding = finding
        self.path = path


def _parsed(line: bytes | str) -> Any:
    try:
        return orjson.loads(line)
    except orjson.JSONDecodeError as exc:
        raise UsageError(f"no JSON: {exc}") from exc


def _nested(form: dict[str, Any]) -> dict[str, Any]:
    """The line of a change with its record as one: both have their keys side by side."""
    return {**form, "record": form} if form.get("type") == "change" else form


def _read_attrs(record: Any, form: dict[str, Any]) -> Any:
    """The fields that the form states; what is null or absent keeps the default of the class."""
    values = {}
    for name, read, may_be_absent in _fields(record):
        value = form.get(name)
        try:
            if value is not None:
                values[name] = read(value)
            elif not may_be_absent:
                values[name] = read(value) if name in form else _missing()
        except _Wrong as wrong:
            raise _Wrong(wrong.finding, f".{name}{wrong.path}") from None
    made = record(**values)
    if isinstance(made, UrlRecord | SitemapRef) and made.problems:
        made.problems = tuple(_restored(each, made, number) for number, each in enumerate(values["problems"]))
    return made


def _missing() -> Any:
    raise _Wrong("missing")


def _restored(short: ShortProblem, record: UrlRecord | SitemapRef, number: int) -> Problem:
    rule = CATALOGUE.get(short.code)
    if rule is None:
        raise _Wrong(f"{_shown(short.code)} is no problem code", f".problems[{number}].code")
    place = (record.sitemap, record.line, short.field, short.raw)
    return Problem(short.code, rule.severity, rule.title, *place)


@cache
def _fields(record: type) -> tuple[tuple[str, Reader, bool], ...]:
    """Name, reader, and whether the constructor has a default."""
    hints = line_hints(record)
    return tuple(
        (field.name, _reader(hints[field.name]), field.default is not attrs.NOTHING) for field in attrs.fields(record)
    )


def _reader(hint: Any) -> Reader:
    """How a value of this type is read: a scalar, a container of what can be read, or either of them or None."""
    if hint in _SCALAR_READERS:
        return _SCALAR_READERS[hint]
    arguments = get_args(hint)
    if get_origin(hint) in _CONTAINER_READERS:
        return _CONTAINER_READERS[get_origin(hint)](*arguments)
    if arguments:
        return _optional(arguments)
    return _typed_dict(hint) if is_typeddict(hint) else lambda value: _read_attrs(hint, _object(value))


def _exactly(what: str, *types: type) -> Reader:
    def read(value: Any) -> Any:
        if type(value) in types:
            return value
        raise _Wrong(f"{_shown(value)} is not {what}")

    return read


def _number(value: Any) -> float:
    return float(_exactly("a number", float, int)(value))


_STAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,6})?Z", re.ASCII)


def _moment(value: Any) -> datetime:
    if type(value) is str and _STAMP.fullmatch(value):
        try:
            return datetime.fromisoformat(value)
        except ValueError:
            pass  # of the right form, but not in the calendar
    raise _Wrong(f"{_shown(value)} is not a date like 2024-01-31T08:30:00Z")


_SCALAR_READERS: dict[Any, Reader] = {
    str: _exactly("text", str),
    int: _exactly("a whole number", int),
    bool: _exactly("true or false", bool),
    float: _number,
    datetime: _moment,
}


def _optional(hints: tuple[Any, ...]) -> Reader:
    """`X | None`."""
    (read,) = (_reader(hint) for hint in hints if hint is not type(None))
    return lambda value: None if value is None else read(value)


def _literal(*choices: str) -> Reader:
    def read(value: Any) -> Any:
        if type(value) is str and value in choices:
            return value
        raise _Wrong(f"{_shown(value)} is none of {', '.join(choices)}")

    return read


def _list(hint: Any) -> Reader:
    read_each = _reader(hint)

    def read(value: Any) -> list[Any]:
        if not isinstance(value, list | tuple):
            raise _Wrong(f"{_shown(value)} is not a list")
        return _each(enumerate(value), "[{}]", read_each)

    return read


def _tuple(hint: Any, _: Any) -> Reader:
    read = _list(hint)
    return lambda value: tuple(read(value))


def _dict(_: Any, hint: Any) -> Reader:
    read_each = _reader(hint)

    def read(value: Any) -> dict[str, Any]:
        form = _object(value)
        return dict(zip(form, _each(form.items(), ".{}", read_each), strict=True))

    return read


def _each(items: Iterable[tuple[Any, Any]], step: str, read: Reader) -> list[Any]:
    values = []
    for key, value in items:
        try:
            values.append(read(value))
        except _Wrong as wrong:
            raise _Wrong(wrong.finding, step.format(key) + wrong.path) from None
    return values


def _typed_dict(hint: Any) -> Reader:
    """Every key is present, whatever the line has."""
    readers = {name: _reader(each) for name, each in get_type_hints(hint).items()}

    def read(value: Any) -> dict[str, Any]:
        form = _object(value)
        return {name: _each([(name, form.get(name))], ".{}", read_each)[0] for name, read_each in readers.items()}

    return read


def _object(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise _Wrong(f"{_shown(value)} is not an object")
    return value


_CONTAINER_READERS: dict[Any, Callable[..., Reader]] = {list: _list, tuple: _tuple, dict: _dict, Literal: _literal}

_NAMES_IN_JSON = {"NoneType": "null", "list": "a list", "dict": "an object"}


def _shown(value: Any) -> str:
    """A value in a message, as JSON has it, cut."""
    if type(value) in (str, bool, int, float):
        return orjson.dumps(value if not isinstance(value, str) else value[:80]).decode()
    return _NAMES_IN_JSON.get(type(value).__name__, f"a {type(value).__name__}")
