"""General vertex programs: plain Python, any state, the paper's words. Slow per vertex, and simple.

Source: the programming interface of Tornado (SIGMOD 2016, section 3): init, gather, scatter, addTarget, removeTarget, progress.
They run on the plain session (`tornado.protocol.session`), so when a vertex is told something and at which iteration it commits
is the protocol's business; what it makes of it is the program's.

What is promised to a program
-----------------------------
1. `init` comes first, once, when a record names the vertex; the vertex then commits, so `scatter` follows.
2. *Producers.* What a vertex knows of one producer is a pair: the value that the producer emitted to it last (None where it has
   emitted nothing), and the weights of the edges from it, oldest first. The pair begins as ``(None, ())``. `gather` is called
   after every change of it, with the whole new pair, never with a difference, and never twice with the same one:

   - the producer emitted: the new value, and the weights as they are;
   - an edge was added, also a parallel one: the weights with it, and the value as it is. A producer that has not emitted to this
     vertex yet is told of too, with None;
   - an edge was removed and others are left: the weights that are left;
   - the last edge was removed: ``(None, ())``. This is the *retraction*: whatever came of that producer is to be forgotten;
   - a weight was replaced (``=``): the new edge beside the old ones, then one removal for each of the old ones.

3. *Targets.* For each edge that begins or ends at the vertex as a producer, `add_target` or `remove_target` is called, with its
   weight. `vertex.targets` is up to date in them.
4. Nothing of 2 and 3 comes between PREPARE and commit in a way that would break the rules of the session: commits are gathered
   in the order of their iterations, and what a commit at k says is gathered by commits above k only. Gathers of one iteration
   come in any order, so they must commute. With a delay bound of 1 every gather of what was committed in round k happens
   before the commits of round k+1: synchronous iteration.
5. `scatter` is called at a commit, which follows if a call said that it matters (returned True). What it emits is what the
   consumers hear; what it does not emit stays as it was last emitted. An edge that begins hears the last emission at once, so
   `add_target` matters only where emissions depend on the targets (out-degrees).
6. A branch begins with copies of the states (`copy.deepcopy`) and hears what was under way; with other parameters it begins
   with `init` of every vertex, then `add_target` for all edges, then `gather` of all producers with None.

The program converges if it has a fixed point that does not depend on the order of gathers; the loop runs until nothing matters
any more. Removing an edge of a cycle lets naive shortest paths count to infinity: that is the program's own problem (a hop
limit, a path vector), or a reason to write a `SelectiveProgram`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple, Protocol

from ...loops.vertex_program import VertexProgram
from ...value_types import Worst


@dataclass(frozen=True, slots=True)
class LoopView:
    """The loop that a vertex finds itself in.

    Attributes
    ----------
    kind
        "main" or "branch".
    number
        Of the branch; 0 for a main loop.
    first_iteration
        Where it began: 0, or one above the last iteration in the snapshot that a branch resumes.
    """

    kind: Literal["main", "branch"]
    number: int
    first_iteration: int


class Heard(NamedTuple):
    """What a vertex knows of a producer; see `GeneralProgram.gather`."""

    value: Any
    weights: tuple[float, ...]


class Vertex(Protocol):
    """A vertex, as its program sees it during a call. Not to be kept.

    Attributes
    ----------
    id
        Its identity.
    state
        What the program keeps: anything that can be copied. To be changed in place or replaced.
    loop
        The loop that it is in.
    iteration
        The iteration at which it commits (in `scatter`), or would commit if nothing more came (elsewhere).
    targets
        Weights of the edges to each consumer, oldest first. To be read only.
    """

    id: int
    state: Any

    @property
    def loop(self) -> LoopView:
        """See the class."""
        ...

    @property
    def iteration(self) -> int:
        """See the class."""
        ...

    @property
    def targets(self) -> Mapping[int, tuple[float, ...]]:
        """See the class."""
        ...

    @property
    def heard(self) -> Mapping[int, Heard]:
        """What `gather` was told last, by producer: for programs that need no memory of their own."""
        ...

    def emit(self, value: Any) -> None:
        """Say a value to all targets, those to come too; what was said to single ones is forgotten. Copied."""
        ...

    def emit_to(self, target: int, value: Any) -> None:
        """Say a value to one target. It stands until the next emission, or until the last edge to the target goes."""
        ...


class GeneralProgram(VertexProgram):
    """A vertex program in plain Python: a frozen dataclass whose fields are its parameters. See the module for the promises.

    `gather`, `add_target` and `remove_target` return whether it matters: True makes the vertex commit, and `scatter` is called.

    Examples
    --------
    The greatest vertex id that reaches a vertex:

    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class Greatest(GeneralProgram):
    ...     def init(self, vertex):
    ...         return vertex.id
    ...
    ...     def gather(self, vertex, producer, value, weights):
    ...         before = vertex.state
    ...         vertex.state = max([vertex.id, *(one.value for one in vertex.heard.values() if one.value is not None)])
    ...         return vertex.state != before
    ...
    ...     def scatter(self, vertex):
    ...         vertex.emit(vertex.state)
    """

    program_kind: ClassVar[str] = "general"
    worst: ClassVar[Worst] = math.inf

    def init(self, vertex: Vertex) -> Any:
        """The state of a new vertex. `vertex.state` is None yet, and it has no edges."""
        raise NotImplementedError

    def gather(self, vertex: Vertex, producer: int, value: Any, weights: tuple[float, ...]) -> bool:
        """Take in that what is known of a producer has changed; return whether it matters.

        Parameters
        ----------
        value
            What it emitted last, None where it has emitted nothing. Shared with others: not to be changed.
        weights
            Of the edges from it, oldest first; empty: there is none any more, and `value` is None.
        """
        raise NotImplementedError

    def scatter(self, vertex: Vertex) -> None:
        """The vertex commits: emit what its targets are to hear."""
        raise NotImplementedError

    def add_target(self, vertex: Vertex, target: int, weight: float) -> bool:
        """Take in that an edge to `target` begins; return whether it matters. It does not, unless a program says so."""
        del vertex, target, weight
        return False

    def remove_target(self, vertex: Vertex, target: int, weight: float) -> bool:
        """Take in that an edge to `target` ends; return whether it matters. It does not, unless a program says so."""
        del vertex, target, weight
        return False

    def value(self, state: Any) -> float:
        """What readers of the loop see of a state, after every call; `worst` means: not reached.

        Where `worst` is a pair of whole numbers it is a whole number of 64 bits, and every vertex counts as reached.
        """
        return float(state)

    def progress(self, vertex: Vertex, before: float, after: float) -> float:
        """How much a commit changed, given the values at the last one and now; summed per iteration, it is the residual."""
        del vertex
        if before == after:
            return 0.0
        change = abs(after - before)
        return change if math.isfinite(change) else 1.0
