"""Evolving points against a dictionary, at the newest version and at every version that is leased."""

import random

import numpy as np
import psutil
import pytest

from tornado.errors import InvalidArgument, PointsTooLarge
from tornado.points import SHARDS, EvolvingPoints, evolving_points, shards_of, share_out
from tornado.points.point_columns import BURIED_FIRST, BURIED_NEXT
from tornado.records.operations import INSERT, REMOVE, REPLACE
from tornado.records.point_batch import PointBatch
from tornado.records.point_schema import Points

LAYOUTS = [
    Points(3),
    Points(2, dtype="float32"),
    Points(400, sparse=True),
    Points(400, sparse=True, dtype="float32"),
]
EVERYWHERE = [*range(SHARDS)]


def bits(values):
    """What a row holds, to be compared bit by bit: NaN is a label like any other."""
    return np.ascontiguousarray(values).tobytes()


def features_of(shard, row):
    """The features of a row, as one value to be compared."""
    if not shard.points.sparse:
        return bits(shard.features[row])
    entries = slice(shard.starts[row], shard.starts[row] + shard.lengths[row])
    return bits(shard.indices[entries]), bits(shard.values[entries])


def rows_of(shard):
    """All that a reader sees of a shard, in its order."""
    return [
        (int(shard.id[row]), bits(shard.label[row]), bits(shard.weight[row]), features_of(shard, row))
        for row in shard.rows
    ]


class Twin:
    """The points of one worker and a dictionary of them in the order of their arrival, given the same records."""

    def __init__(self, seed, points, ids=40):
        self.random = random.Random(seed)
        self.points = points
        self.ids = [self.random.getrandbits(64) - (1 << 63) for _ in range(ids)]
        self.evolving = EvolvingPoints(points)
        self.live = {}
        self.missing = 0
        self.records = []
        self.leases = {}
        self.heard = {}

    def batch(self, count):
        chance = self.random
        ids = [chance.choice(self.ids) for _ in range(count)]
        op = [chance.choice([INSERT, INSERT, REPLACE, REMOVE, REMOVE]) for _ in range(count)]
        if self.points.sparse:
            most = chance.choice([3, 3, 12, 250])
            features = [
                {index: chance.gauss(0, 1) for index in chance.sample(range(400), chance.randrange(most))}
                for _ in range(count)
            ]
        else:
            features = [[chance.gauss(0, 1) for _ in range(self.points.features)] for _ in range(count)]
        labels = [chance.choice([1, -1, None]) for _ in range(count)]
        weights = [float(chance.randrange(3)) for _ in range(count)]
        return PointBatch.of(self.points, ids=ids, labels=labels, features=features, weights=weights, op=op)

    def apply(self, count):
        batch = self.batch(count)
        self.records.append(batch)
        for place in range(count):
            self.follow(batch.slice(place, place + 1))
        first = 0
        while first < count:
            stop = self.random.randint(first + 1, count)
            first = self.evolving.apply(batch, first, stop)
            self.hear()

    def follow(self, record):
        identifier = int(record.id[0])
        was = self.live.pop(identifier, None)
        if record.op[0] == REMOVE:
            self.missing += was is None
            return
        features = (
            (bits(record.indices), bits(record.values)) if self.points.sparse else bits(record.features[0])
        )
        self.live[identifier] = (identifier, bits(record.label[0]), bits(record.weight[0]), features)

    def hear(self):
        """Follow the deltas, as a learner does that keeps something of each point: what went can still be read."""
        shards = {shard.shard: shard for shard in self.evolving.read()}
        deltas = self.evolving.deltas()
        for sign, shard, row in zip(deltas.sign, deltas.shard, deltas.row, strict=True):
            seen = int(shards[shard].id[row]), features_of(shards[shard], row)
            if sign > 0:
                assert (shard, row) not in self.heard
                self.heard[shard, row] = seen
            else:
                assert self.heard.pop((shard, row)) == seen

    def lease(self):
        lease, version = self.evolving.lease()
        assert version == sum(map(len, self.records))
        held = list(self.evolving.read(version))
        self.leases[lease] = version, dict(self.live), held, [rows_of(shard) for shard in held]

    def release(self, lease):
        del self.leases[lease]
        self.evolving.release(lease)

    def check(self):
        self.compare(self.evolving.read(), self.live)
        for version, live, held, seen in self.leases.values():
            self.compare(self.evolving.read(version), live)
            assert [rows_of(shard) for shard in held] == seen  # what a reader has stays as it is
        statistics = self.evolving.statistics()
        assert statistics.points == len(self.evolving) == len(self.live)
        assert statistics.missing_removals == self.missing
        assert statistics.leases == len(self.leases)
        assert sorted(seen[0] for seen in self.heard.values()) == sorted(self.live)
        shards, rows = self.evolving.rows_of(np.array(self.ids))
        assert [row >= 0 for row in rows] == [identifier in self.live for identifier in self.ids]
        for identifier, shard, row in zip(self.ids, shards, rows, strict=True):
            assert row < 0 or self.heard[shard, row][0] == identifier

    def compare(self, found, live):
        owners = dict(zip(self.ids, shards_of(np.array(self.ids)), strict=True))
        expected = {shard: [] for shard in EVERYWHERE}
        for identifier, row in live.items():
            expected[owners[identifier]].append(row)
        shards = list(found)
        assert [shard.shard for shard in shards] == EVERYWHERE
        for shard in shards:
            assert rows_of(shard) == expected[shard.shard]
            if shard.is_whole:
                assert shard.rows.tolist() == [*range(len(shard.id))]

    def run(self, steps):
        for _ in range(steps):
            self.apply(self.random.choice([1, 3, 20, 60]))
            if self.random.random() < 0.4:
                self.lease()
            if self.leases and self.random.random() < 0.4:
                self.release(self.random.choice(list(self.leases)))
            self.check()
        for lease in list(self.leases):
            self.release(lease)
        self.apply(5)
        self.apply(5)
        self.check()
        assert self.evolving.statistics().buried <= 5


