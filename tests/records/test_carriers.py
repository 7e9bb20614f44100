"""What only carries records names none of their columns, so another kind of records passes through it as it is."""

import ast
from pathlib import Path

import pytest

from tornado.records.edge_batch import EDGES

ROOM = Path(__file__).resolve().parents[2] / "tornado"
CARRIERS = [
    "ingest/ingester.py",
    "ingest/kafka/ingester.py",
    "ingest/parsed.py",
    "intake/batch_columns.py",
    "intake/checkpoints.py",
    "loops/admission_log.py",
    "intake/staging.py",
    "loops/journal.py",
    "loops/share.py",
    "records/record_batch.py",
]


def columns_named_in(source):
    """Return the columns of edges that a module asks a batch for, gives one by keyword, or names in a string."""
    nodes = list(ast.walk(ast.parse(source)))
    asked = {node.attr for node in nodes if isinstance(node, ast.Attribute)}
    given = {node.arg for node in nodes if isinstance(node, ast.keyword)}
    named = {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    return sorted((asked | given | named) & set(EDGES.names))


@pytest.mark.parametrize("path", CARRIERS)
def test_a_carrier_names_no_column(path):
    assert columns_named_in((ROOM / path).read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    ("source", "named"),
    [
        ("sizes = [batch.src.nbytes, batch.op.nbytes]", ["op", "src"]),
        ("replace(batch, weight=weights)", ["weight"]),
        ("optional = {'op', 'order'}", ["op"]),
        ("batch.take(mask)", []),
    ],
)
def test_the_check_sees_a_column_that_is_named(source, named):
    assert columns_named_in(source) == named
