"""A netrc file -> the logins in it, by host. An error names the file, and nothing that stands in it."""

from __future__ import annotations

import os
from netrc import NetrcParseError, netrc
from pathlib import Path

from ..frontier.credentials import Logins, basic
from ..model.errors import UsageError


def read_netrc(given: bool | str | os.PathLike[str] | Logins | None) -> Logins:
    """The logins of the file that is named; True: of the one that $NETRC names, or of ~/.netrc.

    An entry `default` is left out: it would go to every host. UsageError where the file cannot be read. What was read
    before stays as it is.
    """
    if given is None or given is False or isinstance(given, Logins):
        return given or Logins()
    path = Path(os.environ.get("NETRC") or Path.home() / ".netrc") if given is True else Path(given)
    try:
        entries = netrc(None if path == Path.home() / ".netrc" else path).hosts
    except NetrcParseError as exc:  # its message holds a word of the file
        if not exc.lineno:  # it is about the file, not about a line
            what = f"{path} is not yours, or others may read it too: chmod 600 {path}"
        else:
            what = f"line {exc.lineno} of {path} cannot be read; write `machine HOST login USER password PASSWORD`"
        raise UsageError(f"netrc: {what}") from None
    except (OSError, ValueError, RuntimeError) as exc:
        why = getattr(exc, "strerror", None) or "it is no text"
        raise UsageError(f"netrc: {path} cannot be read: {why}; name a netrc file") from None
    logins = {name: basic(user, password) for name, (user, _, password) in entries.items() if name != "default"}
    return Logins({name.lower().removesuffix("."): login for name, login in logins.items()})
