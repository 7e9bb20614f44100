"""A session that is killed while a topic streams: what it goes on from, and that every record is in once afterwards."""

import csv
import json
import math
import signal

import numpy as np
import psutil
import pytest

from tests.end_to_end.running import Service, run
from tests.kafka.topics import (
    LIBRARY_LEAVES_SOCKETS,
    Sending,
    check,
    ends,
    prefix_model,
    replayed,
    with_repeats,
)
from tests.promised import eventually
from tornado.loops.stored_snapshot import StoredSnapshots
from tornado.records.operations import SYMBOLS
from tornado.storage import open_store
from tornado.testing import GraphModel, exact_distances, mixed, random_multigraph

pytestmark = [pytest.mark.kafka, pytest.mark.usefixtures("compiled_paths"), LIBRARY_LEAVES_SOCKETS]


def edges_of(columns):
    return sorted(zip(*(column.tolist() for column in columns), strict=True))


def test_a_session_that_is_killed_goes_on_from_its_snapshot_and_has_every_record_once(
    broker, topic, tmp_path
):
    name, window = topic(partitions=3), 60
    messages = with_repeats(mixed(random_multigraph(300, 3000, seed=9), seed=9), 3, seed=9)
    url = f"lmdb://{tmp_path}/store"
    arguments = ["--store", url, "--checkpoint-every", "200ms", "--kafka", broker.address, "--topic", name]
    arguments += ["--dedup-key", "id", "--dedup-window", window, "--ingesters", 2]
    answers, begun, stored = [], [], []
    with Sending(broker, name, messages, seconds=120) as sending:
        for _ in range(2):
            with Service(tmp_path, *arguments) as service:
                service.wait_for("topic")
                begun.append(service.restored)
                first = 0 if service.restored is None else service.restored["snapshot"]["version"]
                eventually(lambda: service.metric("tornado_checkpoint_version") > first + 3)  # noqa: B023 - called at once
                answers.append(service.ask())
                assert sending.is_sending
                clients = psutil.Process(service._process.pid).children()
                service.signal(signal.SIGKILL)
                # Nobody is left behind.
                assert len(psutil.wait_procs(clients, timeout=60)[0]) == 2
            with open_store(url) as store:
                snapshots = StoredSnapshots(store, "sssp")
                found = [snapshots.find(version) for version in store.versions("sssp")]
                stored += [(one.snapshot, one.edges()) for one in found]
        assert sending.error is None
    with Service(tmp_path, *arguments) as service:
        service.wait_for("topic")
        begun.append(service.restored)
        stops = ends(broker, name)
        eventually(lambda: service.ask()["snapshot"]["offsets"] == stops)
        answers.append(service.ask())
        edges = service.edges()
        sources = service.client.get("/v1/loops/sssp").json()["sources"]
    rows = replayed(broker, name, window=window)
    assert sum(stops.values()) - len(rows) > 100, "too few repetitions"
    # Each run but the first began with a snapshot, and read on from it.
    assert begun[0] is None
    for event in begun[1:]:
        assert event["converged"]
        assert sum(event["snapshot"]["offsets"].values()) > 0
    restored = begun[2]["snapshot"]["offsets"]
    assert {key: one["records"] for key, one in sources.items()} == {
        key: stop - restored.get(key, 0) for key, stop in stops.items()
    }
    assert sum(one["rejected"] for one in sources.values()) == 0
    assert sum(one["repeated"] for one in sources.values()) > 0
    # The offsets of all partitions are those of the edges that are stored with them.
    assert len(stored) >= 2
    for snapshot, columns in stored:
        model = prefix_model(rows, name, snapshot.offsets).edges()
        assert edges_of([columns.sources, columns.targets, columns.weights]) == edges_of(
            [model.src, model.dst, model.weight]
        )
    assert edges == len(prefix_model(rows, name, stops).edges())
    for answer in answers:
        values = {
            row["vertex"]: math.inf if row["value"] is None else row["value"]
            for row in answer["result"]["values"]
        }
        check((answer["snapshot"]["offsets"], values), rows, name)


def lines_of(records, form):
    rows = zip(*(getattr(records, column).tolist() for column in ("src", "dst", "weight", "op")), strict=True)
    return [
        form(f"v{src}", f"v{dst}", "" if math.isnan(weight) else weight, SYMBOLS[op])
        for src, dst, weight, op in rows
    ]


