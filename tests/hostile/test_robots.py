"""robots.txt, valid by RFC 9309 and hostile: what each response permits, what is reported, and the cost of a body."""

import asyncio
import time
from itertools import pairwise
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit import Items, Site, index, robots, urlset

import sitemap_reader as sr
from sitemap_reader import FetchError, Limits
from sitemap_reader.client import SummaryBuilder
from sitemap_reader.frontier import Frontier, Plan, parse_rules, parse_target
from sitemap_reader.model import KIB
from sitemap_reader.pipeline import Crawl

SITE = "https://shop.example"
ROBOTS = f"{SITE}/robots.txt"
NAMED = f"{SITE}/named.xml"
GUESS = f"{SITE}/sitemap.xml"
SECRET = f"{SITE}/secret.xml"
OURS = "sitemap-reader/0.1.0"
Pages = dict[str, Any]  # of kit.Site


@attrs.frozen
class Walk(Items):
    """What a crawl gave; `end` is complete, partial, or the exception."""

    site: Site
    end: str

    def reported(self, code: str) -> str:
        return "; ".join(self.messages(code))


def walk(target: str, pages: Pages, **plan: Any) -> Walk:
    """A complete run with simulated time."""
    site, items = Site(pages), list[sr.Item]()
    ledger = SummaryBuilder(on_item=items.append)
    frontier = Frontier([parse_target(target)], Plan(**plan), jitter=lambda: 0.5)

    async def read() -> None:
        run = Crawl(frontier, site, polite=False, clock=lambda: 0.0)
        async with asyncio.timeout(120):
            async for batch in run.batches():
                for urls in ledger.record(batch):
                    items.extend(urls.records())

    asyncio.run(read())
    seen = Walk(items, site, "")
    ledger.progress.urls = len(seen.locs)
    verdict = ledger.verdict(SITE)
    return attrs.evolve(seen, end=type(verdict).__name__ if verdict else "complete" if ledger.complete else "partial")


# --- responses ---------------------------------------------------------------------------------------

TEXT = f"User-agent: *\nDisallow: /secret\nSitemap: {NAMED}\nSitemap: {SECRET}\n".encode()
RULES_ONLY = b"User-agent: *\nDisallow: /secret\n"
# The requests after it: named and permitted sitemaps, or well-known paths, or none.
NAMES, GUESSES, NOTHING = [NAMED], [f"{SITE}/", GUESS], list[str]()


def steps(count: int, last: Any, host: str = SITE) -> Pages:
    """A robots.txt with so many redirects."""
    urls = [ROBOTS, *(f"{host}/r{number}" for number in range(1, count + 1))]
    return {**{a: (301, {"location": b}, b"") for a, b in pairwise(urls)}, urls[-1]: last}


def failed(message: str, *, transient: bool = True) -> FetchError:
    return FetchError(message, transient=transient)


ANSWERS: list[tuple[str, Any, list[str], set[str], str]] = [
    # name, response, requested documents, codes, end
    ("200", TEXT, NAMES, {"F02"}, "partial"),
    ("200 without a Sitemap line", RULES_ONLY, GUESSES, {"F09"}, "complete"),
    ("200 empty", b"", GUESSES, {"F09"}, "complete"),
    ("200 in pieces of two tries", [failed("reset"), TEXT], NAMES, {"F02"}, "partial"),
    ("202", 202, GUESSES, {"F17"}, "partial"),
    *((str(status), status, GUESSES, {"F18"}, "partial") for status in (203, 204, 205, 206)),
    ("five redirects", steps(5, TEXT), NAMES, {"F02", "F03"}, "partial"),
    ("six redirects", steps(6, TEXT), GUESSES, {"F03", "F14"}, "complete"),
    ("redirect to another host", steps(1, TEXT, "https://www.shop.example"), NAMES, {"F02", "F03"}, "partial"),
    ("redirect to itself", {ROBOTS: (301, {"location": ROBOTS}, b"")}, GUESSES, {"F14"}, "complete"),
    ("redirect without a Location", 301, GUESSES, {"F18"}, "partial"),
    ("redirect to ftp", (301, {"location": "ftp://shop.example/"}, b""), GUESSES, {"F14"}, "complete"),
    ("redirect to nothing", steps(1, 404), GUESSES, {"F03"}, "complete"),
    ("redirect to an error", steps(1, 500), NOTHING, {"F18", "F03"}, "NothingReadable"),
    *((str(status), status, GUESSES, set[str](), "complete") for status in (404, 410)),
    ("304", 304, GUESSES, {"F18"}, "partial"),
    *((str(status), status, GUESSES, {"F17"}, "partial") for status in (400, 401, 403, 418, 451)),
    ("429", 429, NOTHING, {"F18"}, "NothingReadable"),
    ("429 for a while", [(429, {"retry-after": "30"}, b""), TEXT], NAMES, {"F02"}, "partial"),
    ("429 for too long", (429, {"retry-after": "3600"}, b""), NOTHING, {"F18"}, "NothingReadable"),
    *((str(s), s, NOTHING, {"F18"}, "NothingReadable") for s in (0, 100, 199, 500, 502, 503, 599, 600, 999)),
    ("503, then 200", [503, TEXT], NAMES, {"F02"}, "partial"),
    ("503 for a while", [(503, {"retry-after": "60"}, b""), TEXT], NAMES, {"F02"}, "partial"),
    ("503 for too long", (503, {"retry-after": "61"}, b""), NOTHING, {"F18"}, "NothingReadable"),
    ("refused", failed("connection refused"), NOTHING, {"F04"}, "NothingReadable"),
    ("timeout", failed("no byte for 30 s"), NOTHING, {"F04"}, "NothingReadable"),
    ("reset", failed("connection reset"), NOTHING, {"F04"}, "NothingReadable"),
    ("TLS", failed("certificate has expired", transient=False), NOTHING, {"F04"}, "NothingReadable"),
    ("cut in mid-body", (200, {}, [TEXT, failed("broke off")]), NOTHING, {"F02", "F04"}, "NothingReadable"),
    ("cut, then whole", [(200, {}, [TEXT[:40], failed("broke off")]), TEXT], NAMES, {"F02"}, "partial"),
]


