"""Reads the export of a crawler: a CSV table, JSON lines or a workbook, whose columns have any usual names.

Text may be gzipped. The columns of Screaming Frog are known in its languages, too.

Anything but a crawl file is a UsageError with file, line and advice.
"""

from __future__ import annotations

import csv
import io
import os
import re
import stat
import unicodedata
import warnings
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from itertools import chain, count, islice, repeat, zip_longest
from operator import itemgetter
from typing import TYPE_CHECKING, Any, BinaryIO, TypedDict, TypeVar, cast

import attrs
import orjson

from ..model.errors import UsageError, install_hint
from ..parser.normalise.urls import clean_url, comparable, is_clean, is_web_url, origin
from ..serialize.byte_streams import MAGIC, damage, decompressed
from ..serialize.dumps import MAX_LINE_BYTES, SHOWN_CHARS, SQLITE
from .page_signals import Refresh, forbids_indexing, header_forbids_indexing, read_refresh

if TYPE_CHECKING:
    Record = tuple[int, "Columns", Sequence[Any]]  # line, columns and values


# --- columns ---

# Field -> the names of its columns, by preference, in lower case without blanks, hyphens and underscores.
# Screaming Frog's `Status` beside `Status Code` is a text such as OK; a `status` alone is the number.
COLUMN_NAMES: dict[str, tuple[str, ...]] = {
    "url": ("url", "address", "fullurl", "pageurl", "uri", "pageaddress", "page", "requestendpoint"),
    "status": (
        "statuscode", "httpstatuscode", "httpstatus", "httpcode", "httpresponsecode", "responsecode",
        "responsestatuscode", "status", "code",
    ),
    "canonical": (
        "canonical", "canonicallinkelement1", "canonicallinkelement", "canonicalurl", "canonicallink", "canonicaltag",
        "relcanonical", "canonicallinkelement2", "httpcanonical1", "httpcanonical2", "httpcanonical", "canonicalheader",
        "canonicals",
    ),
    "noindex": ("noindex", "isnoindex", "hasnoindex", "metanoindex", "headernoindex"),
    "robots": (
        "metarobots1", "metarobots2", "metarobots", "metarobotstag", "robots", "robotsmeta", "robotsdirective",
        "robotsdirectives", "directives", "metadirectives",
    ),
    "robots_header": (
        "xrobotstag1", "xrobotstag2", "xrobotstag", "xrobots", "robotsheader", "respheadersxrobotstag",
        "responseheadersxrobotstag", "headerdirectives",
    ),
    "indexable": ("indexability", "indexable", "isindexable", "isindexablepage", "indexablestatus"),
    "reason": ("indexabilitystatus", "nonindexablereason", "indexabilityreason"),
    "content_type": (
        "contenttype", "mimetype", "content", "respheaderscontenttype", "responseheaderscontenttype",
    ),
    "status_text": ("status", "statustext", "httpstatustext"),
    "redirect_url": ("redirecturl", "redirecturi", "redirectsto", "redirecttarget", "redirecturl1"),
    "final_url": ("finalurl",),
    "final_status": ("finalstatus",),
    "refresh": ("metarefresh1", "metarefresh"),
    "canonical_fault": ("canonicalfault",),
    "empty": ("empty",),
    "inlinks": (
        "inlinks", "uniqueinlinks", "internalinlinks", "noofallinlinks", "noofinlinks", "noofinternalinlinks",
        "incominginternallinks", "internallinksin", "inlinkscount", "numberofinlinks",
    ),
    "depth": ("crawldepth", "depth", "pagecrawldepth", "crawllevel", "clickdepth"),
    "redirected_from": ("redirecturls",),
    "redirect_statuses": ("redirectreasons",),
    "soft404": ("soft404", "issoft404"),
    "error": ("fetcherror",),
    "hash": ("hash", "contenthash", "bodyhash", "pagehash", "htmlhash", "md5", "md5hash", "sha1", "sha256", "checksum"),
}  # fmt: skip

