"""The Python session, as a user calls it."""

import asyncio
import math
import sys
from concurrent.futures import ThreadPoolExecutor

import httpx
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import tornado
from apps.sssp import ShortestPaths
from tests.query import fake_loops
from tests.query.conftest import eventually
from tornado.errors import (
    ConnectionLost,
    InvalidArgument,
    NotSupported,
    ResultUnavailable,
    UnknownLoop,
    UnknownVertex,
)
from tornado.query.query import QueryState
from tornado.query.session import Session


@pytest.fixture
def paths(session, master):
    return session.start(master.new_program(source=1), name="paths")


def test_the_example_of_the_interface_page_works(session, master):
    paths = session.start(master.new_program(source=1))
    paths.insert([1, 2, 2], [2, 3, 4], [1.0, 2.0, 9.0])
    paths.remove([2], [4])
    assert paths.wait_idle(20)
    assert paths.read([3]).values == {3: 3.0}
    answer = paths.query(vertices=[3, 4])
    assert answer.values == {3: 3.0, 4: math.inf}
    assert answer.snapshot.offsets == {"insert": 4}
    assert answer.certificate == {"kind": "exact"}
    assert answer.state is QueryState.CONVERGED


@pytest.mark.parametrize(
    "column",
    [list, tuple, np.array, pa.array, lambda values: pa.chunked_array([values])],
    ids=["list", "tuple", "numpy", "arrow", "chunked"],
)
def test_edges_come_as_lists_arrays_or_arrow_columns(paths, column):
    paths.insert(column([1, 2]), column([2, 3]), column([1.0, 2.5]))
    assert paths.query(vertices=[3]).values == {3: 3.5}


def test_edges_come_as_one_table_too(paths):
    paths.insert(pa.table({"src": [1, 2], "dst": [2, 3], "weight": [1.0, 2.5]}))
    paths.insert({"src": [3], "dst": [4]})
    assert paths.query(vertices=[4]).values == {4: 4.5}
    with pytest.raises(InvalidArgument, match="without a column 'dst'"):
        paths.insert(pa.table({"src": [1]}))
    with pytest.raises(InvalidArgument, match="dst is left out"):
        paths.insert([1])


@pytest.mark.parametrize("library", [pd, pl], ids=["pandas", "polars"])
def test_edges_come_as_a_data_frame_too(paths, library):
    frame = library.DataFrame({"src": [1, 2, 3], "dst": [2, 3, 4], "weight": [1.0, 2.5, 0.5]})
    paths.insert(frame)
    assert paths.query(vertices=[4]).values == {4: 4.0}
    # Its columns, one by one; a row that is gone leaves a gap in the numbers of the others.
    rest = frame.drop(1) if library is pd else frame.filter(pl.col("src") != 2)
    paths.remove(rest["src"], rest["dst"])
    paths.insert(frame["dst"], frame["src"], frame["weight"])
    assert paths.query(vertices=[2, 3]).values == {2: math.inf, 3: math.inf}


