"""A worker: runs its share of many dataflows, each with progress of its own.

Workers are equal. Each holds an instance of every operator, and dataflows are installed in the same order everywhere, at any
time, while others run (Naiad, section 3). A step takes in what has arrived and steps the dataflows that have something to do;
the others cost nothing. Messages for a dataflow that is not installed here yet wait for it; those for one that is gone are
dropped.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..errors import TokenMisuse
from .dataflow import Dataflow
from .fabric import Fabric, Message
from .operator import Operator
from .scope import Scope


@dataclass(frozen=True, slots=True)
class WorkerStatistics:
    """What a worker did so far."""

    index: int
    peers: int
    dataflows: int
    """How many are installed and neither complete nor cancelled."""
    installed: int
    """How many ever were."""
    steps: int
    messages_received: int


class Worker:
    """One of `peers` workers. Everything but `wake`, `is_waiting` and activators belongs to one thread.

    Parameters
    ----------
    index : int
        Which one, from 0.
    peers : int
        How many there are.
    fabric : Fabric
        How to reach the others.

    Attributes
    ----------
    is_waiting : bool
        Whether it is in `wait` at this moment, and so in no step and in nobody's program.
    """

    def __init__(self, index: int, peers: int, fabric: Fabric) -> None:
        self.index = index
        self.peers = peers
        self.fabric = fabric
        self.is_waiting = False
        self.dataflows: dict[int, Dataflow] = {}
        self._next = 0
        self._reserved: set[int] = set()
        self._installed = 0
        self._active: list[Dataflow] = []
        self._early: dict[int, list[Message]] = {}
        self._outside: deque[tuple[Dataflow, Operator]] = deque()
        self._steps = 0
        self._received = 0

    def reserve(self) -> int:
        """Take the number of a dataflow that is installed later, or never; what others send to it waits until then.

        All workers must do so, and install those without a number of their own, in the same order.
        """
        number = self._next
        self._next += 1
        self._reserved.add(number)
        return number

    def give_up(self, number: int) -> None:
        """Install nothing under a number that was reserved, if it still is. What others have installed under it comes to no end."""
        self._reserved.discard(number)
        self._early.pop(number, None)

    def dataflow(
        self, build: Callable[[Scope], Any], name: str | None = None, number: int | None = None
    ) -> Dataflow:
        """Install a dataflow. All workers must install the same ones in the same order, not at the same moment.

        Parameters
        ----------
        build : callable
            Gets the outermost scope and builds this worker's instance of the graph; what it returns is kept as `result`.
        name : str, optional
            For messages.
        number : int, optional
            One that was reserved; left out, the next.

        Raises
        ------
        InvalidDataflow
            When a cycle does not advance time, or the graph is not the same as on the other workers.
        """
        if number is None:
            number = self.reserve()
        self._reserved.remove(number)
        dataflow = Dataflow(self, number, name or f"dataflow {number}")
        self._installed += 1
        self.dataflows[number] = dataflow
        dataflow.is_scheduled = True  # not before it is finished
        try:
            dataflow.result = build(Scope.root(dataflow))
            dataflow.finish()
        except BaseException:
            dataflow.cancel()
            raise
        self._active.append(dataflow)
        for message in self._early.pop(number, ()):
            dataflow.deliver(*message[1:])
        return dataflow

    def step(self) -> bool:
        """Take in what has arrived and do what there is to do, once around; whether there was anything.

        An exception of an operator comes out here; its dataflow is then marked with it (`Dataflow.failure`) and not stepped
        again, the others go on with the next step.
        """
        self._steps += 1
        messages = self.fabric.receive(self.index)
        for message in messages:
            self._take(message)
        outside = self._outside
        for _ in range(len(outside)):
            dataflow, operator = outside.popleft()
            if not (dataflow.is_complete or dataflow.is_cancelled):
                dataflow.activate(operator)
        active = self._active
        if not active:
            return bool(messages)
        self._active = []
        for position, dataflow in enumerate(active):
            if dataflow.is_cancelled or dataflow.failure is not None:
                continue
            try:
                dataflow.step()
            except BaseException:
                self._active += active[position + 1 :]
                raise
            if dataflow.is_busy and not dataflow.is_cancelled:
                self._active.append(dataflow)
                continue
            dataflow.is_scheduled = False
            if dataflow.is_complete:
                self.forget(dataflow)
        return True

    def step_while(self, condition: Callable[[], bool]) -> None:
        """Step, waiting where there is nothing to do, as long as `condition` holds."""
        while condition():
            if not self.step():
                self.wait(0.1)

    def wait(self, timeout_s: float | None = None) -> bool:
        """Block until there may be something to do; False when the time is over. Returns at once if a step would do something."""
        if self._active or self._outside:
            return True
        self.is_waiting = True
        try:
            return self.fabric.wait(self.index, timeout_s)
        finally:
            self.is_waiting = False

    def wake(self) -> None:
        """Make `wait` return, now or when it is called next. Any thread may call it."""
        self.fabric.wake(self.index)

    def close(self) -> None:
        """Give up everything that still runs.

        Raises
        ------
        TokenMisuse
            When a dataflow was neither complete nor cancelled and operators still hold tokens: their names.
        """
        leaks = self.leaks()
        for dataflow in list(self.dataflows.values()):
            dataflow.cancel()
        if leaks:
            raise TokenMisuse(
                f"worker {self.index} closes while {'; '.join(leaks)}",
                hint="Drop every token, or cancel the dataflow.",
            )

    def leaks(self) -> list[str]:
        """The tokens that operators still hold here, in words; for another thread, about."""
        return [leak for dataflow in list(self.dataflows.values()) for leak in dataflow.leaks()]

    def statistics(self) -> WorkerStatistics:
        """What it did so far."""
        return WorkerStatistics(
            self.index, self.peers, len(self.dataflows), self._installed, self._steps, self._received
        )

    # Called by dataflows

    def schedule(self, dataflow: Dataflow) -> None:
        """Step a dataflow in the next step."""
        if dataflow.is_complete or dataflow.is_cancelled or dataflow.failure is not None:
            return
        dataflow.is_scheduled = True
        self._active.append(dataflow)

    def activate_from_outside(self, dataflow: Dataflow, operator: Operator) -> None:
        """Have an operator called in the next step; from any thread."""
        self._outside.append((dataflow, operator))
        self.fabric.wake(self.index)

    def forget(self, dataflow: Dataflow) -> None:
        """Remove a dataflow that is complete or cancelled."""
        self.dataflows.pop(dataflow.number, None)

    def _take(self, message: Message) -> None:
        self._received += 1
        number = message[0]
        dataflow = self.dataflows.get(number)
        if dataflow is not None:
            if dataflow.failure is None:
                dataflow.deliver(message[1], message[2], message[3])
        elif number >= self._next or number in self._reserved:
            self._early.setdefault(number, []).append(message)
