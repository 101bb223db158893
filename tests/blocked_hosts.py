"""Hosts that refuse: the response of each kind, as a replay and as a server, and the expected result of every command.

`EXPECTED` is the table of docs/blocked.md.
"""

from pathlib import Path

import attrs
from kit import Site, robots, urlset

from sitemap_reader.frontier import WELL_KNOWN

HOST = "blocked.example"
SITE = f"https://{HOST}"
PAGE = b"<!DOCTYPE html><html><head><title>One moment, please</title></head><body>Are you human?</body></html>"
GOOD = urlset(f"{SITE}/page")

# Kind -> the status and the body, or the message of a connection that failed, in the lines of a recording.
KINDS: dict[str, tuple[int, bytes] | str] = {
    "202, empty": (202, b""),
    "204": (204, b""),
    **{str(status): (status, PAGE) for status in (401, 403, 407, 429, 451, 500, 503)},
    "HTML page with 200": (200, PAGE),
    "text with 200": (200, b"Access denied."),
    "JSON with 200": (200, b'{"error": "forbidden"}'),
    "empty with 200": (200, b""),
    "TLS error": f"TLS certificate of {HOST}:443 has expired\nreplay-remedy: --cacert (cacert=FILE) trusts its issuer",
    "refused": f"connection refused by {HOST}:443\nreplay-remedy: check the host and the port",
    "reset": f"connection reset by {HOST}:443",
}
PLACES = ("robots.txt", "all paths")
COMMANDS = (
    "`dump`", "`discover`", "`tree`", "`audit`", "`sync`, first run", "`sync`, later run", "`harvest`", "`watch`",
    "`urls()`", "`snapshot()`",
)  # fmt: skip


@attrs.frozen
class Verdict:
    """The expected result of reading: the exit code of most commands, and the rest."""

    name: str
    code: int
    audit_code: int
    harvest: str
    watch: str
    python: str

    def of(self, command: str) -> str:
        """From a row of the table."""
        if command == "`harvest`":
            return f"{self.harvest}, {self.code}"
        if command == "`watch`":
            return self.watch
        if command.endswith("()`"):
            return self.python
        return str(self.audit_code if command == "`audit`" else self.code)


COMPLETE = Verdict("complete", 0, 0, "complete", "works", "complete")
PARTIAL = Verdict("partial", 3, 1, "partial", "works", "not complete")
REFUSED = Verdict("partial", 3, 0, "partial", "works", "not complete")  # search engines take robots.txt for missing
BLOCKED = Verdict("blocked", 5, 5, "blocked", "failing", "NothingReadable")

_PAGES = ("HTML page with 200", "text with 200", "JSON with 200", "empty with 200")

_NO_DOCUMENT = ("202, empty", "204")
_REFUSALS = ("401", "403", "451")
# RFC 9309: 4xx but 429 allows all, so that the well-known paths are tried; 429, 5xx and no answer forbid all. A 407 is
# the answer of a proxy to every request.
EXPECTED: dict[tuple[str, str], Verdict] = {(kind, place): BLOCKED for kind in KINDS for place in PLACES} | {
    **{(kind, "robots.txt"): PARTIAL for kind in _NO_DOCUMENT},
    **{(kind, "robots.txt"): REFUSED for kind in _REFUSALS},
    **{(kind, "robots.txt"): COMPLETE for kind in _PAGES},
}
CODES = {
    **dict.fromkeys(("202, empty", "401", "403", "407", "451"), "F17"),
    **dict.fromkeys(("204", "429", "500", "503"), "F18"),
    **dict.fromkeys(("TLS error", "refused", "reset"), "F04"),
    **dict.fromkeys(_PAGES, "F17"),
    "HTML page with 200": "F05",
}
# Of a page in place of robots.txt alone.
WARNINGS = dict(zip(_PAGES, ("F05", "F14", "F14", "F09"), strict=True))


def status_of(kind: str) -> int | None:
    """The status of the answer; None without one."""
    answer = KINDS[kind]
    return None if isinstance(answer, str) else answer[0]


def code_of(kind: str, verdict: Verdict) -> str:
    """The code of the one problem."""
    return WARNINGS[kind] if verdict is COMPLETE else CODES[kind]


def docs_table() -> list[str]:
    """The lines of the table in docs/blocked.md."""
    lines = [f"| answer | of | {' | '.join(COMMANDS)} |", "|---" * (len(COMMANDS) + 2) + "|"]
    for (kind, place), verdict in EXPECTED.items():
        lines.append(f"| {kind} | {place} | {' | '.join(map(verdict.of, COMMANDS))} |")
    return lines


def lay_out(folder: Path, kind: str | None, place: str = "all paths") -> Path:
    """Writes a replay whose host refuses in this way; kind None: a good site whose robots.txt names its sitemap."""
    if kind is None:
        return Site({"/robots.txt": robots(f"{SITE}/sitemap.xml"), "/sitemap.xml": GOOD}, SITE).write(folder)
    pages = {"/sitemap.xml": GOOD}
    answer = KINDS[kind]
    for path in ("/robots.txt", *(WELL_KNOWN if place == "all paths" else ())):
        if isinstance(answer, str):
            pages.pop(path, None)
            pages[f"{path}.headers"] = f"replay-error: {answer}\n".encode()
        else:
            pages |= {path: answer[1], f"{path}.headers": f"status: {answer[0]}\ncontent-type: text/html\n".encode()}
    return Site(pages, SITE).write(folder)
