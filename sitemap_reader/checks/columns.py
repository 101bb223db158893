"""What the columns of a crawl file are called: their names in, where in a row what stands out.

Never opens a file. A name that is not in the table is passed over.
"""

from __future__ import annotations

import re
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import attrs
import orjson

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

# Field -> the names of its columns, the best one first, in small letters and without blanks, hyphens and underscores.
# Screaming Frog's `Status` beside `Status Code` is a text such as OK; an own `status` is the number.
NAMES: dict[str, tuple[str, ...]] = {
    "url": ("url", "address", "fullurl", "pageurl", "uri", "pageaddress", "page"),
    "status": (
        "statuscode", "httpstatuscode", "httpstatus", "httpcode", "httpresponsecode", "responsecode",
        "responsestatuscode", "status", "code",
    ),
    "canonical": (
        "canonical", "canonicallinkelement1", "canonicallinkelement", "canonicalurl", "canonicallink", "canonicaltag",
        "relcanonical", "canonicallinkelement2", "httpcanonical1", "httpcanonical", "canonicalheader",
    ),
    "noindex": ("noindex", "isnoindex", "hasnoindex", "metanoindex", "headernoindex"),
    "robots": (
        "metarobots1", "metarobots2", "metarobots", "metarobotstag", "robots", "robotsmeta", "robotsdirective",
        "robotsdirectives", "directives", "xrobotstag1", "xrobotstag2", "xrobotstag", "xrobots", "robotsheader",
        "respheadersxrobotstag",
    ),
    "indexable": ("indexability", "indexable", "isindexable", "isindexablepage", "indexablestatus"),
    "reason": ("indexabilitystatus", "nonindexablereason", "indexabilityreason"),
    "content_type": ("contenttype", "mimetype", "content"),
    "hash": ("hash", "contenthash", "bodyhash", "pagehash", "htmlhash", "md5", "md5hash", "sha1", "sha256", "checksum"),
}  # fmt: skip

# What of these a row says is said by many.
STATED = ("status", "noindex", "robots", "reason", "content_type", "indexable")


@attrs.frozen
class Columns:
    """Where in a row each field stands: in several places, the best one first. `told` are the fields that are there.

    `stating` gives all that STATED stands on, as it is; `known` is room for what came of it.
    """

    names: tuple[str, ...]
    places: dict[str, tuple[int, ...]]
    told: frozenset[str]
    stating: Callable[[Sequence[Any]], Any]
    known: dict[Any, Any] = attrs.field(factory=dict)

    def text(self, field: str, values: Sequence[Any]) -> str:
        """What the first column says that says something; nothing where none does."""
        for place in self.places[field]:
            if place < len(values):
                value = values[place]
                if text := value if type(value) is str else _text(value):
                    return text
        return ""

    def texts(self, field: str, values: Sequence[Any]) -> list[tuple[str, str]]:
        """All that is said, each with the name of its column; lists with commas between."""
        return [
            (self.names[place], text)
            for place in self.places[field]
            if place < len(values) and (text := _text(values[place], every=True))
        ]


def columns_of(names: Iterable[str]) -> Columns:
    """The columns of a header, or of an object's keys."""
    names = tuple(names)
    found: dict[str, int] = {}
    for place, name in enumerate(names):
        found.setdefault(re.sub(r"[\W_]+", "", name).casefold(), place)
    places = {field: tuple(found[each] for each in known if each in found) for field, known in NAMES.items()}
    places["status"] = places["status"][:1]  # where it is empty, the others are texts, or say nothing
    told = frozenset(field for field in places if places[field])
    stated = [place for field in STATED for place in places[field]]
    return Columns(names, places, told, itemgetter(*stated) if stated else _nothing)


def _nothing(values: Sequence[Any]) -> None:
    """What stands in no column."""


def _text(value: Any, *, every: bool = False) -> str:
    """A value of JSON as a table has it; of a list the first, unless every one is wanted."""
    if type(value) is str:
        return value
    if value is None:
        return ""
    if type(value) is list:
        return ",".join(map(_text, value if every else value[:1]))
    return orjson.dumps(value).decode()
