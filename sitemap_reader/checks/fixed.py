"""What the known findings of an earlier audit have and this one no longer finds: fixed, or not checked again.

A known occurrence is fixed only if this audit would have found it: its rule was checked, its document or page was
looked at, and no filter or ignore left it out. Known findings of other hosts are passed over.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import attrs

from ..parser.content.sniff import SITEMAP_FORMATS
from .findings import SEVERITIES, url_key
from .occurrences import Fixed, FixedFindings, with_url
from .rule_docs import explain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Set

    from ..model.problems import Severity
    from ..model.records import Outcome
    from .occurrences import KnownFindings, Occurrence
    from .policy import Policy


@attrs.frozen
class CheckedPart:
    """What an audit has looked at, as far as it decides whether a known occurrence would have been found again.

    `rules` as in Report; `documents` are those that were read now, and whether completely; `is_whole`: these are all of
    the site. `is_page_known`: whether a page was checked for a code.
    """

    rules: Mapping[str, str]
    documents: Mapping[str, bool]
    is_whole: bool
    listed: Set[int]  # keys of URLs
    policy: Policy | None = None
    takes_url: Callable[[str], bool] = lambda url: True
    is_page_known: Callable[[str, str], bool] = lambda url, code: False

    @classmethod
    def of(cls, outcomes: Iterable[Outcome], sitemaps: Iterable[str], **others: Any) -> CheckedPart:
        """From the outcomes of an audit; `sitemaps` are those with URLs, which stand in for them in a dump without."""
        read = {each.url: each for each in outcomes if each.url is not None}
        is_of_site = any(
            each.why not in ("index", "given") and each.format in SITEMAP_FORMATS for each in read.values()
        )
        is_whole = is_of_site and all(each.complete for each in read.values())
        documents = {url: each.complete for url, each in read.items()} or dict.fromkeys(sitemaps, True)
        return cls(documents=documents, is_whole=is_whole, **others)

    def is_of_site(self, found: Occurrence) -> bool:
        hosts = {_host(url) for url in self.documents}
        return not hosts.isdisjoint({_host(found.sitemap or ""), _host(found.url or "")} - {""})

    def covers(self, found: Occurrence) -> bool:
        """Whether an occurrence would have been found, were it still there."""
        url, document = found.url, found.sitemap
        is_left_out = self.policy is not None and self.policy.ignore_of(found.code, url, document) is not None
        if self.rules.get(found.code, "not selected") or is_left_out or not (url is None or self.takes_url(url)):
            return False
        needs = explain(found.code).needs
        if "a baseline" in needs or "two crawls" in needs:  # another baseline may not have it
            return url is not None and url_key(url) in self.listed
        is_read = self.documents.get(document or "", self.is_whole)
        is_of_page = "checked pages" in needs and found.field == "loc"
        if is_of_page or "pages" in needs or "a crawl" in needs:
            page = found.value if found.field == "loc" and found.value else url or ""
            return self.is_page_known(page, found.code) or (is_read and url_key(page) not in self.listed)
        return is_read


def _host(url: str) -> str:
    try:
        return urlsplit(url).netloc
    except ValueError:
        return ""


def find_fixed(known: KnownFindings, part: CheckedPart, samples: int) -> FixedFindings:
    """Call it once all problems were compared with the known findings."""
    counts: Counter[tuple[str, Severity]] = Counter()
    first: dict[tuple[str, Severity], list[Occurrence]] = {}
    unchecked: Counter[str] = Counter()
    for found in known.missing():
        if not part.is_of_site(found):
            continue
        if not part.covers(found):
            unchecked[found.code] += found.count
            continue
        key = found.code, found.severity
        counts[key] += found.count
        if len(kept := first.setdefault(key, [])) < samples:
            kept.append(found)
    ranked = sorted(counts, key=lambda key: (SEVERITIES.index(key[1]), -counts[key], key[0]))
    fixed = tuple(Fixed(*key, counts[key], tuple(first[key])) for key in ranked)
    return FixedFindings(known.name, fixed, unchecked)


# --- in a report ---


def fixed_lines(fixed: FixedFindings | None) -> Iterator[str]:
    """The part of a report in text: a headline, a line for each code, and its first occurrences below."""
    if fixed is None:
        return
    yield fixed.headline + (f"; {fixed.not_checked}" if fixed.not_checked else "")
    for each in fixed.findings:
        yield f"  {each.severity}  {each.code}  {each.count:,}  {each.title}"
        yield from (f"    - {with_url(sample.message, sample.url)}" for sample in each.samples)
        if more := each.count - sum(sample.count for sample in each.samples):
            yield f"    - and {more:,} more"
