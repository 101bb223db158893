"""Scope and cross-submission, a row a rule: its effect on a document or on a small site.

The first column of a row is the rule in words, with its source. Sites are dicts of URL -> response, crawled by a
SitemapReader.
"""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import attrs
import pytest
from kit import Reading, Site, feed, index, read, robots, run, urlset

import sitemap_reader as sr
from sitemap_reader.parser import ScopeMode

# Sources of the rules.
LOCATION = "sitemaps.org, Sitemap file location: "
CROSS = "sitemaps.org, Sitemaps & Cross Submits: "
INDEXES = "sitemaps.org, Using Sitemap index files: "
NAMING = "sitemaps.org, Specifying the Sitemap location in robots.txt: "
RFC_9309 = "RFC 9309 "
RFC_3986 = "RFC 3986 "
OURS = "ours: "

# --- one document -----------------------------------------------------------------------------------------------

E = "https://e.example"
SHOP = f"{E}/shop/sitemap.xml"
ROOT = f"{E}/sitemap.xml"

# (rule, document, authorities, scope, the URL that it lists, the reason for which that is dropped)
PAGES: list[tuple[str, str, tuple[str, ...], ScopeMode, str, str | None]] = [
    (LOCATION + "a sitemap lists what lies in its directory", SHOP, (), "protocol", f"{E}/shop/1", None),
    (LOCATION + "and in the directories below", SHOP, (), "protocol", f"{E}/shop/a/b/c", None),
    (LOCATION + "the directory's own URL lies in it", SHOP, (), "protocol", f"{E}/shop/", None),
    (LOCATION + "a query does not leave the directory", SHOP, (), "protocol", f"{E}/shop/?to=/a", None),
    (LOCATION + "what lies above is not valid", SHOP, (), "protocol", f"{E}/", "path"),
    (LOCATION + "what lies beside is not valid", SHOP, (), "protocol", f"{E}/images/1", "path"),
    (LOCATION + "a directory ends at its slash", SHOP, (), "protocol", f"{E}/shopping/1", "path"),
    (LOCATION + "a directory without its slash is a file above", SHOP, (), "protocol", f"{E}/shop", "path"),
    (LOCATION + "a sitemap at the root lists the whole host", ROOT, (), "protocol", f"{E}/a/b", None),
    (LOCATION + "the scheme must be the sitemap's", ROOT, (), "protocol", "http://e.example/a", "scheme"),
    (LOCATION + "also upwards", "http://e.example/s.xml", (), "protocol", f"{E}/a", "scheme"),
    (LOCATION + "the host must be the sitemap's", ROOT, (), "protocol", "https://f.example/a", "host"),
    (LOCATION + "www is another host", ROOT, (), "protocol", "https://www.e.example/a", "host"),
    (LOCATION + "a host below is another host", ROOT, (), "protocol", "https://shop.e.example/a", "host"),
    (LOCATION + "a port that the sitemap has not is another", ROOT, (), "protocol", f"{E}:8443/a", "port"),
    (LOCATION + "with its port a sitemap lists that port", f"{E}:8443/s.xml", (), "protocol", f"{E}:8443/a", None),
    (LOCATION + "with its port it lists no other", f"{E}:8443/s.xml", (), "protocol", f"{E}/a", "port"),
    (LOCATION + "the query of a sitemap is no path", f"{E}/a/s?d=/b/c", (), "protocol", f"{E}/a/1", None),
    (LOCATION + "nor does it widen it", f"{E}/a/s?d=/b/c", (), "protocol", f"{E}/b/1", "path"),
    (RFC_3986 + "6.2.2.1: schemes and hosts have no case", ROOT, (), "protocol", "HTTPS://E.Example/a", None),
    (RFC_3986 + "6.2.2.1: paths have", SHOP, (), "protocol", f"{E}/Shop/1", "path"),
    (RFC_3986 + "6.2.2.3: dot segments are walked", SHOP, (), "protocol", f"{E}/shop/../a", "path"),
    (RFC_3986 + "6.2.2.3: also where they lead back", SHOP, (), "protocol", f"{E}/a/../shop/1", None),
    (RFC_3986 + "6.2.3: a default port is none", ROOT, (), "protocol", f"{E}:443/a", None),
    (RFC_3986 + "6.2.3: an empty path is the root", ROOT, (), "protocol", E, None),
    (RFC_3986 + "3.2.1: userinfo is no host", ROOT, (), "protocol", "https://e.example@f.example/", "host"),
    (RFC_3986 + "3.2.1: nor does it hide one", SHOP, (), "protocol", "https://u:p@e.example/shop/1", None),
    (CROSS + "a sitemap elsewhere lists a host that proves it", ROOT, ("https://f.example/",), "protocol",
     "https://f.example/a", None),
    (CROSS + "and its own host all the same", ROOT, ("https://f.example/",), "protocol", f"{E}/a", None),
    (CROSS + "a third host proves nothing", ROOT, ("https://f.example/",), "protocol", "https://g.example/", "host"),
    (OURS + "an authority is a folder, whether it ends in a slash or not", ROOT, ("https://f.example/shop",),
     "protocol", "https://f.example/shopping", "path"),
    (OURS + "authorities are compared clean", ROOT, ("HTTPS://F.example:443",), "protocol", "https://f.example/", None),
    (OURS + "host leaves scheme and path out", SHOP, (), "host", "http://e.example/a", None),
    (OURS + "host keeps to the host", SHOP, (), "host", "https://www.e.example/shop/1", "host"),
    (OURS + "host keeps to the port", SHOP, (), "host", f"{E}:8443/shop/1", "port"),
    (OURS + "domain takes all hosts of a registrable domain", SHOP, (), "domain", "http://a.b.e.example:81/", None),
    (OURS + "a public suffix is not a domain", "https://a.co.uk/s.xml", (), "domain", "https://b.co.uk/", "host"),
    (OURS + "any keeps all", SHOP, (), "any", "http://f.example:81/", None),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "document", "authorities", "scope", "loc", "reason"), PAGES)
