"""Who holds a frontier: against a book of every change, kept beside the dataflow; and named by operator in a small one."""

from collections import Counter
from random import Random

import pytest

from tests.timely.test_progress import wanderer
from tornado.timely import SimulatedFabric, ThreadFabric, Wake, Worker, holders
from tornado.timely.dataflow import Dataflow
from tornado.timely.execute import run_simulated
from tornado.timely.operators import inspect, new_input


@pytest.mark.parametrize("lexicographic", [True, False])
def test_what_holds_each_frontier_is_told_as_a_book_of_all_changes_has_it(monkeypatch, lexicographic):
    own, everybody = {}, Counter()  # by worker what it changed itself, and what all did
    checked = Counter()
    finish, settle, step = Dataflow.finish, Dataflow.settle, Worker.step

    def booked_finish(dataflow):
        finish(dataflow)
        book = own[dataflow.worker.index] = Counter()
        for operator in dataflow.operators:
            book.update((port.location, port.order.least) for port in operator.outputs)
        everybody.update(book)

    def booked_settle(dataflow, author):
        for location, time, delta in dataflow.changes:
            own[dataflow.worker.index][location, time] += delta
            everybody[location, time] += delta
        settle(dataflow, author)

    def judged_step(worker):
        did = step(worker)
        for dataflow in worker.dataflows.values():
            _judge(dataflow, own[worker.index], everybody, checked)
        return did

    monkeypatch.setattr(Dataflow, "finish", booked_finish)
    monkeypatch.setattr(Dataflow, "settle", booked_settle)
    monkeypatch.setattr(Worker, "step", judged_step)
    for seed in range(8):
        print(f"seed {seed}")
        own.clear(), everybody.clear()
        run_simulated(wanderer(seed, lexicographic, Wake.FRONTIER), 3, seed)
    assert checked["tokens"] > 100
    assert checked["others"] > 100


def _judge(dataflow, own, everybody, checked):
    ports = {port.name: port for one in dataflow.operators for port in (*one.inputs, *one.outputs)}
    found = holders(dataflow)
    for operator in dataflow.operators:
        for port in operator.inputs:
            told = {holder.until for holder in found if holder.waiting == port.name and holder.holds}
            assert told == set(dataflow.tracker.frontier(port.location))
    for holder in found:
        location = ports[holder.port].location
        assert holder.operator in holder.port
        if holder.is_token:
            assert holder.here == own[location, holder.time]
        else:
            assert holder.here <= everybody[location, holder.time]
        checked["tokens" if holder.is_token and holder.here else "others"] += 1


def test_a_worker_tells_its_own_tokens_from_those_of_others_and_messages_that_wait_from_those_under_way():
    fabric = SimulatedFabric(2, Random(1))
    workers = [Worker(index, 2, fabric) for index in range(2)]
    dataflows = [
        worker.dataflow(lambda scope: (source := new_input(scope, "edges"), inspect(source[1], print))[0])
        for worker in workers
    ]
    inputs = [dataflow.result[0] for dataflow in dataflows]
    for _ in range(50):
        for worker in workers:
            worker.step()
    inputs[0].advance_to(3)
    for _ in range(50):
        for worker in workers:
            worker.step()
    for dataflow, here in zip(dataflows, (0, 1), strict=True):
        holder, later = holders(dataflow)
        assert (later.until, later.holds, later.here) == ((3,), False, 1 - here)
        assert holder == ("input 0 of inspect", (0,), True, "edges", "output 0 of edges", (0,), True, 1, here)
    # A message of worker 1 to itself: it is on its way, then it has come and nobody has handled it. Worker 0 has not heard of it.
    inputs[1].send(["a", "b"])
    dataflows[1].settle(None)
    assert _waiting(dataflows[1]) == (False, 1, 0)
    while not (messages := fabric.receive(1)):
        pass
    for number, *message in messages:
        assert number == dataflows[1].number
        dataflows[1].deliver(*message)
    assert _waiting(dataflows[1]) == (False, 1, 1)
    assert {holder.port for holder in holders(dataflows[0])} == {"output 0 of edges"}


def _waiting(dataflow):
    [found] = [holder for holder in holders(dataflow) if holder.port == "input 0 of inspect"]
    return found.is_token, found.known, found.here


def test_nothing_holds_what_is_complete():
    worker = Worker(0, 1, ThreadFabric(1))
    dataflow = worker.dataflow(lambda scope: (source := new_input(scope), inspect(source[1], print))[0])
    dataflow.result[0].close()
    worker.step_while(lambda: not dataflow.is_complete)
    assert holders(dataflow) == []
