"""Renders the result of an audit as HTML: page.py joins cards, tables and charts, which are built by elements.py."""
