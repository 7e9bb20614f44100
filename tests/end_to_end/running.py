"""The command line as a user starts it: to its end, or as a service to talk to."""

import contextlib
import io
import json
import os
import queue
import resource
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import httpx
import pytest

from tests.look import look
from tornado.command import main

CHECKOUT = Path(__file__).resolve().parents[2]
# Multi-worker runs have their tests elsewhere; these are about everything around the loops.
WORKERS = "1"
PIECE_BYTES = 1 << 20
NDJSON = {"content-type": "application/x-ndjson"}
ARROW = {"content-type": "application/vnd.apache.arrow.stream"}


def environment_in(folder):
    """Nothing inherited that changes what a run does; the compiler's cache is shared, or every test would compile."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("TORNADO_") or name == "TORNADO_LOOPS_CACHE_DIR"
    }
    return kept | {"TORNADO_LOOPS_DATA_DIR": str(folder / "data"), "PYTHONWARNINGS": "default"}


def words(*arguments, source=1, app=None):
    app = ["sssp", "--source", str(source)] if app is None else app
    return ["run", *app, "--workers", WORKERS, "--json", *map(str, arguments)]


def command(*arguments, source=1, app=None, program=("tornado",)):
    return [sys.executable, "-m", *map(str, program), *words(*arguments, source=source, app=app)]


def run_here(folder, *arguments, source=1):
    """Run to the end in this process, which is there already; return the exit code and the events."""
    code, _, said = told(folder, *words(*arguments, source=source))
    return code, [json.loads(line) for line in said.splitlines()]


def told(folder, *arguments):
    """Run any command to the end in this process; return the exit code and what it said on both ways."""
    out, error = io.StringIO(), io.StringIO()
    environment = environment_in(folder)
    with (
        pytest.MonkeyPatch.context() as patch,
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(error),
    ):
        for name in os.environ.keys() - environment.keys():
            patch.delenv(name)
        patch.setenv("TORNADO_LOOPS_DATA_DIR", environment["TORNADO_LOOPS_DATA_DIR"])
        code = main([*map(str, arguments)])
    return code, out.getvalue(), error.getvalue()


def run(folder, *arguments, source=1, timeout_s=300):
    """Run to the end in a process of its own; return the exit code and the events."""
    done = subprocess.run(
        command(*arguments, source=source),
        capture_output=True,
        text=True,
        timeout=timeout_s,
        cwd=CHECKOUT,
        env=environment_in(folder),
        check=False,
    )
    return done.returncode, [json.loads(line) for line in done.stderr.splitlines()]


class Service:
    """A run with `--http`. A context manager that leaves no process behind.

    `program` is a module that takes the words of the command line, and what stands before them; where it `waits`, it is `become_ready`.
    """

    def __init__(
        self,
        folder,
        *arguments,
        source=1,
        preexec=None,
        stdin=subprocess.DEVNULL,
        app=None,
        program=("tornado",),
        waits=True,
    ):
        self._process = subprocess.Popen(
            command("--http", "127.0.0.1:0", *arguments, source=source, app=app, program=program),
            stdin=stdin,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            cwd=CHECKOUT,
            env=environment_in(folder),
            preexec_fn=preexec,  # noqa: PLW1509 - sets a limit, and touches no lock
        )
        self._events = queue.Queue()
        # All the time: a pipe that nobody reads would stop the service in the middle of a test.
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self.restored = None  # what it said it goes on from, before it was ready
        self.url = self.client = None
        if waits:
            self.become_ready()

    def become_ready(self):
        """Wait until questions can be asked."""
        self.url = self.wait_for("ready")["url"]
        self.client = httpx.Client(base_url=self.url, timeout=120, trust_env=False)

    def _read(self):
        for line in self._process.stderr:
            if line.endswith("\n"):  # else it was killed in the middle of it
                try:
                    self._events.put(json.loads(line))
                except (
                    ValueError
                ):  # of Python itself: what starts a worker says so when its service is killed
                    self._events.put({"event": "no event", "text": line})
        self._events.put(None)

    def wait_for(self, name, timeout_s=120):
        """Return the next event of that name."""
        until_s = time.monotonic() + timeout_s
        seen = []
        while (event := self._events.get(timeout=max(0.01, until_s - time.monotonic()))) is not None:
            if event["event"] == name:
                return event
            if event["event"] == "restored":
                self.restored = event
            seen.append(event)
        raise AssertionError(f"it ended with {self._process.wait()} before the event {name!r}: {seen}")

    def has_said(self, name):
        """Return whether there is such an event that nobody has waited for, once it has ended."""
        self._reader.join()
        return any(event is not None and event["event"] == name for event in self._events.queue)

    def events(self):
        """Return the events that nobody has waited for, once it has ended."""
        self._reader.join()
        left = []
        while not self._events.empty():
            left.append(self._events.get())
        return left

    def ask(self, wait_s=60, **question):
        answer = self.client.post("/v1/queries", params={"wait_s": wait_s}, json={"loop": "sssp"} | question)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def look(self, path, shows=""):
        return look(self.client.get, path, shows)

    def edges(self):
        """Return how many edges the loop has."""
        return self.look("/v1/loops/sssp").json()["edges"]

    def metric(self, name):
        """Return a metric of the loop."""
        text = self.look("/metrics", shows=f"\n{name}{{").text
        [line] = [line for line in text.splitlines() if line.startswith(name + "{")]
        return float(line.rpartition(" ")[2])

    def push(self, content, headers=NDJSON):
        return self.post("/v1/loops/sssp/edges", content, headers)

    def post(self, path, content, headers):
        if isinstance(content, str):
            content = content.encode()
        # In one piece the client would copy all of it at once, and whoever measures beside it in this process would wait for that.
        headers = headers | {"content-length": str(len(content))}
        pieces = (content[at : at + PIECE_BYTES] for at in range(0, len(content), PIECE_BYTES))
        return self.client.post(path, content=pieces, headers=headers)

    def lift_limit(self):
        """Give it back the room that a limit on the size of files took."""
        resource.prlimit(self._process.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)

    @property
    def pid(self):
        return self._process.pid

    def signal(self, number):
        """Send a signal and return the exit code."""
        self._process.send_signal(number)
        return self._process.wait(60)

    def stop(self):
        """Stop it in the middle of whatever it does; it dies of nothing, and answers nothing."""
        self._process.send_signal(signal.SIGSTOP)

    def resume(self):
        self._process.send_signal(signal.SIGCONT)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.client is not None:
            self.client.close()
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        self._reader.join()
        self._process.stderr.close()
