"""Spans of requests and questions for OpenTelemetry, where that is installed (the extra `traces`); nothing at all where it is not.

A request is a span of the trace that its client began (W3C Trace Context, the header `traceparent`), and a question is a span inside
the request that asked it, from the question to the end of its branch, however long that outlives the request. Where spans go is said
by the variables `OTEL_…` of OpenTelemetry itself. With the API alone, or without an exporter, a span costs a microsecond.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Protocol

from ..errors import InvalidArgument

_NAME = "tornado-loops"
_EXPORTING = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_TRACES_EXPORTER")
_NANOSECONDS = 1_000_000_000

try:
    from opentelemetry import propagate, trace

    _is_installed = True
except ImportError:
    _is_installed = False


class SpanOfRequest(Protocol):
    """What is told of a request at its end."""

    def __call__(self, status: int, route: str | None) -> None:
        """Say how it was answered, and by which route."""


class EndedQuestion(Protocol):
    """What is told of a question at its end."""

    @property
    def id(self) -> str:
        """Its name."""

    @property
    def parent(self) -> str | None:
        """What `current_parent` said when it was asked."""

    @property
    def elapsed_s(self) -> float:
        """How long it took."""

    def status(self) -> Any:
        """How it ended."""


@contextmanager
def request_span(method: str, headers: Mapping[str, str]) -> Iterator[SpanOfRequest]:
    """Have a span around the answering of a request.

    Parameters
    ----------
    headers : mapping
        Of the request, in small letters.
    """
    if not _is_installed:
        yield lambda _status, _route: None
        return
    with trace.get_tracer(_NAME).start_as_current_span(
        method, context=propagate.extract(headers), kind=trace.SpanKind.SERVER
    ) as span:

        def answered(status: int, route: str | None) -> None:
            span.set_attributes({"http.request.method": method, "http.response.status_code": status})
            if route is not None:
                span.update_name(f"{method} {route}")
                span.set_attribute("http.route", route)
            if status >= 500:
                span.set_status(trace.StatusCode.ERROR)

        yield answered


def current_parent() -> str | None:
    """Return the span that one is in, as the header `traceparent` writes it; None outside of any."""
    if not _is_installed or not trace.get_current_span().get_span_context().is_valid:
        return None
    carrier: dict[str, str] = {}
    propagate.inject(carrier)
    return carrier.get("traceparent")


def trace_question(question: EndedQuestion, now_s: float) -> None:
    """Make the span of a question that has ended.

    Parameters
    ----------
    now_s : float
        Seconds since 1970.
    """
    if not _is_installed:
        return
    status = question.status()
    attributes: dict[str, Any] = {
        "tornado.query": question.id,
        "tornado.loop": status.loop,
        "tornado.mode": status.mode.value,
        "tornado.state": status.state.value,
        "tornado.updates": status.progress.updates,
    }
    if status.snapshot is not None:
        attributes |= {"tornado.stream": status.snapshot.stream, "tornado.version": status.snapshot.version}
    span = trace.get_tracer(_NAME).start_span(
        "question",
        context=propagate.extract({} if question.parent is None else {"traceparent": question.parent}),
        start_time=int((now_s - question.elapsed_s) * _NANOSECONDS),
        attributes=attributes,
    )
    if status.error is not None:
        span.set_status(trace.StatusCode.ERROR, type(status.error).__name__)
    span.end(int(now_s * _NANOSECONDS))


def export_traces(environment: Mapping[str, str]) -> Callable[[], None]:
    """Send spans where the environment says, and return what ends that: it sends what is left.

    Raises
    ------
    InvalidArgument
        The environment names an exporter, and what exports is not installed; or it is one that is not here.
    """
    asked = {name: environment[name] for name in _EXPORTING if environment.get(name)}
    if not asked or environment.get("OTEL_SDK_DISABLED", "").lower() == "true":
        return lambda: None
    exporter = asked.get("OTEL_TRACES_EXPORTER", "otlp")
    if exporter == "none":
        return lambda: None
    if exporter != "otlp":
        raise InvalidArgument(
            f"OTEL_TRACES_EXPORTER is {exporter!r}, but spans are exported by otlp alone",
            hint="Set it to otlp, with OTEL_EXPORTER_OTLP_ENDPOINT, or to none.",
        )
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError as error:
        raise InvalidArgument(
            f"{', '.join(asked)} in the environment asks for traces, but {error.name} is not installed",
            hint=f"pip install '{_NAME}[traces]', or unset {', '.join(asked)}.",
        ) from error
    name = environment.get("OTEL_SERVICE_NAME", _NAME)
    provider = TracerProvider(resource=Resource.create({"service.name": name}))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    trace.set_tracer_provider(provider)
    return provider.shutdown
