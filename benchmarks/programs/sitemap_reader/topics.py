import sitemap_reader as sr


def answer(site):
    words = sr.snapshot(site, allow_private=True, scope="any").slug_ngrams(top=20)
    return words.set_index("words")["pages"].to_dict()
