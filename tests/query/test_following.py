"""Following a loop while it runs, in Python and over HTTP: groups that keep their names, and numbers that moved far enough."""

import asyncio
import contextlib
import io
import json
import threading

import numpy as np
import pyarrow as pa
import pytest

import tornado
from apps.connected_components import ConnectedComponents
from apps.katz import Katz
from apps.label_propagation import LabelPropagation
from apps.pagerank import PageRank
from apps.sssp import ShortestPaths
from tests.query import naive_groups
from tests.query.conftest import eventually
from tornado.errors import ConnectionLost, InvalidArgument, ResultUnavailable, UnknownLoop
from tornado.query import events as http_events
from tornado.query.events import Done
from tornado.query.lifetime import Lifetime
from tornado.query.query import Query

AMOUNT = 1e-3
QUICK_S = 0.05
PATH = [1, 2, 3, 4], [2, 3, 4, 5]


@pytest.fixture
def opened():
    with tornado.open("memory:", workers=2) as session:
        yield session


@pytest.fixture
def events(serve):
    """Follow a loop over HTTP; returns an iterator over the events."""
    with contextlib.ExitStack() as stack:

        def make(client, loop, **parameters):
            response = stack.enter_context(
                client.stream("GET", f"/v1/loops/{loop}/events", params={"interval_s": QUICK_S, **parameters})
            )
            assert response.status_code == 200, response.read()
            return parsed(response.iter_lines())

        yield make


def parsed(lines):
    name = None
    for line in lines:
        if line.startswith("event: "):
            name = line.removeprefix("event: ")
        elif line.startswith("data: "):
            yield name, json.loads(line.removeprefix("data: "))


def answer_of(events):
    """Take the events of one answer: the rows that are told of each table, what happened to groups, and its end."""
    values, groups, turnings = {}, {}, []
    for name, content in events:
        if name == "values":
            values |= {row["vertex"]: row["value"] for row in content["values"]}
        elif name == "groups":
            groups |= {row["vertex"]: row["group"] for row in content["groups"]}
        elif name == "answer":
            return values, groups, turnings, content
        else:
            turnings.append((name, content["from"], content["into"], content["sizes"]))
    raise AssertionError("it ended within an answer")


def turned(changes):
    return [(one["kind"], one["from"], one["into"], one["sizes"]) for one in changes.group_events]


def clusters(seed, rounds):
    """Edges that come and go among few vertices, so that components split and merge all the time."""
    draw = np.random.default_rng(seed)
    there = set()
    for _ in range(rounds):
        gone = {edge for edge in sorted(there) if draw.random() < 0.4}
        come = {tuple(sorted(pair)) for pair in draw.integers(1, 15, (4, 2)).tolist()} - there
        there = (there - gone) | come
        yield sorted(come), sorted(gone)


@pytest.mark.parametrize(
    "program", [ConnectedComponents(), LabelPropagation(rounds=4)], ids=["components", "labels"]
)
def test_names_of_groups_are_those_of_the_plain_twin_over_consecutive_answers(opened, program):
    loop = opened.start(program, name="groups")
    followed = loop.follow(interval_s=QUICK_S)
    before = told = names = None
    happened = set()
    for come, gone in clusters(7, 12):
        for change, edges in ((loop.remove, gone), (loop.insert, come)):
            if edges:
                change(*map(list, zip(*edges, strict=True)))
        loop.wait_idle(60)
        changes = next(followed)
        assert changes.snapshot.offsets == loop.offsets()
        labels = loop.query().values
        if before is None:
            names = naive_groups.first(labels)
            assert changes.groups == changes.values == labels
            told = dict(changes.groups)
        else:
            following = naive_groups.following(before, names, labels)
            assert turned(changes) == naive_groups.turnings(names, following)
            assert changes.values == {
                vertex: label for vertex, label in labels.items() if before.get(vertex) != label
            }
            assert changes.groups == {
                vertex: name for vertex, name in following.items() if names.get(vertex) != name
            }
            told |= changes.groups
            happened |= {kind for kind, *_ in turned(changes)}
            names = following
        assert told == names
        before = labels
    assert happened == {"split", "merge"}


