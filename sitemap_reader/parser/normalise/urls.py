"""URL normalisation: makes URLs absolute, canonical and comparable.

In: the text of a loc, and the URL it is relative to. Out: a Loc with the canonical URL and notes, or without a URL and
with the reason. Never raises for bad text, and never drops a character of path or query: illegal ones are escaped, and
text that cannot be the URL of a page is rejected.

clean_url() takes any URL, also one that a server answers with; listed_url() takes those that a site lists, and rejects
what a program wrote without its value, or wrote twice. A URL that clean_url() returned is called clean; the functions
on parts (`origin`, `host`, ...) take clean URLs only.
"""

from __future__ import annotations

import ipaddress
import re
from functools import lru_cache
from string import hexdigits
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote

import attrs

from ...model.limits import PROTOCOL_MAX_LOC_CHARACTERS

if TYPE_CHECKING:
    from publicsuffixlist import PublicSuffixList

Note = tuple[str, str]

_RELATIVE: Note = ("U01", "relative URL, resolved against the document")
_NO_SCHEME: Note = ("U01", "a host without a scheme, which was added")

# XML white space and Unicode's White_Space (str.strip() alone would also strip the separators U+001C to U+001F), and
# the byte-order mark, which precedes a URL where files were concatenated.
WHITE_SPACE = (
    "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000\ufeff"
)
# Characters without a form of their own, which are copied with a URL and which no server expects around it: a soft
# hyphen, zero-width spaces, marks of direction.
INVISIBLE = (
    "\xad\u061c\u180e\u200b\u200e\u200f\u202a\u202b\u202c\u202d\u202e"
    "\u2060\u2061\u2062\u2063\u2064\u2066\u2067\u2068\u2069"
)
_JOINERS = "\u200c\u200d"  # the same, but only before a URL: Persian words end in them
DEFAULT_PORTS = {"http": 80, "https": 443}
MAX_PORT = 65_535
MAX_HOST_CHARACTERS = 253  # RFC 1035 2.3.4, as text


@attrs.frozen
class Loc:
    """The result of clean_url(): a clean URL, or None if the text is unusable; then the last note has the reason.

    `notes` are (problem code, message) pairs.
    """

    url: str | None
    notes: tuple[Note, ...] = ()

    def faults(self, *, may_be_relative: bool) -> tuple[Note, ...]:
        """The notes; without that of a relative URL if such a URL is allowed here and could be resolved."""
        return tuple(note for note in self.notes if note != _RELATIVE) if may_be_relative else self.notes


def is_web_url(text: str) -> bool:
    """Whether a text begins with http:// or https://."""
    return text.lower().startswith(("http://", "https://"))


def is_app_link(text: str) -> bool:
    """Whether a text is a deep link to an app, as an alternate may be: android-app:// or ios-app://."""
    return _APP_LINK.fullmatch(text) is not None


def clean_url(raw: str, base: str | None = None, *, paths: bool = True) -> Loc:
    """The canonical form of a URL, resolved against `base`, the URL of the document it stands in.

    What begins with the host of `base`, with or without `www.`, lacks only the scheme, and is not a path below it;
    with `paths=False` nothing else is resolved.

    Normalised without a note: surrounding white space, case of scheme and host, IDN to punycode, default port, empty
    path, dot segments, non-ASCII characters (RFC 3987). With a note: U01 relative, U03 long, U08 fragment, U10 escaped
    ASCII characters, or invisible ones around it, U14 credentials. Rejected: U01 relative without a base, U02 another
    scheme, U15 not the URL of a page.

    >>> clean_url("HTTPS://Example.COM:443/a/../caf\u00e9")
    Loc(url='https://example.com/caf%C3%A9', notes=())
    >>> clean_url("/a", "https://example.com/sitemap.xml")
    Loc(url='https://example.com/a', notes=(('U01', 'relative URL, resolved against the document'),))
    >>> clean_url("example.com/a", "https://example.com/sitemap.xml").url
    'https://example.com/a'
    >>> clean_url("mailto:info@example.com")
    Loc(url=None, notes=(('U02', 'scheme "mailto" is neither http nor https'),))
    """
    if is_clean(raw):
        return Loc(raw)
    text = _without_padding(raw)
    notes: list[Note] = [] if text == raw.strip(WHITE_SPACE) else [_INVISIBLE]
    try:
        url = _clean(text, base, notes, paths=paths)
    except _RejectedError as rejected:
        return Loc(None, (*notes, rejected.note))
    return Loc(url, tuple(dict.fromkeys(notes)))