def as_json(src, dst, weight, op):
    return json.dumps(
        {"src": src, "dst": dst, "op": op} | ({} if weight == "" else {"weight": weight})
    ).encode()


def as_csv(src, dst, weight, op):
    return f"{src},{dst},{weight},{op}\n"


def test_a_file_what_was_pushed_and_a_topic_go_on_together_with_names_for_ids(broker, topic, tmp_path):
    name, path = topic(partitions=2), tmp_path / "roads.csv"
    # A path of its own for each source, whose records the next one removes and replaces: so the order shows in the answer.
    filed, pushed, sent = (mixed(random_multigraph(60, 400, seed=seed), seed=seed) for seed in (1, 2, 3))
    path.write_text("src,dst,weight,op\n" + "".join(lines_of(filed.slice(0, 300), as_csv)))
    arguments = ["--store", f"lmdb://{tmp_path}/store", "--edges", path, "--ids", "string"]
    arguments += ["--kafka", broker.address, "--topic", name]

    def send(low, high):
        records = sent.slice(low, high)
        with broker.producer() as producer:
            for place, value in zip(
                (records.src + records.dst).tolist(), lines_of(records, as_json), strict=True
            ):
                producer.send(name, value, partition=place % 2)

    def push(service, low, high):
        response = service.push(b"\n".join(lines_of(pushed.slice(low, high), as_json)))
        assert response.status_code == 202, response.text

    def is_in(service, **offsets):
        stops = offsets | {key: end for key, end in ends(broker, name).items() if end}
        eventually(lambda: service.ask(vertices=["v1"])["snapshot"]["offsets"] == stops)

    send(0, 150)
    with Service(tmp_path, *arguments, "--checkpoint-every", "100ms", source="v1") as service:
        # One after the other: the order of two sources is the order in which they come in.
        is_in(service, **{"roads.csv": 300})
        push(service, 0, 200)
        is_in(service, http=200, **{"roads.csv": 300})
        eventually(
            lambda: service.metric("tornado_checkpoint_version") == service.ask()["snapshot"]["version"]
        )
        service.signal(signal.SIGKILL)
    # What comes now is in no snapshot, and in the log.
    with Service(tmp_path, *arguments, "--checkpoint-every", "off", source="v1") as service:
        assert service.restored["snapshot"]["offsets"]["http"] == 200
        service.wait_for("topic")
        push(service, 200, 400)
        send(150, 300)
        is_in(service, http=400, **{"roads.csv": 300})
        service.signal(signal.SIGKILL)
    with path.open("a") as file:
        file.writelines(lines_of(filed.slice(300, 400), as_csv))
    send(300, 400)
    stops = ends(broker, name)
    code, events = run(tmp_path, *arguments, "--until-end", "--output", tmp_path / "out.csv", source="v1")
    assert code == 0, events
    by_name = {event["event"]: event for event in events}
    assert by_name["restored"]["snapshot"]["offsets"]["http"] == 400
    assert by_name["input-ended"]["records"] == 100 + 100
    assert by_name["result"]["snapshot"]["offsets"] == stops | {"http": 400, "roads.csv": 400}
    # First what was in, in the order in which it came, then the rest of the file and of the topic.
    assert values_in(tmp_path / "out.csv") == expected(
        [filed.slice(0, 300), sent.slice(0, 150), pushed.slice(0, 200)],
        [pushed.slice(200, 400), sent.slice(150, 300)],
        [filed.slice(300, 400), sent.slice(300, 400)],
    )
    # Once more, with nothing new: the result of the store is that of the input.
    code, events = run(tmp_path, *arguments, "--until-end", "--output", tmp_path / "again.csv", source="v1")
    assert (code, {event["event"]: event for event in events}["input-ended"]["records"]) == (0, 0)
    assert values_in(tmp_path / "again.csv") == values_in(tmp_path / "out.csv")


def values_in(path):
    rows = list(csv.reader(path.read_text().splitlines()))[1:]
    return {name: float(value) if value else math.inf for name, value in rows}


def expected(*parts):
    model = GraphModel()
    for batches in parts:
        for batch in batches:
            model.apply(batch)
    ids = np.unique(np.concatenate([side for part in parts for one in part for side in (one.src, one.dst)]))
    distances = exact_distances(model.edges(), 1).lookup(ids)
    return {f"v{vertex}": value for vertex, value in zip(ids.tolist(), distances.tolist(), strict=True)}
