import advertools as adv


def answer(site):
    pages = adv.sitemap_to_df(site).drop_duplicates("loc")
    language = pages["loc"].str.extract(r"^https?://[^/]+/([a-z]{2})(?:/|$)")[0]
    language = language.fillna(pages.get("publication_language", "unknown"))
    return language.fillna("unknown").value_counts().to_dict()
