"""Records <-> JSON lines.

to_dict() and json_line() write a record, encode_urls() those of a batch, with keys in the documented order and dates as
full stamps in UTC; from_json() reads a line back into an equal record, but for the messages of its problems, which a
line lacks; msgspec checks the types, and nothing is normalised. Never opens a file.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from functools import cache
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin, get_type_hints, is_typeddict

import attrs
import orjson

from ..model.errors import UsageError
from ..model.problems import CATALOGUE, Problem
from ..model.records import EXTENSIONS, NO_EXTENSIONS, Candidate, Change, Outcome, SitemapRef, UrlRecord, WatchedChange
from ..model.url_batch import UrlBatch
from ..parser.compiled import HAS_SCANNER, scanner

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Reader = Callable[[Any], Any]


# The version of the lines: raised if a key is removed, becomes optional or changes its type (docs/versions.md).
JSONL_VERSION = 1

Line = UrlRecord | SitemapRef | Problem | Outcome | Candidate | Change
# Value of "type" -> record class. The line of a UrlRecord has no "type".
TYPES: dict[str, type[Line]] = {
    "sitemap": SitemapRef,
    "candidate": Candidate,
    "problem": Problem,
    "outcome": Outcome,
    "change": Change,
}
# Fields of a record that its line does not have.
UNWRITTEN: dict[type, tuple[str, ...]] = {
    SitemapRef: ("authorities",),
    Problem: ("remedy",),
    Outcome: ("samples", "authorities", "lastmod", "lastmod_precision", "skipped"),
}
_LINE = orjson.OPT_APPEND_NEWLINE | orjson.OPT_UTC_Z
# The fields in the line of a removed URL.
REMOVED = ("loc", "lastmod", "lastmod_precision", "changefreq", "priority", "sitemap")

# The fields that a site states for a URL; not its place (sitemap, line, site) nor its problems.
On = Literal["any", "lastmod"]
ALWAYS = ("lastmod", "lastmod_precision", "changefreq", "priority")
NESTED = (*EXTENSIONS, "extras")
STATED = (*ALWAYS, *NESTED)
COMPARED: dict[On, tuple[str, ...]] = {"any": STATED, "lastmod": ("lastmod", "lastmod_precision")}


def stamp(moment: datetime | None) -> str | None:
    """The moment as `YYYY-MM-DDTHH:MM:SS[.ffffff]Z`, trailing zeros trimmed; None for None.

    >>> stamp(datetime(2024, 1, 31, 8, 30, 0, 250000, tzinfo=UTC))
    '2024-01-31T08:30:00.25Z'
    """
    if moment is None:
        return None
    if moment.tzinfo is not UTC:
        if moment.utcoffset() is None:
            raise UsageError(f"{moment.isoformat()} has no zone: dates of records are aware, and in UTC")
        moment = moment.astimezone(UTC)
    text = moment.isoformat()[:-6]  # without +00:00
    return (text.rstrip("0") if moment.microsecond else text) + "Z"


def to_dict(item: object, *, site: str | None = None) -> dict[str, Any]:
    """The item's JSON line as a dict: keys in the documented order, URL records without "type".

    An object of a subclass has the line of the record, without fields of its own. UsageError for an object of another
    class, and for a date without a zone.
    """
    write = _TO_DICT.get(type(item)) or _inherited(type(item))
    json_object = write(item)
    if site is not None:
        json_object["site"] = site
    return json_object


def json_line(item: object, *, site: str | None = None) -> bytes:
    """One JSONL line, newline included."""
    return orjson.dumps(to_dict(item, site=site), option=orjson.OPT_APPEND_NEWLINE)


def encode_urls(batch: UrlBatch, *, site: str | None = None, is_new: bool = False) -> bytes:
    """The lines of the URLs of a batch, equal to those of json_line(); `is_new`: the lines of Changes that are new."""
    # URLs that feedparser read have no line, and the scanner writes numbers.
    if HAS_SCANNER and batch.is_plain and (batch.block or None not in batch.columns.lines):
        sitemap = orjson.dumps(batch.sitemap)
        end = b"}\n" if site is None else b',"site":' + orjson.dumps(site) + b"}\n"
        if batch.block is not None and not is_new:
            block, start, stop = batch.block
            return block.json_lines(start, stop, sitemap, end)
        return scanner.json_lines_of(batch.columns, sitemap, end, b'"type":"change","change":"new",' if is_new else b"")
    data, encode = bytearray(), orjson.dumps
    for record in batch.records():
        lastmod = record.lastmod
        # What orjson writes as stamp() does: a whole second in UTC.
        is_usual = lastmod is None or (lastmod.tzinfo is UTC and not lastmod.microsecond)
        json_object = _url_fields(record, lastmod if is_usual else stamp(lastmod))
        if is_new:
            json_object = {"type": "change", "change": "new", **json_object}
        if site is not None:
            json_object["site"] = site
        data += encode(json_object, None, _LINE)
    return bytes(data)


def encode_changes(changes: UrlBatch | list[Change], *, site: str | None = None) -> bytes:
    """The lines of Changes; the URLs of a batch are new."""
    if isinstance(changes, UrlBatch):
        return encode_urls(changes, site=site, is_new=True)
    return b"".join([json_line(change, site=site) for change in changes])


def _url_object(record: UrlRecord) -> dict[str, Any]:
    return _url_fields(record, stamp(record.lastmod))


def _url_fields(record: UrlRecord, lastmod: datetime | str | None) -> dict[str, Any]:
    json_object: dict[str, Any] = {
        "loc": record.loc,
        "lastmod": lastmod,
        "lastmod_precision": record.lastmod_precision,
        "changefreq": record.changefreq,
        "priority": record.priority,
        "sitemap": record.sitemap,
        "line": record.line,
    }
    add_details(json_object, record)
    return json_object


def add_details(json_object: dict[str, Any], record: UrlRecord) -> None:
    """Adds the keys of what only some URLs have: extensions, extras and Problems."""
    nested = _nested_of(record)
    if nested != _NOTHING_NESTED:
        for name, value in zip(NESTED, nested):  # noqa: B905 - strict takes longer
            if value:
                json_object[name] = _plain(value)
    if record.problems:
        json_object["problems"] = _short(record.problems)


_nested_of = attrgetter(*NESTED)
_NOTHING_NESTED = (*NO_EXTENSIONS, ())


def _ref_object(ref: SitemapRef) -> dict[str, Any]:
    json_object: dict[str, Any] = {
        "type": "sitemap",
        "loc": ref.loc,
        "lastmod": stamp(ref.lastmod),
        "lastmod_precision": ref.lastmod_precision,
        "sitemap": ref.sitemap,
        "line": ref.line,
    }
    if ref.problems:
        json_object["problems"] = _short(ref.problems)
    return json_object


def _change_object(change: Change) -> dict[str, Any]:
    record = _url_object(change.record)
    if change.change == "removed":
        record = {name: record[name] for name in REMOVED}
    json_object = {"type": "change", "change": change.change, **record}
    if change.change == "updated":
        json_object["changed"] = list(change.changed)
        json_object["previous_lastmod"] = stamp(change.previous_lastmod)
        json_object["previous_lastmod_precision"] = change.previous_lastmod_precision
    return json_object


def _watched_object(change: WatchedChange) -> dict[str, Any]:
    return {"seq": change.seq, "at": stamp(change.at), **_change_object(change), "site": change.site}


def _short(problems: tuple[Problem, ...]) -> list[dict[str, Any]]:
    return [{"code": problem.code, "field": problem.field, "raw": problem.raw} for problem in problems]


_SCALARS = frozenset({str, int, float, bool, type(None)})


def _plain(value: Any) -> Any:
    """A value of a record as JSON has it: every key present, dates as stamps, tuples as lists."""
    kind = type(value)
    if kind in _SCALARS:
        return value
    if kind in _RECORD_FIELDS:
        names, values_of = _RECORD_FIELDS[kind]
        return {
            name: each if type(each) in _SCALARS else _plain(each)
            for name, each in zip(names, values_of(value))  # noqa: B905 - strict takes a third longer
        }
    if kind is tuple or kind is list:
        return [_plain(each) for each in value]
    if isinstance(value, datetime):
        return stamp(value)
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    names = tuple(field.name for field in attrs.fields(kind))
    _RECORD_FIELDS[kind] = names, attrgetter(*names)
    return _plain(value)


# Class of a record -> the names of its fields, and the function that returns their values. A cache: any thread may add.
_RECORD_FIELDS: dict[type, tuple[tuple[str, ...], Callable[[Any], tuple[Any, ...]]]] = {}


def _typed(kind: str) -> Callable[[Any], dict[str, Any]]:
    record = TYPES[kind]
    names = [field.name for field in attrs.fields(record) if field.name not in UNWRITTEN.get(record, ())]

    def typed(value: Any) -> dict[str, Any]:
        fields = _plain(value)
        return {"type": kind, **{name: fields[name] for name in names}}

    return typed


_TO_DICT: dict[type, Callable[[Any], dict[str, Any]]] = {
    UrlRecord: _url_object,
    SitemapRef: _ref_object,
    Problem: _typed("problem"),
    Outcome: _typed("outcome"),
    Candidate: _typed("candidate"),
    Change: _change_object,
    WatchedChange: _watched_object,
}


def _inherited(kind: type) -> Callable[[Any], dict[str, Any]]:
    """What writes the objects of a subclass."""
    for each in kind.__mro__:
        if each in _TO_DICT:
            return _TO_DICT[each]
    raise UsageError(f"a {kind.__name__} has no JSON line; records, problems and outcomes have")


@attrs.define
class ShortProblem:
    """A problem in the line of its record, which has the place; CATALOGUE has severity and title."""

    code: str
    field: str | None = None
    raw: str | None = None


def line_hints(record: type) -> dict[str, Any]:
    """The types of a record's fields in its line."""
    hints = get_type_hints(record)
    if record in (UrlRecord, SitemapRef):
        hints["problems"] = tuple[ShortProblem, ...]
    return hints


