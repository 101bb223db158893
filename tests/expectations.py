"""Rewrites an expected output, for the scripts that do so: prints what changes."""

import difflib
import sys
from pathlib import Path


def rewrite(file: Path, new: bytes) -> bool:
    """Writes the file and prints the differences; False if it is unchanged."""
    old = file.read_bytes() if file.exists() else None
    if new == old:
        return False
    before, after = (text.decode().splitlines(keepends=True) for text in (old or b"", new))
    sys.stdout.writelines(difflib.unified_diff(before, after, f"old {file.name}", f"new {file.name}", n=1))
    file.write_bytes(new)
    return True