def test_pages(rule: str, document: str, authorities: tuple[str, ...], scope: ScopeMode, loc: str, reason: str | None):
    found = sr.parse(urlset(loc), url=document, scope=scope, authorities=authorities)
    assert found.outcome.dropped == ({reason: 1} if reason else {}), rule
    assert (found.outcome.kept, len(found.urls)) == ((0, 0) if reason else (1, 1)), rule
    codes = {problem.code for problem in found.problems} & {"U04", "U05"}
    assert codes == ({"U05" if reason == "path" else "U04"} if reason else set()), rule


# (rule, index, authorities, scope, the sitemap that it lists, the reason for which that is dropped)
CHILDREN: list[tuple[str, str, tuple[str, ...], ScopeMode, str, str | None]] = [
    (INDEXES + "the sitemaps of an index lie on its site", SHOP, (), "protocol", f"{E}/shop/1.xml", None),
    (OURS + "a sitemap above its index is read all the same", SHOP, (), "protocol", f"{E}/1.xml", None),
    (INDEXES + "not on another", SHOP, (), "protocol", "https://f.example/1.xml", "host"),
    (INDEXES + "a subdomain is another site", ROOT, (), "protocol", "https://cdn.e.example/1.xml", "host"),
    (INDEXES + "another port is another site", ROOT, (), "protocol", f"{E}:81/1.xml", "port"),
    (LOCATION + "the scheme is the index's", ROOT, (), "protocol", "http://e.example/1.xml", "scheme"),
    (CROSS + "an authority proves a sitemap there", ROOT, ("https://f.example/",), "protocol",
     "https://f.example/1.xml", None),
    (OURS + "host leaves the scheme out", ROOT, (), "host", "http://e.example/1.xml", None),
    (OURS + "domain takes its hosts in", ROOT, (), "domain", "https://cdn.e.example/1.xml", None),
    (OURS + "any follows everywhere", ROOT, (), "any", "https://f.example/1.xml", None),
    (NAMING + "robots.txt may name a sitemap anywhere", f"{E}/robots.txt", (), "protocol",
     "https://f.example/1.xml", None),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "document", "authorities", "scope", "loc", "reason"), CHILDREN)
def test_children(
    rule: str, document: str, authorities: tuple[str, ...], scope: ScopeMode, loc: str, reason: str | None
):
    text = f"Sitemap: {loc}\n" if document.endswith(".txt") else index(loc)
    found = sr.parse(text, url=document, scope=scope, authorities=authorities)
    assert [child.loc for child in found.children] == ([] if reason else [loc]), rule
    assert found.outcome.dropped == ({reason: 1} if reason else {}), rule
    assert [problem.code for problem in found.problems] == (["U04"] if reason else []), rule


# --- crawls ------------------------------------------------------------------------------------------------

A, B, C = "https://a.example", "https://b.example", "https://c.example"
WWW = "https://www.a.example"


def to(url: str) -> tuple[int, dict[str, str], bytes]:
    """A redirect."""
    return 301, {"location": url}, b""


