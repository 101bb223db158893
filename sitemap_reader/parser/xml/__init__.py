"""XML of any dialect, read securely with expat: UTF-8 chunks in, raw entries and Problems out.

Documents that are not well-formed are repaired by recovery/. Imports model/ and the other folders of parser/.
"""
