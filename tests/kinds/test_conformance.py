"""Every kind of programs keeps the laws of `conformance.py`: those of the registry, and a toy that stands on the protocols alone."""

import ast
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import ClassVar

import pytest

from tests.kinds import conformance
from tests.kinds.conformance import Place
from tests.kinds.samples import SAMPLES
from tornado.errors import NotSupported
from tornado.kinds import KINDS
from tornado.loops import Master
from tornado.loops.vertex_program import VertexProgram

ROOT = Path(__file__).resolve().parents[2]
PLACES = {
    "one worker": Place(1),
    "two": Place(2),
    "four": Place(4),
    "three under a seed": Place(3, seed=11),
}


@pytest.fixture(params=SAMPLES)
def sample(request, compiled_paths):
    return SAMPLES[request.param]


@pytest.fixture(params=PLACES)
def place(request):
    return PLACES[request.param]


def test_every_kind_of_the_registry_has_a_sample():
    assert set(SAMPLES) == set(KINDS)


@pytest.mark.parametrize("name", SAMPLES)
def test_a_kind_is_as_its_line_of_the_registry_says(name):
    conformance.is_as_its_line_of_the_registry_says(SAMPLES[name], name)


def test_its_branches_can_be_stored_where_it_says_so_and_nowhere_else(sample):
    conformance.branches_are_storable_where_their_kind_says_so_and_nowhere_else(sample, Place(2))


def test_the_main_loop_comes_to_the_fixed_point_of_what_was_admitted(sample, place):
    conformance.main_loop_comes_to_the_fixed_point(sample, place)


def test_a_branch_is_exact_at_the_prefix_that_it_names_while_the_stream_goes_on(sample, place):
    conformance.branches_are_exact(sample, place)


def test_so_is_one_with_other_parameters(sample, place):
    conformance.branches_with_other_parameters_are_exact(sample, place)


@pytest.mark.parametrize("workers", [1, 3])
def test_what_ends_early_is_worth_what_its_certificate_says(sample, workers):
    conformance.what_ends_early_is_worth_what_its_certificate_says(sample, Place(workers))


def test_plans_and_arguments_of_forks_survive_the_wire(sample, monkeypatch):
    modules = {name: import_module(path) for name, path in KINDS.items()}
    conformance.plans_survive_the_wire(sample, Place(2), modules, monkeypatch)


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_the_shares_of_all_workers_have_each_record_where_it_belongs(sample, workers):
    conformance.shares_have_each_record_where_it_belongs(sample, workers)


def test_a_loop_is_gone_on_from_or_says_that_it_is_not_stored(sample):
    conformance.is_gone_on_from_or_says_that_it_is_not_stored(sample, Place(2))


def test_a_loop_shares_its_stream_or_says_that_it_does_not(sample):
    conformance.shares_its_stream_or_says_that_it_does_not(sample, Place(2))


def test_a_loop_that_is_removed_is_gone_and_others_stay(sample):
    conformance.removed_loop_is_gone_and_others_stay(sample, Place(2))


def test_a_branch_that_is_given_back_is_gone(sample):
    conformance.branch_that_is_given_back_is_gone(sample, Place(2))


def test_the_numbers_of_a_loop_are_those_of_its_iterations(sample):
    conformance.numbers_are_those_of_its_iterations(sample, Place(2))


@pytest.fixture(scope="module")
def processes(registered):
    with Master(workers=2, engine="processes") as master:
        yield master


def test_all_of_this_is_so_on_workers_in_processes(sample, processes):
    place = Place(shared=processes)
    conformance.branches_are_exact(sample, place)
    conformance.branches_with_other_parameters_are_exact(sample, place)
    conformance.what_ends_early_is_worth_what_its_certificate_says(sample, place)
    conformance.lost_worker_costs_no_answer(sample, processes)


@dataclass(frozen=True)
class OfNoKind(VertexProgram):
    pass


@dataclass(frozen=True)
class OfAnUnknownKind(VertexProgram):
    program_kind: ClassVar[str] = "unheard of"


@pytest.mark.parametrize(
    ("program", "said"),
    [
        (OfNoKind(), "OfNoKind is of no kind of programs.*selective"),
        (OfAnUnknownKind(), "OfAnUnknownKind is of the kind 'unheard of', which is not there.*selective"),
    ],
)
def test_a_program_of_no_kind_is_refused_in_words_and_costs_nothing(program, said):
    sample = SAMPLES["toy"]
    with Master(workers=2) as master:
        fed = conformance.Fed(sample, master, "fed")
        for stream in (None, "fed"):
            with pytest.raises(NotSupported, match=said):
                master.start(program, "refused", stream=stream)
        fed.admit(sample.chain(9))
        fed.check_branch(*fed.fork())
        again = conformance.Fed(sample, master, "refused")
        again.admit(sample.chain(9))
        again.check_main()


def imports_of(path):
    """Return the modules that a file imports from."""
    nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    named = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    return named | {str(node.module) for node in nodes if isinstance(node, ast.ImportFrom)}


def test_the_toy_stands_on_the_protocols_and_on_no_other_kind():
    found = set().union(*(imports_of(path) for path in (ROOT / "tests" / "kinds" / "toy").glob("*.py")))
    ours = {module for module in found if module.startswith("tornado")}
    assert ours == {
        "tornado.certificate",
        "tornado.config",
        "tornado.engine",
        "tornado.errors",
        "tornado.graph",
        "tornado.loops.forks",
        "tornado.loops.kind",
        "tornado.loops.loop_operator",
        "tornado.loops.part",
        "tornado.loops.share",
        "tornado.loops.values",
        "tornado.loops.vertex_program",
        "tornado.records.edge_batch",
        "tornado.records.operations",
        "tornado.timely",
    }
    assert {module for module in found if module.startswith("tests")} == {
        f"tests.kinds.toy.{path.stem}"
        for path in (ROOT / "tests" / "kinds" / "toy").glob("*.py")
        if path.stem != "kind"
    }


def test_nothing_in_the_package_names_the_toy():
    found = [path for path in (ROOT / "tornado").rglob("*.py") if "toy" in path.read_text(encoding="utf-8")]
    assert found == []
