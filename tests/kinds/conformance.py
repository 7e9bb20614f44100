"""The laws of kinds of programs. Each is a function that fails where a kind breaks it, whatever its programs compute.

A law gets a sample of the kind and a place where workers are. It makes a master there, feeds loops with a stream in which edges
come, go and are replaced, and compares what they say with the oracle of the sample at the version that they name.
"""

import gc
import itertools
import json
import math
import weakref
from collections import defaultdict
from contextlib import contextmanager, suppress
from copy import deepcopy
from dataclasses import dataclass
from inspect import isfunction
from random import Random

import numpy as np
import pytest

from tests import promised
from tests.engine.places import is_restored, lose
from tornado.engine import SimulationEngine, Wire
from tornado.engine.wire import FENCE_BYTES
from tornado.errors import InternalError, InvalidArgument, NotSupported, WorkerLost
from tornado.graph import PartitionMap
from tornado.loops import BranchState, Master
from tornado.loops.kind import kind_of_program, kinds
from tornado.loops.part import BranchPart, StorableBranch
from tornado.records.edge_batch import EdgeBatch
from tornado.records.operations import INSERT, MENTION, REMOVE, REPLACE
from tornado.storage import MemoryStore

WAIT_S = 60
_NUMBERS = itertools.count()


# Places


@dataclass(frozen=True)
class Place:
    """Workers in threads, or in one thread under a seed; or those of a master that is there."""

    workers: int = 2
    seed: int | None = None
    shared: Master | None = None

    @contextmanager
    def master(self, store=None, workers=None):
        if self.shared is not None:
            yield self.shared
            return
        workers = workers or self.workers
        engine = "threads" if self.seed is None else SimulationEngine(workers, seed=self.seed)
        with Master(store, workers, engine) as master:
            yield master


def pause(master, random):
    """Let simulated workers do something; others do anyway."""
    if isinstance(master.engine, SimulationEngine):
        master.engine.step(random.randrange(40))


def eventually(condition, master):
    simulated = isinstance(master.engine, SimulationEngine)

    def look():
        found = condition()
        if simulated and not found:
            master.engine.step(200)  # conditions may be dear, such as a collection
        return found

    promised.eventually(look, WAIT_S, period_s=0.0 if simulated else 0.01)


# Streams


class Prefix:
    """What some records of a stream come to, kept plainly."""

    def __init__(self):
        self.edges = defaultdict(list)  # weights by both ends, the oldest first
        self.vertices = set()
        self.missing = 0

    def apply(self, batch):
        columns = (batch.src, batch.dst, batch.weight, batch.op)
        for source, target, weight, operation in zip(*(one.tolist() for one in columns), strict=True):
            self.vertices |= {source, target}
            weights = self.edges[source, target]
            if operation == INSERT:
                weights.append(weight)
            elif operation == REPLACE:
                weights[:] = [weight]
            elif operation == REMOVE:
                found = [place for place, one in enumerate(weights) if math.isnan(weight) or one == weight]
                self.missing += not found
                if found:
                    del weights[found[0]]

    def count(self):
        return sum(map(len, self.edges.values()))


def batches(seed, *, count=20, size=12, vertices=24):
    """Insertions, removals by weight and of the oldest edge, replacements, edges that are not there, and vertices without edges.

    Edges go up, so that no program can count round a cycle for ever.
    """
    random, alive, found = Random(seed), [], []
    for _ in range(count):
        rows = []
        for _ in range(size):
            source = random.randrange(vertices)
            target, weight = random.randrange(source + 1, vertices + 1), float(random.randint(1, 9))
            kind = random.random()
            if kind < 0.5 or not alive:
                rows.append((source, target, weight, INSERT))
                alive.append((source, target, weight))
            elif kind < 0.8:
                source, target, weight = alive.pop(random.randrange(len(alive)))
                rows.append((source, target, math.nan if random.random() < 0.4 else weight, REMOVE))
            elif kind < 0.87:
                rows.append((source, target, weight, REMOVE))
            elif kind < 0.94:
                source, target, _ = random.choice(alive)
                rows.append((source, target, weight, REPLACE))
            else:
                alone = random.randrange(2 * vertices)
                rows.append((alone, alone, 1.0, MENTION))
        source, target, weight, operation = zip(*rows, strict=True)
        columns = (np.array(source), np.array(target), np.array(weight), np.array(operation, np.int8))
        found.append(EdgeBatch(*columns))
    found.append(EdgeBatch.mentions(np.array([1000 + seed, 2000 + seed, -seed])))
    return found


