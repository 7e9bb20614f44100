"""Ids of 64 bits, by every way over HTTP, also for those whose JSON numbers are doubles (`?ids=string`)."""

import json

import pyarrow as pa
import pytest

from tests.query.fake_loops import Fastest
from tests.query.test_http_queries import ARROW, CSV, NDJSON, problem
from tornado.ingest.interner import Interner
from tornado.query.ids import StringIds

LEAST, GREATEST, ODD = -(2**63), 2**63 - 1, 2**53 + 1
TEXT = {"ids": "string"}
PUSHED = {"Content-Type": "application/x-ndjson"}
# 1 -> ODD -> LEAST -> GREATEST is 6; a double would make ODD another vertex, and LEAST and GREATEST ones of other digits.
NUMBERS = [ODD, LEAST, GREATEST]


def asked(client, *, params=(), **fields):
    answer = client.post(
        "/v1/queries", json={"loop": "roads", **fields}, params={"wait_s": 20, **dict(params)}
    )
    assert answer.status_code == 200, answer.text
    return answer.json()


@pytest.fixture
def chain(client, roads):
    """The chain, pushed with every id as a string but one."""
    edges = [("1", str(ODD), 1), (ODD, str(LEAST), 2), (str(LEAST), str(GREATEST), 3)]
    lines = "".join(
        json.dumps({"src": src, "dst": dst, "weight": weight}) + "\n" for src, dst, weight in edges
    )
    answer = client.post("/v1/loops/roads/edges", content=lines, params=TEXT, headers=PUSHED)
    assert answer.json() == {"accepted": 3, "rejected": 0, "offsets": {"http": 3}}
    return client


def test_ids_go_out_and_come_in_as_strings_where_that_is_asked_for(chain):
    body = asked(chain, params=TEXT, vertices=[str(GREATEST), LEAST, str(ODD), "99"])
    assert body["result"] == {
        "values": [
            {"vertex": str(GREATEST), "value": 6.0},
            {"vertex": str(LEAST), "value": 3.0},
            {"vertex": str(ODD), "value": 1.0},
        ],
        "unknown": ["99"],
        "next": None,
    }
    followed = chain.get(f"/v1/queries/{body['id']}", params={"wait_s": 1, **TEXT}).json()
    assert followed["result"] == body["result"]


def test_without_it_they_are_numbers_with_all_their_digits(chain):
    body = asked(chain, vertices=NUMBERS)
    assert body["result"]["values"] == [
        {"vertex": vertex, "value": value} for vertex, value in zip(NUMBERS, (1.0, 3.0, 6.0), strict=True)
    ]
    refused = chain.post("/v1/queries", json={"loop": "roads", "vertices": [str(ODD)]})
    assert "64-bit integers" in problem(refused, 422, "invalid-argument")["detail"]
    line = json.dumps({"src": str(ODD), "dst": 1})
    answer = chain.post("/v1/loops/roads/edges", content=line, headers=PUSHED)
    assert (answer.json()["accepted"], answer.json()["rejected"]) == (0, 1)


@pytest.mark.parametrize(("params", "write"), [({}, int), (TEXT, str)], ids=["numbers", "strings"])
def test_result_pages_and_every_format_have_them_exactly(chain, params, write):
    found = {LEAST: 3.0, 1: 0.0, 2: 1.0, 3: 3.0, 4: 10.0, 5: None, 6: None, ODD: 1.0, GREATEST: 6.0}
    rows = [{"vertex": write(vertex), "value": value} for vertex, value in found.items()]
    for question in ({}, {"vertices": list(found)}):  # one is read from the branch, the other was extracted
        path = f"/v1/queries/{asked(chain, **question)['id']}/result"
        assert chain.get(path, params=params).json()["values"] == rows
        lines = chain.get(path, params=params, headers=NDJSON).text.splitlines()
        assert [json.loads(line) for line in lines] == rows
        table = pa.ipc.open_stream(chain.get(path, params=params, headers=ARROW).content).read_all()
        assert table["vertex"].to_pylist() == [row["vertex"] for row in rows]
        text = chain.get(path, params=params, headers=CSV).text
        assert text.splitlines()[1:3] == [f"{LEAST},3.0", "1,0.0"]
        some = chain.get(path, params={"vertices": f"{GREATEST},{LEAST}", **params}).json()["values"]
        assert some == [rows[-1], rows[0]]
        pages, after = [], None
        while not pages or after is not None:
            page = chain.get(
                path, params={"limit": 2, **({} if after is None else {"after": after}), **params}
            )
            pages += page.json()["values"]
            after = page.json()["next"]
            assert after is None or after == pages[-1]["vertex"]
            assert after is None or ("ids=string" in page.headers["link"]) == bool(params)
        assert pages == rows


def test_a_parameter_that_is_a_vertex_may_be_a_string_too(chain):
    body = asked(chain, params=TEXT, parameters={"source": str(LEAST)}, vertices=[str(GREATEST)])
    assert body["result"]["values"] == [{"vertex": str(GREATEST), "value": 3.0}]


@pytest.mark.parametrize("vertex", ["9223372036854775808", "1.0", "", " 1", "one", "-"])
def test_a_string_that_is_no_id_is_refused_by_its_place(chain, vertex):
    for fields in ({"vertices": ["1", vertex]}, {"parameters": {"source": vertex}}):
        answer = chain.post("/v1/queries", json={"loop": "roads", **fields}, params=TEXT)
        detail = problem(answer, 422, "invalid-argument")["detail"]
        assert detail.startswith(("vertices[1] is", "parameter source is"))


def test_another_word_than_string_is_refused(chain):
    problem(chain.get("/v1/queries/x/result", params={"ids": "text"}), 422, "invalid-argument")
    problem(chain.post("/v1/queries", json={"loop": "x"}, params={"ids": "int"}), 422, "invalid-argument")


def test_where_ids_are_strings_it_changes_nothing(fake, open_service, serve):
    roads = fake.start(Fastest(source=0), name="roads")
    service = open_service(fake)
    service.served(roads).codec = StringIds(Interner())
    client = serve(service)
    line = json.dumps({"src": "007", "dst": str(GREATEST)}) + '\n{"src": 7, "dst": "8"}\n'
    pushed = client.post("/v1/loops/roads/edges", content=line, params=TEXT, headers=PUSHED).json()
    assert (pushed["accepted"], pushed["rejected"]) == (1, 1)
    body = asked(client, params=TEXT, vertices=["007", str(GREATEST), "7"])
    assert [row["vertex"] for row in body["result"]["values"]] == ["007", str(GREATEST)]
    assert body["result"]["unknown"] == ["7"]


def test_the_openapi_document_says_so(client):
    paths = client.get("/openapi.json").json()["paths"]
    for path, method in (
        *(("/v1/queries", "post"), ("/v1/queries/{id}", "get"), ("/v1/queries/{id}/result", "get")),
        ("/v1/loops/{name}/edges", "post"),
    ):
        [ids] = [one for one in paths[path][method]["parameters"] if one["name"] == "ids"]
        assert "string" in json.dumps(ids["schema"])
        assert "2^53" in ids["description"]
