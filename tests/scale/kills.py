"""Simulates a kill: from the nth change of a folder on nothing is changed any more."""

import functools
import os
import pathlib
import shutil
from contextlib import contextmanager, suppress

import pytest

# Functions that change a folder, by their module.
_CHANGES = {
    pathlib.Path: ("mkdir", "rename", "replace", "unlink", "write_text", "write_bytes", "open"),
    shutil: ("rmtree", "copyfile"),
    os: ("fsync",),
}


class Killed(BaseException):
    """Raised at each further change; it is not caught by the package."""


@contextmanager
def killed_at(number):
    """The nth change, from 0, and all later ones do not happen; yields the list of attempted changes."""
    wanted = []

    def dying(function):
        @functools.wraps(function)
        def run(*args, **kwargs):
            if function.__name__ == "open" and "w" not in [*args[1:], *kwargs.values(), "r"][0]:
                return function(*args, **kwargs)
            wanted.append(f"{function.__name__} {args[0] if args else ''}")
            if len(wanted) > number:
                raise Killed(wanted[-1])
            return function(*args, **kwargs)

        return run

    with pytest.MonkeyPatch.context() as patch:
        for owner, names in _CHANGES.items():
            for name in names:
                patch.setattr(owner, name, dying(getattr(owner, name)))
        with suppress(Killed):
            yield wanted
