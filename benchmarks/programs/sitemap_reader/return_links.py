import sitemap_reader as sr


def answer(site):
    links = sr.snapshot(site, allow_private=True, scope="any").hreflang()
    pairs = links["language"] + " to " + links["alternate"]
    return (links["links"] - links["returned"]).set_axis(pairs).to_dict()
