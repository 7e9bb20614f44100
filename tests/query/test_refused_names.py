"""Names that stand only in what is refused, quarantined or never committed: the loop's table of names does not have them."""

import pytest

from tests.kafka.chunks import arrow_message
from tests.query.test_http_loops import ARROW
from tornado.errors import InvalidArgument
from tornado.ingest.ingester import Ingester
from tornado.ingest.quarantine import Quarantine
from tornado.ingest.source import FileSource

NDJSON = {"content-type": "application/x-ndjson"}
KNOWN = ["Rome"]


@pytest.fixture
def client(towns, serve):
    return serve(towns._service)


def names(interner):
    return [interner._names[number] for number in range(len(interner))]


def lines(*edges):
    return "".join(f'{{"src": "{src}", "dst": "{dst}", "weight": {weight}}}\n' for src, dst, weight in edges)


def push(client, content):
    return client.post("/v1/loops/towns/edges", content=content, headers=NDJSON)


def table(src, dst, weight, **columns):
    return arrow_message(src=src, dst=dst, weight=weight, **columns)


def put(client, part, content):
    return client.put(f"/v1/loops/towns/batches/spark:q/0/parts/{part}/0", content=content, headers=ARROW)


def commit(client, *parts):
    named = [{"part": part, "chunks": 1} for part in parts]
    return client.post("/v1/loops/towns/batches/spark:q/0", json={"parts": named})


def test_of_a_body_only_accepted_records_bring_names(client, interner):
    content = lines(("Rome", "Oslo", 1), ("Bad", "Worse", -1), ("Oslo", "Bern", 2)) + '{"src": "Odd"}\n'
    answer = push(client, content).json()
    assert (answer["accepted"], answer["rejected"]) == (2, 2)
    assert names(interner) == ["Rome", "Oslo", "Bern"]
    asked = {"loop": "towns", "vertices": ["Bern", "Oslo"]}
    rows = client.post("/v1/queries", params={"wait_s": 20}, json=asked).json()["result"]["values"]
    assert rows == [{"vertex": "Bern", "value": 3.0}, {"vertex": "Oslo", "value": 1.0}]


def test_a_body_that_is_refused_as_a_whole_brings_none(client, interner):
    assert push(client, lines(("Nice", "Lyon", 1)) + "x\n" * 70_000).status_code == 413
    bad = table(["Nice"] * 70_000, [None] * 69_999 + ["Lyon"], [1.0] * 70_000)
    assert client.post("/v1/loops/towns/edges", content=bad, headers=ARROW).status_code == 413
    two = table(["Nice"], ["Lyon"], [1.0]) * 2
    assert client.post("/v1/loops/towns/edges", content=two, headers=ARROW).status_code == 422
    assert put(client, "a", two).status_code == 422
    assert names(interner) == KNOWN


def test_what_a_loop_that_lags_does_not_take_brings_none(fake, towns, client, interner):
    fake.lagging = True
    assert push(client, lines(("Nice", "Lyon", 1))).status_code == 429
    fake.lagging = False
    assert names(interner) == KNOWN
    assert push(client, lines(("Nice", "Lyon", 1))).status_code == 202
    assert names(interner) == [*KNOWN, "Nice", "Lyon"]


def test_parts_bring_names_when_they_are_committed_in_the_order_of_their_records(client, interner):
    assert put(client, "dead", table(["Ghost"], ["Town"], [1.0])).status_code == 202
    assert (
        put(client, "a", table(["Rome", "Bad"], ["Oslo", "Oslo"], [1.0, -1.0], order=[2, 1])).status_code
        == 202
    )
    assert put(client, "b", table(["Rome"], ["Nice"], [4.0], order=[0])).status_code == 202
    assert put(client, "c", table(["Odd"], ["Nice"], [4.0])).status_code == 202
    assert names(interner) == KNOWN
    assert commit(client, "a", "c").status_code == 422  # an order and none
    assert names(interner) == KNOWN
    assert commit(client, "a", "b").json()["accepted"] == 2
    assert names(interner) == [*KNOWN, "Nice", "Oslo"]
    asked = {"loop": "towns", "vertices": ["Nice", "Oslo"]}
    rows = client.post("/v1/queries", params={"wait_s": 20}, json=asked).json()["result"]["values"]
    assert rows == [{"vertex": "Nice", "value": 4.0}, {"vertex": "Oslo", "value": 1.0}]


def test_an_insert_that_is_refused_brings_none_and_says_the_names(towns, interner):
    with pytest.raises(InvalidArgument, match=r"entry 1 is \+ Nice -> Lyon \(weight -1.0\)"):
        towns.insert(["Rome", "Nice"], ["Oslo", "Lyon"], [1.0, -1.0])
    assert names(interner) == KNOWN
    towns.insert(["Rome"], ["Oslo"])
    assert names(interner) == [*KNOWN, "Oslo"]


def test_records_of_a_file_that_the_program_refuses_bring_none(tmp_path, towns, interner):
    (tmp_path / "edges.csv").write_text("Rome,Oslo,1\nBad,Worse,-1\nOslo,Bern,2\n")
    source = FileSource(tmp_path / "edges.csv", name="edges.csv", interner=interner)
    ingester = Ingester(towns.loop, source, Quarantine(None), check=towns.loop.program.check)
    ingester.start()
    assert ingester.wait(timeout_s=30)
    assert (ingester.statistics().accepted, ingester.error) == (2, None)
    assert names(interner) == [*KNOWN, "Oslo", "Bern"]
    assert towns.query(vertices=["Bern"]).values == {"Bern": 3.0}
