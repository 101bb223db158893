"""The rows of test_structure.py, one table a place: the fault, its bytes, the records, and the problems.

`@` is the host and a slash. Records: the locations, each with its fields, and ` ...` if entries may be missing. A
problem: `+ x` is inserted, `- x` is skipped, `x -> y` is read as, `p: = n` is a prefix read as a namespace; `?` at its
end: more may be lost. `lost`: the rest of the entry is. `more`: after the end of the root. `cut`: the bytes end too
early. A number in front is its line, if that is not the third, in which every row begins.
"""

from __future__ import annotations

Rows = list[tuple[str, ...]]

IMAGE = "<image:image><image:loc>@i</image:loc>"
SITEMAP = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
IMAGES = 'xmlns:image="http://www.google.com/schemas/sitemap-image/1.1"'

IN_A_URLSET: Rows = [
    # doubled tags
    ("start tag of a field", "<url><loc><loc>@2</loc></url>", "2", "- <loc>"),
    ("start tag of an entry", "<url><url><loc>@2</loc></url>", "2", "- <url>"),
    ("start tag of an entry, and its end tag", "<url><url><loc>@2</loc></url></url>", "2", "- <url>", "- </url>"),
    ("start tag of an entry on two lines", "<url>\n<url>\n<loc>@2</loc>\n</url>", "2", "4 - <url>"),
    ("end tag of a field", "<url><loc>@2</loc></loc></url>", "2", "- </loc>"),
    ("end tag of an entry", "<url><loc>@2</loc></url></url>", "2", "- </url>"),
    ("data field", "<url><loc>@2</loc><lastmod><lastmod>2026-11-01</lastmod></url>", "2:lastmod", "- <lastmod>"),
    ("unknown element", "<url><loc>@2</loc><x><x>1</x></url>", "2", "- <x>"),
    ("three times", "<url><loc><loc><loc>@2</loc></url>", "2", "- <loc>", "- <loc>"),
    # slash missing
    ("of a loc", "<url><loc>@2<loc></url>", "2", "<loc> -> </loc>"),
    (
        "of a loc before a field", "<url><loc>@2<loc>\n<lastmod>2026-11-01</lastmod></url>", "2:lastmod",
        "<loc> -> </loc>",
    ),
    (
        "of a field before text", "<url><loc>@2</loc><lastmod>2026-11-01<lastmod>x</url>", "2:lastmod",
        "+ </lastmod>", "+ </lastmod>",
    ),
    ("of an entry", "<url><loc>@2</loc><url>\n<url><loc>@3</loc></url>", "2 3", "<url> -> </url>"),
    ("of the last entry", "<url><loc>@2</loc><url>\n</urlset>", "2", "<url> -> </url>", "5 more"),
    (
        "of an entry without a location", "<url><lastmod>2026-11-01</lastmod><url>\n<url><loc>@3</loc></url>",
        "3 ...", "lost", "4 - <url>",
    ),
    ("of an image", f"<url><loc>@2</loc>{IMAGE}<image:image></url>", "2:image", "+ </image:image>", "+ </image:image>"),
    ("of an unknown element", "<url><loc>@2</loc><x>1<x></url>", "2 ...", "+ </x>?", "+ </x>?"),
    (
        "of a location in an image", "<url><loc>@2</loc><image:image><image:loc>@i<image:loc></image:image></url>",
        "2:image", "<image:loc> -> </image:loc>",
    ),
    # misspelled tags
    ("end tag of a loc", "<url><loc>@2</lok></url>", "2", "</lok> -> </loc>"),
    ("end tag in capitals", "<url><loc>@2</LOC></url>", "2", "</LOC> -> </loc>"),
    (
        "end tag of a field", "<url><loc>@2</loc><lastmod>2026-11-01</lastmd></url>", "2:lastmod",
        "</lastmd> -> </lastmod>",
    ),
    ("end tag of the entry", "<url><loc>@2</loc></ulr>", "2", "</ulr> -> </url>"),
    ("start tag of a loc", "<url><lok>@2</loc></url>", "2", "<lok> -> <loc>"),
    (
        "start tag of a field", "<url><loc>@2</loc><lastmd>2026-11-01</lastmod></url>", "2:lastmod",
        "<lastmd> -> <lastmod>",
    ),
    ("start tag of the entry", "<ulr><loc>@2</loc></url>", "2 ...", "+ <url>", "5 + </ulr>?"),
    ("both unknown", "<url><loc>@2</loc><foo>1</fooo></url>", "2", "</fooo> -> </foo>"),
    (
        "end tag of a known one for another", "<url><loc>@2</loc><lastmod>2026-11-01</changefreq></url>", "2:lastmod",
        "- </changefreq>", "+ </lastmod>",
    ),
    ("end tag of another prefix", f"<url><loc>@2</loc>{IMAGE}</image></url>", "2:image", "</image> -> </image:image>"),
    (
        "end tag of an unknown prefix", "<url><loc>@2</loc><image:image><image:loc>@i</x:loc></image:image></url>",
        "2:image ...", "</x:loc> -> </image:loc>?",
    ),
    ("end tag of the extension's loc", "<url><loc>@2</image:loc></url>", "2", "</image:loc> -> </loc>"),
    ("end tag too far off", "<url><loc>@2</b></url>", "...", "lost"),
    ("start tag too far off", "<url><b>@2</loc></url>", "...", "lost"),
    ("end tag that is two slips", "<url><loc>@2</Lcc x></url>", "2 ...", "</Lcc x> -> </loc>?"),
    (
        "very long name",
        "<url><loc>@2</loc><foofoofoofoofoofoofoofoofoofoofoofoo>1</foofoofoofoofoofoofoofoofoofoofoofooo></url>",
        "2", "</foofoofoofoofoofoofoofoofoofoofoofooo> -> </foofoofoofoofoofoofoofoofoofoofoofoo>",
    ),
    # tags without >
    ("end tag of a loc", "<url><loc>@2</loc<lastmod>2026-11-01</lastmod></url>", "2:lastmod", "</loc -> </loc>"),
    (
        "end tag of a loc before a line", "<url><loc>@2</loc\n<lastmod>2026-11-01</lastmod></url>", "2:lastmod",
        "</loc -> </loc>",
    ),
    ("end tag of an entry", "<url><loc>@2</loc></url\n<url><loc>@3</loc></url>", "2 3", "</url -> </url>"),
    ("start tag of an entry", "<url<loc>@2</loc></url>", "2", "<url -> <url>"),
    ("start tag of a loc", "<url><loc@2</loc></url>", "...", "lost"),
    ("start tag of a loc with space", "<url><loc @2</loc></url>", "...", "lost"),
    (
        "start tag of a field", "<url><loc>@2</loc><lastmod2026-11-01</lastmod></url>", "2 ...",
        "<lastmod2026-11-01 -> &lt;lastmod2026-11-01?", "- </lastmod>",
    ),
    (
        "start tag of an image", "<url><loc>@2</loc><image:image<image:loc>@i</image:loc></image:image></url>",
        "2:image", "<image:image -> <image:image>",
    ),
    (
        "empty element with attributes",
        '<url><loc>@2</loc><xhtml:link rel="alternate" hreflang="de" href="@de"\n</url>', "2:de",
        ('<xhtml:link rel="alternate" hreflang="de" href="@de" -> <xhtml:link rel="alternate" hreflang="de" '
         'href="@de" />'),
    ),
    (
        "empty element with its slash",
        '<url><loc>@2</loc><xhtml:link rel="alternate" hreflang="de" href="@de"/\n</url>', "2:de",
        ('<xhtml:link rel="alternate" hreflang="de" href="@de"/ -> <xhtml:link rel="alternate" hreflang="de" '
         'href="@de"/>'),
    ),
    (
        "start tag of a title in a text",
        f"<url><loc>@2</loc>{IMAGE}<image:title<b>x</b></image:title></image:image></url>", "2:image=x",
        "<image:title -> <image:title>",
    ),
    (
        "end tag of a field with junk", "<url><loc>@2</loc><lastmod>2026-11-01</lastmod junk</url>", "2:lastmod ...",
        "</lastmod junk -> </lastmod>?",
    ),
    # tags with spaces and backslashes
    ("before the name of a loc", "<url>< loc>@2</loc></url>", "2", "< loc> -> <loc>"),
    ("before the name of an entry", "< url><loc>@2</loc></url>", "2", "< url> -> <url>"),
    (
        "before the name of an entry, twice", "< url><loc>@2</loc></url>\n< url><loc>@3</loc></url>", "2 3",
        "< url> -> <url>", "4 < url> -> <url>",
    ),
    ("behind the slash", "<url><loc>@2</ loc></url>", "2", "</ loc> -> </loc>"),
    ("before the slash", "<url><loc>@2< /loc></url>", "2", "< /loc> -> </loc>"),
    ("before the slash of an entry", "<url><loc>@2</loc>< /url>", "2", "< /url> -> </url>"),
    ("before and behind", "<url><loc>@2< / loc></url>", "2", "< / loc> -> </loc>"),
    ("backslash for the slash", "<url><loc>@2<\\loc></url>", "2", "<\\loc> -> </loc>"),
    ("backslash beside the slash", "<url><loc>@2<\\/loc></url>", "2", "<\\/loc> -> </loc>"),
    ("end tag with attributes", '<url><loc>@2</loc id="7"></url>', "2 ...", '</loc id="7"> -> </loc>?'),
    ("doubled slash", "<url><loc>@2<//loc></url>", "2", "<//loc> -> </loc>"),
    ("line break in a start tag's space", "<url><\nloc>@2</loc></url>", "2", "< loc> -> <loc>"),
    # stray end tags
    ("HTML in an entry", "<url><loc>@2</loc></b></url>", "2", "- </b>"),
    ("HTML in a loc", "<url><loc>@2</b></loc></url>", "...", "lost"),
    ("HTML between entries", "</p>\n<url><loc>@2</loc></url>", "2", "- </p>"),
    ("known field in an entry", "<url><loc>@2</loc></lastmod></url>", "2", "- </lastmod>"),
    ("unknown in an entry", "<url><loc>@2</loc></foo></url>", "2 ...", "- </foo>?"),
    ("unknown between entries", "</foo><url><loc>@2</loc></url>", "2 ...", "- </foo>?"),
    ("entry between entries", "</url><url><loc>@2</loc></url>", "2", "- </url>"),
    ("field between entries", "</lastmod><url><loc>@2</loc></url>", "2 ...", "- </lastmod>?"),
    ("location between entries", "</loc><url><loc>@2</loc></url>", "2 ...", "- </loc>?"),
    ("location in an entry with words", "<url>@3</loc><loc>@2</loc></url>", "2 ...", "- </loc>?"),
    ("entry in an entry, before the location", "<url></url><loc>@2</loc></url>", "2", "+ <url>"),
    ("swapped", "<url><loc>@2</url></loc>", "2 ...", "+ </loc>", "- </loc>?"),
    (
        "swapped in an image", "<url><loc>@2</loc><image:image><image:loc>@i</image:image></image:loc></url>",
        "2:image", "+ </image:loc>", "- </image:loc>",
    ),
    ("of an image", "<url><loc>@2</loc></image:image></url>", "2", "- </image:image>"),
    (
        "field of the protocol in an image",
        "<url><loc>@2</loc><image:image></lastmod><image:loc>@i</image:loc></image:image></url>", "2:image",
        "- </lastmod>",
    ),
    ("spelled with space", "<url><loc>@2</loc></ b></url>", "2", "- </ b>"),
    # unclosed
    ("loc before a field", "<url><loc>@2<lastmod>2026-11-01</lastmod></url>", "2:lastmod", "+ </loc>"),
    ("loc before the entry's end", "<url><loc>@2\n</url>", "2", "4 + </loc>"),
    ("loc with the rest of its end tag", "<url><loc>@2/loc>\n</url>", "2", "+ <"),
    (
        "lastmod with the rest of its end tag", "<url><loc>@2</loc><lastmod>2026-11-01/lastmod>\n</url>", "2:lastmod",
        "+ <",
    ),
    ("loc without text", "<url><loc></url>", "...", "lost"),
    ("loc without text before a field", "<url><loc><lastmod>2026-11-01</lastmod></url>", "...", "lost"),
    ("lastmod", "<url><loc>@2</loc><lastmod>2026-11-01</url>", "2:lastmod", "+ </lastmod>"),
    ("lastmod before a loc", "<url><lastmod>2026-11-01<loc>@2</loc></url>", "2:lastmod", "+ </lastmod>"),
    (
        "lastmod before an image", f"<url><loc>@2</loc><lastmod>2026-11-01{IMAGE}</image:image></url>",
        "2:lastmod,image", "+ </lastmod>",
    ),
    (
        "lastmod without text before an image", f"<url><loc>@2</loc><lastmod>{IMAGE}</image:image></url>", "2:image",
        "+ </lastmod>",
    ),
    ("loc without end before an image", f"<url><loc>@2{IMAGE}</image:image></url>", "2:image", "+ </loc>"),
    ("image", f"<url><loc>@2</loc>{IMAGE}</url>", "2:image", "+ </image:image>"),
    (
        "image before an image", f"<url><loc>@2</loc>{IMAGE}{IMAGE}</image:image></url>", "2:image,image",
        "+ </image:image>",
    ),
    (
        "title in an image",
        "<url><loc>@2</loc><image:image><image:title>x<image:loc>@i</image:loc></image:image></url>", "2:image=x",
        "+ </image:title>",
    ),
    (
        "image location",
        "<url><loc>@2</loc><image:image><image:loc>@i<image:title>x</image:title></image:image></url>", "2:image=x",
        "+ </image:loc>",
    ),
    ("unknown element", "<url><loc>@2</loc><foo>1</url>", "2 ...", "+ </foo>?"),
    (
        "unknown element before a field", "<url><loc>@2</loc><foo>1<lastmod>2026-11-01</lastmod></url>",
        "2:lastmod ...", "+ </foo>?",
    ),
    (
        "unknown prefixed element before a field",
        '<url><loc>@2</loc><x:foo xmlns:x="urn:x">1<lastmod>2026-11-01</lastmod></url>', "2 ...",
        "+ </x:foo>?",
    ),
    ("empty unknown before a field", "<url><foo><loc>@2</loc></url>", "2 ...", "+ </foo>?"),
    ("empty unknown prefixed before a field", '<url><x:foo xmlns:x="urn:x"><loc>@2</loc></url>', "...", "lost"),
    ("entry", "<url><loc>@2</loc>\n<url><loc>@3</loc></url>", "2 3", "4 + </url>"),
    ("entry and its loc", "<url><loc>@2\n<url><loc>@3</loc></url>", "2 3", "4 + </loc>", "4 + </url>"),
    ("last entry", "<url><loc>@2</loc>\n</urlset>", "2", "4 + </url>", "5 more"),
    ("entry without a location", "<url><lastmod>2026-11-01</lastmod>\n<url><loc>@3</loc></url>", "3 ...", "4 lost"),
    ("entry that is empty", "<url>\n<url><loc>@3</loc></url>", "3", "4 - <url>"),
    ("entry with attributes before another", '<url id="1">\n<url><loc>@3</loc></url>', "3", "4 - <url>"),
    ("HTML void", "<url><loc>@2</loc><br><lastmod>2026-11-01</lastmod></url>", "2:lastmod", "<br> -> <br/>"),
    ("HTML void between entries", "<br>\n<url><loc>@2</loc></url>", "2", "6 + </br>"),
    ("HTML element between entries", "<p>words\n<url><loc>@2</loc></url>", "2", "6 + </p>"),
    ("unknown element between entries", "<foo>\n<url><loc>@2</loc></url>", "2 ...", "6 + </foo>?"),
    ("unknown element around entries", "<group><url><loc>@2</loc></url>", "2", "5 + </group>"),
    ("entry that is empty, before another kind", "<url>\n<sitemap><loc>@2</loc></sitemap>", "2", "- <url>"),
    (
        "entry before a spaced one", "<url><loc>@2</loc>\n< url><loc>@3</loc></url>", "2 3", "4 + </url>",
        "4 < url> -> <url>",
    ),
    ("entry around comments", "<url><!-- <url> --><loc>@2<lastmod>2026-11-01</lastmod></url>", "2:lastmod", "+ </loc>"),
    ("entry behind a comment only", "<url><!-- new -->\n<url><loc>@2</loc></url>", "2", "4 - <url>"),
    # markup in a location
    ("HTML void", "<url><loc>@2<br>x</loc></url>", "...", "lost"),
    ("unclosed HTML", "<url><loc>@2<b>x</loc></url>", "...", "lost"),
    ("unclosed HTML and no end", "<url><loc>@2<b>x</b></url>", "...", "lost"),
    ("closed HTML and then no end", "<url><loc><b>@2</b>\n<lastmod>2026-11-01</lastmod></url>", "...", "4 lost"),
    ("stray less-than", "<url><loc>@2?a<5</loc></url>", "...", "lost"),
    ("stray less-than and a letter", "<url><loc>@2?a<b</loc></url>", "...", "lost"),
    ("stray end tag", "<url><loc>@2</foo>x</loc></url>", "...", "lost"),
    ("stray ]]>", "<url><loc>@2]]></loc></url>", "...", "lost"),
    ("reference to no character", "<url><loc>@2?&#xD800;</loc></url>", "...", "lost"),
    ("reference without its end", "<url><loc>@2?&#39</loc></url>", "...", "lost"),
    (
        "in an image's location", "<url><loc>@2</loc><image:image><image:loc>@i<b>x</image:loc></image:image></url>",
        "2", "lost",
    ),
    ("declaration", '<url><loc>@2<?xml version="1.0"?></loc></url>', "...", "lost"),
    ("DOCTYPE", "<url><loc>@2<!DOCTYPE a></loc></url>", "...", "lost"),
    ("template of percents", "<url><loc>@2<% x %></loc></url>", "...", "lost"),
    ("misspelled CDATA", "<url><loc>[CDATA[@2]]></loc></url>", "...", "lost"),
    (
        "lost before a field", "<url><loc>@2?a<5</loc><lastmod>2026-11-01</lastmod></url>\n<url><loc>@3</loc></url>",
        "3 ...", "lost",
    ),
    (
        "lost field behind location", "<url><loc>@2</loc><foo a=>1</bar></url>", "2 ...", "<foo a=> -> <foo>?",
        "- </bar>?", "+ </foo>?",
    ),
    (
        "in the location of a video's picture",
        '<url><loc>@2</loc><v:video xmlns:v="v"><v:thumbnail_loc>@i<b>x</v:thumbnail_loc></v:video></url>', "2",
        "lost",
    ),
    (
        "in an image's location, and one outside behind it",
        "<url><loc>@2</loc><image:image><image:loc>@i<b>x</image:loc></image:image></url>\n<loc>@3</loc>", "2 ...",
        "lost",
    ),
    # stray characters
    ("doubled less-than", "<url><<loc>@2</loc></url>", "2", "< -> &lt;"),
    ("doubled less-than of an entry", "<<url><loc>@2</loc></url>", "2", "< -> &lt;"),
    ("doubled less-than of an end", "<url><loc>@2</loc><</url>", "2", "< -> &lt;"),
    ("doubled less-than of a loc's end", "<url><loc>@2<</loc></url>", "...", "lost"),
    ("in an entry", "<url><loc>@2</loc> < 5 </url>", "2 ...", "< -> &lt;?"),
    ("between entries", "a < 5\n<url><loc>@2</loc></url>", "2 ...", "< -> &lt;?"),
    ("in a lastmod", "<url><loc>@2</loc><lastmod>2026<5</lastmod></url>", "2 ...", "< -> &lt;?"),
    ("template between entries", "<% end %>\n<url><loc>@2</loc></url>", "2", "< -> &lt;"),
    ("template with equals", "<%= url %>\n<url><loc>@2</loc></url>", "2", "< -> &lt;"),
    ("freemarker", "<#list>\n<url><loc>@2</loc></url>", "2", "< -> &lt;"),
    ("dollar", "<${x}>\n<url><loc>@2</loc></url>", "2", "< -> &lt;"),
    ("short instruction", "<?= $url ?>\n<url><loc>@2</loc></url>", "2", "- <?= $url ?>"),
    ("short instruction in an entry", "<url><? endforeach; ?><loc>@2</loc></url>", "2", "- <? endforeach; ?>"),
    ("]]> between entries", "]]><url><loc>@2</loc></url>", "2 ...", "]]> -> ]]&gt;?"),
    ("template in an entry", "<url><% if %><loc>@2</loc><% end %></url>", "2", "< -> &lt;", "< -> &lt;"),
    ("nested elements of one name", "<url><loc>@2</loc><x><y><x><z>1</x></y></x></url>", "2 ...", "+ </z>?"),
    # references
    ("between entries", "&#xD800;\n<url><loc>@2</loc></url>", "2", "&#xD800; -> &amp;#xD800;"),
    (
        "in an attribute", '<url><loc>@2</loc><xhtml:link rel="alternate" hreflang="de" href="@de?&#xD800;"/></url>',
        "2", "lost",
    ),
    # attributes
    (
        "unquoted", "<url><loc>@2</loc><xhtml:link rel=alternate hreflang=de href=@de /></url>", "2:de",
        '<xhtml:link rel=alternate hreflang=de href=@de /> -> <xhtml:link rel="alternate" hreflang="de" href="@de"/>',
    ),
    (
        "doubled", '<url><loc>@2</loc><xhtml:link rel="alternate" rel="x" hreflang="de" href="@de"/></url>', "2:de",
        ('<xhtml:link rel="alternate" rel="x" hreflang="de" href="@de"/ -> <xhtml:link rel="alternate" '
         'hreflang="de" href="@de"/>'),
    ),
    (
        "no space", '<url><loc>@2</loc><xhtml:link rel="alternate"hreflang="de"href="@de"/></url>', "2:de",
        ('<xhtml:link rel="alternate"hreflang="de"href="@de"/> -> <xhtml:link rel="alternate" hreflang="de" '
         'href="@de"/>'),
    ),
    ("quote in a start tag", '<url"><loc>@2</loc></url>', "2", '<url"> -> <url>'),
    ("quote in a loc's start tag", '<url><loc">@2</loc></url>', "2", '<loc"> -> <loc>'),
    ("apostrophe in a loc's start tag", "<url><loc'>@2</loc></url>", "2", "<loc'> -> <loc>"),
    ("without a value", "<url checked><loc>@2</loc></url>", "2", "<url checked> -> <url>"),
    (
        "less-than in a value", '<url><loc>@2</loc><xhtml:link rel="alternate" hreflang="de" href="@de?a<5"/></url>',
        "2 ...",
        ('<xhtml:link rel="alternate" hreflang="de" href="@de?a -> &lt;xhtml:link rel="alternate" '
         'hreflang="de" href="@de?a?'),
        "< -> &lt;?",
    ),
    ("of an unknown element", "<url><loc>@2</loc><foo a=1>x</foo></url>", "2 ...", '<foo a=1> -> <foo a="1">?'),
    (
        "over lines",
        ('<url><loc>@2</loc><xhtml:link\nrel=alternate\nhreflang=de '
         'href="@de"/>\n<lastmod>2026-11-01</lastmod></url>\n<url><loc>@3</loc></url></url>'),
        "2:lastmod,de 3",
        '<xhtml:link rel=alternate hreflang=de href="@de"/> -> <xhtml:link rel="alternate" hreflang="de" href="@de"/>',
        "7 - </url>",
    ),
    ("unquoted in the entry", "<url id=7>\n<loc>@2</loc></url>", "2", '<url id=7> -> <url id="7">'),
    ("unquoted, more to follow", "<url id=7 x>\n<loc>@2</loc></url>", "2", '<url id=7 x> -> <url id="7">'),
    ("empty", "<url id=>\n<loc>@2</loc></url>", "2", "<url id=> -> <url>"),
    ("greater-than in quotes", '<url a="x>y" b=2><loc>@2</loc></url>', "2", '<url a="x>y" b=2> -> <url a="x>y" b="2">'),
    ("apostrophes", "<url a='1' b=2><loc>@2</loc></url>", "2", "<url a='1' b=2> -> <url a='1' b=\"2\">"),
    (
        "slash apart", '<url><loc>@2</loc><xhtml:link rel=alternate hreflang=de href="@de" / ></url>', "2:de",
        ('<xhtml:link rel=alternate hreflang=de href="@de" / > -> <xhtml:link rel="alternate" hreflang="de" '
         'href="@de"/>'),
    ),
    # declarations
    ("XML declaration", '<?xml version="1.0"?>\n<url><loc>@2</loc></url>', "2", '- <?xml version="1.0"?>'),
    ("XML declaration in an entry", '<url><?xml version="1.0"?><loc>@2</loc></url>', "2", '- <?xml version="1.0"?>'),
    ("DOCTYPE", "<!DOCTYPE urlset>\n<url><loc>@2</loc></url>", "2", "- <!DOCTYPE urlset>"),
    ("DOCTYPE in an entry", "<url><!DOCTYPE urlset>\n<loc>@2</loc></url>", "2", "- <!DOCTYPE urlset>"),
    (
        "DOCTYPE with a subset", '<!DOCTYPE urlset [<!ENTITY x "y">]>\n<url><loc>@2</loc></url>', "2 ...",
        "<! -> &lt;!?", '- <!ENTITY x "y">',
    ),
    ("xml as element", '<xml version="1.0">\n<url><loc>@2</loc></url>', "2 ...", "6 + </xml>?"),
    # a location outside
    ("with its entry's end", "<loc>@2</loc><lastmod>2026-11-01</lastmod></url>", "2:lastmod", "+ <url>"),
    ("without", "<loc>@2</loc><lastmod>2026-11-01</lastmod>", "2:lastmod", "+ <url>", "4 + </url>"),
    ("two without", "<loc>@2</loc>\n<loc>@3</loc>", "2 3", "+ <url>", "5 + </url>"),
    ("two with ends", "<loc>@2</loc></url>\n<loc>@3</loc></url>", "2 3", "+ <url>", "4 + <url>"),
    ("behind another field", "<lastmod>2026-11-01</lastmod><loc>@2</loc></url>", "2", "+ <url>"),
    ("before the end of the root", "<loc>@2</loc>\n</urlset>", "2", "+ <url>", "4 + </url>", "5 more"),
    ("with broken markup", "<loc>@2<b></loc></url>", "...", "lost"),
    ("unclosed", "<loc>@2\n<url><loc>@3</loc></url>", "2 3", "+ <url>", "4 + </loc>", "4 + </url>"),
    ("of an image", f"{IMAGE}</image:image>\n<url><loc>@2</loc></url>", "2"),
    ("empty", "<loc></loc>\n<url><loc>@2</loc></url>", "2 ...", "4 lost"),
    ("entry with an empty location unclosed", "<url><loc></loc>\n<url><loc>@2</loc></url>", "2", "4 + </url>"),
    ("entry with an empty element unclosed", "<url><loc/>\n<url><loc>@2</loc></url>", "2", "4 + </url>"),
    ("entry with a blank location unclosed", "<url><loc> \n</loc>\n<url><loc>@2</loc></url>", "2", "5 + </url>"),
    (
        "last entry with an empty location", "<url><loc>@2</loc></url><url><loc></loc>\n</urlset>", "2",
        "4 + </url>", "5 more",
    ),
    ("field behind an empty location", "<url><loc></loc><lastmod>2026-11-01</url>", "", "+ </lastmod>"),
    ("URL behind an empty location", "<url><loc></loc>@2<url><loc>@3</loc></url>", "3 ...", "lost"),
    ("entry with an open empty location", "<url><loc>\n<url><loc>@2</loc></url>", "2 ...", "4 lost"),
    ("without an entry's start and with its less-than lost", "url><loc>@2</loc></url>", "2", "+ <url>"),
    ("less-than lost before a loc", "<url>loc>@2</loc></url>", "...", "lost"),
    # ends of other roots
    ("of an index", "<url><loc>@2</loc></url>\n</sitemapindex>", "2", "4 + </urlset>", "4 - </sitemapindex>", "5 more"),
    (
        "of an index in an entry", "<url><loc>@2</loc>\n</sitemapindex>", "2", "4 + </url>",
        "4 + </urlset>", "4 - </sitemapindex>", "5 more",
    ),
    ("doubled end", "</urlset>\n<url><loc>@2</loc></url>", "2", "4 more"),
    ("start of the root again", "<urlset>\n<url><loc>@2</loc></url>", "2 ...", "6 cut"),
    ("end and start of the root", "</urlset>\n<urlset>\n<url><loc>@2</loc></url>", "2", "4 more"),
    (
        "end, declaration and start", '</urlset>\n<?xml version="1.0"?>\n<urlset>\n<url><loc>@2</loc></url>', "2",
        "4 more",
    ),
    ("words behind the end", "</urlset>\nwords", "", "4 more"),
    ("HTML behind the end", "</urlset>\n<p>x</p>", "", "4 more"),
    ("damaged entry behind the end", "</urlset>\n<url><loc>@2</url>", "2", "4 more", "4 + </loc>"),
    ("the root's start inside an entry", "<url><loc>@2</loc><urlset></url>", "2", "+ </urlset>"),
    ("of a channel", "<url><loc>@2</loc></url></channel>", "2", "+ </urlset>", "- </channel>", "4 more"),
    # wrappers
    ("around entries", "<urls><url><loc>@2</loc></url></urls>", "2"),
    ("whose end is missing", "<urls><url><loc>@2</loc></url>", "2 ...", "5 + </urls>?"),
    ("whose end is misspelled", "<urls><url><loc>@2</loc></url></urlz>", "2 ...", "</urlz> -> </urls>?"),
    ("HTML whose end is missing", "<div><url><loc>@2</loc></url>", "2", "5 + </div>"),
    ("with a broken entry", "<urls><url><loc>@2</url></urls>", "2", "+ </loc>"),
    ("with an unclosed entry", "<urls><url><loc>@2</loc></urls>", "2", "+ </url>"),
    # more
    ("loose loc in skipped region", "<url><loc>@2<b></loc></url><loc>@3</loc>", "...", "lost"),
    ("url in image", f"<url>{IMAGE}<loc>@2</loc></url>", "...", "lost"),
    ("url in loc", "<url><loc>@2<url></loc></url>", "2 ...", "+ </loc>", "+ </url>", "lost"),
    ("sitemap in a url", "<url><loc>@2</loc><sitemap><loc>@3</loc></sitemap></url>", "2 3", "+ </url>", "- </url>"),
    ("missing loc's start tag", "<url>@2</loc></url>", "...", "lost"),
    ("loc's end tag as comment", "<url><loc>@2</--loc></url>", "...", "lost"),
    ("self-closed loc", "<url><loc/>@2</loc></url>", "...", "lost"),
    ("self-closed lastmod", "<url><loc>@2</loc><lastmod/>2026-11-01</lastmod></url>", "2", "- </lastmod>"),
    ("self-closed url", "<url/><loc>@2</loc></url>", "2", "+ <url>"),
    ("self-closed url with slash behind", "<url><loc>@2</loc><url/>", "2", "<url/> -> </url>"),
    ("self-closed loc end", "<url><loc>@2<loc/></url>", "2", "<loc/> -> </loc>"),
    ("self-closed loc end, last", "<url><loc>@2<loc/>", "2", "<loc/> -> </loc>", "4 + </url>"),
    ("unclosed with text behind", "<url><loc>@2</loc>words\n<url><loc>@3</loc></url>", "2 3", "4 + </url>"),
    ("text before loc", "<url>words<loc>@2</url>", "2", "+ </loc>"),
    ("two locations unclosed", "<url><loc>@2<loc>@3</loc></url>", "2 3", "+ </loc>"),
    ("two locations, both unclosed", "<url><loc>@2<loc>@3</url>", "2 3", "+ </loc>", "+ </loc>"),
    ("loc doubled end with junk", "<url><loc>@2</loc>x</loc></url>", "2 ...", "- </loc>?"),
    ("tag beyond ascii", "<url><loc>@2</loc><é>x</url>", "2 ...", "+ </é>?"),
    (
        "end tag at the very end of entry", "<url><loc>@2</loc></\n<url><loc>@3</loc></url>", "2 3 ...", "</ -> &lt;/?",
        "4 + </url>",
    ),
    (
        "end of container misspelled", f"<url><loc>@2</loc>{IMAGE}</image:imge></url>", "2:image",
        "</image:imge> -> </image:image>",
    ),
    (
        "start of container misspelled",
        "<url><loc>@2</loc><image:imge><image:loc>@i</image:loc></image:image></url>", "2:image",
        "<image:imge> -> <image:image>",
    ),
    ("PI inside of an entry that needs repair", "<url><?x <b> ?><!-- <loc> --><loc>@2</url>", "2", "+ </loc>"),
    ("CDATA counts as text", "<url><loc><![CDATA[@2]]></url>", "2", "+ </loc>"),
]
IN_A_TITLE: Rows = [
    ("HTML void", "a<br>b", "ab", "<br> -> <br/>"),
    ("HTML element", "a<b>b", "ab", "+ </b>"),
    ("less-than", "a < b", "a < b", "< -> &lt;"),
    ("less-than and a digit", "a <3 b", "a <3 b", "< -> &lt;"),
    ("less-than and a letter", "a <b and", "a <b and", "<b and -> &lt;b and"),
    ("less-than and a letter at the end", "a <b", "a <b", "<b -> &lt;b"),
    ("less-than and equals", "a <= b", "a <= b", "< -> &lt;"),
    ("arrow", "a <- b", "a <- b", "< -> &lt;"),
    ("]]>", "a ]]> b", "a ]]> b", "]]> -> ]]&gt;"),
    ("exclamation mark", "a <! b", "a <! b", "<! -> &lt;!"),
    ("angled letters", "<a>x", "x", "+ </a>"),
    ("to a surrogate pair", "&#55357;&#56832;", "\U0001f600", "&#55357;&#56832; -> &#128512;, one character"),
    ("to a pair in hexadecimal", "&#xd83D;&#x0DE00;", "\U0001f600", "&#xd83D;&#x0DE00; -> &#128512;, one character"),
    (
        "to halves of surrogate pairs", "&#56832;&#55357;", "&#56832;&#55357;", "&#56832; -> &amp;#56832;",
        "&#55357; -> &amp;#55357;",
    ),
    ("beyond Unicode", "&#xFFFFFF;", "&#xFFFFFF;", "&#xFFFFFF; -> &amp;#xFFFFFF;"),
    ("with very many digits", "&#999999999999;", "&#999999999999;", "&#999999999999; -> &amp;#999999999999;"),
    ("without its end", "a&#39 b", "a&#39 b", "&#39 -> &amp;#39"),
    ("hexadecimal without its end", "a&#x27 b", "a&#x27 b", "&#x27 -> &amp;#x27"),
    ("right and wrong", "&#65;&#xD800;", "A&#xD800;", "&#xD800; -> &amp;#xD800;"),
    ("title with email", "<me.x>", "...", "+ </me.x>?"),
    ("title with url", "<//x>", "...", "- <//x>?"),
    ("empty tag", "<>x</>", "<>x</> ...", "< -> &lt;", "</ -> &lt;/?"),
    ("stray end tag of HTML", "x</b>y", "xy", "- </b>"),
    ("stray end tag of nothing", "x</foo>y", "xy ...", "- </foo>?"),
    ("stray end tag of a location", "x</loc>y", "xy ...", "- </loc>?"),
    ("stray end tag of another field", "x</lastmod>y", "xy", "- </lastmod>"),
    ("list without ends", "<ul><li>a<li>b</ul>", "ab", "+ </li>", "+ </li>"),
    ("unknown element", "x<foo>y", "x ...", "+ </foo>?"),
    ("less-than before a name that is known", "a < loc b", "a < loc b", "< loc b -> &lt; loc b"),
    ("template", "<%= x %>", "<%= x %>", "< -> &lt;"),
    ("attribute of HTML without quotes", "<b class=x>y</b>", "y", '<b class=x> -> <b class="x">'),
    ("less-than at the end", "a <", "a <", "< -> &lt;"),
    ("CDATA misspelled", "[CDATA[x]]>", "[CDATA[x]]>", "]]> -> ]]&gt;"),
]
WITH_PREFIXES_THAT_ARE_NOT_DECLARED: Rows = [
    (
        "of an image", f"<url><loc>@2</loc>{IMAGE}</image:image></url>", "2:image",
        "image: = http://www.google.com/schemas/sitemap-image/1.1",
    ),
    ("of an unknown field", "<url><loc>@2</loc><x:y>1</x:y></url>", "2", "x: = urn:unbound:x"),
    ("of an attribute", '<url x:y="1"><loc>@2</loc></url>', "2", "x: = urn:unbound:x"),
    ("of an entry", "<s:url><loc>@2</loc></s:url>", "2", "s: = urn:unbound:s", "+ <url>", "+ </url>"),
    ("between entries", "<x:y/>\n<url><loc>@2</loc></url>", "2", "x: = urn:unbound:x"),
    ("two in one tag", '<url><loc>@2</loc><p:q r:s="1"/></url>', "2", "p: = urn:unbound:p", "r: = urn:unbound:r"),
    ("in two entries", "<url><loc>@2</loc><p:q/></url>\n<url><loc>@3</loc><p:q/></url>", "2 3", "p: = urn:unbound:p"),
    ("in an end tag only", "<url><loc>@2</loc></p:q></url>", "2 ...", "- </p:q>?"),
    (
        "image of a known prefix", f"<url><loc>@2</loc>{IMAGE}</image:image></url>", "2:image",
        "image: = http://www.google.com/schemas/sitemap-image/1.1",
    ),
    (
        "several that are known", "<url><loc>@2</loc><video:video/><news:news/><mobile:mobile/><xhtml:link/></url>",
        "2", "video: = http://www.google.com/schemas/sitemap-video/1.1",
        "news: = http://www.google.com/schemas/sitemap-news/0.9",
        "mobile: = http://www.google.com/schemas/sitemap-mobile/1.0", "xhtml: = http://www.w3.org/1999/xhtml",
    ),
    (
        "unclosed and unbound", "<url><loc>@2<news:news><news:title>x</news:news></url>", "2", "+ </loc>",
        "news: = http://www.google.com/schemas/sitemap-news/0.9", "+ </news:title>",
    ),
]
WITH_A_PREFIX: Rows = [
    ("end tag misspelled", "<s:url><s:loc>@2</s:lok></s:url>", "2", "</s:lok> -> </s:loc>"),
    ("end tag without its prefix", "<s:url><s:loc>@2</loc></s:url>", "2", "</loc> -> </s:loc>"),
    ("start tag without its prefix", "<s:url><loc>@2</s:loc></s:url>", "2", "</s:loc> -> </loc>"),
    ("loc unclosed", "<s:url><s:loc>@2</s:url>", "2", "+ </s:loc>"),
    (
        "loc unclosed before a field", "<s:url><s:loc>@2<s:lastmod>2026-11-01</s:lastmod></s:url>", "2:lastmod",
        "+ </s:loc>",
    ),
    ("entry unclosed", "<s:url><s:loc>@2</s:loc>\n<s:url><s:loc>@3</s:loc></s:url>", "2 3", "4 + </s:url>"),
    ("start of the entry lost", "<s:loc>@2</s:loc></s:url>", "2", "+ <s:url>"),
    ("stray end tag", "<s:url><s:loc>@2</s:loc></s:lastmod></s:url>", "2", "- </s:lastmod>"),
    ("stray end tag without prefix", "<s:url><s:loc>@2</s:loc></lastmod></s:url>", "2", "- </lastmod>"),
    ("stray end tag of another prefix", "<s:url><s:loc>@2</s:loc></x:lastmod></s:url>", "2 ...", "- </x:lastmod>?"),
    ("entry of none", "<s:url><s:loc>@2</s:loc></s:url><url><s:loc>@3</s:loc></s:url>", "2 3", "</s:url> -> </url>"),
]
IN_AN_INDEX: Rows = [
    ("loc unclosed", "<sitemap><loc>@2<lastmod>2026-11-01</lastmod></sitemap>", "2:lastmod", "+ </loc>"),
    ("entry unclosed", "<sitemap><loc>@2</loc>\n<sitemap><loc>@3</loc></sitemap>", "2 3", "4 + </sitemap>"),
    ("entry doubled", "<sitemap><sitemap><loc>@2</loc></sitemap>", "2", "- <sitemap>"),
    ("start of the entry lost", "<loc>@2</loc></sitemap>", "2", "+ <sitemap>"),
    ("end tag of a url", "<sitemap><loc>@2</loc></url>", "2", "- </url>", "4 + </sitemap>"),
    ("start tag of a url", "<url><loc>@2</loc></sitemap>", "2", "- </sitemap>", "4 + </url>"),
    (
        "slash missing", "<sitemap><loc>@2</loc><sitemap>\n<sitemap><loc>@3</loc></sitemap>", "2 3",
        "<sitemap> -> </sitemap>",
    ),
    (
        "end of a urlset", "<sitemap><loc>@2</loc></sitemap>\n</urlset>", "2", "4 + </sitemapindex>",
        "4 - </urlset>", "5 more",
    ),
    ("markup in a location", "<sitemap><loc>@2<b>x</loc></sitemap>", "...", "lost"),
]
IN_RSS: Rows = [
    ("link unclosed", "<item><link>@2<title>x</title></item>", "2", "+ </link>"),
    ("link misspelled", "<item><link>@2</lnk></item>", "2", "</lnk> -> </link>"),
    ("item unclosed", "<item><link>@2</link>\n<item><link>@3</link></item>", "2 3", "4 + </item>"),
    ("title with br", "<item><title>a<br>b</title><link>@2</link></item>", "2", "<br> -> <br/>"),
    (
        "description with HTML", "<item><description><p>a<br><b>x</p></description><link>@2</link></item>", "2",
        "<br> -> <br/>", "+ </b>",
    ),
    (
        "description with nested lists",
        "<item><description><ul><li>a<li>b</ul> 5 < 6</description><link>@2</link></item>", "2", "+ </li>", "+ </li>",
        "< -> &lt;",
    ),
    (
        "description unclosed", "<item><description>a & b<link>@2</link></item>", "2", "a bare & -> &amp;",
        "+ </description>",
    ),
    ("title doubled", "<item><title><title>a</title><link>@2</link></item>", "2", "- <title>"),
    (
        "pubDate misspelled", "<item><link>@2</link><pubDate>Mon, 02 Nov 2026 10:00:00 GMT</pubdate></item>",
        "2:lastmod", "</pubdate> -> </pubDate>",
    ),
    (
        "dc undeclared", "<item><link>@2</link><dc:date>2026-11-01</dc:date></item>", "2:lastmod",
        "dc: = http://purl.org/dc/elements/1.1/",
    ),
    (
        "atom:link undeclared", '<item><atom:link href="@x"/><link>@2</link></item>', "2",
        "atom: = http://www.w3.org/2005/Atom",
    ),
    ("guid only, unclosed", "<item><guid>@2<title>x</title></item>", "2", "+ </guid>"),
    ("link's markup", "<item><link>@2<b>x</link></item>", "...", "lost"),
    (
        "content:encoded unclosed CDATA",
        '<item><link>@2</link><content:encoded xmlns:content="urn:c"><![CDATA[<p>x</content:encoded></item>', "2",
        "a CDATA section is not closed: it ends with its element",
    ),
]
IN_ATOM: Rows = [
    (
        "link not closed", '<entry><link href="@2"><updated>2026-11-01T00:00:00Z</updated></entry>', "2:lastmod",
        '<link href="@2"> -> <link href="@2"/>',
    ),
    ("link unquoted", "<entry><link href=@2 /></entry>", "2", '<link href=@2 /> -> <link href="@2"/>'),
    (
        "link without >", '<entry><link href="@2"\n<updated>2026-11-01T00:00:00Z</updated></entry>', "2:lastmod",
        '<link href="@2" -> <link href="@2" />',
    ),
    ("entry unclosed", '<entry><link href="@2"/>\n<entry><link href="@3"/></entry>', "2 3", "4 + </entry>"),
    ("title unclosed", '<entry><title>x<link href="@2"/></entry>', "2", "+ </title>"),
    (
        "content with HTML", '<entry><content type="html"><p>x<br></content><link href="@2"/></entry>', "2",
        "<br> -> <br/>", "+ </p>",
    ),
    ("summary unclosed", '<entry><summary>x<link href="@2"/></entry>', "2", "+ </summary>"),
    (
        "updated misspelled", '<entry><link href="@2"/><updated>2026-11-01T00:00:00Z</updatd></entry>', "2:lastmod",
        "</updatd> -> </updated>",
    ),
    ("author unclosed", '<entry><author><name>x</name><link href="@2"/></entry>', "2", "+ </author>"),
    (
        "link doubled", '<entry><link href="@2" href="@3"/></entry>', "2",
        '<link href="@2" href="@3"/> -> <link href="@2"/>',
    ),
    ("feed's end misspelled", "</fed>", "", "</fed> -> </feed>", "4 more"),
    (
        "two links", '<entry><link rel="self" href="@3"/><link rel="alternate" href="@2"></entry>', "2",
        '<link rel="alternate" href="@2"> -> <link rel="alternate" href="@2"/>',
    ),
    ("nothing but broken", '<entry><link href="@2</entry>', "...", "lost"),
]
WHOLE: Rows = [
    # the root
    ("misspelled root's end", "<urlset>\n<url><loc>@2</loc></url>\n</urlste>", "2", "</urlste> -> </urlset>"),
    (
        "misspelled root's end in an entry", "<urlset>\n<url><loc>@2</loc>\n</urlste>", "2 ...",
        "</urlste> -> </url>", "cut",
    ),
    ("capital root's end", "<urlset>\n<url><loc>@2</loc></url>\n</URLSET>", "2", "</URLSET> -> </urlset>"),
    ("root's end without >", "<urlset>\n<url><loc>@2</loc></url>\n</urlset", "2 ...", "cut"),
    ("root's end without > before newline", "<urlset>\n<url><loc>@2</loc></url>\n</urlset\n", "2 ...", "cut"),
    ("root's end without slash", "<urlset>\n<url><loc>@2</loc></url>\n<urlset>", "2 ...", "cut"),
    ("entry end and root end lost", "<urlset>\n<url><loc>@2</loc>", "2 ...", "2 cut"),
    ("doubled < of root", "<<urlset>\n<url><loc>@2</loc></url>\n</urlset>", "2", "1 junk"),
    ("space in root", "< urlset>\n<url><loc>@2</loc></url>\n</urlset>", "2", "1 < urlset> -> <urlset>"),
    ("root without >", "<urlset\n<url><loc>@2</loc></url>\n</urlset>", "2", "1 <urlset -> <urlset >"),
    (
        "declaration with >", '<?xml version="1.0">\n<urlset>\n<url><loc>@2</loc></url>\n</urlset>', "2",
        "1 20 bytes stand before the document",
    ),
    (
        "declaration with space", '<? xml version="1.0"?>\n<urlset>\n<url><loc>@2</loc></url>\n</urlset>', "2",
        '1 - <? xml version="1.0"?>',
    ),
    (
        "declaration xml", '<xml version="1.0"?>\n<urlset>\n<url><loc>@2</loc></url>\n</urlset>', "2",
        '1 - <xml version="1.0"?>',
    ),
    (
        "declaration bad", "<?xml version=1.0 encoding=UTF-8?>\n<urlset>\n<url><loc>@2</loc></url>\n</urlset>", "2",
        "1 - <?xml version=1.0 encoding=UTF-8?>",
    ),
    ("text and then root", "<!-- x -->\nwords\n<urlset>\n<url><loc>@2</loc></url>\n</urlset>", "2", "2 junk"),
    (
        "index entry unclosed",
        "<sitemapindex><sitemap><loc>@2</loc>\n<sitemap><loc>@3</loc></sitemap></sitemapindex>", "2 3",
        "2 + </sitemap>",
    ),
    (
        "index location loose",
        "<sitemapindex><loc>@2</loc></sitemap>\n<sitemap><loc>@3</loc></sitemap></sitemapindex>", "2 3",
        "1 + <sitemap>",
    ),
    ("quote of the root", '<urlset a="b\n<url><loc>@2</loc></url>\n</urlset>', "2", '1 <urlset a="b -> <urlset>'),
    (
        "end behind what is lost",
        '<urlset>\n<url><loc>@2</loc><v:loc xmlns:v="v">@i<b>x</v:loc></url>\n', "2 ...", "2 lost",
    ),
    # feeds
    ("channel unclosed", "<rss><channel><item><link>@2</link></item></rss>", "2", "1 + </channel>"),
    (
        "channel's end first", "<rss><channel><item><link>@2</link></item></rss></channel>", "2", "1 + </channel>",
        "1 more",
    ),
    (
        "RDF items unclosed",
        ('<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" '
         'xmlns="http://purl.org/rss/1.0/"><item><link>@2</link><item><link>@3</link></item></rdf:RDF>'),
        "2 3", "1 + </item>",
    ),
]

