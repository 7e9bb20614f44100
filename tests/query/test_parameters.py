"""Program parameters of a query: types are checked before anything is forked, vertices are named as everywhere else."""

from dataclasses import dataclass, field

import numpy as np
import pytest

from tornado.errors import InvalidArgument, UnknownField, UnknownVertex
from tornado.ingest.interner import Interner
from tornado.loops.vertex_program import VertexProgram
from tornado.query.ids import IntIds, StringIds
from tornado.query.parameters import check_parameters, parameters_inside, with_interned_vertices
from tornado.query.request import QueryRequest


@dataclass(frozen=True)
class Program:
    source: int = 1
    damping: float = 0.85
    home: int = field(default=0, metadata={"vertex": True})
    rounds: int | None = None
    loud: bool = False
    label: str = ""
    shape: tuple[int, ...] = ()
    sources: tuple[int, ...] = ()


@pytest.fixture
def cities():
    interner = Interner()
    interner.intern(["Rome", "Oslo"])
    return StringIds(interner)


@pytest.mark.parametrize(
    ("given", "inside"),
    [
        ({}, {}),
        ({"source": np.int64(7)}, {"source": 7}),
        ({"damping": 1}, {"damping": 1.0}),
        ({"rounds": None}, {"rounds": None}),
        ({"rounds": 3}, {"rounds": 3}),
        ({"loud": True, "label": "x", "shape": (1, 2)}, {"loud": True, "label": "x", "shape": (1, 2)}),
        ({"sources": [3, np.int64(1)], "shape": []}, {"sources": (3, 1), "shape": ()}),
    ],
)
def test_values_get_exactly_the_declared_type(given, inside):
    found = parameters_inside(Program(), given, IntIds())
    assert found == inside
    assert [type(value) for value in found.values()] == [type(value) for value in inside.values()]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"source": "1"}, "source is '1' but must be a whole number"),
        ({"source": 1.0}, "source is 1.0 but must be a whole number"),
        ({"source": True}, "source is True but must be a whole number"),
        ({"source": 2**63}, "does not fit a signed 64-bit integer"),
        ({"source": None}, "source is None but"),
        ({"damping": "0.5"}, "damping is '0.5' but must be a number"),
        ({"damping": 10**400}, "beyond what a float holds"),
        ({"rounds": 1.5}, "rounds is 1.5"),
        ({"loud": 1}, "loud is 1 but must be true or false"),
        ({"label": 1}, "label is 1 but must be a string"),
        ({"sources": 1}, "sources is 1 but must be a list"),
        ({"sources": "12"}, "sources is '12' but must be a list"),
        ({"sources": [1, True]}, r"sources\[1\] is True but must be a whole number"),
        ({"shape": [2**63]}, r"shape\[0\] is .*, which does not fit"),
    ],
)
def test_a_value_of_another_type_is_refused_and_named(given, message):
    with pytest.raises(InvalidArgument, match=message):
        check_parameters(Program(), given, IntIds())


def test_a_parameter_that_the_program_lacks_is_refused_with_those_it_has():
    with pytest.raises(UnknownField, match="no parameter 'origin'; it has: source, damping"):
        check_parameters(Program(), {"origin": 1}, IntIds())


def test_a_vertex_is_named_where_ids_are_strings(cities):
    given = {"source": "Oslo", "home": "Rome", "damping": 0.5}
    assert parameters_inside(Program(), given, cities) == {"source": 1, "home": 0, "damping": 0.5}
    with pytest.raises(InvalidArgument, match="ids of this loop are strings"):
        check_parameters(Program(), {"source": 1}, cities)


def test_several_vertices_are_named_where_ids_are_strings(cities):
    given = {"sources": ["Oslo", "Rome"], "shape": [7]}
    assert parameters_inside(Program(), given, cities) == {"sources": (1, 0), "shape": (7,)}
    with pytest.raises(InvalidArgument, match=r"sources\[0\] is 1, but the ids of this loop are strings"):
        check_parameters(Program(), {"sources": [1]}, cities)
    with pytest.raises(UnknownVertex, match=r"sources\[1\] is 'Atlantis'"):
        parameters_inside(Program(), {"sources": ["Rome", "Atlantis"]}, cities)


def test_a_name_that_was_never_seen_is_unknown_only_when_it_is_needed(cities):
    check_parameters(Program(), {"source": "Atlantis"}, cities)
    with pytest.raises(UnknownVertex, match="'Atlantis', which the input never named"):
        parameters_inside(Program(), {"source": "Atlantis"}, cities)


def test_a_program_with_names_gets_numbers_and_others_stay_as_they_are(cities):
    assert with_interned_vertices(Program(source="Oslo"), cities.interner) == Program(source=1)
    several = with_interned_vertices(Program(sources=("Oslo", "Bonn")), cities.interner)
    assert several == Program(sources=(1, 2))
    program = Program(source=5)
    assert with_interned_vertices(program, cities.interner) is program


def test_a_query_refuses_a_mistyped_parameter_before_it_forks(service):
    with pytest.raises(InvalidArgument, match="source is 'two'"):
        service.submit(QueryRequest(loop="roads", parameters={"source": "two"}))
    assert service.statistics().branches_running == 0


@dataclass(frozen=True)
class Strict(VertexProgram):
    """Refuses what only a program can judge."""

    damping: float = 0.85
    sources: tuple[int, ...] = field(default=(), metadata={"vertex": True})
    label: str = ""

    def check_parameters(self):
        super().check_parameters()
        if not 0 <= self.damping < 1:
            raise InvalidArgument(f"damping is {self.damping} but must be from 0 to below 1")
        if len(set(self.sources)) < len(self.sources):
            raise InvalidArgument("sources names a vertex twice")
        if self.label == "wrong":
            raise InvalidArgument("label is wrong")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"damping": 1.5}, "damping is 1.5 but must be from 0"),
        ({"sources": ["Rome", "Nowhere", "Rome"]}, "names a vertex twice"),
        ({"label": "wrong"}, "label is wrong"),
    ],
)
def test_what_the_program_refuses_is_refused_before_a_vertex_is_looked_up(cities, given, message):
    with pytest.raises(InvalidArgument, match=message):
        check_parameters(Strict(), given, cities)
    check_parameters(Strict(), {"damping": 0.5, "sources": ["Rome", "Nowhere"], "label": "x"}, cities)