def run_some(points):
    for seed in range(3):
        Twin(seed, points).run(25)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("points", LAYOUTS, ids=str)
def test_points_are_those_of_the_dictionary_at_every_version_leased(points, seed, monkeypatch):
    monkeypatch.setattr(
        evolving_points, "_LEAST_IDLE", seed % 3
    )  # entries are slid together at every occasion
    monkeypatch.setattr(evolving_points, "_FIRST_GRAVES", 2)
    monkeypatch.setattr(evolving_points, "_FIRST_TABLE", 2)
    Twin(seed, points).run(25)


@pytest.mark.parametrize("points", LAYOUTS, ids=str)
def test_a_lease_that_is_not_heeded_is_seen(points, monkeypatch):
    monkeypatch.setattr(EvolvingPoints, "_note_oldest", lambda _: None)
    with pytest.raises(AssertionError):
        run_some(points)


@pytest.mark.parametrize("points", LAYOUTS[2:], ids=str)
def test_entries_that_are_slid_under_a_reader_are_seen(points, monkeypatch):
    monkeypatch.setattr(evolving_points, "_LEAST_IDLE", 0)
    tidy = EvolvingPoints._tidy

    def careless(self):
        leases, self._leases = self._leases, {}
        counters = self.columns.counters
        first, counters[BURIED_FIRST] = (
            counters[BURIED_FIRST],
            counters[BURIED_NEXT],
        )  # as if nobody were buried
        tidy(self)
        self._leases, counters[BURIED_FIRST] = leases, first

    monkeypatch.setattr(EvolvingPoints, "_tidy", careless)
    with pytest.raises(AssertionError):
        run_some(points)


@pytest.mark.parametrize("points", LAYOUTS, ids=str)
@pytest.mark.parametrize("workers", [2, 5, SHARDS])
def test_what_a_shard_holds_depends_neither_on_workers_nor_on_leases_nor_on_calls(points, workers):
    twin = Twin(7, points)
    twin.run(12)
    parts = [EvolvingPoints(points, workers=workers, worker=worker) for worker in range(workers)]
    batch = PointBatch.kind_of(points).concat(twin.records)
    for part, share in zip(parts, share_out(batch, workers), strict=True):
        part.apply_all(share)
    found = sorted((shard for part in parts for shard in part.read()), key=lambda shard: shard.shard)
    twin.compare(found, twin.live)
    for shard, other in zip(found, twin.evolving.read(), strict=True):
        assert shard.batch().equals(other.batch())


@pytest.mark.parametrize("points", LAYOUTS, ids=str)
def test_points_that_are_read_and_put_into_others_are_the_same(points):
    twin = Twin(8, points)
    twin.run(12)
    again = EvolvingPoints(points)
    for shard in twin.evolving.read():
        again.apply_all(shard.batch())
    twin.compare(again.read(), twin.live)
    assert all(shard.is_whole for shard in again.read())


