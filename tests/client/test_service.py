"""The client beside a real service, compared with what the session in the same process answers, and with networkx."""

import sys
from types import SimpleNamespace
from unittest.mock import Mock

import httpx
import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

import tornado
from apps.connected_components import ConnectedComponents
from tests.client.conftest import ROADS, blobs
from tests.ports import free_port
from tornado.client import (
    Batch,
    InConflict,
    InvalidInput,
    MissingPackage,
    NotFound,
    QueryEnded,
    Refused,
    Unreachable,
    connect,
)
from tornado.client.operations import Operations
from tornado.ingest.source_names import check_batch_source

COLUMNS = {"src": [1, 2, 2], "dst": [2, 3, 4], "weight": [1.0, 2.0, 9.0]}
FORMS = {
    "lists": lambda: tuple(COLUMNS.values()),
    "arrays": lambda: tuple(map(np.array, COLUMNS.values())),
    "small integers": lambda: (np.array([1, 2, 2], np.int32), np.array([2, 3, 4], np.uint8), [1, 2, 9]),
    "a mapping": lambda: (COLUMNS,),
    "arrow": lambda: (pa.table(COLUMNS),),
    "record batch": lambda: (pa.table(COLUMNS).to_batches()[0],),
    "pandas": lambda: (pd.DataFrame(COLUMNS),),
    "pandas, filtered": lambda: (pd.DataFrame(COLUMNS | {"length": 1.0}).sort_values("dst"),),
    "pandas series": lambda: tuple(map(pd.Series, COLUMNS.values())),
    "polars": lambda: (pl.DataFrame(COLUMNS),),
    "polars series": lambda: tuple(map(pl.Series, COLUMNS.values())),
    "ranges": lambda: (iter([1, 2, 2]), range(2, 5), [1.0, 2.0, 9.0]),
}


@pytest.fixture
def service(running):
    with connect(running.url) as made:
        yield made


def oracle(edges, source=1):
    graph = nx.MultiDiGraph()
    graph.add_weighted_edges_from(edges)
    reached = nx.single_source_dijkstra_path_length(graph, source)
    return {vertex: reached.get(vertex) for vertex in graph}


def test_an_answer_is_that_of_the_session_in_every_form(service, running):
    answer = service.loop("sssp").query()
    own = running.session.loop("sssp").query().result()
    assert answer.is_exact
    assert answer.values == oracle(zip(*ROADS, strict=True)) == {1: 0, 2: 1, 3: 3, 4: 10, 5: None, 6: None}
    assert answer.snapshot["version"] == own.snapshot.version
    assert answer.to_arrow().equals(own.to_arrow())
    assert answer.to_pandas().equals(answer.to_arrow().to_pandas())
    assert answer.to_polars().equals(pl.from_arrow(own.to_arrow()))
    table = answer.to_numpy()
    assert table["vertex"].tolist() == list(answer.values)
    assert np.array_equal(table["value"], [0, 1, 3, 10, np.nan, np.nan], equal_nan=True)
    assert len(answer) == 6
    assert answer[3] == 3.0


def test_a_question_names_vertices_the_best_so_many_or_other_parameters(service):
    sssp = service.loop("sssp")
    asked = sssp.query([4, 2, 99])
    assert (asked.values, asked.unknown) == ({4: 10.0, 2: 1.0}, [99])
    assert list(sssp.query(top=3).values) == [1, 2, 3]
    assert sssp.query(np.array([4]), parameters={"source": 2}).values == {4: None}
    assert sssp.query([4], check=True).certificate["checked"] is True
    assert sssp.read([4]).certificate == {"kind": "none"}
    with pytest.raises(NotFound, match="99"):
        sssp.query([99])


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS.keys())
def test_edges_come_in_every_form_and_go_again(service, own_stream, form):
    stream, paths = service.stream(own_stream), service.loop(f"{own_stream}-paths")
    assert stream.insert(*form()).accepted == 3
    assert paths.query().values == oracle(zip(*COLUMNS.values(), strict=True))
    assert stream.remove([2], [4]).accepted == 1
    assert paths.query([3, 4]).values == {3: 3.0, 4: None}
    assert stream.replace([1], [2], [5.0]).offsets == {"http": 5}
    assert paths.query([3]).values == {3: 7.0}


