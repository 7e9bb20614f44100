"""Label propagation as LDBC Graphalytics defines it, against a twin on arrays that knows nothing of loops, as people use it."""

import csv
import io
import json
from functools import partial
from pathlib import Path

import httpx
import numpy as np
import pytest

import tornado
from apps.bfs import BreadthFirstSearch
from apps.label_propagation import LabelPropagation
from tests.apps.judged_stream import JudgedStream, real_records
from tests.kinds.rounds.naive import propagated, propagated_by_arrays
from tests.shortened import in_soak, shortened
from tornado.testing import (
    mixed,
    random_multigraph,
    rmat,
)

CHECKOUT = Path(__file__).resolve().parents[2]
ROUNDS = 10


def stream_of(records, workers, rounds=ROUNDS, engine="threads"):
    def expected(edges, seen):
        return propagated_by_arrays(edges.src, edges.dst, seen, rounds)

    return JudgedStream(LabelPropagation(rounds=rounds), records, workers, expected, engine=engine)


def test_both_twins_say_the_same():
    for seed in range(5):
        edges = random_multigraph(30, 60, seed=seed)
        ids = np.unique(np.concatenate([edges.src, edges.dst]))
        weights = {}
        for ends in zip(edges.src.tolist(), edges.dst.tolist(), strict=True):
            weights.setdefault(ends, []).append(1.0)
        for rounds in (1, 2, 7):
            plain = propagated(weights, ids.tolist(), rounds)
            arrays = propagated_by_arrays(edges.src, edges.dst, ids, rounds)
            assert plain == dict(zip(ids.tolist(), arrays.tolist(), strict=True))


@pytest.mark.parametrize("workers", [1, 2, 4])
@pytest.mark.parametrize("rounds", [1, in_soak(3), 10])
def test_an_answer_is_exact_after_each_batch_of_a_stream_in_which_edges_go_too(workers, rounds):
    graph = random_multigraph(60, 500, seed=workers, integral=True)
    with stream_of(mixed(graph, seed=4), workers, rounds) as stream:
        while stream.admit(90):
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


@pytest.mark.parametrize("engine", ["threads", in_soak("processes")])
def test_a_session_says_labels_by_the_names_of_vertices(engine):
    with tornado.open("memory:", engine=engine, workers=2) as session:
        towns = session.start(LabelPropagation(rounds=2), name="towns", ids="string")
        towns.insert(["Rome", "Pisa", "Bonn"], ["Pisa", "Rome", "Kiel"])
        answer = towns.query(vertices=["Rome", "Pisa", "Bonn", "Kiel"])
        # After an even number of rounds two who only have each other have their own labels again.
        assert answer.values == {"Rome": "Rome", "Pisa": "Pisa", "Bonn": "Bonn", "Kiel": "Kiel"}
        assert answer.certificate == {"kind": "exact"}
        assert answer.snapshot.delay_bound == 1
        towns.insert(["Pisa"], ["Bonn"])
        # Pisa hears Rome twice in round 1. In round 2 Bonn hears that, and its own label from Kiel: Rome was named first.
        assert towns.query(vertices=["Bonn"]).values == {"Bonn": "Rome"}


def test_over_http_the_number_of_rounds_is_refused_in_a_question_and_a_bound_where_it_is_named():
    with tornado.open("memory:", workers=2) as session:
        hops = session.start(BreadthFirstSearch(source=1), name="hops")
        hops.insert([1, 2, 3, 5], [2, 3, 1, 1])
        base = f"{session.serve().url}/v1"
        wanted = {"program": "label_propagation", "stream": "hops", "parameters": {"rounds": 4}}
        with httpx.Client(trust_env=False, timeout=90) as client:
            for bound in (64, 2, None):
                refused = client.post(f"{base}/loops", json=wanted | {"name": "no", "delay_bound": bound})
                assert refused.status_code == 422, refused.text
                assert "1 only" in refused.json()["detail"]
            assert (
                client.post(f"{base}/loops", json=wanted | {"name": "one", "delay_bound": 1}).status_code
                == 201
            )
            started = client.post(f"{base}/loops", json=wanted)
            assert started.status_code == 201, started.text
            assert (started.json()["name"], started.json()["delay_bound"]) == ("label_propagation", 1)
            question = {"loop": "label_propagation", "vertices": [1, 2, 3, 5]}
            answer = client.post(f"{base}/queries?wait_s=60", json=question)
            assert answer.status_code == 200, answer.text
            expected = propagated({(1, 2): [1], (2, 3): [1], (3, 1): [1], (5, 1): [1]}, {1, 2, 3, 5}, 4)
            body = answer.json()
            assert {row["vertex"]: row["value"] for row in body["result"]["values"]} == expected
            assert body["certificate"] == {"kind": "exact"}
            for rounds in (4, 5):
                refused = client.post(f"{base}/queries", json=question | {"parameters": {"rounds": rounds}})
                assert refused.status_code == 422
                assert "'rounds' of LabelPropagation is fixed" in refused.json()["detail"]
            many = client.post(f"{base}/loops", json=wanted | {"name": "no", "parameters": {"rounds": 0}})
            assert many.status_code == 422
            assert "rounds is 0 but must be a whole number from 1 to 1000" in many.json()["detail"]


EDGES = [(1, 2), (2, 1), (2, 3), (4, 2), (5, 4), (6, 5), (6, 4), (7, 7), (3, 9)]


@pytest.fixture
def run_on(command, tmp_path):
    return partial(run_of, command, tmp_path)


def run_of(command, folder, *options):
    (folder / "edges.csv").write_text("".join(f"{source},{target}\n" for source, target in EDGES))
    words = ("--edges", folder / "edges.csv", "--store", "memory:", "--output", "-", *options)
    return command("run", "label_propagation", *words)


@pytest.mark.parametrize("undirected", [[], ["--undirected"]])
def test_the_command_line_writes_a_label_for_each_vertex(run_on, undirected):
    code, out, err = run_on("--rounds", 3, "--workers", 2, *undirected)
    assert code == 0, err
    rows = {int(row["vertex"]): int(row["value"]) for row in csv.DictReader(io.StringIO(out))}
    edges = {ends: [1.0] for ends in EDGES}
    if undirected:  # both directions of each line, and a vertex hears along its edges once
        edges = {}
        for source, target in EDGES:
            for ends in ((source, target), (target, source)):
                edges.setdefault(ends, []).append(1.0)
    assert rows == propagated(edges, {1, 2, 3, 4, 5, 6, 7, 9}, 3, both_ways=not undirected)
    result = next(event for event in map(json.loads, err.splitlines()) if event["event"] == "result")
    assert (result["certificate"], result["snapshot"]["delay_bound"]) == ({"kind": "exact"}, 1)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--delay-bound", 64], "1 only"),
        (["--delay-bound", "unbounded"], "1 only"),
        (["--rounds", 0], "rounds is 0 but must be a whole number from 1 to 1000"),
        (["--rounds", 1001], "rounds is 1001 but must be a whole number from 1 to 1000"),
        (["--rounds", "many"], "many"),
    ],
)
def test_the_command_line_refuses_what_rounds_cannot_have(run_on, options, said):
    code, out, err = run_on(*options)
    assert (code, out) == (2, "")
    assert said in err


def test_the_command_line_takes_the_bound_that_rounds_have(run_on):
    code, _, err = run_on("--delay-bound", 1)
    assert code == 0, err
