"""What workers tell the process that forks them, and what later ones have of it."""

import subprocess
import sys
import textwrap
import time

import pytest

from tests.engine.places import PLACES, Placed, master_at, stream

FORKING = textwrap.dedent(
    """
    import os, signal, sys, time
    from tornado.engine import later_workers, tell_later_workers

    told = []

    def load(name, text):
        if name == "wrong":
            raise ValueError(name)
        told.append(("begins", name))
        if name == "slow":
            forked(lambda: tell_later_workers("meanwhile", lambda: ["now"]))
            time.sleep(0.5)
        told.append((name, text))

    def forked(does):
        pid = os.fork()
        if not pid:
            does()
            os._exit(0)
        os.waitpid(pid, 0)

    def wait_for(count):
        for _ in range(2000):
            if len(told) < count:
                time.sleep(0.05)

    tell_later_workers("nobody listens", lambda: sys.exit("asked in vain"))
    later_workers.listen(load, quiet_s=0.5)
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM])  # it stays quiet for longer, however long these take
    forked(lambda: tell_later_workers("wrong", lambda: [""]))
    forked(lambda: tell_later_workers("needs nothing", lambda: None))
    forked(lambda: tell_later_workers("slow", lambda: ["1"]))
    forked(lambda: tell_later_workers("slow", lambda: ["1"]))
    assert not told  # at once
    forked(lambda: tell_later_workers("too long", lambda: ["x" * 5_000]))
    forked(lambda: tell_later_workers("a kernel", lambda: ["its file"]))
    forked(lambda: forked(lambda: tell_later_workers("of another process", lambda: [""])))
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGALRM])
    wait_for(6)
    forked(lambda: tell_later_workers("a kernel", lambda: ["its file"]))
    forked(lambda: tell_later_workers("another", lambda: [""]))
    wait_for(8)
    print(told)
    """
)
LOADED = [
    *[("begins", "slow"), ("slow", "1")],
    *[("begins", "a kernel"), ("a kernel", "its file")],
    *[("begins", "meanwhile"), ("meanwhile", "now")],
    *[("begins", "another"), ("another", "")],
]


def test_what_a_worker_tells_is_loaded_where_it_was_forked_and_what_fails_there_ends_nothing():
    done = subprocess.run(
        [sys.executable, "-c", FORKING], capture_output=True, text=True, timeout=100, check=False
    )
    assert (done.returncode, done.stdout) == (0, f"{LOADED}\n"), done.stderr
    assert "ValueError: wrong" in done.stderr


@pytest.mark.parametrize("place", [place for place in PLACES if place.startswith("spark:local[")])
def test_what_spark_forks_later_has_the_kernels_of_loops_that_run(place):
    def kernels(_):
        time.sleep(1)  # so that one task does not go behind another
        return [name for name in sys.modules if name.startswith("tornado_kernel_")]

    def found(tasks):
        return spark.parallelize(range(tasks), tasks).flatMap(kernels).collect()

    with master_at(place) as master, Placed(master, "loaded", stream()):
        spark = master.engine._launcher._context
        time.sleep(15)  # it is loaded later
        # A Python that was forked for a task takes the next one too, so that only one task more has another forked.
        if not found(1):
            time.sleep(30)
            assert found(2)
