"""What goes to stderr: errors, problems, finished documents, the summary.

In: items and summaries as they come. Out: lines for people. Nothing that a site wrote reaches the terminal as a
control character, and a stderr that cannot be written stops nothing.
"""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, Any

import attrs

from ..client.progressbar import ProgressBar, duration_of
from ..client.summary import Problems, count_of
from ..client.targets import listed
from ..frontier.filters import UNWANTED
from ..frontier.responses import OWN_REMEDY
from ..model.errors import NothingFound, NothingReadable, UsageError, masked, printable
from ..model.problems import CATALOGUE, Problem
from ..model.records import Outcome
from ..serialize.dumps import STDIN
from .exits import Exit, worst

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..client.summary import Summary
    from ..frontier.robots_policy import CrawlDelay
    from ..model.errors import ReadError
    from ..model.records import Item


# Keywords as the library's messages have them: `full=True`, `scope="any"`, `state=FILE`, `record=`.
_KEYWORD = re.compile(
    r"(?<![^\s(])(scope|record|resume|full|crawl|baseline|baseline_crawl|state)="
    r"""(?:True|"(?P<text>\w+)"|(?P<what>[A-Z]+))?(?![\w"])"""
)

# What to try, by the code of what ended it; where its own message ends with that, no other is given.
HINTS = {
    "F01": "check the URL; `discover HOST` looks for the sitemaps of a site",
    "F02": "--no-robots reads it all the same",
    "F04": "see whether a browser reaches it, or try again later",
    "F05": "give the sitemap itself; `discover HOST` looks for it",
    "F07": "fetch it again, in case it was damaged on the way",
    "F11": "check that it is the right one, or fetch it again",
    "F13": "--allow-private permits private addresses",
    "F15": "--max-crawl-delay waits for it, up to 300 s",
    "S01": "fetch it again, in case it was damaged on the way",
    "S09": "a DTD can do harm: save the document without its DOCTYPE, and `parse` that",
    "S11": "check that it is a sitemap: its entries name no URL",
    "S14": "--max-depth reads deeper",
    "S15": "give a sitemap, a feed or a list of URLs",
    "S16": "raise the limit that it names",
    "U01": "say with `parse --url` where the document is from",
    "U02": "check that it is a sitemap: those list http and https URLs",
    "U15": "check that it is a sitemap: what it lists are no URLs",
}


# How many times as long as was reported a host must take for another line about it.
_FAR_LONGER = 4.0


