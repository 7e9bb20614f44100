"""The answer to a question: a table with the snapshot it is for and what it is worth, in the form the caller works with."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import pyarrow as pa

from .errors import InvalidInput, MissingPackage
from .html import SHOWN_ROWS, certificate_text, snapshot_text, table_html
from .steps import Document


class ServiceAnswer:
    """What a query has found. It is here as a whole, and needs the service no longer.

    Parameters
    ----------
    document : dict
        The query as it ended, with the first page of its result.
    table : pyarrow.Table
        All rows that were asked for.
    """

    def __init__(self, document: Document, table: pa.Table) -> None:
        self.document = document
        self._table = table

    @property
    def id(self) -> str | None:
        """Of the query; None of a read of the main loop."""
        return self.document.get("id")

    @cached_property
    def values(self) -> dict[Any, Any]:
        """Values by vertex (or feature, or id); None where a vertex was not reached, no entry where it was never seen.

        Raises
        ------
        InvalidInput
            The table has other columns than these two.
        """
        if self._table.num_columns != 2:
            raise InvalidInput(
                f"the table has the columns {', '.join(self._table.column_names)}, so there is no one value of each",
                hint="Use to_pandas(), to_polars() or to_arrow().",
            )
        names, values = self._table.columns
        return dict(zip(names.to_pylist(), values.to_pylist(), strict=True))

    @property
    def unknown(self) -> list[int | str]:
        """Vertices that were asked for and never seen."""
        return list(self._result.get("unknown") or [])

    @property
    def predictions(self) -> list[Document]:
        """Of the points of the question, in their order."""
        return list(self._result.get("predictions") or [])

    @property
    def paths(self) -> list[Document]:
        """The ways that were asked for, in the order of their vertices."""
        return list(self._result.get("paths") or [])

    @property
    def certificate(self) -> Document:
        """`{"kind": "exact"}`, or what else is known of the values."""
        return dict(self.document.get("certificate") or {"kind": "none"})

    @property
    def is_exact(self) -> bool:
        """Whether this is the fixed point of the snapshot."""
        return bool(self.certificate["kind"] == "exact")

    @property
    def snapshot(self) -> Document | None:
        """Which prefix of every source the values are for; None of a read of the main loop."""
        return self.document.get("snapshot")

    @property
    def state(self) -> str:
        """`converged`, or `deadline` where these are the best values so far."""
        return str(self.document.get("state", "converged"))

    def to_arrow(self) -> pa.Table:
        """Return the table; null where a vertex was not reached."""
        return self._table

    def to_numpy(self) -> Any:
        """Return a structured array with the columns of the table; NaN where a vertex was not reached.

        Raises
        ------
        MissingPackage
            NumPy is not installed.
        """
        try:
            import numpy as np
        except ImportError:
            raise _missing("numpy") from None
        columns = {name: self._table[name].to_numpy() for name in self._table.column_names}
        table = np.empty(len(self), dtype=[(name, column.dtype) for name, column in columns.items()])
        for name, column in columns.items():
            table[name] = column
        return table

    def to_pandas(self) -> Any:
        """Return a DataFrame of pandas; NaN where a vertex was not reached.

        Raises
        ------
        MissingPackage
            pandas is not installed.
        """
        return as_pandas(self._table)

    def to_polars(self) -> Any:
        """Return a DataFrame of Polars; null where a vertex was not reached.

        Raises
        ------
        MissingPackage
            Polars is not installed.
        """
        return as_polars(self._table)

    @property
    def _result(self) -> Document:
        return self.document.get("result") or {}

    def __len__(self) -> int:
        return int(self._table.num_rows)

    def __getitem__(self, vertex: int | str) -> Any:
        return self.values[vertex]

    def _summary(self) -> str:
        said = f"{certificate_text(self.certificate)} for {snapshot_text(self.snapshot)}"
        elapsed_s = self.document.get("elapsed_s")
        return said if elapsed_s is None else f"{said}, {elapsed_s * 1000:.1f} ms"

    def __repr__(self) -> str:
        return (
            f"<{type(self).__name__} of {self.document.get('loop')!r}: {len(self):,} rows, {self._summary()}>"
        )

    def _repr_html_(self) -> str:
        rows = [list(row.values()) for row in self._table.slice(0, SHOWN_ROWS).to_pylist()]
        more = len(self) - len(rows)
        notes = [f"… and {more:,} more"] if more > 0 else []
        if self.unknown:
            notes.append(f"never seen: {', '.join(map(str, self.unknown[:SHOWN_ROWS]))}")
        if self.state == "deadline":
            notes.append(
                f"stopped by {self.document.get('stopped_by') or 'a limit of its own'}: the best values so far"
            )
        return table_html(self._summary(), self._table.column_names, rows, "; ".join(notes))


def as_pandas(table: pa.Table) -> Any:
    """Return a table as a DataFrame of pandas; `MissingPackage` where that is not installed."""
    try:
        import pandas as pd  # type: ignore[import-not-found, import-untyped, unused-ignore]  # noqa: F401
    except ImportError:
        raise _missing("pandas") from None
    return table.to_pandas()


def as_polars(table: pa.Table) -> Any:
    """Return a table as a DataFrame of Polars; `MissingPackage` where that is not installed."""
    try:
        import polars as pl  # type: ignore[import-not-found, unused-ignore]
    except ImportError:
        raise _missing("polars") from None
    return pl.from_arrow(table)


def _missing(package: str) -> MissingPackage:
    return MissingPackage(
        f"{package} is not installed", hint=f"Install it with `pip install {package}`, or use to_arrow()."
    )
