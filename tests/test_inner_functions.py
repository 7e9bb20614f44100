"""Inner functions: compiled once whatever they are called with, and right with any Numba."""

import numba
import numpy as np
import pytest

from tornado import inner_functions
from tornado.inner_functions import KNOWN_NUMBA, inner


def test_the_installed_numba_is_the_one_whose_insides_are_known():
    assert numba.version_info[:2] == KNOWN_NUMBA, (
        "look whether inner functions are compiled once, then say so in tornado/inner_functions.py"
    )


def functions():
    @inner
    def lower(number, is_doubled):
        return number + 2 if is_doubled else number + 1

    @inner
    def middle(numbers, place):
        narrow = numbers[place]
        return lower(narrow, True) + lower(7, False) + lower(place, place > 0)

    @numba.njit
    def entry(numbers):
        return middle(numbers, 0) + middle(numbers, np.int64(1))

    return lower, entry


def test_a_function_is_compiled_once_for_literal_narrow_and_wide_numbers():
    lower, entry = functions()
    assert entry(np.array([2**31 - 1, 5], np.int32)) == 2**31 + 1 + 8 + 1 + 7 + 8 + 3
    assert len(lower.nopython_signatures) == 1


def test_numbers_without_sign_and_fractions_stay_what_they_are():
    @inner
    def turned(bits, fraction):
        return ~bits, fraction

    @numba.njit
    def entry(bits):
        return turned(bits, np.float32(0.5))

    assert entry(np.uint64(1)) == (2**64 - 2, 0.5)
    assert [str(kind) for kind in turned.nopython_signatures[0].args] == ["uint64", "float32"]


def test_an_inner_function_has_no_machine_code_of_its_own():
    lower, entry = functions()
    entry(np.zeros(2, np.int32))
    (compiled,) = lower.overloads.values()
    assert compiled.library.get_pointer_to_function(compiled.fndesc.llvm_func_name) == 0


@pytest.mark.parametrize("version", [(0, 67), (1, 0)])
def test_another_numba_computes_the_same(monkeypatch, version):
    monkeypatch.setattr(inner_functions, "KNOWN_NUMBA", version)
    lower, entry = functions()
    assert entry(np.array([2**31 - 1, 5], np.int32)) == 2**31 + 1 + 8 + 1 + 7 + 8 + 3
    assert len(lower.nopython_signatures) > 1
