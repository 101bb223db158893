"""robots.txt: which group applies, what its rules permit, and what a status means."""

import pytest
from protego import _protego

from sitemap_reader.frontier import ALLOW_ALL, Rules, disallow_all, parse_rules, product_token, rules_for_status

OURS = "sitemap-reader/0.1.0"
PAGE = "https://example.com/page"


@pytest.mark.parametrize(("user_agent", "token"), [
    (OURS, "sitemap-reader"),
    ("Mozilla/5.0 (compatible; bot/1.0)", "bot"),
    ("Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; My_Bot/2.1; +https://e.example)", "my_bot"),
    ("Mozilla/5.0 (X11; Linux)", "mozilla"),
    ("Bot", "bot"),
    ("", ""),
])
def test_product_token(user_agent: str, token: str) -> None:
    assert product_token(user_agent) == token


@pytest.mark.parametrize(("group", "ours"), [
    *((group, True) for group in ("*", "sitemap-reader", "Sitemap-Reader", "sitemap-reader/9.9", "sitemap-reader*",
                                  "sitemap-reader # us")),
    *((group, False) for group in ("site", "reader", "sitemap-reader-news", "Googlebot", "0.1.0", "")),
])
def test_group_applies_if_its_token_equals_ours(group: str, ours: bool) -> None:
    rules = parse_rules(f"User-agent: {group}\nDisallow: /\nCrawl-delay: 3", OURS)
    assert rules.allows(PAGE) is not ours
    assert rules.delay_seconds == (3.0 if ours else None)
    assert rules.why is None


STAR, ALLOWED = "User-agent: *\nDisallow: /\n", "User-agent: sitemap-reader\nAllow: /\n"
BROWSER = "Mozilla/5.0 (compatible; bot/1.0)"
SEVERAL = "User-agent: Other\nUser-agent: sitemap-reader\nDisallow: /a\n\nuser-agent: SITEMAP-READER/2\nDisallow: /b\n"


@pytest.mark.parametrize(("text", "user_agent", "permitted"), [
    (ALLOWED + STAR, OURS, "abc"),
    (STAR + ALLOWED, OURS, "abc"),
    (SEVERAL, OURS, "c"),  # groups for us merge
    ("User-agent: Mozilla\nDisallow: /", BROWSER, "abc"),  # the name of a browser in our header is not ours
    ("User-agent: bot\nDisallow: /", BROWSER, ""),
])
def test_our_groups_apply_before_those_of_all(text: str, user_agent: str, permitted: str) -> None:
    rules = parse_rules(text, user_agent)
    assert [path for path in "abc" if rules.allows(f"https://example.com/{path}")] == [*permitted]


@pytest.mark.parametrize("text", [
    "\ufeffUser-agent: *\nDisallow: /page",
    "User-agent: *\rDisallow: /page\r",
    "User-agent: *\r\nDisallow: /page\r\n",
    "User-agent *\nDisallow /page",
    "User\0-agent: *\nDis\0allow: /page",
    "User-agent: *\nSitemap: /s.xml\nDisallow: /page",
    "User-agent: *\nDisallow: /*ge$",
    "User-agent: *\nDisallow: /\nAllow: /other",
])
def test_accepted_robots_txt_syntax(text: str) -> None:
    rules = parse_rules(text, OURS)
    assert not rules.allows(PAGE)
    assert rules.allows("https://example.com/other")
    assert rules.allows("https://example.com/robots.txt")


@pytest.mark.parametrize("key", sorted(_protego._DISALLOW_DIRECTIVE))
def test_every_spelling_of_disallow_that_protego_reads_is_suspected(key: str) -> None:
    """The audit compares only the URLs that begin with a suspect."""
    for written in (f"{key}:/page", f"{key.upper()} : /page", f"\t{key} /page # why", f"{key}:\u00a0 /page"):
        rules = parse_rules(f"User-agent: *\n{written}", OURS)
        assert (rules.allows(PAGE), rules.suspects("https://example.com")) == (False, (PAGE,)), written


@pytest.mark.parametrize("separator", ["\u2028", "\u2029", "\x85", "\v", "\f", "\x1e"])
def test_other_separators_end_no_line(separator: str) -> None:
    assert parse_rules(f"User-agent: *\n# no{separator}Disallow: /", OURS).allows(PAGE)


@pytest.mark.parametrize(
    ("written", "delay"),
    [("2", 2.0), ("0.5", 0.5), ("0", 0.0), ("100000", 100000.0)]
    + [(junk, None) for junk in ("nan", "inf", "-inf", "-1", "1e999", "soon", "")],
)
def test_crawl_delay(written: str, delay: float | None) -> None:
    assert parse_rules(f"User-agent: *\nCrawl-delay: {written}", OURS).delay_seconds == delay


@pytest.mark.parametrize(
    ("status", "meaning"),
    [(status, "read") for status in (200, 204, 206, 299)]
    + [(status, "allow") for status in (301, 304, 399, 400, 401, 403, 404, 410, 428, 430, 451, 499)]
    + [(status, "disallow") for status in (0, 101, 199, 429, 500, 503, 599, 999)],
)
def test_meaning_of_a_status(status: int, meaning: str) -> None:
    rules = rules_for_status(status)
    if meaning == "read":
        assert rules == "read"
        return
    assert isinstance(rules, Rules)
    assert rules.allows(PAGE) is (meaning == "allow")
    assert rules.why == (None if meaning == "allow" else f"robots.txt answered {status}")


def test_rules_without_a_file() -> None:
    assert (ALLOW_ALL.allows(PAGE), ALLOW_ALL.why, ALLOW_ALL.delay_seconds) == (True, None, None)
    refused = disallow_all("robots.txt unreachable")
    assert (refused.allows(PAGE), refused.why, refused.delay_seconds) == (False, "robots.txt unreachable", None)


def test_an_empty_or_senseless_file_allows_all() -> None:
    for text in ("", "\0\0", "<html>", "Disallow: /", "User-agent:\nDisallow: /"):
        assert parse_rules(text, OURS).allows(PAGE)
