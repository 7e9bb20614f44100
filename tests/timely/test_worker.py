"""Workers and fabrics: many dataflows at once, failures, waiting, statistics."""

import threading
import time as clock
from random import Random

import pytest

from tornado.errors import InvalidDataflow, TokenMisuse
from tornado.timely import (
    Exchange,
    OperatorBuilder,
    SimulatedFabric,
    ThreadFabric,
    Wake,
    Worker,
)
from tornado.timely.execute import run_threads
from tornado.timely.operators import (
    aggregate,
    concat,
    exchange,
    inspect,
    map_batches,
    new_input,
    probe,
)


def test_dataflows_are_installed_while_others_run_and_do_not_wait_for_each_other(everywhere):
    def program(worker):
        totals = {}

        def build(scope):
            handle, stream = new_input(scope)
            total = aggregate(
                stream, int, lambda s, b: s + sum(b), lambda _, s: s, pact=Exchange(lambda b: [0] * len(b))
            )
            name = scope.name
            shown = inspect(total, lambda time, s: totals.setdefault(name, []).append((time, s)))
            return handle, probe(shown)

        main = worker.dataflow(build, name="main")
        main.result[0].send([100])
        branches = []
        # Worker 0 is far ahead of the others: its messages find dataflows that are not there yet.
        for _ in range(worker.index * 5):
            yield
        for number in range(4):
            branch = worker.dataflow(build, name=f"branch {number}")
            handle, _ = branch.result
            handle.send([number, worker.index])
            handle.close()
            branches.append(branch)
            yield
        while not all(branch.is_complete for branch in branches):
            yield
        assert not main.is_complete
        assert list(worker.dataflows.values()) == [main]
        assert "main" not in totals
        main.result[0].close()
        return totals

    for results in everywhere(program, 3):
        expected = {"main": [((0,), 300)]} | {f"branch {n}": [((0,), 3 * n + 3)] for n in range(4)}
        assert [results[0], *results[1:]] == [expected, {}, {}]


def test_a_cancelled_dataflow_drops_what_it_has_and_the_others_go_on(everywhere):
    def program(worker):
        seen = []

        def build(scope):
            loop = scope.loop()
            again = loop.feedback()
            handle, stream = new_input(scope)
            turning = exchange(concat(loop.enter(stream), again.stream), lambda batch: [n + 1 for n in batch])
            again.connect(map_batches(turning, lambda batch: [n + 1 for n in batch]))
            return handle

        def short(scope):
            handle, stream = new_input(scope)
            inspect(stream, lambda time, batch: seen.append(batch))
            return handle

        endless = worker.dataflow(build, name="endless")
        endless.result.send([worker.index])
        for _ in range(10 + 7 * worker.index):
            yield
        endless.cancel()
        endless.cancel()
        assert endless.is_cancelled and not endless.is_complete
        handle = worker.dataflow(short).result
        handle.send(["after"])
        handle.close()
        while worker.dataflows:
            yield
        return seen

    for results in everywhere(program, 2):
        assert results == [[["after"]], [["after"]]]


def test_an_operator_may_cancel_its_own_dataflow():
    worker = Worker(0, 1, ThreadFabric(1))
    handle = None

    def build(scope):
        nonlocal handle
        handle, stream = new_input(scope)
        inspect(stream, lambda time, batch: dataflow.cancel())

    dataflow = worker.dataflow(build)
    handle.send([1])
    handle.send([2])
    worker.step()
    assert dataflow.is_cancelled and not worker.dataflows
    assert not worker.step()
    worker.close()


