"""The functions of the caller's that a walk calls: wrapped, so that what they raise reaches him as it is.

In: a function. Out: one to pass on. Whoever gets a failure in the end unwraps it with first_failure().
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import attrs

if TYPE_CHECKING:
    from collections.abc import Callable

Argument = TypeVar("Argument")
Result = TypeVar("Result")


class Carried(Exception):
    """What a function of the caller's raised in the middle of a walk, on its way out."""

    def __init__(self, error: BaseException) -> None:
        super().__init__(error)
        self.error = error


def carried(function: Callable[[Argument], Result]) -> Callable[[Argument], Result]:
    """Wraps what is called inside a walk: what it raises comes out of batches_of() as it is, whoever it passes.

    asyncio would take a KeyboardInterrupt for one of its own, and end the loop before anything is closed; a
    CancelledError would end a task that nobody cancelled; a FetchError would pass for the network's.
    """

    def call(argument: Argument) -> Result:
        try:
            return function(argument)
        except BaseException as error:
            raise Carried(error) from error

    return call


@attrs.define
class Listening:
    """Guards the functions of the caller's that only hear: once one has raised, it is that which he hears of.

    None is called any more then, though what a walk has still to say at its end is entered.
    """

    has_raised: bool = False

    def guarded(self, function: Callable[[Argument], None]) -> Callable[[Argument], None]:
        """Wraps one of them: it is called as long as none has raised."""

        def call(argument: Argument) -> None:
            if self.has_raised:
                return
            try:
                function(argument)
            except BaseException:
                self.has_raised = True
                raise

        return call


def first_failure(failure: BaseException) -> BaseException:
    """What failed first, without what tasks and carried() wrap it in."""
    while isinstance(failure, BaseExceptionGroup):
        failure = failure.exceptions[0]
    return failure.error if isinstance(failure, Carried) else failure
