"""Every way to misuse a token is refused, changes nothing, and names the operator."""

import time

import numpy as np
import pytest

from tornado.errors import InvalidArgument, InvalidDataflow, TokenMisuse
from tornado.timely import OperatorBuilder, PathSummary, ThreadFabric, Wake, Worker
from tornado.timely.execute import run_simulated, run_threads
from tornado.timely.operators import inspect, new_input, probe


class Bench:
    """One worker with a source and an operator of two outputs whose turn is played by the test."""

    def __init__(self, connections=None):
        self.worker = Worker(0, 1, ThreadFabric(1))
        self.turn = lambda: None
        self.dataflow = self.worker.dataflow(lambda scope: self.build(scope, connections or {}), name="bench")
        self.worker.step()

    def build(self, scope, connections):
        self.input, stream = new_input(scope, "source")
        builder = OperatorBuilder(scope, "player")
        self.port = builder.input(stream)
        first, second = (
            connections.get(0, PathSummary.identity(1)),
            connections.get(1, PathSummary.identity(1)),
        )
        self.left, left = builder.output(first)
        self.right, right = builder.output(second)
        self.probes = probe(left), probe(right)

        def construct(tokens, context):
            self.tokens, self.context = tokens, context
            return self.act

        builder.build(construct)

    def act(self):
        self.turn()

    def play(self, turn):
        """Let the operator do `turn` with one message at (0,) before it."""
        self.turn = lambda: [turn(received) for received, _ in self.port.pull()]
        self.input.send([1])
        self.worker.step()


def refused(act, *words):
    with pytest.raises(TokenMisuse) as caught:
        act()
    for word in words:
        assert word in str(caught.value)


def test_a_dropped_token_can_do_nothing():
    bench = Bench()
    token = bench.tokens[0]
    token.drop()
    for what in [token.drop, token.clone, lambda: token.downgrade((3,)), lambda: token.delayed((3,))]:
        refused(what, "dropped before", "(0,)")
    refused(lambda: bench.left.send(token, [1]), "dropped", "output 0 of player")
    assert not token.is_live and token.time == (0,)
    bench.input.close()
    bench.worker.step()
    assert bench.probes[0].frontier() == ()
    assert bench.probes[1].frontier() == ((0,),)


def test_a_token_of_one_output_does_not_send_through_another():
    bench = Bench()
    refused(lambda: bench.left.send(bench.tokens[1], [1]), "output 0 of player", "output 1 of player")


def test_a_token_does_not_go_back_in_time_and_stays_where_it_was():
    bench = Bench()
    token = bench.tokens[0]
    token.downgrade((5,))
    refused(lambda: token.downgrade((4,)), "player", "(5,)", "(4,)")
    refused(lambda: token.delayed((4,)), "player")
    assert token.time == (5,)
    later = token.delayed((7,))
    assert (token.time, later.time) == ((5,), (7,))
    token.drop()
    bench.input.close()
    bench.worker.step()
    assert bench.probes[0].frontier() == ((7,),)


@pytest.mark.parametrize("wrong", [(1, 2), 3, (4.5,), (0.0,), ("x",), np.int64(3)])
def test_what_is_no_time_is_refused_and_blames_the_caller(wrong):
    bench = Bench()
    token = bench.tokens[0]

    def turn(received):
        for call in (token.downgrade, token.delayed, lambda time: received.retain(bench.right, time)):
            with pytest.raises(
                InvalidArgument, match=r"player has times of 1 counters, and .* is none of them"
            ):
                call(wrong)

    bench.play(turn)
    assert token.time == (0,) and list(bench.left.tokens) == [token]


def test_times_of_tokens_are_integers_of_python_whatever_is_given():
    bench = Bench()
    token = bench.tokens[0]
    made = []
    bench.play(lambda received: made.append(received.retain(bench.right, (np.int64(1),))))
    token.downgrade((np.int64(4),))
    made += [token, token.delayed((np.uint8(5),))]
    assert [one.time for one in made] == [(1,), (4,), (5,)]
    assert {type(one.time[0]) for one in made} == {int}


def test_a_received_time_is_retained_only_until_the_operator_yields():
    bench = Bench()
    kept = []
    bench.play(kept.append)
    refused(kept[0].retain, "player", "yielded")


