"""A fork copies the rows that changed, and what it has then is what a copy of everything has: bit for bit, at every fork.

Random streams with removals go into real loops on threads, whose values are numbers or pairs. Several branches run at a time; some
begin from other parameters, are stopped or cancelled. The simulation judges the same of each of its forks (`test_simulation`), and
`test_sabotage` shows for each place that tells of a change that it does not go without.
"""

import ast
import inspect
from random import Random

import numpy as np
import pytest

from apps.connected_components import ConnectedComponents
from apps.sssp import ShortestPaths
from tests.shortened import in_soak
from tornado import EdgeBatch
from tornado.kinds.selective import (
    gather_kernel,
    queue_kernel,
    record_kernel,
    scan_kernel,
    step_kernel,
    vertex_kernel,
)
from tornado.kinds.selective import (
    loop_columns as names,
)
from tornado.kinds.selective.branch_processor import BranchProcessor
from tornado.kinds.selective.loop_columns import LAST_EPOCH
from tornado.kinds.selective.loop_state import LoopState
from tornado.kinds.selective.whole_copy import differences_from_whole_copy
from tornado.loops import BranchState, Master
from tornado.testing import mixed, random_multigraph

TIMEOUT_S = 120
PROGRAMS = {"numbers": ShortestPaths(source=0), "pairs": ConnectedComponents()}


@pytest.fixture
def forks(monkeypatch):
    """What was missing at each fork that copies, which is judged on its worker at once."""
    record, begins = BranchProcessor.record, LoopState.copy_begins
    missing, broken = [], []

    def judged(self, graph, main, iteration):
        record(self, graph, main, iteration)
        if not self._fresh:
            broken.extend(differences_from_whole_copy(self.kernel, main, self.state))

    def noted(self, main):
        found = begins(self, main)
        touched = sum(
            int(one.counters[names.TOUCHED]) - since
            for one, since in ((main, found.loop_since), (self, found.branch_since))
        )
        missing.append((found.known, touched))
        return found

    monkeypatch.setattr(BranchProcessor, "record", judged)
    monkeypatch.setattr(LoopState, "copy_begins", noted)
    yield missing
    assert not broken, f"{len(broken)} differences, the first: {broken[0]}"


@pytest.mark.parametrize("workers", [1, in_soak(2), 3])
@pytest.mark.parametrize("bound", [1, in_soak(64), None])
@pytest.mark.parametrize("program", PROGRAMS)
def test_every_fork_of_a_random_stream_has_what_a_copy_of_everything_has(program, bound, workers, forks):
    rng = Random(f"{program} {bound} {workers}")
    records = mixed(random_multigraph(300, 4000, seed=workers), seed=workers)
    with Master(workers=workers) as master:
        loop = master.start(PROGRAMS[program], "loop", bound)
        admitted, running = 0, []
        while admitted < len(records):
            batch = records.slice(admitted, admitted + rng.choice((1, 5, 50, 300)))
            admitted += len(batch)
            loop.admit(batch, "stream", admitted)
            if rng.random() < 0.3:
                assert loop.wait_idle(TIMEOUT_S)
            parameters = {"source": rng.randrange(300)} if program == "numbers" and rng.random() < 0.2 else {}
            running.append(loop.fork(parameters=parameters))
            ending = rng.random()
            if ending < 0.1:
                running[-1].cancel()
            elif ending < 0.2:
                running[-1].stop()
            while len(running) > rng.randrange(5):
                branch = running.pop(rng.randrange(len(running)))
                assert branch.wait(TIMEOUT_S)
                assert branch.error is None
                branch.release()
    copied = [known for known, _ in forks if known]
    assert len(copied) > len(forks) // 4, "columns are hardly used again"
    assert max(copied) > 90, "and a worker has more rows than that"


def chain(length):
    return EdgeBatch.of(np.arange(length), np.arange(1, length + 1))


def ask(loop):
    branch = loop.fork()
    assert branch.wait(TIMEOUT_S)
    assert branch.state is BranchState.CONVERGED, branch.error
    ids, values = branch.values().arrays()
    branch.release()
    return dict(zip(ids.tolist(), values.tolist(), strict=True))


def test_a_question_after_one_change_copies_a_handful_of_rows(forks):
    length = 20_000
    with Master() as master:
        loop = master.start(ShortestPaths(source=0), "roads")
        loop.admit(chain(length), "edges", length)
        assert loop.wait_idle(TIMEOUT_S)
        assert ask(loop)[length] == length
        # A vertex that is new, then the short cut over it, away and there again.
        changes = [
            (length + 1, length, "+"),
            (0, length + 1, "+"),
            (0, length + 1, "-"),
            (0, length + 1, "+"),
        ]
        for number, (source, target, op) in enumerate(changes):
            loop.admit(EdgeBatch.of([source], [target], [2.0], op), "edges", length + 1 + number)
            assert ask(loop)[length] == (4.0 if number % 2 else length)
            assert loop.wait_idle(TIMEOUT_S)
    assert [known for known, _ in forks] == [0, length + 1, length + 2, length + 2, length + 2]
    assert all(touched < 20 for _, touched in forks[1:])


