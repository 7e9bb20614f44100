"""PageRank by rounds as LDBC Graphalytics defines it, against twins that know nothing of loops, while edges come and go."""

import csv
import io
import json
from functools import partial
from random import Random

import httpx
import numpy as np
import pytest

import tornado
from apps.bfs import BreadthFirstSearch
from apps.label_propagation import LabelPropagation
from apps.pagerank import PageRank, PageRankRounds
from tests.kinds.conformance import WAIT_S, Prefix, values_of
from tests.kinds.rounds.changes import batch_of, changes
from tests.kinds.rounds.naive import pageranks, pageranks_by_arrays
from tests.loops.streaming import TIMEOUT_S
from tests.shortened import in_soak, shortened
from tornado.engine import SimulationEngine
from tornado.errors import InvalidArgument
from tornado.kinds.rounds import branch_processor, main_processor, processor
from tornado.loops import BranchState, Master
from tornado.records.edge_batch import EdgeBatch
from tornado.records.operations import INSERT, REMOVE
from tornado.storage import MemoryStore
from tornado.testing import EdgeHistory, mixed, random_multigraph, rmat

# Sums of floats, in one order here and in another there.
CLOSE = 1e-13


def check(values, expected):
    found = values_of(values)
    assert found.keys() == expected.keys()
    assert sum(abs(found[vertex] - expected[vertex]) for vertex in expected) <= CLOSE
    if expected:
        assert abs(sum(found.values()) - 1.0) <= CLOSE


def check_certificate(certificate):
    assert (certificate["kind"], certificate["norm"]) == ("bound", "relative")
    assert 0 < certificate["bound"] <= CLOSE


class Fed:
    """A loop that is fed, and what is right after each version."""

    def __init__(self, master, program, name="ranks", **options):
        self.program, self.prefix, self.offset = program, Prefix(), 0
        self.loop = master.start(program, name, **options)
        self.expected = {0: {}}

    def admit(self, batch):
        self.offset += len(batch)
        version = self.loop.admit(batch, "records", self.offset)
        self.prefix.apply(batch)
        self.expected[version] = self.ranks()

    def ranks(self, damping=None):
        program, prefix = self.program, self.prefix
        damping = program.damping if damping is None else damping
        return pageranks(prefix.edges, prefix.vertices, program.rounds, damping)

    def check_branch(self, branch):
        assert branch.wait(WAIT_S)
        assert branch.state is BranchState.CONVERGED, branch.error
        check_certificate(branch.certificate)
        check(branch.values(), self.expected[branch.snapshot.version])
        branch.release()

    def check_main(self):
        assert self.loop.wait_idle(WAIT_S)
        check(self.loop.approximation(), self.expected[max(self.expected)])


def test_both_twins_say_the_same():
    for seed in range(5):
        edges = random_multigraph(30, 60, seed=seed)
        ids = np.unique(np.concatenate([edges.src, edges.dst]))
        weights = {}
        for ends in zip(edges.src.tolist(), edges.dst.tolist(), strict=True):
            weights.setdefault(ends, []).append(1.0)
        plain = pageranks(weights, ids.tolist(), 7)
        arrays = pageranks_by_arrays(edges.src, edges.dst, ids, 7)
        assert np.allclose([plain[vertex] for vertex in ids.tolist()], arrays, rtol=0, atol=CLOSE)


@pytest.mark.parametrize("workers", [1, 2, 4])
@pytest.mark.parametrize("rounds", [1, in_soak(2), 10])
def test_ranks_are_those_of_the_twin_in_branches_and_at_rest(workers, rounds):
    with Master(workers=workers) as master:
        fed, forked = Fed(master, PageRankRounds(rounds=rounds)), []
        forked.append(fed.loop.fork())
        for batch in changes(workers, batches=20):
            fed.admit(batch)
            forked.append(fed.loop.fork())
        # Vertices without edges share with everybody.
        fed.admit(EdgeBatch.mentions(np.array([500, 501, 502])))
        forked.append(fed.loop.fork())
        for branch in forked:
            fed.check_branch(branch)
        fed.check_main()


@pytest.mark.parametrize("seed", shortened(range(16), 8))
def test_so_they_are_under_any_schedule_with_little_fuel(seed, monkeypatch):
    random = Random(seed)
    for module in (processor, main_processor, branch_processor):
        monkeypatch.setattr(module, "FUEL", random.choice([2, 9, 60, 1 << 15]))
    workers = random.choice([2, 3, 4])
    with Master(None, workers, SimulationEngine(workers, seed=seed)) as master:
        fed, forked = Fed(master, PageRankRounds(rounds=random.randint(1, 4))), []
        for batch in changes(seed, batches=8, size=6, ids=range(8)):
            fed.admit(batch)
            master.engine.step(random.randrange(60))
            if random.random() < 0.7:
                forked.append(fed.loop.fork())
            master.engine.step(random.randrange(60))
        for branch in forked:
            fed.check_branch(branch)
        fed.check_main()


