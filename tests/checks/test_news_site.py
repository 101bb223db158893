"""The site of a news publisher as publishers write it, with a planted state in most of its entries and files.

Beside each state stands the truth: what Google's documentation of news, video and image sitemaps, or the protocol,
says of it. Nothing stands beside what they allow, or say nothing of. All that an audit finds is compared.
"""

from pathlib import Path
from typing import Any

from kit import NS, feed, files, gz, index, robots, urlset

import sitemap_reader as sr

WWW = "https://www.courier.example"
AS_OF = "2026-11-30T12:00:00Z"
NEWS = "http://www.google.com/schemas/sitemap-news/0.9"
VIDEO = "http://www.google.com/schemas/sitemap-video/1.1"
IMAGE = "http://www.google.com/schemas/sitemap-image/1.1"
XHTML = "http://www.w3.org/1999/xhtml"
FEEDS = ("rss.xml", "atom.xml")
Files = dict[str, bytes]
Found = set[tuple[str, str, str]]  # code, severity, path of the page or the sitemap


def entry(path: str, fields: str = "", lastmod: str | None = None) -> str:
    dated = f"<lastmod>{lastmod}</lastmod>" if lastmod else ""
    return f"<url><loc>{WWW}{path}</loc>{dated}{fields}</url>"


def tags(prefix: str, values: dict[str, str | None]) -> str:
    return "".join(f"<{prefix}:{name}>{text}</{prefix}:{name}>" for name, text in values.items() if text is not None)


def news(more: str = "", **changed: str | None) -> str:
    publication = {"name": "The Courier", "language": "en"}
    article = {"publication_date": "2026-11-30T08:15:00+01:00", "title": "Bridge reopens"}
    first, second = ({name: changed.get(name, text) for name, text in all.items()} for all in (publication, article))
    written = f"<news:publication>{tags('news', first)}</news:publication>{tags('news', second)}"
    return f"<news:news>{written}{more}</news:news>"


def video(more: str = "", **changed: str | None) -> str:
    own = {
        "thumbnail_loc": "https://img.courier.example/bridge.jpg",
        "title": "The bridge",
        "description": "Seen from the air.",
        "content_loc": "https://cdn.example.net/bridge.mp4",
        "duration": "90",
    }
    return f"<video:video>{tags('video', {**own, **changed})}{more}</video:video>"


def image(loc: str, more: str = "") -> str:
    return f"<image:image><image:loc>{loc}</image:loc>{more}</image:image>"


def extended(*entries: str, news: str = NEWS) -> bytes:
    """A sitemap that declares all extensions, as those of plugins do."""
    spaces = f'xmlns:news="{news}" xmlns:video="{VIDEO}" xmlns:image="{IMAGE}" xmlns:xhtml="{XHTML}"'
    declaration = b'<?xml version="1.0" encoding="UTF-8"?>\n<?xml-stylesheet type="text/xsl" href="/sitemap.xsl"?>\n'
    return declaration + urlset(*entries).replace(b"<urlset ", f"<urlset {spaces} ".encode(), 1)


def month(name: str, *more: str) -> bytes:
    """The archive of a month; ten articles, of several days."""
    return urlset(*((f"{WWW}/{name}/story-{day}", f"{name}-{day}T0{day % 10}:12:4{day % 7}Z") for day in range(10, 20)),
                  *more)  # fmt: skip


def rss(*links: str, date: str = "Mon, 30 Nov 2026 0{}:20:00 +0000", channel: str = "") -> bytes:
    """As WordPress writes it: with a link to itself and a WebSub hub."""
    items = (
        f'<item><title>A</title><link>{link}</link><guid isPermaLink="false">{number}</guid>'
        f"<pubDate>{date.format(number)}</pubDate></item>\n"
        for number, link in enumerate(links)
    )
    head = f"<channel><title>The Courier</title><link>{WWW}/</link>{channel}"
    body = feed(*items).decode().replace("<channel>", head)
    return body.replace("<rss ", '<rss xmlns:atom="http://www.w3.org/2005/Atom" ').encode()


