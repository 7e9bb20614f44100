"""Clocks: time by hand wakes whoever waits for it, and nobody but a few looks at the machine's, which the source says."""

import ast
import math
import threading
import time
from datetime import UTC, timedelta
from pathlib import Path

import pytest

from tornado import clock as clock_module
from tornado.clock import SYSTEM_CLOCK, ManualClock, after, wait_until
from tornado.errors import InvalidArgument

ROOT = Path(__file__).resolve().parents[1]
LONG_S = 20.0

# What reads the machine's time, or lets it pass.
READINGS = {
    "time": {
        "monotonic",
        "monotonic_ns",
        "perf_counter",
        "perf_counter_ns",
        "sleep",
        "time",
        "time_ns",
    },
    "datetime.datetime": {"now", "today", "utcnow"},
    "datetime.date": {"today"},
    "threading": {"Timer"},
}
# Who may, and why: a file, or one function of it. This list only gets shorter.
PLACES = {
    "tornado/clock.py": "is the clock",
    "tornado/client/transport.py::Connection._pause": "in whatever process asks: waits for a service",
    "tornado/client/transport.py::_now_s": "in whatever process asks: for how long a service told something",
    "tornado/command/": "the terminal: what it shows, and the processes and signals that it waits for",
    "tornado/engine/fork_server.py::_end_with": "waits for its parent process to end",
    "tornado/engine/spark.py::SparkLauncher._check_slots": "waits for Spark to have its executors",
    "tornado/engine/transport.py::SocketTransport.linger": "waits for processes to end",
    "tornado/ingest/kafka/consumer.py": "a process of its own, beside a broker",
    "tornado/ingest/kafka/diagnosis.py::_unreachable": "measures, for a person",
    "tornado/ingest/kafka/producer.py": "waits for a broker",
    "tornado/ingest/spark/remote_loop.py": "in tasks of Spark: waits for a service",
    "tornado/query/http.py::HttpServer.start": "waits for the server's thread to begin",
    "tornado/testing/kafka_broker.py": "waits for a broker's process",
}


def readings_of(path, source):
    """Return where a file looks at the machine's time: `path::function`, the line, and what it names there."""
    tree, named, found = ast.parse(source), {}, []
    names = set[str]().union(*READINGS.values())
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            named.update({alias.asname or alias.name: alias.name for alias in node.names})
        elif isinstance(node, ast.ImportFrom) and not node.level:
            named.update({alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names})

    heard = names | {name for name, whole in named.items() if whole.rpartition(".")[2] in names}

    def visit(node, function):
        if (getattr(node, "attr", None) or getattr(node, "id", None)) in heard:
            whole = ast.unparse(node)
            first, dot, rest = whole.partition(".")
            module, _, name = f"{named.get(first, '')}{dot}{rest}".rpartition(".")
            if name in READINGS.get(module, ()):
                found.append((f"{path}::{'.'.join(function)}" if function else path, node.lineno, whole))
                return
        is_named = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        for child in ast.iter_child_nodes(node):
            visit(child, (*function, node.name) if is_named else function)

    visit(tree, ())
    return found


def allowed(where, places):
    """Return the place of the list that a reading is at, or None: its file or a folder around it, its function or one around it."""
    file, _, function = where.partition("::")
    names = function.split(".")
    around = {f"{file}::{'.'.join(names[:depth])}" for depth in range(1, len(names) + 1)}
    folders = (place for place in places if place.endswith("/") and file.startswith(place))
    return next((place for place in places if place in around | {file}), next(folders, None))


def broken_clocks(tree, places):
    """Return what a tree (the text of each file by its path) breaks, a sentence each; also of places that are no more."""
    used = set()
    for path, source in tree.items():
        for where, line, what in readings_of(path, source):
            place = allowed(where, places)
            if place is None:
                yield f"{path}:{line} names {what}: take a Clock, which somebody hands down"
            used.add(place)
    for place in sorted(set(places) - used):
        yield f"PLACES lists {place}, which looks at no time any more: take it off"


def package():
    return {
        str(path.relative_to(ROOT)): path.read_text(encoding="utf-8")
        for path in sorted((ROOT / "tornado").rglob("*.py"))
    }


def test_nobody_but_those_on_the_list_looks_at_the_machines_time():
    assert list(broken_clocks(package(), PLACES)) == []


