"""The nearest of some facilities against networkx: how far it is, and which, while edges come and go."""

import heapq
import random

import httpx
import networkx as nx
import pytest

import tornado
from apps.nearest_facility import NearestFacility
from tests.apps.test_selective_apps import graph_of
from tornado.config import AUTO_DELAY_BOUND
from tornado.errors import InvalidArgument
from tornado.loops import Master
from tornado.records.edge_batch import EdgeBatch
from tornado.records.operations import INSERT, REMOVE
from tornado.testing import EdgeHistory, mixed, random_multigraph

TIMEOUT_S = 120.0
FACILITIES = (31, 7, 45, 0)  # in no order


def nearest_by_networkx(graph):
    """The least distance of each vertex that one reaches, and the least id of those that are as near."""
    found = {}
    for facility in sorted(FACILITIES):
        if facility in graph:
            for vertex, distance in nx.single_source_dijkstra_path_length(graph, facility).items():
                if vertex not in found or distance < found[vertex][0]:
                    found[vertex] = distance, facility
    lengths = nx.multi_source_dijkstra_path_length(graph, [one for one in FACILITIES if one in graph])
    assert {vertex: distance for vertex, (distance, _) in found.items()} == lengths
    return found


@pytest.mark.parametrize("workers", [1, 2])
def test_distance_and_facility_are_right_at_every_prefix(workers):
    # Whole weights: many vertices are as far from several facilities.
    records = mixed(random_multigraph(60, 220, seed=31, max_weight=4, integral=True), seed=32)
    history, step = EdgeHistory.of(records), 70
    with Master(workers=workers) as master:
        loop = master.start(NearestFacility(facilities=FACILITIES), "nearest", 64)
        for first in range(0, len(records), step):
            batch = records.slice(first, min(first + step, len(records)))
            loop.admit(batch, "stream", first + len(batch))
            branch = loop.fork(reads_ways=True)
            assert branch.wait(TIMEOUT_S)
            graph = graph_of(history.at(first + len(batch)))
            expected = nearest_by_networkx(graph)
            for vertex, way in branch.ways(list(graph)).items():
                found = (way.value, int(way.vertices[0])) if way.is_reached else None
                assert found == expected.get(vertex), (first, vertex)
            branch.release()


def rounded_streets(side, seed):
    """Streets both ways on a square, whose lengths are no sums of others to the bit; in random order."""
    chance = random.Random(seed)
    places = [(x, y) for x in range(side) for y in range(side)]
    ends = [((x, y), (x + dx, y + dy)) for x, y in places for dx, dy in ((0, 1), (1, 0))]
    ends = [(a, b) for a, b in ends if max(b) < side]
    streets = [(a[0] * side + a[1], b[0] * side + b[1]) for a, b in ends]
    streets = [(*one, chance.choice([0.1, 0.2, 0.3, 0.7])) for a, b in streets for one in ((a, b), (b, a))]
    chance.shuffle(streets)
    return streets


def nearest_by_search(streets, facilities):
    """Dijkstra over pairs of length and facility, the least first."""
    out, found = {}, {}
    for source, target, weight in streets:
        out.setdefault(source, []).append((target, weight))
    heap = [(0.0, facility, facility) for facility in facilities]
    while heap:
        length, facility, vertex = heapq.heappop(heap)
        if vertex not in found:
            found[vertex] = length, float(facility)
            for target, weight in out.get(vertex, ()):
                heapq.heappush(heap, (length + weight, facility, target))
    return found


@pytest.mark.parametrize("delay_bound", [AUTO_DELAY_BOUND, None, 1, 2, 64])
@pytest.mark.parametrize("workers", [1, 3])
def test_of_sums_that_are_rounded_alike_the_facility_is_that_of_the_way(workers, delay_bound):
    streets, chance = rounded_streets(16, seed=5), random.Random(6)
    facilities = tuple(chance.sample(range(256), 20))
    there, came = [], 0
    with Master(workers=workers) as master:
        loop = master.start(NearestFacility(facilities=facilities), "nearest", delay_bound)
        for turn in range(12):
            arriving = streets[turn * 120 : (turn + 1) * 120] if turn < 8 else []
            leaving = [] if turn < 4 else [there.pop(chance.randrange(len(there))) for _ in range(25)]
            again = leaving[::2]  # which a vertex that asks its neighbours at the time must not hold for old
            there += arriving + again
            records = [(*one, REMOVE) for one in leaving] + [(*one, INSERT) for one in arriving + again]
            came += len(records)
            source, target, weight, op = zip(*records, strict=True)
            loop.admit(EdgeBatch.of(source, target, weight, op=op), "stream", came)
            branch = loop.fork(reads_ways=True)
            assert branch.wait(TIMEOUT_S)
            values, expected = branch.values(), nearest_by_search(there, facilities)
            ids, lengths = values.arrays()
            reached = values.reached(lengths)
            seconds = values.seconds(ids)
            found = zip(
                ids[reached].tolist(), lengths[reached].tolist(), seconds[reached].tolist(), strict=True
            )
            assert {vertex: (length, facility) for vertex, length, facility in found} == {
                vertex: pair for vertex, pair in expected.items() if vertex in set(ids.tolist())
            }
            for vertex, way in branch.ways(ids[reached].tolist()).items():
                assert way.vertices[0] == expected[vertex][1]
            branch.release()


