"""Linear models of a loss that a user writes, in three functions of a number."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, field
from typing import ClassVar, Literal, Self

from ....errors import InvalidArgument, NotSupported
from ....records.point_schema import Points
from .linear_program import MOST_NEWTON_FEATURES, LinearModel
from .own_loss import OwnLoss, own_loss


@dataclass(frozen=True, kw_only=True)
class OwnLossModel(LinearModel):
    """A `LinearModel` of another loss: derive from it, and write three functions, which are compiled.

    Each gets a number first: the *residual* (score minus label) or the *margin* (label, -1 or 1, times score), as `loss_of` says. What
    arguments they have beside it are names of fields of the program, of type float or int, which are compiled in: a value compiles once.
    They use these, ``math``, ``np``, and numbers of their module.

    The loss is convex, never negative, and has a second derivative that is not 0 everywhere; where it has corners, any slope between those
    of the sides will do. A margin's loss falls at 0, a residual's rises on both sides. It is looked at between -100 and 100 when the loop
    is started, and refused where that is not so; what it is farther off is the user's to know, as certificates count on it.

    There are up to 300 features. Certificates are as those of `LinearModel`: a gap where there is a penalty, otherwise `none`.

    Attributes
    ----------
    loss_of : {"residual", "margin"}
        What the loss is of. Of a margin, points have two classes.
    """

    loss_of: ClassVar[Literal["residual", "margin"]] = "residual"
    loss: str = field(default="own", init=False)

    @staticmethod
    def value(place: float) -> float:
        """The loss."""
        raise NotImplementedError

    @staticmethod
    def slope(place: float) -> float:
        """Its derivative."""
        raise NotImplementedError

    @staticmethod
    def bend(place: float) -> float:
        """The derivative of that."""
        raise NotImplementedError

    def reading(self, points: Points | None) -> Self:
        """See `VertexProgram`."""
        found = super().reading(points)
        if found.is_dual:
            raise NotSupported(
                f"points have {found.declared.features} features, but a loss of one's own is for up to {MOST_NEWTON_FEATURES}"
            )
        return found

    def point_checker(self) -> None:
        """See `VertexProgram`: the loss is the caller's, so nothing of ours knows it."""

    @property
    def compiled_loss(self) -> OwnLoss:
        """See `LinearModel`."""
        kind = type(self)
        functions = {name: inspect.getattr_static(kind, name) for name in ("value", "slope", "bend")}
        for name, function in functions.items():
            if not isinstance(function, staticmethod) or function is OwnLossModel.__dict__[name]:
                raise InvalidArgument(
                    f"{kind.__name__} has no static method {name!r}, which is a part of its loss"
                )
        asked = {
            name: list(inspect.signature(one.__func__).parameters)[1:] for name, one in functions.items()
        }
        wanted = next(iter(asked.values()))
        if any(names != wanted for names in asked.values()):
            raise InvalidArgument(
                f"value, slope and bend of {kind.__name__} have other arguments: {asked}",
                hint="They all get the same.",
            )
        unknown = [name for name in wanted if not hasattr(self, name)]
        if unknown:
            raise InvalidArgument(
                f"the loss of {kind.__name__} asks for {unknown[0]!r}, which is no field of it"
            )
        parameters = tuple((name, float(getattr(self, name))) for name in wanted)
        called = (function.__func__ for function in functions.values())
        return own_loss(kind.__name__, *called, parameters, is_classifier=self.loss_of == "margin")