@pytest.mark.parametrize("workers", [1, 2, 3, SHARDS])
def test_a_share_has_the_records_of_its_worker_in_their_order(workers):
    batch = Twin(1, LAYOUTS[2]).batch(200)
    shares = share_out(batch, workers)
    owners = shards_of(batch.id) % workers
    assert len(shares) == workers
    for worker, share in enumerate(shares):
        assert share.equals(batch.take(owners == worker))


def test_a_shard_is_for_ever_the_same():
    # Stored points are found by their shard, so these may not change.
    ids = np.array([0, 1, 2, 12345, -1, 2**63 - 1, -(2**63)])
    assert shards_of(ids).tolist() == [0, 5, 13, 15, 11, 5, 2]


def test_a_row_is_free_for_others_as_soon_as_nobody_needs_it():
    evolving = EvolvingPoints(Points(1))
    one, other = (PointBatch.of(evolving.points, ids=[5], features=[[value]]) for value in (1.0, 2.0))
    evolving.apply_all(one)
    for _ in range(10):
        evolving.apply_all(other)
    used = [len(shard.id) for shard in evolving.read() if len(shard)]
    assert used == [2]  # the one that lives, and the one that the last deltas name
    lease, version = evolving.lease()
    for _ in range(10):
        evolving.apply_all(one)
    (shard,) = (shard for shard in evolving.read(version) if len(shard))
    assert shard.features[shard.rows].tolist() == [[2.0]]
    evolving.release(lease)


def test_a_call_takes_as_many_records_as_there_is_room_for_deltas():
    points, count = Points(1), 50_000
    ids = np.arange(count)
    evolving = EvolvingPoints(points)
    batch = PointBatch.of(points, ids=ids, features=ids[:, None])
    for _ in range(2):
        first = 0
        while first < count:
            following = evolving.apply(batch, first, count)
            deltas = evolving.deltas()
            assert len(deltas) <= 1 << 14
            assert np.count_nonzero(deltas.sign > 0) == following - first > 0
            first = following
    assert len(evolving) == count
    assert sorted(int(row) for shard in evolving.read() for row in shard.features[shard.rows, 0]) == [*ids]


def test_views_cannot_be_written_through():
    evolving = EvolvingPoints(Points(1))
    evolving.apply_all(PointBatch.of(evolving.points, ids=[5], features=[[1.0]]))
    for shard in evolving.read():
        with pytest.raises(ValueError, match="read-only"):
            shard.features[:] = 0


def test_points_of_another_worker_or_declaration_are_refused():
    points = Points(1)
    part = EvolvingPoints(points, workers=2, worker=1)
    batch = PointBatch.of(points, ids=range(50), features=np.ones((50, 1)))
    with pytest.raises(InvalidArgument, match="the point 0 is of another worker than has shards"):
        part.apply_all(batch)
    with pytest.raises(InvalidArgument, match="the batch has Points"):
        part.apply_all(PointBatch.of(Points(2), ids=[1], features=[[1, 2]]))
    with pytest.raises(InvalidArgument, match="workers is 65"):
        EvolvingPoints(points, workers=65)


def test_a_shard_that_is_full_is_told_and_stays_as_it_was(monkeypatch):
    monkeypatch.setattr(evolving_points, "MOST_SHARD_ROWS", 8)
    evolving = EvolvingPoints(Points(1))
    batch = PointBatch.of(evolving.points, ids=range(1000), features=np.ones((1000, 1)))
    evolving.apply_all(batch.slice(0, 5))
    with pytest.raises(PointsTooLarge, match="more than a shard can hold"):
        evolving.apply_all(batch)
    assert len(evolving) == 5


@pytest.mark.parametrize("value_type", ["float32", "float64"])
@pytest.mark.parametrize("sparse", [False, True])
def test_memory_is_that_of_the_points_and_little_more(sparse, value_type):
    count, each = 300_000, 28
    points = Points(each, sparse=sparse, dtype=value_type)
    values = np.ones((10_000, each))
    given = (
        values.ravel()[: 10_000 * each],
        np.tile(np.arange(each), 10_000),
        np.arange(0, 10_000 * each + 1, each),
    )
    features = given[::-1] if sparse else values
    evolving = EvolvingPoints(points)
    process = psutil.Process()
    batch = PointBatch.of(points, ids=np.arange(10_000), labels=1, features=features)
    before = process.memory_info().rss
    for first in range(0, count, 10_000):
        evolving.apply_all(batch.with_ids(np.arange(first, first + 10_000)))
    used = process.memory_info().rss - before
    one = 24 + each * (points.value_type.itemsize + (4 if sparse else 0))  # id, label, weight, features
    for found in (used, evolving.statistics().size_bytes):
        assert one * count < found < (1.15 * one + 24) * count
