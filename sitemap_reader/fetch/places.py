"""Where a URL's answer stands in a replay folder.

A folder and a URL go in, a path comes out. Different URLs have different paths, and none leads out of the folder.
Never touches the disk.
"""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING

from .client import usable_url

if TYPE_CHECKING:
    from pathlib import Path

HEADERS_SUFFIX = ".headers"
_MAX_NAME_CHARACTERS = 200  # file systems take 255 bytes; the suffixes need some
_MAX_PATH_CHARACTERS = 1_000
_DEFAULT_PORT = {"http": ":80", "https": ":443"}


def replay_path(folder: Path, url: str) -> Path:
    """Where the body of `url` stands; different URLs have different places. FetchError U02 if it is not HTTP.

    >>> from pathlib import Path
    >>> replay_path(Path("site"), "https://shop.example/de/sitemap.php?page=2").as_posix()
    'site/https/shop.example/de/sitemap.php%3Fpage=2'
    >>> replay_path(Path("site"), "http://shop.example:8080/").as_posix()
    'site/http/shop.example:8080/%2F'
    """
    origin, names = _names(folder, url)
    if sum(map(len, names)) + len(names) > _MAX_PATH_CHARACTERS:
        return detour(folder, url)
    return origin.joinpath(*names)


def detour(folder: Path, url: str) -> Path:
    """The place for a URL whose own path is too long, or runs through a file.

    A site may have both `/sitemap` and `/sitemap/1.xml`, and a file can't be a folder too.
    """
    origin, names = _names(folder, url)
    return origin / f"%-{_digest('/'.join(names))}%-{names[-1][:80]}"


def _names(folder: Path, url: str) -> tuple[Path, list[str]]:
    parts = usable_url(url)
    scheme = parts["scheme"].lower()
    host = parts["host"].lower().removesuffix(_DEFAULT_PORT[scheme])
    path, mark, query = parts["rest"].partition("?")
    *folders, last = path.removeprefix("/").split("/")
    names = [_name(each) for each in folders]
    names.append(_name(last, mark + query))
    return folder / scheme / _masked(_quoted(host, _HOST_SAFE)), names


# A name is unambiguous because each of the four forms starts differently: characters that a URL may hold but a
# file name should not are %XX; an escape that would read like one of those, and a bare %, have their % as %25;
# characters that no URL may hold are %%XX. All other escapes stay as they are: /a%20b is a%20b.
_SAFE = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~!$&'()+,;=@[]")
_HOST_SAFE = _SAFE | frozenset(":")
_QUOTED = frozenset("/?:*")
_TOKEN = re.compile(r"%[0-9A-Fa-f]{2}|.", re.DOTALL)
_ESCAPES_TO_MASK = _QUOTED | frozenset("%.")
_DOTS = re.compile(r"\.(?=headers$)|^\.+$")


def _name(segment: str, query: str = "") -> str:
    # An empty segment has no name of its own: it is the slash behind it.
    return _masked((_quoted(segment, _SAFE) or "%2F") + _quoted(query, _SAFE))


def _masked(name: str) -> str:
    """A name that is no folder of its own ("..", "."), no `.headers` of another file, and not too long."""
    name = _DOTS.sub(lambda dots: "%2E" * len(dots[0]), name)
    if len(name) <= _MAX_NAME_CHARACTERS:
        return name
    return f"{name[: _MAX_NAME_CHARACTERS - 40]}%-{_digest(name)}"


def _quoted(text: str, safe: frozenset[str]) -> str:
    return "".join(token if token in safe else _quoted_token(token) for token in _TOKEN.findall(text))


def _quoted_token(token: str) -> str:
    if len(token) == 3:
        masked = chr(int(token[1:], 16)) in _ESCAPES_TO_MASK
        return f"%25{token[1:]}" if masked else token
    if token == "%":  # noqa: S105  no password
        return "%25"
    lead = "%" if token in _QUOTED else "%%"
    return "".join(f"{lead}{byte:02X}" for byte in token.encode("utf-8", "surrogatepass"))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def headers_path(body: Path) -> Path:
    return body.with_name(body.name + HEADERS_SUFFIX)
