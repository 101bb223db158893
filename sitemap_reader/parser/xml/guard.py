"""expat with defusedxml's guard and our own: no DTD declares anything, no entity is resolved, nothing is fetched."""

from __future__ import annotations

from xml.parsers import expat

from defusedxml.ElementTree import DefusedXMLParser

from ...model.problems import report
from .errors import Stop

# Its handlers only raise: one serves for all parsers, and making one takes longer than making a parser.
_DEFUSED = DefusedXMLParser(target=object())
# What builder.py sets, which holds the parser that it is set in.
_HANDLERS = (
    "StartElementHandler",
    "EndElementHandler",
    "CharacterDataHandler",
    "StartCdataSectionHandler",
    "EndCdataSectionHandler",
)


class BareDoctype(Exception):
    """A DOCTYPE that names an external subset: to be blanked before expat sees it."""


def guarded_parser(head: bytes) -> expat.XMLParserType:
    """A parser that stands behind `head`, which it has read with no handler but the guard's.

    From a DTD it raises Stop or DefusedXmlException, from one that only names another BareDoctype.
    """
    parser = expat.ParserCreate("utf-8", "}")
    parser.buffer_text = True
    parser.EntityDeclHandler = _DEFUSED.defused_entity_decl
    parser.UnparsedEntityDeclHandler = _DEFUSED.defused_unparsed_entity_decl
    parser.ExternalEntityRefHandler = _DEFUSED.defused_external_entity_ref_handler  # type: ignore[assignment]  # raises
    parser.StartDoctypeDeclHandler = _judge_doctype
    if head:
        parser.Parse(head, False)
    return parser


def forget(parser: expat.XMLParserType) -> None:
    """Frees a parser that is done with: its handlers hold it, and it would wait for a garbage collection."""
    for handler in _HANDLERS:
        setattr(parser, handler, None)


def _judge_doctype(name: str, system: str | None, public: str | None, has_internal_subset: int) -> None:
    """A DOCTYPE may be there (RSS 0.91 has one), but it may not declare anything."""
    if has_internal_subset:
        raise Stop(report("S09", "the DTD has an internal subset: the document is refused"))
    if system or public:
        raise BareDoctype
