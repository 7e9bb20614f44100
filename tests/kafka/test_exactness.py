"""Answers while a topic streams in, at any instant and through any crash: what the oracle says at the offsets they name."""

import os
import signal
import time

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
    wait_until,
)
from tornado.ingest.ingester import IngesterState
from tornado.ingest.kafka import ingester as ingester_module
from tornado.testing import mixed, random_multigraph

pytestmark = [pytest.mark.kafka, pytest.mark.usefixtures("compiled_paths"), LIBRARY_LEAVES_SOCKETS]


def stream(records, seed):
    return mixed(random_multigraph(max(50, records // 8), records, seed=seed), seed=seed)


def is_read(loop, broker, topic):
    stops = ends(broker, topic)
    return lambda: (
        loop.offsets() == {name: end for name, end in stops.items() if end or name in loop.offsets()}
    )


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
            broker, name, records, seconds=2, value_format=value_format, edges_per_message=7
        ) as sending:
            while sending.is_sending:
                answers.append(answered(loop))
                time.sleep(0.02)
        wait_until(is_read(loop, broker, name))
        answers.append(answered(loop))
    rows = replayed(broker, name, value_format)
    assert len(rows) == len(records)
    assert len({tuple(sorted(offsets.items())) for offsets, _ in answers}) > 5
    for answer in answers:
        check(answer, rows, name)


def test_a_client_that_is_killed_again_and_again_changes_nothing(broker, topic):
    name = topic(partitions=2)
    records = stream(5000, seed=2)
    with shortest_paths() as loop, pumped(loop, settings_of(broker, name)) as ingester:
        with Sending(broker, name, records, seconds=5) as sending:
            while sending.is_sending:
                for pid in ingester.client_pids:
                    os.kill(pid, signal.SIGKILL)
                # Less often than a client takes to begin, on a busy machine too.
                time.sleep(1.4)
        killed_s = time.monotonic()
        wait_until(is_read(loop, broker, name), timeout_s=30)
        print(f"exact again {time.monotonic() - killed_s:.2f} s after the last records")
        assert ingester.restarts >= 2
        assert loop.statistics().admitted == len(records)
        assert "ended by signal 9" in ingester.statistics()[0].last_error
        check(answered(loop), replayed(broker, name), name)
    assert ingester.client_pids == []


def test_a_broker_that_is_killed_and_comes_back_changes_nothing(broker, topic):
    name = topic(partitions=2)
    records = stream(3000, seed=3)
    with shortest_paths() as loop, pumped(loop, settings_of(broker, name)) as ingester:
        with Sending(broker, name, records, seconds=6):
            wait_until(lambda: sum(loop.offsets().values()) > 10)
            broker.kill()
            wait_until(lambda: "does not answer" in (ingester.statistics()[0].last_error or ""), timeout_s=30)
            broker.start()
            back_s = time.monotonic()
        wait_until(is_read(loop, broker, name), timeout_s=30)
        print(f"exact again {time.monotonic() - back_s:.2f} s after the broker was back")
        rows = replayed(broker, name)
        assert loop.statistics().admitted == len(rows) == len(records)
        check(answered(loop), rows, name)


def test_a_client_that_falls_silent_is_replaced(broker, topic, monkeypatch):
    monkeypatch.setattr(ingester_module, "_SILENCE_LIMIT_S", 2.5)
    name = topic()
    records = stream(300, seed=4)
    with shortest_paths() as loop, pumped(loop, settings_of(broker, name)) as ingester:
        os.kill(ingester.client_pids[0], signal.SIGSTOP)
        sent(broker, name, records)
        wait_until(is_read(loop, broker, name), timeout_s=30)
        assert ingester.restarts == 1
        check(answered(loop), replayed(broker, name), name)


def test_a_new_partition_is_read_from_its_start_while_the_others_go_on(broker, topic):
    name = topic()
    records = stream(2000, seed=5)
    half = len(records) // 2
    with shortest_paths() as loop, pumped(loop, settings_of(broker, name)) as ingester:
        sent(broker, name, records.slice(0, half))
        wait_until(is_read(loop, broker, name))
        broker.add_partitions(name, 3)
        wait_until(lambda: len(ends(broker, name)) == 3)
        # Other edges than those before: an edge must not change its partition.
        moved = records.slice(half, len(records))
        moved = type(moved)(moved.src + 10_000, moved.dst + 10_000, moved.weight, moved.op)
        sent(broker, name, moved)
        wait_until(is_read(loop, broker, name))
        assert ingester.restarts == 0
        assert set(loop.offsets()) == {f"{name}:{number}" for number in range(3)}
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
        wait_until(lambda: loop.offsets() == ends(broker, name))
        assert loop.offsets() == {f"{name}:0": 6}
        assert ingester.statistics()[0].lag_records == 0
        assert answered(loop)[1] == {1: 0.0, 2: 1.0, 4: 1.0}


def test_the_same_edge_at_two_offsets_is_two_edges(broker, topic):
    name = topic()
    with broker.producer() as producer:
        for value in (b'{"src": 1, "dst": 2}', b'{"src": 1, "dst": 2}', b'{"src": 1, "dst": 2, "op": "-"}'):
            producer.send(name, value)
    with shortest_paths() as loop, pumped(loop, settings_of(broker, name)):
        wait_until(lambda: loop.offsets() == {f"{name}:0": 3})
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
        wait_until(lambda: loop.offsets().get(f"{name}:0") == 400)
        assert answered(loop)[1][2] == 399.0
