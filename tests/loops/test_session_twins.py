"""Plain and compiled sessions agree: the same deliveries, the same commits at the same iterations in the same order.

Three places are known where the compiled session does something else, and the adapter notices them. A vertex that holds one
commit from below its own and one from above gathers neither with its own commit, since it remembers only the later of them; where
it does gather what it held before its commit, it gathers held inputs too; and a producer that it kept pending is not told of a
commit that it holds. Everywhere else traces are equal. All runs, those included,
are judged by the laws.

That is with PREPARE. Without it, as loops with a bound above 1 run by default, nothing is held, no place is known that differs,
and R3 is counted in place of judged (`CountsR3`).
"""

import random
from collections import Counter
from dataclasses import replace
from functools import lru_cache

import numpy as np
import pytest

from apps.sssp import ShortestPaths
from tests.loops.interpreted import interpreted
from tests.loops.kernel_session import (
    LEAST_FUEL,
    AdmitsAtItsToken,
    CommitsAtTheLast,
    KernelSession,
    KernelTwin,
)
from tests.shortened import shortened
from tornado.errors import LawBroken, ProtocolViolation
from tornado.protocol.laws import Laws
from tornado.protocol.messages import AddEdge, Touch
from tornado.protocol.random_schedules import replay, simulate
from tornado.protocol.sample_programs import MinPlusProgram
from tornado.protocol.session import ThreePhaseSession
from tornado.protocol.world import Setting

BOUNDS = [1, 2, 4, None]
A_BLOCK = 100


@lru_cache
def kernel():
    return ShortestPaths.kernel()


def setting(seed, delay_bound):
    """A graph of two to six vertices, with a cycle or without, and touches while it runs."""
    rng = random.Random(seed)
    count = rng.randint(2, 6)
    is_cycle = rng.random() < 0.5
    pairs = (
        [(v, (v + 1) % count) for v in range(count)]
        if is_cycle
        else [(rng.randrange(v), v) for v in range(1, count)]
    )
    pairs += [(rng.randrange(count), rng.randrange(count)) for _ in range(rng.randint(0, 2 * count))]
    if (
        delay_bound == 1
    ):  # the plain session sends a vertex its own update, which keeps a round open that has nothing to do
        pairs = [(producer, consumer) for producer, consumer in pairs if producer != consumer]
    rng.shuffle(pairs)
    edges = tuple(AddEdge(*pair, rng.choice([0.0, 1.0, 2.0])) for pair in pairs)
    distances = [0.0, 1.0, 3.0, 6.0, 9.0, 12.0]
    touches = tuple(Touch(rng.randrange(count), rng.choice(distances)) for _ in range(rng.randint(1, 8)))
    is_late = rng.random() < 0.3
    return Setting(
        touches, delay_bound, MinPlusProgram, established=edges, lag=is_late, session_type=AdmitsAtItsToken
    )


class Compiled:
    """Makes the sessions of one run on a kernel, and keeps them."""

    def __init__(self, around, session_type=KernelTwin, **options):
        self.workers = around.all_workers()
        self.delay_bound = around.delay_bound
        self.session_type = session_type
        self.options = {"kernel": kernel(), **options}
        self.sessions = []

    def __call__(self, worker, program, **_):
        self.sessions.append(
            self.session_type(
                worker, program, delay_bound=self.delay_bound, workers=self.workers, **self.options
            )
        )
        return self.sessions[-1]

    @property
    def splits(self):
        return any(session.splits_what_it_held for session in self.sessions)

    @property
    def is_alike(self):
        """Whether nothing happened that is known to be done differently."""
        return not self.splits and not any(
            session.acknowledges_below_held or session.gathers_input_early for session in self.sessions
        )


def judge_readings(around, trace):
    """A commit at j has the best offer of all its producers' commits below j, and no other; and none comes in its past.

    The laws by what they mean, from the trace alone: R1 and R3 for the values, R3 for the order.
    """
    lightest = {}
    for edge in around.established:
        if edge.producer != edge.consumer:
            pair = edge.producer, edge.consumer
            lightest[pair] = min(edge.data, lightest.get(pair, np.inf))
    for place, commit in enumerate(trace):
        offers = [
            other.value + lightest[other.vertex, commit.vertex]
            for other in trace
            if other.iteration < commit.iteration and (other.vertex, commit.vertex) in lightest
        ]
        possible = {min(offers, default=np.inf)}
        for touch in around.script:
            if touch.vertex == commit.vertex:
                possible |= {min(value, touch.data) for value in possible}
        if commit.value not in possible:
            raise LawBroken("R1 or R3", f"{commit} has not read all of what was below it, or more: {trace}")
        for earlier in trace[:place]:
            if (commit.vertex, earlier.vertex) in lightest and earlier.iteration > commit.iteration:
                raise LawBroken("R3", f"{commit} after its consumer's {earlier}")


