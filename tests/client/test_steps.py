"""When a call is made again, and what an answer means: pure decisions, driven by hand."""

import json
import pickle

import pyarrow as pa
import pytest

from tornado import errors as ours
from tornado.client import (
    InConflict,
    NotFound,
    NotPermitted,
    OutcomeUnknown,
    Overloaded,
    Refused,
    ServiceError,
    ServiceFailed,
    Unreachable,
)
from tornado.client.changes import ChangeCollector
from tornado.client.events import Event
from tornado.client.operations import Batch, Operations
from tornado.client.steps import SILENCE_S, Again, Attempts, Break, Call, Failure, Pause, Reply, made
from tornado.command.client import translated

READ = Call("GET", "/v1/loops")
PUSH = Call("POST", "/v1/streams/roads/edges", content=b"", again=Again.REFUSED)
FINE = Reply(200, b"{}")


def problem(status, code="a-code", **headers):
    body = {"status": status, "code": code, "detail": "what is wrong", "hint": "Do that."}
    return Reply(
        status, json.dumps(body).encode(), {name.replace("_", "-"): text for name, text in headers.items()}
    )


def drive(call, outcomes, patience_s=30.0):
    """Return what became of a call that has these outcomes one after the other, and the pauses between them."""
    steps, waiting, pauses, outcome = made(call, patience_s=patience_s), list(outcomes), [], None
    while True:
        try:
            step = steps.send(outcome)
        except StopIteration as ended:
            assert not waiting
            return ended.value, pauses
        except ServiceError as error:
            assert not waiting
            return error, pauses
        if isinstance(step, Pause):
            pauses.append(step.seconds)
            outcome = None
        else:
            assert step is call
            outcome = waiting.pop(0)


@pytest.mark.parametrize("call", [READ, PUSH])
def test_one_that_is_full_is_asked_again_after_as_long_as_it_says(call):
    assert drive(call, [problem(429, retry_after="7"), problem(429), FINE]) == (FINE, [7.0, 0.2])


def test_pauses_grow_and_never_sum_up_to_more_than_the_patience():
    error, pauses = drive(PUSH, [problem(429)] * 5, patience_s=2.0)
    assert pauses == [0.1, 0.2, 0.4, 0.8]
    assert isinstance(error, Overloaded)
    error, pauses = drive(PUSH, [problem(429, retry_after="60")], patience_s=30.0)
    assert (pauses, error.retry_after_s) == ([], 60.0)


def test_one_that_is_away_is_asked_again_only_what_may_be_done_twice():
    assert drive(READ, [problem(503, retry_after="1"), FINE])[0] is FINE
    error, pauses = drive(PUSH, [problem(503, "store-unreachable")])
    assert (type(error), pauses) == (ServiceFailed, [])
    error, pauses = drive(PUSH, [problem(503, "unresponsive")])
    assert (type(error), pauses) == (OutcomeUnknown, [])


def test_a_connection_that_breaks_is_tried_again_only_for_what_may_be_done_twice():
    broken = Failure(Break.BROKEN, "http://x", "reset", was_reached=True)
    assert drive(READ, [broken, broken, FINE]) == (FINE, [0.1, 0.2])
    for kind in (Break.BROKEN, Break.TOO_LATE):
        error, pauses = drive(PUSH, [Failure(kind, "http://x")])
        assert (type(error), pauses) == (OutcomeUnknown, [])
        assert "may have been done or not" in str(error)


def test_a_service_that_never_answered_is_not_waited_for_and_one_that_has_is():
    for kind in (Break.NOT_REACHED, Break.BROKEN):
        error, pauses = drive(READ, [Failure(kind, "http://x")])
        assert (type(error), pauses) == (Unreachable, [])
    gone = Failure(Break.NOT_REACHED, "http://x", was_reached=True)
    assert drive(PUSH, [gone, FINE]) == (FINE, [0.1])


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (401, NotPermitted),
        (403, NotPermitted),
        (404, NotFound),
        (409, InConflict),
        (413, Refused),
        (422, Refused),
        (500, ServiceFailed),
        (507, ServiceFailed),
    ],
)
def test_a_problem_document_is_an_error_of_its_kind_with_all_it_says(status, kind):
    error, _ = drive(PUSH, [problem(status)])
    assert type(error) is kind
    assert (error.code, error.status, str(error)) == ("a-code", status, "what is wrong. Do that.")
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again), again.code) == (kind, str(error), "a-code")


@pytest.mark.parametrize("content", [b"<html>", b"[]", b'{"message": "no"}', b""])
def test_what_answers_and_is_no_such_service_is_said_to_be_none(content):
    error, _ = drive(READ, [Reply(404, content)])
    assert type(error) is ServiceFailed
    assert "Is it a tornado-loops service?" in str(error)


def test_a_push_that_ends_in_the_middle_says_how_much_of_it_was_taken(monkeypatch):
    monkeypatch.setattr("tornado.client.columns.ROWS_A_BODY", 4)
    steps = Operations(0.0).insert("streams/roads", "edges", pa.table({"src": range(10), "dst": range(10)}))
    next(steps)
    steps.send(Reply(202, b'{"accepted": 4, "rejected": 0, "offsets": {"http": 4}}'))
    with pytest.raises(OutcomeUnknown) as lost:
        steps.send(Failure(Break.BROKEN, "http://x"))
    assert lost.value.__notes__ == [
        "the 4 records from row 4 on may be in or not; they had no batch number",
        "the 4 records before were taken",
    ]


