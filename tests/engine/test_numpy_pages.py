"""Processes of ours tell NumPy not to ask for huge pages, unless their environment says that it is to."""

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
