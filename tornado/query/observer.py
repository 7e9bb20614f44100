"""One sampler for whoever watches a service: it looks once, and everybody who listens gets the same bytes.

Two threads look: one at streams, loops and workers, at most once a second; one at the branches that run, somewhat more often, since they
may be through within a second. Guarantees: nobody waits for a listener, who misses what comes while it is busy but for the newest; a loop
or a branch that hangs keeps nothing else from being seen; a look takes at most a hundredth of the time until the next. Without listeners
it goes on slowly, so that who comes later sees what was before. Who may see some streams hears of these alone.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from threading import Condition, Thread
from typing import Any, Protocol

from ..errors import TornadoError
from .events import event
from .last_known import RUNNING
from .observation import branch_observed, frontiers_observed, observe, seen_of
from .question_log import QuestionLog
from .service import QueryService
from .time_line import Observed, TimeLine

NOW_EVERY_S = 1.0
UNWATCHED_EVERY_S = 5.0
BRANCHES_EVERY_S = 0.2
SHARE = 0.01  # of its time that a look may take
LONGEST_PAUSE_S = 5.0
ROWS = 900
BRANCH_ROWS = 2_000

NOW, BRANCHES = EVENTS = "now", "branches"

STREAM_COLUMNS = ("admitted", "not_read", "not_propagated")
LOOP_COLUMNS = ("residual", "pending", "iteration", "updates", "prepares", "memory_bytes", "waves")
WORKER_COLUMNS = ("applied", "waiting")
USE_COLUMNS = ("busy_s", "waited_s", "sent_bytes")
BRANCH_COLUMNS = ("residual", "iteration", "updates")


class Listener(Protocol):
    """Who is told of observations."""

    @property
    def streams(self) -> frozenset[str] | None:
        """Of which streams it may hear; None is all."""
        ...

    def heard(self, name: str, content: bytes) -> None:
        """Take an event as it goes over the line; from any thread, quick."""
        ...


class Observer:
    """See the module.

    Parameters
    ----------
    service : QueryService
        Which is observed.
    within_s : float
        How long loops may take to say how they stand.

    Attributes
    ----------
    questions : QuestionLog
        What was asked since the observer was made.
    loops, streams, workers, use, branches : TimeLine
        What was observed, by name. A worker is STREAM/NUMBER/LOSSES: those that took the place of others have names of their own. What
        workers cost is of no stream, and has names NUMBER/LOSSES.
    """

    def __init__(self, service: QueryService, *, within_s: float) -> None:
        self.questions = QuestionLog(service.clock)
        self.loops = TimeLine(LOOP_COLUMNS, most=ROWS)
        self.streams = TimeLine(STREAM_COLUMNS, most=ROWS)
        self.workers = TimeLine(WORKER_COLUMNS, most=ROWS)
        self.use = TimeLine(USE_COLUMNS, most=ROWS)
        self.branches = TimeLine(BRANCH_COLUMNS, most=BRANCH_ROWS)
        self._service = service
        self._within_s = within_s
        self._clock = service.clock
        self._changed = Condition()
        self._listeners: list[Listener] = []
        self._newest: dict[str, dict[str, Any]] = {}
        self._number = 0
        self._runs = False
        self._threads: list[Thread] = []
        service.add_listener(self.questions.note)

    def start(self) -> None:
        """Look from now on, until `stop`."""
        self._runs = True
        for name, run in ((NOW, self._observe), (BRANCHES, self._observe_branches)):
            # Daemons: a loop that hangs keeps no process from ending.
            thread = Thread(target=run, name=f"tornado-observer {name}", daemon=True)
            self._threads.append(thread)
            thread.start()

    def stop(self) -> None:
        """Look no more. Waits for nobody."""
        with self._changed:
            self._runs = False
            self._threads.clear()
            self._changed.notify_all()

    def add(self, listener: Listener) -> None:
        """Tell this one from now on, and at once what is known."""
        with self._changed:
            self._listeners.append(listener)
            for name, content in self._newest.items():
                listener.heard(name, event(name, self._seen(listener.streams, content)))
            self._changed.notify_all()

    def remove(self, listener: Listener) -> None:
        """Forget one."""
        with self._changed:
            if listener in self._listeners:
                self._listeners.remove(listener)

    @property
    def listeners(self) -> int:
        """How many listen."""
        return len(self._listeners)

    def newest(self, streams: frozenset[str] | None = None) -> dict[str, Any]:
        """Look now and return it, of these streams (None: of all); for who wants one observation and no stream of them."""
        found = observe(self._service, self._within_s) | {"time": self._clock.now().timestamp()}
        return self._seen(streams, found | {"questions": self.questions.ended(None)})

    def frontiers_of(self, observation: dict[str, Any]) -> list[dict[str, Any]]:
        """Look who holds back the loops that have work in an observation, and the branches that run."""
        return frontiers_observed(self._service, observation)

    def _observe(self) -> None:
        while self._is_running():
            began_s, took_s = self._clock.monotonic(), time.thread_time()
            all_answer = False
            with suppress(TornadoError):  # a loop or stream ended in the middle of it: the next look is whole
                found = self.newest()
                all_answer = all(one["state"] == RUNNING for one in found["loops"])
                self._publish(NOW, self._noted(found))
            # Other threads ask the loops, so all of the time counts; but for what was spent in waiting for one that hangs.
            took_s = self._clock.monotonic() - began_s if all_answer else time.thread_time() - took_s
            self._pause(began_s, took_s, lambda: NOW_EVERY_S if self._listeners else UNWATCHED_EVERY_S)

    def _observe_branches(self) -> None:
        had_some = False
        while self._is_running():
            began_s, took_s = self._clock.monotonic(), time.thread_time()
            running = [query for query in self._service.queries() if query.branch is not None]
            found = []
            for query in running:
                with suppress(TornadoError):
                    query.status()  # asks its workers, which others then show
                    found.append(branch_observed(query))
            if found:
                self.branches.add(
                    self._clock.now().timestamp(),
                    {
                        Observed(f"{one['loop']}/{one['id']}", one["stream"]): [
                            one[key] for key in BRANCH_COLUMNS
                        ]
                        for one in found
                    },
                )
            if found or had_some:
                self._publish(BRANCHES, {"branches": found})
            had_some = bool(found)
            took_s = time.thread_time() - took_s
            self._pause(began_s, took_s, lambda: BRANCHES_EVERY_S if self._listeners else NOW_EVERY_S)

    def _is_running(self) -> bool:
        return self._runs

    def _pause(self, began_s: float, took_s: float, every_s: Callable[[], float]) -> None:
        least_s = min(took_s / SHARE, LONGEST_PAUSE_S)
        with self._changed:
            # The end is another one once somebody listens.
            while self._runs and self._clock.monotonic() < (until_s := began_s + max(least_s, every_s())):
                self._clock.wait(self._changed, until_s)

    def _seen(self, streams: frozenset[str] | None, content: dict[str, Any]) -> dict[str, Any]:
        seen = seen_of(streams, content)
        if streams is not None and "questions" in seen:
            seen["questions"] = self.questions.ended(streams)
        return seen

    def _noted(self, found: dict[str, Any]) -> dict[str, Any]:
        """Put an observation on the time lines."""
        at = found["time"]
        self.streams.add(
            at,
            {
                Observed(one["name"], one["name"]): [one[key] for key in STREAM_COLUMNS]
                for one in found["streams"]
            },
        )
        self.loops.add(
            at,
            {
                Observed(one["name"], one["stream"]): [one[key] for key in LOOP_COLUMNS]
                for one in found["loops"]
            },
        )
        restarts = {one["stream"]: one["restarts"] or 0 for one in found["loops"]}
        self.workers.add(
            at,
            {
                Observed(f"{one['name']}/{worker}/{restarts.get(one['name'], 0)}", one["name"]): [
                    applied,
                    waiting,
                ]
                for one in found["streams"]
                for worker, (applied, waiting) in enumerate(zip(one["applied"], one["waiting"], strict=False))
            },
        )
        losses = max(restarts.values(), default=0)
        self.use.add(
            at,
            {
                Observed(f"{worker}/{losses}", ""): [use[key] for key in USE_COLUMNS]
                for worker, use in enumerate(found["workers"])
            },
        )
        return found

    def _publish(self, name: str, content: dict[str, Any]) -> None:
        with self._changed:
            self._number += 1
            self._newest[name] = numbered = content | {"number": self._number}
            listeners = list(self._listeners)
        told: dict[frozenset[str] | None, bytes] = {}  # the same bytes for all who may see the same
        for listener in listeners:
            if listener.streams not in told:
                told[listener.streams] = event(name, self._seen(listener.streams, numbered))
            listener.heard(name, told[listener.streams])
