"""Nothing lost and nothing twice, whatever is killed or stopped while a stream comes in, and exact again in seconds.

A gate in the sink (`tests.spark.gates`) holds the process that writes or commits just where something breaks. The stream, the
service and its store stay the same from fault to fault, so each of them also finds what the one before it left.
"""

import time

import pytest

pytestmark = pytest.mark.spark

LOCAL = "local[2,4]"
CLUSTER = "local-cluster[2,1,1024]"


@pytest.fixture(scope="module")
def stand(spark_environment, tmp_path_factory):
    from tests.spark.recorded import mixed_stream
    from tests.spark.stand import Stand

    with Stand(tmp_path_factory.mktemp("stand"), mixed_stream(scale=8), 100) as running:
        yield running


@pytest.mark.parametrize(
    ("what", "place", "master", "aim_s"),
    [
        pytest.param("kill_task", "write", LOCAL, 5, id="a-task-is-killed-before-it-sends"),
        pytest.param("kill_task", "sent", LOCAL, 5, id="a-task-is-killed-after-it-sent"),
        pytest.param("stop_service", "write", LOCAL, 5, id="the-service-is-stopped-while-a-task-sends"),
        pytest.param("stop_service", "commit", LOCAL, 5, id="the-service-is-stopped-at-a-commit"),
        pytest.param("kill_service", "sent", LOCAL, 5, id="the-service-is-killed-before-a-commit"),
        pytest.param("kill_service", "committed", LOCAL, 5, id="the-service-is-killed-after-a-commit"),
        pytest.param("kill_driver", "commit", LOCAL, 10, id="the-driver-is-killed-before-a-commit"),
        pytest.param("kill_driver", "committed", LOCAL, 10, id="the-driver-is-killed-after-a-commit"),
        pytest.param("kill_executor", "write", CLUSTER, 10, id="an-executor-is-killed-before-it-sends"),
        pytest.param("kill_executor", "sent", CLUSTER, 10, id="an-executor-is-killed-after-it-sent"),
    ],
)
def test_nothing_is_lost_or_twice_when(stand, record_property, what, place, master, aim_s):
    from tests.spark import stand as faults

    stand.drive(master)
    waiting = stand.stop_at(place)
    broken_s = time.monotonic()
    getattr(faults, what)(stand, waiting)
    stand.wait_until_exact()
    recovered_s = time.monotonic() - broken_s
    print(f"{what} at {place}: exact again after {recovered_s:.1f} s (aim: {aim_s} s)")
    stand.check_once()
