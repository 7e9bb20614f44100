"""Files of vertices: one id a line."""

import gzip
import io

import numpy as np
import pytest

from tornado.errors import InvalidArgument
from tornado.ingest.interner import Interner
from tornado.ingest.layout import TextFormat
from tornado.ingest.source import open_sources
from tornado.ingest.text import parsed_batches
from tornado.records.operations import MENTION

LARGE = 2**63 - 1


def read(text, *, interner=None, **options):
    wanted = TextFormat(vertices=True, **options)
    found = list(parsed_batches(io.BytesIO(text), "vertices.txt", wanted=wanted, interner=interner))
    for parsed in found:
        assert (parsed.batch.op == MENTION).all()
        assert (parsed.batch.src == parsed.batch.dst).all()
    ids = [vertex for parsed in found for vertex in parsed.settled().src.tolist()]
    return ids, [(one.position, one.reason) for parsed in found for one in parsed.rejected]


@pytest.mark.parametrize(
    "header", [b"", b"id\n", b"Vertex\n", b"# from there\n_name\n", b"\xef\xbb\xbfnode\n"]
)
def test_ids_are_read_whatever_the_header(header):
    ids, rejected = read(header + b"1\n  -7 \n\n%% a comment\n%d\r\n1\n" % LARGE)
    assert (ids, rejected) == ([1, -7, LARGE, 1], [])


def test_a_fault_costs_its_line_and_is_named():
    text = b'id\n1\nx\n2,3\n9223372036854775808\n4 5\n"6"\n1.0\n7,\n'
    assert read(text) == (
        [1, 6, 7],
        [
            (3, "id is not an integer: 'x'"),
            (4, "more than one id: a line has one vertex"),
            (5, "id is beyond 64 bits: '9223372036854775808'"),
            (6, "id is not an integer: '4 5'"),
            (8, "id is not an integer: '1.0'"),
        ],
    )


def test_names_may_have_blanks_and_commas_in_quotes():
    interner = Interner()
    ids, rejected = read(b'ID\nNew York\n"Rome, Italy"\nid\n\xff\n', interner=interner)
    assert interner.names(np.array(ids)) == ["New York", "Rome, Italy", "id"]
    assert [position for position, _ in rejected] == [5]
    assert rejected[0][1].startswith("id is not UTF-8")


def test_they_come_before_the_edges_and_go_on_where_they_were(tmp_path):
    (tmp_path / "graph.v.gz").write_bytes(gzip.compress(b"5\n6\n7\n"))
    (tmp_path / "graph.e").write_text("5 6\n")
    vertices, edges = open_sources([tmp_path / "graph.e"], vertices=[tmp_path / "graph.v.gz"])
    assert (vertices.name, edges.name) == ("graph.v.gz", "graph.e")
    vertices.seek(2)
    assert [parsed.settled().src.tolist() for parsed in vertices.batches()] == [[7]]
    assert [parsed.batch.op.tolist() for parsed in edges.batches()] == [[1]]
    with pytest.raises(InvalidArgument, match="named twice"):
        open_sources(["-"], vertices=["-"])
