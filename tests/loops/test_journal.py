"""The journal is bounded by records and by bytes, as points are wide."""

import numpy as np
import pytest

from apps.sssp import ShortestPaths
from tests.kept_store import KeptStore
from tests.promised import eventually
from tornado.graph import PartitionMap
from tornado.loops import Master, journal
from tornado.loops.admission_log import AdmissionLog, LogEntry
from tornado.loops.commands import Fork
from tornado.loops.edge_shares import shares_of
from tornado.loops.journal import Journal
from tornado.loops.share import Share
from tornado.records.edge_batch import EdgeBatch
from tornado.records.point_batch import PointBatch
from tornado.records.point_schema import Points
from tornado.storage import MemoryStore


@pytest.mark.parametrize(("records", "size_bytes"), [(100, 1 << 20), (1 << 20, 100_000)])
def test_it_is_full_with_too_many_records_or_too_many_bytes(monkeypatch, records, size_bytes):
    monkeypatch.setattr(journal, "_LIMIT_RECORDS", records)
    monkeypatch.setattr(journal, "_LIMIT_BYTES", size_bytes)
    kept, points = Journal(), Points(features=100)
    batch = PointBatch.of(points, ids=range(10), features=np.ones((10, 100)))
    for version in range(20):
        was_full = kept.is_full
        kept.add(version, [Share(version, batch, np.empty(0, np.int64))])
        expected = 10 * (version + 1) > records or batch.size_bytes * (version + 1) > size_bytes
        assert kept.is_full == expected
    assert was_full
    kept.forget(18)
    assert (kept.records, kept.size_bytes) == (10, batch.size_bytes)
    assert not kept.is_full


def fork(number):
    return Fork(0, number, (), False, None, lambda *_: None, lambda *_: None)


def test_with_a_log_the_batches_come_from_there_and_forks_in_between():
    log = AdmissionLog(KeptStore(), "roads")
    journal = Journal(log)
    for version in range(1, 8):
        batch = EdgeBatch.of([version], [0])
        log.append([LogEntry(version, "http", version, batch)])
        journal.add(version, shares_of(batch, PartitionMap.even(2)))
        if version in {3, 5, 6}:
            journal.add(version, fork(version))
    log.append([LogEntry(8, "http", 8, EdgeBatch.of([8], [0]))])  # about to be posted

    def replayed():
        return [
            entry.number if isinstance(entry, Fork) else entry.src.tolist()
            for _, entry in journal.replay(until=7, points=None)
        ]

    assert replayed() == [[1, 2, 3], 3, [4, 5], 5, [6], 6, [7]]
    journal.forget(5)
    assert journal.records == 3
    # A fork at the version that is stored is put into the sequence again, before what comes behind it.
    assert replayed() == [5, [6], 6, [7]]


def test_forks_that_are_over_are_forgotten_where_there_are_many_and_those_under_way_stay():
    journal = Journal()
    for number in range(70):
        journal.add(number, fork(number))
    journal.drop_forks({3, 68})
    assert [entry.number for _, entry in journal.replay(until=70, points=None)] == [3, 68]
    journal.add(70, fork(70))
    journal.drop_forks(())  # so few may stay
    assert [entry.number for _, entry in journal.replay(until=70, points=None)] == [3, 68, 70]


def test_what_is_kept_is_whole_each_time_whatever_workers_of_this_process_note_in_their_shares():
    journal, batch = Journal(), EdgeBatch.of([1, 2, 3], [9, 9, 8])
    shares = shares_of(batch, PartitionMap.even(2))
    journal.add(1, shares)
    whole = [(len(share.batch), len(share.mentioned)) for share in shares]
    for _ in range(3):
        for share in shares:  # as who applies it
            share.following, share.mentioned = len(share.batch), share.mentioned[:0]
        [(_, shares)] = journal.replay(until=1, points=None)
        assert [share.following for share in shares] == [0, 0]
        assert [(len(share.batch), len(share.mentioned)) for share in shares] == whole


def test_a_stream_has_a_snapshot_stored_when_its_journal_is_full(monkeypatch, compiled_paths):
    """Where workers can be lost; here none can, and the journal is put in by hand."""
    monkeypatch.setattr(journal, "_LIMIT_RECORDS", 100)
    with Master(MemoryStore(), 1) as master:
        stream = master.start(ShortestPaths(source=0), "roads").stream
        stream.journal = Journal()
        admitted = 0
        for most in (100, 220):  # the second time twice what the snapshot has
            for records in range(10, most + 11, 10):
                admitted += 10
                stream.admit(EdgeBatch.of(np.arange(10), np.full(10, admitted)), "insert", admitted)
                assert records > most or stream.journal.records == records
            eventually(lambda: stream.journal.records == 0)


def test_a_journal_that_is_for_a_move_alone_may_go_at_any_moment(compiled_paths):
    with Master(MemoryStore(), 1) as master:
        stream = master.start(ShortestPaths(source=0), "roads").stream
        relieved = []

        class Going(Journal):
            @property
            def is_full(self):
                stream.journal = None
                return True

            def relieve(self, store):
                relieved.append(store)

        class Order:
            def __enter__(self):
                stream.journal = None

            def __exit__(self, *_):
                pass

        stream.journal = Going()
        assert stream.admit(EdgeBatch.of([1], [2]), "insert", 1) == 1
        assert relieved == [stream.store_snapshot]
        stream.journal, stream.order = Journal(), Order()
        stream.was_stored(1)
