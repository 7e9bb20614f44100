"""Admissions that come at one time are carried out together, once each, in their order."""

import signal
from concurrent.futures import ThreadPoolExecutor
from threading import Event, Thread

import pytest

from tests.promised import eventually
from tornado.clock import ManualClock
from tornado.errors import QueueFull, StoreFull
from tornado.loops.admission_log import LogEntry
from tornado.loops.group_commit import Admission, GroupCommit
from tornado.records.edge_batch import EdgeBatch

WAIT_S = 20


def admission(offset):
    return Admission(LogEntry(0, "http", offset, EdgeBatch.empty()), ())


class Carrier:
    """Carries groups out, one when it is let."""

    def __init__(self):
        self.groups = []
        self.began, self.goes_on = Event(), Event()
        self.goes_on.set()
        self.error = None

    def __call__(self, group):
        self.began.set()
        assert self.goes_on.wait(WAIT_S)
        if self.error is not None:
            raise self.error
        self.groups.append([one.entry.offset for one in group])
        for one in group:
            one.version = one.entry.offset


@pytest.fixture
def carrier():
    return Carrier()


@pytest.fixture
def commit(carrier):
    return GroupCommit(ManualClock(), carrier)


@pytest.fixture
def ctrl_c():
    """What Python does with it, also where these tests run in the background, which ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def waiting(commit):
    return len(commit._waiting)


def test_what_comes_while_a_group_is_carried_out_is_the_next_one(commit, carrier):
    carrier.goes_on.clear()
    brought = [admission(offset) for offset in range(1, 9)]
    with ThreadPoolExecutor(8) as pool:
        first = pool.submit(commit.submit, brought[0], None)
        assert carrier.began.wait(WAIT_S)
        others = []
        for count, one in enumerate(brought[1:], 1):
            others.append(pool.submit(commit.submit, one, None))
            eventually(lambda n=count: waiting(commit) == n)
        carrier.goes_on.set()
        for done in (first, *others):
            done.result(WAIT_S)
    assert carrier.groups == [[1], [2, 3, 4, 5, 6, 7, 8]]
    assert [one.version for one in brought] == list(range(1, 9))


def test_what_fails_fails_for_all_of_its_group_and_for_nobody_else(commit, carrier):
    carrier.error, other = StoreFull("no room"), admission(3)
    commit._waiting.append(other)  # of another thread, which comes a moment later
    with pytest.raises(StoreFull):
        commit.submit(admission(1), None)
    assert other.error is carrier.error
    carrier.error = None
    commit.submit(admission(2), None)
    assert carrier.groups == [[2]]


def test_who_does_not_wait_so_long_is_not_carried_out(commit, carrier):
    with ThreadPoolExecutor(2) as pool, commit.pause():
        late = pool.submit(commit.submit, admission(1), 0.0)
        with pytest.raises(QueueFull, match="still being logged"):
            late.result(WAIT_S)
        assert waiting(commit) == 0
    commit.submit(admission(2), None)
    assert carrier.groups == [[2]]


def test_who_does_not_wait_so_long_is_in_where_somebody_carries_it_out_already(carrier, monkeypatch):
    clock, own, gives_up = ManualClock(), admission(1), Event()
    commit = GroupCommit(clock, carrier)
    withdraw = commit._withdraw

    def noticed(one):
        gives_up.set()
        return withdraw(one)

    monkeypatch.setattr(commit, "_withdraw", noticed)
    with ThreadPoolExecutor(2) as pool:
        with commit.pause():
            late = admission(2)
            waits = pool.submit(commit.submit, late, clock.monotonic() + 1)
            eventually(lambda: waiting(commit) == 1)
            commit._waiting.append(own)
            carrier.goes_on.clear()
            leads = pool.submit(commit._lead, own)  # whose turn this is
            assert carrier.began.wait(WAIT_S)
            clock.advance(2)
            assert gives_up.wait(WAIT_S)
            carrier.goes_on.set()
            leads.result(WAIT_S)
        waits.result(WAIT_S)
    assert carrier.groups == [[2, 1]]
    assert late.version == 2


def test_an_interrupt_waits_for_what_is_being_carried_out_and_everybody_in_it_is_in(ctrl_c):
    """Ctrl-C between the log and the loops: the group was in one and not in the others."""
    carried_out, other = [], admission(2)

    def carry_out(group):
        signal.raise_signal(signal.SIGINT)
        for one in group:
            one.version = one.entry.offset
            carried_out.append(one.version)

    commit = GroupCommit(ManualClock(), carry_out)
    commit._waiting.append(other)  # of another thread, which comes a moment later
    with pytest.raises(KeyboardInterrupt):
        commit.submit(admission(1), None)
    assert carried_out == [2, 1]
    assert other.version == 2
    assert other.error is None
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_what_is_interrupted_before_its_turn_is_not_in_and_never_comes_in(commit, carrier, ctrl_c):
    carrier.goes_on.clear()
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(commit.submit, admission(1), None)
        assert carrier.began.wait(WAIT_S)

        def interrupt():
            eventually(lambda: waiting(commit) == 1)
            signal.raise_signal(signal.SIGINT)

        Thread(target=interrupt, daemon=True).start()
        with pytest.raises(KeyboardInterrupt):
            commit.submit(admission(2), None)
        carrier.goes_on.set()
        first.result()
    commit.submit(admission(3), None)
    assert carrier.groups == [[1], [3]]
