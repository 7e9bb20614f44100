"""A toy with one thing broken on purpose: the law of kinds that says so must notice, within a few seeds of simulated workers."""

from functools import partial
from importlib import import_module

import pytest

from tests.kinds import conformance
from tests.kinds.conformance import Place
from tests.kinds.samples import SAMPLES
from tests.kinds.toy.branch_part import ToyBranch
from tests.kinds.toy.edges import OutEdges
from tests.kinds.toy.kind import ToyKind, ToyPlan
from tests.kinds.toy.main_part import ToyMain
from tests.kinds.toy.part import ToyPart
from tests.kinds.toy.program import InWeights
from tornado.errors import TornadoError
from tornado.kinds import KINDS
from tornado.loops.loop_operator import NEVER
from tornado.records.operations import REMOVE

SEEDS = 30
SABOTAGE = {}


def at_seeds(law, seed, patch):
    del patch
    law(SAMPLES["toy"], Place(3, seed=seed), seed)


def at_places(law, seed, patch):
    if patch is not None:  # for what is broken one would wait in vain
        patch.setattr(conformance, "WAIT_S", 1)
    law(SAMPLES["toy"], Place(2, seed=seed))


def on_wire(seed, patch):
    modules = {name: import_module(path) for name, path in KINDS.items()}
    with pytest.MonkeyPatch.context() as own:  # the kind is wrapped anew for each seed
        conformance.plans_survive_the_wire(SAMPLES["toy"], Place(2, seed=seed), modules, own, seed)


def alone(law, argument, seed, patch):
    del seed, patch
    law(SAMPLES["toy"], argument)


def noticed_by(check, *arguments):
    def register(sabotage):
        SABOTAGE[sabotage.__name__.replace("_", " ")] = sabotage, partial(check, *arguments)
        return sabotage

    return register


# The main loop


@noticed_by(at_seeds, conformance.main_loop_comes_to_the_fixed_point)
def takes_no_edge_away(patch):
    def apply(self, source, target, weight, operation, real=OutEdges.apply):
        if operation != REMOVE:
            real(self, source, target, weight, operation)
        else:
            self._weights.setdefault(target, {})

    patch.setattr(OutEdges, "apply", apply)


@noticed_by(at_seeds, conformance.main_loop_comes_to_the_fixed_point)
def tells_no_other_worker(patch):
    def say(self, sums, real=ToyPart.say):
        real(
            self, {target: sums[target] for target in sums if self.partition.owner_of(target) == self.worker}
        )

    patch.setattr(ToyPart, "say", say)


@noticed_by(at_seeds, conformance.main_loop_comes_to_the_fixed_point)
def is_idle_while_something_is_under_way(patch):
    def traffic(self, real=ToyMain.traffic):
        return real(self)._replace(received=0, sent=0)

    patch.setattr(ToyMain, "traffic", traffic)


# Branches


@noticed_by(at_seeds, conformance.branches_are_exact)
def forgets_what_was_under_way(patch):
    patch.setattr(ToyBranch, "keep", lambda self, said, timestamp: None)


@noticed_by(at_seeds, conformance.branches_are_exact)
def takes_in_what_comes_from_behind_the_cut(patch):
    def pulled(self, said, timestamp, real=ToyMain._pulled):
        if said.marker < 0:
            self.take(said, timestamp)
        else:
            real(self, said, timestamp)

    patch.setattr(ToyMain, "_pulled", pulled)


@noticed_by(at_seeds, conformance.branches_are_exact)
def has_no_copy_of_the_values(patch):
    def record(self, main, edges, real=ToyBranch.record):
        real(self, main, edges)
        self.values, self.heard = main.values, main.heard

    patch.setattr(ToyBranch, "record", record)


@noticed_by(at_seeds, conformance.branches_with_other_parameters_are_exact)
def has_the_parameters_of_the_main_loop(patch):
    def fork(self, *, arguments, real=ToyMain.fork, **options):
        del arguments
        return real(self, arguments=(self.factor,), **options)

    patch.setattr(ToyMain, "fork", fork)


@noticed_by(at_seeds, conformance.branches_with_other_parameters_are_exact)
def reads_the_edges_of_later(patch):
    def step(self, real=ToyBranch.step):
        if self.is_started and self._fresh:
            self._unsaid = [(target, self._edges.sum_to(target)) for target, _ in self._unsaid]
        real(self)

    def record(self, main, edges, real=ToyBranch.record):
        real(self, main, edges)
        self._edges = edges

    patch.setattr(ToyBranch, "step", step)
    patch.setattr(ToyBranch, "record", record)


# What ends early


