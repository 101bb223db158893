"""Targets: what a host, a URL, a recording, or the files of a site with a base give: seeds, perhaps a fetcher.

Anything else is a UsageError that says what to give. Also reads netrc files, and wraps a fetcher to record it. A site
that is not deployed yet is a folder, a file or a body with the URL `base` that it will have.
"""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import AsyncIterator, Callable, Container, Iterator, Mapping
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from netrc import NetrcParseError, netrc
from pathlib import Path
from typing import TYPE_CHECKING

import attrs

from ..fetch.replay import (
    SEEDS_FILE,
    FolderRecorder,
    OneDocumentFetcher,
    ReplayFetcher,
    StaticFilesFetcher,
    is_inside,
    is_recording,
    read_recording,
)
from ..fetch.request_headers import Logins
from ..fetch.warc import RECOMPRESS, WarcFetcher
from ..frontier.plan import SCHEME, WELL_KNOWN, Seed, basic, parse_target
from ..model.errors import FetchError, UsageError
from ..model.limits import CHUNK_BYTES, MIB, Limits
from ..model.messages import Keyword, Message
from ..model.problems import Problem, report
from ..model.records import Outcome, SitemapRef, UrlRecord
from ..parser.normalise.urls import (
    clean_url,
    directory,
    host,
    is_robots_txt,
    origin,
    registrable_domain,
    without_credentials,
)
from ..parser.parser import SitemapParser
from ..serialize.byte_streams import MAGIC
from ..serialize.dumps import DUMP_SUFFIXES, STDIN, has_file_suffix, is_warc_name

if TYPE_CHECKING:
    from ..fetch.client import Fetcher, Response
    from ..frontier.robots_rules import Rules


def read_netrc(given: bool | str | os.PathLike[str] | Logins | None) -> Logins:
    """The logins of a netrc file by host; True stands for $NETRC or ~/.netrc. Logins are returned unchanged.

    An entry `default` is left out: it would go to every host. UsageError for a file that cannot be read; its text names
    the file, never its contents.
    """
    if given is None or given is False or isinstance(given, Logins):
        return given or Logins()
    if given is not True and not isinstance(given, str | os.PathLike):
        raise UsageError(keyword="netrc", value=given, allowed="True or the name of a netrc file")
    path = Path(os.environ.get("NETRC") or Path.home() / ".netrc") if given is True else Path(given)
    try:
        entries = netrc(None if path == Path.home() / ".netrc" else path).hosts
    except NetrcParseError as exc:  # its message holds a word of the file
        what = f"line {exc.lineno} of {path} cannot be read; write `machine HOST login USER password PASSWORD`"
        if not exc.lineno:  # it is about the file
            what = f"{path} is not yours, or others may read it too: chmod 600 {path}"
        raise UsageError(f"netrc: {what}") from None
    except (OSError, ValueError, RuntimeError) as exc:
        why = getattr(exc, "strerror", None) or "it is no text"
        raise UsageError(f"netrc: {path} cannot be read: {why}", remedy="name a netrc file") from None
    logins = {name: basic(user, password) for name, (user, _, password) in entries.items() if name != "default"}
    return Logins({name.lower().removesuffix("."): login for name, login in logins.items()})


_HOST = re.compile(r"(?:[^/?#]*\.[^/?#]+|localhost|\[[^\]]*\])(?::\d+)?(?:[/?#].*)?", re.DOTALL | re.IGNORECASE)
_DRIVE = re.compile(r"[A-Za-z]:(?!\d)")  # of a path on Windows
_SITEMAP_SUFFIXES = (".xml", ".xml.gz")
# A folder of such a name may hold downloads from a host: the name means the host.
_HOST_NAME = re.compile(r"[^./\\][^/\\]*\.[^./\\]+")


