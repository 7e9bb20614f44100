"""What every engine does alike, wherever its workers are: here on threads and processes, on Spark by test_on_spark.py."""

import importlib.util
import math
import threading

import httpx
import numpy as np
import psutil
import pytest

import tornado
from apps.bfs import BreadthFirstSearch
from apps.connected_components import ConnectedComponents
from apps.sssp import ShortestPaths
from tests.engine import cramped_worker
from tests.engine.places import SOURCE, Placed, master_at, runs, stream
from tests.loops.test_recovery import judge
from tests.promised import eventually
from tornado.clock import SYSTEM_CLOCK
from tornado.errors import GraphTooLarge, InvalidArgument, NotSupported
from tornado.graph import evolving_graph
from tornado.loops import BranchState, engines
from tornado.storage import MemoryStore
from tornado.testing import EdgeList, exact_components, exact_distances, random_multigraph

SMALL = {"vertices": 60, "edges": 400}
WAIT_S = 60


# Each with a master of its own: a cluster may not have slots for two.


def test_snapshots_are_stored_asked_and_gone_on_from_elsewhere_and_by_other_numbers_of_workers(place):
    records, store = stream(6), MemoryStore()
    versions = {}
    for turn, (where, workers) in enumerate([(place, 2), ("threads", 3), (place, 1), (place, 2)]):
        with master_at(where, store, workers) as master:
            loop = master.start(ShortestPaths(source=SOURCE), "stored", 64)
            begin = loop.offsets().get("edges", 0)
            assert begin == turn * 900
            if turn:
                assert loop.restored.is_converged
                assert (loop.statistics().updates, loop.statistics().pending) == (0, 0)
            judge(loop.approximation(), records, begin)
            for last in range(begin + 300, begin + 901, 300):
                loop.admit(records.slice(last - 300, last), "edges", last)
            versions[loop.checkpoint()] = begin + 900
            for version, prefix in versions.items():
                judge(loop.fork(at=version).values(), records, prefix)
            if turn == 2:
                version = min(versions)
                branch = loop.fork(parameters={"source": 5}, at=version)
                assert branch.wait(WAIT_S)
                judge(branch.values(), records, versions[version], 5)
                branch.release()
    assert [found.version for found in master.loops["stored"].snapshots()] == sorted(versions)


def test_queries_over_http(place):
    engine, _, spark = place.partition(":")
    with tornado.open("memory:", 2, engine=engine, spark_master=spark or None) as session:
        handle = session.start(ShortestPaths(source=SOURCE), "asked")
        handle.insert([1, 2, 4], [2, 3, 5], [1.0, 2.5, 1.0])
        handle.remove([1], [2])
        handle.insert([1], [3], [7.0])
        server = session.serve()
        with httpx.Client(base_url=server.url, timeout=WAIT_S, trust_env=False) as client:
            answer = client.post("/v1/queries", params={"wait_s": WAIT_S}, json={"loop": "asked"}).json()
            assert (answer["state"], answer["certificate"]) == ("converged", {"kind": "exact"})
            rows = {row["vertex"]: row["value"] for row in answer["result"]["values"]}
            assert rows == {1: 0.0, 2: None, 3: 7.0, 4: None, 5: None}
            other = client.post(
                "/v1/queries",
                params={"wait_s": WAIT_S},
                json={"loop": "asked", "parameters": {"source": 2}, "vertices": [3]},
            ).json()
            assert other["result"]["values"] == [{"vertex": 3, "value": 2.5}]
            loop = client.get("/v1/loops/asked").json()
            assert (loop["edges"], loop["program"]) == (3, "ShortestPaths")
            assert "tornado_edges" in client.get("/metrics").text
        assert math.isinf(handle.read([2]).values[2])


@pytest.fixture
def cramped(place, monkeypatch):
    monkeypatch.setattr(evolving_graph, "MOST_ROWS", cramped_worker.MOST_ROWS)
    monkeypatch.setattr(engines, "_WORKER", cramped_worker.__name__)
    with master_at(place) as made:
        yield made


def test_a_loop_that_outgrows_its_workers_fails_alone_and_its_branches_with_it(cramped):
    with Placed(cramped, "small", stream(3, **SMALL)) as small, Placed(cramped, "large", stream()) as large:
        small.admit(50)
        large.admit(10)
        branches = []
        large.check_branch(large.loop.fork())

        def grow():
            for _ in range(1000):
                large.admit(20)
                branches.append(large.loop.fork())
                assert branches[-1].wait(WAIT_S)

        said = r"more than one worker can hold \(300 and .*start with more workers"
        with pytest.raises(GraphTooLarge, match=said):
            grow()
        failed = [branch for branch in branches if branch.state is BranchState.FAILED]
        assert all(isinstance(branch.error, GraphTooLarge) for branch in failed)
        small.check_branch(small.loop.fork())
        small.check_main()