def listed_url(raw: str, base: str | None = None, *, paths: bool = True, may_hold_own: bool = False) -> Loc:
    """clean_url() for a URL that a site lists; U15 for one that a program wrote without its value, or wrote twice.

    Only what cannot be meant is rejected: `/undefined` and `/web/2020/https://other.example/` are pages. With
    `may_hold_own` the path may also hold a URL of its own host, behind folders that are not those of the base: image
    servers have such (`/cdn-cgi/image/width=80/https://example.com/a.jpg`).

    >>> listed_url("{{ site.url }}/a", "https://example.com/sitemap.xml").notes
    (('U15', '"{{ site.url }}" stands in place of a value'),)
    >>> listed_url("https://example.com/https://example.com/a").notes
    (('U15', 'the base is written twice: https://example.com'),)
    """
    if is_clean(raw):
        return Loc(raw)
    text = _without_padding(raw)
    fault = _unset_value(text)
    if fault is None:
        loc = clean_url(raw, base, paths=paths)
        fault = _unset_host(loc.url) or _second_url(loc.url, may_hold_own=may_hold_own) if loc.url else None
        if fault and _RELATIVE in loc.notes and not text.startswith("/"):
            fault = f"other text stands before the URL: {text[:_MAX_QUOTED]}"
        elif text.startswith("#") and loc.url:  # `#REF!` of a spreadsheet, `#url#` of ColdFusion
            fault = f'"{text[:_MAX_QUOTED]}" stands in place of a path'
    return loc if fault is None else Loc(None, (("U15", fault),))


def is_clean(raw: str) -> bool:
    """True only for URLs that listed_url() and clean_url() return unchanged, without a note; False is inconclusive."""
    return len(raw) < PROTOCOL_MAX_LOC_CHARACTERS and _CANONICAL.fullmatch(raw) is not None


# URLs that need no change; others go through _clean(), which returns the same for these (tested).
_CANONICAL = re.compile(
    r"""
    https?://
    (?! [a-z0-9_.-]* (?: \.\. | (?: https? | undefined | null | none | false | nan | nil ) \.?[:/] ) )
    (?! [^/.:]+ \.? (?: :[0-9]* )? // )                      # no name without a dot that may be written twice
    [a-z0-9_-] [a-z0-9_.-]{0,62}                            # at most 63, so no label is too long
    (?: : (?! 80/ | 443/ )                                  # neither a default port nor too large
        (?: [1-9][0-9]{0,3} | [1-5][0-9]{4} | 6[0-4][0-9]{3} ) | )
    / (?! /[^/]*\. )                                        # no second host
    [A-Za-z0-9\-_~!$'()*+,;=@/?]*                           # path and query
    # neither a possible template, nor a dot segment, nor another URL
    (?: (?: & | %(?! 7[Bb] | 3[Cc] | 5[Bb]o )[0-9A-Fa-f]{2} | (?<![/.])\. | :(?!/) )
        [A-Za-z0-9\-_~!$'()*+,;=@/?]* )*
    """,
    re.VERBOSE | re.ASCII,
)


# --- what empty variables leave ---------------------------------------------------------------------------

