"""Whoever asks a worker waits for the answers in the order that suits him, and others ask it meanwhile."""

import threading
import weakref

import pytest

from tests.engine.places import REMOTE, Placed, master_at, stream
from tornado.errors import WorkerLost

pytestmark = pytest.mark.parametrize("place", REMOTE)


@pytest.fixture
def asked(place):
    """An engine, and what its first worker answers at once."""
    with master_at(place) as master:
        placed = Placed(master, "asked", stream())
        yield master.engine, ("main", placed.loop.number, "statistics")


def test_answers_are_waited_for_in_any_order_and_one_that_nobody_wants_is_dropped(asked):
    engine, request = asked
    first, unwanted, last = (engine.begin_asking(0, request) for _ in range(3))
    link, gone = engine._links[0], weakref.ref(unwanted)
    del unwanted
    assert gone() is None
    assert len(last()) == len(first()) > 0
    assert len(engine.ask(0, request)) > 0
    assert len(link._asked) == 0


def test_many_threads_ask_one_worker_at_once(asked):
    engine, request = asked
    found, threads = [], []

    def ask():
        for _ in range(50):
            one, other = engine.begin_asking(0, request), engine.begin_asking(0, (*request[:2], "history"))
            found.append((len(other()) % 4, len(one()) > 0))

    for _ in range(4):
        threads.append(threading.Thread(target=ask))
        threads[-1].start()
    for thread in threads:
        thread.join(60)
    assert found == [(0, True)] * 200


def test_what_a_worker_refuses_is_told_to_who_asked_it(asked):
    engine, request = asked
    wrong, right = engine.begin_asking(0, (*request[:2], "nothing")), engine.begin_asking(0, request)
    assert len(right()) > 0
    with pytest.raises(Exception, match="does not answer 'nothing'"):
        wrong()


def test_an_answer_that_cannot_be_read_is_waited_for_by_nobody(asked, monkeypatch):
    engine, request = asked
    link = engine._links[0]
    first, last = engine.begin_asking(0, request), engine.begin_asking(0, request)

    class Failing:  # in place of the link's alone: its engine reads reports by the same
        def read(self, _):
            raise MemoryError("no room")

    with monkeypatch.context() as patch:
        patch.setattr(link, "_wire", Failing())
        with pytest.raises(MemoryError):
            last()
    with pytest.raises(Exception, match=r"could not be read: MemoryError\('no room'\)"):
        first()
    assert len(engine.ask(0, request)) > 0


def test_who_waits_hears_that_the_worker_is_lost(asked):
    engine, request = asked
    awaited = engine.begin_asking(0, request)
    engine._links[0].is_dead = True
    with pytest.raises(WorkerLost):
        awaited()
    engine._links[0].is_dead = False