def test_a_parent_that_comes_nearer_takes_its_facility_along_where_the_sum_stays():
    with tornado.open("memory:", workers=1) as session:
        loop = session.start(NearestFacility(facilities=(1, 2)))
        loop.insert([1, 10, 11], [10, 11, 12], [0.1, 0.2, 1.0])
        assert loop.query(vertices=[12]).table("facilities").to_pylist() == [
            {"vertex": 12, "value": 1.3, "facility": 1}
        ]
        loop.insert([2], [11], [0.3])
        answer = loop.query(vertices=[12], paths=[12])
        assert answer.table("facilities").to_pylist() == [{"vertex": 12, "value": 1.3, "facility": 2}]
        assert answer.paths[0]["vertices"] == [2, 11, 12]


def test_another_set_of_facilities_is_another_question_and_ids_may_be_strings():
    with tornado.open("memory:", workers=2) as session:
        towns = session.start(NearestFacility(facilities=("Rome", "Oslo")), name="towns", ids="string")
        towns.insert(["Rome", "Oslo", "Bern"], ["Bern", "Bern", "Nice"], [3.0, 2.0, 1.0])
        (way,) = towns.query(paths=["Nice"]).paths
        assert (way["value"], way["vertices"]) == (3.0, ["Oslo", "Bern", "Nice"])
        (other,) = towns.query(paths=["Nice"], facilities=("Rome",), check=True).paths
        assert (other["value"], other["vertices"][0]) == (4.0, "Rome")


def rows_of(table):
    return {row["vertex"]: (row["value"], row["facility"]) for row in table.to_pylist()}


@pytest.mark.parametrize("engine", ["threads", "processes"])
def test_a_table_has_the_facility_beside_the_distance_of_all_of_some_and_of_the_best_at_every_prefix(engine):
    records = mixed(random_multigraph(60, 220, seed=33, max_weight=4, integral=True), seed=34)
    history, step = EdgeHistory.of(records), len(records) // 3
    with tornado.open("memory:", workers=2, engine=engine) as session:
        loop = session.start(NearestFacility(facilities=FACILITIES), name="nearest")
        for first in range(0, 3 * step, step):
            batch = records.slice(first, first + step)
            session.service.loop("nearest").admit(batch, "stream", first + step)
            graph = graph_of(history.at(first + step))
            so_far = records.slice(0, first + step)
            graph.add_nodes_from([*so_far.src.tolist(), *so_far.dst.tolist()])
            expected = dict.fromkeys(graph, (None, None)) | nearest_by_networkx(graph)
            assert rows_of(loop.query().table("facilities")) == expected
            some = loop.query(vertices=[3, 31, 999]).table("facilities")
            assert rows_of(some) == {vertex: expected[vertex] for vertex in (3, 31) if vertex in expected}
            best = loop.query(top=5).table("facilities")
            assert len(best) == 5
            assert rows_of(best) == {vertex: expected[vertex] for vertex in best["vertex"].to_pylist()}


def test_over_http_and_with_ids_of_strings_a_facility_is_called_as_it_is():
    with tornado.open("memory:", workers=1) as session:
        towns = session.start(NearestFacility(facilities=("Rome", "Oslo")), name="towns", ids="string")
        towns.insert(["Rome", "Oslo", "Bern"], ["Bern", "Bern", "Nice"], [3.0, 2.0, 1.0])
        towns.insert(["Wien"], ["Graz"])
        numbers = session.start(NearestFacility(facilities=(7, -1)), name="numbers")
        numbers.insert([7, -1], [2, 2], [1.0, 1.0])
        with httpx.Client(base_url=session.serve(port=0).url) as client:
            (columns,) = (
                table["columns"]
                for table in client.get("/v1/loops/towns").json()["tables"]
                if table["name"] == "facilities"
            )
            assert columns == [
                {"name": "vertex", "type": "string"},
                {"name": "value", "type": "float64"},
                {"name": "facility", "type": "string"},
            ]
            asked = client.post("/v1/queries?wait_s=60", json={"loop": "towns"}).json()
            assert "facility" not in asked["result"]["values"][0]
            read = f"/v1/queries/{asked['id']}/result"
            found = client.get(read, params={"table": "facilities"}).json()["values"]
            assert {row["vertex"]: (row["value"], row["facility"]) for row in found} == {
                "Rome": (0.0, "Rome"),
                "Oslo": (0.0, "Oslo"),
                "Bern": (2.0, "Oslo"),
                "Nice": (3.0, "Oslo"),
                "Wien": (None, None),
                "Graz": (None, None),
            }
            text = client.get(read, params={"table": "facilities"}, headers={"accept": "text/csv"}).text
            assert (
                text.splitlines()[0] == "vertex,value,facility"
                and "Nice,3.0,Oslo" in text
                and "Graz,," in text
            )
            asked = client.post("/v1/queries?wait_s=60", json={"loop": "numbers", "vertices": [2]}).json()
            read = f"/v1/queries/{asked['id']}/result?table=facilities"
            assert client.get(read).json()["values"] == [{"vertex": 2, "value": 1.0, "facility": -1}]
            assert client.get(f"{read}&ids=string").json()["values"] == [
                {"vertex": "2", "value": 1.0, "facility": "-1"}
            ]


@pytest.mark.parametrize(
    ("facilities", "said"), [((2**53 + 1,), "9007199254740993, but ids of"), ((), "facilities is empty")]
)
def test_a_facility_whose_id_is_no_float_is_refused_and_so_is_none_at_all(facilities, said):
    with tornado.open("memory:", workers=1) as session, pytest.raises(InvalidArgument, match=said):
        session.start(NearestFacility(facilities=facilities), name="nearest")
