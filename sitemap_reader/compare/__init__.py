"""Comparison of two dumps, or of two states of a site.

In: records, or the files that hold them. Out: Changes (new, updated and removed URLs).
Imports state, client and everything below; is imported by checks, analysis and cli.
"""
