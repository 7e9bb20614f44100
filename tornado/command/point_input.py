"""Points of a run, of files and of a topic: which programs read them, what they are declared to be, and the sources of files.

What a program reads is its own to say: points (a `LearningProgram`) or edges. A run is refused before anything starts where a
program has nothing to read, or nobody reads what is named.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import InvalidArgument
from ..ingest.interner import Interner
from ..ingest.kafka.point_values import declared_by_columns
from ..ingest.kafka.settings import KafkaSettings, ValueFormat
from ..ingest.point_layout import LABEL, PointFormat
from ..ingest.point_source import PointFile, declared_by, has_role, open_point_files, says_width
from ..kinds.learning.program import LearningProgram
from ..loops.declared_points import with_stored_width
from ..loops.vertex_program import VertexProgram
from ..records.point_schema import Points
from ..storage import open_store
from .plan import RunPlan

_FORMS = "CSV with a header, libsvm, Arrow or parquet"


def require_fitting(plan: RunPlan, programs: Sequence[VertexProgram]) -> None:
    """Refuse a plan that names what none of its programs reads, or nothing that one of them reads.

    Raises
    ------
    InvalidArgument
        A program has nothing to read, or what is named nobody reads.
    """
    learners = [program for program in programs if isinstance(program, LearningProgram)]
    _require_readers(plan, programs, learners)


def schema_of(plan: RunPlan, programs: Sequence[VertexProgram]) -> Points | None:
    """Return what the points of a run are: what a program says, else files, options or the columns of a topic; None where nothing does.

    Raises
    ------
    InvalidArgument, SourceBroken
        See `declared_by` and `declared_by_columns`; or options say something else of points than files do.
    """
    said = next(
        (program.declared_points for program in programs if program.declared_points is not None), None
    )
    if said is not None:
        return said
    if plan.points:
        found = declared_by(plan.points, wanted=_wanted(plan))
        _require_as_said(plan, found)
        return found
    if plan.features is not None:
        return Points(plan.features, sparse=plan.sparse)
    topic = topic_of_points(plan)
    return None if topic is None or topic.value_format is not ValueFormat.CSV else declared_by_columns(topic)


def as_stored(plan: RunPlan, programs: Sequence[VertexProgram], found: Points | None) -> Points | None:
    """Return what `schema_of` has found, as wide as the stream is in the store where nobody says how many features points have.

    Raises
    ------
    StoreError
        The store cannot be opened or read.
    """
    if found is None or plan.store is None or plan.features is not None or not plan.points:
        return found  # a run that names no store begins anew
    if any(one.declared_points is not None for one in programs) or any(map(says_width, plan.points)):
        return found
    with open_store(plan.store) as store:
        return with_stored_width(found, store, plan.stream)


def files_without_labels(plan: RunPlan, programs: Sequence[VertexProgram]) -> str | None:
    """Say that a program learns from labels, and that the files have none; None where there is nothing to say.

    Raises
    ------
    InvalidArgument
        It is so, and labels can come from nowhere else.
    """
    learner = next((one for one in programs if isinstance(one, LearningProgram) and one.needs_labels), None)
    wanted = _wanted(plan)
    if learner is None or not plan.points or any(has_role(path, wanted, LABEL) for path in plan.points):
        return None
    said = f"{plan.points[0]} has no column {plan.label_column or 'label'!r}, and {type(learner).__name__} learns from labels alone"
    if plan.serves or plan.kafka is not None:
        return f"{said}: points of files teach it nothing"
    raise InvalidArgument(said, hint="Say which column has the labels with --label.")


def files_with_wider_points(plan: RunPlan, found: Points | None, stored: Points | None) -> str | None:
    """Say that files have wider points than their stream takes, which it had before; None where there is nothing to say."""
    if found is None or stored is None or found.features <= stored.features:
        return None
    return (
        f"points of files have up to {found.features} features, and stream {plan.stream!r} has had points of {stored.features}: wider ones "
        "go to the quarantine. A model of all of them begins on an empty store"
    )


def topic_of_points(plan: RunPlan) -> KafkaSettings | None:
    """Return the topic of a run if that has points: where a program reads edges, it has edges."""
    return plan.kafka if plan.learns else None


def open_points(plan: RunPlan, schema: Points | None, interner: Interner | None) -> list[PointFile]:
    """Open the files of points of a plan, in order.

    Raises
    ------
    InvalidArgument
        One cannot be read, or is not what the schema says.
    """
    if not plan.points:
        return []
    return open_point_files(plan.points, points=schema, wanted=_wanted(plan), interner=interner)


def _wanted(plan: RunPlan) -> PointFormat:
    return PointFormat(label=plan.label_column, id=plan.id_column, features=plan.features)


def _require_as_said(plan: RunPlan, found: Points) -> None:
    """Refuse options that contradict the files: only of sparse points do these not say themselves how wide they are."""
    if plan.features is not None and plan.features != found.features:
        raise InvalidArgument(
            f"--features is {plan.features}, and the points of {plan.points[0]} have {found.features} features",
            hint="Leave it out: only points of which files do not say it themselves, as dense ones and vectors of Spark do, may have more.",
        )
    if plan.sparse and not found.sparse:
        raise InvalidArgument(
            f"--sparse is about points that name only what is not 0, and those of {plan.points[0]} have all features",
            hint="Leave it out.",
        )


def _says_what_points_are(plan: RunPlan) -> bool:
    topic = topic_of_points(plan)
    return bool(plan.points) or plan.features is not None or (topic is not None and topic.columns is not None)


def _require_readers(
    plan: RunPlan, programs: Sequence[VertexProgram], learners: Sequence[LearningProgram]
) -> None:
    if plan.features is not None and not learners:
        raise InvalidArgument(f"--features {plan.features} is about points, and {plan.loop} reads edges")
    if plan.points and not learners:
        raise InvalidArgument(
            f"--points {plan.points[0]} has points, and {plan.loop} reads edges",
            hint="Name files of edges with --edges; logistic_regression, linear_regression, sgd and kmeans learn from points.",
        )
    for learner in learners:
        if learner.points is None and not _says_what_points_are(plan):
            raise InvalidArgument(
                f"{type(learner).__name__} learns from points, and no file says what these are",
                hint=f"Name files with --points ({_FORMS}), or say how many --features points have; more can be pushed over HTTP.",
            )
    if len(learners) < len(programs):
        if isinstance(programs[0], LearningProgram):
            raise InvalidArgument(
                f"{plan.loop} learns from points, and a program that reads edges is named behind it",
                hint="Name a program that reads edges first, and those that learn behind --and.",
            )
        return
    for option, is_given in (
        ("--edges", plan.edges),
        ("--vertices", plan.vertices),
        ("--undirected", plan.undirected),
    ):
        if is_given:
            raise InvalidArgument(
                f"{option} is about edges, and {plan.loop} learns from points",
                hint=f"Name files of points with --points ({_FORMS}).",
            )
