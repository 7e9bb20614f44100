"""How soon are ranks there after some changes, beside differential-dataflow?

Its protocol: R-MAT, nine tenths loaded to the fixed point, then batches, half removals of random live edges and half additions, until the
answer of a batch is complete. Its PageRank is that of 20 rounds; ours is a loop kept to 1e-6 whose branch has ranks with a bound of
1e-9. How far 20 rounds and an answer of ours really are is told by ranks whose bound is 1e-13. Its figures are from another run of this
project, so they are scaled by heap Dijkstra. The loading of ours ends with an answer.
"""  # noqa: D400  # a question

from __future__ import annotations

from apps.pagerank import PageRank
from tornado.records.edge_batch import EdgeBatch
from tornado.testing import Churn, EdgeList

from . import peers
from .harness import Clock, Report, Settings
from .measuring import churn_of
from .plain_ranks import exact_ranks, in_lists, ranks
from .ranks import asked, loaded, plain_graph, plain_graph_facts, require_certified
from .system import LiveSystem

_ACCURACY = 1e-6
_TOLERANCE = 1e-9
_ROUNDS = 20
BATCHES = {1: 20, 100: 20, 1_000: 20, 10_000: 10}
_JUDGED_SCALE = 18
_JUDGED_WORKERS = 2
_JUDGED_BATCH = 1_000
_TIMES = 15.0


def measure(report: Report, settings: Settings, clock: Clock) -> None:
    """Fill the report; see the question above."""
    edges = plain_graph(settings)
    report.data = plain_graph_facts(edges) | {"batches": {str(size): n for size, n in BATCHES.items()}}
    compared = settings.scale == _JUDGED_SCALE and not settings.smoke
    slower = peers.slower_than_there(report, settings) if compared else 0.0
    lists = in_lists(churn_of(edges, settings).live())
    exact = exact_ranks(lists)
    rounds, _ = ranks(lists, 0.0, most=_ROUNDS)
    report.add(
        f"how far the ranks of {_ROUNDS} rounds are from the exact ones", float(abs(rounds - exact).sum()), ""
    )
    _warm_up(edges, settings, clock)
    for workers in settings.workers:
        _measure(report, edges, workers, slower, settings, clock)


def _warm_up(edges: EdgeList, settings: Settings, clock: Clock) -> None:
    """Have everything compiled before anything is timed."""
    with _system(max(settings.workers)) as system:
        system.admit(edges[:100].records())
        system.wait_idle(60.0)
        with asked(system, edges, settings, clock, tolerance=_TOLERANCE):
            pass


def _system(workers: int) -> LiveSystem:
    program = PageRank(accuracy=_ACCURACY)
    return LiveSystem(source=0, workers=workers, delay_bound=None, programs=[program])


def _measure(
    report: Report, edges: EdgeList, workers: int, slower: float, settings: Settings, clock: Clock
) -> None:
    name = f"{workers} worker{'s' * (workers > 1)}"
    compared = slower > 0 and workers in {1, 2}
    judged = compared and workers == _JUDGED_WORKERS
    churn = churn_of(edges, settings)
    with _system(workers) as system:
        load_s = loaded(system, churn.live(), clock)
        with asked(system, edges, settings, clock, tolerance=_TOLERANCE) as (_, answer_s):
            load_s += answer_s
        report.add(f"loading 90 % and an answer, {name}", load_s, "s")
        if compared:
            there_s = peers.DIFFERENTIAL_RANKS_LOAD[workers - 1]
            least = 1.0 if judged else None
            what = f"loading, {name}"
            peers.compare(report, peers.DIFFERENTIAL, what, there_s, "s", slower, load_s, at_least=least)
        for size, count in BATCHES.items():
            seconds = _timed_batches(
                system, churn, edges, size, 2 if settings.smoke else count, settings, clock
            )
            what = f"{size:,} change{'s' * (size > 1)}, {name}"
            p50 = report.spread(what, seconds, p99=False)
            if compared:
                there_ms = peers.DIFFERENTIAL_RANKS_MS[size][workers - 1]
                least = _TIMES if judged and size == _JUDGED_BATCH else None
                peers.compare(
                    report, peers.DIFFERENTIAL, what, there_ms, "ms", slower, p50 * 1e3, at_least=least
                )
        with asked(system, edges, settings, clock, tolerance=_TOLERANCE) as (branch, _):
            exact = exact_ranks(in_lists(churn.live()))
            off = require_certified(f"after the stream, {name}", branch, exact)
            report.add(f"how far an answer is from the exact ranks, {name}", off, "")


def _timed_batches(
    system: LiveSystem,
    churn: Churn,
    edges: EdgeList,
    size: int,
    count: int,
    settings: Settings,
    clock: Clock,
) -> list[float]:
    """Time so many batches into the idle loop, each until ranks to the tolerance are read."""
    seconds: list[float] = []
    pending: list[EdgeBatch] = []
    while len(seconds) < count or pending:
        if not pending:
            batch = churn.next_batch(size)
            # One change is half of what the stream gives at least: a removal, and then an addition.
            pending = [batch.slice(0, 1), batch.slice(1, 2)] if size == 1 else [batch]
        system.wait_idle(clock.left_s())
        with asked(system, edges, settings, clock, tolerance=_TOLERANCE, batch=pending.pop(0)) as (_, took_s):
            seconds.append(took_s)
    system.wait_idle(clock.left_s())
    return seconds
