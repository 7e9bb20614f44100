"""A service as a user has it: edges are pushed while exact questions are asked, and it is killed and started again.

Every answer names the records it is for; the oracle gets exactly those.
"""

import io
import json
import math
import signal
import threading

import numpy as np
import pyarrow as pa
import pytest

from tests.end_to_end.running import ARROW, NDJSON, Service
from tornado.records.operations import INSERT, REMOVE, REPLACE
from tornado.testing import EdgeHistory, batches, college_messages, exact_distances, mixed

SIGNS = {INSERT: "+", REMOVE: "-", REPLACE: "="}


def ndjson(batch):
    lines = []
    for src, dst, weight, op in zip(
        batch.src.tolist(), batch.dst.tolist(), batch.weight.tolist(), batch.op.tolist(), strict=True
    ):
        line = {"src": src, "dst": dst, "op": SIGNS[op]}
        lines.append(json.dumps(line if math.isnan(weight) else line | {"weight": weight}))
    return "\n".join(lines)


def arrow(batch):
    table = pa.table(
        {
            "src": batch.src,
            "dst": batch.dst,
            "weight": pa.array(batch.weight, mask=np.isnan(batch.weight)),
            "op": [SIGNS[op] for op in batch.op.tolist()],
        }
    )
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


@pytest.fixture(scope="module")
def stream(data_dir):
    """Some thousand real messages with removals, replacements and records of what is not there among them."""
    return mixed(college_messages(data_dir)[:8000], seed=3)


@pytest.fixture
def service(tmp_path):
    with Service(tmp_path, "--store", f"lmdb://{tmp_path}/store") as running:
        yield running


def check(answer, history):
    """Compare the values of an answer with the oracle on the prefix that it names; return the prefix."""
    assert (answer["state"], answer["certificate"]) == ("converged", {"kind": "exact"})
    prefix = answer["snapshot"]["offsets"].get("http", 0)
    rows = answer["result"]["values"]
    ids = np.array([row["vertex"] for row in rows], np.int64)
    found = np.array([math.inf if row["value"] is None else row["value"] for row in rows])
    assert found.tolist() == exact_distances(history.at(prefix), 1).lookup(ids).tolist()
    return prefix


def test_answers_while_edges_are_pushed_are_exact_for_the_prefix_they_name(service, stream):
    history = EdgeHistory.of(stream)
    pushed = 0
    failed = []

    def push():
        nonlocal pushed
        for number, batch in enumerate(batches(stream, 250)):
            kind, content = (ARROW, arrow(batch)) if number % 2 else (NDJSON, ndjson(batch))
            response = service.push(content, kind)
            pushed += len(batch)
            if response.status_code != 202 or response.json() != {
                "accepted": len(batch),
                "rejected": 0,
                "offsets": {"http": pushed},
            }:
                failed.append(response.text)
                return

    thread = threading.Thread(target=push)
    thread.start()
    prefixes = []
    while thread.is_alive():
        before = pushed
        prefixes.append(check(service.ask(), history))
        # What was acknowledged before the question is in its answer.
        assert prefixes[-1] >= before
    thread.join()
    assert failed == []
    assert prefixes == sorted(prefixes)
    last = service.ask()
    assert check(last, history) == len(stream)
    reachable = exact_distances(history.at(len(stream)), 1)
    assert len(last["result"]["values"]) >= len(reachable.ids)
    statistics = service.look("/v1/loops/sssp").json()
    assert statistics["missing_removals"] == history.missing_removals(len(stream)) > 0
    assert statistics["edges"] == len(history.at(len(stream)))


def test_every_form_of_a_result_has_the_same_bits(service, stream):
    assert service.push(ndjson(stream.slice(0, 3000))).status_code == 202
    path = f"/v1/queries/{service.ask()['id']}/result"
    expected = service.client.get(path).json()["values"]
    lines = service.client.get(path, headers={"accept": "application/x-ndjson"}).text
    assert [json.loads(line) for line in lines.splitlines()] == expected
    header, *rows = service.client.get(path, headers={"accept": "text/csv"}).text.splitlines()
    assert header == "vertex,value"
    cells = [row.split(",") for row in rows]
    assert [{"vertex": int(v), "value": float(x) if x else None} for v, x in cells] == expected
    body = service.client.get(path, headers={"accept": "application/vnd.apache.arrow.stream"}).content
    assert pa.ipc.open_stream(body).read_all().to_pylist() == expected
    pages, after = [], None
    while True:
        params = {"limit": 500} | ({} if after is None else {"after": after})
        page = service.client.get(path, params=params).json()
        pages += page["values"]
        if (after := page["next"]) is None:
            break
    assert pages == expected


