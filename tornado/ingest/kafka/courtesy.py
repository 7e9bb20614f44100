"""Where we are, told to the broker under the name of a group, so that the usual tools show the lag.

A courtesy and nothing else: nobody here reads it back, and whatever goes wrong with it is said and left at that. It has a
connection and a thread of its own, and joins no group, so no member that comes or goes there reaches the reading of records.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any, Final

from .library import KafkaAdminClient, KafkaError, OffsetAndMetadata, TopicPartition

_ANSWER_MS: Final = 2000
_FINISHING_S: Final = 3.0


class CourtesyCommits:
    """Tells the broker of offsets, one request at a time, always the newest.

    Parameters
    ----------
    settings : mapping
        As the client's process gets them.
    say : callable
        Takes what went wrong.
    """

    def __init__(self, settings: Mapping[str, Any], say: Callable[[str], None]) -> None:
        self._topic: str = settings["topic"]
        self._group: str = settings["group"]
        self._options = {
            "bootstrap_servers": settings["brokers"],
            "client_id": "tornado-loops",
            "bootstrap_timeout_ms": _ANSWER_MS,
            "request_timeout_ms": _ANSWER_MS,
            **settings["client"],
        }
        self._say = say
        self._changed = threading.Condition()
        self._wanted: Mapping[str, int] | None = None
        self._is_over = False
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def want(self, offsets: Mapping[str, int]) -> None:
        """Let the broker know of these offsets, by partition, as soon as it has heard of those before."""
        with self._changed:
            self._wanted = offsets
            self._changed.notify()

    def finish(self) -> None:
        """Wait a little for the broker to hear of the offsets that are wanted."""
        with self._changed:
            self._is_over = True
            self._changed.notify()
        self._thread.join(_FINISHING_S)

    def _run(self) -> None:
        admin: Any = None
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._wanted is not None or self._is_over)
                offsets, self._wanted = self._wanted, None
            if offsets is None:
                return
            try:
                admin = admin or KafkaAdminClient(**self._options)
                self._commit(admin, offsets)
            except (KafkaError, OSError) as error:
                self._say_failure(f"{type(error).__name__}: {error}")

    def _commit(self, admin: Any, offsets: Mapping[str, int]) -> None:
        places = {
            TopicPartition(self._topic, int(partition)): OffsetAndMetadata(offset, "", -1)
            for partition, offset in offsets.items()
        }
        for place, answer in admin.alter_group_offsets(self._group, places).items():
            if answer.errno:
                self._say_failure(f"partition {place.partition}: {answer.__name__}")
                return

    def _say_failure(self, reason: str) -> None:
        self._say(
            f"group {self._group} does not show where we are in {self._topic} ({reason}); reading goes on"
        )