HUB = '<atom:link rel="hub" href="https://pubsubhubbub.appspot.com/"/>'
SELF = '<atom:link rel="self" type="application/rss+xml" href="{}/rss.xml"/>'


def atom(*links: str) -> bytes:
    entries = (
        f'<entry><title>A</title><link rel="alternate" href="{link}"/><id>{number}</id>'
        f"<updated>2026-11-30T0{number}:20:00Z</updated></entry>\n"
        for number, link in enumerate(links)
    )
    return feed(*entries, kind="atom").replace(b"<feed ", b'<feed xml:lang="en" ')


def article(number: int) -> str:
    return f"{WWW}/2026-11/story-{number}"


def healthy() -> Files:
    """Articles of the month are in its archive, in the news sitemap and in both feeds."""
    return {
        "sections.xml": urlset(*((f"{WWW}/{name}", f"2026-11-{day}") for name, day in (("", 30), ("sport/", 29)))),
        "archive/2026-09.xml.gz": gz(month("2026-09")),
        "archive/2026-10.xml": month("2026-10"),
        "archive/2026-11.xml": month("2026-11"),
        "news.xml": extended(*(entry(f"/2026-11/story-{number}", news()) for number in (18, 19))),
        "video.xml": extended(entry("/video/bridge", video(), "2026-11-30")),
        "images.xml": extended(entry("/gallery/bridge", image("https://img.courier.example/1.jpg"), "2026-11-29")),
        "rss.xml": rss(article(18), article(19), channel=SELF.format(WWW) + HUB),
        "atom.xml": atom(article(17), article(19)),
    }


# --- states of entries: name, which is the path of the page -> the entry's fields, and the truth -------------------