# The markup around the rows of a table: before, after.
PLACES: dict[str, tuple[str, str, Rows]] = {
    "urlset": (
        f'<urlset {SITEMAP} {IMAGES}\n xmlns:xhtml="http://www.w3.org/1999/xhtml"><url><loc>@1</loc></url>\n',
        "\n<url><loc>@9</loc></url>\n</urlset>",
        IN_A_URLSET,
    ),
    "title": (
        f"<urlset {SITEMAP} {IMAGES}>\n<url><loc>@1</loc></url>\n<url><loc>@2</loc>{IMAGE}<image:title>",
        "</image:title></image:image></url>\n<url><loc>@9</loc></url>\n</urlset>",
        IN_A_TITLE,
    ),
    "without declarations": (
        "<urlset>\n<url><loc>@1</loc></url>\n",
        "\n<url><loc>@9</loc></url>\n</urlset>",
        WITH_PREFIXES_THAT_ARE_NOT_DECLARED,
    ),
    "prefix": (
        f"<s:urlset {SITEMAP.replace('xmlns', 'xmlns:s')}>\n<s:url><s:loc>@1</s:loc></s:url>\n",
        "\n<s:url><s:loc>@9</s:loc></s:url>\n</s:urlset>",
        WITH_A_PREFIX,
    ),
    "index": (
        f"<sitemapindex {SITEMAP}>\n<sitemap><loc>@1</loc></sitemap>\n",
        "\n<sitemap><loc>@9</loc></sitemap>\n</sitemapindex>",
        IN_AN_INDEX,
    ),
    "rss": (
        '<rss version="2.0"><channel><title>News</title><link>@</link>\n<item><link>@1</link></item>\n',
        "\n<item><link>@9</link></item>\n</channel></rss>",
        IN_RSS,
    ),
    "atom": (
        '<feed xmlns="http://www.w3.org/2005/Atom">\n<entry><link href="@1"/></entry>\n',
        '\n<entry><link href="@9"/></entry>\n</feed>',
        IN_ATOM,
    ),
    "whole document": ("", "", WHOLE),
}
