"""The filters of an audit: which URLs and sitemaps it covers, which rules that leaves out, and what the report says.

In: include, exclude, follow and no_follow as urls() takes them. Out: the items that match, codes that need the whole
site, and notes. A crawl already leaves out URLs and sitemaps; of a dump, and of problems, this does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs

from ..frontier.filters import Selection, make_patterns
from ..model.errors import UsageError
from ..model.messages import Keyword, Message
from ..model.problems import CATALOGUE, Problem
from ..model.records import UrlRecord
from .rule_docs import comparing, needing

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from .findings import Findings


@attrs.frozen
class AuditFilter:
    """The filters of an audit; none by default. `names` are those given, as notes show them."""

    selection: Selection = attrs.field(factory=Selection)
    keywords: dict[str, Any] = attrs.field(factory=dict)
    names: tuple[str, ...] = ()

    @classmethod
    def of(cls, **given: Any) -> AuditFilter:
        """From the keywords include, exclude, follow and no_follow; UsageError for an invalid regular expression."""
        patterns = {name: make_patterns(name, value) for name, value in given.items() if not callable(value)}
        keywords = {name: value for name, value in given.items() if callable(value) or patterns[name]}
        texts = {name: (each.pattern for each in found.patterns) for name, found in patterns.items()}
        names = [f"{name} {' or '.join(texts.get(name, ('a function',)))}" for name in keywords]
        return cls(Selection(include=patterns["include"], exclude=patterns["exclude"]), keywords, tuple(names))

    @property
    def unchecked(self) -> tuple[str, ...]:
        """Codes that are not checked: with filters they would report what is filtered out."""
        return needing("the whole site") if self.keywords else ()

    def validate(self, selected: Iterable[str]) -> None:
        """UsageError for selected codes, or beginnings of codes, all of which need the whole site."""
        for beginning in selected:
            if {code for code in CATALOGUE if code.startswith(beginning)} <= {*self.unchecked}:
                given = Message.joined(" and ", map(Keyword, self.keywords))
                raise UsageError.of(
                    "{beginning} needs the whole site: leave out {given}", beginning=beginning, given=given
                )

    def validate_for_dump(self, name: str) -> None:
        """UsageError for a filter on sitemaps: a dump has none to follow."""
        for keyword in self.keywords.keys() & {"follow", "no_follow"}:
            raise UsageError.of(
                "{given} applies to sites only, and {name} is a dump: give {include=} or {exclude=}, for its URLs",
                given=Keyword(keyword),
                name=name,
            )

    def takes(self, item: object) -> bool:
        """False for a URL that does not match, and for a problem of such a URL."""
        loc = item.loc if isinstance(item, UrlRecord) else item.url if isinstance(item, Problem) else None
        return loc is None or self.selection.takes(loc)

    def notes(self, wanted: Findings, unavailable: Collection[str] = ()) -> Iterator[str]:
        """What the report covers. `wanted` has the codes that count without filters, `unavailable` lack a source."""
        if not self.keywords:
            return
        # What these report is right, but they see only what matches.
        codes = (*comparing("URLs"), *(comparing("shares") if self.selection != Selection() else ()))
        seen = ", ".join(sorted(code for code in codes if wanted.includes([code])))
        yield f"filtered by {'; '.join(self.names)}: only what matches was checked" + (
            f", and {seen} compare only the URLs that match" if seen else ""
        )
        whole = ", ".join(code for code in self.unchecked if wanted.includes([code]) and code not in unavailable)
        if whole:
            yield f"not checked, as a filter leaves out a part of the site: {whole}"