# The same, as Screaming Frog names its columns in German, French, Spanish, Italian, Portuguese and Japanese.
LOCALISED_NAMES: dict[str, tuple[str, ...]] = {
    "url": ("Adresse", "Dirección", "Indirizzo", "Endereço", "アドレス"),
    "status": (
        "Status-Code", "Code HTTP", "Code de réponse", "Código de respuesta", "Código de estado", "Codice di risposta",
        "Codice di stato", "Código de resposta", "Código de status", "ステータスコード",
    ),
    "status_text": ("Statut", "Respuesta", "Estado", "Risposta", "Stato", "Resposta", "ステータス"),
    "content_type": (
        "Inhaltstyp", "Inhalt", "Type de contenu", "Contenu", "Tipo de contenido", "Tipo di contenuto",
        "Tipo de conteúdo", "コンテンツタイプ",
    ),
    "indexable": ("Indexierbarkeit", "Indexabilité", "Indexabilidad", "Indicizzabilità", "Indexabilidade"),
    "reason": (
        "Indexierbarkeitsstatus", "Statut d'indexabilité", "État d'indexabilité", "Estado de indexabilidad",
        "Stato di indicizzabilità", "Status de indexabilidade",
    ),
    "canonical": (
        "Canonical-Linkelement 1", "Canonical-Link-Element 1", "Kanonisches Link-Element 1",
        "Élément de lien en version canonique 1", "Élément de lien canonique 1", "Lien canonique 1",
        "Elemento de enlace canónico 1", "Elemento link canonico 1", "Elemento de link canônico 1",
        "Canonical-Linkelement 2", "Élément de lien en version canonique 2", "Élément de lien canonique 2",
        "Elemento de enlace canónico 2", "Elemento link canonico 2",
    ),
    "redirect_url": (
        "Weiterleitungs-URL", "Umleitungs-URL", "URL de redirection", "URL de redirección", "URL di reindirizzamento",
        "URL de redirecionamento",
    ),
    "inlinks": (
        "Eingehende Links", "Liens entrants", "Enlaces entrantes", "Link in entrata",
        "Anzahl eindeutiger eingehender Links",
        "Liens entrants uniques", "Nombre de liens entrants uniques", "Inlinks únicos",
        "Número de enlaces entrantes únicos", "Numero di link in entrata unici",
    ),
    "depth": (
        "Crawl-Tiefe", "Crawltiefe", "Crawl profondeur", "Profondeur de crawl", "Profondeur d'exploration",
        "Niveau de profondeur", "Nivel de profundidad", "Profundidad de rastreo", "Livello di profondità",
        "Profondità di scansione", "Nível de profundidade",
    ),
}  # fmt: skip

# What joins several values of a column: advertools writes `a@@b`.
_SEPARATOR = "@@"
# Objects in objects become columns with dotted names, such as `response.status_code`, down to this depth.
_MAX_DEPTH = 3

# Fields with few different values, which many rows share.
SHARED_FIELDS = (
    "status", "status_text", "noindex", "robots", "robots_header", "reason", "content_type", "indexable", "soft404",
    "error", "empty", "canonical_fault",
)  # fmt: skip


@attrs.frozen
class Columns:
    """The columns of each field by preference, as indexes into a row; `fields` are those with a column."""

    names: tuple[str, ...]
    places: dict[str, tuple[int, ...]]
    fields: frozenset[str]
    shared: Callable[[Sequence[Any]], Any]  # returns the raw values of SHARED_FIELDS in a row
    cache: dict[Any, Any] = attrs.field(factory=dict)  # these -> their parsed values

    def text(self, field: str, values: Sequence[Any]) -> str:
        """The first value that is not empty among the columns of a field; empty if there is none."""
        for place in self.places[field]:
            if place < len(values):
                value = values[place]
                if text := value if type(value) is str else _text(value):
                    return text
        return ""

    def texts(self, field: str, values: Sequence[Any]) -> list[tuple[str, str]]:
        """All values of a field that are not empty, with the names of their columns; lists joined by commas."""
        return [
            (self.names[place], text)
            for place in self.places[field]
            if place < len(values) and (text := _text(values[place], every=True))
        ]


def plain_text(text: str) -> str:
    """A text in lower case, without accents, blanks and punctuation.

    >>> plain_text("Statut d'indexabilité"), plain_text("Status-Code")
    ('statutdindexabilite', 'statuscode')
    """
    return re.sub(r"[\W_]+", "", unicodedata.normalize("NFKD", text)).casefold()


_NAMES = {
    field: tuple(map(plain_text, (*known, *LOCALISED_NAMES.get(field, ())))) for field, known in COLUMN_NAMES.items()
}


