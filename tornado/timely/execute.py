"""Running one program on several workers: as threads, or simulated under a seed.

A *program* is a function of a worker. As a generator function it hands control back with ``yield`` whenever the worker should
step, so the same program runs on threads and, in one thread, in every interleaving that a seed can choose. After it returns, its
worker steps until all dataflows are complete. A run that can make no progress any more is ended with an error that names the
operators that still hold tokens.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator
from dataclasses import dataclass
from random import Random
from typing import Any

from ..clock import SYSTEM_CLOCK, Clock
from ..errors import ProtocolViolation
from .fabric import Fabric, SimulatedFabric, ThreadFabric
from .worker import Worker

Program = Callable[[Worker], Any]

_WAIT_S = 0.05


@dataclass(frozen=True, slots=True)
class SimulatedExecution:
    """What a simulation gave."""

    results: list[Any]
    """What the program returned, by worker."""
    trace: list[tuple[int, ...]]
    """Every step (worker,) and every delivery (receiver, sender, dataflow, channel), in order."""


def run_threads(
    program: Program, peers: int, *, patience_s: float = 20.0, clock: Clock = SYSTEM_CLOCK
) -> list[Any]:
    """Run `program` on `peers` threads and return what it returned, by worker.

    Parameters
    ----------
    program : callable
        See the module.
    peers : int
        Number of workers.
    patience_s : float
        After how long without any worker doing anything the run has stalled. A worker that is inside a step or its program, as in
        one long call of an operator, is doing something.
    clock : Clock
        By which that is.

    Raises
    ------
    Exception
        What the program or an operator raised, of the first worker it happened on; the others are stopped.
    TokenMisuse, ProtocolViolation
        When the run stalled, with and without tokens to blame.

    Examples
    --------
    >>> run_threads(lambda worker: worker.index * 10, peers=2)
    [0, 10]
    """
    run = _ThreadedRun(program, peers, patience_s, clock)
    threads = [
        threading.Thread(target=run.work, args=(index,), name=f"worker {index}") for index in range(peers)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if run.failures:
        raise run.failures[0]
    return [run.results[index] for index in range(peers)]


def run_simulated(program: Program, peers: int, seed: int) -> SimulatedExecution:
    """Run `program` on `peers` workers in this thread; `seed` decides every interleaving.

    Raises
    ------
    Exception
        As `run_threads`.

    Examples
    --------
    >>> run_simulated(lambda worker: worker.index * 10, peers=2, seed=1).results
    [0, 10]
    """
    random = Random(seed)
    fabric = SimulatedFabric(peers, random)
    workers = [Worker(index, peers, fabric) for index in range(peers)]
    programs = [_Running(program, worker) for worker in workers]
    unfinished = list(range(peers))
    idle_turns = 0
    while unfinished:
        index = random.choice(unfinished)
        fabric.trace.append((index,))
        did_something = programs[index].turn()
        did_something = workers[index].step() or did_something
        if programs[index].is_over and not workers[index].dataflows:
            unfinished.remove(index)
        idle_turns = 0 if did_something or fabric.waiting() else idle_turns + 1
        if idle_turns > 100 * peers:
            _blame(workers)
    for worker in workers:
        worker.close()
    return SimulatedExecution([running.result for running in programs], fabric.trace)


class _Running:
    """A program, resumed turn by turn."""

    __slots__ = ("_generator", "is_over", "result")

    def __init__(self, program: Program, worker: Worker) -> None:
        started: Any = program(worker)
        self._generator: Generator[Any, None, Any] | None = None
        if isinstance(started, Generator):
            self._generator = started
        self.is_over = self._generator is None
        self.result: Any = started if self.is_over else None

    def turn(self) -> bool:
        """Resume it up to its next yield; whether it ended just now."""
        if self._generator is None:
            return False
        try:
            next(self._generator)
        except StopIteration as stop:
            self._generator, self.result, self.is_over = None, stop.value, True
            return True
        return False


class _ThreadedRun:
    """What the threads of a run share."""

    def __init__(self, program: Program, peers: int, patience_s: float, clock: Clock) -> None:
        self.program = program
        self.clock = clock
        self.patience_s = patience_s
        self.fabric: Fabric = ThreadFabric(peers)
        self.workers = [Worker(index, peers, self.fabric) for index in range(peers)]
        self.results: dict[int, Any] = {}
        self.failures: list[BaseException] = []
        self.last_active_s = self.clock.monotonic()
        self._blaming = threading.Lock()

    def work(self, index: int) -> None:
        worker = self.workers[index]
        try:
            running = _Running(self.program, worker)
            quiet_s, last_active_s = 0.0, self.last_active_s
            while not running.is_over or worker.dataflows:
                if self.failures:
                    return
                ended = running.turn()
                if worker.step() or ended:
                    self.last_active_s = self.clock.monotonic()
                    continue
                if last_active_s != self.last_active_s:
                    quiet_s, last_active_s = 0.0, self.last_active_s
                if quiet_s > self.patience_s and (worker.leaks() or not self._leaks()):
                    if not self._blaming.acquire(blocking=False):
                        return  # another one is blamed: it closes, so it holds its token no more, and is about to say so
                    _blame([worker])
                quiet_s += self._rest(worker)
            self.results[index] = running.result
            worker.close()
        except BaseException as failure:  # noqa: BLE001  (handed to the thread that waits for this one)
            self.failures.append(failure)
            for other in self.workers:
                other.wake()

    def _leaks(self) -> bool:
        """Whether anybody holds a token: who does is to be blamed, and not who waits for that one."""
        return any(worker.leaks() for worker in self.workers)

    def _rest(self, worker: Worker) -> float:
        """Wait for something to do; return for how long nobody did anything.

        Waits are counted, and not the time since a step ended: a step that lasts has not ended yet, and one that found nothing
        may have looked for long.
        """
        began_s = self.clock.monotonic()
        worker.wait(_WAIT_S)
        rested_s = self.clock.monotonic() - began_s
        others = (other for other in self.workers if other is not worker and other.index not in self.results)
        return rested_s if all(other.is_waiting for other in others) else 0.0


def _blame(workers: list[Worker]) -> None:
    outstanding = [
        f"{count} at location {location}, time {moment}"
        for worker in workers
        for dataflow in worker.dataflows.values()
        for (location, moment), count in dataflow.tracker.pointstamps()
    ]
    for worker in workers:
        worker.close()
    raise ProtocolViolation(
        f"the run has stalled, no token is held, but still counted are: {'; '.join(outstanding)}"
    )
