"""Where workers run: as threads, as processes, or in one thread under a seed that chooses every interleaving."""

from .cluster import ClusterEngine, Launcher, error_of
from .engine_contract import Engine, Host, WorkerUse
from .later_workers import tell as tell_later_workers
from .member import Member, MemberConfig, Membership, described
from .processes import ProcessLauncher
from .simulated_cluster import SimulatedCluster
from .simulated_worker import CONNECTIONS, SimulatedWorker
from .simulation_engine import SimulationEngine
from .threads import ThreadEngine
from .wire import ARRAY_TYPES, FENCE_BYTES, Wire, WireType

__all__ = [
    "ARRAY_TYPES",
    "CONNECTIONS",
    "FENCE_BYTES",
    "ClusterEngine",
    "Engine",
    "Host",
    "Launcher",
    "Member",
    "MemberConfig",
    "Membership",
    "ProcessLauncher",
    "SimulatedCluster",
    "SimulatedWorker",
    "SimulationEngine",
    "ThreadEngine",
    "Wire",
    "WireType",
    "WorkerUse",
    "described",
    "error_of",
    "tell_later_workers",
]