STORIES: dict[str, tuple[str, str]] = {
    # Age: by the documentation, articles of the last two days.
    "50-hours-old": (news(publication_date="2026-11-28T10:00:00Z"), "N02 warning"),
    "47-hours-old": (news(publication_date="2026-11-28T13:30:00Z"), ""),
    "of-the-day-before-yesterday": (news(publication_date="2026-11-28"), ""),
    "three-days-old": (news(publication_date="2026-11-26"), "N02 warning"),
    "in-three-weeks": (news(publication_date="2026-12-20T08:00:00Z"), "N05 warning"),
    "scheduled-for-the-afternoon": (news(publication_date="2026-11-30T15:00:00Z"), "N05 warning"),
    "of-a-clock-that-is-fast": (news(publication_date="2026-11-30T12:05:00Z"), ""),
    # The forms of the date: YYYY-MM-DD, or that with hours and minutes, also seconds, and the time zone.
    "day": (news(publication_date="2026-11-30"), ""),
    "minute": (news(publication_date="2026-11-30T08:00+01:00"), ""),
    "fraction": (news(publication_date="2026-11-30T08:00:00.123Z"), ""),
    "no-zone": (news(publication_date="2026-11-30T08:00:00"), "D06 warning"),
    "no-zone-and-after-noon": (news(publication_date="2026-11-30T17:30:00"), "D06 warning"),  # in Delhi it is
    "no-zone-and-tomorrow-everywhere": (news(publication_date="2026-12-01T16:00:00"), "D06 warning, N05 warning"),
    "no-zone-and-two-days-old": (news(publication_date="2026-11-28T10:00:00"), "D06 warning"),
    "zone-without-colon": (news(publication_date="2026-11-30T17:30:00+0900"), "D06 warning"),
    "date-of-rss": (news(publication_date="Mon, 30 Nov 2026 08:00:00 GMT"), "D06 warning"),
    "month-only": (news(publication_date="2026-11"), "N03 error"),
    "no-date-in-words": (news(publication_date="yesterday"), "D01 error"),
    "date-in-german-order": (news(publication_date="30.11.2026"), "D01 error"),
    "empty-date": (news(publication_date=""), "N03 error"),
    "missing-date": (news(publication_date=None), "N03 error"),
    # The publication.
    "missing-name": (news(name=None), "N03 error"),
    "empty-name": (news(name=" "), "N03 error"),
    "another-name": (news(name="The Courier Online"), ""),
    "another-publication": (news(name="Le Courrier", language="fr"), ""),
    "missing-language": (news(language=None), "N03 error"),
    "three-letters": (news(language="deu"), ""),
    "capitals": (news(language="EN"), ""),
    "country": (news(language="en-US"), "N04 warning"),
    "locale": (news(language="pt_BR"), "N04 warning"),
    "language-in-words": (news(language="english"), "N04 warning"),
    "country-in-place-of-the-language": (news(language="gb"), "N04 warning"),
    "simplified": (news(language="zh-cn"), ""),
    "traditional": (news(language="zh-TW"), ""),
    "either-chinese": (news(language="zh"), "N04 notice"),
    "hong-kong": (news(language="zh-hk"), "N04 warning"),
    # The title.
    "missing-title": (news(title=None), "N03 error"),
    "empty-title": (news(title=""), "N03 error"),
    "title-with-escaped-html": (news(title="&lt;b&gt;Bridge&lt;/b&gt; reopens"), ""),
    "title-in-cdata": (news(title="<![CDATA[<em>Bridge</em> & ferry]]>"), ""),
    "title-with-elements": (news(title="<b>Bridge</b> reopens"), ""),
    "long-title": (news(title="Bridge " * 30), ""),
    "two-titles": (news("<news:title>Ferry closes</news:title>"), "S10 warning"),
    "two-news": (news() + news(title="Ferry closes"), "S10 warning"),
    # Tags that were documented once are ignored; those that never were are none of the schema.
    "keywords": (news("<news:keywords>bridge, traffic</news:keywords>"), ""),
    "genres": (news("<news:genres>Blog, OpEd</news:genres>"), ""),
    "access": (news("<news:access>Subscription</news:access>"), ""),
    "stock-tickers": (news("<news:stock_tickers>NASDAQ:A</news:stock_tickers>"), ""),
    "places": (news("<news:geo_locations>Basel, Switzerland</news:geo_locations>"), ""),
    "author": (news("<news:author>J. Doe</news:author>"), "S10 warning"),
    # More about the page.
    "with-images": (news() + image("https://img.courier.example/2.jpg") + image(f"{WWW}/3.jpg"), ""),
    "with-video": (news() + video(), ""),
    "amp-version": (news() + f'<xhtml:link rel="amphtml" href="{WWW}/amp/amp-version"/>', ""),
}
FILMS: dict[str, tuple[str, str]] = {
    "no-thumbnail": (video(thumbnail_loc=None), "V01 error"),
    "no-title": (video(title=""), "V01 error"),
    "neither-file-nor-player": (video(content_loc=None), "V02 error"),
    "player-of-another-site": (video(content_loc=None, player_loc="https://www.youtube.com/embed/a"), ""),
    "player-is-the-page": (video(content_loc=None, player_loc=f"{WWW}/films/player-is-the-page"), "V03 error"),
    "file-and-player-is-the-page": (video(player_loc=f"{WWW}/films/file-and-player-is-the-page"), "V03 error"),
    "file-is-the-page": (video(content_loc=f"{WWW}/films/file-is-the-page"), "V03 error"),
    "expired": (video(expiration_date="2026-11-01T00:00:00Z"), "V06 warning"),
    "expired-somewhere": (video(expiration_date="2026-11-30T10:00:00"), "D06 warning"),
    "expires": (video(expiration_date="2027-01-31"), ""),
    "duration-0": (video(duration="0"), "V05 warning"),
    "duration-1": (video(duration="1"), ""),
    "duration-28800": (video(duration="28800"), ""),
    "duration-28801": (video(duration="28801"), "V05 warning"),
    "duration-of-schema-org": (video(duration="PT1M30S"), "V05 warning"),
    "rating-0": (video(rating="0"), ""),
    "rating-5": (video(rating="5.0"), ""),
    "rating-above-5": (video(rating="5.1"), "V05 warning"),
    "rating-below-0": (video(rating="-1"), "V05 warning"),
    "tags-32": (video("<video:tag>a</video:tag>" * 32), ""),
    "tags-33": (video("<video:tag>a</video:tag>" * 33), "V04 warning"),
    "description-2048": (video(description="a" * 2_048), ""),
    "description-2049": (video(description="a" * 2_049), "V04 warning"),
    "uploader-255": (video(uploader="a" * 255), ""),
    "uploader-256": (video(uploader="a" * 256), "V04 warning"),
    "long-video-title": (video(title="a" * 300), ""),
    "restricted": (video('<video:restriction relationship="allow">AT DE</video:restriction>'), ""),
    "restricted-without-relationship": (video("<video:restriction>AT DE</video:restriction>"), "V05 warning"),
    "platform-with-another-relationship": (
        video('<video:platform relationship="only">web</video:platform>'), "V05 warning"
    ),
    "for-subscribers": (video(requires_subscription="yes", live="no", family_friendly="yes"), ""),
    "relative-thumbnail": (video(thumbnail_loc="/bridge.jpg"), "U01 error"),
    "thumbnail-on-localhost": (video(thumbnail_loc="http://localhost:3000/bridge.jpg"), "U14 error"),
}  # fmt: skip
GALLERIES: dict[str, tuple[str, str]] = {
    "on-another-host": (image("https://cdn.example.net/1.jpg"), ""),
    "on-http": (image("http://img.courier.example/1.jpg"), ""),
    "relative": (image("/img/1.jpg"), "U01 error"),
    "without-scheme": (image("//img.courier.example/1.jpg"), "U01 error"),
    "on-localhost": (image("http://localhost:8080/1.jpg"), "U14 error"),
    "on-staging": (image("https://staging.courier.example/1.jpg"), "U14 error"),
    "without-location": (image(""), "S11 error"),
    "inline": (image("data:image/png;base64,AAAA"), "U02 error"),
    "with-deprecated-tags": (
        image(f"{WWW}/1.jpg", tags("image", {"title": "A", "caption": "B", "geo_location": "C", "license": WWW})), ""
    ),
    "twice": (image(f"{WWW}/1.jpg") * 2, ""),
    "images-1000": ("".join(image(f"{WWW}/{number}.jpg") for number in range(1_000)), ""),
    "images-1001": ("".join(image(f"{WWW}/{number}.jpg") for number in range(1_001)), "I01 warning"),
}  # fmt: skip


