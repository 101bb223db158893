import re
from collections import defaultdict
from glob import glob
from pathlib import Path

import advertools as adv


def answer(files):
    pages = defaultdict(set)
    for file in glob(files):
        state = re.search(r"\d{4}-\d\d-\d\d", file)[0]
        pages[state].update(adv.sitemap_to_df(Path(file).absolute().as_uri())["loc"])
    return {state: len(locs) for state, locs in pages.items()}
