"""Calls that hang: how long anybody waits for them, and how many threads they take."""

import asyncio
import threading

import pytest

from tests.query.conftest import eventually
from tornado.errors import Unresponsive
from tornado.query import problems
from tornado.query.bulkhead import Bulkhead

LONG_S = 60.0
SHORT_S = 0.2


@pytest.fixture
def gate():
    """Calls wait until it is set."""
    made = threading.Event()
    yield made
    made.set()


@pytest.fixture
def made():
    """Make bulkheads that are closed at the end."""
    opened = []

    def make(**options):
        opened.append(Bulkhead("test", **({"threads": 2, "deadline_s": LONG_S} | options)))
        return opened[-1]

    yield make
    for bulkhead in opened:
        bulkhead.close()


async def refused(bulkhead, call, **options):
    with pytest.raises(Unresponsive) as raised:
        await bulkhead.run(call, **options)
    problem = problems.of_error(raised.value)
    assert (problem.status, problem.code, problem.headers) == (503, "unresponsive", {"Retry-After": "1"})
    return problem


def test_what_a_call_returns_or_raises_comes_back_and_it_runs_on_another_thread(made):
    async def asked():
        bulkhead = made()
        assert await bulkhead.run(threading.current_thread) is not threading.current_thread()
        with pytest.raises(ZeroDivisionError):
            await bulkhead.run(lambda: 1 / 0)
        assert await asyncio.gather(*(bulkhead.run(lambda n=n: n) for n in range(100))) == list(range(100))

    asyncio.run(asked())


def test_who_waits_is_let_go_at_the_deadline_and_what_comes_late_is_cleared_up(made, gate):
    cleared = []

    async def asked():
        bulkhead = made(deadline_s=SHORT_S)
        await refused(bulkhead, lambda: gate.wait() and "late", after=cleared.append)
        assert (bulkhead.late(), cleared) == (1, [])
        gate.set()
        eventually(lambda: bulkhead.late() == 0)
        assert cleared == ["late"]
        bulkhead.deadline_s = LONG_S
        assert await bulkhead.run(lambda: "in time", after=cleared.append) == "in time"
        assert cleared == ["late"]

    asyncio.run(asked())


def test_when_all_threads_hang_the_next_call_is_refused_at_once_and_other_kinds_go_on(made, gate):
    async def asked():
        full, other = made(threads=3, deadline_s=SHORT_S), made()
        await asyncio.gather(*(refused(full, gate.wait) for _ in range(3)))
        assert full.late() == 3
        full.deadline_s = LONG_S
        cleared = []
        problem = await asyncio.wait_for(refused(full, lambda: "never", after=cleared.append), 10)
        assert cleared == [None]
        assert "3 calls of the kind 'test' hang" in problem.detail
        assert await other.run(lambda: "goes on") == "goes on"
        gate.set()
        eventually(lambda: full.late() == 0)
        assert await full.run(lambda: "again") == "again"

    asyncio.run(asked())


def test_a_call_that_did_not_get_a_thread_in_time_is_never_made(made, gate):
    begun, cleared = [], []

    async def asked():
        bulkhead = made(threads=1)
        first = asyncio.create_task(bulkhead.run(gate.wait))
        await asyncio.sleep(0)
        bulkhead.deadline_s = SHORT_S
        await refused(bulkhead, lambda: begun.append("second"), after=cleared.append)
        gate.set()
        assert await first
        bulkhead.deadline_s = LONG_S
        assert await bulkhead.run(lambda: "third") == "third"
        assert (begun, cleared) == ([], [None])

    asyncio.run(asked())


def test_only_so_many_calls_wait_for_a_thread(made, gate):
    async def asked():
        bulkhead = made(threads=1, line=2)
        running = asyncio.create_task(bulkhead.run(gate.wait))
        await asyncio.to_thread(eventually, lambda: bulkhead._waiting == 0 and bulkhead._idle == 0)
        waiting = [asyncio.create_task(bulkhead.run(lambda: "waited")) for _ in range(2)]
        await asyncio.sleep(0)
        await refused(bulkhead, lambda: "too many")
        gate.set()
        assert await asyncio.gather(running, *waiting) == [True, "waited", "waited"]

    asyncio.run(asked())


def test_what_a_cancelled_caller_leaves_behind_is_cleared_up(made, gate):
    cleared = []

    async def asked():
        bulkhead = made()
        task = asyncio.create_task(bulkhead.run(lambda: gate.wait() and "left", after=cleared.append))
        await asyncio.to_thread(eventually, lambda: bulkhead._waiting == 0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert cleared == []
        gate.set()
        await asyncio.to_thread(eventually, lambda: cleared == ["left"])

    asyncio.run(asked())


def test_calls_whose_callers_have_left_keep_the_next_one_waiting_and_do_not_refuse_it(made, gate):
    async def asked():
        bulkhead = made()
        tasks = [asyncio.create_task(bulkhead.run(gate.wait)) for _ in range(2)]
        await asyncio.to_thread(eventually, lambda: bulkhead._waiting == bulkhead._idle == 0)
        for task in tasks:
            task.cancel()
        next_one = asyncio.create_task(bulkhead.run(lambda: "goes on"))
        await asyncio.wait(tasks)
        assert bulkhead.late() == 0
        gate.set()
        assert await next_one == "goes on"
        eventually(lambda: not bulkhead._left)

    asyncio.run(asked())


def test_closing_waits_for_no_call_that_hangs(made, gate):
    async def asked():
        bulkhead = made(threads=1, deadline_s=SHORT_S)
        await refused(bulkhead, gate.wait)
        bulkhead.close()
        await refused(bulkhead, lambda: "closed")

    asyncio.run(asked())
