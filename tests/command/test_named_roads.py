"""`tornado produce --named`: each record is named once, times grow, and the table has every junction."""

import csv
import itertools
import json
import math
from datetime import datetime

import pytest

from tornado.command import main
from tornado.command.named_roads import NamedRoads, write_names
from tornado.errors import InvalidArgument


def test_records_have_a_name_of_their_own_and_times_that_grow_also_within_a_microsecond():
    roads, again = NamedRoads(1), NamedRoads(2)
    records = [json.loads(roads.value(number, number + 1, 0.25, 1)) for number in range(2000)]
    records += [json.loads(again.value(number, number + 1, 0.25, 1)) for number in range(10)]
    assert len({record["id"] for record in records}) == len(records)
    times = [datetime.fromisoformat(record["time"]) for record in records[:2000]]
    assert all(one < other for one, other in itertools.pairwise(times))
    assert records[7] | {"id": "", "time": ""} == {
        "id": "",
        "time": "",
        "src": "junction 7",
        "dst": "junction 8",
        "weight": 0.25,
        "op": "+",
    }


def test_a_removal_of_any_weight_has_none():
    record = json.loads(NamedRoads().value(1, 2, math.nan, -1))
    assert (record["op"], "weight" in record) == ("-", False)


def test_the_table_has_every_junction_and_nothing_lies_beside_it(tmp_path):
    write_names(tmp_path / "names.csv", 9)
    with (tmp_path / "names.csv").open(newline="") as table:
        rows = {row["key"]: int(row["vertex"]) for row in csv.DictReader(table)}
    assert rows == {f"junction {number}": number for number in range(9)}
    assert [path.name for path in tmp_path.iterdir()] == ["names.csv"]


def test_a_table_that_cannot_be_written_is_the_callers_error(tmp_path):
    with pytest.raises(InvalidArgument, match=r"--named .*names.csv cannot be written: No such file"):
        write_names(tmp_path / "absent" / "names.csv", 9)


@pytest.mark.parametrize("others", [["--format", "csv"], ["--edges", "roads.csv"]])
def test_names_are_for_a_generated_town_as_json(others, capsys):
    arguments = ["produce", "--kafka", "127.0.0.1:1", "--topic", "roads", "--named", "names.csv"]
    assert main([*arguments, *others]) == 2
    assert "--named is for a generated town as JSON" in capsys.readouterr().err
