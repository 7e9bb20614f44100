"""`tornado produce`: edges into a topic, generated or from files, as fast as asked."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from ..errors import InvalidArgument
from ..ingest.kafka.settings import KafkaSettings, ValueFormat, parse_brokers
from ..ingest.layout import TextFormat
from ..ingest.source import open_sources
from ..records.edge_batch import EdgeBatch
from .files_apart import FileOfOption, require_apart
from .kafka_config import read_client_settings, require_client
from .listing import json_option
from .named_roads import NamedRoads, write_names
from .presentation import ExitCode, say_note

_SLICES_PER_S = 50
_LARGEST_SLICE = 10_000
_NOTE_PERIOD_S = 1.0
_STORMS_AT_ONCE = 20


@click.command("produce")
@click.option("--kafka", "brokers", required=True, metavar="HOST:PORT[,…]", help="Some of the brokers.")
@click.option("--topic", required=True, metavar="NAME", help="The topic.")
@click.option(
    "--edges",
    multiple=True,
    metavar="PATH",
    help="Files to replay, as for `tornado run`; `-` is standard input.",
)
@click.option("--columns", metavar="NAMES", help="Names of the files' columns, as for `tornado run`.")
@click.option(
    "--records",
    type=click.IntRange(min=1),
    help="Stop after so many edges. Default: all of the files; a generated town is repeated for ever.",
)
@click.option(
    "--rate",
    type=click.FloatRange(min=0.0, min_open=True),
    metavar="N",
    help="Edges a second. Default: as fast as it goes.",
)
@click.option(
    "--format",
    "value_format",
    type=click.Choice(["json", "csv", "arrow"]),
    default="json",
    show_default=True,
    help="How messages are written. CSV has the columns src,dst,weight,op.",
)
@click.option(
    "--batch",
    type=click.IntRange(min=1),
    default=1000,
    show_default=True,
    help="Edges of an Arrow message, at most.",
)
@click.option("--compression", type=click.Choice(["gzip", "lz4", "snappy", "zstd"]), help="Default: none.")
@click.option(
    "--create",
    type=click.IntRange(min=1),
    metavar="N",
    help="Make the topic with N partitions if it is not there.",
)
@click.option(
    "--side",
    type=click.IntRange(min=2, max=2000),
    default=100,
    show_default=True,
    help="Generated towns are so many junctions wide and long.",
)
@click.option(
    "--seed", type=int, default=1, show_default=True, help="Chooses the generated town and its closures."
)
@click.option(
    "--named",
    metavar="PATH",
    help="Write what apps/pipelines/roads.py reads: junctions of the town have names, and each record an id and a time. "
    "The table of names goes to this file, before anything is sent.",
)
@click.option("--kafka-config", metavar="PATH", help="A JSON file with further settings of the client.")
@json_option
def produce_command(**options: Any) -> int:
    """Send edges to a Kafka topic: those of files, or a town whose roads close and open again.

    All records of one edge go to one partition. Try it with `tornado run sssp --kafka … --topic … --http 127.0.0.1:8080`.
    """
    settings = KafkaSettings(
        brokers=parse_brokers(options["brokers"]),
        topic=options["topic"],
        value_format=ValueFormat(options["value_format"]),
        client={} if options["kafka_config"] is None else read_client_settings(options["kafka_config"]),
    )
    if options["columns"] is not None and not options["edges"]:
        raise InvalidArgument(
            "--columns names the columns of files, and none is given", hint="Name files with --edges."
        )
    named = options["named"]
    if named is not None and (options["edges"] or settings.value_format is not ValueFormat.JSON):
        raise InvalidArgument(
            "--named is for a generated town as JSON, and --edges or another --format was given",
            hint="Leave out --edges and --format, or --named.",
        )
    if named is not None and options["kafka_config"] is not None:
        require_apart(
            [FileOfOption("--named", named)], [FileOfOption("--kafka-config", options["kafka_config"])]
        )
    require_client()
    # A broker that does not answer shows in what is under way; the library would repeat each line for minutes.
    logging.getLogger("kafka").setLevel(logging.CRITICAL)
    from ..ingest.kafka.producer import EdgeProducer

    with EdgeProducer(
        settings,
        edges_per_message=options["batch"],
        compression=options["compression"],
        create_partitions=options["create"],
        encode=None if named is None else NamedRoads().value,
    ) as producer:
        if named is not None:
            write_names(Path(named), options["side"] ** 2)
        sent = _send(producer, _limited(_batches(options), options["records"]), options)
    say_note(
        f"{sent.edges:,} edges in {sent.messages:,} messages to {settings.topic} ({sent.elapsed_s:.3f} s)",
        as_json=options["as_json"],
        event="produced",
        edges=sent.edges,
        messages=sent.messages,
        elapsed_s=round(sent.elapsed_s, 6),
    )
    return ExitCode.DONE


class _Sent:
    """What was sent since it was made."""

    def __init__(self) -> None:
        self.edges = self.messages = 0
        self._began_s = time.monotonic()

    @property
    def elapsed_s(self) -> float:
        return time.monotonic() - self._began_s


def _send(producer: Any, batches: Iterator[EdgeBatch], options: dict[str, Any]) -> _Sent:
    rate = options["rate"]
    step = _LARGEST_SLICE if rate is None else max(1, min(_LARGEST_SLICE, int(rate / _SLICES_PER_S)))
    sent = _Sent()
    noted_s = 0.0
    for batch in batches:
        for low in range(0, len(batch), step):
            part = batch.slice(low, min(low + step, len(batch)))
            sent.messages += producer.send(part)
            sent.edges += len(part)
            if rate is not None:
                time.sleep(max(0.0, sent.edges / rate - sent.elapsed_s))
            if sent.elapsed_s - noted_s >= _NOTE_PERIOD_S:
                noted_s = sent.elapsed_s
                say_note(
                    f"{sent.edges:,} edges, {sent.edges / noted_s:,.0f}/s, {producer.under_way:,} messages under way",
                    as_json=options["as_json"],
                    event="progress",
                    edges=sent.edges,
                    messages=sent.messages,
                    under_way=producer.under_way,
                    edges_per_s=round(sent.edges / noted_s, 1),
                )
    return sent


def _batches(options: dict[str, Any]) -> Iterator[EdgeBatch]:
    if not options["edges"]:
        yield from _town(options["side"], options["seed"])
        return
    columns = None if options["columns"] is None else TextFormat.parse_columns(options["columns"])
    rejected = 0
    for source in open_sources(options["edges"], text_format=TextFormat(columns=columns)):
        try:
            for parsed in source.batches():
                rejected += len(parsed.rejected)
                yield parsed.batch
        finally:
            source.close()
    if rejected:
        say_note(
            f"{rejected:,} lines were no edges and were not sent",
            as_json=options["as_json"],
            event="rejected",
            rejected=rejected,
        )


def _town(side: int, seed: int) -> Iterator[EdgeBatch]:
    """A town is built, then for ever some of its roads close and open again."""
    from ..testing.roads import closing, closures, opening, road_network

    roads = road_network(side, side, seed=seed)
    yield roads.records()
    while True:
        # Several storms in a batch: small towns would otherwise give messages of a few edges.
        changes = []
        for _ in range(_STORMS_AT_ONCE):
            seed += 1
            closed = closures(roads, max(1, len(roads) // 200), seed=seed)
            changes += [closing(closed), opening(closed)]
        yield EdgeBatch.concat(changes)


def _limited(batches: Iterator[EdgeBatch], records: int | None) -> Iterator[EdgeBatch]:
    left = records
    for batch in batches:
        if left is None:
            yield batch
            continue
        yield batch.slice(0, min(left, len(batch)))
        left -= len(batch)
        if left <= 0:
            return
