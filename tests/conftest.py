"""What every room's tests share."""

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
DATA_VARIABLE = "TORNADO_TEST_DATA"
DATA_FILE_NAMES = (
    "a9a-test.libsvm.gz",
    "bitcoin-otc.csv.gz",
    "college-msg.txt.gz",
    "soc-epinions1.txt.gz",
)


@pytest.fixture(scope="session")
def data_dir():
    """The folder with the real data sets.

    `TORNADO_TEST_DATA` names it (relative to the root of the checkout), and then data that is absent is a failure. Where the
    variable is not set, the folder is sought beside the checkout, and absent data is a skip.
    """
    named = os.environ.get(DATA_VARIABLE)
    folder = (ROOT / (named or "../shared/data")).resolve()
    missing = [name for name in DATA_FILE_NAMES if not (folder / name).is_file()]
    if not missing:
        return folder
    message = f"no {', '.join(missing)} in {folder}"
    if named:
        pytest.fail(f"{message}, which {DATA_VARIABLE} names; absent data is a failure there")
    pytest.skip(f"{message}; set {DATA_VARIABLE} to the folder that has them")
