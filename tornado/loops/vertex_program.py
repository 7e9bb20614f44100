"""What a user writes: a vertex program. Its fields are its parameters.

Source: the programming interface of Tornado (SIGMOD 2016, section 3). The kinds differ in what must be remembered to take an
input back; a user derives from one of them (`tornado.kinds`).
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal, Self

import numpy as np
from numpy.typing import NDArray

from ..certificate import Side
from ..config import AUTO_DELAY_BOUND, DEFAULT_DELAY_BOUND, DelayBound
from ..errors import InvalidArgument, NotSupported, UnknownField
from ..records.edge_batch import EdgeBatch
from ..records.operations import MENTION
from ..records.point_batch import PointBatch
from ..records.point_schema import Points
from ..records.record_batch import RecordBatch
from .answer_tables import AnswerTable, Column

if TYPE_CHECKING:
    from ..checking import Checker
    from ..checking.learners import PointChecker

_GREATEST_DELAY_BOUND = 1 << 40  # far beyond any loop's iterations, and safe to add to one


class VertexProgram:
    """The common part of all programs: a frozen dataclass whose fields are the parameters of the analysis.

    Attributes
    ----------
    rank : {"nearest", "highest"}
        Which values come first where the best vertices are asked for.
    delay_bounds : tuple of int or None
        Least and greatest delay bound for which the program converges to the same answer; None is unbounded.
    needs_no_bound
        Whether no answer depends on the delay bound, nor on who asks whom, so that a loop for which none is named has none.
    both_ways
        Whether a vertex hears of those that its edges end at, as well as of those that edges to it begin at.
    fixed_parameters
        Names of parameters that a question cannot change, as what a loop keeps is made for them.
    program_kind
        The name of its kind, which the base class of the kind says.
    worst
        The value of a vertex that was not reached.
    adopts_all
        Whether a loop takes over what each branch of its parameters has found, without being told to.
    tells
        What its loops have found beside values (`PartValues.found`), by name; of this `tables` and `predictions` are made.
    values_are_of
        What an id of a value names.
    values_are_counts
        Whether values count something, though they are floats; some formats write them as whole numbers.
    """

    program_kind: ClassVar[str] = ""
    worst: ClassVar[Any] = math.inf

    rank: ClassVar[Literal["nearest", "highest"]] = "nearest"
    delay_bounds: ClassVar[tuple[int, int | None]] = (1, None)
    needs_no_bound: ClassVar[bool] = False
    both_ways: ClassVar[bool] = False
    fixed_parameters: ClassVar[frozenset[str]] = frozenset()
    adopts_all: ClassVar[bool] = False
    values_are_counts: ClassVar[bool] = False
    values_are_of: ClassVar[Literal["vertex", "feature", "point"]] = "vertex"

    tells: ClassVar[frozenset[str]] = frozenset()

    def check(self, batch: EdgeBatch) -> tuple[NDArray[np.bool_], str]:
        """Which records this program cannot take (a mask over the batch), and why.

        Each record is looked at once, before it is admitted. Where ids are strings, one that the stream has not seen may have a
        number for the time being: equal where the strings are.
        """
        return np.zeros(len(batch), np.bool_), ""

    def check_points(self, batch: PointBatch) -> tuple[NDArray[np.bool_], str]:
        """As `check`, of points."""
        return np.zeros(len(batch), np.bool_), ""

    @property
    def refuses_points(self) -> bool:
        """Whether there are points that `check_points` would refuse: then those that are there are looked at before a loop begins."""
        return type(self).check_points is not VertexProgram.check_points

    @property
    def finds_ways(self) -> bool:
        """Whether a value has come along edges, at each of them from one vertex: then an answer can say over which (`Branch.ways`)."""
        return False

    @property
    def tables(self) -> tuple[AnswerTable, ...]:
        """What an answer can be read as, beside its values."""
        return ()

    def tables_of(self, found: Mapping[str, NDArray[Any]]) -> tuple[AnswerTable, ...]:
        """Likewise, of an answer whose loop has found this (see `tells`): `tables`, of which some may have other columns."""
        del found
        return self.tables

    def rows_of(
        self, table: str, found: Mapping[str, NDArray[Any]], values: Callable[[], tuple[Column, Column]]
    ) -> tuple[Column, ...]:
        """The columns of one of its tables.

        Parameters
        ----------
        found
            What its loop has found, see `tells`.
        values
            Returns ids and values of the answer, as they are written outside.
        """
        del found, values
        raise KeyError(table)

    def predictions(
        self, found: Mapping[str, NDArray[Any]], points: PointBatch
    ) -> dict[str, NDArray[np.float64] | NDArray[np.int64]]:
        """What it predicts of points, as columns; NaN where it does not say.

        Raises
        ------
        NotSupported
            When it predicts nothing.
        InvalidArgument
            When it has found too little yet.
        """
        del found, points
        raise NotSupported(f"{type(self).__name__} predicts nothing of points")

    @property
    def declared_points(self) -> Points | None:
        """What the points that it reads are declared to be; None: it reads edges."""
        return None

    def reading(self, points: Points | None) -> Self:
        """The program as it reads a stream whose points are declared to be these; None: it has no points.

        Raises
        ------
        InvalidArgument
            When it cannot.
        """
        del points
        return self

    @property
    def stopped_side(self) -> Side | None:
        """On which side of the exact values those of a stopped branch are (see `certificate`); None: that is not known."""
        return None

    def begins_anew(self, main: VertexProgram) -> bool:
        """Whether a branch with these parameters has to begin from the initial values, and not from those of a main loop."""
        return self != main

    def begins_cold(self, main: VertexProgram) -> bool:
        """Whether a branch with these parameters has no use for the values that a main loop has."""
        return self.begins_anew(main)

    def checker(self) -> Checker | None:
        """Return what verifies its answers without any code of the loops; None: nothing does, and to ask for it is refused."""
        return None

    def point_checker(self) -> PointChecker | None:
        """As `checker`, of a program that learns from points."""
        return None

    def parameters(self) -> dict[str, Any]:
        """The parameters by name."""
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}  # type: ignore[arg-type]

    def with_parameters(self, changed: Mapping[str, Any]) -> Self:
        """The same program with other parameters.

        Raises
        ------
        UnknownField
            For a parameter that the program does not have.
        """
        known = self.parameters()
        unknown = sorted(changed.keys() - known.keys())
        if unknown:
            raise UnknownField(
                f"{type(self).__name__} has no parameter {unknown[0]!r}; it has {', '.join(sorted(known))}"
            )
        return dataclasses.replace(self, **changed)  # type: ignore[type-var]

    def asked_with(self, parameters: Mapping[str, Any]) -> Self:
        """The same program with the parameters of a question.

        Raises
        ------
        InvalidArgument, UnknownField
            See `require_free`, `with_parameters` and `check_parameters`.
        """
        self.require_free(parameters)
        program = self.with_parameters(parameters)
        program.check_parameters()
        return program

    def require_free(self, names: Iterable[str]) -> None:
        """Refuse parameters that a question cannot change.

        Raises
        ------
        InvalidArgument
            When one of the names is among `fixed_parameters`.
        """
        fixed = sorted(self.fixed_parameters.intersection(names))
        if fixed:
            raise InvalidArgument(
                f"the parameter {fixed[0]!r} of {type(self).__name__} is fixed where its loop is started, at "
                f"{getattr(self, fixed[0])!r}",
                hint="Start another loop on the stream with another one.",
            )

    def check_parameters(self) -> None:
        """Refuse parameters that are not what their fields are declared to be.

        Raises
        ------
        InvalidArgument
            For an ``int`` field with anything but a 64-bit integer, a ``float`` field with anything but a number, a
            ``tuple[int, ...]`` or ``tuple[float, ...]`` field with anything but a tuple of these, and a ``bool`` or ``str`` field with
            anything else.
        """
        for field in dataclasses.fields(self):  # type: ignore[arg-type]
            value = getattr(self, field.name)
            declared = field.type.__name__ if isinstance(field.type, type) else str(field.type)
            if declared in _DECLARED:
                is_right, what = _DECLARED[declared]
                if not is_right(value):
                    raise InvalidArgument(
                        f"{type(self).__name__}.{field.name} is {value!r} but must be {what}"
                    )

    @property
    def usual_delay_bound(self) -> int | None:
        """The delay bound of a loop for which none is named: the general one, as far as `delay_bounds` allow it."""
        least, greatest = self.delay_bounds
        return max(least, DEFAULT_DELAY_BOUND if greatest is None else min(DEFAULT_DELAY_BOUND, greatest))

    def chosen_bound(self, given: DelayBound) -> DelayBound:
        """The delay bound that a loop gets: the one that is given, or where that is left to the program, `auto` or a number.

        `auto` stays where no answer depends on the bound (`needs_no_bound`): then there is none, and nobody is asked.
        """
        if given != AUTO_DELAY_BOUND or self.needs_no_bound:
            return given
        return self.usual_delay_bound

    def check_delay_bound(self, delay_bound: DelayBound) -> None:
        """Refuse a delay bound that the program does not converge for.

        Raises
        ------
        InvalidArgument
            For a bound below 1 or outside `delay_bounds`.
        """
        if delay_bound == AUTO_DELAY_BOUND:
            return
        if delay_bound is not None and (type(delay_bound) is not int or delay_bound > _GREATEST_DELAY_BOUND):
            raise InvalidArgument(
                f"delay bound is {delay_bound!r} but must be a whole number from 1 to {_GREATEST_DELAY_BOUND}, or None for "
                "unbounded"
            )
        least, greatest = self.delay_bounds
        given = math.inf if delay_bound is None else delay_bound
        if given < max(1, least) or given > (math.inf if greatest is None else greatest):
            allowed = f"{max(1, least)} to {'unbounded' if greatest is None else greatest}"
            allowed = f"{greatest} only" if least == greatest else allowed
            raise InvalidArgument(
                f"delay bound {delay_bound if delay_bound is not None else 'unbounded'} is not possible for "
                f"{type(self).__name__}: it converges for {allowed}",
                hint=f"Leave it out, and it is {self.usual_delay_bound or 'unbounded'}.",
            )


def can_refuse(program: VertexProgram) -> bool:
    """Whether there are records that a program cannot take."""
    kind = type(program)
    return kind.check is not VertexProgram.check or kind.check_points is not VertexProgram.check_points


def refused_by(program: VertexProgram, batch: RecordBatch) -> tuple[NDArray[np.bool_], str]:
    """Return which records of any kind a program cannot take, and why."""
    if isinstance(batch, PointBatch):
        return program.check_points(batch)
    assert isinstance(batch, EdgeBatch)
    refused, reason = program.check(batch)
    return refused & (batch.op != MENTION), reason  # what has no edge is nothing that a program could refuse


def first_refused(program: VertexProgram, batch: RecordBatch) -> tuple[int, str, str] | None:
    """Return the first record that a program cannot take: its index, the record and the reason; None where there is none."""
    refused, reason = refused_by(program, batch)
    if not refused.any():
        return None
    first = int(np.flatnonzero(refused)[0])
    return first, batch.described(first), reason


def _is_number(value: object) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool | np.bool_)


def _is_int64(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        return False
    return -(2**63) <= int(value) < 2**63


def _is_tuple_of(is_one: Callable[[object], bool]) -> Callable[[object], bool]:
    return lambda value: isinstance(value, tuple) and all(map(is_one, value))


# By how a field is declared: what its value must be.
_DECLARED: Final[Mapping[str, tuple[Callable[[object], bool], str]]] = {
    "int": (_is_int64, "an integer from -2^63 to 2^63-1"),
    "float": (_is_number, "a number"),
    "bool": (lambda value: isinstance(value, bool | np.bool_), "true or false"),
    "str": (lambda value: isinstance(value, str), "a string"),
    "tuple[int, ...]": (_is_tuple_of(_is_int64), "a tuple of integers from -2^63 to 2^63-1"),
    "tuple[float, ...]": (_is_tuple_of(_is_number), "a tuple of numbers"),
}
