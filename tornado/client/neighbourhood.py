"""What is around a vertex: the edges that lead away from it and those that come, as they were when they were asked for."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from .answers import as_pandas, as_polars
from .html import SHOWN_ROWS, table_html
from .steps import Document


class Neighbourhood:
    """The edges around one vertex, of no version: some of them where there are very many.

    Parameters
    ----------
    document : dict
        As the service has told it.
    """

    def __init__(self, document: Document) -> None:
        self.document = document

    @property
    def vertex(self) -> int | str:
        """Whose edges they are."""
        vertex: int | str = self.document["vertex"]
        return vertex

    @property
    def is_known(self) -> bool:
        """Whether it was ever seen."""
        return bool(self.document["known"])

    @property
    def out(self) -> list[tuple[int | str, float]]:
        """To whom its edges lead, and what each weighs; in no order, and one that leads to itself is in both lists."""
        return [(one["vertex"], one["weight"]) for one in self.document["out"]]

    @property
    def into(self) -> list[tuple[int | str, float]]:
        """From whom edges come, and what each weighs; in no order."""
        return [(one["vertex"], one["weight"]) for one in self.document["into"]]

    @property
    def edges_out(self) -> int:
        """How many edges lead away in all."""
        return int(self.document["edges_out"])

    @property
    def edges_into(self) -> int:
        """How many edges come in all."""
        return int(self.document["edges_into"])

    def to_arrow(self) -> pa.Table:
        """Return a table of these edges: `src`, `dst` and `weight`, as `insert` takes it; one from it to itself once."""
        ends = [(self.vertex, other, weight) for other, weight in self.out]
        ends += [(other, self.vertex, weight) for other, weight in self.into if other != self.vertex]
        ids = pa.string() if isinstance(self.vertex, str) else pa.int64()
        columns = list(zip(*ends, strict=True)) or [(), (), ()]
        return pa.table(
            {
                name: pa.array(column, kind)
                for name, column, kind in zip(
                    ("src", "dst", "weight"), columns, (ids, ids, pa.float64()), strict=True
                )
            }
        )

    def to_pandas(self) -> Any:
        """Return the table as a DataFrame of pandas; `MissingPackage` where that is not installed."""
        return as_pandas(self.to_arrow())

    def to_polars(self) -> Any:
        """Return the table as a DataFrame of Polars; `MissingPackage` where that is not installed."""
        return as_polars(self.to_arrow())

    def __repr__(self) -> str:
        if not self.is_known:
            return f"<Neighbourhood of {self.vertex!r}, which was never seen>"
        return f"<Neighbourhood of {self.vertex!r}: {self.edges_out} edges out, {self.edges_into} in>"

    def _repr_html_(self) -> str:
        rows = [("out", *end) for end in self.out] + [("in", *end) for end in self.into]
        left = self.edges_out + self.edges_into - min(len(rows), SHOWN_ROWS)
        note = f"and {left:,} more" if left else ""
        return table_html(repr(self)[1:-1], ["edge", "vertex", "weight"], rows[:SHOWN_ROWS], note)
