"""`tornado doctor`: is this machine and environment fit, and if not, what to do."""

from __future__ import annotations

import json

import click

from . import checks
from .checks import Finding, Status
from .listing import json_option
from .presentation import ExitCode

_COLOURS = {Status.OK: "green", Status.WARN: "yellow", Status.FAIL: "red"}


@click.command("doctor")
@json_option
def doctor_command(*, as_json: bool) -> int:
    """Check Python, the import name, the compiler, the port, the store, memory and cores.

    Exits with 1 where a check fails; a warning is no failure.
    """
    findings = []
    for check in (
        checks.check_python,
        checks.check_import_name,
        checks.check_dependencies,
        checks.check_compiler,
        checks.check_compiler_cache,
        checks.check_port,
        checks.check_store,
        checks.check_memory,
        checks.check_cores,
    ):
        finding = check()
        findings.append(finding)
        if not as_json:
            _print(finding)
    failed = [finding.check for finding in findings if finding.status is Status.FAIL]
    if as_json:
        lines = [
            {
                "check": finding.check,
                "status": finding.status.value,
                "detail": finding.detail,
                "remedy": finding.remedy,
            }
            for finding in findings
        ]
        click.echo(json.dumps({"ok": not failed, "checks": lines}))
    else:
        click.echo(f"to mend: {', '.join(failed)}" if failed else "fit to run: try `tornado demo`")
    return ExitCode.FAILED if failed else ExitCode.DONE


def _print(finding: Finding) -> None:
    status = click.style(f"{finding.status.value:<4}", fg=_COLOURS[finding.status])
    click.echo(f"{status}  {finding.check}: {finding.detail}")
    if finding.remedy:
        click.echo(f"      {finding.remedy}")
