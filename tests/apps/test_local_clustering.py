"""Local clustering as LDBC Graphalytics defines it, against twins that know nothing of loops, while edges come and go."""

import csv
import io
from random import Random

import httpx
import networkx as nx
import numpy as np
import pytest

import tornado
from apps.bfs import BreadthFirstSearch
from apps.label_propagation import LabelPropagation
from apps.local_clustering import LocalClustering
from tests.apps.test_pagerank_rounds import rows_of
from tests.kinds.conformance import WAIT_S, Prefix, values_of
from tests.kinds.counting.naive import clustering
from tests.kinds.rounds.changes import changes
from tests.loops.streaming import TIMEOUT_S
from tests.shortened import in_soak, shortened
from tornado.certificate import EXACT, NONE
from tornado.checking import AnswerToCheck, ClusteringCheck, Edges
from tornado.command import main
from tornado.engine import SimulationEngine
from tornado.errors import InternalError
from tornado.ingest.assembly import both_directions
from tornado.kinds.counting import branch_processor, neighbourhoods
from tornado.loops import BranchState, Master
from tornado.records.edge_batch import EdgeBatch
from tornado.storage import MemoryStore
from tornado.testing import EdgeHistory, bitcoin_ratings, college_messages, mixed, rmat

FEW = tuple(range(9))  # so that most of them are neighbours


class Fed:
    """A loop that is fed, and what is right after each version."""

    def __init__(self, master, name="clusters", **options):
        self.prefix, self.offset = Prefix(), 0
        self.loop = master.start(LocalClustering(), name, **options)
        self.expected = {0: {}}

    def admit(self, batch):
        self.offset += len(batch)
        version = self.loop.admit(batch, "records", self.offset)
        self.prefix.apply(batch)
        self.expected[version] = clustering(self.prefix.edges, self.prefix.vertices)

    def check(self, branch):
        assert branch.wait(WAIT_S)
        assert (branch.state, branch.certificate) == (BranchState.CONVERGED, EXACT), branch.error
        assert values_of(branch.values()) == self.expected[branch.snapshot.version]
        branch.release()


@pytest.mark.parametrize("workers", [1, 2, 4])
@pytest.mark.parametrize("ids", [FEW, tuple(range(40)), (2**62, -(2**62), -1, 0, 7, 10**12)], ids=len)
def test_branches_are_those_of_the_twin_bit_for_bit_with_removals(workers, ids):
    with Master(workers=workers) as master:
        fed, forked = Fed(master), []
        forked.append(fed.loop.fork())
        for batch in changes(workers, batches=25, size=20, ids=ids):
            fed.admit(batch)
            forked.append(fed.loop.fork())
        fed.admit(EdgeBatch.mentions(np.array([500, 501])))
        forked.append(fed.loop.fork())
        assert any(0 < value < 1 for values in fed.expected.values() for value in values.values())
        for branch in forked:
            fed.check(branch)


@pytest.mark.parametrize("seed", shortened(range(16), 8))
def test_so_they_are_under_any_schedule_with_small_pages_and_little_fuel(seed, monkeypatch):
    random = Random(seed)
    monkeypatch.setattr(neighbourhoods, "FUEL", random.choice([1, 3, 20, 1 << 16]))
    monkeypatch.setattr(neighbourhoods, "PAGE", random.choice([1, 2, 7, 1 << 14]))
    monkeypatch.setattr(branch_processor, "_PIECES", random.choice([1, 2, 8]))
    workers = random.choice([1, 2, 3, 4])
    with Master(None, workers, SimulationEngine(workers, seed=seed)) as master:
        fed, forked = Fed(master), []
        for batch in changes(seed, batches=10, size=8, ids=FEW):
            fed.admit(batch)
            master.engine.step(random.randrange(60))
            if random.random() < 0.7:
                forked.append(fed.loop.fork())
            master.engine.step(random.randrange(60))
        for branch in forked:
            fed.check(branch)


