"""What is decided from totals that no schedule brings about on demand."""

from tornado.kinds.accumulative.bundle import Instruction, Phase, Report
from tornado.kinds.accumulative.coordinator import Coordinator
from tornado.kinds.accumulative.norms import norm_named

DRIFTED = 1e10  # what sums went through; some 1e-6 of it is rounding
NEW = 1.0


def run_to_the_end(drifts: list[float]) -> list[Instruction]:
    """What a part is told in which nothing moves; `drifts` says of which sums its totals are, and the last stays."""
    coordinator = Coordinator(workers=1, tolerance=1e-6, factor=1.0, norm=norm_named("relative"))
    told = [Instruction(Phase.SETTLE, 0, 1.0)]
    while told[-1].phase is not Phase.FINISH:
        assert len(told) < 100, told[-1]
        report = Report(told[-1].attempt, is_idle=True, largest=2.0, vertices=2)
        if told[-1].phase is Phase.SETTLE:
            report = report._replace(is_settled=True, drift=drifts.pop(0) if len(drifts) > 1 else drifts[0])
        instruction = coordinator.hear(0, report)
        assert instruction is not None
        told.append(instruction)
    return told


def test_where_nothing_moves_but_sums_have_drifted_they_are_made_anew():
    told = run_to_the_end([DRIFTED, NEW])
    assert [(one.phase, one.pulls) for one in told[1:2]] == [(Phase.RUN, True)]
    assert told[-1].is_converged


def test_roundings_that_new_sums_have_as_well_are_the_end():
    assert not run_to_the_end([DRIFTED])[-1].is_converged
