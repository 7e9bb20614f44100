"""What stored snapshots are written as: columns of any type come back as they were, and older and newer formats are told apart."""

import json
from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from apps.bfs import BreadthFirstSearch
from apps.sssp import ShortestPaths
from tests.kept_store import KeptStore
from tests.loops.format_1 import write_format_1
from tests.loops.format_3 import as_format_3
from tests.loops.snapshot_writer import stream
from tests.loops.test_several_loops import exact
from tornado.errors import InternalError, StoreCorrupt
from tornado.kinds.selective.kind import KIND
from tornado.loops import BranchState, Master, Snapshot
from tornado.loops.snapshot_format import Column, columns_of, page_of
from tornado.loops.stored_snapshot import LoopToStore, StoredSnapshots
from tornado.storage import MemoryStore
from tornado.testing import EdgeHistory

NAME = "paths"
WAIT_S = 60
PATHS, HOPS = ShortestPaths(source=1), BreadthFirstSearch(source=1)
TYPES = ["<f8", "<i8", "<i4", "|u1", "<f4"]


@given(data=st.data(), columns=st.integers(1, 4), parts=st.integers(1, 3))
def test_columns_of_any_type_and_shape_come_back_from_their_page(data, columns, parts):
    kinds = [
        (data.draw(st.sampled_from(TYPES)), data.draw(st.sampled_from([(), (2,), (3, 2)])))
        for _ in range(columns)
    ]
    lengths = data.draw(st.lists(st.integers(0, 4), min_size=parts, max_size=parts))
    drawn = [
        [data.draw(arrays.arrays(kind, (length, *shape))) for kind, shape in kinds] for length in lengths
    ]
    described = [Column.of(f"column {place}", column) for place, column in enumerate(drawn[0])]
    found = columns_of(bytes(page_of(drawn)), described)
    for place, column in enumerate(described):
        expected = np.concatenate([part[place] for part in drawn])
        assert found[column.name].dtype == expected.dtype
        assert found[column.name].shape == expected.shape
        assert found[column.name].tobytes() == expected.tobytes()


@dataclass
class Part:
    """One worker's part of a loop whose value is a pair of integers."""

    ids: np.ndarray
    values: np.ndarray

    def sizes(self):
        return len(self.ids), 0

    def arrange(self, pages):
        assert pages == 1
        return True

    def page_vertices(self, page):
        return lambda: (self.ids, {"values": self.values, "parents": self.ids})

    def page_edges(self, page):
        return lambda: (np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))


def to_store(name, *parts, version=3):
    snapshot = Snapshot("paths", {"edges": 5}, datetime.now(UTC), version, 11, None)
    return LoopToStore(name, PATHS, None, snapshot, parts)


@pytest.mark.parametrize("counts", [(0,), (3, 0, 2)])
def test_a_loop_whose_value_is_a_pair_of_integers_is_stored_beside_one_whose_value_is_a_number(counts):
    ids = [np.arange(count) + 10 * worker for worker, count in enumerate(counts)]
    pairs = [np.stack([own, -own], axis=1) * 2**58 for own in ids]
    numbers = [own / 4 for own in ids]
    snapshots = StoredSnapshots(MemoryStore(), NAME)
    snapshots.write(
        [to_store("numbers", *map(Part, ids, numbers)), to_store("pairs", *map(Part, ids, pairs))]
    )
    stored = snapshots.find(3)
    one, other = stored.fixed_points
    assert (one.loop, other.loop) == ("numbers", "pairs")
    for point, values in ((one, numbers), (other, pairs)):
        found = stored.vertices(point)
        expected = np.concatenate(values)
        assert (found.values.dtype, found.values.shape) == (expected.dtype, expected.shape)
        assert found.values.tolist() == expected.tolist()
        assert found.ids.tolist() == found.columns["parents"].tolist() == np.concatenate(ids).tolist()


