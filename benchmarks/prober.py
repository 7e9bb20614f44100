"""The clients of `checkpoints.py`, in a process of their own so that they share no interpreter with the service.

Reads what to do as one line of JSON from standard input, then asks for health and for exact answers, each over a connection of its
own and again and again, until standard input ends; writes latencies and failures as JSON to standard output.
"""

from __future__ import annotations

import http.client
import json
import random
import sys
import threading
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

_HEALTH_EVERY_S = 0.02
_QUERY_EVERY_S = 0.25
# A service that says nothing for so long has failed; the time counts as a latency all the same.
_GIVE_UP_S = 60.0
_KEPT_FAILURES = 5


class Prober:
    """Asks one thing again and again over a kept connection, and keeps how long each answer took.

    Parameters
    ----------
    url : str
        The service.
    every_s : float
        The pause between an answer and the next question.
    request : callable
        Gives method, path and body of a question.
    fits : callable
        Whether a status and a body are what was asked for.
    """

    def __init__(
        self,
        url: str,
        every_s: float,
        request: Callable[[], tuple[str, str, str | None]],
        fits: Callable[[int, bytes], bool],
    ) -> None:
        self._address = urlsplit(url)
        self._every_s = every_s
        self._request = request
        self._fits = fits
        self._connection = self._connected()
        self.seconds: list[float] = []
        self.failed = 0
        self.failures: list[str] = []

    def run(self, stop: threading.Event) -> None:
        """Ask until told to stop."""
        while not stop.is_set():
            began_s = time.perf_counter()
            try:
                said = self._asked()
            except (OSError, http.client.HTTPException) as error:
                said = f"{type(error).__name__}: {error}"
                self._connection.close()
                self._connection = self._connected()
            self.seconds.append(time.perf_counter() - began_s)
            if said is not None:
                self.failed += 1
                self.failures = [*self.failures, said][:_KEPT_FAILURES]
            stop.wait(self._every_s)
        self._connection.close()

    def _asked(self) -> str | None:
        """Ask once; return what was said where it does not fit."""
        method, path, body = self._request()
        headers = {} if body is None else {"Content-Type": "application/json"}
        self._connection.request(method, path, body, headers)
        response = self._connection.getresponse()
        content = response.read()
        if self._fits(response.status, content):
            return None
        return f"{response.status} {content[:200].decode(errors='replace')}"

    def _connected(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection(
            self._address.hostname or "127.0.0.1", self._address.port, timeout=_GIVE_UP_S
        )


def main() -> int:
    """Probe as standard input says."""
    task: dict[str, Any] = json.loads(sys.stdin.readline())
    chance = random.Random(task["seed"])

    def question() -> tuple[str, str, str]:
        vertices = chance.sample(task["vertices"], min(10, len(task["vertices"])))
        body = {"loop": task["loop"], "vertices": vertices, "deadline_s": _GIVE_UP_S - 10}
        return "POST", f"/v1/queries?wait_s={_GIVE_UP_S - 5:g}", json.dumps(body)

    def answered(status: int, content: bytes) -> bool:
        return status == 200 and json.loads(content)["state"] == "converged"

    probers = {
        "health": Prober(
            task["url"], _HEALTH_EVERY_S, lambda: ("GET", "/healthz", None), lambda status, _: status == 200
        ),
        "query": Prober(task["url"], _QUERY_EVERY_S, question, answered),
    }
    stop = threading.Event()
    threads = [threading.Thread(target=prober.run, args=(stop,)) for prober in probers.values()]
    for thread in threads:
        thread.start()
    sys.stdin.read()
    stop.set()
    for thread in threads:
        thread.join()
    found = {
        name: {"seconds": prober.seconds, "failed": prober.failed, "failures": prober.failures}
        for name, prober in probers.items()
    }
    json.dump(found, sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main())
