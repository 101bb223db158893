"""Rules for documents of any bytes: single items of iter_parse(), and all of them."""

import html
import json
import re
from collections import Counter
from collections.abc import Iterable
from datetime import timedelta
from functools import partial
from typing import Any
from urllib.parse import unquote

import attrs
from broken import Broken, cuttings, dice, hold

import sitemap_reader as sr
from sitemap_reader.model import SAMPLES_PER_CODE
from sitemap_reader.parser import HEAD_BYTES, clean_url, host, is_app_link

Items = list[Any]

URL = "https://example.com/shop/sitemap.xml"
ROBOTS_URL = "https://example.com/robots.txt"
# Low enough to be reached in a few kilobytes; if two are reached, the first is reported.
LOW: dict[str, Any] = {
    "max_decoded_bytes": 1_400, "max_entries": 2, "max_entry_bytes": 1_500, "max_token_bytes": 60, "max_xml_depth": 4,
    "max_attributes": 1, "max_gzip_members": 2, "max_entry_elements": 3, "max_entry_problems": 2,
    "max_robots_bytes": 1_100, "max_entry_repairs": 2, "max_repairs": 3, "max_prefixes": 1,
    "max_faults": 2,
}
OPTIONS: dict[str, dict[str, Any]] = {
    "": {},
    "scope protocol": {"scope": "protocol"},
    "scope host": {"scope": "host"},
    "content type": {"content_type": "text/html; charset=windows-1251"},
    "extras": {"extras": True, "scope": "domain"},
    **{name: {"limits": sr.Limits(**{name: limit})} for name, limit in LOW.items()},
}
# Chunk sizes for a body as it is, and for one padded with blanks: single bytes only if all chunks are parsed.
SIZES, SIZES_PADDED = (2, 64), (1, 7)
# Without these codes the outcome is complete.
STOPPING = frozenset({"F05", "F11", "S09", "S15"})
CHANGEFREQS = frozenset({"always", "hourly", "daily", "weekly", "monthly", "yearly", "never"})


def check_document(body: bytes, *, thorough: bool = False, url: str = URL) -> None:
    """All the rules, with default options and others."""
    names = list(OPTIONS)
    bodies = {body: SIZES, padded(body): SIZES_PADDED}
    for name in names if thorough else ("", dice(body).choice(names[1:])):
        for each in bodies if thorough else (dice(body + b"?").choice((body, padded(body))),):
            try:
                _check_read(each, thorough=thorough, sizes=bodies[each], url=url, **OPTIONS[name])
            except Broken as broken:
                raise Broken(f"{broken.rule} ({name})" if name else broken.rule, *broken.args[1:]) from broken


def padded(body: bytes) -> bytes:
    """The body with blanks after the first tag or line: less than HEAD_BYTES is read in one piece."""
    end = re.search(rb"(?<!\?)>|\n|\Z", body)
    place = end.end() if end and body.isascii() and b"\0" not in body else 0
    return body[:place] + b" " * HEAD_BYTES + body[place:] if place else body


def _check_read(body: bytes, *, thorough: bool, sizes: tuple[int, ...], url: str, **options: Any) -> None:
    items = read([body], url=url, **options)
    check_items(items)
    check_same(body, items, read_by_expat([body], url=url, **options))
    for pieces in cuttings(body, thorough=thorough, sizes=sizes):
        check_same(body, items, read(pieces, url=url, **options))
    if not options:
        check_nothing_is_invented(body, items)
    if url == URL and "limits" not in options:
        check_lines(body, items)


check_robots_document = partial(check_document, url=ROBOTS_URL)


def read(chunks: Iterable[bytes], **options: Any) -> Items:
    return list(sr.iter_parse(chunks, **options))


def read_by_expat(chunks: Iterable[bytes], **options: Any) -> Items:
    """read() without the scanner, with expat and the Normaliser only."""
    parser = sr.SitemapParser(**options, _scans=False)
    items: Items = []
    for chunk in chunks:
        items += parser.feed(chunk)
        if parser.stopped:
            break
    return [*items, *parser.close(), parser.outcome]


# --- chunks ------------------------------------------------------------------------------------


# Codes about the bytes as such, not about what was read.
OF_BYTES = frozenset({"S07", "F07", "F08"})


