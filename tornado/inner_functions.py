"""Inner functions: those of a generated module that only other compiled functions call.

Numba makes machine code of every function by itself, with all that it calls in it, and of each combination of types and of literal
numbers anew. Of a hundred functions that call each other, that is most of the work, and nobody uses the result: what Python calls
are the few entry points. An inner function is therefore translated once, for the widest whole numbers, and left as it is until an
entry point is linked with all that it reaches; then the whole is optimised, once. The code gets no slower by it, as the optimiser
sees more at a time.

An inner function has nothing that Python could call: calling one from Python is an error that ends the process.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba as nb
from numba.core import types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler

KNOWN_NUMBA = (0, 68)
"""The version whose insides this counts on. With another one inner functions are compiled as all are: rightly, but in more time."""


def inner(function: Callable[..., Any]) -> Any:
    """Compile a function that only compiled functions call. In place of ``numba.njit``."""
    if nb.version_info[:2] != KNOWN_NUMBA:
        return nb.njit(function)
    options: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    dispatcher: Any = nb.njit(function, pipeline_class=_InnerCompiler, **options)
    compiler = dispatcher._compiler  # noqa: SLF001  # nothing public says which types a function is compiled for
    given = compiler.fold_argument_types

    def widened(arguments: Any, keywords: Any) -> Any:
        signature, found = given(arguments, keywords)
        return signature, tuple(_widest(kind) for kind in found)

    compiler.fold_argument_types = widened
    return dispatcher


def _widest(kind: Any) -> Any:
    """The type that a function is compiled for where it is called with another one: the same function does for all."""
    kind = types.unliteral(kind)  # type: ignore[no-untyped-call]
    return types.int64 if kind in types.signed_domain else kind


class _InnerLibrary(JITCodeLibrary):
    """Code that waits for an entry point: linked with what it calls, neither optimised nor made machine code of."""

    def _optimize_functions(self, module: Any) -> None:
        module.data_layout = self._codegen._data_layout  # noqa: SLF001

    def finalize(self) -> None:
        for library in dict.fromkeys(self._linking_libraries):
            self._reload_init.update(library._reload_init)  # noqa: SLF001
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)  # noqa: SLF001
        self._finalize_dynamic_globals()  # type: ignore[no-untyped-call]
        self._verify_declare_only_symbols()  # type: ignore[no-untyped-call]
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:  # noqa: ARG002
        """None: there is no machine code."""
        return 0

    @property
    def codegen(self) -> _InnerLibrary:
        """Who is told of the function's environment, see `set_env`."""
        return self

    def set_env(self, name: str, environment: Any) -> None:
        """Let go of an environment: it is for Python's objects, which an inner function has none of."""


class _InnerCompiler(Compiler):
    """The usual steps, into an `_InnerLibrary`."""

    def __init__(self, typing_context: Any, target_context: Any, _library: Any, *rest: Any) -> None:
        super().__init__(typing_context, target_context, None, *rest)  # type: ignore[no-untyped-call]
        codegen = self.state.targetctx.codegen()
        self.state.library = _InnerLibrary(codegen, "inner")  # type: ignore[no-untyped-call]
