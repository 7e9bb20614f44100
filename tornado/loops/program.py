"""What a user writes: a vertex program. Its fields are its parameters.

Source: the programming interface of Tornado (SIGMOD 2016, section 3). The kinds differ in what must be remembered to take an
input back; `SelectiveProgram` remembers the producer that a value came from.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

from ..certificate import Side, side_of
from ..errors import InvalidArgument, UnknownField
from ..ingest.records import MENTION, EdgeBatch
from .compile import load_kernel

_GREATEST_DELAY_BOUND = 1 << 40  # far beyond any loop's iterations, and safe to add to one


class VertexProgram:
    """The common part of all programs: a frozen dataclass whose fields are the parameters of the analysis.

    Attributes
    ----------
    rank : {"nearest", "highest"}
        Which values come first where the best vertices are asked for.
    delay_bounds : tuple of int or None
        Least and greatest delay bound for which the program converges to the same answer; None is unbounded.
    both_ways
        Whether a vertex hears of those that its edges end at, as well as of those that edges to it begin at.
    """

    rank: ClassVar[Literal["nearest", "highest"]] = "nearest"
    delay_bounds: ClassVar[tuple[int, int | None]] = (1, None)
    both_ways: ClassVar[bool] = False

    def check(self, batch: EdgeBatch) -> tuple[NDArray[np.bool_], str]:
        """Which records this program cannot take (a mask over the batch), and why."""
        return np.zeros(len(batch), np.bool_), ""

    @property
    def stopped_side(self) -> Side | None:
        """On which side of the exact values those of a stopped branch are (see `certificate`); None: that is not known."""
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

    def check_parameters(self) -> None:
        """Refuse parameters that are not what their fields are declared to be.

        Raises
        ------
        InvalidArgument
            For an ``int`` field with anything but a 64-bit integer, a ``float`` field with anything but a number, or a
            ``tuple[int, ...]`` field with anything but a tuple of 64-bit integers.
        """
        for field in dataclasses.fields(self):  # type: ignore[arg-type]
            value = getattr(self, field.name)
            declared = field.type.__name__ if isinstance(field.type, type) else str(field.type)
            if declared == "int" and not _is_int64(value):
                raise InvalidArgument(
                    f"{type(self).__name__}.{field.name} is {value!r} but must be an integer from -2^63 to 2^63-1"
                )
            if declared == "tuple[int, ...]" and not (
                isinstance(value, tuple) and all(map(_is_int64, value))
            ):
                raise InvalidArgument(
                    f"{type(self).__name__}.{field.name} is {value!r} but must be a tuple of integers from -2^63 to 2^63-1"
                )
            is_bool = isinstance(value, bool | np.bool_)
            if declared == "float" and (is_bool or not isinstance(value, int | float | np.number)):
                raise InvalidArgument(f"{type(self).__name__}.{field.name} is {value!r} but must be a number")

    def check_delay_bound(self, delay_bound: int | None) -> None:
        """Refuse a delay bound that the program does not converge for.

        Raises
        ------
        InvalidArgument
            For a bound below 1 or outside `delay_bounds`.
        """
        if delay_bound is not None and (type(delay_bound) is not int or delay_bound > _GREATEST_DELAY_BOUND):
            raise InvalidArgument(
                f"delay bound is {delay_bound!r} but must be a whole number from 1 to {_GREATEST_DELAY_BOUND}, or None for "
                "unbounded"
            )
        least, greatest = self.delay_bounds
        given = math.inf if delay_bound is None else delay_bound
        if given < max(1, least) or given > (math.inf if greatest is None else greatest):
            allowed = f"{max(1, least)} to {'unbounded' if greatest is None else greatest}"
            raise InvalidArgument(
                f"delay bound {delay_bound if delay_bound is not None else 'unbounded'} is not possible for "
                f"{type(self).__name__}: it converges for {allowed}"
            )


class SelectiveProgram(VertexProgram):
    """A value is chosen among offers: shortest paths, breadth-first search, components, widest paths.

    The four functions are compiled: they may use their arguments, numbers of their module, ``np`` and ``math``. Parameters are
    numbers, or tuples of whole numbers, which `initial` gets as int64 arrays. Laws:
    `better` is a strict total order of values; ``offer(v, w)`` is never better than ``v`` (*monotone*), and a better value
    never makes a worse offer (*isotone*). Then the fixed point is unique, whatever the order of updates.

    Attributes
    ----------
    worst : float or tuple of int
        The value of a vertex that no offer has reached. Where it is a pair of whole numbers of 64 bits, so is every value, and
        the first of them is what an answer shows.
    """

    worst: ClassVar[Any] = math.inf

    @staticmethod
    def initial(vertex: int, *parameters: Any) -> Any:
        """A vertex's value without any offer; `parameters` are the program's fields, in order."""
        raise NotImplementedError

    @staticmethod
    def offer(value: Any, weight: float) -> Any:
        """What a producer's value is worth to a consumer over an edge."""
        raise NotImplementedError

    @staticmethod
    def better(value: Any, other: Any) -> bool:
        """Whether a value is to be preferred, strictly."""
        raise NotImplementedError

    @staticmethod
    def priority(value: Any) -> float:
        """The order in which vertices are processed, inside the delay bound: least first."""
        return float(value)

    @property
    def stopped_side(self) -> Side | None:
        """Above where less is better, below where more is."""
        if isinstance(self.worst, tuple):
            return side_of(lambda value, other: self.better((value, 0), (other, 0)))
        return side_of(self.better)

    def arguments(self) -> tuple[Any, ...]:
        """The parameters as the compiled functions get them."""
        return tuple(self.parameters().values())

    @classmethod
    def kernel(cls) -> ModuleType:
        """The compiled loop of this program."""
        functions: dict[str, Callable[..., object]] = {
            "offer": cls.offer,
            "better": cls.better,
            "priority": cls.priority,
            "initial": cls.initial,
        }
        return load_kernel(functions, cls.worst, both_ways=cls.both_ways)


def first_refused(program: VertexProgram, batch: EdgeBatch) -> tuple[int, str, str] | None:
    """Return the first record that a program cannot take: its index, the record and the reason; None where there is none."""
    refused, reason = program.check(batch)
    refused = refused & (batch.op != MENTION)  # what has no edge is nothing that a program could refuse
    if not refused.any():
        return None
    first = int(np.flatnonzero(refused)[0])
    return first, f"{batch.src[first]} -> {batch.dst[first]}, weight {batch.weight[first]}", reason


def _is_int64(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        return False
    return -(2**63) <= int(value) < 2**63
