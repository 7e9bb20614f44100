"""Which files a run writes and which it reads: none is both, whatever two options call it.

A file is compared as what it is and not by its name: another spelling, a symbolic link and a hard link are the same one. What is no plain file,
such as a terminal or `/dev/null`, loses nothing by being written and may stand in several options.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

from ..config import VertexPlacement
from ..errors import InvalidArgument
from ..ingest.quarantine import older_file
from .output import STANDARD_OUTPUT
from .parameters import OtherProgram, files_of_parameters
from .plan import LOOP_IN_OUTPUT, STANDARD_INPUT

_STANDARD_INPUT_DESCRIPTOR = 0
_READ_ONE_BY_ONE = ("edges", "vertices", "points")
_STANDARD_INPUT_MAY_BE = ("edges", "vertices")
_READ_ONCE = ("predict", "pipeline", "kafka_config", "tokens", "tls_certificate", "tls_key")


@dataclass(frozen=True, slots=True)
class FileOfOption:
    """A file that an option names.

    Attributes
    ----------
    option : str
        As it is spelt.
    path : str
        Its value.
    becomes : str or None
        Where the file is in the end that is meant; None: there.
    is_standard_input : bool
        Whether the value is no path, but the sign of standard input.
    """

    option: str
    path: str
    becomes: str | None = None
    is_standard_input: bool = False

    def __str__(self) -> str:
        said = f"{self.option} {self.path}"
        return said if self.becomes is None else f"{said}, which becomes {self.becomes} when it is full,"

    @property
    def place(self) -> str:
        """Where the file is."""
        return self.becomes or self.path

    def status(self) -> os.stat_result | None:
        """Return what the file is; None where there is none."""
        try:
            return os.fstat(_STANDARD_INPUT_DESCRIPTOR) if self.is_standard_input else Path(self.place).stat()
        except (OSError, ValueError):  # tokens may stand there in place of a path
            return None


def require_apart(written: Sequence[FileOfOption], read: Sequence[FileOfOption] = ()) -> None:
    """Refuse files that are written where they are read, or written twice.

    Raises
    ------
    InvalidArgument
        Two options name the same file.
    """
    for place, target in enumerate(written):
        hint = f"Name another file with {target.option}."
        for other in read:
            if _are_one(target, other):
                raise InvalidArgument(
                    f"{target} is written, and {other} names the same file, which is read", hint=hint
                )
        for other in written[:place]:
            if _are_one(target, other):
                raise InvalidArgument(
                    f"{target} is written, and {other} names the same file, which is written too", hint=hint
                )


def require_run_apart(loop: str, options: Mapping[str, Any], others: Sequence[OtherProgram]) -> None:
    """Refuse a run that would write over what it reads; see `require_apart`.

    Parameters
    ----------
    loop : str
        What the first loop is called.
    options : mapping
        The options of `tornado run`, and those of the first program, by name.
    others : sequence of OtherProgram
        The programs behind `--and`.
    """
    loops = [loop, *(other.name for other in others)]
    require_apart(list(_written(options, loops)), list(_read(options, others)))


def _written(options: Mapping[str, Any], loops: Sequence[str]) -> Iterator[FileOfOption]:
    output, quarantine = options["output"], options["quarantine"]
    if output not in (None, STANDARD_OUTPUT):
        for path in dict.fromkeys(output.replace(LOOP_IN_OUTPUT, loop) for loop in loops):
            yield FileOfOption("--output", path)
    if quarantine is not None:
        yield FileOfOption("--quarantine", quarantine)
        yield FileOfOption("--quarantine", quarantine, becomes=str(older_file(Path(quarantine))))


def _read(options: Mapping[str, Any], others: Sequence[OtherProgram]) -> Iterator[FileOfOption]:
    for name in _READ_ONE_BY_ONE:
        for path in options[name] or ():
            is_standard_input = path == STANDARD_INPUT and name in _STANDARD_INPUT_MAY_BE
            yield FileOfOption(f"--{name}", path, is_standard_input=is_standard_input)
    if options["placement"] not in get_args(VertexPlacement):
        yield FileOfOption("--placement", options["placement"])
    for name in _READ_ONCE:
        if options[name] is not None:
            yield FileOfOption("--" + name.replace("_", "-"), options[name])
    for values in (options, *(other.values for other in others)):
        for option, path in files_of_parameters(values):
            yield FileOfOption(option, path)
    for other in others:
        if other.values["predict"] is not None:
            yield FileOfOption("--predict", other.values["predict"])


def _are_one(written: FileOfOption, other: FileOfOption) -> bool:
    found, beside = written.status(), other.status()
    if found is not None and beside is not None:
        return stat.S_ISREG(found.st_mode) and os.path.samestat(found, beside)
    if found is not None or beside is not None:
        return False
    return os.path.realpath(written.place) == os.path.realpath(other.place)
