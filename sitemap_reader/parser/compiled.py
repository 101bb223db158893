"""`scanner` is the compiled scanner (scanner.pyx); None where the package was installed without a C compiler."""

from __future__ import annotations

try:
    from . import scanner
except ImportError:
    scanner = None  # type: ignore[assignment]

HAS_SCANNER = scanner is not None

__all__ = ["HAS_SCANNER", "scanner"]
