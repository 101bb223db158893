"""Statistics of a site: how many URLs, sitemaps, dates, extensions and problems it has.

The JSON objects of a dump go in; facts (group, name, count, share) come out. Imports client/ and all folders below it.
"""