@pytest.mark.parametrize(
    "weights",
    [
        pd.Series([1.0, None]),
        pd.Series([1, None], dtype="Int64"),
        pd.Series([1.0, None], dtype=pd.ArrowDtype(pa.float64())),
        pl.Series([1.0, None]),
        pl.Series([1, None]),
    ],
    ids=["pandas", "pandas with a mask", "pandas on Arrow", "polars", "polars of integers"],
)
def test_a_weight_that_a_data_frame_lacks_is_refused_on_insertion_and_means_any_edge_on_removal(
    paths, weights
):
    with pytest.raises(InvalidArgument, match=r"weight\[1\] is nan, but an insertion needs a finite number"):
        paths.insert([1, 2], [2, 3], weights)
    paths.insert([1, 2], [2, 3], [1.0, 4.0])
    paths.remove([1, 2], [2, 3], weights)
    assert paths.statistics().missing_removals == 0
    assert paths.query(vertices=[2, 3]).values == {2: math.inf, 3: math.inf}


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        (pd.Series([1.0, 2.0]), r"src\[0\] is 1.0"),
        (pl.Series([1.0, 2.0]), r"src\[0\] is 1.0"),
        (pd.Series([1, None], dtype="Int64"), r"src\[1\] is <NA>"),
        (pl.Series([1, None]), r"src\[1\] is None"),
        (pl.Series([1, 2**63], dtype=pl.UInt64), r"src\[1\] is 9223372036854775808"),
        (pd.Series([True, False]), r"src\[0\] is True"),
    ],
    ids=[
        "pandas floats",
        "polars floats",
        "pandas missing",
        "polars missing",
        "polars beyond",
        "pandas bools",
    ],
)
def test_an_id_of_a_data_frame_that_is_no_vertex_is_named(paths, ids, message):
    with pytest.raises(InvalidArgument, match=message):
        paths.insert(ids, [2, 3])
    assert paths.offsets().get("insert", 0) == 0


@pytest.mark.parametrize("library", [pd, pl], ids=["pandas", "polars"])
def test_names_come_as_a_column_of_a_data_frame(session, master, library):
    towns = session.start(master.new_program(source=0), name="towns", ids="string")
    towns.insert(library.Series(["Bern", "Thun"]), library.Series(["Thun", "Brig"]))
    answer = towns.query(vertices=["Brig"])
    assert answer.values == {"Brig": 2.0}
    frame = answer.to_pandas()
    assert frame["vertex"].tolist() == ["Brig"] and frame["value"].tolist() == [2.0]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (([1, 2], [2, 2.5], [1.0, 1.0]), r"dst\[1\] is 2.5"),
        (([1, 2**63], [2, 3], [1.0, 1.0]), r"src\[1\] is 9223372036854775808"),
        (([1, 2], [2, 3], [1.0, math.nan]), r"weight\[1\] is nan"),
        (([1, 2], [2, 3], [1.0, -4.0]), r"-4.0"),
        (([1, 2], [2], [1.0, 1.0]), "2 entries"),
    ],
)
def test_a_bad_entry_is_named_and_nothing_of_the_call_is_taken(paths, columns, message):
    with pytest.raises(InvalidArgument, match=message):
        paths.insert(*columns)
    assert paths.offsets().get("insert", 0) == 0
    assert paths.query(top=5).unknown == []


def test_replace_takes_the_place_of_all_edges_between_two_vertices(paths):
    paths.insert([1, 1], [2, 2], [5.0, 7.0])
    paths.replace([1], [2], [6.0])
    assert paths.query(vertices=[2]).values == {2: 6.0}
    paths.remove([1], [2])
    assert paths.query(vertices=[2]).values == {2: math.inf}


def test_removing_what_is_not_there_is_counted(paths):
    paths.insert([1], [2])
    paths.remove([2], [1])
    assert paths.query(vertices=[2]).values == {2: 1.0}
    assert paths.statistics().missing_removals == 1


def test_offsets_count_every_record_that_was_pushed(paths):
    paths.insert([1, 2], [2, 3])
    paths.insert([], [])
    paths.remove([1], [2])
    assert paths.offsets() == {"insert": 3}


def test_results_convert(paths):
    paths.insert([1, 5], [2, 6], [1.5, 1.0])
    answer = paths.query()
    table = answer.to_numpy()
    assert table["vertex"].tolist() == [1, 2, 5, 6]
    assert table["value"].tolist() == [0.0, 1.5, math.inf, math.inf]
    assert table["vertex"].dtype == np.int64
    assert answer.to_arrow().to_pydict() == {"vertex": [1, 2, 5, 6], "value": [0.0, 1.5, None, None]}
    assert len(answer.result()) == 4
    assert "converged: 4 vertices, exact" in repr(answer.result())


