"""Seeded, damaged sitemaps with known truth: a kind and a seed come in, bytes and the URLs they list go out.

DAMAGES says of each kind what is done, and does it. Bytes that could mislead an honest reader are not given: where
they are still well-formed XML, they say the truth. What is lost may be missed, but need never be misread.
"""

from __future__ import annotations

from typing import NamedTuple

from ..model.errors import UsageError
from .breaks import (
    CLOSING,
    DECLARED,
    END,
    FIELD,
    LAST,
    LATIN,
    LINK,
    PLAIN_LOC,
    ROOT,
    START,
    TEXT,
    TITLE,
    Break,
    as_entities,
    as_latin_1,
    bare_ampersands,
    bare_doctype,
    before,
    behind,
    broken_cdata,
    cut,
    early_root_end,
    either,
    hole,
    in_turn,
    into_text,
    misspelled,
    nothing,
    open_comment,
    pairs,
    parts,
    put,
    second_document,
    start_misspelled,
    unbound_prefix,
    unended_cdata,
)
from .clean import DECLARATION, HOST, Dice, as_bytes, draw_clean, plainly_listed


class Damaged(NamedTuple):
    """A document, and the clean URLs that it listed before it was damaged, in order."""

    kind: str
    body: bytes
    truth: tuple[str, ...]


class Damage(NamedTuple):
    """What is done to a clean document, in words and as a function."""

    what: str
    apply: Break


def damaged(kind: str, seed: int, entries: int = 20) -> Damaged:
    """A urlset of so many entries (1 or more), damaged in one or several places; equal arguments, equal bytes.

    `kind` is a key of DAMAGES. Raises UsageError for others, and for less than one entry.

    >>> document = damaged("bare-doctype", seed=7, entries=3)
    >>> b"<!DOCTYPE" in document.body, len(document.truth)
    (True, 3)
    """
    if kind not in DAMAGES:
        raise UsageError(f"kind must be one of {', '.join(DAMAGES)}, not {kind!r}")
    if entries < 1:
        raise UsageError(f"entries must be 1 or more, not {entries}")
    dice = Dice(f"{kind} {seed} {entries}")
    while True:
        clean = draw_clean(dice, entries)
        text = DAMAGES[kind].apply(clean, dice)
        if text is None or (text == clean.text and kind != "nothing"):
            continue
        body = as_bytes(text)
        if plainly_listed(body) in (None, clean.truth):
            return Damaged(kind, body, clean.truth)


# --- the kinds ---

# What programs leave in their output.
NOTICE = "Notice: Undefined variable: url in /srv/www/sitemap.php on line 31"
NOTICE_AS_HTML = "<br />\n<b>Notice</b>:  Undefined index: url in <b>/srv/www/sitemap.php</b> on line <b>31</b><br />\n"
NOTICE_AS_OLD_HTML = NOTICE_AS_HTML.replace("<br />", "<br>")
RETIRED = f"<url><loc>{HOST}/retired/a--b</loc></url>"
NAMES = f"{START}|{END}|{FIELD}"

