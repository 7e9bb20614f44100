"""The tests of engines with Spark's tasks as workers: in a process of their own for each kind of master, as a JVM has one Spark."""

import os
import re
import subprocess
import sys

import pytest

from tests.end_to_end.running import CHECKOUT
from tests.spark import sessions

WITHIN_S = 500
SOAK_WITHIN_S = 5_000
NAMES = (
    "conformance",
    "asking",
    "later_workers",
    "numpy_pages",
    "faults",
    "drivers",
    "signs_of_life",
    "checkpoints_at_size",
    "real_streams",
    "learners",
    "rescaling",
    "wire",
)
FILES = [f"tests/engine/test_{name}.py" for name in NAMES]
# The engine is the one that processes have; here are those that show how Spark starts and ends workers, on a cluster those
# that show executors too. The soak has all.
LOCAL = (
    "exact_at_the_versions or slots or drivers or ends_or_hangs or closing_leaves or durable"
    " or (real_stream and random-2-1) or learners or strangers_who_talk_to_driver or later_workers"
    " or workers_begin_with_it"
)
CLUSTER = "exact_at_the_versions or executor or workers_begin_with_it"


def command(chosen, *, is_soak):
    """The marks that a soak wants are named: those of pyproject.toml leave out what is marked as one."""
    marks = ["-m", "soak or not soak"] if is_soak else []
    return [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-s",
        "-p",
        "no:cacheprovider",
        "-k",
        chosen,
        *marks,
        *FILES,
    ]


def run(master, chosen, java, *options, is_soak):
    environment = os.environ | sessions.environment(java) | {"TORNADO_TEST_PLACES": f"spark:{master}"}
    # Tests again, which want what other processes are without.
    environment["PYTHONPATH"] = str(CHECKOUT)
    return subprocess.run(
        [*command(chosen, is_soak=is_soak), *options],
        capture_output=True,
        text=True,
        timeout=SOAK_WITHIN_S if is_soak else WITHIN_S,
        cwd=CHECKOUT,
        env=environment,
        check=False,
    )


@pytest.mark.parametrize(
    ("master", "chosen"), [("local[4]", ""), ("local-cluster[2,1,1024]", "not slots and not rescaling")]
)
def test_the_soak_on_spark_has_the_losses_at_any_moment(master, chosen):
    listed = run(master, chosen, "", "--collect-only", is_soak=True)
    assert listed.returncode == 0, listed.stdout + listed.stderr
    for seed in range(6):
        assert f"test_workers_that_are_lost_at_any_moment[spark:{master}-{seed}]" in listed.stdout


@pytest.mark.spark
@pytest.mark.parametrize(
    ("master", "chosen", "is_soak"),
    [
        ("local[4]", LOCAL, False),
        ("local-cluster[2,1,1024]", CLUSTER, False),
        pytest.param("local[4]", "", True, marks=[pytest.mark.soak, pytest.mark.timeout(SOAK_WITHIN_S)]),
        pytest.param(
            "local-cluster[2,1,1024]",
            "not slots and not rescaling",
            True,
            marks=[pytest.mark.soak, pytest.mark.timeout(SOAK_WITHIN_S)],
        ),
    ],
)
def test_the_same_on_spark(master, chosen, is_soak, compiled_paths):
    pytest.importorskip("pyspark")
    from tornado.ingest.java import spark_java_home

    done = run(master, chosen, spark_java_home(), is_soak=is_soak)
    print(
        f"\n{master}:", *re.findall(r".*(?:exact again|after the driver|passed).*", done.stdout), sep="\n  "
    )
    assert done.returncode == 0, done.stdout + done.stderr
