import sitemap_reader as sr


def answer(site):
    sections = sr.snapshot(site, allow_private=True, scope="any").sections()
    return sections.set_index("section")["pages"].to_dict()
