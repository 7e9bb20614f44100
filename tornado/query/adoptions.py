"""What a query has found, taken over by the loop that was asked, for as long as the columns of its branch are there.

An answer of all vertices holds these columns while it is kept; one of some vertices lets them go at once. So of each loop that adopts
anything, those of its newest branch are held besides, until another one has converged.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from threading import Lock
from typing import Any
from weakref import WeakKeyDictionary

from ..errors import CannotAdopt, InvalidArgument, NotSupported, UnknownLoop
from ..loop_views import BranchView, MainLoopView
from .answers import SharedValues
from .query import Query, QueryState
from .request import Mode


class Adoptions:
    """See the module.

    Parameters
    ----------
    loop : callable
        From a name to the main loop; raises `UnknownLoop`.
    """

    def __init__(self, loop: Callable[[str], MainLoopView]) -> None:
        self._loop = loop
        self._lock = Lock()
        self._is_closed = False
        self._found: WeakKeyDictionary[Query, tuple[BranchView, SharedValues]] = WeakKeyDictionary()
        self._newest: dict[str, SharedValues] = {}  # by loop

    def hold(self, queries: Collection[Query], branch: BranchView, shared: SharedValues) -> None:
        """Hold the values of a branch that answers queries of one loop, if that could adopt them; the caller has a lease."""
        name = next(iter(queries)).request.loop
        try:
            if not self._loop(name).adoption.suits(branch):
                return
        except UnknownLoop:  # it was removed meanwhile
            return
        shared.lease()
        with self._lock:
            before: SharedValues | None = shared
            if not self._is_closed:
                before = self._newest.get(name)
                self._newest[name] = shared
                self._found |= dict.fromkeys(queries, (branch, shared))
        if before is not None:
            before.give_back()

    def adopt(self, query: Query) -> Mapping[str, Any]:
        """Have the loop take over what a query has found, although edges came since; return the certificate of its branch.

        Raises
        ------
        UnknownLoop
            When the loop was removed.
        CannotAdopt
            When the loop adopts nothing, or this query has found nothing that it could.
        """
        loop = self._loop(query.request.loop)
        try:
            loop.adoption.require()
            branch, shared = self._found_by(query)
            if not shared.lease_again():
                raise CannotAdopt(
                    f"the values of query {query.id} have been given back",
                    hint="Adopt the newest answer of a loop, or one of all vertices.",
                )
            try:
                loop.adoption.adopt(branch)
            finally:
                shared.give_back()
        except (InvalidArgument, NotSupported) as error:
            raise CannotAdopt(error.message, hint=error.hint) from error
        return dict(branch.certificate or {})

    def forget(self, name: str) -> None:
        """Let go of what was found of a loop that was removed."""
        with self._lock:
            newest = self._newest.pop(name, None)
            for query in [query for query in self._found if query.request.loop == name]:
                del self._found[query]
        if newest is not None:
            newest.give_back()

    def close(self) -> None:
        """Hold nothing any more."""
        with self._lock:
            self._is_closed = True
            names = list(self._newest)
        for name in names:
            self.forget(name)

    def _found_by(self, query: Query) -> tuple[BranchView, SharedValues]:
        request, state = query.request, query.state
        if request.mode is not Mode.EXACT:
            raise CannotAdopt(
                f"query {query.id} was asked with mode {request.mode.value}: it has the values that the loop had",
                hint="Adopt the answer of an exact question.",
            )
        if state is not QueryState.CONVERGED:
            raise CannotAdopt(
                f"query {query.id} is {state.value}, and only what has converged is adopted",
                hint="Ask again, with more time." if state.is_final else "Wait for its end.",
            )
        with self._lock:
            found = self._found.get(query)
        if found is not None:
            return found
        if request.at is not None:
            why = f"is of the stored snapshot {request.at}, and not of a branch"
        elif request.ends_with_order:
            why = "ended when the order of the best was proved, before all values had converged"
        elif request.parameters:
            why = f"has other parameters than loop {request.loop!r}: {dict(request.parameters)}"
        else:
            why = f"is of another loop that was called {request.loop!r}"
        raise CannotAdopt(
            f"query {query.id} {why}", hint="Adopt an answer of now with the parameters of the loop."
        )
