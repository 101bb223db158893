"""For Scrapy: SitemapReaderSpider, a SitemapSpider that reads as this package does. Needs the extra `scrapy`."""

from ...model.errors import install_hint

try:
    import scrapy  # noqa: F401 - to say what is missing before anything else does
except ImportError as exc:
    raise ImportError(f"sitemap_reader.integrations.scrapy needs Scrapy: {install_hint('scrapy')}") from exc

from .spider import SitemapReaderSpider

__all__ = ["SitemapReaderSpider"]
