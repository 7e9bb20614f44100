"""The result of a query in Python: values with the snapshot they are for, in the form the caller works with."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ..errors import CheckFailed, NotSupported, ResultUnavailable
from ..value_types import Ids, Mask
from .findings import Findings, Predictions, assigned, batch_to_predict
from .formats import arrow_values
from .given_answers import GivenAnswer
from .ids import IdCodec, Vertex
from .order import is_contradicted
from .paths import FoundPaths, PathTo
from .query import NamedSnapshot, QueryState, QueryStatus
from .rows import PATHS, VALUES, AnswerForm, Columns


class QueryResult:
    """Values of vertices, exact for a named snapshot where the certificate says so. Owns its data.

    Parameters
    ----------
    status : QueryStatus
        Of the query that ended.
    columns : Columns
        Vertices and their values: in the order asked for, best first for `top`, else ascending by id.
    unknown : sequence
        Vertices that were asked for and never seen.
    form : AnswerForm
        Of the loop.
    found : Findings, optional
        What its program has found beside values.
    paths : FoundPaths, optional
        The ways that were asked for.
    """

    def __init__(
        self,
        status: QueryStatus,
        columns: Columns,
        unknown: Sequence[Vertex],
        *,
        form: AnswerForm,
        found: Findings | None = None,
        paths: FoundPaths | None = None,
    ) -> None:
        self._paths = paths
        self._status = status
        self._columns = columns
        self._form = form
        self._found = found
        self.unknown: list[Vertex] = list(unknown)

    @cached_property
    def values(self) -> dict[Vertex, Any]:
        """Values by vertex, as the program has them; no entry where a vertex was never seen.

        A vertex that was not reached has the program's `worst`: infinity for shortest paths. Where values are ids and ids are
        strings, a value is the string that it stands for.
        """
        return dict(zip(self._vertices(), self._plain_values(), strict=True))

    @property
    def reached(self) -> Mask:
        """Whether a vertex has a value, in the order of `values`; the others were not reached. Not to be written to."""
        return self._columns.reached

    @property
    def values_are_of(self) -> str:
        """What an id names: a vertex, a feature or a point."""
        return self._form.values_are_of

    @property
    def snapshot(self) -> NamedSnapshot | None:
        """Which prefix of every source the values are for."""
        return self._status.snapshot

    @property
    def certificate(self) -> Mapping[str, Any] | None:
        """`{"kind": "exact"}`, or what else is known of the values (`tornado.certificate`)."""
        return self._status.certificate

    @property
    def state(self) -> QueryState:
        """`CONVERGED`, or `DEADLINE` where these are the best values so far."""
        return self._status.state

    @property
    def status(self) -> QueryStatus:
        """Everything about the query at its end."""
        return self._status

    @cached_property
    def paths(self) -> list[PathTo]:
        """The ways that the question asked for, without vertices that were never seen: ``{"vertex": 5, "value": 9.0, …}`` each.

        `vertices` are from where the way begins to the vertex itself, `weights` those of the edges between them. A vertex that was not
        reached has the value None and no vertices.
        """
        return self._require_paths().written()

    @property
    def predictions(self) -> Predictions:
        """Of the points that the question named, as columns; NaN where something is not said.

        These are ``label``, ``margin`` and ``probability`` (of the label) of classifiers, ``value`` of other models, ``cluster`` and
        ``distance`` of clusters.
        """
        if self._found is None or self._found.predictions is None:
            raise ResultUnavailable("no points were given with the question", hint="Ask with points=…")
        return self._found.predictions

    def predict(self, features: Any) -> npt.NDArray[Any]:
        """Predict points with what this answer has found; see `LoopHandle.predict`."""
        return next(iter(self._predicted(features).values()))

    def assign(self, features: Any) -> tuple[Ids, npt.NDArray[np.float64]]:
        """Assign points to the clusters of this answer; see `LoopHandle.assign`."""
        return assigned(self._predicted(features))

    def _predicted(self, features: Any) -> Predictions:
        found = self._require_found()
        points = batch_to_predict(found.program.declared_points, features)
        return found.program.predictions(found.arrays, points)

    def table(self, name: str) -> pa.Table:
        """One of the further tables of the loop, such as ``coefficients`` or ``centroids``.

        Raises
        ------
        InvalidArgument
            When there is none of that name.
        NotSupported
            When the answers of the program are values only.
        """
        if name == VALUES:
            return self.to_arrow()
        if name == PATHS and self._form.finds_ways:
            return self._require_paths().table()
        return self._require_found().table(name, self._form, lambda: self._columns)

    @property
    def is_learned(self) -> bool:
        """Whether it is of a program that learns, and of which something verifies answers."""
        return self._found is not None and self._found.program.point_checker() is not None

    def given(self, query: str, codec: IdCodec, *, is_whole: bool) -> GivenAnswer:
        """What this says, to be verified; of a program that learns, with a snapshot and a certificate.

        Parameters
        ----------
        query
            Whose result it is.
        is_whole
            Whether it has all values. Of a part of the weights of a model the others are known all the same.

        Raises
        ------
        ResultUnavailable
            When it has the clusters of some points only.
        CheckFailed
            When it shows other weights than its model has.
        """
        assert self.snapshot is not None
        assert self.certificate is not None
        (ids, _), values, found = codec.encode(self._vertices()), self._columns.value, self._require_found()
        if not is_whole:
            of_all = getattr(found.program, "values", None)
            if self.values_are_of != "feature" or of_all is None:
                raise ResultUnavailable(
                    f"query {query} has some of the values only, which say too little to be verified",
                    hint="Ask with check=True: then all of them are looked at.",
                )
            shown = dict(zip(ids.tolist(), values.tolist(), strict=True))
            ids, values = of_all(found.arrays)
            known = dict(zip(ids.tolist(), values.tolist(), strict=True))
            if any(known.get(name) != value for name, value in shown.items()):
                raise CheckFailed(f"query {query} has other values than the model that it found")
        order = np.argsort(ids, kind="stable")
        version, arrays = self.snapshot.version, found.arrays
        return GivenAnswer(query, version, ids[order], values[order], arrays, self.certificate)

    def _require_paths(self) -> FoundPaths:
        if self._paths is None:
            raise ResultUnavailable(
                "no paths were asked for with the question", hint="Ask with paths=[vertex]."
            )
        return self._paths

    def _require_found(self) -> Findings:
        if self._found is None:
            raise NotSupported("answers of this program are values of vertices only")
        return self._found

    def to_numpy(self) -> npt.NDArray[Any]:
        """Return a structured array with the fields `vertex` (int64) and `value` (float64 or int64); strings are objects."""
        columns = self._columns
        kind: Any = np.int64 if isinstance(columns.vertex, np.ndarray) else object
        value_kind: Any = columns.value.dtype if columns.names is None else object
        table = np.empty(len(self), dtype=[("vertex", kind), ("value", value_kind)])
        table["vertex"] = columns.vertex
        table["value"] = columns.value if columns.names is None else columns.names
        return table

    def to_arrow(self) -> pa.Table:
        """Return a table with the columns `vertex` and `value`; null where a vertex was not reached, as over HTTP."""
        kind = pa.int64() if isinstance(self._columns.vertex, np.ndarray) else pa.string()
        return pa.table(
            {"vertex": pa.array(self._columns.vertex, kind), "value": arrow_values(self._columns)}
        )

    def to_pandas(self) -> Any:
        """Return a DataFrame with the columns `vertex` and `value`, which are as in `values`.

        Raises
        ------
        NotSupported
            When pandas is not installed.
        """
        try:
            import pandas as pd  # type: ignore[import-not-found, import-untyped, unused-ignore]
        except ImportError:
            raise NotSupported(
                "pandas is not installed", hint="Install it with `pip install pandas`, or use to_arrow()."
            ) from None
        columns = self._columns
        values = columns.value if columns.names is None else columns.names
        return pd.DataFrame({"vertex": columns.vertex, "value": values})

    def equals(self, other: QueryResult) -> bool:
        """Whether both have the same vertices in the same order, with the same values bit for bit."""
        mine, others = self._columns, other._columns
        return bool(
            np.array_equal(np.asarray(mine.vertex), np.asarray(others.vertex))
            and mine.value.tobytes() == others.value.tobytes()
            and self.unknown == other.unknown
        )

    def distance_to(self, other: QueryResult) -> float:
        """Sum what values of this differ by from those of the same vertices there (L1); infinity where one is missing."""
        if self.unknown != other.unknown:
            return math.inf
        others = dict(zip(other._vertices(), other._plain_values(), strict=True))
        return math.fsum(abs(value - others.get(vertex, math.inf)) for vertex, value in self.values.items())

    def is_within(self, other: QueryResult, *, own: float, others: float) -> bool:
        """Whether each value here and that of the same vertex there can be off by such shares of themselves from one number."""
        if self.unknown != other.unknown:
            return False
        found = dict(zip(other._vertices(), other._plain_values(), strict=True))
        return all(
            vertex in found and abs(value - found[vertex]) <= own * abs(value) + others * abs(found[vertex])
            for vertex, value in self.values.items()
        )

    def agrees_with(self, other: QueryResult) -> bool:
        """Whether this and another answer to the same question at the same version can both be right."""
        certificates = [one.certificate or {} for one in (self, other)]
        if not all("bound" in certificate for certificate in certificates):
            return self.equals(other)
        own, others = (float(certificate["bound"]) for certificate in certificates)
        if certificates[0].get("norm") == "relative":
            return self.is_within(other, own=own, others=others)
        return self.distance_to(other) <= own + others

    def contradicts(self, other: QueryResult) -> bool:
        """Whether this, which is checked, has what another answer proves of the order of its values otherwise."""
        certificate = other.certificate or {}
        if "order" not in certificate:
            return False
        of_checked = self.certificate or {}
        ties, bound, norm = certificate.get("ties", []), float(of_checked["bound"]), str(of_checked["norm"])
        return is_contradicted(list(other.values), ties, self.values, bound, norm)

    @property
    def is_empty(self) -> bool:
        """Whether it has neither values nor ways."""
        return not len(self) and not self._paths

    def __len__(self) -> int:
        return len(self._columns.value)

    def __repr__(self) -> str:
        kind = (self.certificate or {}).get("kind")
        version = None if self.snapshot is None else self.snapshot.version
        return f"<{type(self).__name__} {self.state.value}: {len(self)} vertices, {kind}, version {version}>"

    def _plain_values(self) -> Sequence[Any]:
        names = self._columns.names
        return self._columns.value.tolist() if names is None else names

    def _vertices(self) -> Sequence[Vertex]:
        vertices = self._columns.vertex
        return vertices.tolist() if isinstance(vertices, np.ndarray) else vertices
