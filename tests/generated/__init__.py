"""Generated sites and damaged sitemaps for tests, benchmarks and notebooks, with the records that a reader should find.

In: a size and a seed. Out: a folder, or bytes, and the truth. No parser takes part.
"""

from .damage import DAMAGES, Damaged, damaged
from .site import Dates, Extension, Layout, Site, make_site

__all__ = ["DAMAGES", "Damaged", "Dates", "Extension", "Layout", "Site", "damaged", "make_site"]
