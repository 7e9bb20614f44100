"""Where lines are, beside what Python's own splitting says."""

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tornado.ingest.line_finder import find_lines

pieces = st.sampled_from(
    [b"\n", b"\n", b"\r\n", b"\r", b" ", b"\t", b"#", b"%", b"a", b"12,3", b"\x8a", b"\x0b", b"x" * 9]
)


@given(st.lists(pieces, max_size=40).map(b"".join), st.integers(1, 12), st.booleans())
@example(b"\x0a\x0b\x0a\x0a\x8a\x0a\x00\x0a", 5, True)
@settings(max_examples=300, deadline=None)
def test_lines_are_where_python_finds_them(data, limit, comments):
    starts, stops, numbers, count = find_lines(np.frombuffer(data, np.uint8), 7, limit, comments)
    expected = []
    at = 0
    lines = data.split(b"\n")
    if not lines[-1]:
        lines.pop()
    for number, line in enumerate(lines, start=7):
        text = line.removesuffix(b"\r")
        head = text[:limit].lstrip(b" \t")
        is_comment = comments and head[:1] in (b"#", b"%")
        if (head or len(text) > limit) and not is_comment:
            expected.append((at, at + len(text), number))
        at += len(line) + 1
    assert list(zip(starts.tolist(), stops.tolist(), numbers.tolist(), strict=True)) == expected
    assert count == len(lines)
