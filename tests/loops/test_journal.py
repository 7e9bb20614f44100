"""The journal is bounded by records and by bytes, as points are wide."""

import numpy as np
import pytest

from tornado.loops import journal
from tornado.loops.journal import Journal
from tornado.loops.share import Share
from tornado.records.point_batch import PointBatch
from tornado.records.point_schema import Points


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
