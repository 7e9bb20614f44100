"""The session protocol: in which iteration a vertex commits, agreed between producers and consumers.

Source: Tornado (SIGMOD 2016), sections 4.2 and 4.4. `session.py` is the plain, readable machine and states the laws;
`session_kernel.py` is its compiled twin. `world.py`, `random_schedules.py` and `exploration.py` run whole graphs of sessions
under random, recorded and all schedules; `laws.py` judges them. `cut.py` is the consistent cut that a branch begins from.
Diagram and glossary: `docs/protocol.md`.
"""

from .clock import LamportClock, Stamp
from .legality import GhostPhase, Step, VertexPhase
from .messages import (
    Acknowledge,
    AddEdge,
    Committed,
    Frontier,
    Input,
    Prepare,
    RemoveEdge,
    Send,
    Start,
    Subscribe,
    Subscribed,
    Touch,
    Unsubscribe,
    Update,
    work_at,
)
from .program import SessionProgram
from .session import ThreePhaseSession

__all__ = [
    "Acknowledge",
    "AddEdge",
    "Committed",
    "Frontier",
    "GhostPhase",
    "Input",
    "LamportClock",
    "Prepare",
    "RemoveEdge",
    "Send",
    "SessionProgram",
    "Stamp",
    "Start",
    "Step",
    "Subscribe",
    "Subscribed",
    "ThreePhaseSession",
    "Touch",
    "Unsubscribe",
    "Update",
    "VertexPhase",
    "work_at",
]
