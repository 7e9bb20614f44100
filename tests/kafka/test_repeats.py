"""Records that repeat another by a key of theirs, against a plain reading of the law."""

import numpy as np
import pytest

from tests.kafka.chunks import arrow_message, chunk_of
from tornado.ingest.kafka.decoding import Decoder
from tornado.ingest.kafka.repeats import RecentKeys
from tornado.ingest.kafka.settings import KafkaSettings, ValueFormat


def decoder_of(value_format="json", **options):
    columns = ("src", "dst", "id") if value_format == "csv" else None
    return Decoder(
        KafkaSettings(
            brokers=("a:1",),
            topic="t",
            value_format=ValueFormat(value_format),
            columns=columns,
            dedup_key="id",
            **options,
        )
    )


def by_the_law(keys, offsets, window):
    """Which records repeat one, a dictionary and Python."""
    newest, found = {}, []
    for key, offset in zip(keys, offsets, strict=True):
        found.append(key in newest and offset - newest[key] <= window)
        newest[key] = offset
    return found


def test_repeats_are_those_of_the_law_however_the_topic_is_cut_into_chunks():
    chance = np.random.default_rng(1)
    decoder, window = decoder_of(), 700
    # Many keys at first, so that the table grows, then few, so that most repeat; some come back too late.
    numbers = np.concatenate([chance.integers(0, 30_000, 20_000), chance.integers(0, 1500, 20_000)])
    names = [f"event {number:x}" * (1 + number % 4) for number in numbers]
    values = [b'{"src": 1, "dst": 2, "id": "%s"}' % name.encode() for name in names]
    recent, found = RecentKeys(window), []
    low = 0
    while low < len(values):
        high = low + int(chance.integers(1, 900))
        chunk = chunk_of(values[low:high], first_offset=3 * low, step=3)
        edges, count = recent.mark(decoder.decode(chunk))
        assert count == edges.sum()
        found += edges.tolist()
        low = high
    expected = by_the_law(names, range(0, 3 * len(names), 3), window)
    assert 100 < sum(expected) < len(expected) - 100
    assert found == expected
    assert recent.room < 20_000
    # Whoever begins anywhere, and learns the window before it, goes on in the same way.
    at = 25_000
    begun = RecentKeys(window)
    begun.mark(
        decoder.decode(
            chunk_of(values[at - window // 3 - 1 : at], first_offset=3 * (at - window // 3 - 1), step=3)
        )
    )
    edges, _ = begun.mark(decoder.decode(chunk_of(values[at:], first_offset=3 * at, step=3)))
    assert edges.tolist() == expected[at:]


@pytest.mark.parametrize("undirected", [False, True])
@pytest.mark.parametrize("value_format", ["json", "csv", "arrow"])
def test_a_key_is_what_is_written_and_a_record_without_one_is_rejected(value_format, undirected):
    if value_format == "json":
        values = [
            b'{"src": 1, "dst": 2, "id": 7}\n{"id": "a\\u0062", "src": 3, "dst": 4}',
            b'{"src": 5, "dst": 6, "id": "ab"}\n{"src": 5, "dst": 6}\n{"src": 5, "dst": 6, "id": null}',
            b'{"src": 7, "dst": 8, "id": "7"}\n{"src": 9, "dst": 10, "id": "\xc3\xa4"}\n{"src": 9, "dst": 10, "id": ""}',
        ]
    elif value_format == "csv":
        values = [b'1,2,7\n3,4,"ab"', b"5,6,ab\n5,6\n5,6,", b'7,8,7\n9,10,\xc3\xa4\n9,10,""']
    else:
        values = [
            arrow_message(src=[1, 3], dst=[2, 4], id=["7", "ab"]),
            arrow_message(src=[5] * 3, dst=[6] * 3, id=["ab", None, ""]),
            arrow_message(src=[7, 9], dst=[8, 10], id=["7", "ä"]),
            arrow_message(src=[7], dst=[8], id=[7]),
            arrow_message(src=[7], dst=[8], id=[7.0]),
            arrow_message(src=[7], dst=[8]),
        ]
    decoded = decoder_of(value_format, undirected=undirected).decode(chunk_of(values))
    edges, count = RecentKeys(10).mark(decoded)
    more = value_format == "arrow"
    assert count == 2 + more
    both = 1 + undirected
    assert edges.tolist() == [repeated for one in [0, 0, 1, 1, 0, *[1] * more] for repeated in [one] * both]
    reasons = [rejection.reason for rejection in decoded.rejected()]
    if more:
        assert reasons == [
            "record 2 of 3: id is missing",
            "record 3 of 3: id is missing",
            "column 'id' has type double, but a key is an integer or a string",
            "the Arrow stream has columns ['src', 'dst'], but 'id' must be among them",
        ]
    else:
        assert reasons == [f"record {number} of 3: id is missing" for number in (2, 3, 3)]


def test_digests_tell_keys_apart_that_differ_in_zeros_or_length():
    decoder = decoder_of("arrow")
    names = ["a", "a\0", "\0a", "\0", "\0\0", "a" * 8, "a" * 8 + "\0", "a" * 16, "a" * 17]
    message = arrow_message(src=[1] * len(names), dst=[2] * len(names), id=names)
    assert RecentKeys(5).mark(decoder.decode(chunk_of([message])))[1] == 0
    doubled = arrow_message(src=[1] * 18, dst=[2] * 18, id=names * 2)
    assert RecentKeys(5).mark(decoder.decode(chunk_of([doubled])))[1] == len(names)
