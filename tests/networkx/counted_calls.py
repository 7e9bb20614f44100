"""A plugin of pytest for networkx's own tests: counts what this backend answered, and what it left to networkx and why, and says so."""

import functools
from collections import Counter

from tornado.networkx import functions

calls = Counter()
left = Counter()


def counting(name, function):
    # By its signature the backend knows what a call names.
    @functools.wraps(function)
    def called(*args, **kwargs):
        calls[name] += 1
        return function(*args, **kwargs)

    return called


def counting_refusals(refusal):
    def asked(name, args, kwargs):
        reason = refusal(name, args, kwargs)
        if reason and name in functions.FUNCTIONS:
            left[name, reason] += 1
        return reason

    return asked


def pytest_configure():
    functions.refusal = counting_refusals(functions.refusal)
    functions.FUNCTIONS.update({name: counting(name, one) for name, one in functions.FUNCTIONS.items()})


def pytest_terminal_summary(terminalreporter):
    terminalreporter.write_line(
        "answered: " + " ".join(f"{name}={count}" for name, count in sorted(calls.items()))
    )
    for (name, reason), count in sorted(left.items()):
        terminalreporter.write_line(f"left to networkx: {count} x {name}: {reason}")
