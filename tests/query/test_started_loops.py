"""Loops that were started on a stream by the name of an app are there again with it, and those that were removed are not."""

from concurrent.futures import ThreadPoolExecutor, wait

import httpx
import pytest

import tornado
from apps.bfs import BreadthFirstSearch
from apps.sssp import ShortestPaths
from apps.widest_path import WidestPath
from tests.kept_store import KeptStore
from tests.query.conftest import eventually
from tornado.errors import InvalidArgument, StoreCorrupt, StoreFull, UnknownLoop
from tornado.intake.push import Pusher
from tornado.loops import Master
from tornado.loops.admission_log import AdmissionLog
from tornado.loops.new_loop import NewLoop
from tornado.query import session as session_module
from tornado.query.session import Session
from tornado.query.started_loops import StartedLoop, StartedLoops

PATHS, HOPS = ShortestPaths(source=1), BreadthFirstSearch(source=1)


def opened(store, workers=1):
    """What is left of a session that ended in any way is the store."""
    return Session(Master(store, workers), pusher=Pusher(store=store))


def values(loop, **question):
    return dict(loop.query(**question).result(60).values)


def is_at_rest(handle):
    restored, statistics = handle.loop.restored, handle.statistics()
    return restored is not None and restored.is_converged and statistics.updates == statistics.pending == 0


def test_a_loop_that_was_started_over_http_is_there_again_until_it_is_removed_over_http():
    store = KeptStore()
    body = {"program": "bfs", "stream": "roads", "name": "hops", "parameters": {"source": 1}}
    with opened(store) as session:
        session.start(PATHS, "roads").insert([1, 2], [2, 3], [5.0, 5.0])
        with httpx.Client(base_url=session.serve().url, timeout=120) as client:
            assert client.post("/v1/loops", json=body | {"delay_bound": None}).status_code == 201
        # No snapshot has it: it begins anew on what is in the log.
    with opened(store) as session:
        roads = session.start(PATHS, "roads")
        assert sorted(session.loops) == ["hops", "roads"]
        hops = session.loop("hops")
        assert (hops.loop.delay_bound, hops.loop.stream_name, hops.program) == (None, "roads", HOPS)
        assert values(hops) == {1: 0.0, 2: 1.0, 3: 2.0}
        with httpx.Client(base_url=session.serve().url, timeout=120) as client:
            assert client.post("/v1/loops", json=body).status_code == 409
        version = roads.checkpoint()
    with opened(store, 2) as session:
        roads = session.start(PATHS, "roads")
        hops = session.loop("hops")
        assert is_at_rest(roads)
        assert is_at_rest(hops)
        assert values(hops, at=version) == {1: 0.0, 2: 1.0, 3: 2.0}
        with httpx.Client(base_url=session.serve().url, timeout=120) as client:
            assert values(hops)[3] == 2.0
            counted = 'tornado_query_latency_seconds_count{loop="hops"'
            eventually(lambda: counted in client.get("/metrics").text)  # the answer goes out first
            assert client.delete("/v1/loops/hops").status_code == 204
            assert client.delete("/v1/loops/hops").status_code == 404
            assert 'loop="hops"' not in client.get("/metrics").text
        # The newest snapshot has it still.
    with opened(store) as session:
        roads = session.start(PATHS, "roads")
        assert sorted(session.loops) == ["roads"]
        assert is_at_rest(roads)
        assert values(roads) == {1: 0.0, 2: 5.0, 3: 10.0}


def test_from_python_a_loop_is_there_again_where_its_app_was_named_and_only_then():
    store = KeptStore()
    with opened(store) as session:
        roads = session.start(PATHS, "roads")
        session.start(HOPS, "hops", stream="roads")
        session.start(WidestPath(source=1), "widest", 64, stream="roads", app="widest_path")
        session.start(ShortestPaths(source=2), "far", 1, stream="roads", app="sssp")
        roads.insert([1, 2], [2, 3], [5.0, 6.0])
        roads.checkpoint()
        entries = {point.loop: point.app for point in roads.loop.stream.stored.newest().fixed_points}
        assert entries == {"roads": None, "hops": None, "widest": "widest_path", "far": "sssp"}
    with opened(store) as session:
        session.start(PATHS, "roads")
        assert sorted(session.loops) == ["far", "roads", "widest"]
        assert all(map(is_at_rest, session.loops.values()))
        assert session.loop("far").loop.delay_bound == 1
        assert values(session.loop("far")) == {1: float("inf"), 2: 0.0, 3: 6.0}
        hops = session.start(HOPS, "hops", stream="roads")
        assert values(hops) == {1: 0.0, 2: 1.0, 3: 2.0}
        session.remove("widest")
        # Another loop may have the name, and comes in its place.
        session.start(HOPS, "widest", stream="roads", app="bfs")
        session.remove("roads")
    with opened(store) as session:
        session.start(PATHS, "roads")
        assert session.loop("widest").program == HOPS
        assert sorted(session.loops) == ["far", "roads", "widest"]


