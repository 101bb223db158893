"""A crawl of sitemaps as a pure state machine: seeds, robots.txt policy, politeness, links, revalidation.

Seeds and answers go in; requests to make, Problems and Outcomes come out. No socket, no clock, no file. Imports `model`
and `parser` only.
"""
