"""The frame of every command: help, version, usage errors, exit codes, and which stream gets what."""

from __future__ import annotations

import json

import click
import pytest

from tests.ports import free_port
from tornado.command.presentation import ExitCode, exit_code_of, present_failures
from tornado.errors import InvalidArgument, NotSupported, PortInUse, QueueFull, StoreFull, UnknownVertex


def test_the_version_goes_to_standard_output(tornado_process):
    done = tornado_process("--version")
    assert done.code == 0
    assert done.out.startswith("tornado-loops, version ")
    assert done.err == ""


def test_without_a_command_the_help_is_shown_as_a_usage_error(tornado_process):
    done = tornado_process()
    assert done.code == 2
    assert done.out == ""
    for command in ("run", "query", "ls", "cancel", "demo", "doctor", "bench", "sim"):
        assert f"  {command}  " in done.err


@pytest.mark.parametrize("command", ["run", "query", "ls", "cancel", "demo", "doctor", "bench", "sim"])
def test_every_command_has_help_on_standard_output(tornado, command):
    done = tornado(command, "--help")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith(f"Usage: tornado {command}")


@pytest.mark.parametrize(
    "arguments", [["nonsense"], ["ls", "--nonsense"], ["cancel"], ["query", "--mode", "vague"]]
)
def test_wrong_usage_exits_with_2_and_says_what_is_wrong(tornado, arguments):
    done = tornado(*arguments)
    assert done.code == 2
    assert done.out == ""
    assert done.err.startswith("error: ")
    assert "hint: `tornado" in done.err


def test_an_error_is_one_json_line_with_its_code_where_json_was_asked_for(tornado_process):
    done = tornado_process("ls", "--json", "--url", f"http://127.0.0.1:{free_port()}")
    assert done.code == 1
    assert done.out == ""
    line = json.loads(done.err)
    assert line["event"] == "error"
    assert line["code"] == "connection-lost"
    assert "tornado run" in line["hint"]


def test_no_traceback_is_shown_unless_it_is_asked_for(tornado):
    url = f"http://127.0.0.1:{free_port()}"
    assert "Traceback" not in tornado("ls", "--url", url).err
    assert "Traceback" in tornado("ls", "--url", url, TORNADO_DEBUG="1").err


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (InvalidArgument("bad"), ExitCode.USAGE),
        (NotSupported("not here"), ExitCode.USAGE),
        (UnknownVertex("never seen"), ExitCode.FAILED),
        (QueueFull("full"), ExitCode.FAILED),
        (PortInUse("taken"), ExitCode.FAILED),
        (StoreFull("full"), ExitCode.FAILED),
    ],
)
def test_wrong_usage_is_what_only_another_command_line_mends(error, code):
    assert exit_code_of(error) is code


@pytest.mark.parametrize(
    ("raised", "code", "said"),
    [
        (KeyboardInterrupt(), 130, ""),
        (click.UsageError("no such thing"), 2, "error: no such thing\n"),
        (InvalidArgument("workers is 0", hint="Give 1."), 2, "error: workers is 0\nhint: Give 1.\n"),
        (
            FileNotFoundError(2, "No such file or directory", "x.csv"),
            1,
            "error: x.csv: No such file or directory\n",
        ),
    ],
)
def test_whatever_is_raised_ends_as_an_exit_code_and_a_message(capsys, raised, code, said):
    def fail() -> int:
        raise raised

    assert present_failures(fail, []) == code
    assert capsys.readouterr().err == said


def test_a_bug_of_ours_is_said_to_be_one(capsys):
    def fail() -> int:
        raise ZeroDivisionError("division by zero")

    assert present_failures(fail, []) == 1
    assert "unexpected ZeroDivisionError" in capsys.readouterr().err
