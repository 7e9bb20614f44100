"""The ingester of a topic: chunks of the client, decoded and admitted under (topic:partition, next offset).

One thread takes what the client hands over, in order: rejected records go to the quarantine, the others to the loop, then the
client hears that the chunk is in. Where the loop lags, `admit` waits, the client is not told, and pauses its partitions.

Guarantees: the next offset of every partition is the loop's own, so each record is in once, however often it is delivered; a
client that dies or falls silent is replaced, and the new one begins at those offsets. What was written to the quarantine and not
yet passed over may be written there a second time.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final

from ...errors import ConnectionLost, InvalidArgument, QueueFull, SourceLost, TornadoError
from ..ingester import Admitting, Check, IngesterState, IngesterStatistics
from ..interner import Interner
from ..quarantine import Quarantine
from ..records import EdgeBatch
from .decoding import Chunk, Decoder
from .process import ClientProcess
from .settings import KafkaSettings, source_name
from .wire import Frame

_POLL_S: Final = 0.1
_SILENCE_LIMIT_S: Final = 20.0
_RATE_WINDOW_S: Final = 5.0
_CRASHES_LIMIT: Final = 5
_FIRST_PAUSE_S: Final = 0.1
_SOUND_S: Final = 30.0


class _Partition:
    """Where one partition is; guarded by the ingester's lock."""

    def __init__(self, offset: int) -> None:
        self.next = offset
        self.end: int | None = None
        self.stop_at: int | None = None
        self.records = self.rejected = self.edges = 0
        self.recent: deque[tuple[float, int]] = deque()


