"""Converts records to and from JSON lines, CSV, Arrow and Parquet; declares their schema; reads dump files.

Imports model/ only.
"""
