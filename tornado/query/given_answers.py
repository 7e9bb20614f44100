"""Answers of learners that were given out without a check, to be verified later at the version that they are for.

Asked again, a learner need not answer with the same bits: its loop has gone on from the first answer. So it is not a second answer that is
verified and compared, but the one that was given, on the points of a branch at its version.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from ..errors import ResultUnavailable
from ..value_types import Ids, ValueArray


@dataclass(frozen=True, slots=True, eq=False)
class GivenAnswer:
    """See the module.

    Attributes
    ----------
    query : str
        Whose answer it is.
    version : int
        Of the points.
    ids, values
        All of them, ascending by the loop's own ids.
    found
        What the program has found beside.
    certificate
        What it was said to be worth.
    """

    query: str
    version: int
    ids: Ids
    values: ValueArray
    found: Mapping[str, NDArray[Any]]
    certificate: Mapping[str, Any]

    def require_version(self, version: int) -> None:
        """Refuse to be verified on other points than its own.

        Raises
        ------
        ResultUnavailable
            When these are of another version.
        """
        if version != self.version:
            raise ResultUnavailable(
                f"query {self.query} is an answer to version {self.version} of the stream, which has changed since",
                hint="Ask with check=True: then the answer is verified on its own version.",
            )