@pytest.mark.parametrize(("answer", "documents", "codes", "end"), [r[1:] for r in ANSWERS], ids=[r[0] for r in ANSWERS])
def test_robots_txt_response_decides_permission(answer: Any, documents: list[str], codes: set[str], end: str) -> None:
    """RFC 9309 2.3.1: success is read, redirects are followed five times, 4xx allows all, the rest forbids all.

    202 to 206 are no document, so they count as 4xx.
    """
    pages: Pages = {NAMED: urlset(f"{SITE}/1"), GUESS: urlset(f"{SITE}/1"), SECRET: urlset(f"{SITE}/2")}
    pages |= answer if isinstance(answer, dict) else {ROBOTS: answer}
    seen = walk(SITE, pages)
    requested = [url for url in seen.site.documents if "/r" not in url]
    assert (requested, {*seen.codes}, seen.end) == (documents, codes, end)
    assert seen.locs == ([f"{SITE}/1"] if documents else [])
    assert seen.outcome(ROBOTS).complete is (end == "complete" or documents == NAMES)


# --- bodies -----------------------------------------------------------------------------------------

PLAIN = TEXT.decode()
LIMIT = Limits().max_robots_bytes


def cut_at_the_limit(line: str) -> bytes:
    """A robots.txt over the limit, which falls into this line after its 12th character."""
    head = f"{PLAIN}#"
    return (head + "x" * (LIMIT - len(head) - 13) + "\n" + line + "\n" + "#\n" * 300_000).encode()


