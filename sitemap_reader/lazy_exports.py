"""Public names of a package that are imported from their modules on first use.

In: the name of a package and a table module -> names. Out: `__all__`, `__getattr__` and `__dir__` for that package
(PEP 562). Imports nothing by itself, so that parsing a document loads neither a network library nor a database.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping


def lazy_exports(
    package: str, names_by_module: Mapping[str, Iterable[str]], subpackages: Iterable[str] = ()
) -> tuple[list[str], Callable[[str], object], Callable[[], list[str]]]:
    """`__all__`, `__getattr__` and `__dir__` of `package`; modules are named as in a relative import.

    Subpackages are attributes and in dir(), but not in `__all__`.
    """
    module_of = {name: module for module, names in names_by_module.items() for name in names}
    exported = sorted(module_of)
    packages = frozenset(subpackages)

    def get_attribute(name: str) -> object:
        if name in packages:
            return import_module(f".{name}", package)
        if name not in module_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(module_of[name], package), name)
        setattr(sys.modules[package], name, value)
        return value

    def list_names() -> list[str]:
        return sorted({*exported, *packages})

    return exported, get_attribute, list_names
