"""What a certificate claims is what is verified: by a branch that only says what it is asked."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from tests.checking.planted import edges_of
from tornado.checking import LabelsCheck, PathsCheck, RanksCheck
from tornado.clock import SystemClock
from tornado.errors import CheckFailed, NotSupported
from tornado.ingest.interner import Interner
from tornado.query.ids import IntIds, StringIds
from tornado.query.proofs import proved

PAIR = (2**63 - 1, 0)
CIRCLE = [edges_of((1, 2, 1.0)), edges_of((2, 3, 1.0), (3, 1, 1.0))]


def branch_of(checker, values, certificate, *, worst=math.inf, is_undirected=False, edges=CIRCLE):
    ids = np.array(list(values), np.int64)
    shown = np.array(list(values.values()), np.int64 if isinstance(worst, tuple) else np.float64)
    return SimpleNamespace(
        program=SimpleNamespace(checker=lambda: checker, point_checker=lambda: None),
        certificate=certificate,
        snapshot=SimpleNamespace(version=17),
        is_undirected=is_undirected,
        values=lambda: SimpleNamespace(arrays=lambda: (ids, shown), worst=worst),
        edges=lambda: iter(edges),
    )


def test_a_bound_is_what_ranks_are_verified_by():
    ranks = {1: 1 / 3 + 1e-9, 2: 1 / 3, 3: 1 / 3}
    loose, tight = ({"kind": "bound", "norm": "l1", "bound": bound} for bound in (1e-6, 1e-10))
    certificate = proved(branch_of(RanksCheck(), ranks, loose), IntIds(), SystemClock())
    assert certificate.items() >= loose.items()
    assert certificate["checked"] is True
    check = certificate["check"]
    assert (check["vertices"], check["edges"]) == (3, 3)
    assert 1e-9 < check["residual"] < check["within"] < 1e-6
    with pytest.raises(CheckFailed, match=r"at version 17 failed: vertex . has 0\.33"):
        proved(branch_of(RanksCheck(), ranks, tight), IntIds(), SystemClock())


@pytest.mark.parametrize(
    "certificate", [{"kind": "none"}, {"kind": "none", "side": "upper"}, {"kind": "stationary"}]
)
def test_what_claims_nothing_is_not_verified(certificate):
    branch = branch_of(RanksCheck(), {1: math.nan}, certificate)
    assert proved(branch, IntIds(), SystemClock()) == certificate | {"checked": False}


def test_what_is_no_number_is_wrong_and_not_unreached():
    branch = branch_of(PathsCheck((1,)), {1: 0.0, 2: 1.0, 3: 2.0, 9: math.nan}, {"kind": "exact"})
    with pytest.raises(CheckFailed, match="vertex 9 has nan, but no path leads there"):
        proved(branch, IntIds(), SystemClock())


def test_directions_count_by_the_stream():
    edges = [edges_of((1, 2, 1.0))]

    def is_right(labels, *, is_undirected):
        branch = branch_of(
            LabelsCheck(1), labels, {"kind": "exact"}, worst=PAIR, is_undirected=is_undirected, edges=edges
        )
        try:
            return proved(branch, IntIds(), SystemClock())["checked"]
        except CheckFailed:
            return False

    # On a directed stream 1 hears 2 as well; on an undirected one the edge 2 -> 1 would say so.
    for labels, of_directed, of_undirected in (({1: 2, 2: 1}, True, False), ({1: 1, 2: 1}, False, True)):
        assert is_right(labels, is_undirected=False) is of_directed
        assert is_right(labels, is_undirected=True) is of_undirected


def test_vertices_and_labels_are_called_by_their_strings():
    interner = Interner()
    interner.intern(["anna", "ben", "carl", "dora"])
    edges = [edges_of((0, 1, 1.0))]
    branch = branch_of(LabelsCheck(1), {0: 1, 1: 3}, {"kind": "exact"}, worst=PAIR, edges=edges)
    with pytest.raises(
        CheckFailed, match="vertex ben has the label dora, but after 1 rounds it is anna"
    ) as caught:
        proved(branch, StringIds(interner), SystemClock())
    assert caught.value.vertex == "ben"
    branch = branch_of(LabelsCheck(1), {0: 1, 1: 77}, {"kind": "exact"}, worst=PAIR, edges=edges)
    with pytest.raises(CheckFailed, match="vertex ben has the label 77, but"):
        proved(branch, StringIds(interner), SystemClock())


def test_without_a_checker_nothing_is_verified():
    with pytest.raises(NotSupported, match="names no checker"):
        proved(branch_of(None, {1: 0.0}, {"kind": "exact"}), IntIds(), SystemClock())
