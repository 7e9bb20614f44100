"""Following a loop from Spark: put together, the changes are the answer, and a batch that is repeated has the same rows."""

import json
import shutil

import pytest

from tests.end_to_end.running import Service

pytestmark = pytest.mark.spark


COLUMNS = {
    ("sssp", "values"): [("vertex", "bigint"), ("value", "double")],
    ("ranks", "values"): [("vertex", "bigint"), ("value", "double")],
    ("groups", "values"): [("vertex", "bigint"), ("value", "bigint")],
    ("groups", "groups"): [("vertex", "bigint"), ("group", "bigint")],
    ("groups", "group_events"): [
        ("kind", "string"),
        ("from", "array<bigint>"),
        ("into", "array<bigint>"),
        ("sizes", "array<bigint>"),
    ],
}


@pytest.fixture
def service(tmp_path):
    with Service(tmp_path, "--store", f"lmdb://{tmp_path}/store") as running:
        yield running


@pytest.fixture(scope="module")
def any_service(tmp_path_factory):
    """For queries that are refused: none of them changes anything in it."""
    folder = tmp_path_factory.mktemp("any")
    with Service(folder, "--store", f"lmdb://{folder}/store") as running:
        yield running


def push(service, *edges):
    lines = (json.dumps(dict(zip(("src", "dst", "weight", "op"), edge, strict=False))) for edge in edges)
    assert service.push("\n".join(lines)).status_code == 202


class Followed:
    """A streaming query that follows a loop, and what each of its batches had."""

    def __init__(self, spark, tmp_path, name="state"):
        self._spark = spark
        self.checkpoint = tmp_path / name
        self.batches = {}

    def read(self, service, **options):
        """Read until nothing is new, in a query that begins and ends, and return the rows of the batches it had."""
        had = {}

        def take(frame, number):
            rows = frame.collect()
            if options.get("table") == "group_events":
                had[number] = [tuple(row) for row in rows]
            else:
                had[number] = {row.vertex: row[1] for row in rows}

        reader = self._spark.readStream.format("tornado").option("url", service.url)
        frame = reader.options(**{"loop": "sssp"} | options).load()
        assert frame.dtypes == COLUMNS[options.get("loop", "sssp"), options.get("table", "values")]
        query = frame.writeStream.foreachBatch(take).option("checkpointLocation", str(self.checkpoint))
        query = query.trigger(availableNow=True).start()
        try:
            assert query.awaitTermination(120)
        finally:
            query.stop()
        self.batches |= had
        return had

    def put_together(self):
        return {vertex: value for _, rows in sorted(self.batches.items()) for vertex, value in rows.items()}

    def lose_commit(self):
        """As if the driver had died after the last batch, and before Spark wrote that down."""
        commits = self.checkpoint / "commits"
        last = max(
            (path for path in commits.iterdir() if path.name.isdigit()), key=lambda path: int(path.name)
        )
        for path in (last, last.with_name(f".{last.name}.crc")):
            path.unlink(missing_ok=True)


def answer(service, loop="sssp"):
    return {row["vertex"]: row["value"] for row in service.ask(loop=loop)["result"]["values"]}


def start(service, program, name, **parameters):
    body = {"program": program, "name": name, "stream": "sssp", "parameters": parameters}
    started = service.client.post("/v1/loops", json=body)
    assert started.status_code == 201, started.text


def test_changes_are_those_between_two_exact_answers_and_the_same_when_they_are_read_again(
    spark, service, tmp_path
):
    followed = Followed(spark, tmp_path)
    push(service, (1, 2, 1.0, "+"), (2, 3, 1.0, "+"), (5, 6, 1.0, "+"))
    assert followed.read(service) == {0: {1: 0.0, 2: 1.0, 3: 2.0, 5: None, 6: None}}
    assert followed.read(service) == {}, "nothing is new"
    push(service, (2, 3, None, "-"), (1, 5, 4.0, "+"), (1, 2, 9.0, "+"))
    changed = {1: {3: None, 5: 4.0, 6: 5.0}}
    assert followed.read(service) == changed
    # More comes, and Spark repeats the batch that it does not know to be done.
    push(service, (1, 3, 7.0, "+"))
    followed.lose_commit()
    assert followed.read(service) == changed
    assert followed.read(service) == {2: {3: 7.0}}
    assert followed.put_together() == answer(service)


def test_a_query_goes_on_after_the_service_was_restarted_and_begins_where_it_is_told(spark, tmp_path):
    store = ("--store", f"lmdb://{tmp_path}/store")
    everything, now = Followed(spark, tmp_path, "everything"), Followed(spark, tmp_path, "now")
    with Service(tmp_path, *store) as service:
        push(service, (1, 2, 1.0, "+"), (2, 3, 1.0, "+"))
        assert everything.read(service) == {0: {1: 0.0, 2: 1.0, 3: 2.0}}
        assert now.read(service, since="now") == {0: {}}
        service.signal(15)
    with Service(tmp_path, *store) as service:
        [*_, stored] = service.client.get("/v1/loops/sssp").json()["snapshots"]
        push(service, (1, 3, 0.5, "+"))
        at = Followed(spark, tmp_path, "at")
        assert at.read(service, since=stored["version"]) == {0: {3: 0.5}}
        assert everything.read(service) == {1: {3: 0.5}}
        assert [*now.read(service, since="now").values()] == [{3: 0.5}]
        assert everything.put_together() == answer(service)
        service.signal(15)
    shutil.rmtree(tmp_path / "store")
    with Service(tmp_path, *store) as service:
        for _ in range(3):
            push(service, (1, 3, 0.5, "+"))
        with pytest.raises(Exception, match="with a new checkpointLocation"):
            everything.read(service)