def put_and_commit(steps, *commits):
    """Return the calls of a batch whose commits are answered so, and the pauses between; raises what it raises."""
    seen, waiting, outcome = [], list(commits), None
    try:
        while True:
            step = steps.send(outcome)
            if isinstance(step, Pause):
                seen.append(step.seconds)
                outcome = None
            else:
                seen.append(f"{step.method} {step.path.rpartition('/')[2]}")
                outcome = FINE if step.method == "PUT" else waiting.pop(0)
    except StopIteration as ended:
        assert not waiting
        return ended.value, seen


IN = Reply(200, b'{"accepted": 3, "rejected": 0, "offsets": {"client:n": 3}, "repeated": false}')
LOST = problem(422, "incomplete-batch")


def test_a_batch_whose_chunks_a_restart_has_lost_is_sent_again_from_its_beginning(monkeypatch):
    monkeypatch.setattr("tornado.client.columns.ROWS_A_BODY", 2)
    table = pa.table({"src": range(3), "dst": range(3)})
    steps = Operations(30.0).insert_batch("roads", Batch("n", 7), table)
    outcome, seen = put_and_commit(steps, LOST, problem(503), LOST, IN)
    sent = ["PUT 0", "PUT 1", "POST 7"]
    assert seen == [*sent, 0.1, *sent, 0.1, "POST 7", 0.2, *sent]
    assert (outcome.accepted, outcome.offsets, outcome.repeated) == (3, {"client:n": 3}, False)


@pytest.mark.parametrize(
    ("patience_s", "answers", "code"),
    [
        (0.0, [LOST], "incomplete-batch"),
        (0.5, [LOST] * 3, "incomplete-batch"),
        (30.0, [problem(422)], "a-code"),
    ],
)
def test_a_batch_is_sent_again_within_the_patience_and_for_no_other_refusal(patience_s, answers, code):
    steps = Operations(patience_s).insert_batch("roads", Batch("n", 7), pa.table({"src": [1], "dst": [2]}))
    waiting = list(answers)
    with pytest.raises(Refused) as refused:
        put_and_commit(steps, *waiting)
    assert refused.value.code == code


def test_the_command_line_makes_each_error_one_of_its_own():
    assert type(translated(NotFound("x", code="unknown-loop"))) is ours.UnknownLoop
    assert type(translated(ServiceFailed("x", code="of-a-newer-service"))) is ours.PeerError
    assert type(translated(OutcomeUnknown("x"))) is ours.ConnectionLost
    assert type(translated(ServiceFailed("x"))) is ours.PeerError


def told(version, name="values", **values):
    """Return the events of one answer, with values of vertices."""
    rows = [{"vertex": vertex, name.removesuffix("s"): value} for vertex, value in values.items()]
    answer = {"version": version, "snapshot": {}, "certificate": {}}
    return [Event(name, {"version": version, name: rows}), Event("answer", answer)]


def feed(changes, *events):
    return [change for change in map(changes.feed, events) if change is not None]


def test_what_another_connection_tells_again_is_no_change():
    changes = ChangeCollector(moved_by=0.5)
    first, then = feed(changes, *told(1, a=1.0, b=2.0, c=None, d=4.0), *told(2, b=3.0))
    assert (first.values, then.values) == ({"a": 1.0, "b": 2.0, "c": None, "d": 4.0}, {"b": 3.0})
    changes.feed(Event("values", {"values": [{"vertex": "a", "value": 9.0}]}))
    changes.begin_anew()  # no answer ended that one
    assert feed(changes, *told(2, a=1.0, b=3.0, c=None, d=4.0)) == []
    assert [change.values for change in feed(changes, *told(3, a=2.0), *told(4))] == [{"a": 2.0}, {}]
    changes.begin_anew()
    (after,) = feed(changes, *told(7, a=2.4, b="Infinity", c=0.0, e=5.0))
    assert after.values == {
        "b": float("inf"),
        "c": 0.0,
        "d": None,
        "e": 5.0,
    }  # a is within 0.5 of what was told
    changes.begin_anew()
    (after,) = feed(changes, *told(7, "groups", a=1), *told(7, b=1.0))[:1]
    assert after.groups == {"a": 1}


def test_what_waits_for_a_service_is_patient_anew_when_it_was_back():
    attempts = Attempts(READ, 0.5)
    ended, away = (Failure(kind, "http://x", was_reached=True) for kind in (Break.ENDED, Break.NOT_REACHED))
    assert [attempts.pause_after(one).seconds for one in (ended, away)] == [0.1, 0.2]
    attempts.was_told_for(1.5, ended)
    assert [attempts.pause_after(ended).seconds for _ in range(2)] == [0.1, 0.2]
    attempts.was_told_for(0.5, ended)  # what ends whenever it has begun is not back
    with pytest.raises(Unreachable, match=r"http://x stopped before /v1/loops was at its end.*patience_s"):
        attempts.pause_after(ended)


def test_what_hangs_whenever_it_has_begun_takes_patience_however_long_it_was_waited_for():
    attempts = Attempts(READ, 100.0)
    silent = Failure(Break.SILENT, "http://x", was_reached=True)
    for _ in range(3):
        attempts.was_told_for(SILENCE_S + 0.5, silent)
        attempts.pause_after(silent)
    attempts.was_told_for(SILENCE_S + 0.5, silent)
    with pytest.raises(Unreachable, match=r"nothing came from http://x for 45 s"):
        attempts.pause_after(silent)
