"""A kill, played: from the nth change of a folder on nothing is changed any more, as where the process is gone."""

from __future__ import annotations

import functools
import os
import pathlib
import shutil
from contextlib import contextmanager, suppress

import pytest

# What changes a folder, by who has it.
_CHANGES = {
    pathlib.Path: ("mkdir", "rename", "replace", "unlink", "write_text", "write_bytes", "open"),
    shutil: ("rmtree", "copyfile"),
    os: ("fsync",),
}


class Killed(BaseException):
    """Nobody catches it, and what stands in a `finally` can do nothing either."""


@contextmanager
def killed_at(number):
    """The nth change, from 0, does not happen, nor does any behind it; gives a list of those that were wanted."""
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
