"""Reads a site's sitemaps into typed URL records.

A target or the bytes of a document go in; typed records, problems and outcomes come out. `__init__.pyi` names what is
public here, and that of each subpackage what other folders and tests may import from it; docs/api has what users may
rely on. All of it loads on first use.
"""

import os

import lazy_loader

__getattr__, _, __all__ = lazy_loader.attach_stub(__name__, __file__)
# `import *` gives no modules, and works without pandas and pyarrow, which these need.
_ANALYSIS = ["Chart", "Measure", "page_key"]
# Those that programs use; others have the name of a command, and are taken for one.
_SUBPACKAGES = ["fetch", "frontier", "scale", "state", "types", "watching"]
__all__ = sorted({*__all__} - {name.partition(".")[0] for name in os.listdir(__path__[0])} - {*_ANALYSIS})


def __dir__() -> list[str]:  # as completion shows it
    return [*__all__, *_ANALYSIS, *_SUBPACKAGES]
