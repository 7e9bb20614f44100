"""Several loops on one stream, from Python and over HTTP: started, fed, asked and removed while it runs."""

import contextlib
import threading
from concurrent.futures import ThreadPoolExecutor, wait

import httpx
import numpy as np
import pytest

import tornado
from apps.bfs import BreadthFirstSearch
from apps.sssp import ShortestPaths
from tests.loops.lowest import Lowest
from tests.query.conftest import eventually
from tornado.errors import (
    InvalidArgument,
    NameTaken,
    ResultUnavailable,
    TornadoError,
    UnknownLoop,
    UnknownStream,
)
from tornado.query.request import ServiceLimits

NDJSON = {"content-type": "application/x-ndjson"}
EDGES = '{"src": 1, "dst": 2, "weight": 5}\n{"src": 2, "dst": 3, "weight": 5}\n{"src": 1, "dst": 3, "weight": 20}\n'


@pytest.fixture
def session():
    with tornado.open("memory:", workers=1) as session:
        yield session


@contextlib.contextmanager
def client_of(session):
    session.start(ShortestPaths(source=1), "roads")
    with httpx.Client(base_url=session.serve().url, timeout=120) as client:
        yield client


@pytest.fixture
def client(session):
    with client_of(session) as client:
        yield client


@pytest.fixture(scope="module")
def standing():
    """For what is refused, and leaves everything as it was."""
    with tornado.open("memory:", workers=1) as session, client_of(session) as client:
        yield client


def asked(client, loop, vertex):
    answer = client.post(
        "/v1/queries", json={"loop": loop, "vertices": [vertex]}, params={"wait_s": 60}
    ).json()
    assert answer["state"] == "converged", answer
    [row] = answer["result"]["values"]
    return row["value"]


def test_loops_of_one_stream_are_fed_through_each_of_them_and_share_version_and_offsets(session):
    roads = session.start(ShortestPaths(source=1), "roads")
    roads.insert([1, 2, 1], [2, 3, 3], [5.0, 5.0, 20.0])
    hops = session.start(BreadthFirstSearch(source=1), "hops", stream="roads")
    assert dict(hops.query().result().values) == {1: 0.0, 2: 1.0, 3: 1.0}
    version = hops.insert([3], [4], [1.0])
    assert dict(roads.query([4]).result().values) == {4: 11.0}
    assert dict(hops.query([4]).result().values) == {4: 2.0}
    assert roads.statistics().version == hops.statistics().version == version
    assert roads.offsets() == hops.offsets() == {"insert": 4}


def test_over_http_a_loop_is_started_asked_and_removed(client):
    assert client.post("/v1/loops/roads/edges", content=EDGES, headers=NDJSON).status_code == 202
    started = client.post(
        "/v1/loops", json={"program": "bfs", "stream": "roads", "parameters": {"source": 1}}
    )
    assert started.status_code == 201
    assert (started.json()["name"], started.json()["stream"]) == ("bfs", "roads")
    assert (asked(client, "roads", 3), asked(client, "bfs", 3)) == (10.0, 1.0)

    pushed = client.post("/v1/streams/roads/edges", content='{"src": 3, "dst": 4}\n', headers=NDJSON)
    assert (pushed.status_code, pushed.json()["offsets"]) == (202, {"http": 4})
    pushed = client.post("/v1/loops/bfs/edges", content='{"src": 4, "dst": 5}\n', headers=NDJSON)
    assert pushed.json()["offsets"] == {"http": 5}
    assert (asked(client, "roads", 5), asked(client, "bfs", 5)) == (12.0, 3.0)

    [stream] = client.get("/v1/streams").json()["streams"]
    assert (stream["name"], stream["loops"], stream["edges"]) == ("roads", ["bfs", "roads"], 5)
    assert stream["offsets"] == {"http": 5}
    assert client.get("/v1/streams/roads").json()["loops"] == ["bfs", "roads"]

    assert client.delete("/v1/loops/bfs").status_code == 204
    assert client.get("/v1/loops/bfs").status_code == 404
    assert client.delete("/v1/loops/bfs").status_code == 404
    assert [loop["name"] for loop in client.get("/v1/loops").json()["loops"]] == ["roads"]
    assert asked(client, "roads", 5) == 12.0
    again = client.post(
        "/v1/loops", json={"program": "sssp", "name": "bfs", "stream": "roads", "parameters": {"source": 4}}
    )
    assert again.status_code == 201
    assert asked(client, "bfs", 5) == 1.0


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({"program": "bfs", "stream": "rails"}, 404, "unknown-stream"),
        (
            {"program": "bfs", "stream": "roads", "name": "roads", "parameters": {"source": 1}},
            409,
            "name-taken",
        ),
        ({"program": "nothing", "stream": "roads"}, 422, "invalid-argument"),
        ({"program": "apps/bfs.py:BreadthFirstSearch", "stream": "roads"}, 422, "invalid-argument"),
        ({"program": "../apps/bfs", "stream": "roads"}, 422, "invalid-argument"),
        ({"program": "bfs", "stream": "roads"}, 422, "invalid-argument"),  # without its source
        ({"program": "bfs", "stream": "roads", "parameters": {"source": "x"}}, 422, "invalid-argument"),
        ({"program": "bfs", "stream": "roads", "parameters": {"target": 1}}, 422, "unknown-field"),
        ({"program": "bfs"}, 422, "invalid-argument"),
        ({"program": "bfs", "stream": "roads", "file": "x.py"}, 422, "invalid-argument"),
        (
            {"program": "bfs", "stream": "roads", "name": "a/b", "parameters": {"source": 1}},
            422,
            "invalid-argument",
        ),
        (
            {"program": "bfs", "stream": "roads", "delay_bound": 0, "parameters": {"source": 1}},
            422,
            "invalid-argument",
        ),
    ],
)
def test_what_cannot_be_started_is_refused_and_nothing_is_there_afterwards(standing, body, status, code):
    answer = standing.post("/v1/loops", json=body)
    assert (answer.status_code, answer.json()["code"]) == (status, code), answer.text
    assert [loop["name"] for loop in standing.get("/v1/loops").json()["loops"]] == ["roads"]