def columns_of(names: Iterable[str]) -> Columns:
    names = tuple(names)
    found: dict[str, int] = {}
    for place, name in enumerate(names):
        found.setdefault(plain_text(name), place)
    places = {
        field: tuple(dict.fromkeys(found[each] for each in known if each in found)) for field, known in _NAMES.items()
    }
    places["status"] = places["status"][:1]  # where it is empty, the others are texts or empty, too
    places["status_text"] = tuple(each for each in places["status_text"] if each not in places["status"])
    fields = frozenset(field for field in places if places[field])
    stated = [place for field in SHARED_FIELDS for place in places[field]]
    return Columns(names, places, fields, itemgetter(*stated) if stated else lambda values: None)


def _text(value: Any, *, every: bool = False) -> str:
    """A JSON value as text; of a list the first item, or every one."""
    if type(value) is str:
        return value
    if value is None:
        return ""
    if type(value) is list:
        return ",".join(map(_text, value if every else value[:1]))
    return orjson.dumps(value).decode()


# --- lines ---

_BOMS_16 = (b"\xff\xfe", b"\xfe\xff")
_HEAD_BYTES = 4096


class Lines:
    """The lines of a file as text, with their line ends, decompressed and decoded; UsageError if one cannot be read."""

    def __init__(self, stream: BinaryIO, name: str) -> None:
        self._name = name
        self._number = 0
        source = cast("io.BufferedReader", stream)
        try:
            if source.peek(_HEAD_BYTES).startswith(MAGIC["gzip"]):
                source = decompressed(stream, "gzip", name)
            self._text = io.TextIOWrapper(source, _encoding(source.peek(_HEAD_BYTES), name), newline="")
        except (EOFError, zlib.error, OSError) as exc:
            raise self._unreadable(exc) from exc

    def __iter__(self) -> Lines:
        return self

    def __next__(self) -> str:
        try:
            line = self._text.readline(MAX_LINE_BYTES)
        except (UnicodeDecodeError, EOFError, zlib.error, OSError) as exc:
            raise self._unreadable(exc) from exc
        if not line:
            raise StopIteration
        self._number += 1
        if len(line) == MAX_LINE_BYTES:
            reason = f"more than {MAX_LINE_BYTES:,} characters without a line end"
            raise UsageError(f"{self._name}:{self._number}: {reason}", remedy="export the crawl again")
        return line

    def close(self) -> None:
        self._text.close()

    def _unreadable(self, exc: Exception) -> UsageError:
        place = f"{self._name}:{self._number + 1}"
        if isinstance(exc, UnicodeDecodeError):
            # Lines decoded earlier were returned, so exc.object begins with the next one.
            number = self._number + 1 + exc.object.count(b"\n", 0, exc.start)
            fault = "not UTF-8" if exc.encoding == "utf-8" else "damaged UTF-16"
            return UsageError(f'{self._name}:{number}: {fault}: save it as UTF-8 (in Excel, "CSV UTF-8")')
        if isinstance(exc, EOFError):
            return UsageError(f"{place}: the gzip file is cut off here", remedy="compress it again")
        if isinstance(exc, damage()):
            return UsageError(f"{place}: the gzip file is damaged ({exc})", remedy="compress it again")
        reason = getattr(exc, "strerror", None) or exc
        return UsageError(f"cannot read {self._name}: {reason}", remedy="give a file that you may read")


# Magic bytes of other formats -> what to do.
_ZIP = b"PK\x03\x04"
_BINARIES = (
    (_ZIP, "that is a ZIP file within another: extract it"),
    (b"\xd0\xcf\x11\xe0", "that is an Excel workbook of the old kind: save it as .xlsx or CSV"),
    (SQLITE, "that is an SQLite database: export the crawl as CSV, or as JSON lines"),
    (b"PAR1", "that is Parquet: convert it to CSV, or to JSON lines"),
    ((*MAGIC.values(), b"BZh", b"\xfd7zXZ"), "it is compressed: decompress it first"),
)


def _encoding(head: bytes, name: str) -> str:
    if head.startswith(_BOMS_16):
        return "utf-16"
    for beginnings, reason in _BINARIES:
        if head.startswith(beginnings):
            raise UsageError(f"{name}: {reason}")
    if b"\0" in head:
        raise UsageError(f"{name}: that is not text: export the crawl as CSV, or as JSON lines, in UTF-8")
    return "utf-8-sig"


