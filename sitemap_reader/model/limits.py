"""Limits of reading: reaching one is reported, mostly as S16; those of the protocol are only reported (S03, F08)."""

from __future__ import annotations

import math
from typing import Any

import attrs

from .errors import UsageError
from .options import Option, positive
from .problems import Problem, count_of, report

KIB = 1024
MIB = 1024 * KIB
GIB = 1024 * MIB

# What is read from a socket or a file at once.
CHUNK_BYTES = 64 * KIB

# sitemaps.org protocol, "Sitemap file location": 50,000 URLs and 50 MiB (52,428,800 bytes) unpacked.
PROTOCOL_MAX_ENTRIES = 50_000
PROTOCOL_MAX_BYTES = 50 * MIB
# The schema's type of <loc> ends at 2,048 characters.
PROTOCOL_MAX_LOC_CHARACTERS = 2_048


_KINDS: dict[str, tuple[tuple[type, ...], str]] = {
    "int": ((int,), "a whole number"),
    "float": ((int, float), "a number"),
}
# Between two requests to a host: a site of 100 sitemaps takes eight hours.
MOST_CRAWL_DELAY_SECONDS = 300.0
MOST_DELAY_SECONDS = 3_600.0  # of the caller's own delay
_MOST_GZIP_LAYERS = 100  # each is a stage of decompression


def _limit(default: float, meaning: str, flags: str = "") -> Any:
    """A field with its meaning, and the option of the command line that sets it, if there is one."""
    return attrs.field(default=default, metadata={"option": Option(meaning, default, flags=flags)})


@attrs.frozen
class Limits:
    """Safety limits; each name ends in its unit, or says what it counts."""

    # one document
    max_wire_bytes: int = _limit(
        200 * MIB, "Maximum size of one document as it is sent, compressed or not.", "--max-wire-bytes"
    )
    max_decoded_bytes: int = _limit(200 * MIB, "Maximum decompressed size of one document.", "--max-decoded-bytes")
    max_entries: int = _limit(
        1_000_000, "Maximum number of URLs, or children of an index, of one document.", "--max-urls"
    )
    max_entry_bytes: int = _limit(4 * MIB, "of one entry, with its tags")
    max_entry_elements: int = _limit(20_000, "of one entry")
    max_entry_problems: int = _limit(1_000, "reported of one entry, each with its text")
    max_entry_repairs: int = _limit(1_000, "places of one entry that are repaired")
    max_repairs: int = _limit(1_000_000, "places of the document that are repaired: characters, structure")
    max_faults: int = _limit(
        100_000, "places of the document where its structure breaks; a costly one counts more than once"
    )
    max_work_per_byte: int = _limit(
        140, "steps, of some 10 ns, for each decoded byte (and 64 KiB more): damage takes many"
    )
    max_prefixes: int = _limit(64, "undeclared ones that are declared for the document")
    max_shared_characters: int = _limit(4 * MIB, "what the media of an item have in common, copied to each")
    max_token_bytes: int = _limit(MIB, "one XML token, one line, the text of one element")
    max_xml_depth: int = _limit(64, "levels of nested elements")
    max_attributes: int = _limit(256, "of one element")
    max_gzip_layers: int = _limit(2, "a gzip file in a gzip file has two")
    max_gzip_members: int = _limit(10_000, "of one document, each packed by itself")
    max_fallback_bytes: int = _limit(2 * MIB, "what feedparser is given")
    fallback_seconds: float = _limit(10.0, "until feedparser's process is ended")
    fallback_memory_bytes: int = _limit(512 * MIB, "of feedparser's process")

    # one site
    max_index_depth: int = _limit(5, "Maximum nesting depth of indexes.", "--max-depth")
    max_documents: int = _limit(100_000, "known ones, of one site")
    max_site_bytes: int = _limit(10 * GIB, "decoded, all documents together")
    site_seconds: float = _limit(
        math.inf,
        "Longest time for the sitemaps of one site, from its first request on, but for that in which it waits for the "
        "caller or other streams; what was read by then is kept.",
        "--site-seconds",
    )
    max_proof_hosts: int = _limit(100, "whose robots.txt is fetched only because an index or sitemap lists URLs there")
    max_robots_bytes: int = _limit(500 * KIB, "RFC 9309 2.5")
    max_robots_redirects: int = _limit(5, "RFC 9309 2.3.1.2")
    max_redirects: int = _limit(10, "of one document")
    max_crawl_delay_seconds: float = _limit(
        30.0,
        f"Longest Crawl-delay to obey, up to {MOST_CRAWL_DELAY_SECONDS:g}; a host that asks for more is skipped.",
        "--max-crawl-delay",
    )

    # one request
    connect_seconds: float = _limit(10.0, "to connect to a server")
    read_seconds: float = _limit(30.0, "silence between two bytes")
    document_seconds: float = _limit(300.0, "network time of one document: all its tries, heads and bodies")
    min_bytes_per_second: int = _limit(KIB, "measured once min_rate_after_seconds have passed")
    min_rate_after_seconds: float = _limit(30.0, "also for a response's head, beyond connect_seconds and read_seconds")
    max_wait_seconds: float = _limit(
        60.0, "Longest Retry-After to wait for; a host that asks for more is skipped.", "--max-wait"
    )
    tries: int = _limit(3, "of one request, the first included")

    def __attrs_post_init__(self) -> None:
        """UsageError for a value that is not a number of the field's type, 0 or more; a float may be infinite."""
        for field in attrs.fields(Limits):
            value: Any = getattr(self, field.name)
            kinds, words = _KINDS[str(field.type)]
            is_number = isinstance(value, kinds) and not isinstance(value, bool)
            if not is_number or not value >= 0:
                raise UsageError(f"Limits: {field.name} must be {words}, 0 or more, not {value!r}")
        positive("tries", self.tries)
        if self.max_gzip_layers > _MOST_GZIP_LAYERS:
            raise UsageError(f"Limits: max_gzip_layers must be {_MOST_GZIP_LAYERS} at most")
        if self.max_crawl_delay_seconds > MOST_CRAWL_DELAY_SECONDS:
            raise UsageError(f"Limits: max_crawl_delay_seconds must be {MOST_CRAWL_DELAY_SECONDS:g} at most")


