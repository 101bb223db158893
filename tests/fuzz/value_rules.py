"""Rules for any text: dates, URLs, and the lines and rules of a robots.txt."""

import re
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from urllib.parse import unquote_to_bytes, urlsplit

from broken import hold

from sitemap_reader import Limits
from sitemap_reader.frontier import parse_rules
from sitemap_reader.parser import (
    SCOPE_MODES,
    Date,
    Scope,
    host_prefixes,
    is_html,
    parse_date,
    period_end,
    sitemap_lines,
)
from sitemap_reader.parser.normalise import urls
from sitemap_reader.serialize import stamp

# --- dates ----------------------------------------------------------------------------------------------------

_PERIODS = {"year": "%Y", "month": "%Y-%m", "day": "%Y-%m-%d"}
_BELOW = {
    "year": {"month": 1, "day": 1, "hour": 0, "minute": 0, "second": 0, "microsecond": 0},
    "month": {"day": 1, "hour": 0, "minute": 0, "second": 0, "microsecond": 0},
    "day": {"hour": 0, "minute": 0, "second": 0, "microsecond": 0},
    "minute": {"second": 0, "microsecond": 0},
    "second": {"microsecond": 0},
    "subsecond": {},
}
_EMAIL = re.compile(r"(?:\w{3},)?\s*\d\d?\s+\w{3}\s+\d{4}\s+\d\d:\d\d(?::\d\d)?\s+(?:[+-]\d{4}|GMT|[ECMP][SD]T)")
# The standard library takes any character for a T: the zone of an xs:date for a time.
_NOT_TO_COMPARE = re.compile(r"24:00|:60|\.\d{7}|^\d{4}\D\d\d?\D\d\d?[+-]")


def check_date_text(body: bytes, *, thorough: bool = False) -> None:
    text = body.decode("utf-8", "surrogateescape")
    found = {dialect: parse_date(text, dialect) for dialect in ("w3c", "rss")}
    moments = {dialect: date and (date.moment, date.precision) for dialect, date in found.items()}
    hold(moments["w3c"] == moments["rss"], "a date is the same in both dialects", text, found)
    date = found["w3c"]
    if date is not None:
        check_date_found(text, date)


def check_date_found(text: str, date: Date) -> None:
    moment, precision = date.moment, date.precision
    hold(moment.tzinfo is UTC, "a date is in UTC", text, date)
    hold(moment == moment.replace(**_BELOW[precision]), "a date is the start of its period", text, date)
    end = period_end(moment, precision)
    hold(end > moment or moment.year == 9999, "a period ends behind its start", text, date, end)
    written = f"{moment.year:04}{moment.strftime(_PERIODS[precision][2:])}" if precision in _PERIODS else stamp(moment)
    again = parse_date(str(written))
    hold(again and (again.moment, again.repair) == (moment, None), "a date reads back as it is", text, date, again)
    if not (date.repair or "").startswith("epoch"):
        years = {f"{(moment + timedelta(days=days)).year:04}"[2:] for days in (-1, 0, 1) if 1 < moment.year < 9999}
        hold(not years or any(year in text for year in years), "no year is invented", text, date)
    for other in (_by_isoformat(text), _by_email(text)):
        if other and not _NOT_TO_COMPARE.search(text) and not (date.repair or "").startswith("epoch"):
            hold(other == moment, "a date is what the standard library reads", text, date, other)


def _by_isoformat(text: str) -> datetime | None:
    try:
        moment = datetime.fromisoformat(text.replace("/", "-"))
        return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        return None


def _by_email(text: str) -> datetime | None:
    # It reads two-digit years differently from RFC 2822, and accepts text that only begins as a date.
    if not _EMAIL.fullmatch(text):
        return None
    try:
        return parsedate_to_datetime(text).astimezone(UTC)
    except (ValueError, OverflowError):
        return None


# --- URLs -----------------------------------------------------------------------------------------------------

_LEGAL = re.compile(r"[A-Za-z0-9\-._~:/?@!$&'()*+,;=%\[\]]+", re.ASCII)
_PLAIN_AUTHORITY = re.compile(r"[A-Za-z0-9.\-]+(?::\d{1,5})?")
_NAMED = re.compile(r"(?s)https?://([^/?#\\]*)([^?#]*)(\?[^#]*)?", re.IGNORECASE)
_PADDING = urls.WHITE_SPACE + urls.INVISIBLE
BASE = "https://user:secret@example.com:8443/shop/list.php?page=/2"


def check_url_text(body: bytes, *, thorough: bool = False) -> None:
    """The first line is a URL, the second, if any, its base."""
    raw, line_end, base = body.decode("utf-8", "surrogateescape").partition("\n")
    found = urls.clean_url(raw, base if line_end else BASE)
    if urls.is_clean(raw):
        notes: list[tuple[str, str]] = []
        long_way = urls._clean(raw.strip(urls.WHITE_SPACE), base, notes, paths=True)
        hold((long_way, notes) == (raw, []), "both ways to clean a URL agree", raw, long_way, notes)
    if found.url is None:
        hold(found.notes, "a refused URL has a reason", raw)
        return
    check_clean_url(raw, found.url)
    absolute = urls.clean_url(raw).url
    hold(absolute in (None, found.url), "an absolute URL needs no base", raw, absolute, found.url)
    if absolute:
        check_names_the_same(raw, absolute)
    elif not line_end:
        check_resolved(raw, found.url)


