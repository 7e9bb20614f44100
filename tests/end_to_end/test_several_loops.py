"""Several programs on one stream, as a user starts them: behind `--and`, and on a service that runs."""

import csv
import json
import signal
import time

import pytest

from tests.end_to_end.running import NDJSON, Service, run_here, told
from tornado.command import main

EDGES = "src,dst,weight\n1,2,5\n2,3,5\n1,3,20\n3,4,1\n"


@pytest.fixture
def edges(tmp_path):
    path = tmp_path / "edges.csv"
    path.write_text(EDGES)
    return path


def pushed_when_ready(client, path, lines):
    """Push as soon as the service takes it: after a restart its files come first."""
    until_s = time.monotonic() + 60
    while (answer := client.post(path, content=lines, headers=NDJSON)).status_code == 429:
        assert time.monotonic() < until_s
        time.sleep(0.1)
    return answer.json()


def values(path):
    with path.open() as lines:
        return {int(row["vertex"]): row["value"] for row in csv.DictReader(lines)}


def test_each_program_behind_and_has_its_name_its_bound_and_its_result(tmp_path, edges):
    code, events = run_here(
        tmp_path,
        *(
            "--and",
            "bfs",
            "--source",
            2,
            "--edges",
            edges,
            "--output",
            tmp_path / "{loop}.csv",
            "--delay-bound",
            64,
        ),
        *("--and", "sssp", "--name", "far", "--source", 3, "--delay-bound", "unbounded"),
    )
    assert code == 0, events
    assert values(tmp_path / "sssp.csv") == {1: "0.0", 2: "5.0", 3: "10.0", 4: "11.0"}
    assert values(tmp_path / "bfs.csv") == {1: "", 2: "0.0", 3: "1.0", 4: "2.0"}
    assert values(tmp_path / "far.csv") == {1: "", 2: "", 3: "0.0", 4: "1.0"}
    results = [event for event in events if event["event"] == "result"]
    assert [event["snapshot"]["delay_bound"] for event in results] == [None, 64, None]
    assert len({event["snapshot"]["version"] for event in results}) == 1


@pytest.mark.parametrize("undirected", [[], ["--undirected"]])
def test_components_stand_beside_paths_whichever_way_edges_go(tmp_path, undirected):
    (tmp_path / "edges.csv").write_text("src,dst\n9,2\n9,7\n-5,9007199254740993\n")
    code, events = run_here(
        tmp_path,
        *("--source", 9, "--edges", tmp_path / "edges.csv", "--output", tmp_path / "{loop}.csv", *undirected),
        *("--and", "connected_components", "--workers", 2),
    )
    assert code == 0, events
    labels = {-5: "-5", 2: "2", 7: "2", 9: "2", 9007199254740993: "-5"}
    assert values(tmp_path / "connected_components.csv") == labels
    assert values(tmp_path / "sssp.csv") == {-5: "", 2: "1.0", 7: "1.0", 9: "0.0", 9007199254740993: ""}


def test_components_join_a_service_and_what_is_pushed_splits_them(tmp_path, edges):
    with Service(tmp_path, "--edges", edges, "--workers", 2) as service:
        client = service.client
        wanted = {"program": "connected_components", "name": "parts", "stream": "sssp"}
        assert client.post("/v1/loops", json=wanted, timeout=90).status_code == 201
        removal = '{"src": 3, "dst": 4, "op": "-"}\n{"src": 9223372036854775807, "dst": 4}\n'
        assert client.post("/v1/loops/parts/edges", content=removal, headers=NDJSON).json()["accepted"] == 2
        asked = client.post("/v1/queries?wait_s=30", json={"loop": "parts", "vertices": [3, 4]}).json()
        result = client.get(f"/v1/queries/{asked['id']}/result?ids=string").json()
        assert {row["vertex"]: row["value"] for row in result["values"]} == {"3": "1", "4": "4"}
        assert client.delete("/v1/loops/parts").status_code == 204
        asked = client.post("/v1/queries?wait_s=30", json={"loop": "sssp", "vertices": [3, 4]}).json()
        assert asked["certificate"] == {"kind": "exact"}


