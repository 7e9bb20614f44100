"""What an engine runs, and what it promises.

A *host* is one worker with everything that it does. An engine calls `step` of each host, never of one host from two threads at
once, again and again while it returns True, and again after a `wake`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

from ..clock import Clock
from ..timely import Fabric


class Host(Protocol):
    """One worker, as an engine sees it."""

    def step(self) -> bool:
        """Do what there is to do, once around; return whether there was anything."""
        ...

    def wait(self, timeout_s: float) -> bool:
        """Block until there may be something to do."""
        ...

    def is_waiting(self) -> bool:
        """Whether something is not done here that cannot go on before others have sent something; asked before `wait`, by its thread."""
        ...

    def idle(self) -> None:
        """Do what can wait; called when `wait` has come back with nothing to do."""
        ...

    def wake(self) -> None:
        """Make `wait` return; from any thread."""
        ...

    def close(self) -> None:
        """Free what the worker holds; from the thread that steps."""
        ...


class WorkerUse(NamedTuple):
    """What a worker has done with its time since it began, and what it has sent to others.

    Attributes
    ----------
    busy_s
        Seconds of a core.
    waited_s
        Seconds in which it did nothing although something was not done, as others had to send something first. What is neither, it had
        nothing to do, or no core.
    sent_bytes
        None where workers share memory.
    """

    busy_s: float
    waited_s: float
    sent_bytes: int | None


class Engine(Protocol):
    """Where the workers of one master run.

    Attributes
    ----------
    losses
        How often the workers, or some of them, were lost so far, or ended for others. Those that are lost are replaced.
    workers
        How many there are.
    on_loss
        Called when the workers are lost or ended for others; from any thread, quick.
    on_restart
        Called when others have taken their place: to put the loops there.
    """

    workers: int
    on_loss: Callable[[], None]
    on_restart: Callable[[], None]

    @property
    def losses(self) -> int:
        """See the class."""
        ...

    @property
    def clock(self) -> Clock:
        """By which everything in the master's process is decided that is decided by time."""
        ...

    @property
    def fabric(self) -> Fabric | None:
        """How the workers reach each other, where they are in this process."""
        ...

    def use(self) -> list[WorkerUse]:
        """What each worker has cost so far, as far as it is known; a second old at most where they are elsewhere."""
        ...

    def start(self, hosts: Sequence[Any], on_failure: Callable[[int, BaseException], None]) -> None:
        """Begin to step the hosts. An error of a host is reported with its index, and the host is stepped on."""
        ...

    def replace(self, workers: int) -> None:
        """End the workers, so many others take their place, and `on_restart` puts the loops there; blocks until it has.

        Raises
        ------
        InvalidArgument
            When there is no room for so many; nothing has changed.
        WorkerLost
            When they did not come, or the loops could not be put there; as many as before have taken their place again.
        """
        ...

    def await_workers(self) -> int:
        """Block while workers that were lost are being replaced; `losses` as it is when they are there.

        Raises
        ------
        WorkerLost
            When there will be none any more.
        """
        ...

    def wait_for(
        self, condition: Callable[[], bool], timeout_s: float | None, *, about: object = None
    ) -> bool:
        """Block (or step) until a condition that hosts bring about holds; False when the time is over.

        Parameters
        ----------
        about
            What has to be notified about for the condition to be looked at again at once; None: anything.
        """
        ...

    def notify(self, *about: object) -> None:
        """Have the conditions looked at again of who waits about one of these, or about anything; from any thread."""
        ...

    def close(self) -> None:
        """Stop stepping and close the hosts."""
        ...
