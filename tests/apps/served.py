"""An app on a small file of links as a user starts it: to its end, or as a service to talk to."""

import json
import subprocess
import sys
from contextlib import contextmanager

import httpx

from tests.end_to_end.running import CHECKOUT, environment_in

LINKS = "src,dst,weight\n1,2,1\n2,3,2\n2,1,1\n3,1,5\n4,1,-3\n5,1,1\n"
OF_LINKS = {(1, 2): [1.0], (2, 3): [2.0], (2, 1): [1.0], (3, 1): [5.0], (5, 1): [1.0]}
"""What is in it, but for the edge whose weight no accumulative program takes."""


def links_in(folder):
    """Write the file; return its path."""
    path = folder / "links.csv"
    path.write_text(LINKS)
    return path


def run_in(folder, *words):
    """Run a command to its end."""
    return subprocess.run(
        [sys.executable, "-m", "tornado", *map(str, words)],
        capture_output=True,
        text=True,
        timeout=300,
        cwd=CHECKOUT,
        env=environment_in(folder),
        check=False,
    )


@contextmanager
def served(folder, app):
    """Have an app serve the file meanwhile; give a client of it, and its address."""
    words = ("run", app, "--edges", links_in(folder), "--store", "memory:", "--http", "127.0.0.1:0", "--json")
    process = subprocess.Popen(
        [sys.executable, "-m", "tornado", *map(str, words)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        cwd=CHECKOUT,
        env=environment_in(folder),
    )
    try:
        url = next(event["url"] for line in process.stderr if (event := json.loads(line))["event"] == "ready")
        with httpx.Client(base_url=url, timeout=120, trust_env=False) as client:
            yield client, url
    finally:
        process.terminate()
        process.communicate(timeout=60)
