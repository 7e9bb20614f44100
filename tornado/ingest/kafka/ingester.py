"""The ingester of a topic: chunks of the client, decoded and admitted under (topic:partition, next offset).

One thread a client takes what that hands over, in order: rejected records go to the quarantine, the others to the loop, then the
client hears that the chunk is in. Where the loop lags, `admit` waits, the client is not told, and pauses its partitions.

Where records are recognised by a key, those of the window before the loop's offset are read first, for their keys alone
(`repeats.py`).

Guarantees: the next offset of every partition is the loop's own, so each record is in once, however often it is delivered; a
client that dies or falls silent is replaced, and the new one begins at those offsets. What was written to the quarantine and not
yet passed over may be written there a second time.
"""

from __future__ import annotations

import threading
from collections import deque
from dataclasses import replace
from typing import Final

import numpy as np

from ...clock import SYSTEM_CLOCK, Clock
from ...errors import ConnectionLost, InvalidArgument, SourceLost, TornadoError
from ...records.checked import Check, Checked, CheckedBy
from ...records.edge_batch import EdgeBatch
from ...records.point_schema import Points
from ...records.record_batch import RecordBatch
from ..admitting import Admitting, admit_patiently
from ..ingester import IngesterState, IngesterStatistics
from ..interner import Interner
from ..parsed import Rejection, settled
from ..quarantine import Quarantine
from .decoding import Chunk, Decoded, Decoder
from .process import ClientProcess
from .repeats import RecentKeys
from .settings import KafkaSettings, source_name
from .wire import Frame

_POLL_S: Final = 0.1
_SILENCE_LIMIT_S: Final = 20.0
_RATE_WINDOW_S: Final = 5.0
_CRASHES_LIMIT: Final = 5
_FIRST_PAUSE_S: Final = 0.1
_SOUND_S: Final = 30.0
_COMMIT_S: Final = 2.0


