"""Why a topic cannot be read: the way to it is walked step by step, and the first step that fails is the cause.

Address, connection, protocol, the address that the broker tells clients to come to, topic, permission, leaders, offsets. All of
it within a few seconds, whatever does not answer; nothing is read, written or committed.
"""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from .library import (
    AuthorizationError,
    KafkaAdminClient,
    KafkaConfigurationError,
    KafkaConsumer,
    KafkaError,
    SaslAuthenticationFailedError,
    TopicAuthorizationFailedError,
    TopicPartition,
    UnknownTopicOrPartitionError,
    for_code,
    hearing_refusals,
)
from .settings import KafkaSettings, broker_address, source_name

_CONNECTING_S: Final = 1.0
_ANSWERING_MS: Final = 1500
_ALL_S: Final = 4.5


@dataclass(frozen=True, slots=True)
class ConnectionStep:
    """One step of the way.

    Attributes
    ----------
    name : str
        What was looked at.
    works : bool
        Whether it does.
    detail : str
        What was found.
    remedy : str
        What to do where it does not work.
    """

    name: str
    works: bool
    detail: str
    remedy: str = ""


class _Broken(Exception):
    def __init__(self, name: str, detail: str, remedy: str) -> None:
        super().__init__(detail)
        self.step = ConnectionStep(name, False, detail, remedy)


def diagnose(
    settings: KafkaSettings, *, broker_only: bool = False, timeout_s: float = _ALL_S
) -> list[ConnectionStep]:
    """Walk the way to a topic; the last step is the cause if it does not work.

    Parameters
    ----------
    settings : KafkaSettings
        Brokers and topic.
    broker_only : bool
        Walk no further than to the broker.
    timeout_s : float
        After so long, what has not answered is the cause.
    """
    steps: list[ConnectionStep] = []
    current = ["broker"]

    def walk() -> None:
        try:
            # What goes wrong is said as a finding; the library's own lines would stand between them.
            with hearing_refusals() as refusals:
                for step in _steps(settings, current, refusals, broker_only=broker_only):
                    steps.append(step)  # noqa: PERF402  so that the steps before a broken one are there
        except _Broken as broken:
            steps.append(broken.step)
        except (KafkaError, OSError) as error:
            steps.append(_unexpected(current[0], error))

    walker = threading.Thread(target=walk, name="kafka diagnosis", daemon=True)
    walker.start()
    walker.join(timeout_s)
    found = list(steps)
    if walker.is_alive():
        found.append(
            ConnectionStep(
                current[0],
                works=False,
                detail=f"no answer within {timeout_s:g} s",
                remedy="The broker is overloaded, or something between here and there swallows packets.",
            )
        )
    return found


def _steps(
    settings: KafkaSettings, current: list[str], refusals: list[Exception], *, broker_only: bool
) -> Iterator[ConnectionStep]:
    open_brokers = _reach(settings)
    yield ConnectionStep("broker", works=True, detail=f"{', '.join(open_brokers)} accepts connections")
    current[0] = "protocol"
    admin = _connect(settings, open_brokers, refusals)
    try:
        # The addresses that the broker told us: no public call returns them without using them first.
        advertised = sorted((node.host, node.port) for node in admin._manager.cluster.brokers())  # noqa: SLF001
        yield ConnectionStep("protocol", works=True, detail="it answers as a Kafka broker")
        current[0] = "advertised address"
        yield _check_advertised(open_brokers, advertised)
        if broker_only:
            return
        current[0] = "topic"
        found = _describe(admin, settings)
        partitions = found["partitions"]
        yield ConnectionStep(
            "topic", works=True, detail=f"{settings.topic} has {_counted(len(partitions), 'partition')}"
        )
        current[0] = "permission"
        yield _check_permission(settings, found)
        current[0] = "leaders"
        yield _check_leaders(settings, partitions)
    finally:
        admin.close()
    current[0] = "records"
    yield _check_records(settings, [part["partition_index"] for part in partitions])


def _reach(settings: KafkaSettings) -> list[str]:
    reached, failed = [], []
    for broker in settings.brokers:
        reason = _unreachable(*broker_address(broker))
        if reason is None:
            reached.append(broker)
        else:
            failed.append(f"{broker}: {reason}")
    if not reached:
        raise _Broken(
            "broker",
            "; ".join(failed),
            "Check host and port, and that the broker runs and listens there, not on its loopback address alone.",
        )
    return reached


def _unreachable(host: str, port: int) -> str | None:
    started_s = time.monotonic()
    try:
        with socket.create_connection((host, port), timeout=_CONNECTING_S):
            return None
    except socket.gaierror:
        return f"the name {host} is unknown here"
    except TimeoutError:
        return f"no answer in {time.monotonic() - started_s:.1f} s (a firewall, or a wrong address)"
    except ConnectionRefusedError:
        return "connection refused: nothing listens there"
    except OSError as error:
        return error.strerror or str(error)