def test_a_group_keeps_its_name_when_its_least_vertex_leaves_and_values_do_not(opened, serve, events):
    loop = opened.start(ConnectedComponents(), name="groups")
    loop.insert(*PATH)
    client = serve(opened.service)
    followed, streamed = loop.follow(interval_s=QUICK_S), events(client, "groups")
    first = next(followed)
    assert first.groups == first.values == dict.fromkeys(range(1, 6), 1)
    assert answer_of(streamed)[:3] == (first.values, first.groups, [])
    loop.remove([1], [2])
    split = ("split", [1], [1, 2], [4, 1])
    changes, (values, groups, turnings, end) = next(followed), answer_of(streamed)
    assert changes.values == values == dict.fromkeys(range(2, 6), 2), "a value is the least id"
    assert changes.groups == groups == {1: 2}, "four of five keep the name, and who leaves takes what is free"
    assert turned(changes) == turnings == [split]
    assert end["certificate"] == changes.certificate == {"kind": "exact"}
    assert end["version"] == end["snapshot"]["version"] == changes.snapshot.version
    loop.insert([1], [7])
    loop.insert([7], [2])
    assert {**next(followed).groups}[7] in (1, 2)
    late = answer_of(events(client, "groups", ids="string"))
    assert late[1] == late[0] == dict.fromkeys("123457", "1"), "who begins to follow begins with the labels"


@pytest.mark.parametrize("where", [(Lifetime, "wait"), (Query, "wait")], ids=["pausing", "asking"])
def test_who_follows_a_session_that_is_closed_is_told_at_once(where, compiled_paths, monkeypatch):
    with tornado.open("memory:", workers=1) as session:
        loop = session.start(ShortestPaths(source=1), name="roads")
        loop.insert([1], [2], [1.0])
        followed = loop.follow(interval_s=3600)
        if where[0] is Lifetime:
            assert next(followed).values == {1: 0.0, 2: 1.0}
        there, closed, real = threading.Event(), threading.Event(), getattr(*where)

        def wait(self, *arguments):
            there.set()
            assert where[0] is Lifetime or closed.wait(60)
            return real(self, *arguments)

        monkeypatch.setattr(*where, wait)
        told = []

        def follow():
            with pytest.raises(ConnectionLost, match="closed"):
                next(followed)
            told.append("closed")

        following = threading.Thread(target=follow, daemon=True)
        following.start()
        assert there.wait(60)
        session.close()
        closed.set()
        following.join(20)
        assert told


def test_names_are_ids_as_they_are_written_outside(serve, events):
    with tornado.open("memory:", workers=1) as session:
        loop = session.start(ConnectedComponents(), name="groups", ids="string")
        loop.insert(["Rome", "Pisa"], ["Pisa", "Bari"])
        followed, streamed = loop.follow(interval_s=QUICK_S), events(serve(session.service), "groups")
        assert next(followed).groups == dict.fromkeys(("Rome", "Pisa", "Bari"), "Rome")
        answer_of(streamed)
        loop.remove(["Rome"], ["Pisa"])
        changes, (values, groups, turnings, _) = next(followed), answer_of(streamed)
        assert changes.values == values == {"Pisa": "Pisa", "Bari": "Pisa"}
        assert changes.groups == groups == {"Rome": "Pisa"}
        assert turned(changes) == turnings == [("split", ["Rome"], ["Rome", "Pisa"], [2, 1])]


def drifting(loop):
    """Change a ring of links little by little; yields after each change."""
    for link in range(12):
        loop.insert([1 + link % 3], [40 + link])
        yield


def ranks_loop(session):
    loop = session.start(PageRank(tolerance=1e-12), name="ranks")
    loop.insert(list(range(1, 101)), [*range(2, 101), 1])
    return loop


