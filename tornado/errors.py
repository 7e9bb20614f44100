"""Every error this package raises, by whose fault it is.

::

    TornadoError
    ├── CallerError (also a ValueError)     the caller asked for something that cannot be done
    │   ├── InvalidArgument                 a value outside what is allowed
    │   │   ├── BodyTooLarge                more than is taken at once, as it was sent or once it is unpacked
    │   │   └── IncompleteBatch             chunks of a numbered batch are not here: send it again, and then commit it
    │   ├── UnknownField                    a field name nobody declared
    │   ├── Unauthorized                    nobody is known by what was shown: no token, or a wrong one
    │   ├── Forbidden                       the token that was shown does not allow it
    │   ├── UnknownLoop                     no loop of that name runs here
    │   ├── UnknownStream                   no loop reads a stream of that name here
    │   ├── NameTaken                       another loop has that name
    │   ├── Busy                            what is under way excludes it: try again when that is over
    │   ├── UnknownVertex                   none of the vertices was ever seen
    │   ├── UnknownQuery                    no query of that id, or it is no longer kept
    │   ├── ResultUnavailable               the query has no values (yet, or any more)
    │   ├── CannotAdopt                     the loop does not take over what the query has found
    │   ├── QueueFull                       more work than there is room for: try again later
    │   ├── NotSupported                    a legal wish that this engine, store or program cannot fulfil
    │   └── InvalidDataflow                 a graph that was put together wrongly (a cycle that keeps time still)
    ├── RecordError                         one input record is malformed; goes to quarantine, is not raised through
    │   └── SourceBroken                    a source failed in the middle; what came before is in
    ├── PeerError                           another process or the network
    │   ├── PortInUse                       somebody listens there already
    │   ├── SourceLost                      a source no longer has the records that are to be read next
    │   ├── ConnectionLost                  the other end is gone or never was
    │   ├── WorkerLost                      a worker process is gone; the loops are restored without it
    │   └── Unresponsive                    no answer within the deadline: try again later
    ├── StoreError                          the place where snapshots are kept, or the memory of a graph
    │   ├── StoreFull                       no room left; what was there before is intact
    │   ├── StoreCorrupt                    what is stored cannot be read
    │   ├── StoreLocked                     not ours to open: used by another process, or no permission
    │   ├── StoreUnreachable                the server that keeps it does not answer: what is to be stored waits
    │   ├── GraphTooLarge                   one worker's part of a graph is larger than it may be
    │   ├── PointsTooLarge                  a shard of points is larger than it may be
    │   └── AddressSpaceExhausted           the system refuses to reserve address space
    └── InternalError                       a bug of ours
        ├── ProtocolViolation               a session message that the legality table forbids
        ├── CheckFailed                     an answer that its checker found to be wrong
        ├── LawBroken                       a simulation found a run that breaks a law
        └── TokenMisuse                     a timestamp token dropped twice, leaked, or moved back in time

A message has the values, the rule and, as `hint`, what to do next. `code` is stable: scripts and HTTP problem documents
(RFC 9457) compare it; docs/errors.md lists codes, statuses and exit codes. All of them pickle, since they cross processes;
`__cause__` stays behind, as with any exception.

An exception class outside this file never reaches a caller under its own name; `tests/test_errors.py` lists each with the reason.
"""

from __future__ import annotations

from typing import Any, ClassVar


class TornadoError(Exception):
    """The root of the tree: catch it to catch all of ours and nothing else.

    Parameters
    ----------
    message : str
        The values that triggered the error and the rule they break.
    hint : str, optional
        What to do next. Left out, it is the hint of the class.

    Examples
    --------
    >>> error = InvalidArgument("workers is 0 but must be at least 1", hint="Leave --workers out to use all cores.")
    >>> str(error)
    'workers is 0 but must be at least 1. Leave --workers out to use all cores.'
    >>> error.code
    'invalid-argument'
    """

    code: ClassVar[str] = "error"
    default_hint: ClassVar[str] = ""

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = type(self).default_hint if hint is None else hint

    def __str__(self) -> str:
        if not self.hint:
            return self.message
        stop = "" if self.message.endswith((".", "!", "?", ":")) else "."
        return f"{self.message}{stop} {self.hint}"

    def __reduce__(self) -> tuple[Any, ...]:
        # The default would call the class with `args` alone: keyword-only fields would be lost, or refused.
        return _rebuild, (type(self), self.args, self.__dict__.copy())


