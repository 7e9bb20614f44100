"""What others reach on the same graphs: this project's own measurements of its peers, in other runs than ours.

R-MAT by our recipe on 2 cores and 24 GiB, where heap Dijkstra at scale 20 took 0.48 s; raw results were not kept. The figures
stand beside ours as what they are (`Kind.UNKEPT`), and once more scaled by how long the same plain heap Dijkstra takes in the run
beside: machines of this kind differ by 2.4 times in memory speed. The baselines in `tornado.testing.oracle` are what is
measured in the same run.

Protocol of the incremental ones: load 90 % to the fixed point, then batches, half removals of random live edges and half
additions; latency until the exact answer of that batch is complete.
"""

from __future__ import annotations

from tornado.testing import EdgeList, build, heap_dijkstra, rmat, root_of

from .harness import Kind, Report, Settings, timed

DIFFERENTIAL = "differential-dataflow 0.25.1"
HARDWARE = "2 cores, 24 GiB; heap Dijkstra at scale 20 took 0.48 s"
SOURCE = "measured by this project with the same recipe, in another run"

#: What one plain heap Dijkstra took at scale 20 where the peers were measured, in seconds.
HEAP_20_S = 0.48

#: Shortest paths: p50 in ms until the exact answer of one batch, one worker then two, by scale and size of batch.
DIFFERENTIAL_LATENCY_MS = {
    18: {1: (0.18, 0.20), 100: (28, 15), 1_000: (266, 144), 10_000: (1_103, 569)},
    20: {1: (0.17, 0.19), 100: (22, 13), 1_000: (388, 212), 10_000: (1_646, 858)},
}

#: Shortest paths: seconds to load 90 % of the graph to the fixed point (one worker, two), and peak MB.
DIFFERENTIAL_LOAD = {18: (4.5, 2.4, 499), 20: (18.8, 10.1, 1_439)}

#: Hops and components at scale 20: the same.
DIFFERENTIAL_HOPS_MS = {1: (0.05, 0.05), 100: (0.64, 0.41), 1_000: (5.4, 2.8), 10_000: (42, 21)}
DIFFERENTIAL_HOPS_LOAD = (5.1, 2.5, 785)
DIFFERENTIAL_COMPONENTS_MS = {1: (0.08, 0.09), 100: (1.4, 0.88), 1_000: (12, 5.4), 10_000: (81, 37)}
DIFFERENTIAL_COMPONENTS_LOAD = (13.4, 7.0, 1_773)

#: Seconds for one shortest-path computation at scale 20 on a built graph, and for building it.
RECOMPUTING_20_S = {
    "Numba bucket queue": (0.31, 0.24),
    "Numba heap": (0.48, 0.24),
    "scipy": (0.49, 0.63),
    "NetworKit": (0.58, 3.7),
    "igraph": (3.1, 63.0),
    "rustworkx": (9.6, 18.0),
    "GraphX local[2]": (5.8, 17.7),
}

#: PageRank by 20 rounds at scale 18: p50 in ms until the answer of one batch, one worker then two; load; peak MB.
DIFFERENTIAL_RANKS_MS = {
    1: (3_033, 1_699),
    100: (7_150, 4_037),
    1_000: (8_660, 4_752),
    10_000: (9_518, 5_452),
}
DIFFERENTIAL_RANKS_LOAD = (10.2, 4.9, 665)

#: Seconds for PageRank to 1e-9 on a built graph of that scale; GraphX by 20 rounds.
PAGERANK_SCALE = 20
PAGERANK_20_S = {
    "NetworKit": 4.9,
    "rustworkx": 8.0,
    "igraph": 14.0,
    "GraphX local[2], 20 rounds": 14.7,
}


def quote(report: Report, name: str, value: float, unit: str) -> None:
    """Put a figure of a peer beside our own."""
    report.quote(name, value, unit, kind=Kind.UNKEPT, source=SOURCE, hardware=HARDWARE)


def slower_than_there(report: Report, settings: Settings, edges: EdgeList | None = None) -> float:
    """Return how many times slower this machine is than that of the peers, by the yardstick of their table.

    Parameters
    ----------
    report : Report
        Gets the yardstick.
    settings : Settings
        Its seed chooses the graph of scale 20.
    edges : EdgeList, optional
        That graph, where it is there.
    """
    whole = rmat(20, seed=settings.seed) if edges is None else edges
    _, seconds = timed(heap_dijkstra, build(whole), root_of(whole), repeats=3)
    report.add("the yardstick: heap Dijkstra, whole graph of scale 20", min(seconds), "s", of=seconds)
    return min(seconds) / HEAP_20_S


def compare(
    report: Report,
    peer: str,
    what: str,
    there: float,
    unit: str,
    slower: float,
    ours: float,
    *,
    at_least: float | None = None,
) -> None:
    """Put a peer's figure beside ours: as it was, scaled by the yardstick, and as a ratio."""
    quote(report, f"  {peer}, {what}", there, unit)
    quote(report, f"  {peer} scaled to this machine, {what}", there * slower, unit)
    report.add(
        f"  {peer} scaled, over ours, {what}",
        there * slower / ours,
        "x",
        at_least=at_least,
        kind=Kind.UNKEPT,
        source=SOURCE,
        hardware=HARDWARE,
    )
