"""The client, a process of its own: fetches the partitions of one topic from the offsets it is told and hands the values over.

It keeps nothing: whatever it has fetched and not yet handed over is fetched again by the next one, from the loop's offsets. It
is in no group and reads no committed offsets (`courtesy.py` writes some, where asked to): partitions are assigned here, all of
them or every n-th, and new ones are picked up while it runs, from their start.

Back-pressure: what was handed over and is not admitted is bounded; above the bound all partitions are paused, at half of it they
are resumed. Run as ``python -m …consumer`` by `process.py`; speaks the frames of `wire.py`.
"""

from __future__ import annotations

import json
import logging
import os
import sys
import threading
import time
import traceback
from array import array
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, BinaryIO, Final

from .courtesy import CourtesyCommits
from .library import (
    AuthorizationError,
    CorruptRecordError,
    KafkaConfigurationError,
    KafkaConnectionError,
    KafkaConsumer,
    KafkaError,
    KafkaTimeoutError,
    LogTruncationError,
    OffsetOutOfRangeError,
    SaslAuthenticationFailedError,
    TopicPartition,
    UnsupportedCodecError,
    hearing_refusals,
)
from .unpacking import BoundedPolls
from .wire import write_frame

PENDING_LIMIT_BYTES: Final = 32 << 20
"""So much may be handed over and not admitted before partitions are paused."""

_CHUNK_BYTES: Final = 4 << 20
_CHUNK_RECORDS: Final = 32_768
_MOST_POLL_RECORDS: Final = 65_536
_POLL_MS: Final = 100
_WATCH_S: Final = 1.0
_ANSWER_MS: Final = 2000
_BOOTSTRAP_MS: Final = 3000
_ALIVE_S: Final = 1.0
_RETRY_S: Final = 0.3


class _Fatal(Exception):
    """What only a person can decide or mend."""

    def __init__(self, kind: str, message: str, hint: str) -> None:
        super().__init__(message)
        self.kind, self.message, self.hint = kind, message, hint


class _Link:
    """The two pipes to the session's process; safe to use from several threads."""

    def __init__(self, commands: BinaryIO, frames: BinaryIO) -> None:
        self._commands = commands
        self._frames = frames
        self._lock = threading.Lock()
        self._courtesy: CourtesyCommits | None = None
        self._handed_over_bytes = 0
        self._admitted_bytes = 0

    @property
    def pending_bytes(self) -> int:
        return self._handed_over_bytes - self._admitted_bytes

    def settings(self) -> dict[str, Any]:
        settings: dict[str, Any] = json.loads(self._commands.readline())
        if settings["group"] is not None:
            self._courtesy = CourtesyCommits(settings, self.say_trouble)
        return settings

    def listen(self) -> None:
        """Hear what is admitted; the end of the input is the end of this process, which has nothing to keep."""
        for line in self._commands:
            said = json.loads(line)
            if isinstance(said, int):
                self._admitted_bytes += said
            elif self._courtesy is not None:
                self._courtesy.want(said)
        if self._courtesy is not None:
            self._courtesy.finish()
        os._exit(0)

    def say_trouble(self, message: str) -> None:
        self.send({"kind": "trouble", "message": message})

    def say_alive(self) -> None:
        while True:
            time.sleep(_ALIVE_S)
            self.send({"kind": "alive"})

    def send(self, header: Mapping[str, Any], parts: Sequence[bytes] = ()) -> None:
        try:
            with self._lock:
                write_frame(self._frames, header, parts)
        except (BrokenPipeError, ValueError):
            os._exit(0)

    def send_chunk(self, partition: int, records: Sequence[Any], sizes_of_values: Sequence[int]) -> None:
        offsets = array("q", [record.offset for record in records]).tobytes()
        sizes = array("i", sizes_of_values).tobytes()
        body = b"\n".join([record.value or b"" for record in records])
        size = len(offsets) + len(sizes) + len(body) + 1
        self._handed_over_bytes += size
        header = {"kind": "chunk", "partition": partition, "count": len(records), "bytes": size}
        self.send(header, (offsets, sizes, body, b"\n"))


