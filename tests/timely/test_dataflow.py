"""Whole dataflows: the papers' examples, loops in loops, graphs that are refused."""

import numpy as np
import pytest

from tornado.errors import InvalidDataflow
from tornado.timely import (
    Exchange,
    OperatorBuilder,
    ThreadFabric,
    Worker,
)
from tornado.timely.execute import run_simulated
from tornado.timely.notificator import Notificator
from tornado.timely.operators import (
    concat,
    exchange,
    filter_batches,
    inspect,
    map_batches,
    new_input,
    probe,
)


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
def test_distinct_count_sends_records_at_once_and_counts_when_the_time_is_complete(everywhere, peers):
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
def test_a_loop_in_a_loop_gives_the_sequential_answer_for_every_epoch(everywhere, peers, lexicographic):
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
