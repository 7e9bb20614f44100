"""What is pushed over HTTP, whatever route it takes: bodies of edges, of vertices and of points, for a loop or for its stream.

Admission may block while a loop lags, and parsing takes its time: both run in a bulkhead. How many bodies are in memory at once is
bounded, and the next one is told to come back.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from starlette.requests import Request
from starlette.responses import Response

from ..ingest.arrow import parse_arrow, parse_vertex_table, read_table
from ..ingest.interner import Draft
from ..ingest.ndjson import parse_ndjson, parse_vertices
from ..ingest.parsed import ParsedRecords
from ..ingest.point_arrow import parse_point_arrow
from ..ingest.point_json import parse_json_points
from ..loop_views import MainLoopView
from ..records.record_batch import RecordBatch
from .formats import ARROW, JSON, NDJSON
from .http_access import caller_of
from .http_bulkheads import Bulkheads
from .http_requests import (
    Bodies,
    HttpLimits,
    JsonResponse,
    content_type,
    read_body,
    refuse_unknown_parameters,
)
from .ids import IdCodec, StringIds
from .pushed_points import required_points
from .service import QueryService

SOURCE = "http"
PUSHED_TYPES = [NDJSON, ARROW]
POINT_TYPES = [NDJSON, JSON, ARROW]

Parse = Callable[[IdCodec, bytes], ParsedRecords[RecordBatch]]
"""What makes records of a body."""

EDGES_BODY = {
    "requestBody": {
        "required": True,
        "content": {
            NDJSON: {
                "schema": {"type": "string"},
                "example": '{"src": 1, "dst": 2, "weight": 3.5, "op": "+"}\n{"src": 1, "dst": 2, "op": "-"}\n',
            },
            ARROW: {"schema": {"type": "string", "format": "binary"}},
        },
    }
}
VERTICES_BODY = {
    "requestBody": {
        "required": True,
        "content": {
            NDJSON: {"schema": {"type": "string"}, "example": '{"id": 7}\n{"id": 8}\n'},
            ARROW: {"schema": {"type": "string", "format": "binary"}},
        },
    }
}
POINTS_BODY = {
    "requestBody": {
        "required": True,
        "content": {
            NDJSON: {
                "schema": {"type": "string"},
                "example": '{"id": 7, "label": 1, "features": [0.1, 0.2]}\n{"id": 8, "op": "-"}\n',
            },
            JSON: {"schema": {}, "example": [{"id": 7, "label": 1, "features": {"3": 0.5}}]},
            ARROW: {"schema": {"type": "string", "format": "binary"}},
        },
    }
}


class Pushes:
    """See the module. One for a server, since it counts the bodies in memory."""

    def __init__(self, service: QueryService, limits: HttpLimits, bulkheads: Bulkheads) -> None:
        self._service = service
        self._limits = limits
        self._bulkheads = bulkheads
        self._bodies = Bodies(limits.edge_requests)

    async def edges(self, request: Request, loop: MainLoopView, ids: str | None) -> Response:
        """Admit edges, added and removed in the order of the body."""
        times = self._service.served(loop).intake.checks_times

        def parse(codec: IdCodec, body: bytes) -> ParsedRecords[RecordBatch]:
            if content_type(request) == NDJSON:
                return parse_ndjson(body, interner=_draft(codec), quoted_ids=ids == "string", times=times)
            # Its integers are exact for whoever writes them.
            return parse_arrow(body, interner=_draft(codec), times=times)

        return await self._push(request, loop, parse)

    async def vertices(self, request: Request, loop: MainLoopView, ids: str | None) -> Response:
        """Admit vertices that need have no edge."""

        def parse(codec: IdCodec, body: bytes) -> ParsedRecords[RecordBatch]:
            if content_type(request) == NDJSON:
                return parse_vertices(body, interner=_draft(codec), quoted_ids=ids == "string")
            return parse_vertex_table(read_table(body), interner=_draft(codec))

        return await self._push(request, loop, parse)

    async def points(self, request: Request, loop: MainLoopView, ids: str | None) -> Response:
        """Admit points, added, removed and replaced in the order of the body.

        Raises
        ------
        InvalidArgument
            When the stream has none.
        """
        points = required_points(loop.stream_name, loop.stream.points)

        def parse(codec: IdCodec, body: bytes) -> ParsedRecords[RecordBatch]:
            kind = content_type(request)
            if kind == ARROW:
                return parse_point_arrow(body, points, interner=_draft(codec))
            if kind == JSON and body.lstrip()[:1] == b"{":
                body = b"[" + body + b"]"  # one point, on as many lines as its sender likes
            return parse_json_points(body, points, interner=_draft(codec), quoted_ids=ids == "string")

        return await self._push(request, loop, parse, accepted=POINT_TYPES)

    async def _push(
        self, request: Request, loop: MainLoopView, parse: Parse, *, accepted: Sequence[str] = PUSHED_TYPES
    ) -> Response:
        refuse_unknown_parameters(request, ["ids"])
        limits = self._limits
        with self._bodies.permit() as permit:
            body = await read_body(
                request,
                accepted=list(accepted),
                limit_bytes=limits.edges_body_bytes,
                timeout_s=limits.body_timeout_s,
            )
            served = self._service.served(loop)
            pushed = await permit.run(
                self._bulkheads.admissions,
                lambda: served.intake.push(SOURCE, parse(served.codec, body)),
            )
        caller_of(request).pushed(pushed.accepted + pushed.rejected)
        return JsonResponse(
            {"accepted": pushed.accepted, "rejected": pushed.rejected, "offsets": pushed.offsets},
            status_code=202,
        )


def _draft(codec: IdCodec) -> Draft | None:
    # What is refused shall leave no names behind.
    return Draft(codec.interner) if isinstance(codec, StringIds) else None
