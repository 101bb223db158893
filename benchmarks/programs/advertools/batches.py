import advertools as adv
import numpy as np
import pandas as pd


def densest(dates):
    dates = np.sort(dates.dropna())
    ends = np.searchsorted(dates, dates + np.timedelta64(10, "m"))
    most = max(ends - np.arange(len(dates)), default=0)
    return most if most >= max(10, 0.5 * len(dates)) else 0


def answer(site):
    pages = adv.sitemap_to_df(site)
    stated = pages["lastmod"].astype(str)
    dates = pd.to_datetime(stated, format="ISO8601", utc=True, errors="coerce")
    return dates.dt.tz_localize(None).groupby(pages["sitemap"]).agg(densest).to_dict()
