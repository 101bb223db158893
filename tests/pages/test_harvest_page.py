"""The page of a harvest: its numbers, what was skipped, and text of hosts as text."""

import re
from datetime import UTC, datetime
from pathlib import Path

import attrs

from sitemap_reader.scale import Harvest, SkippedHost, harvest_page

AT = datetime(2026, 11, 2, 12, 30, tzinfo=UTC)
HARVEST = Harvest(
    Path("out"), False, 12, 2, 2, {"complete": 9, "nothing": 1, "given_up": 2},
    {"urls": 1_204_331, "sitemaps": 88, "problems": 5, "hosts": 12}, 1_204_331, 88, 5, 88_100_000,
    (SkippedHost("slow.example", "given_up", "over 600 s"), SkippedHost("<b>\u202e", "given_up", "'\"&")),
    seconds=5_230.4,
)  # fmt: skip


def text_of(harvest: Harvest) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", harvest_page(harvest, AT).partition("<main>")[2]))


def test_it_has_the_hosts_by_result_and_those_that_were_cut_short() -> None:
    text = text_of(HARVEST)
    assert "Begun 2026-11-02 12:30 UTC ; 5,230 s in the last run" in text
    assert "Partial: 2 hosts cut short." in text
    for row in ("URLs 1,204,331", "Complete 9 75%", "Without URLs 1 8%", "slow.example cut short over 600 s"):
        assert row in text
    assert "Lines that are no hosts" not in text


def test_text_of_a_list_of_hosts_is_text() -> None:
    page = harvest_page(attrs.evolve(HARVEST, refused=((7, "<script>alert(1)</script>"),)), AT)
    assert page.count("<script") == 1
    assert "&lt;b&gt;<span class=\"unseen\">\\u202e</span>" in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page


def test_a_whole_harvest_says_so() -> None:
    whole = attrs.evolve(HARVEST, verdicts={"complete": 12}, given_up=(), has_state=True)
    assert "Every host was read completely." in text_of(whole)
    assert "Changes of URLs 1,204,331" in text_of(whole)
    nothing = attrs.evolve(HARVEST, hosts=3, shards_done=0, verdicts={}, rows={}, given_up=(), failed={0: "it died"})
    assert "3 hosts not read, 2 of 2 shards not done" in text_of(nothing)
    assert "Shards that are not done Shard Why 0 it died" in text_of(nothing)