def test_loops_of_one_snapshot_have_the_same_vertices():
    snapshots = StoredSnapshots(MemoryStore(), NAME)
    with pytest.raises(InternalError, match="'others' has other vertices than 'ones' at version 3"):
        snapshots.write(
            [
                to_store("ones", Part(np.array([1, 2]), np.zeros(2))),
                to_store("others", Part(np.array([2, 1]), np.zeros(2))),
            ]
        )
    assert snapshots.all() == []


def stored_by_two_loops():
    store = MemoryStore()
    with Master(store) as master:
        paths = master.start(PATHS, NAME)
        master.start(HOPS, "hops", stream=NAME)
        paths.admit(stream(), "edges", len(stream()))
        version = paths.checkpoint()
    return store, version


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            {"format": 5},
            r"version \d+ of loop 'paths' has format 5, this program reads 1 to 4.*that wrote it",
        ),
        ({"format": "x"}, "has format 'x'"),
        ({"loops": []}, "no stored snapshot"),
        ({"columns": {"vertices": [["ids", "<M8[s]", []]], "edges": []}}, "no stored snapshot"),
    ],
)
def test_a_newer_format_and_broken_metadata_are_refused_and_nothing_begins_with_them(change, said):
    store, version = stored_by_two_loops()
    metadata = json.loads(store.metadata(NAME, version)) | change
    store.write(NAME, version, {}, metadata=json.dumps(metadata).encode())
    with Master(store) as master:
        with pytest.raises(StoreCorrupt, match=said):
            master.start(PATHS, NAME)
        assert list(master.loops) == []
        master.start(PATHS, "other")


@pytest.mark.parametrize(
    ("damaged", "said"),
    [(lambda page: page[:-5], "no whole number of entries"), (lambda page: page[:-16], "entries for")],
)
def test_a_damaged_page_of_one_loop_is_found_and_the_others_can_be_read(damaged, said):
    store, version = stored_by_two_loops()
    key = next(iter(store.keys(NAME, version, b"l/hops/")))
    page = store.read(NAME, key, version)
    store.write(NAME, version, {key: damaged(page)}, metadata=store.metadata(NAME, version))
    stored = StoredSnapshots(store, NAME).find(version)
    paths, hops = stored.fixed_points
    with pytest.raises(StoreCorrupt, match=said):
        stored.vertices(hops)
    assert len(stored.vertices(paths).values) == len(stored.ids())
    store.write(NAME, version, {}, deletes=[key], metadata=store.metadata(NAME, version))
    with pytest.raises(StoreCorrupt, match="0 entries for"):
        stored.vertices(hops)


# Format 1


def written_before(prefixes=(1000, 2500), identity=None):
    """A store of an older version, and what is in its snapshots."""
    records = stream()
    history, store = EdgeHistory.of(records), MemoryStore()
    for version, prefix in enumerate(prefixes, start=1):
        write_format_1(
            store,
            NAME,
            version,
            history.at(prefix),
            PATHS.source,
            {"edges": prefix},
            identity or KIND.identity(PATHS),
            pages=version,
        )
    return store, records, history


def answered(loop, history, prefix, **fork):
    """Judge a fork; whether it had nothing to compute."""
    branch = loop.fork(**fork)
    assert branch.wait(WAIT_S)
    assert branch.state is BranchState.CONVERGED, branch.error
    assert branch.snapshot.offsets == {"edges": prefix}
    ids, values = branch.values().arrays()
    program = loop.program.with_parameters(fork.get("parameters") or {})
    assert values.tolist() == exact(program, history.at(prefix)).lookup(ids).tolist()
    updates = branch.progress().updates
    branch.release()
    return updates == 0


