"""What each reader is timed for: what it does with an entry, and what it does not look at."""

from __future__ import annotations

# Reader -> a line for RESULTS.md.
CHECKS = {
    "sitemap-reader": "types every field, keeps the raw text of what it interprets, judges each URL (syntax, canonical "
    "form, scope by the protocol's host and path rules), reports every fault with its line, repairs damaged XML; "
    "`dump` starts at robots.txt, obeys it, guards addresses, and writes all fields",
    "ultimate-sitemap-parser": "builds a tree of page objects with dates and priorities, stores the pages on disk "
    "and reads them back; fills in what an entry leaves out; starts at robots.txt, one document after the other",
    "Scrapy": "a dict of strings for each entry from lxml with recovery; no value is interpreted, no URL judged; its "
    "SitemapSpider starts at robots.txt and obeys it; the lines are written where the spider asks which pages to visit",
    "Scrapy, items": "the same, but each entry is an item, which goes through its scraper and feed export",
    "Crawlee": "Crawlee for Python: the core fields from a SAX parser, dates and priority converted, what does not "
    "convert is left out; parse times its parser alone, dump its parse_sitemap, which compares host names and starts "
    "at the index, one document after the other",
    "advertools": "a pandas frame of strings from ElementTree, the columns converted whole; all of the site is in "
    "memory at once",
    "Crawlee for Node": "@crawlee/utils: the core fields from a SAX parser; parseSitemap compares host names and "
    "starts at the index, one document after the other; parse has it read from a server in its own process",
    "sitemapper": "objects of strings from a tree of the whole document; all of the site is in memory at once; starts "
    "at the index",
    "sitemap.js": "the `sitemap` package: typed items with extensions from a SAX parser; parse only",
    "feedparser": "all that a feed has, sanitised; parse only",
    "bare expat": "the limit: expat without handlers, fed in 64 KiB; nothing comes out",
    "gunzip + bare expat": "the limit: the same behind zlib, over the children of the site, from memory",
    "decode + split": "the limit of a list: bytes to text, text to lines",
}
