"""Generated sites and damaged sitemaps, with the records that a reader should find in them.

In: a size and a seed. Out: a folder, or bytes, and the truth. No parser takes part; imports model/ only.
"""

from .damage import DAMAGES, Damaged, damaged
from .site import Dates, Extension, Layout, Site, make_site

__all__ = ["DAMAGES", "Damaged", "Dates", "Extension", "Layout", "Site", "damaged", "make_site"]
