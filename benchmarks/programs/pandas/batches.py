import numpy as np
import pandas as pd


def densest(sitemap):
    stated = pd.read_xml(sitemap, dtype=str)["lastmod"].dropna()
    dates = pd.to_datetime(stated, format="ISO8601", utc=True, errors="coerce")
    dates = np.sort(dates.dt.tz_localize(None))
    ends = np.searchsorted(dates, dates + np.timedelta64(10, "m"))
    most = max(ends - np.arange(len(dates)), default=0)
    return most if most >= max(10, 0.5 * len(dates)) else 0


def answer(site):
    return {each: densest(each) for each in pd.read_xml(site)["loc"]}
