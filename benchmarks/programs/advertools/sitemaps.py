import advertools as adv
import pandas as pd


def answer(site):
    pages = adv.sitemap_to_df(site)
    stated = pages["lastmod"].astype(str)
    stated = stated.where(stated.str.len() >= len("2026-10-31"))
    pages["newest"] = pd.to_datetime(stated, format="ISO8601", utc=True, errors="coerce")
    return pages.groupby("sitemap")["newest"].agg(["size", "max"]).T.to_dict("list")