class Fed:
    """A loop that is fed, and what is right after each version."""

    def __init__(self, sample, master, name=None, **options):
        self.sample = sample
        self.loop = master.start(sample.program, name or f"loop {next(_NUMBERS)}", **options)
        self.prefix = sample.prefix()
        self.version = 0
        self.versions = {0: sample.prefix()}
        self.offset = 0

    def admit(self, batch):
        self.offset += len(batch)
        self.version = self.loop.admit(batch, "records", self.offset)
        self.prefix.apply(batch)
        self.versions[self.version] = deepcopy(self.prefix)

    def fork(self, parameters=None, **options):
        """Fork it; return what `check_branch` needs."""
        return self.loop.fork(parameters, **options), self.version, parameters

    def check_branch(self, branch, version, parameters):
        assert branch.wait(WAIT_S)
        assert branch.state is BranchState.CONVERGED, branch.error
        assert branch.snapshot.version == version
        expected = self.sample.expected(self.versions[version], parameters)
        said = f"a branch with {parameters} at version {version}"
        self.sample.check_answer(values_of(branch.values()), branch.certificate, expected, said)
        branch.release()
        with pytest.raises(InternalError):
            branch.values()

    def check_main(self, *, missing=True):
        """Idle, it is where its branches would be, and its numbers are those of the graph."""
        assert self.loop.wait_idle(WAIT_S)
        self.sample.check_main(values_of(self.loop.approximation()), self.sample.expected(self.prefix))
        found = self.loop.statistics()
        assert (found.edges, found.vertices) == (self.prefix.count(), len(self.prefix.vertices))
        assert (found.pending, found.backlog_records) == (0, 0)
        if missing:
            assert found.missing_removals == self.prefix.missing


def values_of(values):
    ids, found = values.arrays()
    assert ids.tolist() == sorted(set(ids.tolist()))
    return dict(zip(ids.tolist(), found.tolist(), strict=True))


# The laws


def is_as_its_line_of_the_registry_says(sample, name):
    kind = kind_of_program(sample.program)
    assert (kind.name, sample.program.program_kind) == (name, name)
    assert kind.described.split()[0] in {"a", "an"}
    everyone = [one.kind for other in kinds() for one in other.wire_types()]
    assert len(everyone) == len(set(everyone))


def branches_are_storable_where_their_kind_says_so_and_nowhere_else(sample, place):
    """What only stored or shared graphs need is asked of nobody else, not even to refuse it."""
    kind = kind_of_program(sample.program)
    with place.master() as master:
        branch = master.start(sample.program, "asked").fork()
        assert branch.wait(WAIT_S)
        for part in branch.processors:
            assert all(callable(getattr(part, name)) for name in _methods_of(BranchPart))
            has = [hasattr(part, name) for name in _methods_of(StorableBranch) - _methods_of(BranchPart)]
            assert len(has) > 1
            assert set(has) == {kind.is_stored or kind.shares_streams}


def _methods_of(protocol):
    """The names of what a protocol asks for, attributes and properties left out."""
    return {
        name
        for base in protocol.__mro__
        for name, member in vars(base).items()
        if not name.startswith("_") and isfunction(member)
    }


def main_loop_comes_to_the_fixed_point(sample, place, seed=1):
    random = Random(seed)
    with place.master() as master:
        fed = Fed(sample, master)
        for number, batch in enumerate(sample.batches(seed)):
            fed.admit(batch)
            pause(master, random)
            if number % 7 == 3:
                fed.check_main()
        fed.check_main()


def branches_are_exact(sample, place, seed=1, parameters=None):
    """At the prefix that each names, while the stream goes on and others are forked."""
    random = Random(seed)
    with place.master() as master:
        fed = Fed(sample, master)
        forked = [fed.fork(parameters)]  # of nothing
        for batch in sample.batches(seed):
            fed.admit(batch)
            pause(master, random)
            forked += [fed.fork(parameters) for _ in range(random.randrange(3))]
            pause(master, random)
        for one in forked:
            fed.check_branch(*one)
        fed.check_main()


def branches_with_other_parameters_are_exact(sample, place, seed=1):
    branches_are_exact(sample, place, seed, sample.other)


def what_ends_early_is_worth_what_its_certificate_says(sample, place):
    with place.master() as master:
        fed = Fed(sample, master)
        fed.admit(sample.chain(200))
        capped = fed.loop.fork(sample.other, max_iterations=1)
        cancelled = fed.loop.fork(sample.other)
        cancelled.cancel()
        stopping = fed.loop.fork(sample.other)
        assert stopping.wait_cut(WAIT_S)
        stopping.stop()
        assert capped.wait(WAIT_S) and stopping.wait(WAIT_S) and cancelled.wait(WAIT_S)
        assert capped.state is BranchState.STOPPED
        assert capped.progress().iteration <= capped.snapshot.iteration + 1
        exact = sample.expected(fed.prefix, sample.other)
        assert values_of(capped.values()) != exact
        for branch in (capped, stopping):
            judge_ended(branch, sample, exact)
            branch.release()
        if cancelled.state is not BranchState.CONVERGED:  # it may have been quicker
            assert (cancelled.state, cancelled.certificate) == (BranchState.CANCELLED, None)
            with pytest.raises(InternalError):
                cancelled.values()
        fed.check_branch(*fed.fork(sample.other))
        fed.check_branch(*fed.fork())


