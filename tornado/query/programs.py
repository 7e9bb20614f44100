"""Find the program that APP names: a module of `apps/`, or `path/to/file.py:ClassName`.

Guarantees: nothing is started; every failure is a `CallerError` that lists what there is to choose from. A file is
imported as a module of its own name in `sys.modules`, with its folder on the path, as if it had been run.
"""

from __future__ import annotations

import inspect
import pkgutil
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from ..config import HOME
from ..errors import InvalidArgument


@dataclass(frozen=True, slots=True)
class ProgramEntry:
    """A program that can be started.

    Attributes
    ----------
    name : str
        What the loop is called unless the user says otherwise.
    kind : type
        The class of the program, a dataclass whose fields are its parameters.
    """

    name: str
    kind: type


def app_names() -> list[str]:
    """Return the names that `tornado run` accepts, in alphabetical order; a folder of `apps/` is no app."""
    modules = pkgutil.iter_modules([str(HOME / "apps")])
    return sorted(module.name for module in modules if module.name[0] != "_" and not module.ispkg)


def load_program(app: str) -> ProgramEntry:
    """Import the program that `app` names.

    Parameters
    ----------
    app : str
        A name of `app_names()`, or `path/to/file.py:ClassName`.

    Raises
    ------
    InvalidArgument
        There is no such app, file or class, the class is no vertex program, or its module cannot be imported.
    """
    path, colon, class_name = app.rpartition(":")
    if colon and path.endswith(".py"):
        return _from_file(Path(path), class_name)
    if app.endswith(".py"):
        known = ", ".join(kind.__name__ for kind in _programs_in(_import_file(Path(app)))) or "none"
        raise InvalidArgument(
            f"{app} does not say which program to run", hint=f"Write {app}:ClassName; it defines: {known}."
        )
    names = app_names()
    if app not in names:
        raise InvalidArgument(
            f"there is no app named {app!r}",
            hint=f"Apps: {', '.join(names) or 'none'}. A program of your own is path/to/file.py:ClassName.",
        )
    return ProgramEntry(app, _only_program(_import_app(app), app))


def _import_app(app: str) -> ModuleType:
    # Imported late, here and below: `tornado --help` must not load the compiler.
    from ..kinds.program_modules import import_module

    try:
        return import_module(f"apps.{app}")
    except ImportError as error:
        raise InvalidArgument(f"apps/{app}.py cannot be imported: {error}") from error


def _from_file(path: Path, class_name: str) -> ProgramEntry:
    module = _import_file(path)
    known = ", ".join(kind.__name__ for kind in _programs_in(module)) or "none"
    kind = getattr(module, class_name, None)
    if not inspect.isclass(kind):
        raise InvalidArgument(f"{path} has no class {class_name!r}", hint=f"Programs it defines: {known}.")
    if not issubclass(kind, _program_type()):
        raise InvalidArgument(
            f"{class_name} of {path} is not a vertex program",
            hint=f"Derive it from tornado.loops.VertexProgram. Programs in this file: {known}.",
        )
    return ProgramEntry(path.stem, kind)


def _import_file(path: Path) -> ModuleType:
    if not path.is_file():
        raise InvalidArgument(
            f"there is no file {path}", hint="APP is a name from apps/ or path/to/file.py:ClassName."
        )
    from ..kinds.program_modules import import_file

    return import_file(path)


def _only_program(module: ModuleType, app: str) -> type:
    programs = _programs_in(module)
    if len(programs) == 1:
        return programs[0]
    public = [kind for kind in programs if kind.__name__ in getattr(module, "__all__", ())]
    if len(public) == 1:
        return public[0]
    known = ", ".join(kind.__name__ for kind in programs) or "none"
    raise InvalidArgument(
        f"apps/{app}.py defines {len(programs)} programs, so its name alone does not choose one",
        hint=f"Write apps/{app}.py:ClassName with one of: {known}.",
    )


def _programs_in(module: ModuleType) -> list[type]:
    """Return the programs that a module defines (not those it imports), in the order they are written."""
    return [
        kind
        for kind in vars(module).values()
        if inspect.isclass(kind)
        and kind.__module__ == module.__name__
        and issubclass(kind, _program_type())
        and not inspect.isabstract(kind)
    ]


def _program_type() -> type:
    from ..loops.vertex_program import VertexProgram

    return VertexProgram
