"""Elements of the extension namespaces (image, video, news, hreflang, mobile) -> fields of a UrlRecord.

In: the elements of an entry that are not the protocol's own. Out: values by field, with a Problem for each that cannot
be read (its value is None) and an Extra, where requested, for each element without a field. The tags and how each is
read are derived from EXTENSIONS and the annotations of the record classes.
Sources: Google's schemas sitemap-image/1.1, sitemap-video/1.1, sitemap-news/0.9; its help pages for xhtml:link.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, get_args, get_origin, get_type_hints, is_typeddict

import attrs

from ...model.columns import without_null
from ...model.records import EXTENSIONS, Alternate, Attribute, CommaSeparated, Extra, Precision, Url, UrlRecord
from ..normalise.dates import is_zero_of_clock, parse_date
from ..normalise.urls import is_app_link, is_clean, listed_url
from ..xml.elements import clark, is_core, own_text, stripped, text_of

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

    from ..normalise.dates import Date, Dialect

    Note = Callable[[str, str, str, str], None]  # (code, message, field, raw)
    ValueParser = Callable[["EntryContext", str, str], Any]  # (context, stripped text, field) -> value
    ElementReader = Callable[[Element, "EntryContext"], Any]


@attrs.define
class EntryContext:
    """The settings for reading the values of one entry.

    `base` is the URL that relative ones are resolved against; with `may_be_relative` they are no problem. `note` is
    called for each problem. `extras` collects the elements without a field; None: not requested.
    """

    base: str | None
    note: Note
    date_dialect: Dialect = "w3c"
    extras: list[Extra] | None = None
    may_be_relative: bool = False


# --- values: the text of a tag or attribute -> a typed value, or None with a Problem ---------------------------------


def text(context: EntryContext, text: str, field: str) -> str:
    """The text as it is."""
    return text


def comma_separated(context: EntryContext, text: str, field: str) -> tuple[str, ...]:
    """The parts between commas that are not blank."""
    return tuple(part.strip() for part in text.split(",") if part.strip())


def url(context: EntryContext, text: str, field: str) -> str | None:
    """A URL, normalised as a `loc` is, with the same problems."""
    return text if is_clean(text) else _url(context, text, field, "U01")


def href(context: EntryContext, text: str, field: str) -> str | None:
    """A URL, or a link into an app as written. A relative URL is L06, as search engines forbid it here."""
    return text if is_clean(text) or is_app_link(text) else _url(context, text, field, "L06")


def _url(context: EntryContext, text: str, field: str, code_of_relative: str) -> str | None:
    loc = listed_url(text, context.base, may_hold_own=True)
    for code, message in loc.faults(may_be_relative=context.may_be_relative):
        context.note(code_of_relative if code == "U01" else code, f"{field}: {message}", field, text)
    return loc.url


def date(context: EntryContext, text: str, field: str) -> Date | None:
    return read_date(text, field, context.date_dialect, context.note)


def read_date(text: str, field: str, dialect: Dialect, note: Note) -> Date | None:
    """A date with its precision, where there is no EntryContext: an entry's own lastmod."""
    value = parse_date(text, dialect)
    if value is None:
        note("D01", f'{field} "{text[:80]}" is no date', field, text)
    elif field not in _HISTORIC and is_zero_of_clock(value):
        note("D01", f'{field} "{text[:80]}" is no date of a page: it is the zero of a program\'s clock', field, text)
        return None
    elif value.repair:
        note("D06", f'{field} "{text[:80]}": {value.repair}', field, text)
    return value


# Fields whose date may be older than the Web.
_HISTORIC = frozenset({"video:premier_date"})


def boolean(context: EntryContext, text: str, field: str) -> bool | None:
    """`yes` or `no`, or one of their unambiguous variants."""
    value = _BOOLEANS.get(text.lower())
    if value is None:
        _unreadable(context, text, field, "is not yes or no")
    return value