def open_crawl_file(name: str) -> BinaryIO:
    """The open file; UsageError unless it is a regular file, which can be read twice."""
    try:
        mode = os.stat(name).st_mode
        if stat.S_ISREG(mode):
            return open(name, "rb")
    except FileNotFoundError:
        remedy = "export one from the crawler, as CSV or JSON lines"
        raise UsageError(f"there is no file {name}", remedy=remedy) from None
    except (OSError, ValueError) as exc:  # ValueError: the name holds a NUL
        reason = getattr(exc, "strerror", None) or exc
        raise UsageError(f"cannot read {name}: {reason}", remedy="give a file that you may read") from exc
    if stat.S_ISDIR(mode):
        raise UsageError(f"{name} is a folder", remedy="give the file of the crawl")
    raise UsageError(
        f"{name} is not a regular file, and a crawl is read more than once: write it to a file, and give that"
    )


# How a line begins that audit() wrote with save_checks.
CHECK_LINE = '{"type":"url_check",'


def is_check_file(name: str) -> bool:
    """Whether a crawl file has checked URLs, and so only such that a sitemap listed."""
    with open_crawl_file(name) as stream:
        if _is_zip(stream):
            return False
        with closing(Lines(stream, name)) as lines:
            return next(lines, "").startswith(CHECK_LINE)


def shown(text: str) -> str:
    """A text for a message: quoted, and cut if it is long."""
    return repr(text if len(text) <= SHOWN_CHARS else f"{text[:SHOWN_CHARS]}…")


Value = TypeVar("Value")


class _SharedValues(TypedDict):
    """Fields of a CrawledPage that many rows share."""

    status: int | None
    noindex: bool
    indexable: bool
    soft_404: bool
    error: str | None
    reason: str | None
    directives: str | None
    empty: bool
    canonical_fault: str | None


DELIMITERS = ",;\t"
# The header is in the first lines: Screaming Frog may write a title above it, Excel a line with the delimiter.
HEADER_LINES = 5


@attrs.frozen
class CrawledPage:
    """A row of a crawl file. `line` is the first of its record; URLs are normalised like those of records."""

    line: int
    url: str
    status: int | None = None  # None: it was not fetched, or there is no column
    canonical: str | None = None  # the URL itself if it is only written differently
    noindex: bool = False
    hash: str | None = None  # the crawler's, of the content
    indexable: bool = True  # False for other content than HTML, and where the crawler states that it cannot be indexed
    soft_404: bool = False  # an error page with a status of 200
    error: str | None = None  # why there was no response, where that is a fault of the page
    reason: str | None = None  # a key of REASONS, as the crawler states it
    directives: str | None = None  # what forbids indexing, and where it is
    redirect_url: str | None = None  # the first target; "" where there is none, None where that is not known
    final_url: str | None = None
    final_status: int | None = None
    refresh: Refresh | None = None  # to another URL, which is absolute
    canonicals: tuple[str, ...] = ()  # all of them, if they differ
    canonical_fault: str | None = None  # a Kind of C11
    empty: bool = False
    is_orphan: bool | None = None  # no link of the site leads to it; None: unknown, or the start page
    title: str | None = None


