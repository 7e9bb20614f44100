"""How long until a started service is ready, and does the second start compile anything?

The real command in a process of its own, twice, with caches that are empty before the first start. Ready means that
`/readyz` answers 200; then one exact query is asked. The second start must find everything compiled: no file of the compile
cache may be new or rewritten.
"""  # noqa: D400  # a question

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import psutil

from .harness import CHECKOUT, Clock, Report, Settings, WrongAnswer, timed

_READY_S = 3.0
_EDGES = "1,2,1.0\n2,3,2.5\n1,3,9.0\n3,4,0.25\n"


class App(NamedTuple):
    """What is started, from vertex 1, and the exact answer."""

    name: str
    expected: dict[int, float]


SSSP = App("sssp", {1: 0.0, 2: 1.0, 3: 3.5, 4: 3.75})
BFS = App("bfs", {1: 0.0, 2: 1.0, 3: 1.0, 4: 2.0})


class Start(NamedTuple):
    """Seconds until a service was ready, until it had answered exactly, and of CPU time until then."""

    ready_s: float
    answered_s: float
    cpu_s: float


def measure(report: Report, settings: Settings, clock: Clock) -> None:
    """Fill the report; see the question above. Needs no graph: the scale means nothing here."""
    report.data = {"recipe": "four edges"}
    starts = 1 if settings.smoke else 3
    with tempfile.TemporaryDirectory(prefix="tornado-startup-") as folder:
        home = Path(folder)
        first = start_and_ask(home, clock, SSSP)
        report.add("first start, nothing compiled, until ready", first.ready_s, "s")
        report.add("  until its first exact answer", first.answered_s, "s")
        compiled = compiled_files(home)
        report.add("  files in the compile cache", len(compiled), "")
        again = [start_and_ask(home, clock, SSSP) for _ in range(starts)]
        ready_s = [one.ready_s for one in again]
        answered_s = [one.answered_s for one in again]
        report.add("second start, until ready", min(ready_s), "s", at_most=_READY_S, of=ready_s)
        report.add("  from the second start to an exact answer", min(answered_s), "s", of=answered_s)
        changed = {path for path, stamp in compiled_files(home).items() if compiled.get(path) != stamp}
        report.add("  files it compiled", len(changed), "", at_most=0)
        report.notes.extend(f"compiled again: {path}" for path in sorted(changed)[:10])
    nothing_s = timed(lambda: subprocess.run([sys.executable, "-c", "pass"], check=True), repeats=3)[1]
    report.add("an interpreter that does nothing", min(nothing_s), "s", of=nothing_s)


def start_and_ask(home: Path, clock: Clock, app: App) -> Start:
    """Start the service in a folder of its own, with what earlier starts there have compiled, and ask it once."""
    # Data of the last run would make this a recovery; only what was compiled may stay.
    shutil.rmtree(home / "data", ignore_errors=True)
    (home / "edges.csv").write_text(_EDGES, encoding="utf-8")
    start = time.perf_counter()
    with _service(home, app) as (process, url, log):
        while not _answers(f"{url}/readyz"):
            if process.poll() is not None:
                raise WrongAnswer(f"the service ended with {process.returncode}: {log.read_text()[-2_000:]}")
            clock.left_s()
            time.sleep(0.01)
        ready_s = time.perf_counter() - start
        question = {"loop": app.name, "vertices": sorted(app.expected), "min_offsets": {"edges.csv": 4}}
        request = urllib.request.Request(  # noqa: S310  # our own server
            f"{url}/v1/queries?wait_s=60", json.dumps(question).encode(), {"Content-Type": "application/json"}
        )
        with urllib.request.urlopen(request, timeout=90) as response:  # noqa: S310  # our own server
            answer = json.load(response)
        answered_s = time.perf_counter() - start
        cpu = psutil.Process(process.pid).cpu_times()
    got = {entry["vertex"]: entry["value"] for entry in answer["result"]["values"]}
    if got != app.expected:
        raise WrongAnswer(f"the service says {got}, but exact is {app.expected}")
    return Start(ready_s, answered_s, cpu.user + cpu.system)


@contextmanager
def _service(home: Path, app: App) -> Iterator[tuple[subprocess.Popen[bytes], str, Path]]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    log = home / "service.log"
    # Whatever caches there are, they are in this folder: NUMBA_CACHE_DIR for compiled code, XDG for the rest.
    places = {"NUMBA_CACHE_DIR": "numba", "XDG_CACHE_HOME": "cache", "XDG_DATA_HOME": "data", "HOME": "home"}
    environment = os.environ | {name: str(home / place) for name, place in places.items()}
    # The folder of the edges is the current one, so that their source is called `edges.csv` and nothing longer.
    environment["PYTHONPATH"] = str(CHECKOUT)
    # As where the package is installed: what Python makes of its modules is there from the first start on.
    environment["PYTHONPYCACHEPREFIX"] = str(home / "bytecode")
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    command = ["run", app.name, "--source", "1", "--edges", "edges.csv", "--store", "memory:"]
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "tornado", *command, "--http", f"127.0.0.1:{port}"],
            cwd=home,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    try:
        yield process, f"http://127.0.0.1:{port}", log
    finally:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=5) as response:  # noqa: S310  # our own server
            return bool(response.status == 200)
    except (urllib.error.URLError, ConnectionError, TimeoutError):
        return False


def compiled_files(home: Path) -> dict[str, int]:
    """Return every cache file with the instant of its last change."""
    return {
        str(path.relative_to(home)): path.stat().st_mtime_ns
        for place in ("numba", "cache")
        for path in (home / place).rglob("*")
        if path.is_file()
    }
