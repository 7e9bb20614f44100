"""Timely dataflow: logical time, progress tracking, and loops.

The core that iterations stand on (Naiad, SOSP 2013; "Timestamp tokens", Lattuada and McSherry). One noun of the theory is one
file; read them in this order, in which each imports only those before it: order, antichain, change_batch, path_summary,
reachability, tracker, token, operator, context, fabric, channel, dataflow, scope, builder, worker, then holders, notificator, operators,
reservoir and execute, which look at the rest or are libraries on it.
"""

from .antichain import Antichain
from .builder import OperatorBuilder
from .channel import Exchange, Pipeline, Routed
from .context import Activator, Context
from .dataflow import Dataflow
from .fabric import Fabric, Message, SimulatedFabric, ThreadFabric
from .holders import Holder, holders
from .operator import InputPort, OutputPort, Received, Wake
from .order import Lexicographic, Order, Product, Time
from .path_summary import PathSummary
from .scope import Feedback, Loop, Scope, Stream
from .token import Token
from .worker import Worker

__all__ = [
    "Activator",
    "Antichain",
    "Context",
    "Dataflow",
    "Exchange",
    "Fabric",
    "Feedback",
    "Holder",
    "InputPort",
    "Lexicographic",
    "Loop",
    "Message",
    "OperatorBuilder",
    "Order",
    "OutputPort",
    "PathSummary",
    "Pipeline",
    "Product",
    "Received",
    "Routed",
    "Scope",
    "SimulatedFabric",
    "Stream",
    "ThreadFabric",
    "Time",
    "Token",
    "Wake",
    "Worker",
    "holders",
]
