"""Answers while a topic streams in, at any instant and through any crash: what the oracle says at the offsets they name."""

import os
import signal
import time
from itertools import pairwise

import numpy as np
import pytest

from tests.kafka.topics import (
    LIBRARY_LEAVES_SOCKETS,
    Sending,
    answered,
    check,
    ends,
    pumped,
    removals_in,
    replayed,
    sent,
    settings_of,
    shortest_paths,
    with_repeats,
)
from tests.promised import eventually, took_s, within
from tornado.ingest.ingester import IngesterState
from tornado.ingest.kafka import ingester as ingester_module
from tornado.ingest.kafka.library import (
    KafkaConsumer,
    KafkaError,
    OffsetAndMetadata,
    TopicPartition,
)
from tornado.testing import mixed, random_multigraph

# What is promised of a broker that comes back, and twice what is of a client: a new one starts a Python first. How long a test
# waits at most is another matter.
EXACT_WITHIN_S = 10.0

pytestmark = [pytest.mark.kafka, pytest.mark.usefixtures("compiled_paths"), LIBRARY_LEAVES_SOCKETS]


def stream(records, seed):
    return mixed(random_multigraph(max(50, records // 8), records, seed=seed), seed=seed)


def is_read(loop, broker, topic):
    stops = ends(broker, topic)
    return lambda: (
        loop.offsets() == {name: end for name, end in stops.items() if end or name in loop.offsets()}
    )


def named_by(answers):
    """How many prefixes of the topic."""
    return len({tuple(sorted(offsets.items())) for offsets, _ in answers})


@pytest.mark.parametrize("value_format", ["json", "csv", "arrow"])
def test_answers_at_random_instants_are_those_of_the_oracle_at_the_offsets_they_name(
    broker, topic, value_format
):
    name = topic(partitions=3)
    records = stream(4000, seed=1)
    assert removals_in(records)
    options = {"columns": ("src", "dst", "weight", "op")} if value_format == "csv" else {}
    answers = []
    with shortest_paths(workers=2) as loop, pumped(loop, settings_of(broker, name, value_format, **options)):
        with Sending(
            broker, name, records, seconds=60, value_format=value_format, edges_per_message=7
        ) as sending:
            while sending.is_sending and named_by(answers) <= 10:
                answers.append(answered(loop))
                time.sleep(0.02)
        eventually(is_read(loop, broker, name))
        answers.append(answered(loop))
    rows = replayed(broker, name, value_format)
    assert len(rows) == len(records)
    assert named_by(answers) > 5
    for answer in answers:
        check(answer, rows, name)


def test_a_client_that_is_killed_again_and_again_changes_nothing(broker, topic):
    name = topic(partitions=2)
    records = stream(5000, seed=2)
    with shortest_paths() as loop, pumped(loop, settings_of(broker, name)) as ingester:

        def records_in():
            return sum(loop.offsets().values())

        with Sending(broker, name, records, seconds=60) as sending:
            for killed in range(4):
                before = records_in()
                # What the last one had handed over still comes in when it is dead.
                eventually(lambda: ingester.restarts == killed and records_in() > before + 50)  # noqa: B023 - called at once
                eventually(lambda: ingester.client_pids)
                os.kill(ingester.client_pids[0], signal.SIGKILL)
            # And once in its first moments.
            eventually(lambda: ingester.restarts == 4 and ingester.client_pids)
            os.kill(ingester.client_pids[0], signal.SIGKILL)
            assert sending.is_sending
        killed_s = time.monotonic()
        eventually(is_read(loop, broker, name))
        elapsed_s = took_s(killed_s)
        print(f"exact again {elapsed_s:.2f} s after the last records")
        assert elapsed_s < within(EXACT_WITHIN_S)
        assert ingester.restarts == 5
        assert loop.statistics().admitted == len(records)
        assert "ended by signal 9" in ingester.statistics()[0].last_error
        check(answered(loop), replayed(broker, name), name)
    assert ingester.client_pids == []


def test_a_broker_that_is_killed_and_comes_back_changes_nothing(broker, topic):
    name = topic(partitions=2)
    records = stream(3000, seed=3)
    with shortest_paths() as loop, pumped(loop, settings_of(broker, name)) as ingester:
        with Sending(broker, name, records, seconds=60):
            eventually(lambda: sum(loop.offsets().values()) > 10)
            broker.kill()
            eventually(lambda: "does not answer" in (ingester.statistics()[0].last_error or ""))
            broker.start()
            back_s = time.monotonic()
        eventually(is_read(loop, broker, name))
        elapsed_s = took_s(back_s)
        print(f"exact again {elapsed_s:.2f} s after the broker was back")
        assert elapsed_s < within(EXACT_WITHIN_S)
        assert ingester.restarts == 0, "a client waits for its broker"
        rows = replayed(broker, name)
        assert loop.statistics().admitted == len(rows) == len(records)
        check(answered(loop), rows, name)


def test_a_client_that_falls_silent_is_replaced(broker, topic, monkeypatch):
    limit_s = 2.5
    name = topic()
    records = stream(300, seed=4)
    with shortest_paths() as loop, pumped(loop, settings_of(broker, name)) as ingester:
        with monkeypatch.context() as patch:  # not for one that begins, which may need as long
            patch.setattr(ingester_module, "_SILENCE_LIMIT_S", limit_s)
            os.kill(ingester.client_pids[0], signal.SIGSTOP)
            stopped_s = time.monotonic()
            sent(broker, name, records)
            eventually(lambda: ingester.restarts)
        eventually(is_read(loop, broker, name))
        elapsed_s = took_s(stopped_s)
        print(f"exact again {elapsed_s:.2f} s after it fell silent")
        assert elapsed_s < limit_s + within(EXACT_WITHIN_S)
        assert ingester.restarts == 1
        check(answered(loop), replayed(broker, name), name)


def test_a_new_partition_is_read_from_its_start_while_the_others_go_on(broker, topic):
    name = topic()
    records = stream(2000, seed=5)
    half = len(records) // 2
    with shortest_paths() as loop, pumped(loop, settings_of(broker, name, ingesters=2)) as ingester:
        assert len(ingester.client_pids) == 1, "more clients than partitions"
        sent(broker, name, records.slice(0, half))
        eventually(is_read(loop, broker, name))
        broker.add_partitions(name, 3)
        eventually(lambda: len(ends(broker, name)) == 3)
        # Other edges than those before: an edge must not change its partition.
        moved = records.slice(half, len(records))
        moved = type(moved)(moved.src + 10_000, moved.dst + 10_000, moved.weight, moved.op)
        sent(broker, name, moved)
        eventually(is_read(loop, broker, name))
        assert ingester.restarts == 0
        assert set(loop.offsets()) == {f"{name}:{number}" for number in range(3)}
        assert len(ingester.client_pids) == 2
        assert loop.statistics().admitted == len(records)
        check(answered(loop), replayed(broker, name), name)


def test_a_second_ingester_goes_on_where_the_loop_stands(broker, topic):
    name = topic(partitions=2)
    records = stream(1000, seed=6)
    half = len(records) // 2
    with shortest_paths() as loop:
        sent(broker, name, records.slice(0, half))
        with pumped(loop, settings_of(broker, name), until_end=True) as ingester:
            assert ingester.wait(timeout_s=30)
            assert {one.state for one in ingester.statistics()} == {IngesterState.FINISHED}
        assert loop.statistics().admitted == half
        sent(broker, name, records.slice(half, len(records)))
        with pumped(loop, settings_of(broker, name), until_end=True) as ingester:
            assert ingester.wait(timeout_s=30)
            statistics = ingester.statistics()
        assert sum(one.records for one in statistics) == len(records) - half
        assert [one.lag_records for one in statistics] == [0, 0]
        assert loop.statistics().admitted == len(records)
        check(answered(loop), replayed(broker, name), name)


def test_what_a_transaction_took_back_is_not_read_and_its_offsets_are_passed_over(broker, topic):
    name = topic()
    with broker.producer(transactional_id="edges") as producer:
        producer.init_transactions()
        for number, taken_back in enumerate([False, True, False]):
            producer.begin_transaction()
            producer.send(name, b'{"src": 1, "dst": %d}' % (number + 2))
            producer.flush()
            if taken_back:
                producer.abort_transaction()
            else:
                producer.commit_transaction()
    with shortest_paths() as loop, pumped(loop, settings_of(broker, name)) as ingester:
        eventually(lambda: loop.offsets() == ends(broker, name))
        assert loop.offsets() == {f"{name}:0": 6}
        assert ingester.statistics()[0].lag_records == 0
        assert answered(loop)[1] == {1: 0.0, 2: 1.0, 4: 1.0}


def test_the_same_edge_at_two_offsets_is_two_edges(broker, topic):
    name = topic()
    with broker.producer() as producer:
        for value in (b'{"src": 1, "dst": 2}', b'{"src": 1, "dst": 2}', b'{"src": 1, "dst": 2, "op": "-"}'):
            producer.send(name, value)
    with shortest_paths() as loop, pumped(loop, settings_of(broker, name)):
        eventually(lambda: loop.offsets() == {f"{name}:0": 3})
        assert answered(loop)[1] == {1: 0.0, 2: 1.0}
        assert loop.statistics().edges == 1


def test_records_of_many_sizes_keep_the_order_of_each_edge(broker, topic):
    name = topic(partitions=2)
    chance = np.random.default_rng(7)
    with broker.producer() as producer:
        for number in range(400):
            lines = [
                b'{"src": 1, "dst": %d, "weight": %d, "op": "="}' % (dst, number)
                for dst in range(2, 2 + int(chance.integers(1, 40)))
            ]
            producer.send(name, b"\n".join(lines), partition=0)
    with shortest_paths() as loop, pumped(loop, settings_of(broker, name)):
        eventually(lambda: loop.offsets().get(f"{name}:0") == 400)
        assert answered(loop)[1][2] == 399.0


def committed(broker, group):
    """What the broker says of a group, by source name."""
    with broker.admin() as admin:
        found = admin.list_group_offsets(group)[group]
    return {f"{place.topic}:{place.partition}": one.offset for place, one in found.items()}


def is_committed(broker, group, offsets):
    """Commit as somebody else would; False while the broker makes itself ready for groups."""
    places = {
        TopicPartition(name, int(number)): OffsetAndMetadata(offset, "", -1)
        for (name, _, number), offset in ((key.rpartition(":"), offset) for key, offset in offsets.items())
    }
    try:
        with broker.admin() as admin:
            return not any(answer.errno for answer in admin.alter_group_offsets(group, places).values())
    except KafkaError:
        return False


def test_a_group_shows_where_we_are_and_what_others_do_with_it_changes_nothing(broker, topic, monkeypatch):
    monkeypatch.setattr(ingester_module, "_COMMIT_S", 0.2)
    name, group = topic(partitions=3), "lag"
    records = stream(1500, seed=10)
    settings = settings_of(broker, name, group=group, ingesters=2)
    # Somebody was there before, and far ahead.
    eventually(lambda: is_committed(broker, group, dict.fromkeys(ends(broker, name), 10**6)))
    with shortest_paths() as loop, pumped(loop, settings) as ingester:
        assert len(ingester.client_pids) == 2
        sent(broker, name, records.slice(0, 500))
        eventually(is_read(loop, broker, name))
        eventually(lambda: committed(broker, group) == loop.offsets())
        # A member that joins makes the group rebalance, and takes the right to commit away from us.
        member = KafkaConsumer(
            name,
            bootstrap_servers=broker.address,
            group_id=group,
            enable_auto_commit=False,
            auto_offset_reset="latest",
        )
        try:
            eventually(
                lambda: member.poll(timeout_ms=1000) is not None and member.assignment(), timeout_s=180
            )
            sent(broker, name, records.slice(500, 1000))
            eventually(is_read(loop, broker, name))
            eventually(
                lambda: "group lag does not show where we are" in (ingester.statistics()[0].last_error or "")
            )
            member.commit({TopicPartition(name, number): OffsetAndMetadata(7, "", -1) for number in range(3)})
        finally:
            member.close()
        broker.add_partitions(name, 4)
        eventually(lambda: len(ends(broker, name)) == 4)
        moved = records.slice(1000, len(records))
        sent(broker, name, type(moved)(moved.src + 10_000, moved.dst + 10_000, moved.weight, moved.op))
        eventually(is_read(loop, broker, name))
        eventually(lambda: committed(broker, group) == loop.offsets())
        assert len(loop.offsets()) == 4
        assert ingester.restarts == 0
        assert loop.statistics().admitted == len(records)
        check(answered(loop), replayed(broker, name), name)
    # What was in when it ended is told as well.
    assert committed(broker, group) == ends(broker, name)


def test_repetitions_are_left_out_also_by_who_was_not_there_for_the_first(broker, topic):
    name, window = topic(partitions=2), 50
    messages = with_repeats(stream(1500, seed=11), 2, seed=11)
    settings = settings_of(broker, name, dedup_key="id", dedup_window=window)

    def send(low, high):
        with broker.producer() as producer:
            for partition, value in messages[low:high]:
                producer.send(name, value, partition=partition)

    steps = np.linspace(0, len(messages), 6).astype(int).tolist()
    repeated = []
    with shortest_paths() as loop:
        for low, high in pairwise(steps):
            send(low, high)
            with pumped(loop, settings, until_end=True) as ingester:
                assert ingester.wait(timeout_s=30)
                assert sum(one.records for one in ingester.statistics()) == high - low
                repeated.append(sum(one.repeated for one in ingester.statistics()))
        rows = replayed(broker, name, window=window)
        assert min(repeated) > 10
        assert len(messages) - len(rows) == sum(repeated)
        assert loop.statistics().admitted == len(rows)
        check(answered(loop), rows, name)
        # What stood in the window is deleted: it goes on, and says what it can no longer know.
        broker.delete_records(name, {0: -1, 1: -1})
        send(len(messages) - 20, len(messages))
        with pumped(loop, settings, until_end=True) as ingester:
            assert ingester.wait(timeout_s=30)
            again = len(set(messages[-20:]))
            assert sum(one.repeated for one in ingester.statistics()) == 20 - again
            assert "repetitions of it are not recognised" in ingester.statistics()[0].last_error
        assert loop.statistics().admitted == len(rows) + again
