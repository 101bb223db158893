"""One side of a comparison: a path, a Snapshot, a State, a stream or records in, rows for SQL to sort and compare out.

What a row says is a place, a key, how new it is, a digest of what the site states, and the line itself. On the way it
notes what the side holds. Never has more than one line in memory.
"""

from __future__ import annotations

import os
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, BinaryIO, cast

import attrs
import orjson

from ..model.errors import UsageError
from ..serialize.dumps import SQLITE, checked, numbered_forms
from ..serialize.dumps_part import Dump, open_file
from ..serialize.jsonl import ALWAYS, NESTED, REMOVED, STATED, json_form

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from contextlib import ExitStack

    from ..model.records import SitemapRef, UrlRecord
    from ..serialize.dumps import Form
    from ..state.state import State

    Source = str | os.PathLike[str] | Dump | State | BinaryIO | Iterable[UrlRecord | SitemapRef | Form]

_EVERY_LINE = (*ALWAYS, "sitemap", "line")


@attrs.define
class Side:
    """One of the dumps: its lines with their numbers, and, once they are read, what there was among them."""

    name: str
    numbered: Iterator[tuple[int, Form]]
    before: int = 0  # places are numbers of lines; those of NEW come behind all of OLD's
    last: int = 0
    urls: int = 0
    keys: set[str] = attrs.field(factory=set)
    others: dict[str, int] = attrs.field(factory=dict)
    failed: int = 0  # documents that gave nothing
    incomplete: int = 0  # documents that gave a part

    def rows(self, compared: tuple[str, ...]) -> Iterator[tuple[int, bytes, str, bytes, bytes]]:
        """Place, key, newest, stated, line of each URL."""
        keys, digest = self.keys, digester(compared)
        for number, form in self.numbered:
            self.last = number
            if "type" in form:
                self._pass_over(number, form)
                continue
            self.urls += 1
            if not keys.issuperset(form):
                keys.update(form)
            try:
                line = orjson.dumps(form)
            except TypeError as exc:  # a record of somebody's own, with what JSON cannot hold
                raise UsageError(f"{self.name}:{number}: {exc}") from exc
            lastmod = form.get("lastmod")
            # Without the Z: 00.25 is behind 00, and "00.25Z" before "00Z".
            newest = lastmod[:-1] if isinstance(lastmod, str) else ""
            yield self.before + number, key_of(form, by_site=True), newest, digest(form), line

    def place(self, place: int) -> str:
        """`file:line`."""
        return f"{self.name}:{place - self.before}"

    def known(self) -> frozenset[str]:
        """The keys that it can speak of: all, unless it has been written with some of them only.

        Extras are read on request only: where there are none, nobody knows.
        """
        if self.urls and not self.keys.issuperset(_EVERY_LINE):
            return frozenset(self.keys)
        return frozenset(name for name in STATED if name != "extras" or name in self.keys or not self.urls)

    def check(self) -> None:
        """UsageError where there is something, but no URL."""
        if self.others and not self.urls:
            kinds = ", ".join(f"{count:,} of type {kind}" for kind, count in self.others.items())
            raise UsageError(f"{self.name} has no URL, only lines of other types ({kinds}): compare dumps of URLs")

    def _pass_over(self, number: int, form: Form) -> None:
        kind = form["type"]
        if kind == "change":
            raise UsageError(f"{self.name}:{number}: that is a list of changes, and no dump: compare the dumps instead")
        self.others[kind] = self.others.get(kind, 0) + 1
        if kind == "outcome" and form.get("complete") is False:
            gave_some = bool(form.get("entries"))
            self.incomplete += gave_some
            self.failed += not gave_some


def open_side(source: Source, name: str, files: ExitStack) -> Side:
    """A side that is not read yet; `name` is for what has none of its own."""
    if isinstance(source, Dump):
        return Side(source.name, source.numbered())
    if isinstance(source, str | os.PathLike):
        path = os.fspath(source)
        if is_state(path):
            return _state_side(files.enter_context(_states()(path)))
        return Side(path, numbered_forms(files.enter_context(open_file(path)), path))
    if hasattr(source, "read"):
        return stream_side(cast("BinaryIO", source), str(getattr(source, "name", name)))
    if isinstance(source, _states()):
        return _state_side(source)
    if not hasattr(source, "__iter__"):
        told = "give a path, a Snapshot, a binary stream, or UrlRecords"
        raise UsageError(f"{name} is a {type(source).__name__}; {told}")
    items = cast("Iterable[Any]", source)
    forms = enumerate((item if isinstance(item, dict) else json_form(item) for item in items), 1)
    return Side(name, ((number, checked({**form}, name, number)) for number, form in forms))


def is_state(path: str) -> bool:
    """Whether it is a state, or another database of SQLite's, by its first bytes."""
    with open_file(path) as file:
        return file.read(len(SQLITE)) == SQLITE


def _states() -> type[State]:
    """Only where one may be meant: dumps need nothing of what it is made of."""
    from ..state.state import State

    return State


def _state_side(state: State) -> Side:
    """The URLs of a state, with what it keeps of them; its sites are named if there are several."""
    sites = [site.name for site in state.sites()]
    forms = (
        {name: form[name] for name in REMOVED} | ({"site": site} if len(sites) > 1 else {})
        for site in sites
        for form in map(json_form, state.entries(site))
    )
    return Side(state.name, enumerate(forms, 1))


def stream_side(stream: BinaryIO, name: str) -> Side:
    """The same of a stream that stays open."""
    return Side(name, numbered_forms(stream, name))


def key_of(form: Form, *, by_site: bool) -> bytes:
    site = form.get("site") or "" if by_site else ""
    return blake2b(f"{site}\n{form['loc']}".encode(), digest_size=16).digest()


def digester(names: tuple[str, ...]) -> Callable[[Form], bytes]:
    """The same bytes for the same statements: they are what is sorted, and compared."""
    always = [name for name in names if name in ALWAYS]
    sometimes = [name for name in names if name in NESTED]
    seldom = frozenset(sometimes)

    def digest(form: Form) -> bytes:
        values = [value_of(form, name) for name in always]
        if not seldom.isdisjoint(form):
            values += [[name, value] for name in sometimes if (value := value_of(form, name)) is not None]
        return blake2b(orjson.dumps(values), digest_size=16).digest()

    return digest


def value_of(form: Form, name: str) -> Any:
    """What is stated under a name, None for nothing."""
    value = form.get(name)
    if type(value) is str or value is None:
        return value
    if name in NESTED and not value:
        return None  # false and empty are what absence is
    return _canonical(value)


def _canonical(value: Any) -> Any:
    """Without what says nothing, in one order of keys: other tools leave nulls out, or put them in."""
    if isinstance(value, list):
        return [_canonical(each) for each in value] or None
    if isinstance(value, dict):
        stated = ((key, _canonical(value[key])) for key in sorted(value))
        return {key: each for key, each in stated if each is not None}
    return _number(value) if type(value) is float else value


def _number(value: float) -> float:
    """1.0 as 1, which other tools make of it."""
    return int(value) if value.is_integer() and abs(value) < 2**53 else value