class _Partition:
    """Where one partition is; guarded by the ingester's lock."""

    def __init__(self, offset: int, dedup_window: int | None) -> None:
        self.next = offset
        self.keys = None if dedup_window is None else RecentKeys(dedup_window)
        # Up to where their keys are known; nobody needs to know more than the window.
        self.learnt = offset if dedup_window is None else max(0, offset - dedup_window)
        self.end: int | None = None
        self.stop_at: int | None = None
        self.records = self.rejected = self.repeated = self.edges = 0
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
        Which records the programs cannot take, and why (`MainLoop.check`).
    interner : Interner, optional
        Ids are strings and become numbers here.
    points : Points, optional
        What the points are that its messages have; left out, they have edges.
    until_end : bool
        Whether to finish at the ends that the partitions have when reading begins; otherwise it goes on for ever.
    clock : Clock
        What says how long a client was silent or lived, and when the broker is told; for rates too.
    """

    def __init__(
        self,
        loop: Admitting,
        settings: KafkaSettings,
        quarantine: Quarantine,
        *,
        check: Check | None = None,
        interner: Interner | None = None,
        points: Points | None = None,
        until_end: bool = False,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self._loop = loop
        self._settings = settings
        self._quarantine = quarantine
        self._check = check
        self._decoder = Decoder(settings, points=points, interner=interner)
        self._until_end = until_end
        self._clock = clock
        self._dedup_window = None if settings.dedup_key is None else settings.dedup_window
        self._clients: dict[int, ClientProcess] = {}
        self._ready: set[int] = set()
        self._started = self._pumping = 0
        self._stop = threading.Event()
        self._began = threading.Event()
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
    def client_pids(self) -> list[int]:
        """The process ids of the clients that run."""
        return [client.pid for _, client in sorted(dict(self._clients).items())]

    @property
    def restarts(self) -> int:
        """How often a client was started again."""
        return self._restarts

    def start(self, *, timeout_s: float = 10.0) -> None:
        """Begin to pump; returns when every client has its partitions.

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
            self._began_s = self._clock.monotonic()
        for name, offset in self._loop.offsets().items():
            topic, _, number = name.rpartition(":")
            if topic == self._settings.topic and number.isdigit():
                self._partitions[int(number)] = _Partition(offset, self._dedup_window)
        self._start_pump(0)
        until_s = self._clock.monotonic() + timeout_s
        while not self._began.wait(_POLL_S) and not self._ended.is_set():
            if self._clock.monotonic() >= until_s:
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
        now_s = self._clock.monotonic()
        with self._lock:
            return [
                IngesterStatistics(
                    source=source_name(self._settings.topic, number),
                    state=self._state,
                    records=partition.records,
                    accepted=partition.records - partition.rejected,
                    rejected=partition.rejected,
                    repeated=partition.repeated,
                    edges=partition.edges,
                    offset=partition.next,
                    rows_per_s=self._rows_per_s(partition, now_s),
                    read_ahead_batches=0,
                    last_error=self._last_error,
                    lag_records=None if partition.end is None else max(0, partition.end - partition.next),
                )
                for number, partition in sorted(self._partitions.items())
            ]

    def _start_pump(self, share: int) -> None:
        self._started += 1
        self._pumping += 1
        name = f"kafka {self._settings.topic} {share}"
        threading.Thread(target=self._run, args=(share,), name=name, daemon=True).start()

    def _run(self, share: int) -> None:
        try:
            self._pump(share)
        except Exception as error:  # noqa: BLE001  whatever a loop or a program raises is reported, not lost with the thread
            self._end(IngesterState.FAILED, error)

    def _pump(self, share: int) -> None:
        """Keep one client running, which reads its share of the partitions."""
        crashes = 0
        while not self._stop.is_set():
            progress = self._positions(share)
            started_s = self._clock.monotonic()
            client = ClientProcess(
                self._settings, progress, look_back=self._look_back(share), share=share, clock=self._clock
            )
            self._clients[share] = client
            try:
                finished = self._serve(client, share)
            finally:
                del self._clients[share]
                how = client.end()
            if finished:
                self._end(IngesterState.FINISHED)
                return
            if self._stop.is_set():
                break
            # A client that lived for a while was sound, also where nothing came: an idle topic is no failure.
            in_vain = self._positions(share) == progress and self._clock.monotonic() - started_s < _SOUND_S
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

    def _serve(self, client: ClientProcess, share: int) -> bool:
        """Take what one client says; return whether the end is reached, otherwise it is gone or has to go."""
        try:
            return self._heard_out(client, share)
        finally:
            self._commit(client, share)

    def _heard_out(self, client: ClientProcess, share: int) -> bool:
        committed_s = self._clock.monotonic()
        while not self._stop.is_set():
            if self._clock.monotonic() - committed_s >= _COMMIT_S:
                self._commit(client, share)
                committed_s = self._clock.monotonic()
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
                self._begin(frame, share)
            elif frame.kind == "status":
                self._hear(frame, share)
                if self._is_at_end(share):
                    return True
            elif frame.kind == "trouble":
                self._note(frame.header["message"])
            elif frame.kind == "fatal":
                raise _raised(frame)
        return False

    def _commit(self, client: ClientProcess, share: int) -> None:
        if self._settings.group is not None and (positions := self._positions(share)):
            client.commit(positions)

    def _begin(self, frame: Frame, share: int) -> None:
        with self._lock:
            for number, offset in _by_partition(frame, "position").items():
                self._partition(number, offset)
            for number, end in _by_partition(frame, "end").items():
                partition = self._partitions[number]
                partition.end = end
                if partition.stop_at is None and self._until_end:
                    partition.stop_at = end
            self._ready.add(share)
        self._match_clients(frame)

    def _match_clients(self, frame: Frame) -> None:
        """Let there be as many clients as are wanted, or as there are partitions where these are fewer."""
        with self._lock:
            wanted = min(self._settings.ingesters, frame.header["partitions"])
            while self._started < wanted:
                self._start_pump(self._started)
            if len(self._ready) >= wanted:
                self._began.set()

    def _hear(self, frame: Frame, share: int) -> None:
        positions = _by_partition(frame, "position")
        moved = []
        with self._lock:
            for number, position in positions.items():
                partition = self._partition(number, position)
                # Everything below came before this frame: what is in between are records that Kafka left out.
                partition.learnt = max(partition.learnt, position)
                if position > partition.next:
                    partition.next = position
                    moved.append((number, position))
            for number, end in _by_partition(frame, "end").items():
                if number in self._partitions:
                    self._partitions[number].end = end
        for number, position in moved:
            self._is_in(EdgeBatch.empty(), source_name(self._settings.topic, number), position, ())
        if share == 0 and not self._until_end:
            self._match_clients(frame)

    def _partition(self, number: int, offset: int) -> _Partition:
        """Return a partition, new ones at `offset`; to be called with the lock held."""
        if number not in self._partitions:
            self._partitions[number] = _Partition(offset, self._dedup_window)
        return self._partitions[number]

    def _take(self, chunk: Chunk) -> bool:
        """Admit a chunk; False if stopped while waiting."""
        with self._lock:
            partition = self._partition(chunk.partition, int(chunk.offsets[0]))
        if partition.keys is not None and partition.learnt < partition.next:
            known = chunk.before(partition.next).since(partition.learnt)
            while len(known):
                decoded, _ = self._checked(self._decoder.decode(known))
                partition.keys.mark(decoded)
                partition.learnt = decoded.next_offset
                known = known.since(decoded.next_offset)
        chunk = chunk.since(partition.next)
        while len(chunk):
            decoded = self._decoder.decode(chunk)
            if not self._take_decoded(decoded, partition, chunk.partition):
                return False
            chunk = chunk.since(decoded.next_offset)
        return True

    def _take_decoded(self, decoded: Decoded, partition: _Partition, number: int) -> bool:
        """Admit what was decoded of a chunk; False if stopped while waiting."""
        decoded, checked = self._checked(replace(decoded, parsed=decoded.parsed.timed()))
        repeated, repeats_at = 0, decoded.parsed.positions[:0]
        if partition.keys is not None:
            repeats, repeated = partition.keys.mark(decoded)
            repeats_at = decoded.parsed.positions[repeats]
        partition.learnt = decoded.next_offset
        name = source_name(self._settings.topic, number)
        fields: dict[str, str | int] = {"topic": self._settings.topic, "partition": number}
        written = set[Rejection]()
        while True:
            rejected = decoded.rejected()
            self._quarantine.write(name, [one for one in rejected if one not in written], fields=fields)
            written.update(rejected)
            batch = decoded.parsed.batch
            if len(repeats_at):
                batch = batch.take(~np.isin(decoded.parsed.positions, repeats_at))
            try:
                if not self._is_in(settled(batch, decoded.parsed.draft), name, decoded.next_offset, checked):
                    return False
                break
            except InvalidArgument:
                # A program may have joined the stream since that cannot take what is here.
                before = len(decoded.parsed.batch)
                decoded, checked = self._checked(decoded)
                if len(decoded.parsed.batch) == before:
                    raise
        now_s = self._clock.monotonic()
        with self._lock:
            partition.next = decoded.next_offset
            partition.records += decoded.records
            partition.rejected += len(rejected)
            partition.repeated += repeated
            partition.edges += len(batch)
            partition.recent.append((now_s, decoded.records))
            _forget_old(partition, now_s)
        return True

    def _checked(self, decoded: Decoded) -> tuple[Decoded, CheckedBy]:
        """Without the records that a program cannot take, and who has looked."""
        if self._check is None or not len(decoded.parsed.batch):
            return decoded, ()
        found = Checked(*self._check(decoded.parsed.batch))
        return decoded.without(found.refused, found.reason), found.by

    def _is_in(self, batch: RecordBatch, name: str, offset: int, checked: CheckedBy) -> bool:
        """Admit, however long the loop and its store take; False if stopped while waiting."""
        return admit_patiently(self._loop, batch, name, offset, checked=checked, stopped=self._stop)

    def _is_at_end(self, share: int) -> bool:
        with self._lock:
            stops = [(one.next, one.stop_at) for one in self._own(share).values() if one.stop_at is not None]
            return self._until_end and share in self._ready and all(at >= stop for at, stop in stops)

    def _positions(self, share: int) -> dict[int, int]:
        with self._lock:
            return {number: partition.next for number, partition in self._own(share).items()}

    def _look_back(self, share: int) -> dict[int, int]:
        with self._lock:
            own = self._own(share).items()
            return {number: one.learnt for number, one in own if one.learnt < one.next}

    def _own(self, share: int) -> dict[int, _Partition]:
        """The partitions of a share; to be called with the lock held."""
        count = self._settings.ingesters
        return {number: one for number, one in self._partitions.items() if number % count == share}

    def _note(self, message: str) -> None:
        with self._lock:
            self._trouble = message
            self._last_error = f"{self._clock.now().isoformat(timespec='seconds')} {message}"

    def _end(self, state: IngesterState, error: Exception | None = None) -> None:
        """Note that a client has ended for good; the last one, or the first that failed, decides how all end."""
        with self._lock:
            self._pumping -= 1
            if error is not None and self._error is None:
                self._error = error
                self._last_error = str(error)
                self._stop.set()
            if self._pumping > 0:
                return
            self._state = state if self._error is None else IngesterState.FAILED
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
