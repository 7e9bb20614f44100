"""What a running command shows: a bar on a terminal, JSON lines elsewhere, never on standard output."""

from __future__ import annotations

import io
import json
import math

from rich.console import Console

from tornado.command.progress import (
    JsonReporter,
    Rate,
    Reading,
    TerminalReporter,
    make_reporter,
    show_compiling,
)
from tornado.kernel_modules import load_module

_READING = Reading(stage="reading", admitted=1200, rejected=2, iteration=17, residual=0.5, fraction=0.25)


def test_a_json_line_has_the_admitted_edges_the_rate_the_frontier_and_the_residual(capsys):
    clock = iter([0.0, 0.0, 2.0]).__next__
    with JsonReporter(clock=clock) as reporter:
        reporter.show(Reading(stage="reading", admitted=0, rejected=0, iteration=0, residual=math.nan))
        reporter.show(_READING)
    captured = capsys.readouterr()
    assert captured.out == ""
    first, second = map(json.loads, captured.err.splitlines())
    assert first["residual"] is None
    assert second == {
        "event": "progress",
        "stage": "reading",
        "admitted": 1200,
        "rejected": 2,
        "edges_per_s": 600.0,
        "frontier": 17,
        "residual": 0.5,
        "fraction": 0.25,
        "elapsed_s": 2.0,
    }


def test_the_bar_shows_the_same_numbers_to_people():
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, width=120)
    with TerminalReporter(console=console) as reporter:
        reporter.show(_READING)
    shown = screen.getvalue()
    for part in ("reading", "1,200 edges", "frontier 17", "residual 0.5", "2 rejected"):
        assert part in shown


def test_json_lines_are_chosen_where_standard_error_is_no_terminal():
    assert isinstance(make_reporter(as_json=False), JsonReporter)


def test_the_rate_forgets_what_is_long_past():
    rate = Rate()
    readings = [rate.of(1000 * second, at_s=float(second)) for second in range(5)]
    assert readings == [0.0, 1000.0, 1000.0, 1000.0, 1000.0]
    assert [rate.of(4000, at_s=float(second)) for second in range(5, 9)][-1] == 0.0


_MODULE = '''
"""a module of this test's"""
import numba as nb
from tornado.inner_functions import inner

@inner
def twice(number):
    return number + number + {number}

@inner
def thrice(number):
    return twice(number) + number

@nb.njit(nogil=True)
def entry(number):
    return thrice(number)
'''


def test_a_json_line_says_what_is_compiled_and_how_far_that_is(capsys):
    module = load_module(_MODULE.format(number=1))
    clock = iter([0.0, 0.25, 0.5, 1.5]).__next__
    with show_compiling(as_json=True, clock=clock):
        assert module.entry(5) == 16
        assert module.entry(6) == 19
    captured = capsys.readouterr()
    assert captured.out == ""
    first, second = map(json.loads, captured.err.splitlines())  # two of the three: no more than one a second
    assert first == {
        "event": "compiling",
        "title": "a module of this test's",
        "function": "entry",
        "done": 0,
        "functions": 3,
        "elapsed_s": 0.25,
    }
    assert (second["function"], second["elapsed_s"]) == ("twice", 1.5)


def test_a_bar_says_to_people_what_is_compiled_and_says_nothing_the_second_time():
    module = load_module(_MODULE.format(number=2))
    shown = []
    for _ in range(2):
        screen = io.StringIO()
        with show_compiling(as_json=False, console=Console(file=screen, force_terminal=True, width=160)):
            assert module.entry(5) == 17
        shown.append(screen.getvalue())
    assert "compiling a module of this test's" in shown[0]
    assert "of 3 functions" in shown[0]
    assert shown[1] == ""