@pytest.mark.parametrize("has_snapshot", [False, True])
def test_a_loop_that_was_started_after_an_edge_that_it_cannot_take_had_gone_is_there_again(has_snapshot):
    store = KeptStore()
    with opened(store) as session:
        roads = session.start(HOPS, "roads")
        roads.insert([1, 2], [2, 3], [5.0, 6.0])
        if has_snapshot:
            roads.checkpoint()
        roads.insert([3], [4], [-1.0])
        roads.remove([3], [4])
        session.start(PATHS, "paths", stream="roads", app="sssp")
        session.start(ShortestPaths(source=2), "far", stream="roads", app="sssp")
        roads.insert([1], [4], [2.0])
        assert len(roads.snapshots()) == 1 + has_snapshot
    with opened(store) as session:
        roads = session.start(HOPS, "roads")
        assert sorted(session.loops) == ["far", "paths", "roads"]
        assert values(session.loop("paths")) == {1: 0.0, 2: 5.0, 3: 11.0, 4: 2.0}


def test_a_program_that_cannot_take_what_was_pushed_before_a_restart_is_told_what_to_do():
    store = KeptStore()
    with opened(store) as session:
        session.start(HOPS, "roads").insert([1, 2], [2, 3], [5.0, -1.0])
    with opened(store) as session, pytest.raises(InvalidArgument, match="before it was restarted") as refused:
        session.start(PATHS, "roads")
    assert "2 -> 3, weight -1.0" in refused.value.message
    assert "without that program" in refused.value.hint


def test_a_loop_that_begins_while_something_is_logged_waits_for_it_and_refuses_what_is_in(monkeypatch):
    store, starting = KeptStore(), []
    append = AdmissionLog.append
    with opened(store) as session, ThreadPoolExecutor(1) as pool:
        roads = session.start(HOPS, "roads")
        roads.insert([1], [2], [5.0])

        def began_meanwhile(log, entries):
            # What is logged was looked at by the loops there were; another would refuse it.
            starting.append(pool.submit(session.start, PATHS, "paths", stream="roads", app="sssp"))
            wait(starting, timeout=0.3)
            append(log, entries)

        with monkeypatch.context() as patched:
            patched.setattr(AdmissionLog, "append", began_meanwhile)
            roads.insert([2], [3], [-1.0])
        with pytest.raises(InvalidArgument, match="negative"):
            starting[0].result(60)
        assert values(roads) == {1: 0.0, 2: 1.0, 3: 2.0}
    with opened(store) as session:
        assert values(session.start(HOPS, "roads")) == {1: 0.0, 2: 1.0, 3: 2.0}
        assert sorted(session.loops) == ["roads"]


def test_what_a_loop_refuses_that_began_since_it_was_checked_never_comes_into_the_log(monkeypatch):
    store, appended = KeptStore(), []
    with opened(store) as session:
        roads = session.start(HOPS, "roads")
        intake = session.service.served(roads.loop).intake
        noting = intake.reports.noting

        def began_meanwhile(source):  # it has been checked, and nobody else can know of it yet
            if "paths" not in session.master.loops:
                session.start(PATHS, "paths", stream="roads", app="sssp")
            return noting(source)

        monkeypatch.setattr(intake.reports, "noting", began_meanwhile)
        monkeypatch.setattr(AdmissionLog, "append", lambda *_, **__: appended.append(True))
        with pytest.raises(InvalidArgument, match="negative"):
            roads.insert([2], [3], [-1.0])
        assert appended == []


def test_a_loop_that_is_removed_before_it_is_remembered_is_not_there_again(monkeypatch):
    store = KeptStore()
    with opened(store) as session:
        session.start(PATHS, "roads")
        start = Master.start

        def removed_at_once(master, *arguments, **options):
            loop = start(master, *arguments, **options)
            session.remove(loop.name)
            return loop

        with monkeypatch.context() as patched:
            patched.setattr(Master, "start", removed_at_once)
            session.start(HOPS, "hops", stream="roads", app="bfs")
        assert StartedLoops(store).of("roads") == []


def test_parameters_that_are_vertices_are_kept_by_their_names():
    store = KeptStore()
    with opened(store) as session:
        towns = session.start(ShortestPaths(source="Rome"), "towns", ids="string")
        towns.insert(["Rome", "Pisa"], ["Pisa", "Nice"], [1.0, 2.0])
        session.start(BreadthFirstSearch(source="Pisa"), "hops", stream="towns", app="bfs")
        towns.checkpoint()
    with opened(store) as session:
        towns = session.start(ShortestPaths(source="Rome"), "towns", ids="string")
        assert all(map(is_at_rest, session.loops.values()))
        assert values(session.loop("hops"), vertices=["Nice"]) == {"Nice": 1.0}
        assert values(towns, vertices=["Nice"]) == {"Nice": 3.0}