def check_same(body: bytes, whole: Items, pieces: Items, how: str = "however the bytes are cut") -> None:
    """If reading stopped early, the number of bytes taken depends on the chunks."""
    if not (whole[-1].complete and pieces[-1].bytes_wire == len(body)):
        whole, pieces = _of_what_was_read(whole), _of_what_was_read(pieces)
    for one, other in zip(whole[:-1], pieces[:-1], strict=False):
        hold(one == other, f"the same {type(one).__name__}s {how}", one, other)
    hold(len(whole) == len(pieces), f"as many items {how}", whole, pieces)
    for field in attrs.fields(sr.Outcome):
        one, other = (getattr(items[-1], field.name) for items in (whole, pieces))
        hold(one == other, f"the same outcome.{field.name} {how}", one, other)


def _of_what_was_read(items: Items) -> Items:
    *found, outcome = items
    reported = {code: count for code, count in outcome.problems.items() if code not in OF_BYTES}
    samples = tuple(problem for problem in outcome.samples if problem.code not in OF_BYTES)
    uncounted = attrs.evolve(outcome, bytes_wire=0, bytes_decoded=0, sha256=None, problems=reported, samples=samples)
    return [*(item for item in found if not (isinstance(item, sr.Problem) and item.code in OF_BYTES)), uncounted]


# --- items --------------------------------------------------------------------------------------------


def check_items(items: Items) -> None:
    *found, outcome = items
    hold(isinstance(outcome, sr.Outcome), "the last item is the outcome", outcome)
    hold(not any(isinstance(item, sr.Outcome) for item in found), "there is one outcome", found)
    problems = [item for item in found if isinstance(item, sr.Problem)]
    records = [item for item in found if not isinstance(item, sr.Problem)]
    for record in records:
        check_record(record)
    check_outcome(outcome, records, problems)
    reported = Counter(map(repr, problems))
    kept = Counter(repr(problem) for record in records for problem in record.problems)
    hold(kept <= reported, "the problems of a record are reported", kept - reported)
    for item in items:
        check_json(item)


def check_outcome(outcome: sr.Outcome, records: Items, problems: list[sr.Problem]) -> None:
    counts = Counter(problem.code for problem in problems)
    # Of an entry with too many problems only the first are reported; all are counted.
    is_all = not any(problem.code == "S16" and "max_entry_problems" in problem.message for problem in problems)
    hold(counts <= Counter(outcome.problems), "the outcome counts the problems", outcome.problems, counts)
    hold(not is_all or outcome.problems == counts, "the outcome counts no other problems", outcome.problems, counts)
    first: dict[str, list[sr.Problem]] = {}
    for problem in problems:
        first.setdefault(problem.code, []).append(problem)
    samples = {code: [each for each in outcome.samples if each.code == code] for code in counts}
    hold(
        not is_all or samples == {code: each[:SAMPLES_PER_CODE] for code, each in first.items()},
        "the samples are the first problems of each code", samples, first,
    )
    hold(outcome.kept == len(records), "the outcome counts the records", outcome.kept, len(records))
    placed = outcome.kept + sum(outcome.dropped.values())
    hold(placed <= outcome.entries, "an entry is kept, dropped, or has no URL", outcome)
    without = sum(problem.severity == "error" and problem.field == "loc" for problem in problems)
    hold(not is_all or outcome.entries - placed <= without, "an entry without a URL is reported", outcome, problems)
    gone = sum(counts[code] for code in ("U04", "U05"))
    hold(sum(outcome.dropped.values()) <= gone, "an entry out of scope is reported", outcome, problems)
    if not outcome.complete:
        hold(problems, "what is not complete says why", outcome)
    fatal = [each for each in problems if each.code in STOPPING and each.severity == "error"]
    fatal += [each for each in problems if each.code == "F07" and each.severity == "error"]
    fatal += [each for each in problems if each.code == "S16" and "reading stops" in each.message]
    hold(not (fatal and outcome.complete), "what stops the reading makes it incomplete", fatal, outcome)


