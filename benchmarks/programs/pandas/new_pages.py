import re
from glob import glob

import pandas as pd


def answer(files, since):
    states = [
        pd.read_xml(file, dtype=str).assign(state=re.search(r"\d{4}-\d\d-\d\d", file)[0])
        for file in glob(files)
    ]
    seen = pd.concat(states).groupby("loc")["state"].min()
    locs = seen[(seen >= since) & (seen > seen.min())].index
    paths = locs.str.replace(r"^https?://[^/]+(/[a-z]{2}(?=/|$))?", "", regex=True)
    return paths.str.extract(r"^(/[^/]+/)[^/?]")[0].fillna("/").value_counts().to_dict()
