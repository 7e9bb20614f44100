"""Parameters and graphs that have no usual answer, over HTTP and in Python: a clear error, or an answer that is documented."""

import json
from dataclasses import dataclass, replace

import httpx
import pytest

import tornado
from apps.katz import Katz
from apps.pagerank import PageRank
from tests.query import fake_loops
from tests.query.conftest import start_roads
from tests.query.test_http_queries import problem
from tornado.errors import InvalidArgument

ENDS = [1, 2, 3, 3], [2, 3, 1, 4]
NDJSON = {"content-type": "application/x-ndjson"}


@pytest.fixture
def session():
    with tornado.open("memory:", workers=1) as opened:
        yield opened


@pytest.fixture
def client(session):
    with httpx.Client(base_url=session.serve().url, trust_env=False, timeout=60) as opened:
        yield opened


@pytest.fixture
def ranks(session):
    loop = session.start(PageRank(accuracy=0.5), name="ranks")
    loop.insert(*ENDS)
    return loop


def answered(client, **question):
    response = client.post("/v1/queries", params={"wait_s": 30}, json={"loop": "ranks"} | question)
    assert response.status_code == 200, response.text
    body = response.json()
    return {row["vertex"]: row["value"] for row in body["result"]["values"]}, body


@pytest.mark.parametrize(
    ("parameters", "code", "said"),
    [
        ({"damping": 1.0}, "invalid-argument", "damping is 1.0 but must be from 0 to below 1"),
        ({"damping": -0.1}, "invalid-argument", "damping is -0.1"),
        ({"tolerance": 0}, "invalid-argument", "tolerance is 0.0 but must be at least 1e-13"),
        (
            {"personalisation": "seeds.csv"},
            "invalid-argument",
            "personalisation is 'seeds.csv' but must be a list",
        ),
        ({"personalisation_file": "/etc/hosts"}, "unknown-field", "has no parameter 'personalisation_file'"),
        (
            {"personalisation": [1, "x"]},
            "invalid-argument",
            "personalisation[1] is 'x' but must be a whole number",
        ),
        ({"personalisation": [1], "shares": [0]}, "invalid-argument", "the shares of all 1 vertices are 0"),
        ({"personalisation": [1], "shares": [-1]}, "invalid-argument", "the share of vertex 1 is -1.0"),
        (
            {"personalisation": [1, 2], "shares": [1]},
            "invalid-argument",
            "names 2 vertices, and shares has 1",
        ),
        ({"personalisation": [1, 1], "shares": [1, 1]}, "invalid-argument", "names vertex 1 twice"),
        ({"rounds": 3}, "invalid-argument", "'rounds' of PageRank is fixed where its loop is started"),
    ],
)
def test_ranks_that_there_are_not_are_refused_in_a_question_and_where_a_loop_is_started(
    session, ranks, client, parameters, code, said
):
    refused = problem(client.post("/v1/queries", json={"loop": "ranks", "parameters": parameters}), 422, code)
    assert said in refused["detail"]
    with pytest.raises(tornado.TornadoError) as error:
        ranks.query(parameters=parameters)
    assert said in str(error.value)
    if "rounds" not in parameters:
        wanted = {"program": "pagerank", "name": "no", "stream": "ranks", "parameters": parameters}
        assert said in problem(client.post("/v1/loops", json=wanted), 422, code)["detail"]


def test_a_loop_is_not_called_nothing(session, ranks, client):
    wanted = {"program": "pagerank", "name": "", "stream": "ranks"}
    refused = problem(client.post("/v1/loops", json=wanted), 422, "invalid-argument")
    assert "the name of a loop is ''" in refused["detail"]


def test_rounds_with_a_delay_bound_above_1_are_refused(session, ranks, client):
    wanted = {"program": "pagerank", "name": "no", "stream": "ranks", "parameters": {"rounds": 3}}
    refused = problem(client.post("/v1/loops", json=wanted | {"delay_bound": 2}), 422, "invalid-argument")
    assert "1 only" in refused["detail"]
    with pytest.raises(InvalidArgument, match="1 only"):
        session.start(PageRank(rounds=3), name="no", stream="ranks", delay_bound=2)


