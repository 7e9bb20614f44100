"""Workers as the tasks of a Spark barrier stage: placement, resources and restarts are Spark's, and nothing else of it is used.

A barrier stage starts all of its tasks at once or none. Spark notices a task that ends, not one that hangs, and does not start a
stage again whose result is collected: both are done by the `ClusterEngine`, which submits a new stage after any loss.
"""

from __future__ import annotations

import importlib
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from pyspark import BarrierTaskContext, SparkConf, SparkContext

from ..errors import InvalidArgument
from ..process_memory import numpy_pages
from . import spark_daemon
from .member import MemberConfig, kill_all

_SLOTS_WITHIN_S = 15.0  # executors of a cluster register one after another
_ENDS_WITHIN_S = 6.0
_LOOPBACK = "127.0.0.1"


class SparkLauncher:
    """Runs workers as tasks.

    Parameters
    ----------
    module
        What a worker runs: a module with a function ``serve(config)`` that Spark's Python can import.
    workers
        How many tasks.
    master
        Where, if no Spark runs in this process yet: ``local[4]``, ``spark://host:7077``.

    Raises
    ------
    InvalidArgument
        When there are not enough slots.
    """

    def __init__(self, module: str, workers: int, master: str | None = None) -> None:
        self._module = module
        self._owns = SparkContext._active_spark_context is None  # noqa: SLF001  there is no other way to ask
        self._context = _context(master or f"local[{workers}]", module)
        self._job: _Job | None = None
        self._stages = 0
        try:
            self._check_slots(workers)
        except BaseException:
            self.close()
            raise

    @property
    def interface(self) -> str:
        """The address of this machine that workers can reach."""
        if self._is_local():
            return _LOOPBACK
        return str(self._context.getConf().get("spark.driver.host", _LOOPBACK))

    def launch(self, configs: Sequence[MemberConfig]) -> None:
        """See `Launcher.launch`."""
        self._stages += 1
        self._job = _Job(
            self._context, self._module, configs, f"tornado-workers-{os.getpid()}-{self._stages}"
        )
        self._job.start()

    def ended(self) -> str | None:
        """See `Launcher.ended`."""
        job = self._job
        return None if job is None else job.outcome

    def require(self, workers: int) -> None:
        """See `Launcher.require`: a worker takes a slot."""
        self._check_slots(workers)

    def kill(self, pids: Sequence[int]) -> None:
        """See `Launcher.kill`. A task that hangs is ended here if it is on this machine, elsewhere by its executor."""
        job, self._job = self._job, None
        if job is None:
            return
        if self._is_local():
            kill_all(pids)
        if job.is_alive():
            self._context.cancelJobGroup(job.group)
        job.join(_ENDS_WITHIN_S)  # whatever is left is fenced off

    def close(self) -> None:
        """See `Launcher.close`; a Spark that was there before goes on."""
        self.kill(())
        if self._owns:
            stopping = threading.Thread(target=self._context.stop, name="tornado-spark-stop", daemon=True)
            stopping.start()
            stopping.join(_ENDS_WITHIN_S)
            if stopping.is_alive():  # a JVM that hangs would outlive us
                gateway = self._context._gateway  # noqa: SLF001  there is no other way to its process
                gateway.proc.kill()

    def _is_local(self) -> bool:
        return str(self._context.master).startswith("local")

    def _check_slots(self, workers: int) -> None:
        """Without enough slots a barrier stage waits without a word, and so do other jobs behind it."""
        deadline = time.monotonic() + _SLOTS_WITHIN_S
        while (slots := self._slots()) < workers:
            if self._is_fixed() or time.monotonic() > deadline:
                raise InvalidArgument(
                    f"Spark at {self._context.master} has {slots} slots, but {workers} workers need {workers}",
                    hint="Start fewer workers, or give Spark more cores: --master 'local[8]', or more executors.",
                )
            time.sleep(0.2)

    def _is_fixed(self) -> bool:
        master = str(self._context.master)
        return master.startswith("local") and not master.startswith("local-cluster")

    def _slots(self) -> int:
        scala = self._context._jsc.sc()  # noqa: SLF001  what Spark itself checks barrier stages by
        return int(scala.maxNumConcurrentTasks(scala.resourceProfileManager().defaultResourceProfile()))


class _Job(threading.Thread):
    """The barrier stage of one set of workers, until it ends."""

    def __init__(
        self, context: SparkContext, module: str, configs: Sequence[MemberConfig], group: str
    ) -> None:
        super().__init__(name="tornado-spark-stage", daemon=True)
        self.group = group
        self.outcome: str | None = None
        self._context = context
        self._module = module
        self._configs = [config.to_json() for config in configs]

    def run(self) -> None:
        """Run the stage to its end."""
        context, count = self._context, len(self._configs)
        module, configs = self._module, self._configs

        def work(indices: Any) -> Any:
            (index,) = indices
            yield _work(module, configs[index])

        try:
            # Inside the thread, whose jobs these properties are for.
            context.setJobGroup(self.group, "loop workers", interruptOnCancel=True)
            context.parallelize(range(count), count).barrier().mapPartitions(work).collect()
        except ConnectionRefusedError:
            self.outcome = "Spark's own process (the JVM of the driver) has ended, and it starts once a process: start this one again"
        except Exception as error:  # noqa: BLE001  py4j's many kinds
            self.outcome = f"the Spark stage of the workers ended: {_first_line(error)}"
        else:
            self.outcome = "the Spark stage of the workers ended"


def _work(module: str, text: str) -> int:
    """A worker, in its task."""
    config = MemberConfig.of_json(text)
    BarrierTaskContext.get()  # fails where this is no barrier stage
    host = config.beats.rpartition(":")[0]
    importlib.import_module(module).serve(replace(config, interface=_interface_towards(host)))
    return config.index


def _interface_towards(host: str) -> str:
    """The address that this machine has in the eyes of another one."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect((host, 9))  # sends nothing
        return str(probe.getsockname()[0])


def _context(master: str, module: str) -> SparkContext:
    """The Spark of this process, made where there is none."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_LOCAL_IP", _LOOPBACK)
    conf = (
        SparkConf()
        .setMaster(master)
        .setAppName("tornado")
        .set("spark.ui.enabled", "false")
        .set("spark.ui.showConsoleProgress", "false")
        .set("spark.python.daemon.module", spark_daemon.__name__)
        .setExecutorEnv(spark_daemon.PRELOADED, module)
        .set("spark.scheduler.barrier.maxConcurrentTasksCheck.interval", "1s")
        .set("spark.barrier.sync.timeout", "60")
        .set("spark.python.task.killTimeout", "500ms")
        .setExecutorEnv("PYTHONPATH", os.pathsep.join(filter(None, sys.path)))
        .setExecutorEnv(pairs=list(numpy_pages(os.environ).items()))
    )
    interrupt = signal.getsignal(signal.SIGINT)
    context = SparkContext.getOrCreate(conf)
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, interrupt)  # Spark's own would cancel all jobs
    context.setLogLevel("FATAL")  # what fails is told by the engine
    return context


def _first_line(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    told = [line for line in lines if "Exception:" in line or "Error:" in line or "lost" in line.lower()]
    return (told or lines or [repr(error)])[0][:300]
