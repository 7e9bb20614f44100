"""A table of the newest exact answer in a real PostgreSQL, as somebody reads it who joins it with tables of his own."""

import math

import numpy as np
import psycopg2
import pytest

from tests.end_to_end.running import Service
from tests.end_to_end.test_recovery import eventually, streams, write_lines
from tests.end_to_end.test_service import ndjson
from tornado.records.edge_batch import EdgeBatch
from tornado.testing import EdgeHistory, exact_distances

RENEWED_WITHIN_S = 3.0


class Reader:
    """Reads the tables of a database."""

    def __init__(self, url, name="paths"):
        self.url, self.name = f"{url}/{name}", name
        self._database = url

    def rows(self, statement):
        connection = psycopg2.connect(self._database)
        try:
            with connection.cursor() as cursor:
                cursor.execute(statement)
                return cursor.fetchall()
        finally:
            connection.close()

    def one(self):
        """The table and the newest row of what it is the answer to, as one transaction sees them."""
        ((values, newest),) = self.rows(
            f"SELECT (SELECT jsonb_agg(jsonb_build_array(vertex, value) ORDER BY vertex) FROM {self.name}),"
            f" (SELECT to_jsonb(s) FROM {self.name}_snapshots AS s ORDER BY number DESC LIMIT 1)"
        )
        return values, newest

    def judge(self, file, pushed):
        """The table is the exact answer for the offsets beside it; return these."""
        values, newest = self.one()
        offsets = newest["offsets"]
        assert newest["certificate"] == {"kind": "exact"}
        records = EdgeBatch.concat(
            [file.slice(0, offsets.get("roads.csv", 0)), pushed.slice(0, offsets.get("http", 0))]
        )
        ids = np.unique(np.concatenate([records.src, records.dst]))
        assert [vertex for vertex, _ in values] == ids.tolist()
        assert newest["vertices"] == len(ids)
        found = [math.inf if value is None else value for _, value in values]
        assert found == exact_distances(EdgeHistory.of(records).at(len(records)), 1).lookup(ids).tolist()
        return offsets

    def eventually(self, file, pushed, offsets, timeout_s=RENEWED_WITHIN_S + 1):
        """It comes to this prefix in time: a checkpoint may be a moment away."""
        eventually(lambda: self._offsets() == offsets, timeout_s)
        assert self.judge(file, pushed) == offsets

    def _offsets(self):
        newest = self.one()[1]
        return newest and newest["offsets"]


@pytest.fixture
def table(postgres_url):
    return Reader(postgres_url)


@pytest.fixture
def roads(tmp_path):
    """A file of roads, edges to push, and the options of a service that reads the file."""
    file, pushed = streams(2000, seed=11)
    path = tmp_path / "roads.csv"
    write_lines(path, file)
    return (
        file,
        pushed,
        ["--edges", path, "--store", f"lmdb://{tmp_path}/store", "--checkpoint-every", "200ms"],
    )


def push(service, pushed, begin, end):
    response = service.push(ndjson(pushed.slice(begin, end)))
    assert response.status_code == 202, response.text


def test_a_table_is_the_exact_answer_after_every_change(tmp_path, table, roads):
    file, pushed, options = roads
    with Service(tmp_path, *options, "--results", table.url) as service:
        service.wait_for("input-ended")
        table.eventually(file, pushed, {"roads.csv": len(file)}, timeout_s=30)
        for end in range(300, 6001, 1900):  # removals among them
            push(service, pushed, max(end - 1900, 0), end)
            table.eventually(file, pushed, {"roads.csv": len(file), "http": end})
        versions = {version for (version,) in table.rows("SELECT DISTINCT version FROM paths")}
        noted = table.rows("SELECT version, changed, removed FROM paths_snapshots ORDER BY number")
        assert versions <= {version for version, _, _ in noted}
        assert len(versions) > 2  # who did not change has the version of old
        assert sorted(version for version, _, _ in noted) == [version for version, _, _ in noted]
