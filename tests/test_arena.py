"""Reserved columns: pages are joined and given back, and what is in them stays."""

import numpy as np
import psutil

from tornado.arena import join_pages, populate, release_pages, reserve

HUGE = (2 << 20) // 8  # items of a huge page


def resident():
    return psutil.Process().memory_info().rss


def test_pages_that_are_joined_hold_what_they_held_and_take_no_more():
    column = reserve(64 * HUGE, np.float64)
    column[: 9 * HUGE + 7] = np.arange(9 * HUGE + 7)
    before = resident()
    end = join_pages(column, 0, 9 * HUGE + 7)
    assert 8 * HUGE <= end <= 9 * HUGE
    assert (column.ctypes.data + end * 8) % (2 << 20) == 0
    assert resident() < before + (1 << 20)
    assert (column[: 9 * HUGE + 7] == np.arange(9 * HUGE + 7)).all()
    assert not column[9 * HUGE + 7 : 10 * HUGE].any()
    assert join_pages(column, end, end + HUGE - 1) == end  # no whole page is there yet
    assert join_pages(column, end, end + 2 * HUGE) == end + 2 * HUGE


def test_of_what_is_joined_parts_are_given_back():
    column = reserve(16 * HUGE, np.float64)
    column[: 8 * HUGE] = 1.0
    join_pages(column, 0, 8 * HUGE)
    before = resident()
    release_pages(column, 5 * HUGE, 8 * HUGE)
    assert resident() < before - (5 << 20)
    assert column[: 5 * HUGE].all() and not column[5 * HUGE + 512 : 8 * HUGE].any()


def test_other_arrays_are_left_alone():
    assert join_pages(np.zeros(4 * HUGE), 3, 4 * HUGE) == 3


def test_memory_comes_ahead_of_who_writes_and_what_is_there_stays():
    columns = [reserve(1 << 26, np.int32), reserve(1 << 26, np.float64)]
    columns[0][:10], columns[1][:10] = 7, 0.5
    before = resident()
    populate(columns, 4 << 20).join()
    taken = resident() - before
    assert 44 << 20 < taken < 52 << 20  # 12 bytes of each of 4 M entries
    populate(columns, 8 << 20, first=6 << 20).join()
    assert 22 << 20 < resident() - before - taken < 28 << 20  # of half as many
    populate(columns, 16 << 20, first=8 << 20, goes_on=lambda: False).join()
    assert resident() - before - taken < 28 << 20
    assert columns[0][:10].tolist() == [7] * 10 and columns[1][:10].tolist() == [0.5] * 10
    assert not columns[0][10 : 4 << 20].any() and not columns[1][10 : 4 << 20].any()
