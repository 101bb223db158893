import pandas as pd


def answer(site):
    sitemaps = pd.read_xml(site)["loc"]
    pages = pd.concat(pd.read_xml(each, dtype=str) for each in sitemaps).drop_duplicates("loc")
    stated = pages["lastmod"][pages["lastmod"].str.len() > len("2026")]
    dates = pd.to_datetime(stated, format="ISO8601", utc=True, errors="coerce")
    return dates.dt.strftime("%Y-%m").value_counts().to_dict()
