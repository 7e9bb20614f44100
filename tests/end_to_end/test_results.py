"""A table of the newest exact answer in a real PostgreSQL, as somebody reads it who joins it with tables of his own."""

import math
import random
import signal
import string
import time

import numpy as np
import psycopg2
import pytest

from tests.end_to_end.running import NDJSON, Service, run, run_here, told
from tests.end_to_end.test_recovery import eventually, streams, write_lines
from tests.end_to_end.test_service import ndjson
from tests.postgres_server import PASSWORD
from tests.promised import within
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

    def eventually(self, file, pushed, offsets):
        """It comes to this prefix."""
        eventually(lambda: self._offsets() == offsets)
        assert self.judge(file, pushed) == offsets

    def _offsets(self):
        try:
            newest = self.one()[1]
        except psycopg2.errors.UndefinedTable:
            return None
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
        table.eventually(file, pushed, {"roads.csv": len(file)})
        took_s = []
        for end in range(300, 6001, 1900):  # removals among them
            began_s = time.monotonic()
            push(service, pushed, max(end - 1900, 0), end)
            table.eventually(file, pushed, {"roads.csv": len(file), "http": end})
            took_s.append(time.monotonic() - began_s)
        # A checkpoint may be a moment away, and what a machine does meanwhile adds to it.
        assert min(took_s) < within(RENEWED_WITHIN_S + 1), took_s
        versions = {version for (version,) in table.rows("SELECT DISTINCT version FROM paths")}
        noted = table.rows("SELECT version, changed, removed FROM paths_snapshots ORDER BY number")
        assert versions <= {version for version, _, _ in noted}
        assert len(versions) > 2  # who did not change has the version of old
        assert sorted(version for version, _, _ in noted) == [version for version, _, _ in noted]


def test_a_server_that_is_away_stops_nothing_and_gets_the_newest_answer_when_it_is_back(
    tmp_path, postgres_server, table, roads
):
    file, pushed, options = roads
    with Service(tmp_path, *options, "--results", table.url) as service:
        service.wait_for("input-ended")
        table.eventually(file, pushed, {"roads.csv": len(file)})
        postgres_server.stop()
        try:
            push(service, pushed, 0, 3000)
            said = service.wait_for("error")
            assert (said["code"], "could not" in said["message"]) == ("store-unreachable", True)
            assert service.ask()["snapshot"]["offsets"]["http"] == 3000
            eventually(lambda: service.metric("tornado_results_failures_total") >= 2)
            kept = service.look("/v1/loops/sssp").json()["results"]
            assert "could not" in kept["last_error"]
            assert kept["version"] < service.look("/v1/loops/sssp").json()["version"]
            push(service, pushed, 3000, 6000)
            shown = service.client.get("/metrics").text + service.client.get("/v1/loops").text
        finally:
            postgres_server.start()
        table.eventually(file, pushed, {"roads.csv": len(file), "http": 6000})
        eventually(lambda: service.look("/v1/loops/sssp").json()["results"]["last_error"] is None)
        shown += service.client.get("/metrics").text + service.client.get("/v1/loops").text
        service.signal(signal.SIGKILL)
        shown += "".join(map(str, [said, *service.events()]))
        assert PASSWORD not in shown
        assert table.url not in shown
    # It was killed, and another one goes on with the table; what nobody pushed again is there.
    with Service(tmp_path, *options, "--results", table.url) as service:
        service.wait_for("input-ended")
        push(service, pushed, 0, 100)
        eventually(lambda: table.one()[1]["offsets"]["http"] == 6100)


def test_a_service_starts_while_the_server_is_away_and_fills_the_table_later(
    tmp_path, postgres_server, table, roads
):
    file, pushed, options = roads
    postgres_server.stop()
    try:
        with Service(tmp_path, *options, "--results", table.url) as service:
            service.wait_for("input-ended")
            assert service.client.get("/readyz").status_code == 200
            eventually(lambda: service.metric("tornado_results_failures_total") >= 2)
            postgres_server.start()
            table.eventually(file, pushed, {"roads.csv": len(file)})
            assert service.signal(signal.SIGTERM) != 0
    finally:
        postgres_server.stop()
        postgres_server.start()


def test_a_run_that_ends_leaves_the_answer_to_all_it_read(tmp_path, table, roads):
    file, pushed, (*options, _, _) = roads
    code, events = run(tmp_path, *options, "--results", table.url)
    assert code == 0, events
    assert table.judge(file, pushed) == {"roads.csv": len(file)}
    code, events = run(
        tmp_path, *options, "--results", table.url, "--output", tmp_path / "paths.csv", source=5
    )
    assert code == 0, events
    written = (tmp_path / "paths.csv").read_text().splitlines()[1:]
    kept = table.rows("SELECT vertex || ',' || coalesce(value::text, '') FROM paths ORDER BY vertex")
    assert [line.removesuffix(".0") for line in written] == [line for (line,) in kept]


# Too long for an index, and it does not compress.
NO_ENTRY = "".join(random.Random(7).choices(string.ascii_letters, k=3000))


