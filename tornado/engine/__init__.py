"""Where workers run: as threads, as processes, or in one thread under a seed that chooses every interleaving."""

from .cluster import ClusterEngine, Launcher, error_of
from .engine_contract import Engine, Host
from .member import Member, MemberConfig, Membership, described
from .processes import ProcessLauncher
from .simulation_engine import SimulationEngine
from .threads import ThreadEngine
from .wire import ARRAY_TYPES, FENCE_BYTES, Wire, WireType

__all__ = [
    "ARRAY_TYPES",
    "FENCE_BYTES",
    "ClusterEngine",
    "Engine",
    "Host",
    "Launcher",
    "Member",
    "MemberConfig",
    "Membership",
    "ProcessLauncher",
    "SimulationEngine",
    "ThreadEngine",
    "Wire",
    "WireType",
    "described",
    "error_of",
]
