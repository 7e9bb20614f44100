"""Fetching jars: once, whole or not at all, and with what to do where nothing reaches them."""

import pytest

from tornado.errors import ConnectionLost, NotSupported
from tornado.ingest import java
from tornado.ingest.spark.kafka_connector import spark_kafka_jars

JARS = [java.Artifact("org.example", "roads", "1.0")]
FETCHES = """#!/bin/sh
for argument; do case $argument in -DoutputDirectory=*) folder="${argument#*=}";; esac; done
mkdir "$folder" && : > "$folder/roads-1.0.jar" && echo called >> "$(dirname "$0")/calls"
"""


@pytest.fixture
def maven(tmp_path, monkeypatch):
    """Puts a program of that name on an otherwise empty path, where no pyspark is."""
    monkeypatch.setenv("TORNADO_LOOPS_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setattr(java, "_ivy", lambda: None)

    def put(script):
        (tmp_path / "mvn").write_text(script)
        (tmp_path / "mvn").chmod(0o755)

    return put


def test_jars_are_fetched_once(maven, tmp_path):
    maven(FETCHES)
    folder = java.jars("roads", JARS, "java")
    assert folder == java.jars("roads", JARS, "java") == tmp_path / "cache" / "roads"
    assert [path.name for path in folder.iterdir()] == ["roads-1.0.jar"]
    assert (tmp_path / "calls").read_text() == "called\n"


def test_a_fetch_that_breaks_off_leaves_nothing_and_says_what_was_said(maven, tmp_path):
    maven('#!/bin/sh\necho "no route to repo"; exit 1\n')
    with pytest.raises(ConnectionLost, match="no route to repo") as raised:
        java.jars("roads", JARS, "java")
    assert "put these jars into" in raised.value.hint
    assert "org.example:roads:1.0" in raised.value.hint
    assert [path.name for path in (tmp_path / "cache").iterdir()] == ["roads.lock"]


def test_without_a_tool_it_says_what_to_install_or_to_put_where(maven, monkeypatch):
    monkeypatch.setattr(java.shutil, "which", lambda _: None)
    monkeypatch.setattr("tornado.ingest.spark.kafka_connector.find_java", lambda: "java")
    with pytest.raises(NotSupported, match="neither Maven") as raised:
        spark_kafka_jars()
    assert "org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0" in raised.value.hint