def test_each_loop_has_a_table_and_names_stay_names(tmp_path, postgres_url):
    path = tmp_path / "roads.csv"
    path.write_text("src,dst,weight\nAyr,Bath,3\nBath,Cork,1.5\nDeal,Ely,2\n" + f"Cork,{NO_ENTRY},1\n")
    code, _, said = told(
        tmp_path,
        *["run", "connected_components", "--name", "towns", "--and", "sssp", "--source", "Ayr"],
        *["--edges", path, "--ids", "string", "--undirected"],
        *["--results", f"{postgres_url}/of_{{loop}}"],
    )
    assert code == 0, said
    rows = Reader(postgres_url).rows
    assert rows("SELECT vertex, value FROM of_sssp ORDER BY vertex") == [
        ("Ayr", 0.0),
        ("Bath", 3.0),
        ("Cork", 4.5),
        ("Deal", None),
        ("Ely", None),
    ]
    joined = rows(
        "SELECT array_agg(vertex ORDER BY vertex) FROM of_towns JOIN of_sssp USING (vertex)"
        " GROUP BY of_towns.value ORDER BY 1"
    )
    assert joined == [(["Ayr", "Bath", "Cork"],), (["Deal", "Ely"],)]
    assert rows("SELECT DISTINCT value FROM of_towns WHERE vertex < 'D'")[0][0] in {"Ayr", "Bath", "Cork"}


@pytest.mark.parametrize(
    ("database", "said", "code"),
    [
        ({"password": "wr0ng"}, "password authentication failed", "store-locked"),
        ({"database": "nowhere"}, "does not exist", "store-locked"),
        ({"table": "theirs"}, "is no table of these results", "invalid-argument"),
        ({"table": ""}, "names no table", "invalid-argument"),
    ],
)
def test_a_table_that_cannot_be_had_ends_a_run_before_it_reads(
    tmp_path, postgres_server, postgres_url, roads, database, said, code
):
    _, _, options = roads
    name = postgres_url.rpartition("/")[2]
    postgres_server.execute("CREATE TABLE theirs (vertex bigint PRIMARY KEY, mine text)", name)
    table = database.pop("table", "paths")
    url = postgres_server.url(**({"database": name} | database))
    ended, events = run_here(tmp_path, *options, "--results", f"{url}/{table}")
    assert ended in {1, 2}
    assert (events[-1]["event"], events[-1]["code"]) == ("error", code)
    assert said in events[-1]["message"]
    assert not {"input-ended", "ready"} & {event["event"] for event in events}
    for secret in (PASSWORD, "wr0ng"):
        assert secret not in str(events)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--store", "memory:"], "is renewed after each checkpoint, and there are none"),
        (["--checkpoint-every", "off"], "is renewed after each checkpoint, and there are none"),
        (["--and", "bfs", "--source", "1"], "names one table for several loops"),
    ],
)
def test_results_that_cannot_be_kept_are_refused(tmp_path, roads, options, said):
    _, _, (edges, path, *_) = roads
    code, events = run_here(
        tmp_path, *options, edges, path, "--results", f"postgresql://ann:{PASSWORD}@127.0.0.1:9/loops/paths"
    )
    assert (code, events[-1]["code"]) == (2, "invalid-argument")
    assert said in events[-1]["message"]
    assert PASSWORD not in str(events)


def test_who_learns_has_no_table_of_vertices(tmp_path):
    path = tmp_path / "points.csv"
    path.write_text("a,b,label\n1,2,1\n2,1,-1\n")
    code, _, said = told(
        tmp_path,
        *["run", "svm", "--points", path, "--json", "--store", f"lmdb://{tmp_path}/store"],
        *["--results", "postgresql://127.0.0.1:9/loops/model"],
    )
    assert code == 2
    assert "learns from points, and results are kept of loops that have a value for each vertex" in said


def test_vertices_that_are_no_more_go_and_a_service_that_ends_leaves_its_last_answer(tmp_path, table, roads):
    file, pushed, options = roads
    code, events = run(tmp_path, *options, "--results", table.url)
    assert code == 0, events
    assert table.judge(file, pushed) == {"roads.csv": len(file)}
    # Another stream begins, of a part of the roads.
    fewer = file.slice(0, 700)
    path = tmp_path / "fewer" / "roads.csv"
    path.parent.mkdir()
    write_lines(path, fewer)
    options = ["--edges", path, "--store", f"lmdb://{tmp_path}/other", "--checkpoint-every", "1h"]
    with Service(tmp_path, *options, "--results", table.url) as service:
        service.wait_for("input-ended")
        push(service, pushed, 0, 50)
        assert service.signal(signal.SIGINT) == 130  # the only checkpoint
    assert table.judge(fewer, pushed) == {"roads.csv": len(fewer), "http": 50}
    ((removed,),) = table.rows("SELECT removed FROM paths_snapshots ORDER BY number DESC LIMIT 1")
    assert removed > 0


def test_a_table_outlives_a_rescale_and_stays_when_its_loop_is_removed(tmp_path, table, roads):
    file, pushed, options = roads
    with Service(tmp_path, *options, "--results", table.url) as service:
        service.wait_for("input-ended")
        moved = service.client.post("/v1/streams/sssp/rescale", json={"workers": 2})
        assert moved.status_code == 200, moved.text
        push(service, pushed, 0, 3000)
        table.eventually(file, pushed, {"roads.csv": len(file), "http": 3000})
        body = {"program": "bfs", "stream": "sssp", "name": "hops", "parameters": {"source": 1}}
        assert service.client.post("/v1/loops", json=body, timeout=120).status_code == 201
        assert service.look("/v1/loops/hops").json()["results"] is None
        assert service.client.delete("/v1/loops/sssp").status_code == 204
        assert "tornado_results_rows{" not in service.look("/metrics").text
        push_on = service.post("/v1/streams/sssp/edges", ndjson(pushed.slice(3000, 3100)), NDJSON)
        assert push_on.status_code == 202
        eventually(lambda: service.metric("tornado_checkpoint_version") > table.one()[1]["version"])
        assert service.signal(signal.SIGINT) == 130
    assert table.judge(file, pushed) == {"roads.csv": len(file), "http": 3000}