def test_ranks_are_told_again_when_they_moved_far_enough_from_what_was_told(opened, serve, events):
    loop = ranks_loop(opened)
    client = serve(opened.service)
    everything, followed = loop.follow(interval_s=QUICK_S), loop.follow(moved_by=AMOUNT, interval_s=QUICK_S)
    streamed = events(client, "ranks", moved_by=AMOUNT)
    told = dict(next(followed).values)
    assert told == pytest.approx(loop.query().values, abs=1e-11)
    assert answer_of(streamed)[0] == pytest.approx(told, abs=1e-11)
    bits, rows, drifted = next(everything).values, 0, set()
    previous = dict(told)
    for _ in drifting(loop):
        changes, (values, *_, end) = next(followed), answer_of(streamed)
        assert changes.certificate["kind"] == end["certificate"]["kind"] == "bound"
        exact = loop.query().values
        expected = {
            vertex
            for vertex, rank in exact.items()
            if vertex not in told or abs(rank - told[vertex]) > AMOUNT
        }
        assert set(changes.values) == set(values) == expected
        drifted |= {vertex for vertex in expected if abs(exact[vertex] - previous.get(vertex, 1.0)) <= AMOUNT}
        rows += len(expected)
        told |= changes.values
        assert max(abs(told[vertex] - rank) for vertex, rank in exact.items()) <= AMOUNT + 1e-9
        changed = next(everything).values
        assert len(changed) >= 100, "without it, every rank is told again"
        bits |= changed
        previous = exact
    assert bits == pytest.approx(exact, abs=1e-11)
    assert drifted, "some were told that had never moved so far from one answer to the next"
    assert 12 < rows < 300, "of 1,200"


def test_what_is_out_of_reach_and_within_reach_again_is_told_however_little_is_told(opened, serve, events):
    loop = opened.start(ShortestPaths(source=1), name="roads")
    loop.insert([1, 2], [2, 3], [1.0, 1.0])
    followed, streamed = (
        loop.follow(moved_by=100, interval_s=QUICK_S),
        events(serve(opened.service), "roads", moved_by=100),
    )
    assert next(followed).values == answer_of(streamed)[0] == {1: 0.0, 2: 1.0, 3: 2.0}
    for change, told in (
        (lambda: loop.remove([2], [3]), {3: None}),
        (lambda: loop.insert([2], [3], [7.0]), {3: 8.0}),
        (lambda: loop.insert([1], [3], [1.0]), {}),
        (lambda: loop.replace([1, 2], [3, 3], [109.0, 108.5]), {3: 109.0}),
    ):
        change()
        changes, (values, groups, turnings, _) = next(followed), answer_of(streamed)
        assert changes.values == values == told
        assert (groups, turnings) == ({}, [])
    with pytest.raises(InvalidArgument, match="is told no table 'groups'; there is: values"):
        _ = changes.groups


@pytest.mark.parametrize("amount", [-1e-9, float("nan"), float("inf"), True, "far"])
def test_a_distance_is_a_number_from_0(opened, serve, amount):
    loop = opened.start(ShortestPaths(source=1), name="roads")
    with pytest.raises(InvalidArgument, match=r"moved_by is .* but must be a number from 0"):
        loop.follow(moved_by=amount)
    client = serve(opened.service)
    query = client.post("/v1/queries?wait_s=20", json={"loop": "roads"}).json()["id"]
    for answer in (
        client.get("/v1/loops/roads/events", params={"moved_by": str(amount)}),
        client.post(
            "/v1/loops/roads/readers/r",
            content=json.dumps({"query": query, "moved_by": amount}),
            headers={"content-type": "application/json"},
        ),
    ):
        if amount is True and answer.request.method == "GET":
            continue  # there it is no number to begin with
        assert answer.status_code in (400, 422), answer.text
        assert "moved_by" in answer.text or "JSON" in answer.text


def test_labels_have_no_distance_and_pauses_have_bounds(opened, serve):
    loop = opened.start(ConnectedComponents(), name="groups")
    with pytest.raises(InvalidArgument, match="are labels") as refused:
        loop.follow(moved_by=1)
    assert "Leave it out. The table groups" in refused.value.hint
    with pytest.raises(InvalidArgument, match=r"interval_s is 0 but must be a number from 0.05 to 3600"):
        loop.follow(interval_s=0)
    client = serve(opened.service)
    answer = client.get("/v1/loops/groups/events", params={"moved_by": 1})
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid-argument")
    query = client.post("/v1/queries?wait_s=20", json={"loop": "groups"}).json()["id"]
    path = "/v1/loops/groups/readers/r"
    answer = client.post(path, json={"query": query, "moved_by": 1})
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid-argument")
    assert client.post(path, json={"query": query, "moved_by": 0}).status_code == 200


