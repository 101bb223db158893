import pandas as pd


def answer(site):
    sitemaps = pd.read_xml(site)["loc"]
    pages = pd.concat(pd.read_xml(each, dtype=str) for each in sitemaps).drop_duplicates("loc")
    path = pages["loc"].str.replace(r"^https?://[^/]+(/[a-z]{2}(?=/|$))?", "", regex=True)
    return path.str.extract(r"^(/[^/]+/)[^/?]")[0].fillna("/").value_counts().to_dict()
