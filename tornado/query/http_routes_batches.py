"""`/v1/loops/{name}/batches`: numbered batches that many senders bring in parts and one commits; see `Staging`.

Every call may be made again: a chunk takes the place of the same chunk, a batch that is in already is passed over.
"""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter
from fastapi import Path as PathParameter
from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import Request
from starlette.responses import Response

from ..ingest.arrow import read_table
from ..ingest.interner import Draft
from ..ingest.source_names import check_batch_source
from ..intake.pushed_sources import Pushed, SenderReport
from ..intake.staging import BatchKey, Part, Staging
from .batch_tables import parse_batch_table
from .formats import ARROW, JSON
from .http_access import caller_of
from .http_bulkheads import Bulkheads
from .http_models import PROBLEMS, parse_body
from .http_requests import (
    Bodies,
    HttpLimits,
    JsonResponse,
    read_body,
    refuse_unknown_parameters,
)
from .ids import INT64_MAX, IdCodec, StringIds
from .served_stream import ServedStream
from .service import QueryService

_CHUNK_BODY = {
    "requestBody": {
        "required": True,
        "content": {ARROW: {"schema": {"type": "string", "format": "binary"}}},
    }
}

MOST_PARTS = 10_000
"""The most parts of a batch: a task of Spark sends one."""

LoopName = Annotated[str, PathParameter(description="Name of a main loop.")]
SourceName = Annotated[
    str, PathParameter(description="Who numbers the batches: spark:QUERY, spark-write:NAME or client:NAME.")
]
Number = Annotated[int, PathParameter(description="From 0, one after the other.", ge=0, le=INT64_MAX)]
PartName = Annotated[str, PathParameter(min_length=1, max_length=200)]
ChunkNumber = Annotated[int, PathParameter(ge=0, le=1_000_000)]


class PartBody(BaseModel):
    """A part that belongs to the batch."""

    model_config = ConfigDict(extra="forbid", strict=True)

    part: str
    chunks: int = Field(ge=0, le=1_000_001)


class CommitBody(BaseModel):
    """Which parts a batch has, in their order."""

    model_config = ConfigDict(extra="forbid", strict=True)

    parts: list[PartBody] = Field(max_length=MOST_PARTS, fail_fast=True)


class StagedBody(BaseModel):
    """What became of a chunk: it waits for the commit, or its batch is in already."""

    repeated: bool


class CommittedBody(BaseModel):
    """What became of a batch; nothing where it is in already."""

    accepted: int
    rejected: int
    offsets: dict[str, int]
    repeated: bool


class NewestBody(BaseModel):
    """How far a source is; null where no batch of it is in."""

    newest: int | None


class SenderBody(BaseModel):
    """What only the sender of a source's batches knows; see `SenderReport`."""

    model_config = ConfigDict(extra="forbid", strict=True)

    rejected: int = Field(0, ge=0, le=INT64_MAX)
    lag_records: int | None = Field(None, ge=0, le=INT64_MAX)
    last_error: str | None = Field(None, max_length=10_000)


