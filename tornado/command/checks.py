"""What `tornado doctor` looks at: each check is one function that returns one finding.

Guarantees: no check raises, changes anything that stays, or needs another check to have passed; each finding that is not
`ok` says what to do.
"""

from __future__ import annotations

import contextlib
import enum
import importlib.metadata
import os
import shutil
import socket
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ..config import (
    APPLICATION_NAME,
    DEFAULT_HTTP_HOST,
    DEFAULT_HTTP_PORT,
    cache_dir,
    data_dir,
    default_workers,
)

_OLDEST_PYTHON = (3, 11)
_GIB = 1 << 30
_LITTLE_MEMORY_BYTES = 2 * _GIB
_LITTLE_DISK_BYTES = 1 * _GIB
_PACKAGE = Path(__file__).resolve().parent.parent
# Modules that only the web framework has: they tell the two packages of one name apart.
_FRAMEWORK_FILES = ("ioloop.py", "web.py", "httpserver.py")


class Status(enum.Enum):
    """How bad a finding is."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


@dataclass(frozen=True, slots=True)
class Finding:
    """The outcome of one check.

    Attributes
    ----------
    check : str
        What was looked at.
    status : Status
        `FAIL` where something will not work, `WARN` where it works worse than it could.
    detail : str
        What was found.
    remedy : str
        What to do; empty where nothing has to be done.
    """

    check: str
    status: Status
    detail: str
    remedy: str = ""


def check_python() -> Finding:
    """Look at the version of the interpreter."""
    version = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info[:2] < _OLDEST_PYTHON:
        oldest = ".".join(map(str, _OLDEST_PYTHON))
        return Finding(
            "python",
            Status.FAIL,
            f"{version}, but {oldest} or newer is needed",
            "make setup PYTHON=python3.12",
        )
    return Finding("python", Status.OK, f"{version} at {sys.executable}")


def check_import_name() -> Finding:
    """Look for the web framework that is called `tornado` as well."""
    remedy = f"pip uninstall tornado && pip install --force-reinstall {APPLICATION_NAME}, or use an environment of its own"
    mixed = [name for name in _FRAMEWORK_FILES if (_PACKAGE / name).exists()]
    if mixed:
        return Finding(
            "import name", Status.FAIL, f"files of the web framework ({mixed[0]}) lie in {_PACKAGE}", remedy
        )
    with contextlib.suppress(importlib.metadata.PackageNotFoundError):
        version = importlib.metadata.version("tornado")
        return Finding(
            "import name",
            Status.FAIL,
            f"the web framework tornado {version} is installed here too; `import tornado` can only mean one of them",
            remedy,
        )
    for entry in map(Path, sys.path):
        folder = (entry / "tornado").resolve()
        if folder != _PACKAGE and any((folder / name).exists() for name in _FRAMEWORK_FILES):
            return Finding(
                "import name", Status.WARN, f"another package called tornado is on the path: {folder}", remedy
            )
    return Finding("import name", Status.OK, f"`import tornado` is this package ({_PACKAGE})")


def check_dependencies() -> Finding:
    """Look whether what the distribution asks for is installed."""
    try:
        asked = importlib.metadata.requires(APPLICATION_NAME) or []
    except importlib.metadata.PackageNotFoundError:
        return Finding(
            "dependencies",
            Status.WARN,
            f"{APPLICATION_NAME} itself is not installed; it runs from {_PACKAGE.parent}",
            "make setup, or pip install --editable .",
        )
    missing = []
    for requirement in asked:
        if "extra ==" in requirement:
            continue
        name = requirement.split(";")[0].strip()
        for sign in "<>=!~ [(":
            name = name.split(sign)[0]
        try:
            importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            missing.append(requirement)
    if missing:
        return Finding(
            "dependencies", Status.FAIL, f"missing: {', '.join(missing)}", "make setup, or pip install them"
        )
    return Finding("dependencies", Status.OK, "all installed")


def check_compiler() -> Finding:
    """Compile one small function."""
    started_s = time.perf_counter()
    try:
        import numba

        function: Callable[[int], int] = numba.njit(cache=False)(_next_number)
        works = function(41) == 42
    except Exception as error:  # noqa: BLE001  # whatever a broken compiler raises is the finding
        return Finding(
            "compiler", Status.FAIL, f"numba: {type(error).__name__}: {error}", "pip install --upgrade numba"
        )
    if not works:
        return Finding(
            "compiler", Status.FAIL, "numba compiled a function wrongly", "pip install --upgrade numba"
        )
    spent_s = time.perf_counter() - started_s
    return Finding(
        "compiler", Status.OK, f"numba {numba.__version__} works ({spent_s:.1f} s to load and compile)"
    )


def check_compiler_cache() -> Finding:
    """Look whether compiled programs can be kept, and whether some are."""
    folder = cache_dir()
    reason = _unwritable(folder)
    if reason:
        return Finding(
            "compiler cache",
            Status.FAIL,
            f"{folder}: {reason}; every start would compile again",
            "make it writable, or set TORNADO_LOOPS_CACHE_DIR to a folder that is",
        )
    compiled = sum(1 for _ in folder.rglob("*.nbi")) if folder.is_dir() else 0
    if not compiled:
        return Finding(
            "compiler cache",
            Status.WARN,
            f"{folder} is empty: the first start of a program compiles it",
            "nothing to do; `tornado demo` warms it",
        )
    return Finding(
        "compiler cache", Status.OK, f"{folder} is writable and warm ({compiled} compiled functions)"
    )


def check_port(host: str = DEFAULT_HTTP_HOST, port: int = DEFAULT_HTTP_PORT) -> Finding:
    """Look whether the default port of the HTTP interface is free."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        # As servers do: a port that is only waiting for its last packets counts as free.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            return Finding(
                "port",
                Status.WARN,
                f"{host}:{port}: {error.strerror or error}",
                "if `tornado ls` lists nothing, another program has it: run with --http 127.0.0.1:0 or another port",
            )
    return Finding("port", Status.OK, f"{host}:{port} is free")