def judge_ended(branch, sample, exact):
    found = values_of(branch.values())
    assert found.keys() == exact.keys()
    if branch.state is BranchState.CONVERGED:
        sample.check_answer(found, branch.certificate, exact)
        return
    assert branch.state is BranchState.STOPPED
    sample.check_stopped(found, branch.certificate, exact, sample.program.with_parameters(sample.other))


class Travelling:
    """A kind whose plans and arguments of forks go over the wire before anything is made of them."""

    def __init__(self, kind):
        self._kind = kind
        self._wire = Wire(bytes(FENCE_BYTES), tuple(kind.wire_types()))
        self._reader = kind.reader()

    def __getattr__(self, name):
        return getattr(self._kind, name)

    def _over(self, fields):
        return self._wire.read(self._wire.write(fields))

    def plan(self, program, **options):
        self._kind.require_travels(program)
        self._plan = self._kind.plan(program, **options)
        required, preloaded = self._plan.required(), self._plan.preloaded()
        if required is not None:
            self._reader.require(self._over(required))
        if preloaded is not None:
            self._kind.preload(*json.loads(json.dumps(preloaded)))
        read = self._reader.plan(self._over(self._plan.fields()))
        assert read.kind == self._kind.name
        return read

    def fork_arguments(self, program):
        self._kind.require_travels(program)
        arguments = self._kind.fork_arguments(program)
        return self._reader.fork_arguments(self._over(self._plan.fork_fields(arguments)))


def plans_survive_the_wire(sample, place, modules, patch, seed=2):
    """Parts made of what was read give the same answers; `modules` has the place of each kind."""
    module = modules[sample.program.program_kind]
    patch.setattr(module, "KIND", Travelling(module.KIND))
    branches_are_exact(sample, place, seed)
    branches_are_exact(sample, place, seed, sample.other)


def shares_have_each_record_where_it_belongs(sample, workers, seed=3):
    """At owners of its ends, once and in order; and whoever owns a vertex hears of it."""
    random, partition = np.random.default_rng(seed), PartitionMap.even(workers)
    source, target = random.integers(-50, 50, (2, 300))
    operation = random.choice(np.array([INSERT, REMOVE, REPLACE, MENTION], np.int8), 300)
    target = np.where(operation == MENTION, source, target)
    batch = EdgeBatch(source, target, np.arange(300.0), operation)  # the weight says which it is
    shares = kind_of_program(sample.program).shares(batch, partition, both_ways=False)
    assert len(shares) == workers
    sources, targets = partition.owners_of(source), partition.owners_of(target)
    shared = np.zeros(300, np.int64)
    for worker, share in enumerate(shares):
        which = share.batch.weight.astype(np.int64)
        assert batch.take(which).equals(share.batch)
        assert (np.diff(which) > 0).all()
        assert ((sources[which] == worker) | (targets[which] == worker)).all()
        assert (partition.owners_of(share.mentioned) == worker).all()
        shared[which] += 1
        named = np.concatenate([share.batch.src, share.batch.dst, share.mentioned])
        own = np.unique(named[partition.owners_of(named) == worker])
        assert np.array_equal(
            own, np.unique(np.concatenate([source[sources == worker], target[targets == worker]]))
        )
    assert (shared[operation != MENTION] >= 1).all()
    assert (shared <= 1 + (sources != targets)).all()


def is_gone_on_from_or_says_that_it_is_not_stored(sample, place):
    kind, store, name = kind_of_program(sample.program), MemoryStore(), "kept"
    first, rest = sample.batches(4)[:8], sample.batches(4)[8:]
    with place.master(store) as master:
        fed = Fed(sample, master, name)
        for batch in first:
            fed.admit(batch)
        if not kind.is_stored:
            said = f"runs {type(sample.program).__name__}, {kind.described}, of which no snapshots are stored"
            for ask in (fed.loop.checkpoint, lambda: fed.loop.fork(at=1)):
                with pytest.raises(NotSupported, match=said):
                    ask()
            fed.check_branch(*fed.fork())
            return
        stored = fed.loop.checkpoint()
    with place.master(store, workers=3) as master:
        loop = fed.loop = master.start(sample.program, name)
        assert loop.restored.is_converged
        assert loop.statistics().updates <= sample.updates_of_restored
        assert loop.statistics().pending == 0
        assert loop.offsets() == {"records": fed.offset}
        fed.check_main(missing=False)
        for batch in rest:
            fed.admit(batch)
        fed.check_main(missing=False)
        for parameters in (None, sample.other):
            fed.check_branch(*fed.fork(parameters))
            fed.check_branch(loop.fork(parameters, at=stored), stored, parameters)