@attrs.define
class CrawlFile:
    """A crawl file on disk; iterating over it yields its rows, each time from the beginning, and sets its counts."""

    name: str
    fields: set[str] = attrs.field(factory=set)  # those with a column
    unusable: int = 0  # rows that were skipped, as they have no URL of a page
    first_unusable: int | None = None  # the line of the first of them

    def __iter__(self) -> Iterator[CrawledPage]:
        self.fields, self.unusable, self.first_unusable = set(), 0, None
        last, rows = None, 0
        with _opened_records(self.name) as records:
            for number, columns, values in records:
                text = columns.text("url", values)
                url = text if is_clean(text) else clean_url(text).url
                if url is not None:
                    rows += 1
                    yield self._page(number, url, columns, values)
                    yield from _redirects(number, columns, values)
                elif any(values):
                    last = number, text
                    self.unusable += 1
                    self.first_unusable = self.first_unusable or number
                self.fields |= columns.fields
        if not rows:
            if last is None:
                raise UsageError(f"{self.name} has no row of a page: export the crawl again")
            number, text = last
            raise UsageError(
                f"{self.name} has no row with a URL of a page; {shown(text)} in line {number} is not one: "
                "give absolute URLs, with https://"
            )

    def _page(self, number: int, url: str, columns: Columns, values: Sequence[Any]) -> CrawledPage:
        fields = columns.fields
        canonicals = _canonicals(columns, values, url) if "canonical" in fields else ()
        return CrawledPage(
            number,
            url,
            canonical=canonicals[0] if canonicals else None,
            canonicals=canonicals if len(canonicals) > 1 else (),
            hash=columns.text("hash", values).strip() or None,
            is_orphan=None if _OF_LINKS.isdisjoint(fields) else _is_orphan(columns, values, url),
            **self._shared_values(number, columns, values),
            **({} if _OF_TARGETS.isdisjoint(fields) else _targets(columns, values, url)),
        )

    def _shared_values(self, number: int, columns: Columns, values: Sequence[Any]) -> _SharedValues:
        """Status, noindex and others, cached by their raw values: few different ones occur."""
        try:
            key = columns.shared(values)
            stated: _SharedValues | None = columns.cache.get(key)
        except (IndexError, TypeError):  # a row that ends early, or has lists
            return self._read_all(number, columns, values)
        if stated is None:
            stated = self._read_all(number, columns, values)
            if len(columns.cache) < _MAX_CACHED and len(repr(key)) < _MAX_CACHED_CHARS:
                columns.cache[key] = stated
        return stated

    def _read_all(self, number: int, columns: Columns, values: Sequence[Any]) -> _SharedValues:
        status = next(self._read("status", _status, number, columns, values), None)
        noindex = any([*self._read("noindex", _truth, number, columns, values)])
        forbidding = [
            f"{name}: {text}"
            for field, forbids in (("robots", forbids_indexing), ("robots_header", header_forbids_indexing))
            for name, text in columns.texts(field, values)
            if forbids(text)
        ]
        reason = _reason(columns.text("reason", values)) or _reason_of_status(status, columns, values)
        indexable = not columns.text("indexable", values).strip().casefold().startswith(_NOT_INDEXABLE)
        error = columns.text("error", values) or (_no_response(columns, values) if status is None else None)
        return {
            "status": status,
            "noindex": noindex or bool(forbidding) or reason == "noindex",
            "indexable": indexable and _is_html(columns.text("content_type", values)),
            "soft_404": any([*self._read("soft404", _truth, number, columns, values)]),
            "error": error,
            "reason": reason,
            "directives": "; ".join(forbidding) or None,
            "empty": any([*self._read("empty", _truth, number, columns, values)]),
            "canonical_fault": columns.text("canonical_fault", values) or None,
        }

    def _read(
        self, field: str, read: Callable[[str], Value], number: int, columns: Columns, values: Sequence[Any]
    ) -> Iterator[Value]:
        """The parsed values of the columns of a field; UsageError for an invalid one."""
        for column, text in columns.texts(field, values):
            try:
                yield read(text)
            except ValueError:
                place = f"{self.name}:{number}: {shown(text)} in the column {column}"
                raise UsageError(f"{place} is {_EXPECTED[field]}") from None


_OF_TARGETS = frozenset({"redirect_url", "final_url", "refresh"})
_OF_LINKS = frozenset({"inlinks", "depth"})


def _targets(columns: Columns, values: Sequence[Any], url: str) -> dict[str, Any]:
    """The fields of where a page leads."""
    target = columns.text("redirect_url", values).strip()
    refresh = read_refresh(columns.text("refresh", values))
    leads_to = clean_url(refresh.target, url).url if refresh else None
    final = columns.text("final_status", values)
    return {
        "redirect_url": (clean_url(target, url).url or "") if "redirect_url" in columns.fields else None,
        "final_url": columns.text("final_url", values) or None,
        "final_status": int(match[1]) if (match := _STATUS.fullmatch(final)) else None,
        "refresh": Refresh(refresh.seconds, leads_to) if refresh and leads_to and leads_to != url else None,
    }


def _canonicals(columns: Columns, values: Sequence[Any], url: str) -> tuple[str, ...]:
    """The different canonical URLs of a page, the preferred one first."""
    stated = [values[place] for place in columns.places["canonical"] if place < len(values) and values[place]]
    if stated == [url]:  # as of most pages
        return (url,)
    texts = (
        each
        for value in stated
        for item in (value if type(value) is list else [value])
        for each in _text(item).split(_SEPARATOR)
        if each
    )
    return tuple(dict.fromkeys(each for text in texts if (each := resolved_canonical(text, url)) is not None))


