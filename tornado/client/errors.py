"""What can go wrong between a caller and a service, by what the caller can do about it.

::

    ServiceError
    ├── InvalidInput (also a ValueError)    what was given cannot be sent: nothing was
    ├── MissingPackage (also an ImportError) an optional package is not installed
    ├── Refused                             the service says no (4xx): nothing was changed
    │   ├── NotPermitted                    no token, a wrong one, or one that may not (401, 403)
    │   ├── NotFound                        no such loop, stream, query or vertex (404)
    │   ├── InConflict                      what is there excludes it (409)
    │   └── Overloaded                      still more than there is room for, after waiting (429)
    ├── ServiceFailed                       the service could not (5xx), or it is something else that answers
    ├── Unreachable                         nothing answers, or not in time
    │   └── OutcomeUnknown                  the connection broke while a change was under way
    └── QueryEnded                          the query was cancelled or failed: there is no answer

`code` is the stable code of the problem document (RFC 9457) where the service sent one, and `status` its HTTP status.
"""

from __future__ import annotations

from typing import Any


class ServiceError(Exception):
    """The root of the tree: catch it to catch all of these.

    Parameters
    ----------
    message : str
        What is wrong, with the values.
    hint : str, optional
        What to do next.
    code : str, optional
        Of the problem document.
    status : int, optional
        Of the HTTP answer.
    retry_after_s : float, optional
        After how long the service asks to be asked again.
    """

    def __init__(
        self,
        message: str,
        *,
        hint: str | None = None,
        code: str | None = None,
        status: int | None = None,
        retry_after_s: float | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.code = code
        self.status = status
        self.retry_after_s = retry_after_s

    def __str__(self) -> str:
        if not self.hint:
            return self.message
        stop = "" if self.message.endswith((".", "!", "?", ":")) else "."
        return f"{self.message}{stop} {self.hint}"

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), self.args, self.__dict__.copy())


def _rebuild(kind: type[ServiceError], args: tuple[Any, ...], state: dict[str, Any]) -> ServiceError:
    error = kind.__new__(kind, *args)
    error.args = args
    error.__dict__.update(state)
    return error


class InvalidInput(ServiceError, ValueError):
    """What was given cannot be sent; nothing was."""


class MissingPackage(ServiceError, ImportError):
    """An optional package is not installed."""


class Refused(ServiceError):
    """The service says no, and nothing was changed."""


class NotPermitted(Refused):
    """No token, a wrong one, or one that may not do this."""


class NotFound(Refused):
    """No such loop, stream, query or vertex."""


class InConflict(Refused):
    """What is there excludes it: a name that is in use, a query that has no values."""


class Overloaded(Refused):
    """More than there is room for, still so after waiting as long as the caller would."""


class ServiceFailed(ServiceError):
    """The service could not do it, or what answers is no such service."""


class Unreachable(ServiceError):
    """Nothing answers, or not in time."""


class OutcomeUnknown(Unreachable):
    """The connection broke while a change was under way: it may be in or not."""


class QueryEnded(ServiceError):
    """The query was cancelled or has failed, so there is no answer."""
