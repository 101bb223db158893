"""Reads and writes WARC files (ISO 28500) as recordings of a crawl.

A URL goes in, the recorded Response comes out; or responses go in, records are appended to a file. Imports what fetch
may import; warcio only where a file is written.
"""
