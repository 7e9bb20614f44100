"""What watching costs a service: the time of its processors, while somebody watches and while nobody does, by turns."""

import threading
import time

import httpx
import psutil
import pytest

from tests.end_to_end.running import Service
from tests.end_to_end.test_page import town

LOOPS = 50
TURN_S = 12
ALLOWED = 0.01  # of a core, beside which admission has the rest


class Watching:
    """Somebody who reads events until it is told to stop."""

    def __init__(self, url):
        self.heard = 0
        self._stream = httpx.stream("GET", f"{url}/v1/observations/events", timeout=30)
        self._stops = threading.Event()
        self._thread = threading.Thread(target=self._read, daemon=True)

    def __enter__(self):
        self._thread.start()
        return self

    def _read(self):
        with self._stream as answer:
            for line in answer.iter_lines():
                self.heard += line == "event: now"
                if self._stops.is_set():
                    return

    def __exit__(self, *_):
        self._stops.set()
        self._thread.join()


def used_s(pid):
    """The processor time of a service and all its workers."""
    service = psutil.Process(pid)
    return sum(sum(one.cpu_times()[:2]) for one in [service, *service.children(recursive=True)])


def share_of(pid):
    before, began_s = used_s(pid), time.monotonic()
    time.sleep(TURN_S)
    return (used_s(pid) - before) / (time.monotonic() - began_s)


@pytest.mark.soak
@pytest.mark.parametrize("loops", [1, LOOPS])
def test_watching_takes_less_than_a_hundredth_of_a_core(tmp_path, loops, capsys):
    with Service(tmp_path, "--engine", "processes", "--workers", "2") as service:
        service.push(town(300))
        for number in range(1, loops):
            body = {
                "program": "sssp",
                "name": f"from-{number}",
                "stream": "sssp",
                "parameters": {"source": number},
            }
            assert service.client.post("/v1/loops", json=body).status_code in {200, 201}
        service.ask(vertices=[5])
        costs = []
        for _ in range(3):
            alone = share_of(service.pid)
            with Watching(service.url) as watching:
                costs.append(share_of(service.pid) - alone)
            assert watching.heard >= 2
    with capsys.disabled():
        print(f"\nwatching {loops} loops: {', '.join(f'{100 * one:.2f} %' for one in costs)} of a core")
    assert sorted(costs)[1] < ALLOWED, costs
