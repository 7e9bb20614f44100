"""What a user writes whose values are sums over what producers announce: an accumulative program."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from ...errors import InvalidArgument
from ...loops.vertex_program import VertexProgram
from ...records.edge_batch import EdgeBatch
from .compile import load_kernel
from .norms import norm_named

_CONTROLS = ("tolerance", "accuracy")


@dataclass(frozen=True, kw_only=True)
class AccumulativeProgram(VertexProgram):
    """A vertex is worth x = b * base + d * s, where s sums w * x / divisor(W) over its in-edges; W is a producer's out-weight.

    The three functions are compiled: they may use their arguments, numbers of their module, ``np`` and ``math``. Parameters are
    the fields that a program adds: numbers, or tuples of whole numbers, which they get as int64 arrays.

    Laws, by the `norm` of its certificates; ``divisor(W)`` is positive in any case. Then each value follows from the graph alone,
    whatever the order of updates.

    - `l1`: `factor` is from 0 to below 1, ``divisor(W)`` is at least W, `base` is 0 or from 1e-200 to 1e190. Answers are divided by the
      sum of all values, so they do not depend on b.
    - `relative`: `factor` is at least 0, and `base` is above 0 of each vertex. Answers are the values with b = 1. Where the graph gives
      them no end, as vertices get back what they announce or more, an answer says `diverged`.

    Parameters
    ----------
    tolerance
        What the certificate of an answer must come to: the distance from the exact values in the norm is at most that.
    accuracy
        How near the main loop is kept to the exact values, as far as rounding lets it: announcing waits below that. It bounds no answer.

    Attributes
    ----------
    norm
        `l1`: errors of all values together, where these sum to 1. `relative`: the greatest error of a value, as a share of it.
    """

    tolerance: float = 1e-6
    accuracy: float = 1e-3
    program_kind: ClassVar[str] = "accumulative"
    rank: ClassVar[Literal["nearest", "highest"]] = "highest"
    norm: ClassVar[Literal["l1", "relative"]] = "l1"

    @staticmethod
    def base(vertex: int, *parameters: Any) -> float:
        """What a vertex has of its own, times b, where `has_bases`; `parameters` are the program's own fields, in order."""
        raise NotImplementedError

    @staticmethod
    def divisor(out_weight: float, *parameters: Any) -> float:
        """What a producer's value is divided by when it is announced."""
        raise NotImplementedError

    @staticmethod
    def factor(*parameters: Any) -> float:
        """What sums are multiplied by."""
        raise NotImplementedError

    def check(self, batch: EdgeBatch) -> tuple[NDArray[np.bool_], str]:
        """Refuse negative weights, and those beside which others could not be told from nothing."""
        weight = batch.weight
        refused = (weight < 0) | ((weight > 0) & ((weight < 1e-12) | (weight > 1e12)))
        return refused, "weight is not 0 and not from 1e-12 to 1e12"

    def check_parameters(self) -> None:
        """Refuse parameters that are not what their fields are declared to be, and a tolerance that cannot be reached.

        Raises
        ------
        InvalidArgument
            For these.
        """
        super().check_parameters()
        least = norm_named(self.norm).least_tolerance(self.factor(*self.arguments()))
        if not self.tolerance >= least:
            raise InvalidArgument(
                f"tolerance is {self.tolerance!r} but must be at least {least:.3g}, as far as numbers of 64 bits go"
            )
        if not self.accuracy > 0:
            raise InvalidArgument(f"accuracy is {self.accuracy!r} but must be above 0")

    @property
    def has_bases(self) -> bool:
        """Whether the bases of vertices differ; else `base` is not asked, and is 1 of each."""
        return False

    def begins_anew(self, main: VertexProgram) -> bool:
        """Whether a branch counts its iterations from the beginning; its values begin with those of the main loop in any case."""
        return not isinstance(main, AccumulativeProgram) or self.arguments() != main.arguments()

    def begins_cold(self, main: VertexProgram) -> bool:
        """Whether a branch has no use for the values of a main loop: any are a valid start, so only those of another program."""
        return not isinstance(main, AccumulativeProgram)

    def arguments(self) -> tuple[Any, ...]:
        """The parameters as the compiled functions get them."""
        return tuple(value for name, value in self.parameters().items() if name not in _CONTROLS)

    @classmethod
    def kernel(cls) -> ModuleType:
        """The compiled loop of this program."""
        functions: dict[str, Callable[..., object]] = {
            "base": cls.base,
            "divisor": cls.divisor,
            "factor": cls.factor,
            **norm_named(cls.norm).functions(),
        }
        return load_kernel(functions)