@pytest.mark.parametrize(
    ("body", "detail"),
    [
        ([1], "a loop to start: Input should be an object"),
        ({"program": "bfs"}, "a loop to start: stream: Field required"),
        (
            {"program": "bfs", "stream": "roads", "delay_bound": "endless"},
            'a loop to start: delay_bound: Input should be a valid integer, and is "endless"',
        ),
    ],
)
def test_a_loop_to_start_that_is_none_is_refused_with_the_field_that_is_wrong(standing, body, detail):
    answer = standing.post("/v1/loops", json=body)
    assert (answer.status_code, answer.json()["detail"]) == (422, detail)


@pytest.mark.parametrize("given", ["unbounded", None])
def test_a_loop_without_a_bound_is_started_by_the_word_of_the_command_line_too(client, given):
    body = {"program": "bfs", "stream": "roads", "parameters": {"source": 1}, "delay_bound": given}
    started = client.post("/v1/loops", json=body)
    assert (started.status_code, started.json().get("delay_bound")) == (201, None), started.text
    client.post("/v1/loops/roads/edges", content=EDGES, headers=NDJSON)
    assert asked(client, "bfs", 3) == 1.0


def test_a_program_that_cannot_take_an_edge_is_refused_with_that_edge(session):
    hops = session.start(BreadthFirstSearch(source=1), "hops")
    hops.insert([1, 7], [7, 8], [1.0, -3.0])
    with httpx.Client(base_url=session.serve().url, timeout=120) as client:
        body = {"program": "sssp", "stream": "hops", "parameters": {"source": 1}}
        refused = client.post("/v1/loops", json=body)
        assert refused.status_code == 422
        assert "7 -> 8, weight -3.0" in refused.json()["detail"]
        assert asked(client, "hops", 8) == 2.0


def test_a_stream_is_shown_though_one_of_its_loops_has_failed(session, client):
    beside = session.start(BreadthFirstSearch(source=1), "aside", stream="roads")
    beside.insert([1, 2], [2, 3])
    assert beside.wait_idle(60)
    beside.loop.fail(ZeroDivisionError("broken on purpose"))
    parts = [host.loop for host in session.master._hosts]
    assert session.master.engine.wait_for(lambda: not any(part(beside.loop.number) for part in parts), 60)
    shown = client.get("/v1/streams/roads")
    assert shown.status_code == 200, shown.text
    assert (shown.json()["loops"], shown.json()["edges"]) == (["aside", "roads"], 2)
    [listed] = client.get("/v1/streams").json()["streams"]
    assert listed["edges"] == 2