def test_a_question_is_followed_by_events_and_can_be_cancelled(service):
    service.push('{"src": 1, "dst": 2}')
    waiting = service.client.post("/v1/queries", json={"loop": "sssp", "min_offsets": {"http": 3}})
    assert waiting.status_code == 202
    path = waiting.headers["location"]
    assert waiting.json()["state"] == "queued"
    names = []
    with service.client.stream("GET", f"{path}/events") as events:
        for line in events.iter_lines():
            if line.startswith("event: "):
                names.append(line.removeprefix("event: "))
                if len(names) == 1:
                    service.push('{"src": 2, "dst": 3}\n{"src": 3, "dst": 4}')
    assert (names[0], names[-1], names.count("done")) == ("progress", "done", 1)
    assert service.client.get(f"{path}/result").json()["values"][-1] == {"vertex": 4, "value": 3.0}
    other = service.client.post("/v1/queries", json={"loop": "sssp", "min_offsets": {"http": 99}})
    path = other.headers["location"]
    assert service.client.delete(path).json()["state"] == "cancelled"
    assert service.client.get(f"{path}/result").status_code == 409
    assert service.client.delete(path).status_code == 200
    assert service.client.get(path).status_code == 404


def test_what_was_acknowledged_outlives_a_kill(tmp_path, stream):
    store = f"lmdb://{tmp_path}/store"
    history = EdgeHistory.of(stream)
    with Service(tmp_path, "--store", store) as service:
        for batch in batches(stream.slice(0, 3000), 300):
            assert service.push(ndjson(batch)).status_code == 202
        service.signal(signal.SIGKILL)
    with Service(tmp_path, "--store", store) as service:
        assert check(service.ask(), history) == 3000
        assert service.push(arrow(stream.slice(3000, 3500)), ARROW).json()["offsets"] == {"http": 3500}
        assert check(service.ask(), history) == 3500
        assert service.signal(signal.SIGINT) == 130
    with Service(tmp_path, "--store", store) as service:
        assert check(service.ask(), history) == 3500


def test_a_removal_of_what_a_file_brought_is_still_one_after_a_kill(tmp_path):
    # Long enough that the service is asked while it reads the file again, if the machine is as fast as it should be.
    rows = 200_000
    lines = [f"{k},{k + 1},1" for k in range(1, rows)]
    (tmp_path / "roads.csv").write_text("\n".join(["src,dst,weight", "1,9000001,5", *lines, ""]))
    options = ["--store", f"lmdb://{tmp_path}/store", "--edges", tmp_path / "roads.csv"]
    question = {"vertices": [9000001, 9000002]}
    expected = [{"vertex": 9000001, "value": None}, {"vertex": 9000002, "value": 4.0}]
    with Service(tmp_path, *options) as service:
        service.wait_for("input-ended")
        changes = '{"src": 1, "dst": 9000001, "op": "-"}\n{"src": 1, "dst": 9000002, "weight": 4}\n'
        assert service.push(changes).json()["offsets"] == {"http": 2}
        assert service.ask(**question)["result"]["values"] == expected
        service.signal(signal.SIGKILL)
    with Service(tmp_path, *options) as service:
        # Pushed edges come after the file, and an answer after what was acknowledged.
        answer = service.ask(**question)
        assert answer["result"]["values"] == expected
        assert answer["snapshot"]["offsets"] == {"http": 2, "roads.csv": rows}
        service.wait_for("input-ended")
        assert service.push('{"src": 2, "dst": 9000003}').json()["offsets"] == {"http": 3}
        assert service.ask(vertices=[9000003])["result"]["values"] == [{"vertex": 9000003, "value": 2.0}]


def test_names_are_the_same_vertices_after_a_kill(tmp_path):
    options = ["--ids", "string", "--store", f"lmdb://{tmp_path}/store", "--edges", tmp_path / "roads.csv"]
    roads = ["Rome,Bern,2", 'Bern,"Paris, Texas",1', "Oslo,Rome,1"]
    (tmp_path / "roads.csv").write_text("\n".join(["src,dst,weight", *roads, ""]))
    question = {"vertices": ["Lyon", "Paris, Texas"], "parameters": {"source": "Oslo"}}
    with Service(tmp_path, *options, source="Rome") as service:
        service.wait_for("input-ended")
        pushed = service.push('{"src": "Bern", "dst": "Nice"}\n{"src": "Nice", "dst": "Lyon", "weight": 3}\n')
        assert pushed.json() == {"accepted": 2, "rejected": 0, "offsets": {"http": 2}}
        before = service.ask(**question)["result"]
        assert before["values"] == [
            {"vertex": "Lyon", "value": 7.0},
            {"vertex": "Paris, Texas", "value": 4.0},
        ]
        service.signal(signal.SIGKILL)
    # Another source is named first this time, so that names would be counted in another order.
    with Service(tmp_path, *options, source="Zug") as service:
        service.wait_for("input-ended")
        assert service.ask(**question)["result"] == before
        answer = service.client.post(
            "/v1/queries", json={"loop": "sssp", "parameters": {"source": "Atlantis"}}
        )
        assert (answer.status_code, answer.json()["code"]) == (404, "unknown-vertex")