def _is_orphan(columns: Columns, values: Sequence[Any], url: str) -> bool | None:
    """Whether the crawler reached a page by no link: none leads to it, and it has no depth. Not of the start page."""
    depth, links = columns.text("depth", values).strip(), columns.text("inlinks", values).strip()
    has_links = None if not links else _ZERO.fullmatch(links) is None
    if depth and not _ZERO.fullmatch(depth):
        return False
    if depth or url == f"{origin(url)}/":
        return False if has_links else None
    if has_links is not None:
        return not has_links
    return True if "depth" in columns.fields else None


_ZERO = re.compile(r"0+(?:[.,]0*)?")

# What a crawler states as the reason why a page cannot be indexed, in the languages of Screaming Frog. The first that
# matches counts.
REASONS: dict[str, re.Pattern[str]] = {
    "blocked": re.compile("robotstxt"),
    "noindex": re.compile("noindex"),
    "redirected": re.compile("redirect|redirig|reindirizz|redirecion|weiterleit|umgeleit|weitergeleit"),
    "canonicalised": re.compile("canoni|kanonis"),
    "client error": re.compile(
        "client(?:seitiger)?(?:error|fehler)|(?:erreur|error|errore|erro)(?:du|de|del|do)?client"
    ),
    "server error": re.compile("server(?:seitiger)?(?:error|fehler)|(?:erreur|error|errore|erro)(?:du|de|del|do)?serv"),
    "no response": re.compile(
        "noresponse|keineantwort|(?:sans|aucune)reponse|sinrespuesta|nessunarisposta|semresposta"
    ),
}
# The same of a text in place of a status.
_NO_RESPONSE = re.compile(
    f"{REASONS['no response'].pattern}|timed?out|dns|lookup|refused|reset|unreachable|unknownhost|nosuchhost"
    "|(?:connection|connect)(?:error|failed|closed|aborted)|ssl|tls|certificate|readerror|socket|zeituberschreitung"
    "|verbindung|delai|connexion|tiempo|conexion|connessione|tempoesgotado"
)


def _reason(text: str) -> str | None:
    plain = plain_text(text)
    return next((name for name, pattern in REASONS.items() if pattern.search(plain)), None) if plain else None


def _reason_of_status(status: int | None, columns: Columns, values: Sequence[Any]) -> str | None:
    """`blocked`, if a text in place of a status says so: it may also stand in the column of the status."""
    if status is not None:
        return None
    texts = (columns.text(field, values) for field in ("status_text", "status"))
    return next((reason for reason in map(_reason, texts) if reason == "blocked"), None)


def _no_response(columns: Columns, values: Sequence[Any]) -> str | None:
    """Why nothing responded, as the crawler states it in place of a status."""
    for field in ("status_text", "status", "reason"):
        text = columns.text(field, values).strip()
        if text and _NO_RESPONSE.search(plain_text(text)):
            return text
    return None


# Limits of the cache: a column with one of these names may hold long texts instead.
_MAX_CACHED = 1000
_MAX_CACHED_CHARS = 1000
_EXPECTED = {
    "status": "no HTTP status: give a number such as 200, or nothing where the page was not fetched",
    **dict.fromkeys(("noindex", "soft404", "empty"), "neither true nor false: give true, false, 1, 0, yes or no"),
}


def _redirects(number: int, columns: Columns, values: Sequence[Any]) -> Iterator[CrawledPage]:
    """The URLs from which the crawler was redirected to that of the row, which has no other row for them."""
    if "redirected_from" not in columns.fields:
        return
    texts = (columns.texts(field, values) for field in ("redirected_from", "redirect_statuses"))
    sources, statuses = (text[0][1].split(_SEPARATOR) if text else [] for text in texts)
    for text, status in zip_longest(sources, statuses[: len(sources)], fillvalue=""):
        url = clean_url(text).url
        if url is not None:  # a redirect by a meta tag has a word for its reason
            yield CrawledPage(number, url, int(status) if _STATUS.fullmatch(status) else _FOUND)


_FOUND = 302  # a redirect of unknown kind


# --- values ----------------------------------------------------------------------------------------------------


def resolved_canonical(text: str, url: str, base: str | None = None) -> str | None:
    """A canonical URL, absolute; the page's own if it is only written differently. `base`: of `<base>`, as written."""
    base = clean_url(base, url).url if base else None
    canonical = text if text == url or is_clean(text) else clean_url(text, base or url).url
    if canonical is None or canonical == url:
        return canonical
    return url if comparable(canonical) == comparable(url) else canonical


