"""The result of a query in Python: values with the snapshot they are for, in the form the caller works with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ..errors import NotSupported
from .answers import Columns
from .ids import Vertex
from .query import NamedSnapshot, QueryState, QueryStatus


class QueryResult:
    """Values of vertices, exact for a named snapshot where the certificate says so. Owns its data.

    Parameters
    ----------
    status : QueryStatus
        Of the query that ended.
    columns : Columns
        Vertices and their values: in the order asked for, best first for `top`, else ascending by id.
    unknown : sequence
        Vertices that were asked for and never seen.
    """

    def __init__(self, status: QueryStatus, columns: Columns, unknown: Sequence[Vertex]) -> None:
        self._status = status
        self._columns = columns
        self.unknown: list[Vertex] = list(unknown)

    @cached_property
    def values(self) -> dict[Vertex, float]:
        """Values by vertex; infinity where a vertex is unreachable, no entry where it was never seen."""
        return dict(zip(self._vertices(), self._columns.value.tolist(), strict=True))

    @property
    def snapshot(self) -> NamedSnapshot | None:
        """Which prefix of every source the values are for."""
        return self._status.snapshot

    @property
    def certificate(self) -> Mapping[str, Any] | None:
        """`{"kind": "exact"}`, or what else is known of the values (`tornado.certificate`)."""
        return self._status.certificate

    @property
    def state(self) -> QueryState:
        """`CONVERGED`, or `DEADLINE` where these are the best values so far."""
        return self._status.state

    @property
    def status(self) -> QueryStatus:
        """Everything about the query at its end."""
        return self._status

    def to_numpy(self) -> npt.NDArray[Any]:
        """Return a structured array with the fields `vertex` (int64, or object for strings) and `value` (float64)."""
        kind = np.int64 if isinstance(self._columns.vertex, np.ndarray) else object
        table = np.empty(len(self), dtype=[("vertex", kind), ("value", np.float64)])
        table["vertex"] = self._columns.vertex
        table["value"] = self._columns.value
        return table

    def to_arrow(self) -> pa.Table:
        """Return a table with the columns `vertex` and `value`; null where a vertex is unreachable, as over HTTP."""
        kind = pa.int64() if isinstance(self._columns.vertex, np.ndarray) else pa.string()
        values = self._columns.value
        return pa.table(
            {
                "vertex": pa.array(self._columns.vertex, kind),
                "value": pa.array(values, pa.float64(), mask=~np.isfinite(values)),
            }
        )

    def to_pandas(self) -> Any:
        """Return a DataFrame with the columns `vertex` and `value`; infinity where a vertex is unreachable.

        Raises
        ------
        NotSupported
            When pandas is not installed.
        """
        try:
            import pandas as pd  # type: ignore[import-not-found, import-untyped, unused-ignore]
        except ImportError:
            raise NotSupported(
                "pandas is not installed", hint="Install it with `pip install pandas`, or use to_arrow()."
            ) from None
        return pd.DataFrame({"vertex": self._columns.vertex, "value": self._columns.value})

    def __len__(self) -> int:
        return len(self._columns.value)

    def __repr__(self) -> str:
        kind = (self.certificate or {}).get("kind")
        version = None if self.snapshot is None else self.snapshot.version
        return f"<{type(self).__name__} {self.state.value}: {len(self)} vertices, {kind}, version {version}>"

    def _vertices(self) -> Sequence[Vertex]:
        vertices = self._columns.vertex
        return vertices.tolist() if isinstance(vertices, np.ndarray) else vertices
