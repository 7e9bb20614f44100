"""Core numbers against networkx's, of the simple undirected graph behind streams in which edges go too, as people use them."""

import csv
import io
import json

import httpx
import networkx as nx
import numpy as np
import pytest

import tornado
from apps.bfs import BreadthFirstSearch
from apps.core_number import CoreNumber
from tests.apps.judged_stream import JudgedStream, real_records
from tests.shortened import in_soak, shortened
from tornado.records.edge_batch import EdgeBatch
from tornado.testing import (
    mixed,
    random_multigraph,
    rmat,
)


def cores_of(edges, seen):
    """The core number of each vertex that was seen, in their order."""
    graph = nx.Graph()
    graph.add_nodes_from(seen.tolist())
    graph.add_edges_from(
        ends for ends in zip(edges.src.tolist(), edges.dst.tolist(), strict=True) if ends[0] != ends[1]
    )
    numbers = nx.core_number(graph)
    return np.array([numbers[vertex] for vertex in seen.tolist()])


def stream_of(records, workers, delay_bound=64, engine="threads"):
    return JudgedStream(CoreNumber(), records, workers, cores_of, delay_bound=delay_bound, engine=engine)


@pytest.mark.parametrize("workers", [1, 2, 4])
@pytest.mark.parametrize("delay_bound", [1, in_soak(3), 64, None])
def test_an_answer_is_exact_after_each_batch_of_a_stream_in_which_edges_go_too(workers, delay_bound):
    graph = random_multigraph(60, 500, seed=workers, integral=True)
    with stream_of(mixed(graph, seed=4), workers, delay_bound) as stream:
        while stream.admit(90):
            stream.judge_branch(stream.loop.fork())
        stream.judge_main()


@pytest.mark.parametrize("workers", [1, 2])
def test_few_changes_of_a_graph_in_which_all_is_known_are_exact_too(workers):
    records = mixed(rmat(9, seed=4), seed=3)
    with stream_of(records, workers) as stream:
        stream.admit(len(records) - 600)
        stream.judge_main()
        while stream.admit(3):
            if stream.admitted % 60 < 3:
                stream.judge_branch(stream.loop.fork())
        stream.judge_main()


@pytest.mark.parametrize(
    ("workers", "engine"),
    [in_soak((1, "threads")), (4, "threads"), in_soak((2, "threads")), in_soak((2, "processes"))],
)
def test_a_larger_graph_is_exact_while_its_edges_come_and_go(workers, engine):
    with stream_of(mixed(rmat(11, seed=2), seed=3), workers, engine=engine) as run:
        run.judge_while_it_runs(9000)


@pytest.mark.parametrize(
    ("name", "removals", "workers"),
    shortened([("college", "window", 2), ("bitcoin", "random", 4), ("bitcoin", "window", 1)], 1),
)
def test_real_graphs_are_exact_at_any_prefix(data_dir, name, removals, workers):
    with stream_of(real_records(data_dir, name, removals), workers) as run:
        run.judge_while_it_runs(7_000)


@pytest.mark.parametrize("undirected", [False, True])
def test_an_edge_counts_once_until_its_last_copy_goes_and_a_loop_never(undirected):
    with tornado.open("memory:", workers=2) as session:
        loop = session.start(CoreNumber(), name="cores", undirected=undirected)
        loop.insert([1, 2, 1, 1, 2, 3, 3], [2, 1, 2, 1, 3, 1, 3])  # a triangle; 1 -> 2 twice, and 2 -> 1
        loop.loop.stream.admit(EdgeBatch.mentions(np.array([8])), "vertices", 1)
        assert loop.query().values == {1: 2, 2: 2, 3: 2, 8: 0}
        for count, number in ((1, 2), (2, 2), (3, 1)):
            loop.remove(*[([1], [2]), ([1], [2]), ([2], [1])][count - 1])
            answer = loop.query(check=True)
            assert answer.values == {1: number, 2: number, 3: number, 8: 0}
            assert (answer.certificate["kind"], answer.certificate["checked"]) == ("exact", True)
        loop.remove([2, 3], [3, 1])
        assert loop.query().values == dict.fromkeys((1, 2, 3, 8), 0)