_BOOLEANS = {
    **dict.fromkeys(("yes", "y", "true", "t", "1"), True),
    **dict.fromkeys(("no", "n", "false", "f", "0"), False),
}


@attrs.frozen
class Number:
    """The parser of whole or decimal numbers from 0 to `limit`, without comma or exponent."""

    convert: Callable[[str], float]
    limit: int

    def __call__(self, context: EntryContext, text: str, field: str) -> float | None:
        pattern, what = (_WHOLE, "a whole number") if self.convert is int else (_DECIMAL, "a number of 0 or more")
        if not pattern.fullmatch(text):
            _unreadable(context, text, field, f"is not {what}")
        elif (value := self.convert(text)) > self.limit:
            _unreadable(context, text, field, f"is more than {self.limit:,}")
        else:
            return value
        return None


# The lexical forms of the schemas' integers and decimals, of a plausible length.
_WHOLE = re.compile(r"\+?[0-9]{1,40}")
_DECIMAL = re.compile(r"\+?(?:[0-9]{1,40}(?:\.[0-9]{0,40})?|\.[0-9]{1,40})")


def _unreadable(context: EntryContext, text: str, field: str, why: str) -> None:
    context.note("V05", f'{field} "{text[:80]}" {why}', field, text)


# --- tags: the annotations of the record classes -> how each tag is read ---------------------------------------------


@attrs.frozen
class TagRule:
    """How a tag is read into the field of its name.

    `attributes` make the value an object, {"value": ..., attribute: ...}; `is_list` collects every occurrence.
    """

    parse: ValueParser = text
    attributes: Mapping[str, ValueParser] = attrs.field(factory=dict)
    is_list: bool = False


_PARSERS: dict[Any, ValueParser] = {
    str: text,
    Url: url,
    CommaSeparated: comma_separated,
    int: Number(int, 2**63 - 1),  # columns of numbers have 64 bits
    float: Number(float, 10**15),
    bool: boolean,
    datetime: date,
}


def _parser_of(hint: Any) -> ValueParser:
    """The parser for a type of _PARSERS, or for a number annotated with Max."""
    if hint in _PARSERS:
        return _PARSERS[hint]
    number, limit = get_args(hint)
    return Number(number, limit.value)


def _hints(record: type) -> dict[str, Any]:
    """The types of the fields of a record class or TypedDict, without `| None`."""
    return {name: without_null(hint) for name, hint in get_type_hints(record, include_extras=True).items()}


def _add_rules(tag: str, record: type) -> None:
    """Adds the rules of the tags in an element to TAG_RULES, and those of the tags that hold tags themselves."""
    rules = TAG_RULES[tag] = {}
    for field, hint in _hints(record).items():
        inner = f"{tag.partition(':')[0]}:{field}"
        is_list = get_origin(hint) is tuple
        kind = get_args(hint)[0] if is_list else hint
        attributes = _hints(kind) if is_typeddict(kind) else {}
        if is_typeddict(kind) and "value" not in attributes:
            EMPTY_OBJECTS[tag, inner] = dict.fromkeys(attributes)
            _add_rules(inner, kind)
        elif hint != Precision:
            parse = _parser_of(attributes.pop("value", kind))
            rules[inner] = TagRule(parse, {name: _parser_of(each) for name, each in attributes.items()}, is_list)


# Tag that holds tags -> the rules of these. A date fills two fields: itself and its precision.
TAG_RULES: dict[str, dict[str, TagRule]] = {}
# Element and a tag in it that holds tags -> the object of the latter, with nothing stated.
EMPTY_OBJECTS: dict[tuple[str, str], dict[str, None]] = {}
# Element of an entry -> the class of its record; void elements have none.
RECORD_CLASSES: dict[str, type] = {}
# Element of an entry -> its field of UrlRecord, and whether that is a list.
ELEMENT_FIELDS: dict[str, tuple[str, bool]] = {}
for _field, _extension in EXTENSIONS.items():
    _hint = _hints(UrlRecord)[_field]
    _is_list = get_origin(_hint) is tuple
    ELEMENT_FIELDS[_extension.tag] = (_field, _is_list)
    if not _extension.is_void:
        RECORD_CLASSES[_extension.tag] = get_args(_hint)[0] if _is_list else _hint
        _add_rules(_extension.tag, RECORD_CLASSES[_extension.tag])