def distances(around):
    """Shortest paths, by relaxing every edge until nothing changes."""
    found = {}
    for touch in around.script:
        found[touch.vertex] = min(touch.data, found.get(touch.vertex, np.inf))
    for _ in around.all_workers():
        for edge in around.established:
            if edge.producer in found:
                path = found[edge.producer] + edge.data
                found[edge.consumer] = min(path, found.get(edge.consumer, np.inf))
    return found


def compared(around, seed, **options):
    """Replay a plain run on the kernel; whether it went the same way, and whether it had to."""
    run = simulate(around, seed)
    compiled = Compiled(around, **options)
    try:
        trace = replay(around, run.schedule, compiled)
    except LawBroken as broken:
        if broken.law != "same schedule":
            raise
        trace = None
    return trace == run.trace, compiled.is_alike


@pytest.mark.parametrize("delay_bound", BOUNDS)
@pytest.mark.parametrize("block", shortened(range(2), 1))
def test_plain_and_compiled_sessions_agree(block, delay_bound):
    seen = Counter()
    for seed in range(block * A_BLOCK, (block + 1) * A_BLOCK):
        is_equal, must_be = compared(setting(seed, delay_bound), seed)
        assert is_equal or not must_be, f"seed {seed}"
        seen[is_equal] += 1
    print(f"B={delay_bound}: {seen[True]} traces are equal, {seen[False]} differ where they may")
    assert seen[True] >= 0.96 * A_BLOCK
    assert not seen[False] or delay_bound not in (1, None)


@pytest.mark.parametrize("delay_bound", BOUNDS)
def test_they_agree_where_every_scan_of_the_kernel_is_cut_short(delay_bound):
    for seed in range(1000, 1040):
        is_equal, must_be = compared(setting(seed, delay_bound), seed, fuel=LEAST_FUEL)
        assert is_equal or not must_be, f"seed {seed}"


@pytest.mark.parametrize("delay_bound", BOUNDS)
def test_the_unchanged_plain_session_agrees_while_inputs_come_at_iteration_zero(delay_bound):
    equal = 0
    for seed in range(2000, 2100):
        around = replace(setting(seed, delay_bound), session_type=ThreePhaseSession)
        if not any(simulate(around, seed).admissions):
            is_equal, must_be = compared(around, seed)
            assert is_equal or not must_be, f"seed {seed}"
            equal += is_equal
    assert equal > 12


@pytest.mark.parametrize("delay_bound", BOUNDS)
def test_compiled_sessions_keep_the_laws_under_schedules_of_their_own(delay_bound):
    split = 0
    for seed in range(3000, 3000 + A_BLOCK):
        around = setting(seed, delay_bound)
        compiled = Compiled(around, KernelSession)
        run = simulate(replace(around, session_type=compiled), seed)
        assert run.finished
        latest = {commit.vertex: commit.value for commit in run.trace}
        assert latest == distances(around), f"seed {seed}"
        if compiled.splits:
            split += 1
        else:
            judge_readings(around, run.trace)
    assert split < 0.04 * A_BLOCK


# Without PREPARE: what a loop with a finite bound above 1 does unless it is told otherwise.

BOUNDS_WITH_A_LAST = [2, 3, 4, 64]


class Kept:
    """Makes the plain sessions of one run, and keeps them."""

    def __init__(self):
        self.sessions = []

    def __call__(self, *arguments, **options):
        self.sessions.append(CommitsAtTheLast(*arguments, **options))
        return self.sessions[-1]


class CountsR3(Laws):
    """A commit need not have read everything below it, where nobody was asked; all other laws hold."""

    exceptions = 0

    def _overtakes(self, message):
        type(self).exceptions += 1


def overtaken(sessions):
    return [session.overtaken for session in sessions]


def compare_without_prepare(seed, delay_bound, **options):
    """Replay a plain run on the kernel, which must go the same way; how many commits along edges were overtaken."""
    plain = Kept()
    around = replace(setting(seed, delay_bound), session_type=plain, law_type=CountsR3)
    run = simulate(around, seed)
    assert run.finished and run.prepares == 0
    compiled = Compiled(around, asks=False, **options)
    assert replay(around, run.schedule, compiled) == run.trace, f"seed {seed}: another trace"
    assert overtaken(compiled.sessions) == overtaken(plain.sessions), f"seed {seed}: overtaken"
    latest = {commit.vertex: commit.value for commit in run.trace}
    assert latest == distances(around), f"seed {seed}"
    return sum(overtaken(plain.sessions))