def edition(path: str, *codes: str) -> str:
    """The start page of an edition, and the editions that it names."""
    links = (f'<xhtml:link rel="alternate" hreflang="{code}" href="{WWW}/{code}/"/>' for code in codes)
    default = f'<xhtml:link rel="alternate" hreflang="x-default" href="{WWW}{path}"/>'
    return entry(path, "".join(links) + default, "2026-11-30")


def in_archive(*paths: str, lastmod: str = "2026-10-{}") -> bytes:
    return urlset(*((f"{WWW}{path}", lastmod.format(10 + number % 18)) for number, path in enumerate(paths)))


# --- states of files: name -> the file, and the truth, each with a path where it is not that of the file -------------

FILES: dict[str, tuple[bytes, str]] = {
    "news-1000.xml": (extended(*(entry(f"/n/{number}", news()) for number in range(1_000)), entry("/n/index")), ""),
    "news-1001.xml": (extended(*(entry(f"/m/{number}", news()) for number in range(1_001))), "N01 warning"),
    "news-sport.xml": (extended(entry("/2026-11/story-18", news())), ""),  # it is in news.xml, too
    "news-empty.xml": (extended(), "S06 notice"),
    "newsletters.xml": (extended(), "S06 error"),
    "news-https.xml": (extended(entry("/o/1", news()), news=NEWS.replace("http:", "https:")), "S02 warning"),
    "news-of-the-protocol.xml": (extended(entry("/o/2", news(), "2026-11-30"), news=NS), "S10 warning /o/2"),
    "news-1.0.xml": (extended(entry("/o/3", news()), news=NEWS.replace("0.9", "1.0")), "S02 warning"),
    "archive/sitemaps-0.9.xml": (in_archive("/o/4").replace(b"sitemap/0.9", b"sitemaps/0.9"), "S02 error"),
    "archive/0.90.xml": (in_archive("/o/5").replace(b"sitemap/0.9", b"sitemap/0.90"), "S02 error"),
    "archive/undeclared.xml": (urlset(entry("/o/6", image(f"{WWW}/1.jpg"), "2026-10-10")), "S01 error"),
    # Lastmods. An article of 1970 changed when its page was made, but its day is a date.
    "archive/1970.xml": (in_archive(*(f"/1970/story-{number}" for number in range(25)), lastmod="1970-05-{}"), ""),
    "archive/zero.xml": (
        urlset((f"{WWW}/zero/1", "1970-01-01T00:00:00Z"), (f"{WWW}/zero/2", "2026-10-10")), "D01 error /zero/1"
    ),
    "archive/future.xml": (in_archive("/2026-10/later", lastmod="2027-10-01"), "D02 warning /2026-10/later"),
    "archive/same.xml": (
        in_archive(*(f"/same/story-{number}" for number in range(30)), lastmod="2026-10-31T02:00:00Z"), "D03 warning"
    ),
    "archive/same-day.xml": (
        in_archive(*(f"/same-day/story-{number}" for number in range(30)), lastmod="2026-10-31"), "D03 warning"
    ),
    "archive/2026-10-31.xml": (  # of a day: all its articles are of that day
        in_archive(*(f"/2026-10-31/story-{number}" for number in range(30)), lastmod="2026-10-31"), ""
    ),
    "archive/2026/10/30/sitemap.xml": (
        in_archive(*(f"/2026-10-30/story-{number}" for number in range(30)), lastmod="2026-10-30"), ""
    ),
    "archive/local.xml": (in_archive("/2026-11/local", lastmod="2026-11-30T17:30:00"), "D06 warning /2026-11/local"),
    # Versions of a page.
    "archive/amp.xml": (in_archive("/v/1", "/v/1/amp", "/amp/v/2", "/v/2?amp=1"), ""),
    "archive/paywall.xml": (in_archive("/v/3?paywall=true&amp;plus=1", "/v/4?reduced=true"), ""),
    "archive/numbers.xml": (in_archive("/article.php?sid=4711", "/article.pl?sid=26/11/30/4711"), ""),
    "archive/sessions.xml": (in_archive(f"/v/7?sid={'0123abcd' * 4}"), f"U09 warning /v/7?sid={'0123abcd' * 4}"),
    "archive/print.xml": (in_archive("/v/5", "/v/5?print=1", "/v/6", "/v/6?print=1"), ""),
    "archive/search.xml": (in_archive("/search?q=bridge"), "U12 error /search?q=bridge"),
    "archive/twice.xml": (in_archive("/2026-10/story-11"), "U07 notice /2026-10/story-11"),
    "news-live.xml": (extended(entry("/2026-11/story-10", news(), "2026-11-30T11:59:00Z")), ""),  # in the archive, too
    "editions.xml": (
        extended(edition("/en/", "en", "de"), edition("/de/", "de", "fr"), edition("/fr/", "de", "fr")),
        "L03 error /en/",  # /de/ does not name it
    ),
    # Feeds.
    "feeds/utm.xml": (
        rss(f"{WWW}/f/1?utm_source=rss&amp;utm_medium=feed", f"{WWW}/f/2?utm_source=rss"),
        "U09 warning /f/1?utm_source=rss&utm_medium=feed, U09 warning /f/2?utm_source=rss",
    ),
    "feeds/at.xml": (
        rss(f"{WWW}/f/3?at_medium=RSS&amp;at_campaign=RSS", f"{WWW}/f/4?xtor=RSS-17", f"{WWW}/f/5?wt_mc=rss"),
        "U09 warning /f/3?at_medium=RSS&at_campaign=RSS, U09 warning /f/4?xtor=RSS-17, U09 warning /f/5?wt_mc=rss",
    ),
    "feeds/fragment.xml": (rss(f"{WWW}/f/6#ref=rss"), "U08 warning /f/6"),
    "feeds/self-on-http.xml": (rss(f"{WWW}/f/7", channel=SELF.format(WWW.replace("https", "http"))), ""),
    "feeds/hub-only.xml": (rss(f"{WWW}/f/8", channel=HUB), ""),
    "feeds/old.xml": (rss(f"{WWW}/f/9", date="Mon, 30 Nov 2020 08:00:00 +0000"), ""),
    "feeds/future.xml": (rss(f"{WWW}/f/10", date="Wed, 30 Dec 2026 08:00:00 +0000"), "D02 warning /f/10"),
    "feeds/empty.xml": (rss(), "S06 error"),
}  # fmt: skip