def check_store() -> Finding:
    """Look whether the default store can be written, and how much room it has."""
    folder = data_dir()
    reason = _unwritable(folder)
    if reason:
        return Finding(
            "store",
            Status.FAIL,
            f"{folder}: {reason}",
            "make it writable, set TORNADO_LOOPS_DATA_DIR, or run with --store memory:",
        )
    free_bytes = shutil.disk_usage(_existing(folder)).free
    if free_bytes < _LITTLE_DISK_BYTES:
        return Finding(
            "store",
            Status.WARN,
            f"{folder}: only {free_bytes / _GIB:.1f} GiB free",
            "free some space, or put the store elsewhere with --store lmdb:///DIR",
        )
    return Finding("store", Status.OK, f"{folder} is writable, {free_bytes / _GIB:.0f} GiB free")


def check_memory() -> Finding:
    """Look at the memory that can still be taken."""
    import psutil

    available_bytes = psutil.virtual_memory().available
    detail = f"{available_bytes / _GIB:.1f} GiB available"
    if available_bytes < _LITTLE_MEMORY_BYTES:
        return Finding(
            "memory", Status.WARN, detail, "close other programs, or keep to graphs of some million edges"
        )
    edges = available_bytes // 2 // 64
    return Finding("memory", Status.OK, f"{detail}, room for about {edges / 1e6:.0f} M edges")


def check_cores() -> Finding:
    """Look at how many cores this process may use."""
    allowed, present = default_workers(), os.cpu_count() or 1
    detail = f"{allowed} of {present} may be used"
    if allowed == 1:
        return Finding("cores", Status.WARN, detail, "one worker shares its core with the HTTP interface")
    return Finding("cores", Status.OK, detail)


def _next_number(number: int) -> int:
    return number + 1


def _existing(folder: Path) -> Path:
    """Return the folder, or the nearest one above it that exists."""
    while not folder.exists():
        folder = folder.parent
    return folder


def _unwritable(folder: Path) -> str:
    """Return why a folder cannot be made or written; empty where it can. Leaves nothing behind."""
    nearest = _existing(folder)
    try:
        with tempfile.TemporaryFile(dir=nearest):
            return ""
    except OSError as error:
        return error.strerror or str(error)
