"""Every field of Limits: a document at the limit has no problem; one more gives a problem that names the field."""

import gzip
from itertools import takewhile
from pathlib import Path
from typing import Any

import attrs
import pytest

import sitemap_reader as sr
from sitemap_reader import FallbackFailed
from sitemap_reader.model import advice

TESTS = Path(__file__).parent
URL = "https://example.com/sitemap.xml"
HEAD = b'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n'
FIRST = b"<url><loc>https://example.com/1</loc></url>\n"
LAST = b"<url><loc>https://example.com/3</loc></url>\n"
TAIL = b"</urlset>\n"
RSS = b'<rss version="2.0" xmlns:media="http://search.yahoo.com/mrss/"><channel>'
RSS_TAIL = b"</channel></rss>"

# Ends of messages: of over_limit(), of unrepaired damage, and of omissions without a lost entry.
STOPS = "reading stops here; raise {} to go on"
LOSES = "lost up to the next entry; raise {} to have more repaired"
TELLS = "raise {} to see each"
LEAVES_OUT = "the rest is left out; raise {} to have it"


@attrs.frozen
class Row:
    """A document exactly at `limit`: complete, with `entries`. With a limit one smaller `entries_over` are returned.

    The message starts with `begins` and ends with `ends`.
    """

    field: str
    limit: int
    body: bytes
    entries: int = 3
    entries_over: int = 1
    code: str = "S16"
    ends: str = STOPS
    begins: str = "more than "
    complete: bool = True  # documents for feedparser are never complete
    complete_over: bool = False
    url: str = URL
    options: dict[str, Any] = attrs.field(factory=dict)


def urlset(*between: bytes) -> bytes:
    return HEAD + FIRST + b"".join(between) + LAST + TAIL


def second(inside: bytes) -> bytes:
    return b"<url><loc>https://example.com/2</loc>" + inside + b"</url>\n"


def item(*media: bytes) -> bytes:
    return b"<item><link>https://example.com/2</link>" + b"".join(media) + b"</item>"


class Found:
    """The result of a feed fallback."""

    links = (("https://example.com/found", None),)
    dropped = ()
    without_link = 0


def fallback(body: bytes, url: str | None, /, *, limits: sr.Limits) -> Found:
    return Found()


def slow_fallback(body: bytes, url: str | None, /, *, limits: sr.Limits) -> Found:
    """A feed fallback that takes as long as a limit of 2 s permits."""
    if limits.fallback_seconds < 2:
        raise FallbackFailed("feedparser was stopped; fallback_seconds permits more")
    return Found()


UNKNOWN_FEED = b"<channel><item>https://example.com/found</item></channel>"
TEXT = b"https://example.com/1\nhttps://example.com/22\n"
LINE = "https://example.com/list.txt"
ENTRY = second(b"<!-- %s -->" % (b"x" * 400))
COMMENT = b"<!--" + b"x" * 493 + b"-->"
# Before the location, so that the entry is dropped without it.
UNCLOSED = b"<url><lastmod>2026-01-01<loc>https://example.com/2</loc></url>\n"
UNCLOSED_TWICE = b"<url><lastmod>2026-01-01<priority>0.5<loc>https://example.com/2</loc></url>\n"
BARE = b"<url><loc>https://example.com/%d?a&b</loc></url>\n"
LOST = b"<url><loc>https://example.com/<b></loc></url>\n"
UNBOUND = b"<url><%s:b/><loc>https://example.com/%d</loc></url>\n"
MEDIA = b'<media:content medium="image" url="https://example.com/%d.jpg"/>'
TITLE = b"<media:title>%s</media:title>" % (b"t" * 50)
PACKED = gzip.compress(urlset(second(b"")), mtime=0)

