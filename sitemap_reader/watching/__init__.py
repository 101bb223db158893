"""Visits many sites when it pays, and delivers their changes to sinks and over HTTP (extra `watch`).

Hosts, a state and a number of requests an hour go in; changes come out, soon after they happen. Imports scale/ and all
folders below it. docs/watch.md is the guide.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