def test_a_received_time_is_retained_only_for_connected_outputs_and_not_for_earlier_times():
    bench = Bench({0: None, 1: PathSummary.feedback(1, 2)})

    def turn(received):
        refused(lambda: received.retain(bench.left), "not connected", "player")
        refused(lambda: received.retain(bench.right, (1,)), "(1,)")
        refused(lambda: received.retain(bench.input._output), "not its output")
        assert received.retain(bench.right).time == (2,)
        assert received.retain(bench.right, (9,)).time == (9,)

    bench.tokens[0].drop()
    bench.tokens[1].drop()
    bench.play(turn)
    bench.input.close()
    bench.worker.step()
    assert bench.dataflow.failure is None
    assert [p.frontier() for p in bench.probes] == [(), ((2,),)]


def test_an_operator_with_several_minimal_paths_must_name_the_time():
    def build(scope):
        handle, stream = new_input(scope)
        loop = scope.loop()
        builder = OperatorBuilder(loop, "fork")
        port = builder.input(loop.enter(stream))
        builder.output([PathSummary(2, 2, (1, 0)), PathSummary(2, 2, (0, 1))])

        def construct(tokens, context):
            tokens[0].drop()

            def logic():
                for received, _ in port.pull():
                    refused(received.retain, "name the one")
                    received.retain(time=(0, 1)).drop()
                    received.retain(time=(1, 0)).drop()
                    refused(lambda received=received: received.retain(time=(0, 0)), "does not allow")

            return logic

        builder.build(construct)
        return handle

    worker = Worker(0, 1, ThreadFabric(1))
    dataflow = worker.dataflow(build)
    dataflow.result.send([1])
    dataflow.result.close()
    worker.step_while(lambda: not dataflow.is_complete)


def test_a_query_without_tokens_of_others_or_dropped_ones_is_refused():
    bench = Bench()
    foreign = bench.input._token
    refused(lambda: bench.context.output_frontier_excluding([foreign]), "player", "does not hold")
    bench.tokens[0].drop()
    refused(lambda: bench.context.input_frontier_excluding([bench.tokens[0]]), "player", "does not hold")


def test_sending_while_the_graph_is_built_is_refused():
    def build(scope):
        builder = OperatorBuilder(scope, "hasty")
        output, _ = builder.output()

        def construct(tokens, context):
            output.send(tokens[0], [1])
            return lambda: None

        builder.build(construct)

    worker = Worker(0, 1, ThreadFabric(1))
    with pytest.raises(InvalidDataflow, match="output 0 of hasty"):
        worker.dataflow(build)
    assert not worker.dataflows


def keeper(worker):
    """A program whose operator never drops its token."""

    def build(scope):
        builder = OperatorBuilder(scope, "forgetful")
        _, stream = builder.output()
        inspect(stream, lambda time, batch: None)
        builder.build(lambda tokens, context: lambda: None, wake=Wake.MESSAGES)

    worker.dataflow(build, name="main")


def test_a_leaked_token_is_reported_with_the_name_of_its_operator():
    worker = Worker(0, 1, ThreadFabric(1))
    keeper(worker)
    worker.step()
    with pytest.raises(TokenMisuse, match=r"forgetful in main holds 1 token\(s\) for output 0"):
        worker.close()
    assert not worker.dataflows


def test_a_run_that_stalls_on_a_leaked_token_ends_with_that_report():
    with pytest.raises(TokenMisuse, match="forgetful"):
        run_simulated(keeper, peers=2, seed=3)
    with pytest.raises(TokenMisuse, match="forgetful"):
        run_threads(keeper, peers=2, patience_s=0.2)


@pytest.mark.parametrize("closes_for_s", [0.0, 0.3])
@pytest.mark.parametrize("leaking", [0, 1])
def test_who_waits_for_a_worker_that_leaks_a_token_is_not_blamed_for_it(leaking, closes_for_s, monkeypatch):
    def program(worker):
        def build(scope):
            builder = OperatorBuilder(scope, "forgetful")
            _, stream = builder.output()
            inspect(stream, lambda time, batch: None)

            def construct(tokens, _):
                if worker.index != leaking:
                    tokens[0].drop()
                return lambda: None

            builder.build(construct, wake=Wake.MESSAGES)

        worker.dataflow(build, name="main")

    close = Worker.close

    def close_slowly(worker):
        try:
            close(worker)
        finally:
            time.sleep(closes_for_s)

    monkeypatch.setattr(Worker, "close", close_slowly)
    for _ in range(5):
        with pytest.raises(TokenMisuse, match=f"worker {leaking} closes while forgetful"):
            run_threads(program, peers=2, patience_s=0.1)


def test_tokens_of_a_cancelled_dataflow_are_not_leaked_and_may_still_be_dropped():
    bench = Bench()
    bench.dataflow.cancel()
    bench.tokens[0].drop()
    bench.worker.step()
    bench.worker.close()
