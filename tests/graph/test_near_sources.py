"""Records are moved together by their sources, and none is lost, changed, or overtaken by one of the same source."""

import numpy as np
import pytest

from tornado.graph import by_near_sources, near_sources

LEAST, MOST = np.iinfo(np.int64).min, np.iinfo(np.int64).max


def records(sources, *, seed=0):
    chosen = np.random.default_rng(seed)
    count = len(sources)
    return (
        np.array(sources, np.int64),
        chosen.integers(LEAST, MOST, count),
        np.arange(count, dtype=np.float64),
        chosen.integers(-1, 5, count).astype(np.int8),
    )


@pytest.mark.parametrize(
    "sources",
    [
        [7],
        [3, 3, 3],
        [5, -5, 5, -5, 0],
        [LEAST, MOST, 0, LEAST, MOST],
        np.random.default_rng(1).integers(0, 1 << 20, 50_000),
        np.random.default_rng(2).integers(-40, 40, 5_000),
        np.random.default_rng(3).integers(LEAST, MOST, 5_000),
        1_000 * np.random.default_rng(4).zipf(1.2, 5_000),
    ],
    ids=["one", "the same", "around zero", "far", "many", "few", "everywhere", "crowded"],
)
def test_records_are_as_a_stable_sort_by_the_highest_bits_has_them(sources):
    given = records(sources)
    before = [column.copy() for column in given]
    moved = by_near_sources(*given)

    distances = [int(source) - int(given[0].min()) for source in given[0]]
    shift = max(0, max(distances).bit_length() - min(near_sources._MOST_BITS, len(sources).bit_length()))
    order = sorted(range(len(sources)), key=lambda place: distances[place] >> shift)
    for column, was, found in zip(given, before, moved, strict=True):
        np.testing.assert_array_equal(column, was)  # only read
        np.testing.assert_array_equal(found, was[order])
        assert found.dtype == was.dtype
