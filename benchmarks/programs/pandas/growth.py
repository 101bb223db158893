import re
from collections import defaultdict
from glob import glob

import pandas as pd


def answer(files):
    pages = defaultdict(set)
    for file in glob(files):
        state = re.search(r"\d{4}-\d\d-\d\d", file)[0]
        pages[state].update(pd.read_xml(file, dtype=str)["loc"])
    return {state: len(locs) for state, locs in pages.items()}
