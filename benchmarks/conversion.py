"""What it costs to bring a graph of networkx here, and when that is paid back.

Run with ``python -m benchmarks.conversion``. A random directed graph is converted once; ranks and distances are asked of networkx, of the
live graph for the first time, and again after an edit. The baseline is networkx itself, in the same run.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable
from typing import Any

import networkx as nx

from tornado.networkx import LiveGraph

SEED = 1
NODES = 100_000
EDGES = 500_000


def timed(call: Callable[[], Any]) -> tuple[float, Any]:
    """Return how many seconds a call took, and what it returned."""
    began_s = time.perf_counter()
    result = call()
    return time.perf_counter() - began_s, result


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=NODES)
    parser.add_argument("--edges", type=int, default=EDGES)
    given = parser.parse_args()
    graph = nx.gnm_random_graph(given.nodes, given.edges, seed=SEED, directed=True)
    questions: dict[str, Callable[[Any], Any]] = {
        "pagerank": nx.pagerank,
        "single_source_dijkstra_path_length": lambda one: nx.single_source_dijkstra_path_length(one, 0),
    }
    with LiveGraph(graph) as live:
        print(
            f"conversion of {given.nodes:,} nodes and {given.edges:,} edges: {live.conversion.seconds:.2f} s"
        )
        for number, (name, question) in enumerate(questions.items()):
            own_s, _ = timed(lambda question=question: question(graph))
            first_s, _ = timed(lambda question=question: question(live))
            for both in (graph, live):
                both.add_edge(0, given.nodes - 1 - number)
            again_s, found = timed(lambda question=question: question(live))
            assert len(found) <= given.nodes
            print(f"{name}: networkx {own_s:.2f} s, first {first_s:.2f} s, after an edit {again_s:.2f} s")
            print(f"  paid back by {questions_until(own_s, live.conversion.seconds + first_s, again_s)}")


def questions_until(own_s: float, begun_s: float, again_s: float) -> str:
    """Say how many questions, with an edit before each, it takes until a live graph has taken no longer than networkx.

    Examples
    --------
    >>> questions_until(2.0, 5.0, 0.5), questions_until(2.0, 1.0, 0.5), questions_until(0.1, 1.0, 0.5)
    ('3 questions', '1 question', 'no number of questions')
    """
    if again_s >= own_s:
        return "1 question" if begun_s <= own_s else "no number of questions"
    count = max(1, math.ceil((begun_s - again_s) / (own_s - again_s)))
    return f"{count} question{'s' * (count > 1)}"


if __name__ == "__main__":
    main()
