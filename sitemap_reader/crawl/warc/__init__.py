"""WARC files (ISO 28500) in place of the network, and the recorder that writes them. See fetcher.py and writer.py."""
