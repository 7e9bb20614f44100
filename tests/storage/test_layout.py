"""The key layout against its law: the order of bytes is loop, then key, then newest version first."""

from hypothesis import given
from hypothesis import strategies as st

from tornado.storage import MAX_KEY_SIZE_BYTES, MAX_VERSION, layout

# Few different bytes, so that keys collide, nest, and end in what the escaping treats specially.
keys = st.lists(st.sampled_from([b"\x00", b"\x01", b"\x7f", b"\x80", b"\xff", b"a"]), max_size=6).map(
    b"".join
)
versions = st.sampled_from([0, 1, 255, 256, 2**31, 2**62, MAX_VERSION - 1, MAX_VERSION])
places = st.tuples(st.sampled_from([0, 1, 2**32 - 1]), keys, versions)


@given(places, places)
def test_entries_are_ordered_by_loop_then_key_then_newest_version_first(one, other):
    wanted = (one[0], one[1], -one[2]) < (other[0], other[1], -other[2])
    assert (layout.entry(*one) < layout.entry(*other)) == wanted
    assert (layout.entry(*one) == layout.entry(*other)) == (one == other)
    assert layout.same_key(layout.entry(*one), layout.entry(*other)) == (one[:2] == other[:2])


@given(places, places)
def test_beyond_a_key_lies_after_all_its_versions_and_before_the_next_key(one, other):
    beyond = layout.beyond_key(layout.entry(*one))
    assert (layout.entry(*other) < beyond) == (other[:2] <= one[:2])


@given(places, keys)
def test_an_entry_begins_with_a_prefix_exactly_where_its_key_does(place, prefix):
    number, key, _ = place
    assert layout.entry(*place).startswith(layout.key_prefix(number, prefix)) == key.startswith(prefix)


@given(places, versions)
def test_an_entry_gives_its_parts_back(place, version):
    number, key, stored = place
    at = layout.entry(*place)
    assert (layout.entry_key(at), layout.entry_version(at)) == (key, stored)
    assert layout.at_version(at, version) == layout.entry(number, key, version)


def test_the_longest_key_of_a_chunk_fits_into_lmdb():
    at = layout.entry(2**32 - 1, b"\x00" * MAX_KEY_SIZE_BYTES, 0)
    assert len(layout.chunk_key(at, 2**32 - 1)) <= 511
