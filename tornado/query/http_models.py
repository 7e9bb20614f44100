"""The bodies of requests and answers, as the OpenAPI document shows them; requests are validated by them.

A request is parsed strictly: a field that nobody declared is refused by name, a number is not taken from a string.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from itertools import islice
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ..certificate import Kind, Reason, Side
from ..records.point_schema import Points
from . import problems
from .findings import points_to_predict
from .ids import INT64_MAX, INT64_MIN
from .request import MOST_PATHS, MOST_POINTS_OVER_HTTP, MOST_VERTICES, Mode, QueryRequest

DEADLINE_S = 30.0
# Of all objects in a body. The parser holds the interpreter for a microsecond an entry, and health waits for that.
MOST_ENTRIES = 25_000
# Of more, each would be an object of a kilobyte, and nobody reads them.
MOST_FAULTS = 1000
_SHOWN = 40  # characters of what was sent in a message

_STRING_OR_COLON = re.compile(rb'"(?:[^"\\]++|\\.)*+"?|:', re.DOTALL)

Body = TypeVar("Body", bound=BaseModel)


class QueryBody(BaseModel):
    """A question. Only `loop` is required."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)

    loop: str = Field(description="The main loop that is asked.", max_length=1000, examples=["sssp"])
    mode: Literal["exact", "approximate", "certified"] = Field(
        "exact",
        description="`exact` forks a branch; `approximate` reads the main loop as it is, at once; `certified` forks a branch of no "
        "iterations: what the main loop has, at once, with its bound.",
    )
    vertices: list[int | str] | None = Field(
        None,
        fail_fast=True,
        max_length=MOST_VERTICES,
        description="Only these; strings where the loop has such ids, and with `?ids=string`. With neither this nor `top`, "
        "all vertices.",
        examples=[[4, 5]],
    )
    top: int | None = Field(
        None,
        description="The best so many, by what the program ranks by. Where values have a bound, at most 1,000 are answered as soon as their "
        "order is proved, and `bound` may be above the tolerance then.",
        ge=1,
    )
    parameters: dict[str, Any] | None = Field(
        None, description="Fields of the program that differ in this branch."
    )
    at: int | None = Field(
        None, description="Version of a stored snapshot, in place of a cut now.", ge=0, le=INT64_MAX
    )
    min_offsets: dict[str, int] | None = Field(
        None, description="Fork once the loop has at least so many records of each source."
    )
    deadline_s: float | None = Field(
        DEADLINE_S, description="After so many seconds the best value so far is the answer.", gt=0
    )
    max_iterations: int | None = Field(None, description="Stop after so many iterations.", ge=1, le=INT64_MAX)
    check: bool = Field(
        False,
        description="Have an independent checker verify all values on the branch's own version of the graph; where it finds a "
        "fault, the query has failed.",
    )

    points: list[list[float] | dict[str, float]] | None = Field(
        None,
        fail_fast=True,
        max_length=MOST_POINTS_OVER_HTTP,
        description="Points to predict: lists of numbers, or numbers by the number or the name of their feature; others are 0. With neither "
        "`vertices` nor `top`, the `predictions` are all of the answer.",
        examples=[[[0.1, 0.2], {"3": 0.5}]],
    )

    paths: list[int | str] | None = Field(
        None,
        fail_fast=True,
        max_length=MOST_PATHS,
        description="Vertices to which the way is wanted, of programs that choose among offers along edges (shortest paths, hops, widest). "
        "With neither `vertices` nor `top`, `values` are those of these vertices.",
        examples=[[4, 5]],
    )

    def to_request(self, declared: Callable[[str], Points | None]) -> QueryRequest:
        """Return the question as the service takes it."""
        return QueryRequest(
            loop=self.loop,
            mode=Mode(self.mode),
            vertices=None if self.vertices is None else tuple(self.vertices),
            top=self.top,
            parameters=self.parameters or {},
            at=self.at,
            min_offsets=self.min_offsets,
            deadline_s=DEADLINE_S if self.deadline_s is None else self.deadline_s,
            max_iterations=self.max_iterations,
            check=self.check,
            points=None if self.points is None else points_to_predict(declared(self.loop), self.points),
            paths=None if self.paths is None else tuple(self.paths),
        )


class SnapshotBody(BaseModel):
    """Which prefix of the input an answer is for."""

    stream: str = Field(description="The name of the stream whose prefix it is.")
    offsets: dict[str, int] = Field(description="Records of each source that are in or quarantined.")
    instant: str
    version: int
    iteration: int
    delay_bound: int | None = Field(description="null is unbounded.")
    durable: bool = Field(
        description="Whether the prefix was in a store that outlives the service when it was named: after any crash the same version has it."
    )


