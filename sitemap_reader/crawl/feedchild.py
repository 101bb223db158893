"""feedparser in a process that can be killed.

The bytes of a feed go in, links with their dates as written come out. The child has a cap on memory and on time,
gets the bytes on its stdin, and never opens a file or a URL, whatever the bytes spell.
"""

from __future__ import annotations

import html.entities
import io
import json
import re
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import attrs

from ..errors import FallbackFailed
from ..limits import MIB, Limits

FeedLink = tuple[str, str | None]  # link, date text as written

CHILD_MEMORY_BYTES = 512 * MIB
_MAX_ANSWER_CHARACTERS = 64 * MIB  # a long xml:base before many short links
_BASE = "\x1f"  # not allowed in XML, so no link holds it
# Without a base to begin with, feedparser keeps the xml:base of one entry for all later ones.
_NOWHERE = "http://nowhere.invalid"

# -I keeps PYTHON* variables and the current folder out; what the parent can import, the child can.
_PROGRAM = "import sys; sys.path[:] = {paths!r}; from {module} import main; sys.exit(main())"


@attrs.frozen
class FallbackResult:
    """What feedparser found: `links` in document order, as written unless an xml:base says more.

    `dropped` are links that do not stand in the feed as feedparser gives them: it corrupts a raw `&`.
    `without_link` counts the entries that have none.
    """

    links: tuple[FeedLink, ...] = ()
    dropped: tuple[str, ...] = ()
    without_link: int = 0


