"""Requests and questions are spans of the trace that a client began; without the library, and without an exporter, nothing is different."""

import subprocess
import sys

import httpx
import pytest

import tornado
from apps.sssp import ShortestPaths
from tests.query.conftest import eventually
from tornado.errors import InvalidArgument
from tornado.query import tracing

pytest.importorskip("opentelemetry.sdk")

from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

TRACE, CLIENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"


@pytest.fixture(scope="module")
def exported():
    kept = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(kept))
    before = trace._TRACER_PROVIDER
    trace._TRACER_PROVIDER = provider
    yield kept
    trace._TRACER_PROVIDER = before
    provider.shutdown()


@pytest.fixture(scope="module")
def served(exported):
    with tornado.open("memory:", workers=1) as session:
        paths = session.start(ShortestPaths(source=1), name="roads")
        paths.insert([1, 2], [2, 3], [1.0, 2.0])
        yield session.serve(port=0).url


def spans_of(exported, url, method, path, **asked):
    exported.clear()
    headers = {"traceparent": f"00-{TRACE}-{CLIENT}-01"}
    with httpx.Client(base_url=url, headers=headers, trust_env=False) as client:
        answer = client.request(method, path, **asked)
    # A span ends when the answer is through, which the client may see before.
    with httpx.Client(base_url=url, trust_env=False) as client:
        client.get("/healthz")
    return answer, {
        span.name: span for span in exported.get_finished_spans() if span.context.trace_id == int(TRACE, 16)
    }


def around(span, spans):
    """The spans around one, by their numbers."""
    by_number = {one.context.span_id: one for one in spans}
    found = []
    while span is not None and span.parent is not None:
        found.append(span.parent.span_id)
        span = by_number.get(span.parent.span_id)
    return found


def test_a_request_is_one_span_which_has_nothing_of_its_query_string(exported, served):
    answer, _ = spans_of(exported, served, "GET", "/v1/loops/roads/neighbours?vertex=2&ticket=s3cr3t")
    assert answer.status_code == 200
    spans = [span for span in exported.get_finished_spans() if span.context.trace_id == int(TRACE, 16)]
    assert [span.name for span in spans] == ["GET /v1/loops/{name}/neighbours"]
    assert "s3cr3t" not in "".join(span.to_json() for span in exported.get_finished_spans())


def test_a_question_is_a_span_inside_its_request_inside_the_trace_of_its_client(exported, served):
    answer, spans = spans_of(
        exported, served, "POST", "/v1/queries?wait_s=30", json={"loop": "roads", "vertices": [3]}
    )
    # The answer goes out first.
    eventually(lambda: any(one.name == "question" for one in exported.get_finished_spans()))
    spans |= {one.name: one for one in exported.get_finished_spans() if one.name == "question"}
    request, question = spans["POST /v1/queries"], spans["question"]
    assert request.parent.span_id == int(CLIENT, 16)
    assert request.context.span_id in around(question, spans.values())
    assert request.attributes["http.response.status_code"] == 200
    assert question.attributes["tornado.query"] == answer.json()["id"]
    assert (question.attributes["tornado.loop"], question.attributes["tornado.state"]) == (
        "roads",
        "converged",
    )
    assert question.attributes["tornado.version"] == answer.json()["snapshot"]["version"]
    took_s = (question.end_time - question.start_time) / 1e9
    assert took_s == pytest.approx(answer.json()["elapsed_s"], abs=1e-3)


def test_a_request_is_named_by_its_route_and_never_by_what_stands_in_its_path(exported, served):
    _, spans = spans_of(exported, served, "GET", "/v1/queries/no-such-query")
    assert spans["GET /v1/queries/{id}"].attributes["http.response.status_code"] == 404


def test_outside_of_any_span_a_question_has_no_parent(exported):
    assert tracing.current_parent() is None


def test_nothing_is_exported_unless_the_environment_says_so():
    for environment in (
        {},
        {"OTEL_TRACES_EXPORTER": "none"},
        {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", "OTEL_SDK_DISABLED": "true"},
    ):
        before = trace.get_tracer_provider()
        tracing.export_traces(environment)()
        assert trace.get_tracer_provider() is before


def test_an_exporter_that_is_not_here_is_refused_with_those_that_are():
    with pytest.raises(InvalidArgument, match="'zipkin'") as refused:
        tracing.export_traces({"OTEL_TRACES_EXPORTER": "zipkin"})
    assert "otlp" in refused.value.hint


_WITHOUT = """
import importlib.abc, sys
class Missing(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "opentelemetry":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Missing())
from tornado.query import tracing
with tracing.request_span("GET", {}) as answered:
    answered(200, "/v1/loops")
    assert tracing.current_parent() is None
tracing.trace_question(None, 0.0)
try:
    tracing.export_traces({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:4318"})
except tracing.InvalidArgument as error:
    print(error.hint)
"""


def test_without_the_library_nothing_is_traced_and_whoever_wants_it_hears_what_to_install():
    done = subprocess.run([sys.executable, "-c", _WITHOUT], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "tornado-loops[traces]" in done.stdout