class ValueBody(BaseModel):
    """One vertex; the value is null where it was not reached."""

    vertex: int | str = Field(
        description="A number; a string where the loop has such ids, and with `?ids=string`."
    )
    value: float | int | str | None = Field(
        description="A number as the program has it: whole numbers with all their digits, and `Infinity` or `-Infinity` as a string, "
        "since JSON has no number for it. Where values are ids (the label of a component), a string wherever `vertex` is one."
    )


class PathBody(BaseModel):
    """The way to one vertex."""

    vertex: int | str
    value: float | int | str | None = Field(
        description="Of that vertex, as in `values`; null where it was not reached."
    )
    vertices: list[int | str] = Field(
        description="From where the way begins to the vertex itself. Empty where it was not reached, or where the branch was stopped "
        "before there was a way to the value."
    )
    weights: list[float] = Field(
        description="Of the edges between them: combined in this order as the program does, they are `value`."
    )


class ResultBody(BaseModel):
    """A page of values, or of another table of the loop."""

    values: list[ValueBody | dict[str, int | float | str | None]] = Field(
        description="Vertices and their values; or rows of another table, by the names of its columns."
    )
    unknown: list[int | str] = Field(description="Asked for and never seen.")
    next: int | str | None = Field(description="Give this as `after` for the next page.")
    predictions: list[dict[str, float | int | None]] | None = Field(
        None,
        description="Of the `points` of the question, in their order: label, margin and probability of the label; or value; or cluster and "
        "distance. null in place of what is not known.",
    )
    paths: list[PathBody] | None = Field(
        None, description="The ways to the `paths` of the question, in their order, without unknown vertices."
    )


class CheckBody(BaseModel):
    """What a checker looked at."""

    model_config = ConfigDict(extra="allow")

    method: str = Field(description="What was verified, in words.")
    vertices: int | None = None
    edges: int | None = None
    points: int | None = Field(None, description="Of a program that learns, in place of vertices and edges.")
    proved: bool | None = Field(
        None, description="Of a linear model: whether a dual point shows the `dual`; else it was tried only."
    )
    elapsed_s: float


