"""Progress tracking against the truth: what an omniscient observer of all workers knows at every step."""

from random import Random

import pytest

from tornado.timely import OperatorBuilder, Routed, ThreadFabric, Wake, Worker
from tornado.timely import dataflow as dataflow_module
from tornado.timely.antichain import Antichain
from tornado.timely.context import Context
from tornado.timely.dataflow import Dataflow
from tornado.timely.execute import run_simulated, run_threads
from tornado.timely.operators import inspect, new_input, probe
from tornado.timely.tracker import Tracker

SEEDS = range(60)


class Observer:
    """Sees every change when it is made, and compares every worker's view with the sum of them."""

    def __init__(self, monkeypatch):
        self.truth = {}
        self.checks = 0
        self.strictly_behind = 0
        self.queries = self.held = self.broadcasts = 0
        finish, settle, step, without = Dataflow.finish, Dataflow.settle, Worker.step, Context._without

        def observed_finish(dataflow):
            finish(dataflow)
            if dataflow.number not in self.truth:
                self.truth[dataflow.number] = truth = Tracker(dataflow.tracker.reachability)
                for (location, moment), count in dataflow.tracker.pointstamps():
                    truth.update(location, moment, count)

        def observed_settle(dataflow, author):
            truth = self.truth[dataflow.number]
            before = [truth.frontier(location) for location in range(len(truth.reachability.orders))]
            for location, moment, delta in dataflow.changes:
                truth.update(location, moment, delta)
            for location, order in enumerate(truth.reachability.orders):
                after = Antichain(order, truth.frontier(location))
                assert Antichain(order, before[location]).dominates(after), (
                    f"the truth went back at {location}"
                )
            settle(dataflow, author)

        def observed_step(worker):
            did_something = step(worker)
            for dataflow in worker.dataflows.values():
                self.check(dataflow)
            return did_something

        def observed_without(context, tokens, location, order):
            tokens = list(tokens)
            answer = without(context, tokens, location, order)
            self.check_query(context._operator, tokens, location, order, answer)
            return answer

        broadcast = Dataflow._broadcast

        def observed_broadcast(dataflow):
            self.broadcasts += 1
            broadcast(dataflow)

        monkeypatch.setattr(Dataflow, "_broadcast", observed_broadcast)
        monkeypatch.setattr(Dataflow, "finish", observed_finish)
        monkeypatch.setattr(Dataflow, "settle", observed_settle)
        monkeypatch.setattr(Worker, "step", observed_step)
        monkeypatch.setattr(Context, "_without", observed_without)

    def check(self, dataflow):
        truth = self.truth[dataflow.number]
        assert all(count > 0 for _, count in truth.pointstamps())
        if dataflow.lags:
            assert dataflow._holds_tokens() or not dataflow._outgoing, (
                "who has no token keeps progress to itself"
            )
        else:
            assert dataflow.is_busy or not dataflow._outgoing, "an idle worker keeps progress to itself"
            if dataflow._outgoing:
                self.check_held(dataflow)
        for location, order in enumerate(dataflow.tracker.reachability.orders):
            view = Antichain(order, dataflow.tracker.frontier(location))
            real = Antichain(order, truth.frontier(location))
            assert view.dominates(real), f"{view} is ahead of {real} at {location}"
            self.checks += 1
            self.strictly_behind += view != real

    def check_held(self, dataflow):
        """What a worker keeps to itself moves no frontier, so nobody waits for it."""
        mine, told = dataflow.tracker, Tracker(dataflow.tracker.reachability)
        for (location, moment), count in mine.pointstamps():
            told.update(location, moment, count)
        for (location, moment), delta in dataflow._outgoing:
            told.update(location, moment, -delta)
        for location, order in enumerate(mine.reachability.orders):
            known, own = Antichain(order, told.frontier(location)), Antichain(order, mine.frontier(location))
            assert known == own, f"{own} is kept from others, who see {known} at {location}"
        self.held += 1

    def check_query(self, operator, tokens, location, order, answer):
        taken = {}
        for place, moment in [(token.output.location, token.time) for token in tokens] + operator.consumed:
            times = taken.setdefault(place, {})
            times[moment] = times.get(moment, 0) + 1
        real = Antichain(order, self.truth[operator.dataflow.number].frontier_without(location, taken))
        if order.is_total:
            assert answer is None or isinstance(answer, tuple)
            answer = Antichain(order, [] if answer is None else [answer])
        assert answer.dominates(real), f"{answer} is ahead of {real} without {tokens}"
        self.queries += 1


