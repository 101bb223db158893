import sitemap_reader as sr


def answer(files, since):
    sections = sr.load(files, at="name").new(since)
    return sections.set_index("section")["new"].to_dict()
