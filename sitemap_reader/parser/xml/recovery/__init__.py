"""Damaged XML: the bytes from the last complete entry on in, the events that expat would give and Problems out.

Called by xml/entry_parser.py where expat stops. Imports model/ and the modules of parser/xml/.
"""
