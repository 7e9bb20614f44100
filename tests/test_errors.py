"""The error tree: what its docstring draws is what exists, and everything in it crosses processes."""

import inspect
import pickle
import re

import pytest

from tornado import errors

ALL = [
    kind
    for kind in vars(errors).values()
    if inspect.isclass(kind) and issubclass(kind, errors.TornadoError) and kind.__module__ == errors.__name__
]


def by_name(kind):
    return kind.__name__


@pytest.mark.parametrize("kind", ALL, ids=by_name)
def test_every_error_comes_back_from_a_pickle_with_message_hint_and_code(kind):
    error = kind("offset is -1 but must be at least 0", hint="Start at 0.")
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is kind
    assert str(again) == str(error) == "offset is -1 but must be at least 0. Start at 0."
    assert (again.message, again.hint, again.code, again.args) == (
        error.message,
        error.hint,
        error.code,
        error.args,
    )


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_fields_of_one_class_survive_every_pickle_protocol(protocol):
    error = errors.QueueFull("256 queries wait, the limit is 256", retry_after_s=2.5)
    error.add_note("while loading edges.csv")
    again = pickle.loads(pickle.dumps(error, protocol))
    assert again.retry_after_s == 2.5
    assert again.__notes__ == ["while loading edges.csv"]


def test_codes_are_kebab_case_and_belong_to_one_class_each():
    codes = [kind.code for kind in ALL]
    assert len(set(codes)) == len(codes)
    assert all(re.fullmatch(r"[a-z]+(-[a-z]+)*", code) for code in codes)


def test_the_docstring_draws_the_tree_that_exists():
    drawn = {}
    path = []
    for line in inspect.getdoc(errors).splitlines():
        match = re.match(r"^    ([│├└─ ]*)([A-Z]\w+)\b(?=\s|$)", line)
        if not match:
            continue
        depth = len(match[1]) // 4
        path[depth:] = [match[2]]
        drawn[match[2]] = path[depth - 1] if depth else None
    exists = {
        kind.__name__: next((base.__name__ for base in kind.__bases__ if base in ALL), None) for kind in ALL
    }
    assert drawn == exists


def test_a_hint_left_out_is_that_of_the_class_and_an_empty_one_is_none_at_all():
    assert str(errors.StoreFull("3 pages do not fit")).endswith(errors.StoreFull.default_hint)
    assert str(errors.StoreFull("3 pages do not fit", hint="")) == "3 pages do not fit"


def test_a_mistake_of_the_caller_is_also_a_value_error():
    with pytest.raises(ValueError, match="workers is 0"):
        raise errors.InvalidArgument("workers is 0 but must be at least 1")


def test_a_record_error_gives_its_reason():
    assert errors.RecordError("3 columns, expected 2").reason == "3 columns, expected 2"