# What programs print for a value that is not there: Python, JavaScript, SQL, Java, Ruby; C prints `(null)`. No
# top-level domain is one of these words, nor ends in one (`example.comundefined`).
_UNSET_WORDS = ("none", "null", "undefined", "nan", "nil", "false")
_UNSET = rf"(?: {' | '.join(_UNSET_WORDS)} | \(null\) )"
# A relative text that begins with one, as a base or a whole location does. Behind a `/` they may be pages.
_BEGINS_UNSET = re.compile(
    rf"""
    {_UNSET}+ (?= [/?\#] | https?: | \Z ) | (?: n/a | \(none\) | \{{\}} ) \Z
    | (?-i: %[A-Z]++_[A-Z_]++% )                            # Create React App; `%FCber%20uns` has escapes
    """,
    re.VERBOSE | re.IGNORECASE,
)
_TEMPLATE = re.compile(
    r"""
    \{\{ [^{}]* (?:\}\})?                                   # Liquid, Jinja, Go, Handlebars, Vue
    | \{[%#] [^{}]* [%#]\}
    | [$#%@]\{ [^{}]* \}                                    # JavaScript, Ruby, Apache, Thymeleaf
    | \{\$ [^{}]* \}                                       # Smarty
    | <[%?] [^<>]* [%?]>                                    # ERB, JSP, PHP
    | \[% [^\[\]]* %\]                                      # Template Toolkit
    | %![a-z]\( [^()]* \)                                  # Go, without an argument
    | %\( [^()]* \)[sd]                                     # Python
    | %[0-9]\$[sd]
    | (?<![A-Za-z0-9%]) %[sd] (?![A-Za-z0-9])               # C; `100%s` may be a text
    | \[object [ ] [A-Za-z]+ \] | \[object%20 [A-Za-z]+ \]  # JavaScript
    """,
    re.VERBOSE,
)
# The beginning of one that was escaped. A URL may hold JSON (`%7B%22`), and fields in brackets (`%5Bcolor%5D`).
_ESCAPED_TEMPLATE = re.compile(r"(?:%7B|\$|%24|%23)%7B|%7B%(?:24|25)|%3C%(?:25|3F)|%5Bobject[+%\s]", re.IGNORECASE)
_SCHEMES = ("http", "https")
_URL_IN_PATH = re.compile(r"(?:https?:/{1,3}|\A//)(?P<authority>[^/]*)", re.ASCII | re.IGNORECASE)
# Behind a letter or digit; `%41` is an escape, and no digits.
_GLUED = re.compile(r"(?<=[A-Za-z0-9])(?<!%[0-9A-Fa-f]{2})https?://", re.ASCII | re.IGNORECASE)
_BEHIND_SPACE = re.compile(r"%(?:20|09|0A|0D)https?://", re.ASCII | re.IGNORECASE)
_MAX_QUOTED = 80


def _unset_value(text: str) -> str | None:
    """The fault of a location that holds code of a template, or begins with an empty variable; None without one."""
    code = _TEMPLATE.search(text)
    quoted = code[0] if code else text if _BEGINS_UNSET.match(text) or _ESCAPED_TEMPLATE.search(text) else None
    return quoted and f'"{quoted[:_MAX_QUOTED]}" stands in place of a value'


def _unset_host(url: str) -> str | None:
    """The same of a clean URL whose host is an empty variable, or ends in one."""
    name = host(url).removesuffix(".")
    _, dot, last = name.rpartition(".")
    if last in _UNSET_WORDS or (dot and last.endswith(_UNSET_WORDS)):
        return f'the host "{name}" stands in place of a value'
    return None