@pytest.mark.parametrize("path", ["/v1/loops", "/v1/streams", "/metrics"])
@pytest.mark.parametrize("asked", ["_last_known", "sources"])
def test_what_lists_all_loops_leaves_out_one_that_is_removed_meanwhile(
    session, client, monkeypatch, path, asked
):
    session.start(BreadthFirstSearch(source=1), "aside", stream="roads")
    original = getattr(session.service, asked)

    def removed_meanwhile(name, *how):
        if "aside" in session.master.loops:
            session.remove("aside")
        return original(name, *how)

    monkeypatch.setattr(session.service, asked, removed_meanwhile)
    answer = client.get(path)
    assert answer.status_code == 200, answer.text
    assert "roads" in answer.text


def test_a_loop_shows_nothing_of_one_that_had_its_name(session, client, monkeypatch):
    service, hops = session.service, BreadthFirstSearch(source=1)
    session.start(hops, "aside", stream="roads")
    found = service.loop

    def removed_meanwhile(name):
        loop = found(name)
        monkeypatch.undo()
        removing.start()
        return loop

    removing = threading.Thread(target=session.remove, args=("aside",))  # it has to wait for who looks
    monkeypatch.setattr(service, "loop", removed_meanwhile)
    assert list(service.known_statistics(["aside"], 60)) == ["aside"]
    removing.join()
    session.start(hops, "aside", stream="roads")
    assert client.get("/v1/loops/aside").json()["state"] == "running"


def test_a_stream_is_fed_while_one_of_its_loops_is_removed(session, monkeypatch):
    roads = session.stream("roads")
    roads.start(ShortestPaths(source=1), "a")
    roads.start(BreadthFirstSearch(source=1), "b")
    served = session.service.served

    def removed_meanwhile(loop):
        if "b" in session.master.loops:
            monkeypatch.undo()
            session.remove("b")
        return served(loop)

    monkeypatch.setattr(session.service, "served", removed_meanwhile)
    roads.insert([1], [2])
    assert sorted(roads.loops) == ["a"]
    assert dict(session.loop("a").query().result(60).values) == {1: 0.0, 2: 1.0}


def begun_with_one_that_is_removed(session, monkeypatch, *, failure=None):
    """A stream of names whose only loop is removed when another one is installed there, which nobody knows by its name yet."""
    roads = session.stream("roads", ids="string")
    roads.start(ShortestPaths(source="a"), "going")
    roads.insert(["a"], ["b"])
    enter = session.master._enter

    def removed_meanwhile(loops):
        monkeypatch.undo()
        session.remove("going")
        if failure is not None:
            loops[0].fail(failure)
        return enter(loops)

    monkeypatch.setattr(session.master, "_enter", removed_meanwhile)
    return roads


def test_a_stream_goes_on_with_a_loop_that_is_started_while_the_last_other_one_is_removed(
    session, monkeypatch
):
    roads = begun_with_one_that_is_removed(session, monkeypatch)
    roads.start(BreadthFirstSearch(source="a"), "coming")
    roads.insert(["b"], ["c"])
    answer = session.loop("coming").query().result(60)
    assert dict(answer.values) == {"a": 0.0, "b": 1.0, "c": 2.0}
    assert roads.offsets() == {"insert": 2}


def test_a_stream_ends_where_its_last_loop_is_removed_and_the_one_that_is_being_started_fails(
    session, monkeypatch
):
    roads = begun_with_one_that_is_removed(
        session, monkeypatch, failure=ZeroDivisionError("broken on purpose")
    )
    with pytest.raises(RuntimeError, match="broken on purpose"):
        roads.start(BreadthFirstSearch(source="a"), "coming")
    session.start(BreadthFirstSearch(source=1), "roads").insert([1], [2])
    assert dict(session.loop("roads").query().result(60).values) == {1: 0.0, 2: 1.0}


def test_of_two_first_loops_that_are_started_at_once_the_second_one_joins_the_stream(session, monkeypatch):
    start, is_beginning, goes_on = session.master.start, threading.Event(), threading.Event()

    def held(*args, **options):
        is_beginning.set()
        assert goes_on.wait(60)
        return start(*args, **options)

    monkeypatch.setattr(session.master, "start", held)
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(session.stream("roads").start, ShortestPaths(source=1), "a")
        assert is_beginning.wait(60)
        second = pool.submit(session.stream("roads").start, BreadthFirstSearch(source=1), "b")
        wait([second], timeout=0.5)  # so long it has to be refused
        goes_on.set()
        first.result().insert([1], [2], [5.0])
        assert dict(second.result().query().result(60).values) == {1: 0.0, 2: 1.0}
    assert sorted(session.stream("roads").loops) == ["a", "b"]