@pytest.mark.parametrize("engine", ["threads", in_soak("processes")])
def test_a_session_says_who_is_in_the_highest_core_by_name(engine):
    with tornado.open("memory:", engine=engine, workers=2) as session:
        towns = session.start(CoreNumber(), name="towns", ids="string")
        towns.insert(["Rome", "Pisa", "Bonn", "Bonn"], ["Pisa", "Bonn", "Rome", "Kiel"])
        answer = towns.query(top=2)
        assert answer.values == {"Rome": 2, "Pisa": 2}
        assert answer.certificate == {"kind": "exact"}
        assert towns.query(vertices=["Kiel"]).values == {"Kiel": 1}
        assert towns.query(parameters={"most": 1}, vertices=["Rome", "Kiel"]).values == {"Rome": 1, "Kiel": 1}


def test_over_http_it_is_started_asked_and_refused():
    with tornado.open("memory:", workers=2) as session:
        hops = session.start(BreadthFirstSearch(source=1), name="hops")
        hops.insert([1, 2, 3, 5], [2, 3, 1, 1])
        base = f"{session.serve().url}/v1"
        wanted = {"program": "core_number", "stream": "hops"}
        with httpx.Client(trust_env=False, timeout=90) as client:
            started = client.post(f"{base}/loops", json=wanted)
            assert started.status_code == 201, started.text
            question = {"loop": "core_number", "vertices": [1, 5, 77]}
            answer = client.post(f"{base}/queries?wait_s=60", json=question | {"check": True})
            assert answer.status_code == 200, answer.text
            body = answer.json()
            assert body["result"]["values"] == [{"vertex": 1, "value": 2}, {"vertex": 5, "value": 1}]
            assert body["result"]["unknown"] == [77]
            assert body["certificate"]["checked"] is True
            for most in (-1, 2**31, 0.5, "many"):
                for path, body in (
                    ("loops", wanted | {"name": "no", "parameters": {"most": most}}),
                    ("queries", question | {"parameters": {"most": most}}),
                ):
                    refused = client.post(f"{base}/{path}", json=body)
                    assert refused.status_code == 422, refused.text
                    assert "most" in refused.json()["detail"]
            refused = client.post(f"{base}/queries", json=question | {"parameters": {"least": 1}})
            assert refused.status_code == 422
            assert client.post(f"{base}/queries/none/adopt").status_code in {404, 405}


EDGES = [(1, 2), (2, 1), (2, 3), (3, 1), (3, 4), (7, 7), (4, 9)]


@pytest.mark.parametrize("undirected", [[], ["--undirected"]])
@pytest.mark.parametrize("most", [[], ["--most", 1]])
def test_the_command_line_writes_a_number_for_each_vertex(command, tmp_path, undirected, most):
    (tmp_path / "edges.csv").write_text("".join(f"{source},{target}\n" for source, target in EDGES))
    words = ["--edges", tmp_path / "edges.csv", "--store", "memory:", "--output", "-", "--workers", 2]
    code, out, err = command("run", "core_number", *words, *undirected, *most)
    assert code == 0, err
    rows = {int(row["vertex"]): int(row["value"]) for row in csv.DictReader(io.StringIO(out))}
    triangle = 1 if most else 2
    assert rows == {1: triangle, 2: triangle, 3: triangle, 4: 1, 7: 0, 9: 1}
    result = next(event for event in map(json.loads, err.splitlines()) if event["event"] == "result")
    assert (result["certificate"], result["snapshot"]["delay_bound"]) == ({"kind": "exact"}, 64)


def test_the_command_line_refuses_a_greatest_number_that_is_none(command, tmp_path):
    (tmp_path / "edges.csv").write_text("1,2\n")
    words = ["--edges", tmp_path / "edges.csv", "--store", "memory:", "--output", "-", "--most", -1]
    code, out, err = command("run", "core_number", *words)
    assert (code, out) == (2, "")
    assert "CoreNumber.most is -1 but must be from 1 to 2147483646, or 0 for no limit" in err