def test_a_stream_has_the_name_that_a_run_gives_it_also_after_a_restart(tmp_path, edges):
    store = ["--store", f"lmdb://{tmp_path}/store", "--edges", edges, "--stream", "roads"]
    for pushed in (1, 2):
        with Service(tmp_path, *store, "--and", "bfs", "--source", "1") as service:
            [stream] = service.client.get("/v1/streams").json()["streams"]
            assert (stream["name"], stream["loops"]) == ("roads", ["bfs", "sssp"])
            pushed_edge = '{"src": 4, "dst": 5}\n'
            said = pushed_when_ready(service.client, "/v1/streams/roads/edges", pushed_edge)
            assert said["offsets"] == {"http": pushed}


def test_what_is_pushed_to_an_undirected_run_is_an_edge_in_both_directions(tmp_path, edges):
    store = ["--store", f"lmdb://{tmp_path}/store", "--edges", edges, "--undirected"]
    for source in (9, 8):  # the second time from the log
        with Service(tmp_path, *store, "--and", "connected_components") as service:
            edge = f'{{"src": {source}, "dst": 1}}\n'
            assert pushed_when_ready(service.client, "/v1/loops/sssp/edges", edge)["accepted"] == 1
            for loop, value in (("sssp", 1.0), ("connected_components", 1)):
                question = {"loop": loop, "vertices": [source]}
                asked = service.client.post("/v1/queries?wait_s=30", json=question).json()
                assert asked["result"]["values"] == [{"vertex": source, "value": value}]


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (
            ["--and", "bfs", "--source", "1", "--output", "one.csv"],
            2,
            "would be written by each of several loops",
        ),
        (["--and"], 2, "--and is followed by APP"),
        (["--and", "--source", "1"], 2, "--and is followed by APP"),
        (["--and", "bfs"], 2, "Missing option '--source'"),
        (["--and", "bfs"], 2, "run bfs --help` lists what can be said"),
        (["--and", "nothing"], 2, "there is no app named 'nothing'"),
        (["--and", "bfs", "--source", "1", "--hops", "1"], 2, "no such option --hops"),
        (["--and", "sssp", "--source", "2"], 2, "a loop named 'sssp' runs already"),
    ],
)
def test_what_is_wrong_behind_and_is_said(tmp_path, edges, words, code, said, monkeypatch, capfd):
    monkeypatch.setenv("TORNADO_LOOPS_DATA_DIR", str(tmp_path / "data"))
    done = main(["run", "sssp", "--source", "1", "--edges", str(edges), *words])
    errors = capfd.readouterr().err
    assert (done, said in errors) == (code, True), errors


def test_loops_are_started_and_stopped_on_a_service_that_restarts(tmp_path, edges):
    store = ["--store", f"lmdb://{tmp_path}/store", "--edges", edges]
    with Service(tmp_path, *store, "--and", "bfs", "--source", "1") as service:
        url = ["--url", service.url]
        assert service.client.get("/v1/streams").json()["streams"][0]["loops"] == ["bfs", "sssp"]
        code, said, _ = told(
            tmp_path,
            "start",
            "sssp",
            "--stream",
            "sssp",
            "--source",
            "2",
            "--name",
            "far",
            "--json",
            *url,
        )
        assert (code, json.loads(said)["stream"]) == (0, "sssp")
        code, said, errors = told(tmp_path, "query", "far", "--vertices", "3", "--json", *url)
        assert code == 0, errors
        assert '"value": 5.0' in said
        code, _, errors = told(tmp_path, "start", "bfs", "--stream", "sssp", "--source", "1", *url)
        assert (code, "runs already" in errors) == (2, True)
        assert told(tmp_path, "stop", "far", *url)[0] == 0
        code, _, errors = told(tmp_path, "stop", "far", *url)
        assert (code, "no loop is called 'far'" in errors) == (1, True)
        pushed = service.client.post(
            "/v1/loops/bfs/edges",
            content='{"src": 4, "dst": 5}\n',
            headers={"content-type": "application/x-ndjson"},
        )
        assert pushed.status_code == 202
    # Whatever loop it came through, it is in the stream.
    with Service(tmp_path, *store, "--and", "bfs", "--source", "1") as service:
        for loop, expected in (("sssp", "12.0"), ("bfs", "3.0")):
            _, said, _ = told(tmp_path, "query", loop, "--vertices", "5", "--json", "--url", service.url)
            assert f'"value": {expected}' in said