@pytest.mark.parametrize(
    ("workers", "engine"), [in_soak((1, "threads")), (3, "threads"), in_soak((2, "processes"))]
)
def test_a_larger_graph_is_right_while_its_edges_come_and_go(workers, engine):
    records = mixed(rmat(10, seed=2), seed=3)
    history = EdgeHistory.of(records)
    with Master(None, workers, engine) as master:
        loop, branches = master.start(PageRankRounds(rounds=8), "ranks"), []
        for first in range(0, len(records), 6000):
            batch = records.slice(first, min(first + 6000, len(records)))
            loop.admit(batch, "stream", first + len(batch))
            branches.append(loop.fork())
        for branch in branches:
            assert branch.wait(TIMEOUT_S)
            prefix = branch.snapshot.offsets["stream"]
            edges, (ids, found) = history.at(prefix), branch.values().arrays()
            assert np.array_equal(
                ids, np.unique(np.concatenate([records.src[:prefix], records.dst[:prefix]]))
            )
            assert np.abs(found - pageranks_by_arrays(edges.src, edges.dst, ids, 8)).sum() <= CLOSE
            branch.release()


def test_a_damping_is_a_parameter_of_a_question_and_rounds_are_not():
    with Master(workers=2) as master:
        fed = Fed(master, PageRankRounds(rounds=5))
        for batch in changes(3):
            fed.admit(batch)
        for damping in (0.0, 0.5, 0.99):
            branch = fed.loop.fork({"damping": damping})
            assert branch.wait(WAIT_S)
            check(branch.values(), fed.ranks(damping))
            branch.release()
        with pytest.raises(InvalidArgument, match="'rounds' of PageRankRounds is fixed"):
            fed.loop.fork({"rounds": 5})
        for damping in (1.0, -0.1, float("nan")):
            with pytest.raises(
                InvalidArgument, match=r"damping is .* but must be at least 0 and less than 1"
            ):
                fed.loop.fork({"damping": damping})
            with pytest.raises(
                InvalidArgument, match=r"damping is .* but must be at least 0 and less than 1"
            ):
                master.start(PageRankRounds(damping=damping), "refused")
        for bound in (64, None):
            with pytest.raises(InvalidArgument, match="1 only"):
                master.start(PageRankRounds(), "refused", bound)


@pytest.mark.parametrize("workers", [1, 3])
def test_a_loop_goes_on_from_what_is_stored_and_beside_others(workers):
    store, batches = MemoryStore(), changes(9, batches=20)
    with Master(store, 2) as master:
        fed = Fed(master, PageRankRounds(rounds=6))
        for batch in batches[:8]:
            fed.admit(batch)
        beside = master.start(LabelPropagation(rounds=2), "labels", stream="ranks")
        for batch in batches[8:12]:
            fed.admit(batch)
        stored = fed.loop.checkpoint()
        assert beside.wait_idle(WAIT_S)
    with Master(store, workers) as master:
        fed.loop = master.start(PageRankRounds(rounds=6), "ranks")
        assert fed.loop.restored.is_converged
        assert (fed.loop.statistics().pending, fed.loop.statistics().updates) == (0, 0)
        fed.check_main()
        branch = fed.loop.fork(at=stored)
        check(branch.values(), fed.expected[stored])
        for batch in batches[12:]:
            fed.admit(batch)
        fed.check_branch(fed.loop.fork())
        fed.check_main()


def test_one_that_is_started_on_a_stream_that_runs_counts_the_edges_that_are_there():
    with Master(workers=3) as master:
        first = master.start(LabelPropagation(rounds=1), "labels")
        prefix, offset = Prefix(), 0
        stream = changes(11, batches=12, size=20)
        for number, batch in enumerate(stream):
            offset += len(batch)
            first.admit(batch, "records", offset)
            prefix.apply(batch)
            if number == 5:
                ranks = master.start(PageRankRounds(rounds=4), "ranks", stream="labels")
        branch = ranks.fork()
        assert branch.wait(WAIT_S)
        check(branch.values(), pageranks(prefix.edges, prefix.vertices, 4))


