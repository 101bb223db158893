import advertools as adv


def answer(site):
    locs = adv.sitemap_to_df(site)["loc"].drop_duplicates().tolist()
    slugs = adv.url_to_df(locs)["last_dir"].dropna().str.lower()
    slugs = slugs.str.replace(r"\.\w+$", "", regex=True).str.findall(r"[^\W\d_]+")
    texts = [" ".join({*words}) for words in slugs]
    words = adv.word_frequency(texts, rm_words=adv.stopwords["english"])
    return words.head(20).set_index("word")["abs_freq"].to_dict()
