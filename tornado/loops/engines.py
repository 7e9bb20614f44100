"""Engines by their names."""

from __future__ import annotations

import importlib.util

from ..clock import Clock
from ..engine import ClusterEngine, Engine, ProcessLauncher, ThreadEngine
from ..errors import InvalidArgument, NotSupported

ENGINES = ("threads", "processes", "spark")
_WORKER = f"{__package__}.remote_worker"


def engine_of(name: str, workers: int, *, spark_master: str | None = None, clock: Clock) -> Engine:
    """Make an engine.

    Parameters
    ----------
    name
        One of `ENGINES`.
    workers
        How many.
    spark_master
        For Spark: where it runs if it does not run in this process yet.
    clock
        By which it decides what it decides by time.

    Raises
    ------
    InvalidArgument
        When there is no engine of that name, or not enough slots.
    NotSupported
        When what it needs is not installed.
    """
    if name != "spark" and spark_master is not None:
        raise InvalidArgument(
            f"the Spark master is {spark_master!r}, but the engine is {name}: only spark has one"
        )
    if name == "threads":
        return ThreadEngine(workers, clock=clock)
    if name == "processes":
        return ClusterEngine(workers, ProcessLauncher(_WORKER), clock=clock)
    if name == "spark":
        if importlib.util.find_spec("pyspark") is None:
            raise NotSupported(
                "the engine spark needs pyspark, which is not installed",
                hint="pip install 'tornado-loops[spark]', or use the engine processes.",
            )
        from ..engine.spark import SparkLauncher

        launcher = SparkLauncher(_WORKER, workers, spark_master)
        return ClusterEngine(workers, launcher, launcher.interface, clock=clock)
    raise InvalidArgument(f"engine is {name!r} but must be one of {', '.join(ENGINES)}")