def feedparser_fallback(
    body: bytes,
    url: str | None = None,
    *,
    limits: Limits = Limits(),  # noqa: B008  frozen
) -> FallbackResult:
    """The links of a feed that only feedparser can read; `url` is where it came from.

    Blocks for at most `limits.fallback_seconds`. FallbackFailed where the body is over
    `limits.max_fallback_bytes`, or the child takes too much time or memory.
    """
    if len(body) > limits.max_fallback_bytes:
        raise FallbackFailed(
            f"the feed has {len(body):,} bytes, feedparser is given {limits.max_fallback_bytes:,}; "
            "max_fallback_bytes permits more"
        )
    try:
        child = subprocess.run(  # noqa: S603  our own interpreter and program
            [sys.executable, "-I", "-c", _program(), str(limits.fallback_seconds), url or ""],
            input=body,
            capture_output=True,
            timeout=limits.fallback_seconds,  # run() kills the child, and waits for its end
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise FallbackFailed(
            f"feedparser was stopped after {limits.fallback_seconds:g} s; fallback_seconds permits more"
        ) from None
    except (OSError, ValueError) as exc:  # no interpreter to start; a NUL in the URL
        raise FallbackFailed(f"feedparser could not be started: {exc}") from exc
    return _result(child)


def _program() -> str:
    package = Path(__file__).resolve().parents[2]
    paths = [path for path in sys.path if path]
    return _PROGRAM.format(paths=[*paths, str(package)], module=__name__)


def _result(child: subprocess.CompletedProcess[bytes]) -> FallbackResult:
    if child.returncode != 0:
        raise FallbackFailed(f"feedparser gave up: {_last_words(child)}")
    answer = json.loads(child.stdout)
    links = tuple((link, date) for link, date in answer["links"])
    return FallbackResult(links, tuple(answer["dropped"]), answer["without_link"])


def _last_words(child: subprocess.CompletedProcess[bytes]) -> str:
    lines = child.stderr.decode("utf-8", "replace").strip().splitlines() or [f"exit {child.returncode}"]
    if "MemoryError" in lines[-1]:
        return f"it needs more than {CHILD_MEMORY_BYTES // MIB} MiB of memory"
    return lines[-1][:200]


# --- in the child -----------------------------------------------------------------------------------------------


def main() -> int:
    """The child: a feed on stdin, JSON on stdout; arguments are the seconds it has and the feed's URL."""
    seconds, url = float(sys.argv[1]), sys.argv[2]
    _limit_resources(seconds)
    answer = json.dumps(attrs.asdict(_read(sys.stdin.buffer.read(), url)))
    if len(answer) > _MAX_ANSWER_CHARACTERS:
        sys.exit("its answer is too long")
    sys.stdout.write(answer)
    return 0


def _limit_resources(seconds: float) -> None:
    try:
        import resource
    except ImportError:  # Windows: the clock remains
        return
    # The processor's time runs out even if the parent is no longer there to look at the clock.
    caps = ((resource.RLIMIT_AS, CHILD_MEMORY_BYTES), (resource.RLIMIT_CPU, int(seconds) + 2))
    for kind, cap in caps:
        with suppress(OSError, ValueError):  # the system does not know it, or has a lower one already
            resource.setrlimit(kind, (cap, cap))


def _read(body: bytes, url: str) -> FallbackResult:
    home = url if url.startswith(("http://", "https://")) else f"{_NOWHERE}/"
    parsed = _parse(body, home)
    written = _written_texts(body.decode(parsed.get("encoding") or "utf-8", "replace"))
    links: list[FeedLink] = []
    dropped: list[str] = []
    for entry in parsed["entries"]:
        base, _, raw = str(dict.get(entry, "link") or "").rpartition(_BASE)
        if not raw:
            continue
        link = _joined(base, raw, base == home) if raw in written else None
        if link:
            links.append((link, _date(entry, parsed["version"])))
        else:
            dropped.append(raw)
    without_link = len(parsed["entries"]) - len(links) - len(dropped)
    return FallbackResult(tuple(links), tuple(dropped), without_link)


def _joined(base: str, link: str, is_home: bool) -> str | None:
    """The link under its xml:base; as written where the base is just the feed's own URL. None if it is no URL."""
    try:
        return link if is_home else urljoin(base, link).removeprefix(_NOWHERE)
    except ValueError:  # http://[
        return None


def _parse(body: bytes, home: str) -> Any:
    import feedparser
    from feedparser.mixin import _FeedParserMixin

    # Links are to be compared with the text they come from: not resolved here, they take their base along.
    _FeedParserMixin.resolve_uri = lambda self, uri: f"{self.baseuri or ''}{_BASE}{uri.strip()}"
    return feedparser.parse(
        io.BytesIO(body),  # bytes or str would be tried as a file's name, or a URL, first
        response_headers={"content-location": home},
        sanitize_html=False,
        resolve_relative_uris=False,
    )


_DATES_OF_RSS = ("published", "updated", "created")  # pubDate, dc:date
_DATES_OF_ATOM = ("updated", "published", "created")


def _date(entry: Any, version: str | None) -> str | None:
    names = _DATES_OF_RSS if (version or "").startswith("rss") else _DATES_OF_ATOM
    # dict.get: FeedParserDict's own puts one date in the place of another.
    return next((text for name in names if (text := dict.get(entry, name))), None)


_HREF = re.compile(r"""href\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))""", re.IGNORECASE)
_REFERENCE = re.compile(r"&(?:#(\d{1,7})|#[xX]([0-9a-fA-F]{1,6})|(\w{2,32}));")


def _written_texts(text: str) -> set[str]:
    """Every text of an element, CDATA section and href in the document that might be a link, references replaced.

    Split at `<`, not searched: linear whatever the markup. A text that the end of the document cuts off is none.
    """
    texts: set[str] = set()
    pieces = text.split("<")
    for number, piece in enumerate(pieces[1:], 1):
        is_cut = number == len(pieces) - 1
        if piece.startswith("![CDATA["):
            inside, end, _ = piece[8:].partition("]]>")
            texts.update([inside.strip()] if end else [])
            continue
        tag, end, after = piece.partition(">")
        if end:
            texts.update(_replaced(next(filter(None, groups), "")) for groups in _HREF.findall(tag))
            texts.update([] if is_cut else [_replaced(after)])
    return texts


def _replaced(text: str) -> str:
    return _REFERENCE.sub(_character, text).strip()


def _character(match: re.Match[str]) -> str:
    decimal, hexadecimal, name = match.groups()
    if name:
        return html.entities.html5.get(f"{name};", match[0])
    code = int(decimal) if decimal else int(hexadecimal, 16)
    return chr(code) if code < sys.maxunicode else match[0]