@attrs.define
class Row:
    """A rule, a site and its target; the returned URLs, the dropped ones, the number of unverified listings.

    `unread` are documents that are not read.
    """

    rule: str
    target: str
    answers: dict[str, Any]
    gives: list[str]
    dropped: dict[str, int] = attrs.field(factory=dict)
    unproven: int = 0
    unread: tuple[str, ...] = ()
    scope: ScopeMode = "protocol"

    @property
    def locs(self) -> list[str]:
        return sorted(self.gives)


FOUR = (f"{A}/1", f"{A}/maps/2", "http://a.example/3", f"{B}/4")  # root, folder, other scheme, other host
ROBOTS = f"{A}/robots.txt"
MAPS = f"{A}/maps/s.xml"
INDEX = f"{A}/maps/index.xml"
# A host with sitemaps that the robots.txt of another host names: there their scope is their directory.
HOST = "https://host.example"
NARROW, WIDE, SHARED = f"{HOST}/n/index.xml", f"{HOST}/w/index.xml", f"{HOST}/x/s.xml"
PROVEN = f"{HOST}/r.xml"
PROVES = {f"{HOST}/robots.txt": f"Sitemap: {PROVEN}\n"}  # so it may list all URLs of its host
LISTED = (f"{HOST}/n/1", f"{HOST}/w/2", f"{HOST}/x/3", f"{HOST}/4", f"{B}/5")