BODIES: list[tuple[str, bytes, list[str], set[str]]] = [
    # name, body, requested documents, codes; /secret.xml is forbidden by all but those that are no robots.txt
    ("UTF-16 with BOM", PLAIN.encode("utf-16"), NAMES, {"F02", "S07"}),
    ("UTF-16BE with BOM", b"\xfe\xff" + PLAIN.encode("utf-16-be"), NAMES, {"F02", "S07"}),
    ("UTF-16 without BOM", PLAIN.encode("utf-16-le"), NAMES, {"F02", "S07"}),
    ("UTF-16BE without BOM", PLAIN.encode("utf-16-be"), NAMES, {"F02", "S07"}),
    ("UTF-32", PLAIN.encode("utf-32"), NAMES, {"F02", "S07"}),
    ("UTF-8 with BOM", b"\xef\xbb\xbf" + TEXT, NAMES, {"F02"}),
    ("BOM at every line", PLAIN.replace("\n", "\n\ufeff").encode(), NAMES, {"F02"}),
    ("CR", TEXT.replace(b"\n", b"\r"), NAMES, {"F02"}),
    ("CRLF", TEXT.replace(b"\n", b"\r\n"), NAMES, {"F02"}),
    ("no newline at the end", TEXT.rstrip(), NAMES, {"F02"}),
    ("blank lines within the group", TEXT.replace(b"\n", b"\n\n \n\t\n"), NAMES, {"F02"}),
    ("NUL in a key", TEXT.replace(b"Disallow", b"Dis\0allow"), NAMES, {"F02"}),
    ("NUL lines", TEXT.replace(b"\n", b"\n\0\n\0\0\n"), NAMES, {"F02"}),
    ("U+2028 in a comment", b"# a\xe2\x80\xa8Allow: /secret.xml\n" + TEXT, NAMES, {"F02"}),
    ("U+0085 in a rule", b"User-agent: *\nAllow: /x\xc2\x85Allow: /secret.xml\n" + TEXT, NAMES, {"F02"}),
    ("Latin-1 bytes", b"# caf\xe9 \xff\xfe\nDisallow: /caf\xe9\n" + TEXT, NAMES, {"F02", "S07"}),
    ("unknown lines", b":\n::\nallow\ndisallow\n=\n{}\nHost: x\nRequest-rate: 1/0\n" + TEXT, NAMES, {"F02"}),
    ("a comment of 400 KB", b"#" * 400_000 + b"\n" + TEXT, NAMES, {"F02"}),
    ("18,000 groups", b"".join(b"User-agent:%d\nDisallow:/\n" % n for n in range(18_000)) + TEXT, NAMES, {"F02"}),
    ("a group of 25,000", b"".join(b"User-agent: %d\n" % n for n in range(25_000)) + TEXT, NAMES, {"F02"}),
    ("relative Sitemap", TEXT.replace(f"{SITE}/named".encode(), b"named"), NAMES, {"F02", "F12"}),
    ("Sitemap without a key", TEXT.replace(b"Sitemap: https:", b"Sitemaps https:"), NAMES, {"F02", "F12"}),
    ("a page with rules in it", b"<!DOCTYPE html>\n<pre>\n" + TEXT, GUESSES, {"F05"}),
    ("1 MB, a rule is cut", cut_at_the_limit("Disallow: /named-longer"), NAMES, {"F02", "S16"}),
    ("1 MB, a Sitemap line is cut", cut_at_the_limit(f"Sitemap: {SITE}/other.xml"), NAMES, {"F02", "S16"}),
    ("10 MB in a line", TEXT + b"Disallow: /" + b"a" * 10_000_000, NAMES, {"F02", "S16"}),
    ("10 MB of newlines", TEXT + b"\n" * 10_000_000, NAMES, {"F02", "S16"}),
    ("10 MB of NUL", TEXT + b"\0" * 10_000_000, NAMES, {"F02", "S16"}),
]


@pytest.mark.slow
@pytest.mark.parametrize(("body", "documents", "codes"), [row[1:] for row in BODIES], ids=[row[0] for row in BODIES])
def test_rules_and_sitemaps_of_odd_robots_txt_are_read(body: bytes, documents: list[str], codes: set[str]) -> None:
    pages: Pages = {ROBOTS: body, NAMED: urlset(f"{SITE}/1"), GUESS: urlset(f"{SITE}/1"), SECRET: urlset(f"{SITE}/2")}
    seen = walk(SITE, pages)
    assert (seen.site.documents, {*seen.codes}, seen.locs) == (documents, codes, [f"{SITE}/1"])
    assert seen.site.taken[ROBOTS] < LIMIT + 128 * KIB + 1000
    if "S16" in codes:
        assert "max_robots_bytes" in seen.reported("S16")
        assert seen.outcome(ROBOTS).complete is False


@pytest.mark.slow
def test_thousands_of_sitemap_lines_are_requested_once_in_linear_time() -> None:
    maps = [f"{SITE}/{number}.xml" for number in range(1_500)]
    body = "".join(f"Sitemap: {url}\n" for url in [*maps, *maps]).encode()
    page = urlset(f"{SITE}/1")
    started = time.process_time()
    seen = walk(SITE, {ROBOTS: body, **dict.fromkeys(maps, page)})
    assert len(body) < LIMIT
    assert seen.site.documents == maps
    assert len(seen.locs) == 1_500
    assert seen.end == "complete"
    assert time.process_time() - started < 15  # some 1 s; quadratic comparisons would take half a minute


# --- rules and requests ---------------------------------------------------------------------------------

