"""The cut by markers: every interleaving of small sets of workers by its laws, what is illegal, and cuts broken on purpose."""

from dataclasses import replace

import pytest

from tests.protocol.cut_world import Counterexample, Item, Setting, explore_cuts
from tornado.errors import LawBroken, ProtocolViolation
from tornado.protocol.cut import NO_FORK, Complete, Cut, Deliver, Keep, Mark

TWO_BUSY = Setting(2, sends=2)
THREE = Setting(3, sends=1, busy=((0, 1),))
RING = ((0, 1), (1, 2), (2, 0))

SETTINGS = {
    "two workers, two forks, two messages each": TWO_BUSY,
    "two workers, three forks": Setting(2, forks=(1, 2, 7), sends=1),
    "three workers in a ring, one fork": Setting(3, forks=(0,), sends=1, busy=RING),
    "three workers, two forks, one busy channel": THREE,
}


@pytest.mark.parametrize("name", SETTINGS)
def test_no_interleaving_breaks_a_law(name: str) -> None:
    states, ends = explore_cuts(SETTINGS[name])
    print(f"{name}: {states} states, {ends} ends")
    assert states > 1000
    assert ends > 1  # cuts of different prefixes of the same sends


@pytest.mark.soak
@pytest.mark.parametrize(
    "setting",
    [
        Setting(2, sends=3),
        Setting(3, sends=1, busy=((0, 1), (1, 0))),
        Setting(3, forks=(0,), sends=2, busy=RING),
    ],
)
def test_no_interleaving_of_more_messages_breaks_a_law(setting: Setting) -> None:
    print(explore_cuts(setting))


# Broken on purpose

SABOTAGE: list[type[Cut[Item]]] = []


def sabotage(kind: type[Cut[Item]]) -> type[Cut[Item]]:
    SABOTAGE.append(kind)
    return kind


@sabotage
class DeliversWhileBehindAMarker(Cut[Item]):
    """Puts a marker off that comes too early, and takes in what follows it."""

    def _must_hold(self, channel, marker):
        return self._is_early(marker)


@sabotage
class ForgetsToKeep(Cut[Item]):
    """What was under way is delivered only."""

    def _awaits(self, channel, fork):
        return False


@sabotage
class KeepsForEver(Cut[Item]):
    """Keeps what comes behind the marker of one sender until those of all have come."""

    def _awaits(self, channel, fork):
        return True


@sabotage
class KeepsForTheNewestForkAlone(Cut[Item]):
    """As if only one fork could be under way."""

    def _awaits(self, channel, fork):
        return super()._awaits(channel, fork) and fork == self.recorded


@sabotage
class CompletesEarly(Cut[Item]):
    """Does not wait for the last marker."""

    def _is_complete(self, one):
        return len(one.markers) >= len(self._channels) - 1


@sabotage
class CompletesWithTheRecord(Cut[Item]):
    """Waits for no marker."""

    def _is_complete(self, one):
        return True


@sabotage
class NeverCompletes(Cut[Item]):
    """Waits for a marker of itself."""

    def _is_complete(self, one):
        return len(one.markers) > len(self._channels)


@sabotage
class TakesAnEarlyMarkerForOneOfItsOwn(Cut[Item]):
    """Lets a marker pass before the own record."""

    def _is_early(self, marker):
        return False


@sabotage
class LosesWhatItHolds(Cut[Item]):
    """Forgets what came behind a marker."""

    def record(self, fork):
        for channel in self._channels.values():
            while len(channel.held) > 1:
                channel.held.pop()
        return super().record(fork)


@sabotage
class LeavesTheSecondMarkerInPlace(Cut[Item]):
    """Takes in everything that was held, up to the end of the channel."""

    def record(self, fork):
        held = {
            sender: [entry for entry in one.held if entry[0] == NO_FORK]
            for sender, one in self._channels.items()
        }
        for channel in self._channels.values():
            markers = [entry for entry in channel.held if entry[0] != NO_FORK]
            channel.held.clear()
            channel.held.extend(markers)
        effects = super().record(fork)
        return effects + [Deliver(item) for entries in held.values() for _, item in entries]


@sabotage
class DoublesWhatItKeeps(Cut[Item]):
    """Says everything that is kept once more."""

    def arrive(self, sender, item, marker=NO_FORK):
        effects = super().arrive(sender, item, marker)
        return [effect for one in effects for effect in ([one, one] if isinstance(one, Keep) else [one])]


@sabotage
class TurnsWhatItHoldsRound(Cut[Item]):
    """Delivers what was held in the opposite order."""

    def record(self, fork):
        mark, *effects = super().record(fork)
        return [mark, *reversed(effects)]


@sabotage
class SendsMarkersLast(Cut[Item]):
    """Does what follows from its record first."""

    def record(self, fork):
        mark, *effects = super().record(fork)
        return [*effects, mark]