def test_a_copy_that_lacks_too_much_is_made_anew(forks):
    length = 20_000
    with Master() as master:
        loop = master.start(ShortestPaths(source=0), "roads")
        loop.admit(chain(length), "edges", length)
        assert loop.wait_idle(TIMEOUT_S)
        assert ask(loop)[length] == length
        loop.admit(EdgeBatch.of([0], [1], [1.0], "-"), "edges", length + 1)  # all that lies behind
        assert loop.wait_idle(TIMEOUT_S)
        assert ask(loop)[length] == np.inf
        assert ask(loop)[length] == np.inf
    assert [known for known, _ in forks] == [0, 0, length + 1]


def test_epochs_begin_anew_where_a_row_has_no_room_for_more(forks):
    length = 100
    with Master() as master:
        loop = master.start(ShortestPaths(source=0), "roads")
        loop.admit(chain(length), "edges", length)
        assert loop.wait_idle(TIMEOUT_S)
        main = loop.parts()[0]
        ask(loop)
        assert loop.wait_idle(TIMEOUT_S)
        for state in (main.state, *main._spare):  # every row was touched in an epoch that comes round
            state.counters[names.EPOCH] = LAST_EPOCH
            state.columns.touched[: length + 1] = 1
        ask(loop)
        for weight in range(2, 5):
            loop.admit(EdgeBatch.of([0], [1], [float(weight)], "="), "edges", length + weight)
            assert loop.wait_idle(TIMEOUT_S)  # so that no branch computes what the loop has touched
            assert ask(loop)[length] == length - 1 + weight
        assert main.state.counters[names.EPOCH] == 4
    assert [known for known, _ in forks] == [0] + 4 * [length + 1]


def test_a_copy_does_not_count_where_rows_are_placed_from_outside():
    main, branch = (LoopState(worker=0, workers=1, delay_bound=None, rows=16, edges=16) for _ in range(2))
    main.counters[names.ROWS_SEEN] = 5
    assert branch.copy_begins(main).known == 0
    assert branch.copy_begins(main).known == 5
    main.touch_all()
    assert branch.copy_begins(main).known == 0
    assert branch.copy_begins(main).known == 5
    branch.is_no_copy()
    assert branch.copy_begins(main).known == 0


# Who writes says so

COPIED = {"parent", "reached", "flags", "subscribers"}
COPIED_VALUES = {"value", "candidate", "least"}
SAID_ELSEWHERE = {
    "admit_rows": "the row is new, so no copy has it",
    "mark_clean": "its callers say so",
    "finish_commit": "the commit said so, and there is no fork in the middle of a scan",
}


def silent(text):
    """Functions that write what a fork copies, of the loop that they work for, and do not say that the row was touched."""
    found = []
    for function in ast.parse(text).body:
        if isinstance(function, ast.FunctionDef):
            calls = [node for node in ast.walk(function) if isinstance(node, ast.Call)]
            called = {ast.unparse(call.func) for call in calls}
            if any(map(writes, ast.walk(function))) and not called & {"touch", "mark_dirty"}:
                found.append(function.name)
    return found


def writes(node):
    if isinstance(node, ast.Assign | ast.AugAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        return any(
            ast.unparse(target.value) in {f"loop.{name}" for name in COPIED}
            for target in targets
            if isinstance(target, ast.Subscript)
        )
    is_put = isinstance(node, ast.Call) and ast.unparse(node.func) in {"put_row_value", "put_value"}
    return is_put and ast.unparse(node.args[0]) in {f"loop.{name}" for name in COPIED_VALUES}


def test_whoever_writes_what_a_fork_copies_says_that_the_row_was_touched():
    kernels = (queue_kernel, vertex_kernel, gather_kernel, scan_kernel, record_kernel, step_kernel)
    found = [name for kernel in kernels for name in silent(inspect.getsource(kernel))]
    assert sorted(found) == sorted(set(SAID_ELSEWHERE) - {"admit_rows"})  # which calls `mark_dirty` for some


@pytest.mark.parametrize(
    "line",
    ["loop.flags[row] |= 2", "loop.parent[row] = 3", "put_row_value(loop.value, row, 1.0)"],
)
def test_a_function_that_does_not_say_so_is_found(line):
    assert silent(f"def forgets(loop, row):\n    {line}") == ["forgets"]
    assert silent(f"def tells(loop, row):\n    {line}\n    touch(loop, row)") == []
