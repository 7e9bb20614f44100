"""Where files go and which limits hold when nobody says otherwise.

Guarantees: importing this module touches neither the file system nor the environment; both are read when a function is
called, so a test may change them. Settings are frozen: what a run was started with is what it runs with.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from numbers import Integral
from pathlib import Path
from typing import Any, Final, Literal

import platformdirs

from .errors import InvalidArgument

APPLICATION_NAME = "tornado-loops"

# `apps` is installed beside this package; in a checkout it is the folder beside it. The same rule finds both, and no
# other package called `apps` in the current folder can take its place.
HOME = Path(__file__).resolve().parent.parent

# Named after the distribution: these folders are not the web framework's, which has the same import name.
DATA_DIR_VARIABLE = "TORNADO_LOOPS_DATA_DIR"
CACHE_DIR_VARIABLE = "TORNADO_LOOPS_CACHE_DIR"

DEFAULT_CHECKPOINT_EVERY_S = 60.0
DEFAULT_DELAY_BOUND = 64
AUTO_DELAY_BOUND: Final = "auto"
"""In place of a delay bound that nobody named: none, and nobody is asked, where the answers of the program do not depend on it; else the
one above, as far as the program allows it (`VertexProgram.chosen_bound`)."""
DelayBound = int | Literal["auto"] | None
AUTO_WORKERS: Final = "auto"
Workers = int | Literal["auto"] | None
"""How many, as it is asked for: left out, all cores; "auto" begins with one, and goes on with more where they help."""
VertexPlacement = Literal["auto", "blocks", "hash"]
"""Which vertex belongs to which worker: by the hash of its id, in blocks of ids, or in blocks where the first edges join ids that are near."""
DEFAULT_HTTP_HOST = "127.0.0.1"
DEFAULT_HTTP_PORT = 8080
DEFAULT_KEPT_SNAPSHOTS = 3

MOST_BATCH_SOURCES = 1_000
"""The most sources of numbered batches of a loop: each is named by its sender, and its offset stands in every answer."""

MEBIBYTE = 1 << 20

BODY_LIMIT_BYTES = 64 * MEBIBYTE
"""The largest body of pushed edges, as it was sent."""
BODY_LIMIT_RECORDS = 4 * MEBIBYTE
"""The most records of a body: in 64 MiB no more of them can be edges, with 16 bytes each for two ids."""
UNPACKED_LIMIT_BYTES = 128 * MEBIBYTE
"""What an Arrow body may take once it is unpacked."""
REJECTED_LIMIT_BYTES = 64 * MEBIBYTE
"""What the rejected records of one body may take, with their reasons."""
REJECTED_LIMIT_RECORDS = 1 << 16
"""The most rejected records of one body: each is described by itself, which costs some microseconds of the interpreter."""

MESSAGE_LIMIT_BYTES = 32 * MEBIBYTE
"""The largest Kafka message, with its compression taken off: that of Kafka, and that of Arrow inside."""
MESSAGE_LIMIT_RECORDS = MEBIBYTE
"""The most records of a Kafka message."""

QUARANTINE_LIMIT_BYTES = 64 * MEBIBYTE
"""The size at which a quarantine file becomes the older one; both together take twice that."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Limits of one run. Every one has a default that suits one machine.

    Attributes
    ----------
    delay_bound : int or None
        B of the paper; 1 is synchronous, None is unbounded.
    query_deadline_s : float
        After this long an exact query answers with the best value so far.
    query_queue_limit : int
        How many queries may wait before the next one is refused with `QueueFull`.
    retained_results, retained_size_bytes : int
        How many finished results are kept for later reading, by count and by size; the oldest go first.
    admission_timeout_s : float
        How long a pushed record waits for a loop that lags before it is refused with `QueueFull`.
    """

    delay_bound: int | None = DEFAULT_DELAY_BOUND
    query_deadline_s: float = 300.0
    query_queue_limit: int = 256
    retained_results: int = 1024
    retained_size_bytes: int = 1 << 30
    admission_timeout_s: float = 30.0


def data_dir() -> Path:
    """Return the folder for stores and logs of this user; it may not exist yet."""
    chosen = os.environ.get(DATA_DIR_VARIABLE)
    return Path(chosen).expanduser() if chosen else Path(platformdirs.user_data_dir(APPLICATION_NAME))


def cache_dir() -> Path:
    """Return the folder for what can be made again (compiled programs); it may not exist yet."""
    chosen = os.environ.get(CACHE_DIR_VARIABLE)
    return Path(chosen).expanduser() if chosen else Path(platformdirs.user_cache_dir(APPLICATION_NAME))


def worker_counts(asked: Any) -> tuple[int, int | None]:
    """How many workers there are at first and, where more are tried, at most.

    Raises
    ------
    InvalidArgument
        When that is no whole number from 1.
    """
    if asked is None:
        return default_workers(), None
    if isinstance(asked, str) and asked == AUTO_WORKERS:
        return 1, default_workers()
    if isinstance(asked, bool) or not isinstance(asked, Integral) or asked < 1:
        raise InvalidArgument(
            f"workers is {asked!r} but must be a whole number from 1, or 'auto'",
            hint="Leave it out to use all cores.",
        )
    return int(asked), None


def default_workers() -> int:
    """Return the number of cores this process may use, which containers often limit; at least 1."""
    if hasattr(os, "sched_getaffinity"):
        return max(1, len(os.sched_getaffinity(0)))
    return max(1, os.cpu_count() or 1)
