import re
from glob import glob
from pathlib import Path

import advertools as adv
import pandas as pd


def answer(files, since):
    states = [
        adv.sitemap_to_df(Path(file).absolute().as_uri()).assign(
            state=re.search(r"\d{4}-\d\d-\d\d", file)[0]
        )
        for file in glob(files)
    ]
    states = pd.concat(states)
    seen = states.groupby("loc")["state"].min()
    locs = seen[(seen >= since) & (seen > seen.min())].index
    paths = locs.str.replace(r"^https?://[^/]+(/[a-z]{2}(?=/|$))?", "", regex=True)
    return paths.str.extract(r"^(/[^/]+/)[^/?]")[0].fillna("/").value_counts().to_dict()
