"""Messages on stderr: errors, problems, finished documents, progress, the summary; and the loop over TARGETs.

A stderr that cannot be written stops nothing.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

import attrs
import click

from ..checks.rule_docs import explain
from ..client.progressbar import ProgressBar, duration_of
from ..client.targets import document_target, read_target_list
from ..client.terminal import screen_of
from ..frontier.plan import has_filter_drops
from ..model.errors import (
    FORESEEN,
    NothingFound,
    NothingReadable,
    UsageError,
    internal_error,
    masked,
    printable,
    without_commands,
)
from ..model.messages import spelled
from ..model.problems import SAMPLES_PER_CODE, Problem, count_of
from ..model.records import PROBED, Outcome
from ..parser.fast_path import HAS_SCANNER
from ..serialize.dumps import STDIN
from .exits import Exit, worst
from .option_types import as_option
from .same_files import refuse_same_files

if TYPE_CHECKING:
    from ..client.targets import Target
    from ..frontier.robots_policy import CrawlDelay
    from ..model.errors import ReadError
    from ..model.problems import Severity
    from ..model.records import Item


Named = TypeVar("Named", bound="str | Target")

# A host with a Crawl-delay is reported again once its remaining time is this many times what was reported.
_FAR_LONGER = 4.0


class Console:
    """Stderr of one command. `quiet` shows errors only; `verbose` adds notices and a line for each document.

    `document` is the name of a document without a URL.
    """

    def __init__(
        self, *, quiet: bool = False, verbose: bool = False, document: str = "-", bar: ProgressBar | None = None
    ) -> None:
        if quiet and verbose:
            raise UsageError("-q and -v cannot both be given")
        self._started = time.monotonic()
        self._document = document
        self._quiet = quiet
        self._verbose = verbose
        self._has_documents = False
        self._forget()
        self._errors: set[str] = set()
        self._bar = bar or ProgressBar()
        self._delays: dict[str, float] = {}  # host -> the seconds that were reported

    def _forget(self) -> None:
        self._shown: Counter[tuple[Severity, str]] = Counter()  # problems by severity and code
        self._hidden: dict[tuple[Severity, str], Counter[str | None]] = {}  # those not shown, by document
        self._all_dropped = 0  # documents of which nothing is in scope

    def line(self, text: str) -> None:
        """Prints one line, above the progress bar."""
        if sys.stderr is None:
            return
        screen = screen_of(sys.stderr)
        first, space, rest = screen.substituted(without_commands(printable(text))).partition(" ")
        with self._bar.hidden(), suppress(OSError):  # stderr is closed or full: the data matters more
            print(screen.styled(first, _STYLES.get(first)) + space + rest, file=sys.stderr, flush=True)

    def note(self, text: str) -> None:
        if not self._quiet:
            self.line(text)

    def detail(self, text: str) -> None:
        if self._verbose:
            self.line(text)

    def progress(self, *, beside_lines: bool = False) -> Callable[[Any], None] | None:
        """A callback that shows a bar until flush(); None with `quiet`, and beside lines of stdout on the terminal."""
        return None if self._quiet or beside_lines else self._show_progress

    def progress_on(self, bar: ProgressBar) -> Callable[[Any], None] | None:
        """As progress(), on another bar, which replaces the present one at the first call."""

        def show(progress: Any) -> None:
            if self._bar is not bar:
                self._bar.close()
                self._bar = bar
                bar(progress)  # before it is shown
            self._show_progress(progress)

        return None if self._quiet else show

    def _show_progress(self, progress: Any) -> None:
        self._bar.open()
        self._bar(progress)
        self._report_delay(getattr(progress, "delay", None))

    def _report_delay(self, delay: CrawlDelay | None) -> None:
        """Prints how long a host with a Crawl-delay takes; again if that has grown _FAR_LONGER times."""
        if delay is None or delay.seconds_left < self._delays.get(delay.host, 0.0) * _FAR_LONGER:
            return
        self._delays[delay.host] = delay.seconds_left
        known = f"{count_of(delay.documents, 'known sitemap')} to read: at least {duration_of(delay.seconds_left)}"
        self.line(
            f"note {delay.host}: Crawl-delay {delay.delay_seconds:g} s, {known}; "
            "--max-crawl-delay SECONDS skips hosts that ask for more"
        )

    def error(self, text: str) -> None:
        """Prints `error: ...`, each text once; passwords are masked."""
        text = masked(text)
        if text not in self._errors:
            self._errors.add(text)
            self.line(f"error: {text}")

    def show_nothing_read(self, failure: ReadError) -> None:
        broken = [outcome for outcome in failure.outcomes if not outcome.complete]
        failed = [(outcome, sample) for outcome in broken for sample in outcome.samples]
        failed.sort(key=lambda each: each[1].severity != "error")
        # A problem of the whole host, which has been printed, and says what to do.
        if failed and not self._quiet and failed[0][0].why in PROBED and failed[0][1].remedy is not None:
            return
        has_line = not self._quiet and any(failure.reason == str(sample) for _, sample in failed)
        message = failure.message if has_line else str(failure)
        self.error(_with_hint(message, failed[0][1]) if failed else message)

    def unreadable(self, name: str, outcome: Outcome) -> None:
        first = next((sample for sample in outcome.samples if sample.severity == "error"), None)
        message = f"no URL could be read from {name}"
        if first is not None:
            why = f": {first.code} {first.message}" if self._quiet else ""
            message = _with_hint(message + why, first)
        self.error(message)

    def show(self, item: Item) -> None:
        """Prints problems, five of a code and severity; with `verbose` also finished documents."""
        if isinstance(item, Problem):
            if not self._quiet and (item.severity != "notice" or self._verbose):
                self._show_problem(item)
        elif isinstance(item, Outcome):
            self.show_document(item)
            is_all_dropped = item.entries and sum(item.dropped.values()) == item.entries
            if is_all_dropped and not has_filter_drops(item):
                self._note_dropped(item.url or self._document)

    def _note_dropped(self, name: str) -> None:
        self._all_dropped += 1
        if self._all_dropped <= SAMPLES_PER_CODE:
            self.note(f"note {name}: all its URLs are outside its scope: dropped; --scope any keeps them")

    def _show_problem(self, problem: Problem) -> None:
        key = problem.severity, problem.code  # an S01 that lost entries is not hidden by repairs
        if self._shown[key] < SAMPLES_PER_CODE:
            self._shown[key] += 1
            placed = problem if problem.sitemap else attrs.evolve(problem, sitemap=self._document)
            self.line(f"{problem.severity} {placed}")
            return
        self._hidden.setdefault(key, Counter())[problem.sitemap] += 1

    def show_document(self, outcome: Outcome) -> None:
        self._has_documents = True
        parts = [outcome.format or "no sitemap", count_of(outcome.entries, "entry")]
        if outcome.kept != outcome.entries:
            parts.append(f"{outcome.kept:,} kept")
        if outcome.skipped:
            parts.append(f"{outcome.skipped:,} skipped")
        if not outcome.complete:
            parts.append("incomplete")
        if outcome.seconds is not None:
            parts.append(f"{outcome.seconds:.1f} s")
        self.detail(f"done {outcome.url or self._document}: {', '.join(parts)}")

    @property
    def elapsed(self) -> str:
        """The time of the command so far: `1.2 s`."""
        return f"{time.monotonic() - self._started:.1f} s"

    def flush(self) -> None:
        """Prints how many problems were not shown, forgets them, and closes the bar."""
        self._bar.close()
        for (severity, code), counts in self._hidden.items():
            documents = count_of(len(counts), explain(code).found_in)
            where = f" in {documents}" if len(counts) > 1 else ""
            place = "" if where else f" {next(iter(counts)) or self._document}"
            self.line(f"{severity} {code}{place}: {counts.total():,} more{where}")
        if (more := self._all_dropped - SAMPLES_PER_CODE) > 0:
            self.note(f"note {count_of(more, 'more document')}: all URLs are outside the scope")
        self._forget()

    def end(self, summary: str | None, partial: str | None, codes: Sequence[Exit]) -> Exit:
        self._bar.close()
        code = worst(codes)
        if self._quiet:
            return code
        if summary is not None:
            reader = "; compiled scanner" if HAS_SCANNER else "; expat only"
            self.line(spelled(summary, as_option) + (reader if self._verbose and self._has_documents else ""))
        if Exit.PARTIAL in codes and partial:
            self.line(f"{partial} (exit {code})")
        if code == Exit.INTERRUPTED:
            self.line(f"partial: interrupted (exit {code})")
        return code


# First word of a line -> its style.
_STYLES = {
    "error": "error", "error:": "error", "partial:": "error",
    "warning": "warning", "notice": "notice", "note": "notice",
}  # fmt: skip


def _with_hint(message: str, sample: Problem) -> str:
    hint = sample.remedy or explain(sample.code).hint
    return f"{message}; {hint}" if hint and not message.endswith(hint) else message


def read_targets_at(typed: Sequence[str], reading: Mapping[str, Any]) -> Sequence[str | Target]:
    """As read_targets(); with a `base` in `reading`, the keywords of a SitemapReader, `-` is the document on stdin."""
    if reading["base"] is None:
        return read_targets(typed)
    return [stdin_document(reading) if target == STDIN else target for target in typed]


def read_targets(typed: Sequence[str]) -> list[str]:
    """The targets; `-` is replaced by the lines of stdin, without blank ones and # comments."""
    targets: list[str] = []
    for target in typed:
        targets += [each for _, each in read_target_list(bytes_on_stdin())] if target == STDIN else [target]
    if STDIN in typed and (context := click.get_current_context(silent=True)) is not None:
        refuse_same_files(context, targets)
    if not targets:
        raise UsageError("stdin holds no target", remedy="give one per line, such as example.com")
    return targets


