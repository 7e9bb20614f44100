"""Every legal step of the session protocol, in one table.

A vertex has two roles, and each is a small machine. As a *producer* it becomes dirty, prepares, collects what it must read
first, and commits (`VertexPhase`). Where it is *heard*, a ghost stands for it, and is what its consumers wait for
(`GhostPhase`). The table says for every phase and every kind of step which phases may come next; what is not in it is a
violation. Sessions ask the table before they change anything and again afterwards, and the diagram in `docs/protocol.md` is
generated from it, so that neither can drift away.

Source: Tornado (SIGMOD 2016), section 4.2, read as the text and not as its Figure 3 (the figure puts a pended producer straight
into the prepare list, never retests a commit when that list empties, and never commits a vertex nobody consumes).
"""

from __future__ import annotations

from enum import Enum

from ..errors import ProtocolViolation


class VertexPhase(Enum):
    """How far a vertex is with its own commit."""

    IDLE = "nothing to commit"
    DIRTY = "a gathered value matters, not preparing yet"
    WAITING = "prepares: acknowledgements are missing"
    COLLECTING = "prepares: updates of acknowledged producers are missing"


class GhostPhase(Enum):
    """How far the session of a producer is where it is heard."""

    QUIET = "no session of the producer is known here"
    PENDED = "PREPARE came while a consumer prepares with a smaller stamp"
    PREPARED = "acknowledged, in the prepare list of its consumers, update missing"
    SYNCHRONOUS = "B=1: updates come without PREPARE"


class Step(Enum):
    """What can happen to a vertex or to a ghost."""

    INPUT = "an input is gathered, or held while preparing"
    START = "the session begins"
    PREPARE = "a producer's PREPARE"
    RELEASE = "the last consumer with a smaller stamp has committed"
    ACKNOWLEDGE = "a consumer's ACKNOWLEDGE"
    GATHER = "a producer's value is gathered"
    UPDATE = "a producer's session ends with its UPDATE"
    SUBSCRIBE = "a new consumer"
    UNSUBSCRIBE = "a consumer less"
    SUBSCRIBED = "a producer's answer to SUBSCRIBE"


Phase = VertexPhase | GhostPhase

_IDLE, _DIRTY, _WAITING, _COLLECTING = VertexPhase
_QUIET, _PENDED, _PREPARED, _SYNCHRONOUS = GhostPhase

# fmt: off
LEGAL: dict[tuple[Phase, Step], tuple[Phase, ...]] = {
    # A vertex without work: whatever reaches it may give it some. It answers every PREPARE at once.
    (_IDLE, Step.INPUT):             (_IDLE, _DIRTY),
    (_IDLE, Step.GATHER):            (_IDLE, _DIRTY),
    (_IDLE, Step.PREPARE):           (_IDLE,),
    (_IDLE, Step.UPDATE):            (_IDLE,),
    (_IDLE, Step.SUBSCRIBE):         (_IDLE,),
    (_IDLE, Step.UNSUBSCRIBE):       (_IDLE,),
    # Dirty vertices still gather. START leads straight to the commit where nobody has to be asked or waited for.
    (_DIRTY, Step.INPUT):            (_DIRTY,),
    (_DIRTY, Step.GATHER):           (_DIRTY,),
    (_DIRTY, Step.PREPARE):          (_DIRTY,),
    (_DIRTY, Step.UPDATE):           (_DIRTY,),
    (_DIRTY, Step.SUBSCRIBE):        (_DIRTY,),
    (_DIRTY, Step.UNSUBSCRIBE):      (_DIRTY,),
    (_DIRTY, Step.START):            (_WAITING, _COLLECTING, _IDLE),
    # While a vertex prepares its consumers are fixed and its inputs held. It gathers updates, and lets smaller stamps go first.
    (_WAITING, Step.INPUT):          (_WAITING,),
    (_WAITING, Step.GATHER):         (_WAITING,),
    (_WAITING, Step.PREPARE):        (_WAITING,),
    (_WAITING, Step.UPDATE):         (_WAITING,),
    (_WAITING, Step.SUBSCRIBE):      (_WAITING,),
    (_WAITING, Step.UNSUBSCRIBE):    (_WAITING,),
    (_WAITING, Step.ACKNOWLEDGE):    (_WAITING, _COLLECTING, _IDLE, _DIRTY),
    # All have acknowledged; the last update of the prepare list brings the commit (the retest that Figure 3 lacks). Only
    # newcomers unsubscribe now: edges of a producer that was acknowledged wait for its update.
    (_COLLECTING, Step.INPUT):       (_COLLECTING,),
    (_COLLECTING, Step.GATHER):      (_COLLECTING,),
    (_COLLECTING, Step.PREPARE):     (_COLLECTING,),
    (_COLLECTING, Step.UPDATE):      (_COLLECTING, _IDLE, _DIRTY),
    (_COLLECTING, Step.SUBSCRIBE):   (_COLLECTING,),
    (_COLLECTING, Step.UNSUBSCRIBE): (_COLLECTING,),
    # Where a producer is heard. PENDED is a place of its own: a pended producer is in no prepare list yet.
    (_QUIET, Step.INPUT):            (_QUIET,),
    (_QUIET, Step.SUBSCRIBED):       (_QUIET,),
    (_QUIET, Step.PREPARE):          (_PENDED, _PREPARED),
    (_PENDED, Step.INPUT):           (_PENDED,),
    (_PENDED, Step.RELEASE):         (_PREPARED,),
    (_PREPARED, Step.INPUT):         (_PREPARED,),
    (_PREPARED, Step.UPDATE):        (_QUIET,),
    # B=1 has no second phase.
    (_SYNCHRONOUS, Step.INPUT):      (_SYNCHRONOUS,),
    (_SYNCHRONOUS, Step.SUBSCRIBED): (_SYNCHRONOUS,),
    (_SYNCHRONOUS, Step.UPDATE):     (_SYNCHRONOUS,),
}
# fmt: on


def is_legal(phase: Phase, step: Step) -> bool:
    """Whether the table has a row for this step in this phase."""
    return (phase, step) in LEGAL


def require(phase: Phase, step: Step, who: str) -> None:
    """Refuse a step that the table does not have; asked before anything changes.

    Raises
    ------
    ProtocolViolation
        If `(phase, step)` is no row of the table.
    """
    if (phase, step) not in LEGAL:
        allowed = ", ".join(other.name for other in Step if (phase, other) in LEGAL)
        raise ProtocolViolation(f"{who} is {phase.name}, where {step.name} is illegal; legal are {allowed}")


def confirm(before: Phase, step: Step, after: Phase, who: str) -> None:
    """Check that a step led where its row says.

    Raises
    ------
    ProtocolViolation
        If the table has no arrow `before -> after` for this step: the session itself is wrong.
    """
    if after not in LEGAL.get((before, step), ()):
        raise ProtocolViolation(
            f"{who} went from {before.name} by {step.name} to {after.name}, which no row allows"
        )