@attrs.frozen
class Target:
    """The seeds of a crawl; of a recording also the fetcher that replays it, its time in UTC, and what is damaged.

    Of files that are read as the site at `base`, `replay` serves them, and `local` is their folder or file, `-` for a
    body.
    """

    name: str
    seeds: tuple[Seed, ...]
    replay: Fetcher | None = None
    recorded: datetime | None = None
    damage: str | None = None
    local: str | None = None

    def file_of(self, url: str) -> Path | None:
        """The file of a URL, relative to the working directory where it is below that.

        None where the target is not a folder or a file with a base, or has no file for this URL.
        """
        return self.replay.file_of(url) if isinstance(self.replay, StaticFilesFetcher) else None

    def unlisted(self, known: Container[str | None]) -> list[str]:
        """The URLs of sitemaps in a folder that is read as a site, without those that are known, and their .gz."""
        if not isinstance(self.replay, StaticFilesFetcher) or self.seeds[0].document is not None:
            return []
        unknown = [url for url in self.replay.sitemaps() if url not in known]
        return [url for url in unknown if (copy := self.replay.copy_of(url)) is None or copy not in known]

    @property
    def pages(self) -> Fetcher | None:
        """The fetcher for pages of a recording or of local files; None for other targets."""
        replay = self.replay
        return RecordedPagesFetcher(replay) if isinstance(replay, ReplayFetcher | WarcFetcher) else replay

    def is_unrecorded(self, url: str) -> bool:
        """Whether the target is a recording without the response for a URL, which is read as a 404 then."""
        return isinstance(self.replay, ReplayFetcher | WarcFetcher) and not self.replay.has(url)

    def knows(self, url: str) -> bool:
        """Whether the answer for a URL is known: not that of another site than the files have, or a recording."""
        if isinstance(self.replay, StaticFilesFetcher | OneDocumentFetcher):
            return self.replay.serves(url)
        return not self.is_unrecorded(url)

    def known_rules(self, rules_of: Callable[[str], Rules | None]) -> Callable[[str], Rules | None]:
        """`rules_of` but None for hosts whose robots.txt is not known: see knows()."""
        return lambda url: rules_of(url) if self.knows(f"{origin(url)}/robots.txt") else None

    def has_headers(self, url: str) -> bool:
        """Whether the headers of the response for a URL are known: in a folder they may not be recorded."""
        return not isinstance(self.replay, ReplayFetcher) or self.replay.has_headers(url)

    @property
    def site(self) -> str | None:
        """The hosts of a recording or of local files; None for other targets, whose name has it."""
        hosts = dict.fromkeys(host(f"{seed.origins[0]}/") for seed in self.seeds) if self.replay is not None else ()
        return ", ".join(hosts) or None

    @property
    def domain(self) -> str:
        """The registrable domain of the site: limits on requests are of all its hosts together."""
        return registrable_domain(host(f"{self.seeds[0].origins[0]}/"))

    @property
    def reported(self) -> list[Problem | Outcome]:
        """The problem and outcome of a damaged recording, so that no result of it is complete."""
        if self.damage is None:
            return []
        problem = report("F04", self.damage, sitemap=self.name)
        return [problem, Outcome(self.name, self.name, complete=False, problems={"F04": 1}, samples=(problem,))]


def read_target_list(lines: bytes) -> Iterator[tuple[int, str]]:
    """The targets of a list, one a line, each with the number of its line, from 1; no blank lines, no # comments.

    >>> list(read_target_list(b"example.com\\n\\n# later: example.org\\nexample.net"))
    [(1, 'example.com'), (4, 'example.net')]
    """
    for number, line in enumerate(lines.decode("utf-8-sig", "replace").splitlines(), 1):
        target = line.strip()
        if target and not target.startswith("#"):
            yield number, target