def test_a_table_larger_than_one_body_goes_out_in_parts(service, own_stream, monkeypatch):
    monkeypatch.setattr("tornado.client.columns.ROWS_A_BODY", 7)
    count = 50
    pushed = service.stream(own_stream).insert(range(1, count), range(2, count + 1))
    assert (pushed.accepted, pushed.rejected, pushed.offsets) == (count - 1, 0, {"http": count - 1})
    assert service.loop(f"{own_stream}-paths").query([count]).values == {count: count - 1.0}


def test_a_numbered_batch_is_in_once_and_keeps_the_order_of_its_rows(service, own_stream, monkeypatch):
    monkeypatch.setattr("tornado.client.columns.ROWS_A_BODY", 2)
    stream, paths = service.stream(own_stream), service.loop(f"{own_stream}-paths")
    # The edge comes, goes, and comes again with another weight.
    table = pa.table({"src": [1, 1, 1], "dst": [2, 2, 2], "weight": [1.0, None, 4.0], "op": ["+", "-", "+"]})
    first = stream.insert(table, batch=Batch("nightly", 0))
    assert (first.accepted, first.repeated) == (3, False)
    assert paths.query([2]).values == {2: 4.0}
    again = stream.insert(table, batch=Batch("nightly", 0))
    assert (again.accepted, again.repeated) == (0, True)
    assert paths.query([2]).values == {2: 4.0}
    assert paths.describe()["offsets"] == {"client:nightly": 3}
    with pytest.raises(Refused, match=r"batch 5 of 'client:nightly' .* stream .* up to 0. The next one is 1"):
        stream.insert([1], [2], batch=Batch("nightly", 5))


def test_a_numbered_batch_that_the_service_has_lost_before_the_commit_is_in_once(
    running, service, own_stream, monkeypatch
):
    document, lost = Operations.document, []

    def losing(operations, call):
        if call.method == "POST" and "/batches/" in call.path and len(lost) < 2:
            # What a restart does to what is not committed.
            lost.append(httpx.delete(running.url + call.path).status_code)
        return document(operations, call)

    monkeypatch.setattr(Operations, "document", losing)
    outcome = service.stream(own_stream).insert([1, 2], [2, 3], batch=Batch("nightly", 0))
    assert (outcome.accepted, outcome.repeated, outcome.offsets) == (2, False, {"client:nightly": 2})
    assert lost == [204, 204]
    assert service.loop(f"{own_stream}-paths").query([3]).values == {3: 2.0}


@pytest.mark.parametrize("sender", ["bad name/", "", "17", "x" * 94, "a\n", 7])
def test_a_batch_whose_sender_has_no_name_that_a_service_takes_is_refused_before_it_is_sent(sender):
    with pytest.raises(InvalidInput, match=r"sender of a batch is .* but must be letters") as raised:
        Batch(sender, 0)
    assert repr(sender) in raised.value.message
    assert Batch("x" * 93, np.int64(0)).number == 0
    check_batch_source(f"client:{'x' * 93}")
    for number in (-1, 0.5, True, "1"):
        with pytest.raises(InvalidInput, match="must be from 0"):
            Batch("nightly", number)


@pytest.mark.parametrize("name", ["vertices", "paths"])
@pytest.mark.parametrize("one", [99, "abc", np.int64(99), np.array(99), 1.5, b"a"])
def test_one_id_in_place_of_a_list_of_them_is_refused_with_how_to_write_it(service, name, one):
    plain = one.tolist() if hasattr(one, "tolist") else one
    with pytest.raises(InvalidInput, match=rf"{name} is .* but must be a list of ids") as raised:
        service.loop("sssp").query(**{name: one})
    assert raised.value.hint == f"Write [{plain!r}] for one."


def test_vertices_alone_are_known_and_an_insert_of_a_loop_goes_to_its_stream(service, own_stream):
    paths = service.loop(f"{own_stream}-paths")
    service.stream(own_stream).add_vertices([9])
    paths.insert([1], [2])
    assert paths.query().values == {1: 0.0, 2: 1.0, 9: None}
    paths.remove([1], [2])
    assert paths.query([2]).values == {2: None}


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (([1, 2], [2]), "src 2, dst 1"),
        (([1.5], [2]), "src is of type double, which is no id"),
        (({"from": [1], "to": [2]},), "no column 'src', but has from, to"),
        (([1],), "list is no table"),
        (([1], 2), "dst is 2, which is no column"),
        (([[1]], [2]), "is no id"),
        ((np.array([2**63], np.uint64), [1]), "src is of type uint64 and not int64"),
        (([2**64], [1]), "src is no column of one type"),
        (([1], [2], ["far"]), "weight is of type string and not double"),
    ],
)
def test_what_is_no_edge_is_refused_before_it_is_sent(service, own_stream, columns, message):
    with pytest.raises(InvalidInput, match=message):
        service.stream(own_stream).insert(*columns)
    assert service.stream(own_stream).describe()["offsets"] == {}