def _second_url(url: str, *, may_hold_own: bool) -> str | None:
    """The fault of a clean URL in which another begins that is no part of it; None without one.

    A path may hold the URL of another site (archives, proxies), and a query any URL.
    """
    name = host(url)
    path, _, query = url[url.index("/", 8) :].partition("?")
    if name in _SCHEMES or (name.endswith(_SCHEMES) and path.startswith("//")):
        return "the base is written twice: a scheme stands in the host"
    glued = _GLUED.search(path) or _BEHIND_SPACE.search(path) or _GLUED.search(query)
    if glued:
        return f"another URL is glued to it: {glued.string[glued.start() :][:_MAX_QUOTED]}"
    for second in _URL_IN_PATH.finditer(path):
        if may_hold_own and not path[second.end() :].startswith(path[: second.start()].rstrip("/")):
            continue
        inner = clean_url(f"https://{second['authority']}").url
        if inner and _is_same_host(host(inner), name):
            is_listed = path[: second.start()].endswith((",", ";", "%7C"))
            return f"{'another URL follows' if is_listed else 'the base is written twice'}: {second[0][:_MAX_QUOTED]}"
    return None


# --- normalisation ---------------------------------------------------------------------------------------


class _RejectedError(Exception):
    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.note = (code, message)


_HTTP = re.compile(
    r"""
    (?P<scheme> https? ) ://
    (?P<authority> [^/?]* ) (?P<path> [^?]* ) (?P<query> \?.* )?
    """,
    re.VERBOSE | re.ASCII | re.IGNORECASE | re.DOTALL,
)
# `http:/x`, `http:x` and `https//x`: otherwise read as another scheme, or as a path on the document's own site.
_MANGLED = re.compile(r"https?(?:\s*:|\s*[;.,]?//)", re.ASCII | re.IGNORECASE)
_APP_LINK = re.compile(r"""(?:android|ios)-app://[^\s<>"]+""", re.IGNORECASE)
_SCHEME = re.compile(r"([a-z][a-z0-9+.-]*):", re.ASCII | re.IGNORECASE)


def _clean(text: str, base: str | None, notes: list[Note], *, paths: bool) -> str:
    if len(text) >= PROTOCOL_MAX_LOC_CHARACTERS:
        notes.append(("U03", f"{len(text):,} characters, the protocol allows 2,047"))
    if "://" in text.partition(">")[2]:  # never in a genuine URL
        raise _RejectedError("U15", "markup before another URL")
    address, mark, _ = text.partition("#")
    if mark:
        address = address.rstrip(PADDING)
    match = _HTTP.fullmatch(address)
    if match is None:
        url, note = _resolve(address or mark, base, paths=paths)
        match = _HTTP.fullmatch(url)
        notes.append(note)
    if match is None:
        raise _RejectedError("U15", "no URL")
    scheme, authority, path, query = match.groups("")
    if mark:
        notes.append(("U08", "fragment dropped"))
    scheme = scheme.lower()
    site = _authority(scheme, authority, notes)
    return f"{scheme}://{site}{_escaped(_without_dots(path or '/') + query, notes)}"


def _resolve(text: str, base: str | None, *, paths: bool) -> tuple[str, Note]:
    """Resolves a text that is not an http(s) URL itself by RFC 3986 5.2.2; dot segments are left in."""
    if not text:
        raise _RejectedError("U15", "empty URL")
    if _MANGLED.match(text):
        raise _RejectedError("U15", 'the scheme is not followed by "://"')
    url = clean_url(base).url if base else None
    if url is not None and (name := host_without_scheme(text)) and _is_same_host(name, host(url)):
        return with_scheme(text, url), _NO_SCHEME
    scheme = _SCHEME.match(text)
    if scheme is not None:
        raise _RejectedError("U02", f'scheme "{scheme[1][:20]}" is neither http nor https')
    if "<" in text or ">" in text:  # never in a genuine path
        raise _RejectedError("U15", "markup in a relative URL")
    if url is None or not paths:
        raise _RejectedError("U01", "relative URL, and nothing to resolve it against")
    return _resolved_path(text, url), _RELATIVE


