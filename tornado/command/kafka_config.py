"""What the Kafka client needs from outside: its library, and a file with further settings in the library's own names."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

from ..config import APPLICATION_NAME
from ..errors import InvalidArgument, NotSupported

# What would change what is read, or who decides about it.
_OURS = frozenset(
    {
        *("auto_offset_reset", "bootstrap_servers", "enable_auto_commit", "group_id", "isolation_level"),
        *("key_deserializer", "value_deserializer", "consumer_timeout_ms"),
    }
)


def read_client_settings(path: str) -> dict[str, Any]:
    """Read the file.

    Raises
    ------
    InvalidArgument
        It cannot be read, is no JSON object, or sets what is not its to set.
    """
    try:
        found = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise InvalidArgument(f"--kafka-config {path} cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise InvalidArgument(f"--kafka-config {path} is no JSON: {error}") from error
    if not isinstance(found, dict):
        raise InvalidArgument(
            f"--kafka-config {path} is no JSON object",
            hint='For example {"security_protocol": "SASL_PLAINTEXT", "sasl_mechanism": "PLAIN", …}.',
        )
    if taken := sorted(_OURS & found.keys()):
        raise InvalidArgument(
            f"--kafka-config {path} sets {', '.join(taken)}, but offsets and values are handled here",
            hint="Leave them out: what remains is for connections and security. For lag tools there is --group.",
        )
    return found


def require_client() -> None:
    """Say how to get the client library where it is not installed.

    Raises
    ------
    NotSupported
        It is not.
    """
    if importlib.util.find_spec("kafka") is None:
        raise NotSupported(
            "the Kafka client is not installed", hint=f"pip install '{APPLICATION_NAME}[kafka]'."
        )