class KafkaIngester:
    """Pumps a topic into a loop.

    Parameters
    ----------
    loop : Admitting
        Where records go; its offsets say where to begin.
    settings : KafkaSettings
        The topic.
    quarantine : Quarantine
        Where rejected records go; stays the caller's.
    check : callable, optional
        The program's own rule (`VertexProgram.check`).
    interner : Interner, optional
        Ids are strings and become numbers here.
    until_end : bool
        Whether to finish at the ends that the partitions have when reading begins; otherwise it goes on for ever.
    clock : callable
        Seconds, for rates only.
    """

    def __init__(
        self,
        loop: Admitting,
        settings: KafkaSettings,
        quarantine: Quarantine,
        *,
        check: Check | None = None,
        interner: Interner | None = None,
        until_end: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._loop = loop
        self._settings = settings
        self._quarantine = quarantine
        self._check = check
        self._decoder = Decoder(settings, interner=interner)
        self._until_end = until_end
        self._clock = clock
        self._client: ClientProcess | None = None
        self._stop = threading.Event()
        self._ready = threading.Event()
        self._ended = threading.Event()
        self._lock = threading.Lock()
        self._state = IngesterState.READY
        self._error: Exception | None = None
        self._last_error: str | None = None
        self._trouble: str | None = None
        self._partitions: dict[int, _Partition] = {}
        self._restarts = 0
        self._began_s = 0.0

    @property
    def error(self) -> Exception | None:
        """What made it fail."""
        return self._error

    @property
    def client_pid(self) -> int | None:
        """The client's process id, while it has one."""
        return None if self._client is None else self._client.pid

    @property
    def restarts(self) -> int:
        """How often the client was started again."""
        return self._restarts

    def start(self, *, timeout_s: float = 10.0) -> None:
        """Begin to pump; returns when the client has its partitions.

        Raises
        ------
        InvalidArgument
            It was started before, or there is no such topic.
        SourceLost
            The broker no longer has the records at the loop's offsets.
        ConnectionLost
            No broker answered within `timeout_s`.
        """
        with self._lock:
            if self._state is not IngesterState.READY:
                raise InvalidArgument(f"the ingester of topic {self._settings.topic} was started already")
            self._state = IngesterState.RUNNING
            self._began_s = self._clock()
        for name, offset in self._loop.offsets().items():
            topic, _, number = name.rpartition(":")
            if topic == self._settings.topic and number.isdigit():
                self._partitions[int(number)] = _Partition(offset)
        threading.Thread(target=self._run, name=f"kafka {self._settings.topic}", daemon=True).start()
        until_s = time.monotonic() + timeout_s
        while not self._ready.wait(_POLL_S) and not self._ended.is_set():
            if time.monotonic() >= until_s:
                trouble = self._trouble
                self.stop()
                raise ConnectionLost(
                    trouble
                    or f"the client of topic {self._settings.topic} did not begin within {timeout_s:g} s",
                    hint=f"`tornado doctor --kafka {','.join(self._settings.brokers)} --topic {self._settings.topic}` "
                    "names the cause.",
                )
        if self._error is not None:
            raise self._error

    def stop(self, *, timeout_s: float | None = None) -> bool:
        """Stop after the chunk that is being admitted; says whether it ended within `timeout_s`."""
        with self._lock:
            never_ran = self._state is IngesterState.READY
        self._stop.set()
        if never_ran:
            self._end(IngesterState.STOPPED)
        return self._ended.wait(timeout_s)

    def wait(self, *, timeout_s: float | None = None) -> bool:
        """Wait until it is at the end, failed or was stopped; says whether that happened in time."""
        return self._ended.wait(timeout_s)

    @property
    def is_running(self) -> bool:
        """Whether more can come."""
        return not self._ended.is_set()

    def statistics(self) -> list[IngesterStatistics]:
        """A frozen record of each partition."""
        now_s = self._clock()
        with self._lock:
            return [
                IngesterStatistics(
                    source=source_name(self._settings.topic, number),
                    state=self._state,
                    records=partition.records,
                    accepted=partition.records - partition.rejected,
                    rejected=partition.rejected,
                    edges=partition.edges,
                    offset=partition.next,
                    rows_per_s=self._rows_per_s(partition, now_s),
                    read_ahead_batches=0,
                    last_error=self._last_error,
                    lag_records=None if partition.end is None else max(0, partition.end - partition.next),
                )
                for number, partition in sorted(self._partitions.items())
            ]

    def _run(self) -> None:
        try:
            self._pump()
        except Exception as error:  # noqa: BLE001  whatever a loop or a program raises is reported, not lost with the thread
            self._end(IngesterState.FAILED, error)

    def _pump(self) -> None:
        crashes = 0
        while not self._stop.is_set():
            progress = self._positions()
            started_s = time.monotonic()
            client = self._client = ClientProcess(self._settings, progress)
            try:
                finished = self._serve(client)
            finally:
                how = client.end()
                self._client = None
            if finished:
                self._end(IngesterState.FINISHED)
                return
            if self._stop.is_set():
                break
            # A client that lived for a while was sound, also where nothing came: an idle topic is no failure.
            in_vain = self._positions() == progress and time.monotonic() - started_s < _SOUND_S
            crashes = crashes + 1 if in_vain else 1
            self._restarts += 1
            self._note(f"the client process {how}; it was started again")
            if crashes >= _CRASHES_LIMIT:
                raise ConnectionLost(
                    f"the client process of topic {self._settings.topic} {how}, {crashes} times without a record in between",
                    hint="Check that `python -c 'import kafka'` works (pip install 'tornado-loops[kafka]').",
                )
            self._stop.wait(_FIRST_PAUSE_S * 2**crashes)
        self._end(IngesterState.STOPPED)

    def _serve(self, client: ClientProcess) -> bool:
        """Take what one client says; return whether the end is reached, otherwise it is gone or has to go."""
        while not self._stop.is_set():
            frame = client.next_frame(_POLL_S)
            if frame is None:
                if client.has_ended:
                    return False
                if client.silent_s > _SILENCE_LIMIT_S:
                    self._note(f"the client process said nothing for {_SILENCE_LIMIT_S:g} s")
                    return False
                continue
            if frame.kind == "chunk":
                chunk = Chunk.of_payload(frame.header["partition"], frame.header["count"], frame.payload)
                if not self._take(chunk):
                    return False
                client.admitted(frame.header["bytes"])
            elif frame.kind == "ready":
                self._begin(frame)
            elif frame.kind == "status":
                self._hear(frame)
                if self._is_at_end():
                    return True
            elif frame.kind == "trouble":
                self._note(frame.header["message"])
            elif frame.kind == "fatal":
                raise _raised(frame)
        return False

    def _begin(self, frame: Frame) -> None:
        with self._lock:
            for number, offset in _by_partition(frame, "position").items():
                self._partition(number, offset)
            for number, end in _by_partition(frame, "end").items():
                partition = self._partitions[number]
                partition.end = end
                if partition.stop_at is None and self._until_end:
                    partition.stop_at = end
        self._ready.set()

    def _hear(self, frame: Frame) -> None:
        positions = _by_partition(frame, "position")
        moved = []
        with self._lock:
            for number, position in positions.items():
                partition = self._partition(number, position)
                # Everything below came before this frame: what is in between are records that Kafka left out.
                if position > partition.next:
                    partition.next = position
                    moved.append((number, position))
            for number, end in _by_partition(frame, "end").items():
                if number in self._partitions:
                    self._partitions[number].end = end
        for number, position in moved:
            self._loop.advance(source_name(self._settings.topic, number), position)

    def _partition(self, number: int, offset: int) -> _Partition:
        """Return a partition, new ones at `offset`; to be called with the lock held."""
        return self._partitions.setdefault(number, _Partition(offset))

    def _take(self, chunk: Chunk) -> bool:
        """Admit a chunk; False if stopped while waiting."""
        with self._lock:
            partition = self._partition(chunk.partition, int(chunk.offsets[0]))
        chunk = chunk.since(partition.next)
        if not len(chunk):
            return True
        decoded = self._decoder.decode(chunk)
        batch = decoded.parsed.batch
        if self._check is not None and len(batch):
            bad, reason = self._check(batch)
            decoded = decoded.without(bad, reason)
            batch = decoded.parsed.batch
        name = source_name(self._settings.topic, chunk.partition)
        rejected = decoded.rejected()
        self._quarantine.write(
            name, rejected, fields={"topic": self._settings.topic, "partition": chunk.partition}
        )
        if not len(batch):
            self._loop.advance(name, chunk.next_offset)
        elif not self._admit(batch, name, chunk.next_offset):
            return False
        now_s = self._clock()
        with self._lock:
            partition.next = chunk.next_offset
            partition.records += decoded.records
            partition.rejected += len(rejected)
            partition.edges += len(batch)
            partition.recent.append((now_s, decoded.records))
            _forget_old(partition, now_s)
        return True

    def _admit(self, batch: EdgeBatch, name: str, offset: int) -> bool:
        while True:
            try:
                self._loop.admit(batch, name, offset, timeout_s=_POLL_S)
            except QueueFull:
                if self._stop.is_set():
                    return False
                continue
            return True

    def _is_at_end(self) -> bool:
        with self._lock:
            stops = [(one.next, one.stop_at) for one in self._partitions.values() if one.stop_at is not None]
        return self._until_end and self._ready.is_set() and all(at >= stop for at, stop in stops)

    def _positions(self) -> dict[int, int]:
        with self._lock:
            return {number: partition.next for number, partition in self._partitions.items()}

    def _note(self, message: str) -> None:
        with self._lock:
            self._trouble = message
            self._last_error = f"{datetime.now(UTC).isoformat(timespec='seconds')} {message}"

    def _end(self, state: IngesterState, error: Exception | None = None) -> None:
        with self._lock:
            self._state = state
            self._error = error
            if error is not None:
                self._last_error = str(error)
        self._ended.set()

    def _rows_per_s(self, partition: _Partition, now_s: float) -> float:
        _forget_old(partition, now_s)
        seconds = min(_RATE_WINDOW_S, now_s - self._began_s)
        return sum(records for _, records in partition.recent) / max(seconds, 1e-9)


def _forget_old(partition: _Partition, now_s: float) -> None:
    while partition.recent and partition.recent[0][0] < now_s - _RATE_WINDOW_S:
        partition.recent.popleft()


def _by_partition(frame: Frame, name: str) -> dict[int, int]:
    """Read a table of partitions; JSON makes strings of their numbers."""
    return {int(number): int(value) for number, value in frame.header[name].items()}


def _raised(frame: Frame) -> TornadoError:
    kinds = {"offset-lost": SourceLost, "corrupt": SourceLost, "no-topic": InvalidArgument}
    kind = kinds.get(frame.header["error"], ConnectionLost)
    return kind(frame.header["message"], hint=frame.header["hint"])