_STATUS = re.compile(r"([1-9]\d\d)(?:\.0*)?(?:\s.*)?", re.DOTALL)  # `200`, `200.0` (of pandas), `200 OK`
# How crawlers say that they did not fetch a page, or that nothing answered.
_UNFETCHED = re.compile(
    r"|0+(\.0*)?|-1|-|n/?a|none|null|nan|blocked\b.*|not ?crawled|uncrawled|time-?out|dns\b.*|no response"
    r"|connection \w+",
    re.DOTALL,
)
_TRUE = frozenset({"true", "1", "1.0", "yes", "y", "t", "noindex"})
_FALSE = frozenset({"", "false", "0", "0.0", "no", "n", "f", "index", "none", "null", "nan", "-", "n/a"})
_NOT_INDEXABLE = ("non", "not", "false", "no", "nicht", "nao", "não", "0")


def _status(text: str) -> int | None:
    text = text.strip().casefold()
    if match := _STATUS.fullmatch(text):
        return int(match[1])
    if _UNFETCHED.fullmatch(text):
        return None
    raise ValueError(text)


def _truth(text: str) -> bool:
    word = text.strip().casefold()
    if word not in _TRUE | _FALSE:
        raise ValueError(text)
    return word in _TRUE


def _is_html(content_type: str) -> bool:
    """Whether it may be an HTML page; a value that is not a media type is ignored."""
    kind = content_type.partition(";")[0].strip().casefold()
    is_type = re.fullmatch(r"[a-z]+/[\w.+-]+", kind) is not None
    return not is_type or kind in ("text/html", "application/xhtml+xml")


# --- records ---------------------------------------------------------------------------------------------------


@contextmanager
def _opened_records(name: str) -> Iterator[Iterator[Record]]:
    """The records of a file, which stays open."""
    with open_crawl_file(name) as stream:
        if _is_zip(stream):
            with closing(_workbook(stream, name)) as workbook:
                yield _workbook_records(workbook, name)
        else:
            with closing(Lines(stream, name)) as lines:
                yield _records(lines, name)


def _is_zip(stream: BinaryIO) -> bool:
    return cast("io.BufferedReader", stream).peek(len(_ZIP)).startswith(_ZIP)


def _workbook(stream: BinaryIO, name: str) -> Any:
    """The workbook of a file; UsageError without openpyxl, and for what is no workbook."""
    try:
        from openpyxl import load_workbook  # type: ignore[import-untyped, unused-ignore]
    except ImportError as exc:
        how = f"{install_hint('xlsx')} reads it; or save it as CSV"
        raise UsageError(f"{name}: that is an Excel workbook: {how}; or a ZIP file: extract it") from exc
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # on styles, of which nothing is read
            return load_workbook(stream, read_only=True, data_only=True)
    except Exception as exc:  # of zipfile, of XML and of openpyxl itself
        raise UsageError(f"{name}: that is a ZIP file, and no Excel workbook: extract it") from exc


def _workbook_records(workbook: Any, name: str) -> Iterator[Record]:
    """The rows of the first sheet that has a column of URLs."""
    headers = []
    for sheet in workbook.worksheets:
        try:
            sheet.reset_dimensions()  # some programs state a smaller size than the sheet has
            rows = sheet.iter_rows(values_only=True)
            first = [[*map(_text, row)] for row in islice(rows, HEADER_LINES)]
            found = [number for number, row in enumerate(first) if "url" in columns_of(row).fields]
            headers += first[:1]
            if found:
                above = found[0]
                columns = columns_of(first[above])
                cells = (tuple(map(_text, row)) for row in rows)
                yield from zip(count(above + 2), repeat(columns), chain(first[above + 1 :], cells), strict=False)
                return
        except Exception as exc:  # damage shows where a row is read
            if isinstance(exc, UsageError):
                raise
            raise UsageError(f"{name}: the Excel workbook is damaged ({exc}): save it again, or as CSV") from exc
    named = _names(each for header in headers for each in header)
    raise UsageError(f"{name}: no sheet has a column of URLs; the columns are {named}: call one of them url")


def _records(lines: Lines, name: str) -> Iterator[Record]:
    """Line, columns and values of each record."""
    first = list(islice(lines, HEADER_LINES))
    start = next((line.lstrip() for line in first if line.strip()), "")
    if not start:
        raise UsageError(f"{name} is empty: export the crawl again")
    if start.startswith("{"):
        return _json_records(chain(first, lines), name)
    for beginning, reason in _OTHER_FORMATS:
        if start.startswith(beginning):
            raise UsageError(f"{name}: {reason.replace('{}', name)}")
    return _table_records(first, lines, name)