def test_what_is_around_a_vertex_is_read_without_a_question(service, own_stream):
    stream, paths = service.stream(own_stream), service.loop(f"{own_stream}-paths")
    stream.insert([1, 2, 2, 3], [2, 2, 3, 2], [1.0, 0.5, 2.0, 4.0])
    paths.query()  # all of them are in then
    around = paths.neighbours(2)
    assert (sorted(around.out), sorted(around.into)) == (
        [(2, 0.5), (3, 2.0)],
        [(1, 1.0), (2, 0.5), (3, 4.0)],
    )
    assert (around.vertex, around.is_known, around.edges_out, around.edges_into) == (2, True, 2, 3)
    table = around.to_arrow()
    assert {tuple(row.values()) for row in table.to_pylist()} == {
        (1, 2, 1.0),
        (2, 2, 0.5),
        (2, 3, 2.0),
        (3, 2, 4.0),
    }
    assert table.num_rows == 4
    assert around.to_pandas().equals(table.to_pandas())
    assert around.to_polars().equals(pl.from_arrow(table))
    shown = around._repr_html_()
    assert "2 edges out, 3 in" in shown
    assert "<td>in</td><td>3</td><td>4</td>" in shown
    few = paths.neighbours(2, limit=1)
    assert (len(few.out), len(few.into), few.edges_into) == (1, 1, 3)
    assert "and 3 more" in few._repr_html_()
    unseen = paths.neighbours(99)
    assert (unseen.is_known, unseen.out, unseen.to_arrow().num_rows) == (False, [], 0)
    assert unseen.to_arrow().schema == table.schema
    assert "never seen" in repr(unseen)
    with pytest.raises(Refused, match="limit"):
        paths.neighbours(2, limit=0)


def test_who_holds_a_loop_is_told(service, own_stream):
    service.stream(own_stream).insert([1], [2])
    found = service.loop(f"{own_stream}-paths").frontier()
    assert found["stream"] == own_stream
    assert {one["operator"] for one in found["holders"]} == {"processor"}
    assert found["timestamp"] == min(
        [one["timestamp"][0], one["timestamp"][1] + (one["by"] == "token")] for one in found["holders"]
    )


def test_who_holds_the_branch_of_a_query_is_told_and_nobody_at_its_end(service, own_stream):
    service.stream(own_stream).insert([1], [2])
    query = service.loop(f"{own_stream}-paths").ask()
    query.result(progress=False)
    found = query.frontier()
    assert (found["query"], found["stream"]) == (query.id, own_stream)
    assert (found["timestamp"], found["holders"], found["not_begun"]) == (None, [], [])


def test_loops_are_started_looked_at_and_stopped(service, own_stream):
    stream = service.stream(own_stream)
    stream.insert([1, 2], [2, 3])
    hops = stream.start("bfs", name=f"{own_stream}-hops", source=2)
    assert hops.query([3]).values == {3: 1}
    assert hops.stream.name == own_stream
    assert hops.describe()["state"] == "running"
    with pytest.raises(InConflict, match="hops") as refused:
        stream.start("bfs", name=hops.name, source=2)
    assert (refused.value.code, refused.value.status) == ("name-taken", 409)
    hops.stop()
    with pytest.raises(NotFound):
        hops.describe()
    with pytest.raises(Refused, match="no app named 'nothing'"):
        stream.start("nothing")


def test_one_that_was_stopped_says_so(service, own_stream):
    service.stream(own_stream).insert(range(1, 50), range(2, 51))
    stopped = service.loop(f"{own_stream}-paths").query(parameters={"source": 2}, max_iterations=3)
    assert (stopped.state, stopped.is_exact) == ("deadline", False)
    assert stopped.certificate["side"] == "upper"
    assert "stopped by max_iterations" in stopped._repr_html_()


def test_an_answer_that_there_is_not_is_an_error(service):
    asked = service.loop("sssp").ask([3])
    assert service.query(asked.id).result().values == {3: 3.0}
    asked.cancel()
    with pytest.raises(NotFound):
        asked.refresh()
    late = service.loop("sssp").ask(min_offsets={"insert": 10**6}, deadline_s=30)
    late.cancel()
    with pytest.raises((QueryEnded, NotFound)):
        late.result()


