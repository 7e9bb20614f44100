"""The lanes of `lanes.py` are of tests that there are, and what wants one server is in one."""

from pathlib import Path

import pytest

from tests.lanes import LANES, lane_of, place_of

ROOT = Path(__file__).resolve().parents[1]


def test_every_lane_begins_with_tests_that_are_there():
    assert [start for start in LANES if not (ROOT / start).exists()] == []


@pytest.mark.parametrize(
    ("test", "lane", "place"),
    [
        ("tests/spark/test_kafka.py::test_a[x::y]", "a Spark", 0),
        ("tests/spark/test_sink.py::test_a", "a Spark", 2),
        ("tests/kafka/test_wire.py::test_a", "a broker", 9),
        ("tests/end_to_end/test_recovery.py::test_a[1]", "tests/end_to_end/test_recovery.py", 10),
        ("tests/storage/test_open.py::test_a", "tests/storage/test_open.py", len(LANES)),
        ("tornado/columns.py::tornado.columns", "tornado/columns.py", len(LANES)),
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