class CertificateBody(BaseModel):
    """What the values of an answer are worth."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"kind": "exact"}]})

    kind: Kind = Field(
        description="`exact`: the fixed point of the snapshot. `bound`: at most `bound` from it in `norm`. `gap`: of a learner, "
        "(primal - dual) / primal is at most `bound`. `stationary`: where the method stays. `none`: a read of the main loop, "
        "or stopped before its end."
    )
    norm: str | None = Field(
        None,
        description="Of a `bound`. `l1`: errors are summed over all vertices, whose values sum to 1. `relative`: the greatest error "
        "of a value, as a share of it.",
        examples=["l1"],
    )
    bound: float | None = Field(None, description="Of a `bound` or a `gap`.")
    primal: float | None = Field(None, description="Of a `gap`.")
    dual: float | None = Field(None, description="Of a `gap`.")
    method: str | None = Field(None, description="Of a `gap`: how it was found.", examples=["newton"])
    inertia: float | None = Field(
        None,
        description="Of `stationary`: the squared distances of all points from their centroids, summed by their weights.",
    )
    side: Side | None = Field(
        None,
        description="Of `none`, where it is known. `upper`: every exact value is at most the one given, `lower`: at least; "
        "null in place of a value bounds nothing.",
    )
    order: Literal["proved", "partial"] | None = Field(
        None,
        description="Of the best so many, with a `bound`. `proved`: the exact values are in the same order, and the last of these is before "
        "all others. `partial`: but for `ties`.",
    )
    ties: list[list[int]] | None = Field(
        None,
        description="First and last of the places, counted from 1, among which the order is not certain, as their values are closer than "
        "the bound. A last place that is not in the answer stands for the rest.",
        examples=[[[3, 4], [20, 21]]],
    )
    reason: Reason | None = Field(
        None,
        description="Of `none`, where it is known. `diverged`: the graph gives the values no end, so time helps nothing.",
    )
    checked: bool | None = Field(
        None,
        description="Where the question asked for a `check`: whether an independent checker has verified the values. What was "
        "stopped claims nothing that could be.",
    )
    check: CheckBody | None = Field(None, description="What the checker looked at.")


class QueryStatusBody(BaseModel):
    """A query as a resource."""

    id: str
    loop: str
    mode: Literal["exact", "approximate", "certified"]
    state: Literal["queued", "running", "converged", "deadline", "cancelled", "failed"]
    snapshot: SnapshotBody | None
    iteration: int
    updates: int
    prepares: int
    residual: float | None
    elapsed_s: float
    certificate: CertificateBody | None = Field(description="null without values.")
    stopped_by: Literal["deadline", "max_iterations"] | None
    start: Literal["warm", "cold"] | None = Field(
        None,
        description="Whether its branch began with the values of the loop, or, as its parameters have no use for these, anew; null "
        "without a branch.",
    )
    error: dict[str, Any] | None = Field(None, description="The problem document of a query that failed.")
    result: ResultBody | None = Field(None, description="With `wait_s`, where the query has finished.")


class QueryListBody(BaseModel):
    """Queries that run, wait or are kept, newest first."""

    queries: list[QueryStatusBody]


class PushedBody(BaseModel):
    """What became of pushed edges."""

    accepted: int
    rejected: int
    offsets: dict[str, int]


class SourceBody(BaseModel):
    """A source that is pumped into a loop: a file, or a partition of a topic."""

    state: str
    records: int
    rejected: int
    repeated: int
    offset: int
    lag_records: int | None
    rows_per_s: float | None
    last_error: str | None


class ColumnBody(BaseModel):
    """A column of a table."""

    name: str
    type: Literal["int64", "float64", "string", "list<int64>", "list<string>"]


class TableBody(BaseModel):
    """A table of an answer, or of what a follower is told."""

    name: str
    columns: list[ColumnBody]


class ResultsBody(BaseModel):
    """The table outside that has the newest exact answer of a loop (`--results`); counts since the service began."""

    table: str = Field(description="Its address, without a password.")
    renewed: int
    failed: int
    changes: int = Field(description="Rows that were written or removed.")
    version: int | None = Field(description="Of the stream, that the table is the answer to.")
    rows: int | None
    age_s: float | None = Field(description="Since the answer was there.")
    duration_s: float | None
    last_error: str | None = Field(description="Why the last renewal failed; null where it did not.")


class LoopBody(BaseModel):
    """A main loop and its statistics, which are null in a list where the loop never said them."""

    name: str
    stream: str
    state: Literal["running", "unresponsive", "failed"] = Field(
        description="unresponsive: it did not answer in time, and the numbers are what it said last."
    )
    error: str | None = Field(description="Why it failed.")
    program: str
    workers: int | None
    delay_bound: int | None
    ids: Literal["int", "string"]
    rank: str
    tables: list[TableBody] = Field(description="What an answer has, and of what type.")
    followed_tables: list[TableBody] = Field(
        description="What is told who follows the loop: values and, where these are labels, groups and what becomes of them."
    )
    offsets: dict[str, int]
    sources: dict[str, SourceBody]
    version: int | None
    iteration: int | None
    updates: int | None
    prepares: int | None
    residual: float | None
    pending: int | None
    vertices: int | None
    edges: int | None
    admitted: int | None
    missing_removals: int | None
    invalidations: int | None = Field(
        description="Values that were taken back, since an edge went that they hung on."
    )
    overtaken: int | None = Field(
        description="Commits at the last allowed iteration that came to a consumer which was further."
    )
    cut_edges: int | None = Field(
        description="Edges between vertices of different workers: the less, the more workers help."
    )
    unplaced_vertices: int | None = Field(
        description="Vertices that a placement file lacks: the hash of their ids says whose they are."
    )
    workers_said: str | None = Field(
        None, description="With `--workers auto`: whether more of them helped, once that was tried."
    )
    restarts: int | None
    backlog_records: int | None
    memory_bytes: int | None
    validation: dict[str, float | None] | None = Field(
        None,
        description="Of a program that predicts points before it learns from them: `points` that were (by their weights), their mean `loss`, "
        "the `accuracy` of classifiers, else the mean `absolute_error` and `squared_error`, and `recent_…` of the last 10,000.",
    )
    results: ResultsBody | None = Field(None, description="Null where none are kept.")
    statistics_age_s: float | None = Field(
        description="0, or how old these numbers are of a loop that hangs or failed."
    )


class LoopListBody(BaseModel):
    """All main loops."""

    loops: list[LoopBody]


class ProblemBody(BaseModel):
    """An error (RFC 9457). Compare `code`; the other words may change."""

    type: str
    title: str
    status: int
    code: str
    detail: str
    hint: str | None = None


PROBLEMS: dict[int | str, dict[str, Any]] = {
    "4XX": {"model": ProblemBody, "description": "A problem document (RFC 9457) with a stable `code`."},
    503: {"model": ProblemBody, "description": "No answer in time; ask again after `Retry-After`."},
}
"""What a route may answer in place of what was asked for, as the OpenAPI page shows it."""


def _without_points(_loop: str) -> Points | None:
    return None


def parse_query(body: bytes, declared: Callable[[str], Points | None] = _without_points) -> QueryRequest:
    """Read the body of a question.

    Parameters
    ----------
    declared
        Returns what the points of a loop are; None: it has none, as it is where this is left out.

    Raises
    ------
    ProblemError
        400 where it is no JSON, 422 where a field is unknown or its value not allowed; names the field.
    """
    _require_few_entries("the question", body)
    try:
        return QueryBody.model_validate_json(body).to_request(declared)
    except ValidationError as error:
        raise _problem(error) from None


def parse_body(model: type[Body], body: bytes, what: str, example: str) -> Body:
    """Read the body of a request as a model says.

    Parameters
    ----------
    what, example : str
        What the body is, and how one looks, for those who sent something else.

    Raises
    ------
    ProblemError
        422, with the first fault.
    """
    _require_few_entries(what, body)
    try:
        return model.model_validate_json(body)
    except ValidationError as error:
        if error.error_count() > MOST_FAULTS:
            raise _too_many(what, error) from None
        first = error.errors(include_url=False, include_context=False)[0]
        place = [".".join(map(str, first["loc"]))] if first["loc"] else []  # none where all of it is wrong
        given = first["input"]  # of what is missing: the object around it
        is_short = given is None or isinstance(given, int | float)
        is_short = is_short or (isinstance(given, str) and len(given) <= _SHOWN)
        said = f", and is {json.dumps(given, ensure_ascii=False)}" if place and is_short else ""
        raise problems.invalid(
            ": ".join([what, *place, first["msg"] + said]), hint=f"It looks like {example}."
        ) from None


def _require_few_entries(what: str, body: bytes) -> None:
    """Refuse a body with too many entries of objects, before any of them is made."""
    if body.count(b":") <= MOST_ENTRIES:
        return
    # A colon inside a string is none; match by match, so that other threads have their turn.
    colons = (match for match in _STRING_OR_COLON.finditer(body) if match[0] == b":")
    if next(islice(colons, MOST_ENTRIES, None), None) is not None:
        raise problems.invalid(
            f"{what} has more than the {MOST_ENTRIES} entries of objects that are taken at once",
            hint="GET /openapi.json describes every field.",
        )


def _too_many(what: str, error: ValidationError) -> problems.ProblemError:
    return problems.invalid(
        f"{what} has {error.error_count()} faults, too many to name one",
        hint="GET /openapi.json describes every field.",
    )


def _problem(error: ValidationError) -> problems.ProblemError:
    if error.error_count() > MOST_FAULTS:
        return _too_many("the question", error)
    for fault in error.errors(include_url=False, include_input=False):
        if fault["type"] == "too_long":  # without what was given: the list is the longest part of the body
            is_of_paths = fault["loc"] == ("paths",)
            return problems.invalid(
                f"{'paths' if is_of_paths else 'vertices'} has more than the {MOST_PATHS if is_of_paths else MOST_VERTICES} entries "
                "that are taken at once",
                hint="Ask in parts." if is_of_paths else "Ask in parts, or for all of them.",
            )
    faults = error.errors(include_url=False, include_context=False)
    first = faults[0]
    if first["type"] == "json_invalid":
        return problems.bad_json(f"the body is no JSON: {first['msg'].removeprefix('Invalid JSON: ')}")
    unknown = next((fault for fault in faults if fault["type"] == "extra_forbidden"), None)
    if unknown is not None:
        return problems.unknown_field(str(unknown["loc"][0]), list(QueryBody.model_fields), where="a query")
    if not first["loc"]:
        return problems.bad_json("the body is JSON but no object")
    return problems.invalid(
        f"{_place(first['loc'])}: {first['msg']}; it is {shown(first['input'])}",
        hint=_hint(first["loc"], first["input"]),
        errors=[{"field": _place(fault["loc"]), "message": fault["msg"]} for fault in faults[:10]],
    )


def _place(location: tuple[int | str, ...]) -> str:
    """Return `vertices[3]` for where a fault is; the arms of a union are no place."""
    text = ""
    for part in location:
        if isinstance(part, int):
            text += f"[{part}]"
        elif part not in {"int", "str"}:
            text += f".{part}" if text else part
    return text


def _hint(location: tuple[int | str, ...], value: Any) -> str:
    if location[0] in {"vertices", "paths"} and not isinstance(value, int | str):
        return f"A vertex id is a whole number from {INT64_MIN} to {INT64_MAX}, or a string where the loop has such ids."
    return "GET /openapi.json describes every field."


def shown(value: Any) -> str:
    """Return a value as a message shows it, cut where it is long."""
    text = repr(value)
    return text if len(text) <= 100 else text[:100] + "…"
