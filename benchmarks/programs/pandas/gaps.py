from urllib.parse import unquote, urlsplit

import pandas as pd


def paths(site):
    sitemaps = pd.read_xml(site)["loc"]
    locs = pd.concat(pd.read_xml(each, dtype=str) for each in sitemaps)["loc"]
    paths = locs.map(lambda loc: unquote(urlsplit(loc).path))
    paths = paths.str.replace(r"^/[a-z]{2}(?=/|$)", "", regex=True)
    return {*paths.str.rstrip("/")}


def answer(ours, theirs):
    return [*(paths(theirs) - paths(ours))]
