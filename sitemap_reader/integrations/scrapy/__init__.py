"""For Scrapy: SitemapReaderSpider, a SitemapSpider that reads as this package does. Needs the extra `scrapy`."""

try:
    import scrapy  # noqa: F401 - to say what is missing before anything else does
except ImportError as exc:
    raise ImportError("sitemap_reader.integrations.scrapy needs Scrapy: pip install 'sitemap-reader[scrapy]'") from exc

from .spider import SitemapReaderSpider

__all__ = ["SitemapReaderSpider"]