# --- JSON lines -> records --------------------------------------------------------------------------------------------


def from_json(line: bytes | str | Mapping[str, Any]) -> Line:
    """The record that was written by json_line() or to_dict(); UsageError says what is wrong with the line.

    It equals the record that was written, except for what a JSON line leaves out. The problems of a record have
    their code, field and raw text, the severity and title that the catalogue gives the code, and the record's
    `sitemap` and `line`. An Outcome has no `samples` (they are lines of their own), a SitemapRef no `authorities`,
    and a removed URL has only the fields that Change lists. A change with a `seq` is a WatchedChange.

    An absent key counts as null. Keys that belong to no record, such as `site`, are ignored: to use them, parse the
    line first and pass the dict.

    >>> from_json(b'{"loc": "https://example.com/a", "priority": 0.8, "site": "example.com"}').priority
    0.8
    >>> from_json('{"loc": "https://example.com/a", "priority": "high"}')
    Traceback (most recent call last):
    sitemap_reader.model.errors.UsageError: URL record, priority: "high" is not a number
    """
    json_object: Any = _parsed(line) if isinstance(line, bytes | str) else line
    if not isinstance(json_object, dict):
        raise UsageError(f"a line is a JSON object, not {_shown(json_object)}")
    kind = json_object.get("type")
    if kind is not None and (not isinstance(kind, str) or kind not in TYPES):
        raise UsageError(f"type: {_shown(kind)} is none of {', '.join(TYPES)}; URL records have none")
    try:
        return _record(UrlRecord if kind is None else TYPES[kind], json_object)
    except Misfit as misfit:
        where = "URL record" if kind is None else f'line of type "{kind}"'
        raise UsageError(f"{where}, {misfit.path.lstrip('.')}: {misfit.finding}") from None


