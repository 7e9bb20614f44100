"""The command line in the process of a test, as `tests/command` asks it: a process of its own takes seconds to start."""

import pytest

from tests.command.conftest import environment, tornado

__all__ = ["command", "environment", "tornado"]


@pytest.fixture
def command(tornado):
    """Run `tornado WORDS` to its end; return the exit code and what it wrote to standard output and to standard error."""

    def run(*words):
        done = tornado(*map(str, words))
        return done.code, done.out, done.err

    return run