WALKS = [
    # robots.txt verification
    Row(NAMING + "a sitemap in a folder, named by robots.txt, may list the host, on both schemes", A,
        {ROBOTS: robots(MAPS), MAPS: urlset(*FOUR)}, [*FOUR[:3]], {"host": 1}),
    Row(CROSS + "a sitemap on another host may list the one whose robots.txt names it", A,
        {ROBOTS: robots(f"{HOST}/a/s.xml"), f"{HOST}/a/s.xml": urlset(*FOUR)}, [*FOUR[:3]], {"host": 1}),
    Row(CROSS + "and for its own directory, but for no more of its own host", A,
        {ROBOTS: robots(f"{HOST}/a/s.xml"), f"{HOST}/a/s.xml": urlset(f"{HOST}/a/1", f"{HOST}/2", f"{A}/3")},
        [f"{HOST}/a/1", f"{A}/3"], {"path": 1}),
    Row(CROSS + "the robots.txt of the sitemap's own host verifies no other host", HOST,
        {f"{HOST}/robots.txt": robots(f"{HOST}/s.xml"), f"{HOST}/s.xml": urlset(f"{A}/1", f"{HOST}/2")},
        [f"{HOST}/2"], {"host": 1}),
    Row(NAMING + "a Sitemap line stands outside all groups", A,
        {ROBOTS: f"Sitemap: {MAPS}\nUser-agent: other\nDisallow: /\n", MAPS: urlset(*FOUR)}, [*FOUR[:3]], {"host": 1}),
    Row(NAMING + "a requested port is verified too", f"{A}:8443",
        {f"{A}:8443/robots.txt": robots(f"{A}:8443/m/s.xml"), f"{A}:8443/m/s.xml": urlset(f"{A}:8443/1", f"{A}:81/2")},
        [f"{A}:8443/1"], {"port": 1}),
    # redirects of robots.txt
    Row(RFC_9309 + "2.3.1.2: a redirected robots.txt is the host's own; bare to www, it verifies both", A,
        {ROBOTS: to(f"{WWW}/robots.txt"), f"{WWW}/robots.txt": robots(f"{WWW}/m/s.xml"),
         f"{WWW}/m/s.xml": urlset(f"{A}/1", f"{WWW}/2", f"{B}/3")}, [f"{A}/1", f"{WWW}/2"], {"host": 1}),
    Row(RFC_9309 + "2.3.1.2: www to bare as well", WWW,
        {f"{WWW}/robots.txt": to(ROBOTS), ROBOTS: robots(MAPS), MAPS: urlset(f"{A}/1", f"{WWW}/2")},
        [f"{A}/1", f"{WWW}/2"]),
    Row(RFC_9309 + "2.3.1.2: the http robots.txt that redirects to https verifies both schemes", "http://a.example",
        {"http://a.example/robots.txt": to(ROBOTS), ROBOTS: robots(MAPS), MAPS: urlset(*FOUR)}, [*FOUR[:3]],
        {"host": 1}),
    Row(OURS + "robots.txt redirected to another domain verifies the host that redirects, not that domain", A,
        {ROBOTS: to(f"{B}/robots.txt"), f"{B}/robots.txt": robots(MAPS), MAPS: urlset(*FOUR)}, [*FOUR[:3]],
        {"host": 1}),
    Row(CROSS + "the robots.txt of a host names a sitemap elsewhere, which then lists the URLs of that host", A,
        {ROBOTS: robots(MAPS), f"{WWW}/robots.txt": robots(MAPS), MAPS: urlset(f"{A}/1", f"{WWW}/2")},
        [f"{A}/1", f"{WWW}/2"]),
    Row(OURS + "the robots.txt of a host in another domain is not requested because a sitemap lists its pages", A,
        {ROBOTS: robots(MAPS), f"{B}/robots.txt": robots(MAPS), MAPS: urlset(*FOUR)}, [*FOUR[:3]], {"host": 1}),
    # submitted sitemaps
    Row(LOCATION + "a sitemap under /sitemap/ that probing found counts as submitted: it may list its host", A,
        {f"{A}/sitemap/index.xml": urlset(*FOUR)}, [*FOUR[:3]], {"host": 1}),
    Row(CROSS + "a sitemap under /sitemaps/ that the user names counts as submitted", f"{A}/sitemaps/all.xml",
        {f"{A}/sitemaps/all.xml": urlset(*FOUR)}, [*FOUR[:3]], {"host": 1}),
    Row(NAMING + "a sitemap under /sitemaps/ that robots.txt names may list the host", A,
        {ROBOTS: robots(f"{A}/sitemaps/all.xml"), f"{A}/sitemaps/all.xml": urlset(*FOUR)}, [*FOUR[:3]], {"host": 1}),
    Row(INDEXES + "a sitemap under /sitemaps/ that a verified index lists inherits the host", A,
        {ROBOTS: robots(f"{A}/index.xml"), f"{A}/index.xml": index(f"{A}/sitemaps/1.xml"),
         f"{A}/sitemaps/1.xml": urlset(*FOUR)}, [*FOUR[:3]], {"host": 1}),
    Row(OURS + "a document target is one document; others that robots.txt names only verify", INDEX,
        {ROBOTS: robots(f"{A}/other.xml"), INDEX: urlset(f"{A}/1"), f"{A}/other.xml": urlset(f"{A}/2")}, [f"{A}/1"],
        unread=(f"{A}/other.xml",)),
    Row(OURS + "userinfo is never sent, so a document with and without is one", "https://u:p@a.example/index.xml",
        {f"{A}/index.xml": index(f"{A}/s.xml", "https://u:p@a.example/s.xml"), f"{A}/s.xml": urlset(f"{A}/1")},
        [f"{A}/1"]),
    # redirects of a sitemap
    Row(OURS + "verification survives a redirect within the host", A,
        {ROBOTS: robots(f"{A}/old/s.xml"), f"{A}/old/s.xml": to(f"{A}/new/s.xml"), f"{A}/new/s.xml": urlset(*FOUR)},
        [*FOUR[:3]], {"host": 1}),
    Row(CROSS + "verification survives a redirect to another host", A,
        {ROBOTS: robots(f"{A}/s.xml"), f"{A}/s.xml": to(f"{B}/m/s.xml"), f"{B}/m/s.xml": urlset(f"{A}/1", f"{B}/2")},
        [f"{A}/1"], {"path": 1}),
    Row(LOCATION + "the directory is that of the final URL", A,
        {ROBOTS: robots(f"{HOST}/old/s.xml"), f"{HOST}/old/s.xml": to(f"{HOST}/new/s.xml"),
         f"{HOST}/new/s.xml": urlset(f"{HOST}/old/1", f"{HOST}/new/2")}, [f"{HOST}/new/2"], {"path": 1}),
    Row(OURS + "a document target may list the host it is redirected to within one domain",
        f"{A}/s.xml", {f"{A}/s.xml": to(f"{WWW}/m/s.xml"), f"{WWW}/m/s.xml": urlset(f"{A}/1", f"{WWW}/2", f"{B}/3")},
        [f"{A}/1", f"{WWW}/2"], {"host": 1}),
    Row(OURS + "not a host of another domain", f"{A}/s.xml",
        {f"{A}/s.xml": to(f"{B}/m/s.xml"), f"{B}/m/s.xml": urlset(f"{A}/1", f"{B}/2", f"{B}/m/3")},
        [f"{A}/1", f"{B}/m/3"], {"path": 1}),
    Row(OURS + "a redirect to a known document passes the verification on", A,
        {ROBOTS: robots(f"{HOST}/n/index.xml", f"{A}/alias.xml"), NARROW: index(SHARED), f"{A}/alias.xml": to(SHARED),
         SHARED: urlset(f"{A}/1", f"{HOST}/2")}, [f"{A}/1"], {"path": 1}),
    # indexes
    Row(CROSS + "the verification of an index extends to its children", A,
        {ROBOTS: robots(NARROW), NARROW: index(SHARED), SHARED: urlset(*FOUR)}, [*FOUR[:3]], {"host": 1}),
    Row(CROSS + "and to theirs", A,
        {ROBOTS: robots(NARROW), NARROW: index(WIDE), WIDE: index(SHARED), SHARED: urlset(*FOUR)}, [*FOUR[:3]],
        {"host": 1}),
    Row(LOCATION + "a child may list the directory of its index and its own, and nothing above", A,
        {ROBOTS: robots(NARROW), NARROW: index(SHARED), SHARED: urlset(*LISTED)}, [LISTED[0], LISTED[2]],
        {"path": 2, "host": 1}),
    Row(INDEXES + "an index in a folder may list sitemaps above it, which is noted", f"{A}/maps/index.xml",
        {INDEX: index(f"{A}/s.xml"), f"{A}/s.xml": urlset(f"{A}/1")}, [f"{A}/1"]),
    Row(INDEXES + "a sitemap on another host is not read without verification", INDEX,
        {INDEX: index(f"{B}/s.xml", MAPS), MAPS: urlset(f"{A}/1"), f"{B}/s.xml": urlset(f"{A}/2")}, [f"{A}/1"],
        {"host": 1}, unproven=1, unread=(f"{B}/s.xml",)),
    Row(CROSS + "the robots.txt of the other host verifies: it is requested, and names the sitemap", INDEX,
        {INDEX: index(f"{B}/s.xml"), f"{B}/robots.txt": robots(f"{B}/s.xml"),
         f"{B}/s.xml": urlset(f"{A}/1", f"{B}/2", f"{C}/3")}, [f"{A}/1", f"{B}/2"], {"host": 1}),
    Row(CROSS + "a robots.txt that names others does not verify", INDEX,
        {INDEX: index(f"{B}/s.xml", f"{B}/t.xml"), f"{B}/robots.txt": robots(f"{B}/t.xml"),
         f"{B}/s.xml": urlset(f"{A}/1"), f"{B}/t.xml": urlset(f"{A}/2")}, [f"{A}/2"], {"host": 1},
        unproven=1, unread=(f"{B}/s.xml",)),
    Row(CROSS + "the index's own robots.txt verifies too, wherever the child is", INDEX,
        {ROBOTS: robots(f"{B}/s.xml"), INDEX: index(f"{B}/s.xml"), f"{B}/s.xml": urlset(f"{A}/1")}, [f"{A}/1"]),
    Row(CROSS + "children of a verified child elsewhere are verified like their index", INDEX,
        {INDEX: index(f"{B}/i.xml"), f"{B}/robots.txt": robots(f"{B}/i.xml"), f"{B}/i.xml": index(f"{B}/m/s.xml"),
         f"{B}/m/s.xml": urlset(f"{A}/1", f"{B}/2")}, [f"{A}/1", f"{B}/2"]),
    Row(RFC_9309 + "2.3.1.2: bare to www: the other host's robots.txt may be redirected", INDEX,
        {INDEX: index(f"{B}/s.xml"), f"{B}/robots.txt": to("https://www.b.example/robots.txt"),
         "https://www.b.example/robots.txt": robots(f"{B}/s.xml"), f"{B}/s.xml": urlset(f"{B}/1", f"{A}/2")},
        [f"{B}/1", f"{A}/2"]),
    Row(INDEXES + "another port needs proof as another host does", INDEX,
        {INDEX: index(f"{A}:81/s.xml"), f"{A}:81/robots.txt": robots(f"{A}:81/s.xml"), f"{A}:81/s.xml": urlset(*FOUR)},
        [*FOUR[:3]], {"host": 1}),
    Row(LOCATION + "an unproven index lists no child on the other scheme", A,
        {ROBOTS: robots(NARROW), NARROW: index("http://host.example/n/s.xml"),
         "http://host.example/n/s.xml": urlset(f"{A}/1")}, [], {"scheme": 1}, unproven=1,
        unread=("http://host.example/n/s.xml",)),
    Row(LOCATION + "a proven one lists children on both", A,
        {ROBOTS: robots(f"{A}/i.xml"), f"{A}/i.xml": index("http://a.example/m/s.xml"),
         "http://a.example/m/s.xml": urlset(*FOUR)}, [*FOUR[:3]], {"host": 1}),
    # the order of listings does not matter
    Row(OURS + "narrow first, then wide: what was dropped is kept", A,
        {ROBOTS: robots(NARROW), NARROW: index(SHARED, PROVEN), **PROVES, PROVEN: index(SHARED),
         SHARED: urlset(*LISTED)}, [*LISTED[:4]], {"host": 1}),
    Row(OURS + "wide first, then narrow: read once", A,
        {ROBOTS: robots(PROVEN), **PROVES, PROVEN: index(SHARED, NARROW), NARROW: index(SHARED),
         SHARED: urlset(*LISTED)}, [*LISTED[:4]], {"host": 1}),
    Row(OURS + "both while it waits: read once, with all that is known by then", A,
        {ROBOTS: robots(NARROW, WIDE), NARROW: index(SHARED), WIDE: index(SHARED), SHARED: urlset(*LISTED)},
        [*LISTED[:3]], {"path": 1, "host": 1}),
    Row(OURS + "wide and narrow while it waits: read once", A,
        {ROBOTS: robots(NARROW, PROVEN), **PROVES, NARROW: index(SHARED), PROVEN: index(SHARED),
         SHARED: urlset(*LISTED)}, [*LISTED[:4]], {"host": 1}),
    Row(OURS + "what an index gains, its children gain, and theirs", A,
        {ROBOTS: robots(NARROW), NARROW: index(SHARED, WIDE), SHARED: index(f"{HOST}/x/y/s.xml"),
         WIDE: index(PROVEN), f"{HOST}/x/y/s.xml": urlset(*LISTED), **PROVES, PROVEN: index(SHARED)},
        [*LISTED[:4]], {"host": 1}),
    Row(OURS + "an index that is listed once more: what it lists is known", A,
        {ROBOTS: robots(NARROW), NARROW: index(WIDE, PROVEN), **PROVES, PROVEN: index(WIDE), WIDE: index(SHARED),
         SHARED: urlset(*LISTED)}, [*LISTED[:4]], {"host": 1}),
    Row(OURS + "authorities that come one by one", A,
        {ROBOTS: robots(NARROW), NARROW: index(SHARED, WIDE), WIDE: index(SHARED, PROVEN), **PROVES,
         PROVEN: index(SHARED), SHARED: urlset(*LISTED)}, [*LISTED[:4]], {"host": 1}),
    Row(OURS + "indexes that list each other share what they hold", A,
        {ROBOTS: robots(NARROW), NARROW: index(WIDE, SHARED), WIDE: index(NARROW), SHARED: urlset(*LISTED)},
        [*LISTED[:3]], {"path": 1, "host": 1}),
    Row(OURS + "a wider authority that covers nothing of what was dropped", A,
        {ROBOTS: robots(NARROW), NARROW: index(SHARED, PROVEN), **PROVES, PROVEN: index(SHARED),
         SHARED: urlset(f"{HOST}/x/1", f"{B}/2")}, [f"{HOST}/x/1"], {"host": 1}),
    Row(OURS + "a robots.txt that is met on the way proves what was read before", A,
        {ROBOTS: robots(f"{HOST}/x/s.xml", f"{A}/i.xml"), SHARED: urlset(*LISTED), f"{A}/i.xml": index(f"{A}/j.xml"),
         f"{A}/j.xml": index(f"{B}/s.xml"), f"{B}/robots.txt": robots(SHARED, f"{B}/s.xml"),
         f"{B}/s.xml": urlset(f"{B}/6")}, [LISTED[2], LISTED[4], f"{B}/6"], {"path": 3}),
    Row(OURS + "a listing without proof hands nothing down to a document that is known", A,
        {ROBOTS: robots(f"{A}/i.xml", f"{B}/m/s.xml"), f"{A}/i.xml": urlset(f"{A}/1"),
         f"{B}/m/s.xml": urlset(f"{A}/2", f"{B}/3"), f"{A}/x.xml": index(f"{B}/m/s.xml")}, [f"{A}/1", f"{A}/2"],
        {"path": 1}),
    Row(CROSS + "a robots.txt that is met later proves what an index has listed before", A,
        {ROBOTS: robots(f"{A}/i.xml", f"{A}/j.xml"), f"{A}/i.xml": index(f"{B}/s.xml"),
         f"{B}/s.xml": urlset(f"{A}/1", f"{B}/2"), f"{A}/j.xml": index(f"{A}/k.xml"), f"{A}/k.xml": index(f"{C}/s.xml"),
         f"{C}/robots.txt": robots(f"{C}/s.xml", f"{B}/s.xml"), f"{C}/s.xml": urlset(f"{C}/3")},
        [f"{A}/1", f"{B}/2", f"{C}/3"]),
    Row(LOCATION + "an index that gains the other scheme has its children there read", A,
        {ROBOTS: robots(f"{HOST}/n/top.xml"), f"{HOST}/n/top.xml": index(NARROW, PROVEN), **PROVES,
         NARROW: index("http://host.example/n/s.xml"), PROVEN: index(NARROW),
         "http://host.example/n/s.xml": urlset(*LISTED)}, [*LISTED[:4]], {"host": 1}),
    Row(CROSS + "what one index lists without proof, another on its host may list", A,
        {ROBOTS: robots(f"{A}/i.xml", f"{B}/n/index.xml"), f"{A}/i.xml": index(f"{B}/n/s.xml"),
         f"{B}/n/index.xml": index(f"{B}/n/s.xml"), f"{B}/n/s.xml": urlset(f"{A}/1", f"{B}/n/2", f"{B}/3")},
        [f"{A}/1", f"{B}/n/2"], {"path": 1}),
    # the four scopes, on one site
    *(
        Row(OURS + f"--scope {scope} on a sitemap in a folder of another's host", A,
            {ROBOTS: robots(f"{HOST}/x/s.xml"),
             SHARED: urlset(f"{HOST}/x/1", f"{HOST}/2", "http://host.example/x/3", f"{HOST}:81/4",
             "https://b.host.example/5",
                          f"{A}/6", f"{B}/7")},
            [f"{HOST}/x/1", f"{A}/6", *more], dropped, scope=scope)
        for scope, more, dropped in [
            ("protocol", [], {"path": 1, "scheme": 1, "port": 1, "host": 2}),
            ("host", [f"{HOST}/2", "http://host.example/x/3"], {"port": 1, "host": 2}),
            ("domain", [f"{HOST}/2", "http://host.example/x/3", f"{HOST}:81/4", "https://b.host.example/5"],
             {"host": 1}),
            ("any", [f"{HOST}/2", "http://host.example/x/3", f"{HOST}:81/4", "https://b.host.example/5", f"{B}/7"],
             {}),
        ]
    ),
    Row(OURS + "--scope any follows an index anywhere, and needs no verification", INDEX,
        {INDEX: index(f"{B}/s.xml"), f"{B}/s.xml": urlset(f"{C}/1")}, [f"{C}/1"], scope="any"),
    Row(OURS + "--scope domain follows it within the domain", INDEX,
        {INDEX: index(f"{WWW}/s.xml", f"{B}/s.xml"), f"{WWW}/s.xml": urlset(f"{A}/1", f"{WWW}/2", f"{B}/3")},
        [f"{A}/1", f"{WWW}/2"], {"host": 2}, unproven=1, unread=(f"{B}/s.xml",), scope="domain"),
    # other formats
    Row("sitemaps.org, Other Sitemap formats: a text file keeps to the same rules", A,
        {ROBOTS: robots(f"{HOST}/x/s.txt"), f"{HOST}/x/s.txt": "\n".join(LISTED)}, [LISTED[2]],
        {"path": 3, "host": 1}),
    Row("sitemaps.org, Other Sitemap formats: a feed keeps to the same rules", A,
        {ROBOTS: robots(f"{HOST}/x/f.rss"), f"{HOST}/x/f.rss": feed(*LISTED)}, [LISTED[2]],
        {"path": 3, "host": 1}),
    Row(INDEXES + "pages that stand in an index keep to the rules of pages", f"{HOST}/x/index.xml",
        {f"{HOST}/x/index.xml": index(f"{HOST}/x/s.xml", f"<url><loc>{HOST}/1</loc></url>",
         f"<url><loc>{A}/2</loc></url>"), SHARED: urlset(f"{HOST}/3")}, [f"{HOST}/1", f"{HOST}/3"],
        {"host": 1}),
]  # fmt: skip


