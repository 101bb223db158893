"""Recovery from markup that is not well-formed: the bytes at a fault in, repaired bytes and a Problem each out.

Called by xml/reader.py only at a fault. Imports model/ and the modules of parser/xml/.
"""
