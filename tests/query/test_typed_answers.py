"""Answers whose values are whole numbers of 64 bits, or ids: by every way over HTTP and in Python, with all their digits.

The labels are made by hand, of numbers that a float cannot tell apart.
"""

import csv
import dataclasses
import io
import json
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pytest

from tests.query.conftest import start_roads
from tests.query.fake_loops import Fastest
from tests.query.test_http_queries import ARROW, CSV, NDJSON, problem
from tornado.ingest.interner import Interner
from tornado.loops.values import ColumnValues, Values
from tornado.query.ids import StringIds
from tornado.query.session import Session

LEAST, GREATEST, ODD = -(2**63), 2**63 - 1, 2**53 + 1
TEXT = {"ids": "string"}
LABELS = {1: GREATEST, 2: LEAST, 3: ODD, 4: GREATEST - 1, 5: ODD - 1, 6: 0}
BEST_FIRST = [2, 6, 5, 3, 4, 1]
NAMED = [("a, b", "a, b"), ("Rome", "a, b"), ("Infinity", "Infinity"), ("Pisa", "Infinity"), ("7", "7")]


@dataclasses.dataclass(frozen=True)
class Labels(Fastest):
    """A component's label: an id."""

    worst: ClassVar = (GREATEST, 0)
    values_are_ids: ClassVar = True


@dataclasses.dataclass(frozen=True)
class Counts(Fastest):
    """Whole numbers that are no ids."""

    worst: ClassVar = (GREATEST, 0)


def pairs_of(labels):
    """Values as a loop of pairs gives them, whatever it was asked."""

    def values_of(_, vertices):
        ids = np.array(sorted(vertices), np.int64)
        pairs = np.array([(labels[vertex], 3) for vertex in ids.tolist()], np.int64).reshape(-1, 2)
        return Values([ColumnValues(ids, pairs)], rank="nearest", worst=(GREATEST, 0))

    return values_of


@pytest.fixture
def labelled(fake, open_service, serve):
    """Start a loop of a program whose labels are those above, and return a client of its service."""

    def make(program, labels=LABELS):
        fake.new_program = program
        fake.values_of = pairs_of(labels)
        start_roads(fake)
        return serve(open_service(fake))

    return make


def asked(client, *, params=(), **fields):
    answer = client.post(
        "/v1/queries", json={"loop": "roads", **fields}, params={"wait_s": 20, **dict(params)}
    )
    assert answer.status_code == 200, answer.text
    return answer.json()


def rows(body):
    return [(row["vertex"], row["value"]) for row in body]


@pytest.mark.parametrize("mode", ["exact", "approximate"])
@pytest.mark.parametrize(
    ("program", "params", "write", "write_value"),
    [(Labels, {}, int, int), (Labels, TEXT, str, str), (Counts, {}, int, int), (Counts, TEXT, str, int)],
    ids=["labels", "labels as text", "counts", "counts as text"],
)
def test_every_way_gives_the_numbers_exactly(labelled, program, params, write, write_value, mode):
    client = labelled(program)
    table = [(write(vertex), write_value(label)) for vertex, label in LABELS.items()]
    top = [table[vertex - 1] for vertex in BEST_FIRST]
    named = {"vertices": [write(vertex) for vertex in LABELS]}
    for question, expected in (({}, table), (named, table), ({"top": 6}, top), ({**named, "top": 6}, top)):
        body = asked(client, params=params, mode=mode, **question)
        assert rows(body["result"]["values"]) == expected
        path = f"/v1/queries/{body['id']}/result"
        assert rows(client.get(path, params=params).json()["values"]) == expected
        lines = client.get(path, params=params, headers=NDJSON).text.splitlines()
        assert rows(map(json.loads, lines)) == expected
        texts = list(csv.reader(io.StringIO(client.get(path, params=params, headers=CSV).text)))
        assert texts == [["vertex", "value"], *([str(vertex), str(value)] for vertex, value in expected)]
        found = pa.ipc.open_stream(client.get(path, params=params, headers=ARROW).content).read_all()
        assert found.schema.field("value").type == (pa.string() if write_value is str else pa.int64())
        assert list(zip(*found.to_pydict().values(), strict=True)) == expected
        best = client.get(path, params={"top": 3, **params}).json()["values"]
        assert rows(best) == top[:3]
        some = client.get(path, params={"vertices": "3,2", **params}).json()["values"]
        assert rows(some) == [table[2], table[1]]


def test_a_whole_answer_without_rows_has_the_type_of_its_values(labelled, fake):
    client = labelled(Labels)
    fake.values_of = lambda *_: pairs_of(LABELS)(None, ())
    path = f"/v1/queries/{asked(client)['id']}/result"
    for params, kind in (({}, pa.int64()), (TEXT, pa.string())):
        found = pa.ipc.open_stream(client.get(path, params=params, headers=ARROW).content).read_all()
        assert (len(found), found.schema.field("value").type) == (0, kind)


@pytest.fixture
def towns(fake, open_service, serve):
    """A loop whose ids are names, and whose labels are names therefore; one looks like a number, one like a word for one."""
    fake.new_program = Labels
    fake.values_of = pairs_of({0: 0, 1: 0, 2: 2, 3: 2, 4: 4})
    roads = fake.start(Labels(source=0), name="roads")
    service = open_service(fake)
    interner = Interner()
    interner.intern([vertex for vertex, _ in NAMED])
    service.served(roads).codec = StringIds(interner)
    client = serve(service)
    edges = [("a, b", "Rome"), ("Infinity", "Pisa"), ("7", "7")]
    lines = "".join(json.dumps({"src": src, "dst": dst}) + "\n" for src, dst in edges)
    headers = {"Content-Type": "application/x-ndjson"}
    assert client.post("/v1/loops/roads/edges", content=lines, headers=headers).json()["accepted"] == 3
    return client


