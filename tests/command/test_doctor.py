"""`tornado doctor`: every finding says what to do, and a failed one decides the exit code."""

from __future__ import annotations

import importlib.metadata
import json
import socket

import pytest

from tornado.command import checks
from tornado.command.checks import Status


def test_a_sound_environment_passes_and_every_check_is_one_line(tornado_process):
    done = tornado_process("doctor")
    assert (done.code, done.err) == (0, "")
    names = [
        "python",
        "import name",
        "dependencies",
        "compiler",
        "compiler cache",
        "port",
        "store",
        "memory",
        "cores",
    ]
    for name in names:
        assert f"  {name}: " in done.out


def test_the_json_form_is_one_document(tornado_process):
    done = tornado_process("doctor", "--json")
    document = json.loads(done.out)
    assert document["ok"] is True
    assert {line["status"] for line in document["checks"]} <= {"ok", "warn"}
    assert all(line["remedy"] for line in document["checks"] if line["status"] != "ok")


def test_a_store_that_cannot_be_written_fails_and_says_what_to_do(tornado_process):
    # A file of the system cannot have folders below it, whoever we are.
    done = tornado_process("doctor", TORNADO_LOOPS_DATA_DIR="/proc/version/data")
    assert done.code == 1
    assert "fail  store" in done.out
    assert "--store memory:" in done.out


def test_the_web_framework_of_the_same_name_is_recognised(monkeypatch):
    real = importlib.metadata.version
    monkeypatch.setattr(
        importlib.metadata, "version", lambda name: "6.4" if name == "tornado" else real(name)
    )
    finding = checks.check_import_name()
    assert finding.status is Status.FAIL
    assert "web framework" in finding.detail
    assert "pip uninstall tornado" in finding.remedy


def test_a_framework_in_another_folder_of_the_path_is_a_warning(monkeypatch, tmp_path):
    (tmp_path / "tornado").mkdir()
    (tmp_path / "tornado" / "ioloop.py").touch()
    monkeypatch.syspath_prepend(str(tmp_path))
    assert checks.check_import_name().status is Status.WARN


def test_a_port_that_is_taken_is_a_warning_with_another_port_to_try():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        finding = checks.check_port(port=taken.getsockname()[1])
    assert finding.status is Status.WARN
    assert "--http" in finding.remedy


@pytest.mark.parametrize("check", [checks.check_python, checks.check_memory, checks.check_cores])
def test_a_finding_that_is_not_ok_has_a_remedy(check):
    finding = check()
    assert finding.status is Status.OK or finding.remedy
