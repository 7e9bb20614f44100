"""Seeded simulation of whole loops: a seed chooses a graph that changes, forks, cancels, stops, and every interleaving.

One thread steps the real workers with the real kernels (`SimulationEngine`), so a run can be repeated by its seed alone. Each run
is judged by laws that any schedule must keep:

- *exact*: a branch that converged has the distances of exactly the prefix that its snapshot names, bit for bit; one that was
  stopped has none that is too short; the main loop, once idle, has those of the whole stream;
- *whole copy*: what a branch starts from is a copy of the loop's state, bit for bit, whatever its columns were used for before;
- *delay bound*: every commit's k - τ is below B;
- *synchronous*: with B = 1 a branch does what a plain synchronous iteration does, update by update and round by round;
- *simulated time*: the instant of a snapshot is one of the engine's clock, so that it follows from the seed too;
- *nothing left*: in the end no session, no prepare list, no mark, no lease and no grave is left, and nothing impossible happened;
- *no deadlock*: it ends.

The streams of `tornado.testing` are long and well-behaved; those made here are short and rude: small graphs, many ties and
zero weights, records that name what is not there.
"""
# ruff: noqa: SLF001  a judge looks inside what it judges

from __future__ import annotations

import gc
import hashlib
import itertools
import math
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from random import Random
from types import ModuleType
from typing import Any, ClassVar, cast

import numpy as np
from numpy.typing import NDArray

from .config import DelayBound
from .engine import SimulationEngine
from .errors import LawBroken
from .kinds.selective import loop_columns as names
from .kinds.selective.branch_processor import BranchProcessor
from .kinds.selective.bundle import Bundle
from .kinds.selective.loop_columns import UNBOUNDED
from .kinds.selective.loop_state import LoopState
from .kinds.selective.processor import SelectiveProcessor
from .kinds.selective.program import SelectiveProgram
from .kinds.selective.whole_copy import differences_from_whole_copy
from .loops import Branch, BranchState, Master
from .loops.host import WorkerHost
from .loops.iterations import iterations_of
from .protocol.session_kernel import OPEN_RECORDS
from .records.edge_batch import EdgeBatch
from .records.operations import INSERT, REMOVE, REPLACE
from .testing import Distances, EdgeList, GraphModel, exact_distances
from .value_types import ValueArray

_DELAY_BOUNDS: tuple[DelayBound, ...] = (1, 2, 4, 64, None, "auto")
_WORKERS = (1, 2, 2, 3, 4)
_TIED_WEIGHTS = (0.0, 0.0, 1.0, 1.0, 2.0, 5.0)
_PAUSES = (0, 0, 1, 5, 30, 100)
# A master is a knot of references, and its columns hold much address space: they must not wait for the collector to come round.
_COLLECTED_EVERY = 32
_runs = itertools.count(1)


@dataclass(frozen=True)
class LeastSums(SelectiveProgram):
    """Shortest paths, function by function as in `apps.sssp`, so that both are one compiled kernel."""

    source: int
    worst: ClassVar[float] = math.inf

    @staticmethod
    def initial(vertex: int, source: int) -> float:
        """The source is at distance 0, everything else is out of reach until a path is known."""
        return 0.0 if vertex == source else math.inf

    @staticmethod
    def offer(value: float, weight: float) -> float:
        """A path to the producer, and then the edge."""
        return value + weight

    @staticmethod
    def better(value: float, other: float) -> bool:
        """The shorter path."""
        return value < other


@dataclass(frozen=True, slots=True)
class SimulatedRun:
    """What a run was and did; the same seed gives an equal one.

    Attributes
    ----------
    delay_bound
        B; None is unbounded.
    branches
        How many were judged, cancelled ones included.
    updates, prepares, waves
        Commits, sessions and invalidation waves of the main loop and its branches.
    trace
        Digest of every delivery between workers and every value that came out.
    """

    seed: int
    workers: int
    delay_bound: DelayBound
    branches: int
    updates: int
    prepares: int
    waves: int
    trace: str