@pytest.mark.parametrize("kind", SABOTAGE, ids=lambda kind: kind.__name__)
def test_the_exploration_notices_a_cut_that(kind: type[Cut[Item]]) -> None:
    with pytest.raises(Counterexample) as caught:
        explore_both(kind)
    print(caught.value)
    assert isinstance(caught.value.__cause__, LawBroken | ProtocolViolation)


def explore_both(kind: type[Cut[Item]]) -> None:
    """What a fork gets between the markers of two senders takes a third worker to see."""
    for setting in (TWO_BUSY, THREE):
        explore_cuts(replace(setting, kind=kind))


# What a cut says


def test_a_worker_alone_has_its_cut_at_once() -> None:
    assert Cut[str](0, 1).record(3) == [Mark(3), Complete(3, ())]


def test_what_is_under_way_is_kept_for_every_fork_whose_marker_has_not_come() -> None:
    cut = Cut[str](1, 2)
    cut.record(2)
    cut.record(5)
    assert cut.arrive(0, "a") == [Keep(2, "a"), Keep(5, "a"), Deliver("a")]
    assert cut.arrive(0, "2", 2) == [Complete(2, ("2",))]
    assert cut.arrive(0, "b") == [Keep(5, "b"), Deliver("b")]
    assert cut.arrive(0, "5", 5) == [Complete(5, ("5",))]
    assert cut.arrive(0, "c") == [Deliver("c")]


def test_what_is_held_waits_for_the_record_of_its_own_fork() -> None:
    cut = Cut[str](0, 2)
    for item, marker in (("2", 2), ("a", NO_FORK), ("5", 5), ("b", NO_FORK)):
        assert cut.arrive(1, item, marker) == []
    assert cut.is_awaited and cut.is_holding and list(cut.held()) == ["a", "b"]
    assert cut.record(2) == [Mark(2), Complete(2, ("2",)), Deliver("a")]
    assert cut.is_awaited and cut.is_holding and list(cut.held()) == ["b"]
    assert cut.record(5) == [Mark(5), Complete(5, ("5",)), Deliver("b")]
    assert not cut.is_awaited and not cut.is_holding


def test_markers_come_with_a_complete_fork_ascending_by_sender() -> None:
    cut = Cut[str](1, 3)
    cut.record(0)
    assert cut.arrive(2, "from 2", 0) == []
    assert cut.arrive(0, "from 0", 0) == [Complete(0, ("from 0", "from 2"))]


# What is illegal


def recorded(*forks: int) -> Cut[str]:
    cut = Cut[str](0, 3)
    for fork in forks:
        cut.record(fork)
    return cut


def marked(cut: Cut[str], *markers: int) -> Cut[str]:
    for marker in markers:
        cut.arrive(1, "marker", marker)
    return cut


ILLEGAL = {
    "a worker that is none": (recorded(), lambda cut: cut.arrive(3, "x"), "from worker 3"),
    "itself": (recorded(), lambda cut: cut.arrive(0, "x"), r"channels come from \[1, 2\]"),
    "a marker twice": (marked(recorded(4), 4), lambda cut: cut.arrive(1, "x", 4), "marker of fork 4"),
    "a marker that goes back": (marked(recorded(4), 4), lambda cut: cut.arrive(1, "x", 2), "after that of 4"),
    "a marker that is held twice": (
        marked(recorded(), 4),
        lambda cut: cut.arrive(1, "x", 4),
        "after that of 4",
    ),
    "a marker of a fork that was not recorded": (recorded(4), lambda cut: cut.arrive(1, "x", 3), "fork 3"),
    "a marker that leaves one out": (
        recorded(4, 6),
        lambda cut: cut.arrive(1, "x", 6),
        r"\[4, 6\] are under way",
    ),
    "a marker ahead that leaves one out": (
        recorded(4),
        lambda cut: cut.arrive(1, "x", 6),
        r"\[4\] are under way",
    ),
    "a record twice": (recorded(4), lambda cut: cut.record(4), "fork 4 after fork 4"),
    "a record that goes back": (recorded(4), lambda cut: cut.record(3), "in their order"),
    "a record that the sender left out": (
        marked(recorded(), 5),
        lambda cut: cut.record(4),
        "recorded fork 5 next",
    ),
    "a record that leaves one out": (
        marked(recorded(), 5),
        lambda cut: cut.record(6),
        "recorded fork 5 next",
    ),
}


@pytest.mark.parametrize("case", ILLEGAL)
def test_what_is_illegal_is_refused_and_changes_nothing(case: str) -> None:
    cut, event, message = ILLEGAL[case]
    before = cut.key()
    with pytest.raises(ProtocolViolation, match=message):
        event(cut)
    assert cut.key() == before


def test_a_copy_shares_nothing_that_changes() -> None:
    cut = marked(recorded(4), 4, 7)
    cut.arrive(1, "held")
    twin = cut.copy()
    assert twin.key() == cut.key() and type(twin) is type(cut)
    before = cut.key()
    twin.arrive(2, "marker", 4)
    twin.record(7)
    assert cut.key() == before != twin.key()
