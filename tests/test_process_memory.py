"""The service and its workers use memory of arrays again that they have freed, unless their environment says otherwise."""

import ctypes
import os
import subprocess
import sys

import pytest

ARRAYS = """
import resource
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
