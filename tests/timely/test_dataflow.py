"""Whole dataflows: the papers' examples, loops in loops, many at once, failures."""

import numpy as np
import pytest

from tornado.errors import InvalidArgument, InvalidDataflow
from tornado.timely import (
    Exchange,
    OperatorBuilder,
    PathSummary,
    Pipeline,
    Routed,
    SimulatedFabric,
    ThreadFabric,
    Wake,
    Worker,
)
from tornado.timely.execute import run_simulated, run_threads
from tornado.timely.notificator import Notificator
from tornado.timely.operators import (
    aggregate,
    binary_frontier,
    concat,
    exchange,
    filter_batches,
    inspect,
    map_batches,
    new_input,
    probe,
    unary_frontier,
)

SEEDS = range(20)


def everywhere(program, peers):
    """Run under threads once and under many seeds, and give the results of each run."""
    yield run_threads(program, peers)
    for seed in SEEDS:
        print(f"seed {seed}, peers {peers}")
        yield run_simulated(program, peers, seed).results


def distinct_count(scope, stream):
    """The vertex of Naiad, Figure 4: distinct records at once, their counts when the time is complete."""
    builder = OperatorBuilder(scope, "distinct count")
    port = builder.input(stream, Exchange(lambda batch: batch))
    distinct, first = builder.output()
    counts, second = builder.output()
    notificator = Notificator([port])
    state = {}

    def construct(tokens, context):
        for token in tokens:
            token.drop()

        def logic():
            for received, batch in port.pull():
                time = received.time
                if time not in state:
                    state[time] = {}
                    notificator.notify_at(time, received.retain(counts))
                new = []
                for record in batch:
                    if record not in state[time]:
                        state[time][record] = 0
                        new.append(record)
                    state[time][record] += 1
                if new:
                    token = received.retain(distinct)
                    distinct.send(token, new)
                    token.drop()
            for time, token in notificator.ready():
                counts.send(token, sorted(state.pop(time).items()))
                token.drop()

        return logic

    builder.build(construct)
    return first, second


@pytest.mark.parametrize("peers", [1, 2, 4])
def test_distinct_count_sends_records_at_once_and_counts_when_the_time_is_complete(peers):
    words = {epoch: [(epoch * 7 + k * k) % 10 for k in range(12)] for epoch in range(4)}

    def program(worker):
        seen, counted = [], []

        def build(scope):
            handle, stream = new_input(scope)
            first, second = distinct_count(scope, stream)
            inspect(first, lambda time, batch: seen.extend((time, record) for record in batch))
            inspect(second, lambda time, batch: counted.extend((time, *pair) for pair in batch))
            return handle, probe(first), probe(second)

        handle, _, counts_done = worker.dataflow(build).result
        for epoch, records in words.items():
            handle.send(records[worker.index :: worker.peers])
            yield
            # The epoch is still open, and yet the distinct records come out, or this would wait for ever.
            while peers == 1 and {record for time, record in seen if time == (epoch,)} != set(records):
                yield
            assert not any(time == (epoch,) for time, *_ in counted), "counts before the time was complete"
            handle.advance_to(epoch + 1)
            while counts_done.less_than(epoch + 1):
                yield
        handle.close()
        return seen, counted

    for results in everywhere(program, peers):
        seen = sorted(pair for part, _ in results for pair in part)
        counted = sorted(triple for _, part in results for triple in part)
        expected = sorted({((epoch,), record) for epoch, records in words.items() for record in records})
        assert seen == expected
        assert counted == [(time, record, words[time[0]].count(record)) for time, record in expected]