ROWS = [
    Row("max_decoded_bytes", len(urlset(second(b""))), urlset(second(b"")), entries_over=3),
    Row("max_decoded_bytes", len(urlset(second(b""))), PACKED, entries_over=3),
    # The byte over the limit is read; if it exceeds both limits, that of decoded bytes is named.
    Row("max_wire_bytes", len(urlset(second(b""))), urlset(second(b"")), entries_over=3),
    Row("max_wire_bytes", len(PACKED), PACKED, entries_over=3),
    Row("max_wire_bytes", len(TEXT), TEXT, entries=2, entries_over=2, url=LINE),
    Row("max_entries", 3, urlset(second(b"")), entries_over=2),
    Row("max_entries", 2, TEXT, entries=2, url=LINE),
    # From the end of the previous entry to the beginning of its end tag, and that.
    Row("max_entry_bytes", len(ENTRY), urlset(ENTRY)),
    Row("max_entry_bytes", len(HEAD) - 1 + 399, urlset(b'<a b="%s">' % (b"x" * 391), second(b""), b"</a>")),
    Row("max_entry_elements", 3, urlset(second(b"<lastmod>2026</lastmod><priority>0.5</priority>"))),
    Row(
        "max_entry_problems", 2, urlset(second(b"<lastmod>x</lastmod><priority>7</priority>")),
        entries_over=3, ends=TELLS, begins="1 more ", complete_over=True,
    ),
    Row(
        "max_entry_repairs", 2, urlset(UNCLOSED_TWICE),
        entries_over=2, code="S01", ends=LOSES, begins="the entry breaks in too many places",
    ),
    Row("max_repairs", 2, urlset(UNCLOSED, UNCLOSED.replace(b"/2", b"/4")), 4, entries_over=2),
    Row("max_repairs", 3, urlset(second(b"<!-- & --><x>& &</x>"), BARE % 4), 4, entries_over=2),
    Row("max_repairs", 3, urlset(b"& & ", b"<x/>& ", second(b"")), entries_over=1),
    # In an entry that is lost.
    Row("max_repairs", 4, urlset(b"<url>& & & </urlset>"), 2, entries_over=1, complete=False),
    Row("max_repairs", 1, HEAD + FIRST + b"<url><loc>https://example.com/2</loc><x>&</x>", 2, complete=False),
    Row("max_faults", 2, urlset(UNCLOSED, UNCLOSED.replace(b"/2", b"/4")), 4, entries_over=2),
    Row("max_faults", 2, urlset(LOST, LOST), 2, complete=False),
    Row("max_faults", 2, HEAD + FIRST + TAIL + second(b"") + TAIL + LAST + TAIL, entries_over=2),
    Row(
        "max_prefixes", 2, urlset(UNBOUND % (b"p", 2), UNBOUND % (b"q", 4)), 4,
        entries_over=3, code="S01", ends=LOSES, begins="unbound prefix",
    ),
    # Each of the two images counts the title of 50 characters, and 100 for an element.
    Row(
        "max_shared_characters", 300, RSS + item(TITLE, MEDIA % 1, MEDIA % 2) + RSS_TAIL,
        entries=1, ends=LEAVES_OUT, complete_over=True,
    ),
    Row("max_token_bytes", 500, urlset(second(COMMENT))),
    Row("max_token_bytes", 500, COMMENT + urlset(second(b"")), entries_over=0),
    Row("max_token_bytes", 500, urlset(COMMENT, second(b""))),
    Row("max_token_bytes", 500, urlset(second(b"")) + COMMENT, entries_over=3),
    Row("max_token_bytes", 500, urlset(second(b"<?a " + b"x" * 494 + b"?>"))),
    Row("max_token_bytes", 500, urlset(second(b"<x a='" + b"x" * 491 + b"'/>"))),
    Row("max_token_bytes", 520, urlset(b"<url><loc>https://example.com/" + b"x" * 500 + b"</loc></url>")),
    Row("max_token_bytes", 22, TEXT, entries=2, url=LINE),
    Row("max_xml_depth", 6, urlset(second(b"<a><b><c><d/></c></b></a>"))),
    Row("max_attributes", 3, urlset(second(b'<x a="1" b="2" c="3"/>'))),
    Row("max_gzip_layers", 2, gzip.compress(PACKED, mtime=0), entries_over=0),
    Row("max_gzip_layers", 1, PACKED, entries_over=0),
    Row("max_gzip_members", 2, gzip.compress(HEAD + FIRST) + gzip.compress(second(b"") + LAST + TAIL)),
    Row(
        "max_fallback_bytes", len(UNKNOWN_FEED), UNKNOWN_FEED,
        entries=1, entries_over=0, complete=False, options={"feed_fallback": fallback},
    ),
    Row(
        "fallback_seconds", 2, UNKNOWN_FEED, entries=1, entries_over=0, complete=False, code="S01",
        ends="{} permits more", begins="feedparser cannot read it either", options={"feed_fallback": slow_fallback},
    ),
    Row(
        "max_robots_bytes", 70, b"Sitemap: https://example.com/a.xml\nSitemap: https://example.com/b.xml\n",
        entries=2, url="https://example.com/robots.txt",
    ),
]  # fmt: skip
every_row = pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.field} {row.limit}")


