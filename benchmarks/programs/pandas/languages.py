import gzip
import re
from urllib.request import urlopen
from xml.etree import ElementTree

import pandas as pd


def answer(site):
    languages = {}
    for sitemap in pd.read_xml(site)["loc"]:
        for url in ElementTree.fromstring(gzip.decompress(urlopen(sitemap).read())):
            loc = url.findtext("{*}loc")
            in_path = re.match(r"https?://[^/]+/([a-z]{2})(?:/|$)", loc)
            languages[loc] = in_path[1] if in_path else url.findtext(".//{*}language", "unknown")
    return pd.Series(languages).value_counts().to_dict()