def test_progress_ends_with_the_end_of_the_query(service):
    asked = service.loop("ranks").ask()
    states = [seen["state"] for seen in asked.progress()]
    assert states[-1] == "converged"
    assert asked.result().certificate["norm"] == "l1"
    assert asked.id in [one.id for one in service.queries()]


def test_a_bar_shows_how_the_query_stands_where_it_is_wanted(service, monkeypatch):
    bar = Mock()
    tqdm = Mock(return_value=bar)
    monkeypatch.setitem(sys.modules, "tqdm", SimpleNamespace())
    monkeypatch.setitem(sys.modules, "tqdm.auto", SimpleNamespace(tqdm=tqdm))
    loop = service.loop("sssp")
    assert loop.query([3], progress=True).values == loop.query([3]).values == {3: 3.0}
    assert tqdm.call_count == 1  # nobody watches here, so the second one has none
    assert tqdm.call_args.kwargs["desc"] == "sssp"
    said = bar.set_postfix_str.call_args.args[0]
    assert said.startswith("converged, iteration ")
    assert bar.close.call_count == 1
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    assert loop.query([3]).values == {3: 3.0}
    with pytest.raises(MissingPackage, match="tqdm"):
        loop.query([3], progress=True)


def test_follow_tells_everything_first_and_then_what_changes(service, own_stream):
    stream, groups = service.stream(own_stream), service.loop(f"{own_stream}-groups")
    stream.insert([1, 2, 8], [2, 3, 9])
    changes = groups.follow(interval_s=0.05)
    first = next(changes)
    assert first.values == {1: 1, 2: 1, 3: 1, 8: 8, 9: 8}
    assert first.certificate == {"kind": "exact"}
    stream.remove([1], [2])
    told = next(changes)
    while not told.values:
        told = next(changes)
    assert told.values == {2: 2, 3: 2}
    assert [one["kind"] for one in told.events] == ["split"]
    assert told.version > first.version
    changes.close()


def test_who_follows_is_told_a_label_as_it_is_called_and_an_infinity_as_a_number(running, service):
    named = running.session.stream("named", ids="string")
    named.start(ConnectedComponents(), "named-groups")
    service.stream("named").start("widest_path", name="named-widths", source="Infinity")
    named.insert(["Infinity", "x"], ["b", "y"], [4.0, 1.0])
    told = {}
    for loop in ("named-groups", "named-widths"):
        changes = service.loop(loop).follow()
        told[loop] = next(changes).values
        changes.close()
        assert told[loop] == service.loop(loop).query().values
    assert told == {
        "named-groups": {"Infinity": "Infinity", "b": "Infinity", "x": "x", "y": "x"},
        "named-widths": {"Infinity": float("inf"), "b": 4.0, "x": None, "y": None},
    }


@pytest.fixture
def stopping(running, own_stream):
    """A server of its own that is stopped, and another one at its address; what is told of components by way of them."""
    server = running.session.serve(port=free_port())
    with connect(server.url, patience_s=60) as service:
        changes = service.loop(f"{own_stream}-groups").follow(interval_s=0.05)
        yield SimpleNamespace(
            stop=server.stop,
            begin=lambda: running.session.serve(port=server.port),
            url=server.url,
            told=changes,
        )
        changes.close()


def test_follow_goes_on_from_where_it_was_when_a_service_that_stopped_is_back(service, own_stream, stopping):
    stream = service.stream(own_stream)
    stream.insert([1, 2, 8], [2, 3, 9])
    first = next(stopping.told)
    assert first.values == first.groups | {1: 1} == {1: 1, 2: 1, 3: 1, 8: 8, 9: 8}
    stopping.stop()
    stream.remove([1], [2])
    stopping.begin()
    change = next(stopping.told)
    assert change.values == {2: 2, 3: 2}  # of everything, which the next connection tells again, the news
    assert change.version > first.version
    stream.insert([9], [1])
    assert next(stopping.told).values == {8: 1, 9: 1}


def test_follow_and_progress_of_a_service_that_does_not_come_back_end_with_an_error(running, own_stream):
    for patience_s, said in ((0, "stopped before .* was at its end"), (0.15, "nothing answers at")):
        server = running.session.serve()
        with connect(server.url, patience_s=patience_s) as service:
            loop = service.loop(f"{own_stream}-paths")
            loop.insert([1], [2])
            changes = loop.follow(interval_s=0.05)
            waiting = loop.ask(min_offsets={"http": 10**6}, deadline_s=600).progress()
            next(changes)
            next(waiting)
            server.stop()
            for told in (changes, waiting):
                with pytest.raises(Unreachable, match=said):
                    list(told)


