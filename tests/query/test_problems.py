"""Every error of the tree has a status and a document; nothing of a bug leaks."""

import inspect

import pytest

from tornado import errors
from tornado.query import answers, problems

ALL = [
    kind
    for module in (errors, answers)
    for kind in vars(module).values()
    if inspect.isclass(kind) and issubclass(kind, errors.TornadoError) and kind.__module__ == module.__name__
]


@pytest.mark.parametrize("kind", ALL, ids=lambda kind: kind.__name__)
def test_every_error_of_the_tree_has_a_document_with_its_code(kind):
    problem = problems.of_error(kind("x is 1 but must be 2", hint="Make it 2."))
    content = problem.content()
    assert 400 <= problem.status < 600
    assert content["code"] == kind.code
    assert (content["detail"], content["hint"]) == ("x is 1 but must be 2", "Make it 2.")
    assert (content["type"], content["status"]) == ("about:blank", problem.status)


def test_the_fault_of_the_caller_is_a_4xx_and_any_other_a_5xx():
    for kind in ALL:
        status = problems.of_error(kind("x")).status
        if kind is errors.NotSupported:
            # The wish is legal, the server cannot fulfil it: 501 is made for that.
            assert status == 501
        elif issubclass(kind, errors.CallerError | errors.RecordError):
            assert 400 <= status < 500, kind
        else:
            assert status >= 500, kind


@pytest.mark.parametrize(
    ("after_s", "header"), [(0.0, "1"), (0.2, "1"), (1.0, "1"), (1.2, "2"), (30.0, "30")]
)
def test_retry_after_is_in_whole_seconds_and_never_0(after_s, header):
    error = errors.QueueFull("full", retry_after_s=after_s)
    assert problems.of_error(error).headers == {"Retry-After": header}


def test_a_foreign_error_says_nothing_of_its_own():
    problem = problems.of_error(KeyError("password"))
    assert (problem.status, problem.code) == (500, "internal-error")
    assert "password" not in str(problem.content())
