"""For Crawlee: SitemapReaderLoader, a request loader, and record_of() its requests. Needs the extra `crawlee`."""

from ...model.errors import install_hint

try:
    import crawlee  # noqa: F401 - to say what is missing before anything else does
except ImportError as exc:
    raise ImportError(f"sitemap_reader.integrations.crawlee needs Crawlee: {install_hint('crawlee')}") from exc

from .loader import SitemapReaderLoader, record_of

__all__ = ["SitemapReaderLoader", "record_of"]
