"""A plugin of pytest for networkx's own tests: counts what this backend answered, and says so at the end."""

import functools
from collections import Counter

from tornado.networkx import functions

calls = Counter()


def counting(name, function):
    # By its signature the backend knows what a call names.
    @functools.wraps(function)
    def called(*args, **kwargs):
        calls[name] += 1
        return function(*args, **kwargs)

    return called


def pytest_configure():
    functions.FUNCTIONS.update({name: counting(name, one) for name, one in functions.FUNCTIONS.items()})


def pytest_terminal_summary(terminalreporter):
    terminalreporter.write_line(
        "answered: " + " ".join(f"{name}={count}" for name, count in sorted(calls.items()))
    )
