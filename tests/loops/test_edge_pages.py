"""Pages of edges come back bit for bit, each column in the narrowest type that has all of it exactly."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tornado.loops.edge_pages import edge_page_of, edges_of

IDS = [0, 1, -1, 2**31 - 1, -(2**31), 2**31, -(2**31) - 1, 2**63 - 1, -(2**63)]
WEIGHTS = [0.0, -0.0, 1.0, 2.0**24, 2.0**24 + 1, 0.1, 1e300, 5e-324, float("inf")]


def part_of(draw, count):
    """Columns of the types that a worker may have them in."""
    ids = [draw(st.sampled_from([np.int32, np.int64])) for _ in range(2)]
    columns = [
        np.array(
            draw(
                st.lists(st.integers(np.iinfo(kind).min, np.iinfo(kind).max), min_size=count, max_size=count)
            ),
            kind,
        )
        for kind in ids
    ]
    width = draw(st.sampled_from([32, 64]))
    weights = st.floats(width=width)
    kind = np.float32 if width == 32 else np.float64
    return [*columns, np.array(draw(st.lists(weights, min_size=count, max_size=count)), kind)]


@given(data=st.data(), counts=st.lists(st.integers(0, 4), min_size=1, max_size=3))
def test_edges_of_several_workers_come_back_bit_for_bit_whatever_types_each_has_them_in(data, counts):
    parts = [part_of(data.draw, count) for count in counts]
    page = bytes(edge_page_of(parts))
    if not sum(counts):
        assert page == b""
        return
    found = edges_of(page)
    for place, (column, kind) in enumerate(
        [(found.sources, np.int64), (found.targets, np.int64), (found.weights, np.float64)]
    ):
        expected = np.concatenate([part[place].astype(kind) for part in parts])
        assert column.dtype == expected.dtype
        assert column.tobytes() == expected.tobytes()
        assert column.flags.writeable  # for others every kernel would be compiled once more
        assert column.flags.aligned


@pytest.mark.parametrize(
    ("kinds", "said"),
    [
        (("i4", "i4", "f4"), b"i4i4f4"),
        (("i8", "i4", "f8"), b"i8i4f8"),
        (("i4", "i8", "f4"), b"i4i8f4"),
    ],
)
def test_a_page_says_its_types_and_takes_what_they_take(kinds, said):
    page = bytes(edge_page_of([[np.ones(5, kind) for kind in kinds]]))
    assert page[:8] == said + bytes(2)
    assert len(page) == 8 + 5 * sum(int(kind[1]) for kind in kinds)


@pytest.mark.parametrize(
    ("page", "said"),
    [
        (b"i4i4f4\0\0" + bytes(13), "21 bytes, which is no whole number of edges"),
        (b"i2i4f4\0\0" + bytes(12), "types 'i2i4f4', which is not known"),
        (b"i4f4i4\0\0" + bytes(12), "not known"),
        (b"i4i4f4", "not known"),
        (bytes(24), "not known"),
        (b"\xff" * 24, "not known"),
    ],
)
def test_a_page_that_is_none_is_refused(page, said):
    with pytest.raises(ValueError, match=said):
        edges_of(page)
