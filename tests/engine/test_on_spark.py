"""The tests of engines with Spark's tasks as workers: in a process of their own for each kind of master, as a JVM has one Spark."""

import os
import re
import subprocess
import sys

import pytest

from tests.end_to_end.running import CHECKOUT

WITHIN_S = 500
NAMES = ("conformance", "faults", "drivers", "signs_of_life", "checkpoints_at_size")
FILES = [f"tests/engine/test_{name}.py" for name in NAMES]
# The engine is the one that processes have; here are those that show how Spark starts and ends workers, on a cluster those
# that show executors too. The soak has all.
LOCAL = "(conformance and not stored) or drivers or ends_or_hangs or closing or again_and_again or durable or signs or size"
CLUSTER = "exact_at_the_versions or closing_leaves or executor or ends_or_hangs"


def run(master, chosen, java):
    environment = os.environ | {
        "JAVA_HOME": java,
        "PYTHONPATH": str(CHECKOUT),
        "TORNADO_TEST_PLACES": f"spark:{master}",
    }
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-s", "-p", "no:cacheprovider", "-k", chosen, *FILES],
        capture_output=True,
        text=True,
        timeout=WITHIN_S,
        cwd=CHECKOUT,
        env=environment,
        check=False,
    )


@pytest.mark.spark
@pytest.mark.parametrize(
    ("master", "chosen"),
    [
        ("local[4]", LOCAL),
        ("local-cluster[2,1,1024]", CLUSTER),
        pytest.param("local[4]", "", marks=pytest.mark.soak),
        pytest.param("local-cluster[2,1,1024]", "not slots", marks=pytest.mark.soak),
    ],
)
def test_the_same_on_spark(master, chosen, compiled_paths):
    pytest.importorskip("pyspark")
    from tornado.ingest.java import spark_java_home

    done = run(master, chosen, spark_java_home())
    print(
        f"\n{master}:", *re.findall(r".*(?:exact again|after the driver|passed).*", done.stdout), sep="\n  "
    )
    assert done.returncode == 0, done.stdout + done.stderr
