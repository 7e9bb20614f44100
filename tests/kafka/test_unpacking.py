"""What is unpacked here within bounds is what the client library unpacks."""

import itertools
import os

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.bombs import MEBIBYTE, little_memory
from tornado.config import MESSAGE_LIMIT_BYTES
from tornado.ingest.kafka import unpacking
from tornado.ingest.kafka.library import CorruptRecordError, DefaultRecordBatch
from tornado.ingest.kafka.wire import Omission

CODECS = {"none": 0, "gzip": 1, "snappy": 2, "lz4": 3, "zstd": 4}
FIRST = 70


def batch_of(messages, codec):
    """One batch as a producer makes it, of (value, key, headers)."""
    from kafka.record.default_records import DefaultRecordBatchBuilder

    builder = DefaultRecordBatchBuilder(
        magic=2,
        compression_type=CODECS[codec],
        is_transactional=False,
        producer_id=-1,
        producer_epoch=-1,
        base_sequence=-1,
        batch_size=1 << 40,
    )
    for number, (value, key, headers) in enumerate(messages):
        builder.append(number, timestamp=1000, key=key, value=value, headers=headers)
    data = builder.build()
    data[0:8] = FIRST.to_bytes(8, "big")
    return DefaultRecordBatch(data)


def read(batch):
    return [(message.offset, message.value) for message in batch]


def bounded(messages, codec, whole_bytes):
    omitted = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(unpacking, "_WHOLE_BYTES", whole_bytes)
        found = read(unpacking._Batch(batch_of(messages, codec), 0, omitted))
    return found, omitted


messages = st.tuples(
    st.one_of(st.none(), st.binary(max_size=200), st.integers(0, 100_000).map(bytes)),
    st.one_of(st.none(), st.binary(max_size=20)),
    st.lists(st.tuples(st.text(max_size=5), st.one_of(st.none(), st.binary(max_size=10))), max_size=3),
)


@given(
    st.lists(messages, min_size=1, max_size=30), st.sampled_from(list(CODECS)), st.sampled_from([0, 1 << 22])
)
@settings(max_examples=150, deadline=None)
def test_messages_of_a_batch_are_those_that_the_library_reads_whole_or_one_by_one(found, codec, whole_bytes):
    expected = read(batch_of(found, codec))
    assert [value for _, value in expected] == [value for value, _, _ in found]
    assert bounded(found, codec, whole_bytes) == (expected, {})


@pytest.mark.parametrize("codec", CODECS)
def test_a_message_that_is_too_large_has_no_value_and_its_neighbours_have_theirs(codec):
    large = bytes(MESSAGE_LIMIT_BYTES + 1)
    batch = batch_of([(b"one", b"key", []), (large, None, []), (b"three", None, [("h", b"")])], codec)
    omitted = {}
    with little_memory(os.getpid(), most_bytes=3 * MESSAGE_LIMIT_BYTES):
        found = read(unpacking._Batch(batch, 5, omitted))
    assert found == [(FIRST, b"one"), (FIRST + 1, None), (FIRST + 2, b"three")]
    assert omitted == {(5, FIRST + 1): Omission.TOO_LARGE}


@pytest.mark.parametrize("codec", ["gzip", "lz4", "zstd", "snappy"])
def test_a_batch_that_goes_on_for_too_long_is_given_up_at_the_message_where_that_is_seen(monkeypatch, codec):
    monkeypatch.setattr(unpacking, "BATCH_LIMIT_BYTES", 10 * MEBIBYTE)
    batch = batch_of([(bytes(3 * MEBIBYTE), None, [])] * 8, codec)
    omitted = {}
    found = read(unpacking._Batch(batch, 0, omitted))
    kept = [offset for offset, value in found if value is not None]
    assert kept == list(range(FIRST, FIRST + 3))
    assert found[-1] == (FIRST + 3, None)
    assert omitted == {(0, FIRST + 3): Omission.REST_OF_BATCH}


def test_a_snappy_block_that_claims_more_than_a_message_may_have_is_not_unpacked():
    whole = batch_of([(bytes(1000), None, [])], "snappy")
    # As a producer of another library writes it: one block, with its length, four gigabytes less one byte, before it.
    data = bytearray(whole._buffer[: whole.HEADER_STRUCT.size]) + b"\xff\xff\xff\xff\x0f" + b"\x00" * 20
    omitted = {}
    found = read(unpacking._Batch(DefaultRecordBatch(data), 0, omitted))
    assert (found, omitted) == ([(FIRST, None)], {(0, FIRST): Omission.REST_OF_BATCH})


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("whole_bytes", [0, 1 << 22])
def test_a_batch_that_is_cut_is_said_to_be_corrupt(monkeypatch, codec, whole_bytes):
    monkeypatch.setattr(unpacking, "_WHOLE_BYTES", whole_bytes)
    value = np.random.default_rng(1).bytes(100_000)
    data = bytearray(batch_of([(value, None, [])] * 3, codec)._buffer)
    with pytest.raises(CorruptRecordError):
        read(unpacking._Batch(DefaultRecordBatch(data[:-70_000]), 0, {}))


def test_a_message_of_less_than_no_bytes_is_corrupt_and_not_read_again_and_again(monkeypatch):
    monkeypatch.setattr(unpacking, "_WHOLE_BYTES", 0)
    data = bytearray(batch_of([(b"edge", None, [])], "none")._buffer)
    first = DefaultRecordBatch.HEADER_STRUCT.size
    data[first - 4 : first] = (2**31 - 1).to_bytes(4, "big")
    data[first] = 1  # as a varint: -1, so that the next message would begin where this one does
    batch = unpacking._Batch(DefaultRecordBatch(data), 0, {})
    with pytest.raises(CorruptRecordError, match="-1 bytes"):
        list(itertools.islice(batch, 100))


class Consumer:
    """As much of a consumer as is polled: one partition, whose messages have come."""

    class _fetcher:  # noqa: N801 - its name in the library
        PartitionRecords = None

    def __init__(self, batches):
        self._batches = batches
        self.records = None

    def poll(self, *, timeout_ms, max_records):
        del timeout_ms
        if self.records is None:
            place = type("Place", (), {"topic": "edges", "partition": 0})
            stream = iter(self._batches)
            fetched = type("Fetched", (), {"next_batch": lambda _: next(stream, None)})()
            self.records = self._fetcher.PartitionRecords(FIRST, place, fetched, check_crcs=False)
        if not self.records:
            return {}
        found = self.records.take(max_records)
        # The library goes on until it has as many as were wanted, and keeps what ended that for the next time.
        for _ in itertools.count():
            if not self.records:
                break
            try:
                more = self.records.take(max_records - len(found))
            except Exception:  # noqa: BLE001 - as the library does
                break
            if not more:
                break
            found += more
        return {0: found}


def test_a_poll_returns_about_as_many_bytes_as_it_may_and_the_next_one_goes_on_there():
    batches = [batch_of([(bytes(MEBIBYTE), None, [])] * 2, "zstd") for _ in range(30)]
    polls = unpacking.BoundedPolls(Consumer(batches))
    sizes = []
    while found := polls.poll(timeout_ms=0, max_records=65_536):
        sizes.append(sum(len(message.value) for message in found[0]))
    assert sum(sizes) == 60 * MEBIBYTE
    assert max(sizes) <= unpacking.POLL_BYTES + MEBIBYTE
