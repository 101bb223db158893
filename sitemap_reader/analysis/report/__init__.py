"""Renders a Snapshot as one HTML page that compares its sites: page.py has the parts, tables.py the tables of measures.

Takes a Snapshot, returns markup with all text escaped. Imports the elements and the document of checks/html.
"""
