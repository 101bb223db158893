"""The formats of documents: urlset and sitemap index, RSS and Atom, text, robots.txt; and extension namespaces.

In: XML elements, or text. Out: RawEntry objects and Problems. Imports model/, content/, normalise/ and xml/elements.
"""