def wanderer(seed, lexicographic, wake):
    """A program of two operators in a loop that retain, downgrade, drop and send at random until they are tired."""

    def program(worker):
        random = Random(f"{seed} {worker.index}")

        def build(scope):
            handle, stream = new_input(scope)
            loop = scope.loop("loop", lexicographic=lexicographic)
            feedbacks = [loop.feedback(), loop.feedback(2)]
            sources = [loop.enter(stream), None]
            for index in range(2):
                builder = OperatorBuilder(loop, f"wanderer {index}")
                ports = [builder.input(feedbacks[index].stream, Routed())]
                ports.append(builder.input(sources[index], Routed()))
                output, result = builder.output()
                sources[1] = result
                feedbacks[1 - index].connect(result)
                builder.build(wandering(ports, output, random), wake=wake)
            return handle, probe(loop.leave(sources[1]))

        handle, done = worker.dataflow(build).result
        for epoch in range(3):
            for _ in range(random.randint(0, 2)):
                handle.send([8], target=random.randrange(worker.peers))
                yield
            handle.advance_to(epoch + 1)
        handle.close()
        while not done.is_done():
            yield

    return program


def wandering(ports, output, random):
    def construct(tokens, context):
        held = [tokens[0]]

        def logic():
            for port in ports:
                for received, (strength,) in port.pull():
                    if random.random() < 0.2:
                        ask(context, random, [token for token in held if not isinstance(token, int)])
                    if strength and random.random() < 0.9:
                        held.append(received.retain())
                        held.append(strength)
                        if random.random() < 0.3:
                            ask(context, random, [token for token in held if not isinstance(token, int)])
            keep = []
            queue = held[:]
            held.clear()
            strengths = [item for item in queue if isinstance(item, int)]
            for token in (item for item in queue if not isinstance(item, int)):
                strength = strengths.pop() if strengths else 0
                for _ in range(random.choice([0, 1, 1, 2]) if strength else 0):
                    output.send(
                        token,
                        [strength - 2 if random.random() < 0.8 else 0],
                        target=random.randrange(context.peers),
                    )
                if random.random() < 0.4:
                    token.downgrade((*token.time[:-1], token.time[-1] + random.randint(0, 3)))
                if random.random() < 0.3:
                    keep.append(token)
                else:
                    token.drop()
            held.extend(keep)
            ask(context, random, keep)
            if keep:
                context.activate()

        return logic

    return construct


def ask(context, random, tokens):
    some = [token for token in tokens if random.random() < 0.7]
    context.output_frontier_excluding(some)
    context.input_frontier_excluding(some, random.randrange(2))


@pytest.mark.parametrize("lexicographic", [True, False])
@pytest.mark.parametrize("hold_steps", [1, 4, 10**9])
def test_no_view_is_ever_ahead_of_the_truth_and_every_run_ends(monkeypatch, lexicographic, hold_steps):
    monkeypatch.setattr(dataflow_module, "HOLD_STEPS", hold_steps)
    observer = Observer(monkeypatch)
    for seed in SEEDS:
        print(f"seed {seed}, lexicographic {lexicographic}, hold {hold_steps}")
        observer.truth.clear()
        run_simulated(wanderer(seed, lexicographic, Wake.POINTSTAMPS), 1 + seed % 4, seed)
        assert all(truth.outstanding == 0 for truth in observer.truth.values())
    # The observer must have had something to see: views that lag, questions, and what is held back where that may be.
    assert (observer.held > 100) == (hold_steps > 1), observer.held
    assert observer.checks > 10_000 and observer.strictly_behind > 1_000 and observer.queries > 1_000


@pytest.mark.parametrize("lexicographic", [True, False])
def test_nor_where_nobody_waits_for_progress_and_less_is_told(monkeypatch, lexicographic):
    observer, told = Observer(monkeypatch), []
    finish = Dataflow.finish
    for lags in (False, True):

        def finish_so(dataflow, lags=lags):
            dataflow.lags = lags
            finish(dataflow)

        monkeypatch.setattr(Dataflow, "finish", finish_so)
        observer.broadcasts = 0
        for seed in SEEDS:
            print(f"seed {seed}, lexicographic {lexicographic}, lags {lags}")
            observer.truth.clear()
            run_simulated(wanderer(seed, lexicographic, Wake.MESSAGES), 2 + seed % 3, seed)
            assert all(truth.outstanding == 0 for truth in observer.truth.values())
        told.append(observer.broadcasts)
    assert observer.checks > 10_000
    assert 3 * told[1] < 2 * told[0], told


@pytest.mark.parametrize("lexicographic", [True, False])
def test_threads_end_as_well(lexicographic):
    for seed in range(10):
        print(f"seed {seed}")
        run_threads(wanderer(seed, lexicographic, Wake.FRONTIER), 3)