@pytest.mark.parametrize("fuel", [1 << 15, LEAST_FUEL], ids=["whole scans", "scans cut short"])
@pytest.mark.parametrize("delay_bound", BOUNDS_WITH_A_LAST)
def test_without_prepare_plain_and_compiled_sessions_agree_and_count_the_same(delay_bound, fuel):
    before = CountsR3.exceptions
    count = sum(compare_without_prepare(seed, delay_bound, fuel=fuel) for seed in range(4000, 4000 + A_BLOCK))
    print(f"B={delay_bound}: {count} commits along edges were overtaken")
    assert count > 0 and CountsR3.exceptions > before, "the rule that is relaxed was never needed"


@pytest.mark.parametrize("delay_bound", BOUNDS_WITH_A_LAST)
def test_without_prepare_compiled_sessions_keep_the_other_laws_under_schedules_of_their_own(delay_bound):
    for seed in range(5000, 5000 + A_BLOCK):
        around = setting(seed, delay_bound)
        compiled = Compiled(around, KernelSession, asks=False)
        run = simulate(replace(around, session_type=compiled, law_type=CountsR3), seed)
        assert run.finished and run.prepares == 0
        assert {commit.vertex: commit.value for commit in run.trace} == distances(around), f"seed {seed}"


# Without these the others would prove little: a comparison that never finds a difference also passes.
MUTANTS = {
    "breaks no tie between stamps": (
        "return clock < other_clock or (clock == other_clock and identity < other_identity)",
        "return clock < other_clock",
    ),
    "breaks ties both ways": (
        "return clock < other_clock or (clock == other_clock and identity < other_identity)",
        "return clock <= other_clock",
    ),
    "does not wait for acknowledgements": (" and session.waiting[entry] == 0", ""),
    "does not wait for its prepare list": (" and (session.preparing_producers[row] == 0)", ""),
    "does not mind what its consumers have reached": (
        "session.reached[entry] = max(session.reached[entry], number)",
        "pass",
    ),
    "does not witness stamps": ("session.counters[CLOCK] = max(session.counters[CLOCK], number)", "pass"),
    "holds nothing": (
        "return session.record[consumer] != 0 and iteration + 1 >= loop.counters[LIMIT]",
        "return False",
    ),
}


MUTANTS_WITHOUT_PREPARE = {
    "asks all the same": [
        ("has_last = bound < UNBOUNDED and (not loop.counters[ALWAYS_PREPARES])", "has_last = False")
    ],
    "commits before the last iteration": [
        ("commit(graph, session, loop, row, limit - 1)", "commit(graph, session, loop, row, limit - 2)"),
        ("set_cursor(loop, SCAN_COMMIT, row, limit - 1)", "set_cursor(loop, SCAN_COMMIT, row, limit - 2)"),
    ],
    "commits beyond the last iteration": [
        ("commit(graph, session, loop, row, limit - 1)", "commit(graph, session, loop, row, limit)"),
        ("set_cursor(loop, SCAN_COMMIT, row, limit - 1)", "set_cursor(loop, SCAN_COMMIT, row, limit)"),
    ],
    "commits at the last iteration though nobody elsewhere consumes": [
        ("elif has_last and loop.subscribers[row] != np.uint64(0) and", "elif has_last and")
    ],
    "measures the bound from its own token": [
        (
            "frontier = min(others, loop.counters[SENT_LEAST], least_pending(loop))",
            "frontier = least_pending(loop)",
        )
    ],
    "counts nobody who was overtaken": [("loop.counters[OVERTAKEN] += 1", "pass")],
}


def first_difference(kernel):
    with np.errstate(over="ignore"):
        for seed in range(40):
            try:
                is_equal, must_be = compared(setting(seed, 2), seed, kernel=kernel)
            except (AssertionError, LawBroken, ProtocolViolation) as error:
                return f"seed {seed}: {error}"
            if must_be and not is_equal:
                return f"seed {seed}: another trace"
    return None


def first_difference_without_prepare(kernel):
    with np.errstate(over="ignore"):
        for seed in range(40):
            try:
                compare_without_prepare(seed, 2, kernel=kernel)
            except (AssertionError, LawBroken, ProtocolViolation) as error:
                return f"seed {seed}: {error}"
    return None


@pytest.mark.parametrize("mutant", MUTANTS)
def test_no_agreement_with_a_kernel_that(mutant):
    found = first_difference(interpreted(MUTANTS[mutant]))
    assert found, f"40 seeds agree with a kernel that {mutant}"
    print(f"a kernel that {mutant}: {found}")


@pytest.mark.parametrize("mutant", MUTANTS_WITHOUT_PREPARE)
def test_without_prepare_no_agreement_with_a_kernel_that(mutant):
    found = first_difference_without_prepare(interpreted(*MUTANTS_WITHOUT_PREPARE[mutant]))
    assert found, f"40 seeds agree with a kernel that {mutant}"
    print(f"a kernel that {mutant}: {found}")


def test_agreement_with_the_same_kernel_unbroken_and_interpreted():
    assert first_difference(interpreted()) is None
    assert first_difference_without_prepare(interpreted()) is None