def test_readers_over_http_are_told_of_groups_and_of_ranks(opened, serve):
    groups, ranks = opened.start(ConnectedComponents(), name="groups"), ranks_loop(opened)
    groups.insert(*PATH)
    client = serve(opened.service)

    def kept(loop, **fields):
        query = client.post("/v1/queries?wait_s=30", json={"loop": loop}).json()["id"]
        answer = client.post(f"/v1/loops/{loop}/readers/r", json={"query": query, **fields})
        assert answer.status_code == 200, answer.text
        return answer.json()["version"]

    def told(loop, after, up_to, **table):
        answer = client.get(f"/v1/loops/{loop}/readers/r", params={"after": after, "up_to": up_to, **table})
        assert answer.status_code == 200, answer.text
        return pa.ipc.open_stream(io.BytesIO(answer.content)).read_all().to_pylist()

    first = kept("groups")
    groups.remove([1], [2])
    second = kept("groups", after=first)
    assert told("groups", first, second, table="groups") == [{"vertex": 1, "group": 2}]
    event = {"kind": "split", "from": [1], "into": [1, 2], "sizes": [4, 1]}
    assert told("groups", first, second, table="group_events") == [event]
    assert [row["vertex"] for row in told("groups", first, second)] == [2, 3, 4, 5]
    first = kept("ranks", moved_by=AMOUNT)
    ranks.insert([1], [50])
    second = kept("ranks", after=first, moved_by=AMOUNT)
    assert 1 <= len(told("ranks", first, second)) < len(told("ranks", 0, second)) == 100
    no_table = client.get(
        "/v1/loops/ranks/readers/r", params={"after": 0, "up_to": second, "table": "groups"}
    )
    assert (no_table.status_code, no_table.json()["code"]) == (422, "invalid-argument")
    assert "there is: values" in no_table.json()["detail"]
    described = {
        loop: [table["name"] for table in client.get(f"/v1/loops/{loop}").json()["followed_tables"]]
        for loop in ("groups", "ranks")
    }
    assert described == {"groups": ["values", "groups", "group_events"], "ranks": ["values"]}


def test_followers_end_with_their_loop_their_client_and_their_server(opened, serve, events):
    loop = opened.start(ShortestPaths(source=1), name="roads")
    client = serve(opened.service, loop_followers=2)

    def is_told():
        with client.stream("GET", "/v1/loops/roads/events") as response:
            return response.status_code == 200 and answer_of(parsed(response.iter_lines()))

    for _ in range(4):  # a place is given up when its client leaves
        eventually(is_told)
    eventually(lambda: not opened.service.queries())  # and nothing is left of what was asked for it
    occupying = events(client, "roads")
    answer_of(occupying)
    followed, ended = loop.follow(interval_s=QUICK_S), events(client, "roads")
    next(followed), answer_of(ended)
    refused = client.get("/v1/loops/roads/events")
    assert (refused.status_code, refused.json()["code"]) == (429, "queue-full")
    opened.remove("roads")
    with pytest.raises(UnknownLoop):
        next(followed)
    assert [(name, content["code"]) for name, content in ended] == [("error", "unknown-loop")]
    opened.start(ShortestPaths(source=1), name="others")
    standing = events(client, "others")
    answer_of(standing)
    threading.Timer(0.2, client.server.stop).start()
    assert list(standing) == []


def test_the_line_is_kept_alive_also_between_two_looks_and_while_an_answer_is_waited_for(
    opened, serve, monkeypatch
):
    monkeypatch.setattr(http_events, "KEEP_ALIVE_S", 0.05)
    opened.start(ShortestPaths(source=1), name="roads").insert([1], [2])
    client = serve(opened.service)
    with client.stream("GET", "/v1/loops/roads/events", params={"interval_s": 3600}) as response:
        lines = (line for line in response.iter_lines() if line)
        while not next(lines).startswith("event: answer"):
            pass
        next(lines)
        assert [next(lines) for _ in range(3)] == [": still here"] * 3
    waiting = threading.Event()
    monkeypatch.setattr(Done, "wait", lambda *_: asyncio.to_thread(waiting.wait))
    with client.stream("GET", "/v1/loops/roads/events") as response:
        lines = (line for line in response.iter_lines() if line)
        assert [next(lines) for _ in range(3)] == [": still here"] * 3
        waiting.set()
        assert any(line.startswith("event: answer") for line in lines)


def test_a_loop_without_an_answer_cannot_be_followed(opened):
    loop = opened.start(Katz(alpha=0.9), name="katz")
    loop.insert([1, 2, 1], [2, 1, 1])
    with pytest.raises(ResultUnavailable, match=r"cannot be followed: .* \(diverged\)"):
        next(loop.follow(interval_s=QUICK_S))