def _parsed(line: bytes | str) -> Any:
    try:
        return orjson.loads(line)
    except orjson.JSONDecodeError as exc:
        raise UsageError(f"no JSON: {exc}") from exc


def _record(kind: type[Line], json_object: dict[str, Any]) -> Line:
    if kind is Change:
        kind = Change if json_object.get("seq") is None else WatchedChange
        # The line of a change has the keys of its record, too.
        json_object = {**json_object, "record": _record(UrlRecord, json_object)}
    stated = _prepare_object(kind)(json_object)  # type: ignore[arg-type] # a class is hashable
    short_problems = stated.pop("problems", ()) if kind in (UrlRecord, SitemapRef) else ()
    struct, values_of = _struct(kind)  # type: ignore[arg-type] # a class is hashable
    record: Any = kind(*values_of(convert(stated, struct, json_object)))
    if short_problems:
        short = convert({"problems": short_problems}, _ShortProblems).problems
        record.problems = tuple(_restored(each, record, number) for number, each in enumerate(short))
    return record  # type: ignore[no-any-return]


@cache
def _struct(kind: Any) -> tuple[Any, Callable[[Any], tuple[Any, ...]]]:
    """A Struct with the fields of a record, and the function for its values: msgspec makes attrs classes slowly."""
    from msgspec import NODEFAULT, defstruct, field
    from msgspec.structs import astuple

    def default(of: Any) -> Any:
        if isinstance(of, attrs.Factory):  # type: ignore[arg-type] # it is a class
            return field(default_factory=of.factory)
        return NODEFAULT if of is attrs.NOTHING else of

    hints = get_type_hints(kind)
    fields = [(each.name, hints[each.name], default(each.default)) for each in attrs.fields(kind)]
    return defstruct(kind.__name__, fields), astuple


@attrs.define
class _ShortProblems:
    problems: tuple[ShortProblem, ...]


