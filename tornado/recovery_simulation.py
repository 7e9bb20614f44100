"""Seeded simulation of what fails: a stream on a store that fails, in a driver that dies, with workers and connections that break.

A run is a sequence of lives on one store. In each life the real master, stream, intake, loops and kernels run on one thread: on
workers of the same process (`SimulationEngine`), or on workers of processes of their own, with the real `ClusterEngine`,
`RemoteHost` and `RemoteWorker` and every message written to bytes (`SimulatedCluster`). A seed chooses what is admitted, asked and
stored, every interleaving, and what fails: the store has no room; the driver dies at a change of the store, before it took effect or
right after it, or at any other instant; workers end, hang, or outlive those who gave them up; connections are cut with a part of
what is under way. What is left is the store, and the next life begins with that. Each run is judged by laws:

- *nothing lost*: what was acknowledged is in, in every later life;
- *nothing twice*: of what was not acknowledged no more is in than the one admission that was under way; a numbered batch that is
  sent again is passed over if and only if it is in; the graph has each edge as often as it was inserted;
- *refused whole*: where the store failed, nothing of the admission is in;
- *named*: a version names one prefix for ever, and later prefixes have greater ones;
- *exact*: each answer, also of a stored version, is that of the prefix that its snapshot names, by an oracle that knows no loops;
- *nothing left over*: in the end a life without faults has all of the stream;
- *no loss without a fault*: workers that nobody ended are not taken for lost, also where the driver stood still;
- *goes on*: a question under way outlives its workers, unless its cut is older than what they are restored from;
- *ends*: nobody waits for ever.

A run is a list of *steps*, operations and faults, each with a seed of its own (`steps_of`): it can be repeated with some of them
alone, which is how a failure is made small (`shrunk`).

A store has a version wholly or not at all, and what it has is durable: that is its contract, and its conformance tests' (`storage/`).
So a write that is torn, or not synced, is one that never was, or one that nobody heard of.
"""
# ruff: noqa: SLF001  a judge looks inside what it judges

from __future__ import annotations

import gc
import hashlib
import itertools
import logging
import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from random import Random
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from .clock import SYSTEM_CLOCK, Clock
from .config import VertexPlacement
from .engine import CONNECTIONS, Engine, SimulatedCluster, SimulatedWorker, SimulationEngine
from .errors import LawBroken, StoreFull, WorkerLost
from .fault_schedule import FAULTS, RESTART, ScheduledStep, steps_of
from .intake.push import Pusher
from .intake.stream_intake import StreamIntake
from .loops import Branch, BranchState, Master
from .loops.main_loop import MainLoop
from .loops.new_loop import NewLoop
from .loops.remote_worker import WIRE_TYPES, RemoteWorker
from .records.edge_batch import EdgeBatch
from .records.operations import INSERT, REMOVE, REPLACE
from .shrinking import shrink
from .simulation import LeastSums
from .storage.failing_store import Died, FailingStore
from .testing import GraphModel, exact_distances
from .value_types import ValueArray

STREAM = "simulated"
NUMBERED = "spark:q"
_DELAY_BOUNDS = (1, 2, 64, None)
_STANDSTILL_S = 70.0  # longer than any worker may be silent
_PAUSES = (0, 1, 10, 60)
_MOST_OUTSTANDING = 3
_IN_PROCESSES = 0.6  # share of lives with workers in processes of their own
# Runs hold much address space in a knot of references: it must not wait for the collector to come round.
_COLLECTED_EVERY = 16
_runs = itertools.count(1)


class _Prefix(NamedTuple):
    """What a version names: so many records of the model, and up to where each source is in."""

    records: int
    offsets: dict[str, int]


class _UnderWay(NamedTuple):
    """An admission of which nobody has heard yet whether it is in."""

    batch: EdgeBatch
    source: str
    offset: int


class _Asked(NamedTuple):
    """A question on its way.

    Attributes
    ----------
    source
        Of its paths.
    is_stored
        Whether it is of a stored snapshot.
    ended
        How many sets of workers were lost when it came to its end.
    """

    branch: Branch
    source: int
    is_stored: bool
    ended: list[int]


@dataclass(frozen=True, slots=True)
class SimulatedRecovery:
    """What a run was and did; the same seed gives an equal one.

    Attributes
    ----------
    steps
        How many operations and faults it had.
    lives, deaths
        How often it began, and how often it died.
    losses
        Sets of workers that were lost.
    refusals
        Changes of the store that failed.
    admissions, answers
        How many were acknowledged, and judged.
    trace
        Digest of all of it, and of every message.
    """

    seed: int
    steps: int
    lives: int
    deaths: int
    losses: int
    refusals: int
    admissions: int
    answers: int
    trace: str


