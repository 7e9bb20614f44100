"""Whatever is given to the client in place of what it takes: an error that says what, and what to do, and never a bare one of Python."""

import asyncio
import contextlib
import inspect
import reprlib

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy import sparse

from tornado.client import (
    AsyncLoop,
    AsyncQuery,
    AsyncService,
    AsyncStream,
    Batch,
    InvalidInput,
    Neighbourhood,
    Service,
    ServiceAnswer,
    ServiceError,
    ServiceLoop,
    ServiceQuery,
    ServiceStream,
    connect,
    connect_async,
)
from tornado.client.questions import question


class Nothing:
    def __repr__(self):
        return "<nothing>"


WRONG = {
    "a number": 5,
    "a real number": 1.5,
    "no number": float("nan"),
    "an infinity": float("inf"),
    "less than nothing": -1,
    "beyond 64 bits": 2**70,
    "a truth": True,
    "a text": "x",
    "an empty text": "",
    "half a character": "\ud800",
    "bytes": b"x",
    "an object": Nothing(),
    "a class": Nothing,
    "an empty list": [],
    "a list of a number": [5],
    "a list of texts": ["x", "y"],
    "a list of nothing": [None],
    "a list of objects": [Nothing()],
    "a list of lists": [["x"], [5, 6]],
    "a list of mappings": [{"x": "y"}],
    "a mapping": {"x": 5},
    "a mapping of columns": {"x": [1, 2], "y": [3]},
    "a mapping of objects": {Nothing(): Nothing()},
    "an array": np.array([1.5, 2.5]),
    "an array of texts": np.array([["x", "y"]]),
    "an array of objects": np.array([[Nothing()]]),
    "an array of no dimension": np.array(5),
    "an array of three": np.zeros((2, 2, 2)),
    "complex numbers": sparse.csr_matrix(np.array([[1j, 0]])),
    "a table": pd.DataFrame({"x": [Nothing()]}),
    "an Arrow table": pa.table({"x": [1]}),
    "a batch": Batch("me", 0),
}
# What is called, with what is right; each parameter is then given what is wrong.
CALLS = {
    ("service", "stream"): {"name": "roads"},
    ("service", "loop"): {"name": "sssp"},
    ("service", "query"): {"identifier": "0"},
    ("stream", "start"): {"program": "nowhere"},
    ("stream", "insert"): {"src": [1], "dst": [2]},
    ("stream", "remove"): {"src": [1], "dst": [2]},
    ("stream", "replace"): {"src": [1], "dst": [2]},
    ("stream", "add_vertices"): {"ids": [1]},
    ("stream", "rescale"): {},
    ("loop", "insert"): {"src": [1], "dst": [2]},
    ("loop", "remove"): {"src": [1], "dst": [2]},
    ("loop", "query"): {"vertices": [1]},
    ("loop", "ask"): {"vertices": [1]},
    ("loop", "read"): {},
    ("loop", "predict"): {"points": [[1.0, 2.0, 3.0]]},
    ("loop", "neighbours"): {"vertex": 1},
    ("loop", "follow"): {},
    ("query", "result"): {},
    ("query", "table"): {"name": "values"},
}
# All of the rest takes no argument. `ask` takes the parameters of a question.
WITHOUT = {
    "streams",
    "loops",
    "queries",
    "close",
    "describe",
    "stop",
    "stream",
    "frontier",
    "refresh",
    "progress",
    "adopt",
    "cancel",
}
# These are right here, and mean that somebody waits, or that the workers become others.
RIGHT = {("rescale", "a number"), ("rescale", "a truth")}
POINTS = {"insert": {"ids": [1], "features": [[1.0, 2.0, 3.0]]}, "remove": {"ids": [1]}}


def parameters_of(kind, name):
    found = set(inspect.signature(getattr(kind, name)).parameters) - {"self"}
    if name in {"ask", "query"} and kind in {ServiceLoop, AsyncLoop}:
        found |= set(inspect.signature(question).parameters) - {"loop"}
    if name in {"insert", "remove"}:
        found |= set(inspect.signature(getattr(ServiceStream, name)).parameters) - {"self"}
    return sorted(found - {"more", "parameters" if name == "start" else "", "columns", "named_columns"})


def tries(kinds):
    """Every parameter of every call with everything that is wrong."""
    for (who, name), right in CALLS.items():
        for parameter in parameters_of(kinds[who], name):
            of_points = parameter in {"ids", "labels", "features", "weights"} and name in {"insert", "remove"}
            for called, wrong in WRONG.items():
                if (name, called) not in RIGHT:
                    yield (
                        who,
                        name,
                        parameter,
                        called,
                        (POINTS[name] if of_points else right) | {parameter: wrong},
                    )
        if name == "start":
            for called, wrong in WRONG.items():
                yield who, name, "source", called, right | {"source": wrong}


def judge(found, error, name, parameter, called, wrong):
    """Note an error that is not one of ours, or says too little."""
    if not isinstance(error, ServiceError):
        found.append((name, parameter, called, repr(error)))
    elif isinstance(error, InvalidInput) and not error.hint:
        found.append((name, parameter, called, f"says not what to do: {error}"))
    elif isinstance(error, InvalidInput) and not any(
        said in error.message
        for said in (parameter.removesuffix("s"), repr(wrong), reprlib.repr(wrong), "column")
    ):
        found.append((name, parameter, called, f"says not what is wrong: {error}"))


