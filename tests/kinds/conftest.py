"""The toy kind, registered for as long as a module of tests runs: here, and in worker processes."""

import pytest

from tornado.kinds import KINDS
from tornado.loops import engines

# They register kinds where they are imported, and doctests are looked for in every module.
collect_ignore = ["toy_worker.py", "brittle_worker.py"]


@pytest.fixture(scope="module", autouse=True)
def registered():
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(KINDS, "toy", "tests.kinds.toy.kind")
        patch.setattr(engines, "_WORKER", "tests.kinds.toy_worker")
        yield