class _Client:
    """Fetches one topic."""

    def __init__(self, link: _Link, settings: Mapping[str, Any]) -> None:
        self._link = link
        self._topic: str = settings["topic"]
        self._brokers: list[str] = settings["brokers"]
        self._from_earliest: bool = settings["from_earliest"]
        self._share, self._shares = settings["share"]
        self._ours = _by_partition(settings["offsets"])
        self._look_back = _by_partition(settings["look_back"])
        self._count = 0
        self._options: dict[str, Any] = settings["client"]
        self._ends: dict[int, int] = {}
        self._paused = False
        self._consumer: KafkaConsumer = None
        self._polls: BoundedPolls

    def run(self) -> None:
        self._consumer = self._connected()
        self._polls = BoundedPolls(self._consumer)
        begin = self._assign(self._partitions(), first=True)
        self._link.send({"kind": "ready", "begin": begin} | self._status())
        watched_s = 0.0
        told = True
        while True:
            if time.monotonic() - watched_s >= _WATCH_S:
                self._watch()
                watched_s, told = time.monotonic(), True
            self._hold_back()
            found = self._poll()
            for partition, records in found.items():
                for part in _parts(records):
                    number = partition.partition
                    self._link.send_chunk(number, part, self._polls.sizes(number, part))
            if found:
                told = False
            elif not told:
                # As soon as it is at the end, so that whoever waits for that need not wait for the clock.
                self._tell()
                told = True

    def _connected(self) -> KafkaConsumer:
        options = {
            "bootstrap_servers": self._brokers,
            "client_id": "tornado-loops",
            "group_id": None,
            "enable_auto_commit": False,
            "auto_offset_reset": "none",
            "isolation_level": "read_committed",
            "allow_auto_create_topics": False,
            "metadata_max_age_ms": 2000,
            "bootstrap_timeout_ms": _BOOTSTRAP_MS,
            "reconnect_backoff_max_ms": 500,
            "request_timeout_ms": 15_000,
            "fetch_max_bytes": 16 << 20,
            "max_partition_fetch_bytes": 4 << 20,
            "metrics_enabled": False,
            **self._options,
        }
        # The reason of a refused login is lost where the broker cuts the connection before it is read.
        does = "takes the login" if str(options.get("security_protocol")).startswith("SASL") else "answers"
        while True:
            try:
                with hearing_refusals() as refusals:
                    return KafkaConsumer(**options)
            except (AuthorizationError, SaslAuthenticationFailedError, KafkaConfigurationError) as error:
                raise self._refused(error) from error
            except (KafkaError, OSError) as error:
                if refusals:
                    raise self._refused(refusals[0]) from error
                self._link.say_trouble(
                    f"no Kafka broker {does} at {','.join(self._brokers)}: {_described(error)}"
                )
                time.sleep(_RETRY_S)

    def _own(self, found: Iterable[int], read: Mapping[int, int]) -> list[int]:
        """Which partitions of a topic are read here: so every new one goes to whoever has the fewest.

        A topic never loses a partition, so where one that was read is missing it is another topic.
        """
        numbers = sorted(found)
        for partition, offset in sorted(read.items()):
            if offset and partition not in numbers:
                raise _anew(
                    f"{self._topic}:{partition} was read up to offset {offset}, but the topic has {len(numbers)} partitions: "
                    "it was made anew"
                )
        self._count = len(numbers)
        return [number for number in numbers if number % self._shares == self._share]

    def _partitions(self) -> list[int]:
        try:
            found = sorted(self._consumer.partitions_for_topic(self._topic))
        except AuthorizationError as error:
            raise self._refused(error) from error
        if not found:
            names = sorted(name for name in self._consumer.topics() if not name.startswith("__"))
            shown = ", ".join(names[:10]) + (", …" if len(names) > 10 else "")
            raise _Fatal(
                "no-topic",
                f"the broker at {','.join(self._brokers)} has no topic {self._topic!r} that this client may see; "
                f"it has {shown or 'none'}",
                "Check the name, create the topic, or ask for the permission to describe and read it.",
            )
        return self._own(found, self._ours)

    def _assign(self, partitions: Iterable[int], *, first: bool) -> dict[int, int]:
        """Assign partitions, each where we are, where we look back to or at its start, and return where they begin."""
        places = [TopicPartition(self._topic, partition) for partition in partitions]
        begin, end = self._bounds(places)
        positions = {} if first else self._positions()
        for partition, earliest in begin.items():
            ours = self._ours.get(partition, earliest)
            offset = positions.get(partition, self._look_back.get(partition, ours))
            needed = max(offset, ours)
            if needed < earliest or needed > end[partition]:
                offset = self._lost(partition, needed, earliest, end[partition])
            elif offset < earliest:
                self._link.say_trouble(
                    f"{self._topic}:{partition}: what stood before offset {earliest} is deleted: repetitions of it are not "
                    "recognised"
                )
                offset = earliest
            positions[partition] = offset
        self._consumer.assign(places)
        for place in places:
            self._consumer.seek(place, positions[place.partition])
        if self._paused:
            self._consumer.pause(*places)
        self._ends = end
        return begin

    def _bounds(self, places: Sequence[TopicPartition]) -> tuple[dict[int, int], dict[int, int]]:
        while True:
            try:
                begin = self._consumer.beginning_offsets(places, timeout_ms=_ANSWER_MS)
                end = self._consumer.end_offsets(places, timeout_ms=_ANSWER_MS)
            except AuthorizationError as error:
                raise self._refused(error) from error
            except (KafkaTimeoutError, KafkaConnectionError, OSError) as error:
                self._link.say_trouble(f"the leader of {self._topic} does not answer: {_described(error)}")
                time.sleep(_RETRY_S)
                continue
            return (
                {place.partition: offset for place, offset in begin.items()},
                {place.partition: offset for place, offset in end.items()},
            )

    def _positions(self) -> dict[int, int]:
        positions = {}
        for place in self._consumer.assignment():
            position = self._consumer.position(place, timeout_ms=0)
            if position is not None:
                positions[place.partition] = position
        return positions

    def _lost(self, partition: int, offset: int, earliest: int, end: int) -> int:
        """Decide about an offset that the broker does not have: go on at the earliest, or stop."""
        name = f"{self._topic}:{partition}"
        if offset > end:
            raise _anew(
                f"{name} is to be read from offset {offset}, but ends at {end}: the topic was made anew, or the broker "
                "lost its end"
            )
        if self._from_earliest:
            self._link.say_trouble(
                f"{name}: {earliest - offset} records from offset {offset} on are deleted; reading on at {earliest}"
            )
            return earliest
        raise _Fatal(
            "offset-lost",
            f"{name} is to be read from offset {offset}, but the broker has deleted everything before {earliest}: "
            f"{earliest - offset} records are lost",
            "Choose: --when-deleted earliest goes on at the earliest record and leaves those out; an empty store "
            "begins anew with what the topic still has; or restore the records (and raise the topic's retention).",
        )

    def _poll(self) -> dict[TopicPartition, list[Any]]:
        try:
            return self._polls.poll(timeout_ms=_POLL_MS, max_records=_MOST_POLL_RECORDS)
        except OffsetOutOfRangeError as error:
            self._reassign(error)
        except AuthorizationError as error:
            raise self._refused(error) from error
        except UnsupportedCodecError as error:
            raise _Fatal(
                "codec",
                f"a message of {self._topic} is compressed in a way that cannot be read here: {error}",
                "pip install 'tornado-loops[kafka]' installs lz4, zstandard and python-snappy.",
            ) from error
        except (CorruptRecordError, LogTruncationError) as error:
            raise _Fatal(
                "corrupt",
                f"{self._topic} cannot be read on: {_described(error)}",
                "The broker's log is damaged or was cut off. Mend the topic, then start again: reading goes on where it "
                "stopped.",
            ) from error
        except (KafkaError, OSError) as error:
            self._link.say_trouble(f"{self._topic} cannot be read at the moment: {_described(error)}")
            time.sleep(_RETRY_S)
        return {}

    def _reassign(self, error: OffsetOutOfRangeError) -> None:
        asked = error.args[0] if error.args and isinstance(error.args[0], dict) else {}
        for place, offset in asked.items():
            # What comes before ours is only looked back to.
            self._look_back[place.partition] = offset
            self._ours[place.partition] = max(offset, self._ours.get(place.partition, offset))
        self._assign(sorted(place.partition for place in self._consumer.assignment()), first=False)

    def _watch(self) -> None:
        """Look for new partitions and for the ends, and say where everything is."""
        try:
            found = self._consumer.partitions_for_topic(self._topic)
            known = {place.partition for place in self._consumer.assignment()}
            own = self._own(found, self._positions()) if found else []
            if set(own) - known:
                self._assign(sorted(known | set(own)), first=False)
            elif own:
                end = self._consumer.end_offsets(list(self._consumer.assignment()), timeout_ms=_ANSWER_MS)
                self._ends = {place.partition: offset for place, offset in end.items()}
            elif not found:
                self._link.say_trouble(f"topic {self._topic} is gone from the broker")
        except AuthorizationError as error:
            raise self._refused(error) from error
        except (KafkaError, OSError) as error:
            self._link.say_trouble(
                f"the broker at {','.join(self._brokers)} does not answer: {_described(error)}"
            )
        self._tell()

    def _tell(self) -> None:
        self._link.send({"kind": "status"} | self._status())

    def _status(self) -> dict[str, Any]:
        return {"end": self._ends, "position": self._positions(), "partitions": self._count}

    def _hold_back(self) -> None:
        pending = self._link.pending_bytes
        if not self._paused and pending > PENDING_LIMIT_BYTES:
            self._consumer.pause(*self._consumer.assignment())
            self._paused = True
        elif self._paused and pending <= PENDING_LIMIT_BYTES // 2:
            self._consumer.resume(*self._consumer.assignment())
            self._paused = False

    def _refused(self, error: Exception) -> _Fatal:
        return _Fatal(
            "refused",
            f"the broker at {','.join(self._brokers)} refuses {self._topic}: {_described(error)}",
            "Ask for the permission to describe and read the topic, or check the client's security settings.",
        )