DAMAGES: dict[str, Damage] = {
    "nothing": Damage("the clean document, for comparison", nothing),
    # references
    "bare-ampersand": Damage("`&amp;` as `&`, also `&copy=` and `&lt=`", parts("&amp;", bare_ampersands)),
    "bare-ampersand-in-title": Damage("` & ` in a title", parts(TITLE, into_text(" & ", "&", "&;", " &c", "&#"))),
    "html-entity-in-loc": Damage("`&eacute;` in a loc", parts(LATIN, as_entities)),
    "html-entity-in-title": Damage(
        "`&nbsp;` or an unknown entity in a title",
        parts(TITLE, into_text("&nbsp;", "&rsquo;", "&ndash;", "&hellip;", "&Eacute;", "&unknown;")),
    ),
    "bad-character-reference": Damage(
        "`&#0;`, half a surrogate pair and the like in a title",
        parts(TITLE, into_text("&#0;", "&#31;", "&#xFFFFFF;", "&#xZZ;", "&#55357;&#56832;", "&#65535;", "&#x;")),
    ),
    "bare-doctype": Damage("a DOCTYPE with an external subset, some with HTML entities in a loc", bare_doctype),
    # characters
    "control-character": Damage(
        "characters that XML does not allow, in a title or date",
        parts(TEXT, into_text(*map(chr, (0, 1, 7, 8, 11, 12, 14, 27, 31, 0xFFFE, 0xFFFF)))),
    ),
    "invalid-utf8": Damage("latin-1 bytes in a loc", parts(LATIN, as_latin_1, most=100)),
    "cut-character": Damage(
        "half a UTF-8 sequence, or a surrogate pair as UTF-8, in a title",
        parts(TITLE, into_text("\udcc3", "\udce2\udc80", "\udced\udca0\udcbd\udced\udcb8\udc80", "\udcff", "\udc92")),
    ),
    "encoding-label": Damage(
        "an encoding that does not exist, or is not that of the bytes",
        parts(DECLARED, put("UTF-8", "utf8", "UFT-8", "utf8mb4", "unicode", "UTF-16", "", "UTF-8;", "none")),
    ),
    # tags
    "unclosed-field": Damage("an end tag such as `</lastmod>` or `</loc>` lost", parts(FIELD, put(r"</[\w:]+>\Z", ""))),
    "misspelled-end-tag": Damage("`</lok>`, `</Loc>`, `</lastmd>`, `</ulr>`", parts(f"{FIELD}|{END}", misspelled)),
    "misspelled-start-tag": Damage("`<Loc>...</loc>`, `<loc>...</image:loc>`", parts(FIELD, start_misspelled)),
    "stray-end-tag": Damage(
        "`</b>`, `</url>` and others where nothing is open",
        parts(NAMES, behind("</b>", "</url>", "</lastmod>", "</loc>", "</p>", "</image:image>", "</image:title>")),
    ),
    "swapped-end-tags": Damage("`</url></loc>`", pairs(r"(</[\w:]+>)(\s*)(</[\w:]+>)", r"\3\2\1")),
    "slash-dropped": Damage("`<loc>` for `</loc>`", parts(f"{FIELD}|{END}", put(r"</([\w:]+>)\Z", r"<\1"))),
    "backslash": Damage(r"`<\/loc>`, `<\loc>`", parts(f"{FIELD}|{END}", put(r"</([\w:]+>)\Z", r"<\\/\1", r"<\\\1"))),
    "doubled-start-tag": Damage("`<loc><loc>`", parts(f"{FIELD}|{START}", put(r"^<[\w:]+>", r"\g<0>\g<0>"))),
    "closed-too-early": Damage("`<lastmod/>2026-11-01</lastmod>`", parts(FIELD, put(r"^(<[\w:]+)>", r"\1/>"))),
    "space-in-tag": Damage(
        "`< loc>`, `</ loc>`, `< /loc>`",
        parts(NAMES, either(put("^<", "< "), put(CLOSING, r"</ \1", r"< /\1"))),
    ),
    "doubled-bracket": Damage(
        "`<<loc>`, `<</loc>`, `</loc>>`",
        parts(NAMES, either(put("^<", "<<"), put(CLOSING, r"<</\1", r"</\1>"))),
    ),
    "missing-greater-than": Damage(
        "`</lastmod<changefreq>`, `<lastmod2026-11-01`",
        parts(f"{NAMES}|{LINK}|{ROOT}", either(put(r"^(<[^<>]*)>", r"\1"), put(r">\Z", ""))),
    ),
    "missing-less-than": Damage(
        "`loc>...</loc>`, `<loc>.../loc>`",
        parts(NAMES, either(put("^<", ""), put(CLOSING, r"/\1"))),
    ),
    # attributes
    "unquoted-attribute": Damage(
        "`hreflang=de`, `<url id=7>`",
        parts(f"{LINK}|{ROOT}|{START}", in_turn(put('="([^"]*)"', r"=\1"), put(r"url>\Z", "url id=7>"))),
    ),
    "duplicate-attribute": Damage(
        "an attribute or a namespace twice",
        parts(
            f"{LINK}|{ROOT}|{START}",
            in_turn(put(' ([a-z:]+="[^"]*")', r" \1 \1"), put(r"url>\Z", 'url id="7" id="8">')),
        ),
    ),
    "attribute-without-space": Damage('`rel="alternate"hreflang="de"`', parts(f"{LINK}|{ROOT}", put('" ', '"'))),
    "unclosed-quote": Damage("an attribute's closing quote lost", parts(f"{LINK}|{ROOT}", put('"(?=[ />])', ""))),
    "stray-quote": Damage('`<loc">`', parts(f"{FIELD}|{START}", put(r"^(<[\w:]+)>", r'\1">', r"\1'>"))),
    "unbound-prefix": Damage("a prefix is used, its declaration is lost", unbound_prefix),
    # entries
    "missing-entry-end": Damage("`</url>` lost", parts(END, put(".+", ""))),
    "missing-entry-start": Damage("`<url>` lost", parts(START, put(".+", ""))),
    # comments, CDATA, text that looks like markup
    "malformed-comment": Damage(
        "`--` inside a comment, or `<!- ... ->`",
        parts(
            f"{START}|{END}",
            behind("<!-- a -- b -->", "<!-- cached --->", "<!--- new --->", "<!- new ->", f"<!-- {RETIRED} -->"),
        ),
    ),
    "unclosed-comment": Damage("`-->` lost", open_comment),
    "unclosed-cdata": Damage("`]]>` lost, in a loc or a title", unended_cdata),
    "broken-cdata-start": Damage("`<!CDATA[`, `[CDATA[`", parts(f"{PLAIN_LOC}|{TITLE}", broken_cdata)),
    "cdata-end-in-title": Damage("`]]>` in a title", parts(TITLE, into_text("]]>"))),
    "stray-less-than": Damage(
        "`5 < 6`, `<3` in a title", parts(TITLE, into_text(" < ", "<3", " <- ", "<", "<<", " 5<6 ", "<b", "<="))
    ),
    "html-in-title": Damage("`<br>`, `</b>` in a title", parts(TITLE, into_text("<br>", "<b>", "</b>", "<p>", "</p>"))),
    "html-between-entries": Damage(
        "a notice of PHP, or an unclosed `<br>`, between or inside entries",
        parts(NAMES, behind(NOTICE_AS_HTML, NOTICE_AS_OLD_HTML, "<br>", "<p>", "<hr>", f"<p>{NOTICE}", f"<b>{NOTICE}")),
    ),
    "template-leftover": Damage(
        "`<?= $url ?>`, `<% end %>`",
        parts(NAMES, behind("<?= $url ?>", "<? endforeach; ?>", "<% end %>", "<%= url %>", "<#list>")),
    ),
    # beginning and end
    "junk-before-declaration": Damage(
        "blank lines, a notice of PHP or a second BOM before the declaration",
        parts(DECLARED, before("\n", "\n\n  ", "\ufeff\ufeff", f"{NOTICE}\n", NOTICE_AS_HTML, "<!-- cached -->\n")),
    ),
    "broken-declaration": Damage(
        "`<?xml ...>`, `<xml ...?>`, curly or no quotes, another order",
        parts(
            DECLARED,
            put(
                ".+",
                '<?xml version="1.0" encoding="UTF-8">',
                '<xml version="1.0" encoding="UTF-8"?>',
                '<? xml version="1.0" encoding="UTF-8"?>',
                '<?xml version="1.0" encoding="UTF-8"? >',
                '<?XML version="1.0" encoding="UTF-8"?>',
                "<?xml version=“1.0” encoding=“UTF-8”?>",
                "<?xml version=1.0 encoding=UTF-8?>",
                '<?xml encoding="UTF-8" version="1.0"?>',
                '<?xml version="1.0"encoding="UTF-8"?>',
                '<?xml encoding="UTF-8"?>',
            ),
        ),
    ),
    "declaration-twice": Damage(
        "a second XML declaration, also between entries",
        parts(f"{DECLARED}|{ROOT}|{END}", behind(DECLARATION, f"\n{DECLARATION}\n"), most=2),
    ),
    "second-document": Damage("the document ends between two entries and begins anew", second_document),
    "early-root-end": Damage("`</urlset>` between two entries", early_root_end),
    "wrong-root-end": Damage(
        "the root's end tag lost, or another one",
        parts(LAST, put(".+", "", "</urlst>", "</sitemapindex>", "</url>", "<urlset>")),
    ),
    "junk-behind-the-end": Damage(
        "a notice, a script, NULs behind the root",
        parts(LAST, behind(NOTICE, NOTICE_AS_OLD_HTML, "<script>a(1 && 2)</script>", "\0\0", "</body></html>", "<")),
    ),
    # bytes lost
    "cut": Damage("cut anywhere", cut),
    "hole": Damage("bytes lost from inside a tag to anywhere", hole),
}
