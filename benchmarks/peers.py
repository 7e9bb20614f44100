"""What others reach on the same graphs: this project's own measurements of its peers, in other runs than ours.

R-MAT by our recipe on 2 cores and 24 GiB, where heap Dijkstra at scale 20 took 0.48 s; raw results were not kept. The figures
stand beside ours as what they are (`Kind.UNKEPT`), and once more scaled by how long the same plain heap Dijkstra takes in the run
beside: machines of this kind differ by 2.4 times in memory speed. The baselines in `tornado.testing.oracle` are what is
measured in the same run.

Protocol of the incremental ones: load 90 % to the fixed point, then batches, half removals of random live edges and half
additions; latency until the exact answer of that batch is complete.
"""

from __future__ import annotations

from .harness import Kind, Report

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


def quote(report: Report, name: str, value: float, unit: str) -> None:
    """Put a figure of a peer beside our own."""
    report.quote(name, value, unit, kind=Kind.UNKEPT, source=SOURCE, hardware=HARDWARE)
