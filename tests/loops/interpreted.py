"""A program's kernel run by Python itself: to break it on purpose, and to look at every commit.

The generated text is executed with a decorator that compiles nothing and with columns as `memoryview`s at their addresses. For
small graphs only; but a mutant costs no compilation, and any function of the kernel can be watched.
"""

import ast
import ctypes
import inspect
import types
from typing import get_args

import numpy as np

from tornado.errors import LawBroken
from tornado.graph.graph_columns import GraphColumns
from tornado.kinds.selective.compile import generated_source
from tornado.kinds.selective.loop_columns import DELAY_BOUND, SENT_LEAST
from tornado.simulation import LeastSums

_ITEMS = {
    "uint16": (ctypes.c_uint16, "H"),
    "int8": (ctypes.c_int8, "b"),
    "int32": (ctypes.c_int32, "i"),
    "int64": (ctypes.c_int64, "q"),
    "uint8": (ctypes.c_uint8, "B"),
    "uint64": (ctypes.c_uint64, "Q"),
    "float64": (ctypes.c_double, "d"),
}
_REACH = 1 << 26  # entries; more than the address of any outbox, and no kernel looks at what it did not write
_REPLACED = (
    "import numba as nb\n",
    "import numpy as np\n",
    "from tornado.columns import columns_at, columns_like, prefetch\n",
    "from tornado.inner_functions import inner\n",
)


class _Numba:
    @staticmethod
    def njit(*functions, **options):
        """Leave a function as it is."""
        return functions[0] if functions else lambda function: function


class _Numpy:
    """`np`, with conversions that take any integer and wrap, as those of compiled code do."""

    def __getattr__(self, name):
        return getattr(np, name)

    @staticmethod
    def uint64(value):
        return np.uint64(int(value) & (1 << 64) - 1)

    @staticmethod
    def int64(value):
        return (int(value) + (1 << 63)) % (1 << 64) - (1 << 63)

    @staticmethod
    def int32(value):
        return (int(value) + (1 << 31)) % (1 << 32) - (1 << 31)


def _columns_at(addresses, layout):
    """Stands for `tornado.columns.columns_at`."""
    columns = {}
    for address, field in zip(addresses, layout.split(), strict=True):
        name, kind = field.split(":")
        kind, _, stride = kind.partition("/")
        item, code = _ITEMS[kind]
        column = memoryview((item * _REACH).from_address(int(address))).cast("B").cast(code)
        columns[name] = column[:: int(stride) // ctypes.sizeof(item)] if stride else column
    return types.SimpleNamespace(**columns)


class _Reverse:
    """Stands for `tornado.columns.columns_like`: other columns of the same kind."""

    def __init__(self, layout):
        self.layout = layout

    def __call__(self, _columns, addresses):
        return _columns_at(addresses[: len(self.layout.split())], self.layout)


def calls_of(callee, text):
    """Statements of a kernel that do nothing but call a function, as they come: (function that they are in, statement)."""
    found = []
    for function in ast.parse(text).body:
        if isinstance(function, ast.FunctionDef):
            calls = [node.value for node in ast.walk(function) if isinstance(node, ast.Expr)]
            found += [
                (function.name, call)
                for call in sorted(calls, key=lambda call: call.lineno)
                if isinstance(call, ast.Call) and ast.unparse(call.func) == callee
            ]
    return found


def source_of(program=LeastSums):
    """The text that the kernel of a program is made of."""
    functions = {name: getattr(program, name) for name in ("offer", "better", "priority", "initial")}
    return generated_source(functions, program.worst, both_ways=program.both_ways)


def interpreted(*changes, program=LeastSums, without_line=None):
    """The kernel of a program as a module of plain functions, `changes` (old text, new text) made in its source first.

    A line that is left out, of the source as it is, has a call in it and nothing else.
    """
    text = source_of(program)
    if without_line is not None:
        lines = text.splitlines(keepends=True)
        line = lines[without_line - 1]
        lines[without_line - 1] = line[: len(line) - len(line.lstrip())] + "pass\n"
        text = "".join(lines)
    for old, new in (*((line, "") for line in _REPLACED), *changes):
        assert text.count(old) == 1, f"the kernel has this {text.count(old)} times: {old}"
        text = text.replace(old, new)
    module = types.ModuleType("interpreted_kernel")
    module.nb, module.np = _Numba, np
    module.inner, module.columns_at = _Numba.njit, _columns_at
    module.prefetch = lambda _column, _index: None
    layout = " ".join(f"{name}:{get_args(kind)[1]}" for name, kind in GraphColumns.__annotations__.items())
    module.columns_like = _Reverse(layout)
    exec(compile(text, "interpreted kernel", "exec"), module.__dict__)
    module.np = _Numpy()
    return module


def on_kernel(module):
    """Shortest paths on that kernel."""
    return type("Interpreted", (LeastSums,), {"kernel": classmethod(lambda _: module)})


def around(kernel, name):
    """Put a function in place of one of the kernel's: it gets the arguments by name, and `do`, which is the one of the kernel."""

    def put(function):
        plain = getattr(kernel, name)
        signature = inspect.signature(plain)

        def wrapped(*arguments):
            call = types.SimpleNamespace(**dict(zip(signature.parameters, arguments, strict=True)))
            call.do = lambda: plain(*(getattr(call, parameter) for parameter in signature.parameters))
            return function(call)

        wrapped.__signature__ = signature
        setattr(kernel, name, wrapped)
        return function

    return put


def judged(kernel):
    """Have every commit and every gather of a commit compared with the rules of `tornado.protocol.session`; returns the kernel.

    R2: a vertex commits at growing iterations. R3: what it gathers is not older than its own last commit. And k - tau < B by the
    frontier that its worker knows at that moment.
    """
    committed = {}  # columns of a loop on a worker -> row -> iteration of its last commit
    now = {}

    @around(kernel, "LoopColumns_at")
    def columns_at(call):
        now["columns"] = call.addresses.tobytes()
        return call.do()

    @around(kernel, "_advance")
    def advance(call):
        now["others"] = call.others
        return call.do()

    @around(kernel, "commit")
    def commit(call):
        last = committed.setdefault(now["columns"], {})
        row, iteration, counters = call.row, call.iteration, call.loop.counters
        if iteration <= last.get(row, -1):
            raise LawBroken("R2", f"row {row} commits at {iteration} after {last[row]}")
        known = min(now["others"], counters[SENT_LEAST], kernel.least_pending(call.loop))
        if iteration - known >= counters[DELAY_BOUND]:
            raise LawBroken("delay bound", f"row {row} commits at {iteration}, tau is known to be {known}")
        last[row] = iteration
        call.do()

    @around(kernel, "visit_commit")
    def visit_commit(call):
        last = committed.get(now["columns"], {}).get(call.consumer, -1)
        entry = call.session.record[call.producer] - 1
        is_input = entry >= 0 and call.born > call.session.born[entry]
        if not is_input and call.consumer != call.producer and call.iteration < last:
            raise LawBroken(
                "R3", f"row {call.consumer} gathers a commit at {call.iteration} after its own at {last}"
            )
        call.do()

    for fork in ("fork", "fork_fresh"):

        @around(kernel, fork)
        def begin(call):
            committed.pop(call.branch.tobytes(), None)  # columns may have been those of an earlier branch
            return call.do()

    return kernel
