"""The parts of one main loop on all workers, as its owner deals with them: told, asked, waited for, and put there again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from typing import TypeVar

from ..engine import Engine
from ..errors import InternalError, TornadoError, WorkerLost
from ..timely import Holder
from .commands import Command, LoopHost, StartLoop
from .kind import PartPlan
from .part import MainPartView, Traffic
from .stream import RecordStream

_RESTORED_WITHIN_S = 60.0
_MOST_ASKED = 3

Asked = TypeVar("Asked")


class Parts:
    """See the module.

    Parameters
    ----------
    number, name
        Of the loop.
    plan
        What a part is made of.
    stream
        What it reads.
    hosts, engine
        The workers.

    Attributes
    ----------
    error
        What made the loop fail, or None.
    """

    def __init__(
        self,
        number: int,
        name: str,
        plan: PartPlan,
        stream: RecordStream,
        hosts: Sequence[LoopHost],
        engine: Engine,
    ) -> None:
        self.error: BaseException | None = None
        self._stream = stream
        self._number = number
        self._name = name
        self._plan = plan
        self._hosts = hosts
        self._engine = engine

    def hosts(self) -> Sequence[LoopHost]:
        """The workers as they are now; others may take their place."""
        return tuple(self._hosts)

    def __len__(self) -> int:
        return len(self._hosts)

    # Telling

    def prepare(self) -> None:
        """Have every worker fetch what its part is made of. May take long, so not under the lock of the order where others wait.

        Raises
        ------
        NotSupported, InvalidArgument
            When a worker cannot.
        """
        for host in self._hosts:
            host.prepare(self._plan)

    def install(self, on_refused: Callable[[TornadoError], None]) -> None:
        """Have every worker make its part, for which it is prepared; under the lock of the order.

        Parameters
        ----------
        on_refused
            Called on a worker's thread where one could not make its part, to fail the loop.
        """
        stream = self._stream

        def refused(worker: int, error: BaseException) -> None:
            if self.error is None:
                on_refused(self._refusal(worker, error))

        self.post(
            StartLoop(
                self._number,
                stream.number,
                self._plan,
                stream.workers.partition,
                on_installed=lambda _: self._engine.notify(),
                on_refused=refused,
                on_applied=stream.count_applied,
            )
        )

    def _refusal(self, worker: int, error: BaseException) -> TornadoError:
        if isinstance(error, TornadoError) and not isinstance(error, InternalError):
            return error
        said = error.message if isinstance(error, TornadoError) else repr(error)
        return InternalError(
            f"loop {self._name!r} cannot run: worker {worker} could not make its part: {said}",
            hint="Other loops go on. What its kind of programs cannot run is for the kind to refuse earlier.",
        )

    def post(self, command: Command) -> None:
        """Hand a command to every worker."""
        for host in self._hosts:
            host.post(command)

    # Asking

    def installed(self) -> list[MainPartView]:
        """The part of every worker that has one."""
        found = [host.loop(self._number) for host in self._hosts]
        return [part for part in found if part is not None]

    def views(self) -> list[MainPartView]:
        """The parts of all workers; after a loss it waits until they are restored.

        Raises
        ------
        WorkerLost
            When that takes very long.
        TornadoError, RuntimeError
            When the loop has failed.
        ConnectionLost
            When it has ended with its session.
        """
        if not self._stream.is_whole:
            is_there = self._engine.wait_for(
                lambda: self._stream.is_whole or self.error is not None, _RESTORED_WITHIN_S
            )
            self.raise_failure()
            if not is_there:
                raise WorkerLost(
                    f"loop {self._name} is being restored on other workers, for more than {_RESTORED_WITHIN_S:g} s so far"
                )
        found = self.installed()
        if len(found) < len(self):
            self.raise_failure()  # it was removed
            self._stream.require_open()
        return found

    def asked(self, ask: Callable[[Sequence[MainPartView]], Asked]) -> Asked:
        """Return what `ask` returns of the parts; where workers are lost meanwhile, of those that take their place."""
        for _ in range(_MOST_ASKED):
            try:
                return ask(self.views())
            except WorkerLost:
                self.raise_failure()
                self._stream.require_open()  # else nobody takes their place
        return ask(self.views())

    def holders(self) -> list[list[Holder]]:
        """What holds back the frontier of the loop, as each worker knows; after a loss as `views`."""
        return self.asked(lambda _: [host.holders(self._number) for host in self._hosts])

    def is_idle(self) -> bool:
        """Whether everything that was posted is applied and the loop has converged on it.

        Workers are asked one after another, so all are asked twice (Mattern, 1987, the four-counter method): if all that was
        sent by the end of the second round had come in by the first, nothing was under way in between.
        """
        if self._stream.workers.backlog():
            return False
        before = self._traffic()
        if not all(part.is_idle for part in before):
            return False
        after = self._traffic()
        return all(part.is_idle for part in after) and (
            sum(part.received for part in before) == sum(part.sent for part in after)
        )

    def _traffic(self) -> list[Traffic]:
        found = [host.traffic(self._number) for host in self._hosts]
        return [part for part in found if part is not None]

    def raise_failure(self) -> None:
        """Raise what made the loop fail, if anything did."""
        if self.error is not None:
            if isinstance(self.error, TornadoError):
                raise copy(self.error)  # one of its own for each who hears of it: raising adds to a traceback
            raise RuntimeError(f"loop {self._name} failed: {self.error!r}") from self.error

    # Waiting while it is put there. `losses` is the engine's count before the workers were told.

    def await_installed(self, losses: int) -> None:
        """Wait until every worker has its part."""
        self.wait(lambda: len(self.installed()) == len(self), losses)

    def wait(self, condition: Callable[[], bool], losses: int) -> None:
        """Wait for what the workers bring about, as long as it takes.

        Raises
        ------
        WorkerLost
            When workers were lost meanwhile, or are ended.
        """
        engine = self._engine
        happened = engine.wait_for(
            lambda: engine.losses != losses or self.error is not None or condition(), None
        )
        self.raise_loss(losses)
        if not happened:
            raise WorkerLost(f"the workers were ended while loop {self._name} was put there", hint="")

    def raise_loss(self, losses: int) -> None:
        """Raise what made the loop fail, or `WorkerLost` where workers were lost."""
        self.raise_failure()
        if self._engine.losses != losses:
            raise WorkerLost(f"the workers were lost while loop {self._name} was put there")
