"""What `make test` runs of a table of parameters; the rest is marked as long tests, which `make soak` runs."""

import pytest


def shortened(rows, kept):
    """Return the rows of a parametrization, with all but some of them as long tests.

    `kept` is how many of the first ones are in `make test`, or says of a row whether it is.
    """
    is_kept = kept if callable(kept) else None
    return [
        row if (is_kept(row) if is_kept else place < kept) else in_soak(row) for place, row in enumerate(rows)
    ]


def in_soak(row):
    """Return a row of a parametrization as a long test."""
    values = row if isinstance(row, tuple) else (row,)
    return pytest.param(*values, marks=pytest.mark.soak)
