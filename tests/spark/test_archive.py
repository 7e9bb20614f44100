"""The JVM of the tests takes its classes from the file that was made for it, or each would start in twice the time, and nobody would see it."""

import os
import sys

import psutil
import pytest

pytestmark = pytest.mark.spark


@pytest.mark.skipif(sys.platform != "linux", reason="what a process has mapped is asked of Linux")
def test_the_classes_of_spark_are_those_of_the_file(spark):
    told = os.environ["JDK_JAVA_OPTIONS"]
    if "-XX:SharedArchiveFile=" not in told:
        pytest.skip("this Java keeps no classes")
    [file] = [word.partition("=")[2] for word in told.split() if word.startswith("-XX:SharedArchiveFile=")]
    leader = psutil.Process(spark.sparkContext._gateway.proc.pid)
    running = [one for one in (leader, *leader.children(recursive=True)) if "java" in one.name()]
    assert any(file == place.path for one in running for place in one.memory_maps())