_OTHER_FORMATS = (
    ("[", "that is a JSON array: `jq -c '.[]' {} > crawl.jsonl` writes a line for each"),
    ("<", "that is XML or HTML, not a crawl: export it as CSV, or as JSON lines"),
)


def _json_records(lines: Iterable[str], name: str) -> Iterator[Record]:
    cache: dict[tuple[str, ...], Columns] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        record = _flat(_json_object(line, name, number))
        names = tuple(record)
        columns = cache.get(names)
        if columns is None:
            columns = columns_of(names)
            if "url" not in columns.fields:
                raise UsageError(f"{name}:{number}: no url in this line, which has {_names(names)}: call it url")
            if len(cache) < _MAX_HEADERS:
                cache[names] = columns
        yield number, columns, list(record.values())


_MAX_HEADERS = 1000  # different sets of keys; some crawlers leave out empty values


def _flat(record: dict[str, Any], depth: int = _MAX_DEPTH) -> dict[str, Any]:
    """The object with the members of inner ones as its own, under dotted names."""
    if depth == 0 or dict not in map(type, record.values()):
        return record
    flat: dict[str, Any] = {}
    for name, value in record.items():
        if type(value) is dict:
            flat |= {f"{name}.{inner}": each for inner, each in _flat(value, depth - 1).items()}
        else:
            flat[name] = value
    return flat


def _json_object(line: str, name: str, number: int) -> dict[str, Any]:
    try:
        record = orjson.loads(line)
    except orjson.JSONDecodeError:
        record = None
    if type(record) is dict:
        return record
    place, text = f"{name}:{number}", shown(line.strip())
    if number == 1:
        hint = f"if it is JSON over several lines, `jq -c . {name} > crawl.jsonl` writes each object on one"
        raise UsageError(f"{place}: no JSON object: {text}; {hint}")
    if line.startswith("{") and not line.endswith("\n"):
        raise UsageError(f"{place}: the last line is cut: {text}", remedy="export the crawl again")
    raise UsageError(f"{place}: no JSON object: {text}; a crawl file has one on each line")


def _table_records(first: list[str], lines: Lines, name: str) -> Iterator[Record]:
    above, delimiter, names = _header(first, name)
    columns, is_exhausted = columns_of(names), False

    def ahead() -> Iterator[str]:
        nonlocal is_exhausted
        yield from chain(first[above:], lines)
        is_exhausted = True

    table = csv.reader(ahead(), delimiter=delimiter)
    begins = above + 1
    try:
        for values in table:
            if is_exhausted:  # csv needs more lines, as a quoted field is open
                reason = "a quoted field that begins in this row has no end: the file is cut, or a quote is missing"
                raise UsageError(f"{name}:{begins}: {reason}", remedy="export the crawl again")
            if begins > above + 1:
                yield begins, columns, values
            begins = above + table.line_num + 1
    except csv.Error as exc:
        hint = "leave out columns with long texts, or a quote is missing"
        raise UsageError(f"{name}:{begins}: this row cannot be read ({exc}): {hint}") from exc


def _header(first: list[str], name: str) -> tuple[int, str, list[str]]:
    """The number of lines above the header, the delimiter, and the names: the reading with the most columns."""
    readings = []
    for above, line in enumerate(first):
        for delimiter in DELIMITERS:
            names = next(csv.reader([line], delimiter=delimiter), [])
            readings.append((above, delimiter, names))
        headers = [each for each in readings if "url" in columns_of(each[2]).fields]
        if headers:
            return max(headers, key=lambda each: len(each[2]))
    above, _, names = max(readings, key=lambda each: len(each[2]))
    place = f"{name}:{above + 1}"
    if is_web_url(names[0].strip()):
        raise UsageError(f"{place}: {shown(names[0].strip())} where names of columns should be: put them into line 1")
    reason = f"{place}: no column of URLs; the columns are {_names(names)}"
    raise UsageError(f"{reason}: call one of them url, or Address as Screaming Frog does")


def _names(names: Iterable[str]) -> str:
    named = [" ".join(each.split())[:SHOWN_CHARS] for each in names if each.strip()]
    more = len(named) - 20
    return ", ".join(named[:20]) + (f" and {more} more" if more > 0 else "") or "no name"