def simulate(seed: int, *, program: type[SelectiveProgram] = LeastSums) -> SimulatedRun:
    """Simulate one run and judge it.

    Parameters
    ----------
    seed
        Everything about the run follows from it.
    program
        Has the parameter `source` and the meaning of `LeastSums`; another one only to show that the judge notices.

    Raises
    ------
    LawBroken
        With the seed in its message.
    """
    if next(_runs) % _COLLECTED_EVERY == 0:
        gc.collect()
    try:
        return _Simulation(seed, program).run()
    except LawBroken:
        raise
    except Exception as error:
        raise LawBroken("no failure", f"seed {seed}: {type(error).__name__}: {error}") from error


def synchronous_rounds(edges: EdgeList, source: int) -> list[dict[int, float]]:
    """What a plain synchronous iteration commits in each round: all that improved, from what the round before announced."""
    leaving: defaultdict[int, list[tuple[int, float]]] = defaultdict(list)
    for src, dst, weight in zip(edges.src.tolist(), edges.dst.tolist(), edges.weight.tolist(), strict=True):
        leaving[src].append((dst, weight))
    known: dict[int, float] = {}
    improved = {source: 0.0}
    rounds = []
    while improved:
        rounds.append(improved)
        known |= improved
        offers: dict[int, float] = {}
        for producer, value in improved.items():
            for consumer, weight in leaving[producer]:
                if value + weight < min(known.get(consumer, math.inf), offers.get(consumer, math.inf)):
                    offers[consumer] = value + weight
        improved = offers
    return rounds


@dataclass(slots=True)
class _Fork:
    branch: Branch
    source: int


class _Watched(ModuleType):
    """A kernel with a judge beside the one function that commits, and one beside the fork."""

    def __init__(self, kernel: ModuleType, simulation: _Simulation) -> None:
        super().__init__(kernel.__name__)
        self._kernel = kernel
        self._simulation = simulation

    def __getattr__(self, name: str) -> Any:
        return getattr(self._kernel, name)

    def advance(self, graph: Any, session: Any, loop: NDArray[np.int64], *rest: Any) -> int:
        """Work off what is pending, and have the greatest commit judged."""
        found = self._simulation.peers_of(loop)
        if found is None:  # a rehearsal, which has everything compiled before the loop starts
            rehearsed: int = self._kernel.advance(graph, session, loop, *rest)
            return rehearsed
        processor, peers = found
        before = processor.state.counters[names.ITERATION]
        left: int = self._kernel.advance(graph, session, loop, *rest)
        after = processor.state.counters[names.ITERATION]
        if after > before:  # lower ones were within the bound when a greater one was: τ never goes back
            self._simulation.judge_commit(int(after), processor, peers)
        return left

    def fork(self, loop: NDArray[np.int64], session: Any, branch: NDArray[np.int64], *missing: int) -> None:
        """Copy what is missing, and have the copy judged."""
        self._kernel.fork(loop, session, branch, *missing)
        found = [self._simulation.peers_of(columns) for columns in (loop, branch)]
        if None not in found:
            self._simulation.judge_copy(*(processor.state for processor, _ in filter(None, found)))


