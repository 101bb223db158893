"""What robots.txt permits to crawlers, of the pages of a Snapshot that was read with it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import attrs
import pandas as pd

from ..frontier.robots_rules import ALLOW_ALL, AgentRules, agent_names, parse_rules
from ..model.errors import UsageError
from ..parser.normalise.urls import origin
from .measure import in_site_order, page_frame
from .sections import section_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ..frontier.robots_rules import GroupRules, Rules
    from .tables import SnapshotTables

_BUDGET = 2_000_000_000  # as Rules.effort() counts: some 10 seconds
_STATES = ("allowed", "disallowed", "unknown")


def robots_for(
    snapshot: SnapshotTables, texts: Mapping[str, str] | None, agents: str | Iterable[str], depth: int
) -> pd.DataFrame:
    """`texts` are those of robots.txt by origin."""
    if texts is None:
        message = f"robots_for() needs robots.txt, and there is none with {snapshot.name}"
        raise UsageError(message, remedy="read the site itself, by snapshot(): to_parquet() keeps its robots.txt")

    def rules_of(url: str) -> Rules | None:
        text = texts.get(origin(url))
        return None if text is None else parse_rules(text, "") if text else ALLOW_ALL

    names = agent_names(agents)
    rules = AgentRules(rules_of, names)
    pages = page_frame(snapshot, "loc")
    pages["section"] = section_of(snapshot, depth, by_language=False)
    locs = pages["loc"].astype(str)
    states = pd.DataFrame({name: "unknown" for name in names}, index=pages.index)
    judge = _Judge()
    for start, index in locs.groupby(locs.map(_origin)).groups.items():
        for group in rules.groups(str(start)) or ():
            judged = locs[index].map(partial(judge.state, group))
            for name in group.agents:
                states.loc[index, name] = judged
    frames = []
    for name in names:
        sizes = pages.groupby(["site", "section", states[name]]).size().unstack(fill_value=0)
        counts = sizes.reindex(columns=pd.Index(_STATES), fill_value=0)
        frame = counts.assign(agent=name, pages=counts.sum(axis=1)).reset_index()
        frames.append(frame.sort_values(["pages", "section"], ascending=[False, True]))
    return in_site_order(pd.concat(frames)[["site", "agent", "section", "pages", *_STATES]], snapshot)


def _origin(loc: str) -> str:
    try:
        return origin(loc)
    except ValueError:  # of a dump of another program
        return ""


@attrs.define
class _Judge:
    """Pages beyond a budget of work are unknown."""

    left: int = _BUDGET

    def state(self, group: GroupRules, loc: str) -> str:
        if group.whole_site is not None:
            return "disallowed"
        if not group.may_disallow(loc):
            return "allowed"
        self.left -= group.effort(loc)
        if self.left < 0:
            return "unknown"
        return "disallowed" if group.disallows(loc) else "allowed"