def check_record(record: sr.UrlRecord | sr.SitemapRef) -> None:
    check_loc(record.loc)
    check_date(record.lastmod, record.lastmod_precision)
    hold(record.line is None or record.line >= 1, "lines count from 1", record)
    for authority in getattr(record, "authorities", ()):
        check_loc(authority)
    if isinstance(record, sr.SitemapRef):
        return
    hold(record.changefreq is None or record.changefreq in CHANGEFREQS, "a changefreq is one of the seven", record)
    hold(record.priority is None or 0 <= record.priority <= 1, "a priority is between 0 and 1", record)
    for image in record.images:
        check_loc(image.loc)
    for alternate in record.alternates:
        if not is_app_link(alternate.href):
            check_loc(alternate.href)
    for video in record.videos:
        for loc in filter(None, (video.thumbnail_loc, video.content_loc)):
            check_loc(loc)
        check_date(video.publication_date, video.publication_date_precision)
        check_date(video.expiration_date, video.expiration_date_precision)
    if record.news:
        check_date(record.news.publication_date, record.news.publication_date_precision)


def check_loc(loc: str) -> None:
    hold(loc.startswith(("http://", "https://")), "a URL is absolute", loc)
    hold(clean_url(loc).url == loc, "a URL is canonical", loc, clean_url(loc))


def check_date(moment: Any, precision: object) -> None:
    hold((moment is None) == (precision is None), "a date has a precision", moment, precision)
    hold(moment is None or moment.utcoffset() == timedelta(0), "a date is in UTC", moment)


def check_json(item: object) -> None:
    line = sr.json_line(item)
    hold(line.endswith(b"\n") and line.count(b"\n") == 1, "an item is one line of JSON", line)
    json.loads(line)
    again = sr.json_line(sr.from_json(line))
    hold(again == line, "a line of JSON reads back as it is", line, again)


# --- items and the document -------------------------------------------------------------------------------------------


def check_lines(body: bytes, items: Items) -> None:
    """Line numbers are within a plain document and increase."""
    outcome = items[-1]
    if outcome.bytes_decoded != len(body) or b"\0" in body or outcome.format in (None, "html"):
        return
    last = len(re.findall(rb"\r\n?|\n", body)) + 1
    lines = [item.line for item in items[:-1] if item.line is not None]
    hold(all(1 <= line <= last for line in lines), "a line is one of the document's", lines, last)
    records = [item.line for item in items[:-1] if not isinstance(item, sr.Problem) and item.line is not None]
    hold(records == sorted(records), "records come in the document's order", records)


_MARKUP = re.compile(r"<!--.*?-->|<!\[CDATA\[|\]\]>|<[^<>]*>", re.DOTALL)
_BLANK = re.compile(r"\s+")
# What may change the meaning of the bytes: a charset, or a base of relative URLs.
_OTHERWISE = re.compile(rb"encoding|:base|[\0\x1b]")
_NUL = re.compile(r"&#(?:0+|x0+);")  # html.unescape() gives another character
_OWN_PATH = re.compile(r"(?:shop/)?(?:sitemap\.xml|robots\.txt)?")


def check_nothing_is_invented(body: bytes, items: Items) -> None:
    """Host and path of each record occur in the document, if it is UTF-8 without charset declarations or bases."""
    try:
        text = body.decode()
    except UnicodeDecodeError:
        return
    if _OTHERWISE.search(body):
        return
    text = _NUL.sub("\0", text)
    texts = [_plain(each) for each in (text, _MARKUP.sub("", text), html.unescape(_MARKUP.sub("", text)))]
    # html.unescape() also reads references without their semicolon.
    texts += [_plain(html.unescape(text)), _plain(text.replace("&amp;", "&"))]
    for item in items[:-1]:
        if isinstance(item, sr.Problem):
            continue
        is_own = item.loc.startswith("https://example.com/")
        stands = is_own or "xn--" in item.loc or any(host(item.loc) in each.lower() for each in texts)
        hold(stands, "no host is invented", item)
        rest = _plain(item.loc.partition("://")[2].partition("/")[2])
        if rest and "/." not in text:
            written = [rest, _OWN_PATH.sub("", rest, count=1)] if is_own else [rest]
            stands = any(part in each or part in each.replace("?", "/?") for part in written for each in texts)
            hold(stands, "no path is invented", item)


def _plain(text: str) -> str:
    """The text with blanks unified, escapes decoded, and dots of other scripts mapped by UTS 46."""
    return _BLANK.sub(" ", unquote(text)).translate(dict.fromkeys(map(ord, "。．｡"), "."))
