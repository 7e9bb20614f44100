"""Streams on a store that fails, in a process that dies, under hundreds of seeds; `make soak` runs tens of thousands."""

import contextlib

import pytest

from tests.shortened import shortened
from tornado.errors import LawBroken, StoreFull
from tornado.loops import log_replay
from tornado.loops.admission_log import AdmissionLog
from tornado.loops.restoration import Restoration
from tornado.loops.stream import RecordStream
from tornado.loops.version_numbers import VersionNumbers
from tornado.recovery_simulation import simulate_recovery

A_BLOCK = 100
MOST = 150  # seeds in which a broken rule must show


@pytest.mark.parametrize("block", shortened(range(500), 4))
def test_no_death_and_no_failure_breaks_a_law(block):
    runs = [simulate_recovery(seed) for seed in range(block * A_BLOCK, (block + 1) * A_BLOCK)]
    totals = {
        name: sum(getattr(run, name) for run in runs)
        for name in ("lives", "deaths", "refusals", "admissions", "answers")
    }
    print(f"seeds from {block * A_BLOCK}: {totals}")
    assert totals["deaths"] > A_BLOCK
    assert totals["refusals"] > A_BLOCK
    assert totals["answers"] > 4 * A_BLOCK


def test_the_same_seed_gives_the_same_run():
    for seed in (1, 4, 9):
        assert simulate_recovery(seed) == simulate_recovery(seed)


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


def without_last_page(stored, stream_, loops, *, hosts, engine, init=Restoration.__init__):
    pages = stored.edge_pages
    stored.edge_pages = lambda: iter(list(pages())[:-1])
    init(stored, stream_, loops, hosts=hosts, engine=engine)


def not_counted(self, admission):
    self._count({}, admission.entry.version, admission.entry.batch)
    if admission.shares is not None:
        self._journal_and_post(admission.shares, admission.entry.version)


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
}


@pytest.mark.parametrize("broken", BROKEN)
def test_what_is_broken_on_purpose_is_noticed(monkeypatch, broken):
    monkeypatch.setattr(*BROKEN[broken])
    found = next(filter(None, map(broken_law, range(MOST))), None)
    assert found is not None
    print(found)


def broken_law(seed):
    try:
        simulate_recovery(seed)
    except LawBroken as error:
        return error.message
    return None