def test_a_session_says_the_highest_and_on_an_undirected_stream_each_edge_goes_both_ways():
    with tornado.open("memory:", workers=2) as session:
        ranks = session.start(PageRankRounds(rounds=3), name="ranks", undirected=True)
        ranks.insert([1, 1, 1, 2], [2, 3, 4, 3])
        edges = {}
        for source, target in ((1, 2), (1, 3), (1, 4), (2, 3)):
            edges |= {(source, target): [1.0], (target, source): [1.0]}
        expected = pageranks(edges, {1, 2, 3, 4}, 3)
        answer = ranks.query(top=1)
        [(vertex, value)] = answer.values.items()
        assert vertex == 1
        assert value == pytest.approx(expected[1], rel=1e-13)


def test_where_every_edge_goes_everybody_keeps_what_they_have():
    with Master(workers=2) as master:
        fed = Fed(master, PageRankRounds(rounds=4))
        fed.admit(batch_of([(1, 2, 1.0, INSERT), (2, 3, 1.0, INSERT), (2, 2, 1.0, INSERT)]))
        fed.check_main()
        fed.admit(batch_of([(1, 2, 1.0, REMOVE), (2, 3, 1.0, REMOVE), (2, 2, 1.0, REMOVE)]))
        fed.check_main()
        assert values_of(fed.loop.approximation()) == {1: 1 / 3, 2: 1 / 3, 3: 1 / 3}


# PageRank by rounds is PageRank, with rounds


def test_with_rounds_pagerank_is_the_program_of_rounds_and_without_them_it_is_not():
    assert PageRank(rounds=10) == PageRankRounds(rounds=10, damping=0.85)
    assert PageRank(0.5, rounds=3) == PageRank(damping=0.5, rounds=3) == PageRankRounds(3, 0.5)
    for plain in (PageRank(), PageRank(rounds=None), PageRank(0.5, (3,), tolerance=1e-3)):
        assert type(plain) is PageRank
        assert plain.rounds is None
        assert plain.with_parameters({"damping": 0.7}).damping == 0.7


@pytest.mark.parametrize(
    ("arguments", "given", "stranger"),
    [
        ((), {"tolerance": 1e-6}, "tolerance"),
        ((), {"accuracy": 1e-3}, "accuracy"),
        ((), {"personalisation": ()}, "personalisation"),
        ((0.85, (1, 2)), {}, "personalisation"),
    ],
)
def test_what_rounds_have_no_use_for_is_refused_also_where_it_is_the_default(arguments, given, stranger):
    with pytest.raises(InvalidArgument, match=f"rounds is 10, and .* has no {stranger}"):
        PageRank(*arguments, rounds=10, **given)


@pytest.mark.parametrize("rounds", [0, 1001, -3, True, 2.5, "ten"])
def test_impossible_rounds_are_refused_before_a_loop_starts(rounds):
    with tornado.open("memory:", workers=1) as session, pytest.raises(InvalidArgument, match="rounds"):
        session.start(PageRank(rounds=rounds))


def rows_of(body):
    return {row["vertex"]: row["value"] for row in body["result"]["values"]}


def test_over_http_rounds_are_a_parameter_of_pagerank_that_a_question_cannot_change():
    edges = {(1, 2): [1.0], (2, 3): [1.0], (3, 1): [1.0], (5, 1): [1.0], (1, 3): [1.0]}
    with tornado.open("memory:", workers=2) as session:
        hops = session.start(BreadthFirstSearch(source=1), name="hops")
        hops.insert(
            *map(list, zip(*edges, strict=True)), [9.0, 1.0, 1.0, 0.0, 1.0]
        )  # weights count for nothing
        base = f"{session.serve().url}/v1"
        wanted = {"program": "pagerank", "stream": "hops", "parameters": {"rounds": 4}}
        with httpx.Client(trust_env=False, timeout=90) as client:
            for parameters, said in (
                ({"tolerance": 1e-3}, "has no tolerance"),
                ({"personalisation": [1]}, "has no personalisation"),
                ({"rounds": 0}, "must be a whole number from 1 to 1000"),
                ({"rounds": 2.5}, "must be a whole number"),
                ({"damping": 1.0}, "damping is 1.0"),
            ):
                body = wanted | {"name": "no", "parameters": wanted["parameters"] | parameters}
                refused = client.post(f"{base}/loops", json=body)
                assert (refused.status_code, said in refused.json()["detail"]) == (422, True), refused.text
            for bound in (64, 2, None):
                refused = client.post(f"{base}/loops", json=wanted | {"name": "no", "delay_bound": bound})
                assert (refused.status_code, "1 only" in refused.json()["detail"]) == (422, True)
            started = client.post(f"{base}/loops", json=wanted)
            assert started.status_code == 201, started.text
            assert (started.json()["name"], started.json()["delay_bound"]) == ("pagerank", 1)
            plain = client.post(
                f"{base}/loops", json=wanted | {"name": "plain", "parameters": {"rounds": None}}
            )
            assert (plain.status_code, plain.json()["delay_bound"]) == (201, 64)
            for damping in (0.85, 0.5):
                question = {"loop": "pagerank", "parameters": {"damping": damping}, "check": True}
                body = client.post(f"{base}/queries?wait_s=60", json=question).json()
                check_certificate(body["certificate"])
                assert body["certificate"]["checked"] is True
                expected = pageranks(edges, {1, 2, 3, 5}, 4, damping)
                assert rows_of(body) == pytest.approx(expected, rel=CLOSE)
            for loop, parameters, said in (
                ("pagerank", {"rounds": 4}, "'rounds' of PageRankRounds is fixed"),
                ("pagerank", {"rounds": 5}, "'rounds' of PageRankRounds is fixed"),
                ("pagerank", {"tolerance": 1e-3}, "no parameter 'tolerance'"),
                ("plain", {"rounds": 4}, "'rounds' of PageRank is fixed"),
            ):
                refused = client.post(f"{base}/queries", json={"loop": loop, "parameters": parameters})
                assert (refused.status_code, said in refused.json()["detail"]) == (422, True), refused.text


