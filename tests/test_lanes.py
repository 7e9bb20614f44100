"""The lanes of `lanes.py` are of tests that there are, what wants one server is in one, and what comes last has the machine for itself."""

import random
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.lanes import ALONE, LANES, Lanes, lane_of, place_of
from tests.spark.stand import CLUSTER
from tests.spark.test_faults import test_nothing_is_lost_or_twice_when as faults

ROOT = Path(__file__).resolve().parents[1]
FAULTS = "tests/spark/test_faults.py::test_nothing_is_lost_or_twice_when"


def test_every_lane_begins_with_tests_that_are_there():
    assert [start for start in LANES if not (ROOT / start.partition("::")[0]).exists()] == []


@pytest.mark.parametrize(
    ("test", "lane", "place"),
    [
        ("tests/spark/test_kafka.py::test_a[x::y]", "a Spark", 3),
        ("tests/spark/test_sink.py::test_a", "a Spark", 5),
        ("tests/kafka/test_wire.py::test_a", "a broker", 13),
        ("tests/end_to_end/test_recovery.py::test_a[1]", "tests/end_to_end/test_recovery.py", 25),
        ("tests/storage/test_open.py::test_a", "tests/storage/test_open.py", len(LANES)),
        ("tornado/columns.py::tornado.columns", "tornado/columns.py", len(LANES)),
        ("tests/engine/test_on_spark.py::test_the_same_on_spark[local[4]-x]", "a Spark", 11),
        ("tests/engine/test_on_spark.py::test_the_same_on_spark[local-cluster[2]-x]", ALONE, len(LANES) + 1),
    ],
)
def test_a_test_has_the_lane_of_its_module_or_server(test, lane, place):
    assert (lane_of(test), place_of(test)) == (lane, place)


def test_all_that_wants_the_spark_of_a_process_is_in_one_lane():
    users = {
        lane_of(path.relative_to(ROOT).as_posix())
        for path in (ROOT / "tests" / "spark").glob("test_*.py")
        if "(spark," in path.read_text(encoding="utf-8").replace("\n    spark,", "(spark,")
    }
    assert users == {"a Spark"}


def test_faults_of_a_cluster_are_alone_and_those_without_one_are_not():
    [marked] = [mark for mark in faults.pytestmark if mark.name == "parametrize"]
    alone = {given.id for given in marked.args[1] if lane_of(f"{FAULTS}[{given.id}]") == ALONE}
    assert alone == {given.id for given in marked.args[1] if given.values[-1] == CLUSTER}
    assert len(alone) == 3


class Process:
    """One of the processes that share the tests: it keeps its last test until more come, or it is told that none will."""

    def __init__(self, number):
        self.gateway = SimpleNamespace(id=number)
        self.shutting_down = False
        self.waiting = []

    def send_runtest_some(self, indices):
        assert not self.shutting_down
        self.waiting += indices

    def shutdown(self):
        self.shutting_down = True

    @property
    def can_run(self):
        return len(self.waiting) > (not self.shutting_down)


def shared_out(tests, processes, chance, deaths=0):
    """Run tests in an order of chance; return each with the lanes of those that ran or waited in other processes.

    Processes die in some tests; others begin in their place.
    """
    tests = sorted(tests, key=place_of)
    config = SimpleNamespace(option=SimpleNamespace(), getvalue=lambda _: [f"{processes}*popen"])
    lanes = Lanes(config)
    nodes = [Process(number) for number in range(processes)]
    for node in nodes:
        lanes.add_node(node)
    for node in nodes:
        lanes.add_node_collection(node, tests)
    lanes.schedule()
    ran = []
    while lanes.has_pending:
        if lanes.tests_finished:
            for node in lanes.nodes:
                node.shutdown()
        node = chance.choice([node for node in lanes.nodes if node.can_run])
        if deaths and chance.random() < 0.3:
            deaths -= 1
            ran.append((lanes.remove_node(node), set()))
            nodes[nodes.index(node)] = another = Process(len(ran) + processes)
            lanes.add_node(another)
            lanes.add_node_collection(another, tests)
            lanes.schedule()
            continue
        elsewhere = {lane_of(tests[index]) for other in nodes if other is not node for index in other.waiting}
        ran.append((tests[node.waiting[0]], elsewhere))
        lanes.mark_test_complete(node, node.waiting.pop(0))
    return ran


@pytest.mark.parametrize("processes", [1, 2, 3])
@pytest.mark.parametrize("alone", [0, 1, 2, 5])
@pytest.mark.parametrize("lanes", [0, 1, 2, 7])
def test_the_last_lane_runs_when_nobody_has_anything_else(processes, alone, lanes):
    for seed in range(20):
        chance = random.Random(seed)
        tests = [f"{FAULTS}[an_executor_{number}]" for number in range(alone)]
        tests += [
            f"tests/query/test_{lane}.py::test_{number}"
            for lane in range(lanes)
            for number in range(chance.choice([1, 2, 6]))
        ]
        if not tests:
            continue
        ran = shared_out(tests, processes, chance)
        assert sorted(test for test, _ in ran) == sorted(tests), f"seed {seed}"
        assert all(not elsewhere for test, elsewhere in ran if lane_of(test) == ALONE), f"seed {seed}"


@pytest.mark.parametrize("processes", [1, 2, 3])
@pytest.mark.parametrize("alone", [0, 2])
def test_a_test_that_a_process_died_of_is_not_tried_again(processes, alone):
    for seed in range(50):
        chance = random.Random(seed)
        tests = [f"{FAULTS}[an_executor_{number}]" for number in range(alone)]
        tests += [f"tests/query/test_{lane}.py::test_{number}" for lane in range(4) for number in range(3)]
        ran = shared_out(tests, processes, chance, deaths=3)
        assert sorted(test for test, _ in ran) == sorted(tests), f"seed {seed}"