def until(condition, timeout_s=60):
    until_s = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < until_s, "it did not come to that in time"
        time.sleep(0.02)


def looked_at(service, loop):
    return service.look(f"/v1/loops/{loop}").json()


def push(service, *rows):
    lines = "".join(json.dumps(dict(zip(("src", "dst", "weight"), row, strict=True))) + "\n" for row in rows)
    assert service.push(lines).status_code == 202


def test_after_a_kill_all_loops_answer_at_once_and_that_which_was_started_over_http_is_there_again(
    tmp_path, edges
):
    store = ["--store", f"lmdb://{tmp_path}/store", "--edges", edges, "--checkpoint-every", "50ms"]
    beside = ["--and", "bfs", "--source", "1"]
    far = {"program": "sssp", "name": "far", "stream": "sssp", "parameters": {"source": 2}, "delay_bound": 1}
    with Service(tmp_path, *store, *beside) as service:
        service.wait_for("input-ended")
        push(service, (4, 5, 1), (5, 6, 1))
        until(lambda: service.metric("tornado_checkpoint_version") == looked_at(service, "bfs")["version"])
        assert service.client.post("/v1/loops", json=far).status_code == 201
        # The next snapshot has it too: one has begun after it, and has ended.
        count = service.metric("tornado_checkpoints_total")
        until(lambda: service.metric("tornado_checkpoints_total") >= count + 2)
        service.signal(signal.SIGKILL)
    with Service(tmp_path, *store, *beside, "--workers", 2) as service:
        service.wait_for("input-ended")
        assert service.restored["converged"] is True
        assert service.restored["loops"] == [
            {"name": name, "converged": True} for name in ("sssp", "bfs", "far")
        ]
        assert service.client.get("/v1/streams").json()["streams"][0]["loops"] == ["bfs", "far", "sssp"]
        version = service.restored["snapshot"]["version"]
        for loop, expected, bound in (("sssp", 13.0, None), ("bfs", 4.0, None), ("far", 8.0, 1)):
            for at in (None, version):
                answer = service.ask(loop=loop, vertices=[6], at=at)
                assert (answer["updates"], answer["snapshot"]["version"]) == (0, version)
                assert answer["result"]["values"] == [{"vertex": 6, "value": expected}]
            found = looked_at(service, loop)
            assert (found["updates"], found["pending"], found["delay_bound"]) == (0, 0, bound)
        push(service, (6, 7, 1))
        for loop, expected in (("sssp", 14.0), ("bfs", 5.0), ("far", 9.0)):
            [row] = service.ask(loop=loop, vertices=[7])["result"]["values"]
            assert row["value"] == expected
        assert service.client.delete("/v1/loops/far").status_code == 204
        service.signal(signal.SIGKILL)
    with Service(tmp_path, *store, *beside) as service:
        assert service.client.get("/v1/streams").json()["streams"][0]["loops"] == ["bfs", "sssp"]
        assert service.client.get("/v1/loops/far").status_code == 404
        for loop, expected in (("sssp", 14.0), ("bfs", 5.0)):
            [row] = service.ask(loop=loop, vertices=[7])["result"]["values"]
            assert row["value"] == expected


def test_a_loop_that_was_started_over_http_is_there_again_without_any_snapshot(tmp_path):
    store = ["--store", f"lmdb://{tmp_path}/store", "--checkpoint-every", "off"]
    with Service(tmp_path, *store) as service:
        hops = {"program": "bfs", "stream": "sssp", "parameters": {"source": 1}}
        assert service.client.post("/v1/loops", json=hops).status_code == 201
        push(service, (1, 2, 5), (2, 3, 5))
        service.signal(signal.SIGKILL)
    with Service(tmp_path, *store) as service:
        for loop, expected in (("sssp", 10.0), ("bfs", 2.0)):
            [row] = service.ask(loop=loop, vertices=[3])["result"]["values"]
            assert row["value"] == expected
