"""The audit: what is wrong with a site's sitemaps, by rules over what a run gives.

Each check is a small object with one rule or a few (check.py); auditing.py lets them hear what passes; findings.py
gathers what they note; report.py is what comes of it, page.py its HTML.
"""
