"""Masters to ask: the fake one and the real one. What only the fake can do asks for `fake`."""

import time
from contextlib import contextmanager

import httpx
import pytest

from apps.sssp import ShortestPaths
from tests.browser import Visit, launched
from tests.query import fake_loops
from tornado.clock import ManualClock
from tornado.intake.push import Pusher
from tornado.loops import Master
from tornado.query.http import HttpServer
from tornado.query.http_requests import HttpLimits
from tornado.query.request import ServiceLimits
from tornado.query.service import QueryService
from tornado.query.session import Session
from tornado.records.edge_batch import EdgeBatch
from tornado.storage import open_store

REAL_WORKERS = 2

# Nothing here hangs unless a test has it hang: what does not come is late, and is waited for.
PATIENT = {"look_timeout_s": 60.0, "ask_timeout_s": 60.0}

# 1 -> 2 -> 3 is 3.0, 1 -> 4 is 10.0; 5 -> 6 cannot be reached from 1.
ROADS = ([1, 2, 1, 5], [2, 3, 4, 6], [1.0, 2.0, 10.0, 7.5])


def eventually(condition, timeout_s=120):
    until = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < until, "it did not come to that in time"
        time.sleep(0.002)


@pytest.fixture
def fake():
    master = fake_loops.Master()
    yield master
    master.close()


@pytest.fixture
def clock(fake):
    """The time of the fake, which the test advances; for whatever is opened on it afterwards."""
    fake.clock = ManualClock()
    return fake.clock


@contextmanager
def master_of(request):
    """The master that a fixture is asked for by its parameter."""
    if request.param == "fake":
        made = fake_loops.Master()
        made.new_program = fake_loops.Fastest
        yield made
        made.close()
        return
    # Deadlines of the tests are for asking, not for compiling.
    request.getfixturevalue("compiled_paths")
    with open_store("memory:") as store:
        made = Master(store, REAL_WORKERS)
        made.new_program = ShortestPaths
        yield made
        made.close()


@pytest.fixture(params=["fake", "real"])
def master(request):
    with master_of(request) as made:
        yield made


def start_roads(master, name="roads"):
    program = getattr(master, "new_program", fake_loops.Fastest)(source=1)
    loop = master.start(program, name=name, delay_bound=64)
    loop.admit(EdgeBatch.of(*ROADS), "edges.csv", 4)
    return loop


def intake_of(loop, **shared):
    """The intake of the stream of a loop that nobody serves."""
    intake = Pusher(**shared).intake(loop.stream_name)
    intake.begin(loop.stream)
    return intake


@pytest.fixture
def roads(master):
    return start_roads(master)


@pytest.fixture
def slow(fake):
    """A loop whose branches wait for `fake.gate`."""
    loop = start_roads(fake)
    fake.gate.clear()
    return loop


@pytest.fixture
def service(master, roads):
    made = QueryService(master)
    yield made
    made.close()


@pytest.fixture
def open_service():
    """Make services with limits of the test's own."""
    opened = []

    def make(master, *, pusher=None, **limits):
        opened.append(QueryService(master, limits=ServiceLimits(**limits), pusher=pusher))
        return opened[-1]

    yield make
    for made in opened:
        made.close()


def end_looks_of(observer):
    """Stop it, and wait for the look that is under way, which `stop` does not."""
    threads = list(observer._threads)
    observer.stop()
    for thread in threads:
        thread.join()


@contextmanager
def serving():
    """Makes what starts servers, and returns a client of each."""
    opened = []

    def make(service, *, tokens=None, **limits):
        limits = HttpLimits(**(PATIENT | limits))
        server = HttpServer(service, port=0, limits=limits, tokens=tokens).start()
        client = httpx.Client(base_url=server.url, timeout=120)
        client.server = server
        opened.append(client)
        return client

    yield make
    for client in opened:
        client.close()
        client.server.stop()


@pytest.fixture
def serve():
    with serving() as make:
        yield make


@pytest.fixture
def client(service, serve):
    return serve(service)


@pytest.fixture
def towns(fake):
    """A loop whose vertices have names, on a service of its own."""
    with Session(fake) as session:
        yield session.start(fake_loops.Fastest(source="Rome"), "towns", ids="string")


@pytest.fixture
def interner(towns):
    return towns._service.codec_of("towns").interner


@pytest.fixture(scope="module", params=["fake", "real"])
def standing(request):
    """A client for all tests of a module that only ask, and leave everything as it was."""
    with master_of(request) as master:
        start_roads(master)
        service = QueryService(master)
        with serving() as make:
            yield make(service)
        service.close()


@pytest.fixture
def session(master):
    with Session(master) as made:
        yield made


@pytest.fixture(scope="module")
def browser():
    with launched() as one:
        yield one


@pytest.fixture
def visit(browser):
    """Opens pages, and closes them; none may have had a fault that the test does not take off its list."""
    opened = []

    def make(url, **how):
        opened.append(Visit(browser, url, **how))
        return opened[-1]

    yield make
    for one in opened:
        one.close()
    # Some tests end the server first.
    assert [fault for one in opened for fault in one.faults if "ERR_CONNECTION" not in fault] == []