def _rebuild(kind: type[TornadoError], args: tuple[Any, ...], state: dict[str, Any]) -> TornadoError:
    error = kind.__new__(kind, *args)
    error.args = args
    error.__dict__.update(state)
    return error


class CallerError(TornadoError, ValueError):
    """The caller asked for something that cannot be done."""

    code = "caller-error"


class InvalidArgument(CallerError):
    """A value outside what is allowed."""

    code = "invalid-argument"


class BodyTooLarge(InvalidArgument):
    """A body or message is more than is taken at once, as it was sent or once it is unpacked; none of it was taken."""

    code = "body-too-large"
    default_hint = "Send it in several."


class IncompleteBatch(InvalidArgument):
    """A numbered batch was committed of which chunks are not here (any more); nothing of it was taken."""

    code = "incomplete-batch"
    default_hint = (
        "Send the batch again: this service was restarted since, or waited too long for the commit."
    )


class UnknownField(CallerError):
    """A field name nobody declared."""

    code = "unknown-field"
    default_hint = "Check the spelling against the documented fields."


class Unauthorized(CallerError):
    """A service that has tokens was shown none, or one that it does not know."""

    code = "unauthorized"
    default_hint = (
        "Send the header Authorization: Bearer TOKEN; on the command line --token, or TORNADO_TOKEN."
    )


class Forbidden(CallerError):
    """The token that was shown does not allow it: it only reads, or is for other streams."""

    code = "forbidden"
    default_hint = "Use a token that may; the lines of --tokens say what each one may."


class UnknownLoop(CallerError):
    """No loop of that name runs here."""

    code = "unknown-loop"
    default_hint = "`tornado ls` and GET /v1/loops list the loops."


class UnknownStream(CallerError):
    """No loop reads a stream of that name here."""

    code = "unknown-stream"
    default_hint = "GET /v1/streams lists the streams."


class NameTaken(CallerError):
    """Another loop, or the stream of other loops, has that name."""

    code = "name-taken"
    default_hint = "Give this one another name."


class Busy(CallerError):
    """What is under way excludes it; the same call may succeed when that is over."""

    code = "busy"
    default_hint = "Try again in a moment."


class UnknownVertex(CallerError):
    """None of the vertices asked for was ever seen in the input."""

    code = "unknown-vertex"
    default_hint = "Vertices become known with the first edge that names them."


class UnknownQuery(CallerError):
    """No query of that id exists, or its result is no longer kept."""

    code = "unknown-query"
    default_hint = (
        "`tornado ls` lists the queries that are kept; ask again for an answer to the input as it is now."
    )


class ResultUnavailable(CallerError):
    """The query ended without values, was cancelled, has not finished, or its values are no longer kept."""

    code = "result-unavailable"


class CannotAdopt(CallerError):
    """The main loop does not take over what the query has found; the loop is as it was."""

    code = "cannot-adopt"


class QueueFull(CallerError):
    """More work than there is room for; the same call may succeed later.

    Parameters
    ----------
    retry_after_s : float
        After how many seconds a new attempt makes sense (the HTTP `Retry-After`).
    """

    code = "queue-full"
    default_hint = "Try again later, or send less at once."

    def __init__(self, message: str, *, hint: str | None = None, retry_after_s: float = 1.0) -> None:
        super().__init__(message, hint=hint)
        self.retry_after_s = retry_after_s


class NotSupported(CallerError):
    """A legal wish that this engine, store or program cannot fulfil."""

    code = "not-supported"


class InvalidDataflow(CallerError):
    """A dataflow graph that was put together wrongly, found when it is built."""

    code = "invalid-dataflow"


class RecordError(TornadoError):
    """One input record is malformed. It is quarantined with `reason`, and the loop goes on."""

    code = "malformed-record"

    @property
    def reason(self) -> str:
        """What the quarantine file says about the record."""
        return self.message


