"""The state file of sync: one SQLite database of the documents, URLs and runs of sites from earlier reads.

In: the batches of a crawl. Out: new, updated and removed URLs, and a cache for the next crawl.
Imports model, serialize, parser, frontier and (for types) pipeline; is imported by client and above.
"""
