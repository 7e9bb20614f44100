"""Graphs that are hard to be right about, what changes in them, and what is asked at random instants: certificates against the truth.

The truth is solved in fractions where a graph is small. Ranks of larger graphs are solved by sparse LU, and made as good as numbers
of 64 digits allow by refinement (Wilkinson 1963).
"""

import math
from fractions import Fraction
from random import Random

import numpy as np
from scipy.sparse import csc_array, csr_array, eye_array
from scipy.sparse.linalg import splu

from apps.absorbing_walk import AbsorbingWalk
from apps.katz import Katz
from apps.pagerank import PageRank
from tests.kinds.accumulative.truth import Multigraph
from tornado.checking import AnswerToCheck, Edges
from tornado.engine import SimulationEngine
from tornado.loops import BranchState, Master
from tornado.query.order import order_of
from tornado.records.edge_batch import EdgeBatch
from tornado.records.operations import INSERT, MENTION, REMOVE, REPLACE

WAIT_S = 120
STEPS = 3_000  # that a branch gets before it is stopped
PATIENCE_S = 2.0
FRACTIONS = 10  # vertices of a graph that is solved in them
SOLVER = 1e-17  # of refinement
LEAST, MOST = 1e-12, 1e12  # of a weight

Solved = dict[int, Fraction | np.longdouble]


# Weights


def heavy_or_light(random):
    """Any that are taken, with all their digits."""
    return min(MOST, max(LEAST, 10.0 ** random.uniform(-12, 12)))


WEIGHTS = {
    "ones": lambda _: 1.0,
    "few": lambda random: random.choice([1.0, 1.0, 0.25, 3.0, 0.0, -0.0]),
    "any": heavy_or_light,
    "extremes": lambda random: random.choice([LEAST, MOST, LEAST * 1.7, MOST / 3, 1.0, 0.0]),
    "near": lambda random: random.uniform(1, 1 + 1e-9),
    # Most of these are refused.
    "impossible": lambda random: random.choice(
        [1e-300, 1e300, 5e-324, -1.0, math.inf, math.nextafter(MOST, math.inf), 1e-12, 1.0]
    ),
}


# Shapes: the edges that a graph has at first


def multigraph(random, count):
    return [(random.randrange(count), random.randrange(count)) for _ in range(random.randrange(1, 4 * count))]


def ring(_, count):
    return [(vertex, (vertex + 1) % count) for vertex in range(count)]


def chain(_, count):
    return [(vertex, vertex + 1) for vertex in range(count - 1)]


def chain_backwards(_, count):
    return [(vertex + 1, vertex) for vertex in range(count - 1)]


def star_in(_, count):
    return [(vertex, 0) for vertex in range(1, count)]


def star_out(_, count):
    return [(0, vertex) for vertex in range(1, count)]


def star_both(random, count):
    return star_in(random, count) + star_out(random, count)


def loops(_, count):
    return [(vertex, vertex) for vertex in range(count)] * 2