def test_a_frontier_without_own_tokens_sees_own_sends_but_not_what_is_in_hand():
    seen = []

    def build(scope):
        loop = scope.loop("loop", lexicographic=True)
        again = loop.feedback()
        builder = OperatorBuilder(loop, "asker")
        port = builder.input(again.stream, Routed())
        output, stream = builder.output()
        again.connect(stream)

        def construct(tokens, context):
            def logic():
                token = tokens[0]

                def ask():
                    return context.output_frontier_excluding([token]), context.input_frontier_excluding(
                        [token]
                    )

                pulled = list(port.pull())
                if not pulled:
                    seen.append(ask())
                    output.send(token, [], target=0)
                    seen.append(ask())
                    second = token.delayed((0, 5))
                    seen.append(context.output_frontier_excluding([second]))
                    seen.append(context.output_frontier_excluding([second, token]))
                    second.drop()
                else:
                    seen.append(ask())
                    token.drop()

            return logic

        builder.build(construct, wake=Wake.MESSAGES)

    worker = Worker(0, 1, ThreadFabric(1))
    dataflow = worker.dataflow(build)
    worker.step_while(lambda: not dataflow.is_complete)
    assert seen == [(None, None), ((0, 1), (0, 1)), (0, 0), (0, 1), (None, None)]


def step_until_idle(workers):
    busy = True
    while busy:
        busy = False
        for worker in workers:
            busy = worker.step() or busy


@pytest.mark.parametrize("wake", [Wake.POINTSTAMPS, Wake.FRONTIER])
def test_who_asks_for_frontiers_without_own_tokens_is_called_when_others_move_behind_them(wake):
    fabric = ThreadFabric(2)
    workers = [Worker(index, 2, fabric) for index in range(2)]
    held, asked = {}, []

    def build(scope):
        builder = OperatorBuilder(scope, "asker")
        _, stream = builder.output()

        def construct(tokens, context):
            held[context.worker] = tokens[0]

            def logic():
                if context.worker == 0:
                    asked.append(context.output_frontier_excluding(tokens))

            return logic

        builder.build(construct, wake=wake)
        return probe(stream)

    probes = [worker.dataflow(build).result for worker in workers]
    for time in [(3,), (7,)]:
        held[1].downgrade(time)
        step_until_idle(workers)
    assert asked[-1] == ((7,) if wake is Wake.POINTSTAMPS else (0,))
    assert probes[0].frontier() == ((0,),)
    # What the operator does itself does not call it.
    calls = len(asked)
    held[0].downgrade((1,))
    step_until_idle(workers)
    assert len(asked) <= calls + 1


def bounded(bound, values, log):
    """Processors that each hold one token at their least pending work and wait at the delay bound."""

    def program(worker):
        def build(scope):
            loop = scope.loop("loop", lexicographic=True)
            again = loop.feedback()
            builder = OperatorBuilder(loop, "processor")
            port = builder.input(again.stream, Routed())
            output, stream = builder.output()
            again.connect(stream)
            shown = inspect(stream, lambda time, batch: None)

            def construct(tokens, context):
                token = tokens[0]
                pending = {0: [values]} if context.worker == 0 else {}
                if not pending:
                    token.drop()

                def logic():
                    nonlocal token
                    for received, work in port.pull():
                        pending.setdefault(received.time[1], []).extend(work)
                        if not token.is_live:
                            token = received.retain()
                        elif received.time < token.time:
                            token.drop()
                            token = received.retain()
                    if not pending:
                        return
                    others = context.output_frontier_excluding([token])
                    least = min(pending)
                    tau = token.time[1] if others is None else min(token.time[1], others[1])
                    if max(pending) >= tau + bound:
                        log["waited"] += 1
                    # The furthest work that the bound allows, so that the bound is what holds it.
                    allowed = [iteration for iteration in pending if iteration < tau + bound]
                    if not allowed:
                        return
                    iteration = max(allowed)
                    log["spread"] = max(log["spread"], iteration - tau)
                    for value in pending.pop(iteration):
                        log["done"] += 1
                        for part in range(2 if value else 0):
                            sender = (
                                token.delayed((0, iteration))
                                if token.time < (0, iteration)
                                else token.clone()
                            )
                            output.send(sender, [value - 1], target=(value + part) % context.peers)
                            sender.drop()
                    if pending:
                        least = min(pending)
                        token.downgrade((0, least))
                        context.activate()
                    else:
                        token.drop()

                return logic

            builder.build(construct, wake=Wake.POINTSTAMPS)
            return probe(shown)

        worker.dataflow(build)

    return program


@pytest.mark.parametrize("bound", [1, 2, 64])
def test_processors_at_a_delay_bound_neither_deadlock_nor_run_ahead(bound):
    for seed in range(30):
        for peers in (1, 2, 3):
            print(f"seed {seed}, peers {peers}, bound {bound}")
            log = {"waited": 0, "spread": 0, "done": 0}
            run_simulated(bounded(bound, 6, log), peers, seed)
            assert log["done"] == 2**7 - 1
            assert log["spread"] < bound
