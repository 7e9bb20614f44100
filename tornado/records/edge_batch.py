"""Edge batches: the columns in which edge records travel from a source to every worker.

A record is (source vertex, destination vertex, weight, operation); a batch is those four columns, equally long, in arrival
order. Order is data: version v of the graph is what batches 1..v say, applied record by record.

Guarantees: ids are exactly int64 and never pass through a float; a weight is a finite number, or the NaN that stands for "left
out" of a removal. Left out on purpose: what a program thinks of a weight (negative ones are the program's to refuse, see `VertexProgram.check`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Final, Self

import numpy as np
from numpy.typing import NDArray

from ..errors import InvalidArgument
from .callers_columns import edge_weights, operation_codes, vertex_ids
from .operations import INSERT, MENTION
from .record_batch import RecordBatch
from .schema import RecordColumn, Schema

EDGES: Final = Schema(
    "edges",
    (
        RecordColumn("src", np.dtype(np.int64), has_ids=True),
        RecordColumn("dst", np.dtype(np.int64), has_ids=True),
        RecordColumn("weight", np.dtype(np.float64), is_optional=True),
        RecordColumn("op", np.dtype(np.int8), is_optional=True),
    ),
)


@dataclass(frozen=True, slots=True, eq=False)
class EdgeBatch(RecordBatch):
    """Edge records in columns, in arrival order. The arrays are not written after construction.

    Parameters
    ----------
    src, dst : int64[n]
        Vertex ids.
    weight : float64[n]
        Finite, or NaN where `op` is REMOVE: the oldest edge of any weight.
    op : int8[n]
        INSERT, REMOVE or REPLACE; or MENTION, see `mentions`.

    Notes
    -----
    The constructor trusts its arrays (kernels fill them); data of a caller comes through `of`, which checks and copies.

    Examples
    --------
    >>> batch = EdgeBatch.of([1, 2], [2, 3], [1.0, 2.5])
    >>> len(batch), batch.src.dtype, batch.op.tolist()
    (2, dtype('int64'), [1, 1])
    >>> EdgeBatch.of([1, 2], [2, 3], [1.0, float("nan")])
    Traceback (most recent call last):
    ...
    tornado.errors.InvalidArgument: weight[1] is nan, but an insertion needs a finite number. Mend that entry and \
repeat the call: none of it was taken.
    """

    schema: ClassVar[Schema] = EDGES

    src: NDArray[np.int64]
    dst: NDArray[np.int64]
    weight: NDArray[np.float64]
    op: NDArray[np.int8]

    def __len__(self) -> int:
        return len(self.src)  # asked several times of each share, so not by way of the schema

    @classmethod
    def of(cls, src: Any, dst: Any, weight: Any = None, op: Any = INSERT) -> Self:
        """Check a caller's columns and copy them: all of the call or, with an error, none of it.

        Parameters
        ----------
        src, dst : sequence of int, NumPy array, Arrow array or pandas column
            Vertex ids; exactly int64, so floats and bools are refused even where they are integral.
        weight : sequence of float, number, optional
            Left out: 1.0, and "the oldest edge of any weight" for removals, where `None` and NaN mean the same.
        op : int, str or a column of them
            INSERT, REMOVE, REPLACE or how `OPERATIONS` writes them.

        Returns
        -------
        EdgeBatch

        Raises
        ------
        InvalidArgument
            Columns differ in length, or an entry is not allowed; names the first bad entry with index and value.
        """
        src_ids, dst_ids = vertex_ids(src, name="src"), vertex_ids(dst, name="dst")
        if len(src_ids) != len(dst_ids):
            raise InvalidArgument(
                f"src has {len(src_ids)} entries and dst has {len(dst_ids)}, but an edge needs one of each"
            )
        codes = operation_codes(op, len(src_ids))
        weights = edge_weights(weight, codes)
        return cls(src_ids, dst_ids, weights, codes)

    def untimed(self) -> EdgeBatch:
        """The records without what else they may have."""
        return self

    def described(self, record: int) -> str:
        """See `RecordBatch`."""
        return f"{self.src[record]} -> {self.dst[record]}, weight {self.weight[record]}"

    @classmethod
    def insertions(cls, src: NDArray[np.int64], dst: NDArray[np.int64], weight: NDArray[np.float64]) -> Self:
        """Insertions of edges that were in a graph already: like the constructor, it trusts them."""
        return cls(src, dst, weight, np.full(len(src), INSERT, np.int8))

    @classmethod
    def mentions(cls, ids: NDArray[np.int64]) -> Self:
        """Records that name vertices without an edge: from their version on these were seen."""
        return cls(ids, ids, np.ones(len(ids)), np.full(len(ids), MENTION, np.int8))

    @property
    def edges(self) -> int:
        """How many of the records are about an edge."""
        return int(np.count_nonzero(self.op != MENTION))


def has_edges(batch: RecordBatch) -> bool:
    """Whether it is of edges, and not of points or of vertices alone."""
    return isinstance(batch, EdgeBatch) and bool((batch.op != MENTION).any())