def simulate_recovery(seed: int, *, only: Collection[int] | None = None) -> SimulatedRecovery:
    """Simulate one run and judge it.

    Parameters
    ----------
    seed
        Everything about the run follows from it.
    only
        The numbers of the steps to do; None is all of them.

    Raises
    ------
    LawBroken
        With the seed in its message.
    """
    if next(_runs) % _COLLECTED_EVERY == 0:
        gc.collect()
    steps = [step for step in steps_of(seed) if only is None or step.number in only]
    with _Logged() as logged:
        try:
            return _Recovery(seed, logged).run(steps)
        except LawBroken:
            raise
        except Exception as error:
            raise LawBroken("no failure", f"seed {seed}: {type(error).__name__}: {error}") from error


def shrunk(seed: int, *, within_s: float = 30.0, clock: Clock = SYSTEM_CLOCK) -> list[ScheduledStep]:
    """The least steps that were found with which a run of this seed still breaks a law; see `shrink`."""
    steps = steps_of(seed)

    def fails(numbers: Sequence[int]) -> bool:
        try:
            simulate_recovery(seed, only=numbers)
        except LawBroken:
            return True
        return False

    numbers = shrink([step.number for step in steps], fails, within_s=within_s, clock=clock)
    return [steps[number] for number in numbers]