@noticed_by(at_places, conformance.what_ends_early_is_worth_what_its_certificate_says)
def calls_what_was_stopped_exact(patch):
    patch.setattr(ToyBranch, "is_converged", property(lambda self: True))


@noticed_by(at_places, conformance.what_ends_early_is_worth_what_its_certificate_says)
def says_the_wrong_side(patch):
    patch.setattr(InWeights, "stopped_side", property(lambda self: "lower" if self.factor < 0 else "upper"))


@noticed_by(at_places, conformance.what_ends_early_is_worth_what_its_certificate_says)
def knows_no_cap(patch):
    def begin(self, *, max_iterations, real=ToyBranch.__init__, **options):
        del max_iterations
        real(self, max_iterations=NEVER, **options)

    patch.setattr(ToyBranch, "__init__", begin)


# What travels


@noticed_by(on_wire)
def leaves_the_parameters_of_the_plan_behind(patch):
    patch.setattr(ToyPlan, "fields", lambda self: (1.0,))


@noticed_by(on_wire)
def leaves_the_parameters_of_the_fork_behind(patch):
    patch.setattr(ToyPlan, "fork_fields", lambda self, arguments: (self.factor,))


# Shares


def share_by(change):
    def shares(self, batch, partition, *, both_ways, real=ToyKind.shares):
        found = real(self, batch, partition, both_ways=both_ways)
        change(found)
        return found

    return shares


@noticed_by(alone, conformance.shares_have_each_record_where_it_belongs, 3)
def tells_nobody_of_targets_elsewhere(patch):
    def change(found):
        for share in found:
            share.mentioned = share.mentioned[:0]

    patch.setattr(ToyKind, "shares", share_by(change))


@noticed_by(alone, conformance.shares_have_each_record_where_it_belongs, 3)
def shares_backwards(patch):
    def change(found):
        share = found[0]
        share.batch = share.batch.take(slice(None, None, -1))

    patch.setattr(ToyKind, "shares", share_by(change))


@noticed_by(alone, conformance.shares_have_each_record_where_it_belongs, 3)
def shares_with_somebody_else(patch):
    patch.setattr(ToyKind, "shares", share_by(lambda found: found.reverse()))


# What the kind says of itself


@noticed_by(alone, conformance.is_as_its_line_of_the_registry_says, "toy")
def has_the_name_of_another(patch):
    patch.setattr(ToyKind, "name", "general")


@noticed_by(at_places, conformance.branches_are_storable_where_their_kind_says_so_and_nowhere_else)
def reads_edges_that_nobody_asks_for(patch):
    patch.setattr(ToyBranch, "read_edges", lambda self: True, raising=False)


@noticed_by(at_places, conformance.is_gone_on_from_or_says_that_it_is_not_stored)
def says_that_it_is_stored(patch):
    patch.setattr(ToyKind, "is_stored", True)


@noticed_by(at_places, conformance.shares_its_stream_or_says_that_it_does_not)
def says_that_it_shares_its_stream(patch):
    def begin(self, *, stream, real=ToyMain.__init__, **options):
        del stream
        real(self, stream=None, **options)

    patch.setattr(ToyKind, "shares_streams", True)
    patch.setattr(ToyMain, "__init__", begin)


# What is over


def remember(patch, part):
    remembered = []

    def begin(self, *, real=part.__init__, **options):
        real(self, **options)
        remembered.append(self)

    patch.setattr(part, "__init__", begin)


@noticed_by(at_places, conformance.removed_loop_is_gone_and_others_stay)
def keeps_the_parts_of_a_loop_that_was_removed(patch):
    remember(patch, ToyMain)


@noticed_by(at_places, conformance.branch_that_is_given_back_is_gone)
def keeps_the_parts_of_a_branch_that_was_released(patch):
    remember(patch, ToyBranch)


@noticed_by(at_places, conformance.numbers_are_those_of_its_iterations)
def remembers_iterations_that_never_were(patch):
    def history(self, real=ToyPart.history):
        rows = real(self)
        rows[:, 1] *= 2
        return rows

    patch.setattr(ToyPart, "history", history)


@pytest.mark.parametrize("name", SABOTAGE)
def test_an_honest_toy_keeps_the_law(name):
    for seed in range(2):
        SABOTAGE[name][1](seed, None)


@pytest.mark.parametrize("name", SABOTAGE)
def test_the_law_notices(name, monkeypatch):
    sabotage, check = SABOTAGE[name]
    sabotage(monkeypatch)
    for seed in range(SEEDS):
        try:
            check(seed, monkeypatch)
        except (AssertionError, TornadoError, RuntimeError) as error:  # the last where its loop has failed
            print(f"seed {seed}: {error}")
            return
    pytest.fail(f"nobody noticed that a toy {name} in {SEEDS} seeds")
