import sitemap_reader as sr


def answer(site):
    tree = sr.snapshot(site, allow_private=True, scope="any").tree().query("urls > 0")
    return tree.set_index("sitemap")[["urls", "newest"]].T.to_dict("list")
