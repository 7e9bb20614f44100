"""What `tornado run --output` writes of an answer: one of its tables, the first unless one is named, or what it predicts of the points of a file.

Points to be predicted are read before anything starts: a file of which a record is wrong is refused as a whole, and not
after a long run. Their features are those of the stream, by name where there are names; labels and weights count for nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..errors import InvalidArgument
from ..ingest.interner import Interner
from ..ingest.parsed import ParsedPoints
from ..ingest.point_layout import ID, PointFormat
from ..ingest.point_source import PointFile, has_role
from ..loop_views import ValuesView
from ..loops.vertex_program import VertexProgram
from ..query.findings import Findings
from ..query.rows import VALUES, AnswerForm, Columns
from ..records.operations import REMOVE
from ..records.point_batch import PointBatch
from ..records.point_schema import Points
from ..value_types import reached_of
from .output import require_nothing_written, result_table
from .plan import LoopBeside, RunPlan

PREDICTIONS: Final = "predictions"
"""What is written in place of a table."""


@dataclass(frozen=True, slots=True, eq=False)
class PointsToPredict:
    """The points of a file.

    Attributes
    ----------
    path : str
        Of the file.
    points : PointBatch
        In its order.
    called : str
        What `names` are: ``id``, or ``position`` where the file has no ids: the line, or the row of a table, from 1.
    names : sequence
        One for each point.
    """

    path: str
    points: PointBatch
    called: str
    names: Any


@dataclass(frozen=True, slots=True, eq=False)
class Writing:
    """What is written of a loop's answer.

    Attributes
    ----------
    table : str or None
        Which table; None: the first.
    points : PointsToPredict or None
        What it predicts of these, in place of a table.
    """

    table: str | None = None
    points: PointsToPredict | None = None


def writings_of(
    plan: RunPlan, program: VertexProgram, beside: Sequence[LoopBeside], schema: Points | None
) -> Mapping[str, Writing]:
    """Return what is written of the answer of each loop, by its name; reads the points that are to be predicted.

    Parameters
    ----------
    schema
        What the points of the stream are; None: it has none.

    Raises
    ------
    InvalidArgument, SourceBroken
        See `require_table` and `read_points_to_predict`; or what is wanted of a loop cannot be written so.
    """
    first = LoopBeside(plan.loop, plan.delay_bound, program, plan.table, plan.predict)
    found = {}
    for loop in (first, *beside):
        if plan.output is None:
            require_nothing_written(loop.table, loop.predict)
            continue
        found[loop.name] = _writing(plan, loop, loop.program.reading(schema), schema)
    return found


def _writing(plan: RunPlan, loop: LoopBeside, program: VertexProgram, schema: Points | None) -> Writing:
    if plan.output_format is not None and (schema is not None and program.declared_points is not None):
        raise InvalidArgument(
            f"--output-format {plan.output_format} has values of vertices, and {loop.name} learns from points",
            hint="Leave it out: the ending of --output says how it is written.",
        )
    if loop.predict is None:
        if loop.table is not None:
            require_table(loop.table, program)
        return Writing(loop.table)
    if not program.tells or schema is None:
        raise InvalidArgument(
            f"--predict {loop.predict} names points, and {loop.name} predicts nothing of points",
            hint="Programs that do are for example logistic_regression, svm, linear_regression and kmeans.",
        )
    wanted = PointFormat(label=plan.label_column, id=plan.id_column, names_may_lack=True)
    return Writing(None, read_points_to_predict(loop.predict, schema, wanted, ids=plan.ids))


def read_points_to_predict(path: str, schema: Points, wanted: PointFormat, *, ids: str) -> PointsToPredict:
    """Read the points of a file.

    Parameters
    ----------
    schema
        What the points of the stream are.
    wanted
        What the caller says of files; columns that it names need not be there.
    ids : str
        "int" or "string".

    Raises
    ------
    InvalidArgument
        The file cannot be read, has no point, features other than those of the stream, or a record that is no point.
    SourceBroken
        It fails in the middle.
    """
    interner = Interner() if ids == "string" else None
    source = PointFile(path, schema, wanted=wanted, interner=interner)
    try:
        parts = [(_require_points(path, parsed), parsed.positions) for parsed in source.batches()]
    finally:
        source.close()
    points = PointBatch.kind_of(schema).concat(batch for batch, _ in parts)
    if not len(points):
        raise InvalidArgument(f"--predict {path}: the file has no point")
    if not has_role(path, wanted, ID):
        positions = np.concatenate([positions for _, positions in parts])
        return PointsToPredict(path, points, "position", positions)
    return PointsToPredict(path, points, "id", points.id if interner is None else interner.names(points.id))


def require_table(name: str, program: VertexProgram) -> None:
    """Refuse a table that answers of a program do not have.

    Raises
    ------
    InvalidArgument
        There is none of that name.
    """
    known = [*(table.name for table in program.tables), VALUES]
    if name not in known:
        raise InvalidArgument(
            f"--table is {name!r}, but the tables of {type(program).__name__} are: {', '.join(known)}",
            hint="Leave it out to have the first one written.",
        )


def table_of_answer(
    program: VertexProgram, found: ValuesView, form: AnswerForm, table: str | None
) -> pa.Table:
    """Return a table of an answer, the first where none is named; rows ascend by the id outside, those of weights by the feature.

    Parameters
    ----------
    program
        As its loop runs it.
    """
    name = form.first_table if table is None else table
    if name == VALUES:
        return _values(found, form)
    return Findings.of(program, found.found(), None).table(name, form, lambda: _columns(found, form))


def predictions_of_answer(program: VertexProgram, found: ValuesView, points: PointsToPredict) -> pa.Table:
    """Return what an answer predicts of points, in their order: what each is called, and a column for each thing that is predicted.

    Raises
    ------
    InvalidArgument
        Too little is found yet.
    """
    predicted: Mapping[str, NDArray[Any]] = program.predictions(found.found(), points.points)
    # What is not said is NaN, and NaN is nothing else here.
    columns = {name: pa.array(values, from_pandas=True) for name, values in predicted.items()}
    return pa.table({points.called: pa.array(points.names)} | columns)


def _values(found: ValuesView, form: AnswerForm) -> pa.Table:
    columns = _columns(found, form)
    if isinstance(columns.vertex, np.ndarray):
        return result_table(columns.vertex, columns.value, columns.reached)
    ids = np.arange(len(columns.vertex))
    labels = [str(vertex) for vertex in columns.vertex]
    return result_table(ids, columns.value, columns.reached, labels=labels, names=columns.names)


def _columns(found: ValuesView, form: AnswerForm) -> Columns:
    ids, values = found.arrays()
    reached = reached_of(values, found.worst)
    seconds = found.seconds(ids) if form.has_seconds else None
    if form.codec.kind == "int":
        return Columns(ids, values, reached, seconds=seconds)
    names = np.array(form.codec.decode(ids), dtype=object)
    order = np.argsort(names, kind="stable")
    values, reached = values[order], reached[order]
    seconds = None if seconds is None else seconds[order]
    return Columns(names[order].tolist(), values, reached, form.names(values, reached), seconds)


def _require_points(path: str, parsed: ParsedPoints) -> PointBatch:
    if parsed.rejected:
        first = parsed.rejected[0]
        raise InvalidArgument(
            f"--predict {path}: record {first.position} is no point: {first.reason}",
            hint="Mend that record; nothing was read.",
        )
    removed = np.flatnonzero(parsed.batch.op == REMOVE)
    if len(removed):
        raise InvalidArgument(
            f"--predict {path}: record {parsed.positions[removed[0]]} removes a point, but points to predict are only looked at",
            hint="Leave such records, or the column op, out.",
        )
    return parsed.settled()