def read(row: Row, limit: int) -> sr.Document:
    return sr.parse(row.body, url=row.url, limits=sr.Limits(**{row.field: limit}), **row.options)


def listed(document: sr.Document) -> list[str]:
    return [record.loc for record in [*document.urls, *document.children]]


def about(field: str, document: sr.Document) -> list[sr.Problem]:
    return [problem for problem in document.problems if field in problem.message]


@every_row
def test_document_at_the_limit_is_read_completely_without_a_problem(row: Row) -> None:
    fits = read(row, row.limit)
    assert (len(listed(fits)), fits.outcome.complete) == (row.entries, row.complete)
    assert about(row.field, fits) == []
    assert "S16" not in fits.outcome.problems


@every_row
def test_document_over_the_limit_names_the_field_and_gives_what_came_before(row: Row) -> None:
    fits, over = read(row, row.limit), read(row, row.limit - 1)
    (problem,) = about(row.field, over)
    assert (problem.code, problem.sitemap) == (row.code, row.url)
    assert problem.message.startswith(row.begins)
    assert problem.message.endswith(row.ends.format(advice(row.field).removeprefix("raise ").removesuffix(" to go on")))
    assert over.outcome.problems[row.code] >= 1
    if row.code == "S16" and row.ends == STOPS:
        assert f"more than {row.limit - 1:,} " in problem.message
    assert (len(listed(over)), over.outcome.complete) == (row.entries_over, row.complete_over)
    assert listed(over)[:1] == listed(fits)[: min(1, row.entries_over)]
    assert [loc for loc in listed(fits) if loc in listed(over)] == listed(over)


@every_row
def test_the_limit_holds_however_the_bytes_are_cut(row: Row) -> None:
    for limit in (row.limit, row.limit - 1):
        parser = sr.SitemapParser(url=row.url, limits=sr.Limits(**{row.field: limit}), **row.options)
        items = [item for at in range(len(row.body)) for item in parser.feed(row.body[at : at + 1])]
        items += parser.close()
        whole = read(row, limit)
        assert [item for item in items if isinstance(item, sr.Problem)] == whole.problems
        assert [item for item in items if not isinstance(item, sr.Problem)] == [*whole.urls, *whole.children]


def test_limit_of_one_is_reported_in_the_singular() -> None:
    one = sr.parse(urlset(), url=URL, limits=sr.Limits(max_entries=1))
    assert [problem.message for problem in one.problems] == [
        "more than 1 entry: reading stops here; raise max_entries (--max-urls) to go on"
    ]
    one = sr.parse(PACKED, url=URL, limits=sr.Limits(max_decoded_bytes=1))
    assert "more than 1 byte decoded: reading stops here" in one.problems[-1].message


