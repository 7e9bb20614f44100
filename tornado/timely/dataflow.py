"""One dataflow on one worker: its operators, its view of progress, and what it still has to tell the others.

A step applies what the others said, calls the operators that have something to do, and passes on what changed. Changes of one
call are applied whole. They are broadcast when somebody could be waiting for them: an update about a pointstamp p may be held
back only while a pointstamp other than p could still result in p here, or its net change is positive (Naiad, section 3.3); it
is never held by a worker that has nothing to do. Where nobody waits for frontiers, which whoever builds a dataflow says of it
(`lags`), the others are told from time to time, as long as a token is held here: to them it is where it was. A broadcast goes
out FIFO and is taken in whole.

Guaranteed: an idle dataflow is not touched at all; a dataflow is complete, on its worker, when no pointstamp is left anywhere.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import Any, Protocol

from .change_batch import ChangeBatch
from .channel import Channel, Pact
from .fabric import PROGRESS, Fabric
from .operator import InputPort, Operator, OutputPort, Wake
from .order import Time
from .path_summary import PathSummary
from .reachability import ReachabilityBuilder
from .tracker import Pointstamp, Tracker

Updates = list[tuple[Pointstamp, int]]

Resolver = Callable[[], tuple[OutputPort, PathSummary]]
"""Finds the output that an edge begins at, and what happens to times on the way, once the graph is closed."""

HOLD_STEPS = 4
"""For how many steps progress is held back at most, where the rule allows it."""

_LAGGING_STEPS = 64  # the same, where nobody waits for it


class Scheduler(Protocol):
    """The worker, as its dataflows see it."""

    @property
    def index(self) -> int:
        """Which worker."""

    @property
    def peers(self) -> int:
        """How many there are."""

    @property
    def fabric(self) -> Fabric:
        """How to reach the others."""

    def schedule(self, dataflow: Dataflow) -> None:
        """Step a dataflow in the next step."""

    def activate_from_outside(self, dataflow: Dataflow, operator: Operator) -> None:
        """Have an operator called in the next step; from any thread."""

    def forget(self, dataflow: Dataflow) -> None:
        """Remove a dataflow that is complete or cancelled."""


@dataclass(frozen=True, slots=True)
class DataflowStatistics:
    """What a dataflow did so far, on one worker."""

    number: int
    name: str
    operators: int
    steps: int
    calls: int
    """How often an operator was called."""
    messages_sent: int
    """Batches that went to other workers."""
    progress_sent: int
    """Broadcasts of progress."""
    updates_sent: int
    """Net changes in these broadcasts."""
    updates_received: int
    outstanding: int
    """Pointstamps known here, of all workers."""
    is_complete: bool


class Dataflow:
    """A dataflow as `Worker.dataflow` makes it.

    Attributes
    ----------
    number : int
        Counts the dataflows of a worker; the same on all workers.
    name : str
        For messages.
    result : object
        What the function that built it returned.
    failure : BaseException or None
        What an operator raised. A dataflow that failed is not stepped any more; cancel it.
    lags : bool
        Whether no operator is called for progress or has to know a frontier as it is now, and nobody probes for one; the same on
        all workers.
    """

    def __init__(self, worker: Scheduler, number: int, name: str) -> None:
        self.number = number
        self.name = name
        self.result: Any = None
        self.failure: BaseException | None = None
        self.lags = False
        self.is_complete = False
        self.is_cancelled = False
        self.worker = worker
        self.loops_back = worker.fabric.loops_back
        self.operators: list[Operator] = []
        self.graph: ReachabilityBuilder = ReachabilityBuilder()
        self.tracker: Tracker
        # What operators and handles changed since the last settlement: (location, time, delta).
        self.changes: list[tuple[int, Time, int]] = []
        self.is_scheduled = False
        self._edges: list[tuple[Resolver, InputPort | int, Pact | None]] = []
        self._inputs: list[InputPort] = []  # by channel
        self._arrived: list[Updates] = []
        self._outgoing: ChangeBatch[Pointstamp] = ChangeBatch()
        self._alone = worker.peers == 1
        self._held_steps = 0
        self._ready: list[int] = []
        self._later: list[int] = []
        self._current = -1
        self._frontier_watchers: dict[int, Operator] = {}
        self._count_watchers: list[tuple[Operator, ...]] = []
        self._steps = self._calls = self._messages_sent = 0
        self._progress_sent = self._updates_sent = self._updates_received = 0

    # Building

    def add_operator(self, name: str) -> Operator:
        """A new operator without ports."""
        operator = Operator(self, len(self.operators), name)
        self.operators.append(operator)
        return operator

    def add_edge(self, resolve: Resolver, target: InputPort | int, pact: Pact | None) -> None:
        """Connect an output to an input port, or to a bare location where only its frontier is of interest."""
        self._edges.append((resolve, target, pact))

    def finish(self) -> None:
        """Close the graph: resolve feedback, compute reachability, and place the first tokens of all workers."""
        worker = self.worker
        channels: dict[int, list[Channel]] = {}
        for resolve, target, pact in self._edges:
            output, summary = resolve()
            location = target if isinstance(target, int) else target.location
            self.graph.link(output.location, location, summary)
            if isinstance(target, InputPort) and pact is not None:
                channel = Channel(
                    len(self._inputs), target, pact, summary.compiled(), worker.index, worker.peers
                )
                self._inputs.append(target)
                channels.setdefault(output.location, []).append(channel)
        reachability = self.graph.build()
        for operator in self.operators:
            for output in operator.outputs:
                output.channels = tuple(channels.get(output.location, ()))
        watching = [operator for operator in self.operators if operator.wake is not Wake.MESSAGES]
        self._frontier_watchers = {
            port.location: operator for operator in watching for port in operator.inputs
        }
        self.tracker = Tracker(reachability, self._frontier_watchers)
        if any(operator.wake is Wake.POINTSTAMPS for operator in watching):
            self._count_watchers = [
                tuple(o for o in watching if o.wake is Wake.POINTSTAMPS and _ports(o) & set(targets))
                for targets in reachability.targets
            ]
        for operator in self.operators:
            for output in operator.outputs:
                self.tracker.update(output.location, output.order.least, worker.peers)
        self.tracker.propagate()
        worker.fabric.agree(
            self.number, (self.name, tuple(o.name for o in self.operators), reachability.links)
        )
        for operator in self.operators:
            self.activate(operator)

    # Called by operators, tokens and channels while it runs

    def record(self, location: int, time: Time, delta: int) -> None:
        """Note a change of a pointstamp's count; it takes effect when the operator yields."""
        self.changes.append((location, time, delta))
        if not self.is_scheduled:
            self.worker.schedule(self)

    def activate(self, operator: Operator) -> None:
        """Call an operator: in this step if its turn is still to come, else in the next."""
        if operator.is_active:
            return
        operator.is_active = True
        if operator.index > self._current:
            heappush(self._ready, operator.index)
        else:
            self._later.append(operator.index)
        if not self.is_scheduled:
            self.worker.schedule(self)

    def activate_from_outside(self, operator: Operator) -> None:
        """Have an operator called; from any thread."""
        self.worker.activate_from_outside(self, operator)

    def send(self, receiver: int, channel: int, time: Time, payload: Any) -> None:
        """Put a message for a worker on its way."""
        self._messages_sent += 1
        self.worker.fabric.send(self.worker.index, receiver, (self.number, channel, time, payload))

    def deliver(self, channel: int, time: Time, payload: Any) -> None:
        """Take in a message that came from a worker."""
        if channel != PROGRESS:
            self._inputs[channel].arrive(time, payload)
            return
        self._arrived.append(payload)
        if not self.is_scheduled:
            self.worker.schedule(self)

    def settle(self, author: Operator | None) -> None:
        """Apply what was recorded to this worker's own view, and keep it for the others."""
        update = self.tracker.update
        changes = self.changes
        for location, time, delta in changes:
            update(location, time, delta)
        if not self._alone:
            keep = self._outgoing.update
            for location, time, delta in changes:
                keep((location, time), delta)
        if self._count_watchers:
            self._wake_watchers({location for location, _, _ in changes}, author)
        changes.clear()

    # Called by the worker

    def step(self) -> None:
        """Do what there is to do now. After it, `is_busy` says whether there is more."""
        self._steps += 1
        if self._arrived:
            self._apply_arrived()
        if self.changes:
            self.settle(None)
        self._wake_moved()
        ready, operators = self._ready, self.operators
        while ready:
            operator = operators[heappop(ready)]
            self._current = operator.index
            operator.is_active = False
            self._call(operator)
        self._current = -1
        self._wake_moved()
        if self._later:
            for index in self._later:
                heappush(ready, index)
            self._later.clear()
        if not self._alone and self._outgoing:
            self._broadcast_if_due()
        if self.tracker.outstanding == 0 and not ready and not self.changes:
            self.is_complete = True

    @property
    def is_busy(self) -> bool:
        """Whether a step would do something."""
        return bool(self._ready or self._arrived or self.changes)

    def tell_progress(self) -> None:
        """Tell the others what was held back. For a worker that has nothing to do, so that who looks at it sees where it is."""
        if self._outgoing and not self.is_scheduled:
            self._broadcast()

    def cancel(self) -> None:
        """Drop all queues and never run again, on this worker; the others must cancel it too. Tokens die with it."""
        if self.is_complete or self.is_cancelled:
            return
        self.is_cancelled = True
        for operator in self.operators:
            operator.logic = _cancelled
            for port in operator.inputs:
                port.discard()
        self._arrived.clear()
        self._outgoing.clear()
        self._ready.clear()
        self._later.clear()
        self.changes.clear()
        self.worker.forget(self)

    def leaks(self) -> list[str]:
        """The tokens that are still held on this worker, in words that name their operators."""
        if self.is_cancelled or self.failure is not None:
            return []
        return [
            f"{output.operator.name} in {self.name} holds {len(output.tokens)} token(s) for output {output.index}"
            for operator in self.operators
            for output in operator.outputs
            if output.tokens
        ]

    def statistics(self) -> DataflowStatistics:
        """What it did so far."""
        return DataflowStatistics(
            number=self.number,
            name=self.name,
            operators=len(self.operators),
            steps=self._steps,
            calls=self._calls,
            messages_sent=self._messages_sent,
            progress_sent=self._progress_sent,
            updates_sent=self._updates_sent,
            updates_received=self._updates_received,
            outstanding=self.tracker.outstanding,
            is_complete=self.is_complete,
        )

    def _call(self, operator: Operator) -> None:
        self._calls += 1
        try:
            operator.logic()
        except BaseException as failure:
            self.failure = failure
            failure.add_note(
                f"in operator {operator.name} of dataflow {self.name} on worker {self.worker.index}"
            )
            raise
        operator.turn += 1
        if operator.consumed:
            changes = self.changes
            for location, time in operator.consumed:
                changes.append((location, time, -1))
            operator.consumed.clear()
        if self.changes:
            self.settle(operator)
        if any(map(len, operator.inputs)):
            self.activate(operator)

    def _apply_arrived(self) -> None:
        arrived, self._arrived = self._arrived, []
        update = self.tracker.update
        places = set()
        for updates in arrived:
            self._updates_received += len(updates)
            for (location, time), delta in updates:
                update(location, time, delta)
                places.add(location)
        if self._count_watchers:
            self._wake_watchers(places, None)

    def _wake_moved(self) -> None:
        for location in self.tracker.propagate():
            self.activate(self._frontier_watchers[location])

    def _wake_watchers(self, locations: set[int], author: Operator | None) -> None:
        for location in sorted(locations):
            for operator in self._count_watchers[location]:
                if operator is not author:
                    self.activate(operator)

    def _broadcast_if_due(self) -> None:
        self._held_steps += 1
        if self.lags and self._held_steps < _LAGGING_STEPS and self._holds_tokens():
            return
        is_covered = self.tracker.is_covered
        if (
            self._ready
            and self._held_steps < HOLD_STEPS
            and all(delta > 0 or is_covered(location, time) for (location, time), delta in self._outgoing)
        ):
            return
        self._broadcast()

    def _holds_tokens(self) -> bool:
        return any(output.tokens for operator in self.operators for output in operator.outputs)

    def _broadcast(self) -> None:
        self._held_steps = 0
        updates = self._outgoing.drain()
        worker = self.worker
        message = (self.number, PROGRESS, (), updates)
        for peer in range(worker.peers):
            if peer != worker.index:
                worker.fabric.send(worker.index, peer, message)
        self._progress_sent += 1
        self._updates_sent += len(updates)


def _ports(operator: Operator) -> set[int]:
    return {port.location for port in operator.inputs} | {port.location for port in operator.outputs}


def _cancelled() -> None:
    """What an operator of a cancelled dataflow does."""
