"""Seeded simulation of crashes: a stream on a store that fails and a process that dies, again and again, on one thread.

A run is a sequence of lives on one store. In each life the real master, stream, intake, loops and kernels run on simulated
workers; a seed chooses what is admitted, asked and stored, every interleaving, and at which changes of the store it has no room or
the process dies, before the change took effect or right after it. What is left is the store, and the next life begins with that.
Each run is judged by laws:

- *nothing lost*: what was acknowledged is in, in every later life;
- *nothing twice*: of what was not acknowledged no more is in than the one admission that was under way; a numbered batch that is
  sent again is passed over if and only if it is in;
- *refused whole*: where the store failed, nothing of the admission is in;
- *named*: a version names one prefix for ever, and later prefixes have greater ones;
- *exact*: each answer, also of a stored version, is that of the prefix that its snapshot names, by an oracle that knows no loops;
- *nothing left over*: in the end a life without faults has all of the stream.

Left out: workers that die while their driver lives, and the wire between them (`tests/engine/test_faults.py` has real ones).
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .engine import SimulationEngine
from .errors import LawBroken, StoreFull
from .intake.push import Pusher
from .intake.stream_intake import StreamIntake
from .loops import Branch, BranchState, Master
from .loops.main_loop import MainLoop
from .loops.new_loop import NewLoop
from .records.edge_batch import EdgeBatch
from .records.operations import INSERT, REMOVE, REPLACE
from .simulation import LeastSums
from .storage import MemoryStore
from .testing import GraphModel, exact_distances

if TYPE_CHECKING:
    from typing_extensions import Buffer

STREAM = "simulated"
NUMBERED = "spark:q"
_DELAY_BOUNDS = (1, 2, 64, None)
_PAUSES = (0, 1, 10, 100)
_FAILS, _DIES_BEFORE, _DIES_AFTER = 0.06, 0.04, 0.04  # chances of a change of the store


class Died(BaseException):
    """The process is gone at this instant: nobody catches it but who begins the next life."""


class FailingStore(MemoryStore):
    """A durable store that has no room, or whose process dies, where the seed says so."""

    durable = True

    def __init__(self, rng: Random) -> None:
        super().__init__()
        self._rng = rng
        self.is_calm = False
        self.is_dead = False

    def write(
        self,
        loop: str,
        version: int,
        items: Mapping[bytes, Buffer],
        *,
        deletes: Collection[bytes] = (),
        metadata: bytes = b"",
    ) -> None:
        """See `VersionedStore`."""
        self._before()
        super().write(loop, version, items, deletes=deletes, metadata=metadata)
        self._after()

    def delete_before(self, loop: str, version: int) -> int:
        """See `VersionedStore`."""
        self._before()
        count = super().delete_before(loop, version)
        self._after()
        return count

    def _before(self) -> None:
        if not self.is_calm and self._rng.random() < _FAILS:
            raise StoreFull("no room")
        self._may_die(_DIES_BEFORE)

    def _after(self) -> None:
        self._may_die(_DIES_AFTER)

    def _may_die(self, chance: float) -> None:
        self.is_dead = self.is_dead or (not self.is_calm and self._rng.random() < chance)
        if self.is_dead:
            raise Died


class _Prefix(NamedTuple):
    """What a version names: so many records of the model, and up to where each source is in."""

    records: int
    offsets: dict[str, int]


class _UnderWay(NamedTuple):
    """An admission of which nobody has heard yet whether it is in."""

    batch: EdgeBatch
    source: str
    offset: int


@dataclass(frozen=True, slots=True)
class SimulatedRecovery:
    """What a run was and did; the same seed gives an equal one.

    Attributes
    ----------
    lives, deaths
        How often it began, and how often it died.
    refusals
        Changes of the store that failed.
    admissions, answers
        How many were acknowledged, and judged.
    trace
        Digest of all of it, and of every delivery between workers.
    """

    seed: int
    lives: int
    deaths: int
    refusals: int
    admissions: int
    answers: int
    trace: str


def simulate_recovery(seed: int) -> SimulatedRecovery:
    """Simulate one run and judge it.

    Parameters
    ----------
    seed
        Everything about the run follows from it.

    Raises
    ------
    LawBroken
        With the seed in its message.
    """
    try:
        return _Recovery(seed).run()
    except LawBroken:
        raise
    except Exception as error:
        raise LawBroken("no failure", f"seed {seed}: {type(error).__name__}: {error}") from error


class _Recovery:
    master: Master
    loop: MainLoop
    engine: SimulationEngine
    intake: StreamIntake

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.rng = Random(seed)
        self.store = FailingStore(self.rng)
        self.ids = list(range(self.rng.randint(2, 10)))
        self.model = GraphModel()
        self.prefixes = {0: _Prefix(0, {})}
        self.newest = 0  # the version of all that was acknowledged
        self.number: int | None = None  # of the newest batch
        self.under_way: _UnderWay | None = None
        self.inserted: list[tuple[int, int, float]] = []
        self.lives = self.deaths = self.refusals = self.admissions = self.answers = 0
        self.digest = hashlib.blake2b(digest_size=16)

    def run(self) -> SimulatedRecovery:
        for _ in range(self.rng.randint(2, 5)):
            self.live()
        self.store.is_calm = True
        self.live()
        return SimulatedRecovery(
            self.seed,
            self.lives,
            self.deaths,
            self.refusals,
            self.admissions,
            self.answers,
            self.digest.hexdigest(),
        )

    def live(self) -> None:
        """One life: it ends in order, or with a death at some change of the store."""
        self.lives += 1
        self.store.is_dead = False
        workers = self.rng.choice((1, 2, 3))
        self.engine = SimulationEngine(workers, seed=self.rng.getrandbits(32))
        self.master = Master(self.store, workers, engine=self.engine)
        try:
            self.begin()
            actions = (
                *(self.admit, self.admit, self.push, self.advance, self.ask),
                *(self.store_it, self.trim),
            )
            for _ in range(self.rng.randint(1, 14)):
                self.rng.choice(actions)()
                self.engine.step(self.rng.choice(_PAUSES))
            self.ask()
        except Died:
            self.deaths += 1
        except StoreFull:
            self.refusals += 1  # while it began: it ends, and is begun again
        finally:
            self.note(self.engine.fabric.trace)
            self.master.close()

    def begin(self) -> None:
        rng = self.rng
        others = [NewLoop(LeastSums(source=self.ids[-1]), "other")] if rng.random() < 0.5 else []
        self.loop = self.master.start(
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

    # What happens

    def batch(self) -> EdgeBatch:
        rows = [self.record() for _ in range(self.rng.randint(1, 8))]
        src, dst, weight, op = zip(*rows, strict=True)
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
            version = self.loop.checkpoint()
            self.name(version, self.prefixes[self.newest])
        except StoreFull:
            self.refusals += 1

    def trim(self) -> None:
        try:
            self.loop.stream.trim_snapshots(keep=self.rng.randint(1, 2))
        except StoreFull:
            self.refusals += 1

    def ask(self) -> None:
        rng = self.rng
        source = rng.choice(self.ids)
        stored = self.loop.snapshots()
        at = rng.choice(stored).version if stored and rng.random() < 0.2 else None
        branch = self.loop.fork({"source": source}, at=at)
        branch.wait()
        self.judge(branch, source)
        branch.release()

    # What must hold

    def hold(self, law: str, holds: bool, broken: str) -> None:  # noqa: FBT001
        if not holds:
            raise LawBroken(law, f"seed {self.seed}, life {self.lives}: {broken}")

    def note(self, *facts: object) -> None:
        self.digest.update(repr(facts).encode())

    def judge(self, branch: Branch, source: int) -> None:
        if branch.error is not None:
            raise branch.error
        self.answers += 1
        snapshot = branch.snapshot
        self.hold("exact", branch.state is BranchState.CONVERGED, f"a branch is {branch.state.value}")
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
        ids, values = branch.values().arrays()
        right = exact_distances(self.model.edges(prefix=named.records), source).lookup(ids)
        self.note(snapshot.version, ids.tolist(), values.tolist())
        self.hold(
            "exact",
            values.tolist() == right.tolist(),
            f"from {source} at version {snapshot.version}: {values.tolist()}, not {right.tolist()}",
        )
