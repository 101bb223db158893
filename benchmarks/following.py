"""A site that is followed: it, and how it looks when 1% of each document has changed, come in; runs of `sync` go out.

Each run begins with the state that the last first run left, so that their order does not matter.
"""

from __future__ import annotations

import gzip
import os
import re
import shutil
from typing import TYPE_CHECKING

import attrs

from . import commands
from .rounds import Measure, Miscounted

if TYPE_CHECKING:
    from pathlib import Path

    from .data import Served

EVERY = 100  # one entry in so many is changed
# nginx makes its ETag of the second and the size of a file, which may both be the same.
LATER_NS = 10 * 10**9
_LASTMOD = re.compile(rb"<lastmod>2")


@attrs.define
class Followed:
    """A served site, and a folder for what is written: the state, the changes, the children as they will be."""

    served: Served
    folder: Path
    changed_urls: int = 0

    @classmethod
    def of(cls, served: Served, folder: Path) -> Followed:
        """Makes the children anew, each with 1% of its dates changed."""
        followed = cls(served, folder)
        for name in ("before", "after"):
            (folder / name).mkdir(parents=True)
        for child in served.children:
            shutil.copy2(child, folder / "before" / child.name)
            after = folder / "after" / child.name
            after.write_bytes(followed._changed(child))
            later = child.stat().st_mtime_ns + LATER_NS
            os.utime(after, ns=(later, later))
        return followed

    def _changed(self, child: Path) -> bytes:
        number = 0

        def date(found: re.Match[bytes]) -> bytes:
            nonlocal number
            number += 1
            self.changed_urls += number % EVERY == 0
            return b"<lastmod>1" if number % EVERY == 0 else found[0]

        return gzip.compress(_LASTMOD.sub(date, gzip.decompress(child.read_bytes())), 6)

    def first(self, *, expat_only: bool) -> Measure:
        """Without a state."""
        self._state.unlink(missing_ok=True)
        measure = self._sync(expat_only=expat_only)
        shutil.copy(self._state, self.folder / "kept.db")
        return attrs.evolve(measure, state_bytes=self._state.stat().st_size / self.served.urls)

    def unchanged(self, *, expat_only: bool) -> Measure:
        """The site is what it was."""
        shutil.copy(self.folder / "kept.db", self._state)
        measure = self._sync(expat_only=expat_only)
        if measure.urls:
            raise Miscounted(f"reported {measure.urls:,} changes where there was none")
        return attrs.evolve(measure, urls=None)

    def changed(self, *, expat_only: bool) -> Measure:
        """Every document has changed a little; afterwards it is as before."""
        shutil.copy(self.folder / "kept.db", self._state)
        self._put("after")
        try:
            return self._sync(expat_only=expat_only)
        finally:
            self._put("before")

    def _put(self, version: str) -> None:
        """With the time of the file."""
        for child in self.served.children:
            shutil.copy2(self.folder / version / child.name, child)

    @property
    def _state(self) -> Path:
        return self.folder / "state.db"

    def _sync(self, *, expat_only: bool) -> Measure:
        return commands.sync(self.served, self.folder / "changes.jsonl", self._state, expat_only=expat_only)