def check_clean_url(raw: str, url: str) -> None:
    again = urls.clean_url(url)
    hold(again.url == url, "a clean URL stays as it is", raw, url, again)
    codes = {code for code, _ in again.notes}
    hold(codes <= {"U03", "U14"}, "a clean URL has nothing left to note", raw, url, again)
    hold(_LEGAL.fullmatch(url), "a clean URL has no illegal character", raw, url)
    parts = urlsplit(url)
    hold(parts.scheme in ("http", "https") and parts.hostname and not parts.fragment, "a clean URL has its parts", url)
    hold(parts.port is None or 0 <= parts.port <= 65_535, "a clean URL has a port that can be", url)
    hold(urls.host(url).strip("[]") == parts.hostname, "host() is the host", url, urls.host(url))
    for of_url in (urls.directory(url), urls.origin(url) + "/", urls.without_userinfo(url)):
        hold(urls.clean_url(of_url).url == of_url, "a part of a clean URL is clean", url, of_url)
        hold("@" not in urlsplit(of_url).netloc, "a part of a clean URL has no userinfo", url, of_url)
    compared = urls.comparable(url)
    hold(urls.comparable(compared) == compared, "comparing is once and for all", url, compared)
    domain = urls.registrable_domain(urls.host(url))
    hold(domain in urls.host(url), "a registrable domain is a part of the host", url, domain)
    for mode in SCOPE_MODES:
        mine = Scope(mode, (*host_prefixes(url), urls.directory(url)))
        hold(mine.reason(url) is None, f"a URL is in its own {mode} scope", url, mine)


def _without_padding(raw: str) -> str:
    return raw.strip(_PADDING).lstrip(_PADDING + "\u200c\u200d")


def check_names_the_same(raw: str, url: str) -> None:
    """No part of the path or query is dropped, and a plain host is unchanged."""
    address, mark, _ = _without_padding(raw).partition("#")
    parts = _NAMED.fullmatch(address.rstrip(_PADDING) if mark else address)
    if parts is None:
        return
    authority, path, query = parts.groups("")
    cleaned = _NAMED.fullmatch(url)
    hold(cleaned, "a clean URL is one", raw, url)
    if _PLAIN_AUTHORITY.fullmatch(authority):
        name = authority.partition(":")[0].lower()
        hold(urls.host(url) == name, "the host is the one that was named", raw, url)
    if "/." not in path and not re.search("[\ud800-\udfff]", raw):
        unquoted = unquote_to_bytes((path or "/") + query)
        kept = unquote_to_bytes(urls.without_userinfo(url)[len(urls.origin(url)) :])
        hold(unquoted == kept, "no character of a URL is dropped", raw, url)


def check_resolved(raw: str, url: str) -> None:
    text = _without_padding(raw)
    if (named := urls.host_without_scheme(text)) in ("example.com", "www.example.com"):
        hold(urls.host(url) == named, "a host without a scheme is that host", raw, url)
    elif not text.startswith("//"):
        hold(urls.origin(url) == "https://example.com:8443", "a relative URL stays on its host", raw, url)
    hold("secret" not in url or "secret" in raw, "a relative URL has no userinfo of its base", raw, url)


# --- robots.txt -----------------------------------------------------------------------------------------------

AGENT = "sitemap-reader/0.1.0"
ASKED = tuple(f"https://example.com{path}" for path in ("/", "/a", "/a/b.html?c=d", "/sitemap.xml", "/%7e$*"))
_LINE_END = re.compile(r"\r\n|\n|\r")


def check_robots_text(body: bytes, *, thorough: bool = False) -> None:
    text = body.decode("utf-8", "replace")[: Limits().max_robots_bytes]
    # In UTF-16 that is read as bytes, NULs stand between CR and LF, too.
    written = [_LINE_END.split(text.replace("\0", "")), [line.replace("\0", "") for line in _LINE_END.split(text)]]
    found = sitemap_lines(text)
    for line in found:
        hold((line.loc and line.raw) or line.fault, "a Sitemap line names something", line)
        raw = line.raw.replace("\0", "")
        stands = any(raw in lines[line.line - 1] for lines in written if len(lines) >= line.line)
        hold(stands, "a Sitemap line stands in its line", line)
        hold(line.loc in line.raw, "a Sitemap line's URL stands in it", line)
    hold(not (found and is_html(text)), "a page has no Sitemap lines", text)
    others = sitemap_lines(_LINE_END.sub("\r\n", text))
    alike = text.count("\0") == 0 and len(text) < 400
    hold(not alike or [each.loc for each in others] == [each.loc for each in found], "line ends are alike", text)
    check_rules(text)


def check_rules(text: str) -> None:
    rules = parse_rules(text, AGENT)
    answers = [rules.allows(url) for url in ASKED]
    hold(rules.allows("https://example.com/robots.txt") in (True, False), "a question has an answer", text)
    hold(rules.delay_seconds is None or rules.delay_seconds >= 0, "a delay is a number", text, rules.delay_seconds)
    for changed in (_LINE_END.sub("\r\n", text), _LINE_END.sub("\r", text), "\ufeff" + text):
        again = parse_rules(changed, AGENT)
        hold([again.allows(url) for url in ASKED] == answers, "rules do not depend on line ends", text)
        hold(again.delay_seconds == rules.delay_seconds, "a delay does not depend on line ends", text)
    more = parse_rules("User-agent: nobody\nDisallow: /\n\n" + text, AGENT)
    hold([more.allows(url) for url in ASKED] == answers, "another's group changes nothing for us", text)
