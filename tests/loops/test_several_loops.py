"""Several loops on one stream and one graph: each exact at the prefix that it names, whatever becomes of the others."""

import threading
import time

import numpy as np
import pytest

from apps.bfs import BreadthFirstSearch
from apps.sssp import ShortestPaths
from tests.promised import eventually
from tornado import EdgeBatch
from tornado.errors import (
    ConnectionLost,
    InvalidArgument,
    NameTaken,
    TornadoError,
    UnknownLoop,
    UnknownStream,
)
from tornado.graph import EvolvingGraph
from tornado.kinds.selective import main_processor, processor
from tornado.loops import BranchState, Master, graph_of_now
from tornado.loops.main_loop import MainLoop
from tornado.testing import EdgeHistory, EdgeList, exact_distances, mixed, random_multigraph

TIMEOUT_S = 120
PATHS, ELSEWHERE, HOPS = ShortestPaths(source=1), ShortestPaths(source=7), BreadthFirstSearch(source=1)


def recorded(seed=3, vertices=300, edges=6000):
    records = mixed(random_multigraph(vertices, edges, seed=seed), seed=seed)
    return records, EdgeHistory.of(records)


def exact(program, edges):
    if isinstance(program, BreadthFirstSearch):
        edges = EdgeList(edges.src, edges.dst, np.ones(len(edges)), edges.vertices)
    return exact_distances(edges, program.source)


def judge(loop, history, at_least=0):
    """Fork of a loop, and compare what it finds with the oracle at the prefix that it names; how long that is."""
    branch = loop.fork()
    assert branch.wait(TIMEOUT_S)
    assert branch.state is BranchState.CONVERGED, branch.error
    prefix = branch.snapshot.offsets.get("edges", 0)
    assert prefix >= at_least
    edges = history.at(prefix)
    ids, values = branch.values().arrays()
    assert np.array_equal(values, exact(loop.program, edges).lookup(ids)), (loop.name, prefix)
    assert set(edges.ids()) <= set(ids)
    branch.release()
    return prefix


@pytest.fixture(scope="module", autouse=True)
def compiled():
    """Both programs, so that a loop is there at once where a stream runs."""
    with Master() as master:
        master.start(PATHS, "paths")
        master.start(HOPS, "hops")


class Feeder(threading.Thread):
    """Admits records a few at a time until all are in."""

    def __init__(self, stream, records, first=0, batch=40, allowed=1 << 30):
        super().__init__(daemon=True)
        self.stream, self.records, self.admitted, self.batch = stream, records, first, batch
        self.allowed = threading.Semaphore(allowed)  # batches
        self.error = None

    def run(self):
        try:
            while self.admitted < len(self.records):
                batch = self.records.slice(self.admitted, min(self.admitted + self.batch, len(self.records)))
                self.stream.admit(batch, "edges", self.admitted + len(batch))
                self.admitted += len(batch)
                self.allowed.acquire()
        except TornadoError as error:
            self.error = error


everywhere = pytest.mark.parametrize(
    ("engine", "workers"), [("threads", 1), ("threads", 2), ("threads", 4), ("processes", 2)]
)


