"""How the tests of the command line run it: as a process of its own, or in this one against a small service."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Finished:
    code: int
    out: str
    err: str


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """Folders of their own for every test, and nothing inherited that changes what a command says."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("TORNADO_")}
    return kept | {
        "TORNADO_LOOPS_DATA_DIR": str(tmp_path / "data"),
        "PYTHONPATH": str(CHECKOUT),
        "PYTHONWARNINGS": "default",
        "COLUMNS": "200",
    }


@pytest.fixture
def tornado(environment: dict[str, str], tmp_path: Path) -> Callable[..., Finished]:
    """Run `tornado ARGUMENTS` to its end."""

    def run(*arguments: str, stdin: str = "", timeout_s: float = 120.0, **changes: str) -> Finished:
        done = subprocess.run(
            [sys.executable, "-m", "tornado", *arguments],
            input=stdin,
            capture_output=True,
            text=True,
            timeout=timeout_s,
            cwd=tmp_path,
            env=environment | changes,
            check=False,
        )
        return Finished(done.returncode, done.stdout, done.stderr)

    return run
