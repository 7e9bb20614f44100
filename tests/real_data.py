"""Where the real data sets are, and what it means when they are not there."""

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
DATA_VARIABLE = "TORNADO_TEST_DATA"
FILE_NAMES = (
    "a9a-test.libsvm.gz",
    "bitcoin-otc.csv.gz",
    "college-msg.txt.gz",
    "soc-epinions1.txt.gz",
)


def locate(named, root=ROOT):
    """Return the folder with the data; end the test where it is not all there.

    `named` is the value of `TORNADO_TEST_DATA` (relative to the root of the checkout): absent data is a failure then. Without it
    the folder is sought beside the checkout, and absent data is a skip.
    """
    folder = (root / (named or "../shared/data")).resolve()
    missing = [name for name in FILE_NAMES if not (folder / name).is_file()]
    if not missing:
        return folder
    message = f"no {', '.join(missing)} in {folder}"
    if named:
        pytest.fail(f"{message}, which {DATA_VARIABLE} names; absent data is a failure there")
    pytest.skip(f"{message}; set {DATA_VARIABLE} to the folder that has them")