class SourceBroken(RecordError):
    """A source ended or failed in the middle; what came before the break was delivered."""

    code = "source-broken"


class PeerError(TornadoError):
    """Another process or the network is at fault."""

    code = "peer-error"


class PortInUse(PeerError):
    """Somebody listens on that port already."""

    code = "port-in-use"
    default_hint = "Choose another port, or stop the process that holds this one."


class SourceLost(PeerError):
    """A source no longer has the records that are to be read next; nothing was passed over."""

    code = "source-lost"


class ConnectionLost(PeerError):
    """The other end is gone, or never was there."""

    code = "connection-lost"
    default_hint = "Check that the other end runs and is reachable, then try again."


class WorkerLost(PeerError):
    """A worker process is gone; the loops are restored, and what was asked of it has to be asked again."""

    code = "worker-lost"
    default_hint = "The workers are started again and loops go on from their last snapshot; try again."


class Unresponsive(PeerError):
    """No answer came within the deadline, or the call was refused since others like it hang; it may succeed later.

    Parameters
    ----------
    retry_after_s : float
        After how many seconds a new attempt makes sense (the HTTP `Retry-After`).
    """

    code = "unresponsive"
    default_hint = "Ask again in a moment."

    def __init__(self, message: str, *, hint: str | None = None, retry_after_s: float = 1.0) -> None:
        super().__init__(message, hint=hint)
        self.retry_after_s = retry_after_s


class StoreError(TornadoError):
    """The place where snapshots are kept, or the memory of a graph, is at fault."""

    code = "store-error"


class StoreFull(StoreError):
    """No room left. The write that failed left no trace; every older version is intact."""

    code = "store-full"
    default_hint = "Free some space or open the store elsewhere; nothing stored earlier is lost."


class StoreCorrupt(StoreError):
    """What is stored cannot be read as a store of ours."""

    code = "store-corrupt"
    default_hint = (
        "Begin with a backup of the store (`tornado backup`), or move it away and begin with an empty one: files are then read "
        "from the start, and what was pushed is lost."
    )


class StoreLocked(StoreError):
    """The store is not ours to open: another process uses it, or its folder cannot be written."""

    code = "store-locked"


class StoreUnreachable(StoreError):
    """The server that keeps the store did not answer in time. What was not stored yet is still to be stored."""

    code = "store-unreachable"
    default_hint = "Look whether the server runs and the address is right; the next write tries again."


class GraphTooLarge(StoreError):
    """One worker's part of a graph has more vertices or edges than it has address space for."""

    code = "graph-too-large"


class PointsTooLarge(StoreError):
    """A shard has more points, or sparse ones more features, than it has address space for."""

    code = "points-too-large"


class AddressSpaceExhausted(StoreError):
    """The system refused to reserve address space (for instance under ``ulimit -v``)."""

    code = "address-space-exhausted"


class InternalError(TornadoError):
    """A bug of ours."""

    code = "internal-error"
    default_hint = "This is a bug in tornado-loops: please report it with this message."


class ProtocolViolation(InternalError):
    """A session message that the legality table forbids; the session did not change."""

    code = "protocol-violation"


class CheckFailed(InternalError):
    """An answer that an independent checker found to be wrong; nothing of it is given out.

    Parameters
    ----------
    vertex : int or str, optional
        The first wrong vertex.
    """

    code = "check-failed"
    default_hint = "This is a bug in tornado-loops: please report it with this message. Nothing of the answer was given out."

    def __init__(self, message: str, *, hint: str | None = None, vertex: int | str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.vertex = vertex


class LawBroken(InternalError):
    """A simulated run that breaks a law; `tornado sim` names the seed that repeats it.

    Parameters
    ----------
    law : str
        Which one: "R1", "R2", "R3", "delay bound", "no deadlock", "no livelock", "no starvation", …
    message : str, optional
        The values that break it. Left out, `law` is the whole message.
    """

    code = "law-broken"

    def __init__(self, law: str, message: str = "", *, hint: str | None = None) -> None:
        super().__init__(f"{law}: {message}" if message else law, hint=hint)
        self.law = law


class TokenMisuse(InternalError):
    """A timestamp token dropped twice, leaked, used for another output, or moved back in time."""

    code = "token-misuse"