def _resolved_path(text: str, url: str) -> str:
    # Without the base's userinfo: a password must not be copied into other URLs.
    if text.startswith("//"):
        return url.partition("//")[0] + text
    if text.startswith("/"):
        return origin(url) + text
    if text.startswith("?"):
        return without_userinfo(url).partition("?")[0] + text
    if text == "#":
        return without_userinfo(url)
    return directory(url) + text


# The name of a host, at the end or before a path. Without a dot or a port it is a folder: `blog/a`, not `blog:80/a`.
_HOST_FIRST = re.compile(r"(?P<host>[^\s/?#:@\\]+)(?P<port>:[0-9]{1,5})?(?=[/?#]|\Z)")


def host_without_scheme(text: str) -> str | None:
    """The host with which a text begins that may lack nothing but the scheme; None if it begins with none.

    >>> [host_without_scheme(text) for text in ("WWW.Example.com/a", "localhost:8000", "sitemap.xml", "blog/a")]
    ['www.example.com', 'localhost', 'sitemap.xml', None]
    """
    found = _HOST_FIRST.match(text)
    if found is None or not ("." in found["host"] or found["port"]):
        return None
    try:
        return _host(found["host"])
    except _RejectedError:
        return None


def with_scheme(text: str, url: str) -> str:
    """A text that host_without_scheme() knows with the scheme of its port, else of `url`.

    >>> with_scheme("example.com/a", "https://example.com/"), with_scheme("example.com:80/a", "https://example.com/")
    ('https://example.com/a', 'http://example.com:80/a')
    """
    found = _HOST_FIRST.match(text)
    by_port = {f":{port}": f"{scheme}:" for scheme, port in DEFAULT_PORTS.items()}
    scheme = by_port.get(found["port"] or "") if found else None
    return f"{scheme or url.partition('//')[0]}//{text}"


def _is_same_host(one: str, other: str) -> bool:
    return one.removesuffix(".").removeprefix("www.") == other.removesuffix(".").removeprefix("www.")


def _without_dots(path: str) -> str:
    """Removes dot segments by RFC 3986 5.2.4; only literal dots, as existing escapes are kept."""
    if "/." not in path:
        return path
    kept: list[str] = []
    segments = path.split("/")[1:]
    for segment in segments:
        if segment == "..":
            del kept[-1:]
        elif segment != ".":
            kept.append(segment)
    if segments[-1] in (".", ".."):
        kept.append("")
    return "/" + "/".join(kept)


# ASCII that RFC 3986 forbids in path and query (square brackets only around IPv6), and lone surrogates.
_ILLEGAL = re.compile(r'[\x00-\x20"<>\[\\\]^`{|}\x7f\ud800-\udfff]')
_ESCAPES = {byte: f"%{byte:02X}" for byte in (*range(0x21), *b'"<>[\\]^`{|}\x7f')}
# A lone surrogate has no UTF-8 form: U+FFFD, as the URL standard has it.
_ESCAPES |= dict.fromkeys(range(0xD800, 0xE000), "%EF%BF%BD")
_BARE_PERCENT = re.compile(r"%(?![0-9A-Fa-f]{2})")
_ESCAPED: Note = ("U10", "ASCII characters that had to be escaped")
_INVISIBLE: Note = ("U10", "invisible characters around the URL, left out")
PADDING = WHITE_SPACE + INVISIBLE


def _without_padding(text: str) -> str:
    return text.strip(PADDING).lstrip(PADDING + _JOINERS)


_ASCII = "".join(map(chr, range(0x80)))


def _escaped(text: str, notes: list[Note]) -> str:
    # No function call per character: an untrusted URL may have a million to escape.
    escaped = _BARE_PERCENT.sub("%25", text) if "%" in text else text
    if _ILLEGAL.search(escaped):
        escaped = escaped.translate(_ESCAPES)
    if escaped != text:
        notes.append(_ESCAPED)
    return escaped if escaped.isascii() else quote(escaped, safe=_ASCII)


# --- scheme, host and port ----------------------------------------------------------------------------------

