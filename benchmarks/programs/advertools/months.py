import advertools as adv
import pandas as pd


def answer(site):
    pages = adv.sitemap_to_df(site).drop_duplicates("loc")
    stated = pages["lastmod"].dropna().astype(str)
    stated = stated[stated.str.len() > len("2026")]
    dates = pd.to_datetime(stated, format="ISO8601", utc=True, errors="coerce")
    return dates.dt.strftime("%Y-%m").value_counts().to_dict()
