"""What forks Spark's Pythons on an executor, with everything loaded that a worker needs: a new worker is there at once."""

from __future__ import annotations

import importlib
import os

from pyspark import daemon

from . import later_workers

PRELOADED = "TORNADO_SPARK_PRELOADED"

if __name__ == "__main__":
    later_workers.listen(importlib.import_module(os.environ[PRELOADED]).prepare)
    daemon.manager()