_HOST_AND_PORT = re.compile(r"(\[[^\[\]]*\]|[^:\[\]]*)(?::(\d*))?", re.ASCII)
# Underscores occur in practice. Other characters that RFC 3986 allows in a name cannot be resolved by DNS.
_HOST = re.compile(r"(?:[a-z0-9_-]{1,63}\.)*[a-z0-9_-]{1,63}\.?", re.ASCII)


def _authority(scheme: str, authority: str, notes: list[Note]) -> str:
    if "\\" in authority:  # browsers end the host there, RFC 3986 does not: an ambiguous host
        raise _RejectedError("U15", "backslash in the host")
    userinfo, _, place = authority.rpartition("@")
    parts = _HOST_AND_PORT.fullmatch(place)
    if parts is None:
        raise _RejectedError("U15", "malformed host or port")
    site = _host(parts[1]) + _port(scheme, parts[2] or "")
    if userinfo in ("", ":"):
        return site
    notes.append(("U14", "credentials in the URL"))
    if "@" in userinfo:  # the host follows the last one: an earlier one belongs to the password
        notes.append(_ESCAPED)
    escaped = _escaped(userinfo, notes).replace("@", "%40")
    return f"{escaped}@{site}"


def _port(scheme: str, digits: str) -> str:
    if not digits:
        return ""
    significant = digits.lstrip("0") or "0"
    if len(significant) > len(str(MAX_PORT)) or int(significant) > MAX_PORT:
        raise _RejectedError("U15", f"port over {MAX_PORT}")
    return "" if int(significant) == DEFAULT_PORTS[scheme] else f":{significant}"


def _host(written: str) -> str:
    if written.startswith("["):
        return _ipv6(written)
    host = written.lower() if written.isascii() and "%" not in written else _ascii_host(written)
    if len(host.removesuffix(".")) > MAX_HOST_CHARACTERS or _HOST.fullmatch(host) is None:
        raise _RejectedError("U15", "unusable host" if host else "no host")
    return host


def _ipv6(literal: str) -> str:
    address = literal[1:-1].lower()
    try:
        ipaddress.IPv6Address(address)
    except ValueError as exc:
        raise _RejectedError("U15", "invalid IPv6 address") from exc
    if "%" in address:  # RFC 6874 zones are local to one machine
        raise _RejectedError("U15", "IPv6 address with a zone")
    return f"[{address}]"


@lru_cache(maxsize=1024)  # a site's URLs share their host
def _ascii_host(written: str) -> str:
    """The host in punycode by UTS 46; ASCII labels stay, `_` included. Escapes are UTF-8 (RFC 3986 3.2.2)."""
    import idna

    if len(written) > 12 * MAX_HOST_CHARACTERS:  # four escaped bytes per character; a longer one is too long anyway
        raise _RejectedError("U15", "unusable host")
    try:
        name = unquote(written, errors="strict")
        if len(name) > MAX_HOST_CHARACTERS:
            raise _RejectedError("U15", "unusable host")
        labels = idna.uts46_remap(name, std3_rules=False).split(".")
        return ".".join(map(_punycode, labels))
    except UnicodeError as exc:  # idna.IDNAError is one
        raise _RejectedError("U15", "host is no internationalised name") from exc


def _punycode(label: str) -> str:
    import idna

    if label.isascii():
        return label
    try:
        return idna.alabel(label).decode()
    except idna.InvalidCodepoint:
        # Emoji, or `_` with `ü`: not in IDNA 2008, but such hosts exist, and browsers resolve them (UTS 46).
        return "xn--" + label.encode("punycode").decode()


# --- parts of clean URLs -------------------------------------------------------------------------------------

_USERINFO = re.compile(r"\A(\s*+(?:[A-Za-z][A-Za-z0-9+.-]*+://)?)[^/?#]*@")


