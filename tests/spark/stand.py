"""A test stand: a service, a driver that writes a recording into it, and everything that can be broken while it does."""

import contextlib
import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time

import psutil

from tests.end_to_end.running import CHECKOUT, Service
from tests.ports import free_port
from tests.spark.gates import Gates
from tests.spark.recorded import Recording

LOCAL = "local[2,4]"
CLUSTER = "local-cluster[2,1,1024]"
# Between two questions: who asks all the time takes from Spark what it needs to get on.
PAUSE_S = 0.1


def is_running(process, program):
    try:
        return any(program in word for word in process.cmdline())
    except psutil.Error:
        return False


class Driver:
    """`tests.spark.driver` as a process, with the JVM in the same group."""

    def __init__(self, master, folder, url):
        self.master = master
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.spark.driver", master, str(folder), url],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            cwd=CHECKOUT,
            start_new_session=True,
        )
        self.events = queue.Queue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        try:
            self.source = f"spark:{self.wait_for('started')['id']}"
        except BaseException:
            self.kill()
            raise

    def _read(self):
        for line in self._process.stdout:
            self.events.put(json.loads(line))
        self.events.put({"event": "ended"})

    def wait_for(self, name, timeout_s=120):
        until_s = time.monotonic() + timeout_s
        while (event := self.events.get(timeout=max(0.01, until_s - time.monotonic())))["event"] != name:
            assert event["event"] != "ended", f"the driver ended before it said {name!r}"
        return event

    def workers(self):
        """Return the Python processes of its tasks and commits, and the daemons that make them."""
        family = psutil.Process(self._process.pid).children(recursive=True)
        return [process for process in family if is_running(process, "pyspark.daemon")]

    def executors(self):
        family = psutil.Process(self._process.pid).children(recursive=True)
        return [process for process in family if is_running(process, "CoarseGrainedExecutorBackend")]

    def kill(self):
        """Kill it with the JVM and, on a cluster, with the executors, which are its children; once is enough."""
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        self._reader.join()
        self._process.stdin.close()
        self._process.stdout.close()


class Stand:
    """A service on a store that stays, a recording, and a driver on any master, which goes on where the last one was."""

    def __init__(self, folder, stream, size):
        self.recording = Recording(folder / "incoming", stream, size)
        self.gates = Gates(folder / "gates")
        self.service = self.driver = None
        # How long a driver that has just begun, and has never run a batch, takes for its first ones.
        self.cold_s = 0.0
        self._folder = folder
        self._options = ["--store", f"lmdb://{folder}/store", "--http", f"127.0.0.1:{free_port()}"]
        self._options += ["--checkpoint-every", "300ms"]

    def __enter__(self):
        self.start_service()
        return self

    def __exit__(self, *_):
        self.gates.open()
        self.service.__exit__()
        if self.driver is not None:
            self.driver.kill()

    def start_service(self):
        self.service = Service(self._folder, *self._options)

    def start_driver(self, master):
        self.driver = Driver(master, self._folder, self.service.url)

    def drive(self, master):
        """Have a driver on that master, and everything warm."""
        if self.driver is not None and self.driver.master != master:
            self.driver.kill()
            self.driver = None
        if self.driver is None:
            self.start_driver(master)
            begun_s = time.monotonic()
            self.recording.write(5)
            self.wait_until_exact()
            self.cold_s = time.monotonic() - begun_s

    def stop_at(self, place, batches=3):
        """Let batches come until a process stands at a gate; return its id."""
        self.gates.close(place)
        self.recording.write(batches)
        return self.gates.who_waits()

    def newest_batch(self):
        """Return the number of the newest batch that the service has, -1 where it has none."""
        newest = self.service.client.get(f"/v1/loops/sssp/batches/{self.driver.source}").json()["newest"]
        return -1 if newest is None else newest

    def wait_until_exact(self, timeout_s=90):
        """Ask until every batch that was written is in an answer; every answer on the way is exact too."""
        until_s = time.monotonic() + timeout_s
        is_in = False
        while not is_in:
            assert time.monotonic() < until_s, (
                f"not exact within {timeout_s} s: {list(self.driver.events.queue)}"
            )
            is_in = self.newest_batch() == len(self.recording.ends) - 2
            prefix = self.recording.check(self.service.ask(), self.driver.source)
            time.sleep(PAUSE_S)
        assert prefix == self.recording.ends[-1]

    def check_once(self):
        """Every record was admitted once: by this service, its log included, or before the snapshot that it began with."""
        written = self.recording.ends[-1]
        base = (self.service.restored or {}).get("base")
        loaded = base["offsets"].get(self.driver.source, 0) if base else 0
        statistics = self.service.client.get("/v1/loops/sssp").json()
        assert statistics["admitted"] == written - loaded
        assert statistics["edges"] == len(self.recording.history.at(written))


# What is broken: each is called with the process that stands at the gate, and returns when everything is there again
# that somebody has to start; from then on the stand has to help itself.


def kill_task(stand, task):
    os.kill(task, signal.SIGKILL)
    stand.gates.open()


def kill_executor(stand, task):
    [executor] = set(stand.driver.executors()) & set(psutil.Process(task).parents())
    executor.kill()
    stand.gates.open()


def kill_driver(stand, committing):
    stand.driver.kill()
    with contextlib.suppress(ProcessLookupError):
        os.kill(committing, signal.SIGKILL)
    stand.gates.open()
    stand.start_driver(LOCAL)


def kill_service(stand, _=None, *, number=signal.SIGKILL):
    stand.service.signal(number)
    stand.service.__exit__()
    stand.gates.open()
    stand.start_service()


def stop_service(stand, _=None, *, pause_s=2):
    stand.service.stop()
    stand.gates.open()
    time.sleep(pause_s)
    stand.service.resume()
