"""Workers in one thread: a seed chooses which one steps and which messages it sees, so a run can be repeated exactly.

The hosts are stepped only inside `wait_for`. Time passes with their steps and in no other way. Every interleaving of steps and of deliveries that keeps each channel's order can
come up (`tornado.timely.SimulatedFabric`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

from ..clock import ManualClock, after
from ..errors import ProtocolViolation
from ..timely import SimulatedFabric
from .engine_contract import Host, WorkerUse

_PATIENCE = 20_000
_STEP_S = 1e-5


class SimulationEngine:
    """See the module.

    Parameters
    ----------
    workers
        How many.
    seed
        What chooses. The same seed and the same calls give the same run.

    Attributes
    ----------
    clock
        Every step of a host takes the same time; a simulation may let more pass.
    on_turn
        Called before each step: to end everything by raising what nobody catches.
    losses, workers, on_loss, on_restart
        See `Engine`; hosts are lost only where others are to take their place.
    """

    def __init__(self, workers: int, *, seed: int) -> None:
        self._random = Random(seed)
        self.clock = ManualClock()
        self.seed = seed
        self.on_turn: Callable[[], None] = lambda: None
        self.losses = 0
        self.workers = workers
        self.on_loss: Callable[[], None] = lambda: None
        self.on_restart: Callable[[], None] = lambda: None
        self.fabric = SimulatedFabric(workers, self._random)
        self._hosts: Sequence[Host] = ()
        self._on_failure: Callable[[int, BaseException], None] = lambda _index, _error: None

    def start(self, hosts: Sequence[Host], on_failure: Callable[[int, BaseException], None]) -> None:
        """Take the hosts, which `wait_for` and `step` step."""
        self._hosts = list(hosts)
        self._on_failure = on_failure

    def reseed(self, seed: int) -> None:
        """Have another seed choose from now on."""
        self._random.seed(seed)

    def step(self, steps: int = 1) -> None:
        """Let randomly chosen hosts do something."""
        for _ in range(steps):
            self.on_turn()
            self.clock.advance(_STEP_S)
            index = self._random.randrange(len(self._hosts))
            try:
                self._hosts[index].step()
            except Exception as error:  # noqa: BLE001  reported as on threads
                self._on_failure(index, error)

    def replace(self, workers: int) -> None:
        """See `Engine.replace`; what goes wrong is raised as it is."""
        self.on_loss()
        self.losses += 1
        self.close()
        trace = self.fabric.trace
        self.workers, self.fabric = workers, SimulatedFabric(workers, self._random)
        self.fabric.trace = trace
        self.on_restart()

    def await_workers(self) -> int:
        """Return at once: hosts in this thread are never lost by themselves."""
        return self.losses

    def use(self) -> list[WorkerUse]:
        """Return nothing: nobody counts."""
        return []

    def wait_for(
        self,
        condition: Callable[[], bool],
        timeout_s: float | None,
        *,
        about: object = None,  # noqa: ARG002  conditions are looked at before each step
    ) -> bool:
        """Step until the condition holds, or so much simulated time has passed.

        Raises
        ------
        ProtocolViolation
            When it does not hold after very many steps: the workers are stuck.
        """
        until_s = after(self.clock, timeout_s)
        for _ in range(_PATIENCE * len(self._hosts)):
            if condition():
                return True
            if until_s is not None and self.clock.monotonic() >= until_s:
                return False
            self.step()
        raise ProtocolViolation(
            f"seed {self.seed}: {len(self._hosts)} workers did not get there in {_PATIENCE} steps each",
            hint="Run the simulation with this seed again: it is a deadlock or a loop without end.",
        )

    def notify(self, *about: object) -> None:
        """Do nothing: nobody waits outside `wait_for`."""

    def close(self) -> None:
        """Close the hosts."""
        for host in self._hosts:
            host.close()