class Console:
    """Stderr for one command. `quiet` leaves errors only; `verbose` adds infos and a line for each document.

    `document` names what has no URL; `bar` is there for another progress than that of sites.
    """

    def __init__(
        self, *, quiet: bool = False, verbose: bool = False, document: str = "-", bar: ProgressBar | None = None
    ) -> None:
        if quiet and verbose:
            raise UsageError("-q and -v cannot both be given")
        self._document = document
        self._quiet = quiet
        self._verbose = verbose
        self._problems = Problems()
        self._severities: dict[tuple[str, str | None], str] = {}
        self._errors: set[str] = set()
        self._bar = bar or ProgressBar()
        self._delays: dict[str, float] = {}  # host -> the seconds that were reported

    def line(self, text: str) -> None:
        """One line, unless nobody can read it; a bar makes room for it."""
        if sys.stderr is None:
            return
        with self._bar.aside():
            try:
                print(printable(text), file=sys.stderr, flush=True)
            except OSError:  # stderr is closed or full: the data matters more
                return

    def note(self, text: str) -> None:
        """One line, unless it is to be quiet."""
        if not self._quiet:
            self.line(text)

    def detail(self, text: str) -> None:
        """One line for whoever wants to know all."""
        if self._verbose:
            self.line(text)

    def progress(self, *, beside_lines: bool = False) -> Callable[[Any], None] | None:
        """What a stream tells its progress to: a bar, until rest(). None where there is to be none.

        `beside_lines`: the terminal also gets what is read, as it comes, and lines would stand among the bar's.
        """
        return None if self._quiet or beside_lines else self._show_progress

    def _show_progress(self, progress: Any) -> None:
        self._bar.open()
        self._bar(progress)
        self._report_delay(getattr(progress, "delay", None))

    def _report_delay(self, delay: CrawlDelay | None) -> None:
        """A line for a host with a Crawl-delay, and another when so much was found that it takes far longer."""
        if delay is None or delay.seconds_left < self._delays.get(delay.host, 0.0) * _FAR_LONGER:
            return
        self._delays[delay.host] = delay.seconds_left
        known = f"{count_of(delay.documents, 'known sitemap')} to read: at least {duration_of(delay.seconds_left)}"
        self.line(
            f"note {delay.host}: Crawl-delay {delay.delay_seconds:g} s, {known}; "
            "--max-crawl-delay SECONDS skips hosts that ask for more"
        )

    def error(self, text: str) -> None:
        """`error: ...`; the same one is shown once, however many targets have it. No login that was typed is shown."""
        text = masked(text)
        if text not in self._errors:
            self._errors.add(text)
            self.line(f"error: {with_options(text)}")

    def nothing_read(self, failure: ReadError) -> None:
        """What ended a target without a URL, and what to try."""
        broken = [outcome for outcome in failure.outcomes if not outcome.complete]
        failed = [(outcome, sample) for outcome in broken for sample in outcome.samples]
        failed.sort(key=lambda each: each[1].severity != "error")
        told = str(failure)
        if failed and not self._quiet and _says_all(*failed[0]):
            return
        for _, sample in failed if not self._quiet else ():
            told = told.removesuffix(f": {sample}")  # its own line has said so
        self.error(_hinted(told, failed[0][1]) if failed else told)

    def unreadable(self, name: str, outcome: Outcome) -> None:
        """The same for a document that is read alone."""
        first = next((sample for sample in outcome.samples if sample.severity == "error"), None)
        told = f"no URL could be read of {name}"
        if first is None:
            self.error(told)
            return
        why = f": {first.code} {first.message}" if self._quiet else ""
        self.error(_hinted(told + why, first))

    def hear(self, item: Item) -> None:
        """Shows problems, five of a code and document, and with `verbose` documents."""
        if isinstance(item, Problem):
            self._show(item)
        elif isinstance(item, Outcome):
            self._finished(item)

    def hear_document(self, outcome: Outcome) -> None:
        """A line for a document, with `verbose`."""
        self.detail(document_line(outcome, self._document))

    def _finished(self, outcome: Outcome) -> None:
        self.hear_document(outcome)
        if outcome.entries and sum(outcome.dropped.values()) == outcome.entries:
            self._all_dropped(outcome)

    def _all_dropped(self, outcome: Outcome) -> None:
        if not self._quiet and UNWANTED.keys().isdisjoint(outcome.dropped):
            name = outcome.url or self._document
            self.line(f"note {name}: all its URLs are dropped; it may not speak for them, --scope any keeps them")

    def _show(self, problem: Problem) -> None:
        if self._quiet or (problem.severity == "info" and not self._verbose):
            return
        self._severities.setdefault((problem.code, problem.sitemap), problem.severity)
        if self._problems.add(problem):
            shown = problem if problem.sitemap else attrs.evolve(problem, sitemap=self._document)
            self.line(f"{problem.severity} {shown}")

    def rest(self) -> None:
        """Counts what was not shown, and starts anew; the bar ends."""
        self._bar.close()
        for code, document, count in self._problems.unsampled():
            severity = self._severities.get((code, document), CATALOGUE[code].severity)
            self.line(f"{severity} {code} {document or self._document}: {count:,} more")
        self._problems = Problems()
        self._severities = {}

    def end(self, summary: str | None, partial: str | None, codes: Sequence[Exit]) -> Exit:
        """The last lines of a command, and the code that it exits with."""
        self._bar.close()
        code = worst(codes)
        if self._quiet:
            return code
        if summary is not None:
            self.line(with_options(summary))
        if Exit.PARTIAL in codes and partial:
            self.line(f"{partial} (exit {code})")
        if code == Exit.INTERRUPTED:
            self.line(f"partial: interrupted (exit {code})")
        return code


