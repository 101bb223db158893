"""From the raw text of an entry to values: URLs, dates, scope, and the record with its problems.

In: RawEntry. Out: UrlRecord or SitemapRef, and Problems. Imports model/, and dialects/extensions for typed elements.
"""