@pytest.mark.parametrize("seed", range(6))
def test_one_that_is_stopped_has_no_values_and_hurts_nobody(seed, monkeypatch):
    random = Random(seed)
    monkeypatch.setattr(neighbourhoods, "FUEL", 2)
    monkeypatch.setattr(neighbourhoods, "PAGE", 2)
    with Master(None, 3, SimulationEngine(3, seed=seed)) as master:
        fed = Fed(master)
        for batch in changes(seed, batches=6, size=12, ids=FEW):
            fed.admit(batch)
        stopped, goes_on, cancelled = (fed.loop.fork() for _ in range(3))
        master.engine.step(random.randrange(400))
        stopped.stop()
        cancelled.cancel()
        assert stopped.wait(WAIT_S)
        if stopped.state is BranchState.STOPPED:
            assert stopped.certificate == NONE
        if cancelled.state is BranchState.CANCELLED:  # they may have been quicker
            with pytest.raises(InternalError):
                cancelled.values()
        fed.check(goes_on)
        for phases in (1, 2, 3):
            capped = fed.loop.fork(max_iterations=phases)
            assert capped.wait(WAIT_S)
            assert (capped.state, capped.certificate) == (BranchState.STOPPED, NONE)
            assert set(values_of(capped.values()).values()) == {-np.inf}
        fed.check(fed.loop.fork(max_iterations=4))


def by_networkx(edges, ids):
    """On the undirected graph, where both definitions agree."""
    graph = nx.Graph()
    graph.add_nodes_from(ids.tolist())
    graph.add_edges_from(zip(edges.src.tolist(), edges.dst.tolist(), strict=True))
    graph.remove_edges_from(list(nx.selfloop_edges(graph)))
    return nx.clustering(graph)


@pytest.mark.parametrize(
    ("workers", "engine"), [in_soak((1, "threads")), (3, "threads"), in_soak((2, "processes"))]
)
def test_a_larger_undirected_graph_is_what_networkx_says_while_edges_come_and_go(workers, engine):
    records = mixed(rmat(9, seed=4), seed=5)
    with tornado.open("memory:", workers=workers, engine=engine) as session:
        loop = session.start(LocalClustering(), "clusters", undirected=True)
        answers = []
        for first in range(0, len(records), 3000):
            batch = records.slice(first, min(first + 3000, len(records)))
            intake = session.service.served(loop.loop).intake
            intake.insert("insert", batch)
            answers.append(loop.query(check=True))
        for answer in answers:
            prefix = answer.snapshot.offsets["insert"]
            both, _ = both_directions(records.slice(0, prefix), np.arange(prefix))
            ids = np.unique(np.concatenate([records.src[:prefix], records.dst[:prefix]]))
            assert answer.certificate["checked"] is True
            assert answer.values == pytest.approx(
                by_networkx(EdgeHistory.of(both).at(len(both)), ids), rel=1e-15
            )


@pytest.mark.parametrize("workers", [in_soak(1), 3])
@pytest.mark.parametrize("name", ["college", "bitcoin"])
def test_real_graphs_are_exact_at_any_prefix(data_dir, name, workers):
    records = mixed({"college": college_messages, "bitcoin": bitcoin_ratings}[name](data_dir), seed=7)
    history, check = EdgeHistory.of(records), ClusteringCheck()
    with Master(workers=workers) as master:
        loop, forked = master.start(LocalClustering(), "clusters"), []
        for first in range(0, len(records), 12_000):
            batch = records.slice(first, min(first + 12_000, len(records)))
            loop.admit(batch, "stream", first + len(batch))
            forked.append(loop.fork())
        for branch in forked:
            assert branch.wait(TIMEOUT_S)
            ids, found = branch.values().arrays()
            edges = history.at(branch.snapshot.offsets["stream"])
            answer = AnswerToCheck(ids, found, np.ones(len(ids), np.bool_))
            verdict = check.check(answer, [Edges(edges.src, edges.dst, edges.weight)])
            assert verdict.fault is None, verdict.fault.told()
            branch.release()