class _Logged(logging.Handler):
    """Keeps what is logged as an error meanwhile, where nobody else would hear of it, and what is logged at all from the terminal."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.errors: list[str] = []
        self._logger = logging.getLogger(__package__)

    def emit(self, record: logging.LogRecord) -> None:
        """See `logging.Handler`."""
        raised = record.exc_info[1] if record.exc_info else None
        self.errors.append(f"{record.getMessage()}: {raised!r}")

    def __enter__(self) -> Self:
        self._propagates, self._logger.propagate = self._logger.propagate, False
        self._logger.addHandler(self)
        return self

    def __exit__(self, *_: object) -> None:
        self._logger.removeHandler(self)
        self._logger.propagate = self._propagates


class _Recovery:
    master: Master | None
    loop: MainLoop
    engine: SimulationEngine | SimulatedCluster
    intake: StreamIntake

    def __init__(self, seed: int, logged: _Logged) -> None:
        self.seed, self.logged, self.store = seed, logged, FailingStore()
        self.ids = list(range(Random(seed).randint(2, 10)))
        self.model = GraphModel()
        self.prefixes = {0: _Prefix(0, {})}
        self.newest = 0  # the version of all that was acknowledged
        self.number: int | None = None  # of the newest batch
        self.under_way: _UnderWay | None = None
        self.inserted: list[tuple[int, int, float]] = []
        self.outstanding: list[_Asked] = []
        self.survivors: list[SimulatedWorker] = []
        self.faults: list[tuple[int, Callable[[], None]]] = []  # by the turn from which they happen
        self.broken = 0  # what has happened to workers in this life
        self.turns = self.lives = self.deaths = self.losses = self.refusals = self.admissions = (
            self.answers
        ) = 0
        self.is_alive, self.rng = False, Random()
        self.placement: VertexPlacement = "blocks" if seed % 2 else "auto"  # edges so few decide nothing
        self.digest = hashlib.blake2b(digest_size=16)

    def run(self, steps: Sequence[ScheduledStep]) -> SimulatedRecovery:
        for step in steps:
            self.take_step(step)
        # The last life is calm, and has everything.
        self.take_step(ScheduledStep(len(steps), RESTART, self.seed))
        self.faults.clear()
        self.store.faults.clear()
        self.take_step(ScheduledStep(len(steps) + 1, "ask", self.seed))
        self.hold("nothing left over", self.is_alive, "the last life has ended")
        self.judge_main()
        self.take_step(ScheduledStep(len(steps) + 2, RESTART, self.seed))
        counts = self.lives, self.deaths, self.losses, self.refusals, self.admissions, self.answers
        return SimulatedRecovery(self.seed, len(steps), *counts, self.digest.hexdigest())

    def take_step(self, step: ScheduledStep) -> None:
        """Do one step; where the driver has died, it lives again for the next operation."""
        self.rng.seed(step.seed)
        if step.kind in FAULTS:
            self.break_something(step.kind)
            return
        try:
            if step.kind == RESTART:
                if self.is_alive:
                    self.end_in_order()
                return
            if not self.is_alive:
                self.begin()
            else:
                self.engine.reseed(step.seed)
            if self.is_alive:
                self.operate(step.kind)
                self.engine.step(self.rng.choice(_PAUSES))
        except Died:
            self.deaths += 1
            self.end(is_dead=True)
        except WorkerLost as error:
            self.hold("no loss without a fault", self.broken > 0, str(error))
        self.hold("no failure", not self.logged.errors, "; ".join(self.logged.errors))

    # Lives

    def begin(self) -> None:
        """Begin a life, with what the store has."""
        self.lives += 1
        self.is_alive, self.store.is_dead, self.broken = True, False, 0
        rng = self.rng
        workers, seed = rng.choice((1, 2, 2, 3)), rng.getrandbits(32)
        engine: Engine
        if rng.random() < _IN_PROCESSES:
            self.engine = cluster = SimulatedCluster(
                workers, RemoteWorker, WIRE_TYPES, seed=seed, survivors=self.survivors
            )
            engine, self.survivors = cluster.engine, []
        else:
            engine = self.engine = SimulationEngine(workers, seed=seed)
        self.engine.on_turn = self.turn
        self.store.on_write = self.pass_time
        self.master = None
        try:
            self.master = Master(self.store, workers, engine=engine, placement=self.placement)
            self.start_loops(self.master)
        except (StoreFull, WorkerLost) as error:
            self.hold("no failure", bool(self.broken) or isinstance(error, StoreFull), str(error))
            self.refusals += isinstance(error, StoreFull)
            self.end()  # it is begun again with the next operation

    def start_loops(self, master: Master) -> None:
        rng = self.rng
        if isinstance(self.engine, SimulatedCluster):
            self.engine.can_restore = lambda: (
                not (master._order._held.locked() or master._names.lock.locked())
            )
        others = [NewLoop(LeastSums(source=self.ids[-1]), "other")] if rng.random() < 0.3 else []
        self.loop = master.start(
            LeastSums(source=self.ids[0]), STREAM, rng.choice(_DELAY_BOUNDS), beside=others
        )
        self.intake = Pusher(store=self.store, clock=self.engine.clock).intake(STREAM)
        self.intake.begin(self.loop.stream)
        version, _, offsets = self.loop.stream.counts()
        known = self.prefixes[self.newest]
        if self.under_way is not None and offsets != known.offsets:
            self.acknowledge(self.under_way, version)
            known = self.prefixes[self.newest]
        self.hold("nothing lost", offsets == known.offsets, f"{offsets} are in, and {known.offsets} were")
        self.under_way = None
        self.name(version, known)
        number = self.intake.newest_batch(NUMBERED)
        self.hold("nothing twice", number == self.number, f"the newest batch is {number}, not {self.number}")

    def end_in_order(self) -> None:
        """End a life when the loops have come to rest, where there are workers to see that."""
        try:
            self.judge_main()
        except WorkerLost as error:
            self.hold("no loss without a fault", self.broken > 0, str(error))
        self.end()

    def end(self, *, is_dead: bool = False) -> None:
        """End a life: in order, or as it is at this instant."""
        self.is_alive = False  # nobody waits for the disk any more
        self.outstanding.clear()
        engine = self.engine
        if isinstance(engine, SimulatedCluster):
            if is_dead:
                engine.is_dead = True
            elif self.master is not None:
                self.master.close()
            losses = engine.engine.losses
            self.losses += losses
            self.hold(
                "no loss without a fault",
                self.broken > 0 or not losses,
                f"{losses} sets of workers were lost",
            )
            self.survivors = engine.survivors()
            self.note(engine.trace(), losses)
        else:
            engine.on_turn = lambda: None
            if self.master is not None:
                self.master.close()
            self.note(engine.fabric.trace)

    def pass_time(self) -> None:
        """Let others go on while one waits for the disk."""
        if self.is_alive:
            self.engine.step(self.rng.choice((0, 0, 2, 20, 100)))

    # What fails

    def break_something(self, kind: str) -> None:
        """Let something fail, at some instant from now on."""
        rng = self.rng
        if kind in ("no room", "dies before", "dies after"):
            self.store.faults.setdefault(self.store.changes + rng.randint(0, 4), kind)
            return
        at = self.turns + rng.randint(0, rng.choice((5, 50, 300)))
        worker, connection = rng.randrange(3), rng.choice(CONNECTIONS)
        self.faults.append((at, lambda: self.fail(kind, worker, connection)))

    def turn(self) -> None:
        """Count a turn of whatever takes turns, and have fail what is to fail then."""
        if self.store.is_dead:
            raise Died  # again, where something waits on its way out
        self.turns += 1
        due = [fault for at, fault in self.faults if at <= self.turns]
        if due:
            self.faults = [(at, fault) for at, fault in self.faults if at > self.turns]
            for fault in due:
                fault()

    def fail(self, kind: str, worker: int, connection: str) -> None:
        self.note(self.turns, kind, worker, connection)
        if kind == "driver dies":
            self.store.is_dead = True
            raise Died
        cluster = self.engine
        if not isinstance(cluster, SimulatedCluster):
            return
        if kind == "driver stands still":
            cluster.stand_still(_STANDSTILL_S)
            return
        self.broken += 1
        match kind:
            case "worker ends":
                cluster.end_worker(worker % cluster.engine.workers)
            case "all workers end":
                for index in range(cluster.engine.workers):
                    cluster.end_worker(index)
            case "worker hangs":
                cluster.hang_worker(worker % cluster.engine.workers)
            case "connection breaks":
                cluster.cut(worker % cluster.engine.workers, connection)

    # What happens

    def operate(self, kind: str) -> None:
        match kind:
            case "admit":
                self.admit()
            case "push":
                self.push()
            case "advance":
                self.advance()
            case "ask":
                self.judge(self.fork())
            case "fork":
                self.outstanding.append(self.fork())
                if len(self.outstanding) > _MOST_OUTSTANDING:
                    self.judge(self.outstanding.pop(0))
            case "judge":
                while self.outstanding:
                    self.judge(self.outstanding.pop(0))
            case "look":
                self.look()
            case "store":
                self.store_it()
            case "trim":
                self.trim()

    def batch(self) -> EdgeBatch:
        src, dst, weight, op = zip(*(self.record() for _ in range(self.rng.randint(1, 8))), strict=True)
        return EdgeBatch.of(src, dst, np.array(weight, np.float64), op=np.array(op, np.int8))

    def record(self) -> tuple[int, int, float, int]:
        rng = self.rng
        if not self.inserted or rng.random() < 0.6:
            edge = rng.choice(self.ids), rng.choice(self.ids), float(rng.choice((0, 1, 1, 2, 5)))
            self.inserted.append(edge)
            return (*edge, rng.choice((INSERT, INSERT, REPLACE)))
        src, dst, weight = rng.choice(self.inserted)
        return src, dst, rng.choice((weight, math.nan)), REMOVE

    def admit(self) -> None:
        source, batch = self.rng.choice("ab"), self.batch()
        offset = self.prefixes[self.newest].offsets.get(source, 0) + len(batch)
        self.under_way = _UnderWay(batch, source, offset)
        self.take(lambda: self.loop.admit(batch, source, offset))

    def advance(self) -> None:
        source = self.rng.choice("ab")
        offset = self.prefixes[self.newest].offsets.get(source, 0) + 3
        self.under_way = _UnderWay(EdgeBatch.empty(), source, offset)
        self.take(lambda: self.loop.advance(source, offset))

    def push(self) -> None:
        """A numbered batch, or one that was sent before."""
        if self.number is not None and self.rng.random() < 0.3:
            repeated = self.intake.push_batch(NUMBERED, self.number, self.batch())
            self.hold("nothing twice", repeated.is_repeated, f"batch {self.number} was taken again")
            return
        batch, number = self.batch(), 0 if self.number is None else self.number + 1
        offset = self.prefixes[self.newest].offsets.get(NUMBERED, 0) + len(batch)
        self.under_way = _UnderWay(batch, NUMBERED, offset)
        self.take(lambda: self.intake.push_batch(NUMBERED, number, batch).version)

    def take(self, admit: Callable[[], int | None]) -> None:
        """Admit what is under way; a store that fails refuses it whole."""
        under_way = self.under_way
        assert under_way is not None
        try:
            version = admit()
        except StoreFull:
            self.refusals += 1
            offsets = self.loop.offsets()
            expected = self.prefixes[self.newest].offsets
            self.hold("refused whole", offsets == expected, f"{offsets} are in, not {expected}")
        else:
            assert version is not None
            self.acknowledge(under_way, version)
        self.under_way = None

    def acknowledge(self, admitted: _UnderWay, version: int) -> None:
        self.model.apply(admitted.batch)
        offsets = self.prefixes[self.newest].offsets | {admitted.source: admitted.offset}
        self.hold("named", version > self.newest, f"version {version} is behind {self.newest}")
        self.name(version, _Prefix(len(self.model), offsets))
        self.admissions += 1
        if admitted.source == NUMBERED:
            self.number = 0 if self.number is None else self.number + 1

    def name(self, version: int, prefix: _Prefix) -> None:
        known = self.prefixes.setdefault(version, prefix)
        self.hold("named", known == prefix, f"version {version} was {known}, and is {prefix}")
        self.newest = max(self.newest, version)

    def store_it(self) -> None:
        try:
            self.loop.checkpoint()
        except StoreFull:
            self.refusals += 1
        finally:
            # Also where nothing was stored: what is in may have another version, for loops that no snapshot has.
            self.name(self.loop.stream.counts()[0], self.prefixes[self.newest])

    def trim(self) -> None:
        try:
            self.loop.stream.trim_snapshots(keep=self.rng.randint(1, 2))
        except StoreFull:
            self.refusals += 1

    def fork(self) -> _Asked:
        rng = self.rng
        source = rng.choice(self.ids)
        stored = self.loop.snapshots()
        at = rng.choice(stored).version if stored and rng.random() < 0.2 else None
        assert self.master is not None
        branch, engine, ended = self.loop.fork({"source": source}, at=at), self.master.engine, list[int]()
        branch.add_done_callback(lambda _: ended.append(engine.losses))
        return _Asked(branch, source, at is not None, ended)

    def look(self) -> None:
        """Ask the workers what anybody may ask at any time, and what they have when they are idle."""
        self.note(self.loop.statistics().vertices, self.loop.approximation().count())
        self.judge_main()

    # What must hold

    def hold(self, law: str, holds: bool, broken: str) -> None:  # noqa: FBT001
        if not holds:
            raise LawBroken(law, f"seed {self.seed}, life {self.lives}: {broken}")

    def note(self, *facts: object) -> None:
        self.digest.update(repr(facts).encode())

    def judge(self, asked: _Asked) -> None:
        """Wait for a branch, whose answer is right.

        With workers it is lost where its cut is older than what they are restored from, or was loaded from a stored snapshot.
        """
        branch = asked.branch
        branch.wait()
        if branch.error is not None:
            if isinstance(branch.error, WorkerLost) and self.broken:
                newest = self.loop.stream.stored.newest_version() or 0
                self.hold("goes on", branch.snapshot.version < newest or asked.is_stored, str(branch.error))
            raise branch.error
        self.hold("exact", branch.state is BranchState.CONVERGED, f"a branch is {branch.state.value}")
        snapshot = branch.snapshot
        named = self.prefixes.get(snapshot.version)
        self.hold(
            "named", named is not None, f"an answer is for version {snapshot.version}, which nobody knows"
        )
        assert named is not None
        self.hold(
            "named",
            snapshot.offsets == named.offsets,
            f"version {snapshot.version} names {snapshot.offsets}, not {named.offsets}",
        )
        try:
            ids, values = branch.values().arrays()
        except WorkerLost as error:
            assert self.master is not None
            self.hold("goes on", asked.ended != [self.master.engine.losses], str(error))
            raise
        branch.release()
        self.judge_values(f"version {snapshot.version}", ids, values, named.records, asked.source)
        self.note(snapshot.version, ids.tolist(), values.tolist())
        self.answers += 1

    def judge_main(self) -> None:
        """The main loop, once idle, has the values and the edges of the whole stream."""
        loop, master = self.loop, self.master
        assert master is not None
        losses = master.engine.losses
        master.engine.wait_for(lambda: loop.error is not None or loop.is_idle(), None)
        loop.raise_failure()
        ids, values = loop.approximation().arrays()
        edges = loop.statistics().edges
        if master.engine.losses != losses:
            return  # new workers begin with what is stored, and are idle later
        self.judge_values("the idle main loop", ids, values, len(self.model), self.ids[0])
        expected = len(self.model.edges(prefix=len(self.model)))
        self.hold("nothing twice", edges == expected, f"the graph has {edges} edges, not {expected}")

    def judge_values(
        self, who: str, ids: NDArray[np.int64], values: ValueArray, records: int, source: int
    ) -> None:
        edges = self.model.edges(prefix=records)
        missing = set(np.concatenate([edges.src, edges.dst]).tolist()).difference(ids.tolist())
        self.hold("exact", not missing, f"from {source}, {who}: the vertices {missing} are missing")
        right = exact_distances(edges, source).lookup(ids)
        self.hold(
            "exact",
            values.tolist() == right.tolist(),
            f"from {source}, {who}: {values.tolist()}, not {right.tolist()}",
        )
