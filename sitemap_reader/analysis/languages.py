"""Measures of languages: the languages of pages, and hreflang links between them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..client.summary import count_of
from ..statistics.sections import X_DEFAULT
from .chart_spec import CellGroup, ChartSpec, shares_of_pages
from .measure import finding_per_site, in_site_order, measure, most_frequent, part_of, share_of_site
from .page_language import SOURCES, hreflang_links, own_languages, page_languages

if TYPE_CHECKING:
    import pandas as pd

    from .measure import Measure
    from .tables import SnapshotTables


UNKNOWN = "unknown"
_LANGUAGES_RULE = (
    "Pages by language: that of the hreflang link of a page to itself, else the code that begins its path or its host, "
    "if the pages of the host show that it is one of a language, else that of its news entry. A country domain states "
    "no language."
)


def languages(snapshot: SnapshotTables) -> Measure:
    """See Snapshot.languages()."""
    pages = page_languages(snapshot)
    counts = pages["source"].value_counts()
    pages["language"] = pages["language"].fillna(UNKNOWN)
    by = pages.groupby(["site", "language"], sort=False)
    frame = by.agg(pages=("site", "size"), source=("source", _sources)).reset_index()
    frame.insert(3, "share", share_of_site(frame))
    frame["_last"] = frame["language"] == UNKNOWN
    frame = frame.sort_values(["_last", "pages", "language"], ascending=[True, False, True]).drop(columns="_last")
    frame = in_site_order(frame, snapshot)
    stated = [f"{count_of(int(counts[name]), 'page')} by {name}" for name in SOURCES if counts.get(name)]
    rule = f"{_LANGUAGES_RULE} Found: {', '.join(stated) or 'none'}."
    spec = shares_of_pages("language", "language; share of the site's pages", CellGroup("share", "language"))
    share = ("pages of a known language", lambda part: part.loc[part["language"] != UNKNOWN, "share"].sum())
    finding = finding_per_site(frame, snapshot.sites, _languages_found, share=share)
    return measure(frame, rule=rule, finding=finding, spec=spec)


def _sources(column: pd.Series[str]) -> str | None:
    """The sources of a language, in order of trust: `hreflang, path`."""
    found = {*column.dropna().unique()}
    return ", ".join(name for name in SOURCES if name in found) or None


def _languages_found(part: pd.DataFrame) -> str:
    known = part[part["language"] != UNKNOWN]
    total, unknown = int(part["pages"].sum()), int(part["pages"].sum() - known["pages"].sum())
    if not len(known):
        return f"no language is known of {count_of(total, 'page')}"
    rest = f"; unknown for {part_of(unknown, total, 'page')}" if unknown else ""
    first = most_frequent(known.set_index("language")["pages"], total, "page")
    return f"{count_of(len(known), 'language')}; {first}{rest}"


# --- hreflang ----------------------------------------------------------------------------------------------------

_NONE = "none"
_RULE = (
    "hreflang links between pages. The language of a page is that of its link to itself (none if it has no such link). "
    "A link is returned if the page it points to is listed, by any of these sites, and links back."
)


def hreflang(snapshot: SnapshotTables) -> Measure:
    """See Snapshot.hreflang()."""
    links = hreflang_links(snapshot)
    links = links.assign(language=own_languages(links, links).fillna(_NONE))
    links = links[links["loc"] != links["href"]]
    # Across the sites of the Snapshot: a language may have its own domain.
    back = links[["href", "loc"]].set_axis(["loc", "href"], axis=1).drop_duplicates()
    links = links.merge(back.assign(returned=True), how="left", on=["loc", "href"])
    links["returned"] = links["returned"].eq(True)
    by = links.groupby(["site", "language", "hreflang"])["returned"]
    frame = by.agg(links="size", returned="sum").reset_index().rename(columns={"hreflang": "alternate"})
    frame = in_site_order(frame, snapshot)
    finding = finding_per_site(frame, snapshot.sites, _returned, "no page has an alternate", _RETURNED_SHARE)
    spec = ChartSpec(
        "heat",
        x="alternate",
        y="language",
        x_title="language of the alternate; share of the links that are returned",
        y_title="language of the page",
        share=("returned", "links"),
        ends=(0.0, 1.0),
        groups=(CellGroup("returned", "alternate", whole=("links",), is_of_cell=True),),
        matrix_title="language of the alternate; share of its links that are returned",
        size="links",
    )
    return measure(frame, rule=_RULE, finding=finding, spec=spec)


_RETURNED_SHARE = ("links that are returned", lambda part: part["returned"].sum() / part["links"].sum())


def _returned(part: pd.DataFrame) -> str:
    links, returned = part["links"].sum(), part["returned"].sum()
    languages = sorted({*part["language"], *part["alternate"]} - {_NONE, X_DEFAULT})
    names = ", ".join([*languages[:6], *(["…"] if len(languages) > 6 else [])])
    found = f"{count_of(len(languages), 'language')}{f' ({names})' if names else ''}"
    return f"{found}; {part_of(int(returned), int(links), 'link')} returned"
