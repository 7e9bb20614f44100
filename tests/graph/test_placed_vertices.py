"""Vertices that somebody has shared out beforehand: which worker has which, what the file may look like, and what a restart remembers."""

import gzip

import numpy as np
import pytest

import tornado
from apps.core_number import CoreNumber
from apps.label_propagation import LabelPropagation
from apps.pagerank import PageRank
from apps.sssp import ShortestPaths
from tornado.errors import InvalidArgument, StoreCorrupt
from tornado.graph import PartitionMap, PlacedVertices
from tornado.ingest.placement_file import read_placement
from tornado.storage import open_store
from tornado.testing import exact_distances, road_network

ROADS = road_network(20, 30)
IDS = np.arange(ROADS.vertices, dtype=np.int64)
HALVES = (IDS % 30 >= 15).astype(np.int64)  # the town is cut in two from north to south


def written(path, ids=IDS, parts=HALVES):
    path.write_text(
        "vertex,part\n" + "".join(f"{one},{part}\n" for one, part in zip(ids, parts, strict=True))
    )
    return path


def crossing(loop):
    owners = [loop.partition.owners_of(ends.astype(np.int64)) for ends in (ROADS.src, ROADS.dst)]
    return int((owners[0] != owners[1]).sum())


@pytest.mark.parametrize("spread", [1, 1 << 40], ids=["dense", "far apart"])
def test_a_vertex_belongs_to_the_worker_of_its_part_and_one_that_was_not_placed_to_that_of_its_hash(spread):
    chance = np.random.default_rng(1)
    ids = np.sort(chance.choice(1_000, 300, replace=False)) * spread - 77
    parts = chance.integers(0, 9, 300)
    order = chance.permutation(300)
    partition = PartitionMap.by(PlacedVertices.of(ids[order], parts[order]), 4)
    assert np.array_equal(partition.owners_of(ids), parts % 4)
    others = np.setdiff1d(np.arange(-200, 1_200) * spread - 77, ids)
    assert np.array_equal(partition.owners_of(others), PartitionMap.even(4).owners_of(others))
    again = PartitionMap.of_fields(4, *partition.fields())
    everybody = np.concatenate([ids, others])
    assert np.array_equal(again.owners_of(everybody), partition.owners_of(everybody))


@pytest.mark.parametrize(
    "text",
    [
        "vertex,part\n3,1\n-4,0\n",
        "3 1\n-4\t0\n",
        "# by hand\n3;1\n\n-4;0\n",
        "part,vertex\n1,3\n0,-4\n",
        '"part"\t"vertex"\n1\t3\n0\t-4\n',
    ],
    ids=["header", "blanks", "comment", "other order", "quoted header"],
)
@pytest.mark.parametrize("packed", [False, True])
def test_a_file_has_a_vertex_and_a_part_a_line(tmp_path, text, packed):
    path = tmp_path / ("placement.csv.gz" if packed else "placement.csv")
    path.write_bytes(gzip.compress(text.encode()) if packed else text.encode())
    ids, parts = read_placement(path)
    assert (ids.tolist(), parts.tolist()) == ([3, -4], [1, 0])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("vertex,part\n", "has no row"),
        ("vertex,cluster\n1,0\n", "has the header 'vertex,cluster', but its columns must be vertex and part"),
        ("vertex,part,weight\n1,0,1\n", "has the header 'vertex,part,weight'"),
        ("vertex,vertex\n1,0\n", "has the header 'vertex,vertex'"),
        ("vertex,part\n1,0\n2,x\n", "line 3: '2,x' has 'x', which is no whole number"),
        ("# by hand\n\n1,0\n\n2,1.5\n", "line 5: '2,1.5' has '1.5', which is no whole number"),
        ("1,0,3\n", "line 1: '1,0,3' has 3 columns, but must have 2"),
        ("1,0\n2\n", "line 2: '2' has 1 columns"),
        ("# by hand\n1\t0\t\n", r"line 2: '1\\t0\\t' has 3 columns, but must have 2"),
        ("1,0\n2,-1\n", "puts vertex 2 into part -1, but parts are 0 to 65535"),
        ("7,0\n7,1\n", "names vertex 7 twice, for parts 0 and 1"),
        (f"{2**63},0\n", "line 1: .* has '9223372036854775808', which is no whole number of 64 bits"),
        (f"1,{'7' * 5000}\n", "line 1: .* no whole number of 64 bits"),
    ],
)
def test_what_is_no_placement_is_refused_with_the_value_and_the_rule(tmp_path, text, said):
    path = tmp_path / "placement.csv"
    path.write_text(text)
    with pytest.raises(InvalidArgument, match=said) as refused:
        tornado.open(workers=2, placement=path)
    assert str(path) in refused.value.message and "vertex,part" in refused.value.hint


