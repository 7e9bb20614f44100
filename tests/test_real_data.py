"""Absent data is a failure where somebody named the folder, and a skip with its reason where nobody did."""

import pytest

from tests.real_data import FILE_NAMES, locate


def test_data_that_was_named_and_is_absent_is_a_failure(tmp_path):
    with pytest.raises(
        pytest.fail.Exception, match=r"no a9a-test.libsvm.gz, .*, which TORNADO_TEST_DATA names"
    ):
        locate("nowhere", tmp_path)


def test_data_that_nobody_named_and_is_absent_is_a_skip_that_says_what_to_set(tmp_path):
    with pytest.raises(pytest.skip.Exception, match="set TORNADO_TEST_DATA to the folder"):
        locate(None, tmp_path / "checkout")


@pytest.mark.parametrize("named", ["../data", None])
def test_data_is_found_by_a_path_relative_to_the_checkout_and_beside_it(tmp_path, named):
    folder = tmp_path / ("data" if named else "shared/data")
    folder.mkdir(parents=True)
    for name in FILE_NAMES:
        (folder / name).touch()
    assert locate(named, tmp_path / "checkout") == folder


def test_one_file_that_is_missing_is_named(tmp_path):
    for name in FILE_NAMES[1:]:
        (tmp_path / name).touch()
    with pytest.raises(pytest.fail.Exception, match=rf"no {FILE_NAMES[0]} in "):
        locate(str(tmp_path))
