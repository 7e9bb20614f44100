"""Kinds of vertex programs, a room each: what a user derives from, the parts of its loops, and `KIND`, which describes it to them.

A new kind is a room here and a line in `KINDS`; see docs/extending.md.
"""

from __future__ import annotations

from typing import Final

KINDS: Final = {
    "selective": f"{__name__}.selective.kind",
    "general": f"{__name__}.general.kind",
    "accumulative": f"{__name__}.accumulative.kind",
    "rounds": f"{__name__}.rounds.kind",
    "counting": f"{__name__}.counting.kind",
    "learning": f"{__name__}.learning.kind",
    "cores": f"{__name__}.cores.kind",
}
"""Where the object `KIND` of each kind is, by the name that its programs say."""
