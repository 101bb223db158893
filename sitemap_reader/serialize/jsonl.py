"""Records <-> JSON lines.

Keys are in the documented order, dates full stamps in UTC. A line read back gives an equal record, but for the messages
of its problems, which a line lacks; msgspec checks the types, and nothing is normalised.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache, partial
from operator import attrgetter
from typing import TYPE_CHECKING, Annotated, Any, Required, get_args, get_origin

import attrs
import orjson

from ..model.columns import NESTED, ObjectColumns, check_zone, is_object, item_of, without_null
from ..model.errors import UsageError
from ..model.problems import CATALOGUE, Problem
from ..model.records import NO_EXTENSIONS, Candidate, Change, Outcome, SitemapRef, UrlRecord, WatchedChange
from ..model.summary import Summary
from ..model.url_batch import UrlBatch
from .schema import COUNTS, REMOVED, SOMETIMES, TYPES, keys_of, typed_dict

if TYPE_CHECKING:
    from ..model.options import On
    from .schema import Line, ShortProblem

    Maker = Callable[[Any], Any]


# The fields that a site states for a URL; not its place (sitemap, line, site) nor its problems.
ALWAYS = ("lastmod", "lastmod_precision", "changefreq", "priority")
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
        check_zone(moment)
        moment = moment.astimezone(UTC)
    text = moment.isoformat()[:-6]  # without +00:00
    return (text.rstrip("0") if moment.microsecond else text) + "Z"


def to_dict(item: object, *, site: str | None = None) -> dict[str, Any]:
    """The item's JSON line as a dict: keys in the documented order, URL records without "type".

    An object of a subclass has the line of the record, without fields of its own. UsageError for an object of another
    class, and for a date without a zone.
    """
    kind = type(item)
    write = _TO_DICT.get(kind) or next((_TO_DICT[each] for each in kind.__mro__ if each in _TO_DICT), None)
    if write is None:
        raise UsageError(f"a {kind.__name__} has no JSON line; records, problems, outcomes and summaries have")
    json_object = write(item)
    if site is not None:
        json_object["site"] = site
    return json_object


def json_line(item: object, *, site: str | None = None) -> bytes:
    """One JSONL line, newline included."""
    return orjson.dumps(to_dict(item, site=site), option=orjson.OPT_APPEND_NEWLINE)


def encode_urls(batch: UrlBatch, *, site: str | None = None, is_new: bool = False) -> bytes:
    """The lines of the URLs of a batch, equal to those of json_line(); `is_new`: the lines of Changes that are new."""
    if isinstance(batch.store, ObjectColumns):
        items: Iterable[Any] = (Change("new", each) if is_new else each for each in batch.records())
        return b"".join([json_line(item, site=site) for item in items])
    end = b"}\n" if site is None else b',"site":' + orjson.dumps(site) + b"}\n"
    head = b'"type":"change","change":"new",' if is_new else b""
    problems = batch.problems.items()
    tails = {batch.start + index: b',"problems":' + orjson.dumps(short(each)) for index, each in problems}
    store: Any = batch.store
    return bytes(store.json_lines(batch.start, batch.stop, orjson.dumps(batch.sitemap), end, head, tails))


def json_column(batch: UrlBatch, name: str, site: str | None = None) -> Sequence[bytes | None]:
    """The JSON of the values of a key in the lines of a batch; None where a URL has no such key, or null."""
    constants = {"sitemap": batch.sitemap, "site": site}
    if name in constants:
        return [None if constants[name] is None else orjson.dumps(constants[name])] * len(batch)
    if name == "problems":
        problems = batch.problems
        return [orjson.dumps(short(problems[at])) if at in problems else None for at in range(len(batch))]
    if isinstance(batch.store, ObjectColumns):
        values = map(attrgetter(name), batch.records())
        stated = (None if value is None or value is False or value == () else _plain(value) for value in values)
        return [None if value is None else orjson.dumps(value) for value in stated]
    store: Any = batch.store
    found: list[bytes | None] = store.json_values(name, batch.start, batch.stop)
    return found


def changes_of(piece: UrlBatch | list[Change]) -> Iterable[Change]:
    """The URLs of a batch are new."""
    return (Change("new", record) for record in piece.records()) if isinstance(piece, UrlBatch) else piece


def encode_changes(changes: UrlBatch | list[Change], *, site: str | None = None) -> bytes:
    """The URLs of a batch are new."""
    if isinstance(changes, UrlBatch):
        return encode_urls(changes, site=site, is_new=True)
    return b"".join([json_line(change, site=site) for change in changes])


def _url_object(record: UrlRecord) -> dict[str, Any]:
    json_object: dict[str, Any] = {
        "loc": record.loc,
        "lastmod": stamp(record.lastmod),
        "lastmod_precision": record.lastmod_precision,
        "changefreq": record.changefreq,
        "priority": record.priority,
        "sitemap": record.sitemap,
        "line": record.line,
    }
    nested = _nested_of(record)
    if nested != _NOTHING_NESTED:
        for name, value in zip(NESTED, nested):  # noqa: B905 - strict takes longer
            if value:
                json_object[name] = _plain(value)
    if record.problems:
        json_object["problems"] = short(record.problems)
    return json_object


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
        json_object["problems"] = short(ref.problems)
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


def watched_keys(seq: int, at: datetime | None, *, first_reading: bool) -> dict[str, Any]:
    """The keys with which a watch begins the line of a change."""
    return {"seq": seq, "at": stamp(at), **({"first_reading": True} if first_reading else {})}


def short(problems: tuple[Problem, ...]) -> list[dict[str, Any]]:
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


def _typed_object(kind: str, value: Any) -> dict[str, Any]:
    fields = _plain(value)
    return {"type": kind, **{name: fields[name] for name in keys_of(TYPES[kind])}}


def _outcome_object(outcome: Outcome) -> dict[str, Any]:
    json_object = _typed_object("outcome", outcome)
    if outcome.tries <= 1:
        del json_object["tries"]
    return json_object


_TO_DICT: dict[type, Callable[[Any], dict[str, Any]]] = {
    UrlRecord: _url_object,
    SitemapRef: _ref_object,
    Problem: partial(_typed_object, "problem"),
    Outcome: _outcome_object,
    Candidate: partial(_typed_object, "candidate"),
    Summary: partial(_typed_object, "summary"),
    Change: _change_object,
    WatchedChange: lambda each: {
        **watched_keys(each.seq, each.at, first_reading=each.first_reading),
        **_change_object(each),
        "site": each.site,
    },
}


# --- JSON lines -> records --------------------------------------------------------------------------------------------


def from_json(line: bytes | str | Mapping[str, Any]) -> Line:
    """The record that was written by json_line() or to_dict(); UsageError says what is wrong with the line.

    It equals the record that was written, except for what a JSON line leaves out. The problems of a record have
    their code, field and raw text, the severity and title that the catalogue gives the code, and the record's
    `sitemap` and `line`. An Outcome has no `samples` (they are lines of their own), and `tries` is 1 where it was 0. A
    SitemapRef has no `authorities`, and a removed URL only the fields that Change lists. A change with a `seq` is a
    WatchedChange.

    An absent key counts as null. Keys that belong to no record, such as `site`, are ignored: to use them, parse the
    line first and pass the dict.

    >>> from_json(b'{"loc": "https://example.com/a", "priority": 0.8, "site": "example.com"}').priority
    0.8
    >>> from_json('{"loc": "https://example.com/a", "priority": "high"}')
    Traceback (most recent call last):
    sitemap_reader.model.errors.UsageError: URL record: Expected `float | null`, got `str` - at `$.priority`
    """
    try:
        json_object: Any = orjson.loads(line) if isinstance(line, bytes | str) else line
    except orjson.JSONDecodeError as exc:
        raise UsageError(f"no JSON: {exc}") from exc
    if not isinstance(json_object, dict):
        raise UsageError(f"a line is a JSON object, not {json_object!r:.60}")
    kind = json_object.get("type")
    if kind is not None and (not isinstance(kind, str) or kind not in TYPES):
        raise UsageError(f"type: {kind!r:.60} is none of {', '.join(TYPES)}; URL records have none")
    try:
        record: Line = _record(UrlRecord if kind is None else TYPES[kind], json_object)
    except misfits() as exc:
        where = "URL record" if kind is None else f'line of type "{kind}"'
        raise UsageError(f"{where}: {exc}") from None
    return record


def _record(kind: Any, json_object: dict[str, Any]) -> Any:
    if kind is Change and json_object.get("seq") is not None:
        kind = WatchedChange
    if kind is Problem and json_object.get("severity") == "info":  # its name in versions before 0.3
        json_object = {**json_object, "severity": "notice"}
    keys, values_of, make_fields = _reader(kind)
    fields = make_fields(zip(keys, values_of(json_object), strict=True))
    if issubclass(kind, Change):
        fields["record"] = _record(UrlRecord, json_object)
    record = kind(**fields)
    if "problems" in SOMETIMES.get(kind, ()) and record.problems:
        record.problems = tuple(_restored(each, record) for each in record.problems)
    return record


def _restored(short: ShortProblem, record: UrlRecord | SitemapRef) -> Problem:
    rule = CATALOGUE.get(short.code)
    if rule is None:
        raise UsageError(f"problems: {short.code!r:.60} is no problem code")
    return Problem(
        short.code, rule.severity, rule.title, record.sitemap, record.line, short.field, short.raw, record.loc
    )


@cache
def _reader(kind: Any) -> tuple[Iterable[str], Maker, Maker]:
    return keys_of(kind), checker(_checked_keys(kind)), _fields_maker(kind)


# --- types of values, for msgspec ---


def misfits() -> tuple[type[Exception], ...]:
    from msgspec import ValidationError  # not needed to start

    return ValidationError, OverflowError  # OverflowError: in UTC the year is 0 or 10000


def checker(keys: Mapping[str, Any]) -> Callable[[Any], tuple[Any, ...]]:
    """The function that returns the values of these keys of a JSON object, None where one is absent.

    It raises one of misfits() for a value that is not of its checked_type(), and where a key is absent that is never
    null.
    """
    from msgspec import convert, defstruct, field
    from msgspec.structs import astuple

    # A Struct, as it is made in a third of the time that a dict takes.
    row = defstruct(
        "Row",
        [
            (f"key_{number}", hint, field(name=name, default=None) if _may_be_null(hint) else field(name=name))
            for number, (name, hint) in enumerate(keys.items())
        ],
        kw_only=True,
    )
    return lambda json_object: astuple(convert(json_object, row))


@cache
def checked_type(hint: Any) -> Any:
    """The type with which msgspec checks a JSON value; objects become dicts.

    Any key may be null or absent, but for fields that have no default and are never null. Integers have 64 bits, as in
    Arrow, and a moment has a zone.
    """
    from msgspec import Meta

    if hint is int:
        return Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]
    if hint is datetime:
        return Annotated[datetime, Meta(tz=True)]
    if hint == COUNTS:
        return dict[str, checked_type(int)]  # type: ignore[misc] # computed
    if item := item_of(hint):
        return list[checked_type(item)] if get_origin(hint) is list else tuple[checked_type(item), ...]  # type: ignore[misc]
    if is_object(hint):
        keys = {name: each if _may_be_null(each) else Required[each] for name, each in _checked_keys(hint).items()}
        return typed_dict(hint.__name__, keys, total=False)
    return checked_type(without_null(hint)) | None if _may_be_null(hint) else hint


def _checked_keys(kind: Any) -> dict[str, Any]:
    needed = _without_default(kind)
    types = {name: checked_type(hint) for name, hint in keys_of(kind).items()}
    return {name: each if name in needed else each | None for name, each in types.items()}


def _may_be_null(hint: Any) -> bool:
    return without_null(hint) is not hint


def _without_default(kind: Any) -> list[str]:
    if not attrs.has(kind):
        return [*keys_of(kind)]
    return [field.name for field in attrs.fields(kind) if field.default is attrs.NOTHING]


@cache
def _maker(hint: Any) -> Maker | None:
    """The function that makes a value of this type from one of its checked_type(); None where it is the same."""
    if hint is datetime:
        return lambda moment: moment if moment.tzinfo is UTC else moment.astimezone(UTC)
    if is_object(hint):
        make_fields = _fields_maker(hint)
        return lambda values: hint(**make_fields(values.items()))
    makers = [*filter(None, map(_maker, get_args(hint)))]
    if not makers or not item_of(hint):
        return makers[0] if makers else None
    return lambda values: tuple(map(makers[0], values))


@cache
def _fields_maker(kind: Any) -> Maker:
    """The same for the fields of an object: null becomes the default, and what is absent without a default null."""
    makers = {name: maker for name, hint in keys_of(kind).items() if (maker := _maker(hint))}
    blank = dict.fromkeys(_without_default(kind))

    def make_fields(values: Iterable[tuple[str, Any]]) -> dict[str, Any]:
        fields = blank.copy()
        for name, value in values:
            if value is not None:
                fields[name] = makers[name](value) if name in makers else value
        return fields

    return make_fields
