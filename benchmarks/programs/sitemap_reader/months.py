import sitemap_reader as sr


def answer(site):
    months = sr.snapshot(site, allow_private=True, scope="any").cadence("month")
    return months["pages"].set_axis(months["period"].dt.strftime("%Y-%m")).to_dict()
