"""A name stands for one kind of source, by its form alone."""

import pytest

from tornado.errors import InvalidArgument
from tornado.ingest.kafka.settings import KafkaSettings, source_name
from tornado.ingest.source_names import SourceKind, check_batch_source, check_file_name, kind_of

BATCHES = [
    "spark:8f0c2c4e-0b2e-4f0a-9f46-5a1c6f0f2a11",
    "spark:q",
    "spark-write:20260101",
    "spark-write:3f2a",
    "client:notebook-7",
]
PARTITIONS = ["edges:0", "spark:3", "a.b_c-d:12", "client:3"]
FILES = ["edges.csv", "data/edges.csv", "other.csv#2", "12:30.csv", "dir/http", "spark:a b", "a b:0", "63"]
FIXED = ["http", "insert", "stdin", "window"]


def test_every_name_is_of_one_kind():
    kinds = {SourceKind.BATCHES: BATCHES, SourceKind.PARTITION: PARTITIONS, SourceKind.FILE: FILES}
    for kind, names in kinds.items():
        assert {name: kind_of(name) for name in names} == dict.fromkeys(names, kind)
    assert len({kind_of(name) for name in FIXED} | set(kinds)) == len(SourceKind)


@pytest.mark.parametrize(
    "name", [*PARTITIONS, *FILES, *FIXED, "", "spark:", "feed-1", "spark:é", "spark:a\n"]
)
def test_batches_do_not_come_under_a_name_of_something_else(name):
    with pytest.raises(
        InvalidArgument,
        match=r"batches cannot come from the source .* spark:QUERY, spark-write:NAME or client:NAME",
    ):
        check_batch_source(name)


def test_a_name_of_batches_is_no_longer_than_a_line_of_a_store_can_say():
    check_batch_source("spark:" + "q" * 94)
    with pytest.raises(InvalidArgument, match="100 characters at most"):
        check_batch_source("spark:" + "q" * 95)


@pytest.mark.parametrize("name", [*BATCHES, *PARTITIONS, *FIXED])
def test_a_file_is_not_read_under_a_name_of_something_else(name):
    with pytest.raises(InvalidArgument, match=r"a file cannot be the source .*, which is the name of"):
        check_file_name(name)


def test_a_topic_whose_partitions_would_be_called_as_batches_are_is_refused():
    for topic in ("edges", "spark", "http", "a.csv"):
        assert (
            kind_of(source_name(KafkaSettings(brokers=("h:1",), topic=topic).topic, 4))
            is SourceKind.PARTITION
        )
    with pytest.raises(InvalidArgument, match="'spark-write:0' is the name of numbered batches"):
        KafkaSettings(brokers=("h:1",), topic="spark-write")
