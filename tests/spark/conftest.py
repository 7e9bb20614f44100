"""A Spark of our own, one for all tests of a run; without pyspark they are skipped, and say so; Java comes from PyPI where there is none."""

import importlib.util

import pytest

from tests.spark import sessions


@pytest.fixture(scope="session")
def broker(tmp_path_factory):
    """A broker that answers."""
    from tornado.testing.kafka_broker import KafkaBroker

    with KafkaBroker(tmp_path_factory.mktemp("kafka")) as running:
        yield running


@pytest.fixture(scope="session")
def spark_environment(request):
    """The environment in which Spark can be started, here or in a process of its own."""
    if importlib.util.find_spec("pyspark") is None:
        pytest.skip("pyspark is not installed: pip install 'tornado-loops[spark]'")
    from tornado.ingest.java import spark_java_home

    # Services are processes of their own, and must not compile inside a test's limits.
    request.getfixturevalue("compiled_paths")
    with pytest.MonkeyPatch.context() as patch:
        for name, value in sessions.environment(spark_java_home()).items():
            patch.setenv(name, value)
        yield


@pytest.fixture(scope="session")
def spark(spark_environment, tmp_path_factory):
    """A session on two cores that starts a failed task again, as a cluster does."""
    session = sessions.session("local[2,4]", tmp_path_factory.mktemp("spark"))
    yield session
    session.stop()