@pytest.mark.parametrize("workers", [1, 3])
def test_a_loop_goes_on_from_what_is_stored_and_beside_others(workers):
    store, batches = MemoryStore(), changes(9, batches=20, ids=FEW)
    with Master(store, 2) as master:
        fed = Fed(master)
        for batch in batches[:8]:
            fed.admit(batch)
        beside = master.start(LabelPropagation(rounds=2), "labels", stream="clusters")
        for batch in batches[8:12]:
            fed.admit(batch)
        stored = fed.loop.checkpoint()
        assert beside.wait_idle(WAIT_S)
    with Master(store, workers) as master:
        fed.loop = master.start(LocalClustering(), "clusters")
        assert fed.loop.restored.is_converged
        fed.check(fed.loop.fork())
        branch = fed.loop.fork(at=stored)
        assert values_of(branch.values()) == fed.expected[stored]
        for batch in batches[12:]:
            fed.admit(batch)
        fed.check(fed.loop.fork())


def test_one_that_is_started_on_a_stream_that_runs_counts_the_edges_that_are_there():
    with Master(workers=3) as master:
        first = master.start(LabelPropagation(rounds=1), "labels")
        prefix, offset = Prefix(), 0
        for number, batch in enumerate(changes(11, batches=12, size=20, ids=FEW)):
            offset += len(batch)
            first.admit(batch, "records", offset)
            prefix.apply(batch)
            if number == 5:
                clusters = master.start(LocalClustering(), "clusters", stream="labels")
        branch = clusters.fork()
        assert branch.wait(WAIT_S)
        assert values_of(branch.values()) == clustering(prefix.edges, prefix.vertices)


EDGES = [(1, 2), (2, 3), (3, 1), (1, 3), (3, 4), (4, 4), (5, 6), (1, 2), (2, 7), (7, 3)]


def test_over_http_an_approximate_answer_has_no_values_and_an_exact_one_is_checked():
    expected = clustering({ends: [1.0] for ends in EDGES}, {vertex for ends in EDGES for vertex in ends})
    with tornado.open("memory:", workers=2) as session:
        session.start(BreadthFirstSearch(source=1), name="hops").insert(*map(list, zip(*EDGES, strict=True)))
        base = f"{session.serve().url}/v1"
        with httpx.Client(trust_env=False, timeout=90) as client:
            wanted = {"program": "local_clustering", "stream": "hops"}
            started = client.post(f"{base}/loops", json=wanted)
            assert started.status_code == 201, started.text
            question = {"loop": "local_clustering", "check": True}
            body = client.post(f"{base}/queries?wait_s=60", json=question).json()
            assert rows_of(body) == expected
            assert (body["certificate"]["kind"], body["certificate"]["checked"]) == ("exact", True)
            top = client.post(f"{base}/queries?wait_s=60", json=question | {"top": 2}).json()
            assert rows_of(top) == dict(sorted(expected.items(), key=lambda row: (-row[1], row[0]))[:2])
            read = client.post(
                f"{base}/queries", json={"loop": "local_clustering", "mode": "approximate"}
            ).json()
            assert set(rows_of(read).values()) == {None}
            assert read["certificate"]["kind"] == "none"


def test_the_command_line_writes_coefficients_that_are_checked(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TORNADO_LOOPS_DATA_DIR", str(tmp_path / "data"))
    (tmp_path / "edges.csv").write_text("".join(f"{source},{target}\n" for source, target in EDGES))
    run = ["run", "local_clustering", "--edges", "edges.csv", "--workers", "2", "--check", "--json"]
    assert main([*run, "--output", "-"]) == 0  # in the durable store of the default
    rows = csv.DictReader(io.StringIO(capsys.readouterr().out))
    found = {int(row["vertex"]): float(row["value"]) for row in rows}
    assert found == clustering({ends: [1.0] for ends in EDGES}, found)
