"""What pytest does not look into: examples in modules that need what is not installed."""

import importlib.util

collect_ignore_glob = (
    []
    if importlib.util.find_spec("pyspark")
    else [
        "apps/pipelines/*.py",
        "tornado/ingest/spark/data_source.py",
        "tornado/ingest/spark/reader.py",
        "tornado/ingest/spark/writer.py",
    ]
)