RULES = [
    # rules, path, permitted
    ("Disallow: /", "/x.xml", False),
    ("Disallow:", "/x.xml", True),
    ("Disallow: /no/", "/yes/%2e%2e/no/x.xml", False),  # RFC 3986 6.2.2: as a server may read it
    ("Disallow: /no/", "/yes/%2E%2E/x.xml", True),
    ("Disallow: /yes/%2e", "/yes/%2e%2e/x.xml", False),  # and as it is written
    ("Disallow: /x", "/x.xml", False),
    ("Disallow: /X", "/x.xml", True),
    ("Disallow: /\nAllow: /x.xml", "/x.xml", True),
    ("Allow: /x\nDisallow: /x", "/x.xml", True),  # RFC 9309 2.2.2: of equal length, allow
    ("Disallow: /x.xml$", "/x.xml", False),
    ("Disallow: /x$", "/x.xml", True),
    ("Disallow: /x.xml$", "/x.xml?a", True),
    ("Disallow: /*.xml$", "/deep/x.xml", False),
    ("Disallow: /*.xml$", "/x.xml.gz", True),
    ("Disallow: *.xml", "/x.xml", False),
    ("Disallow: /*?", "/x.xml?page=1", False),
    ("Disallow: /*?", "/x.xml", True),
    ("Disallow: /a%2Fb", "/a%2fb.xml", False),
    ("Disallow: /a/b", "/a%2Fb.xml", True),  # an escaped slash is another path
    ("Disallow: /%7Ejoe", "/~joe/x.xml", False),
    ("Disallow: /~joe", "/%7ejoe/x.xml", False),
    ("Disallow: /caf%C3%A9", "/café/x.xml", False),
    ("Disallow: /café", "/caf%c3%a9/x.xml", False),
    ("Disallow: /a%24", "/a$.xml", False),
    ("Disallow: /%zz", "/%zz.xml", True),  # a bare % is %25 in the request
    ("disallow: /x # not this", "/x.xml", False),
    ("DISALLOW : /x", "/x.xml", False),
    ("Disallow: x.xml", "/x.xml", True),
    ("Disallow: https://shop.example/x.xml", "/x.xml", True),
    ("Disallow: /robots.txt", "/x.xml", True),
]


@pytest.mark.parametrize(("rules", "path", "permitted"), RULES)
def test_named_document_is_requested_if_the_rules_permit_it(rules: str, path: str, permitted: bool) -> None:
    target = SITE + path
    seen = walk(target, {ROBOTS: f"User-agent: *\n{rules}\n".encode()}, limits=Limits(tries=1))
    assert len(seen.site.documents) == permitted
    assert {*seen.codes} == {"F01" if permitted else "F02"}


def test_a_redirect_into_a_forbidden_path_ends_there() -> None:
    moved = (302, {"location": SECRET}, b"")
    seen = walk(SITE, {ROBOTS: TEXT, NAMED: moved, SECRET: urlset(f"{SITE}/2")}, probe="never")
    assert seen.site.documents == [NAMED]
    assert (seen.locs, seen.outcome(NAMED).complete) == ([], False)
    assert f"forbidden by {ROBOTS}" in seen.reported("F02")


@pytest.mark.parametrize("way", ["index", "redirect", "robots"])
def test_rules_of_another_host_apply_to_its_urls(way: str) -> None:
    """Its rules are requested first, and those of the first host do not apply there."""
    other = "https://cdn.example"
    ways: dict[str, Pages] = {
        "index": {ROBOTS: TEXT, NAMED: index(f"{other}/secret.xml", f"{other}/no/x.xml")},
        "redirect": {
            ROBOTS: robots(NAMED, f"{SITE}/2.xml"),
            NAMED: (302, {"location": f"{other}/secret.xml"}, b""),
            f"{SITE}/2.xml": (302, {"location": f"{other}/no/x.xml"}, b""),
        },
        "robots": {ROBOTS: robots(f"{other}/secret.xml", f"{other}/no/x.xml")},
    }
    pages = ways[way] | {
        f"{other}/robots.txt": b"User-agent: *\nDisallow: /no/\n",
        f"{other}/secret.xml": urlset(f"{other}/1"),
        f"{other}/no/x.xml": urlset(f"{other}/2"),
    }
    seen = walk(SITE, pages, scope="any", probe="never")
    assert seen.locs == [f"{other}/1"]
    assert f"{other}/no/x.xml" not in seen.site.requests
    assert f"forbidden by {other}/robots.txt" in seen.reported("F02")
    assert seen.site.requests.index(f"{other}/robots.txt") < seen.site.requests.index(f"{other}/secret.xml")


@pytest.mark.parametrize("written", ["1e400", "0x10", "1_0e400", "٣" * 400, "9" * 5000, "-0.01", "1 000"])
def test_nonsense_crawl_delay_is_ignored_or_capped(written: str) -> None:
    body = f"User-agent: *\nCrawl-delay: {written}\nSitemap: {NAMED}\n".encode()
    seen = walk(SITE, {ROBOTS: body, NAMED: urlset(f"{SITE}/1")})
    assert seen.locs == [f"{SITE}/1"]
    assert {*seen.codes} <= {"F15"}


