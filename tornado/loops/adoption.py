"""A main loop takes over what a branch has found: the merge of the paper (Tornado, section 5.2), as an input of the loop.

It is valid although edges have come since the branch was forked, where any values are a valid beginning: then the loop is nearer, and goes
on from there. For a selective program it would be pointless, as a branch finds what the main loop finds as well, so it is refused.
"""

from __future__ import annotations

from collections.abc import Iterable

from ..errors import InvalidArgument, NotSupported
from .branch import Branch
from .commands import Adopt
from .kind import kind_of_program
from .parts import Parts
from .statistics import BranchState
from .vertex_program import VertexProgram


class Adoption:
    """See the module.

    Parameters
    ----------
    number, name, program, parts
        Of the loop.

    Attributes
    ----------
    takes_all
        Whether each branch with the parameters of the loop is adopted when it has converged.
    """

    def __init__(self, number: int, name: str, program: VertexProgram, parts: Parts) -> None:
        self.takes_all = program.adopts_all
        self._number = number
        self._name = name
        self._program = program
        self._kind = kind_of_program(program)
        self._parts = parts

    @property
    def is_supported(self) -> bool:
        """Whether programs of its kind take over what branches have found."""
        return self._kind.adopts

    def require(self) -> None:
        """Refuse where no program of its kind takes over what branches have found.

        Raises
        ------
        NotSupported
            Then.
        """
        if not self.is_supported:
            raise NotSupported(
                f"loop {self._name!r} runs {type(self._program).__name__}, {self._kind.described}, which adopts nothing",
                hint="Leave it out: what a branch of it finds, the loop finds by itself.",
            )

    def adopt(self, branch: Branch) -> None:
        """Take over what a branch has found; its values must not have been given back.

        Raises
        ------
        NotSupported
            See `require`.
        InvalidArgument
            When the branch has not converged, is of a stored snapshot, or has other parameters.
        """
        self.require()
        if not self.suits(branch):
            raise InvalidArgument(
                f"branch {branch.id} cannot be adopted by loop {self._name!r}: it is {branch.state.value}, with the parameters "
                f"{branch.program.parameters()}",
                hint="Adopt a branch that has converged, of the parameters of the loop, before it is released.",
            )
        self._perform(branch)

    def consider(self, branch: Branch) -> None:
        """Take over what a branch that is over has found, where that is wanted and possible."""
        if self.takes_all and self.suits(branch):
            self._perform(branch)

    def awaits(self, branches: Iterable[Branch]) -> bool:
        """Whether one of those that are not forgotten is over, so that what it has found is yet to be taken over."""
        return self.takes_all and any(branch.state is not BranchState.RUNNING for branch in branches)

    def suits(self, branch: Branch) -> bool:
        """Whether a branch has found what the loop can take over, and holds it still.

        One of a stored snapshot is of another loop, whose vertices have other rows; so have workers that others took the place of.
        """
        has_converged = branch.state is BranchState.CONVERGED and bool(branch.states())
        is_ours = self.is_supported and branch.loop == self._number and branch.hosts == self._parts.hosts()
        return has_converged and is_ours and branch.iterates and not branch.program.begins_anew(self._program)

    def _perform(self, branch: Branch) -> None:
        for worker, part in branch.states():
            branch.hosts[worker].post(Adopt(self._number, part.reusable))
