import pandas as pd


def answer(site):
    sitemaps = {}
    for sitemap in pd.read_xml(site)["loc"]:
        stated = pd.read_xml(sitemap, dtype=str)["lastmod"]
        dates = stated[stated.str.len() >= len("2026-10-31")]
        newest = pd.to_datetime(dates, format="ISO8601", utc=True, errors="coerce").max()
        sitemaps[sitemap] = [len(stated), newest]
    return sitemaps