def shares_its_stream_or_says_that_it_does_not(sample, place):
    kind, name = kind_of_program(sample.program), "read by two"
    first, rest = sample.batches(5)[:8], sample.batches(5)[8:]
    with place.master() as master:
        fed = Fed(sample, master, name)
        for batch in first:
            fed.admit(batch)
        program = sample.program.with_parameters(sample.other)
        if not kind.shares_streams:
            with pytest.raises(NotSupported, match=f"{kind.described} reads a stream of its own"):
                master.start(program, "beside", stream=name)
            assert list(master.loops) == [name]
            for batch in rest:
                fed.admit(batch)
            fed.check_branch(*fed.fork())
            fed.check_main()
            return
        beside = master.start(program, "beside", stream=name)
        forked = []
        for batch in rest:
            fed.admit(batch)
            forked += [fed.fork(), (beside.fork(), fed.version, sample.other)]
        for one in forked:
            fed.check_branch(*one)
        fed.check_main()
        master.remove(name)
        fed.loop = beside
        fed.admit(sample.chain(9))
        fed.check_branch(beside.fork(), fed.version, sample.other)


def removed_loop_is_gone_and_others_stay(sample, place):
    with place.master() as master:
        goes, stays = Fed(sample, master), Fed(sample, master)
        for fed in (goes, stays):
            for batch in (*sample.batches(6), sample.chain(200)):
                fed.admit(batch)
        assert goes.loop.wait_idle(WAIT_S)
        forked = [goes.loop.fork(parameters) for parameters in (None, sample.other) for _ in range(3)]
        left = [stays.fork(parameters) for parameters in (None, sample.other) for _ in range(3)]
        assert forked[0].wait_cut(WAIT_S)
        parts = list(map(weakref.ref, (*goes.loop.parts(), *forked[0].processors)))
        assert len(parts) >= master.workers
        master.remove(goes.loop.name)
        for branch in forked:
            assert branch.wait(WAIT_S)
            assert branch.state in {BranchState.CANCELLED, BranchState.CONVERGED}
            branch.release()
        with pytest.raises(InvalidArgument, match="was removed"):
            goes.loop.fork()
        eventually(lambda: gc.collect() >= 0 and not any(part() for part in parts), master)
        for one in left:
            stays.check_branch(*one)
        stays.check_branch(*stays.fork())
        stays.check_main()


def branch_that_is_given_back_is_gone(sample, place):
    with place.master() as master:
        fed = Fed(sample, master)
        fed.admit(sample.chain(50))
        for parameters in (None, sample.other):
            branch = fed.loop.fork(parameters)
            assert branch.wait(WAIT_S)
            parts = list(map(weakref.ref, branch.processors))
            assert len(parts) == master.workers
            branch.release()
            eventually(lambda: gc.collect() >= 0 and not any(part() for part in parts), master)  # noqa: B023  now
        assert fed.loop.statistics().branches == 0


def numbers_are_those_of_its_iterations(sample, place):
    with place.master() as master:
        fed = Fed(sample, master)
        for batch in sample.batches(7):
            fed.admit(batch)
        fed.check_main()
        rows, found = fed.loop.iterations(last=1 << 10), fed.loop.statistics()
        assert [row.iteration for row in rows] == sorted({row.iteration for row in rows})
        assert 0 < sum(row.updates for row in rows) <= found.updates
        assert max(row.iteration for row in rows if row.updates) <= found.iteration
        for part in fed.loop.parts():
            history = part.history()
            assert (history.dtype, history.shape[1:]) == (np.float64, (4,))
            short, long = part.progress(), part.statistics()
            assert (short.iteration, short.updates, short.prepares) == (
                long.iteration, long.updates, long.prepares,
            )  # fmt: skip
        branch = fed.loop.fork(sample.other)
        assert branch.wait(WAIT_S)
        assert branch.progress().updates > 0
        assert branch.progress().residual == 0.0


def lost_worker_costs_no_answer(sample, master, seed=8):
    """For workers in processes."""
    fed, forked = Fed(sample, master), []
    for number, batch in enumerate(sample.batches(seed)):
        fed.admit(batch)
        forked += [fed.fork(), fed.fork(sample.other)]
        if number == 12:
            lose(master, worker=1)
    eventually(lambda: is_restored(master), master)
    for one in forked:
        with suppress(WorkerLost):  # what had come to its end before is gone with its worker
            fed.check_branch(*one)
    for parameters in (None, sample.other):
        fed.check_branch(*fed.fork(parameters))
    fed.check_main(missing=False)  # counted from what the loop was restored from