def truth(path: str, stated: str) -> Found:
    """`N02 warning, D06 warning /page` of what is at a path."""
    each = (part.split() for part in stated.split(", ") if part)
    return {(code, severity, "".join(place) or path) for code, severity, *place in each}


def entries(folder: str, states: dict[str, tuple[str, str]]) -> tuple[list[str], Found]:
    """The entries, and the truth of all."""
    written = [
        entry(f"/{folder}/{name}", fields, f"2026-11-{10 + number % 18}")
        for number, (name, (fields, _)) in enumerate(states.items())
    ]
    return written, set().union(*(truth(f"/{folder}/{name}", stated) for name, (_, stated) in states.items()))


def planted() -> tuple[Files, Found]:
    """The site with all states, and the whole truth."""
    pages, expected = healthy(), set[tuple[str, str, str]]()
    for name, folder, states in (("news", "stories", STORIES), ("video", "films", FILMS), ("images", "g", GALLERIES)):
        written, here = entries(folder, states)
        pages[f"{name}-states.xml"] = extended(*written)
        expected |= here
    for name, (body, stated) in FILES.items():
        pages[name] = body
        expected |= truth(f"/{name}", stated)
    return pages, expected


def findings(folder: Path, pages: Files) -> Found:
    """All that an audit finds; robots.txt names an index of the sitemaps, the news sitemap and the feeds."""
    named = ("news.xml", *FEEDS)
    listed = [name for name in pages if name not in named]
    rules = "User-agent: *\nDisallow: /search\nDisallow: /preview/\n\nUser-agent: GPTBot\nDisallow: /\n\n"
    site = {
        "robots.txt": robots(*(f"{WWW}/{name}" for name in ("sitemap.xml", *named)), rules=rules),
        "sitemap.xml": index(*(f"{WWW}/{name}" for name in listed)),
        **pages,
    }
    rows: list[Any] = []
    sr.audit(files(folder, site), base=WWW, as_of=AS_OF, on_occurrence=rows.append)
    return {(row.code, row.severity, (row.url or row.sitemap or "").removeprefix(WWW)) for row in rows}


