"""Frames between the two processes: whole, or none."""

import io

from hypothesis import given
from hypothesis import strategies as st

from tornado.ingest.kafka.wire import read_frame, write_frame

HEADERS = st.dictionaries(st.text(max_size=5), st.integers() | st.text(max_size=5), max_size=3)


@given(st.lists(st.tuples(HEADERS, st.lists(st.binary(max_size=20), max_size=3)), max_size=4))
def test_what_is_written_is_read_in_its_order(frames):
    file = io.BytesIO()
    for header, parts in frames:
        write_frame(file, header, parts)
    file.seek(0)
    for header, parts in frames:
        assert read_frame(file) == (header, b"".join(parts))
    assert read_frame(file) is None


def test_a_frame_that_is_cut_off_is_none():
    file = io.BytesIO()
    write_frame(file, {"kind": "chunk"}, [b"0123456789"])
    whole = file.getvalue()
    for kept in range(len(whole)):
        assert read_frame(io.BytesIO(whole[:kept])) is None
    assert read_frame(io.BytesIO(whole)) is not None
