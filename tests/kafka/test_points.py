"""Topics of points from the command line: read to their end in each format, and served, killed and gone on from."""

import csv
import json
import signal

import numpy as np
import pyarrow as pa
import pytest

import tornado as tornado_loops
from apps.logistic_regression import LogisticRegression
from tests.end_to_end.running import Service, told
from tests.kafka.chunks import arrow_message
from tests.kafka.topics import LIBRARY_LEAVES_SOCKETS
from tests.promised import eventually

pytestmark = [pytest.mark.kafka, LIBRARY_LEAVES_SOCKETS]

WIDTH, COUNT = 3, 120
LEARNS = ["logistic_regression", "--l2", "0.01", "--tolerance", "1e-8"]


def data():
    random = np.random.default_rng(8)
    matrix = random.normal(size=(COUNT, WIDTH)).round(3)
    return matrix, (matrix @ [2.0, -1.0, 0.0] + random.normal(size=COUNT) > 0).astype(float)


def optimum(kept):
    matrix, labels = data()
    with tornado_loops.open(workers=1) as session:
        stream = session.stream("points", schema=tornado_loops.Points(features=WIDTH))
        loop = stream.start(LogisticRegression(l2=0.01, tolerance=1e-8))
        stream.insert(ids=kept, labels=labels[kept], features=matrix[kept])
        return loop.query().result(60).values


def send(broker, name, values):
    """Messages by turns to both partitions; a value of a point goes where those of its id go."""
    with broker.producer() as producer:
        for at, value in values:
            producer.send(name, value, partition=at % 2)


def as_json(kept):
    matrix, labels = data()
    return [
        (at, json.dumps({"id": at, "label": labels[at], "features": matrix[at].tolist()}).encode())
        for at in kept
    ]


def as_csv(kept):
    matrix, labels = data()
    return [(at, f"{at},{labels[at]:g},{','.join(map(str, matrix[at].tolist()))},+".encode()) for at in kept]


def as_arrow(kept):
    matrix, labels = data()
    kind = pa.struct([("indices", pa.list_(pa.int32())), ("values", pa.list_(pa.float64()))])
    for half in (0, 1):
        ids = [at for at in kept if at % 2 == half]
        rows = [{"indices": list(range(WIDTH)), "values": matrix[at].tolist()} for at in ids]
        yield half, arrow_message(id=ids, label=labels[ids], features=pa.array(rows, kind))


FORMATS = {
    "json": (as_json, b'{"id": 1, "op": "-"}', ["--features", WIDTH]),
    "csv": (as_csv, b"1,,,,,-", ["--columns", "id,label,a,b,c,op"]),
    "arrow": (as_arrow, arrow_message(id=[1], op=["-"]), ["--features", WIDTH, "--sparse"]),
}


@pytest.mark.parametrize("value_format", FORMATS)
def test_a_topic_of_points_is_read_to_its_end(broker, topic, tmp_path, value_format):
    write, removal, words = FORMATS[value_format]
    name = topic(partitions=2)
    send(broker, name, [*write(range(COUNT)), (1, removal), (1, b"nothing")])
    code, _, said = told(
        tmp_path,
        *["run", *LEARNS, "--workers", 2, "--json", "--kafka", broker.address, "--topic", name],
        *["--format", value_format, *words, "--until-end", "--store", "memory:"],
        *["--quarantine", tmp_path / "bad.jsonl", "--output", tmp_path / "out.csv"],
    )
    assert code == 0, said
    events = {event["event"]: event for event in map(json.loads, said.splitlines())}
    offsets = events["result"]["snapshot"]["offsets"]
    messages = 1 if value_format == "arrow" else COUNT // 2
    assert offsets == {f"{name}:0": messages, f"{name}:1": messages + 2}
    [bad] = [json.loads(line) for line in (tmp_path / "bad.jsonl").read_text().splitlines()]
    assert (bad["topic"], bad["partition"], bad["position"]) == (name, 1, messages + 1)
    with (tmp_path / "out.csv").open() as file:
        rows = list(csv.reader(file))[1:]
    expected = optimum([at for at in range(COUNT) if at != 1])
    values = [float(row[-1]) for row in rows]
    assert sorted(values) == pytest.approx(sorted(expected.values()), abs=1e-3)


def test_a_killed_service_goes_on_behind_the_points_that_its_snapshot_has(broker, topic, tmp_path):
    name = topic(partitions=2)
    words = ["--store", f"lmdb://{tmp_path}/store", "--features", WIDTH, "--checkpoint-every", "200ms"]
    words += ["--name", "model", "--kafka", broker.address, "--topic", name]

    def offsets(service):
        return service.ask(loop="model")["snapshot"]["offsets"]

    send(broker, name, as_json(range(80)))
    with Service(tmp_path, *words, app=LEARNS) as service:
        eventually(lambda: offsets(service) == {f"{name}:0": 40, f"{name}:1": 40})
        version = service.ask(loop="model")["snapshot"]["version"]
        eventually(lambda: service.metric("tornado_checkpoint_version") >= version)
        service.signal(signal.SIGKILL)
    send(broker, name, [*as_json(range(80, COUNT)), (0, b'{"id": 0, "op": "-"}')])
    with Service(tmp_path, *words, app=LEARNS) as service:
        eventually(lambda: offsets(service) == {f"{name}:0": 61, f"{name}:1": 60})
        values = [row["value"] for row in service.ask(loop="model")["result"]["values"]]
        assert values == pytest.approx([*optimum(range(1, COUNT)).values()], abs=1e-3)
        assert service.restored["snapshot"]["offsets"] == {f"{name}:0": 40, f"{name}:1": 40}
        sources = service.client.get("/v1/loops/model").json()["sources"]
        # Those behind the snapshot, and no more.
        assert sum(one["records"] for one in sources.values()) == COUNT - 80 + 1