@pytest.mark.parametrize("engine", ["threads", "processes"])
def test_answers_are_exact_and_cut_edges_those_of_the_placement_also_on_other_workers(tmp_path, engine):
    placement = written(tmp_path / "placement.csv")
    with tornado.open(workers=2, engine=engine, placement=placement) as session:
        roads = session.stream("roads")
        loop = roads.start(ShortestPaths(source=0), name="ways")
        expected = exact_distances(ROADS, 0)
        loop.insert(ROADS.src, ROADS.dst, ROADS.weight)
        for workers in (2, 3):
            if workers == 3:
                session.rescale("roads", 3)
            table = loop.query().result().to_numpy()
            ids, values = table["vertex"], table["value"]
            assert np.array_equal(values, expected.lookup(ids))
            main = session.service.loop("ways")
            assert main.statistics().cut_edges == crossing(main) < len(ROADS) / 20
            assert main.statistics().unplaced_vertices == 0


@pytest.mark.parametrize(
    "program", [ShortestPaths(source=0), PageRank(), CoreNumber(), LabelPropagation(rounds=3)]
)
def test_a_placement_that_lacks_vertices_places_these_by_their_hash_and_says_how_many_they_are(
    tmp_path, program
):
    placement = written(tmp_path / "placement.csv", IDS[:500], HALVES[:500])
    with tornado.open(workers=1) as alone, tornado.open(workers=2, placement=placement) as session:
        answers = []
        for one in (alone, session):
            loop = one.start(program, name="ways")
            loop.insert(ROADS.src, ROADS.dst, ROADS.weight)
            loop.remove(ROADS.src[:50], ROADS.dst[:50])
            answers.append(loop.query().result().to_numpy())
        assert np.array_equal(answers[0]["vertex"], answers[1]["vertex"])
        assert np.allclose(answers[0]["value"], answers[1]["value"], rtol=1e-6)
        assert session.service.loop("ways").statistics().unplaced_vertices == ROADS.vertices - 500


def test_nothing_moves_for_balance_where_a_restart_has_the_placement_that_was_there(tmp_path):
    placement = written(tmp_path / "placement.csv")
    for named in ({"placement": placement}, {}):
        with tornado.open(f"lmdb://{tmp_path}/store", workers=2, **named) as session:
            loop = session.start(ShortestPaths(source=0), name="roads")
            if named:
                loop.insert(ROADS.src, ROADS.dst, ROADS.weight)
                session.service.loop("roads").checkpoint()
            assert session.service.loop("roads").partition.placed is not None
            assert session.master.rebalance([3.0, 1.0]) == 0.0


def test_a_restart_has_the_map_that_was_there_and_another_that_is_named_takes_its_place(tmp_path):
    url, placement = f"lmdb://{tmp_path}/store", written(tmp_path / "placement.csv")

    def started(expected, **named):
        with tornado.open(url, **named) as session:
            loop = session.start(ShortestPaths(source=0), name="roads")
            if not loop.offsets():
                loop.insert(ROADS.src, ROADS.dst, ROADS.weight)
            table = loop.query().result().to_numpy()
            ids, values = table["vertex"], table["value"]
            assert np.array_equal(values, exact_distances(ROADS, 0).lookup(ids))
            main = session.service.loop("roads")
            main.checkpoint()
            assert bool(main.partition.placed) == (expected == "placed")
            assert bool(main.partition.block_bits) == (expected == "blocks")
            return main.partition.owners_of(IDS)

    begun = started("blocks", workers=2, placement="blocks")
    assert np.array_equal(started("blocks", workers=2), begun)
    assert np.array_equal(started("placed", workers=2, placement=placement), HALVES)
    placement.unlink()
    assert np.array_equal(started("placed", workers=2), HALVES)
    assert np.array_equal(started("placed", workers=1), np.zeros(len(IDS), np.int64))
    hashed = PartitionMap.even(2).owners_of(IDS)
    assert np.array_equal(started("none", workers=2, placement="hash"), hashed)
    assert np.array_equal(started("none", workers=2), hashed)
    with open_store(url) as store:
        store.drop("roads/placement")
        store.write("roads/placement", 1, {}, metadata=b"{}")
    with pytest.raises(StoreCorrupt, match="roads/placement has an entry that is no placement"):
        started("none", workers=2)
