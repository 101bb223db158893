import gzip
from urllib.request import urlopen
from xml.etree import ElementTree

import pandas as pd


def answer(site):
    rows = []
    for sitemap in pd.read_xml(site)["loc"]:
        for url in ElementTree.fromstring(gzip.decompress(urlopen(sitemap).read())):
            loc = url.findtext("{*}loc")
            links = url.iterfind("{http://www.w3.org/1999/xhtml}link")
            rows += [(loc, link.get("href"), link.get("hreflang")) for link in links]
    links = pd.DataFrame(rows, columns=["loc", "href", "to"], dtype=str)
    is_own = links["loc"] == links["href"]
    own = links[is_own & (links["to"] != "x-default")].drop_duplicates("loc")
    back = links[["href", "loc"]].set_axis(["loc", "href"], axis=1).drop_duplicates()
    links = links[~is_own].merge(back, how="left", on=["loc", "href"], indicator=True)
    links = links[links["_merge"] == "left_only"]
    languages = links["loc"].map(own.set_index("loc")["to"]).fillna("none")
    return (languages + " to " + links["to"]).value_counts().to_dict()