@pytest.mark.parametrize("row", WALKS, ids=lambda row: row.rule)
def test_walks(row: Row) -> None:
    site = Site(row.answers)
    reading = read(site, row.target, scope=row.scope, per_host=1, concurrency=1)
    stream = reading.stream
    assert sorted(reading.locs) == row.locs, row.rule
    assert stream.summary.dropped == row.dropped, row.rule
    assert sum((Counter(outcome.dropped) for outcome in stream.outcomes), Counter()) == row.dropped, row.rule
    assert sum(outcome.problems.get("U04", 0) for outcome in stream.outcomes if outcome.format == "sitemapindex") == (
        row.unproven + (row.dropped.get("host", 0) if "pages that stand in an index" in row.rule else 0)
    ), row.rule
    assert not set(site.requests) & set(row.unread), row.rule
    assert max(Counter(site.requests).values()) == 1
    check_counts(reading)


def check_counts(reading: Reading) -> None:
    """One outcome a document with consistent counts, also if its scope grew."""
    records, stream = reading.of(sr.UrlRecord), reading.stream
    assert stream.complete
    assert len({outcome.url for outcome in stream.outcomes}) == len(stream.outcomes)
    assert len({(record.sitemap, record.line) for record in records}) == len(records)
    given = Counter(record.sitemap for record in records)
    for outcome in stream.outcomes:
        assert outcome.kept + sum(outcome.dropped.values()) == outcome.entries
        if outcome.format in ("urlset", "text", "rss") and outcome.entries:
            assert outcome.kept == given[outcome.url]
            problems = outcome.problems.get("U04", 0) + outcome.problems.get("U05", 0)
            assert problems == sum(outcome.dropped.values())
    assert stream.progress.documents_done == stream.progress.documents_known


