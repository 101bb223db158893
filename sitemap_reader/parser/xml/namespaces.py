"""Every namespace that is known, and the prefix by which its tags are called here.

Both schemes are seen in the wild, with and without a slash at the end. Sources: sitemaps.org 0.9, Google's schemas
of the extensions, the RSS and Atom specifications.
"""

from __future__ import annotations

import re


def _spellings(*names: str) -> list[str]:
    """As given, over http, comes first."""
    found = []
    for name in names:
        other = name.removesuffix("/") if name.endswith("/") else name + "/"
        found += [f"{scheme}://{spelling}" for scheme in ("http", "https") for spelling in (name, other)]
    return found


CORE = frozenset(
    _spellings(
        "www.sitemaps.org/schemas/sitemap/0.9",
        "sitemaps.org/schemas/sitemap/0.9",
        "www.google.com/schemas/sitemap/0.84",
        "www.google.com/schemas/sitemap/0.9",
        "www.google.com/schemas/sitemap/0.90",
    )
)

# Prefix -> the namespaces it stands for, the proper one first.
_EXTENSIONS = {
    "image": _spellings("www.google.com/schemas/sitemap-image/1.1"),
    "video": _spellings("www.google.com/schemas/sitemap-video/1.1"),
    "news": _spellings("www.google.com/schemas/sitemap-news/0.9", "www.google.com/schemas/sitemap-news/0.84"),
    "mobile": _spellings("www.google.com/schemas/sitemap-mobile/1.0"),
    "pagemap": _spellings("www.google.com/schemas/sitemap-pagemap/1.0"),
    "xhtml": _spellings("www.w3.org/1999/xhtml"),
}
# Wrong, but unmistakable: generators write these. Read all the same, and noted (S02).
_MISTAKEN = {
    "image": _spellings("www.sitemaps.org/schemas/sitemap-image/1.1"),
    "video": _spellings("www.sitemaps.org/schemas/sitemap-video/1.1"),
    "news": _spellings("www.sitemaps.org/schemas/sitemap-news/0.9"),
    "mobile": _spellings("www.sitemaps.org/schemas/sitemap-mobile/1.0"),
    "xhtml": _spellings("www.w3.org/TR/xhtml11/xhtml11_schema.html"),
}
_ATOM = _spellings("www.w3.org/2005/Atom", "purl.org/atom/ns#")
_RSS = _spellings(
    "purl.org/rss/1.0/",
    "my.netscape.com/rdf/simple/0.9/",
    "channel.netscape.com/rdf/simple/0.9/",
    "backend.userland.com/rss2",
    "purl.org/rss/2.0/",
    "backend.userland.com/rss",
    "blogs.law.harvard.edu/tech/rss",
)
_BESIDE_FEEDS = {
    "dc": _spellings("purl.org/dc/elements/1.1/"),
    "media": _spellings("search.yahoo.com/mrss/"),
    "atom": _ATOM,
}
# Where the specification of Media RSS stands, and where it stood.
_MISTAKEN_BESIDE_FEEDS = {
    "media": _spellings("www.rssboard.org/media-rss", "video.search.yahoo.com/mrss/"),
}

# What an Atom link to the page itself may have for its rel: a registered name stands for the IRI (RFC 4287 4.2.7.2).
ALTERNATE = frozenset({"alternate", "http://www.iana.org/assignments/relation/alternate"})


def _prefixes(*tables: dict[str, list[str]]) -> dict[str, str]:
    return {name: prefix for table in tables for prefix, names in table.items() for name in names}


# Namespace -> prefix, in documents of each kind; "" makes tags core.
SITEMAP = {**_prefixes(_EXTENSIONS, _MISTAKEN), **dict.fromkeys(CORE, "")}
RSS = {**_prefixes(_BESIDE_FEEDS, _MISTAKEN_BESIDE_FEEDS), **dict.fromkeys(_RSS, "")}
ATOM = {**_prefixes(_BESIDE_FEEDS, _MISTAKEN_BESIDE_FEEDS), **dict.fromkeys(_ATOM, "")}

_PROPER = {prefix: names[0] for table in (_EXTENSIONS, _BESIDE_FEEDS) for prefix, names in table.items()}


def judge_mistaken(namespace: str) -> str | None:
    """Why a namespace is wrong although it is read; None: it is not."""
    prefix = _MISTAKEN_PREFIXES.get(namespace)
    return prefix and f'the namespace "{namespace}" is wrong: read as {prefix} all the same'


def judge(namespace: str) -> str | None:
    """The same for a sitemap, where one that only looks like an extension's is at fault too."""
    if namespace in SITEMAP or not _LOOKS_LIKE_OURS.search(namespace):
        return judge_mistaken(namespace)
    return f'the namespace "{namespace[:200]}" is none of the extensions\': what is in it is passed over'


_MISTAKEN_PREFIXES = _prefixes(_MISTAKEN, _MISTAKEN_BESIDE_FEEDS)
_LOOKS_LIKE_OURS = re.compile(r"schemas/sitemap-|/xhtml", re.IGNORECASE)


def clark(tag: str) -> tuple[str, str]:
    """A vocabulary's tag as (namespace, local name): of `image:loc` the proper namespace, of `{uri}x` as written."""
    namespace, brace, local = tag.rpartition("}")
    if brace:
        return namespace, local
    prefix, _, local = tag.rpartition(":")
    return _PROPER.get(prefix, ""), local
