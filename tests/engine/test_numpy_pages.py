"""Memory for arrays that are used once: of pages of the usual size, and used again; unless the environment says otherwise."""

import ctypes
import os
import subprocess
import sys

import psutil
import pytest

from tests.engine.places import REMOTE, master_at, pids_of
from tornado.process_memory import numpy_pages

ASKS = "NUMPY_MADVISE_HUGEPAGE"
COMMAND = f"""
import os, sys
from tornado.command import main

class Numpy:
    def find_spec(self, name, path=None, target=None):
        if name == "numpy":
            print("numpy", os.environ.get("{ASKS}"))

assert "numpy" not in sys.modules
sys.meta_path.insert(0, Numpy())
main(["run", "--help"])
import numpy
"""


@pytest.mark.parametrize(("given", "has"), [({}, "0"), ({ASKS: "1"}, "1")])
def test_a_command_has_said_so_before_numpy_is_imported(given, has):
    assert numpy_pages(given) == {ASKS: has}
    environment = {name: value for name, value in os.environ.items() if name != ASKS} | given
    done = subprocess.run(
        [sys.executable, "-c", COMMAND],
        capture_output=True,
        text=True,
        env=environment,
        timeout=100,
        check=True,
    )
    assert [line for line in done.stdout.splitlines() if line.startswith("numpy")] == [f"numpy {has}"]


@pytest.mark.parametrize("place", REMOTE)
def test_workers_begin_with_it(place, monkeypatch):
    monkeypatch.delenv(ASKS, raising=False)
    with master_at(place) as master:
        assert [psutil.Process(pid).environ()[ASKS] for pid in pids_of(master)] == ["0", "0"]


ARRAYS = """
import resource, sys
import numpy as np
{first}

def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(20):
        arrays = [np.ones(1 << 19) for _ in range(4)]
        del arrays
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

faults()
print(faults())
"""
KEPT = {
    "service": "from tornado.command import main; main(['run', '--help'])",
    "worker": "from tornado.loops import remote_worker as r; from unittest.mock import Mock; r.Member = Mock(); r.serve(Mock(workers=1))",
}
PAGES_OF_ARRAYS = 20 * 4 * (4 << 20) // 4096


def faults_of(first: str, **environment: str) -> int:
    own = {name: value for name, value in os.environ.items() if not name.startswith("MALLOC_")} | environment
    code = ARRAYS.format(first=first)
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=own, timeout=100, check=True
    )
    return int(done.stdout.split()[-1])


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "mallopt"), reason="this allocator has no such option")
@pytest.mark.parametrize("process", KEPT)
def test_arrays_are_made_of_memory_that_others_were_made_of(process):
    assert faults_of("") > PAGES_OF_ARRAYS // 4
    assert faults_of(KEPT[process]) < PAGES_OF_ARRAYS // 20
    assert faults_of(KEPT[process], MALLOC_TRIM_THRESHOLD_="1000000") > PAGES_OF_ARRAYS // 4