def test_a_failing_operator_stops_its_dataflow_only_and_is_named():
    worker = Worker(0, 1, ThreadFabric(1))

    def build(scope):
        handle, stream = new_input(scope)
        inspect(stream, lambda time, batch: 1 // batch[0], name="divider")
        return handle

    broken, sound = worker.dataflow(build, name="broken"), worker.dataflow(build, name="sound")
    broken.result.send([0])
    sound.result.send([1])
    with pytest.raises(ZeroDivisionError) as caught:
        worker.step()
    assert "divider of dataflow broken on worker 0" in caught.value.__notes__[0]
    assert broken.failure is caught.value
    broken.result.send([1])
    sound.result.close()
    worker.step_while(lambda: not sound.is_complete)
    assert sound.failure is None and not broken.is_complete
    broken.cancel()
    worker.close()


def test_workers_that_build_different_dataflows_are_told():
    fabric = ThreadFabric(2)
    first, second = (Worker(index, 2, fabric) for index in range(2))
    first.dataflow(lambda scope: new_input(scope, "left"))
    with pytest.raises(InvalidDataflow, match="not the same on all workers"):
        second.dataflow(lambda scope: new_input(scope, "right"))


def test_an_idle_dataflow_costs_nothing_and_activation_from_outside_wakes_it():
    worker = Worker(0, 1, ThreadFabric(1))
    calls, contexts = [], []

    def build(scope):
        builder = OperatorBuilder(scope, "sleeper")
        builder.output()

        def construct(tokens, context):
            contexts.append(context)

            def logic():
                calls.append(len(calls))
                if len(calls) == 3:
                    context.activate()
                if len(calls) == 4:
                    tokens[0].drop()

            return logic

        builder.build(construct, wake=Wake.MESSAGES)

    dataflow = worker.dataflow(build)
    assert worker.step() and not worker.step() and not worker.step()
    assert not worker.wait(0.0)
    steps = dataflow.statistics().steps
    contexts[0].activator.activate()
    assert worker.wait(0.0) and worker.step() and not worker.step()
    assert dataflow.statistics().steps == steps + 1
    contexts[0].activator.activate()
    worker.step_while(lambda: not dataflow.is_complete)
    contexts[0].activator.activate()
    assert not worker.step()
    assert calls == [0, 1, 2, 3]
    assert (contexts[0].worker, contexts[0].peers, contexts[0].name) == (0, 1, "sleeper")


def test_statistics_count_what_was_done(everywhere):
    def program(worker):
        def build(scope):
            handle, stream = new_input(scope)
            exchange(stream, lambda batch: batch)
            return handle

        dataflow = worker.dataflow(build, name="counted")
        dataflow.result.send([0, 1])
        dataflow.result.close()
        while not dataflow.is_complete:
            yield
        return dataflow.statistics(), worker.statistics(), worker.fabric.statistics()

    for results in everywhere(program, 2):
        for index, (dataflow, worker, fabric) in enumerate(results):
            assert (dataflow.name, dataflow.operators, dataflow.outstanding, dataflow.is_complete) == (
                "counted",
                2,
                0,
                True,
            )
            assert dataflow.progress_sent >= 1 and dataflow.updates_sent >= dataflow.progress_sent
            assert (worker.index, worker.peers, worker.installed) == (index, 2, 1)
            assert worker.messages_received >= 2 and worker.steps >= dataflow.steps
            assert fabric.peers == 2 and fabric.messages_sent >= 4


def test_a_simulated_fabric_keeps_every_lane_in_order():
    fabric = SimulatedFabric(2, Random(4))
    for number in range(50):
        fabric.send(0, 1, (0, number % 3, (), number))
    assert fabric.waiting() == 50 and fabric.wait(1, None) and not fabric.wait(0, None)
    got = []
    while fabric.waiting():
        got += fabric.receive(1)
    assert [m[3] for m in got] != sorted(m[3] for m in got)
    for lane in range(3):
        numbers = [m[3] for m in got if m[1] == lane]
        assert numbers == [n for n in range(50) if n % 3 == lane]
    fabric.wake(1)
    assert fabric.statistics().messages_sent == 50


def test_waking_and_messages_end_a_wait_and_nothing_else_does():
    fabric = ThreadFabric(2)
    worker = Worker(0, 2, fabric)
    assert not worker.wait(0.01)
    worker.wake()
    assert worker.wait(0.0)
    assert not worker.wait(0.0)
    for signal in (worker.wake, lambda: fabric.send(1, 0, (7, 0, (0,), "early"))):
        timer = threading.Timer(0.02, signal)
        started = clock.monotonic()
        timer.start()
        assert worker.wait(60.0)
        assert clock.monotonic() - started < 30
        timer.join()
    assert fabric.statistics().messages_waiting == 1
    assert worker.step()
    assert fabric.waiting() == 0


@pytest.mark.parametrize("where", ["operator", "program", "beginning"])
def test_a_run_has_not_stalled_while_a_worker_is_inside_a_long_call(where):
    def wait(place):
        if where == place:
            clock.sleep(0.6)

    def begin(worker):
        if worker.index == 0:
            wait("beginning")
        return program(worker)

    def program(worker):
        def build(scope):
            handle, stream = new_input(scope)
            inspect(stream, lambda time, batch: wait("operator"))
            return handle

        handle = worker.dataflow(build).result
        yield
        if worker.index == 0:
            wait("program")
            yield
            handle.send([1])
        handle.close()
        return worker.index

    assert run_threads(begin, 2, patience_s=0.15) == [0, 1]


def test_a_run_whose_programs_look_again_and_again_for_what_never_comes_has_stalled():
    def program(worker):
        def build(scope):
            handle, stream = new_input(scope)
            return handle, probe(inspect(stream, print))

        handle, seen = worker.dataflow(build).result
        while not seen.is_done():  # nobody closes the input
            yield
        handle.close()

    with pytest.raises(TokenMisuse, match=r"input in dataflow 0 holds 1 token\(s\)"):
        run_threads(program, 2, patience_s=0.15)


def test_messages_for_a_dataflow_that_is_gone_are_dropped():
    fabric = SimulatedFabric(2, Random(1))
    worker = Worker(0, 2, fabric)
    gone = worker.dataflow(new_input)
    gone.cancel()
    fabric.send(1, 0, (0, -1, (), [((0, (0,)), -1)]))
    while fabric.waiting():
        worker.step()
    assert not worker.dataflows and worker.statistics().messages_received == 1


def test_one_worker_alone_sends_no_progress():
    worker = Worker(0, 1, ThreadFabric(1))
    dataflow = worker.dataflow(lambda scope: inspect(new_input(scope)[1], print))
    handle = dataflow.operators[0]
    worker.step()
    assert len(handle.outputs[0].tokens) == 1
    assert worker.fabric.statistics().messages_sent == 0
    dataflow.cancel()


def pair_of_workers():
    fabric = ThreadFabric(2)
    return [Worker(index, 2, fabric) for index in range(2)]


def to_the_second(taken):
    def build(scope):
        handle, stream = new_input(scope)
        inspect(exchange(stream, lambda batch: [1] * len(batch)), lambda _, batch: taken.extend(batch))
        return handle

    return build


def step_both(first, second):
    for _ in range(20):
        first.step()
        second.step()


def test_what_comes_for_a_number_that_is_reserved_waits_until_its_dataflow_is_there():
    first, second = pair_of_workers()
    reserved = [worker.reserve() for worker in (first, second)]
    other = [worker.dataflow(to_the_second([])) for worker in (first, second)]
    taken = []
    early = first.dataflow(to_the_second([]), number=reserved[0])
    assert early.number < other[0].number
    early.result.send([7, 8])
    early.result.close()
    step_both(first, second)
    late = second.dataflow(to_the_second(taken), number=reserved[1])
    late.result.close()
    step_both(first, second)
    assert taken == [7, 8]
    assert early.is_complete and late.is_complete
    for dataflow in other:
        dataflow.cancel()


def test_a_number_that_is_given_up_is_not_counted_and_what_comes_for_it_is_dropped():
    first, second = pair_of_workers()
    reserved = [worker.reserve() for worker in (first, second)]
    lost = first.dataflow(to_the_second([]), number=reserved[0])
    lost.result.send([7])
    step_both(first, second)
    second.give_up(reserved[1])
    assert (first.statistics().installed, second.statistics().installed) == (1, 0)
    assert not second._early
    lost.result.send([8])
    step_both(first, second)
    assert not second._early
    with pytest.raises(KeyError):
        second.dataflow(to_the_second([]), number=reserved[1])
    lost.cancel()


def test_progress_that_nobody_waits_for_is_told_when_a_worker_has_nothing_to_do_and_at_the_end():
    fabric = ThreadFabric(2)
    workers = [Worker(index, 2, fabric) for index in range(2)]
    tokens = {}

    def build(scope):
        builder = OperatorBuilder(scope, "holder")
        builder.output()

        def construct(own, context):
            tokens[context.worker] = own[0]
            return lambda: None

        builder.build(construct, wake=Wake.MESSAGES)
        scope.dataflow.lags = True

    def settle():
        while any(worker.step() for worker in workers):
            pass

    flows = [worker.dataflow(build) for worker in workers]
    settle()
    for time in range(1, 4):
        tokens[0].downgrade((time,))
        settle()
    assert [flow.statistics().progress_sent for flow in flows] == [0, 0]
    flows[0].tell_progress()
    flows[1].tell_progress()  # has nothing to tell
    settle()
    assert [flow.statistics().progress_sent for flow in flows] == [1, 0]
    assert ((0, (3,)), 1) in [
        ((place, time), count) for (place, time), count in flows[1].tracker.pointstamps()
    ]
    for token in tokens.values():
        token.drop()
        settle()
    assert [flow.is_complete for flow in flows] == [True, True]
