"""Result files: the same bits back, in order, whole or not at all."""

from __future__ import annotations

import csv

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tornado.command import output
from tornado.command.output import check_output, result_table, write_result
from tornado.errors import InvalidArgument

_HARD = [0.0, -0.0, 0.1, 3.0, 5e-324, 2.2250738585072014e-308, 1.7976931348623157e308, 1e16, 1e22, 1 / 3]


def _write(path, ids, values, **labels):
    values = np.array(values, np.float64)
    write_result(str(path), result_table(np.array(ids, np.int64), values, values != np.inf, **labels))
    return path


def _read_csv(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def _bits(values):
    return np.array(values, np.float64).view(np.int64).tolist()


def test_a_csv_result_has_the_header_and_an_empty_value_for_the_unreachable(tmp_path):
    path = _write(tmp_path / "out.csv", [-4, 0, 7, 8], [1.5, np.inf, 0.25, 3.0])
    assert path.read_bytes() == b"vertex,value\n-4,1.5\n0,\n7,0.25\n8,3.0\n"


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1))
def test_numbers_in_csv_read_back_as_the_same_bits(tmp_path_factory, values):
    path = _write(tmp_path_factory.mktemp("bits") / "out.csv", range(len(values)), values)
    assert _bits([float(row["value"]) for row in _read_csv(path)]) == _bits(values)


@pytest.mark.parametrize("ending", [".csv", ".parquet", ".arrow"])
def test_every_format_keeps_ids_beyond_what_a_float_can_hold_and_hard_numbers(tmp_path, ending):
    ids = [2**63 - 1 - k for k in range(len(_HARD))][::-1]
    path = _write(tmp_path / f"out{ending}", ids, _HARD)
    if ending == ".csv":
        rows = _read_csv(path)
        found_ids = [int(row["vertex"]) for row in rows]
        found = [float(row["value"]) for row in rows]
    else:
        table = _read_table(path)
        found_ids, found = table["vertex"].to_pylist(), table["value"].to_pylist()
    assert found_ids == ids
    assert _bits(found) == _bits(_HARD)


@pytest.mark.parametrize("ending", [".parquet", ".arrow"])
def test_the_unreachable_is_null_in_columnar_formats(tmp_path, ending):
    table = _read_table(_write(tmp_path / f"out{ending}", [1, 2], [np.inf, 2.0]))
    assert table["value"].to_pylist() == [None, 2.0]
    assert table.schema.names == ["vertex", "value"]


@pytest.mark.parametrize("ending", [".csv", ".parquet", ".arrow"])
def test_whole_numbers_keep_all_their_digits(tmp_path, ending):
    values = [2**63 - 1, -(2**63), 2**53 + 1, 0]
    path = tmp_path / f"out{ending}"
    ids, reached = np.arange(4), np.array([True, True, True, False])
    write_result(str(path), result_table(ids, np.array(values, np.int64), reached))
    if ending == ".csv":
        text = "vertex,value\n0,9223372036854775807\n1,-9223372036854775808\n2,9007199254740993\n3,\n"
        assert path.read_text() == text
    else:
        table = _read_table(path)
        assert table.schema.field("value").type == pa.int64()
        assert table["value"].to_pylist() == [*values[:3], None]


def test_an_infinity_that_is_a_value_is_written_and_what_was_not_reached_is_not(tmp_path):
    values, reached = np.array([np.inf, -np.inf, 2.0, -np.inf]), np.array([True, False, True, True])
    table = result_table(np.arange(4), values, reached)
    write_result(str(tmp_path / "out.csv"), table)
    assert (tmp_path / "out.csv").read_text() == "vertex,value\n0,inf\n1,\n2,2.0\n3,-inf\n"
    write_result(str(tmp_path / "out.arrow"), table)
    assert _read_table(tmp_path / "out.arrow")["value"].to_pylist() == [np.inf, None, 2.0, -np.inf]


