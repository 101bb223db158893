import sitemap_reader as sr


def answer(site):
    months = sr.snapshot(site, allow_private=True, scope="any").sql(
        "SELECT strftime(lastmod, '%Y-%m') AS month, count(*) AS pages FROM pages "
        "WHERE lastmod_precision <> 'year' GROUP BY 1"
    )
    return months.set_index("month")["pages"].to_dict()