FIELD_OF_TAG = {tag: tag.partition(":")[2] for rules in TAG_RULES.values() for tag in rules}
# The fields that are lists until the element ends.
LIST_FIELDS = {
    tag: [FIELD_OF_TAG[each] for each, rule in rules.items() if rule.is_list] for tag, rules in TAG_RULES.items()
}
_RECORD_LISTS = ["extras", *(field for field, is_list in ELEMENT_FIELDS.values() if is_list)]
# The tags inside of this one belong to the news element itself.
_PUBLICATION = ("news:news", "news:publication")
PUBLICATION_FIELDS = {"name", "language"}
# Tags that are valid only inside of an element, and all tags.
INNER_TAGS = frozenset({_PUBLICATION[1], *FIELD_OF_TAG, *(inner for _, inner in EMPTY_OBJECTS)})
TAGS = INNER_TAGS | ELEMENT_FIELDS.keys()
_FIELD_TAGS = TAGS | {"loc", "lastmod", "changefreq", "priority"}
# The markup of HTML that is written into titles and descriptions without escapes.
# fmt: off
_PROSE = frozenset({
    "a", "abbr", "b", "br", "em", "font", "i", "li", "ol", "p", "q", "s", "small", "span", "strong", "sub", "sup",
    "u", "ul",
})
# fmt: on
# An unknown tag of these prefixes is a mistake, as their schemas are closed.
_CLOSED = tuple(f"{extension.prefix}:" for extension in EXTENSIONS.values() if extension.is_closed)
# Once in Google's documentation: publishers still write it, and it is ignored without harm.
_WITHDRAWN = "news:geo_locations"


def read_extensions(elements: Iterable[Element], context: EntryContext) -> dict[str, Any]:
    """The fields of a UrlRecord that the elements of one entry fill, the protocol's own elements apart."""
    fields: dict[str, Any] = {}
    for element in elements:
        read = _READERS.get(element.tag)
        if read is None:
            _unused(element, context)
            continue
        field, is_list = ELEMENT_FIELDS[element.tag]
        if field in fields and not is_list:
            _repeated(element, context)
            continue
        value = read(element, context)
        if value is None:
            continue
        if is_list:
            fields.setdefault(field, []).append(value)
        else:
            fields[field] = value
    if context.extras:
        fields["extras"] = context.extras
    return with_tuples(fields, _RECORD_LISTS)


# --- one element -----------------------------------------------------------------------------------------------------


def _record_reader(tag: str, record: type) -> ElementReader:
    """The reader of an element that holds tags; None for one without a field that its class requires."""

    def read(element: Element, context: EntryContext) -> Any:
        fields = _fields(element, context)
        for what, field in missing_values(tag, fields):
            context.note("S11", what, field, stripped(element))
        return record(**fields) if all(map(fields.get, _REQUIRED[tag])) else None

    return read


def missing_values(tag: str, stated: Container[str] = ()) -> Iterator[tuple[str, str]]:
    """(message, field) of each value that an element needs, and that is not among the fields it states."""
    prefix, _, name = tag.partition(":")
    for field in _REQUIRED[tag]:
        if field not in stated:
            value = "location" if field == "loc" else field
            yield f"{_with_article(name)} without {_with_article(value)}", f"{prefix}:{field}"


def _with_article(noun: str) -> str:
    return f"an {noun}" if noun[0] in "aeiou" else f"a {noun}"


# Element -> the fields without which it has no record.
_REQUIRED = {
    tag: [field.name for field in attrs.fields(record) if field.default is attrs.NOTHING]
    for tag, record in RECORD_CLASSES.items()
}


