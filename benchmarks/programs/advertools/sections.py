import advertools as adv


def answer(site):
    pages = adv.sitemap_to_df(site).drop_duplicates("loc")
    path = pages["loc"].str.replace(r"^https?://[^/]+(/[a-z]{2}(?=/|$))?", "", regex=True)
    return path.str.extract(r"^(/[^/]+/)[^/?]")[0].fillna("/").value_counts().to_dict()
