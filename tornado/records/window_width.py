"""How wide a window is: so many records, or so much time."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Self

from ..errors import InvalidArgument

_MOST: Final = 2**61  # so that an instant less a width is never below 64 bits
_MICROSECONDS: Final = {
    "ms": 1_000,
    "s": 1_000_000,
    "m": 60_000_000,
    "h": 3_600_000_000,
    "d": 86_400_000_000,
    "w": 604_800_000_000,
}
# So few digits that each is a float, and Python takes it for an integer.
_FORM: Final = re.compile(r"([0-9]{1,100}(?:\.[0-9]{1,19})?)(ms|s|m|h|d|w)?")


@dataclass(frozen=True, slots=True)
class WindowWidth:
    """The width of a window.

    Attributes
    ----------
    amount
        Records, or microseconds; positive.
    counts_records
        Which of the two.
    by_times
        Whether records must have times; else the first ones say whether they have.

    Examples
    --------
    >>> WindowWidth.of("90s").amount, WindowWidth.of("1000").counts_records, str(WindowWidth.of("2h"))
    (90000000, True, '2h')
    >>> WindowWidth.of("1x")
    Traceback (most recent call last):
    ...
    tornado.errors.InvalidArgument: window is '1x', but must be a number of records (1000000) or a time above 0 with its unit \
(500ms, 90s, 15m, 1h, 7d, 2w). Leave it out for a stream that keeps all.
    """

    amount: int
    counts_records: bool
    by_times: bool = False

    @classmethod
    def of(cls, given: str | int | WindowWidth) -> Self | WindowWidth:
        """Read what a caller gives.

        Raises
        ------
        InvalidArgument
            When it is no width, or not above 0.
        """
        if isinstance(given, WindowWidth):
            return given
        form = _FORM.fullmatch(str(given).strip()) if not isinstance(given, bool) else None
        too_wide = ""
        if form is not None:
            number, unit = form.groups()
            amount = round(float(number) * _MICROSECONDS[unit]) if unit else 0
            if unit is None and "." not in number:
                amount = int(number)
            if 0 < amount <= _MOST:
                return cls(amount, unit is None)
            if amount > _MOST:
                too_wide = ", and at most 2^61 records or microseconds (3812571w)"
        raise InvalidArgument(
            f"window is {given!r}, but must be a number of records (1000000) or a time above 0 with its unit "
            f"(500ms, 90s, 15m, 1h, 7d, 2w){too_wide}",
            hint="Leave it out for a stream that keeps all.",
        )

    def __str__(self) -> str:
        """As `of` takes it."""
        if self.counts_records:
            return str(self.amount)
        unit = next((one for one in reversed(_MICROSECONDS) if self.amount % _MICROSECONDS[one] == 0), None)
        return (
            f"{self.amount / _MICROSECONDS['ms']:g}ms"
            if unit is None
            else f"{self.amount // _MICROSECONDS[unit]}{unit}"
        )
