"""Believable sites and damaged documents, with the URLs that a reader should find in them."""

from .damage import DAMAGES, Damaged, damaged
from .site import Dates, Extension, Layout, Site, make_site

__all__ = ["DAMAGES", "Damaged", "Dates", "Extension", "Layout", "Site", "damaged", "make_site"]
