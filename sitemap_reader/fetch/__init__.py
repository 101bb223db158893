"""Fetches URLs: the Fetcher protocol, its aiohttp implementation with an SSRF guard, recordings and WARC files.

A URL and headers go in; a Response with the chunks of its body, or a FetchError, comes out. One request per call: the
frontier decides about redirects and retries. Imports model, serialize, parser and frontier.
"""
