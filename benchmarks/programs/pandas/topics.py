from urllib.parse import unquote, urlsplit

import pandas as pd

STOP_WORDS = {"a", "an", "and", "for", "from", "how", "in", "of", "off", "on", "the", "to", "you"}


def answer(site):
    sitemaps = pd.read_xml(site)["loc"]
    pages = pd.concat(pd.read_xml(each, dtype=str) for each in sitemaps).drop_duplicates("loc")
    paths = pages["loc"].map(lambda loc: unquote(urlsplit(loc).path).lower().rstrip("/"))
    slugs = paths.str.extract(r"([^/]+?)(?:\.\w+)?$")[0].dropna()
    words = slugs.str.findall(r"[^\W\d_]+").map(lambda words: {*words} - STOP_WORDS)
    return words.explode().value_counts().head(20).to_dict()
