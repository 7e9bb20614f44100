"""The master: starts the workers and the loops on them, and hears what fails. It collects no progress: that is the frontier's."""

from __future__ import annotations

import itertools
import threading
from types import TracebackType
from typing import Self

from ..engine import Engine, ThreadEngine
from ..errors import InvalidArgument, NotSupported
from ..storage import VersionedStore
from .host import WorkerHost
from .main_loop import MainLoop
from .program import SelectiveProgram, VertexProgram

_MOST_WORKERS = 64  # subscribers of a vertex are a bit set of 64
_ENGINES_TO_COME = ("processes", "spark")


class Master:
    """Workers and the main loops that run on them. A context manager.

    Parameters
    ----------
    store
        Where snapshots are kept.
    workers
        1 to 64.
    engine
        "threads", or an engine that was made already (a `SimulationEngine`).

    Attributes
    ----------
    loops
        The main loops by name.
    """

    def __init__(
        self, store: VersionedStore | None = None, workers: int = 1, engine: str | Engine = "threads"
    ) -> None:
        if not 1 <= workers <= _MOST_WORKERS:
            raise InvalidArgument(f"workers is {workers} but must be from 1 to {_MOST_WORKERS}")
        if isinstance(engine, str):
            if engine in _ENGINES_TO_COME:
                raise NotSupported(f"engine {engine!r} is not supported in this version; use 'threads'")
            if engine != "threads":
                raise InvalidArgument(f"engine is {engine!r} but must be 'threads'")
            engine = ThreadEngine(workers)
        self.store = store
        self.workers = workers
        self.engine = engine
        self.loops: dict[str, MainLoop] = {}
        self._order = threading.Lock()
        self._branch_numbers = itertools.count(1)
        self._hosts = [WorkerHost(index, workers, engine.fabric) for index in range(workers)]
        self._is_closed = False
        engine.start(self._hosts, self._on_failure)

    def start(
        self, program: VertexProgram, name: str, delay_bound: int | None = 64
    ) -> MainLoop:
        """Start a main loop.

        Raises
        ------
        InvalidArgument
            When a loop has that name, or the program does not converge for this delay bound.
        """
        if name in self.loops:
            raise InvalidArgument(f"a loop named {name!r} runs already; give this one another name")
        if not isinstance(program, SelectiveProgram):
            raise NotSupported(f"{type(program).__name__} is not a selective program")
        program.check_delay_bound(delay_bound)
        loop = MainLoop(
            number=len(self.loops),
            name=name,
            program=program,
            delay_bound=delay_bound,
            hosts=self._hosts,
            engine=self.engine,
            next_branch=lambda: next(self._branch_numbers),
            order=self._order,
        )
        self.loops[name] = loop
        return loop

    def close(self) -> None:
        """Cancel every branch and end the workers."""
        if self._is_closed:
            return
        self._is_closed = True
        for loop in self.loops.values():
            loop.close()
        self.engine.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def _on_failure(self, worker: int, error: BaseException) -> None:
        """An operator raised: fail the loop or the branch it belongs to."""
        loops = list(self.loops.values())
        for number, branch, failure in self._hosts[worker].failures():
            if number is not None and number < len(loops) and loops[number].error is None:
                loops[number].fail(failure)
            for loop in loops:
                running = loop.branch(branch) if branch is not None else None
                if running is not None:
                    running.fail(failure)


