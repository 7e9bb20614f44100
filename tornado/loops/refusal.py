"""Which records programs cannot take, looked for once by each."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..errors import InvalidArgument
from ..records.checked import Checked, CheckedBy
from ..records.record_batch import RecordBatch
from .vertex_program import VertexProgram, first_refused, refused_by


def check_by(programs: Sequence[VertexProgram], batch: RecordBatch) -> Checked:
    """Which records some of these programs cannot take, and why."""
    refused, reason = np.zeros(len(batch), np.bool_), ""
    for program in programs:
        bad, why = refused_by(program, batch)
        if bad.any():
            refused, reason = refused | bad, reason or why
    return Checked(refused, reason, tuple(programs))


def refuse_by(
    programs: Sequence[VertexProgram], batch: RecordBatch, source: str, checked: CheckedBy
) -> CheckedBy:
    """Refuse a batch that one of these programs cannot take which has not looked at it; return who has, then.

    Raises
    ------
    InvalidArgument
        With the first record that it cannot take.
    """
    looking = [program for program in programs if program not in checked]
    for program in looking:
        found = first_refused(program, batch)
        if found is not None:
            first, record, reason = found
            raise InvalidArgument(f"record {first} ({record}) of {source}: {reason}")
    return [*checked, *looking] if looking else checked
