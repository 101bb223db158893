"""The audit: what a crawl yields or a dump holds goes in, a Report of findings with explanations comes out.

audit.py has audit(); runner.py passes every item to the checks (urls, documents, dates, languages, media, crawled,
baseline), which report to findings.py; report.py and html/ render the result. May import all folders but analysis and
cli.
"""
