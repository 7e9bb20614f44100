"""How the tests of the command line run it: as a process of its own, or in this one against a small service."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

import pytest

from tornado.command import main

CHECKOUT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Finished:
    code: int
    out: str
    err: str


def environment_in(folder: Path) -> dict[str, str]:
    """Return an environment with a data folder of its own; the compiler's cache is shared, or every test would compile."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("TORNADO_") or name == "TORNADO_LOOPS_CACHE_DIR"
    }
    return kept | {
        "TORNADO_LOOPS_DATA_DIR": str(folder / "data"),
        "PYTHONPATH": os.pathsep.join([str(CHECKOUT), os.environ["PYTHONPATH"]]),
        "PYTHONWARNINGS": "default",
        "COLUMNS": "200",
    }


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """Nothing inherited that changes what a command says, and folders of their own for every test."""
    return environment_in(tmp_path)


@pytest.fixture(scope="module")
def shared_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for what the tests of a module look at together and do not change."""
    return tmp_path_factory.mktemp("shared")


@pytest.fixture(scope="module")
def shared_environment(shared_folder: Path) -> dict[str, str]:
    """The environment of what runs for all tests of a module."""
    return environment_in(shared_folder)


@pytest.fixture
def tornado(
    environment: dict[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> Callable[..., Finished]:
    """Run `tornado ARGUMENTS` to its end in this process: most of what is asked takes a small part of what a start takes."""

    def run(*arguments: str, **changes: str) -> Finished:
        with monkeypatch.context() as patch:
            patch.chdir(tmp_path)
            for name in os.environ.keys() - environment.keys():
                patch.delenv(name)
            for name, value in (environment | changes).items():
                patch.setenv(name, value)
            capfd.readouterr()
            code = main(arguments)
        said = capfd.readouterr()
        return Finished(code, said.out, said.err)

    return run


@pytest.fixture
def tornado_process(environment: dict[str, str], tmp_path: Path) -> Callable[..., Finished]:
    """Run `tornado ARGUMENTS` to its end in a process of its own."""

    def run(*arguments: str, stdin: str | TextIO = "", timeout_s: float = 120.0, **changes: str) -> Finished:
        given: dict[str, Any] = {"input": stdin} if isinstance(stdin, str) else {"stdin": stdin}
        done = subprocess.run(
            [sys.executable, "-m", "tornado", *arguments],
            **given,
            capture_output=True,
            text=True,
            timeout=timeout_s,
            cwd=tmp_path,
            env=environment | changes,
            check=False,
        )
        return Finished(done.returncode, done.stdout, done.stderr)

    return run