def islands(random, count):
    size = max(1, count // 3)
    return [
        (first + random.randrange(size), first + random.randrange(size))
        for first in range(0, count, size)
        for _ in range(2 * size)
    ]


def dangling(random, count):
    return [(random.randrange(max(1, count // 4)), vertex) for vertex in range(count)]


def dense(_, count):
    count = min(count, 25)
    return [(source, target) for source in range(count) for target in range(count)]


SHAPES = (
    multigraph,
    ring,
    chain,
    chain_backwards,
    star_in,
    star_out,
    star_both,
    loops,
    islands,
    dangling,
    dense,
)


def batch_of(rows):
    source, target, weight, operation = zip(*rows, strict=True)
    return EdgeBatch(np.array(source), np.array(target), np.array(weight), np.array(operation, np.int8))


def changes(random, alive, weigh, count, size):
    """Edges that come, go and are replaced; that come in order to go again; what is not there; vertices without edges."""
    rows = []
    while len(rows) < size:
        ends, weight, kind = (
            (random.randrange(count), random.randrange(count)),
            weigh(random),
            random.random(),
        )
        if kind < 0.4 or not alive:
            rows.append((*ends, weight, INSERT))
            alive.append((*ends, weight))
        elif kind < 0.75:
            *ends, weight = alive.pop(random.randrange(len(alive)))
            rows.append((*ends, math.nan if random.random() < 0.3 else weight, REMOVE))
        elif kind < 0.85:  # beside an edge that stays
            *ends, _ = random.choice(alive)
            rows += [(*ends, weight, INSERT), (*ends, weight, REMOVE)]
        elif kind < 0.95:
            rows.append((*ends, weight, REPLACE if random.random() < 0.7 else REMOVE))
        else:
            alone = count + random.randrange(3)
            rows.append((alone, alone, 1.0, MENTION))
    return batch_of(rows)


def taken(program, batch):
    """The records of a batch that the program takes: those whose weights are none, or from 1e-12 to 1e12."""
    refused, _ = program.check(batch)
    weight = batch.weight
    with np.errstate(invalid="ignore"):
        sound = np.isnan(weight) | (weight == 0) | ((weight >= LEAST) & (weight <= MOST))
    if isinstance(program, PageRank):
        assert (refused == ~sound).all()
    keep = ~refused & sound
    return EdgeBatch(batch.src[keep], batch.dst[keep], weight[keep], batch.op[keep])


# Truth


def solved(matrix, right):
    """The solution in fractions, or None where there is none; rows are lists."""
    rows = [[*row, value] for row, value in zip(matrix, right, strict=True)]
    for place in range(len(rows)):
        pivot = next((row for row in range(place, len(rows)) if rows[row][place]), None)
        if pivot is None:
            return None
        rows[place], rows[pivot] = rows[pivot], rows[place]
        for other in range(len(rows)):
            if other != place and rows[other][place]:
                share = rows[other][place] / rows[place][place]
                rows[other] = [a - share * b for a, b in zip(rows[other], rows[place], strict=True)]
    return [row[-1] / row[place] for place, row in enumerate(rows)]


def sums_of_weights(truth):
    """Weights by both ends, parallel edges added up, and out-weights: exactly."""
    edges, totals = {}, dict.fromkeys(truth.vertices, Fraction(0))
    for (source, target), weights in truth.edges.items():
        total = sum(map(Fraction, weights), Fraction(0))
        if total:
            edges[source, target] = total
            totals[source] += total
    return edges, totals


def true_ranks(truth, damping, personalisation) -> Solved:
    """PageRank: nobody has anything where nobody of the personalisation was seen."""
    ids = sorted(truth.vertices)
    named = [personalisation.count(vertex) if personalisation else 1 for vertex in ids]
    if not any(named):
        return dict.fromkeys(ids, Fraction(0))
    edges, totals = sums_of_weights(truth)
    place = {vertex: index for index, vertex in enumerate(ids)}
    if len(ids) <= FRACTIONS:
        matrix = [[Fraction(int(row == column)) for column in range(len(ids))] for row in range(len(ids))]
        for (source, target), weight in edges.items():
            matrix[place[target]][place[source]] -= Fraction(damping) * weight / totals[source]
        found = solved(matrix, list(map(Fraction, named)))
        total = sum(found)
        return {vertex: value / total for vertex, value in zip(ids, found, strict=True)}
    rows, columns, shares = [], [], []
    for (source, target), weight in edges.items():
        rows.append(place[target])
        columns.append(place[source])
        share = weight / totals[source]
        near = float(share)
        shares.append(np.longdouble(near) + np.longdouble(float(share - Fraction(near))))
    walks = csr_array(
        (np.array(shares, np.longdouble) * np.longdouble(damping), (rows, columns)),
        shape=(len(ids), len(ids)),
    )
    factors = splu(csc_array(eye_array(len(ids)) - walks.astype(np.float64)))
    right = np.array(named, np.longdouble)
    values = np.zeros(len(ids), np.longdouble)
    for _ in range(12):
        rest = right - (values - walks @ values)
        values = values + factors.solve(rest.astype(np.float64))
    values /= values.sum()
    return dict(zip(ids, values, strict=True))


def true_sums(truth, program) -> Solved | None:
    """Sums over walks, None where they have no end: x = e + M x has a solution that is positive only where they have one."""
    ids = sorted(truth.vertices)
    edges, totals = sums_of_weights(truth)
    is_katz = isinstance(program, Katz)
    factor = Fraction(program.alpha) if is_katz else Fraction(1)
    base = Fraction(program.beta) if is_katz else Fraction(1)
    place = {vertex: index for index, vertex in enumerate(ids)}
    matrix = [[Fraction(int(row == column)) for column in range(len(ids))] for row in range(len(ids))]
    for (source, target), weight in edges.items():
        divisor = 1 if is_katz else totals[source] + Fraction(program.absorption)
        matrix[place[target]][place[source]] -= factor * weight / divisor
    found = solved(matrix, [base] * len(ids))
    if found is None or any(value <= 0 for value in found):
        return None
    return dict(zip(ids, found, strict=True))


# Judging


def values_of(values):
    ids, found = values.arrays()
    assert np.isfinite(found).all(), found
    return dict(zip(ids.tolist(), found.tolist(), strict=True))


def difference(found, expected):
    if isinstance(expected, Fraction):
        return abs(Fraction(found) - expected)
    return abs(np.longdouble(found) - expected)


def checked(branch, truth):
    """What the independent checker finds wrong with the answer."""
    rows = [
        (source, target, weight) for (source, target), weights in truth.edges.items() for weight in weights
    ]
    columns = list(zip(*rows, strict=True)) or [(), (), ()]
    edges = Edges(
        *(np.array(one, kind) for one, kind in zip(columns, (np.int64, np.int64, float), strict=True))
    )
    ids, values = branch.values().arrays()
    answer = AnswerToCheck(ids, values, np.ones(len(ids), np.bool_), branch.certificate["bound"])
    return branch.program.checker().check(answer, [edges]).fault


def judge_ranks(branch, truth, top):
    program, certificate = branch.program, branch.certificate
    bound = certificate["bound"]
    assert certificate == {"kind": "bound", "norm": "l1", "bound": bound}
    expected, found = true_ranks(truth, program.damping, program.personalisation), values_of(branch.values())
    assert found.keys() == expected.keys(), found.keys() ^ expected.keys()
    off = float(sum((difference(found[vertex], expected[vertex]) for vertex in expected), start=0))
    assert off <= bound + SOLVER, f"{off} from the exact ranks, but certified to be within {bound}"
    assert (branch.state is BranchState.CONVERGED) == (bound <= program.tolerance)
    if top:
        judge_order(branch.values(), expected, bound, top)
    fault = checked(branch, truth)
    assert fault is None, f"the checker refuses what is within {off} of {bound}: {fault}"
    return "bound", off / bound if bound else 0.0


def judge_order(values, expected, bound, top):
    """Of no two of the best that are not said to be tied is the other one greater, nor any of the rest than the last of them."""
    ids, found = values.top(top + 1)
    said = order_of(found, bound)
    tied = {place for first, last in said.get("ties", []) for place in range(first, last)}
    best = ids.tolist()
    for place in range(1, min(top, len(best) - 1) + 1):
        if place not in tied:
            rest = [expected[vertex] for vertex in expected if vertex not in best[:place]]
            assert expected[best[place - 1]] > max(rest), (place, best)


def judge_sums(branch, truth):
    program, certificate, found = branch.program, branch.certificate, values_of(branch.values())
    assert found.keys() == truth.vertices, found.keys() ^ truth.vertices
    expected = true_sums(truth, program)
    if certificate["kind"] == "bound":
        bound = certificate["bound"]
        assert certificate == {"kind": "bound", "norm": "relative", "bound": bound}
        assert expected is not None, f"certified to be within {bound} of what has no end"
        assert all(found[vertex] >= 0 for vertex in found)
        off = max(
            (difference(found[one], expected[one]) / Fraction(found[one]) for one in expected), default=0
        )
        assert off <= bound, f"{float(off)} of a value, but certified to be within {bound}"
        assert (branch.state is BranchState.CONVERGED) == (bound <= program.tolerance)
        fault = checked(branch, truth)
        assert fault is None, f"the checker refuses what is within {float(off)} of {bound}: {fault}"
        return "bound", float(off) / bound if bound else 0.0
    assert branch.state is BranchState.STOPPED
    if "reason" in certificate:
        # Just below 1 counts as 1: some value is 1e9 of the base there.
        base = Fraction(program.beta) if isinstance(program, Katz) else 1
        assert expected is None or max(expected.values()) > 10**9 * base, "it has an end"
        return "diverged", 0.0
    assert certificate == {"kind": "none"}
    return "none", 0.0


# One run


def asked_of(random, kind):
    """Parameters of a question."""
    tolerance = {} if random.random() < 0.2 else {"tolerance": 10.0 ** random.uniform(-11, -1)}
    if kind is Katz:
        return tolerance | {
            "alpha": random.choice([1e-12, 0.01, 0.1, 0.5, 1.0]), "beta": random.choice([1.0, 1e-9, 1e50])
        }  # fmt: skip
    if kind is AbsorbingWalk:
        return tolerance | {"absorption": random.choice([1e-12, 1e-3, 1.0, 1e6, 1e12])}
    damping = random.choice([0.0, 0.1, 0.5, 0.85, 0.85, 0.85, 0.99, 0.9999])
    if damping > 0.99 and tolerance:
        tolerance["tolerance"] = max(tolerance["tolerance"], 1e-9)
    named = random.choice([(), (), (), (0,), (1, 0, 1), (10**15,)])
    return tolerance | {"damping": damping, "personalisation": named}


def size_of(random, kind, *, largest):
    if kind is not PageRank:
        return random.randrange(1, FRACTIONS - 2)
    return random.choice([2, 4, FRACTIONS - 3, FRACTIONS - 3, 30, 200, largest])


def end(master, branch, is_simulated):
    """Wait for an end; a branch that comes nearer too slowly, or to no end at all, is stopped, and has the bound that it has."""
    if is_simulated:
        for _ in range(STEPS // 100):
            if branch.state is not BranchState.RUNNING:
                break
            master.engine.step(100)
    else:
        branch.wait(PATIENCE_S)
    if branch.state is BranchState.RUNNING:
        branch.stop()
    assert branch.wait(WAIT_S)


def run(seed, *, largest=1000, batches=5):
    """One loop: return what each answer said, and how much of its bound was true."""
    random = Random(seed)
    kind = random.choice([PageRank, PageRank, PageRank, Katz, AbsorbingWalk])
    workers, delay_bound = random.choice([1, 2, 4]), random.choice([1, 2, 64, None])
    shape, weigh = random.choice(SHAPES), WEIGHTS[random.choice(list(WEIGHTS))]
    count = size_of(random, kind, largest=largest)
    accuracy = 10.0 ** random.uniform(-9, 0)
    begun = kind(accuracy=accuracy, tolerance=10.0 ** random.uniform(-9, -2))
    truth, alive, asked, said = Multigraph(), [], [], []
    engine = SimulationEngine(workers, seed=seed) if random.random() < 0.8 else "threads"
    is_simulated = engine != "threads"
    with Master(None, workers, engine) as master:
        loop = master.start(begun, "fuzzed", delay_bound)
        loop.adoption.takes_all = random.random() < 0.2
        offset = 0

        def pause(most):
            if is_simulated:
                master.engine.step(random.randrange(most))

        for number in range(batches):
            if number == 0:
                rows = [(*ends, weigh(random), INSERT) for ends in shape(random, count)] or [
                    (0, 0, 1.0, MENTION)
                ]
                batch = batch_of(rows)
            else:
                batch = changes(random, alive, weigh, count, random.choice([1, 3, 20, 60]))
            batch = taken(begun, batch)
            if number == 0:
                columns = (batch.src.tolist(), batch.dst.tolist(), batch.weight.tolist())
                alive += zip(*columns, strict=True)
            if len(batch):
                offset += len(batch)
                loop.admit(batch, "records", offset)
                truth.apply(batch)
            pause(60)
            then = Multigraph()
            then.vertices = set(truth.vertices)
            then.edges = {ends: list(weights) for ends, weights in truth.edges.items()}
            for _ in range(random.randrange(4)):
                options, top = {}, 0
                way = random.random()
                if way < 0.35:
                    options["max_iterations"] = random.choice([0, 0, 0, 1, 2, 7])
                elif way < 0.55 and kind is PageRank:
                    options["top"] = top = random.choice([1, 2, 5, 20])
                parameters = asked_of(random, kind) if random.random() < 0.7 else {}
                branch = loop.fork(parameters, **options)
                asked.append((branch, then, top, (parameters, options)))
                if random.random() < 0.2:
                    pause(200)
                    branch.stop()
                pause(60)
        for branch, then, top, what in asked:
            about = (
                f"{kind.__name__} {shape.__name__} of {count} on {workers}, bound {delay_bound}, asked {what}"
            )
            end(master, branch, is_simulated)
            assert branch.error is None, about
            try:
                said.append(judge_ranks(branch, then, top) if kind is PageRank else judge_sums(branch, then))
            except AssertionError as error:
                raise AssertionError(f"{about}: {error}") from error
            branch.release()
        if kind is PageRank:  # others may have a way of 1e9 steps to go before their values are capped
            assert loop.wait_idle(WAIT_S)
    return said