@pytest.mark.parametrize(
    "program", [PageRank(rounds=5), PageRank(rounds=5, damping=0.6), PageRank(damping=0.6)]
)
def test_a_loop_of_either_that_was_started_by_the_name_of_the_app_is_there_again(tmp_path, program):
    url = f"lmdb://{tmp_path}/store"
    with tornado.open(url, workers=2) as session:
        hops = session.start(BreadthFirstSearch(source=1), name="hops")
        session.start(program, "ranks", stream="hops", app="pagerank")
        hops.insert([1, 2, 3], [2, 3, 1])
        with pytest.raises(InvalidArgument, match="the program of the app 'bfs' is BreadthFirstSearch"):
            session.start(program, "other", stream="hops", app="bfs")
        with pytest.raises(InvalidArgument, match="the program of the app 'pagerank' is PageRank, and not"):
            session.start(LabelPropagation(rounds=2), "other", stream="hops", app="pagerank")
    with tornado.open(url, workers=1) as session:
        session.start(BreadthFirstSearch(source=1), name="hops")
        again = session.loop("ranks")
        assert again.loop.program == program
        assert again.query().values == pytest.approx(dict.fromkeys([1, 2, 3], 1 / 3), rel=1e-5)


@pytest.fixture
def run_on(command, tmp_path):
    return partial(run_of, command, tmp_path)


def run_of(command, folder, *options):
    (folder / "edges.csv").write_text("src,dst,weight\n1,2,1\n2,3,2\n2,1,1\n3,1,5\n5,1,1\n")
    words = ("--edges", folder / "edges.csv", "--store", "memory:", "--workers", 2, "--output", "-", *options)
    return command("run", "pagerank", *words)


@pytest.mark.parametrize("options", [[], ["--damping", 0.5], ["--delay-bound", 1]])
def test_the_command_line_writes_ranks_after_rounds(run_on, options):
    code, out, err = run_on("--rounds", 3, "--json", "--check", *options)
    assert code == 0, err
    found = {int(row["vertex"]): float(row["value"]) for row in csv.DictReader(io.StringIO(out))}
    edges = {(1, 2): [1.0], (2, 3): [2.0], (2, 1): [1.0], (3, 1): [5.0], (5, 1): [1.0]}
    damping = 0.5 if "--damping" in options else 0.85
    assert found == pytest.approx(pageranks(edges, {1, 2, 3, 5}, 3, damping), rel=CLOSE)
    result = next(event for event in map(json.loads, err.splitlines()) if event["event"] == "result")
    check_certificate(result["certificate"])
    assert result["certificate"]["checked"] is True
    assert result["snapshot"]["delay_bound"] == 1


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--delay-bound", 64], "1 only"),
        (["--delay-bound", "unbounded"], "1 only"),
        (["--rounds", 0], "must be a whole number from 1 to 1000"),
        (["--rounds", "many"], "many"),
        (["--tolerance", "1e-6"], "has no tolerance"),
        (["--accuracy", "1e-3"], "has no accuracy"),
        (["--personalisation", "1,2"], "has no personalisation"),
        (["--damping", "1"], "damping is 1.0"),
        (["--adopt"], "adopts nothing"),
    ],
)
def test_the_command_line_refuses_what_rounds_cannot_have(run_on, options, said):
    code, out, err = run_on("--rounds", 10, *options)
    assert (code, out) == (2, "")
    assert said in err