class _Simulation:
    def __init__(self, seed: int, program: type[SelectiveProgram]) -> None:
        self.seed = seed
        self.rng = rng = Random(seed)
        count = rng.randint(2, 14)
        small = rng.random() < 0.5
        self.ids = list(range(count)) if small else [rng.getrandbits(64) - (1 << 63) for _ in range(count)]
        self.tied = rng.random() < 0.7
        self.workers = rng.choice(_WORKERS)
        self.delay_bound = rng.choice(_DELAY_BOUNDS)
        self.engine = SimulationEngine(self.workers, seed=seed)
        self.kernel = program.kernel()
        watched = _Watched(self.kernel, self)
        judged = type(program.__name__, (program,), {"kernel": classmethod(lambda _: watched)})
        self.source = self.ids[0]
        self.master = Master(workers=self.workers, engine=self.engine)
        self.began = self.engine.clock.now()
        self.loop = self.master.start(judged(source=self.source), "simulated", self.delay_bound)
        for part in _compiled(self.loop.parts()):
            if seed % 2:
                part.state.always_prepare()
            part.is_patient = seed % 4 >= 2
        self.model = GraphModel()
        self.records = [0]  # by version
        self.seen: list[set[int]] = [set()]
        self.offsets: list[dict[str, int]] = [{}]
        self.inserted: list[tuple[int, int, float]] = []
        # In some runs a cycle through all vertices, and edges that feed it, which come and go while it still hears of them.
        others = self.ids[1:]
        self.cycle = list(zip(others, [*others[1:], others[0]], strict=True)) if seed % 3 == 0 else []
        self.has_cycle = bool(self.cycle)
        self.feeding: list[tuple[int, int, float]] = []
        self.forks: list[_Fork] = []
        self.branches = self.updates = self.prepares = self.waves = 0
        self.digest = hashlib.blake2b(digest_size=16)

    def run(self) -> SimulatedRun:
        rng = self.rng
        for _ in range(rng.randint(1, 12)):
            self.admit()
            self.engine.step(rng.choice(_PAUSES))
            if rng.random() < 0.5:
                self.fork()
            if rng.random() < 0.3:
                self.judge_finished()
        self.fork()
        while self.forks:
            self.forks[0].branch.wait()
            self.judge_finished()
        self.judge_main()
        if self.delay_bound == 1:
            self.judge_rounds()
        self.judge_leftovers()
        statistics = self.loop.statistics()
        self.note(self.engine.fabric.trace, statistics.updates, statistics.prepares, statistics.iteration)
        self.master.close()
        return SimulatedRun(
            self.seed,
            self.workers,
            self.delay_bound,
            self.branches,
            self.updates + statistics.updates,
            self.prepares + statistics.prepares,
            self.waves + statistics.waves,
            self.digest.hexdigest(),
        )

    # What happens

    def admit(self) -> None:
        rows = [self.record() for _ in range(self.rng.randint(1, 15))]
        src, dst, weight, op = zip(*rows, strict=True)
        batch = EdgeBatch.of(src, dst, np.array(weight, np.float64), op=np.array(op, np.int8))
        source = self.rng.choice("ab")
        offset = self.offsets[-1].get(source, 0) + len(batch)
        version = self.loop.admit(batch, source, offset)
        self.model.apply(batch)
        self.records.append(len(self.model))
        self.seen.append(self.seen[-1] | set(src) | set(dst))
        self.offsets.append({**self.offsets[-1], source: offset})
        self.hold(
            "exact", version == len(self.records) - 1, f"batch {len(self.records) - 1} got version {version}"
        )

    def record(self) -> tuple[int, int, float, int]:
        """A record; removals name what was inserted once, and is gone by now sometimes."""
        rng = self.rng
        if self.cycle:
            return (*self.cycle.pop(), self.weight(), INSERT)
        if self.has_cycle and rng.random() < 0.7:
            if len(self.feeding) > rng.randint(0, 2):
                return (*self.feeding.pop(0), REMOVE)
            self.feeding.append((self.source, rng.choice(self.ids[1:]), self.weight()))
            return (*self.feeding[-1], INSERT)
        if not self.inserted or rng.random() < 0.55:
            edge = rng.choice(self.ids), rng.choice(self.ids), self.weight()
            self.inserted.append(edge)
            return (*edge, INSERT)
        place = rng.randrange(len(self.inserted))
        src, dst, weight = self.inserted[place]
        kind = rng.random()
        if kind < 0.1:
            self.inserted[place] = src, dst, self.weight()
            return (*self.inserted[place], REPLACE)
        if kind < 0.95:
            del self.inserted[place]
        return src, dst, weight if kind < 0.5 else math.nan, REMOVE

    def weight(self) -> float:
        return self.rng.choice(_TIED_WEIGHTS) if self.tied else self.rng.random() * 3

    def fork(self) -> None:
        rng = self.rng
        source = rng.choice(self.ids) if rng.random() < 0.3 else self.source
        most = rng.randint(0, 6) if rng.random() < 0.1 else None
        fork = _Fork(self.loop.fork(parameters={"source": source}, max_iterations=most), source)
        self.forks.append(fork)
        self.engine.step(rng.choice(_PAUSES[:5]))
        ending = rng.random()
        if ending < 0.1:
            fork.branch.cancel()
        elif ending < 0.2:
            fork.branch.stop()

    # What must hold

    def hold(self, law: str, holds: bool, broken: str) -> None:  # noqa: FBT001
        if not holds:
            bound = "unbounded" if self.delay_bound is None else self.delay_bound
            raise LawBroken(law, f"seed {self.seed}: {broken} ({self.workers} workers, delay bound {bound})")

    def note(self, *facts: object) -> None:
        self.digest.update(repr(facts).encode())

    def edges(self, version: int) -> EdgeList:
        return self.model.edges(prefix=self.records[version])

    def judge_finished(self) -> None:
        running = []
        for fork in self.forks:
            if fork.branch.state is BranchState.RUNNING:
                running.append(fork)
            else:
                self.judge_branch(fork)
                fork.branch.release()
        self.forks = running

    def judge_branch(self, fork: _Fork) -> None:
        branch = fork.branch
        if branch.error is not None:
            raise branch.error
        self.branches += 1
        self.note(branch.id, branch.state.value, branch.snapshot.instant.isoformat())
        if branch.state is BranchState.CANCELLED:
            return
        version = branch.snapshot.version
        given = branch.snapshot.offsets
        self.hold(
            "exact", given == self.offsets[version], f"branch {branch.id} of version {version} names {given}"
        )
        instant, now = branch.snapshot.instant, self.engine.clock.now()
        self.hold(
            "simulated time",
            self.began <= instant <= now,
            f"branch {branch.id} is of {instant}, and it is {now}",
        )
        self.judge_leases(branch)
        progress = branch.progress()
        self.updates += progress.updates
        self.prepares += progress.prepares
        self.waves += max(int(part.state.counters[names.WAVES]) for part in _compiled(branch.processors))
        ids, values = branch.values().arrays()
        self.note(ids.tolist(), values.tolist())
        right = exact_distances(self.edges(version), fork.source)
        self.judge_values(
            f"branch {branch.id} of version {version}", ids, values, right, branch.state, version
        )

    def judge_values(
        self,
        who: str,
        ids: NDArray[np.int64],
        values: ValueArray,
        right: Distances,
        state: BranchState,
        version: int,
    ) -> None:
        self.hold("exact", set(ids.tolist()) == self.seen[version], f"{who} knows {ids.tolist()}")
        expected = right.lookup(ids)
        kept = values == expected if state is BranchState.CONVERGED else values >= expected
        if not kept.all():
            first = int(np.argmin(kept))
            self.hold(
                "exact",
                False,
                f"{who} ({state.value}) has {values[first]} for vertex {ids[first]}, whose distance is {expected[first]}",
            )

    def judge_copy(self, main: LoopState, branch: LoopState) -> None:
        """A branch starts from all of what a copy of everything has."""
        left = differences_from_whole_copy(self.kernel, main, branch)
        self.hold("whole copy", not left, f"a branch starts from something else: {', '.join(left)}")

    def judge_leases(self, branch: Branch) -> None:
        """The workers' leases of a branch are of its version, all of it."""
        sequences = sum(part.version for part in branch.processors if isinstance(part, BranchProcessor))
        records = self.records[branch.snapshot.version]
        self.hold("exact", sequences == records, f"branch {branch.id} reads {sequences} of {records} records")

    def judge_main(self) -> None:
        loop = self.loop
        self.engine.wait_for(lambda: loop.error is not None or loop.is_idle(), None)
        if loop.error is not None:
            raise loop.error
        version = len(self.records) - 1
        ids, values = loop.approximation().arrays()
        right = exact_distances(self.edges(version), self.source)
        self.judge_values("the idle main loop", ids, values, right, BranchState.CONVERGED, version)
        self.note(ids.tolist(), values.tolist())
        statistics = loop.statistics()
        counted = statistics.edges, statistics.missing_removals, statistics.admitted, statistics.vertices
        correct = (
            len(self.edges(version)), self.model.missing_removals(), len(self.model), len(self.seen[version])
        )  # fmt: skip
        self.hold(
            "exact", counted == correct, f"edges, missing, admitted, vertices are {counted}, not {correct}"
        )

    def judge_rounds(self) -> None:
        """B = 1, from the beginning, on a graph that holds still: the same updates in the same rounds."""
        source = self.rng.choice(self.ids[1:])
        version = len(self.records) - 1
        known = source in self.seen[version]
        rounds = synchronous_rounds(self.edges(version), source) if known else []
        last = self.rng.randint(0, len(rounds) + 1)
        for most in (None, last):
            branch = self.loop.fork(parameters={"source": source}, max_iterations=most)
            branch.wait()
            done = iterations_of(_compiled(branch.processors), last=1 << 20)
            expected = rounds if most is None else rounds[: most + 1]
            counted = [(one.iteration, one.updates) for one in done]
            self.hold(
                "synchronous",
                counted == [(number, len(one)) for number, one in enumerate(expected)],
                f"from {source}, updates by iteration are {counted}, not {[len(one) for one in expected]}",
            )
            values: dict[int, float] = {}
            for one in expected:
                values |= one
            ids, found = branch.values().arrays()
            correct = [values.get(vertex, math.inf) for vertex in ids.tolist()]
            self.hold(
                "synchronous",
                found.tolist() == correct,
                f"from {source}, after {len(expected)} rounds {found.tolist()}, not {correct}",
            )
            self.updates += sum(one.updates for one in done)
            self.branches += 1
            branch.release()

    def _hosts(self) -> list[WorkerHost]:
        return cast("list[WorkerHost]", list(self.master._hosts))

    def judge_leftovers(self) -> None:
        hosts = self._hosts()
        self.engine.wait_for(lambda: not any(host._branches or host._commands for host in hosts), None)
        for worker, processor in enumerate(_compiled(self.loop.parts())):
            counters, session = processor.state.counters, processor.state.session
            rows = processor.graph.rows
            graph = processor.graph.statistics()
            left = {
                "open sessions": int(session.counters[OPEN_RECORDS]),
                "prepare lists": int(np.count_nonzero(session.preparing_producers[:rows])),
                "held subscriptions": int(counters[names.HELD]),
                "marks": int(counters[names.MARKS]),
                "impossible messages": int(counters[names.IMPOSSIBLE]),
                "leases": graph.leases,
                "graves": graph.graves,
            }
            self.hold("nothing left", not any(left.values()), f"worker {worker} has {left}")

    # The delay bound

    def peers_of(self, loop: NDArray[np.int64]) -> tuple[SelectiveProcessor, list[SelectiveProcessor]] | None:
        """The processor whose columns these are, and those of the same loop on the other workers; None if it has none."""
        for host in self._hosts():
            candidates: list[tuple[int | None, SelectiveProcessor]] = [
                (None, main) for main in _compiled(host._loops.values())
            ]
            candidates += [
                (number, processor)
                for number, one in host._branches.items()
                for processor in _compiled([one.processor])
            ]
            for branch, processor in candidates:
                if hasattr(processor, "state") and processor.state.addresses[1] is loop:
                    others = [other for other in self._hosts() if other is not host]
                    if branch is None:
                        return processor, [
                            main for other in others for main in _compiled(other._loops.values())
                        ]
                    found = [
                        other._branches[branch].processor for other in others if branch in other._branches
                    ]
                    return processor, _compiled(found)
        return None

    def judge_commit(
        self, iteration: int, processor: SelectiveProcessor, peers: list[SelectiveProcessor]
    ) -> None:
        """No other worker's token and no bundle under way is B or more behind: so much of τ shows from outside."""
        bound = int(processor.state.counters[names.DELAY_BOUND])
        if bound >= UNBOUNDED:
            return
        least = iteration
        for peer in peers:
            if isinstance(peer, BranchProcessor) and not peer.is_started:
                least = min(least, peer._begins_at)  # it counts with its first token, and begins further on
            elif peer.operator.token.is_live:
                least = min(least, peer.operator.timestamp)
        number = processor.operator.outlet.dataflow.number
        for lanes in self.engine.fabric._lanes:
            for queue in lanes.values():
                for dataflow, _, time, payload in queue:
                    if dataflow == number and isinstance(payload, Bundle) and len(payload):
                        least = min(least, time[1])
        self.hold("delay bound", iteration - least < bound, f"a commit at {iteration} while τ is {least}")


def _compiled(parts: Iterable[object]) -> list[SelectiveProcessor]:
    """Parts of loops of compiled programs, which are all that a simulation has."""
    return [part for part in parts if isinstance(part, SelectiveProcessor)]