def test_names_of_groups_go_on_from_the_checkpoint_after_crashes_and_restarts(spark, tmp_path):
    store = ("--store", f"lmdb://{tmp_path}/store")
    of_groups = {"loop": "groups", "table": "groups"}
    groups, events = Followed(spark, tmp_path, "groups"), Followed(spark, tmp_path, "events")
    labels = Followed(spark, tmp_path, "labels")
    with Service(tmp_path, *store) as service:
        start(service, "connected_components", "groups")
        push(service, (1, 2), (2, 3), (3, 4), (8, 9))
        assert groups.read(service, **of_groups) == {0: {1: 1, 2: 1, 3: 1, 4: 1, 8: 8, 9: 8}}
        assert labels.read(service, loop="groups") == groups.batches
        assert events.read(service, loop="groups", table="group_events") == {0: []}
        push(service, (1, 2, None, "-"))
        left = {1: {1: 2}}
        assert groups.read(service, **of_groups) == left, "the three keep the name"
        assert labels.read(service, loop="groups") == {1: {2: 2, 3: 2, 4: 2}}, "whose label is another one"
        # More comes, and Spark repeats the batch that it does not know to be done.
        push(service, (9, 10))
        groups.lose_commit()
        assert groups.read(service, **of_groups) == left
        assert groups.read(service, **of_groups) == {2: {10: 8}}
        service.signal(15)
    with Service(tmp_path, *store) as service:
        push(service, (1, 4))
        assert groups.read(service, **of_groups) == {3: {1: 1}}, "the names are those of before the restart"
        split = ("split", [1], [1, 2], [3, 1])
        [found] = events.read(service, loop="groups", table="group_events").values()
        assert found == [], "between its own answers, nothing was torn"
        push(service, (1, 4, None, "-"), (4, 8))
        merge = ("merge", [1, 8], [1], [3, 3])
        [found] = events.read(service, loop="groups", table="group_events").values()
        assert found == [split, merge]
        assert groups.read(service, **of_groups) == {4: {1: 2, 8: 1, 9: 1, 10: 1}}
        assert groups.put_together() == {1: 2} | dict.fromkeys((2, 3, 4, 8, 9, 10), 1)
        fresh = Followed(spark, tmp_path, "fresh")
        assert fresh.read(service, **of_groups) == {0: answer(service, "groups")}, (
            "who begins, begins with labels"
        )


def test_ranks_are_told_again_when_they_moved_far_enough_from_what_the_query_was_told(
    spark, service, tmp_path
):
    amount = 1e-3
    start(service, "pagerank", "ranks", tolerance=1e-12)
    push(service, *((vertex, vertex % 100 + 1) for vertex in range(1, 101)))
    followed = Followed(spark, tmp_path)
    options = {"loop": "ranks", "moved_by": str(amount)}
    told = {}
    before, drifted = {}, set()
    for link in range(6):
        rows = {
            vertex: rank
            for batch in followed.read(service, **options).values()
            for vertex, rank in batch.items()
        }
        exact = answer(service, "ranks")
        expected = {
            vertex
            for vertex, rank in exact.items()
            if vertex not in told or abs(rank - told[vertex]) > amount
        }
        assert set(rows) == expected
        drifted |= {vertex for vertex in expected if abs(exact[vertex] - before.get(vertex, 1.0)) <= amount}
        told |= rows
        before = exact
        push(service, (1 + link % 2, 40 + link))
    assert drifted, "some were told that had never moved so far from one answer to the next"
    assert len(told) == 100 > sum(map(len, followed.batches.values())) - 100


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"moved_by": "-1"}, "moved_by is '-1' but must be a number from 0"),
        ({"moved_by": "nan"}, "moved_by is 'nan' but must be a number from 0"),
        ({"table": "names"}, "table is 'names' but must be one of: values, groups, group_events"),
        ({"table": "groups"}, "is told no table 'groups'; there is: values"),
        ({"since": "yesterday"}, "since is 'yesterday' but must be beginning, now, or the version"),
        ({"since": "77"}, "no stored snapshot of that version"),
        ({"vertices": "1"}, "Leave them out, and filter the stream"),
    ],
)
def test_a_mistake_is_an_error_that_says_what_to_do(spark, any_service, tmp_path, options, message):
    with pytest.raises(Exception, match=message):
        Followed(spark, tmp_path).read(any_service, **options)