def _connect(settings: KafkaSettings, brokers: list[str], refusals: list[Exception]) -> Any:
    shown = ", ".join(brokers)
    try:
        return KafkaAdminClient(
            **{
                "bootstrap_servers": brokers,
                "client_id": "tornado-loops",
                "bootstrap_timeout_ms": _ANSWERING_MS,
                "request_timeout_ms": _ANSWERING_MS,
                **settings.client,
            }
        )
    except (AuthorizationError, SaslAuthenticationFailedError) as error:
        raise _refused(shown, [error]) from error
    except KafkaConfigurationError as error:
        raise _Broken("settings", str(error), "Mend the file given with --kafka-config.") from error
    except (KafkaError, OSError) as error:
        if str(settings.client.get("security_protocol", "")).startswith("SASL"):
            raise _refused(shown, refusals) from error
        raise _Broken(
            "protocol",
            f"something listens at {shown}, but does not answer as a Kafka broker ({type(error).__name__})",
            "A wrong listener: the port of a controller, of another program, or one that wants TLS or a login "
            "(security_protocol in --kafka-config). Name the listener for clients.",
        ) from error


def _refused(shown: str, refusals: list[Exception]) -> _Broken:
    # A broker may cut the connection before its reason is read.
    reason = f": {refusals[0]}" if refusals else ", and ends the connection"
    return _Broken(
        "permission",
        f"{shown} refuses the login of this client{reason}",
        "Check user, password and mechanism in --kafka-config, and that this listener wants a login.",
    )


def _check_advertised(asked: list[str], advertised: list[tuple[str, int]]) -> ConnectionStep:
    shown = [f"{host}:{port}" for host, port in advertised]
    failed = []
    for (host, port), name in zip(advertised, shown, strict=True):
        reason = _unreachable(host, port)
        if reason is not None:
            failed.append(f"{name}: {reason}")
    if failed and len(failed) == len(shown):
        raise _Broken(
            "advertised address",
            f"{', '.join(asked)} answers, but tells clients to come to {'; '.join(failed)}",
            "A wrong listener: let advertised.listeners of the broker name an address that this machine can reach.",
        )
    if failed:
        return ConnectionStep(
            "advertised address", works=True, detail=f"not all brokers can be reached: {'; '.join(failed)}"
        )
    return ConnectionStep("advertised address", works=True, detail=f"{', '.join(shown)} can be reached")


def _describe(admin: Any, settings: KafkaSettings) -> Any:
    found = next(iter(admin.describe_topics([settings.topic])))
    error = for_code(found.get("error_code", 0))
    if error is UnknownTopicOrPartitionError:
        names = sorted(name for name in admin.list_topics() if not name.startswith("__"))
        shown = ", ".join(names[:10]) + (", …" if len(names) > 10 else "")
        raise _Broken(
            "topic",
            f"there is no topic {settings.topic!r} that this client may see; there is {shown or 'none at all'}",
            "Check the name, or make it: `tornado produce … --create 4` does.",
        )
    if error is TopicAuthorizationFailedError:
        raise _Broken(
            "permission",
            f"this client may not describe topic {settings.topic}",
            "Ask for DESCRIBE and READ on the topic.",
        )
    if found.get("error_code", 0):
        raise _Broken("topic", f"{settings.topic}: {error.__name__}", "Look into the broker's log.")
    return found


def _check_permission(settings: KafkaSettings, found: Any) -> ConnectionStep:
    allowed = found.get("authorized_operations")
    if isinstance(allowed, list) and allowed and "READ" not in allowed:
        raise _Broken(
            "permission",
            f"this client may {', '.join(sorted(allowed)).lower()} {settings.topic}, but not read it",
            "Ask for READ on the topic.",
        )
    return ConnectionStep("permission", works=True, detail=f"{settings.topic} may be read")


def _check_leaders(settings: KafkaSettings, partitions: list[Any]) -> ConnectionStep:
    leaderless = [part["partition_index"] for part in partitions if part.get("leader_id", -1) < 0]
    if leaderless:
        raise _Broken(
            "leaders",
            f"no broker leads {', '.join(source_name(settings.topic, number) for number in sorted(leaderless))}",
            "The brokers with their records are down: start them, or elect a leader.",
        )
    return ConnectionStep("leaders", works=True, detail="every partition has one")


def _check_records(settings: KafkaSettings, numbers: list[int]) -> ConnectionStep:
    consumer = KafkaConsumer(
        **{
            "bootstrap_servers": list(settings.brokers),
            "client_id": "tornado-loops",
            "group_id": None,
            "bootstrap_timeout_ms": _ANSWERING_MS,
            "request_timeout_ms": _ANSWERING_MS,
            **settings.client,
        }
    )
    try:
        places = [TopicPartition(settings.topic, number) for number in sorted(numbers)]
        begin = consumer.beginning_offsets(places, timeout_ms=_ANSWERING_MS)
        end = consumer.end_offsets(places, timeout_ms=_ANSWERING_MS)
    finally:
        _quietly(consumer.close)
    count = sum(end[place] - begin[place] for place in places)
    shown = ", ".join(f"{place.partition}: {begin[place]} to {end[place]}" for place in places[:8])
    more = ", …" if len(places) > 8 else ""
    return ConnectionStep(
        "records", works=True, detail=f"{_counted(count, 'record')} (offsets of {shown}{more})"
    )


def _quietly(action: Callable[[], object]) -> None:
    try:
        action()
    except (KafkaError, OSError):
        # What is to be found out is known already.
        return


def _unexpected(name: str, error: BaseException) -> ConnectionStep:
    text = str(error).strip()
    return ConnectionStep(
        name,
        works=False,
        detail=f"{type(error).__name__}{f': {text}' if text else ''}",
        remedy="Look into the broker's log for what happened at this moment.",
    )


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