def test_results_convert_to_pandas_and_by_arrow_to_polars(paths):
    paths.insert([1, 5], [2, 6], [1.5, 1.0])
    answer = paths.query()
    frame = answer.to_pandas()
    assert frame.dtypes.to_dict() == {"vertex": np.dtype(np.int64), "value": np.dtype(np.float64)}
    assert frame["vertex"].tolist() == [1, 2, 5, 6]
    assert frame["value"].tolist() == [0.0, 1.5, math.inf, math.inf]
    table = pl.DataFrame(answer.to_arrow())
    assert table.schema == {"vertex": pl.Int64, "value": pl.Float64}
    assert table.to_dict(as_series=False) == {"vertex": [1, 2, 5, 6], "value": [0.0, 1.5, None, None]}
    # What came out goes in again.
    reached = table.filter(pl.col("value").is_not_null())
    paths.insert([9] * len(reached), reached["vertex"], reached["value"])
    assert paths.query(vertices=[1, 2], parameters={"source": 9}).values == {1: 0.0, 2: 1.5}


def test_without_pandas_a_result_says_what_to_install(paths, monkeypatch):
    paths.insert([1], [2], [1.5])
    answer = paths.query(vertices=[2])
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(NotSupported, match="pip install pandas"):
        answer.to_pandas()


def test_top_comes_best_first_and_only_named_vertices_in_their_order(paths):
    paths.insert([1, 1], [2, 3], [2.0, 1.0])
    assert list(paths.query(top=2).values) == [1, 3]
    assert list(paths.query(vertices=np.array([3, 1, 2])).values) == [3, 1, 2]
    assert list(paths.read(top=2).values) in ([1, 3], [1, 2], [1])


def test_a_question_about_vertices_never_seen_is_an_error_and_a_read_is_not(paths):
    paths.insert([1], [2])
    with pytest.raises(UnknownVertex, match="never named vertex 77, 78"):
        paths.query(vertices=[77, 78]).result()
    assert paths.query(vertices=[2, 77]).unknown == [77]
    assert paths.read([77]).unknown == [77]


def test_vertices_given_as_text_are_refused(paths):
    with pytest.raises(InvalidArgument, match=r"Write \[vertex\]"):
        paths.query(vertices="12")


def test_parameters_and_stored_snapshots_can_be_asked_for(paths):
    paths.insert([1, 2], [2, 3])
    version = paths.checkpoint()
    paths.insert([1], [3], 0.5)
    assert paths.query(vertices=[3], at=version).values == {3: 2.0}
    assert paths.query(vertices=[3], parameters={"source": 2}).values == {3: 1.0}
    assert paths.snapshots()[-1].version == version


def test_a_query_can_be_awaited(paths):
    paths.insert([1, 2], [2, 3])

    async def several():
        handles = [paths.query(vertices=[vertex]) for vertex in (1, 2, 3)]
        return [await handle for handle in handles]

    results = asyncio.run(several())
    assert [result.values for result in results] == [{1: 0.0}, {2: 1.0}, {3: 2.0}]


def test_a_loop_with_string_ids_takes_and_gives_strings(session, master):
    towns = session.start(master.new_program(source=0), name="towns", ids="string")
    towns.insert(["Rome", "Pisa"], ["Pisa", "Nice"], [2.0, 1.0])
    answer = towns.query(vertices=["Nice", "Rome"])
    assert answer.values == {"Nice": 3.0, "Rome": 0.0}
    assert towns.query().to_arrow().to_pydict()["vertex"] == ["Rome", "Pisa", "Nice"]
    assert towns.query().to_numpy()["vertex"].tolist() == ["Rome", "Pisa", "Nice"]


@pytest.mark.parametrize("name", [".", "..", "", "a/b"])
def test_a_name_that_no_path_can_have_is_refused(session, paths, name):
    with pytest.raises(InvalidArgument, match=r"the name of a loop is .* not be \. or \.\."):
        session.start(fake_loops.Fastest(1), name=name)
    with pytest.raises(InvalidArgument, match="the name of a"):
        session.start(fake_loops.Fastest(1), name="fine", new_stream=name)
    assert list(session.loops) == ["paths"]


