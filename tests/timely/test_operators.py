"""Operators and pacts: what goes where, and what holds up what."""

import numpy as np
import pytest

from tornado.errors import InvalidArgument
from tornado.timely import (
    Exchange,
    OperatorBuilder,
    PathSummary,
    Pipeline,
    Routed,
    ThreadFabric,
    Worker,
)
from tornado.timely.operators import (
    binary_frontier,
    concat,
    filter_batches,
    inspect,
    map_batches,
    new_input,
    probe,
    unary_frontier,
)


def test_routed_batches_go_where_the_sender_says_in_order(everywhere):
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


ROWS = [5, 3, 8]


@pytest.mark.parametrize(
    ("batch", "records"),
    [
        (np.array(ROWS), "3 records"),
        ((np.array(ROWS), np.array(ROWS)), r"columns of \[3, 3\] records"),
        (ROWS, "3 records"),
    ],
    ids=["array", "columns", "list"],
)
@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ([1], "1 keys"),
        ([], "0 keys"),
        ([1, 2, 3, 4], "4 keys"),
        (np.array([1]), "1 keys"),
        (7, r"keys of shape \(\)"),
    ],
)
def test_keys_that_are_not_one_for_each_record_are_refused_and_no_record_is_lost(batch, records, keys, said):
    with pytest.raises(
        InvalidArgument, match=f"gave {said} for a batch of {records}.*one integer for each record"
    ):
        Exchange(lambda _: keys).route(batch, 0, 2, None)


@pytest.mark.parametrize("peers", [1, 2, 3])
@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ([-1e-20, 1.0, 2.0], "-1e-20"),
        ([np.nan, 1.0, 2.0], "nan"),
        ([np.inf, 1.0, 2.0], "inf"),
        ([0.5, 1.5, 2.5], "0.5"),
        ([2.0, 4.0, 6.0], "2.0"),
        (["a", "b", "c"], "'a'"),
    ],
)
@pytest.mark.parametrize(
    "batch", [np.array(ROWS), (np.array(ROWS), np.array(ROWS)), ROWS], ids=["array", "columns", "list"]
)
def test_keys_that_are_no_integers_are_refused_whatever_the_number_of_workers(batch, keys, said, peers):
    for given in (keys, np.array(keys)):
        with pytest.raises(InvalidArgument, match=f"gave .*{said}.* but a key is an integer"):
            list(Exchange(lambda _, given=given: given).route(batch, 0, peers, None))


@pytest.mark.parametrize("kind", [np.bool_, np.int8, np.uint8, np.int64, np.uint64])
def test_keys_are_integers_and_truth_values_of_any_width(kind):
    keys = np.array([0, 1, 1]).astype(kind)
    for given in (keys, list(keys), keys.tolist()):
        for batch in (np.array(ROWS), ROWS):
            parts = Exchange(lambda _, given=given: given).route(batch, 0, 2, None)
            assert [(worker, list(part)) for worker, part in parts] == [(0, ROWS[:1]), (1, ROWS[1:])]
    assert list(Exchange(lambda batch: batch).route(np.array([]), 0, 1, None)) == []


@pytest.mark.parametrize(
    ("mask", "said"),
    [
        ([True], "1 truth values"),
        ([], "0 truth values"),
        ([True, False, True, True], "4 truth values"),
        (True, r"truth values of shape \(\)"),
        (np.bool_(True), r"truth values of shape \(\)"),
        (np.array(True), r"truth values of shape \(\)"),
    ],
)
@pytest.mark.parametrize(
    "batch", [np.array(ROWS), (np.array(ROWS), np.array(ROWS)), ROWS], ids=["array", "columns", "list"]
)
def test_a_mask_that_is_not_as_long_as_its_batch_is_refused_and_no_record_is_lost(batch, mask, said):
    with pytest.raises(InvalidArgument, match=f"the predicate of a filter gave {said} for a batch of"):
        filtered(batch, mask)


def test_a_mask_of_numbers_is_refused_as_it_would_pick_records():
    with pytest.raises(InvalidArgument, match="an array of int64, by which records would be picked"):
        filtered(np.array(ROWS), [0, 1, 1])
    assert filtered(np.array(ROWS), [False, True, True])[0].tolist() == ROWS[1:]
    assert filtered(ROWS, iter([False, True, True])) == [ROWS[1:]]
    assert filtered(np.array([]), []) == []


def filtered(batch, mask):
    """What a filter with this mask passes on of a batch."""
    kept = []

    def build(scope):
        handle, stream = new_input(scope)
        inspect(filter_batches(stream, lambda _: mask), lambda _, batch: kept.append(batch))
        return handle

    worker = Worker(0, 1, ThreadFabric(1))
    handle = worker.dataflow(build).result
    handle.send(batch)
    handle.close()
    worker.step_while(lambda: bool(worker.dataflows))
    return kept


