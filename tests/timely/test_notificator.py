"""Notifications: never early, in order, guarantee and capability apart, under random delivery."""

from random import Random

import numpy as np
import pytest

from tornado.errors import InvalidArgument, TokenMisuse
from tornado.timely import Exchange, OperatorBuilder, Routed
from tornado.timely.execute import run_simulated, run_threads
from tornado.timely.notificator import Notificator
from tornado.timely.operators import inspect, new_input, unary_notify

SEEDS = range(40)


def feed(worker, handle, epochs):
    """Send batches of random sizes to random workers, epoch by epoch."""
    random = Random(worker.index)
    for epoch in range(epochs):
        for _ in range(random.randint(0, 3)):
            handle.send([random.randint(0, 99) for _ in range(random.randint(1, 5))])
            yield
        handle.advance_to(epoch + 1)
        yield
    handle.close()


@pytest.mark.parametrize("peers", [1, 2, 3])
def test_no_notification_comes_before_its_time_whatever_the_delivery(peers):
    for seed in SEEDS:
        print(f"seed {seed}, peers {peers}")
        sent = {}  # epoch -> batches on their way to a worker, of all workers
        told = {worker: [] for worker in range(peers)}

        def program(worker, sent=sent, told=told):
            def build(scope):
                handle, stream = new_input(scope)

                def count(time, batch):
                    for record in batch:
                        key = time, record % peers
                        sent[key] = sent.get(key, 0) + 1

                def logic(port, output, notificator):
                    for received, batch in port.pull():
                        for _ in batch:
                            sent[received.time, worker.index] -= 1
                        assert received.time not in told[worker.index], "a message behind its notification"
                        notificator.notify_at(received.time, received.retain())
                        if received.time[0] % 2:
                            notificator.notify_at(received.time)
                    for time, token in notificator.ready():
                        for (when, whom), number in sent.items():
                            assert number == 0 or whom != worker.index or when > time, f"early at {time}"
                        told[worker.index].append(time)
                        if token is not None:
                            assert token.time == time
                            token.drop()

                unary_notify(inspect(stream, count), Exchange(lambda batch: batch), logic)
                return handle

            yield from feed(worker, worker.dataflow(build).result, 6)

        run_simulated(program, peers, seed)
        for times in told.values():
            assert times == sorted(times)
        assert any(told.values())


def run_alone(logic, epochs=(0,)):
    """Have one worker send a batch in each epoch to an operator with this logic; return what that sends."""
    sent = []

    def program(worker):
        def build(scope):
            handle, stream = new_input(scope)
            result = unary_notify(stream, Exchange(lambda batch: batch), logic)
            inspect(result, lambda time, batch: sent.append((time, batch)))
            return handle

        handle = worker.dataflow(build).result
        for epoch in epochs:
            handle.advance_to(epoch)
            handle.send([epoch])
        handle.close()
        yield

    run_threads(program, peers=1)
    return sent


def test_a_notification_asked_for_while_handling_another_still_comes_in_order():
    told = []

    def logic(port, output, notificator):
        for received, _ in port.pull():
            notificator.notify_at(received.time, received.retain())
        for time, token in notificator.ready():
            told.append((time, token is None))
            if token is not None and time == (0,):
                # All of these are over already; (1,) comes before the (2,) that was asked for long ago.
                notificator.notify_at((1,), token.delayed((4,)))
                notificator.notify_at((1,))
            if token is not None:
                token.drop()

    run_alone(logic, epochs=(0, 2))
    assert told == [((0,), False), ((1,), False), ((1,), True), ((2,), False)]


def test_the_capability_may_be_later_than_the_guarantee_but_not_earlier():
    def logic(port, output, notificator):
        for received, _ in port.pull():
            early = received.retain()
            with pytest.raises(TokenMisuse, match="earlier"):
                notificator.notify_at((3,), early)
            notificator.notify_at(received.time, early.delayed((10,)))
            early.drop()
            with pytest.raises(TokenMisuse, match="dropped"):
                notificator.notify_at(received.time, early)
        for time, token in notificator.ready():
            output.send(token, [time])
            token.drop()

    assert run_alone(logic) == [((10,), [(0,)])]


def test_a_guarantee_is_a_time_of_the_inputs_and_is_handed_back_as_integers_of_python():
    told = []

    def logic(port, output, notificator):
        for received, _ in port.pull():
            for wrong in ((1, 2), (4.5,), ("x",), 4):
                with pytest.raises(InvalidArgument, match=r"has times of 1 counters, and .* is none"):
                    notificator.notify_at(wrong)
            assert len(notificator) == 0
            notificator.notify_at((np.int64(received.time[0]),))
        told.extend(notificator.ready())

    run_alone(logic)
    assert told == [((0,), None)] and type(told[0][0][0]) is int


def test_a_request_without_a_token_holds_nothing_up_and_is_still_honoured():
    for seed in SEEDS:
        told = []

        def program(worker, told=told):
            def build(scope):
                handle, stream = new_input(scope)
                builder = OperatorBuilder(scope, "purge")
                port = builder.input(stream, Routed())
                notificator = Notificator([port])

                def construct(tokens, context):
                    def logic():
                        for received, _ in port.pull():
                            notificator.notify_at(received.time)
                        told.extend(time for time, _ in notificator.ready())

                    return logic

                builder.build(construct)
                return handle

            handle = worker.dataflow(build).result
            for epoch in range(3):
                handle.send([1], target=0)
                handle.advance_to(epoch + 1)
                yield
            handle.close()

        run_simulated(program, 2, seed)
        assert sorted(set(told)) == [(0,), (1,), (2,)]
        assert told == sorted(told)
