"""The audit: what a crawl yields or a dump holds goes in, a Report of findings with explanations comes out.

audit.py has audit(); runner.py passes every item to the checks (urls, documents, dates, extensions, crawled, baseline),
which report to findings.py; policy.py has a site's own severities and ignores; report.py, html/, ci_formats.py and
sarif.py render the result. May import all folders but analysis and cli.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