def test_columns_of_a_batch_that_differ_in_length_are_refused():
    batch = (np.array(ROWS), np.arange(4))
    with pytest.raises(InvalidArgument, match=r"3 keys for a batch of columns of \[3, 4\] records"):
        Exchange(lambda columns: columns[0]).route(batch, 0, 2, None)


def test_an_input_that_is_told_to_go_back_or_was_closed_blames_the_caller_and_stays_where_it_is():
    worker = Worker(0, 1, ThreadFabric(1))
    handle = worker.dataflow(lambda scope: new_input(scope)[0]).result
    handle.advance_to(3)
    for wrong, message in [
        (1, r"is at \(3,\) and cannot go back to \(1,\)"),
        ((1, 2), r"the input has times of 1 counters, and \(1, 2\) is none of them"),
        ((4.5,), r"\(4.5,\) is none of them"),
        (("x",), r"\('x',\) is none of them"),
        (4.0, r"\(4.0,\) is none of them"),
    ]:
        with pytest.raises(InvalidArgument, match=message) as caught:
            handle.advance_to(wrong)
        assert "bug" not in str(caught.value)
    assert handle.time == (3,)
    handle.advance_to(3)
    handle.close()
    for call in (lambda: handle.advance_to(4), lambda: handle.send([1])):
        with pytest.raises(InvalidArgument, match=r"closed at \(3,\) and cannot"):
            call()


@pytest.mark.parametrize("epoch", [4, (4,), np.int64(4), (np.int64(4),), (np.uint8(4),)])
def test_an_epoch_is_an_integer_of_any_kind_and_goes_through_loops_in_loops(epoch):
    seen = []

    def build(scope):
        handle, stream = new_input(scope)
        outer = scope.loop()
        inner = outer.loop()
        again = outer.feedback()
        turning = inner.enter(concat(outer.enter(stream), again.stream))
        fewer = inner.leave(map_batches(turning, lambda batch: [n - 1 for n in batch if n] or None))
        again.connect(fewer)
        inspect(outer.leave(fewer), lambda time, batch: seen.append((time, batch)))
        return handle

    worker = Worker(0, 1, ThreadFabric(1))
    handle = worker.dataflow(build).result
    handle.advance_to(epoch)
    assert {type(counter) for counter in handle.time} == {int}
    handle.send([2])
    handle.close()
    worker.step_while(lambda: bool(worker.dataflows))
    assert seen == [((4,), [1]), ((4,), [0])]


def test_an_input_in_a_loop_is_told_the_epoch_with_its_counters():
    worker = Worker(0, 1, ThreadFabric(1))
    handle = worker.dataflow(lambda scope: new_input(scope.loop())[0]).result
    with pytest.raises(InvalidArgument, match="the input has times of 2 counters, and 4 is none of them"):
        handle.advance_to(4)
    handle.advance_to((np.int64(4), 0))
    assert handle.time == (4, 0)


@pytest.mark.parametrize("lexicographic", [False, True])
def test_a_probe_and_a_port_in_a_loop_are_asked_for_times_of_the_loop_only(lexicographic):
    ports = []

    def build(scope):
        handle, stream = new_input(scope)
        loop = scope.loop(lexicographic=lexicographic)
        entered = loop.enter(stream)

        def construct(token, context):
            token.drop()
            return lambda port, output: ports.append(port)

        unary_frontier(entered, Pipeline(), construct)
        return handle, probe(stream), probe(entered)

    worker = Worker(0, 1, ThreadFabric(1))
    handle, outside, inside = worker.dataflow(build).result
    handle.advance_to(3)
    worker.step()
    for ask in (inside.less_than, inside.less_equal, ports[0].may_receive):
        for wrong in (3, (3,), (3, 0, 0), (3.0, 0), ("x", 0)):
            with pytest.raises(InvalidArgument, match=r"has times of 2 counters, and .* is none of them"):
                ask(wrong)
    assert inside.less_equal((3, 0)) and not inside.less_than((np.int64(3), 0)) and inside.less_than((3, 1))
    assert ports[0].may_receive((3, 0)) and not ports[0].may_receive((2, 9))
    for epoch in (3, (3,), np.int64(3), (np.int64(3),)):
        assert outside.less_equal(epoch) and not outside.less_than(epoch)
    for ask in (outside.less_than, outside.less_equal):
        for wrong in ((3, 0), 3.5, "3"):
            with pytest.raises(
                InvalidArgument, match=r"the probe has times of 1 counters, and .* is none of"
            ):
                ask(wrong)
    handle.close()
    worker.step_while(lambda: bool(worker.dataflows))
    with pytest.raises(InvalidArgument, match="2 counters"):
        inside.less_than(3)


def test_a_feedback_that_goes_back_is_refused():
    worker = Worker(0, 1, ThreadFabric(1))
    with pytest.raises(InvalidArgument, match="step of a feedback is -1, but must be at least 0"):
        worker.dataflow(lambda scope: scope.loop().feedback(-1))


def test_binary_operators_see_both_inputs_and_both_frontiers(everywhere):
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
