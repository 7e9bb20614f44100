"""A service that learns from points on a durable store and is killed: files go on from their offsets, and what was pushed is there."""

import json
import random
import signal
import threading
import time

import httpx
import numpy as np
import pytest

from tests.end_to_end.running import Service
from tornado.storage import open_store

COUNT = 60_000
APP = ["linear_regression", "--l2", "0.1", "--tolerance", "1e-9"]
BATCH = 40


def features_of(ids):
    ids = np.asarray(ids, np.int64)
    return np.column_stack([(ids * 37 % 101) / 101, (ids * 53 % 97) / 97 - 0.5])


def labels_of(ids):
    return features_of(ids) @ [2.0, -3.0] + (np.asarray(ids) % 13) / 13


def write_points(path, count):
    with path.open("w") as file:
        file.write("id,a,b,label\n")
        features = features_of(range(count))
        for number, (row, label) in enumerate(zip(features, labels_of(range(count)), strict=True)):
            file.write(
                f"{number},{row[0]!r},{row[1]!r},{label!r}\n".replace("np.float64(", "").replace(")", "")
            )


def pushed(number):
    """A point that is pushed: first those that come are new, and then each removes or replaces one that was pushed."""
    id_ = COUNT + (number if number % 4 < 2 else number - 2)
    if number % 4 == 2:
        return {"id": id_, "op": "-"}
    features = features_of([id_ + (number % 4 == 3)])[0].tolist()
    return {
        "id": id_,
        "op": "=" if number % 4 == 3 else "+",
        "features": features,
        "label": float(number % 5),
    }


def expected(file, http):
    """The weights of the regression of the first records of the file and of what was pushed."""
    live = {
        id_: (*row, label)
        for id_, row, label in zip(range(file), features_of(range(file)), labels_of(range(file)), strict=True)
    }
    for number in range(http):
        point = pushed(number)
        live.pop(point["id"], None)
        if point["op"] != "-":
            live[point["id"]] = (*point["features"], point["label"])
    if not live:
        return [0.0, 0.0, 0.0]
    rows = np.array(list(live.values()))
    columns = np.column_stack([np.ones(len(rows)), rows[:, :2]])
    left = columns.T @ columns / len(rows) + np.diag([0.0, 0.1, 0.1])
    return np.linalg.solve(left, columns.T @ rows[:, 2] / len(rows)).tolist()


class Sender:
    """Pushes on from where the loop is until the connection breaks; knows what was acknowledged."""

    def __init__(self, service, upto):
        self.acknowledged = 0
        self._service, self._upto = service, upto
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self):
        lines, at = "", 0  # nothing, to hear where it is
        while at < self._upto:
            try:
                response = self._service.client.post(
                    "/v1/loops/linear_regression/points",
                    content=lines,
                    headers={"content-type": "application/x-ndjson"},
                )
            except httpx.TransportError:
                return
            if response.status_code == 429:
                time.sleep(0.01)
                continue
            assert response.status_code in {200, 202}, response.text
            at = self.acknowledged = response.json()["offsets"]["http"]
            lines = "".join(
                json.dumps(pushed(number)) + "\n" for number in range(at, min(at + BATCH, self._upto))
            )

    def join(self):
        self._thread.join()


def judge(service):
    found = service.client.post("/v1/queries?wait_s=60", json={"loop": "linear_regression"}).json()
    assert found["state"] == "converged", found
    offsets = found["snapshot"]["offsets"]
    values = {one["feature"]: one["value"] for one in found["result"]["values"]}
    wanted = expected(offsets.get("points.csv", 0), offsets.get("http", 0))
    assert [*values.values()] == pytest.approx(wanted, abs=2e-3), json.dumps(found)
    return offsets


@pytest.mark.parametrize("kills", [2, pytest.param(8, marks=pytest.mark.soak)])
def test_a_service_of_points_that_is_killed_loses_nothing_and_has_nothing_twice(tmp_path, kills):
    chance = random.Random(kills)
    path, url = tmp_path / "points.csv", f"lmdb://{tmp_path}/store"
    write_points(path, COUNT)
    options = ["--store", url, "--points", path, "--checkpoint-every", "20ms"]
    acknowledged, is_stored = 0, False
    for turn in range(kills):
        with Service(tmp_path, *options, "--workers", str(1 + turn % 2), app=APP) as service:
            sender = Sender(service, upto=100_000)
            time.sleep(chance.uniform(0.1, 0.8))
            if turn % 2:
                assert judge(service).get("http", 0) >= acknowledged
            service.signal(signal.SIGKILL)
            sender.join()
            acknowledged = max(acknowledged, sender.acknowledged)
        with open_store(url) as store:
            is_stored = is_stored or bool(store.versions("linear_regression"))
    with Service(tmp_path, *options, "--workers", "2", app=APP) as service:
        assert (service.restored is not None) == is_stored
        service.wait_for("input-ended")
        upto = acknowledged + BATCH + 200
        Sender(service, upto).join()
        assert judge(service) == {"http": upto, "points.csv": COUNT}


def test_files_of_points_and_texts_for_ids_are_gone_on_from(tmp_path):
    path, url = tmp_path / "points.csv", f"lmdb://{tmp_path}/store"
    path.write_text("id,a\nRome,1.0\nOslo,9.0\nBonn,1.5\n")
    options = ["--store", url, "--points", path, "--ids", "string"]
    app = ["kmeans", "--clusters", "2"]
    for turn in range(3):
        with Service(tmp_path, *options, "--workers", str(1 + turn % 2), app=app) as service:
            assert service.wait_for("input-ended")["records"] == (1 if turn else 3)
            found = service.client.post("/v1/queries?wait_s=60", json={"loop": "kmeans"}).json()
            where = f"/v1/queries/{found['id']}/result?table=assignments"
            names = {one["id"] for one in service.client.get(where).json()["values"]}
            assert names == {
                "Rome",
                "Oslo",
                "Bonn",
                *(f"new {one}" for one in range(turn)),
                *(f"pushed {one}" for one in range(turn)),
            }
            point = {"id": f"pushed {turn}", "features": [8.0 + turn]}
            assert service.client.post("/v1/loops/kmeans/points", json=point).json()["accepted"] == 1
            with path.open("a") as file:
                file.write(f"new {turn},{turn}.5\n")
            if turn:
                service.signal(signal.SIGKILL)
            else:
                assert service.signal(signal.SIGINT) == 130