def collatz_rounds(scope, stream, lexicographic):
    """A loop in a loop: each number goes round until it is 1; inside, it is halved until it is odd."""
    outer = scope.loop("outer", lexicographic=lexicographic)
    rounds = outer.feedback()
    entering = concat(outer.enter(stream), rounds.stream, name="rounds")
    inner = outer.loop("inner", lexicographic=lexicographic)
    halvings = inner.feedback()
    numbers = concat(inner.enter(entering), halvings.stream, name="halvings")
    # (start, number, halvings, triplings)
    shuffled = exchange(numbers, lambda batch: batch[:, 1] // 2)
    even = filter_batches(shuffled, lambda batch: batch[:, 1] % 2 == 0)
    halvings.connect(
        map_batches(even, lambda batch: np.c_[batch[:, 0], batch[:, 1] // 2, batch[:, 2] + 1, batch[:, 3]])
    )
    odd = inner.leave(filter_batches(shuffled, lambda batch: batch[:, 1] % 2 == 1))
    more = filter_batches(odd, lambda batch: batch[:, 1] != 1)
    rounds.connect(map_batches(more, lambda b: np.c_[b[:, 0], 3 * b[:, 1] + 1, b[:, 2], b[:, 3] + 1]))
    return outer.leave(filter_batches(odd, lambda batch: batch[:, 1] == 1))


def collatz(number):
    halvings = triplings = 0
    while number != 1:
        if number % 2:
            number, triplings = 3 * number + 1, triplings + 1
        else:
            number, halvings = number // 2, halvings + 1
    return halvings, triplings


@pytest.mark.parametrize("lexicographic", [False, True])
@pytest.mark.parametrize("peers", [1, 3])
def test_a_loop_in_a_loop_gives_the_sequential_answer_for_every_epoch(peers, lexicographic):
    starts = {0: range(1, 13), 1: range(16, 20), 2: range(20, 22)}

    def program(worker):
        found = {}

        def build(scope):
            handle, stream = new_input(scope)
            result = collatz_rounds(scope, stream, lexicographic)
            shown = inspect(result, lambda time, batch: found.setdefault(time, []).append(batch))
            return handle, probe(shown)

        handle, done = worker.dataflow(build).result
        for epoch, numbers in starts.items():
            mine = np.array([n for n in numbers if n % worker.peers == worker.index], dtype=np.int64)
            zero = np.zeros_like(mine)
            handle.send(np.c_[mine, mine, zero, zero])
            handle.advance_to(epoch + 1)
            if epoch == 1:
                while done.less_than(2):
                    yield
                complete = {time: sum(map(len, found[time])) for time in found if time < (2,)}
        handle.close()
        while not done.is_done():
            yield
        assert complete == {time: sum(map(len, found[time])) for time in found if time < (2,)}
        return found

    for results in everywhere(program, peers):
        rows = {}
        for found in results:
            for time, batches in found.items():
                rows.setdefault(time, []).extend(row for batch in batches for row in batch.tolist())
        for epoch, numbers in starts.items():
            assert sorted(rows[epoch,]) == [[n, 1, *collatz(n)] for n in numbers]


def test_the_same_seed_gives_the_same_trace_and_another_seed_another():
    def program(worker):
        def build(scope):
            handle, stream = new_input(scope)
            collatz_rounds(scope, stream, lexicographic=False)
            return handle

        handle = worker.dataflow(build).result
        handle.send(np.array([[7, 7, 0, 0], [9, 9, 0, 0]]))
        yield
        handle.close()

    first, again, other = (run_simulated(program, 3, seed).trace for seed in (5, 5, 6))
    assert first == again
    assert first != other


def test_dataflows_are_installed_while_others_run_and_do_not_wait_for_each_other():
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


def test_a_cancelled_dataflow_drops_what_it_has_and_the_others_go_on():
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


def test_a_cycle_without_feedback_that_advances_is_refused_with_the_names_on_it():
    def build(scope):
        loop = scope.loop()
        again = loop.feedback(step=0)
        spun = map_batches(again.stream, lambda batch: batch, name="spinner")
        again.connect(map_batches(spun, lambda batch: batch, name="weaver"))

    worker = Worker(0, 1, ThreadFabric(1))
    with pytest.raises(InvalidDataflow, match="the cycle through spinner, weaver does not advance time"):
        worker.dataflow(build)
    assert not worker.dataflows and not worker.step()


def test_misbuilt_graphs_are_refused_with_what_to_do():
    worker = Worker(0, 1, ThreadFabric(1))

    def outside_in(scope):
        _, stream = new_input(scope)
        loop = scope.loop("round")
        concat(loop.enter(stream), stream)

    def never_fed(scope):
        map_batches(scope.loop("round").feedback().stream, len)

    def fed_by_itself(scope):
        again = scope.loop("round").feedback()
        again.connect(again.stream)
        map_batches(again.stream, len)

    def fed_twice(scope):
        loop = scope.loop("round")
        again = loop.feedback()
        again.connect(again.stream)
        again.connect(again.stream)

    def fed_from_outside(scope):
        _, stream = new_input(scope)
        scope.loop("round").feedback().connect(stream)

    def leaves_from_outside(scope):
        _, stream = new_input(scope)
        scope.loop("round").leave(stream)

    def enters_two_at_once(scope):
        _, stream = new_input(scope)
        scope.loop("outer").loop("round").enter(stream)

    def built_twice(scope):
        builder = OperatorBuilder(scope, "round")
        for _ in range(2):
            builder.build(lambda tokens, context: lambda: None)

    for build in [outside_in, never_fed, fed_by_itself, fed_twice, fed_from_outside, leaves_from_outside,
                  enters_two_at_once, built_twice]:  # fmt: skip
        with pytest.raises(InvalidDataflow, match="round"):
            worker.dataflow(build)
    with pytest.raises(InvalidDataflow, match="at least one"):
        concat()


def test_workers_that_build_different_dataflows_are_told():
    fabric = ThreadFabric(2)
    first, second = (Worker(index, 2, fabric) for index in range(2))
    first.dataflow(lambda scope: new_input(scope, "left"))
    with pytest.raises(InvalidDataflow, match="not the same on all workers"):
        second.dataflow(lambda scope: new_input(scope, "right"))


def test_routed_batches_go_where_the_sender_says_in_order():
    def program(worker):
        got = []

        def build(scope):
            handle, stream = new_input(scope)

            def construct(token, context):
                token.drop()

                def logic(port, output):
                    got.extend(batch for _, batch in port.pull())

                return logic

            unary_frontier(stream, Routed(), construct)
            return handle

        handle = worker.dataflow(build).result
        for number in range(9):
            handle.send((worker.index, number), target=number % worker.peers)
            if number % 4 == 0:
                yield
        with pytest.raises(InvalidArgument, match="target"):
            handle.send((0, 0), target=worker.peers)
        with pytest.raises(InvalidArgument, match="target"):
            handle.send((0, 0))
        handle.close()
        handle.close()
        assert not handle.is_open
        return got

    for results in everywhere(program, 3):
        for index, got in enumerate(results):
            for sender in range(3):
                assert [n for s, n in got if s == sender] == [n for n in range(9) if n % 3 == index]


def test_exchange_splits_arrays_columns_and_lists_alike():
    records = [5, 3, 8, 1, 1, 12, 7]
    batches = [np.array(records), (np.array(records), np.array(records) * 10), records]
    keys = [lambda batch: batch, lambda batch: batch[0], lambda batch: batch]
    for batch, key in zip(batches, keys, strict=True):
        parts = list(Exchange(key).route(batch, 0, 3, None))
        assert [worker for worker, _ in parts] == [0, 1, 2]
        for worker, part in parts:
            first = part[0] if isinstance(part, tuple) else part
            assert list(first) == [record for record in records if record % 3 == worker]
            if isinstance(part, tuple):
                assert (part[1] == part[0] * 10).all()
    assert list(Exchange(keys[0]).route(np.array([], dtype=np.int64), 0, 3, None)) == []
    assert list(Exchange(keys[0]).route(np.array([-1, 4]), 0, 2, None))[1][1].tolist() == [-1]


def test_binary_operators_see_both_inputs_and_both_frontiers():
    def program(worker):
        rows = []

        def build(scope):
            left, lefts = new_input(scope, "left")
            right, rights = new_input(scope, "right")

            def construct(token, context):
                token.drop()
                seen = {}

                def logic(first, second, output):
                    for side, port in enumerate((first, second)):
                        for received, batch in port.pull():
                            if received.time not in seen:
                                seen[received.time] = [], [], received.retain()
                            seen[received.time][side].extend(batch)
                    for time in sorted(seen):
                        if not first.may_receive(time) and not second.may_receive(time):
                            a, b, token = seen.pop(time)
                            output.send(token, sorted(set(a) & set(b)))
                            token.drop()

                return logic

            both = (Exchange(lambda batch: batch), Exchange(lambda batch: batch))
            joined = binary_frontier(lefts, rights, both, construct)
            joined.then(inspect, lambda time, batch: rows.extend((time, record) for record in batch))
            return left, right

        left, right = worker.dataflow(build).result
        for epoch in range(3):
            left.send([n for n in range(10 * epoch + 10) if n % worker.peers == worker.index])
            yield
            right.send([3 * n for n in range(10) if n % worker.peers == worker.index])
            left.advance_to(epoch + 1)
            yield
            right.advance_to(epoch + 1)
        assert (left.time, right.time) == ((3,), (3,))
        left.close()
        right.close()
        return rows

    for results in everywhere(program, 2):
        rows = sorted(row for part in results for row in part)
        assert rows == [((e,), 3 * n) for e in range(3) for n in range(10) if 3 * n < 10 * e + 10]


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


def test_statistics_count_what_was_done():
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


def test_messages_a_call_leaves_are_there_in_the_next_and_own_sends_wait_for_it():
    calls = []

    def build(scope):
        loop = scope.loop()
        again = loop.feedback()
        builder = OperatorBuilder(loop, "picky")
        port = builder.input(again.stream, Pipeline())
        output, stream = builder.output()
        again.connect(stream)

        def construct(tokens, context):
            def logic():
                if tokens[0].is_live:
                    for number in range(3):
                        output.send(tokens[0], number)
                    tokens[0].drop()
                for received, number in port.pull():
                    calls.append((received.time[1], number, len(port)))
                    if number == 2 and received.time[1] < 3:
                        token = received.retain()
                        output.send(token, 2)
                        token.drop()
                    break

            return logic

        builder.build(construct)

    worker = Worker(0, 1, ThreadFabric(1))
    dataflow = worker.dataflow(build)
    worker.step_while(lambda: not dataflow.is_complete)
    assert calls == [(1, 0, 2), (1, 1, 1), (1, 2, 0), (2, 2, 0), (3, 2, 0)]


def test_an_output_that_ignores_an_input_is_not_held_up_by_it():
    def build(scope):
        handle, stream = new_input(scope)
        builder = OperatorBuilder(scope, "free")
        builder.input(stream)
        _, ignoring = builder.output(None)
        _, later = builder.output({0: PathSummary.feedback(1, 5)})

        def construct(tokens, context):
            for token in tokens:
                token.drop()
            return lambda: None

        builder.build(construct)
        return handle, probe(ignoring), probe(later)

    worker = Worker(0, 1, ThreadFabric(1))
    handle, ignoring, later = worker.dataflow(build).result
    handle.advance_to(2)
    worker.step_while(lambda: later.less_than(7))
    assert ignoring.is_done()
    assert later.frontier() == ((7,),) and later.less_equal(7) and not later.less_equal(6)
    handle.close()
    worker.step()
    assert later.is_done()


def test_a_simulated_fabric_keeps_every_lane_in_order():
    from random import Random

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
