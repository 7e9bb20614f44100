"""Streams on a store that fails, in a process that dies, under hundreds of seeds; `make soak` runs tens of thousands."""

import contextlib
import os
import subprocess
import sys

import pytest

from tests.shortened import shortened
from tornado.engine import FENCE_BYTES, ClusterEngine, Wire
from tornado.errors import LawBroken, StoreFull
from tornado.fault_schedule import steps_of
from tornado.graph import EvolvingGraph
from tornado.loops import Branch, log_replay
from tornado.loops.admission_log import AdmissionLog
from tornado.loops.journal import Journal
from tornado.loops.remote_host import RemotePart
from tornado.loops.restoration import Restoration
from tornado.loops.stream import RecordStream
from tornado.loops.stream_workers import StreamWorkers
from tornado.loops.version_numbers import VersionNumbers
from tornado.protocol.cut import NO_FORK, Cut, Keep
from tornado.recovery_simulation import shrunk, simulate_recovery

A_BLOCK = 250
MOST = 400  # seeds in which a broken rule must show


@pytest.mark.parametrize("block", shortened(range(400), 8))
def test_no_fault_of_store_driver_workers_and_wire_breaks_a_law(block):
    runs = [simulate_recovery(seed) for seed in range(block * A_BLOCK, (block + 1) * A_BLOCK)]
    totals = {
        name: sum(getattr(run, name) for run in runs)
        for name in ("steps", "lives", "deaths", "losses", "refusals", "admissions", "answers")
    }
    print(f"seeds from {block * A_BLOCK}: {totals}")
    assert totals["deaths"] > A_BLOCK / 3
    assert totals["losses"] > A_BLOCK / 3
    assert totals["refusals"] > A_BLOCK / 5
    assert totals["admissions"] > 2 * A_BLOCK
    assert totals["answers"] > A_BLOCK


def test_the_same_seed_gives_the_same_run_whatever_ran_before():
    for seed in (1, 4, 9):
        first = simulate_recovery(seed)
        simulate_recovery(seed + 100)
        assert simulate_recovery(seed) == first


def test_a_version_that_a_checkpoint_gave_before_its_workers_were_lost_is_known():
    assert simulate_recovery(
        21_025
    ).refusals  # its judge took the new name of an old prefix for one that nobody knows


@pytest.mark.parametrize("hash_seed", ["1", "2"])
def test_the_same_seed_gives_the_same_trace_in_another_process(hash_seed):
    script = (
        "from tornado.testing import simulate_recovery\nfor seed in range(20): print(simulate_recovery(seed))"
    )
    there = subprocess.run(
        [sys.executable, "-c", script],
        env=os.environ | {"PYTHONHASHSEED": hash_seed},
        capture_output=True,
        text=True,
        check=True,
    )
    assert there.stdout.splitlines() == [str(simulate_recovery(seed)) for seed in range(20)]


def test_a_failure_is_shrunk_to_steps_that_are_all_needed(monkeypatch):
    monkeypatch.setattr(*BROKEN["the last entry is not replayed"])
    seed, first = next((seed, found) for seed in range(MOST) if (found := broken_law(seed)))
    numbers = [step.number for step in shrunk(seed)]
    assert len(numbers) < len(steps_of(seed))
    with pytest.raises(LawBroken) as least:
        simulate_recovery(seed, only=numbers)
    for left_out in numbers:
        assert broken_law(seed, [number for number in numbers if number != left_out]) is None
    print(first, least.value.message, [steps_of(seed)[number].kind for number in numbers], sep="\n")


def replayed_from(shift):
    replay = AdmissionLog.replay

    def broken(log, *, after, points):
        return replay(log, after=after + shift, points=points)

    return broken


def without_last(log, *, after, points, replay=AdmissionLog.replay):
    return iter(list(replay(log, after=after, points=points))[:-1])


def twice(log, *, after, points, replay=AdmissionLog.replay):
    entries = list(replay(log, after=after, points=points))
    return iter([*entries, *entries[-1:]])


def forgetting_all(log, version, forget=AdmissionLog.forget):
    forget(log, version + 10)


def posted_first(self, group, sequence=RecordStream._sequence):
    log, self.log = self.log, None
    try:
        sequence(self, group)
    finally:
        self.log = log
    if log is not None:
        log.append([one.entry for one in group if one.version])


def without_numbers(log, entries, append=AdmissionLog.append):
    for entry in entries:
        entry.number = None
    append(log, entries)


def failing_in_silence(log, entries, append=AdmissionLog.append):
    with contextlib.suppress(StoreFull):
        append(log, entries)


def without_version_numbers(numbers, store, loop):
    numbers.__dict__.update(_store=store, _line=f"{loop}/versions", _last=0, _bound=10**6, _ahead_below=0)


def trimmed_too_far(self, *, keep, in_use=(), trim=RecordStream.trim_snapshots):
    oldest = trim(self, keep=keep, in_use=in_use)
    self.log.forget(self.counts()[0])
    return oldest


