"""Adapters for other crawlers: each subpackage is imported by its own name and needs the extra of that name.

Records and changes go in; Requests of that crawler come out. Imports state/, client/ and all folders below them.
"""
