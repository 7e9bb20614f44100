"""A topic from the command line: produced, diagnosed, read to its end into a file, and served while it streams."""

import csv
import json
import math
import os
import signal
import subprocess
import sys
import time

import psutil
import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.end_to_end.running import CHECKOUT, Service, environment_in, run
from tests.kafka.topics import LIBRARY_LEAVES_SOCKETS, check, replayed
from tests.promised import eventually, took_s, within

pytestmark = [pytest.mark.kafka, pytest.mark.usefixtures("compiled_paths"), LIBRARY_LEAVES_SOCKETS]


def tornado(folder, *arguments, timeout_s=120):
    """Run `tornado ARGUMENTS` to its end; return exit code, standard output and events."""
    done = subprocess.run(
        [sys.executable, "-m", "tornado", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=timeout_s,
        cwd=CHECKOUT,
        env=environment_in(folder),
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


def produce(folder, broker, name, *arguments):
    code, _, err = tornado(
        folder, "produce", "--kafka", broker.address, "--topic", name, "--json", *arguments
    )
    assert code == 0, err
    return json.loads(err.splitlines()[-1])


def unused(broker, name="produced"):
    return f"{name}-{time.monotonic_ns()}"


def test_what_is_produced_is_read_to_its_end_into_a_result_file(broker, tmp_path):
    name = unused(broker)
    arguments = ["--create", 3, "--records", 5000, "--side", 20]
    done = produce(tmp_path, broker, f"{name}-json", *arguments)
    assert (done["event"], done["edges"], done["messages"]) == ("produced", 5000, 5000)
    done = produce(tmp_path, broker, name, *arguments, "--format", "arrow")
    assert (done["event"], done["edges"], done["messages"] < 500) == ("produced", 5000, True)
    code, events = run(
        tmp_path,
        *["--kafka", broker.address, "--topic", name, "--format", "arrow"],
        *["--until-end", "--output", tmp_path / "out.csv"],
    )
    assert code == 0, events
    by_name = {event["event"]: event for event in events}
    assert by_name["input-ended"]["records"] == 5000
    offsets = by_name["result"]["snapshot"]["offsets"]
    assert sorted(offsets) == [f"{name}:{number}" for number in range(3)]
    rows = list(csv.reader((tmp_path / "out.csv").read_text().splitlines()))[1:]
    values = {int(vertex): float(value) if value else math.inf for vertex, value in rows}
    records = replayed(broker, name, "arrow")
    check((offsets, values), records, name)
    # The same town, whatever it is written in.
    assert sorted(row[2:] for row in replayed(broker, f"{name}-json")) == sorted(row[2:] for row in records)


def test_files_are_replayed_at_a_rate(broker, tmp_path):
    name = unused(broker)
    (tmp_path / "edges.csv").write_text(
        "src,dst,weight\n" + "".join(f"1,{n},0.5\n" for n in range(2, 302)) + "x,1,1\n"
    )
    began_s = time.monotonic()
    done = produce(
        tmp_path,
        broker,
        name,
        *["--create", 1, "--edges", tmp_path / "edges.csv", "--rate", 300, "--format", "csv"],
    )
    assert done["edges"] == 300
    assert time.monotonic() - began_s > 0.9
    assert [row[2:] for row in replayed(broker, name, "csv")] == [(1, n, 0.5, 1) for n in range(2, 302)]


SIX = {
    "records": "tornado_source_records_total",
    "rejected": "tornado_source_rejected_total",
    "lag_records": "tornado_source_lag_records",
    "offset": "tornado_source_offset",
    "rows_per_s": "tornado_source_rows_per_second",
    "last_error": "tornado_source_last_error",
}


def test_a_service_shows_of_each_source_where_it_is_and_what_is_wrong(broker, topic, tmp_path):
    name = topic(partitions=2)
    (tmp_path / "roads.csv").write_text("1,2,1\n1,x,1\n2,3,1\n")
    receiving, sending = os.pipe()
    arguments = ["--kafka", broker.address, "--topic", name, "--quarantine", tmp_path / "rejected.jsonl"]
    with Service(
        tmp_path, "--edges", tmp_path / "roads.csv", "--edges", "-", *arguments, stdin=receiving
    ) as service:
        os.close(receiving)
        with os.fdopen(sending, "wb") as pipe:
            pipe.write(b"3,4,1\n4,5\n5,6,1,9\n")
        service.wait_for("topic")
        with broker.producer() as producer:
            for number in range(40):
                producer.send(name, b'{"src": 6, "dst": %d}' % (number + 10), partition=number % 2)
            producer.send(name, b"nothing", partition=1)
        assert service.push('{"src": 1, "dst": 7}\nnothing\n').status_code == 202

        def sources():
            return service.client.get("/v1/loops/sssp").json()["sources"]

        eventually(lambda: sum(one["records"] for one in sources().values()) == 3 + 3 + 41 + 2)
        eventually(lambda: all(one["lag_records"] == 0 for one in sources().values()))
        (client,) = clients_of(service)
        client.kill()
        eventually(lambda: "ended by signal 9" in (sources()[f"{name}:0"]["last_error"] or ""))
        found = sources()
        counts = {key: (one["records"], one["rejected"], one["offset"]) for key, one in found.items()}
        assert counts == {
            "roads.csv": (3, 1, 3),
            "stdin": (3, 1, 3),
            f"{name}:0": (20, 0, 20),
            f"{name}:1": (21, 1, 21),
            "http": (2, 1, 2),
        }
        assert service.ask()["snapshot"]["offsets"] == {key: one["offset"] for key, one in found.items()}
        samples = samples_of(service)
        for source, one in found.items():
            for field, metric in SIX.items():
                shown = one[field] is not None if field == "last_error" else one[field]
                if field != "rows_per_s":
                    assert samples[metric, source] == shown, (metric, source)

        def rates():
            """They are of the last seconds, in which more comes in."""
            with broker.producer() as producer:
                for number in range(2):
                    producer.send(name, b'{"src": 6, "dst": 10}', partition=number)
            assert service.push('{"src": 1, "dst": 7}\n').status_code == 202
            samples = samples_of(service)
            return [samples[SIX["rows_per_s"], source] for source in found]

        eventually(lambda: min(rates()) > 0, period_s=0.5)
        _, listed, _ = tornado(tmp_path, "ls", "--url", service.url)
        head, *lines = listed.splitlines()
        assert [word in head for word in ("records in", "rejected", "lag", "rows/s", "last error")] == [
            True
        ] * 5
        assert all(any(source in line for line in lines) for source in found)
        quarantined = [json.loads(line) for line in (tmp_path / "rejected.jsonl").read_text().splitlines()]
        assert {entry["source"] for entry in quarantined} == {"roads.csv", "stdin", f"{name}:1", "http"}
        [entry] = [entry for entry in quarantined if entry["source"] == f"{name}:1"]
        assert (entry["topic"], entry["partition"], entry["position"]) == (name, 1, 20)
        assert service.signal(signal.SIGINT) == 130


def samples_of(service):
    """The metrics of sources, by name and source."""
    return {
        (sample.name, sample.labels["source"]): sample.value
        for family in text_string_to_metric_families(service.client.get("/metrics").text)
        for sample in family.samples
        if "source" in sample.labels and "stream" in sample.labels
    }


def clients_of(service):
    """The processes that a service has started."""
    return psutil.Process(service._process.pid).children()


def test_a_service_whose_topic_lost_records_says_so_and_answers_from_what_is_in(broker, topic, tmp_path):
    name = topic()
    with Service(tmp_path, "--kafka", broker.address, "--topic", name) as service:
        service.wait_for("topic")
        with broker.producer() as producer:
            producer.send(name, b'{"src": 1, "dst": 2}')
        eventually(lambda: service.ask()["snapshot"]["offsets"] == {f"{name}:0": 1})
        (client,) = clients_of(service)
        client.suspend()
        with broker.producer() as producer:
            for _ in range(9):
                producer.send(name, b'{"src": 1, "dst": 3}')
        broker.delete_records(name, {0: 5})
        client.kill()
        error = service.wait_for("error", timeout_s=30)
        assert error["code"] == "source-lost"
        assert "4 records are lost" in error["message"]
        assert "--when-deleted earliest" in error["hint"]
        assert service.ask(vertices=[2])["result"]["values"] == [{"vertex": 2, "value": 1.0}]
        loop = service.client.get("/v1/loops/sssp").json()
        assert loop["sources"][f"{name}:0"]["state"] == "failed"
        assert "4 records are lost" in loop["sources"][f"{name}:0"]["last_error"]


def test_a_run_without_its_topic_fails_and_says_what_to_do(broker, tmp_path):
    code, events = run(
        tmp_path,
        "--kafka",
        broker.address,
        "--topic",
        "no-such-topic",
        "--until-end",
        "--output",
        tmp_path / "out.csv",
    )
    assert code == 2
    assert "has no topic 'no-such-topic'" in events[-1]["message"]
    assert not (tmp_path / "out.csv").exists()


def test_the_doctor_walks_the_way_to_a_topic_and_says_what_to_mend(broker, topic, tmp_path):
    name = topic(partitions=2)
    for _ in range(3):  # a broker that is kept from its work for seconds is none that works
        began_s = time.monotonic()
        code, out, err = tornado(tmp_path, "doctor", "--kafka", broker.address, "--topic", name, "--json")
        assert took_s(began_s) < within(8), "five seconds, and what it takes to start on a busy machine"
        if code == 0:
            break
    assert (code, err) == (0, "")
    document = json.loads(out)
    assert (document["ok"], {one["status"] for one in document["checks"]}) == (True, {"ok"})
    assert document["checks"][-1]["check"] == "records"
    assert "0 records (offsets of 0: 0 to 0, 1: 0 to 0)" in document["checks"][-1]["detail"]
    code, out, _ = tornado(tmp_path, "doctor", "--kafka", "127.0.0.1:1", "--topic", name)
    assert code == 1
    assert "fail  broker: 127.0.0.1:1: connection refused" in out
    assert out.endswith("to mend: broker\n")