def test_closing_leaves_no_process_and_no_thread(place):
    threads, processes = set(threading.enumerate()), set(psutil.Process().children(recursive=True))
    with master_at(place) as master, Placed(master, "closed", stream()) as streamed:
        streamed.admit(2000)
        branch = streamed.loop.fork()
        begun = {child.pid for child in set(psutil.Process().children(recursive=True)) - processes}
        begun -= spark_daemons(begun)
    assert branch.wait(0)
    master.close()  # a second time does nothing
    eventually(lambda: not any(runs(pid) for pid in begun), 10)

    def left():
        return {thread.name for thread in set(threading.enumerate()) - threads if thread.is_alive()}

    eventually(lambda: not any("tornado" in name for name in left()))
    assert engines_threads(left()) == set()


def spark_daemons(pids):
    """Spark keeps the process that forks its Python workers, and idle ones of these, for the next job."""
    daemons = {"pyspark.daemon", "tornado.engine.spark_daemon"}
    return {pid for pid in pids if psutil.pid_exists(pid) and daemons & set(psutil.Process(pid).cmdline())}


def engines_threads(names):
    """Those that are not ZeroMQ's own, which has one for all contexts of a process, or py4j's."""
    return {name for name in names if not name.startswith(("Thread-", "Dummy-"))}


def test_what_engines_cannot_do_is_refused_in_words(monkeypatch):
    with pytest.raises(
        InvalidArgument, match="engine is 'thread' but must be one of threads, processes, spark"
    ):
        engines.engine_of("thread", 1, clock=SYSTEM_CLOCK)
    with pytest.raises(InvalidArgument, match=r"Spark master is 'local\[2\]', but the engine is processes"):
        engines.engine_of("processes", 1, spark_master="local[2]", clock=SYSTEM_CLOCK)
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(
        NotSupported, match=r"pyspark, which is not installed\. pip install 'tornado-loops\[spark\]'"
    ):
        engines.engine_of("spark", 1, clock=SYSTEM_CLOCK)


def test_more_workers_than_spark_has_slots_are_refused_with_the_numbers(place):
    if not place.startswith("spark"):
        pytest.skip("there are no slots")
    with pytest.raises(InvalidArgument, match=r"has \d+ slots, but 40 workers need 40.*more executors"):
        master_at(place, workers=40)
    engine = engines.engine_of("spark", 1, spark_master=place.partition(":")[2], clock=SYSTEM_CLOCK)
    assert engine._launcher._slots() >= 2
    engine.close()


# On one master.


