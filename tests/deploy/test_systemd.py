"""The unit is one that systemd takes, and its command is one that ours takes."""

import re
import shlex
import shutil
import subprocess

import pytest

from tests.deploy.conftest import DEPLOY
from tornado.command.run import run_command

UNIT = DEPLOY / "systemd" / "tornado-loops@.service"
TOKENS = DEPLOY / "systemd" / "tornado-loops@.service.d" / "tokens.conf"


def settings(of=UNIT):
    return [
        line.split("=", 1) for line in of.read_text().splitlines() if "=" in line and not line.startswith("#")
    ]


def test_systemd_finds_nothing_wrong_with_the_unit(tmp_path):
    program = shutil.which("systemd-analyze")
    if program is None:
        pytest.skip("no systemd-analyze here (Debian has it in the package systemd)")
    # The program of the unit is where this machine has none.
    copy = tmp_path / UNIT.name
    copy.write_text(UNIT.read_text().replace("/opt/tornado-loops/bin/tornado", "/bin/true"))
    shutil.copytree(TOKENS.parent, tmp_path / TOKENS.parent.name)
    done = subprocess.run([program, "verify", copy], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_command_has_options_that_there_are():
    (command,) = (value for name, value in settings() if name == "ExecStart")
    program, verb, *words = shlex.split(command)
    assert (program.rsplit("/", 1)[1], verb) == ("tornado", "run")
    known = {option for parameter in run_command.params for option in parameter.opts}
    assert {word for word in words if word.startswith("--")} <= known


def test_tokens_are_a_credential_that_a_variable_of_ours_names():
    # A specifier is known in a unit and in no EnvironmentFile, so no option there can say it.
    found = dict(settings(TOKENS))
    credential, _, path = found["LoadCredential"].partition(":")
    (tokens,) = (parameter for parameter in run_command.params if parameter.name == "tokens")
    assert found["Environment"] == f"{tokens.envvar}=%d/{credential}"
    assert path.startswith("/etc/tornado-loops/")
    assert "--tokens %d" not in (DEPLOY.parent / "docs" / "operations.md").read_text()


def test_wrong_usage_is_not_tried_again():
    assert ["RestartPreventExitStatus", "2"] in settings()


def test_no_two_services_have_a_folder_in_common():
    # Each has a user of its own, whom systemd makes the owner of the folder and of all that is in it.
    found = settings()
    assert ["DynamicUser", "yes"] in found
    named = [value for name, value in found if name in {"StateDirectory", "CacheDirectory"}]
    assert [value.endswith("/%i") for value in named] == [True, True]
    (command,) = (value for name, value in found if name == "ExecStart")
    folders = re.findall(
        r"%[SC]/\S+", command + " ".join(value for name, value in found if name == "Environment")
    )
    assert len(folders) == 3
    assert all(folder.startswith(("%S/tornado-loops/%i", "%C/tornado-loops/%i")) for folder in folders)