@everywhere
def test_loops_that_begin_at_any_time_are_exact_while_edges_come_and_go(engine, workers):
    records, history = recorded()
    with Master(workers=workers, engine=engine) as master:
        loops = [master.start(PATHS, "paths", 64)]
        feeder = Feeder(loops[0].stream, records, allowed=len(records) // 160)
        feeder.start()
        while feeder.admitted < len(records) // 4:
            time.sleep(0.001)
        loops.append(master.start(HOPS, "hops", 1, stream="paths"))
        loops.append(master.start(ELSEWHERE, "elsewhere", None, stream="paths"))
        prefixes = set()
        while feeder.is_alive():
            for loop in loops:
                before = feeder.admitted
                feeder.allowed.release(20)
                eventually(lambda before=before: feeder.admitted > before or not feeder.is_alive())
                prefixes.add(judge(loop, history))
        assert feeder.error is None
        assert len(prefixes) > len(loops)  # all of them were there while edges came
        for loop in loops:
            assert judge(loop, history, at_least=len(records)) == len(records)
            assert loop.wait_idle(TIMEOUT_S)
            approximated = loop.approximation()
            ids = history.at(len(records)).ids()
            assert np.array_equal(
                approximated.lookup(ids)[0], exact(loop.program, history.at(len(records))).lookup(ids)
            )
        assert len({loop.statistics().version for loop in loops}) == 1
        assert len({loop.statistics().edges for loop in loops}) == 1


@pytest.mark.parametrize("workers", [1, 2])
def test_no_loop_is_in_the_middle_of_a_list_when_the_graph_changes(workers, monkeypatch):
    hubs = random_multigraph(100, 5_000, seed=2)
    records = mixed(hubs, seed=2)
    history = EdgeHistory.of(records)
    for module in (processor, main_processor):
        monkeypatch.setattr(module, "FUEL", 64)
    applied, finished = EvolvingGraph.apply, main_processor.MainProcessor.finish_cursor
    cut_short = set()

    def apply(graph, *arguments, **options):
        readers = [part for host in master._hosts for part in host._loops.values() if part.graph is graph]
        assert not any(each.is_scanning() for part in readers for each in (part, *part.branches))
        return applied(graph, *arguments, **options)

    def finish_cursor(part):
        cut_short.add(id(part))
        finished(part)

    monkeypatch.setattr(EvolvingGraph, "apply", apply)
    monkeypatch.setattr(main_processor.MainProcessor, "finish_cursor", finish_cursor)
    with Master(workers=workers) as master:
        loops = [master.start(PATHS, "paths", 4)]
        loops += [master.start(ELSEWHERE, "elsewhere", 4, "paths"), master.start(HOPS, "hops", 1, "paths")]
        feeder = Feeder(loops[0].stream, records, batch=7)
        feeder.start()
        while feeder.is_alive():
            for loop in loops:
                judge(loop, history)
        assert feeder.error is None
        for loop in loops:
            judge(loop, history, at_least=len(records))
        # Longer and longer lists, until scans of more than one part were cut short.
        offset, until_s = len(records), time.monotonic() + TIMEOUT_S
        while len(cut_short) < 2:
            assert time.monotonic() < until_s
            offset += len(hubs)
            loops[0].admit(hubs.records(), "edges", offset)
        assert all(loop.wait_idle(TIMEOUT_S) for loop in loops)


@pytest.mark.parametrize("workers", [1, 2])
def test_a_loop_with_another_source_begins_where_others_are_idle(workers):
    records, history = recorded(seed=5)
    with Master(workers=workers) as master:
        first = master.start(PATHS, "paths")
        first.admit(records, "edges", len(records))
        assert first.wait_idle(TIMEOUT_S)
        second = master.start(ELSEWHERE, "elsewhere", stream="paths")
        assert second.wait_idle(TIMEOUT_S)
        judge(second, history, at_least=len(records))
        # Other parameters still mean a branch from the beginning.
        branch = second.fork({"source": 1})
        assert branch.wait(TIMEOUT_S)
        ids, values = branch.values().arrays()
        assert np.array_equal(values, exact(PATHS, history.at(len(records))).lookup(ids))


@everywhere
def test_a_loop_is_removed_while_its_branches_run_and_the_others_go_on(engine, workers):
    records, history = recorded(seed=8)
    half = len(records) // 2
    with Master(workers=workers, engine=engine) as master:
        paths = master.start(PATHS, "paths")
        hops = master.start(HOPS, "hops", stream="paths")
        feeder = Feeder(paths.stream, records.slice(0, half))
        feeder.run()
        branches = [paths.fork() for _ in range(4)]
        master.remove("paths")
        for branch in branches:
            assert branch.wait(TIMEOUT_S)
            assert branch.state in {BranchState.CONVERGED, BranchState.CANCELLED}
        assert sorted(master.loops) == ["hops"]
        with pytest.raises(InvalidArgument, match="'paths' was removed"):
            paths.fork()
        rest = Feeder(hops.stream, records, first=half)
        rest.start()
        while rest.is_alive():
            judge(hops, history)
        assert rest.error is None
        judge(hops, history, at_least=len(records))
        # The name is free again, and so is what the loop had.
        again = master.start(ELSEWHERE, "paths", stream=hops.stream.name)
        judge(again, history, at_least=len(records))


def test_memory_of_a_removed_loop_is_free_again():
    records, _ = recorded(vertices=20_000, edges=60_000)
    with Master() as master:
        paths = master.start(PATHS, "paths")
        paths.admit(records, "edges", len(records))
        assert paths.wait_idle(TIMEOUT_S)
        [host] = master._hosts
        alone = len(host._streams[paths.stream.number]._readers)
        for _ in range(3):
            hops = master.start(HOPS, "hops", stream="paths")
            assert hops.wait_idle(TIMEOUT_S)
            part = host.loop(hops.number)
            master.remove("hops")
            assert master.engine.wait_for(lambda part=part: not hasattr(part, "state"), TIMEOUT_S)
        assert len(host._streams[paths.stream.number]._readers) == alone
        master.remove("paths")
        assert master.engine.wait_for(lambda: not host._streams, TIMEOUT_S)


def test_a_loop_that_fails_leaves_the_others_exact(monkeypatch):
    records, history = recorded(seed=9)
    half = len(records) // 2
    with Master(workers=2) as master:
        paths = master.start(PATHS, "paths")
        hops = master.start(HOPS, "hops", stream="paths")
        Feeder(paths.stream, records.slice(0, half)).run()
        part = master._hosts[1].loop(paths.number)

        def broken(*_):
            raise ZeroDivisionError("broken on purpose")

        monkeypatch.setattr(part, "hear", broken)
        rest = Feeder(hops.stream, records, first=half)
        rest.run()
        assert rest.error is None
        judge(hops, history, at_least=len(records))
        with pytest.raises(RuntimeError, match="broken on purpose"):
            paths.fork()
        assert hops.checkpoint() == hops.statistics().version


def test_what_a_program_cannot_take_is_refused_with_the_edge():
    with Master(workers=2) as master:
        hops = master.start(HOPS, "hops")
        hops.admit(EdgeBatch.of([1, 2, 3], [2, 3, 4], [1.0, -2.5, 1.0]), "edges", 3)
        with pytest.raises(
            InvalidArgument, match=r"ShortestPaths cannot be started on stream 'hops'.*2 -> 3, weight -2\.5"
        ):
            master.start(PATHS, "paths", stream="hops")
        assert sorted(master.loops) == ["hops"]
        # Gone again, it may come; and from then on such edges are refused for the stream.
        hops.admit(EdgeBatch.of([2], [3], [-2.5], [-1]), "edges", 4)
        paths = master.start(PATHS, "paths", stream="hops")
        with pytest.raises(InvalidArgument, match="weight -1"):
            hops.admit(EdgeBatch.of([5], [6], [-1.0]), "edges", 5)
        assert hops.offsets() == {"edges": 4}
        assert paths.wait_idle(TIMEOUT_S)
        master.remove("paths")
        hops.admit(EdgeBatch.of([5], [6], [-1.0]), "edges", 5)
        assert hops.offsets() == {"edges": 5}


def test_names_and_streams_that_are_not_there_are_refused():
    with Master() as master:
        master.start(PATHS, "paths")
        with pytest.raises(NameTaken, match="a loop named 'paths' runs already"):
            master.start(HOPS, "paths", stream="paths")
        with pytest.raises(UnknownStream, match="no stream is called 'roads'; streams: paths"):
            master.start(HOPS, "hops", stream="roads")
        with pytest.raises(UnknownLoop, match="no loop is called 'hops'"):
            master.remove("hops")
        master.start(HOPS, "hops", stream="paths")
        master.remove("paths")
        with pytest.raises(NameTaken, match="loops read a stream named 'paths' already"):
            master.start(PATHS, "paths")


def test_all_loops_are_exact_again_when_workers_are_lost():
    from tests.engine.places import end, pids_of

    records, history = recorded(seed=11)
    half = len(records) // 2
    with Master(workers=2, engine="processes") as master:
        loops = [master.start(PATHS, "paths")]
        loops.append(master.start(HOPS, "hops", stream="paths"))
        Feeder(loops[0].stream, records.slice(0, half)).run()
        loops[0].checkpoint()
        feeder = Feeder(loops[0].stream, records, first=half)
        feeder.start()
        loops.append(master.start(ELSEWHERE, "elsewhere", stream="paths"))
        running = [loop.fork() for loop in loops]
        end(pids_of(master)[0])
        for branch in running:
            assert branch.wait(TIMEOUT_S)
        feeder.join(TIMEOUT_S)
        assert feeder.error is None
        for loop in loops:
            judge(loop, history, at_least=len(records))
        assert master.engine.losses == 1


def test_a_loop_that_fails_on_one_worker_is_gone_on_all_and_its_memory_with_it(monkeypatch):
    records, history = recorded(seed=12)
    half = len(records) // 2
    with Master(workers=2) as master:
        paths = master.start(PATHS, "paths")
        hops = master.start(HOPS, "hops", stream="paths")
        Feeder(paths.stream, records.slice(0, half)).run()

        def broken(*_):
            raise ZeroDivisionError("broken on purpose")

        monkeypatch.setattr(master._hosts[0].loop(paths.number), "hear", broken)
        hops.admit(records.slice(half, half + 1), "edges", half + 1)
        # On the worker where nothing of it broke too: there it would wait for ever, and the others with it.
        assert master.engine.wait_for(
            lambda: all(host.loop(paths.number) is None for host in master._hosts), TIMEOUT_S
        )
        with pytest.raises(RuntimeError, match="broken on purpose"):
            paths.wait_idle(TIMEOUT_S)
        Feeder(hops.stream, records, first=half + 1).run()
        judge(hops, history, at_least=len(records))
        master.remove("paths")
        judge(hops, history, at_least=len(records))


def test_a_fork_that_waited_while_its_loop_was_removed_is_refused_and_harms_nobody():
    with Master(workers=2) as master:
        paths = master.start(PATHS, "paths")
        hops = master.start(HOPS, "hops", stream="paths")
        hops.admit(EdgeBatch.of([1], [2]), "edges", 1)
        refused = []

        def fork():
            try:
                paths.fork()
            except InvalidArgument as error:
                refused.append(error)

        remover = threading.Thread(target=lambda: master.remove("paths"), daemon=True)
        forker = threading.Thread(target=fork, daemon=True)
        with paths.stream.order:  # as while loops are being restored
            remover.start()
            assert master.engine.wait_for(lambda: paths.error is not None, TIMEOUT_S)
            forker.start()
            time.sleep(0.1)
        forker.join(TIMEOUT_S)
        remover.join(TIMEOUT_S)
        assert len(refused) == 1
        branch = hops.fork()
        assert branch.wait(TIMEOUT_S)
        assert branch.state is BranchState.CONVERGED


def test_a_loop_begins_where_the_one_that_the_graph_is_looked_at_through_is_removed_meanwhile(monkeypatch):
    looked = graph_of_now.require_possible
    with Master(workers=2) as master:
        hops = master.start(HOPS, "hops")
        far = master.start(BreadthFirstSearch(source=7), "far", stream="hops")
        hops.admit(EdgeBatch.of([1, 2], [2, 3]), "edges", 2)

        def look(keeper, program):
            if keeper is hops:
                master.remove("hops")
            looked(keeper, program)

        monkeypatch.setattr(graph_of_now, "require_possible", look)
        paths = master.start(PATHS, "paths", stream="hops")
        assert paths.wait_idle(TIMEOUT_S)
        with pytest.raises(InvalidArgument, match="negative"):
            far.admit(EdgeBatch.of([3], [4], [-1.0]), "edges", 3)
        master.remove("paths")
        far.admit(EdgeBatch.of([3], [4], [-1.0]), "edges", 3)
        with pytest.raises(InvalidArgument, match=r"has the edge 3 -> 4, weight -1\.0"):
            master.start(PATHS, "paths", stream="hops")


@pytest.mark.parametrize("has_edges", [True, False])
def test_a_loop_that_was_to_begin_beside_the_last_one_as_that_is_removed_hears_of_the_stream_and_not_of_it(
    monkeypatch, has_edges
):
    looked = graph_of_now.require_possible
    with Master(workers=2) as master:
        hops = master.start(HOPS, "hops", new_stream="roads")
        if has_edges:
            hops.admit(EdgeBatch.of([1, 2], [2, 3]), "edges", 2)

        def look(keeper, program):
            master.remove("hops")
            looked(keeper, program)
            keeper.raise_failure()

        monkeypatch.setattr(graph_of_now, "require_possible", look)
        with pytest.raises(UnknownStream, match="no loop reads stream 'roads' any more"):
            master.start(PATHS, "paths", stream="roads")
        assert not master.loops


def test_a_full_journal_is_relieved_also_where_the_first_loop_has_failed():
    with Master(workers=1) as master:
        hops = master.start(HOPS, "hops")
        far = master.start(BreadthFirstSearch(source=7), "far", stream="hops")
        hops.admit(EdgeBatch.of([1, 2], [2, 3]), "edges", 2)
        assert far.wait_idle(TIMEOUT_S)
        hops.fail(ZeroDivisionError("broken on purpose"))
        assert master.engine.wait_for(
            lambda: all(host.loop(hops.number) is None for host in master._hosts), TIMEOUT_S
        )
        assert far.stream.store_snapshot() == (2, 8 + 2 * 12)
        assert far.stream.stored.newest() is not None


def test_a_batch_that_waited_is_checked_by_a_program_that_joined_meanwhile():
    with Master() as master:
        hops = master.start(HOPS, "hops")
        outcome = []

        def admit():
            try:
                hops.admit(EdgeBatch.of([1], [2], [-1.0]), "edges", 1)
            except InvalidArgument as error:
                outcome.append(error)

        admitting = threading.Thread(target=admit, daemon=True)
        with hops.stream.order:
            admitting.start()
            time.sleep(0.1)  # it is past its first check, and waits
            expecting = hops.stream.expecting(PATHS)
            expecting.__enter__()
        admitting.join(TIMEOUT_S)
        expecting.__exit__(None, None, None)
        assert len(outcome) == 1
        assert hops.offsets() == {}


def test_vertices_without_edges_are_waited_for_and_count_in_the_backlog():
    with Master(workers=2) as master:
        hops = master.start(HOPS, "hops")
        for first in range(0, 50_000, 5_000):
            hops.admit(EdgeBatch.mentions(np.arange(first, first + 5_000)), "vertices", first + 5_000)
            assert hops.wait_idle(TIMEOUT_S)
            assert hops.statistics().vertices == first + 5_000
        assert hops.stream.workers.backlog() == 0


def test_nothing_is_admitted_to_a_stream_whose_last_loop_was_removed():
    with Master() as master:
        hops = master.start(HOPS, "hops")
        master.remove("hops")
        with pytest.raises(ConnectionLost, match="its last loop"):
            hops.admit(EdgeBatch.of([1], [2]), "edges", 1)
        assert hops.wait_room(0)
        [host] = master._hosts
        assert master.engine.wait_for(lambda: host.loop(hops.number) is None, TIMEOUT_S)
        with pytest.raises(InvalidArgument, match="was removed"):
            hops.statistics()
        with pytest.raises(UnknownStream):
            master.start(PATHS, "paths", stream="hops")


def test_a_batch_that_is_shared_out_as_the_last_loop_leaves_is_told_that_the_stream_has_ended(monkeypatch):
    with Master() as master:
        hops = master.start(HOPS, "hops")
        stream, looks, look = hops.stream, [], hops.stream.require_open

        def left_meanwhile():
            look()
            looks.append(stream.loops)
            if len(looks) == 2:  # the batch has room, and comes to be shared out
                master.remove("hops")

        monkeypatch.setattr(stream, "require_open", left_meanwhile)
        with pytest.raises(ConnectionLost, match="its last loop"):
            hops.admit(EdgeBatch.of([1], [2]), "edges", 1)
        assert len(looks) == 2


def test_what_made_the_last_loop_fail_is_said_though_it_leaves_at_that_moment(monkeypatch):
    with Master() as master:
        hops = master.start(HOPS, "hops")
        hops.fail(ZeroDivisionError("broken on purpose"))
        error = MainLoop.error.fget

        def left_meanwhile(loop):
            loop.stream.leave(loop)
            return error(loop)

        with monkeypatch.context() as patched:
            patched.setattr(MainLoop, "error", property(left_meanwhile))
            with pytest.raises(RuntimeError, match=r"loop hops failed.*broken on purpose"):
                hops.stream.raise_failure()
