"""Renders the result of an audit as HTML: page.py joins cards, tables and charts, which are built by elements.py.

Takes an AuditResult, returns markup with all text escaped. Imports findings and rule_docs of checks/.
"""