def with_older_offsets(self, version, offsets, *, has_edges, begin=RecordStream.begin):
    begin(self, version, dict(list(offsets.items())[1:]), has_edges=has_edges)


def without_last_page(self, stored, stream, loops, *, hosts, engine, init=Restoration.__init__):
    pages = stored.edge_pages
    stored.edge_pages = lambda: iter(list(pages())[:-1])
    init(self, stored, stream, loops, hosts=hosts, engine=engine)


def not_counted(self, admission):
    self._count({}, admission.entry.version, admission.entry.batch)
    if admission.shares is not None:
        self._journal_and_post(admission.shares, admission.entry.version)


def taking_any_fence(wire, frames, read=Wire.read):
    own, wire.fence = wire.fence, bytes(frames[0][:FENCE_BYTES])
    try:
        return read(wire, frames)
    finally:
        wire.fence = own


def without_batches(self, replay=RecordStream.replay):
    post, self.post_shares = self.post_shares, lambda _shares, _version: None
    try:
        yield from replay(self)
    finally:
        self.post_shares = post


def without_forks(self, replay=RecordStream.replay):
    for _ in replay(self):
        pass
    return iter(())


def beyond_the_version(journal, *, until, points, replay=Journal.replay):
    return replay(journal, until=until + 1000, points=points)


def forgetting_forks(journal, version, forget=Journal.forget):
    forget(journal, version)
    journal._entries.clear()


def losing_last_fork(journal, version, entry, add=Journal.add):
    add(journal, version, entry)
    if version > 2:
        journal._entries.clear()


def always_of_these_workers(self, method, *arguments):
    return self._host.begin_asking((*self._target, method, *arguments))


def without_base(self, batch, admit=Restoration._admit):
    if not self._losses:
        admit(self, batch)


def deaf_to_breaks(engine, now, loss=ClusterEngine._loss):
    return engine._launcher.ended()


def without_what_is_under_way(cut, sender, item, marker=NO_FORK, arrive=Cut.arrive):
    return [effect for effect in arrive(cut, sender, item, marker) if not isinstance(effect, Keep)]


BROKEN = {
    "the log is gone through from one version later": (AdmissionLog, "replay", replayed_from(1)),
    "the log is gone through from one version earlier": (AdmissionLog, "replay", replayed_from(-1)),
    "the last entry is not replayed": (AdmissionLog, "replay", without_last),
    "the last entry is replayed twice": (AdmissionLog, "replay", twice),
    "nothing is replayed": (log_replay, "in_stretches", lambda _: ()),
    "the log forgets what no base has": (AdmissionLog, "forget", forgetting_all),
    "the log is cut behind the newest version": (RecordStream, "trim_snapshots", trimmed_too_far),
    "a batch is posted before it is logged": (RecordStream, "_sequence", posted_first),
    "numbers of batches are not logged": (AdmissionLog, "append", without_numbers),
    "a log that cannot be written is passed over": (AdmissionLog, "append", failing_in_silence),
    "versions are given again": (VersionNumbers, "__init__", without_version_numbers),
    "offsets of the base are lost": (RecordStream, "begin", with_older_offsets),
    "a page of the base is not loaded": (Restoration, "__init__", without_last_page),
    "offsets do not move with what is posted": (RecordStream, "_post", not_counted),
    "what workers of an earlier set say is taken": (Wire, "read", taking_any_fence),
    "batches are not posted again to new workers": (RecordStream, "replay", without_batches),
    "forks are not forked again on new workers": (RecordStream, "replay", without_forks),
    "what is logged and not posted yet is replayed to new workers": (Journal, "replay", beyond_the_version),
    "the journal forgets forks at the base's version": (Journal, "forget", forgetting_forks),
    "the journal loses forks": (Journal, "add", losing_last_fork),
    "new workers are asked for what lost ones had": (RemotePart, "_begin_asking", always_of_these_workers),
    "the edges of the base are not loaded on new workers": (Restoration, "_admit", without_base),
    "what lost workers had to do counts as to be done": (StreamWorkers, "begin_again", lambda _: None),
    "connections that break are no loss": (ClusterEngine, "_loss", deaf_to_breaks),
    "a part that is done with counts though its workers are lost": (Branch, "begin_again", lambda _: None),
    "nothing is kept of what is under way at a cut": (Cut, "arrive", without_what_is_under_way),
    "nothing is held that comes behind a marker": (Cut, "_must_hold", lambda *_: False),
    "vertices are made before the first edges decide whose they are": (EvolvingGraph, "is_placed", True),
}


@pytest.mark.parametrize("broken", BROKEN)
def test_what_is_broken_on_purpose_is_noticed(monkeypatch, broken):
    monkeypatch.setattr(*BROKEN[broken])
    found = next(filter(None, map(broken_law, range(MOST))), None)
    assert found is not None
    print(found)


def broken_law(seed, only=None):
    try:
        simulate_recovery(seed, only=only)
    except LawBroken as error:
        return error.message
    return None