def test_every_rule_has_one_row_and_names_its_source() -> None:
    rules = [row[0] for row in (*PAGES, *CHILDREN)] + [row.rule for row in WALKS]
    assert len(rules) >= 60
    twice = {rule for rule, count in Counter(rules).items() if count > 1}
    assert not twice
    assert all(": " in rule for rule in rules)


# --- the command line -------------------------------------------------------------------------------------------

# (rule, options, the returned URLs of LISTED, the dropped ones)
COMMANDS: list[tuple[str, list[str], list[int], dict[str, int]]] = [
    (OURS + "parse drops nothing by default", [], [0, 1, 2, 3, 4], {}),
    (LOCATION + "the URL says which directory", ["--url", SHARED], [2], {"path": 3, "host": 1}),
    (CROSS + "an authority adds a host", ["--url", SHARED, "--authority", B], [2, 4], {"path": 3}),
    (OURS + "an authority stands for itself", ["--authority", f"{HOST}/n/"], [0], {"path": 3, "host": 1}),
    (OURS + "several add up", ["--authority", f"{HOST}/n", "--authority", f"{HOST}/w"], [0, 1], {"path": 2, "host": 1}),
    (LOCATION + "the scheme of an authority counts", ["--authority", "http://host.example"], [],
     {"scheme": 4, "host": 1}),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "options", "kept", "dropped"), COMMANDS)
