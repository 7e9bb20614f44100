"""The gate: many together, one alone, and nobody starves."""

import threading

import pytest

from tornado.storage.gate import Gate

WAIT_S = 10


def test_many_are_inside_together():
    gate = Gate()
    together = threading.Barrier(3)

    def enter():
        with gate.shared():
            together.wait(WAIT_S)

    threads = [threading.Thread(target=enter) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(WAIT_S)
    assert not together.broken


def test_who_is_alone_waits_for_those_inside_and_keeps_new_ones_out():
    gate = Gate()
    order = []
    inside, waiting = threading.Event(), threading.Event()
    leave = threading.Event()

    def first():
        with gate.shared():
            inside.set()
            leave.wait(WAIT_S)
            order.append("first")

    def lonely():
        waiting.set()
        with gate.alone():
            order.append("alone")

    def late():
        with gate.shared():
            order.append("late")

    threads = [threading.Thread(target=first), threading.Thread(target=lonely), threading.Thread(target=late)]
    threads[0].start()
    assert inside.wait(WAIT_S)
    threads[1].start()
    assert waiting.wait(WAIT_S)
    while not gate._alone:
        pass
    threads[2].start()
    leave.set()
    for thread in threads:
        thread.join(WAIT_S)
    assert order == ["first", "alone", "late"]


@pytest.mark.parametrize("passage", ["shared", "alone"])
def test_an_error_inside_opens_the_gate_again(passage):
    gate = Gate()
    with pytest.raises(RuntimeError), getattr(gate, passage)():
        raise RuntimeError
    with gate.alone():
        pass
    with gate.shared():
        pass
