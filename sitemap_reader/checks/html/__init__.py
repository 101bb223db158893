"""The report as HTML: page.py puts together what cards.py, tables.py and charts.py make of it, by elements.py."""