@pytest.mark.parametrize("kind", ["url", "sitemap"])
def test_parse_by_the_command_line(
    rule: str, options: list[str], kept: list[int], dropped: dict[str, int], kind: str
) -> None:
    if kind == "sitemap":  # children of an index may be anywhere on its host
        kept = sorted({*kept, *range(4)} if "path" in dropped else {*kept})
        dropped = {reason: count for reason, count in dropped.items() if reason != "path"}
    scope = ["--scope", "protocol"] if options else []
    document = (urlset if kind == "url" else index)(*LISTED)
    result = run("parse", "-", *scope, *options, "--report", "-", stdin=document)
    assert result.exit_code == 0, rule
    lines: list[dict[str, Any]] = [json.loads(line) for line in result.stdout.splitlines()]
    assert [line["loc"] for line in lines if "loc" in line] == [LISTED[each] for each in kept], rule
    assert lines[-1]["dropped"] == dropped, rule
    assert (f"{sum(dropped.values())} dropped" in result.stderr) is bool(dropped), rule


# --- a proof that comes late ---


@pytest.fixture
def late(tmp_path: Path) -> Path:
    """A recording in which the robots.txt of another host, read after the sitemap, verifies it."""
    shop, www = "https://shop.example", "https://www.shop.example"
    names = robots(f"{shop}/sitemap.xml")
    listed = urlset(f"{www}/a", f"{www}/b", f"{shop}/c")
    pages = {"/robots.txt": names, "/sitemap.xml": listed, f"{www}/robots.txt": names}
    return Site(pages, shop).write(tmp_path / "late")


def test_urls_that_a_late_robots_txt_verifies_are_no_problem_anywhere(late: Path, tmp_path: Path) -> None:
    with sr.urls(late) as urls:
        assert sorted(url.loc[-1] for url in urls) == ["a", "b", "c"]
    assert not {"U04", "U05"} & urls.problems.counts.keys()
    assert all(not each.dropped and not {"U04", "U05"} & each.problems.keys() for each in urls.outcomes)
    with sr.changes(late, state=tmp_path / "state.db") as changes:
        assert len(list(changes)) == 3
    assert not {"U04", "U05"} & changes.problems.counts.keys()
    assert not {"U04", "U05"} & {finding.code for finding in sr.audit(late).findings}
    assert not {"U04", "U05"} & set(sr.snapshot(late, show_progress=False).problems["code"])
    for command in ("dump", "stats", "tree"):
        arguments = ["--report", "-"] if command == "dump" else []
        result = run(command, late, *arguments)
        assert result.exit_code == 0
        assert "U04" not in result.stdout + result.stderr