def _restored(short: ShortProblem, record: UrlRecord | SitemapRef, number: int) -> Problem:
    rule = CATALOGUE.get(short.code)
    if rule is None:
        raise Misfit(f".problems[{number}].code", f"{_shown(short.code)} is no problem code")
    return Problem(
        short.code, rule.severity, rule.title, record.sitemap, record.line, short.field, short.raw, record.loc
    )


# --- what msgspec does not know of our lines ---

_STAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,6})?Z", re.ASCII)


def _moment(value: Any) -> Any:
    """The moment of a stamp; anything else becomes what no type takes."""
    if type(value) is str and _STAMP.fullmatch(value):
        try:
            return datetime.fromisoformat(value)
        except ValueError:
            pass  # the format is right, the day is not in the calendar
    return NotImplemented


@cache
def _prepare(hint: Any) -> Reader | None:
    """The function that prepares a JSON value of this type for msgspec; None where there is nothing to do.

    Null counts as absent where the class has a default, a TypedDict gets every key, and dates are moments.
    """
    if hint is datetime:
        return _moment
    if attrs.has(hint) or is_typeddict(hint):
        return _prepare_object(hint)  # type: ignore[no-any-return]
    inner = [] if get_origin(hint) is Literal else [*filter(None, map(_prepare, get_args(hint)))]
    if not inner or get_origin(hint) not in (list, tuple):
        return inner[0] if inner else None
    (prepare,) = inner
    return lambda value: [*map(prepare, value)] if isinstance(value, list | tuple) else value


@cache
def _prepare_object(kind: Any) -> Any:
    hints = get_type_hints(kind)
    fields = attrs.fields(kind) if attrs.has(kind) else ()
    defaults = {field.name for field in fields if field.default is not attrs.NOTHING}
    blank = {} if fields else dict.fromkeys(hints)
    parts = {name: prepare_part for name, hint in hints.items() if (prepare_part := _prepare(hint))}

    def prepare(value: Any) -> Any:
        if type(value) is not dict:
            return value
        stated = blank.copy()
        for name, each in value.items():
            if each is None:
                if name not in defaults:
                    stated[name] = None
            else:
                stated[name] = parts[name](each) if name in parts else each
        return stated

    return prepare


# --- misfits ---


class Misfit(Exception):
    """A value that is not of its type; `path` is where it is, such as `.videos[0].duration`."""

    def __init__(self, path: str, finding: str) -> None:
        super().__init__(path, finding)
        self.path, self.finding = path, finding


def convert(value: Any, kind: Any, written: Any = None) -> Any:
    """The JSON value as this type, by msgspec; Misfit for another one. `written` is the value before preparation."""
    import msgspec  # not needed to start

    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as exc:
        raise _misfit(str(exc), value if written is None else written) from None


_PATH = re.compile(r" - at `\$([^`]*)`$")
_STEP = re.compile(r"\.([^.\[]+)|\[([^\[\]]+)\]")
_MISSING = re.compile(r"Object missing required field `(\w+)`")
_NO_DATE = "is not a date like 2024-01-31T08:30:00Z"
# How a message of msgspec begins -> ours.
_FINDINGS = {
    "Expected `str": "is not text",
    "Expected `int": "is not a whole number of at most 64 bits",
    "Expected `float": "is not a number",
    "Expected `bool": "is not true or false",
    "Expected `array": "is not a list",
    "Expected `object": "is not an object",
    "Expected `datetime": _NO_DATE,
    "Invalid RFC3339": _NO_DATE,
    "Invalid enum": "is none of the words that are allowed; `sitemap-reader schema json` lists them",
}


def _misfit(message: str, value: Any) -> Misfit:
    """The Misfit of a message of msgspec, with the value at its path."""
    found = _PATH.search(message)
    path = found[1] if found else ""
    if missing := _MISSING.match(message):
        return Misfit(f"{path}.{missing[1]}", "missing")
    for name, index in _STEP.findall(path):
        if index == "...":  # a key, which msgspec does not name: only objects of numbers have any
            key = next(key for key, number in value.items() if type(number) is not int)
            path, value = path.replace("[...]", f".{key}"), value[key]
        else:
            value = value[name or int(index)]
    finding = next((ours for beginning, ours in _FINDINGS.items() if message.startswith(beginning)), message)
    return Misfit(path, f"{_shown(value)} {finding}")


_NAMES_IN_JSON = {"NoneType": "null", "list": "a list", "dict": "an object"}


def _shown(value: Any) -> str:
    """A value as JSON for a message, cut at 80 characters."""
    if type(value) in (str, bool, int, float):
        return orjson.dumps(value if not isinstance(value, str) else value[:80]).decode()
    return _NAMES_IN_JSON.get(type(value).__name__, f"a {type(value).__name__}")
