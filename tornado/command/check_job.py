"""What `tornado check` does: reads a result and the graph, and asks the checker of the program."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..checking import AnswerToCheck, ComponentsCheck, Fault, LabelsCheck, PathsCheck, Verdict
from ..errors import InvalidArgument, NotSupported
from ..ingest.interner import Interner
from ..ingest.layout import TextFormat
from ..loops.vertex_program import VertexProgram
from ..query.ids import IdCodec, IntIds, StringIds
from ..query.parameters import with_interned_vertices
from ..query.proofs import require_checker, vertex_called
from ..value_types import INT64, dtype_of
from .graph_of_files import GraphOfFiles, read_graph
from .result_file import CheckedFile, read_columns, read_header, read_result


def check_files(
    program: VertexProgram, options: Mapping[str, Any], *, bound: float | None
) -> CheckedFile[Verdict]:
    """Verify a result.

    Parameters
    ----------
    program : VertexProgram
        Whose result it is to be; where ids are strings, it names vertices by these.
    options : mapping
        Of `tornado check`, by name.
    bound : float or None
        How far values may be from the right ones; None: as far as the program's tolerance, where it has one.

    Raises
    ------
    InvalidArgument, NotSupported
        When a file cannot be read, or nothing verifies results of the program.
    """
    interner = Interner() if options["ids"] == "string" else None
    codec: IdCodec = IntIds() if interner is None else StringIds(interner)
    if interner is not None:
        program = with_interned_vertices(program, interner)
    checker = require_checker(program)
    # Of strings a file does not tell which came in first.
    if isinstance(checker, ComponentsCheck) and interner is not None:
        checker = replace(checker, takes_any_member=True)
    if isinstance(checker, PathsCheck) and interner is not None:
        checker = replace(checker, takes_any_source=True)
    if isinstance(checker, LabelsCheck) and interner is not None:
        raise NotSupported(
            "of labels that most neighbours have, the least counts; which of two strings came in first a file does not tell",
            hint="Ask for the check in the question or the run: --check.",
        )
    columns = None if options["columns"] is None else TextFormat.parse_columns(options["columns"], key=None)
    graph = read_graph(
        options["edges"],
        options["vertices"],
        TextFormat(columns=columns, undirected=options["undirected"], times=options["check_times"]),
        interner=interner,
        refused=program.check,
    )
    answer = _answer(program, options["result"], interner)
    if bound is None:
        bound = float(getattr(program, "tolerance", 0.0))
    fault = _strangers(answer, graph)
    if fault is None:
        answer = replace(answer, bound=bound, is_undirected=options["undirected"])
        verdict = checker.check(answer, graph.pages)
    else:
        edges = sum(len(page.sources) for page in graph.pages)
        verdict = Verdict("every vertex of the graph has one row", len(answer.ids), edges, fault)
    return CheckedFile(verdict, partial(vertex_called, codec=codec), graph.rejected)


def _answer(program: VertexProgram, path: str, interner: Interner | None) -> AnswerToCheck:
    """Read the result; of strings the numbers that stand for them, new ones for strangers."""
    is_label = interner is not None and getattr(program, "values_are_ids", False)
    whole = dtype_of(program.worst) == INT64
    value_type = pa.string() if is_label else pa.int64() if whole else pa.float64()
    vertex, value = read_result(
        path, vertex=pa.int64() if interner is None else pa.string(), value=value_type
    )
    reached = ~np.asarray(value.is_null())
    ids = _numbers(vertex, interner)
    if is_label:
        labels = np.zeros(len(value), np.int64)
        labels[reached] = _numbers(value.drop_null(), interner)
        return AnswerToCheck(ids, labels, reached)
    return AnswerToCheck(
        ids,
        value.fill_null(0).to_numpy(zero_copy_only=False),
        reached,
        beside=_beside(program, path, interner),
    )


def _beside(program: VertexProgram, path: str, interner: Interner | None) -> NDArray[np.float64] | None:
    """Read what the table of a program has beside values, where the result is that table; what is empty is no number."""
    table = getattr(program, "beside", None)
    if table is None or table[1] not in read_header(path):
        return None
    (names,) = read_columns(path, {table[1]: pa.int64() if interner is None else pa.string()})
    numbers = np.full(len(names), np.nan)
    is_there = ~np.asarray(names.is_null())
    numbers[is_there] = _numbers(names.drop_null(), interner)
    return numbers


def _numbers(names: pa.Array, interner: Interner | None) -> NDArray[np.int64]:
    if interner is None:
        numbers: NDArray[np.int64] = names.to_numpy(zero_copy_only=False)
        return numbers
    if len(names) and "" in names.to_pylist():
        raise InvalidArgument("a vertex of the result has an empty name")
    return interner.intern(names)


def _strangers(answer: AnswerToCheck, graph: GraphOfFiles) -> Fault | None:
    """Find what has a row and is not in the graph, or is in the graph and has no row."""
    strange = np.flatnonzero(~np.isin(answer.ids, graph.vertices))
    if len(strange):
        return Fault(int(answer.ids[strange[0]]), "has a row, but no record names it")
    missing = graph.vertices[~np.isin(graph.vertices, answer.ids)]
    return Fault(int(missing[0]), "has no row") if len(missing) else None
