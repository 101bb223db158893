__version__ = "0.2.0"
USER_AGENT = f"sitemap-reader/{__version__}"
