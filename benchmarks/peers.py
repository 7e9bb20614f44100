"""What others reach on the same graphs, as published beside our targets: constants, never measured by this program.

Source: the project's own measurements of its peers, 2 cores and 24 GiB ("What has to be beaten"), with our R-MAT recipe:
load 90 % to the fixed point, then batches, half removals of random live edges and half additions, latency until the exact
answer of that batch is complete. Another machine or another day gives other figures, so a ratio to them is an indication; the
baselines in `tornado.testing.oracle` are what is measured in the same run.
"""

from __future__ import annotations

SOURCE = "differential-dataflow 0.25.1, shortest paths, measured on 2 cores with the same recipe"

#: Records a second that one worker takes at scale 20, by size of batch.
DIFFERENTIAL_RATE = {1_000: 2_600, 10_000: 6_300}

#: p50 latency in ms of one batch, one worker then two, by scale and size of batch.
DIFFERENTIAL_LATENCY_MS = {
    18: {1: (0.18, 0.20), 100: (28, 15), 1_000: (266, 144), 10_000: (1_103, 569)},
    20: {1: (0.17, 0.19), 100: (22, 13), 1_000: (388, 212), 10_000: (1_646, 858)},
}

#: Seconds to load 90 % of the graph to the fixed point (one worker, two), and peak MB.
DIFFERENTIAL_LOAD = {18: (4.5, 2.4, 499), 20: (18.8, 10.1, 1_439)}

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
