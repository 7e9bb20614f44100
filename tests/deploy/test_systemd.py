"""The unit is one that systemd takes, and its command is one that ours takes."""

import shlex
import shutil
import subprocess

import pytest

from tests.deploy.conftest import DEPLOY
from tornado.command.run import run_command

UNIT = DEPLOY / "systemd" / "tornado-loops@.service"


def settings():
    return [
        line.split("=", 1)
        for line in UNIT.read_text().splitlines()
        if "=" in line and not line.startswith("#")
    ]


def test_systemd_finds_nothing_wrong_with_the_unit(tmp_path):
    program = shutil.which("systemd-analyze")
    if program is None:
        pytest.skip("no systemd-analyze here (Debian has it in the package systemd)")
    # The program of the unit is where this machine has none.
    copy = tmp_path / UNIT.name
    copy.write_text(UNIT.read_text().replace("/opt/tornado-loops/bin/tornado", "/bin/true"))
    done = subprocess.run([program, "verify", copy], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_command_has_options_that_there_are():
    (command,) = (value for name, value in settings() if name == "ExecStart")
    program, verb, *words = shlex.split(command)
    assert (program.rsplit("/", 1)[1], verb) == ("tornado", "run")
    known = {option for parameter in run_command.params for option in parameter.opts}
    assert {word for word in words if word.startswith("--")} <= known


def test_wrong_usage_is_not_tried_again():
    assert ["RestartPreventExitStatus", "2"] in settings()
