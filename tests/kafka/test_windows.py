"""A topic whose records have times: edges leave by these, and records without one go to the quarantine."""

import json
import time

import pytest

from tests.end_to_end.running import run
from tests.kafka.topics import LIBRARY_LEAVES_SOCKETS

pytestmark = [pytest.mark.kafka, pytest.mark.usefixtures("compiled_paths"), LIBRARY_LEAVES_SOCKETS]


def test_edges_of_a_topic_leave_by_the_times_of_its_records(broker, tmp_path):
    name = f"timed-{time.monotonic_ns()}"
    broker.create_topic(name)
    records = [{"src": 1, "dst": number, "time": 10 * number} for number in range(2, 8)] + [
        {"src": 1, "dst": 9}
    ]
    with broker.producer() as producer:
        for record in records:
            producer.send(name, json.dumps(record).encode())
    quarantine = tmp_path / "rejected.jsonl"
    code, events = run(
        tmp_path,
        *["--kafka", broker.address, "--topic", name, "--until-end", "--window", "30s"],
        *["--output", tmp_path / "out.csv", "--quarantine", quarantine],
    )
    assert code == 0, events
    result = next(event for event in events if event["event"] == "result")
    assert result["snapshot"]["offsets"] == {f"{name}:0": 7, "window": 3}
    rows = (tmp_path / "out.csv").read_text().splitlines()[1:]
    assert [row for row in rows if not row.endswith(",")] == ["1,0.0", "5,1.0", "6,1.0", "7,1.0"]
    assert "no time" in quarantine.read_text()