def origin(url: str) -> str:
    """Scheme, host and port, userinfo left out: `https://example.com`, `http://example.com:8080`."""
    end = url.index("/", 8)
    if "@" in url[:end]:
        return f"{url.partition('//')[0]}//{url[:end].rpartition('@')[2]}"
    return url[:end]


def is_robots_txt(url: str) -> bool:
    """Whether a URL is that of the robots.txt of its host (RFC 9309 2.3).

    >>> is_robots_txt("https://example.com/robots.txt"), is_robots_txt("https://example.com/shop/robots.txt")
    (True, False)
    """
    return url == f"{origin(url)}/robots.txt"


def directory(url: str) -> str:
    """The origin and the path up to its last `/`; the query is ignored.

    >>> directory("https://example.com/shop/sitemap.php?page=/2")
    'https://example.com/shop/'
    """
    path = url[url.index("/", 8) :].partition("?")[0]
    return origin(url) + path[: path.rindex("/") + 1]


def host(url: str) -> str:
    """The host without port and userinfo; an IPv6 literal keeps its brackets."""
    place = origin(url).partition("//")[2]
    return place[: place.index("]") + 1] if place.startswith("[") else place.partition(":")[0]


def without_userinfo(url: str) -> str:
    """The URL without userinfo, as it is requested and compared."""
    end = url.index("/", 8)
    return origin(url) + url[end:] if "@" in url[:end] else url


def without_credentials(target: str) -> str:
    """A URL or host as it was typed, without userinfo, to be shown and stored.

    >>> without_credentials("https://me:secret@example.com/a@b.xml")
    'https://example.com/a@b.xml'
    """
    return _USERINFO.sub(r"\1", target)


def comparable(url: str) -> str:
    """The URL normalised by RFC 3986 6.2.2, for comparison only: requests use the URL as it was written.

    Unreserved characters are unescaped, hex digits upper case, dot segments removed.

    >>> comparable("https://example.com/%7eme/%2e%2e/sh%c3%b6p?a=%2F")
    'https://example.com/sh%C3%B6p?a=%2F'
    """
    end = url.index("/", 8)
    head, *escaped = url[end:].split("%")  # no regular expression: an untrusted URL may have a million escapes
    plain = head + "".join([_UNESCAPED[part[:2]] + part[2:] for part in escaped])
    path, mark, query = plain.partition("?")
    return url[:end] + _without_dots(path) + mark + query


def _unescaped(digits: str) -> str:
    """The normalised form of the escape with these hex digits."""
    character = chr(int(digits, 16))
    is_unreserved = character.isascii() and (character.isalnum() or character in "-._~")
    return character if is_unreserved else f"%{digits.upper()}"


_UNESCAPED = {one + other: _unescaped(one + other) for one in hexdigits for other in hexdigits}


@lru_cache(maxsize=4096)
def registrable_domain(host: str) -> str:
    """The public suffix of a host and one more label; IP addresses, single labels and suffixes are returned as is.

    By the Public Suffix List with its private section: a.github.io and b.github.io have different owners. A trailing
    dot is removed.

    >>> registrable_domain("shop.example.co.uk")
    'example.co.uk'
    """
    return registrable_domain_or_none(host) or host.removesuffix(".")


def registrable_domain_or_none(host: str) -> str | None:
    """registrable_domain(), but None for IP addresses, single labels and public suffixes."""
    name = host.removesuffix(".")
    if name.startswith("[") or name.rpartition(".")[2].isdigit():  # an IP address: no top-level domain is a number
        return None
    return _public_suffixes().privatesuffix(name)


def has_public_suffix(host: str) -> bool:
    """Whether a host ends in a suffix of the Public Suffix List: `example.com` does, `sitemap.xml` does not."""
    return _public_suffixes().publicsuffix(host, accept_unknown=False) is not None


@lru_cache(maxsize=1)
def _public_suffixes() -> PublicSuffixList:
    from publicsuffixlist import PublicSuffixList

    return PublicSuffixList()
