"""Compiling a counting program together with its kernel: one generated module (`kernel_modules`), named by its text."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

from ...kernel_modules import load_module, module_text
from ..compiled_functions import program_source
from . import count_kernel


def generated_source(functions: dict[str, Callable[..., object]]) -> str:
    """The text of the module that counts for a program; see `load_kernel`."""
    own = "\n\n".join(program_source(name, function) for name, function in functions.items())
    return module_text("the program's counting", [count_kernel], {}, functions=own)


def load_kernel(functions: dict[str, Callable[..., object]]) -> ModuleType:
    """What counts for a program, from disk where it was compiled before.

    Parameters
    ----------
    functions
        ``value(neighbours, edges, *parameters)``, see `CountingProgram`; parameters as `compiled_arguments` makes them.
    """
    return load_module(generated_source(functions))
