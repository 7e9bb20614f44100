"""The pipeline of roads: parsed, checked, quarantined with the reason, deduplicated, joined, and exact in the loop."""

import json
import os
import subprocess
import sys

import pytest

from tests.end_to_end.running import CHECKOUT, Service

pytestmark = pytest.mark.spark

TOWNS = {"Bern": 1, "Thun": 2, "Spiez": 3, "Brig": 4}


def road(number, src, dst, weight, minute=0, **fields):
    time = f"2026-01-01T10:{minute:02}:00Z"
    return json.dumps({"id": f"r{number}", "time": time, "src": src, "dst": dst, "weight": weight} | fields)


GOOD = [
    road(1, "Bern", "Thun", 26.5),
    road(2, "Thun", "Spiez", 10),
    road(3, "Spiez", "Brig", 50, 1),
    # The same record again is dropped; the same road under a name of its own is another one.
    road(2, "Thun", "Spiez", 10),
    # A removal that stands before its insertion comes after it by its time.
    road(5, "Bern", "Brig", None, 3, op="-"),
    road(4, "Bern", "Brig", 1, 2),
]
BAD = {
    "no json": "the record is no JSON object of a road",
    '{"id": 7, "time": "2026-01-01T10:00:00Z", "src": "Bern", "dst": "Thun", "weight": "far"}': (
        "the record is no JSON object of a road"
    ),
    road(8, "Bern", "Atlantis", 1): "dst is no known town: Atlantis",
    road(9, "Bern", None, 1): "dst is missing",
    road(10, "Bern", "Thun", -1): "weight is negative",
    road(11, "Bern", "Thun", None): "weight is missing",
    road(14, "Bern", "Thun", 1).replace('"weight": 1', '"weight": 1e400'): "weight is not finite",
    road(15, "Bern", "Thun", float("-inf")): "weight is not finite",
    road(16, "Bern", "Thun", float("nan")): "weight is NaN",
    road(12, "Bern", "Thun", 1, op="?"): "op is unknown: ?",
    json.dumps({"id": "r13", "src": "Bern", "dst": "Thun", "weight": 1}): "time is missing",
}


@pytest.fixture
def towns(tmp_path):
    path = tmp_path / "towns.csv"
    path.write_text("key,vertex\n" + "".join(f"{key},{vertex}\n" for key, vertex in TOWNS.items()))
    return path