def with_options(text: str) -> str:
    """A message of the library, with the command's options in place of its keywords.

    >>> with_options('3 dropped (host 3; scope="any" keeps it)'), with_options("resume=True goes on with it")
    ('3 dropped (host 3; --scope any keeps it)', '--resume goes on with it')
    """

    def option(match: re.Match[str]) -> str:
        value = match["text"] or match["what"]
        return f"--{match[1].replace('_', '-')}" + (f" {value}" if value else "")

    return _KEYWORD.sub(option, text)


def _says_all(outcome: Outcome, sample: Problem) -> bool:
    """Whether the line of the problem, which has been shown, is about the whole host and says what to try."""
    return outcome.why == "well-known" and OWN_REMEDY.fullmatch(sample.message) is not None


def _hinted(told: str, sample: Problem) -> str:
    """`told` with what to try behind it."""
    own = OWN_REMEDY.fullmatch(sample.message)
    hint = own[1] if own else HINTS.get(sample.code)
    return f"{told}; {hint}" if hint and not told.endswith(hint) else told


def document_line(outcome: Outcome, name: str) -> str:
    """A finished document in one line; `name` is for one without a URL."""
    parts = [outcome.format or "no sitemap", f"{outcome.entries:,} {'entry' if outcome.entries == 1 else 'entries'}"]
    if outcome.kept != outcome.entries:
        parts.append(f"{outcome.kept:,} kept")
    if outcome.skipped:
        parts.append(f"{outcome.skipped:,} skipped")
    if not outcome.complete:
        parts.append("incomplete")
    if outcome.seconds is not None:
        parts.append(f"{outcome.seconds:.1f} s")
    return f"done {outcome.url or name}: {', '.join(parts)}"


def summary_line(summary: Summary, limit: int | None) -> str:
    """The summary; where `limit` ended it, most documents were not read to their end, and are not counted."""
    if limit is None or summary.urls < limit:
        return str(summary)
    told = [f"{count_of(summary.urls, 'URL')}, as many as --limit asks for"]
    if summary.problems:
        told.append(count_of(summary.problems, "problem"))
    return "; ".join([*told, f"{summary.seconds:.1f} s"])


# ----------------------------------------------------------------------------------------------------
# The TARGET arguments: which there are, and one after the other to their ends.
#
# In: what was typed, `-` for a list on stdin. Out: targets; the Exit of each.


def read_targets(typed: Sequence[str]) -> list[str]:
    """The targets; the lines of stdin in place of `-`, without blank ones and # comments."""
    targets: list[str] = []
    for target in typed:
        targets += [each for _, each in listed(bytes_on_stdin())] if target == STDIN else [target]
    if not targets:
        raise UsageError("there is no target on stdin; give one a line, such as example.com")
    return targets


def bytes_on_stdin() -> bytes:
    """All of it."""
    if sys.stdin is None:
        raise UsageError("stdin is closed: no targets can be read from it")
    return sys.stdin.buffer.read()


def utf8(target: str) -> str:
    """As typed, but for bytes that are no UTF-8, which JSON cannot hold."""
    return target.encode("utf-8", "replace").decode()


def each_target(targets: Sequence[str], console: Console, read: Callable[[str], Exit]) -> list[Exit]:
    """What became of each; what stops one does not stop the next. An interrupt ends the list."""
    codes: list[Exit] = []
    for target in targets:
        try:
            codes.append(read(target))
        except UsageError as exc:
            console.error(str(exc))
            codes.append(Exit.USAGE)
        except NothingFound as exc:
            console.nothing_read(exc)
            codes.append(Exit.NOTHING)
        except NothingReadable as exc:
            console.nothing_read(exc)
            codes.append(Exit.UNREADABLE)
        except KeyboardInterrupt:
            return [*codes, Exit.INTERRUPTED]
        finally:
            console.rest()
    return codes


def judge(target: str, summary: Summary, console: Console) -> Exit:
    """What a target that was read without an exception comes to."""
    if not summary.complete:
        return Exit.PARTIAL
    if summary.urls or summary.dropped or summary.unwanted or summary.pruned or summary.repeated:
        return Exit.COMPLETE
    console.error(f"{target} lists no URL: its sitemaps are empty; -v shows each of them")
    return Exit.NOTHING
