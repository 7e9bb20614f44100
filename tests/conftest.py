"""What every room's tests share."""

import os

import pytest

from tests.real_data import DATA_VARIABLE, locate


@pytest.fixture(scope="session")
def data_dir():
    """The folder with the real data sets; see `tests.real_data`."""
    return locate(os.environ.get(DATA_VARIABLE))
