"""Sink, the interface through which a watch delivers changes; and the error by which a sink asks for another try.

In: entries of the change log, one after the other. Out: nothing, once the receiver has an entry.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from ..model.errors import SitemapReaderError, masked, printable

if TYPE_CHECKING:
    from ..state.change_log import LogEntry


class DeliveryFailed(SitemapReaderError):
    """An entry that the receiver does not have yet, and is delivered again; the message says why.

    `retry_after` is the seconds until the receiver wants the next try. `is_rejected`: the receiver answers, and refuses
    this entry; with dead letters, the entries behind it are delivered after some tries. `is_permanent`: the receiver
    wants no more changes at all, so delivery to it ends.
    """

    def __init__(
        self, message: str, *, retry_after: float | None = None, is_rejected: bool = False, is_permanent: bool = False
    ) -> None:
        self.message = printable(masked(message))
        super().__init__(self.message)
        self.retry_after = retry_after
        self.is_rejected = is_rejected
        self.is_permanent = is_permanent


class Sink(Protocol):
    """A receiver of changes; a class with these three members is one.

    All calls come from one task, in the order of the log, the next one after the previous one has ended. An entry comes
    again after DeliveryFailed, and after a process that was killed: `entry.key` is the same then, and no other entry
    has it. Any other exception ends the watch.
    """

    @property
    def name(self) -> str:
        """The key under which the state keeps how far the sink is: the same in each run, and without secrets.

        /healthz shows it to anyone, unless the class has a `public_name` for that.
        """
        ...

    async def deliver(self, entry: LogEntry, /) -> None:
        """Returns when the receiver has the changes durably; DeliveryFailed where it does not.

        It may be cancelled, and the entry then comes again in a later run.
        """
        ...

    async def close(self) -> None:
        """Releases connections and files; called once, after the last delivery."""
        ...