def test_a_query_on_a_loop_that_is_removed_comes_to_an_end(session):
    session.start(ShortestPaths(source=1), "roads").insert([1], [2], [1.0])
    hops = session.start(BreadthFirstSearch(source=1), "hops", stream="roads")
    waiting = hops.query(min_offsets={"insert": 1_000})
    ended = threading.Event()

    def result():
        try:
            waiting.result()
        except (ResultUnavailable, UnknownLoop, InvalidArgument):
            ended.set()

    thread = threading.Thread(target=result, daemon=True)
    thread.start()
    session.remove("hops")
    session.loop("roads").insert([2] * 1_000, [3] * 1_000)
    assert ended.wait(60)
    with pytest.raises(UnknownLoop):
        session.loop("hops")


def test_who_waits_for_an_answer_of_all_vertices_hears_that_its_loop_was_removed(session):
    session.start(ShortestPaths(source=1), "roads").insert([1], [2], [1.0])
    hops = session.start(BreadthFirstSearch(source=1), "hops", stream="roads")
    whole, small = hops.query(), hops.query([2])
    for query in (whole, small):
        eventually(lambda query=query: query.state.is_final)
    session.remove("hops")
    with pytest.raises(ResultUnavailable, match="no longer kept: loop 'hops' was removed"):
        whole.result(60)
    assert small.result(60).values == {2: 1.0}


def test_a_stream_ends_with_its_last_loop_and_what_was_acknowledged_is_there_when_it_begins_again(tmp_path):
    with tornado.open(f"lmdb://{tmp_path}/store", workers=1) as session:
        roads = session.start(ShortestPaths(source=1), "roads", checkpoint_every_s=60)
        roads.insert([1], [2], [1.0])
        roads.checkpoint()
        roads.insert([2], [3], [1.0])
        hops = session.start(BreadthFirstSearch(source=1), "hops", stream="roads")
        session.remove("roads")
        hops.insert([3], [4], [4.0])
        session.remove("hops")
        with pytest.raises(UnknownStream):
            session.start(BreadthFirstSearch(source=1), "hops", stream="roads")
        again = session.start(ShortestPaths(source=1), "roads")
        assert dict(again.query([4]).result().values) == {4: 6.0}
        again.insert([4], [5], [1.0])
        with pytest.raises(NameTaken):
            session.start(ShortestPaths(source=1), "roads", stream="roads")


def test_a_restart_has_the_stream_with_what_any_of_its_loops_took_in(tmp_path):
    for run in range(3):
        with tornado.open(f"lmdb://{tmp_path}/store", workers=2) as session:
            roads = session.start(ShortestPaths(source=0), "roads", checkpoint_every_s=60)
            hops = session.start(BreadthFirstSearch(source=0), "hops", stream="roads")
            hops.insert([run], [run + 1], [2.0])
            for loop, length in ((roads, 2.0), (hops, 1.0)):
                assert dict(loop.query([run + 1]).result().values) == {run + 1: length * (run + 1)}
            if run == 0:
                version = hops.checkpoint()
            # The snapshot has the graph; what another program finds on it is computed.
            for loop, length in ((roads, 2.0), (hops, 1.0)):
                assert dict(loop.query([1], at=version).result().values) == {1: length}


@pytest.mark.parametrize("workers", [1, 2])
def test_a_stored_snapshot_of_a_program_whose_vertices_all_begin_dirty_is_asked_with_other_parameters(
    workers,
):
    # Many at once, and nothing that goes from worker to worker all the way along.
    count, length = 20_000, 100
    sources = np.array([vertex for vertex in range(count) if (vertex + 1) % length])
    with tornado.open("memory:", workers=workers) as session:
        lowest = session.start(Lowest(), "lowest")
        lowest.insert(sources, sources + 1)
        version = lowest.checkpoint()
        ends = range(length - 1, count, length)
        asked = lowest.query(ends, at=version, parameters={"shift": 5}, deadline_s=60)
        assert dict(asked.result(60).values) == {end: end - length + 6.0 for end in ends}


def test_a_query_that_waits_for_room_when_its_loop_is_removed_fails_alone():
    count = 300_000
    with tornado.open("memory:", workers=1, limits=ServiceLimits(branches=2)) as session:
        roads = session.start(ShortestPaths(source=1), "roads")
        session.start(ShortestPaths(source=1), "beside", stream="roads")
        other = session.start(ShortestPaths(source=1), "other")
        roads.insert(range(count), range(1, count + 1))
        assert roads.wait_idle(60)
        running = [roads.query([count], parameters={"source": source}) for source in (2, 3)]
        doomed = session.loop("beside").query([5], parameters={"source": 4})
        behind = roads.query([5], parameters={"source": 5})
        session.remove("beside")
        with pytest.raises(TornadoError):
            doomed.result(60)
        for source, query in zip((2, 3), running, strict=True):
            assert dict(query.result(60).values) == {count: float(count - source)}
        assert dict(behind.result(60).values) == {5: 0.0}
        other.insert([1], [2])
        assert dict(other.query([2]).result(60).values) == {2: 1.0}


