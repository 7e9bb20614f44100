"""From a real file to a result file, as `tornado run sssp --edges FILE --output FILE`, bit for bit what the oracle says."""

import csv
import gzip
import json
import math

import numpy as np
import pytest

from tests.end_to_end.running import run_here
from tornado.testing import (
    EdgeList,
    bitcoin_ratings,
    college_messages,
    epinions_trust,
    exact_distances,
    networkx_distances,
)

SOURCE = 1


def written(path):
    """The values of a result file, as the bits that were written."""
    with path.open(newline="") as lines:
        rows = list(csv.reader(lines))
    assert rows[0] == ["vertex", "value"]
    return {int(vertex): float(value) if value else math.inf for vertex, value in rows[1:]}


def expected(edges, oracle=exact_distances):
    distances = oracle(edges, SOURCE)
    return dict(zip(distances.ids.tolist(), distances.values.tolist(), strict=True))


def run_to_file(tmp_path, *arguments):
    code, events = run_here(tmp_path, *arguments, "--output", tmp_path / "out.csv")
    assert code == 0, events
    by_name = {event["event"]: event for event in events}
    return written(tmp_path / "out.csv"), by_name["result"], by_name["input-ended"]


@pytest.mark.parametrize(
    ("name", "columns", "read", "records"),
    [
        ("college-msg.txt.gz", "src,dst,time", college_messages, 59_835),
        ("soc-epinions1.txt.gz", "src,dst", epinions_trust, 405_739),
    ],
)
def test_the_distances_of_a_real_graph_are_those_of_the_oracle(
    data_dir, tmp_path, name, columns, read, records
):
    found, result, ended = run_to_file(tmp_path, "--edges", data_dir / name, "--columns", columns)
    assert found == expected(read(data_dir))
    assert (ended["records"], ended["rejected"]) == (records, 0)
    assert result["certificate"] == {"kind": "exact"}
    assert result["snapshot"]["offsets"] == {name: records}


def bitcoin_lines(data_dir):
    with gzip.open(data_dir / "bitcoin-otc.csv.gz", "rt") as lines:
        return [line.rstrip("\n").split(",") for line in lines]


def test_negative_ratings_are_quarantined_line_by_line_and_the_rest_is_exact(data_dir, tmp_path):
    lines = bitcoin_lines(data_dir)
    negative = [number for number, line in enumerate(lines, 1) if float(line[2]) < 0]
    kept = [line for line in lines if float(line[2]) >= 0]
    edges = EdgeList(
        np.array([int(line[0]) for line in kept]),
        np.array([int(line[1]) for line in kept]),
        np.array([float(line[2]) for line in kept]),
    )
    found, result, ended = run_to_file(
        tmp_path,
        *["--edges", data_dir / "bitcoin-otc.csv.gz", "--columns", "src,dst,weight,time"],
        *["--quarantine", tmp_path / "rejected.jsonl"],
    )
    assert found == expected(edges, networkx_distances)
    assert (ended["records"], ended["rejected"]) == (len(lines), len(negative)) == (35_592, 3_563)
    # Quarantined records count: the offset says how far the file was read.
    assert result["snapshot"]["offsets"] == {"bitcoin-otc.csv.gz": 35_592}
    entries = [json.loads(line) for line in (tmp_path / "rejected.jsonl").read_text().splitlines()]
    assert [entry["position"] for entry in entries] == negative
    assert {entry["reason"] for entry in entries} == {
        "weight is negative; shortest paths need weights of at least 0"
    }
    assert entries[0]["record"] == ",".join(lines[negative[0] - 1])


def test_absolute_ratings_as_weights_are_exact(data_dir, tmp_path):
    absolute = [[line[0], line[1], line[2].removeprefix("-"), *line[3:]] for line in bitcoin_lines(data_dir)]
    (tmp_path / "ratings.csv").write_text("".join(",".join(line) + "\n" for line in absolute))
    found, _, ended = run_to_file(
        tmp_path, "--edges", tmp_path / "ratings.csv", "--columns", "src,dst,weight,time"
    )
    assert found == expected(bitcoin_ratings(data_dir))
    assert ended["rejected"] == 0
