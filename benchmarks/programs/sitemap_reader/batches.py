import sitemap_reader as sr


def answer(site):
    trust = sr.snapshot(site, allow_private=True, scope="any").lastmod_trust()
    batches = trust[trust["dense"] >= 0.5 * trust["dated"]]
    return batches.set_index("sitemap")["dense"].to_dict()
