"""How what general programs say is written for other processes."""

from __future__ import annotations

from typing import Any

from ...engine import WireType
from ..travelling import travelling
from .vertices import Emission, Said


def _fields_of(emission: Emission) -> tuple[Any, ...]:
    everyone, single = emission.everyone, emission.single
    said = {target: (one.since, travelling(one.value)) for target, one in single.items()}
    return everyone.since, travelling(everyone.value), said


def _emission_of(fields: tuple[Any, ...]) -> Emission:
    since, value, single = fields
    said = {target: Said(at, one, to_one=True) for target, (at, one) in single.items()}
    return Emission(Said(since, value), said)


EMISSION = WireType(Emission, _fields_of, _emission_of)