def _anew(message: str) -> _Fatal:
    return _Fatal(
        "offset-lost",
        message,
        "What is in the loop came from records that are no longer there. Start with an empty store to read the topic as it is now.",
    )


def _by_partition(table: Mapping[str, int]) -> dict[int, int]:
    """Read a table of partitions; JSON makes strings of their numbers."""
    return {int(number): int(offset) for number, offset in table.items()}


def _parts(records: Sequence[Any]) -> Iterable[Sequence[Any]]:
    """Records in pieces of bounded size, each of at least one."""
    low = 0
    size = 0
    for at, record in enumerate(records):
        length = len(record.value) if record.value else 0
        if at > low and (size + length > _CHUNK_BYTES or at - low >= _CHUNK_RECORDS):
            yield records[low:at]
            low, size = at, 0
        size += length
    if low < len(records):
        yield records[low:]


def _described(error: BaseException) -> str:
    text = str(error).strip()
    name = type(error).__name__
    return text if text.startswith(name) else f"{name}: {text}" if text else name


def main() -> None:
    """Serve the process that started this one until its end of the pipe closes."""
    # Whatever a library prints must not come between the frames.
    frames = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    # What goes wrong while the client tries again is said in frames; the library would repeat each line for hours.
    logging.getLogger("kafka").setLevel(logging.CRITICAL)
    link = _Link(sys.stdin.buffer, frames)
    settings = link.settings()
    for target in (link.listen, link.say_alive):
        threading.Thread(target=target, daemon=True).start()
    code = 0
    try:
        _Client(link, settings).run()
    except _Fatal as fatal:
        link.send({"kind": "fatal", "error": fatal.kind, "message": fatal.message, "hint": fatal.hint})
    except KeyboardInterrupt:
        # Meant for the process that started this one, which ends this one when it wants to.
        pass
    except Exception:  # noqa: BLE001  its last line is what the other process says of this one
        traceback.print_exc()
        code = 1
    # Python itself would not end while a thread waits for the next line of the input: it aborts, and says that in place of why.
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    main()
