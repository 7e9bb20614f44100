"""`tornado doctor`: is this machine and environment fit, and if not, what to do."""

from __future__ import annotations

import json
from collections.abc import Iterable

import click

from ..client.transport import TOKEN_VARIABLE
from ..errors import InvalidArgument
from . import checks
from .checks import Finding, Status
from .kafka_checks import check_topic
from .listing import json_option
from .presentation import ExitCode
from .service_checks import check_service

_MACHINE = (
    checks.check_python,
    checks.check_import_name,
    checks.check_dependencies,
    checks.check_compiler,
    checks.check_compiler_cache,
    checks.check_port,
    checks.check_store,
    checks.check_memory,
    checks.check_cores,
)
_COLOURS = {Status.OK: "green", Status.WARN: "yellow", Status.FAIL: "red"}


@click.command("doctor")
@click.option(
    "--kafka",
    "brokers",
    metavar="HOST:PORT[,…]",
    help="Look at the way to a broker, or to a topic of it, instead of at this machine.",
)
@click.option("--topic", metavar="NAME", help="The topic.")
@click.option("--kafka-config", metavar="PATH", help="A JSON file with further settings of the client.")
@click.option(
    "--url", metavar="URL", help="Walk the way to a running service instead, such as http://127.0.0.1:8080."
)
@click.option(
    "--token",
    metavar="TOKEN",
    help=f"What to show the service; {TOKEN_VARIABLE} in the environment is the same.",
)
@json_option
def doctor_command(
    *,
    brokers: str | None,
    topic: str | None,
    kafka_config: str | None,
    url: str | None,
    token: str | None,
    as_json: bool,
) -> int:
    """Check Python, the import name, the compiler, the port, the store, memory and cores.

    With --kafka: whether the broker can be used, and with --topic whether the topic can be read, and if not, why not, in
    less than five seconds. With --url: whether a service can be reached and asked, and how its loops stand. Exits with 1 where a
    check fails; a warning is no failure.
    """
    if url is not None and brokers is not None:
        raise InvalidArgument(
            f"--url {url} and --kafka {brokers} are two ways", hint="Walk one after the other."
        )
    if token is not None and url is None:
        raise InvalidArgument(
            "--token is given without --url", hint="For example --url http://127.0.0.1:8080."
        )
    if brokers is None and topic is not None:
        raise InvalidArgument(
            f"--topic {topic} is given without --kafka",
            hint="For example --kafka 127.0.0.1:9092 --topic edges.",
        )
    found: Iterable[Finding]
    if url is not None:
        found = check_service(url, token)
        fit = f"{url} can be used"
    elif brokers is not None:
        found = check_topic(brokers, topic, kafka_config)
        fit = f"{brokers} can be used" if topic is None else f"{topic} can be read"
    else:
        found = (check() for check in _MACHINE)
        fit = "fit to run: try `tornado demo`"
    findings = []
    for finding in found:
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
        click.echo(f"to mend: {', '.join(failed)}" if failed else fit)
    return ExitCode.FAILED if failed else ExitCode.DONE


def _print(finding: Finding) -> None:
    status = click.style(f"{finding.status.value:<4}", fg=_COLOURS[finding.status])
    click.echo(f"{status}  {finding.check}: {finding.detail}")
    if finding.remedy:
        click.echo(f"      {finding.remedy}")
