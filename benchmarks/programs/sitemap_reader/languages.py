import sitemap_reader as sr


def answer(site):
    languages = sr.snapshot(site, allow_private=True, scope="any").languages()
    return languages.set_index("language")["pages"].to_dict()