def test_a_negative_weight_is_rejected_and_the_rest_of_a_push_is_in(session, ranks, client):
    lines = '{"src": 4, "dst": 1, "weight": -1}\n{"src": 4, "dst": 2}\n'
    body = client.post("/v1/loops/ranks/edges", content=lines, headers=NDJSON).json()
    assert (body["accepted"], body["rejected"]) == (1, 1)
    with pytest.raises(InvalidArgument, match="weight is not 0 and not from 1e-12 to 1e12"):
        ranks.insert([4, 4], [3, 1], [1.0, -1.0])
    assert ranks.wait_idle(30)
    assert session.service.loop("ranks").statistics().edges == len(ENDS[0]) + 1


def test_while_nobody_of_the_personalisation_was_seen_every_value_is_0(session, ranks, client):
    asked = {"personalisation": [99, 10**15], "shares": [1, 2]}
    found, body = answered(client, parameters=asked)
    assert found == dict.fromkeys([1, 2, 3, 4], 0.0)
    assert body["certificate"] == {"kind": "bound", "norm": "l1", "bound": 0.0}


@pytest.mark.parametrize(
    ("edges", "expected"),
    [
        ([], {}),
        ([(1, 1, 0.0)], {1: 1.0}),
        ([(1, 1, 2.0)], {1: 1.0}),
        ([(1, 2, 0.0), (3, 4, 0.0)], dict.fromkeys([1, 2, 3, 4], 0.25)),
    ],
    ids=["no edge", "one vertex", "one with itself", "nobody has an out-edge"],
)
def test_graphs_with_little_in_them_have_answers(session, client, edges, expected):
    loop = session.start(PageRank(), name="ranks")
    if edges:
        loop.insert(*map(list, zip(*edges, strict=True)))
    found, body = answered(client)
    assert found == pytest.approx(expected)
    assert body["certificate"]["bound"] <= 1e-6
    assert loop.query().values == pytest.approx(expected)


def test_an_alpha_that_is_too_large_is_told_and_another_one_has_an_answer(session, client):
    katz = session.start(Katz(alpha=1.5), name="ranks")
    katz.insert(*ENDS)
    body = client.post("/v1/queries", params={"wait_s": 30}, json={"loop": "ranks"}).json()
    assert body["certificate"] == {"kind": "none", "reason": "diverged"}
    assert katz.query(parameters={"alpha": 0.1}).certificate["kind"] == "bound"
    for alpha in (0.0, -1.0):
        with pytest.raises(InvalidArgument, match=r"alpha is .* but must be above 0"):
            katz.query(parameters={"alpha": alpha})


def test_a_branch_of_other_parameters_is_not_adopted(session, ranks, client):
    for parameters in ({"damping": 0.5}, {"personalisation": [1]}, {"personalisation": [1], "shares": [2]}):
        _, body = answered(client, parameters=parameters)
        refused = problem(client.post(f"/v1/queries/{body['id']}/adopt"), 409, "cannot-adopt")
        assert "has other parameters than loop 'ranks'" in refused["detail"]
        assert json.dumps(parameters)[1:8] in refused["detail"].replace("'", '"')
    _, body = answered(client, parameters={"tolerance": 1e-9})
    assert client.post(f"/v1/queries/{body['id']}/adopt").json()["bound"] <= 1e-9


@dataclass(frozen=True)
class FromAbove(fake_loops.Fastest):
    """Has no paths from a negative vertex."""

    def with_parameters(self, changed):
        return replace(self, **changed)

    def check_parameters(self):
        if self.source < 0:
            raise InvalidArgument(f"source is {self.source} but must be at least 0", hint="Name another one.")


def test_a_parameter_that_the_program_refuses_is_refused_at_once_though_the_question_would_wait(
    fake, open_service, serve
):
    fake.new_program = FromAbove
    start_roads(fake)
    fake.gate.clear()
    client = serve(open_service(fake, branches=1))
    assert client.post("/v1/queries", json={"loop": "roads"}).json()["state"] == "running"
    for waits in ({}, {"min_offsets": {"edges.csv": 1_000}}):
        question = {"loop": "roads", "parameters": {"source": 5}} | waits
        assert client.post("/v1/queries", json=question).json()["state"] == "queued"
        refused = client.post("/v1/queries", json=question | {"parameters": {"source": -1}})
        body = problem(refused, 422, "invalid-argument")
        assert (body["detail"], body["hint"]) == ("source is -1 but must be at least 0", "Name another one.")
    fake.gate.set()
