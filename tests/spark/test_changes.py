"""Following a loop from Spark: put together, the changes are the answer, and a batch that is repeated has the same rows."""

import json
import shutil

import pytest

from tests.end_to_end.running import Service

pytestmark = pytest.mark.spark


@pytest.fixture
def service(tmp_path):
    with Service(tmp_path, "--store", f"lmdb://{tmp_path}/store") as running:
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
            had[number] = {row.vertex: row.value for row in frame.collect()}

        reader = self._spark.readStream.format("tornado").option("url", service.url).option("loop", "sssp")
        frame = reader.options(**options).load()
        assert frame.dtypes == [("vertex", "bigint"), ("value", "double")]
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


def answer(service):
    return {row["vertex"]: row["value"] for row in service.ask()["result"]["values"]}


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


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"since": "yesterday"}, "since is 'yesterday' but must be beginning, now, or the version"),
        ({"since": "77"}, "no stored snapshot of that version"),
        ({"vertices": "1"}, "Leave them out, and filter the stream"),
    ],
)
def test_a_mistake_is_an_error_that_says_what_to_do(spark, service, tmp_path, options, message):
    with pytest.raises(Exception, match=message):
        Followed(spark, tmp_path).read(service, **options)