@pytest.mark.parametrize("workers", [1, 3])
def test_a_store_of_format_1_is_gone_on_from_and_the_next_snapshot_is_of_the_newest_format(workers):
    store, records, history = written_before()
    with Master(store, workers) as master:
        paths = master.start(PATHS, NAME)
        hops = master.start(HOPS, "hops", stream=NAME)
        assert (paths.restored.is_converged, paths.restored.program) == (True, "ShortestPaths(source=1)")
        assert (paths.statistics().updates, paths.statistics().version) == (0, 2)
        assert paths.offsets() == {"edges": 2500}
        assert paths.snapshots()[-1].iteration == 7
        for version, prefix in ((1, 1000), (2, 2500)):
            assert answered(paths, history, prefix, at=version)
            assert not answered(hops, history, prefix, at=version)
        paths.admit(records.slice(2500, 4000), "edges", 4000)
        third = paths.checkpoint()
        assert [json.loads(store.metadata(NAME, found.version))["format"] for found in hops.snapshots()] == [
            *(1, 1, 4)
        ]
        for loop in (paths, hops):
            assert answered(loop, history, 4000, at=third)
        # The older ones are there still, and go one after another.
        assert answered(paths, history, 1000, at=1)
        assert paths.trim_snapshots(keep=2).version == 2
        assert answered(paths, history, 2500, at=2)
        assert not answered(paths, history, 2500, at=2, parameters={"source": 5})
        assert paths.trim_snapshots(keep=1).version == third
        assert answered(hops, history, 4000, at=third)
    with Master(store, 2) as master:
        paths = master.start(PATHS, NAME)
        assert paths.restored.is_converged
        assert answered(paths, history, 4000)


def test_edges_are_the_same_in_both_formats():
    store, _, _ = written_before((2500,))
    with Master(store) as master:
        paths = master.start(PATHS, NAME)
        paths.advance("edges", 2501)
        version = paths.checkpoint()
        found = StoredSnapshots(store, NAME)
        for one, other in zip(found.find(1).edge_pages(), found.find(version).edge_pages(), strict=True):
            assert one.sources.tolist() == other.sources.tolist()
        one, other = (found.find(number).vertices() for number in (1, version))
        assert dict(zip(one.ids.tolist(), one.values.tolist(), strict=True)) == (
            dict(zip(other.ids.tolist(), other.values.tolist(), strict=True))
        )


def test_another_program_takes_the_graph_of_format_1_alone():
    store, _, history = written_before(identity="of something else")
    with Master(store, 2) as master:
        paths = master.start(PATHS, NAME)
        assert not paths.restored.is_converged
        answered(paths, history, 2500)


# Format 3


@pytest.mark.parametrize("workers", [1, 3])
def test_a_store_of_format_3_is_gone_on_from_and_its_pages_of_edges_are_narrow_from_then_on(workers):
    records = stream()
    history, first = EdgeHistory.of(records), KeptStore()
    with Master(first, 2) as master:
        paths = master.start(PATHS, NAME)
        master.start(HOPS, "hops", stream=NAME)
        paths.admit(records.slice(0, 2500), "edges", 2500)
        before = paths.checkpoint()
        paths.admit(records.slice(2500, 3000), "edges", 3000)  # in the log alone
    store = as_format_3(first, NAME, before, KeptStore())
    wide = store.read(NAME, b"e/000000", before)
    with Master(store, workers) as master:
        paths = master.start(PATHS, NAME)
        hops = master.start(HOPS, "hops", stream=NAME)
        assert paths.restored.is_converged
        assert paths.offsets() == {"edges": 3000}
        for loop in (paths, hops):
            assert answered(loop, history, 2500, at=before)
            answered(loop, history, 3000)
        paths.admit(records.slice(3000, 4000), "edges", 4000)
        version = paths.checkpoint()
        found = StoredSnapshots(store, NAME)
        assert [found.find(one).size_bytes for one in (before, version)] == [
            sum(len(page) for _, page in store.scan(NAME, one, b"e/")) for one in (before, version)
        ]
        narrow = store.read(NAME, b"e/000000", version)
        assert (len(wide) % 24, narrow[:6], (len(narrow) - 8) % 16) == (0, b"i4i4f8", 0)
        for loop in (paths, hops):  # the older one is there still, beside the newer one
            assert answered(loop, history, 2500, at=before)
            assert answered(loop, history, 4000, at=version)
    with Master(store, 2) as master:
        paths = master.start(PATHS, NAME)
        assert paths.restored.is_converged
        assert answered(paths, history, 4000)