# --- the cost of a body ---------------------------------------------------------------------------------------


def filled(line: str) -> str:
    """500 KiB of a repeated line; {n} is its number."""
    lines, size, number = ["User-agent: *\n"], 14, 0
    while size < LIMIT:
        lines.append(line.replace("{n}", f"{number:x}"))
        size += len(lines[-1].encode())
        number += 1
    return "".join(lines)


HOSTILE = {
    "one pattern": lambda: "User-agent: *\nDisallow: /" + "*a" * 250_000 + "$",
    "patterns": lambda: filled("Disallow:/*{n}\n"),
    "patterns that nearly match": lambda: filled("Disallow:/*aaaaaaaab{n}$\n"),
    "stars": lambda: filled("Disallow:/" + "*" * 500 + "{n}\n"),
    "dollars": lambda: filled("Disallow:/{n}$$$$\n"),
    "escapes": lambda: filled("Disallow:/%{n}%%%zz%C3%A9\n"),
    "prefixes": lambda: filled("Disallow:/{n}\n"),
    "agents, then rules": lambda: filled("User-agent:{n}\n")[: LIMIT // 2] + filled("\nAllow:/{n}")[: LIMIT // 2],
    "hidden agents, then rules": lambda: (
        filled("\u00a0User-agent:{n}\n")[: LIMIT // 3] + filled("\nAllow:/{n}")[: LIMIT // 3]),
    "odd agents, then rules": lambda: filled("User-agent:/{n}\n")[: LIMIT // 3] + filled("\nAllow:/{n}")[: LIMIT // 3],
    "groups": lambda: filled("User-agent:{n}\nAllow:/\n"),
    "newlines": lambda: "\n" * LIMIT,
    "spaces": lambda: "user-agent" + " " * LIMIT,
    "colons": lambda: filled(":\n"),
    "letters": lambda: "User-agent: *\nd" + "l" * LIMIT,
    "lines of letters": lambda: filled("dlllllll\n"),
    "blanks before a path": lambda: "User-agent: *\nDisallow" + " " * LIMIT,
    "blanks around a colon": lambda: "User-agent: *\nDisallow" + " " * (LIMIT // 2) + ":" + " " * (LIMIT // 2) + "#",
    "patterns that match half": lambda: filled("Disallow:/*" + "a" * 49 + "b" + "a" * 49 + "\n"),
}


@pytest.mark.smoke("groups")
@pytest.mark.slow
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_file_is_parsed_in_seconds_and_matched_in_less(name: str) -> None:
    text = HOSTILE[name]()
    started = time.process_time()
    rules = parse_rules(text, OURS)
    assert time.process_time() - started < 10  # some 1 s; one copy of the rules for every agent would take minutes
    for length in (100, 2_000, 7_000, 100_000):
        started = time.process_time()
        for number in range(5):
            rules.allows(f"{SITE}/{'a' * length}{number}")
        assert time.process_time() - started < 10, length  # 0.1 s each


@given(st.text(alphabet=st.sampled_from("USER user-agent:*\n\r\0\u00a0\u3000\x1f\t#;/,x\ufeff\u2028"), max_size=80))
def test_user_agent_lines_make_at_most_three_rule_sets(text: str) -> None:
    """Rules for our agent, for *, and for others: the cost of a file is rules times sets."""
    rules = parse_rules(f"User-agent: a\n{text}\nUser-agent{text}\nDisallow: /", OURS)
    assert len(rules._parsed._user_agents) <= 3  # type: ignore[union-attr]


@pytest.mark.parametrize(("characters", "permitted"), [(32_000_000 // 1000, True), (32_000_000 // 1000 + 1, False)])
def test_url_too_long_for_its_patterns_is_forbidden_with_the_reason(characters: int, permitted: bool) -> None:
    """In doubt the URL is forbidden: its rules could not be matched."""
    body = "User-agent: *\n" + "".join(f"Disallow: /*x{number:04}$\n" for number in range(1000))
    target = f"{SITE}/".ljust(characters, "a")
    seen = walk(target, {ROBOTS: body.encode(), target: urlset(f"{SITE}/1")})
    assert seen.locs == ([f"{SITE}/1"] if permitted else [])
    assert seen.reported("F02") == (
        ""
        if permitted
        else f"forbidden by {ROBOTS} (1,000 rules with * or $ are too many to compare {characters:,} characters with)"
    )
    assert parse_rules(body, OURS).allows(f"{SITE}/" + "a" * 2_000)
