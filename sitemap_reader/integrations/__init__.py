"""Adapters for other crawlers: each subpackage is imported by its own name and needs the extra of that name."""
