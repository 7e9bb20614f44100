"""Where workers run: as threads, or in one thread under a seed that chooses every interleaving."""

from .contract import Engine, Host
from .simulation import SimulationEngine
from .threads import ThreadEngine

__all__ = ["Engine", "Host", "SimulationEngine", "ThreadEngine"]
