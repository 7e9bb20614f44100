"""Machine code of several processes, loaded by one: every module keeps its own functions."""

import subprocess
import sys
from pathlib import Path

import numba.core.bytecode
import pytest

from tornado import symbol_names

ROOT = Path(__file__).resolve().parents[1]
SORTED = "numbers.sort()"
ORDERED = "numbers = np.argsort(numbers)"
RIGHT = "[ 0 10 20 30 40 50 60 70]\n[7 6 5 4 3 2 1 0]\n"
PROGRAM = """
import itertools
import sys
import numpy as np
from numba.core.bytecode import FunctionIdentity
from tornado.kernel_modules import load_module, module_text

if sys.argv[1] == "counted":
    FunctionIdentity._unique_ids = itertools.count(1)
for which in sys.argv[2:]:
    function = f"@nb.njit(cache=True, nogil=True)\\ndef entry(numbers):\\n    {which}\\n    return numbers"
    print(load_module(module_text(which, [], {}, functions=function)).entry(np.arange(8)[::-1] * 10))
"""


def found_by_three_processes(folder, names):
    """What a sort and an order of 70, 60 … 0 are, each compiled by a process of its own, where a third one loads both."""

    def run(*functions):
        command = [sys.executable, "-c", PROGRAM, names, *functions]
        environment = {"PATH": "", "XDG_CACHE_HOME": str(folder), "PYTHONPATH": ":".join(sys.path)}
        return subprocess.run(
            command, env=environment, capture_output=True, text=True, check=True, timeout=300
        ).stdout

    run(SORTED)
    run(ORDERED)
    return run(SORTED, ORDERED)


def test_modules_that_two_processes_compiled_stay_apart_in_a_third(tmp_path):
    assert found_by_three_processes(tmp_path, "by chance") == RIGHT


def test_numba_by_itself_mixes_them_up(tmp_path):
    """Else `tornado/symbol_names.py` has become needless."""
    assert found_by_three_processes(tmp_path, "counted") != RIGHT


def test_no_number_comes_twice():
    numbers = [next(numba.core.bytecode.FunctionIdentity._unique_ids) for _ in range(1000)]
    assert len(set(numbers)) == len(numbers)
    assert max(numbers) > 2**56


@pytest.mark.parametrize("room", ["tornado", "apps", "benchmarks"])
def test_whatever_is_compiled_has_unique_names(room):
    own = ROOT / symbol_names.__name__.replace(".", "/")
    for module in (ROOT / room).rglob("*.py"):
        if module.with_suffix("") != own:
            text = module.read_text()
            assert "from numba import njit" not in text, module
            assert "numba.njit(cache=True" not in text, module