def test_loops_are_found_by_name(session, paths):
    assert session.loop("paths").name == "paths"
    assert list(session.loops) == ["paths"]
    with pytest.raises(UnknownLoop):
        session.loop("lanes")


def test_a_session_serves_http_until_it_closes(master):
    with Session(master) as session:
        paths = session.start(master.new_program(source=1), name="paths")
        paths.insert([1], [2], [1.5])
        url = session.serve().url
        body = httpx.post(f"{url}/v1/queries?wait_s=20", json={"loop": "paths", "vertices": [2]}).json()
        assert body["result"]["values"] == [{"vertex": 2, "value": 1.5}]
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"{url}/healthz")


@pytest.mark.parametrize("engine", ["threads", "processes"])
def test_a_session_that_is_closed_refuses_all_that_it_would_do(engine, compiled_paths):
    session = tornado.open("memory:", workers=1, engine=engine)
    paths = session.start(ShortestPaths(source=1), "paths")
    paths.insert([1], [2])
    stream = session.stream("paths")
    session.close()
    session.close()
    for call in (
        paths.read,
        paths.query,
        paths.statistics,
        paths.loop.statistics,
        lambda: paths.insert([2], [3]),
        lambda: session.start(ShortestPaths(source=2), "others"),
        lambda: stream.start(ShortestPaths(source=2), "others"),
        lambda: session.stream("queries"),
        session.serve,
        session.__enter__,
        lambda: session.remove("paths"),
        lambda: session.rescale("paths", 2),
    ):
        with pytest.raises(ConnectionLost, match="closed"):
            call()


@pytest.fixture
def slow(fake):
    with Session(fake) as session:
        paths = session.start(fake_loops.Fastest(1), name="paths")
        paths.insert([1, 2], [2, 3])
        fake.gate.clear()
        yield paths


def test_progress_iterates_until_the_end(fake, slow):
    handle = slow.query(vertices=[3])
    looks = []
    for look in handle.progress(interval_s=0.02):
        looks.append(look)
        if len(looks) == 3:
            fake.gate.set()
    assert len(looks) > 3
    assert [look.state for look in looks[:-1]] == [QueryState.RUNNING] * (len(looks) - 1)
    assert looks[-1].state is QueryState.CONVERGED
    assert looks[0].snapshot.offsets == {"insert": 2}


def test_cancelling_frees_the_work_and_leaves_no_result(slow):
    handle = slow.query()
    assert handle.cancel()
    assert not handle.cancel()
    assert handle.state is QueryState.CANCELLED
    with pytest.raises(ResultUnavailable, match="cancelled"):
        handle.result()
    assert slow.loop.branches[0].wait(60)


def test_a_result_that_does_not_come_in_time_is_a_timeout_and_the_query_goes_on(fake, clock, slow):
    handle = slow.query(vertices=[3])
    with ThreadPoolExecutor() as pool:
        waiting = pool.submit(handle.result, timeout_s=30)
        try:
            eventually(lambda: clock.waiting() == 2)  # and the timer
            clock.advance(29)
            assert not waiting.done()
            clock.advance(1)
            with pytest.raises(TimeoutError, match="running"):
                waiting.result(20)
        finally:
            fake.gate.set()
    assert handle.result(20).values == {3: 2.0}


def test_a_deadline_gives_the_best_values_so_far_and_says_so(clock, slow):
    answer = slow.query(vertices=[1, 3], deadline_s=30)
    clock.advance(30)
    eventually(lambda: answer.state.is_final)
    assert answer.values == {1: 0.0, 3: math.inf}
    assert answer.state is QueryState.DEADLINE
    assert answer.certificate == {"kind": "none", "side": "upper"}