def batch_routes(service: QueryService, limits: HttpLimits, bulkheads: Bulkheads) -> APIRouter:
    """Return the routes about numbered batches."""
    router = APIRouter(prefix="/v1/loops/{name}/batches/{source}", tags=["loops"], responses=PROBLEMS)
    staging = Staging(clock=service.clock)
    bodies = Bodies(limits.edge_requests)

    def stream_read_by(name: str) -> ServedStream:
        return service.served(service.loop(name))

    @router.get("", response_model=NewestBody)
    async def newest(request: Request, name: LoopName, source: SourceName) -> Response:
        """Look up the newest batch of a source."""
        refuse_unknown_parameters(request, [])
        check_batch_source(source)
        intake = stream_read_by(name).intake
        number = await bulkheads.admissions.run(lambda: intake.newest_batch(source))
        return JsonResponse({"newest": number})

    @router.put("", status_code=204)
    async def report(request: Request, name: LoopName, source: SourceName) -> Response:
        """Say what only the sender knows: what it sorted out, what it has still to send, why it ended."""
        refuse_unknown_parameters(request, [])
        check_batch_source(source)
        intake = stream_read_by(name).intake
        body = await read_body(
            request, accepted=[JSON], limit_bytes=limits.small_body_bytes, timeout_s=limits.body_timeout_s
        )
        said = parse_body(SenderBody, body, "what a sender says", '{"rejected": 3, "lag_records": 17}')
        told = SenderReport(**said.model_dump())
        await bulkheads.admissions.run(lambda: intake.report(source, told))
        return Response(status_code=204)

    @router.put(
        "/{number}/parts/{part}/{chunk}",
        status_code=202,
        response_model=StagedBody,
        openapi_extra=_CHUNK_BODY,
    )
    async def stage(
        request: Request,
        name: LoopName,
        source: SourceName,
        number: Number,
        part: PartName,
        chunk: ChunkNumber,
    ) -> Response:
        """Bring a chunk of a part: an Arrow stream of edges, or of points without `src` and `dst`, with a column `order` (int64, or a struct of them) where order matters."""
        refuse_unknown_parameters(request, [])
        check_batch_source(source)
        served = stream_read_by(name)
        with bodies.permit() as permit:
            body = await read_body(
                request,
                accepted=[ARROW],
                limit_bytes=limits.edges_body_bytes,
                timeout_s=limits.body_timeout_s,
            )
            key = BatchKey(served.intake, source, number)
            waits = await permit.run(
                bulkheads.admissions,
                lambda: _stage(staging, served.codec, key, part, chunk, body),
            )
        return JsonResponse({"repeated": not waits}, status_code=202)

    @router.post("/{number}", response_model=CommittedBody)
    async def commit(request: Request, name: LoopName, source: SourceName, number: Number) -> Response:
        """Admit a batch: all of the named parts at once. A snapshot has it whole or not at all."""
        refuse_unknown_parameters(request, [])
        check_batch_source(source)
        intake = stream_read_by(name).intake
        body = await read_body(
            request, accepted=[JSON], limit_bytes=limits.query_body_bytes, timeout_s=limits.body_timeout_s
        )
        key = BatchKey(intake, source, number)
        pushed: Pushed = await bulkheads.admissions.run(lambda: staging.commit(key, _parts(body)))
        caller_of(request).pushed(pushed.accepted + pushed.rejected)
        return JsonResponse(
            {
                "accepted": pushed.accepted,
                "rejected": pushed.rejected,
                "offsets": pushed.offsets,
                "repeated": pushed.is_repeated,
            }
        )

    @router.delete("/{number}", status_code=204)
    async def drop(request: Request, name: LoopName, source: SourceName, number: Number) -> Response:
        """Drop the parts of a batch that will not be committed."""
        refuse_unknown_parameters(request, [])
        check_batch_source(source)
        key = BatchKey(stream_read_by(name).intake, source, number)
        await bulkheads.admissions.run(lambda: staging.drop(key))
        return Response(status_code=204)

    return router


def _stage(staging: Staging, codec: IdCodec, key: BatchKey, part: str, chunk: int, body: bytes) -> bool:
    table = read_table(body)
    found = parse_batch_table(
        table,
        source=key.source,
        points=key.intake.stream.points,
        interner=Draft(codec.interner) if isinstance(codec, StringIds) else None,
        times=key.intake.checks_times,
    )
    columns = frozenset(table.column_names)
    return staging.stage(
        key, part, chunk, found.parsed, columns=columns, ranks=found.ranks, is_placed=found.is_placed
    )


def _parts(body: bytes) -> list[Part]:
    parsed = parse_body(
        CommitBody, body, "the commit of a batch", '{"parts": [{"part": "0-17", "chunks": 1}]}'
    )
    return [Part(part.part, part.chunks) for part in parsed.parts]