def find_target(target: str | Path | Target, base: str | None = None) -> Target:
    """The Target that a caller names. Looks at the disk unless it is a URL; a Target is returned unchanged.

    With `base` it is a folder or a file that is read as the site at this URL.
    """
    if isinstance(target, Target):
        return target
    reject_document(target)
    if not isinstance(target, str | Path):
        raise UsageError(
            f"a target is a host, a URL or a folder, not {target!r}", remedy="read several one after the other"
        )
    name = str(target)
    if base is not None:
        return _local_target(Path(target), name, base)
    if SCHEME.match(name.strip()):
        return _site(name)
    path = Path(target)
    is_folder, is_file = _on_disk(path)
    may_be_host = isinstance(target, str) and is_host_name(name) and not is_recording(path)
    if is_folder and name.strip() and not may_be_host:
        if not is_recording(path):
            raise UsageError.of(
                "{name} was not written with {record=} (no {file}); {hint}; sr.load reads the files in it",
                name=name,
                file=SEEDS_FILE,
                hint=_base_hint(path),
            )
        seeds, recorded = read_recording(path)
        return Target(name, tuple(map(parse_target, seeds)), ReplayFetcher(path), recorded and recorded.astimezone(UTC))
    if is_warc_name(name) and not is_folder:
        warc = WarcFetcher(path)
        return Target(name, warc.seeds, warc, warc.recorded, warc.damage)
    if is_file:
        raise UsageError(_wrong_file_message(path, name))
    bare = name.strip()
    is_path = isinstance(target, Path) or name.endswith(DUMP_SUFFIXES) or _is_path(name)
    is_host = not is_path and _HOST.fullmatch(bare)
    alone = bare.removesuffix("/")
    if is_host and bare.endswith("/") and "/" in alone:  # the name of a folder, as likely as not
        is_host, hint = None, f"if it is a page or a folder of a site, give its URL: https://{bare}"
    else:
        hint = "a site is named by its host, such as example.com, or by its URL with https:// or http://"
    if bare and not is_host:
        raise UsageError(f"there is no file or folder {name}; {hint}")
    return _site(alone if is_host else name)


def _is_path(name: str) -> bool:
    """Whether a name can only be that of a file or a folder, on any system."""
    looks_like_one = name.startswith((".", "/")) or "\\" in name or _DRIVE.match(name) is not None
    return looks_like_one or has_file_suffix(name)


def is_host_name(name: str) -> bool:
    """Whether a name is that of a host, even where a folder has it."""
    return _HOST_NAME.fullmatch(name) is not None and not has_file_suffix(name)


def reject_document(target: object) -> None:
    """Raises UsageError for the bytes or the text of a document where a site is expected."""
    head = target[:100].encode("utf-8", "replace") if isinstance(target, str) else target
    if not isinstance(head, bytes | bytearray):
        return
    head = head.lstrip(b"\xef\xbb\xbf \r\n\t")
    if head.startswith((b"<http://", b"<https://")):
        raise UsageError("the URL stands in angle brackets", remedy="give it without them")
    if head.startswith((b"<", MAGIC["gzip"])):
        raise UsageError("that is a document, not the name of a site; `sitemap-reader parse` (or sr.parse) reads it")


def reject_sitemap_file(name: str) -> None:
    """Raises UsageError for a sitemap file where a site or a dump is expected: without a base it has no URL."""
    if name.lower().endswith(_SITEMAP_SUFFIXES) and _on_disk(Path(name))[1]:
        raise UsageError(_wrong_file_message(Path(name), name))


def site_target(name: str) -> Target:
    """The Target of a host or a URL, without a look at the disk."""
    bare = name.strip()
    if bare and not (SCHEME.match(bare) or _HOST.fullmatch(bare)):
        hint = "only hosts and URLs are read here" if _is_path(bare) else f"write http://{bare} if it is one"
        raise UsageError(f"{name!r} is no host such as example.com; {hint}")
    return _site(name)


def document_target(body: bytes, base: str) -> Target:
    """The Target of one document in memory; `base` is its URL, or that of a folder that has it as sitemap.xml."""
    url = _document_url(base, "sitemap.xml")
    return Target(url, (_document_seed(url),), OneDocumentFetcher(url, body), local=STDIN)


