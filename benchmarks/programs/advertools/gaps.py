import advertools as adv


def paths(site):
    locs = adv.sitemap_to_df(site)["loc"].tolist()
    paths = adv.url_to_df(locs)["path"]
    paths = paths.str.replace(r"^/[a-z]{2}(?=/|$)", "", regex=True)
    return {*paths.str.rstrip("/")}


def answer(ours, theirs):
    return [*(paths(theirs) - paths(ours))]
