"""Pieces of which inputs are made, by target: tags, values, and damage."""

MARKUP = (
    *rb"""<urlset> </urlset> <urlset <sitemapindex> </sitemapindex> <url> </url> <url/> <url <sitemap> </sitemap> <loc>
    </loc> <loc/> <loc </loc https://example.com/a?b=c https://other.example/ http:// /a ../b <lastmod> </lastmod>
    2026-11-20 <priority> </priority> 0.5 <changefreq> daily <image:image> </image:image> <image:loc> </image:loc>
    <image:title> <video:video> </video:video> <video:thumbnail_loc> <video:player_loc <news:news> </news:news>
    <news:publication> <news:name> <news:title> <news:publication_date> <xhtml:link/> hreflang="de"
    href="https://example.com/de" rel="alternate" <mobile:mobile/> <x:y> </x:y> <x> </x> <b> </b> <br> <p> <!-- -->
    -- --- <!--> <![CDATA[ ]]> ]] <? ?> <?x <!x <! & ; &amp; &eacute; &region; &lt; &#60; &#0; &#x41; &#38; &#xD800;
    &# < > </ /> /> " ' = \ / : @ # % %41 %zz [ ] <!DOCTYPE <!ENTITY <!DOCTYPE/**/ xmlns="x" xmlns:x="y" a="b" a=b
    a="b xml:base="/c/" encoding="utf-16" encoding="latin-1" <?xml version="1.0"?> <html> &nbsp; x""".split(),
    b"\n", b"\r", b"\r\n", b" ", b"\t", b"\0", b"\x01", b"\x1b", b"\x7f", b"\x85", b"\xff", b"\xfe\xff", b"\xff\xfe",
    b"\xef\xbb\xbf", b"\xc3\xa9", b"\xc3", b"\xe2\x80\xa8", b"\xef\xb7\x91", b"\xef\xbf\xbe", b"\xf0\x9f\x98\x80",
    b'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">', b'<?xml version="1.0" encoding="UTF-8"?>',
    b'xmlns:image="http://www.google.com/schemas/sitemap-image/1.1"', b'<!DOCTYPE rss SYSTEM "x.dtd">',
    b"<url><loc>https://example.com/x</loc></url>", b"<sitemap><loc>https://example.com/y.xml</loc></sitemap>",
)
FEED = (
    *rb"""<rss> </rss> <channel> </channel> <item> </item> <item <link> </link> <link/> <guid> </guid>
    isPermaLink="false" <pubDate> </pubDate> <title> </title> <description> </description> <feed> </feed> <entry>
    </entry> rel="alternate" rel="self" href="/a" href=/a xml:base="/x/" xml:base="https://b.example/" <updated>
    <published> <modified> <summary> <content type="xhtml"> <media:content url="https://example.com/v.mp4" <media:group>
    </media:group> <media:thumbnail medium="image" medium="video" <rdf:RDF <dc:date> <atom:link> <enclosure
    <id>""".split(),
    b'<feed xmlns="http://www.w3.org/2005/Atom">', b'<rdf:RDF xmlns="http://purl.org/rss/1.0/">',
    b"Fri, 20 Nov 2026 08:00:00 GMT", b"2026-11-20T08:00:00Z", b"<content:encoded><![CDATA[<a href='x'>]]>",
)
TEXT = (
    *rb"""http:// https:// https://example.com/ https://example.com/a?b=c ftp://a/ //a/ www.example.com # % %zz %41 ?
    & < > <loc> " ' [ ] { } | \ ^ ` @ : :80 :443 :65536 .. /../ /./ . xn-- _ [::1] 127.0.0.1""".split(),
    b"\n", b"\r", b"\r\n", b" ", b"\t", b"\0", b"\x0b", b"\x85", b"\xc2\x85", b"\xe2\x80\xa8", b"\xef\xbb\xbf",
    b"\xc3\xbc",
    b"\xed\xa0\x80", b"\xff", b"\xe3\x80\x82", b"\xef\xbc\x8f", b"\xc2\xad", b"\xc3\x9f", b"\xf0\x9f\x98\x80",
)
ROBOTS = (
    b"Sitemap: ", b"sitemap:", b"Sitemap ", b"Site-map: ", b"sitemap_index: ", b"User-agent: ", b"*",
    b"sitemap-reader", b"bot", b"Disallow: ", b"Allow: ", b"/", b"$", b"Crawl-delay: ", b"1", b"-1", b"1e400", b"nan",
    b"inf", b"0x1", b"\n", b"Request-rate: 1/5 1200-1300", b"Visit-time: 1-2", b"Request-rate: ", b"1/0s", b"Host: ",
    b"Clean-param: ", b"<html>", b"<!doctype html>", b"<!--", b"# ", b'"', b"<", b">", b", ",
    b"https://example.com/sitemap.xml", b"/sitemap.xml", b"https://example.com/sitemap.txt", b"\xef\xbc\x9a", b"=",
)
DATES = (
    *b"""2026 2026-11 2026-11-20 2026-11-20T08:30:00Z T t Z z + - : / . 24:00 24:00:00 23:59:60 :60 +01:00 +0100 +14:00
    +14:01 -00:00 0001 0000 9999 12 31 02 29 02-29 2024 1 0 00 Fri, 20 Nov Nov 26 GMT EST UT A 1700000000 1700000000000
    .123456789 08:30 8:30 AM Monday November 20th""".split(),
    b" ", b"\t", b"\n", b"\r\n", b"\xd9\xa1", b"\xef\xbc\x91", b"\xc2\xa0", b"\0",
)
