"""What must not be there is found by the schedules of `test_conservation`: each of these breaks the kind in one place."""

import pytest

from tests.kinds.accumulative.test_conservation import run
from tests.shortened import shortened
from tornado.kernel_modules import load_module
from tornado.kinds.accumulative import branch_processor, norms, program
from tornado.kinds.accumulative.bound import bound_of
from tornado.kinds.accumulative.compile import generated_source

SCHEDULES = 40
# In the text of the kernel, as it is generated: what stands there, and what is put in its place.
IN_THE_KERNEL = {
    "a lost DEGREE": (
        "send(loop, owner, DEGREE, graph.ids[row], loop.weight[row], np.int64(loop.degree[row]))",
        "pass",
    ),
    "deltas in place of absolute values": ("change = value - loop.share[row]", "change = value"),
    "a self-loop heard twice": (
        "hear(loop, parameters, consumer, weight * loop.share[producer])",
        "hear(loop, parameters, consumer, weight * loop.share[producer] * (1.0 + (consumer == producer)))",
    ),
    "a removal that leaves its sum": (
        "hear(loop, parameters, consumer, -weight * loop.share[producer])",
        "pass",
    ),
    "a weight of 0 that is an edge": ("if weight == 0.0 or producer", "if producer"),
    "edges younger than the cut": ("changed[producer] |= OUT_LIST", "changed[producer] |= 0"),
    "edges that went since the cut": ("changed[consumer] |= IN_LIST", "changed[consumer] |= 0"),
}


def finds_something():
    for seed in range(SCHEDULES):
        try:
            run(seed)
        except (AssertionError, RuntimeError):  # a law is broken, or the loop breaks
            return True
    return False


@pytest.mark.parametrize("name", shortened(list(IN_THE_KERNEL), 1))
def test_a_broken_kernel_is_found(name, monkeypatch):
    there, instead = IN_THE_KERNEL[name]

    def load(functions):
        text = generated_source(functions)
        assert there in text
        return load_module(text.replace(there, instead))

    monkeypatch.setattr(program, "load_kernel", load)
    assert finds_something()


def test_a_cut_that_forgets_what_is_under_way_is_found(monkeypatch):
    monkeypatch.setattr(branch_processor.AccumulativeBranch, "keep", lambda *_: None)
    assert finds_something()


def test_a_bound_that_does_not_count_what_waits_is_found(monkeypatch):
    monkeypatch.setattr(
        norms, "bound_of", lambda *, absolute, **others: bound_of(absolute=absolute / 20, **others)
    )
    assert finds_something()


def test_totals_of_parts_that_have_not_heard_each_other_are_found(monkeypatch):
    settle = branch_processor.AccumulativeBranch._settle

    def at_once(self):
        self._settled = dict.fromkeys(self._settled, self._instruction.attempt)
        return settle(self)

    monkeypatch.setattr(branch_processor.AccumulativeBranch, "_settle", at_once)
    assert finds_something()