def test_several_loops_are_exact_at_the_versions_they_name_while_edges_come_and_go(master):
    loops = [
        Placed(master, f"exact-{bound}", records, bound)
        for bound, records in ((1, stream(1)), (64, stream(2)), (None, stream(3, **SMALL)))
    ]
    running = []
    other = int(loops[1].records.src[7])
    elsewhere = Placed.__new__(Placed)
    elsewhere.__dict__ |= loops[1].__dict__ | {"source": other}
    while sum(streamed.admit(len(streamed.records) // 9) for streamed in loops):
        running += [(streamed, streamed.loop.fork()) for streamed in loops]
        running.append((elsewhere, loops[1].loop.fork(parameters={"source": other})))
    prefixes = {(id(streamed), streamed.check_branch(branch)) for streamed, branch in running}
    assert len(prefixes) >= 4 * 9
    for streamed in loops:
        streamed.check_branch(streamed.loop.fork(), independent=True)
        streamed.check_main()


def judge_components(loop, streamed):
    """Fork it, and compare its labels with the oracle at the prefix that they name."""
    branch = loop.fork()
    assert branch.wait(WAIT_S)
    assert branch.state is BranchState.CONVERGED, branch.error
    ids, labels = branch.values().arrays()
    edges = streamed.history.at(branch.snapshot.offsets["stream"])
    assert labels.dtype == np.int64
    assert np.array_equal(labels, exact_components(edges).lookup(ids))
    branch.release()


def test_hops_and_components_join_the_paths_and_all_are_exact_under_removals(master):
    """Values of two types on one stream, along one direction and along both, with a cut of its own for each fork."""
    records = stream(5, vertices=500, edges=2500)
    streamed = Placed(master, "beside", records)
    streamed.admit(len(records) // 4)
    beside = [
        master.start(BreadthFirstSearch(source=SOURCE), "beside-hops", stream="beside"),
        master.start(ConnectedComponents(), "beside-components", stream="beside"),
    ]
    while streamed.admit(len(records) // 8):
        streamed.check_branch(streamed.loop.fork())
        judge_components(beside[1], streamed)
        branch = beside[0].fork()
        assert branch.wait(WAIT_S)
        edges = streamed.history.at(branch.snapshot.offsets["stream"])
        ids, hops = branch.values().arrays()
        unweighted = EdgeList(edges.src, edges.dst, np.ones(len(edges)), edges.vertices)
        assert np.array_equal(hops, exact_distances(unweighted, SOURCE).lookup(ids))
        branch.release()
    for loop in beside:
        master.remove(loop.name)
    streamed.check_main()


def test_values_are_looked_up_ranked_paged_and_taken_whole(master):
    records = stream(4)
    with Placed(master, "values", records) as streamed:
        streamed.admit(3000)
        branch = streamed.loop.fork()
        assert branch.wait(WAIT_S)
        values, seen = branch.values(), streamed.seen(3000)
        expected = exact_distances(streamed.history.at(3000), SOURCE).lookup(seen)
        ids, found = values.arrays()
        assert (ids.tolist(), found.tolist()) == (seen.tolist(), expected.tolist())
        assert values.count() == len(seen)
        asked = np.array([int(seen[3]), 10**12, int(seen[-1])])
        looked_up, known = values.lookup(asked)
        assert known.tolist() == [True, False, True]
        assert looked_up[known].tolist() == expected[[3, -1]].tolist()
        reached = np.isfinite(expected)
        order = np.lexsort((seen[reached], expected[reached]))[:10]
        ids, found = values.top(10)
        assert found.tolist() == expected[reached][order].tolist()
        assert ids.tolist() == seen[reached][order].tolist()
        first, _ = values.page(None, 100)
        second, found = values.page(int(first[-1]), 100)
        assert [*first.tolist(), *second.tolist()] == seen[:200].tolist()
        assert found.tolist() == expected[100:200].tolist()
        branch.release()
        streamed.wait_idle()
        judge(streamed.loop.approximation(), records, 3000)


def test_numbers_add_up(master):
    with Placed(master, "numbers", stream(5)) as streamed:
        streamed.admit(3000)
        streamed.check_branch(streamed.loop.fork())
        streamed.check_main()
        found = streamed.loop.statistics()
        assert (found.workers, found.version, found.admitted) == (2, 1, 3000)
        assert (found.backlog_records, found.sources) == (0, {"stream": 3000})
        eventually(
            lambda: streamed.loop.statistics().branches == 0
        )  # it is over a moment before it is forgotten
        assert found.vertices == len(streamed.seen(3000))
        assert found.updates > 0 and found.memory_bytes > 0
        iterations = streamed.loop.iterations(last=5)
        assert [row.iteration for row in iterations] == sorted({row.iteration for row in iterations})
        assert 0 < sum(row.updates for row in iterations) <= found.updates
        branch = streamed.loop.fork(parameters={"source": int(streamed.records.src[0])})
        assert branch.wait(WAIT_S)
        progress = branch.progress()
        assert progress.updates > 0 and progress.iteration > 0  # it began at 0, as its source is another one
        assert progress == branch.progress()
        branch.release()


def test_branches_are_cancelled_stopped_and_capped(master):
    chain = random_multigraph(20_000, 60_000, seed=9).records()
    with Placed(master, "ended", chain) as streamed:
        streamed.admit(len(chain))
        exact = exact_distances(streamed.history.at(len(chain)), SOURCE)
        source = {"source": int(chain.src[0])}
        cancelled = streamed.loop.fork(parameters=source)
        cancelled.cancel()
        assert cancelled.wait(WAIT_S)
        # It may have come to its end before.
        assert cancelled.state in {BranchState.CANCELLED, BranchState.CONVERGED}
        capped = streamed.loop.fork(parameters=source, max_iterations=1)
        stopped = streamed.loop.fork(parameters=source)
        stopped.wait_cut(WAIT_S)
        stopped.stop()
        exact = exact_distances(streamed.history.at(len(chain)), source["source"])
        for branch in (capped, stopped):
            assert branch.wait(WAIT_S)
            ids, found = branch.values().arrays()
            assert (found >= exact.lookup(ids)).all()
        assert capped.state is BranchState.STOPPED
        assert stopped.state in {BranchState.STOPPED, BranchState.CONVERGED}
        assert capped.progress().iteration <= capped.snapshot.iteration + 1
        streamed.check_branch(streamed.loop.fork())
        for branch in (cancelled, capped, stopped):
            branch.release()
