"""networkx's own tests, with every call that this backend takes answered by it; the rest, such as what makes their graphs, by networkx."""

import os
import re
import subprocess
import sys
from pathlib import Path

import networkx as nx
import pytest

ROOT = Path(__file__).resolve().parents[2]
ALGORITHMS = Path(nx.__file__).parent / "algorithms"
SHORT = {
    "centrality/tests/test_katz_centrality.py": {"katz_centrality"},
    "tests/test_core.py": {"core_number"},
}
LONG = {
    "link_analysis/tests/test_pagerank.py": {"pagerank"},
    "components/tests/test_connected.py": {"connected_components", "number_connected_components"},
    "components/tests/test_weakly_connected.py": {"weakly_connected_components"},
    "tests/test_cluster.py": {"clustering"},
    "shortest_paths/tests/test_weighted.py": {"dijkstra_path_length", "single_source_dijkstra_path_length"},
    "shortest_paths/tests/test_unweighted.py": {"single_source_shortest_path_length"},
    "shortest_paths/tests/test_generic.py": {"single_source_shortest_path_length"},
}


def run_tests(files, folder):
    """Run test files of networkx; return what pytest says at its end, and how often each function was answered here."""
    environment = os.environ | {
        "NETWORKX_TEST_BACKEND": "tornado",
        "NETWORKX_FALLBACK_TO_NX": "True",
        "PYTHONPATH": str(ROOT),
    }
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist"]
    command += ["-p", "tests.networkx.counted_calls", "--rootdir", str(ALGORITHMS.parent)]
    command += [str(ALGORITHMS / file) for file in files]
    ran = subprocess.run(
        command, capture_output=True, text=True, timeout=900, check=False, env=environment, cwd=folder
    )
    answered = dict(re.findall(r"(\w+)=(\d+)", re.search(r"^answered:.*$", ran.stdout, re.MULTILINE)[0]))
    return ran, {name: int(count) for name, count in answered.items()}


def check(files, folder):
    ran, answered = run_tests(files, folder)
    assert ran.returncode == 0, ran.stdout[-5000:]
    assert re.search(r"\d+ passed", ran.stdout)
    assert set().union(*files.values()) <= answered.keys()


def test_the_shorter_files_of_tests_pass(tmp_path):
    check(SHORT, tmp_path)


@pytest.mark.soak
def test_all_files_about_these_functions_pass(tmp_path):
    check(SHORT | LONG, tmp_path)
