"""The keywords of audit(): types for type checkers, and an Option of each, as in client/options.py."""

from typing import TYPE_CHECKING, Annotated, Any, TypedDict

from ..client.options import FILE, PatternOptions, ProgressOptions, ReaderOptions, RobotsOptions, moment
from ..model.errors import UsageError
from ..model.options import Option, callback
from ..model.problems import SAMPLES_PER_CODE
from .policy import Threshold, make_threshold

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable

    from ..frontier.plan import Moment
    from ..state.state import State
    from .baseline import Source
    from .occurrences import Occurrence
    from .policy import Policy
    from .url_checks import CheckProgress, CheckSize


def _is_threshold(name: str, value: object) -> None:
    removed_threshold(value)


def removed_threshold(value: Any) -> Threshold:
    """The Threshold of `max_removed`; UsageError for a value that is none."""
    try:
        return make_threshold(int(value) if isinstance(value, str) and value.isdecimal() else value)
    except UsageError:
        allowed = "a share of the URLs such as 5%, or a number of them"
        raise UsageError(keyword="max_removed", value=value, allowed=allowed) from None


class ComparisonOptions(TypedDict, total=False):
    """What an audit compares with."""

    crawl: Annotated[
        "str | os.PathLike[str] | None",
        Option(
            "Results of a crawl, CSV, JSONL or .xlsx, with url, status, canonical, noindex and hash; or an export of "
            "Screaming Frog, Katana (-jsonl) or advertools.",
            check=FILE,
        ),
    ]
    baseline: Annotated[
        "Source | None",
        Option(
            "Earlier dump, sitemap, list or table of URLs: report URLs and sitemaps that have disappeared since.",
            in_python="Also a Snapshot, or a state as in `state`.",
        ),
    ]
    state: Annotated[
        "str | os.PathLike[str] | State | None",
        Option("State file of sync, in place of `baseline`.", in_python="Also an open State."),
    ]
    max_removed: Annotated[
        "int | str",
        Option(
            "Most URLs of `baseline` or `state` that may have disappeared, a share such as 5% (and 10 URLs in any "
            "case) or a number: more, or over half of a section, are a warning (X01), fewer a notice, over half of all "
            "an error.",
            "10%",
            check=_is_threshold,
        ),
    ]
    baseline_crawl: Annotated[
        "str | os.PathLike[str] | None",
        Option(
            "Crawl at the time of `baseline`; with `crawl`, report pages whose lastmod changed, but not their hash.",
            check=FILE,
        ),
    ]
    check_urls: Annotated[
        "CheckSize | None",
        Option(
            "Fetch a sample of so many listed URLs, or all: report errors, redirects, noindex, canonicals and soft "
            "404s, and estimate their shares. URLs that `crawl` has are not fetched. Needs the extra pages."
        ),
    ]
    save_checks: Annotated[
        "str | os.PathLike[str] | None",
        Option("Write the results of `check_urls` to this file as JSONL, which `crawl` reads.", check=FILE),
    ]
    seed: Annotated[int, Option("Seed of the sample of `check_urls`: the same seed and URLs give the same sample.", 0)]


class RuleOptions(TypedDict, total=False):
    """Which findings an audit reports, and how."""

    select: Annotated[
        "str | Iterable[str]",
        Option("Only these rules, such as D03,U07; a letter or a name selects a family, such as L or hreflang.", ()),
    ]
    ignore: Annotated["str | Iterable[str]", Option("All rules but these, as for `select`.", ())]
    samples: Annotated[int, Option("Number of examples of each finding; its count is exact.", SAMPLES_PER_CODE)]
    known: Annotated[
        "str | os.PathLike[str] | None",
        Option(
            "Findings of an earlier audit, as `audit --findings FILE.jsonl` writes them: count what is new since, and "
            "list what was fixed.",
            check=FILE,
        ),
    ]
    policy: Annotated[
        "str | os.PathLike[str] | Policy | None",
        Option(
            "Severities, ignores and thresholds: the file that has them in its tables `[audit…]`, such as "
            "sitemap-reader.toml, or a Policy. No file is looked for."
        ),
    ]
    on_occurrence: Annotated[
        "Callable[[Occurrence], None] | None",
        callback("Called with each Occurrence: every place in which a problem was found, as it is found."),
    ]


class RequestOptions(ComparisonOptions, RuleOptions, PatternOptions, total=False):
    """The keywords of an audit that are of a dump, too."""

    as_of: Annotated[
        "Moment | None", Option("Time from which ages are computed, such as 2026-11-01 or 7d.", check=moment)
    ]
    stop: Annotated[
        "Callable[[], bool] | None",
        callback(
            "Called a few times a second: once it returns True, reading ends, and the Report covers the part that was "
            "read."
        ),
    ]


class AuditOptions(RequestOptions, RobotsOptions, ProgressOptions, ReaderOptions, total=False):
    """The keywords of audit()."""

    on_checked: Annotated[
        "Callable[[CheckProgress], None] | None",
        callback("Called with the CheckProgress of `check_urls`: done, total, seconds_left."),
    ]
