"""What a site is held against besides its own rules: a crawl of it (C), an earlier state of it, or both (X).

sources.py: names of files in, checks out.
"""