if Limits.__doc__ is not None:  # python -OO removes docstrings
    Limits.__doc__ += "\n\nFields:\n" + "\n".join(
        f"    {each.name}: {each.type} = {f'{each.default:,}'.removesuffix('.0')}\n"
        f"        {each.metadata['option'].help}"
        for each in attrs.fields(Limits)
    )


def checked_limits(limits: object) -> Limits:
    """The argument if it is a Limits; else UsageError with what to write."""
    if isinstance(limits, Limits):
        return limits
    fields = ", ".join(f"{name}={value!r}" for name, value in limits.items()) if isinstance(limits, dict) else "tries=1"
    raise UsageError(keyword="limits", value=limits, allowed="a Limits", remedy=f"give limits=Limits({fields})")


# Field -> its Option, for those that the command line sets.
OPTIONS: dict[str, Option] = {
    each.name: each.metadata["option"] for each in attrs.fields(Limits) if each.metadata["option"].flags
}


def advice(field: str, to: str = "go on") -> str:
    """The advice for a limit that was reached.

    >>> advice("max_entries"), advice("max_redirects", "follow more")
    ('raise max_entries (--max-urls) to go on', 'raise max_redirects to follow more')
    """
    option = f" ({OPTIONS[field].flags})" if field in OPTIONS else ""
    return f"raise {field}{option} to {to}"


def over_limit(name: str, limit: int, what: str, line: int | None = None) -> Problem:
    """The S16 of a limit: `what` there was too much of, which begins with a noun in the singular, and what to raise."""
    noun, space, rest = what.partition(" ")
    message = f"more than {count_of(limit, noun)}{space}{rest}: reading stops here"
    return report("S16", message, line=line, remedy=advice(name))