def _local_target(path: Path, name: str, base: str) -> Target:
    is_folder, is_file = _on_disk(path)
    what = None
    if SCHEME.match(name.strip()):
        what = f"{without_credentials(name)} is a URL"
    elif (is_folder and is_recording(path)) or is_warc_name(name):
        what = f"{name} is a recording, which has its own URLs"
    elif name.endswith(DUMP_SUFFIXES):
        what = f"{name} is a dump, which has its own URLs"
    elif not (is_folder or is_file) or not name.strip():
        what = f"there is no file or folder {name}"
    if what is not None:
        raise UsageError.of(
            "{what}; {base=} is for a folder or a sitemap file on the disk: leave it out for anything else", what=what
        )
    if is_folder:
        url = clean_base(base).removesuffix("/") + "/"
        site = origin(url)
        seed, fetcher = Seed(url, (site,), base_path=url[len(site) : -1]), StaticFilesFetcher(path, url)
    else:  # the folder of a file has its children and its robots.txt
        url = _document_url(base, path.name)
        seed, fetcher = _document_seed(url), StaticFilesFetcher(path.parent, directory(url), document=(url, path))
    return Target(url, (seed,), fetcher, local=name)


def _base_hint(path: Path) -> Message:
    """What to give for a folder or a file that is no recording."""
    found = likely_base(path)
    if found is None:
        return Message.of("add {base=URL}, the URL that it will have, to read it as that site")
    added = Keyword("base", f'"{found[0]}"')
    return Message.of("add {added} to read it as the site that {file} names", added=added, file=found[1])


def _site(name: str) -> Target:
    seed = parse_target(name)
    return Target(seed.target, (seed,))


def _wrong_file_message(path: Path, name: str) -> str:
    if name.endswith(DUMP_SUFFIXES):
        return f"{name} is a dump, and no site: `sitemap-reader stats {name}` (or sr.load) reads it"
    if name.lower().endswith((".arc", ".arc.gz")):
        return f"{name} is an ARC; {RECOMPRESS.format(path=name)} makes a WARC of it"
    parse = f"`sitemap-reader parse {name}` (or sr.parse) reads one document"
    return Message.of("{name} is a file: {parse}; {hint}", name=name, parse=parse, hint=_base_hint(path))


def _on_disk(path: Path) -> tuple[bool, bool]:
    """Whether the path is a folder, and whether it is a file."""
    try:
        return path.is_dir(), path.is_file()
    except OSError:  # the name is too long
        return False, False


def recorder(fetcher: Fetcher, place: Path, target: Target) -> Fetcher:
    """The fetcher, wrapped to write each response to a folder, or to a WARC file if `place` is named as one."""
    if _is_same(place, target):
        raise UsageError(f"{place} is what is read: it cannot be recorded to at once")
    seeds = [seed.target for seed in target.seeds]

    def clock() -> datetime:
        return target.recorded or datetime.now(UTC)

    if is_warc_name(place.name) and not place.is_dir():
        from ..fetch.warc import WarcRecorder  # here: recording is rare

        return WarcRecorder(fetcher, place, seeds, clock=clock)
    if place.is_file():
        raise UsageError(f"{place} is a file; a recording is a folder, or a file named .warc or .warc.gz")
    return FolderRecorder(fetcher, place, seeds, clock=clock)


def _is_same(place: Path, target: Target) -> bool:
    if isinstance(target.replay, StaticFilesFetcher):
        return place.resolve() == target.replay.folder.resolve()
    with suppress(OSError):
        return isinstance(target.replay, WarcFetcher) and place.samefile(target.name)
    return False


# The last segment of a URL that is a document, and no folder: `sitemap.xml`; not `v1.2`.
_FILE_NAME = re.compile(r".+\.[A-Za-z]\w*", re.DOTALL)
# Of each file that likely_base() looks at.
_MAX_DEPTH = 8
_HEAD_LIMITS = Limits(max_entries=100, max_decoded_bytes=MIB)
_UNKNOWN = "https://unknown.invalid"  # RFC 2606 2: relative URLs name no host


