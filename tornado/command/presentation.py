"""How a command ends: exit codes, and errors in words a person can act on.

Guarantees: whatever happens inside a command, the last thing on standard error is one message that says what was wrong and
what to do next, as text or (with `--json`) as one JSON line with the error's stable code; a traceback is printed only
where TORNADO_DEBUG=1 asks for it.
"""

from __future__ import annotations

import enum
import json
import os
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import click

from ..errors import (
    CallerError,
    Forbidden,
    InternalError,
    QueueFull,
    TornadoError,
    Unauthorized,
    UnknownLoop,
    UnknownQuery,
    UnknownStream,
    UnknownVertex,
)

DEBUG_VARIABLE = "TORNADO_DEBUG"
OWN_LIMIT = "the method came no nearer"
"""What is said in place of a limit, where none was named that would have stopped a branch."""


class ExitCode(enum.IntEnum):
    """What the calling script learns."""

    DONE = 0
    FAILED = 1
    USAGE = 2
    LIMIT = 3
    """The deadline or the iteration cap was reached; the best value so far was written."""
    INTERRUPTED = 130


# The caller's fault, but it depends on what is running or on the data: the command line itself was right.
_NOT_USAGE = (Unauthorized, Forbidden, UnknownLoop, UnknownStream, UnknownQuery, UnknownVertex, QueueFull)


def exit_code_of(error: TornadoError) -> ExitCode:
    """Return the exit code for an error: wrong usage where only another command line helps."""
    if isinstance(error, CallerError) and not isinstance(error, _NOT_USAGE):
        return ExitCode.USAGE
    return ExitCode.FAILED


def present_failures(run: Callable[[], int], arguments: Sequence[str] | None = None) -> int:
    """Call `run`, present whatever it raises, and return the exit code.

    Parameters
    ----------
    run : callable
        Does the work and returns the exit code of a run without errors.
    arguments : sequence of str, optional
        The command line, to know whether `--json` was asked for even where it could not be parsed.
    """
    as_json = "--json" in (sys.argv[1:] if arguments is None else arguments)
    try:
        return run()
    except click.exceptions.Exit as leaving:
        return leaving.exit_code
    except (KeyboardInterrupt, click.Abort):
        return ExitCode.INTERRUPTED
    except click.ClickException as error:
        _say(_usage_message(error), code="usage", hint=_usage_hint(error), as_json=as_json)
        return ExitCode.USAGE if isinstance(error, click.UsageError) else ExitCode.FAILED
    except TornadoError as error:
        _trace(wanted=_debugging())
        _say(error.message, code=error.code, hint=error.hint, as_json=as_json)
        return exit_code_of(error)
    except BrokenPipeError:
        # The reader of our standard output has what it wanted (`| head`); flushing at exit must not complain again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return ExitCode.FAILED
    except OSError as error:
        _trace(wanted=_debugging())
        _say(_operating_system_message(error), code="operating-system", hint="", as_json=as_json)
        return ExitCode.FAILED
    except Exception as error:  # noqa: BLE001  # the outermost frame: a bug is presented, not hidden
        _trace(wanted=_debugging())
        hint = InternalError.default_hint + f" {DEBUG_VARIABLE}=1 prints where it happened."
        message = f"unexpected {type(error).__name__}: {error}"
        _say(message, code=InternalError.code, hint=hint, as_json=as_json)
        return ExitCode.FAILED


def say_event(event: str, **fields: object) -> None:
    """Write one JSON line to standard error; `event` is its first field."""
    click.echo(event_line(event, **fields), err=True)


def event_line(event: str, **fields: object) -> str:
    """Return the JSON line of an event; `event` is its first field."""
    return json.dumps({"event": event, **fields}, ensure_ascii=False, default=str)


def say_note(text: str, *, as_json: bool, event: str = "note", **fields: object) -> None:
    """Tell the user something beside the result: a line of text, or the same as a JSON line."""
    if as_json:
        say_event(event, message=text, **fields)
    else:
        click.echo(text, err=True)


def in_words(certificate: Mapping[str, Any] | None) -> str:
    """Return what values are worth, for people.

    Examples
    --------
    >>> in_words({"kind": "exact"}), in_words({"kind": "bound", "norm": "l1", "bound": 3.2e-10})
    ('exact', 'within 3.2e-10 (l1)')
    >>> in_words({"kind": "bound", "norm": "l1", "bound": 3.2e-5, "order": "partial", "ties": [[2, 3], [7, 9]]})
    'within 3.2e-05 (l1), order proved but for places 2-3, 7-9'
    >>> in_words({"kind": "none", "side": "upper"})
    'not exact (upper bounds)'
    >>> in_words({"kind": "none", "reason": "diverged"})
    'no answer: the values have no end on this graph'
    >>> in_words({"kind": "exact", "checked": True, "check": {"vertices": 8, "edges": 5}})
    'exact, checked (8 vertices, 5 edges)'
    >>> in_words({"kind": "gap", "bound": 2e-4, "checked": True, "check": {"points": 1000, "proved": True}})
    'within a duality gap of 0.0002, checked (1,000 points, the dual is proved)'
    """
    found = dict(certificate or {"kind": "none"})
    worth = _worth(found)
    if not found.get("checked"):
        return worth
    check = found["check"]
    looked_at = [
        f"{check[name]:,} {name}" for name in ("vertices", "edges", "points") if check.get(name) is not None
    ]
    if check.get("proved") is not None:
        looked_at.append("the dual is proved" if check["proved"] else "the dual is tried")
    return f"{worth}, checked ({', '.join(looked_at)})"


def _worth(certificate: Mapping[str, Any]) -> str:
    match certificate:
        case {"kind": "bound", "norm": norm, "bound": bound, **others}:
            return f"within {bound:.3g} ({norm})" + _order_in_words(others)
        case {"kind": "gap", "bound": bound}:
            return f"within a duality gap of {bound:.3g}"
        case {"kind": "none", "reason": "diverged"}:
            return "no answer: the values have no end on this graph"
        case {"kind": "none", "side": side}:
            return f"not exact ({side} bounds)"
        case {"kind": "none"}:
            return "not exact"
        case {"kind": kind}:
            return str(kind)
    return "not exact"


def _order_in_words(certificate: Mapping[str, Any]) -> str:
    match certificate:
        case {"order": "proved"}:
            return ", order proved"
        case {"ties": ties}:
            return ", order proved but for places " + ", ".join(f"{first}-{last}" for first, last in ties)
    return ""


def _say(message: str, *, code: str, hint: str, as_json: bool) -> None:
    if as_json:
        say_event("error", code=code, message=message, hint=hint)
        return
    click.echo(f"error: {message}", err=True)
    if hint:
        click.echo(f"hint: {hint}", err=True)


def _usage_message(error: click.ClickException) -> str:
    return error.format_message()


def _usage_hint(error: click.ClickException) -> str:
    context: click.Context | None = getattr(error, "ctx", None)
    words: list[str] = []
    while (
        context is not None
    ):  # not `command_path`: of a program behind --and it has the arguments of the command
        words.insert(0, context.info_name or "")
        context = context.parent
    return f"`{' '.join(words)} --help` lists what can be said." if words else ""


def _operating_system_message(error: OSError) -> str:
    reason = error.strerror or str(error)
    return f"{error.filename}: {reason}" if error.filename else reason


def _debugging() -> bool:
    return os.environ.get(DEBUG_VARIABLE, "") not in {"", "0"}


def _trace(*, wanted: bool) -> None:
    if wanted:
        traceback.print_exc()
