"""A shortened table has all of its rows, and those that are not kept are long tests."""

import pytest

from tests.shortened import in_soak, shortened

ROWS = [(1, "threads"), (2, "threads"), (2, "processes")]


def split(table):
    """Return the rows of `make test` and those of `make soak`, as their values."""
    long = [row.values for row in table if isinstance(row, type(pytest.param()))]
    assert all(row.marks == (pytest.mark.soak,) for row in table if isinstance(row, type(pytest.param())))
    return [row for row in table if not isinstance(row, type(pytest.param()))], long


@pytest.mark.parametrize("kept", range(4))
def test_the_first_rows_are_kept_and_the_others_are_long_tests(kept):
    assert split(shortened(ROWS, kept)) == (ROWS[:kept], ROWS[kept:])


def test_rows_are_kept_by_what_is_in_them():
    assert split(shortened(ROWS, lambda row: row[1] == "processes")) == (ROWS[2:], ROWS[:2])


def test_single_values_are_rows_of_one_value():
    assert split(shortened(range(1000, 1003), 1)) == ([1000], [(1001,), (1002,)])
    assert in_soak("a word").values == ("a word",)