def alternate(element: Element, context: EntryContext) -> Alternate | None:
    """The Alternate of an `xhtml:link`; None where it is a link of another kind, or has no usable href."""
    for child in element:
        _unused(child, context, element)
    language = element.get("hreflang") or _misspelt(element, "hreflang", "L01", context)
    if element.get("rel") != "alternate" and not _is_alternate(element, language, context):
        _unused(element, context)
        return None
    target = (element.get("href") or _misspelt(element, "href", "S10", context) or "").strip()
    if not target:
        context.note("S11", "an alternate without href", "xhtml:link", language or "")
        return None
    found = href(context, target, "xhtml:link href")
    return None if found is None else Alternate(language, found, element.get("media") or None)


def _misspelt(element: Element, meant: str, code: str, context: EntryContext) -> str | None:
    """The value of an attribute such as `hrefLang`, `href-lang` or `HREF`, which search engines do not read."""
    for name, value in element.items():
        local = name.rpartition("}")[2]
        if value and local != meant and local.lower().replace("-", "").replace("_", "") == meant:
            what = f"the attribute {local} was read as {meant}: that is how it is written"
            context.note(code, what, f"xhtml:link {meant}", value)
            return value
    return None


def _is_alternate(element: Element, language: str | None, context: EntryContext) -> bool:
    relations = (element.get("rel") or "").lower().split()
    if "alternate" in relations:
        return True
    target = element.get("href") or ""
    if not relations and language:
        context.note("S10", "an xhtml:link without rel: its hreflang makes it an alternate", "xhtml:link", language)
        return True
    if not (relations and target.strip()):
        missing = "href" if relations else "rel"
        context.note("S10", f"an xhtml:link without {missing}: no alternate", "xhtml:link", target)
        return False
    if not language:
        return False
    what = f'rel="{" ".join(relations)[:80]}" with hreflang: no alternate'
    context.note("S10", what, "xhtml:link", target)
    return False


def _flag(element: Element, context: EntryContext) -> bool:
    """True: the element is present. Its `type`, which Baidu's has, is an Extra."""
    for child in element:
        _unused(child, context, element)
    if context.extras is not None and element.attrib:
        context.extras.append(next(_extras(element)))
    return (element.get("type") or "").strip().lower() != "pc"


_READERS: dict[str, ElementReader] = {
    **dict.fromkeys(ELEMENT_FIELDS, _flag),
    **{tag: _record_reader(tag, record) for tag, record in RECORD_CLASSES.items()},
    "xhtml:link": alternate,
}


# --- the tags in an element ------------------------------------------------------------------------------------------


def _fields(element: Element, context: EntryContext) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    _fill(fields, TAG_RULES[element.tag], element, context)
    return with_tuples(fields, LIST_FIELDS[element.tag])


def with_tuples(fields: dict[str, Any], names: list[str]) -> dict[str, Any]:
    """The same fields with those of these names, which grew as lists, as tuples."""
    for name in names:
        if name in fields:
            fields[name] = tuple(fields[name])
    return fields


def _fill(fields: dict[str, Any], rules: dict[str, TagRule], element: Element, context: EntryContext) -> None:
    """Adds the values of the children. Of a tag that is allowed once, the first with a value counts."""
    for child in element:
        name = child.tag
        rule = rules.get(name)
        if rule is None:
            _fill_nested(fields, rules, child, element, context)
            continue
        written = _written(child, rule, context) if len(child) else (child.text or "").strip()
        if not written and not any(map(child.get, rule.attributes)):
            continue
        if FIELD_OF_TAG[name] in fields and not rule.is_list:
            _repeated(child, context)
        else:
            add_value(fields, rule, name, written, child.get, context)


