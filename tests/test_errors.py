"""The error tree: what its docstring draws is what exists, everything in it crosses processes, and docs/errors.md lists all of it."""

import ast
import builtins
import inspect
import pickle
import re
from http import HTTPStatus
from pathlib import Path

import pytest

from tornado import errors
from tornado.command import client
from tornado.command.presentation import ExitCode, exit_code_of
from tornado.query import problems

ROOT = Path(__file__).resolve().parents[1]

# Who uses the client alone has no other tree; the command line turns each into one of ours (`tests/client/test_steps.py`).
OF_THE_CLIENT = "the tree of a distribution of its own, which has nothing else of this package"

# Exception classes outside errors.py, and why no caller meets them under their own name.
ELSEWHERE = {
    "tornado/client/errors.py: InConflict": OF_THE_CLIENT,
    "tornado/client/errors.py: InvalidInput": OF_THE_CLIENT,
    "tornado/client/errors.py: MissingPackage": OF_THE_CLIENT,
    "tornado/client/errors.py: NotFound": OF_THE_CLIENT,
    "tornado/client/errors.py: NotPermitted": OF_THE_CLIENT,
    "tornado/client/errors.py: OutcomeUnknown": OF_THE_CLIENT,
    "tornado/client/errors.py: Overloaded": OF_THE_CLIENT,
    "tornado/client/errors.py: QueryEnded": OF_THE_CLIENT,
    "tornado/client/errors.py: Refused": OF_THE_CLIENT,
    "tornado/client/errors.py: ServiceError": OF_THE_CLIENT,
    "tornado/client/errors.py: ServiceFailed": OF_THE_CLIENT,
    "tornado/client/errors.py: Unreachable": OF_THE_CLIENT,
    "tornado/engine/wire.py: WrongFence": "a message of another set of workers is dropped inside the engine",
    "tornado/ingest/kafka/consumer.py: _Fatal": "the client's process reports it; the ingester raises SourceLost or PeerError",
    "tornado/ingest/kafka/diagnosis.py: _Broken": "ends a walk of steps, and becomes the last of them",
    "tornado/ingest/kafka/unpacking.py: _PollFull": "ends a poll, and is caught by whoever polls",
    "tornado/ingest/kafka/unpacking.py: _TooFar": "ends a look at a batch, and is caught there",
    "tornado/kinds/learning/rounds.py: Stopped": "is thrown into a method, which ends with what it has",
    "tornado/loops/directions.py: ReverseListsGone": "has the master begin a loop once more, with lists of its own",
    "tornado/protocol/exploration.py: Counterexample": "carries the actions of a schedule; only tests explore schedules",
    "tornado/query/problems.py: ProblemError": "carries a document that only HTTP knows; the application sends it",
    "tornado/storage/failing_store.py: Died": "stands for the end of a process: nobody may catch it who catches errors",
}

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


def exception_classes(tree):
    """Return `path: name` of each exception class of `tree`, which has the text of each file by its path."""
    classes = [
        (path, node.name, {getattr(base, "attr", getattr(base, "id", "")) for base in node.bases})
        for path, source in tree.items()
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.ClassDef)
    ]
    names = {
        name
        for name, kind in vars(builtins).items()
        if inspect.isclass(kind) and issubclass(kind, BaseException)
    }
    while more := {name for _, name, bases in classes if bases & names} - names:
        names |= more
    return {f"{path}: {name}" for path, name, bases in classes if bases & names}


def test_an_exception_class_outside_the_tree_has_a_reason_to_be_there():
    tree = {
        path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
        for top in ("tornado", "apps")
        for path in (ROOT / top).rglob("*.py")
    }
    assert {name for name in exception_classes(tree) if "tornado/errors.py" not in name} == ELSEWHERE.keys()


def test_the_search_finds_exception_classes_by_their_bases_in_any_file():
    tree = {
        "a.py": "from b import Lost\nclass Gone(b.Lost): ...\nclass Other(dict): ...",
        "b.py": "class Lost(PeerError): ...\nclass PeerError(ValueError): ...",
    }
    assert exception_classes(tree) == {"a.py: Gone", "b.py: Lost", "b.py: PeerError"}


def table_under(heading):
    """Return the rows of a table of docs/errors.md, as lists of cells without their code marks."""
    text = (
        (ROOT / "docs" / "errors.md")
        .read_text(encoding="utf-8")
        .split(f"## {heading}\n")[1]
        .split("\n## ")[0]
    )
    rows = [line.strip("|").split("|") for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip().strip("`") for cell in row] for row in rows[2:]]


def test_the_document_lists_every_error_with_its_code_its_status_and_its_exit_code():
    rows = [(name, code, status, ended) for name, code, status, ended, _ in table_under("The tree")]
    assert sorted(rows) == sorted(
        (
            kind.__name__,
            kind.code,
            str(problems.of_error(kind("x")).status),
            str(int(exit_code_of(kind("x")))),
        )
        for kind in ALL
    )


def test_the_document_lists_every_code_that_only_http_has():
    found = {
        (str(int(status)), status.phrase.lower().replace(" ", "-"))
        for status in (HTTPStatus(404), HTTPStatus(405))
    }
    for path in (ROOT / "tornado" / "query").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Problem":
                given = dict(enumerate(node.args)) | {word.arg: word.value for word in node.keywords}
                status, code = given.get("status", given.get(0)), given.get("code", given.get(1))
                if isinstance(code, ast.Constant):
                    found.add((str(status.value), code.value))
    codes = {kind.code for kind in ALL}
    rows = {(status, code) for code, status, _ in table_under("Codes that only HTTP has")}
    assert rows == {(status, code) for status, code in found if code not in codes}


def test_the_document_lists_every_exit_code():
    assert {int(number) for number, _ in table_under("Exit codes")} == set(map(int, ExitCode))


def test_a_code_comes_back_from_the_service_as_the_error_of_the_tree_whatever_else_is_loaded():
    from tornado.engine import wire
    from tornado.protocol import exploration

    kinds = client._kinds()
    assert {wire.WrongFence, exploration.Counterexample}.isdisjoint(kinds.values())
    assert kinds == {kind.code: kind for kind in ALL}
    for kind in kinds.values():
        assert kind("detail", hint="What to do.").hint == "What to do."
