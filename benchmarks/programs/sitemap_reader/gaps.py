import sitemap_reader as sr


def answer(ours, theirs):
    sites = sr.snapshot([ours, theirs], allow_private=True, scope="any")
    return [*sites.gaps(ours)["key"].unique()]
