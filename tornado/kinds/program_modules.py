"""Where a program's class is written, so that another process can import it: as a module of a package, or as a file.

A module of a package is found by its name, a file by its path, as `path/to/file.py:ClassName` is. Both processes compare the
text, for a class that was edited meanwhile computes something else.
"""

from __future__ import annotations

import dataclasses
import hashlib
import importlib
import importlib.util
import inspect
import sys
import traceback
from pathlib import Path
from types import ModuleType
from typing import Generic, NamedTuple, TypeVar
from weakref import WeakKeyDictionary

from ..config import HOME
from ..engine import FENCE_BYTES, Wire
from ..errors import InvalidArgument, NotSupported, TornadoError
from ..loops.vertex_program import VertexProgram
from .travelling import VALUE_TYPES, travelling

_PARAMETERS = Wire(bytes(FENCE_BYTES), VALUE_TYPES)  # inside of messages that have a fence


Program = TypeVar("Program", bound=VertexProgram)


class Origin(NamedTuple):
    """Where a class is written.

    Attributes
    ----------
    module, path
        By which it is imported; the path is empty for a module of a package.
    name
        Of the class in its module.
    digest
        Of the module's text.
    """

    module: str
    path: str
    name: str
    digest: str


class ProgramReference(NamedTuple):
    """A program as it travels: where its class is written, and its fields, written as values are."""

    origin: Origin
    parameters: bytes


_origins: WeakKeyDictionary[type, Origin] = (
    WeakKeyDictionary()
)  # as they were when a class was first referred to


def reference_of(program: VertexProgram) -> ProgramReference:
    """Refer to a program.

    Raises
    ------
    NotSupported
        When another process could not import its class, or a parameter cannot travel.
    """
    kind = type(program)
    origin = _origins.get(kind)
    if origin is None:
        origin = _origins[kind] = _origin_of(kind)
    fields = [field.name for field in dataclasses.fields(program) if field.init]  # type: ignore[arg-type]
    try:
        values = {name: travelling(getattr(program, name)) for name in fields}
    except NotSupported as error:
        raise NotSupported(f"a parameter of {program!r}: {error.message}", hint=error.hint) from error
    return ProgramReference(origin, b"".join(_PARAMETERS.write(values)))


def _origin_of(kind: type) -> Origin:
    module = sys.modules.get(kind.__module__)
    if module is None or kind.__module__ == "__main__" or "<locals>" in kind.__qualname__:
        where = "a function" if "<locals>" in kind.__qualname__ else "the program that was started"
        raise NotSupported(
            f"{kind.__qualname__} is defined in {where}, where a worker process cannot import it from",
            hint="Put the class into a file of its own and import it from there, or use the engine threads.",
        )
    if _found(module, kind.__qualname__) is not kind:
        raise NotSupported(
            f"{kind.__module__}.{kind.__qualname__} is another class by now: a worker process would import that one",
            hint="Load the file once, and give other files other names.",
        )
    path = "" if module.__package__ else _file_of(module)
    return Origin(kind.__module__, path, kind.__qualname__, _digest_of(module))


class Programs(Generic[Program]):
    """Programs of other processes; each module is imported once.

    Parameters
    ----------
    base
        What their classes are derived from.
    described
        What one is called in a sentence: "general program".
    """

    def __init__(self, base: type[Program], described: str) -> None:
        self._base = base
        self._described = described
        self._modules: dict[tuple[str, str], tuple[ModuleType, str]] = {}

    def program(self, reference: tuple[tuple[str, str, str, str], bytes]) -> Program:
        """The program of a `ProgramReference`, which has become plain tuples on its way.

        Raises
        ------
        InvalidArgument
            When it cannot be imported here, or is not the same here.
        """
        origin, parameters = Origin(*reference[0]), reference[1]
        key = origin.module, origin.path
        if key not in self._modules:
            imported = _imported(*key)
            self._modules[key] = imported, _digest_of(imported)
        module, digest = self._modules[key]
        if digest != origin.digest:
            raise InvalidArgument(
                f"{_file_of(module)} has another text than when {origin.name} was imported to start the loop",
                hint="It was edited meanwhile, or machines have different versions of it. Start again.",
            )
        kind = _found(module, origin.name)
        if not inspect.isclass(kind) or not issubclass(kind, self._base):
            raise InvalidArgument(f"{_file_of(module)} has no {self._described} {origin.name!r}")
        fields = _PARAMETERS.read([parameters])
        try:
            return kind(**fields)
        except Exception as error:
            raise InvalidArgument(f"{origin.name} cannot be made with {fields}: {error!r}") from error

    def told(self, error: BaseException) -> BaseException:
        """An error as whoever wrote the program has to be told of it, where it came out of one; its traceback does not travel."""
        files = {_file_of(module) for module, _ in self._modules.values()}
        frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename in files]
        if isinstance(error, TornadoError) or not frames:
            return error
        last = frames[-1]
        return InvalidArgument(
            f"{last.name} of the program raised {error!r} ({last.filename}, line {last.lineno})"
        )


def import_module(name: str) -> ModuleType:
    """Import a module of a package by its name; `apps` is the one beside this package, whatever is in the current folder."""
    if name.partition(".")[0] == "apps" and str(HOME) not in sys.path[:1]:
        sys.path.insert(0, str(HOME))
    return importlib.import_module(name)


def import_file(path: Path) -> ModuleType:
    """Import a file as a module of its own name in `sys.modules`, with its folder on the path, as if it had been run.

    Raises
    ------
    InvalidArgument
        When that fails.
    """
    path = path.resolve()
    if str(path.parent) not in sys.path:
        sys.path.insert(0, str(path.parent))
    specification = importlib.util.spec_from_file_location(path.stem, path)
    if specification is None or specification.loader is None:
        raise InvalidArgument(f"{path} cannot be imported as Python")
    module = importlib.util.module_from_spec(specification)
    # Known before it runs: dataclasses and pickle look a class's module up by name.
    before = sys.modules.get(path.stem)
    sys.modules[path.stem] = module
    try:
        specification.loader.exec_module(module)
    except Exception as error:
        if before is None:
            del sys.modules[path.stem]
        else:
            sys.modules[path.stem] = before
        raise InvalidArgument(f"{path} cannot be imported: {type(error).__name__}: {error}") from error
    return module


def _imported(name: str, path: str) -> ModuleType:
    if path and Path(path).is_file():
        return import_file(Path(path))
    try:
        return import_module(name)
    except Exception as error:
        where = f"there is no file {path}, and {name}" if path else name
        raise InvalidArgument(f"{where} cannot be imported: {type(error).__name__}: {error}") from error


def _found(module: ModuleType, name: str) -> object:
    found: object = module
    for part in name.split("."):
        found = getattr(found, part, None)
    return found


def _file_of(module: ModuleType) -> str:
    return getattr(module, "__file__", None) or ""


def _digest_of(module: ModuleType) -> str:
    file = Path(_file_of(module))
    return hashlib.sha256(file.read_bytes()).hexdigest() if file.is_file() else ""