def stdin_document(reading: Mapping[str, Any]) -> Target:
    """The document on stdin as a Target at the `base` in `reading`; no more of it is read than its `limits` allow."""
    return document_target(bytes_on_stdin(reading["limits"].max_wire_bytes + 1), reading["base"])


def bytes_on_stdin(size: int = -1) -> bytes:
    if sys.stdin is None:
        raise UsageError("stdin is closed: nothing can be read from it")
    return sys.stdin.buffer.read(size)


def utf8(target: str) -> str:
    """The text with `?` in place of bytes that are not UTF-8, which JSON cannot hold."""
    return target.encode("utf-8", "replace").decode()


def read_each(targets: Sequence[Named], console: Console, read: Callable[[Named], Exit]) -> list[Exit]:
    """Reads the targets one after the other; returns their exit codes. An error ends one target, an interrupt all."""
    codes: list[Exit] = []
    for target in targets:
        try:
            codes.append(read(target))
        except UsageError as exc:
            console.error(exc.spelled(as_option))
            codes.append(Exit.USAGE)
        except (NothingFound, NothingReadable) as exc:
            console.show_nothing_read(exc)
            codes.append(Exit.NOTHING if isinstance(exc, NothingFound) else Exit.UNREADABLE)
        except FORESEEN:
            raise
        except Exception as exc:
            console.error(internal_error(exc))
            codes.append(Exit.INTERNAL)
        except KeyboardInterrupt:
            return [*codes, Exit.INTERRUPTED]
        finally:
            console.flush()
    return codes