def test_points_come_in_every_form_and_are_predicted(service, running):
    model = service.loop("model")
    features, labels = blobs()
    own = running.session.loop("model").query().result()
    # Each answer is as near to the optimum as its gap says, and two questions may end at different places there.
    found, expected = model.query().to_arrow(), own.table("coefficients")
    assert found["feature"].equals(expected["feature"])
    assert found["value"].to_pylist() == pytest.approx(expected["value"].to_pylist(), abs=0.05)
    assert model.query(table="values").values == pytest.approx(own.values, abs=0.05)
    predicted = model.predict(features[:20], mode="exact")
    assert [one["label"] for one in predicted] == own.predict(features[:20]).tolist()
    assert model.predict([features[0].tolist(), {"1": 0.5}])[1]["label"] in (0.0, 1.0)
    stream = service.stream("points")
    before = stream.describe()["points"]
    frame = pd.DataFrame(features[:2], columns=["0", "1", "2"])
    forms = [features[:2], features[:2].tolist(), features[:2].astype(np.float32), frame, pl.DataFrame(frame)]
    for place, form in enumerate(forms):
        ids = [1000 + 2 * place, 1001 + 2 * place]
        assert stream.insert(ids=ids, labels=labels[:2], features=form).accepted == 2
    model.query()
    assert stream.describe()["points"] == before + 2 * len(forms)
    assert stream.remove(ids=range(1000, 1000 + 2 * len(forms))).accepted == 2 * len(forms)
    model.query()
    assert stream.describe()["points"] == before


def test_sparse_points_come_as_a_matrix_or_as_mappings(running, service):
    rows = sparse.random(40, 9, density=0.4, random_state=1, format="csr")
    labels = np.asarray(rows.sum(axis=1)).ravel() > 2
    mappings = [
        dict(zip(row.indices.tolist(), row.data.tolist(), strict=True))
        for row in (rows[n] for n in range(40))
    ]
    for name, form in {"matrix": rows, "mappings": mappings}.items():
        stream = running.session.stream(f"sparse-{name}", schema=tornado.Points(features=9, sparse=True))
        stream.start(tornado.LinearModel(loss="squared", l2=0.1), f"model-{name}")
        assert (
            service.stream(f"sparse-{name}").insert(ids=range(40), labels=labels, features=form).accepted
            == 40
        )
    found = [service.loop(f"model-{name}").query().to_numpy()["value"] for name in ("matrix", "mappings")]
    assert np.allclose(*found, rtol=0, atol=1e-9)
    assert len(service.loop("model-matrix").predict(rows[:3])) == 3


def test_a_notebook_shows_answers_queries_loops_and_streams_with_everything_escaped(service):
    answer = service.loop("sssp").query()
    html = answer._repr_html_()
    assert "exact for insert: 4" in html
    assert "<td>10</td>" in html
    assert "<td>-</td>" in html
    answer.document["certificate"] = {"kind": "<script>"}
    assert "<script>" not in answer._repr_html_()
    for listed in (service.loops(), service.streams(), service.queries()):
        assert listed._repr_html_().count("<tr>") == len(listed) + 1
        assert "<table>" in listed[0]._repr_html_()
    assert "roads" in repr(service.stream("roads"))


def test_nothing_there_is_said_at_once_and_a_wrong_address_before():
    with connect("http://127.0.0.1:9") as nowhere, pytest.raises(Unreachable, match="nothing answers at"):
        nowhere.loops()
    wrong = (
        "http://127.0.0.1:99999",
        "http://[::1",
        "http://a..b:80",
        "http://" + "a" * 64,
        "http://127.0.0.1: 80",
    )
    for url in ("ftp://x", "127.0.0.1:8080", "http://", *wrong):
        with pytest.raises(InvalidInput, match="is not the address of a service"):
            connect(url)


def test_address_and_token_come_from_the_environment_and_the_token_is_never_shown(monkeypatch):
    monkeypatch.setenv("TORNADO_URL", "http://127.0.0.1:9/")
    monkeypatch.setenv("TORNADO_TOKEN", "very-secret")
    with connect() as service:
        assert service.url == "http://127.0.0.1:9"
        assert service._connection.address.token == "very-secret"
        assert "very-secret" not in repr(service) + repr(service._connection.address)
    with pytest.raises(InvalidInput, match="the token has characters that no header") as refused:
        connect("http://127.0.0.1:9", token="two\nlines-secret")
    assert "secret" not in str(refused.value)