@pytest.mark.parametrize("params", [{}, TEXT], ids=["", "as text"])
def test_where_ids_are_names_a_label_is_the_name_that_it_stands_for(towns, params):
    for question in ({}, {"vertices": [vertex for vertex, _ in NAMED]}, {"top": 5}):
        body = asked(towns, params=params, **question)
        assert rows(body["result"]["values"]) == NAMED
        path = f"/v1/queries/{body['id']}/result"
        assert rows(towns.get(path, params=params).json()["values"]) == NAMED
        texts = list(csv.reader(io.StringIO(towns.get(path, params=params, headers=CSV).text)))
        assert texts == [["vertex", "value"], *map(list, NAMED)]
        found = pa.ipc.open_stream(towns.get(path, params=params, headers=ARROW).content).read_all()
        assert found.schema.types == [pa.string(), pa.string()]
        assert list(zip(*found.to_pydict().values(), strict=True)) == NAMED


@pytest.mark.parametrize(
    ("program", "types"),
    [(Fastest, ["int64", "float64"]), (Labels, ["int64", "int64"]), (Counts, ["int64", "int64"])],
)
def test_a_loop_says_what_its_columns_are(labelled, program, types):
    client = labelled(program)
    [table] = client.get("/v1/loops/roads").json()["tables"]
    assert [column["name"] for column in table["columns"]] == ["vertex", "value"]
    assert [column["type"] for column in table["columns"]] == types


def test_a_table_is_asked_for_by_its_name_and_an_unknown_one_is_refused_with_those_there_are(labelled):
    client = labelled(Labels)
    [table] = client.get("/v1/loops/roads").json()["tables"]
    path = f"/v1/queries/{asked(client, vertices=[1])['id']}/result"
    named = client.get(path, params={"table": table["name"]})
    assert (named.status_code, named.json()) == (200, client.get(path).json())
    detail = problem(client.get(path, params={"table": "labels"}), 422, "invalid-argument")["detail"]
    assert detail == "table is 'labels', but the tables of this loop are: values"


def test_a_loop_of_names_says_that_its_labels_are_strings(towns):
    [loop] = towns.get("/v1/loops").json()["loops"]
    assert [column["type"] for column in loop["tables"][0]["columns"]] == ["string", "string"]


def test_the_openapi_document_says_what_a_value_can_be(labelled):
    schemas = labelled(Labels).get("/openapi.json").json()["components"]["schemas"]
    kinds = {kind["type"] for kind in schemas["ValueBody"]["properties"]["value"]["anyOf"]}
    assert kinds == {"number", "integer", "string", "null"}


def test_what_changed_for_a_reader_has_the_numbers_exactly(labelled, fake):
    client = labelled(Labels)
    path = "/v1/loops/roads/readers/r"
    before = client.post(path, json={"query": asked(client)["id"]}).json()["version"]
    fake.values_of = pairs_of(LABELS | {3: ODD - 1, 2: LEAST + 1})
    fake.loops["roads"].advance("edges.csv", 5)
    after = client.post(path, json={"query": asked(client)["id"]}).json()["version"]
    for since, expected in ((before, {2: LEAST + 1, 3: ODD - 1}), (0, LABELS | {2: LEAST + 1, 3: ODD - 1})):
        body = client.get(path, params={"after": since, "up_to": after}).content
        found = pa.ipc.open_stream(body).read_all()
        assert found.schema.field("value").type == pa.int64()
        assert dict(zip(*found.to_pydict().values(), strict=True)) == expected


@pytest.mark.parametrize("question", [{}, {"vertices": list(LABELS)}], ids=["all", "named"])
def test_in_python_values_are_whole_numbers_everywhere(fake, question):
    fake.values_of = pairs_of(LABELS)
    with Session(fake) as session:
        loop = session.start(Labels(source=1), name="labels")
        loop.insert([1, 3, 5], [2, 4, 6])
        answer = loop.query(**question).result()
        assert answer.values == LABELS
        assert {type(value) for value in answer.values.values()} == {int}
        assert answer.reached.all()
        array, table, frame = answer.to_numpy(), answer.to_arrow(), answer.to_pandas()
        assert array["value"].dtype == np.int64
        assert table.schema.field("value").type == pa.int64()
        assert frame["value"].dtype == np.int64
        for found in (array["value"].tolist(), table["value"].to_pylist(), frame["value"].tolist()):
            assert found == list(LABELS.values())
        assert list(loop.query(top=3).values) == BEST_FIRST[:3]
        assert loop.read([1, 3]).values == {1: GREATEST, 3: ODD}


def test_in_python_labels_of_named_vertices_are_names(fake):
    fake.values_of = pairs_of({0: 0, 1: 0, 2: 0})
    with Session(fake) as session:
        towns = session.start(Labels(source="Rome"), name="towns", ids="string")
        towns.insert(["Rome", "Bonn"], ["Bonn", "Pisa"])
        answer = towns.query(vertices=["Pisa", "Bonn"]).result()
        assert answer.values == {"Pisa": "Rome", "Bonn": "Rome"}
        assert answer.to_numpy().tolist() == [("Pisa", "Rome"), ("Bonn", "Rome")]
        assert answer.to_arrow().to_pydict() == {"vertex": ["Pisa", "Bonn"], "value": ["Rome", "Rome"]}
        assert answer.to_pandas()["value"].tolist() == ["Rome", "Rome"]
        assert set(towns.query().values.values()) == {"Rome"}