def test_names_of_streams_and_loops_never_meet_and_a_refused_start_changes_nothing():
    with tornado.open("memory:", workers=1) as session:
        first = session.start(ShortestPaths(source="x"), "first", ids="string")
        first.insert(["x", "y"], ["y", "z"])
        session.start(BreadthFirstSearch(source="x"), "hops", stream="first")
        session.start(BreadthFirstSearch(source="p"), "second", ids="string").insert(["p"], ["q"])
        session.remove("first")
        with pytest.raises(NameTaken):
            session.start(ShortestPaths(source="x"), "first", ids="string")
        with pytest.raises(NameTaken):
            session.start(ShortestPaths(source="p"), "first", stream="second")
        assert dict(session.loop("hops").query().result(60).values) == {"x": 0.0, "y": 1.0, "z": 2.0}
        again = session.start(ShortestPaths(source="y"), "first", stream="first")
        assert dict(again.query(["z"]).result(60).values) == {"z": 1.0}


def test_an_answer_keeps_the_ids_of_its_stream_when_its_loop_is_removed():
    with tornado.open("memory:", workers=1) as session:
        session.start(ShortestPaths(source="x"), "towns", ids="string").insert(["x"], ["y"])
        session.start(BreadthFirstSearch(source="x"), "hops", stream="towns")
        with httpx.Client(base_url=session.serve().url, timeout=120) as client:
            body = {"loop": "hops", "vertices": ["x", "y"]}
            query = client.post("/v1/queries", json=body, params={"wait_s": 60}).json()
            session.remove("hops")
            answer = client.get(f"/v1/queries/{query['id']}/result", params={"vertices": "y"})
            assert (answer.status_code, answer.json()["values"]) == (200, [{"vertex": "y", "value": 1.0}])
        with pytest.raises(UnknownLoop):
            session.service.stream_of("hops")


def test_what_is_pushed_through_a_loop_that_was_removed_has_the_names_of_its_stream():
    with tornado.open("memory:", workers=1) as session:
        first = session.start(ShortestPaths(source="x"), "first", ids="string")
        hops = session.start(BreadthFirstSearch(source="x"), "hops", stream="first")
        session.remove("first")
        first.insert(["x"], ["y"])
        assert dict(hops.query().result(60).values) == {"x": 0.0, "y": 1.0}


def test_a_stream_has_a_name_of_its_own_and_is_fed_and_begun_again_under_it(tmp_path):
    url = f"lmdb://{tmp_path}/store"
    with tornado.open(url, workers=2) as session:
        roads = session.stream("roads", checkpoint_every_s=60)
        with pytest.raises(UnknownStream, match="no loop reads stream 'roads' yet"):
            roads.insert([1], [2])
        paths = roads.start(ShortestPaths(source=1))
        hops = roads.start(BreadthFirstSearch(source=1), "hops")
        assert sorted(roads.loops) == ["hops", "shortest_paths"]
        roads.insert([1, 2], [2, 3], [5.0, 5.0])
        roads.replace([2], [3], [4.0])
        roads.remove([9], [9])
        roads.add_vertices([7])
        nowhere = float("inf")
        assert paths.query().values == {1: 0.0, 2: 5.0, 3: 9.0, 7: nowhere, 9: nowhere}
        assert hops.query([3]).values == {3: 2.0}
        assert roads.offsets() == {"insert": 5}
        with pytest.raises(NameTaken, match="loops read a stream named 'roads'"):
            session.start(ShortestPaths(source=1), "roads")
        with pytest.raises(NameTaken, match="a loop named 'hops' runs already"):
            session.stream("hops").start(ShortestPaths(source=1), "other")
        roads.checkpoint()
        roads.insert([3], [4])  # in the log only
    with tornado.open(url, workers=1) as session:
        roads = session.stream("roads")
        paths = roads.start(ShortestPaths(source=1))
        assert paths.query([4]).values == {4: 10.0}
        assert roads.offsets() == {"insert": 6}
        assert session.stream("roads").loops.keys() == {"shortest_paths"}
