"""A client of a running service, for notebooks, scripts and the command line; it is shipped as `tornado_loops_client` as well.

Nothing here imports anything else of this package: the distribution `tornado-loops-client` has this folder alone, under a name that
can stand beside the web framework called tornado. It needs httpx and pyarrow. NumPy, pandas, Polars and tqdm are used where they are.
"""

from .answers import ServiceAnswer
from .async_service import AsyncLoop, AsyncQuery, AsyncService, AsyncStream, connect_async
from .changes import Change
from .errors import (
    InConflict,
    InvalidInput,
    MissingPackage,
    NotFound,
    NotPermitted,
    OutcomeUnknown,
    Overloaded,
    QueryEnded,
    Refused,
    ServiceError,
    ServiceFailed,
    Unreachable,
)
from .neighbourhood import Neighbourhood
from .operations import Batch, PushOutcome
from .service import Service, ServiceLoop, ServiceQuery, ServiceStream, connect

__all__ = [
    "AsyncLoop",
    "AsyncQuery",
    "AsyncService",
    "AsyncStream",
    "Batch",
    "Change",
    "InConflict",
    "InvalidInput",
    "MissingPackage",
    "Neighbourhood",
    "NotFound",
    "NotPermitted",
    "OutcomeUnknown",
    "Overloaded",
    "PushOutcome",
    "QueryEnded",
    "Refused",
    "Service",
    "ServiceAnswer",
    "ServiceError",
    "ServiceFailed",
    "ServiceLoop",
    "ServiceQuery",
    "ServiceStream",
    "Unreachable",
    "connect",
    "connect_async",
]
