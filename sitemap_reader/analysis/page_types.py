"""Page types: what the words that platforms put into paths say of a page (/tag/, /collections/, ?page=2)."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pandas as pd

from .chart_spec import shares_of_pages
from .languages import language_level, page_places
from .measure import (
    as_texts,
    find_in_words,
    in_site_order,
    measure,
    most_widespread,
    page_frame,
    parts_in_words,
    rest_last,
    share_of_site,
)
from .url_parts import INDEX_NAMES

if TYPE_CHECKING:
    from .measure import Measure
    from .tables import SnapshotTables

# Type -> names of folders: of WordPress, WooCommerce, Shopify, Magento, Ghost, Drupal, MediaWiki and static site
# generators by default, and their usual translations. /c/ and /p/ are left out: products here, posts there.
_FOLDERS = {
    "product": "product products produkt produkte produit produits producto productos prodotto prodotti produto "
    "produtos",
    "category": "category categories product-category collection collections catalog catalogue katalog kategorie "
    "kategorien categorie categoria categorias brand brands marken topic topics thema section sections",
    "tag": "tag tags product-tag tagged schlagwort etiqueta etiquetas label labels keyword keywords",
    "author": "author authors autor autoren autore auteur auteurs contributor contributors profile profiles user users",
    "article": "article articles artikel articulo articulos articolo articoli artigo artigos blog blogs news noticias "
    "nachrichten actualites post posts story stories magazine magazin journal press presse",
    "event": "event events veranstaltung veranstaltungen evenement evenements evento eventos eventi",
    "video": "video videos watch",
    "help": "docs documentation doc help support faq faqs kb knowledge-base hilfe aide ayuda manual guide guides wiki",
    "page": "page pages",
    "job": "job jobs career careers karriere stellenangebote vacancies",
}
# Type -> the name of the page itself, in any folder.
_NAMES = {"feed": "feed feeds rss atom", "search": "search suche recherche buscar busqueda ricerca zoeken"}
# What most sites have, and two sites share without having a subject in common.
_USUAL = """
    about about-us about_us aboutus ueber-uns uber-uns a-propos quienes-somos chi-siamo over-ons contact contact-us
    contact_us contactus kontakt contacto contatti contato privacy privacy-policy privacypolicy privacy_policy
    datenschutz datenschutzerklaerung terms terms-of-service terms-of-use terms-and-conditions terms-conditions tos
    agb imprint impressum legal legal-notice disclaimer cookies cookie-policy copyright accessibility security
    sitemap team careers jobs press login signin sign-in signup sign-up register account my-account cart checkout
    wishlist search faq faqs help support home start blog news events products services pricing shop store gallery
    portfolio testimonials newsletter subscribe donate shipping returns refund-policy shipping-policy thank-you 404
"""
_USUAL_NAMES = frozenset(_USUAL.split())
FOLDER_TYPES, _NAME_TYPES = (
    {name: kind for kind, names in table.items() for name in names.split()} for table in (_FOLDERS, _NAMES)
)
_OVERVIEWS = [name for name, kind in FOLDER_TYPES.items() if kind not in ("help", "page")]
_PAGINATION = "(?:page|seite|pagina)[-_]?[0-9]+"
_PAGES_END = "(?i)/(?:page|seite|pagina)$"
_PAGINATION_QUERY = "[?&](?:page|paged|pg|seite|pagina)=[0-9]"
_SEARCH_QUERY = "[?&](?:q|s|query|search|keyword|keywords)="
_FILES = "pdf doc docx xls xlsx ppt pptx odt csv txt zip epub mp3 mp4 jpg jpeg png gif webp svg"
_YEAR = "(?:19|20)[0-9]{2}"
_DATE_END = f"/{_YEAR}(?:/[0-9]{{1,2}}){{1,2}}$"  # a year alone may be anything
OTHER = "other"


def are_usual(keys: pd.Series[str]) -> pd.Series[bool]:
    """Whether each path or slug ends with a name that most sites have; also the path of the home page."""
    names = keys.str.replace(r"(?s)^.*/|\..*$", "", regex=True).str.lower()
    return (keys == "/") | names.isin(_USUAL_NAMES)


def page_types(snapshot: SnapshotTables) -> Measure:
    pages = page_frame(snapshot, "loc")
    pages["type"] = _types(snapshot).fillna(OTHER)
    by = pages.groupby(["site", "type"], sort=False)
    frame = by.agg(pages=("site", "size"), example=("loc", "first")).reset_index()
    frame.insert(3, "share", share_of_site(frame))
    frame = in_site_order(rest_last(frame, "type", OTHER), snapshot)
    rule = (
        "A page has the type of its own name (/feed, /page/2, ?q=), else of the deepest folder that platforms use for "
        "one (/product/, /tag/, /blog/, …): docs/analysis.md has the table. A page below a month (/2024/05/) is an "
        "article. Nothing is guessed from words of titles; what has no such name is other."
    )
    describe = partial(parts_in_words, "page type", rest=OTHER)
    finding = find_in_words(frame, snapshot.sites, describe, _types_of_many)
    return measure(frame, rule=rule, finding=finding, spec=shares_of_pages("type", "page type", missing=OTHER))


def _types_of_many(frame: pd.DataFrame) -> str:
    known = frame[frame["type"] != OTHER]
    return most_widespread("page types:", "type", known, sites=frame["site"].nunique(), count=3)


def _types(snapshot: SnapshotTables) -> pd.Series[str]:
    """The type of each page, null if it has none."""
    pages = page_frame(snapshot, "loc", "depth", "slug", "extension")
    places, level = page_places(snapshot), language_level(snapshot)
    folders = places.frame.filter(like="dir_")
    types = pd.Series(None, index=folders.index, dtype="str")
    path = pd.Series("", index=folders.index, dtype="str")
    for _, folder in folders.items():
        found = folder.str.lower().map(FOLDER_TYPES).astype("str")
        types = found.mask(types == "help").fillna(types)  # /docs/api/users/ is about users
        path += ("/" + folder).fillna("")
    ends = (_DATE_END, f"/{_YEAR}$", _PAGES_END)
    is_dated, is_year, is_of_pages = (path.str.contains(end).to_numpy()[places.codes] for end in ends)
    types = as_texts(places.of_pages(types))
    slug = pages["slug"].astype("str").str.lower()
    own, depth = slug.map(_NAME_TYPES), pages["depth"] - slug.isin(INDEX_NAMES)
    choices = {
        "home": (depth == 0) | (level > 0) & (depth == level),
        "pagination": is_of_pages & slug.str.fullmatch("[0-9]+")
        | slug.str.fullmatch(_PAGINATION)
        | pages["loc"].str.contains(_PAGINATION_QUERY),
        "search": (own == "search") | pages["loc"].str.contains(_SEARCH_QUERY),
        "feed": (own == "feed") | pages["extension"].isin(["rss", "atom"]),
        "file": pages["extension"].isin(_FILES.split()),
        "archive": slug.str.fullmatch(_YEAR) | (is_dated | is_year) & slug.str.fullmatch("[0-9]{1,2}"),
        "overview": types.isna() & slug.isin(_OVERVIEWS),
        "about and legal": types.isna() & slug.isin(_USUAL_NAMES),
        "article": types.isna() & is_dated,
    }
    for kind, is_kind in reversed(choices.items()):  # the first counts
        types = types.mask(is_kind.fillna(False).astype(bool), kind)
    return types
