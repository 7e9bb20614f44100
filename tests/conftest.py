"""What every room's tests share, and which process of a run has which tests."""

import asyncio
import fcntl
import gc
import importlib
import itertools
import os
import ssl
from functools import cache

import httpx
import hypothesis
import numpy as np
import pytest
import uvicorn.server

from tests import postgres_server as postgres_server_of_tests
from tests import promised
from tests.real_data import DATA_VARIABLE, locate
from tornado.config import cache_dir

# How long one example takes, or is made, depends on what else runs, and on who stops the process for a while; what is promised of time
# says so itself (`promised.py`).
hypothesis.settings.register_profile(
    "no deadline",
    hypothesis.settings(),
    deadline=None,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.load_profile("no deadline")

# Before any module of tests imports it: those of several folders do.
pytest.register_assert_rewrite("tests.kinds.conformance")


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """What is made of modules and tests stays; no collection of garbage looks for some among it."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    """Where processes share the tests, each has them in the order in which lanes are given out."""
    if hasattr(config, "workerinput"):
        from tests.lanes import place_of

        items.sort(key=lambda item: place_of(item.nodeid))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """`--dist loadscope` gives out lanes."""
    if config.getvalue("dist") != "loadscope":
        return None
    from tests.lanes import Lanes

    return Lanes(config, log)


@pytest.fixture(scope="session", autouse=True)
def _stalls_are_noted():
    promised.watched()


@pytest.fixture(scope="session", autouse=True)
def _programs_as_installed(tmp_path_factory):
    """Processes that tests start are without what only tests want, as where a user installed the package.

    Arrow imports pandas and Numba scipy wherever these are, and each start of a service would take a second longer for it.
    """
    folder = tmp_path_factory.mktemp("hidden")
    for name in ("pandas", "scipy"):
        importlib.import_module(name)  # here it stays, whatever is on the path
        (folder / f"{name}.py").write_text(f"raise ModuleNotFoundError('hidden', name={name!r})\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(folder), prepend=os.pathsep)
        # Workers get the path of the process that starts them.
        patch.syspath_prepend(folder)
        yield


@pytest.fixture(scope="session", autouse=True)
def _certificates_read_once():
    """Each client of HTTP would read those of the whole world, which takes longer than most of what it asks."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ssl, "create_default_context", cache(ssl.create_default_context))
        yield


@pytest.fixture(scope="session", autouse=True)
def _clients_are_patient():
    """A client of HTTP to which a test gives no time-out waits two minutes, and not five seconds, in which a machine may stand still."""
    with pytest.MonkeyPatch.context() as patch:
        # In place: it is the default argument of whatever makes a client.
        for part in ("connect", "read", "write", "pool"):
            patch.setattr(httpx._config.DEFAULT_TIMEOUT_CONFIG, part, 120.0)
        yield


class _Hasty:
    """What a server takes `asyncio` for: it sleeps for a tenth of the time."""

    def __getattr__(self, name):
        return getattr(asyncio, name)

    def sleep(self, delay_s):
        return asyncio.sleep(delay_s / 10)


@pytest.fixture(scope="session", autouse=True)
def _servers_end_soon():
    """A server in this process looks ten times as often whether it shall end, and whether its connections have.

    It takes two tenths of a second to end, in which nobody does anything, and hundreds of tests have one of their own.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(uvicorn.server, "asyncio", _Hasty())
        yield


@pytest.fixture(scope="session")
def _kept():
    """Give `freeze` of the collector to tests alone: what a program in this process thaws at its end would be all that there is."""
    freeze = gc.freeze
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gc, "freeze", lambda: None)
        patch.setattr(gc, "unfreeze", lambda: None)
        yield freeze


@pytest.fixture(scope="module", autouse=True)
def _collections_are_short(_kept):
    """What is there when a module begins stays, and no collection looks through it.

    After some thousand tests that are millions of objects (the tests themselves, compiled modules), and one collection takes
    seconds; hundreds of tests ask for some, and commands that run in this process do.
    """
    gc.collect()
    _kept()


@pytest.fixture(scope="session")
def data_dir():
    """The folder with the real data sets; see `tests.real_data`."""
    return locate(os.environ.get(DATA_VARIABLE))


@pytest.fixture(scope="session")
def compiled_paths():
    """Compile what shortest paths run, once: the first start on a machine takes up to a minute, every other one loads it."""
    from apps.sssp import ShortestPaths
    from tornado.loops import Master
    from tornado.records.edge_batch import EdgeBatch

    cache_dir().mkdir(parents=True, exist_ok=True)
    with (cache_dir() / "compiling.lock").open("w") as lock, Master(None, 1) as master:
        # Another process of the run that begins at the same moment would compile all of it, too.
        fcntl.flock(lock, fcntl.LOCK_EX)
        loop = master.start(ShortestPaths(source=1), name="compiled")
        loop.admit(EdgeBatch.of([1, 2, 3], [2, 3, 2], [1.0, 2.0, 0.0]), "edges", 3)
        loop.admit(EdgeBatch.of([1, 1], [2, 3], op=[-1, 2]), "edges", 5)
        for parameters in ({}, {"source": 2}):
            branch = loop.fork(parameters)
            assert branch.wait(300), "compiling takes longer than five minutes"
            branch.values().lookup(np.array([1, 2, 3]))
            branch.release()


@pytest.fixture(scope="session")
def postgres_server():
    if postgres_server_of_tests.binaries() is None:
        pytest.skip("no PostgreSQL is installed (Debian: apt install postgresql)")
    with postgres_server_of_tests.running() as server:
        yield server


_names = itertools.count()


@pytest.fixture
def postgres_url(postgres_server):
    """The address of an empty database."""
    name = f"store{next(_names)}"
    postgres_server.execute(f"CREATE DATABASE {name}")
    yield postgres_server.url(name)
    postgres_server.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
