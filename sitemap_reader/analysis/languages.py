"""Which languages a site has, and which name which: hreflang alternates of pages in, a matrix out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..client.summary import count_of
from .drawings import Drawing
from .findings import finding_of, percent
from .measure import measure
from .pages import ordered

if TYPE_CHECKING:
    import pandas as pd

    from .measure import Measure
    from .snapshot import Snapshot

_NONE, _DEFAULT = "none", "x-default"
_RULE = (
    "Links between pages by hreflang: from pages whose link to themselves has this language (none where they have no "
    "such link) to pages in that one. A link is returned where the page that it names is listed, by any "
    "of these sites, and links back."
)


def hreflang_matrix(snapshot: Snapshot) -> Measure:
    """See Snapshot.hreflang_matrix()."""
    links = _links(snapshot)
    own = links[(links["loc"] == links["href"]) & (links["hreflang"] != _DEFAULT)].drop_duplicates(["site", "loc"])
    languages = own.set_index(["site", "loc"])["hreflang"].rename("language")
    links = links[links["loc"] != links["href"]].merge(languages.reset_index(), how="left", on=["site", "loc"])
    links["language"] = links["language"].fillna(_NONE)
    # Also from one site of the Snapshot to another: a language may have a domain of its own.
    back = links[["href", "loc"]].set_axis(["loc", "href"], axis=1).drop_duplicates()
    links = links.merge(back.assign(returned=True), how="left", on=["loc", "href"])
    links["returned"] = links["returned"].eq(True)
    by = links.groupby(["site", "language", "hreflang"])["returned"]
    frame = by.agg(links="size", returned="sum").reset_index().rename(columns={"hreflang": "alternate"})
    frame = ordered(frame, snapshot)
    finding = finding_of(frame, snapshot.sites, _returned, "no page has an alternate")
    drawing = Drawing(
        "heat",
        x="alternate",
        y="language",
        x_title="language of the alternate",
        y_title="language of the page",
        value="links",
    )
    return measure(frame, rule=_RULE, finding=finding, drawing=drawing)


def _links(snapshot: Snapshot) -> pd.DataFrame:
    """A row an alternate with a language: `site loc hreflang href`, the language in lower case."""
    import pyarrow as pa
    from pyarrow import compute

    stored = snapshot.pages.stored.select(["site", "loc", "alternates"]).combine_chunks()
    alternates = stored["alternates"]
    rows = compute.list_parent_indices(alternates)
    inside: Any = compute.list_flatten(alternates)
    table = pa.table(
        {
            "site": stored["site"].take(rows),
            "loc": stored["loc"].take(rows),
            "hreflang": compute.utf8_lower(compute.struct_field(inside, "hreflang")),
            "href": compute.struct_field(inside, "href"),
        }
    )
    return table.filter(compute.is_valid(table["hreflang"])).to_pandas()


def _returned(part: pd.DataFrame) -> str:
    links, returned = part["links"].sum(), part["returned"].sum()
    languages = sorted({*part["language"], *part["alternate"]} - {_NONE, _DEFAULT})
    named = ", ".join([*languages[:6], *(["…"] if len(languages) > 6 else [])])
    told = f"{count_of(len(languages), 'language')}{f' ({named})' if named else ''}"
    return f"{told}; {percent(returned / links)} of {count_of(links, 'link')} returned"