def test_a_branch_that_fails_raises_its_error(fake, slow):
    fake.branch_error = RuntimeError("a bug in the program")
    fake.gate.set()
    with pytest.raises(RuntimeError, match="a bug in the program"):
        slow.query().result()


def test_a_result_outlives_what_the_service_keeps(fake, slow):
    fake.gate.set()
    handle = slow.query()
    result = handle.result()
    slow._service.cancel(handle.id)
    assert result.values == {1: 0.0, 2: 1.0, 3: 2.0}


def test_tornado_open_opens_a_session(tmp_path):
    import tornado

    with tornado.open(f"lmdb://{tmp_path}/store", workers=1) as session:
        paths = session.start(ShortestPaths(source=1))
        paths.insert([1, 2, 2], [2, 3, 4], [1.0, 2.0, 9.0])
        assert paths.name == "shortest_paths"
        assert paths.query(vertices=[3]).values == {3: 3.0}


@pytest.mark.parametrize("workers", [0, -1, 1.5, True, np.True_, "2", np.float64(2)], ids=repr)
def test_a_number_of_workers_that_is_no_whole_number_from_1_is_refused(workers):
    import tornado

    with pytest.raises(InvalidArgument, match=r"whole number from 1.*Leave it out") as refused:
        tornado.open(workers=workers)
    assert f"workers is {workers!r} " in str(refused.value)


def test_an_integer_of_numpy_is_a_number_of_workers():
    import tornado

    with tornado.open(workers=np.int64(1)) as session:
        assert session.master.workers == 1


@pytest.mark.parametrize(
    "vertices", [3, np.int64(3), np.array(3), True, 2.5, "3", b"3", np.array("Rome")], ids=repr
)
def test_a_vertex_that_is_in_no_list_is_refused_with_what_to_write(paths, vertices):
    paths.insert([1], [3])
    for ask in (paths.query, paths.read):
        with pytest.raises(InvalidArgument, match=r"must be a list of vertices.*Write \[") as refused:
            ask(vertices=vertices)
        assert repr(vertices) in refused.value.message


def test_integers_of_numpy_are_integers_in_a_question_and_truth_values_are_not(paths):
    paths.insert([1, 1], [3, 4], [2.0, 1.0])
    assert paths.query(vertices=[np.int64(3), np.uint8(4)]).values == {3: 2.0, 4: 1.0}
    assert paths.query(top=np.int64(2), max_iterations=np.int32(10**9)).values == {1: 0.0, 4: 1.0}
    assert paths.query(min_offsets={"insert": np.int64(2)}).values == paths.query().values
    for vertex in (True, np.True_):
        with pytest.raises(InvalidArgument, match=r"vertices\[1\] is .*True.*64-bit integers"):
            paths.query(vertices=[3, vertex])
    with pytest.raises(InvalidArgument, match=r"top is .*True.* whole number"):
        paths.query(top=np.True_)


def test_a_start_that_fails_says_nothing_of_the_directions_of_the_next_one():
    with tornado.open(workers=1) as session:
        with pytest.raises(InvalidArgument, match="delay bound"):
            session.start(ShortestPaths(source=1), "roads", delay_bound=0, undirected=True)
        roads = session.start(ShortestPaths(source=1), "roads")
        roads.insert([2], [1])
        assert roads.query(vertices=[2]).values == {2: math.inf}


def test_a_stream_checks_times_as_it_was_started_and_forgets_that_when_it_ends():
    line = '{"src": 1, "dst": 2, "time": "soon"}'
    headers = {"Content-Type": "application/x-ndjson"}
    with tornado.open(workers=1) as session:
        server = session.serve("127.0.0.1", 0)
        for check_times in (True, False):
            session.start(ShortestPaths(source=1), "roads", check_times=check_times)
            url = f"{server.url}/v1/loops/roads/edges"
            answer = httpx.post(url, content=line, headers=headers, trust_env=False).json()
            assert answer["rejected"] == check_times
            session.remove("roads")