def add_value(
    fields: dict[str, Any],
    rule: TagRule,
    name: str,
    written: str,
    get: Callable[[str], str | None],
    context: EntryContext,
) -> None:
    """Adds the value of a tag, from its stripped text and its attributes."""
    field = FIELD_OF_TAG[name]
    if rule.parse is date:
        found = date(context, written, name)
        fields[field], fields[f"{field}_precision"] = (found.moment, found.precision) if found else (None, None)
        return
    value = _value(rule, name, written, get, context)
    if rule.is_list:
        fields.setdefault(field, []).extend([] if value is None else [value])
    else:
        fields[field] = value


def _fill_nested(
    fields: dict[str, Any], rules: dict[str, TagRule], child: Element, element: Element, context: EntryContext
) -> None:
    """Adds the values of a child that may hold tags: a publication, or one of EMPTY_OBJECTS, which is an object."""
    place = (element.tag, child.tag)
    empty = EMPTY_OBJECTS.get(place)
    if empty is not None:
        field = child.tag.partition(":")[2]
        if fields.get(field, empty) != empty:
            _repeated(child, context)
        else:
            fields[field] = {**empty, **_fields(child, context)}
    elif place != _PUBLICATION:
        _unused(child, context, element)
    elif PUBLICATION_FIELDS & fields.keys():
        _repeated(child, context)
    else:
        _fill(fields, rules, child, context)


def _written(element: Element, rule: TagRule, context: EntryContext) -> str:
    """The text of a tag that holds elements: its own, and that of markup where it is prose."""
    strays = [child for child in element if not (rule.parse is text and child.tag in _PROSE)]
    if not strays:
        return stripped(element)
    whole = stripped(element)
    for child in strays:
        is_ours = child.tag in _FIELD_TAGS or is_core(child.tag)
        if is_ours or (text_of(child).strip() and not child.tag.startswith(_CLOSED)):
            name = child.tag.rpartition("}")[2][:80]
            context.note("S10", f"<{name}> is inside <{element.tag}>", name, whole)
        if not is_ours:
            _unused(child, context, element)
    return (own_text(element) or "").strip()


def _value(rule: TagRule, name: str, written: str, get: Callable[[str], str | None], context: EntryContext) -> Any:
    value = rule.parse(context, written, name) if written else None
    if not rule.attributes:
        return value
    parts = {"value": value}
    for attribute, parse in rule.attributes.items():
        stated = (get(attribute) or "").strip()
        parts[attribute] = parse(context, stated, f"{name} {attribute}") if stated else None
    return None if all(part is None for part in parts.values()) else parts


# --- elements without a field ----------------------------------------------------------------------------------------


def _repeated(element: Element, context: EntryContext) -> None:
    context.note("S10", f"<{element.tag}> is repeated: the first counts", element.tag, stripped(element))


def _unused(element: Element, context: EntryContext, inside: Element | None = None) -> None:
    """Notes an unknown or misplaced tag of the protocol or a closed schema; adds Extras where they are requested."""
    tag = element.tag
    if tag.startswith("pagemap:"):
        return
    if is_core(tag) or (tag.startswith(_CLOSED) and tag != _WITHDRAWN):
        what = "is unknown" if tag not in INNER_TAGS else "stands by itself" if inside is None else "does not belong"
        where = "" if inside is None else f" in <{inside.tag}>"
        context.note("S10", f"<{tag[:80]}> {what}{where}", tag[:80], stripped(element))
    if context.extras is not None and not is_core(tag):
        context.extras += _extras(element)


def _extras(element: Element, in_mixed: bool = False) -> Iterator[Extra]:
    """An Extra of the element, then of each element inside.

    The text of an element that has some between its children is given once, for the outermost such element.
    """
    namespace, name = clark(element.tag)
    attributes = (Attribute("{" + key if "}" in key else key, value) for key, value in element.items())
    before = own_text(element)
    is_mixed = before is None
    written = text_of(element) if is_mixed and not in_mixed else before or ""
    yield Extra(namespace, name, written.strip() or None, tuple(attributes))
    for child in element:
        yield from _extras(child, in_mixed or is_mixed)
