"""What pytest does not look into: examples in modules that need what is not installed, and a program that changes what it imports."""

import importlib.util

_OF_SPARK = [
    "apps/pipelines/*.py",
    "tornado/ingest/spark/data_source.py",
    "tornado/ingest/spark/reader.py",
    "tornado/ingest/spark/writer.py",
]
collect_ignore_glob = [
    "tests/fuzzing/guided.py",
    *([] if importlib.util.find_spec("pyspark") else _OF_SPARK),
]
