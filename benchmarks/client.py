"""The clients of `queries.py`, in a process of their own so that they share no interpreter with the server.

Reads what to do as JSON from standard input and writes latencies and some answers as JSON to standard output. The standard
library's plain client on a kept connection: nothing on this side that a user's own client would not have.
"""

from __future__ import annotations

import http.client
import json
import random
import sys
import threading
import time
from typing import Any
from urllib.parse import urlsplit

_KEPT_ANSWERS = 64


class Client:
    """Asks for ten vertices at a time over one connection.

    Parameters
    ----------
    task : dict
        ``url``, ``loop``, ``vertices`` to choose from, and ``seed``.
    number : int
        Which of the clients this is.
    """

    def __init__(self, task: dict[str, Any], number: int) -> None:
        address = urlsplit(task["url"])
        self._connection = http.client.HTTPConnection(
            address.hostname or "127.0.0.1", address.port, timeout=60
        )
        self._chance = random.Random(task["seed"] * 1_000 + number)
        self._task = task
        self.seconds: list[float] = []
        self.answers: list[dict[str, Any]] = []
        self.error: Exception | None = None

    def ask(self) -> None:
        """Ask once: the time from before the request is written until the answer is parsed counts."""
        vertices = self._chance.sample(self._task["vertices"], min(10, len(self._task["vertices"])))
        question = {"loop": self._task["loop"], "mode": "exact", "vertices": vertices, "deadline_s": 50}
        start = time.perf_counter()
        body = json.dumps(question)
        self._connection.request(
            "POST", "/v1/queries?wait_s=55", body=body, headers={"Content-Type": "application/json"}
        )
        response = self._connection.getresponse()
        answer = json.loads(response.read())
        self.seconds.append(time.perf_counter() - start)
        if response.status != 200 or answer.get("state") != "converged":
            raise RuntimeError(f"{response.status} {answer}")
        if len(answer["result"]["values"]) != len(vertices):
            raise RuntimeError(f"asked for {vertices}, got {answer['result']}")
        if len(self.answers) < _KEPT_ANSWERS or self._chance.random() < 0.1:
            self.answers.append(
                {"offsets": answer["snapshot"]["offsets"], "values": answer["result"]["values"]}
            )

    def run(
        self, *, count: int | None, end: float, barrier: threading.Barrier | None, pause_s: float
    ) -> None:
        """Ask until `count` answers are there or the time is up; with a barrier, all clients at the same instant."""
        try:
            while time.perf_counter() < end and (count is None or len(self.seconds) < count):
                if barrier is not None:
                    barrier.wait()
                self.ask()
                if pause_s:
                    time.sleep(pause_s)
        except threading.BrokenBarrierError:
            # Another client ended first: the last burst is not a full one.
            pass
        except Exception as error:  # noqa: BLE001  # reported by the main thread
            self.error = error
        finally:
            if barrier is not None:
                barrier.abort()


def main() -> int:
    """Run the clients that standard input describes."""
    task = json.load(sys.stdin)
    clients = [Client(task, number) for number in range(task["clients"])]
    # The first answer pays for the connection and for what the server loads lazily.
    for client in clients:
        client.ask()
        client.seconds.clear()
    pause_s = task.get("pause_s", 0.0)
    barrier = threading.Barrier(len(clients)) if pause_s else None
    end = time.perf_counter() + task.get("duration_s", task["limit_s"])
    how = {"count": task.get("count"), "end": end, "barrier": barrier, "pause_s": pause_s}
    threads = [threading.Thread(target=client.run, kwargs=how) for client in clients]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for client in clients:
        if client.error is not None:
            print(client.error, file=sys.stderr)
            return 1
    seconds = [second for client in clients for second in client.seconds]
    answers = [answer for client in clients for answer in client.answers]
    json.dump({"seconds": seconds, "answers": answers}, sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main())