def test_each_call_of_a_face_is_among_those_that_are_tried():
    for kinds in (
        (Service, ServiceStream, ServiceLoop, ServiceQuery),
        (AsyncService, AsyncStream, AsyncLoop, AsyncQuery),
    ):
        for who, kind in zip(("service", "stream", "loop", "query"), kinds, strict=True):
            calls = {
                name for name, one in inspect.getmembers(kind, inspect.isfunction) if not name.startswith("_")
            }
            tried = {name for whose, name in CALLS if whose == who}
            assert calls - tried <= WITHOUT
            for name in calls - tried:
                assert parameters_of(kind, name) == []
    # What comes back takes nothing that could be wrong.
    for kind in (ServiceAnswer, Neighbourhood):
        for name, call in inspect.getmembers(kind, inspect.isfunction):
            assert name.startswith("_") or list(inspect.signature(call).parameters) == ["self"]


@pytest.fixture
def own(running, own_stream):
    return {"url": running.url, "stream": own_stream, "loop": f"{own_stream}-paths"}


def test_what_is_wrong_is_said_by_the_blocking_face(own):
    found = []
    kinds = {"service": Service, "stream": ServiceStream, "loop": ServiceLoop, "query": ServiceQuery}
    with connect(own["url"], patience_s=0) as service:
        service.stream(own["stream"]).insert([1], [2])
        asked = service.loop(own["loop"]).ask()
        whom = {
            "service": service,
            "stream": service.stream(own["stream"]),
            "loop": service.loop(own["loop"]),
            "query": asked,
        }
        for who, name, parameter, called, given in tries(kinds):
            try:
                # A question that waits for what never comes would be waited for.
                made = getattr(whom[who], "ask" if parameter == "min_offsets" else name)(**given)
                if name == "follow":
                    next(made)
                    made.close()
                elif who == "service" and name != "query":
                    made.describe()
            except Exception as error:  # noqa: BLE001  whatever it is
                judge(found, error, name, parameter, called, given[parameter])
    assert found == [], "\n".join(map(str, found))


def test_what_is_wrong_is_said_by_the_face_for_coroutines(own):
    found = []
    kinds = {"service": AsyncService, "stream": AsyncStream, "loop": AsyncLoop, "query": AsyncQuery}

    async def run():
        async with connect_async(own["url"], patience_s=0) as service:
            await service.stream(own["stream"]).insert([1], [2])
            asked = await service.loop(own["loop"]).ask()
            whom = {
                "service": service,
                "stream": service.stream(own["stream"]),
                "loop": service.loop(own["loop"]),
                "query": asked,
            }
            for who, name, parameter, called, given in tries(kinds):
                try:
                    made = getattr(whom[who], "ask" if parameter == "min_offsets" else name)(**given)
                    if name == "follow":
                        async with contextlib.aclosing(made):
                            await anext(made)
                    elif who == "service" and name != "query":
                        await made.describe()
                    else:
                        await made
                except Exception as error:  # noqa: BLE001  whatever it is
                    judge(found, error, name, parameter, called, given[parameter])

    asyncio.run(run())
    assert found == [], "\n".join(map(str, found))


@pytest.mark.parametrize("begin", [connect, connect_async])
@pytest.mark.parametrize("parameter", sorted(inspect.signature(connect).parameters))
def test_what_is_no_address_no_token_no_patience_and_no_file_is_refused_before_anything_is_asked(
    begin, parameter
):
    found, right = [], {"url": "https://127.0.0.1:1"}
    for called, wrong in WRONG.items():
        try:
            begin(**right | {parameter: wrong})
        except Exception as error:  # noqa: BLE001  whatever it is
            judge(found, error, "connect", parameter, called, wrong)
    assert found == [], "\n".join(map(str, found))


@pytest.mark.parametrize(
    "url", ["http://[::1", "http://x:99999", "http://x:y", "http://", "//x", "http://\0", "ftp://x"]
)
def test_what_looks_like_an_address_and_is_none_is_refused(url):
    with pytest.raises(InvalidInput, match="is not the address of a service"):
        connect(url)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (5, "points is 5 but must be rows of numbers"),
        ([5.1, 0.2], r"points is \[5.1, 0.2\] but must be rows of numbers"),
        ("5.1", "points is '5.1' but must be rows of numbers"),
        ([["far"]], "could not convert string to float: 'far'"),
        (np.array([["far"]]), "could not convert string to float"),
        ([None], r"points is \[None\] but must be rows of numbers"),
    ],
)
def test_points_that_are_none_are_refused_with_how_to_write_them(running, given, said):
    with connect(running.url) as service, pytest.raises(InvalidInput, match=said) as raised:
        service.loop("model").predict(given)
    assert "[[5.1, 0.2]] for one point of two features" in raised.value.hint


def test_numbers_of_numpy_are_taken_wherever_numbers_are(running):
    with connect(running.url) as service:
        sssp = service.loop("sssp")
        assert list(sssp.query(top=np.int64(2)).values) == [1, 2]
        assert sssp.query([np.int64(4)], parameters={"source": np.int32(1)}).values == {4: 10.0}