def run_script(tmp_path, towns, url):
    """Run it as a user does, until what is there is in."""
    folders = {"input": "incoming", "checkpoint": "state", "quarantine": "rejected"}
    options = [word for name, folder in folders.items() for word in (f"--{name}", str(tmp_path / folder))]
    command = [sys.executable, "-m", "apps.pipelines.roads", "--once", "--towns", str(towns), "--url", url]
    # On a path where python3 is another one, it must still find its own.
    environment = {name: value for name, value in os.environ.items() if name != "PYSPARK_PYTHON"}
    done = subprocess.run(
        [*command, *options],
        capture_output=True,
        text=True,
        timeout=180,
        cwd=CHECKOUT,
        env=environment,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def run_here(spark, tmp_path, towns, url, *, files_per_batch=1):
    from apps.pipelines import roads

    lines = roads.lines_of_files(spark, str(tmp_path / "incoming"), files_per_batch=files_per_batch)
    queries = roads.start(
        roads.checked(lines, roads.towns_of(spark, str(towns))),
        url=url,
        loop="sssp",
        checkpoint=str(tmp_path / "state"),
        quarantine=str(tmp_path / "rejected"),
        once=True,
    )
    for query in queries:
        assert query.awaitTermination(120)


def test_good_records_are_in_the_loop_once_and_bad_ones_in_the_quarantine(spark, tmp_path, towns):
    incoming = tmp_path / "incoming"
    incoming.mkdir()
    (incoming / "1.json").write_text("\n".join([*GOOD, *BAD]) + "\n")
    with Service(tmp_path) as service:
        run_script(tmp_path, towns, service.url)
        answer = service.ask()
        [source] = answer["snapshot"]["offsets"]
        assert source.startswith("spark:") and answer["snapshot"]["offsets"] == {source: 5}
        values = {row["vertex"]: row["value"] for row in answer["result"]["values"]}
        assert values == {1: 0.0, 2: 26.5, 3: 36.5, 4: 86.5}
        # It goes on where it was, in another process too, and knows what it has seen.
        (incoming / "2.json").write_text(
            "\n".join([road(3, "Spiez", "Brig", 50, 1), road(6, "Bern", "Brig", 80, 4)])
        )
        run_here(spark, tmp_path, towns, service.url)
        answer = service.ask(vertices=[4])
        assert (answer["snapshot"]["offsets"], answer["result"]["values"]) == (
            {source: 6},
            [{"vertex": 4, "value": 80.0}],
        )
    rows = spark.read.json(str(tmp_path / "rejected")).collect()
    assert {row["record"]: row["reason"] for row in rows} == BAD
    assert len(rows) == len(BAD)
    assert all(row["file"].endswith("/incoming/1.json") for row in rows)


def of_one_instant():
    """Openings and closings of roads, the two of each in both orders; and where Bern leads to when all of them are through."""
    records = []
    for number in range(40):
        operations = ["-", "+"] if number % 2 else ["+", "-"]
        # By their names they stand the wrong way round: Spark sorts by those to find what is there twice.
        records += [
            road(2 * number + 1 - place, "Bern", f"town {number}", number + 1 if op == "+" else None, op=op)
            for place, op in enumerate(operations)
        ]
    return records, {number: number + 1.0 if number % 2 else None for number in range(40)}


def test_records_of_one_instant_come_in_the_order_of_their_files_and_lines(spark, tmp_path, towns):
    incoming = tmp_path / "incoming"
    incoming.mkdir()
    with towns.open("a") as file:
        file.writelines(f"town {number},{100 + number}\n" for number in range(40))
    records, values = of_one_instant()
    # A road that is opened in the older file and closed in the newer one, whose name comes first.
    older = road(101, "Bern", "Thun", 1)
    newer = [road(102, "Bern", "Thun", None, op="-"), *records, road(103, "Bern", "Spiez", 1)]
    for changed, (name, lines) in enumerate([("2.json", [older]), ("1.json", newer)]):
        (incoming / name).write_text("\n".join(lines) + "\n")
        os.utime(incoming / name, (1_700_000_000 + changed,) * 2)
    # Pieces of a file go to several tasks.
    spark.conf.set("spark.sql.files.maxPartitionBytes", "1000")
    try:
        with Service(tmp_path) as service:
            run_here(spark, tmp_path, towns, service.url, files_per_batch=100)
            answer = service.ask()
    finally:
        spark.conf.unset("spark.sql.files.maxPartitionBytes")
    assert list(answer["snapshot"]["offsets"].values()) == [len(newer) + 1]
    found = {row["vertex"]: row["value"] for row in answer["result"]["values"]}
    expected = {100 + number: value for number, value in values.items()}
    assert found == expected | {1: 0.0, 2: None, 3: 1.0}


def test_a_town_that_is_there_twice_is_refused(spark, tmp_path, towns):
    from apps.pipelines import roads

    with towns.open("a") as file:
        file.write("Bern,9\n")
    with pytest.raises(ValueError, match="has the key 'Bern' 2 times; every key must be there once"):
        roads.towns_of(spark, str(towns))


def test_a_vertex_beyond_64_bits_is_refused(spark, towns):
    from apps.pipelines import roads

    with towns.open("a") as file:
        file.write("Chur,9223372036854775808\n")
    with pytest.raises(
        ValueError, match="has the key 'Chur' without a vertex that is a whole number of 64 bits"
    ):
        roads.towns_of(spark, str(towns))