def test_a_healthy_site_has_no_finding(tmp_path: Path) -> None:
    assert findings(tmp_path, healthy()) == set()


def test_what_is_found_is_the_truth_and_nothing_else(tmp_path: Path) -> None:
    pages, expected = planted()
    found = findings(tmp_path, pages)
    assert (sorted(found - expected), sorted(expected - found)) == ([], [])


def test_a_time_without_zone_in_an_index_is_in_the_future_where_it_is_so_in_all_zones(tmp_path: Path) -> None:
    pages = healthy()
    dated = {"sections.xml": "2026-11-30T17:30:00", "video.xml": "2026-12-01T16:00:00"}
    pages["index.xml"] = index(*((f"{WWW}/{name}", date) for name, date in dated.items()))
    (tmp_path / "robots.txt").write_bytes(robots(f"{WWW}/index.xml"))
    rows: list[Any] = []
    site = {name: pages[name] for name in (*dated, "index.xml")}
    sr.audit(files(tmp_path, site), base=WWW, as_of=AS_OF, select="D02,D06", on_occurrence=rows.append)
    assert {(row.code, row.url) for row in rows} == {
        ("D06", f"{WWW}/sections.xml"), ("D06", f"{WWW}/video.xml"), ("D02", f"{WWW}/video.xml")
    }  # fmt: skip