@pytest.mark.parametrize(("field", "value"), [
    ("max_entries", -1), ("max_entries", 1.5), ("max_entries", float("inf")), ("max_entries", None),
    ("max_token_bytes", "1M"), ("tries", True), ("read_seconds", float("nan")), ("read_seconds", -0.1),
    ("max_gzip_layers", 101), ("max_crawl_delay_seconds", 300.1),
])
def test_invalid_limit_is_a_usage_error_that_names_it(field: str, value: Any) -> None:
    with pytest.raises(sr.UsageError, match=f"Limits: {field} must be"):
        sr.Limits(**{field: value})


def test_a_crawl_delay_of_five_minutes_may_be_waited_for() -> None:
    assert sr.Limits().max_crawl_delay_seconds == 30
    assert sr.Limits(max_crawl_delay_seconds=300).max_crawl_delay_seconds == 300


def test_a_time_without_end_is_a_limit() -> None:
    assert sr.Limits(read_seconds=float("inf"), connect_seconds=5).connect_seconds == 5


# Limits of a site, a request, and feedparser's process: tested elsewhere.
ELSEWHERE = {
    "max_work_per_byte": "parser/test_work.py::test_document_that_just_fits_is_read_whole_and_one_step_less_ends_it",
    "fallback_memory_bytes": "pipeline/test_feedparser_process.py::test_child_that_needs_too_much_memory_fails_alone",
    "max_index_depth": "frontier/test_frontier.py::test_what_is_requested_and_read",
    "max_documents": "frontier/test_frontier.py::test_no_more_documents_are_read_than_the_limit",
    "max_site_bytes": "frontier/test_frontier.py::test_no_more_bytes_are_read_than_the_limit",
    "max_proof_hosts": "frontier/test_authority.py::test_hosts_requested_for_verification_are_limited",
    "max_robots_redirects": "frontier/test_frontier.py::test_redirects_of_robots_txt_have_a_limit_of_their_own",
    "max_redirects": "frontier/test_frontier.py::test_what_is_requested_and_read",
    "max_crawl_delay_seconds": "frontier/test_frontier.py::test_a_host_with_a_longer_crawl_delay_is_skipped",
    "connect_seconds": "pipeline/test_crawl.py::test_fetcher_without_a_response_times_out",
    "read_seconds": "pipeline/test_crawl.py::test_fetcher_without_a_response_times_out",
    "document_seconds": "pipeline/test_crawl.py::test_document_seconds_limits_network_time",
    "site_seconds": "pipeline/test_crawl.py::test_site_seconds_ends_a_crawl_in_order",
    "min_bytes_per_second": "pipeline/test_crawl.py::test_transfer_below_the_minimum_rate_is_ended",
    "min_rate_after_seconds": "pipeline/test_crawl.py::test_transfer_below_the_minimum_rate_is_ended",
    "max_wait_seconds": "frontier/test_frontier.py::test_host_with_a_too_long_retry_after_is_skipped_and_reported",
    "tries": "frontier/test_frontier.py::test_a_document_is_tried_as_often_as_the_limit_says",
}


def test_every_field_has_a_row_here_or_a_test_elsewhere() -> None:
    fields = {field.name for field in attrs.fields(sr.Limits)}
    here = {row.field for row in ROWS}
    assert here | ELSEWHERE.keys() == fields
    assert not here & ELSEWHERE.keys()


@pytest.mark.parametrize("field", attrs.fields_dict(sr.Limits))
def test_help_describes_every_field(field: str) -> None:
    lines = (sr.Limits.__doc__ or "").splitlines()
    each = attrs.fields_dict(sr.Limits)[field]
    (at,) = [number for number, line in enumerate(lines) if line.startswith(f"    {field}: ")]
    assert lines[at].endswith(f" = {each.default:,}".removesuffix(".0"))
    text = " ".join(line.strip() for line in takewhile(lambda line: line.startswith("        "), lines[at + 1 :]))
    assert text == each.metadata["option"].help != ""


@pytest.mark.parametrize("field", ELSEWHERE)
def test_tests_named_for_other_limits_exist(field: str) -> None:
    path, name = ELSEWHERE[field].split("::")
    assert f"\ndef {name}(" in (TESTS / path).read_text("utf-8")