def test_a_name_that_the_program_gives_to_another_loop_is_that_loops():
    store = KeptStore()
    with opened(store) as session:
        session.start(PATHS, "roads").insert([1], [2], [5.0])
        session.start(HOPS, "hops", stream="roads", app="bfs")
    with opened(store) as session:
        session.start(PATHS, "roads", beside=[NewLoop(ShortestPaths(source=2), "hops")])
        assert session.loop("hops").program == ShortestPaths(source=2)
        assert sorted(session.loops) == ["hops", "roads"]


def test_an_app_that_is_gone_and_parameters_that_it_has_not_any_more_cost_only_their_loop(caplog):
    store = KeptStore()
    with opened(store) as session:
        session.start(PATHS, "roads").insert([1], [2], [5.0])
        session.start(HOPS, "hops", stream="roads", app="bfs")
    started = StartedLoops(store)
    started.add("roads", StartedLoop("gone", "no_such_app", {"source": 1}, 64))
    started.add("roads", StartedLoop("changed", "bfs", {"origin": 1}, 64))
    started.add("roads", StartedLoop("bounded", "bfs", {"source": 1}, 0))
    with opened(store) as session:
        roads = session.start(PATHS, "roads")
        assert sorted(session.loops) == ["hops", "roads"]
        assert values(roads) == {1: 0.0, 2: 5.0}
    warnings = [record.getMessage() for record in caplog.records]
    assert len(warnings) == 3
    for name, why in (("gone", "no app named"), ("changed", "no parameter 'origin'"), ("bounded", "bound 0")):
        assert any(f"loop {name} (" in warning and why in warning for warning in warnings), warnings
    # It may be there again with another version of the program.
    assert [loop.name for loop in started.of("roads")] == ["hops", "gone", "changed", "bounded"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"stream": "roads", "app": "sssp"}, "program of the app 'sssp' is ShortestPaths, and not Breadth"),
        ({"stream": "roads", "app": "nothing"}, "no app named 'nothing'"),
        ({"app": "bfs"}, "app is 'bfs', but a loop on a stream of its own"),
    ],
)
def test_an_app_that_the_program_is_not_is_refused(arguments, said):
    with opened(KeptStore()) as session:
        session.start(PATHS, "roads")
        with pytest.raises(InvalidArgument, match=said):
            session.start(HOPS, "hops", **arguments)
        assert sorted(session.loops) == ["roads"]


class Full(KeptStore):
    """Has no room for the line of loops where it is told so."""

    is_full = False

    def write(self, loop, version, items, **options):
        if self.is_full and loop.endswith("/loops"):
            raise StoreFull("no room")
        super().write(loop, version, items, **options)


def test_what_cannot_be_remembered_is_neither_started_nor_removed():
    store = Full()
    with opened(store) as session:
        session.start(PATHS, "roads").insert([1], [2], [5.0])
        session.start(HOPS, "hops", stream="roads", app="bfs")
        store.is_full = True
        with pytest.raises(StoreFull):
            session.start(HOPS, "more", stream="roads", app="bfs")
        with pytest.raises(StoreFull):
            session.remove("hops")
        assert sorted(session.loops) == ["hops", "roads"]
        assert values(session.loop("hops")) == {1: 0.0, 2: 1.0}
        with pytest.raises(UnknownLoop):
            session.remove("more")
        # One that nobody has to remember goes.
        session.remove("roads")
        store.is_full = False
        session.remove("hops")
    assert StartedLoops(store).of("roads") == []


@pytest.mark.parametrize(
    ("page", "said"),
    [(b'{"format": 2, "loops": []}', "roads/loops has format 2, this program reads 1"), (b"{", "none")],
)
def test_a_line_that_cannot_be_read_is_said_and_nothing_begins(page, said):
    store = KeptStore()
    store.write("roads/loops", 0, {b"loops": page})
    with opened(store) as session:
        with pytest.raises(StoreCorrupt, match=said):
            session.start(PATHS, "roads")
        assert session.loops == {}


def test_a_durable_store_remembers_before_the_answer_is_there(tmp_path, monkeypatch):
    url = f"lmdb://{tmp_path}/store"
    with tornado.open(url, workers=1) as session:
        session.start(PATHS, "roads").insert([1], [2], [5.0])
        seen = []

        def handle(*arguments):
            seen.extend(StartedLoops(session.master.store).of("roads"))
            return whole(*arguments)

        whole = session_module.LoopHandle
        monkeypatch.setattr(session_module, "LoopHandle", handle)
        session.start(HOPS, "hops", stream="roads", app="bfs")
        assert seen == [StartedLoop("hops", "bfs", {"source": 1}, "auto")]
    monkeypatch.undo()
    with tornado.open(url, workers=1) as session:
        session.start(PATHS, "roads")
        assert values(session.loop("hops")) == {1: 0.0, 2: 1.0}