@pytest.mark.parametrize(
    "source",
    [
        "import time\ndef late(): return time.monotonic()",
        "import time\nclass A:\n    def __init__(self, clock=time.monotonic): pass",
        "import time as clock\nclock.time()",
        "from time import monotonic\nmonotonic()",
        "from time import sleep as pause\npause(1)",
        "def late():\n    import time\n    time.sleep(1)",
        "from datetime import UTC, datetime\ndatetime.now(UTC)",
        "import datetime\ndatetime.datetime.now(datetime.UTC)",
        "import datetime as dates\ndates.date.today()",
        "from threading import Timer\nTimer(1, print).start()",
        "import threading\nthreading.Timer(1, print)",
    ],
)
def test_the_check_sees_who_looks_at_the_machines_time(source):
    (broken,) = broken_clocks({"tornado/query/x.py": source}, {})
    assert broken.startswith("tornado/query/x.py:")
    assert list(broken_clocks({"tornado/query/x.py": source}, {"tornado/query/x.py": "may"})) == []


@pytest.mark.parametrize(
    "source",
    [
        "def late(clock): return clock.monotonic()",
        "from datetime import datetime\ndatetime.fromisoformat('2000-01-01')",
        "from .timer import Timer\nTimer('queries')",
        "def take(time): return time.monotonic",
        "import threading\nthreading.Thread(target=print)",
    ],
)
def test_the_check_lets_those_pass_who_are_handed_a_clock(source):
    assert list(broken_clocks({"tornado/query/x.py": source}, {})) == []


def test_the_check_knows_functions_and_places_that_are_no_more():
    source = "import time\nclass A:\n    def one(self): time.sleep(1)\n    def two(self): time.sleep(2)"
    tree, one = {"tornado/x.py": source}, "tornado/x.py::A.one"
    (broken,) = broken_clocks(tree, {one: "may"})
    assert broken.startswith("tornado/x.py:4 names time.sleep")
    (broken,) = broken_clocks(tree, {"tornado/x.py": "may", "tornado/y.py": "is gone"})
    assert broken.startswith("PLACES lists tornado/y.py")


# The clocks


@pytest.mark.parametrize("clock", [SYSTEM_CLOCK, ManualClock()], ids=["system", "manual"])
def test_every_clock_grows_and_has_a_calendar(clock):
    first_s, first = clock.monotonic(), clock.now()
    if isinstance(clock, ManualClock):
        clock.advance(1.5)
    assert clock.monotonic() >= first_s
    assert clock.now() >= first
    assert first.tzinfo is UTC
    assert after(clock, None) is None
    assert after(clock, 10.0) >= first_s + 10.0


@pytest.mark.parametrize("clock", [SYSTEM_CLOCK, ManualClock()], ids=["system", "manual"])
def test_waiting_ends_when_it_holds_or_at_once_where_the_instant_has_come(clock):
    changed, held = threading.Condition(), []

    def hold():
        with changed:
            held.append(True)
            changed.notify_all()

    with changed:
        assert not wait_until(clock, changed, lambda: bool(held), clock.monotonic())
        assert wait_until(clock, changed, lambda: True, clock.monotonic() - 1)
    for until_s in (None, math.inf, clock.monotonic() + 1000):
        held.clear()
        with changed:
            threading.Thread(target=hold, daemon=True).start()
            assert wait_until(clock, changed, lambda: bool(held), until_s)


def test_the_machines_time_runs_out_and_not_early():
    changed = threading.Condition()
    until_s = SYSTEM_CLOCK.monotonic() + 0.03
    with changed:
        assert not wait_until(SYSTEM_CLOCK, changed, lambda: False, until_s)
    assert SYSTEM_CLOCK.monotonic() >= until_s


def test_time_by_hand_stands_still_and_adds_up():
    clock = ManualClock()
    beginning, began_s = clock.now(), clock.monotonic()
    for seconds in (0, 0.25, 3600):
        clock.advance(seconds)
    assert clock.monotonic() - began_s == 3600.25
    assert clock.now() - beginning == timedelta(seconds=3600.25)
    with pytest.raises(InvalidArgument, match="by -1 s, but only grows"):
        clock.advance(-1)


def test_advancing_wakes_all_who_wait_for_that_instant_and_no_others(monkeypatch):
    """Time and again, with no pause: one that begins to wait while time is advanced misses nothing."""
    monkeypatch.setattr(clock_module, "_LOOK_S", 3 * LONG_S)
    clock, came, lock = ManualClock(), [], threading.Lock()

    def wait(until_s):
        changed = threading.Condition()
        with changed:
            assert not wait_until(clock, changed, lambda: False, until_s)
        with lock:
            came.append((until_s, clock.monotonic()))

    waits = [float(1 + number % 10) for number in range(40)]
    threads = [threading.Thread(target=wait, args=(until_s,), daemon=True) for until_s in waits]
    for thread in threads:
        thread.start()
    for number in range(1, 11):
        clock.advance(1.0)
        limit_s = time.monotonic() + LONG_S
        while sum(until_s <= number for until_s, _ in list(came)) < 4 * number:
            assert time.monotonic() < limit_s
            time.sleep(0.001)
    for thread in threads:
        thread.join(LONG_S)
    assert sorted(came) == sorted((until_s, until_s) for until_s in waits)
    assert clock.waiting() == 0
