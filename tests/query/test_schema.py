"""Whatever OpenAPI allows, and what it does not: no answer says that the service failed, and without a token nothing changes."""

import json
import warnings
from contextlib import suppress

import httpx
import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

import tornado
from apps.sssp import ShortestPaths
from tests.fuzzing.parsers import PARSERS
from tornado.query.http_access import NEEDS, About

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    schemathesis = pytest.importorskip("schemathesis")

EDGE = st.fixed_dictionaries(
    {"src": st.integers(-2, 9), "dst": st.integers(-2, 9)},
    optional={
        "weight": st.floats() | st.none(),
        "op": st.sampled_from("+-="),
        "id": st.integers(),
        "label": st.text(),
    },
)
schemathesis.openapi.media_type(
    "application/x-ndjson",
    st.binary(max_size=60)
    | st.lists(EDGE | st.text(), max_size=4).map(lambda lines: "\n".join(map(json.dumps, lines)).encode()),
)
schemathesis.openapi.media_type(
    "application/vnd.apache.arrow.stream",
    st.binary(max_size=60)
    | st.sampled_from([seed for name in PARSERS if "arrow" in name for seed in PARSERS[name][1]]),
)


@schemathesis.serializer("application/x-ndjson", "application/vnd.apache.arrow.stream")
def as_it_is(_context, value):
    return getattr(value, "data", value)


TOKEN = "wr1te"
EDGES = b'{"src": 1, "dst": 2}\n{"src": 2, "dst": 3}\n'
# What the service says on purpose; any other from 500 on is a fault of its own.
SAID = {501, 503, 507}
SEED = 20_260_101


@pytest.fixture(scope="module")
def served():
    with tornado.open("memory:", workers=1) as session:
        session.start(ShortestPaths(source=1), "roads").insert([1, 2], [2, 3])
        server = session.serve(tokens=f"write {TOKEN}")
        yield session, server


@pytest.fixture(scope="module")
def client(served):
    with httpx.Client(base_url=served[1].url, timeout=30) as client:
        yield client


def operations(client):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        schema = schemathesis.openapi.from_dict(client.get("/openapi.json").json())
        return [found.ok() for found in schema.get_all_operations()]


def cases(operation):
    """What the description allows, and as often what it does not, where there is anything that could be wrong."""
    right = operation.as_strategy()
    if not (operation.body or operation.query or operation.path_parameters):
        return right
    return right | operation.as_strategy(generation_mode=schemathesis.GenerationMode.NEGATIVE)


def send(client, case, names, token):
    """Send a case, with names that there are in half of them, and within bounds of time; events are begun and not followed."""
    given = case.as_transport_kwargs(base_url=str(client.base_url))
    path = case.path
    for name, value in (case.path_parameters | names).items():
        path = path.replace(f"{{{name}}}", str(value))
    query = {name: value for name, value in (case.query or {}).items() if name != "wait_s"}
    headers = {name: value for name, value in given["headers"].items() if name.lower() != "authorization"}
    headers |= {} if token is None else {"Authorization": f"Bearer {token}"}
    content = given.get("data")
    if given.get("json") is not None:
        given_json = given["json"]
        if case.path.endswith("/rescale") and isinstance(given_json, dict):
            given_json = given_json | {"workers": "many"}  # those that there could be take seconds each
        given = {"json": given_json}
    else:
        given = {"content": content if isinstance(content, bytes | str) else b""}
    with (
        suppress(httpx.InvalidURL, UnicodeEncodeError, ValueError),  # what no client could send
        client.stream(case.method, path, params=query, headers=headers, **given) as answer,
    ):
        if "event-stream" not in answer.headers.get("content-type", ""):
            answer.read()
        return answer
    return None


def fuzzed(client, examples, judge, token):
    """Have so many cases of each operation judged; return how many were sent."""
    sent = 0
    asked = client.post(
        "/v1/queries?wait_s=20", json={"loop": "roads"}, headers={"Authorization": f"Bearer {TOKEN}"}
    ).json()
    real = st.sampled_from([{"name": "roads", "id": asked["id"], "of": "loops"}, {}])
    for operation in operations(client):

        @seed(SEED)
        @settings(
            max_examples=examples,
            deadline=None,
            database=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(cases(operation), real)
        def once(case, names):
            nonlocal sent
            if (case.method.upper(), case.path) in {
                ("DELETE", "/v1/loops/{name}"),
                ("DELETE", "/v1/queries/{id}"),
            }:
                names = {}  # what others are asked about stays
            answer = send(client, case, names, token)
            if answer is not None:
                sent += 1
                judge(case, answer)

        once()
    return sent


def judge_service(case, answer):
    assert answer.status_code < 500 or answer.status_code in SAID, (case, answer.status_code, answer.text)
    if answer.status_code >= 400:
        assert answer.headers["content-type"] == "application/problem+json", (case, answer.text)


def judge_closed(case, answer):
    public = NEEDS[case.path][case.method.upper()].about is About.NOTHING
    assert (answer.status_code == 401) != public, (case, answer.status_code)


def state_of(session):
    loops = session.service.master.loops
    return {name: (loop.stream.counts(), loop.offsets()) for name, loop in loops.items()}


@pytest.mark.parametrize(
    "examples", [pytest.param(6, id="short"), pytest.param(1_000, id="long", marks=pytest.mark.soak)]
)
def test_no_request_makes_the_service_fail(client, examples):
    sent = fuzzed(client, examples, judge_service, TOKEN)
    print(f"{sent} requests, seed {SEED}")
    assert sent > 4 * examples
    assert client.get("/healthz").status_code == 200


@pytest.mark.parametrize(
    "examples", [pytest.param(4, id="short"), pytest.param(250, id="long", marks=pytest.mark.soak)]
)
def test_without_a_token_nothing_is_answered_and_nothing_changes(served, client, examples):
    session, _ = served
    before, queries = state_of(session), len(session.service.queries()) + 1
    sent = fuzzed(client, examples, judge_closed, None)
    print(f"{sent} requests, seed {SEED}")
    assert state_of(session) == before
    assert len(session.service.queries()) == queries
