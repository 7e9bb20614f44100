"""Results as LDBC Graphalytics validates them: each of its algorithms, line by line, on a graph with what is out of reach."""

from __future__ import annotations

import heapq
import math

import pytest

from tests.kinds.counting.naive import clustering
from tests.kinds.rounds.naive import pageranks, propagated

# No parallel edges and no loops, as in the graphs of LDBC; nothing leads to 20, 21 and 22, and 30 has no edge.
LINES = """\
1 3 0.5
1 5 0.3
3 1 0.53
3 8 0.21
5 3 0.125
5 4 0.1
8 10 0.7
4 10 0.2
10 4 0.25
20 21 0.1
21 20 0.2
21 4 1.5
22 21 2
8 5 0.4
"""
VERTICES = (1, 3, 4, 5, 8, 10, 20, 21, 22, 30)
EDGES = {
    (int(source), int(target)): float(weight) for source, target, weight in map(str.split, LINES.splitlines())
}
UNREACHED = {"bfs": "9223372036854775807", "sssp": "infinity"}


def weights_of(*, undirected):
    edges = {ends: [weight] for ends, weight in EDGES.items()}
    if undirected:
        edges = {}
        for (source, target), weight in UNDIRECTED.items():
            edges |= {(source, target): [weight], (target, source): [weight]}
    return edges


# An undirected graph has each edge once.
UNDIRECTED = {ends: weight for ends, weight in EDGES.items() if ends[::-1] not in EDGES or ends < ends[::-1]}


def lengths(edges, *, hops):
    found, heap = {}, [(0.0, 1)]
    while heap:
        length, vertex = heapq.heappop(heap)
        if vertex not in found:
            found[vertex] = length
            for (source, target), (weight,) in edges.items():
                if source == vertex:
                    heapq.heappush(heap, (length + (1.0 if hops else weight), target))
    return {vertex: found.get(vertex, math.inf) for vertex in VERTICES}


def components(edges):
    labels = {vertex: vertex for vertex in VERTICES}
    for _ in VERTICES:
        for source, target in edges:
            labels[source] = labels[target] = min(labels[source], labels[target])
    return labels


ALGORITHMS = {
    "bfs": (["bfs", "--source", "1"], lambda edges, _: lengths(edges, hops=True)),
    "sssp": (["sssp", "--source", "1"], lambda edges, _: lengths(edges, hops=False)),
    "wcc": (["connected_components"], lambda edges, _: components(edges)),
    "cdlp": (
        ["label_propagation", "--rounds", "5"],
        lambda edges, undirected: propagated(edges, VERTICES, 5, both_ways=not undirected),
    ),
    "lcc": (["local_clustering"], lambda edges, _: clustering(edges, VERTICES)),
    "pr": (["pagerank", "--rounds", "5"], lambda edges, _: pageranks(edges, VERTICES, 5)),
}
EXACT = {"bfs": int, "wcc": int, "cdlp": int}


@pytest.mark.parametrize("undirected", [False, True])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_each_algorithm_writes_what_ldbc_validates(tornado, tmp_path, algorithm, undirected):
    words, oracle = ALGORITHMS[algorithm]
    graph = UNDIRECTED if undirected else EDGES
    lines = [f"{source} {target} {weight}" for (source, target), weight in graph.items()]
    (tmp_path / "graph.e").write_text("\n".join(lines) + "\n")
    (tmp_path / "graph.v").write_text("".join(f"{vertex}\n" for vertex in VERTICES))
    shared = ["--vertices", "graph.v", "--edges", "graph.e", *["--undirected"] * undirected]
    where = ["--store", "memory:", "--workers", "2", "--output", "result", "--output-format", "ldbc"]
    done = tornado("run", *words, *shared, *where)
    assert done.code == 0, done.err
    rows = [line.split(" ") for line in (tmp_path / "result").read_text().splitlines()]
    assert [int(vertex) for vertex, _ in rows] == sorted(VERTICES)
    found = {int(vertex): value for vertex, value in rows}
    expected = oracle(weights_of(undirected=undirected), undirected)
    for vertex in VERTICES:
        if expected[vertex] == math.inf:
            assert found[vertex] == UNREACHED[algorithm]
        elif algorithm in EXACT:
            assert found[vertex] == str(int(expected[vertex]))
        else:
            assert float(found[vertex]) == pytest.approx(expected[vertex], rel=1e-13, abs=0)


def test_on_standard_output_there_is_nothing_else(tornado, tmp_path):
    (tmp_path / "graph.e").write_text("1 2 0.5\n3 1 1\n")
    run = ["run", "sssp", "--source", "1", "--edges", "graph.e", "--store", "memory:"]
    done = tornado(*run, "--output", "-", "--output-format", "ldbc")
    assert (done.code, done.out) == (0, "1 0.0\n2 0.5\n3 infinity\n"), done.err
