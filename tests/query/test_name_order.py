"""Ids of names count the records as they come in, the source of each before its destination, by whichever way that is."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import tornado
from apps.connected_components import ConnectedComponents
from tests.kafka.chunks import arrow_message, chunk_of
from tests.query.test_http_loops import ARROW
from tests.query.test_refused_names import NDJSON, names
from tornado.client import connect
from tornado.ingest.ingester import Ingester
from tornado.ingest.kafka.decoding import Decoder
from tornado.ingest.kafka.settings import KafkaSettings, ValueFormat
from tornado.ingest.quarantine import Quarantine
from tornado.ingest.source import FileSource

SRC, DST = ["b", "d", "Rome", "e"], ["a", "b", "c", "Rome"]
IN_TURN = ["Rome", "b", "a", "d", "c", "e"]  # Rome is the source of the program


@pytest.fixture
def client(towns, serve):
    return serve(towns._service)


COLUMNS = {
    "lists": (SRC, DST),
    "numpy": (np.array(SRC), np.array(DST, object)),
    "pandas": (pd.Series(SRC), pd.Series(DST)),
    "arrow": (pa.array(SRC), pa.chunked_array([DST[:1], DST[1:]])),
    "dictionaries": (pa.array(SRC).dictionary_encode(), pa.array(DST).dictionary_encode()),
    "table": (pa.table({"src": SRC, "dst": DST}),),
    "frame": (pd.DataFrame({"dst": DST, "src": SRC}),),
    "polars": (pl.DataFrame({"src": SRC, "dst": DST}),),
    "mapping": ({"src": SRC, "dst": DST},),
}


@pytest.mark.parametrize("given", COLUMNS.values(), ids=COLUMNS)
@pytest.mark.parametrize("call", ["insert", "remove", "replace"])
def test_columns_of_a_python_program_bring_names_record_by_record(towns, interner, given, call):
    getattr(towns, call)(*given)
    assert names(interner) == IN_TURN


def test_the_label_of_a_component_is_the_name_that_came_in_first():
    with tornado.open("memory:", workers=1) as session:
        towns = session.start(ConnectedComponents(), ids="string", undirected=True)
        towns.insert(["b", "d"], ["a", "b"])
        towns.remove(["b", "d"], ["a", "b"])
        towns.insert(["a"], ["d"])
        assert towns.query().values == {"a": "a", "b": "b", "d": "a"}


def test_bodies_bring_names_record_by_record(client, interner):
    lines = "".join(json.dumps({"src": src, "dst": dst}) + "\n" for src, dst in zip(SRC, DST, strict=True))
    assert client.post("/v1/loops/towns/edges", content=lines, headers=NDJSON).status_code == 202
    assert names(interner) == IN_TURN


def test_arrow_bodies_bring_names_record_by_record(client, interner):
    body = arrow_message(src=SRC, dst=DST)
    assert client.post("/v1/loops/towns/edges", content=body, headers=ARROW).status_code == 202
    assert names(interner) == IN_TURN


def test_what_the_client_sends_brings_names_record_by_record(client, interner):
    with connect(str(client.base_url)) as service:
        service.loop("towns").insert(SRC, DST)
    assert names(interner) == IN_TURN


def test_a_record_that_the_program_refuses_has_no_part_in_the_order(client, interner):
    lines = '{"src": "a", "dst": "c", "weight": -1}\n' + "".join(
        json.dumps({"src": src, "dst": dst}) + "\n" for src, dst in zip(SRC, DST, strict=True)
    )
    answer = client.post("/v1/loops/towns/edges", content=lines, headers=NDJSON).json()
    assert (answer["accepted"], answer["rejected"]) == (4, 1)
    assert names(interner) == IN_TURN


@pytest.mark.parametrize("split", [[[0, 1], [2, 3]], [[1, 3], [0, 2]], [[3, 2, 1, 0]], [[2], [3], [0], [1]]])
def test_parts_with_an_order_bring_names_in_it_however_they_are_split(client, interner, split):
    for part, rows in enumerate(split):
        body = arrow_message(src=[SRC[row] for row in rows], dst=[DST[row] for row in rows], order=rows)
        path = f"/v1/loops/towns/batches/spark:q/0/parts/{part}/0"
        assert client.put(path, content=body, headers=ARROW).status_code == 202
    named = [{"part": str(part), "chunks": 1} for part in range(len(split))]
    committed = client.post("/v1/loops/towns/batches/spark:q/0", json={"parts": named})
    assert committed.json()["accepted"] == 4
    assert names(interner) == IN_TURN
    asked = {"loop": "towns", "vertices": ["b", "a", "d", "c", "e"]}
    rows = client.post("/v1/queries", params={"wait_s": 20}, json=asked).json()["result"]["values"]
    assert {row["vertex"]: row["value"] for row in rows}["c"] == 1.0


def test_files_bring_names_record_by_record(tmp_path, towns, interner):
    (tmp_path / "edges.csv").write_text("".join(f"{src},{dst}\n" for src, dst in zip(SRC, DST, strict=True)))
    source = FileSource(tmp_path / "edges.csv", name="edges.csv", interner=interner)
    ingester = Ingester(towns.loop, source, Quarantine(None), check=towns.loop.program.check)
    ingester.start()
    assert ingester.wait(timeout_s=30)
    assert names(interner) == IN_TURN


MESSAGES = {
    "json": [json.dumps({"src": src, "dst": dst}).encode() for src, dst in zip(SRC, DST, strict=True)],
    "csv": [f"{src},{dst}".encode() for src, dst in zip(SRC, DST, strict=True)],
    # Of two schemas, so that it is parsed in two runs.
    "arrow": [
        arrow_message(src=SRC[:2], dst=DST[:2]),
        arrow_message(src=SRC[2:], dst=DST[2:], weight=[1.0, 2.0]),
    ],
}


@pytest.mark.parametrize("undirected", [False, True])
@pytest.mark.parametrize("value_format", MESSAGES)
def test_messages_bring_names_record_by_record(interner, value_format, undirected):
    settings = KafkaSettings(
        brokers=("127.0.0.1:9092",),
        topic="edges",
        value_format=ValueFormat(value_format),
        undirected=undirected,
    )
    decoded = Decoder(settings, interner=interner).decode(chunk_of(MESSAGES[value_format]))
    decoded.parsed.settled()
    assert names(interner) == IN_TURN
