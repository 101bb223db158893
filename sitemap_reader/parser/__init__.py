"""The parser: bytes of one document in; UrlRecords, SitemapRefs, Problems and an Outcome out.

Pure: no I/O, no clock, no globals. Imports model/ only.
"""