def test_values_with_names_are_quoted_as_ids_are(tmp_path):
    ids, reached = np.arange(3), np.array([True, False, True])
    table = result_table(
        ids, np.zeros(3, np.int64), reached, labels=["a", "b", "c"], names=["a,b", None, "inf"]
    )
    write_result(str(tmp_path / "out.csv"), table)
    assert (tmp_path / "out.csv").read_text() == 'vertex,value\na,"a,b"\nb,\nc,inf\n'
    assert table.schema.field("value").type == pa.string()


def test_string_ids_come_back_as_strings_and_are_quoted_only_where_they_must_be(tmp_path):
    plain = _write(tmp_path / "plain.csv", [0, 1], [1.0, np.inf], labels=["Köln", "Rom"])
    assert plain.read_text() == "vertex,value\nKöln,1.0\nRom,\n"
    names = ['say "hi"', "a,b", "two\nlines"]
    hard = _write(tmp_path / "hard.csv", [0, 1, 2], [1.0, 2.0, 3.0], labels=names)
    assert [row["vertex"] for row in _read_csv(hard)] == names
    mixed = _write(tmp_path / "mixed.csv", [0, 1], [1.0, 2.0], labels=["a,b", "c"])
    assert mixed.read_text() == 'vertex,value\n"a,b",1.0\nc,2.0\n'


def test_ldbc_has_lines_without_a_header_and_words_of_its_own_for_what_is_out_of_reach(tmp_path):
    path = tmp_path / "out"

    def written(values, reached, **options):
        table = result_table(np.array([-4, 7, 8, 2**62], np.int64), np.array(values), np.array(reached))
        write_result(str(path), table, output_format="ldbc", **options)
        return path.read_text()

    reached = [True, False, True, True]
    lengths = written([0.0, np.inf, 0.1 + 0.2, 1e-7], reached)
    assert lengths == f"-4 0.0\n7 infinity\n8 0.30000000000000004\n{2**62} 1e-7\n"
    hops = written([0.0, np.inf, 1.0, 2.0**40], reached, are_counts=True)
    assert hops == f"-4 0\n7 9223372036854775807\n8 1\n{2**62} {2**40}\n"
    labels = written([2**63 - 1, -(2**63), 2**53 + 1, 0], [True] * 4)
    assert labels == f"-4 {2**63 - 1}\n7 {-(2**63)}\n8 {2**53 + 1}\n{2**62} 0\n"
    assert written([np.inf, -np.inf, 1.0, 2.0], reached).startswith("-4 infinity\n7 infinity\n8 1.0\n")


def test_an_empty_result_of_ldbc_is_nothing(tmp_path):
    table = result_table(np.zeros(0, np.int64), np.zeros(0), np.zeros(0, np.bool_))
    write_result(str(tmp_path / "out"), table, output_format="ldbc")
    assert (tmp_path / "out").read_bytes() == b""


def test_an_empty_result_is_a_header_alone(tmp_path):
    assert _write(tmp_path / "out.csv", [], []).read_bytes() == b"vertex,value\n"


def test_a_failed_write_leaves_the_old_file_and_nothing_beside_it(tmp_path, monkeypatch):
    path = tmp_path / "out.csv"
    path.write_text("old")

    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(output, "_write_csv", fail)
    with pytest.raises(OSError, match="No space left"):
        _write(path, [1], [1.0])
    assert path.read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["out.csv"]


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("out.xls", "names no format"),
        ("out", "names no format"),
        ("no/such/folder/out.csv", "there is no folder"),
    ],
)
def test_a_target_that_cannot_be_written_is_refused_before_any_work(tmp_path, monkeypatch, target, said):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InvalidArgument, match=said):
        check_output(target)


def _read_table(path):
    if path.suffix == ".parquet":
        return pyarrow.parquet.read_table(path)
    with pa.ipc.open_file(path) as reader:
        return reader.read_all()
