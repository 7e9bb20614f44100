"""A store copied while a service runs on it and is pushed to: another service goes on from the copy, exactly."""

import itertools
import json
import threading

import pytest

from tests.end_to_end.running import Service, told
from tests.end_to_end.test_postgres import push_on
from tests.end_to_end.test_recovery import judge, streams, write_lines
from tests.postgres_server import PASSWORD

PUSHED = 4000


@pytest.mark.parametrize(("kind", "other"), list(itertools.product(["lmdb", "postgres"], repeat=2)))
def test_a_service_on_a_copy_answers_as_the_oracle_for_the_prefix_it_names(
    kind, other, tmp_path, postgres_server, postgres_url
):
    file, pushed = streams(20_000, seed=3)
    path = tmp_path / "roads.csv"
    write_lines(path, file)
    store = f"lmdb://{tmp_path}/store" if kind == "lmdb" else postgres_url
    if other == "postgres":
        postgres_server.execute("CREATE DATABASE copies")
    to = f"lmdb://{tmp_path}/copy" if other == "lmdb" else postgres_server.url("copies")
    options = ["--edges", path, "--checkpoint-every", "50ms"]
    try:
        with Service(tmp_path, "--store", store, *options) as service:
            push_on(service, pushed, upto=200)
            pusher = threading.Thread(target=push_on, args=(service, pushed), kwargs={"upto": PUSHED})
            pusher.start()
            before = service.push("").json()["offsets"]["http"]
            code, out, said = told(tmp_path, "backup", store, to, "--json")
            assert code == 0, said
            after = service.push("").json()["offsets"]["http"]
            assert json.loads(out)["versions"] > 0 and PASSWORD not in out + said
            pusher.join()
            assert judge(service, file, pushed)["http"] == PUSHED  # nobody was disturbed
        with Service(tmp_path, "--store", to, *options) as service:
            service.wait_for("input-ended")
            offsets = judge(service, file, pushed)
            assert before <= offsets["http"] <= after
            assert offsets["roads.csv"] == len(file)
            push_on(service, pushed, upto=PUSHED)
            assert judge(service, file, pushed)["http"] == PUSHED
    finally:
        postgres_server.execute("DROP DATABASE IF EXISTS copies WITH (FORCE)")