def _document_seed(url: str) -> Seed:
    return Seed(url, (origin(url),), document=url)


def _document_url(base: str, name: str) -> str:
    url = clean_base(base)
    if _FILE_NAME.fullmatch(url[len(origin(url)) :].rpartition("/")[2]):
        return url
    folder = url if url.endswith("/") else f"{url}/"
    return str(clean_url(name.replace("%", "%25").replace("?", "%3F").replace("#", "%23"), folder).url)


def clean_base(base: object) -> str:
    """The base as a clean URL; UsageError, without any password in it, for what is none."""
    hint = "give the URL that the folder will have, such as https://www.example.com/"
    if not isinstance(base, str) or not base.strip():
        raise UsageError(hint, keyword="base")
    if not SCHEME.match(base.strip()):
        raise UsageError(f"{base.strip().partition('@')[2] or base} has no scheme", keyword="base", remedy=hint)
    url = clean_url(base).url
    if url is None or not url.startswith(("http://", "https://")):
        raise UsageError("it is no http or https URL", keyword="base", remedy=hint)
    if "@" in url[: url.index("/", 8)] or "?" in url or "#" in base:
        raise UsageError("it has a login, a query or a fragment", keyword="base", remedy=hint)
    return url


def likely_base(path: Path) -> tuple[str, Path] | None:
    """The one base that the robots.txt or the sitemaps of a folder name, or a file, and the file that names it."""
    folder, files = path.parent, [path]
    if path.is_dir():
        folder, files = path, [path / name.removeprefix("/") for name in ("/robots.txt", *WELL_KNOWN)]
    for file in files:
        locs = [*_locs(file)] if file.is_file() and (file == path or is_inside(file, folder)) else []
        origins = {origin(loc) for loc in locs}
        if len(origins) == 1:
            return _with_path(folder, origins.pop(), locs), file
    return None


def _with_path(folder: Path, site: str, locs: list[str]) -> str:
    """The folder of the site below which most of the URLs have files; without any, the one that they have in common."""
    paths = [loc[len(site) :].partition("?")[0].rpartition("/")[0] or "/" for loc in locs]
    folders = [name for name in posixpath.commonpath(paths).split("/") if name]
    bases = [f"{site}/", *(f"{site}/{'/'.join(folders[:depth])}/" for depth in range(1, len(folders) + 1))]

    def found(base: str) -> int:
        files = StaticFilesFetcher(folder, base)
        return sum(files.file_of(loc) is not None for loc in locs)

    best = max(bases[:_MAX_DEPTH], key=found)  # of several the first
    return best if found(best) or len(locs) == 1 else bases[-1]


def _locs(file: Path) -> Iterator[str]:
    """The absolute URLs at the beginning of a sitemap, or of the Sitemap lines of a robots.txt."""
    url = f"{_UNKNOWN}/robots.txt" if file.name == "robots.txt" else f"{_UNKNOWN}/sitemap.xml"
    parser = SitemapParser(url=url, limits=_HEAD_LIMITS)
    try:
        with file.open("rb") as stream:
            head = stream.read(CHUNK_BYTES)
    except OSError:
        return
    for item in (*parser.feed(head), *parser.close(cut=len(head) == CHUNK_BYTES)):
        if isinstance(item, UrlRecord | SitemapRef) and not item.loc.startswith(f"{_UNKNOWN}/"):
            yield item.loc


class RecordedPagesFetcher:
    """A Fetcher of the pages of a recording: one that was not recorded is a FetchError, as its status is not known."""

    def __init__(self, recording: ReplayFetcher | WarcFetcher) -> None:
        self._recording = recording

    @asynccontextmanager
    async def fetch(self, url: str, headers: Mapping[str, str]) -> AsyncIterator[Response]:
        if not (is_robots_txt(url) or self._recording.has(url)):
            raise FetchError("it is not in the recording", transient=False, remedy="check the site", is_sent=False)
        async with self._recording.fetch(url, headers) as response:
            yield response
